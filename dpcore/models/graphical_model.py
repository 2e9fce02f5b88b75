"""Distributions on a junction tree: they answer any tables, inside their cliques or not, and draw rows."""

import math
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd

from ..core.errors import InputError
from ..core.provenance import Paid
from ..core.types import Array, Axes, Rng, frozen
from ..queries import Marginals, Workload
from ..schema.domain import Domain, projected
from .junction_tree import JunctionTree, junction_tree
from .releases import systematic, within

Factor = tuple[Array, Axes]  # a table, and its columns in the order of its axes
KEPT = 20_000_000  # cells of messages that are kept for other tables, all together


@frozen
class Graphical(Paid):
    """A distribution on a junction tree, given by its cliques' marginal tables, `beliefs` (cells,), one after
    another.

    A table inside a clique is summed out of its belief; another one is summed along the subtree that spans it, clique
    by clique: P(carried | separator) upwards, then out of the clique where all its columns meet.
    """

    domain: Domain
    junction: JunctionTree
    beliefs: Array
    _messages: dict[tuple[int, Axes], Array] = field(default_factory=dict, repr=False)

    @cached_property
    def _tables(self) -> tuple[Array, ...]:
        """The marginal table of each clique, one axis a column."""
        return self.junction.tables(self.beliefs)

    @cached_property
    def _below(self) -> tuple[frozenset[int], ...]:
        """The columns that first appear at or below each clique."""
        junction = self.junction
        out = [set(c) - set(s) for c, s in zip(junction.cliques, junction.separators, strict=True)]
        for i in range(len(out) - 1, 0, -1):
            out[junction.parents[i]] |= out[i]
        return tuple(map(frozenset, out))

    def table(self, axes: Axes) -> Array:
        """The marginal table over sorted columns, one axis each."""
        home = self.junction.home(axes)
        if home is not None:
            return projected(self._tables[home], self.junction.cliques[home], axes)
        i, junction = 0, self.junction
        while deeper := [c for c in junction.children[i] if self._holds(c, axes)]:
            (i,) = deeper
        return self._summed(i, axes, axes)

    def _holds(self, i: int, axes: Axes) -> bool:
        """Whether all of these columns appear in clique i or below it, one of them below its separator."""
        sep = set(self.junction.separators[i])
        return set(axes) <= self._below[i] | sep and not set(axes) <= sep

    def _summed(self, i: int, axes: Axes, kept: Axes, given: Axes = ()) -> Array:
        """The sum over all columns but `kept` of P(clique i | given) times the messages about `axes` from
        below it.
        """
        junction, clique = self.junction, self.junction.cliques[i]
        carried = [(c, tuple(sorted(self._below[c] & (set(axes) - set(clique))))) for c in junction.children[i]]
        carried = [(c, own) for c, own in carried if own]
        needed = set(kept).union(*(junction.separators[c] for c, _ in carried)) & set(clique)
        have = tuple(a for a in clique if a in needed)
        out = projected(self._tables[i], clique, have)
        if given:
            total = out.sum(axis=tuple(k for k, a in enumerate(have) if a not in given), keepdims=True)
            out = divided(out, total)
        below = ((self._up(c, own), (*junction.separators[c], *own)) for c, own in carried)
        return contracted([(out, have), *below], kept)

    def _up(self, i: int, own: Axes) -> Array:
        """The conditional P(own | separator of i), axes (separator, own); own first appear at or below clique i."""
        found = self._messages.get((i, own))
        if found is None:
            sep = self.junction.separators[i]
            found = self._summed(i, own, (*sep, *own), sep)
            if found.size + sum(message.size for message in self._messages.values()) > KEPT:
                self._messages.clear()
            self._messages[i, own] = found
        return found

    def answers(self, workload: Workload) -> Array:
        """The answers ⟨q_j, D⟩ (m,); InputError for an explicit matrix."""
        base = tables_under(workload)
        out, (inside, outside) = np.empty(base.m), by_clique(self.junction, base)
        for place, local, target in inside:
            out[target] = local.answers(self.beliefs[place])
        for number in outside:
            out[base.tables[number]] = self.table(base.axes[number]).ravel()
        return workload.read(out)

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """A sample of `rows` records: each clique's new columns by systematic sampling within every state of
        its separator, and there about as evenly among rows that are alike in the largest other column drawn before.
        """
        return self.domain.published(self.codes(rows, rng), rng)

    def codes(self, rows: int, rng: Rng) -> Array:
        """The codes (rows, d) of sampled records."""
        junction = self.junction
        out, drawn = np.empty((rows, len(junction.shape)), dtype=np.int32), []
        for i, (clique, sep) in enumerate(zip(junction.cliques, junction.separators, strict=True)):
            new = [a for a in clique if a not in sep]
            sizes = [junction.shape[a] for a in new]
            table = projected(self._tables[i], clique, (*sep, *new)).reshape(-1, math.prod(sizes))
            if not sep:
                found = systematic(table[0], rows, rng)
            else:
                state = np.ravel_multi_index(tuple(out[:, a] for a in sep), tuple(junction.shape[a] for a in sep))
                largest = max(drawn, key=lambda a: (a not in sep, junction.shape[a]))
                mixed = rng.permutation(junction.shape[largest])  # one order would tie columns drawn in turn
                found = within(table, state, rng, mixed.astype(np.uint16)[out[:, largest]])  # short keys sort faster
            drawn += new
            for a, code in zip(new, np.unravel_index(found, sizes), strict=True):
                out[:, a] = code
        return out[rng.permutation(rows)]

    def trimmed(self, worth: float) -> JunctionTree:
        """The junction tree without pairs a, b that this D nearly says without their tie, for the cells that they take.

        One in a single clique C, and in no constraint, may go. Of the distributions on C∖a and C∖b in its place the
        nearest to D keeps all of D's tables there, with a and b independent given the rest R of C. So their table loses
        ‖D_ab − Σ_R D_aR D_bR/D_R‖₁, which may be `worth` times the share of the tree's cells that goes.
        """
        left, kept = [*self.junction.cliques], [*self.domain.zeros]

        def held(axes: Axes) -> bool:
            return any(set(axes).issubset(other) for other in (*left, *kept))

        while left:
            clique = left.pop()
            table, best = self.table(clique), (0.0, ())
            for (i, a), (j, b) in combinations(enumerate(clique), 2):
                if not held((a, b)):
                    one, two = table.sum(axis=j, keepdims=True), table.sum(axis=i, keepdims=True)
                    moved = table - one * divided(two, one.sum(axis=i, keepdims=True))
                    lost = np.abs(projected(moved, clique, (a, b))).sum()
                    freed = (table.size - one.size - two.size) / self.junction.cells
                    best = min(best, (lost - worth * freed, (a, b)))
            parts = [tuple(c for c in clique if c != gone) for gone in best[1]]
            left += [part for part in parts if not held(part)]
            if not parts:
                kept.append(clique)
        return junction_tree(self.junction.shape, kept)


