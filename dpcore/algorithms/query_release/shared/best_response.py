"""Public best responses: the cell that maximises a weighted sum of queries.

Nothing here is private: weights and noise come from what was already released. A worse answer costs
accuracy only.
"""

from functools import reduce
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_array, csr_array

from ....core.errors import InputError
from ....core.types import Array, Rng, frozen
from ....problems import require_enumerable
from ....queries import Workload

# cells up to which one pass over all of them (10 ms) beats an integer program
MAX_ENUMERATED_CELLS = 1_000_000
TIE_TOLERANCE = 1e-9  # relative difference below which two cells are equally good
SOLVER_GAP = 1e-6  # relative gap at which an integer program counts as solved
# predicted seconds of best responses, fitted on runs of `tests.benchmarks.forecasts`
SECONDS_PER_RESPONSE = 1.4e-4
SUM_SECONDS_PER_CELL = 2.5e-9  # for the weighted sum of queries, once for all rows of scores
SCORE_SECONDS_PER_CELL = 3.2e-9  # for each of several rows of scores
PROGRAM_SECONDS = 0.02
SCORED_PROGRAM_SECONDS = 0.01  # with scores, which leave fewer rows equally good
CellSolution = tuple[Array, float, bool]


@frozen
class BestResponses:
    """Best responses: `codes` (c, d), their `values` (c,), and how many were cut short.

    The time limit cuts them.
    """

    codes: Array
    values: Array
    timed_out_count: int = 0


class BestResponseOracle:
    """The oracle for argmax over cells x of Σ_j w_j q_j(x).

    Optionally plus a public score of each (column, value).

    Up to 1e6 cells, and for explicit matrices up to what can be enumerated, by looking at all of
    them. Beyond, by an integer program over one-hot variables x_{i,v} with Σ_v x_{i,v} = 1 and one
    variable z a table cell of weight ≠ 0; values that no such cell names are one variable a column.
    When `seconds` are over, the better of the best point found and of a coordinate ascent counts,
    and is counted as late. Without scores, ties are broken at random among the cells looked at, and
    among values that no weighted cell names. Raises InputError for an explicit matrix over more
    cells than can be enumerated.
    """

    def __init__(
        self,
        workload: Workload,
        seconds: float = 0.25,
        *,
        max_enumerated_cells: int = MAX_ENUMERATED_CELLS,
    ) -> None:
        self.workload = workload
        self.seconds = seconds
        self.shape = workload.domain.shape
        self.enumerates_cells = workload.domain.size <= max_enumerated_cells
        if workload.base is None:
            require_enumerable(workload.domain)
            self.enumerates_cells = True

    def argmax(self, weights: Array, rng: Rng, scores: Array | None = None) -> BestResponses:
        """Return the best responses to weights (m,): one, or one for each row of scores.

        Scores are (c, Σ_i d_i), columns side by side.
        """
        if self.enumerates_cells:
            return self._search_all_cells(weights, rng, scores)
        program = _ConjunctionProgram(self.workload, weights)
        score_rows = [None] if scores is None else list(scores)
        solutions = [program.solve(row, self.seconds, rng) for row in score_rows]
        codes, values, timed_out = zip(*solutions, strict=True)
        return BestResponses(np.array(codes), np.array(values), sum(timed_out))

    def _search_all_cells(self, weights: Array, rng: Rng, scores: Array | None) -> BestResponses:
        """Return the best responses, found by looking at every cell."""
        values = self.workload.adjoint(weights)
        if scores is None:
            max_value = float(values.max())
            cells = np.array(
                [
                    rng.choice(
                        np.flatnonzero(
                            values >= max_value - TIE_TOLERANCE * max(1.0, abs(max_value))
                        )
                    )
                ]
            )
            best_values = values[cells]
        else:
            cells = np.empty(len(scores), dtype=np.int64)
            best_values = np.empty(len(scores))
            column_ends = np.cumsum(self.shape)[:-1]
            for i, row in enumerate(scores):
                scored_values = reduce(np.add.outer, np.split(row, column_ends)).ravel()
                scored_values += values
                cells[i] = scored_values.argmax()
                best_values[i] = scored_values[cells[i]]
        return BestResponses(self.workload.domain.codes_of_cells(cells), best_values)


