"""Public best responses: the cell that maximises a weighted sum of queries.

Nothing here is private: weights and noise come from what was already released. A worse answer costs accuracy only.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from ..errors import InputError
from ..problems import require_enumerable
from ..types import Array, Rng
from ..workloads import Explicit, Union, Workload
from ..workloads.union import marginal_tables, reading

ENUMERATED = 1_000_000  # cells up to which one pass over all of them (10 ms) beats an integer program
TIE = 1e-9  # relative difference below which two cells are equally good
GAP = 1e-6  # relative gap at which an integer program counts as solved
Solved = tuple[Array, float, bool]
SWEEPS = 50  # most sweeps of coordinate ascent


@dataclass(frozen=True, eq=False)
class BestResponses:
    """Best responses: `codes` (c, d), their `values` (c,), and the number that the time limit cut short."""

    codes: Array
    values: Array
    late: int = 0


class Oracle:
    """The oracle for argmax over cells x of Σ_j w_j q_j(x), optionally plus a public score of each (column, value).

    Up to 1e6 cells, and for explicit matrices up to what can be enumerated, by looking at all of them. Beyond, by an
    integer program over one-hot variables x_{i,v} with Σ_v x_{i,v} = 1 and one variable z a table cell of weight ≠ 0;
    values that no such cell names are one variable a column. When `seconds` are over, the better of the best point
    found and of a coordinate ascent counts, and is counted as late. Without scores, ties are broken at random among the
    cells looked at, and among values that no weighted cell names.
    Raises InputError for an explicit matrix over more cells than can be enumerated.
    """

    def __init__(self, workload: Workload, seconds: float = 0.25, *, enumerated: int = ENUMERATED) -> None:
        self.workload, self.seconds = workload, seconds
        self.shape = workload.domain.shape
        self.enumerates = workload.domain.size <= enumerated
        members = workload.workloads if isinstance(workload, Union) else (workload,)
        if any(isinstance(member, Explicit) for member in members):
            require_enumerable(workload.domain)
            self.enumerates = True

    def argmax(self, weights: Array, rng: Rng, scores: Array | None = None) -> BestResponses:
        """The best responses to weights (m,): one, or one for each row of scores (c, Σ_i d_i), columns side
        by side.
        """
        if self.enumerates:
            return self._enumerate(weights, rng, scores)
        parts = _Conjunctions(self.workload, weights)
        rows = [None] if scores is None else list(scores)
        found = [parts.solve(row, self.seconds, rng) for row in rows]
        codes, values, late = zip(*found, strict=True)
        return BestResponses(np.array(codes), np.array(values), sum(late))

    def argmin(self, weights: Array, rng: Rng, scores: Array | None = None) -> BestResponses:
        """The cells that minimise the weighted sum, with the same arguments as `argmax`."""
        found = self.argmax(-weights, rng, None if scores is None else -scores)
        return BestResponses(found.codes, -found.values, found.late)

    def _enumerate(self, weights: Array, rng: Rng, scores: Array | None) -> BestResponses:
        values = self.workload.adjoint(weights)
        if scores is None:
            top = float(values.max())
            cells = np.array([rng.choice(np.flatnonzero(values >= top - TIE * max(1.0, abs(top))))])
            found = values[cells]
        else:
            cells, found = np.empty(len(scores), dtype=np.int64), np.empty(len(scores))
            ends = np.cumsum(self.shape)[:-1]
            for i, row in enumerate(scores):
                field = reduce(np.add.outer, np.split(row, ends)).ravel()
                field += values
                cells[i] = field.argmax()
                found[i] = field[cells[i]]
        return BestResponses(np.column_stack(np.unravel_index(cells, self.shape)), found)


class Counter:
    """Sums of query values over public rows, kept as table cells: one row costs one addition a table."""

    def __init__(self, workload: Workload) -> None:
        self.workload, self.rows = workload, 0
        self._tables = marginal_tables(workload)
        self._sums = np.zeros(workload.m if self._tables is None else self._tables.m)

    def add(self, codes: Array) -> None:
        """Add public rows (r, d) to the counts."""
        self.rows += len(codes)
        if self._tables is None:
            counts = np.bincount(self.workload.domain.index(codes), minlength=self.workload.domain.size)
            self._sums += self.workload.answers(counts.astype(float))
            return
        for axes, shape, table in zip(self._tables.axes, self._tables.shapes, self._tables.tables, strict=True):
            np.add.at(self._sums, table.start + np.ravel_multi_index(tuple(codes[:, a] for a in axes), shape), 1.0)

    @property
    def sums(self) -> Array:
        """The sums Σ q_j(x) over all rows (m,)."""
        direct = self._tables is None or self._tables is self.workload
        return self._sums.copy() if direct else reading(self.workload) @ self._sums


class _Conjunctions:
    """A weighted sum of queries as weighted table cells; `cells` (N, d) holds a value for each column, −1 for any."""

    def __init__(self, workload: Workload, weights: Array) -> None:
        tables = marginal_tables(workload)
        if tables is None:
            raise InputError("a best response to an explicit query matrix needs combinations that can be enumerated")
        if tables is not workload:
            weights = reading(workload).T @ weights
        chosen = np.flatnonzero(weights)
        starts = np.array([table.start for table in tables.tables])
        self.table = np.searchsorted(starts, chosen, side="right") - 1
        self.weights = weights[chosen]
        self.shape = workload.domain.shape
        self.cells = np.full((len(chosen), len(self.shape)), -1)
        for t in np.unique(self.table):
            own = self.table == t
            found = np.unravel_index(chosen[own] - starts[t], tables.shapes[t])
            self.cells[np.ix_(own, tables.axes[t])] = np.column_stack(found)
        self._build()

    def _build(self) -> None:
        """The solver's variables x (one-hot, `slot[i][v]` for value v of column i) and z, and their constraints."""
        self.slot, self.own, start = [], [], 0
        for i, size in enumerate(self.shape):
            used = np.unique(self.cells[:, i])
            used = used[used >= 0]
            slot = np.full(size, start + len(used))  # all values that no cell names are one variable
            slot[used] = start + np.arange(len(used))
            count = len(np.unique(slot)) if len(used) else 0
            self.slot.append(slot)
            self.own.append(slice(start, start + count))
            start += count
        named = self.cells >= 0
        single = named.sum(axis=1) <= 1
        self.linear = np.zeros(start)
        for i in range(len(self.shape)):
            here = single & named[:, i]
            np.add.at(self.linear, self.slot[i][self.cells[here, i]], self.weights[here])
        self.constant = float(self.weights[~named.any(axis=1)].sum())
        z = np.flatnonzero(~single)
        up = self.weights[z] > 0
        entries = []  # (row, variable, coefficient)
        row, high = 0, []
        # z may be 1 only if its values are taken; cells of one table exclude each other, so they share a constraint.
        for i in range(len(self.shape)):
            where = np.flatnonzero(up & named[z, i])
            if len(where):
                x = self.slot[i][self.cells[z[where], i]]
                pairs, group = np.unique(np.column_stack([self.table[z[where]], x]), axis=0, return_inverse=True)
                entries += [(row + group.ravel(), start + where, 1.0), (row + np.arange(len(pairs)), pairs[:, 1], -1.0)]
                row += len(pairs)
                high += [0.0] * len(pairs)
        # z of a negative weight must be 1 if all its values are taken.
        down = np.flatnonzero(~up)
        for i in range(len(self.shape)):
            where = np.flatnonzero(named[z[down], i])
            entries.append((row + where, self.slot[i][self.cells[z[down[where]], i]], 1.0))
        entries.append((row + np.arange(len(down)), start + down, -1.0))
        high += list(named[z[down]].sum(axis=1) - 1.0)
        row += len(down)
        width = start + len(z)
        self.x, self.z = start, z
        ones = [(np.full(own.stop - own.start, i), np.arange(own.start, own.stop), 1.0)
                for i, own in enumerate(self.own)]  # fmt: skip
        chosen = np.array([float(own.stop > own.start) for own in self.own])
        rules: list[tuple[Any, ...]] = [(_sparse(ones, (len(self.shape), width)), chosen, chosen)]
        if row:
            rules.append((_sparse(entries, (row, width)), -np.inf, np.array(high)))
        self.rules = [LinearConstraint(*rule) for rule in rules]

    def solve(self, scores: Array | None, seconds: float, rng: Rng) -> Solved:
        """The best cell (d,), its value, and whether the time limit cut the search short."""
        each = self._split(scores, rng)
        objective = np.concatenate([self.linear, self.weights[self.z]])
        best = [np.zeros(0, dtype=int)] * len(self.shape)  # the best value of every variable
        for i, own in enumerate(self.own):
            if own.stop > own.start:
                order = np.lexsort((each[i], self.slot[i]))
                last = np.flatnonzero(np.append(np.diff(self.slot[i][order]) > 0, True))
                best[i] = order[last]
                objective[own] += each[i][best[i]] if scores is not None else 0.0
        point = np.array([int(score.argmax()) for score in each])
        late = False
        if self.x:
            result = milp(
                -objective, constraints=self.rules, bounds=Bounds(0, 1),
                integrality=np.arange(len(objective)) < self.x,
                options={"time_limit": seconds, "mip_rel_gap": GAP},
            )  # fmt: skip
            late = result.status != 0
            if result.x is not None:
                for i, own in enumerate(self.own):
                    if own.stop > own.start:
                        point[i] = best[i][int(result.x[own].argmax())]
        value = self._value(point, scores)
        if late:
            other = self._ascend(np.array([rng.integers(size) for size in self.shape]), each, scores is not None)
            other = max((other, self._ascend(point, each, scores is not None)), key=lambda p: self._value(p, scores))
            if self._value(other, scores) > value:
                point, value = other, self._value(other, scores)
        return point, value, late

    def _split(self, scores: Array | None, rng: Rng) -> list[Array]:
        """The scores by column; without scores, random ones that break ties."""
        row = rng.random(sum(self.shape)) if scores is None else scores
        return np.split(row, np.cumsum(self.shape)[:-1])

    def _value(self, point: Array, scores: Array | None) -> float:
        hit = ((self.cells == point) | (self.cells < 0)).all(axis=1)
        starts = np.cumsum([0, *self.shape[:-1]])
        return float(self.weights[hit].sum() + (0.0 if scores is None else scores[starts + point].sum()))

    def _ascend(self, point: Array, each: list[Array], scored: bool) -> Array:
        """The end of a search that sets one column after the other to its best value until nothing improves."""
        point = point.copy()
        for _ in range(SWEEPS):
            before = point.copy()
            for i, size in enumerate(self.shape):
                wrong = (self.cells != point) & (self.cells >= 0)
                wrong[:, i] = False
                counts = ~wrong.any(axis=1) & (self.cells[:, i] >= 0)
                gains = np.bincount(self.cells[counts, i], self.weights[counts], size)
                gains = gains + each[i] if scored else gains
                if gains.max() > gains[point[i]]:
                    point[i] = gains.argmax()
            if np.array_equal(before, point):
                break
        return point


def _sparse(entries: list, shape: tuple[int, int]) -> csr_array:
    rows, columns = (np.concatenate([e[i] for e in entries]) for i in (0, 1))
    data = np.concatenate([np.full(len(e[0]), e[2]) for e in entries])
    return csr_array((data, (rows, columns)), shape=shape)
