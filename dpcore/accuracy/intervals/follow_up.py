"""The further measurement that makes a question as precise as wanted, from public numbers alone."""

import json

from ...core.errors import InputError
from ...core.types import value_object
from ...models.releases import UnbiasedAnswers
from ...privacy.accounting import Accounting, gdp_epsilon, root, zcdp_epsilon
from ...privacy.measurement import SMALLEST
from ...queries.questions import Question
from .confidence_levels import check_level, quantile
from .unbiased_tables import components, values_of

LEAST = 1e-6  # half of an interval, as a share


@value_object
class Further:
    """A further release for a question: the table to measure, as --queries, and its ε at δ; 0 if none is needed.

    `within` is half of the interval that both releases together give. `mu`: its noise has the standard deviation
    √2/(nμ) on every cell, n being what is counted for the noise.
    """

    queries: str
    within: float
    mu: float
    epsilon: float
    delta: float


def further(
    known: UnbiasedAnswers, question: Question, within: float, n: float, delta: float, accounting: Accounting, *,
    level: float = 0.95,
) -> Further:  # fmt: skip
    """The cheapest measurement of the question's own table that makes z standard errors ≤ `within`.

    The table M gets Gaussian noise σ on its k_M cells; put together with what is known, part S then has the variance
    1/(1/v_S + k_S/(σ² k_M)), as in `known.pooled`, and the answer Σ_S ‖h_S‖² times that. σ = √2/(nμ), as one replaced
    record moves two cells by 1/n (n/b where a person has b rows). Raises InputError for `within` outside 1e-6..0.5 and
    at δ = 0, where no Gaussian noise keeps a promise.
    """
    if not LEAST <= within <= 0.5:
        raise InputError(f"within={within:g} is outside {LEAST:g}..0.5, shares of the rows")
    if delta == 0:
        raise InputError("delta=0: what more to measure is worked out for Gaussian noise, which needs delta > 0")
    axes, g = values_of(question.workload)
    parts = components(axes, g)
    target_variance = (within / quantile(check_level(level))) ** 2
    relevant_axes = [a for a in axes if any(a in S for S in parts)] or list(axes)
    names = [known.domain.names[a] for a in relevant_axes]
    queries = f"marginals:{json.dumps([names], ensure_ascii=False, separators=(',', ':'))}"
    k = known.domain.cells(relevant_axes)

    def variance(mu: float) -> float:
        total = 0.0
        for S, h in parts.items():
            new_precision = len(h) / k * (n * mu) ** 2 / 2
            released_precision = 1 / max(known.variance[S], SMALLEST**2) if S in known.places else 0.0
            total += float(h @ h) / max(new_precision + released_precision, SMALLEST**2)
        return total

    if variance(0.0) <= target_variance:
        return Further(queries, within, 0.0, 0.0, delta)
    max_mu = 1.0
    while variance(max_mu) > target_variance:
        max_mu *= 2
    mu = root(lambda mu: variance(mu) - target_variance, 0.0, max_mu)
    epsilon = gdp_epsilon(mu, delta) if accounting is Accounting.GDP else zcdp_epsilon(mu**2 / 2, delta)
    return Further(queries, within, mu, epsilon, delta)