def response_seconds(workload: Workload, score_rows: int, time_limit: float) -> float:
    """Return the predicted seconds of the best responses to one round's weights.

    One for each row of scores, or a single one without scores.
    """
    count = max(score_rows, 1)
    if not BestResponseOracle(workload).enumerates_cells:
        program_seconds = SCORED_PROGRAM_SECONDS if score_rows else PROGRAM_SECONDS
        return count * min(program_seconds, time_limit)
    cell_seconds = SUM_SECONDS_PER_CELL + score_rows * SCORE_SECONDS_PER_CELL
    return count * SECONDS_PER_RESPONSE + workload.domain.size * cell_seconds


class QuerySums:
    """Sums of query values over public rows, kept as table cells.

    One row costs one addition a table.
    """

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self._sums = np.zeros(workload.base.m if workload.base else workload.m)

    def add_rows(self, codes: Array) -> None:
        """Add public rows (r, d) to the counts."""
        tables = self.workload.base
        if tables is None:
            counts = np.bincount(
                self.workload.domain.cell_numbers(codes), minlength=self.workload.domain.size
            )
            self._sums += self.workload.answers(counts.astype(float))
            return
        for axes, shape, table in tables.layout:
            np.add.at(
                self._sums,
                table.start + np.ravel_multi_index(tuple(codes[:, a] for a in axes), shape),
                1.0,
            )

    @property
    def sums(self) -> Array:
        """The sums Σ q_j(x) over all rows (m,)."""
        return self.workload.from_table_cells(self._sums) if self.workload.base else self._sums


