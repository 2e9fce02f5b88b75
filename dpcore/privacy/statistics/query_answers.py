"""Answers of workloads that a curator measures, and the errors of answers.

Each sensitivity is derived beside its statistic.

P_n = (1/n) Σ e_{z_i}; neighbours replace one row, so P_n moves by (e_z − e_z')/n. Sensitivities
here are those of n · P_n ("one row moves"), the curator divides by n.
"""

import math
from dataclasses import replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...core.errors import InputError
from ...core.numbers import ROUNDING_SLACK
from ...core.types import Array, frozen, value_object
from ...queries import Explicit, Marginals, TableQueries, Union, Workload
from ...queries.workload import max_column_distance
from ...schema.domain import Rows
from ..noise_grid import grid_step, round_weights_to_grid, workload_on_grid
from ..public_rounding import MIN_QUERY_RANGE, clip_public_answers, require_wide_range
from .statistic import Statistic

ALL_ANSWERS = slice(None)
FLOAT_ERROR = 2.0**-50  # relative error of up to eight roundings
_NORM_CACHE: "WeakKeyDictionary[Workload, np.ndarray]" = (
    WeakKeyDictionary()
)  # as a workload is measured many times
MAX_PATTERN_COLUMNS = (
    23  # most columns whose 2^d patterns of agreement are all compared; 10⁷ cells have no more
)


def require_known_workload(workload: Workload) -> None:
    """Raise InputError for a workload whose sensitivities this file does not derive."""
    if type(workload) not in (Marginals, Explicit, TableQueries, Union):
        raise InputError(
            f"{type(workload).__name__} is not a set of questions whose sensitivity is known here"
        )
    for member, _ in workload.parts if isinstance(workload, Union) else ():
        require_known_workload(member)


class WorkloadStatistic(Statistic):
    """A statistic of the answers to a workload's queries.

    `check` refuses workloads whose sensitivities are not derived here.
    """

    workload: Workload

    def check(self) -> None:
        """Raise InputError for a workload without derived sensitivities.

        Also for one beyond floating-point protection.
        """
        require_known_workload(self.workload)
        require_wide_range(self.workload.width)
        require_wide_range(getattr(self, "_range", 0.0))  # a single query's own

    def on_grid(self, n: int) -> tuple[Any, float]:
        """Return the statistic with its query entries rounded to the grid, and the grid's step."""
        workload, spacing = workload_on_grid(self.workload, n)
        return replace(self, workload=workload), spacing  # type: ignore[type-var]


@frozen
class Answers(WorkloadStatistic):
    """All answers (m,) to a set of questions.

    Δ_p = max_{z,z'} ‖A_z − A_z'‖_p over the columns of its matrix A:

    - Marginals: a row is in exactly one count of each table, so replacing it moves two counts of
      each by 1 at the
      most: Δ₁ = 2 · tables, Δ₂ = √(2 · tables).
    - Explicit: Δ_p itself, or twice the largest distance from one centre c, as ‖A_z − A_z'‖ ≤ ‖A_z
      − c‖ + ‖c − A_z'‖.
    - TableQueries: the queries on table S are a matrix M_S on its counts, and a row in count z_S of
      each S moves them by the difference of two columns of M_S, at most d_S, the Explicit bound of
      M_S. One row moves all tables at
      once, each query is in one of them, so Δ₂² ≤ Σ_S d_S² and Δ₁ ≤ Σ_S d_S, as if one pair were
      farthest in all.
    - Union: likewise Δ₂² ≤ Σ_i Δ₂(i)² and Δ₁ ≤ Σ_i Δ₁(i) over its members, whose answers are listed
      in turn.
    """

    workload: Workload
    answered_slice = ALL_ANSWERS

    @property
    def l1(self) -> float:
        """The ℓ1-sensitivity Δ₁ to one row."""
        w = self.workload
        if isinstance(w, Union):
            return sum(Answers(member).l1 for member, _ in w.parts)
        return 2.0 * len(w.tables) if isinstance(w, Marginals) else _require_matrix(w).diameter_l1

    @property
    def l2(self) -> float:
        """The ℓ2-sensitivity Δ₂ to one row."""
        w = self.workload
        if isinstance(w, Union):
            return math.hypot(*(Answers(member).l2 for member, _ in w.parts))
        return (
            math.sqrt(2 * len(w.tables))
            if isinstance(w, Marginals)
            else _require_matrix(w).diameter
        )

    def value(self, rows: Rows) -> Array:
        """Return the answers on the rows (m,)."""
        return self.workload.answers_of_rows(rows)


