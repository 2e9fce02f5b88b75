"""Junction trees: cliques of columns that cover given tables, joined to a tree.

Public sizes decide, never rows.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

import numpy as np

from ..core.numbers import consecutive_slices
from ..core.types import Array, Axes, Shape, value_object
from .column_graph import ColumnGraph, column_neighbours, columns_in


@value_object
class JunctionTree:
    """The cliques of a chordal graph over the columns of a domain of that `shape`.

    Parents come before their children. Every column is in some clique. A clique and its `parents`
    entry (−1 for the root) share the columns of its separator, maybe none; a column's cliques hang
    together (the running intersection property).
    """

    shape: Shape
    cliques: tuple[Axes, ...]
    parents: tuple[int, ...]

    @cached_property
    def separators(self) -> tuple[Axes, ...]:
        """The columns that each clique shares with its parent; () for the root."""
        pairs = zip(self.cliques, self.parents, strict=True)
        return tuple(
            () if p < 0 else tuple(a for a in clique if a in self.cliques[p]) for clique, p in pairs
        )

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The child cliques of each clique."""
        return tuple(
            tuple(i for i, p in enumerate(self.parents) if p == c) for c in range(len(self.cliques))
        )

    @cached_property
    def clique_slices(self) -> tuple[slice, ...]:
        """The slice of each clique's cells in one vector (cells,) of all of them."""
        return consecutive_slices(table_cell_count(self.shape, clique) for clique in self.cliques)

    @property
    def cells(self) -> int:
        """The total number of cells of all cliques, which a model on this tree stores."""
        return self.clique_slices[-1].stop

    @cached_property
    def memory_orders(self) -> tuple[Axes, ...]:
        """The columns of each clique in the order in which its cells lie in a vector of all cells.

        Those of few values come first, so that loops over the last are long, also in sums over some
        columns: a pass over 1.2 million cells took 40 ms in the domain's order and takes 9 in this.
        A clique that stands alone keeps the domain's order, as listed cells have it.
        """
        if len(self.cliques) == 1:
            return self.cliques
        return tuple(tuple(sorted(clique, key=lambda a: self.shape[a])) for clique in self.cliques)

    @cached_property
    def _table_layouts(self) -> list[tuple[list[int], list[int]]]:
        """The shape of each clique's table in memory, and the places of its columns there."""
        return [
            ([self.shape[a] for a in order], [order.index(a) for a in clique])
            for clique, order in zip(self.cliques, self.memory_orders, strict=True)
        ]

    def table(self, vector: Array, i: int) -> Array:
        """Return clique i's part of a vector of all cells, as a table, one axis a column.

        It is a view of the vector, of which the last axis need not be the innermost in memory.
        """
        memory_shape, positions = self._table_layouts[i]
        return vector[self.clique_slices[i]].reshape(memory_shape).transpose(positions)

    def tables(self, vector: Array) -> tuple[Array, ...]:
        """Return all cliques' tables, as `table` has them."""
        return tuple(self.table(vector, i) for i in range(len(self.cliques)))

    def vector_of(self, tables: Iterable[Array]) -> Array:
        """Return the vector of all cells from the cliques' `tables`, one axis a column."""
        vector = np.empty(self.cells)
        for part, table in zip(self.tables(vector), tables, strict=True):
            part[...] = table
        return vector

    @cached_property
    def _cliques_by_size(self) -> list[int]:
        """The cliques' numbers, those with the fewest cells first."""
        return sorted(
            range(len(self.cliques)), key=lambda i: table_cell_count(self.shape, self.cliques[i])
        )

    def broadcast_shape(self, axes: Axes, i: int) -> list[int]:
        """Return the shape in which a table over some of clique i's columns goes with its table.

        The columns are in order; the other table is the clique's own.
        """
        return [self.shape[a] if a in axes else 1 for a in self.cliques[i]]

    def clique_containing(self, axes: Collection[int]) -> int | None:
        """Return the number of the smallest clique that contains all of these columns.

        None if no clique does.
        """
        return next((i for i in self._cliques_by_size if set(axes).issubset(self.cliques[i])), None)


def table_cell_count(shape: Sequence[int], axes: Iterable[int]) -> int:
    """Return the number of cells of the table over these columns."""
    return math.prod(shape[a] for a in axes)


def build_junction_tree(shape: Sequence[int], tables: Iterable[Collection[int]]) -> JunctionTree:
    """Return a junction tree whose cliques cover all `tables`, with few cells.

    It is the best of several greedy triangulations, the one with the smallest Σ of clique cells;
    see `ColumnGraph.triangulations`. Source: Jensen, Jensen 1994 (maximum separators).
    """
    shape = tuple(int(size) for size in shape)
    triangulations = ColumnGraph(shape, tables).triangulations()
    best = min(triangulations, key=lambda triangulation: triangulation.cells)
    return _join_by_separators(shape, sorted(map(columns_in, best.cliques)))


def min_junction_tree_cells(shape: Sequence[int], tables: Iterable[Collection[int]]) -> int:
    """Return a lower bound on the cells of any junction tree for these tables, quickly.

    Columns that lean on the fewest others are taken away one after the other. If that leaves all
    with g neighbours or more, every tree has a clique of g + 1 columns. Source: Lick, White 1970
    (degeneracy); a bound on treewidth.
    """
    neighbours = column_neighbours(len(shape), tables)
    remaining = set(range(len(shape)))
    g = 0
    while remaining:
        a = min(remaining, key=lambda a: neighbours[a].bit_count())
        g = max(g, neighbours[a].bit_count())
        remaining.remove(a)
        for b in columns_in(neighbours[a]):
            neighbours[b] ^= 1 << a
    return math.prod(sorted(map(int, shape))[: g + 1])


def _join_by_separators(shape: Shape, cliques: list[Axes]) -> JunctionTree:
    """Return the junction tree by maximum separators (Prim).

    It is rooted at the clique with the most cells.
    """
    root = max(range(len(cliques)), key=lambda i: table_cell_count(shape, cliques[i]))
    sets = [set(clique) for clique in cliques]
    best = {i: (len(sets[i] & sets[root]), root) for i in range(len(cliques)) if i != root}
    order = [root]
    parent_of = {root: -1}
    while best:
        i = max(best, key=lambda i: (best[i][0], -i))
        parent_of[i] = best.pop(i)[1]
        order.append(i)
        for j, (best_overlap, _) in best.items():
            overlap = len(sets[i] & sets[j])
            if overlap > best_overlap:
                best[j] = (overlap, i)
    new_numbers = {-1: -1} | {i: new for new, i in enumerate(order)}
    return JunctionTree(
        shape, tuple(cliques[i] for i in order), tuple(new_numbers[parent_of[i]] for i in order)
    )
