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
        clique_number = self.junction.home(axes)
        if clique_number is not None:
            return projected(self._tables[clique_number], self.junction.cliques[clique_number], axes)
        i, junction = 0, self.junction
        while child_cliques := [c for c in junction.children[i] if self._holds(c, axes)]:
            (i,) = child_cliques
        return self._summed(i, axes, axes)

    def _holds(self, i: int, axes: Axes) -> bool:
        """Whether all of these columns appear in clique i or below it, one of them below its separator."""
        separator = set(self.junction.separators[i])
        return set(axes) <= self._below[i] | separator and not set(axes) <= separator

    def _summed(self, i: int, axes: Axes, kept: Axes, given: Axes = ()) -> Array:
        """The sum over all columns but `kept` of P(clique i | given) times the messages about `axes` from
        below it.
        """
        junction, clique = self.junction, self.junction.cliques[i]
        child_messages = [(c, tuple(sorted(self._below[c] & (set(axes) - set(clique))))) for c in junction.children[i]]
        child_messages = [(c, message_axes) for c, message_axes in child_messages if message_axes]
        needed = set(kept).union(*(junction.separators[c] for c, _ in child_messages)) & set(clique)
        factor_axes = tuple(a for a in clique if a in needed)
        factor = projected(self._tables[i], clique, factor_axes)
        if given:
            total = factor.sum(axis=tuple(k for k, a in enumerate(factor_axes) if a not in given), keepdims=True)
            factor = divided(factor, total)
        messages = ((self._up(c, own), (*junction.separators[c], *own)) for c, own in child_messages)
        return contracted([(factor, factor_axes), *messages], kept)

    def _up(self, i: int, own: Axes) -> Array:
        """The conditional P(own | separator of i), axes (separator, own); own first appear at or below clique i."""
        conditional = self._messages.get((i, own))
        if conditional is None:
            separator = self.junction.separators[i]
            conditional = self._summed(i, own, (*separator, *own), separator)
            if conditional.size + sum(message.size for message in self._messages.values()) > KEPT:
                self._messages.clear()
            self._messages[i, own] = conditional
        return conditional

    def answers(self, workload: Workload) -> Array:
        """The answers ⟨q_j, D⟩ (m,); InputError for an explicit matrix."""
        base = tables_under(workload)
        out, (inside, outside) = np.empty(base.m), by_clique(self.junction, base)
        for clique_slice, clique_tables, answer_positions in inside:
            out[answer_positions] = clique_tables.answers(self.beliefs[clique_slice])
        for table_number in outside:
            out[base.tables[table_number]] = self.table(base.axes[table_number]).ravel()
        return workload.read(out)

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """A sample of `rows` records: each clique's new columns by systematic sampling within every state of
        its separator, and there about as evenly among rows that are alike in the largest other column drawn before.
        """
        return self.domain.published(self.codes(rows, rng), rng)

    def codes(self, rows: int, rng: Rng) -> Array:
        """The codes (rows, d) of sampled records."""
        junction = self.junction
        out, drawn_columns = np.empty((rows, len(junction.shape)), dtype=np.int32), []
        for i, (clique, sep) in enumerate(zip(junction.cliques, junction.separators, strict=True)):
            new_columns = [a for a in clique if a not in sep]
            sizes = [junction.shape[a] for a in new_columns]
            table = projected(self._tables[i], clique, (*sep, *new_columns)).reshape(-1, math.prod(sizes))
            if not sep:
                joint_codes = systematic(table[0], rows, rng)
            else:
                state = np.ravel_multi_index(tuple(out[:, a] for a in sep), tuple(junction.shape[a] for a in sep))
                largest = max(drawn_columns, key=lambda a: (a not in sep, junction.shape[a]))
                relabelling = rng.permutation(junction.shape[largest])  # one order would tie columns drawn in turn
                # short keys sort faster
                joint_codes = within(table, state, rng, relabelling.astype(np.uint16)[out[:, largest]])
            drawn_columns += new_columns
            for a, code in zip(new_columns, np.unravel_index(joint_codes, sizes), strict=True):
                out[:, a] = code
        return out[rng.permutation(rows)]

    def trimmed(self, worth: float) -> JunctionTree:
        """The junction tree without pairs a, b that this D nearly says without their tie, for the cells that they take.

        One in a single clique C, and in no constraint, may go. Of the distributions on C∖a and C∖b in its place the
        nearest to D keeps all of D's tables there, with a and b independent given the rest R of C. So their table loses
        ‖D_ab − Σ_R D_aR D_bR/D_R‖₁, which may be `worth` times the share of the tree's cells that goes.
        """
        pending, covered = [*self.junction.cliques], [*self.domain.zeros]

        def held(axes: Axes) -> bool:
            return any(set(axes).issubset(other) for other in (*pending, *covered))

        while pending:
            clique = pending.pop()
            table, best = self.table(clique), (0.0, ())
            for (i, a), (j, b) in combinations(enumerate(clique), 2):
                if not held((a, b)):
                    marginal_of_first, marginal_of_second = (
                        table.sum(axis=j, keepdims=True),
                        table.sum(axis=i, keepdims=True),
                    )
                    table_change = table - marginal_of_first * divided(
                        marginal_of_second, marginal_of_first.sum(axis=i, keepdims=True)
                    )
                    l1_loss = np.abs(projected(table_change, clique, (a, b))).sum()
                    freed_share = (table.size - marginal_of_first.size - marginal_of_second.size) / self.junction.cells
                    best = min(best, (l1_loss - worth * freed_share, (a, b)))
            parts = [tuple(c for c in clique if c != removed) for removed in best[1]]
            pending += [part for part in parts if not held(part)]
            if not parts:
                covered.append(clique)
        return junction_tree(self.junction.shape, covered)


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
        candidates = []
        for i, j in combinations(range(len(operands)), 2):
            others = [operand for k, operand in enumerate(operands) if k not in (i, j)]
            needed = {*kept, *(a for _, axes in others for a in axes)}
            product_axes = {*operands[i][1], *operands[j][1]} & needed
            candidates.append((math.prod(sizes[a] for a in product_axes), i, j, product_axes, others))
        _, i, j, product_axes, others = min(candidates, key=lambda pair: pair[:3])
        operands = [*others, _multiplied(operands[i], operands[j], product_axes, sizes)]
    ((table, axes),) = operands
    return projected(table, axes, kept)


