"""The public table that a release starts from, and what shows that it is the private one after all.

A start is neither protected nor charged: whatever it says about people is in the release as it
stands. So a start that is the private table, in whole or nearly, is refused, by its content and not
by its name:

- the same bytes: a copy, a link, another name;
- the same rows in the columns that both have, in any order, from any kind of file;
- the same shares in every cell of the schema: other spellings, other columns, all rows twice;
- at least half of the rows of one found in the other, where rows tell people apart.

What cannot be found: a private table in which a cell of most rows was changed, fewer than
MIN_OVERLAP of its rows, rows that many people share, rows that the start repeats, and tables
computed from it, such as its counts in other bins. Whoever names a start answers for that.

A refusal depends on private rows, as do those for a cell that the schema does not allow or a ledger
that knows the table. It comes before the charge, goes to the person who holds both tables and could
compare them alone, and nothing of it is released. Someone who sees releases only sees that there is
none, for a table that agrees with a public one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..core.errors import InputError
from ..core.types import Array, Json, frozen
from ..data.cell_hashes import combine_hashes, hash_person_ids
from ..data.fingerprint import table_fingerprint
from ..data.sources.chunked_source import ChunkedSource
from ..data.sources.gathered_counts import GatheredCounts
from ..data.sources.source import Source
from ..problems import PublicStart, public_start_from_table
from ..schema.domain import Domain, Rows

PUBLIC_FINGERPRINT_KEY = (
    b"public start"  # so that everybody can compute the fingerprint of a table that is public
)
MIN_OVERLAP = (
    0.5  # share of the distinct rows of the smaller table, from which on the other one contains it
)
# Share of a table's rows that differ, from which on rows tell people apart: rows of as many cells
# then agree by chance
# with a fifth of those of other people at most. Halves of census tables agreed in 0.01% to 8% of
# their rows.
MIN_DISTINCT_ROW_SHARE = 0.9
HOLDS_PRIVATE_TABLE = (
    "the public start holds the private table: {}; it must be a table that everybody may see"
)


@frozen
class StartTable:
    """A public table in a domain, as a public start for a release.

    Its name, its rows, the SHA-256 of its file, and its distribution.
    """

    name: str
    frame: pd.DataFrame
    sha256: str
    rows: Rows
    distribution: Array | PublicStart

    @classmethod
    def of(
        cls,
        name: str,
        frame: pd.DataFrame,
        domain: Domain,
        sha256: str = "",
        *,
        support: bool = False,
    ) -> "StartTable":
        """Return the start that a table makes.

        See `public_start_from_table`, which says what it raises.
        """
        return cls(
            name,
            frame,
            sha256,
            domain.encode(frame),
            public_start_from_table(domain, frame, keeps_support=support),
        )

    def to_json(self) -> Json:
        """Return the start as release.json names it.

        Anybody with the public table can compute both digests again.
        """
        facts = {"name": self.name, "rows": len(self.frame), "sha256": self.sha256}
        return facts | {"fingerprint": table_fingerprint(self.frame, PUBLIC_FINGERPRINT_KEY)}

    def check_not_private(
        self, table: pd.DataFrame | Source, sha256: str, rows: Rows | GatheredCounts, domain: Domain
    ) -> None:
        """Raise InputError if this start is the private table, or contains it or lies in it.

        Args:
            table: the private table, or its source, which is read once more for this.
            sha256: that of the private table's file; empty for none.
            rows: its rows in the domain.
            domain: the domain of the release.

        """
        digest = table.sha256 if isinstance(table, Source) else sha256
        if digest and digest == self.sha256:
            raise InputError(HOLDS_PRIVATE_TABLE.format("both files have the same bytes"))
        if self._has_same_shares(rows, domain):
            raise InputError(
                HOLDS_PRIVATE_TABLE.format("every combination of values has the same share in both")
            )
        columns = table.columns if isinstance(table, Source) else list(map(str, table.columns))
        common_columns = [
            name for name in sorted(set(columns)) if name in set(map(str, self.frame.columns))
        ]
        private_hashes = _hash_table_rows(table, common_columns)
        if private_hashes is None:
            return
        public_hashes = _hash_frame_rows(self.frame, common_columns)
        if (
            len(public_hashes) == len(private_hashes)
            and (np.sort(public_hashes) == np.sort(private_hashes)).all()
        ):
            raise InputError(HOLDS_PRIVATE_TABLE.format("both have the same rows"))
        if _contained_row_share(public_hashes, private_hashes) >= MIN_OVERLAP:
            raise InputError(
                HOLDS_PRIVATE_TABLE.format("at least half of the rows of one are rows of the other")
            )

    def _has_same_shares(self, rows: Rows | GatheredCounts, domain: Domain) -> bool:
        """Return whether every known cell of the private rows has the same share here."""
        if isinstance(rows, Rows):
            same_values = (
                self.rows.values.shape == rows.values.shape
                and (self.rows.values == rows.values).all()
            )
            return bool(
                same_values
                and (self.rows.weights * rows.vote_count == rows.weights * self.rows.n).all()
            )
        count_pairs = (
            (rows.count(axes, ()), self.rows.count(axes, domain.shape_of(axes)))
            for axes in rows.tables
        )
        return all(
            (private_counts * self.rows.n == public_counts * rows.vote_count).all()
            for private_counts, public_counts in count_pairs
        )


def _hash_table_rows(table: pd.DataFrame | Source, names: Sequence[str]) -> Array | None:
    """Return the hash (n,) of each row of a table by some columns.

    None for a source that has no rows to show.
    """
    if not isinstance(table, Source):
        return _hash_frame_rows(table, names)
    if not isinstance(table, ChunkedSource):
        return None
    source: Any = table
    chunks = (
        pd.DataFrame({name: chunk.cells(name) for name in names})
        for chunk in source.chunks(list(names))
    )
    chunk_hashes = [_hash_frame_rows(chunk, names) for chunk in chunks]
    return np.concatenate(chunk_hashes) if chunk_hashes else np.zeros(0, np.uint64)


def _hash_frame_rows(frame: pd.DataFrame, names: Sequence[str]) -> Array:
    """Return a hash (n,) of each row's values in some columns.

    17, `17.0` and `" 17 "` are the same.
    """
    column_names = list(map(str, frame.columns))
    row_hashes = np.zeros(len(frame), np.uint64)
    for name in names:
        row_hashes = combine_hashes(
            row_hashes, hash_person_ids(pd.Series(frame.iloc[:, column_names.index(name)]))
        )
    return row_hashes


def _contained_row_share(row_hashes: Array, other_row_hashes: Array) -> float:
    """Return the share of the smaller table's distinct rows that the larger one has.

    0 where rows are often alike.
    """
    distinct_hashes = [np.unique(marks) for marks in (row_hashes, other_row_hashes)]
    if any(
        len(d) < MIN_DISTINCT_ROW_SHARE * len(marks)
        for d, marks in zip(distinct_hashes, (row_hashes, other_row_hashes), strict=True)
    ):
        return 0.0
    smaller_count = min(map(len, distinct_hashes))
    return (
        len(np.intersect1d(*distinct_hashes, assume_unique=True)) / smaller_count
        if smaller_count
        else 0.0
    )
