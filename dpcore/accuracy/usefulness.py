"""The usefulness of answers in everyday units: a sample's exactness, a score, fit purposes.

The score is the field's own.
"""

import math
from dataclasses import asdict
from itertools import combinations

import numpy as np

from ..algorithms.query_release.residual import to_unbiased_answers
from ..core.numbers import unit_noun
from ..core.types import Array, Json, Texts, value_object
from ..models.releases import UnbiasedAnswers
from ..privacy.accounting import Gaussian, Plan, Pure
from ..privacy.measurement import Measurement, noise_stddev
from ..privacy.noisy_answers import NoisyAnswers
from ..privacy.statistics import Answers, Residuals
from ..problems import QueryRelease
from ..queries import Marginals, Workload
from ..queries.residual_spaces import cached_residual_spaces
from .intervals.confidence_levels import two_sided_quantile
from .intervals.unbiased_tables import pool_tables

DEFAULT_TOLERANCE = 0.01  # default tolerance of shares: one percentage point
MIN_SHARE_WITHIN_TOLERANCE = 0.95  # share of half-widths that have to be within the tolerance
MAX_RELATIVE_COUNT_ERROR = 0.1  # largest half-width of a group's count, as a share of its size


def equivalent_sample_share(squared_error_sum: float, shares: Array, n: int) -> float:
    """Return the share f in 0..1 of the rows whose simple random sample has such errors.

    A sample of m = f n of n rows without replacement has Σ_q E(error²) = (S/m) (n − m)/(n − 1) over
    the questions q, S = Σ_q p_q (1 − p_q), as each counts rows. With E = `squared_error_sum`, the
    sum of squared errors of the `shares` p (m,), that gives f = S/(E (n − 1) + S); 1 if nothing is
    wrong. Source: Cochran 1977, Theorem 3.2.
    """
    p = np.clip(shares, 0, 1)
    variance_sum = max(float(p.sum() - p @ p), 0.0)
    return (
        variance_sum / (squared_error_sum * (n - 1) + variance_sum)
        if squared_error_sum > 0
        else 1.0
    )


def k_marginal_score(l1_distances: Array) -> float:
    """Return the K-marginal score 1000 (1 − mean total variation) of pairs' L1 distances.

    `l1_distances` are those of tables of pairs (`Marginals.scored_tables`). 1000 says that all
    tables are the same, 0 that they have nothing in common; total variation is half the L1
    distance.
    Source: Task, Bhagat, Howarth 2023 (SDNist, NIST's reports).
    """
    return 1000 * (1 - float(np.mean(l1_distances)) / 2)


def all_queries_count_rows(workload: Workload) -> bool:
    """Return whether every query counts rows.

    Its answer is then a share p with variance p(1 − p) over rows.
    """
    return all(((w.entries == 0) | (w.entries == 1)).all() for w, _ in workload.parts)


def planned_tables(problem: QueryRelease, plan: Plan) -> UnbiasedAnswers | None:
    """Return the noisy tables that a plan will produce, without using any data.

    They have their noise variances and shares of 0. None if nothing is sure to be measured before
    the run: the plan then names no tables.
    """
    measured = []
    for charge in plan.planned_events:
        statistic = charge.statistic
        spend = charge.spend
        if not isinstance(spend, Gaussian | Pure):
            continue
        if isinstance(statistic, Residuals):
            part_cell_count = sum(
                problem.domain.table_size(S)
                for S in cached_residual_spaces(statistic.workload).type_of
            )
            stddev = noise_stddev(statistic, spend, problem.effective_n)
            return to_unbiased_answers(
                Measurement(np.zeros(part_cell_count), stddev, statistic, spend)
            )
        if isinstance(statistic, Answers):
            m = statistic.workload.m
            stddev = np.broadcast_to(noise_stddev(statistic, spend, problem.effective_n), m)
            is_laplace = spend.has_laplace_noise
            measured.append(
                NoisyAnswers(statistic.workload, np.zeros(m), stddev, has_laplace_noise=is_laplace)
            )
    has_tables = any(noisy_answers.measured_tables() for noisy_answers in measured)
    return pool_tables(problem.domain, measured) if has_tables else None


def predicted_standard_errors(
    unbiased_answers: UnbiasedAnswers | None, workload: Workload
) -> Array | None:
    """Return the standard errors (m,) of all shares of a workload, from noise alone.

    They are those before any fit. None if something was asked that was not measured, or there are
    no tables.
    """
    if unbiased_answers is None or not isinstance(workload, Marginals):
        return None
    errors = unbiased_answers.standard_errors(workload)
    return errors if np.isfinite(errors).all() else None


def promised_error(unbiased_answers: UnbiasedAnswers | None, workload: Workload) -> float | None:
    """Return the share within which each answer lies in 19 of 20 releases, whatever the table.

    By the noise alone; a released share lies in 0..1, and no error of one exceeds 1. None if
    `predicted_standard_errors` knows none.
    """
    errors = predicted_standard_errors(unbiased_answers, workload)
    if unbiased_answers is None or errors is None:
        return None
    largest = two_sided_quantile(0.95, laplace=unbiased_answers.laplace) * float(errors.max())
    return min(largest, 1.0)


