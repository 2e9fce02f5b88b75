"""Rows that another tool made, as the cells of a schema that it did not know."""

from dataclasses import field

import numpy as np
import pandas as pd

from ..core.errors import InputError, require_two_rows
from ..core.types import frozen
from ..schema.domain import Domain, Rows


@frozen
class ForeignRows:
    """Another tool's rows in a domain, and how many cells of each column were not valid.

    `dropped_count` of `row_count` rows had a cell for which the schema has no place at all.
    """

    rows: Rows
    row_count: int
    dropped_count: int
    invalid_counts: dict[str, int] = field(default_factory=dict)


def encode_foreign_rows(domain: Domain, frame: pd.DataFrame) -> ForeignRows:
    """Return a table of another tool in a domain, with what is not valid counted, not refused.

    Raises InputError for a table of fewer than two rows or without a column of the domain, and
    where no row can be placed.
    """
    require_two_rows(len(frame))
    codes = np.zeros((len(frame), len(domain.columns)), dtype=np.int64)
    is_placed = np.ones(len(frame), dtype=bool)
    invalid_counts = {}
    for i, (column, cells) in enumerate(domain.cells_by_column(frame)):
        codes[:, i], is_valid, is_column_placed = column.encode_leniently(cells)
        is_placed &= is_column_placed
        if not is_valid.all():
            invalid_counts[column.name] = int((~is_valid).sum())
    if is_placed.sum() < 1:
        counts = ", ".join(f"{name!r}: {count:,}" for name, count in invalid_counts.items())
        raise InputError(
            f"the table has no row with values of the schema (of {len(frame):,} rows not valid: "
            f"{counts or 'none'}); check that it has the same columns"
        )
    dropped_count = int((~is_placed).sum())
    rows = domain.group_rows(codes[is_placed])
    return ForeignRows(rows, len(frame), dropped_count, invalid_counts)