@frozen
class WeightedTables(Answers):
    """All marginal tables, weighted: noise is added to w_S · table_S(P_n).

    So table S has 1/w_S times that noise.

    One row leaves one cell of each table for another: Δ₁ = 2 Σ w_S, Δ₂ = √(2 Σ w_S²), for
    `weights` w (tables,).
    """

    weights: Array

    @property
    def answer_weights(self) -> Array:
        """The weight (m,) of each answer: that of its table."""
        return np.repeat(self.weights, self.workload.sizes)  # type: ignore[attr-defined]

    @property
    def l1(self) -> float:
        """The sensitivity Δ₁: a changed row moves two cells of every table."""
        return 2 * float(self.weights.sum()) * ROUNDING_SLACK

    @property
    def l2(self) -> float:
        """The sensitivity Δ₂: a changed row moves two cells of every table."""
        return math.sqrt(2 * float(self.weights @ self.weights)) * ROUNDING_SLACK

    @property
    def norms(self) -> Array:
        """What each noisy answer (m,) is multiplied by to be one of the workload again."""
        return 1 / self.answer_weights

    def on_grid(self, n: int) -> tuple["WeightedTables", float]:
        """Return the tables with weights on the grid, and the grid's step.

        n times the value is counts times the weights.
        """
        return WeightedTables(
            self.workload, round_weights_to_grid(self.weights, grid_step(n))
        ), grid_step(n)

    def check(self) -> None:
        """Raise InputError unless the workload is marginal tables with weights in 1/1024..1.

        Each table has one weight.
        """
        is_weighted_tables = type(self.workload) is Marginals and self.weights.shape == (
            len(self.workload.tables),
        )
        if not (
            is_weighted_tables
            and (self.weights >= MIN_QUERY_RANGE).all()
            and (self.weights <= 1).all()
        ):
            raise InputError(
                f"marginal tables are weighted, each by a number in {MIN_QUERY_RANGE:g}..1"
            )

    def value(self, rows: Rows) -> Array:
        """Return the weighted tables (m,) of the rows."""
        return self.answer_weights * super().value(rows)

    def postprocess(self, noisy: Array) -> Array:
        """Return the noisy tables (m,), divided by their weights."""
        return noisy / self.answer_weights


@value_object
class Sensitivity:
    """The Δ₁ and Δ₂ to one row of a kind of statistic.

    For a plan that does not know yet which statistic it measures.
    """

    l1: float
    l2: float
    norms = 1.0


ONE_TABLE_SENSITIVITY = Sensitivity(
    2.0, math.sqrt(2)
)  # a row leaves one cell of a table for another


@frozen
class SomeAnswers(WorkloadStatistic):
    """A statistic of one answer, or of all answers of one table.

    One row moves ⟨q_j, n · P_n⟩ by hi_j − lo_j at the most (for an explicit matrix that query's
    own, else the largest of all): Δ₁ = Δ₂ = hi_j − lo_j. It leaves one count of a table for
    another: Δ₁ = 2, Δ₂ = √2. Raises InputError where `part` is neither slice(j, j + 1) nor the
    slice of a table.
    """

    workload: Workload
    part: slice
    takes_answers = True

    def __post_init__(self) -> None:
        j = self.part.start
        if (
            not (j in range(self.workload.m) and self.part == slice(j, j + 1))
            and self.part not in self.workload.tables
        ):
            raise InputError(
                f"answers {self.part.start}..{self.part.stop} are neither one answer nor one table"
            )

    @property
    def l1(self) -> float:
        """The ℓ1-sensitivity Δ₁ to one row."""
        return ONE_TABLE_SENSITIVITY.l1 if self._is_table else self._range

    @property
    def l2(self) -> float:
        """The ℓ2-sensitivity Δ₂ to one row."""
        return ONE_TABLE_SENSITIVITY.l2 if self._is_table else self._range

    @property
    def answered_slice(self) -> slice:
        """The index or slice of these answers among all."""
        return self.part

    @property
    def _is_table(self) -> bool:
        return self.part.stop > self.part.start + 1

    @property
    def _range(self) -> float:
        w = self.workload
        return float(np.ptp(w.matrix[self.part.start])) if isinstance(w, Explicit) else w.width

    def value(self, all_answers: Array) -> Array:
        """Return these answers, taken from all answers on the rows (m,)."""
        return all_answers[self.part]