def divided(table: Array, by: Array) -> Array:
    """The quotient of two tables, 0 where the second one is."""
    return np.divide(table, by, out=np.zeros_like(table), where=by > 0)


def contracted(operands: list[Factor], kept: Axes) -> Array:
    """The sum over all columns but `kept`, in that order, of the product of tables, each with its columns.

    Two at a time, those with the smallest product first, as matrix products for every state of the columns that both
    have and that stay. (`numpy.einsum` takes a hundred times as long where such columns are many.)
    """
    sizes = {a: size for table, axes in operands for a, size in zip(axes, table.shape, strict=True)}
    while len(operands) > 1:
        found = []
        for i, j in combinations(range(len(operands)), 2):
            others = [own for k, own in enumerate(operands) if k not in (i, j)]
            needed = {*kept, *(a for _, axes in others for a in axes)}
            left = {*operands[i][1], *operands[j][1]} & needed
            found.append((math.prod(sizes[a] for a in left), i, j, left, others))
        _, i, j, left, others = min(found, key=lambda pair: pair[:3])
        operands = [*others, _multiplied(operands[i], operands[j], left, sizes)]
    ((table, axes),) = operands
    return projected(table, axes, kept)


def _multiplied(one: Factor, two: Factor, left: set[int], sizes: Mapping[int, int]) -> Factor:
    """The sum over all columns but `left` of the product of two tables, and its columns."""
    (first, a), (second, b) = one, two
    batch, gone = [x for x in a if x in b and x in left], [x for x in a if x in b and x not in left]
    rows, columns = [x for x in a if x not in b and x in left], [x for x in b if x not in a and x in left]

    def matrices(table: Array, axes: Axes, *groups: list[int]) -> Array:
        turned = projected(table, axes, [x for group in groups for x in group])
        return np.ascontiguousarray(turned).reshape([math.prod(sizes[x] for x in group) for group in groups])

    out = matrices(first, a, batch, rows, gone) @ matrices(second, b, batch, gone, columns)
    axes = (*batch, *rows, *columns)
    return out.reshape([sizes[x] for x in axes]), axes


def by_clique(junction: JunctionTree, tables: Marginals) -> tuple[list[tuple[slice, Marginals, Array]], list[int]]:
    """The place of each clique in use, the tables inside it and their cells; and the numbers of the tables in none.

    The tables of a clique are on its own little domain, so that all are summed out of its belief together.
    """
    inside: dict[int | None, list[int]] = {}
    for number, axes in enumerate(tables.axes):
        inside.setdefault(junction.home(axes), []).append(number)
    outside, found, every = inside.pop(None, []), [], np.arange(tables.m)
    for home, numbers in inside.items():
        own = Domain(tuple(tables.domain.columns[a] for a in junction.cliques[home]))  # type: ignore[index]
        local = Marginals(own, [tables.columns[number] for number in numbers])
        target = np.concatenate([every[tables.tables[number]] for number in numbers])
        found.append((junction.places[home], local, target))  # type: ignore[index]
    return found, outside


def tables_under(workload: Workload) -> Marginals:
    """The tables that a workload reads; InputError for others, which a graphical model does not answer."""
    if workload.base is None:
        raise InputError("a graphical model answers queries on marginal tables; an explicit matrix it does not")
    return workload.base
