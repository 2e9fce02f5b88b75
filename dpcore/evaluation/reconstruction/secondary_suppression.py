"""Secondary suppression: further cells that are hidden so that no hidden one follows from a sum."""

import numpy as np

from ...core.types import Array


def hide_single_cells(counts: Array, is_hidden: Array) -> Array:
    """Return the hidden cells of a table with those that secondary suppression adds.

    Wherever one cell of a line (all columns but one fixed) is hidden alone, the smallest other
    count above 0 of that line is hidden, too, until no hidden cell is alone; a line without such a
    count stays. This is the fast heuristic that the R package sdcTable calls SIMPLEHEURISTIC_OLD,
    within one table: it does not look whether an attacker can still bound a hidden cell.

    Args:
        counts: The table's counts, one axis a column.
        is_hidden: The cells that are hidden for their own size, of the same shape.

    """
    is_hidden = is_hidden.copy()
    while True:
        hidden_before = np.count_nonzero(is_hidden)
        for axis in range(counts.ndim):
            _hide_partners(np.moveaxis(counts, axis, -1), np.moveaxis(is_hidden, axis, -1))
        if np.count_nonzero(is_hidden) == hidden_before:
            return is_hidden


def _hide_partners(counts: Array, is_hidden: Array) -> None:
    """Hide a partner in every line, along the last axis, that has a single hidden cell."""
    is_free = ~is_hidden & (counts > 0)
    is_alone = (is_hidden.sum(axis=-1) == 1) & is_free.any(axis=-1)
    partner = np.where(is_free, counts, np.iinfo(np.int64).max).argmin(axis=-1)
    lines = np.nonzero(is_alone)
    is_hidden[(*lines, partner[lines])] = True
