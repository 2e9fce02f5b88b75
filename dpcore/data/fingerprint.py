"""Marks that identify a data set: of its files' bytes, and of its cells, with a ledger's key.

Two marks identify a table, and a match of either is the same data set:

- `file_mark`, of the bytes of the file, or of all files of a folder. The same bytes are the same
  data set, whatever a schema states about them: encoding, delimiter, line breaks. Neither the name
  nor the place of a file counts.
- `Fingerprint`, of what the cells say, before any other part of a schema. Neither the order of rows
  and columns counts, nor the kind of file, a byte-order mark, the ends of lines or a line break at
  the end.

A changed file that is also stated to be in another encoding has other bytes and other cells. So a
table is also looked for by what its cells would say, had UTF-8 been read as Windows-1252, or the
reverse: `Fingerprint.all_fingerprints`. What is not known again: a file that was edited in a cell,
a heading, a row or a column, and one whose bytes were changed and whose delimiter is stated
otherwise, both at once. Without the key no mark says anything about the rows.
"""

import hashlib
import hmac
import json
import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from ..core.types import Array, Texts
from ..schema.cell_text import canonical_text, factorize_texts
from ..schema.column_readings import parse_cell_number
from .cell_hashes import combine_hashes
from .misread import MISREADINGS, Misreading, misread_cells, misread_text

# what fingerprints begin with; those of earlier formats begin with "2:" or "3:", or are bare
FORMAT_PREFIX = "4:"
FILE_PREFIX = "file:"  # what the marks of files begin with
LANE_COUNT = 4  # number of 64-bit parts of a sum


def is_earlier_format(mark: str) -> bool:
    """Return whether a fingerprint is of an earlier format.

    No table can be compared with such a fingerprint any more.
    """
    return not mark.startswith(FORMAT_PREFIX)


def table_fingerprint(frame: pd.DataFrame, key: bytes) -> str:
    """Return the fingerprint of a table in memory."""
    return table_fingerprints(frame, key)[0]


def table_fingerprints(frame: pd.DataFrame, key: bytes) -> Texts:
    """Return the fingerprint of a table in memory, then those of its cells misread.

    See `Fingerprint.all_fingerprints`.
    """
    builder = Fingerprint(map(str, frame.columns), key)
    builder.add_rows([cells for _, cells in frame.items()])
    return builder.all_fingerprints()


def file_mark(sha256: str, key: bytes) -> str:
    """Return the mark of a file, by the SHA-256 of its bytes and the ledger's key.

    It is HMAC-SHA256, so that nobody without the key can compare it.
    """
    return (
        FILE_PREFIX + hmac.new(key, f"{FILE_PREFIX}{sha256}".encode(), hashlib.sha256).hexdigest()
    )


class _RowSum:
    """A sum over rows for one way to read the cells.

    It holds the names, the position of each column among them, and the sum.
    """

    def __init__(self, names: Sequence[str]) -> None:
        order = sorted(range(len(names)), key=names.__getitem__)
        self.names = [names[i] for i in order]
        self.position_of_column = {i: position for position, i in enumerate(order)}
        self.sum = np.zeros(LANE_COUNT, dtype=np.uint64)


class Fingerprint:
    """A multiset of rows, added chunk by chunk: HMAC-SHA256 of names, n and a sum over rows.

    Every distinct cell of a column gets 256 bits, BLAKE2b of its column's place and its text under
    the key; a row is the sum of its cells' bits in four numbers mod 2⁶⁴, each scrambled by a
    bijection, and the table the sum of its rows. So what is kept does not grow with n, and without
    the key nobody can look for two tables that agree.
    Source: Clarke, Devadas, van Dijk, Gassend, Suh 2003 (MSet-Add-Hash).
    """

    def __init__(self, columns: Iterable[str], key: bytes) -> None:
        column_names = list(columns)
        self._row_sum = _RowSum(column_names)
        self._misread_sums = {
            way: _RowSum([misread_text(name, way) for name in column_names]) for way in MISREADINGS
        }
        self._key = key
        self._cell_key = hashlib.sha256(b"cells" + key).digest()
        self._row_count = 0

    def add_rows(self, columns: list[pd.Series]) -> None:
        """Add some rows, as columns in the order of the names."""
        if not columns:
            return
        rows = np.zeros((len(columns[0]), LANE_COUNT), dtype=np.uint64)
        changes: dict[Misreading, list[Array]] = {
            way: [] for way in MISREADINGS
        }  # made by reading in another way
        for i, cells in enumerate(columns):
            bits = self._cell_bits(cells, self._row_sum.position_of_column[i])
            rows += bits
            misread_columns = misread_cells(cells)
            for way, row_sum in self._misread_sums.items():
                if (
                    way in misread_columns
                    or row_sum.position_of_column[i] != self._row_sum.position_of_column[i]
                ):
                    changes[way].append(
                        self._cell_bits(
                            misread_columns.get(way, cells), row_sum.position_of_column[i]
                        )
                        - bits
                    )
        self._row_count += len(rows)
        chunk_sum = _scrambled_sum(rows)
        self._row_sum.sum += chunk_sum
        for way, row_sum in self._misread_sums.items():
            row_sum.sum += _scrambled_sum(rows + sum(changes[way])) if changes[way] else chunk_sum

    def hexdigest(self) -> str:
        """Return the fingerprint of all rows that were added."""
        return self._digest_of(self._row_sum)

    def all_fingerprints(self) -> Texts:
        """Return the fingerprint, then those that the rows would have in another encoding.

        There is one with every text misread in each of MISREADINGS.
        """
        return (self.hexdigest(), *map(self._digest_of, self._misread_sums.values()))

    def _digest_of(self, row_sum: _RowSum) -> str:
        content = json.dumps([row_sum.names, self._row_count, row_sum.sum.tolist()])
        return FORMAT_PREFIX + hmac.new(self._key, content.encode(), hashlib.sha256).hexdigest()

    def _cell_bits(self, cells: pd.Series, position: int) -> Array:
        """Return the bits (rows, LANE_COUNT) of each cell of a column."""
        codes, texts = factorize_texts(cells)
        are_written = cells.dtype.kind in "iuf"  # as `_identifying_text` writes them
        identifying_texts = [*(texts if are_written else map(_identifying_text, texts)), ""]
        salt = position.to_bytes(8, "little")
        digest_bytes = b"".join(
            hashlib.blake2b(
                text.encode("utf-8", "surrogatepass"),
                digest_size=8 * LANE_COUNT,
                key=self._cell_key,
                salt=salt,
            ).digest()
            for text in identifying_texts
        )
        return (
            np.frombuffer(digest_bytes, dtype="<u8")
            .reshape(-1, LANE_COUNT)
            .astype(np.uint64)[codes]
        )


def _scrambled_sum(rows: Array) -> Array:
    """Return the sum (LANE_COUNT,) over scrambled rows (n, LANE_COUNT)."""
    return combine_hashes(np.arange(1, LANE_COUNT + 1, dtype=np.uint64), rows).sum(axis=0)


def _identifying_text(text: str) -> str:
    """Return the text that identifies a cell.

    Numbers that are the same float are alike, as 1.50 and 1.5. So a table that is saved anew in
    another format is known again; whole numbers are known by all of their digits, and what no
    column reads as a number, as `1_0`, by its own signs.
    """
    text = canonical_text(text)
    number = parse_cell_number(text)
    if text.lstrip("-").isdigit() or math.isnan(number):
        return text
    return canonical_text(str(number))