@frozen
class CellAnswers(WorkloadStatistic):
    """The answers (m,) after noise on all counts: A(P_n + ξ).

    A (m, k) is their matrix, ξ ~ N(0, σ² I_k).

    The noisy counts are never released, only what the queries see of them. A row moves n · P_n by
    e_z − e_z': Δ₁ = 2 and Δ₂ = √2, which noise without a subspace uses. With Π the projection on
    the row space of A, A(P_n + ξ) = A(ΠP_n + Πξ), and Πξ is standard Gaussian noise within that
    space, so that noise in the subspace uses Δ₂ = max_{z,z'} ‖Π(e_z − e_z')‖₂:

    - Marginals: functions of columns S alone that sum to zero over each of them, for all S, are
      orthogonal and span everything; E_S = ⊗_{i∈S} (I − J/d_i) ⊗_{i∉S} J/d_i projects on them (J
      all ones), and the indicators of table A
      span those with S ⊆ A. So Π is the sum of E_S over all S inside some table, and with a_i =
      1[z_i = z'_i] Π_zz' = (1/k) Σ_S Π_{i∈S} (d_i a_i − 1). As Π is a projection with constant
      diagonal, Δ₂² = 2 max_a (Π_zz − Π_zz') over all patterns a of agreement: the maximum is not
      always where all columns differ. Beyond 23 columns: √2.
    - TableQueries, and Unions without an explicit member: inside the row space of the tables they
      read, by its Π.
    - Explicit: the noise is drawn on coordinates VP_n (p,), V an orthonormal basis of the row
      space, and AVᵀ of it leaves; Δ₂ is that of VP_n, the largest distance of V's columns or √2
      ‖V‖₂, however exact V is, so that V may
      come from a QR factorisation: an error in it costs accuracy, never privacy. √2, and noise on
      all counts, where the matrix is too large for that; likewise for a Union with an explicit
      member.
    """

    workload: Workload
    subspace: bool
    answered_slice = ALL_ANSWERS
    shares_noise = True
    reads_single_rows = True

    @property
    def l1(self) -> float:
        """The ℓ1-sensitivity Δ₁ to one row; a projection does not help against Laplace noise."""
        return 2.0 if self.basis is None else max_column_distance(self.basis, 1) * ROUNDING_SLACK

    @cached_property
    def l2(self) -> float:
        """The ℓ2-sensitivity Δ₂ to one row."""
        tables = self.workload.base
        if self.basis is not None:
            stretch = float(
                np.abs(self.basis @ self.basis.T).sum(axis=1).max()
            )  # ≥ ‖V‖₂², 1 if V is exact
            return min(max_column_distance(self.basis, 2), math.sqrt(2 * stretch)) * ROUNDING_SLACK
        return _projected_distance(tables) if self.subspace and tables else math.sqrt(2)

    @property
    def gridded(self) -> bool:
        """Whether noise can be drawn on a grid.

        Not in a subspace without a basis, where only continuous noise is symmetric.
        """
        return not self.subspace or self.basis is not None

    def on_grid(self, n: int) -> tuple["CellAnswers", float]:
        """Return the statistic with its basis, if any, on the grid, and the grid's step.

        The derivation holds for any basis V.
        """
        if not self.subspace:
            return self, 1.0
        if self.basis is None:
            raise InputError("noise on all combinations within a subspace cannot be put on a grid")
        gridded = CellAnswers(self.workload, self.subspace)
        spacing = grid_step(n)
        vars(gridded)["basis"] = np.rint(self.basis / spacing) * spacing
        return gridded, spacing

    @cached_property
    def norms(self) -> Array:
        """The norms ‖q_j‖₂ (m,), which times σ give the standard deviation of each answer."""
        if self.workload not in _NORM_CACHE:
            _NORM_CACHE[self.workload] = _query_norms(self.workload)
        return _NORM_CACHE[self.workload]

    @property
    def rank(self) -> int:
        """An upper bound on the dimension of the row space, exact where it is computed."""
        return (
            min(self.workload.m, self.workload.domain.size)
            if self.basis is None
            else len(self.basis)
        )

    @cached_property
    def basis(self) -> Array | None:
        """The matrix V (p, k) with orthonormal rows in whose coordinates noise is drawn."""
        w = self.workload
        if not (self.subspace and isinstance(w, Explicit)) or w.row_space is None:
            return None
        V = w.row_space.basis
        return V if len(V) else np.zeros((1, w.domain.size))

    def value(self, rows: Rows) -> Array:
        """Return the rows' distribution P_n on all cells (k,), or its coordinates (p,)."""
        domain = self.workload.domain
        weights = rows.weights / rows.sum_divisor
        cells = domain.cell_numbers(rows.values)
        return (
            np.bincount(cells, weights, domain.size)
            if self.basis is None
            else self.basis[:, cells] @ weights
        )

    def postprocess(self, noisy: Array) -> Array:
        """Return the answers (m,) of the noisy cells or coordinates."""
        return self.workload.answers(noisy if self.basis is None else noisy @ self.basis)


