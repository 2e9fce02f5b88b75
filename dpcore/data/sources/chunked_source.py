"""The base of sources that are read and counted chunk by chunk."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.types import Axes, ProgressCallback, Texts, ignore_progress
from ...schema.domain import Domain
from ..fingerprint import Fingerprint
from .source import Source, Tally, source_column_positions
from .table_counting import add_rows_to_tables, choose_wide_tables, sum_to_tables


class ChunkedSource(Source):
    """A source that is read chunk by chunk, by its `chunks(names)`, in order.

    Its fingerprint covers all its rows.
    """

    def count(
        self: Any,
        domain: Domain,
        tables: Sequence[Axes],
        progress: ProgressCallback = ignore_progress,
        *share: tuple[int, int],
    ) -> Tally:
        """Return the number n of rows, or of votes, and the counted tables, chunk by chunk.

        With a `share` (i, k) they are those of share i of k, if the source can be read in shares.
        All columns of the domain are encoded, as in memory, whichever the tables ask for: what a
        schema refuses does not depend on the queries.
        """
        names = [self.columns[position] for position in source_column_positions(self, domain)]
        table_counts = {
            axes: np.zeros(domain.table_size(axes), dtype=np.int64)
            for axes in choose_wide_tables(tables, domain.shape)
        }
        n = 0
        rows_read = 0
        for chunk in self.chunks(names, *share):
            add_rows_to_tables(
                table_counts,
                [chunk.encode(column) for column in domain.columns],
                domain.shape,
                chunk.votes,
            )
            n += chunk.vote_count
            rows_read += chunk.rows
            progress(rows_read, None)
        return Tally(n, sum_to_tables(table_counts, tables, domain.shape))

    def fingerprint(self: Any, key: bytes, progress: ProgressCallback = ignore_progress) -> str:
        """Return the fingerprint of all rows and columns, read chunk by chunk."""
        return self.fingerprints(key, progress)[0]

    def fingerprints(self: Any, key: bytes, progress: ProgressCallback = ignore_progress) -> Texts:
        """Return the fingerprint of all rows and columns, then those of its cells misread.

        See `Fingerprint.all_fingerprints`.
        """
        builder = Fingerprint(self.columns, key)
        n = 0
        for chunk in self.chunks(self.columns):
            builder.add_rows([chunk.cells(name) for name in self.columns])
            n += chunk.rows
            progress(n, None)
        return builder.all_fingerprints()