@value_object
class SuitableUses:
    """The uses that answers suit or do not suit, in everyday words, and the basis of that.

    It is by noise alone. Shares are good if 95% of the half-widths of their 95% intervals are at
    most `tolerance`; `smallest_group` is the size at which the half-width of a group's count is a
    tenth of it, None if no group's count has an interval. `sentence` says all of it, to show beside
    a release.
    """

    good_for: Texts
    not_for: Texts
    tolerance: float
    smallest_group: int | None
    sentence: str

    @property
    def is_table_too_small(self) -> bool:
        """Whether the answers are known to suit no use."""
        return bool(self.not_for) and not self.good_for

    def to_json(self) -> Json:
        """Return the fields by name, for JSON."""
        return asdict(self)


def suitable_uses(
    unbiased_answers: UnbiasedAnswers | None,
    n: float,
    rows_per_person: int = 1,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
) -> SuitableUses:
    """Return the uses that noisy tables suit, by the half-widths of their cells' intervals.

    Every cell of a table has the same half-width h; tables of one column and of pairs are looked
    at. A group is one cell of them: large enough if h n is at most a tenth of its size.

    Args:
        unbiased_answers: The noisy tables; None if nothing is known of them.
        n: How many rows count.
        rows_per_person: How many of them one person may have, which decides what they are called.
        tolerance: The half-width of a share that is good.

    Returns:
        The uses, with a sentence that says them.

    """
    noun = unit_noun(rows_per_person)
    good_numbers = []
    bad_numbers = []
    smallest_group = None
    for ways, number_word in ((1, "one"), (2, "two")):
        half_width = (
            None
            if unbiased_answers is None
            else _half_width_of_most_cells(
                unbiased_answers, ways, two_sided_quantile(0.95, laplace=unbiased_answers.laplace)
            )
        )
        if half_width is None:
            continue
        if half_width <= tolerance:
            good_numbers.append(number_word)
        else:
            bad_numbers.append(number_word)
        smallest_group = math.ceil(half_width * n / MAX_RELATIVE_COUNT_ERROR)
    good_for = _share_phrases(good_numbers, tolerance)
    not_for = _share_phrases(bad_numbers, tolerance)
    if smallest_group is not None:
        not_for.append(
            f"groups under {_format_two_digits_up(smallest_group)} {noun}"
            if smallest_group < n
            else "groups of any size"
        )
    sentence = _sentence_of_uses(good_for, not_for, noun)
    return SuitableUses(tuple(good_for), tuple(not_for), tolerance, smallest_group, sentence)


def _sentence_of_uses(good_for: list[str], not_for: list[str], noun: str) -> str:
    """Return all uses in one sentence; where none is good, that there are too few rows for them."""
    if not good_for and not not_for:
        return "How exact the answers are is not known before they are compared with the table."
    not_for_text = " and ".join(not_for)
    if not good_for:
        return f"Too few {noun} for these questions: {not_for_text}."
    good_for_text = f"Good for: {' and '.join(good_for)}."
    return f"{good_for_text} Not for: {not_for_text}." if not_for else good_for_text


def _share_phrases(number_words: list[str], tolerance: float) -> list[str]:
    """Return a phrase for shares by this many columns; empty for none."""
    noun = "column" if number_words == ["one"] else "columns"
    points_noun = "point" if tolerance == DEFAULT_TOLERANCE else "points"
    tolerance_text = f"within {100 * tolerance:.3g} {points_noun}"
    return (
        [f"shares by {' or '.join(number_words)} {noun} {tolerance_text}"] if number_words else []
    )


def _half_width_of_most_cells(
    unbiased_answers: UnbiasedAnswers, ways: int, z: float
) -> float | None:
    """Return the half-width that 95% of the cells of all tables of `ways` columns keep.

    None if more are unbounded.
    """
    shape = unbiased_answers.domain.shape
    all_column_sets = list(combinations([a for a in range(len(shape)) if shape[a] > 1], ways))
    sizes = {axes: math.prod(shape[a] for a in axes) for axes in all_column_sets}
    errors_and_sizes = sorted(
        (unbiased_answers.standard_error(axes), size)
        for axes, size in sizes.items()
        if axes in unbiased_answers.part_slices
    )
    covered_cells = 0
    needed_cells = MIN_SHARE_WITHIN_TOLERANCE * sum(sizes.values())
    for error, size in errors_and_sizes:
        covered_cells += size
        if covered_cells >= needed_cells:
            return z * error
    return None


def _format_two_digits_up(count: int) -> str:
    """Return a number of people in two digits, rounded up."""
    step = 10 ** max(len(str(count)) - 2, 0)
    return f"{math.ceil(count / step) * step:,}"