class _ConjunctionProgram:
    """A weighted sum of table cells as a function of one-hot rows x (Σ_i d_i).

    Columns side by side.

    `cell_values` (N, Σ_i d_i) says which values each of the N cells asks for, and `value_counts`
    (N,) how many.
    """

    def __init__(self, workload: Workload, weights: Array) -> None:
        tables = workload.base
        if tables is None:
            raise InputError(
                "a best response to an explicit query matrix needs combinations that can be "
                "enumerated"
            )
        weights = workload.weights_on_cells(weights)
        nonzero_cells = np.flatnonzero(weights)
        self.weights = weights[nonzero_cells]
        self.shape = workload.domain.shape
        self.starts = np.cumsum([0, *self.shape[:-1]])
        table_starts = np.array([table_slice.start for table_slice in tables.tables])
        table = np.searchsorted(table_starts, nonzero_cells, side="right") - 1
        index_pairs = [np.zeros((2, 0), dtype=int)]
        for t in np.unique(table):
            table_cells = np.flatnonzero(table == t)
            axis_codes = np.unravel_index(
                nonzero_cells[table_cells] - table_starts[t], tables.shapes[t]
            )
            index_pairs += [
                (table_cells, self.starts[axis] + values)
                for axis, values in zip(tables.axes[t], axis_codes, strict=True)
            ]
        self.cell_values = _sparse_ones(*np.concatenate(index_pairs, axis=1), width=sum(self.shape))
        self.value_counts = self.cell_values.sum(axis=1)
        self.constraint_rows, self.lower_limits, self.upper_limits = self._constraints(table)

    def _constraints(self, table_of_cell: Array) -> tuple[Any, Any, Any]:
        """Return the constraints low ≤ rows (x, z) ≤ high, with a variable z for each cell.

        `table_of_cell` (N,) holds the table of each cell.
        """
        count, width = self.cell_values.shape
        is_positive = self.weights > 0
        is_negative = self.weights < 0
        # z may be 1 only if its values are taken; cells of one table exclude each other, so they
        # share a constraint. In the order of their values, which the solver is quicker with.
        cell, value = self.cell_values.multiply(is_positive[:, None]).nonzero()
        table_count = table_of_cell.max(initial=0) + 1
        pairs, pair_of_entry = np.unique(
            value * table_count + table_of_cell[cell], return_inverse=True
        )
        # z of a negative weight must be 1 if all its values are taken.
        rows = block_array(
            [
                [
                    _sparse_ones(
                        np.repeat(np.arange(len(self.shape)), self.shape), np.arange(width), width
                    ),
                    None,
                ],
                [
                    -_sparse_ones(np.arange(len(pairs)), pairs // table_count, width),
                    _sparse_ones(pair_of_entry, cell, count),
                ],
                [
                    self.cell_values[is_negative],
                    -_sparse_ones(np.arange(is_negative.sum()), np.flatnonzero(is_negative), count),
                ],
            ]
        )
        high = np.concatenate(
            [np.ones(len(self.shape)), np.zeros(len(pairs)), self.value_counts[is_negative] - 1]
        )
        return rows.tocsc(), np.where(np.arange(len(high)) < len(self.shape), 1, -np.inf), high

    def solve(self, scores: Array | None, seconds: float, rng: Rng) -> CellSolution:
        """Return the best cell (d,), its value, and whether the time limit cut the search short."""
        value_scores = np.zeros(sum(self.shape)) if scores is None else scores
        tie_order = rng.random(len(value_scores)) if scores is None else scores
        is_unnamed = self.cell_values.sum(axis=0) == 0
        # Of a column's values that no cell names, the best one, or any, stands for all.
        in_program = (
            np.append(
                self._one_hot(np.where(is_unnamed, tie_order, -np.inf)) + ~is_unnamed,
                np.ones(len(self.weights)),
            )
            > 0
        )
        result = milp(
            -np.append(value_scores, self.weights)[in_program],
            constraints=LinearConstraint(
                self.constraint_rows[:, in_program], self.lower_limits, self.upper_limits
            ),
            bounds=Bounds(0, 1),
            integrality=np.arange(len(in_program))[in_program] < len(value_scores),
            options={"time_limit": seconds, "mip_rel_gap": SOLVER_GAP},
        )
        solution = tie_order
        timed_out = result.status != 0
        if result.x is not None:
            solution = np.zeros(len(in_program))
            solution[in_program] = result.x
        x = self._one_hot(solution[: len(value_scores)])
        if timed_out:
            candidates = (
                self._coordinate_ascent(x, value_scores),
                self._coordinate_ascent(self._one_hot(rng.random(len(x))), value_scores),
            )
            x = max((x, *candidates), key=lambda x: self._evaluate(x, value_scores))
        return np.flatnonzero(x) - self.starts, self._evaluate(x, value_scores), timed_out

    def _column_sums(self, x: Array) -> Array:
        """Return the sums of x over the values of each column, written to each of its values."""
        return np.repeat(np.add.reduceat(x, self.starts), self.shape)

    def _one_hot(self, order: Array) -> Array:
        """Return the row with each column's value of the highest order."""
        x = np.zeros(len(order))
        x[self.starts + [part.argmax() for part in np.split(order, self.starts[1:])]] = 1
        return x

    def _evaluate(self, x: Array, value_scores: Array) -> float:
        """Return the weighted sum of the queries at a row, with its scores."""
        return float(
            self.weights[self.cell_values @ x == self.value_counts].sum() + value_scores @ x
        )

    def _coordinate_ascent(self, x: Array, value_scores: Array) -> Array:
        """Return the row at which a search by best single-column changes ends.

        It takes the best change of a single column until none is better.
        """
        while True:
            missing = self.value_counts - self.cell_values @ x
            weight_present = self.cell_values.T @ np.where(missing == 0, self.weights, 0.0)
            weight_one_missing = self.cell_values.T @ np.where(missing == 1, self.weights, 0.0)
            gains = value_scores + np.where(x > 0, weight_present, weight_one_missing)
            gains -= self._column_sums(gains * x)
            if gains.max() <= TIE_TOLERANCE:
                return x
            is_best = np.arange(len(x)) == gains.argmax()
            x = np.where(self._column_sums(is_best) > 0, is_best, x)


def _sparse_ones(rows: Array, columns: Array, width: int) -> Any:
    """Return the sparse matrix of that width with ones at these places."""
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(rows.max(initial=-1) + 1, width))
