"""Marginal tables, computed from partial sums that several tables share."""

import math
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, reduce
from itertools import accumulate, combinations
from typing import Any

import numpy as np

from ..core.errors import InputError
from ..core.numbers import consecutive_slices
from ..core.types import Array, Axes, Texts
from ..schema.domain import Countable, Domain
from .workload import QueryLabel, Workload

MAX_TABLES = 200_000  # all triples of a hundred columns, and not many more
MIN_COLUMNS_TO_SAMPLE_PAIRS = 30  # columns from which on only some pairs are scored
SAMPLED_PAIRS = 200
MAX_DECOMPOSED_AXES = 6  # most columns of a table whose queries are split into components


class Marginals(Workload):
    """Marginal tables on chosen column sets: query j is the indicator of one cell of one table.

    Answers are summed out of shared partial sums along a tree (a 2-way table comes from a 3-way
    one), so one pass costs a few additions per cell of the domain, not one per table.

    >>> domain = domain_from_json({"a": 2, "b": 3})
    >>> Marginals(domain, [["a"], ["a", "b"]]).m
    8
    """

    width = 1.0

    def __init__(self, domain: Domain, columns: Iterable[Sequence[str]]) -> None:
        self.domain = domain
        self.columns = tuple(tuple(c) for c in columns)
        if not self.columns:
            raise InputError("the questions have no marginals; name at least one set of columns")
        self.axes = tuple(tuple(sorted(domain.axes(c))) for c in self.columns)
        for names, axes in zip(self.columns, self.axes, strict=True):
            if not names or len(set(axes)) < len(names):
                raise InputError(
                    f"the marginal {names!r} must name at least one column, and each only once"
                )
        if len(set(self.axes)) < len(self.axes):
            repeated = next(
                c for c, a in zip(self.columns, self.axes, strict=True) if self.axes.count(a) > 1
            )
            raise InputError(f"the marginal {' × '.join(repeated)} is asked twice")
        self.shapes = tuple(domain.shape_of(axes) for axes in self.axes)
        self.sizes = [math.prod(s) for s in self.shapes]  # cells of each table
        self._table_ends = list(accumulate(self.sizes))
        self.tables = consecutive_slices(self.sizes)
        self.layout = tuple(zip(self.axes, self.shapes, self.tables, strict=True))  # of each table
        self.m = self.tables[-1].stop

    @classmethod
    def all(cls, domain: Domain, ways: int) -> "Marginals":
        """Return all marginals over `ways` columns.

        Raises InputError when the domain has fewer columns, or for too many tables.
        """
        if not 1 <= ways <= len(domain.columns):
            raise InputError(
                f"marginals over {ways} columns: outside 1..{len(domain.columns)}, the number of "
                "columns"
            )
        count = math.comb(len(domain.columns), ways)
        if count > MAX_TABLES:
            raise InputError(
                f"all marginals over {ways} columns are {count:,} tables, more than {MAX_TABLES:,}"
            )
        return cls(domain, combinations(domain.names, ways))

    @classmethod
    def windows(cls, domain: Domain, names: Texts, width: int) -> "Marginals":
        """Return the marginals over every `width` neighbours in a list of columns.

        Neighbouring windows share all but one column, so that they are a junction tree already.
        Raises InputError for a width that is under 1 or more than the list.
        """
        if not 1 <= width <= len(names):
            raise InputError(
                f"windows of {width} waves: outside 1..{len(names)}, the number of waves from "
                f"{names[0]!r} to {names[-1]!r}"
            )
        return cls(domain, [names[i : i + width] for i in range(len(names) - width + 1)])

    @classmethod
    def over_axes(cls, domain: Domain, tables: Iterable[Axes]) -> "Marginals":
        """Return the marginals over column sets that are given by column numbers."""
        return cls(domain, [[domain.names[a] for a in axes] for axes in tables])

    @property
    def base(self) -> "Marginals":
        """The marginal tables themselves: each query is a cell of one of them."""
        return self

    @property
    def entries(self) -> Array:
        """The value 1 (1,): every query is 1 on one cell of its table and 0 elsewhere."""
        return np.ones(1)

    @property
    def component_squares(self) -> dict[Axes, float]:
        """The squared lengths of all queries' components, by column set, for `variance`."""
        total: defaultdict[Axes, float] = defaultdict(float)
        for axes in self.axes:
            for B in nonempty_subsets(axes):
                size = {a: self.domain.shape[a] for a in axes}
                total[B] += math.prod(size[a] - 1 if a in B else 1 / size[a] for a in axes)
        return dict(total)

    @cached_property
    def slices(self) -> dict[Axes, slice]:
        """The slice of each table's cells among all, by its columns."""
        return dict(zip(self.axes, self.tables, strict=True))

    @cached_property
    def _summation_steps(self) -> tuple[tuple[int, tuple[int, int, int], int], ...]:
        """The order in which axes are summed out to compute all marginals.

        A step is (parent, (before, summed, after), table or -1) of nodes 1, 2, …; 0 is the domain.
        A node is the set of axes summed out, in increasing order: early axes, long contiguous
        blocks, go first. A node that only leads on to the next axis is skipped, so that a run of
        axes is summed in one go.
        """
        all_axes = range(len(self.domain.shape))
        targets = {
            tuple(a for a in all_axes if a not in axes): i for i, axes in enumerate(self.axes)
        }
        prefixes = {
            summed_axes[:i] for summed_axes in targets for i in range(1, len(summed_axes) + 1)
        }
        following: dict[Axes, list[int]] = {gone: [] for gone in prefixes | {()}}
        for gone in prefixes:
            following[gone[:-1]].append(gone[-1])
        nodes: dict[Axes, int] = {(): 0}
        steps = []
        for gone in sorted(prefixes, key=lambda g: (len(g), g)):
            if gone not in targets and following[gone] == [gone[-1] + 1]:
                continue
            parent = next(gone[:i] for i in range(len(gone) - 1, -1, -1) if gone[:i] in nodes)
            remaining_sizes = [d for a, d in enumerate(self.domain.shape) if a not in parent]
            first_axis = gone[len(parent)] - len(parent)
            run_length = len(gone) - len(parent)
            block_shape = (
                math.prod(remaining_sizes[:first_axis]),
                math.prod(remaining_sizes[first_axis : first_axis + run_length]),
                math.prod(remaining_sizes[first_axis + run_length :]),
            )
            nodes[gone] = len(nodes)
            steps.append((nodes[parent], block_shape, targets.get(gone, -1)))
        return tuple(steps)

    @cached_property
    def _column_incidence(self) -> Array:
        """Whether each table contains each column (T, d)."""
        return np.array([[a in axes for a in range(len(self.domain.shape))] for axes in self.axes])

    def contains_columns(self, axes: Axes) -> Array:
        """Return whether each table (T,) contains all of these columns."""
        return np.all(self._column_incidence[:, axes], axis=1)

    @classmethod
    def k_marginal_pairs(cls, domain: Domain) -> "Marginals":
        """Return the pairs of columns that the K-marginal score averages over.

        They are all pairs of under 30 columns, else 200 random ones; the column itself if there is
        no other.
        """
        pairs = list(combinations(domain.names, min(2, len(domain.names))))
        if len(domain.names) >= MIN_COLUMNS_TO_SAMPLE_PAIRS:
            pair_numbers = np.random.default_rng(0).choice(
                len(pairs), SAMPLED_PAIRS, replace=False
            )  # public randomness
            pairs = [pairs[i] for i in sorted(pair_numbers.tolist())]
        return cls(domain, pairs)

    @cached_property
    def scored_tables(self) -> Array | None:
        """The numbers of the tables that the K-marginal score averages over.

        None unless this workload has all of them.
        """
        table_numbers = {axes: i for i, axes in enumerate(self.axes)}
        pair_axes = Marginals.k_marginal_pairs(self.domain).axes
        return (
            np.array([table_numbers[axes] for axes in pair_axes])
            if table_numbers.keys() >= set(pair_axes)
            else None
        )

    def variance(self, squares: Mapping[Axes, float]) -> float:
        """Return the total variance of least-squares answers from these noisy tables.

        The T tables have Gaussian noise; the variance is in units of 1/(nμ)². `squares`: Σ ‖g‖² of
        the answers' components g on the cells of each set B of axes. A cell has variance Δ₂² = 2T,
        one of B summed out of a table A ⊇ B has size_A/size_B times that, and what all A say is
        averaged by precision; components of different B have independent errors. ∞ when some B is
        in no table.
        """
        sizes = np.array(self.sizes, dtype=float)
        total = 0.0
        for axes, square in squares.items():
            size = self.domain.table_size(axes)
            precision = (size / sizes[self.contains_columns(axes)]).sum() / (2 * len(sizes))
            total += square / precision if precision else math.inf
        return total

    def answers(self, D: Array) -> Array:
        """Return the shares of all marginal cells (m,) for weights D (k,)."""
        table_answers = [D] * len(self.tables)
        partial_sums = [D]
        for parent, block_shape, table in self._summation_steps:
            block = partial_sums[parent].reshape(block_shape)
            # numpy sums short inner blocks slowly, einsum does not.
            total = (
                np.add.reduce(block, axis=1)
                if block_shape[2] >= 64
                else np.einsum("abc->ac", block)
            )
            partial_sums.append(total)
            if table >= 0:
                table_answers[table] = total
        return np.concatenate(table_answers, axis=None)  # the table over all columns is D itself

    def answers_of_rows(self, rows: Countable) -> Array:
        """Return the shares of all marginal cells (m,) among rows: whole counts, divided once."""
        out = np.empty(self.m)
        for axes, shape, table in self.layout:
            out[table] = rows.count(axes, shape)
        return out / rows.sum_divisor

    def adjoint(self, w: Array) -> Array:
        """Return the sum Σ_j w_j q_j of all queries (k,).

        It takes the tree of partial sums from the leaves to the root.
        """
        parts: list[Array | None] = [None] * (len(self._summation_steps) + 1)
        for parent, block_shape, table in reversed(self._summation_steps):
            table_weights = w[self.tables[table]] if table >= 0 else None
            node_weights = reduce(
                np.add, [part for part in (parts.pop(), table_weights) if part is not None]
            )
            node_block = node_weights.reshape(block_shape[0], 1, block_shape[2])
            parent_weights = parts[parent]
            if parent_weights is None:
                parent_weights = np.empty(math.prod(block_shape))
                parts[parent] = parent_weights
                parent_weights.reshape(block_shape)[...] = node_block
            else:
                parent_weights.reshape(block_shape)[...] += node_block
        q = parts[0] if parts[0] is not None else np.zeros(self.domain.size)
        all_axes = tuple(range(len(self.domain.shape)))
        return q + w[self.slices[all_axes]] if all_axes in self.slices else q

    def support(self, j: int) -> tuple[Axes, tuple[Any, ...], float]:
        """Return the columns of query j's table, its cell there, and the value 1."""
        table = bisect(self._table_ends, j)
        return (
            self.axes[table],
            np.unravel_index(j - self.tables[table].start, self.shapes[table]),
            1.0,
        )

    def label(self, j: int) -> QueryLabel:
        """Return query j in words, as (column, value) pairs."""
        axes, cell, _ = self.support(j)
        columns = [self.domain.columns[a] for a in axes]
        return tuple((c.name, c.labels[v]) for c, v in zip(columns, cell, strict=True))


def marginals_and_slice(workload: Workload) -> tuple[Marginals, slice] | None:
    """Return a workload's marginal tables, and the slice of their answers among all answers.

    None if there are none.
    """
    return next(
        (
            (part, answer_slice)
            for part, answer_slice in workload.parts
            if isinstance(part, Marginals)
        ),
        None,
    )


def nonempty_subsets(axes: Axes, max_axes: int = MAX_DECOMPOSED_AXES) -> list[Axes]:
    """Return the non-empty subsets of a table's axes, smallest first.

    Of more than `max_axes` axes only the whole set is returned.
    """
    sizes = range(1, len(axes) + 1) if len(axes) <= max_axes else [len(axes)]
    return [B for size in sizes for B in combinations(axes, size)]
