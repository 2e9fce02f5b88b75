"""Scores of tables and of streamed queries, each sensitivity derived beside it.

P_n moves by (e_z − e_z')/n between neighbours, sensitivities
are those of n · P_n, and the curator divides by n.
"""

from typing import Any

import numpy as np

from ...core.errors import InputError
from ...core.types import Array, frozen
from ...queries import Marginals, Workload
from ..public_rounding import clip_public_answers
from .query_answers import FLOAT_ERROR, WorkloadStatistic

MAX_WEIGHT = 1e100  # weight, and its inverse
MAX_ANSWER_SUM = (
    64.0  # |answer|, true answer and level together, at the most, of a batch, as shares
)


@frozen
class TableErrors(WorkloadStatistic):
    """The weighted error of every table: w_S · (‖table_S(P_n) − answers_S‖₁ − penalty_S) (tables,).

    `answers` (m,), `penalties` and `weights` (tables,) ≥ 0 are public. A replaced row leaves one
    count of a table for another, so table_S(n · P_n) moves by at most 2 in ‖·‖₁, and by the
    triangle inequality so does its distance from anything fixed; penalties do not move. Δ = 2 max_S
    w_S. A table's score can rise while another's falls, so the exponential mechanism keeps its
    factor 2.
    """

    workload: Marginals
    answers: Array
    penalties: Array
    weights: Array

    @property
    def sensitivity(self) -> float:
        """The sensitivity Δ to one row."""
        return 2.0 * float(self.weights.max())

    def check(self) -> None:
        """Raise InputError for a workload of another kind, and for arrays that do not fit it."""
        super().check()
        if not isinstance(self.workload, Marginals):
            raise InputError(
                f"tables of a {type(self.workload).__name__} cannot be scored, those of "
                "Marginals can"
            )
        count = len(self.workload.tables)
        if not (
            self.answers.shape == (self.workload.m,)
            and self.penalties.shape == self.weights.shape == (count,)
        ):
            raise InputError(
                f"scores of {count} tables need as many penalties and weights, and "
                f"{self.workload.m} answers"
            )
        if not (
            np.isfinite(self.penalties).all()
            and (self.weights >= 0).all()
            and 0 < self.weights.max() < np.inf
        ):
            raise InputError(
                "penalties of tables must be finite, weights ≥ 0 and finite, one of them above 0"
            )
        if np.isnan(self.answers).any() or not 1 / MAX_WEIGHT <= self.weights.max() <= MAX_WEIGHT:
            raise InputError(
                "answers must be numbers, and the largest weight within "
                f"{1 / MAX_WEIGHT:g}..{MAX_WEIGHT:g}"
            )

    def in_counts(self, workload: Any, n: int) -> tuple["TableErrors", float]:
        """Return the scores n times as large, of exact counts, and a bound on their rounding.

        A sum of c cells loses at most (c − 1) 2^-53 of what it is made of, however it is added up:
        of ≤ n in the rows' table, and of the public answers and penalties.
        """
        answers = n * clip_public_answers(self.answers)
        penalties = n * clip_public_answers(self.penalties)
        starts = [table.start for table in self.workload.tables]
        max_summed = n + float((np.add.reduceat(np.abs(answers), starts) + np.abs(penalties)).max())
        rounding_bound = (
            FLOAT_ERROR
            * (1 + max(self.workload.sizes) / 8)
            * max_summed
            * float(self.weights.max())
        )
        return TableErrors(workload, answers, penalties, self.weights), rounding_bound

    def value(self, truth: Array) -> Array:
        """Return the scores (tables,) from the answers on the rows.

        In shares or, as `in_counts` makes them, in counts.
        """
        starts = [table.start for table in self.workload.tables]
        return self.weights * (
            np.add.reduceat(np.abs(truth - self.answers), starts) - self.penalties
        )


@frozen
class AbsoluteErrors(WorkloadStatistic):
    """The errors of some queries above a level: |⟨q_j, P_n⟩ − answer_j| − level (b,).

    In the order of the queries.

    `queries` (b,) are the queries' numbers; `answers` (b,) and `level` are public. One row moves
    ⟨q_j, n · P_n⟩ by hi_j − lo_j at the most, and so its distance from anything fixed: Δ = max_j
    (hi_j − lo_j), over all of the queries, so that their batches share one Δ.
    """

    workload: Workload
    queries: Array
    answers: Array
    level: float

    @property
    def sensitivity(self) -> float:
        """The sensitivity Δ to one row."""
        return self.workload.width

    def check(self) -> None:
        """Raise InputError for a workload without sensitivity, or arrays that do not fit.

        The sensitivity must be derived.
        """
        super().check()
        m = self.workload.m
        if (
            self.queries.ndim != 1
            or self.queries.shape != self.answers.shape
            or self.queries.dtype.kind not in "iu"
        ):
            raise InputError("a batch needs the numbers of its queries, and as many answers")
        if not ((self.queries >= 0) & (self.queries < m)).all():
            raise InputError(f"a batch holds a query outside 0..{m - 1}")
        if not 1 + np.abs(self.answers).max(initial=0) + abs(self.level) <= MAX_ANSWER_SUM:
            raise InputError(
                "the answers and the level of a batch must be finite, and below "
                f"{MAX_ANSWER_SUM:g} in sum"
            )

    def in_counts(self, workload: Workload, n: int) -> tuple["AbsoluteErrors", float]:
        """Return the errors n times as large, of exact counts, and a bound on their rounding.

        The bound is that of two subtractions.
        """
        return AbsoluteErrors(
            workload, self.queries, n * self.answers, n * self.level
        ), MAX_ANSWER_SUM * FLOAT_ERROR * n

    def value(self, truth: Array) -> Array:
        """Return the errors minus the level (b,) from the answers on the rows.

        In shares, or in counts as `in_counts`.
        """
        return np.abs(truth[self.queries] - self.answers) - self.level


def sparse_vector_laplace_scales(sensitivity: float, epsilon: float) -> tuple[float, float]:
    """Return the Laplace scales of a sparse vector's threshold and queries.

    Δ/ε₁ and 2Δ/ε₂ with ε₁ + ε₂ = ε.

    They pay for the shifts of Δ and 2Δ that `mechanisms.first_above` needs. A comparison has noise
    of variance 2(Δ/ε₁)² + 2(2Δ/ε₂)², least where 1/ε₁³ = 4/ε₂³: ε₁ : ε₂ = 1 : 2^⅔, 13% below that
    of halves.
    Source: Lyu, Su, Li 2017, section 4.2, 1 : (2c)^⅔ for c answers; here every "above" has its own
    threshold.
    """
    threshold_epsilon = epsilon / (1 + 2 ** (2 / 3))
    return sensitivity / threshold_epsilon, 2 * sensitivity / (epsilon - threshold_epsilon)
