"""Graphs over columns and their greedy triangulations, on bit sets.

A set of columns is an integer: bit a stands for column a. So the union, the intersection and the
size of two sets take one step each, whatever they hold. Public sizes decide, never rows.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from ..core.types import Axes


class Triangulation(NamedTuple):
    """The maximal cliques of a chordal graph, as bit sets, and the cells of all together."""

    cliques: list[int]
    cells: int


class ColumnGraph:
    """A graph in which columns are tied that share a table, kept with what elimination asks of it.

    Of every column it holds the bit set of its `neighbours`, how many ties are `missing` between
    these, and the `cells` of the table over it and all of them. A change of the graph changes these
    of the columns nearby only.

    >>> ring = ColumnGraph((2, 3, 4, 5), [(0, 1), (1, 2), (2, 3), (0, 3)])
    >>> ring.missing, ring.cells
    ([1, 1, 1, 1], [30, 24, 60, 40])
    >>> ring.fits_tree_with((0, 2), 63), ring.fits_tree_with((0, 2), 64)
    (False, True)
    """

    def __init__(self, shape: Sequence[int], tables: Iterable[Collection[int]] = ()) -> None:
        # Of Python's integers, as a wide domain has more cells than 64 bits count.
        self.shape = tuple(int(size) for size in shape)
        self.neighbours = [0] * len(shape)
        self.missing = [0] * len(shape)
        self.cells = list(self.shape)
        for axes in tables:
            self.tie_all(axes)

    def copy(self) -> "ColumnGraph":
        """Return a copy, which changes apart from this graph."""
        other = ColumnGraph(())
        other.shape = self.shape
        other.neighbours = self.neighbours.copy()
        other.missing = self.missing.copy()
        other.cells = self.cells.copy()
        return other

    def untied_pairs(self, columns: Iterable[int]) -> tuple[Axes, ...]:
        """Return the pairs of these columns that are not tied to each other."""
        pairs = combinations(columns, 2)
        return tuple((a, b) for a, b in pairs if not self.neighbours[a] >> b & 1)

    def tie_all(self, columns: Iterable[int]) -> None:
        """Tie all of these columns to each other."""
        for a, b in self.untied_pairs(columns):
            self._tie(a, b)

    def _tie(self, a: int, b: int) -> None:
        """Tie two columns that are not tied yet."""
        common = self.neighbours[a] & self.neighbours[b]
        for c in columns_in(common):
            self.missing[c] -= 1
        # What only one of the two is tied to lacks a tie to the other.
        self.missing[a] += (self.neighbours[a] ^ common).bit_count()
        self.missing[b] += (self.neighbours[b] ^ common).bit_count()
        self.neighbours[a] |= 1 << b
        self.neighbours[b] |= 1 << a
        self.cells[a] *= self.shape[b]
        self.cells[b] *= self.shape[a]

    def eliminate(self, a: int) -> None:
        """Tie all neighbours of column a to each other, and take the column away."""
        neighbours = self.neighbours[a]
        if self.missing[a]:
            self.tie_all(columns_in(neighbours))
        others = ~(neighbours | 1 << a)
        for b in columns_in(neighbours):
            # The neighbours of b that are none of a's lack a tie to a.
            self.missing[b] -= (self.neighbours[b] & others).bit_count()
            self.neighbours[b] ^= 1 << a
            self.cells[b] //= self.shape[a]

    def triangulations(self, max_cells: float = math.inf) -> Iterator[Triangulation]:
        """Yield greedy triangulations, without those of more than `max_cells` cells.

        Columns are eliminated in turn, the next one being that whose neighbours lack the fewest
        ties, or whose clique has the fewest cells, or the least product of both; of equal ones the
        first. Source: Kjærulff 1990 (min fill, min weight).
        """
        for make_cost in (_min_fill, _min_weight, _min_fill_times_weight):
            graph = self.copy()
            triangulation = graph._eliminate_all(make_cost(graph), max_cells)
            if triangulation is not None:
                yield triangulation

    def fits_tree_with(self, axes: Axes, max_cells: float) -> bool:
        """Return whether with a further table some triangulation has at most `max_cells` cells."""
        if math.prod(self.shape[a] for a in axes) > max_cells:
            return False
        graph = self.copy()
        graph.tie_all(axes)
        return next(graph.triangulations(max_cells), None) is not None

    def _eliminate_all(self, cost: Callable[[int], int], max_cells: float) -> Triangulation | None:
        """Eliminate all columns, those of least cost first; return the cliques met on the way.

        None as soon as they have more than `max_cells` cells.
        """
        remaining = list(range(len(self.shape)))
        cliques: list[int] = []
        total_cells = 0
        while remaining:
            a = min(remaining, key=cost)
            clique = self.neighbours[a] | 1 << a
            # Only a clique met before can contain this one: that had columns taken away since.
            if not any(clique & other == clique for other in cliques):
                cliques.append(clique)
                total_cells += self.cells[a]
                if total_cells > max_cells:
                    return None
            self.eliminate(a)
            remaining.remove(a)
        return Triangulation(cliques, total_cells)


def _min_fill(graph: ColumnGraph) -> Callable[[int], int]:
    """Return the cost by which the column with the fewest ties missing goes first."""
    return graph.missing.__getitem__


def _min_weight(graph: ColumnGraph) -> Callable[[int], int]:
    """Return the cost by which the column whose clique has the fewest cells goes first."""
    return graph.cells.__getitem__


def _min_fill_times_weight(graph: ColumnGraph) -> Callable[[int], int]:
    """Return the product of both costs, one being added to the ties missing."""
    return lambda a: (1 + graph.missing[a]) * graph.cells[a]


def columns_in(columns: int) -> Axes:
    """Return the columns of a bit set, in rising order.

    >>> columns_in(0b1101)
    (0, 2, 3)
    """
    out = []
    while columns:
        lowest_bit = columns & -columns
        out.append(lowest_bit.bit_length() - 1)
        columns ^= lowest_bit
    return tuple(out)


def column_neighbours(column_count: int, tables: Iterable[Collection[int]]) -> list[int]:
    """Return the bit set of each column's neighbours: those with which it shares a table."""
    neighbours = [0] * column_count
    for axes in tables:
        for a, b in combinations(axes, 2):
            neighbours[a] |= 1 << b
            neighbours[b] |= 1 << a
    return neighbours