def _multiplied(one: Factor, two: Factor, left: set[int], sizes: Mapping[int, int]) -> Factor:
    """The sum over all columns but `left` of the product of two tables, and its columns."""
    (first, a), (second, b) = one, two
    batch, summed_axes = [x for x in a if x in b and x in left], [x for x in a if x in b and x not in left]
    rows, columns = [x for x in a if x not in b and x in left], [x for x in b if x not in a and x in left]

    def matrices(table: Array, axes: Axes, *groups: list[int]) -> Array:
        transposed = projected(table, axes, [x for group in groups for x in group])
        return np.ascontiguousarray(transposed).reshape([math.prod(sizes[x] for x in group) for group in groups])

    out = matrices(first, a, batch, rows, summed_axes) @ matrices(second, b, batch, summed_axes, columns)
    axes = (*batch, *rows, *columns)
    return out.reshape([sizes[x] for x in axes]), axes


def by_clique(junction: JunctionTree, tables: Marginals) -> tuple[list[tuple[slice, Marginals, Array]], list[int]]:
    """The place of each clique in use, the tables inside it and their cells; and the numbers of the tables in none.

    The tables of a clique are on its own little domain, so that all are summed out of its belief together.
    """
    inside: dict[int | None, list[int]] = {}
    for number, axes in enumerate(tables.axes):
        inside.setdefault(junction.home(axes), []).append(number)
    outside, clique_tables, all_cells = inside.pop(None, []), [], np.arange(tables.m)
    for clique_number, numbers in inside.items():
        clique_domain = Domain(tuple(tables.domain.columns[a] for a in junction.cliques[clique_number]))  # type: ignore[index]
        local_tables = Marginals(clique_domain, [tables.columns[number] for number in numbers])
        answer_positions = np.concatenate([all_cells[tables.tables[number]] for number in numbers])
        clique_tables.append((junction.places[clique_number], local_tables, answer_positions))  # type: ignore[index]
    return clique_tables, outside


def tables_under(workload: Workload) -> Marginals:
    """The tables that a workload reads; InputError for others, which a graphical model does not answer."""
    if workload.base is None:
        raise InputError("a graphical model answers queries on marginal tables; an explicit matrix it does not")
    return workload.base
