"""The further measurement that makes a question as precise as wanted, from public numbers alone."""

import json

from ...core.errors import InputError
from ...core.types import value_object
from ...models.releases import UnbiasedAnswers
from ...privacy.accounting import Accountant, Gaussian, find_root
from ...privacy.measurement import MIN_STDDEV
from ...queries.questions import Question
from .confidence_levels import check_level, two_sided_quantile
from .unbiased_tables import axes_and_values, query_components

MIN_HALF_WIDTH = 1e-6  # half of an interval, as a share


@value_object
class FollowUpMeasurement:
    """A further release for a question: the table to measure, as --queries, and its ε at δ.

    ε is 0 if none is needed. `within` is half of the interval that both releases together give.
    `mu`: its noise has the standard deviation √2/(nμ) on every cell, n being what is counted for
    the noise.
    """

    queries: str
    within: float
    mu: float
    epsilon: float
    delta: float


def plan_follow_up(
    unbiased_answers: UnbiasedAnswers,
    question: Question,
    half_width: float,
    n: float,
    delta: float,
    accounting: type[Accountant],
    *,
    level: float = 0.95,
) -> FollowUpMeasurement:
    """Return the cheapest measurement that makes a question's interval narrow enough.

    It is of the question's own table, and makes z standard errors ≤ `half_width`. The table M gets
    Gaussian noise σ on its k_M cells; put together with what is known, part S then has the variance
    1/(1/v_S + k_S/(σ² k_M)), as in `pool_tables`, and the answer Σ_S ‖h_S‖² times that. σ =
    √2/(nμ), as one replaced row moves two cells by 1/n (n/b where a person has b rows). Raises
    InputError for `half_width` outside 1e-6..0.5 and at δ = 0, where no Gaussian noise keeps a
    promise.
    """
    if not MIN_HALF_WIDTH <= half_width <= 0.5:
        raise InputError(
            f"within={half_width:g} is outside {MIN_HALF_WIDTH:g}..0.5, shares of the rows"
        )
    if delta == 0:
        raise InputError(
            "delta=0: what more to measure is worked out for Gaussian noise, which needs delta > 0"
        )
    axes, g = axes_and_values(question.workload)
    parts = query_components(axes, g)
    target_variance = (half_width / two_sided_quantile(check_level(level))) ** 2
    relevant_axes = [a for a in axes if any(a in S for S in parts)] or list(axes)
    names = [unbiased_answers.domain.names[a] for a in relevant_axes]
    queries = f"marginals:{json.dumps([names], ensure_ascii=False, separators=(',', ':'))}"
    k = unbiased_answers.domain.table_size(relevant_axes)

    def combined_variance(mu: float) -> float:
        total = 0.0
        for S, h in parts.items():
            new_precision = len(h) / k * (n * mu) ** 2 / 2
            released_precision = 0.0
            if S in unbiased_answers.part_slices:
                released_precision = 1 / max(unbiased_answers.variance[S], MIN_STDDEV**2)
            total += float(h @ h) / max(new_precision + released_precision, MIN_STDDEV**2)
        return total

    if combined_variance(0.0) <= target_variance:
        return FollowUpMeasurement(queries, half_width, 0.0, 0.0, delta)
    max_mu = 1.0
    while combined_variance(max_mu) > target_variance:
        max_mu *= 2
    mu = find_root(lambda mu: combined_variance(mu) - target_variance, 0.0, max_mu)
    epsilon = accounting.of_events([(Gaussian(mu), 1)]).epsilon(delta)
    return FollowUpMeasurement(queries, half_width, mu, epsilon, delta)
