"""Rows of a distribution on a junction tree where some of their columns are given.

With e the given values, D(x | e) is drawn exactly, in two passes for each different e: towards the
root every clique C sends P(e below C | its separator) to its parent, and from the root on each
clique's other columns are drawn from D(x_C | separator, e) ∝ D(x_C | separator) times what its
children sent. Source: Lauritzen, Spiegelhalter 1988 (evidence on junction trees).
"""

import math
from collections.abc import Sequence

import numpy as np

from ..core.types import Array, Axes, Rng
from ..schema.domain import sum_to_axes
from .junction_tree import JunctionTree
from .releases import MAX_GIVEN_CELLS, sample_within_states, table_cells, with_table_cells


def divide_or_zero(table: Array, divisor: Array) -> Array:
    """Return the quotient of two tables, 0 where the divisor is 0."""
    return np.divide(table, divisor, out=np.zeros_like(table), where=divisor > 0)


def complete_on_tree(
    junction: JunctionTree, tables: Sequence[Array], codes: Array, axes: Axes, rng: Rng
) -> Array:
    """Return codes (rows, d) that keep the columns `axes`; the others are drawn given these.

    Different given values are taken some at a time, so that what cliques hold of them stays small.

    Args:
        junction: The tree.
        tables: The marginal table of each clique, one axis a column.
        codes: Of which only the columns `axes` are read.
        axes: The columns that are given.
        rng: Draws by systematic sampling among rows that are given the same.

    """
    _, first_rows, state = np.unique(codes[:, axes], axis=0, return_index=True, return_inverse=True)
    state = state.ravel()
    completed = np.array(codes)
    free_cells = [
        math.prod(junction.shape[a] for a in clique if a not in axes) for clique in junction.cliques
    ]
    states_at_once = max(1, MAX_GIVEN_CELLS // max(free_cells))
    for start in range(0, len(first_rows), states_at_once):
        rows = np.flatnonzero((state >= start) & (state < start + states_at_once))
        given_codes = codes[first_rows[start : start + states_at_once]]
        evidence = TreeEvidence(junction, tables, given_codes, axes)
        completed[rows] = evidence.complete(completed[rows], state[rows] - start, rng)
    return completed


class TreeEvidence:
    """A distribution on a junction tree with the columns `axes` given by `given_codes` (S, d)."""

    def __init__(
        self, junction: JunctionTree, tables: Sequence[Array], given_codes: Array, axes: Axes
    ) -> None:
        self._junction = junction
        self._tables = tables
        self._given_codes = given_codes
        self._given = frozenset(axes)
        count = len(junction.cliques)
        self._kept = [self._free(sep) for sep in junction.separators]
        self._new = []
        for clique, sep in zip(junction.cliques, junction.separators, strict=True):
            self._new.append(self._free(tuple(a for a in clique if a not in sep)))
        given_below = self._given_columns_below()
        self._first_states: list[Array] = []  # of each clique: states that differ at or below it
        self._key_of_state: list[Array] = []
        for i in range(count):
            columns = sorted(given_below[i] | (self._given & set(junction.separators[i])))
            _, first, key = np.unique(
                given_codes[:, columns], axis=0, return_index=True, return_inverse=True
            )
            self._first_states.append(first)
            self._key_of_state.append(key.ravel())
        self._messages: list[Array | None] = [None] * count
        for i in range(count - 1, 0, -1):
            if given_below[i] and self._kept[i]:  # else its parent learns nothing from it
                self._messages[i] = self._message(i)

    def _free(self, axes: Axes) -> Axes:
        """Return those of these columns that are not given."""
        return tuple(a for a in axes if a not in self._given)

    def _given_columns_below(self) -> list[set[int]]:
        """Return the given columns that first appear at or below each clique."""
        junction = self._junction
        below = []
        for clique, sep in zip(junction.cliques, junction.separators, strict=True):
            below.append(self._given & (set(clique) - set(sep)))
        for i in range(len(below) - 1, 0, -1):
            below[junction.parents[i]] |= below[i]
        return below

    def _sizes(self, axes: Axes) -> list[int]:
        return [self._junction.shape[a] for a in axes]

    def _part(self, i: int, given_axes: Axes, free_axes: Axes) -> Array:
        """Return clique i's marginal on free columns, at the given ones of each of its keys."""
        table = sum_to_axes(
            self._tables[i], self._junction.cliques[i], (*given_axes, *free_axes)
        ).reshape(math.prod(self._sizes(given_axes)), -1)
        cells = table_cells(
            self._given_codes[self._first_states[i]], given_axes, self._junction.shape
        )
        return table[cells].reshape(-1, *self._sizes(free_axes))

    def _weights(self, i: int) -> Array:
        """Return D(x_C, given) times the children's messages: (keys, *kept, *new columns)."""
        clique = self._junction.cliques[i]
        free_axes = (*self._kept[i], *self._new[i])
        weights = self._part(i, tuple(a for a in clique if a in self._given), free_axes)
        for child in self._junction.children[i]:
            message = self._messages[child]
            if message is None:
                continue
            kept = self._kept[child]
            places = sorted(range(len(kept)), key=lambda k, kept=kept: free_axes.index(kept[k]))
            keys = self._key_of_state[child][self._first_states[i]]
            sizes = [self._junction.shape[a] if a in kept else 1 for a in free_axes]
            ordered = message[keys].transpose(0, *(1 + k for k in places))
            weights = weights * ordered.reshape(-1, *sizes)
        return weights

    def _message(self, i: int) -> Array:
        """Return P(given at or below clique i | its separator) (keys, *kept columns), to scale."""
        kept = self._kept[i]
        weights = self._weights(i)
        joint = weights.sum(axis=tuple(range(1 + len(kept), weights.ndim)))
        separator = self._junction.separators[i]
        given_axes = tuple(a for a in separator if a in self._given)
        message = divide_or_zero(joint, self._part(i, given_axes, kept))
        largest = message.max(axis=tuple(range(1, message.ndim)), keepdims=True)
        return divide_or_zero(message, largest)  # else many factors would underflow

    def complete(self, codes: Array, state: Array, rng: Rng) -> Array:
        """Return codes (rows, d) with drawn columns in the place of those that are not given.

        `state` (rows,) is the number of what is given of each row.
        """
        shape = self._junction.shape
        for i, new_axes in enumerate(self._new):
            if not new_axes:
                continue
            kept = self._kept[i]
            kept_cells = math.prod(self._sizes(kept))
            weights = self._weights(i).reshape(-1, math.prod(self._sizes(new_axes)))
            key = self._key_of_state[i][state]
            row_state = key * kept_cells + table_cells(codes, kept, shape)
            cells = sample_within_states(weights, row_state, rng)
            codes = with_table_cells(codes, new_axes, shape, cells)
        return codes