def _require_matrix(workload: Workload) -> Explicit | TableQueries:
    """Return the matrix of a workload; InputError for a workload that is not given by one."""
    if isinstance(workload, Explicit | TableQueries):
        return workload
    raise InputError(
        f"{type(workload).__name__} is not a set of questions whose sensitivity is known here"
    )


def _projected_distance(tables: Marginals) -> float:
    """Return the distance max_{z,z'} ‖Π(e_z − e_z')‖₂ over the tables' row space, rounded up.

    See `CellAnswers`.
    """
    shape = tables.domain.shape
    # size 1: never differs
    varying_columns = [i for i in sorted({a for axes in tables.axes for a in axes}) if shape[i] > 1]
    if len(varying_columns) > MAX_PATTERN_COLUMNS:
        return math.sqrt(2)
    # 1 at the sets S of columns, as 0/1 coordinates, that lie inside some table
    inside_tables = np.zeros((2,) * len(varying_columns))
    for axes in tables.axes:
        inside_tables[tuple(int(i in axes) for i in varying_columns)] = 1
    for axis in range(len(varying_columns)):
        without, within = np.split(inside_tables, 2, axis)
        np.maximum(without, within, out=without)
    # coordinate by coordinate from sets S to patterns a: without, within → differ, agree
    projection = inside_tables
    for axis, i in enumerate(varying_columns):
        differ, agree = np.split(projection, 2, axis)
        differ -= agree
        agree *= shape[i]
        agree += differ
    same_row = float(projection.flat[-1])
    return (
        min(math.sqrt(2 * (same_row - float(projection.min())) / tables.domain.size), math.sqrt(2))
        * ROUNDING_SLACK
    )


def _query_norms(workload: Workload) -> Array:
    """Return the norms ‖q_j‖₂ (m,) of the queries over the cells of the domain."""
    if isinstance(workload, Union):
        return np.concatenate([_query_norms(member) for member, _ in workload.parts])
    if isinstance(workload, Marginals):
        return np.sqrt(
            np.repeat([workload.domain.size / size for size in workload.sizes], workload.sizes)
        )
    if isinstance(workload, TableQueries):
        return np.sqrt(workload.matrix**2 @ _query_norms(workload.base) ** 2)
    return np.linalg.norm(_require_matrix(workload).matrix, axis=1)


@frozen
class SignedErrors(WorkloadStatistic):
    """The error of every query with both signs, as scores for a selection.

    s · (rounds · ⟨q_j, P_n⟩ − answers_j), first all s = +1, then s = −1.

    A signed query is an index in 0..2m−1: j is +q_j and m + j is −q_j. `answers` (m,) are public;
    they are sums of as many answers to each query as there are `rounds`. One row moves ⟨q_j, P_n⟩
    by hi_j − lo_j at the most: Δ = rounds · max_j (hi_j − lo_j). The two signs move opposite ways,
    so the scores are not monotone and the exponential mechanism keeps its factor 2: as each score
    moves by −Δ..Δ, a draw with probability ∝ exp(η · score) has log-likelihood ratios η · (change
    of the score) − (one change of the normaliser) that span 2ηΔ. It is 2ηΔ-bounded-range, and η =
    ε₀/(2Δ) for a range of ε₀.
    """

    workload: Workload
    answers: Array
    rounds: int = 1

    @property
    def sensitivity(self) -> float:
        """The sensitivity Δ to one row."""
        return self.rounds * self.workload.width

    def in_counts(self, workload: Workload, n: int) -> tuple["SignedErrors", float]:
        """Return the scores n times as large, of exact counts, and a bound on their rounding.

        The bound is that of one subtraction.
        """
        answers = n * clip_public_answers(self.answers, self.rounds)
        return SignedErrors(workload, answers, self.rounds), FLOAT_ERROR * (
            self.rounds * n + float(np.abs(answers).max())
        )

    def check(self) -> None:
        """Raise InputError for a workload without sensitivity, or answers that do not fit.

        The sensitivity must be derived; rounds must fit too.
        """
        super().check()
        if not (isinstance(self.rounds, (int, np.integer)) and self.rounds > 0):
            raise InputError(f"rounds={self.rounds} must be a whole number ≥ 1")
        if self.answers.shape != (self.workload.m,) or np.isnan(self.answers).any():
            raise InputError(
                f"scores of {self.workload.m} queries need as many answers, each a number"
            )

    def value(self, truth: Array) -> Array:
        """Return the scores (2m,) from the answers on the rows.

        In shares or, as `in_counts` makes them, in counts.
        """
        errors = self.rounds * truth - self.answers
        return np.concatenate([errors, -errors])
