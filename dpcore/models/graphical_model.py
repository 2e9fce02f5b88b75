"""Distributions on a junction tree, which answer any tables and draw synthetic rows.

The tables need not lie inside a clique.
"""

import math
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd

from ..core.errors import InputError
from ..core.provenance import Released
from ..core.types import Array, Axes, Rng, frozen
from ..queries import Marginals, Workload
from ..schema.domain import Domain, sum_to_axes
from .conditional_rows import complete_on_tree, divide_or_zero
from .junction_tree import JunctionTree, build_junction_tree
from .releases import sample_systematically, sample_within_states

Factor = tuple[Array, Axes]  # a table, and its columns in the order of its axes
MAX_CACHED_MESSAGE_CELLS = (
    20_000_000  # cells of messages that are kept for other tables, all together
)


@frozen
class GraphicalModel(Released):
    """A distribution on a junction tree, given by its cliques' marginal tables.

    The tables are `beliefs` (cells,), one after another. A table inside a clique is summed out of
    its belief; another one is summed along the subtree that spans it, clique by clique: P(carried |
    separator) upwards, then out of the clique where all its columns meet.
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
    def _subtree_columns(self) -> tuple[frozenset[int], ...]:
        """The columns that first appear at or below each clique."""
        junction = self.junction
        out = [set(c) - set(s) for c, s in zip(junction.cliques, junction.separators, strict=True)]
        for i in range(len(out) - 1, 0, -1):
            out[junction.parents[i]] |= out[i]
        return tuple(map(frozenset, out))

    def table(self, axes: Axes) -> Array:
        """Return the marginal table over sorted columns, one axis each."""
        clique_number = self.junction.clique_containing(axes)
        if clique_number is not None:
            return sum_to_axes(
                self._tables[clique_number], self.junction.cliques[clique_number], axes
            )
        i = 0
        junction = self.junction
        while child_cliques := [
            c for c in junction.children[i] if self._subtree_must_be_summed(c, axes)
        ]:
            (i,) = child_cliques
        return self._sum_over_subtree(i, axes, axes)

    def _subtree_must_be_summed(self, i: int, axes: Axes) -> bool:
        """Return whether these columns all appear in clique i or below, one below its separator."""
        separator = set(self.junction.separators[i])
        return set(axes) <= self._subtree_columns[i] | separator and not set(axes) <= separator

    def _sum_over_subtree(
        self, i: int, axes: Axes, output_axes: Axes, condition_axes: Axes = ()
    ) -> Array:
        """Return P(clique i | `condition_axes`) times messages, summed to `output_axes`.

        The messages are those about `axes` from below clique i.
        """
        junction = self.junction
        clique = self.junction.cliques[i]
        child_messages = [
            (c, tuple(sorted(self._subtree_columns[c] & (set(axes) - set(clique)))))
            for c in junction.children[i]
        ]
        child_messages = [(c, message_axes) for c, message_axes in child_messages if message_axes]
        needed = set(output_axes).union(*(junction.separators[c] for c, _ in child_messages)) & set(
            clique
        )
        factor_axes = tuple(a for a in clique if a in needed)
        factor = sum_to_axes(self._tables[i], clique, factor_axes)
        if condition_axes:
            total = factor.sum(
                axis=tuple(k for k, a in enumerate(factor_axes) if a not in condition_axes),
                keepdims=True,
            )
            factor = divide_or_zero(factor, total)
        messages = (
            (self._message(c, own), (*junction.separators[c], *own)) for c, own in child_messages
        )
        return contract_factors([(factor, factor_axes), *messages], output_axes)

    def _message(self, i: int, message_axes: Axes) -> Array:
        """Return the conditional distribution P(message_axes | separator of clique i).

        Its axes are (separator, message_axes). The columns `message_axes` first appear at or below
        clique i.
        """
        conditional = self._messages.get((i, message_axes))
        if conditional is None:
            separator = self.junction.separators[i]
            conditional = self._sum_over_subtree(
                i, message_axes, (*separator, *message_axes), separator
            )
            if (
                conditional.size + sum(message.size for message in self._messages.values())
                > MAX_CACHED_MESSAGE_CELLS
            ):
                self._messages.clear()
            self._messages[i, message_axes] = conditional
        return conditional

    def answers(self, workload: Workload) -> Array:
        """Return the answers ⟨q_j, D⟩ (m,); InputError for an explicit matrix."""
        base = require_base_tables(workload)
        out = np.empty(base.m)
        inside, outside = tables_by_clique(self.junction, base)
        for clique_slice, clique_tables, answer_positions in inside:
            out[answer_positions] = clique_tables.answers(self.beliefs[clique_slice])
        for table_number in outside:
            out[base.tables[table_number]] = self.table(base.axes[table_number]).ravel()
        return workload.from_table_cells(out)

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """Draw `rows` synthetic rows.

        Each clique's new columns are drawn by systematic sampling within every state of its
        separator, and there about as evenly among rows that are alike in the largest other column
        drawn before.
        """
        return self.domain.decode_rounded(self.sample_codes(rows, rng), rng)

    def sample_codes(self, rows: int, rng: Rng) -> Array:
        """Draw the codes (rows, d) of synthetic rows."""
        junction = self.junction
        out = np.empty((rows, len(junction.shape)), dtype=np.int32)
        drawn_columns = []
        for i, (clique, sep) in enumerate(zip(junction.cliques, junction.separators, strict=True)):
            new_columns = [a for a in clique if a not in sep]
            sizes = [junction.shape[a] for a in new_columns]
            table = sum_to_axes(self._tables[i], clique, (*sep, *new_columns)).reshape(
                -1, math.prod(sizes)
            )
            if not sep:
                joint_codes = sample_systematically(table[0], rows, rng)
            else:
                state = np.ravel_multi_index(
                    tuple(out[:, a] for a in sep), tuple(junction.shape[a] for a in sep)
                )
                largest = max(drawn_columns, key=lambda a: (a not in sep, junction.shape[a]))
                relabelling = rng.permutation(
                    junction.shape[largest]
                )  # one order would tie columns drawn in turn
                # short keys sort faster
                joint_codes = sample_within_states(
                    table, state, rng, relabelling.astype(np.uint16)[out[:, largest]]
                )
            drawn_columns += new_columns
            for a, code in zip(new_columns, np.unravel_index(joint_codes, sizes), strict=True):
                out[:, a] = code
        return out[rng.permutation(rows)]

    def complete_codes(self, codes: Array, axes: Axes, rng: Rng) -> Array:
        """Return codes (rows, d) that keep the columns `axes`, others drawn given these."""
        return complete_on_tree(self.junction, self._tables, codes, axes, rng)

    def without_weak_pairs(self, loss_per_cell_share: float) -> JunctionTree:
        """Return the junction tree without pairs a, b whose tie says little for its cells.

        D would be nearly the same without the tie of such a pair. A pair in a single clique C, and
        in no constraint, may go. Of the distributions on C∖a and C∖b in its place the nearest to D
        keeps all of D's tables there, with a and b independent given the rest R of C. So their
        table loses ‖D_ab − Σ_R D_aR D_bR/D_R‖₁, which may be `loss_per_cell_share` times the share
        of the tree's cells that goes.
        """
        pending = [*self.junction.cliques]
        covered = [*self.domain.allowed_tables]

        def is_covered(axes: Axes) -> bool:
            return any(set(axes).issubset(other) for other in (*pending, *covered))

        while pending:
            clique = pending.pop()
            table = self.table(clique)
            best = (0.0, ())
            for (i, a), (j, b) in combinations(enumerate(clique), 2):
                if not is_covered((a, b)):
                    marginal_of_first = table.sum(axis=j, keepdims=True)
                    marginal_of_second = table.sum(axis=i, keepdims=True)
                    table_change = table - marginal_of_first * divide_or_zero(
                        marginal_of_second, marginal_of_first.sum(axis=i, keepdims=True)
                    )
                    l1_loss = np.abs(sum_to_axes(table_change, clique, (a, b))).sum()
                    freed_share = (
                        table.size - marginal_of_first.size - marginal_of_second.size
                    ) / self.junction.cells
                    best = min(best, (l1_loss - loss_per_cell_share * freed_share, (a, b)))
            parts = [tuple(c for c in clique if c != removed) for removed in best[1]]
            pending += [part for part in parts if not is_covered(part)]
            if not parts:
                covered.append(clique)
        return build_junction_tree(self.junction.shape, covered)


def contract_factors(operands: list[Factor], output_axes: Axes) -> Array:
    """Return the product of tables, summed over all columns but `output_axes`, in that order.

    Each table comes with its columns. Two at a time are multiplied, those with the smallest product
    first, as matrix products for every state of the columns that both have and that stay.
    (`numpy.einsum` takes a hundred times as long where such columns are many.)
    """
    sizes = {a: size for table, axes in operands for a, size in zip(axes, table.shape, strict=True)}
    while len(operands) > 1:
        candidates = []
        for i, j in combinations(range(len(operands)), 2):
            others = [operand for k, operand in enumerate(operands) if k not in (i, j)]
            needed = {*output_axes, *(a for _, axes in others for a in axes)}
            product_axes = {*operands[i][1], *operands[j][1]} & needed
            candidates.append(
                (math.prod(sizes[a] for a in product_axes), i, j, product_axes, others)
            )
        _, i, j, product_axes, others = min(candidates, key=lambda pair: pair[:3])
        operands = [*others, _multiply_factors(operands[i], operands[j], product_axes, sizes)]
    ((table, axes),) = operands
    return sum_to_axes(table, axes, output_axes)


def _multiply_factors(
    first_factor: Factor, second_factor: Factor, output_axes: set[int], sizes: Mapping[int, int]
) -> Factor:
    """Return the product of two tables, summed over all columns but `output_axes`.

    The result comes with its columns.
    """
    first, a = first_factor
    second, b = second_factor
    batch = [x for x in a if x in b and x in output_axes]
    summed_axes = [x for x in a if x in b and x not in output_axes]
    rows = [x for x in a if x not in b and x in output_axes]
    columns = [x for x in b if x not in a and x in output_axes]

    def as_matrices(table: Array, axes: Axes, *groups: list[int]) -> Array:
        transposed = sum_to_axes(table, axes, [x for group in groups for x in group])
        return np.ascontiguousarray(transposed).reshape(
            [math.prod(sizes[x] for x in group) for group in groups]
        )

    out = as_matrices(first, a, batch, rows, summed_axes) @ as_matrices(
        second, b, batch, summed_axes, columns
    )
    axes = (*batch, *rows, *columns)
    return out.reshape([sizes[x] for x in axes]), axes


def tables_by_clique(
    junction: JunctionTree, tables: Marginals
) -> tuple[list[tuple[slice, Marginals, Array]], list[int]]:
    """Return the tables inside each clique in use, and the numbers of the tables in no clique.

    For a clique they are its place, the tables inside it and their cells. The tables of a clique
    are on its own little domain, so that all are summed out of its belief together. It has the
    columns in the order in which the belief's cells lie, and so have their tables.
    """
    inside: dict[int, list[int]] = {}
    outside: list[int] = []
    for number, axes in enumerate(tables.axes):
        clique_number = junction.clique_containing(axes)
        if clique_number is None:
            outside.append(number)
        else:
            inside.setdefault(clique_number, []).append(number)
    clique_tables = []
    all_cells = np.arange(tables.m)
    for clique_number, numbers in inside.items():
        memory_order = junction.memory_orders[clique_number]
        clique_domain = Domain(tuple(tables.domain.columns[a] for a in memory_order))
        local_tables = Marginals(clique_domain, [tables.columns[number] for number in numbers])
        positions = []
        for number in numbers:
            axes, shape, table = tables.layout[number]
            table_order = [axes.index(a) for a in memory_order if a in axes]
            positions.append(all_cells[table].reshape(shape).transpose(table_order).ravel())
        answer_positions = np.concatenate(positions)
        clique_slice = junction.clique_slices[clique_number]
        clique_tables.append((clique_slice, local_tables, answer_positions))
    return clique_tables, outside


def require_base_tables(workload: Workload) -> Marginals:
    """Return the marginal tables that a workload reads.

    Raises InputError for other workloads, which a graphical model does not answer.
    """
    if workload.base is None:
        raise InputError(
            "a graphical model answers queries on marginal tables; an explicit matrix it does not"
        )
    return workload.base
