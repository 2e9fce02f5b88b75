"""What a data set is known by: the bytes of its files, and fingerprints of its cells, with a ledger's key.

Two marks identify a table, and a match of either is the same data set:

- `file_mark`, of the bytes of the file, or of all files of a folder. The same bytes are the same data set, whatever a
  schema states about them: encoding, delimiter, line breaks. Neither the name nor the place of a file counts.
- `Fingerprint`, of what the cells say, before any other part of a schema. Neither the order of rows and columns counts,
  nor the kind of file, a byte-order mark, the ends of lines or a line break at the end.

A changed file that is also stated to be in another encoding has other bytes and other cells. So a table is also looked
for by what its cells would say, had UTF-8 been read as Windows-1252, or the reverse: `Fingerprint.marks`. What is not
known again: a file that was edited in a cell, a heading, a row or a column, and one whose bytes were changed and whose
delimiter is stated otherwise, both at once. Without the key no mark says anything about the records.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from ..core.types import Array, Texts
from ..schema.cell_text import canonical, distinct
from ..schema.column_readings import number_of
from .cell_hashes import mixed
from .misread import WAYS, Way, misread, misread_cells

FORMAT = "4:"  # what fingerprints begin with; those of earlier formats begin with "2:" or "3:", or are bare
FILE = "file:"  # what the marks of files begin with
LANES = 4  # number of 64-bit parts of a sum


def is_earlier(mark: str) -> bool:
    """Whether a fingerprint is of an earlier format, which no table can be compared with any more."""
    return not mark.startswith(FORMAT)


def fingerprint(frame: pd.DataFrame, key: bytes) -> str:
    """The fingerprint of a table in memory."""
    return fingerprints(frame, key)[0]


def fingerprints(frame: pd.DataFrame, key: bytes) -> Texts:
    """The fingerprint of a table in memory, then those of its cells misread; see `Fingerprint.marks`."""
    builder = Fingerprint(map(str, frame.columns), key)
    builder.add([cells for _, cells in frame.items()])
    return builder.marks()


def file_mark(sha256: str, key: bytes) -> str:
    """The mark of a file by the SHA-256 of its bytes: HMAC-SHA256, so that nobody without the key can compare it."""
    return FILE + hmac.new(key, f"{FILE}{sha256}".encode(), hashlib.sha256).hexdigest()


class _Form:
    """A sum over rows for one way to read the cells: the names, the place of each column among them, and the sum."""

    def __init__(self, names: Sequence[str]) -> None:
        order = sorted(range(len(names)), key=names.__getitem__)
        self.names = [names[i] for i in order]
        self.places = {i: position for position, i in enumerate(order)}
        self.sum = np.zeros(LANES, dtype=np.uint64)


class Fingerprint:
    """A multiset of rows, added chunk by chunk: HMAC-SHA256 of names, n and a sum over rows.

    Every distinct cell of a column gets 256 bits, BLAKE2b of its column's place and its text under the key; a row is
    the sum of its cells' bits in four numbers mod 2⁶⁴, each scrambled by a bijection, and the table the sum of its
    rows. So what is kept does not grow with n, and without the key nobody can look for two tables that agree.
    Source: Clarke, Devadas, van Dijk, Gassend, Suh 2003 (MSet-Add-Hash).
    """

    def __init__(self, columns: Iterable[str], key: bytes) -> None:
        column_names = list(columns)
        self._form = _Form(column_names)
        self._misread = {way: _Form([misread(name, way) for name in column_names]) for way in WAYS}
        self._key = key
        self._cells = hashlib.sha256(b"cells" + key).digest()
        self._n = 0

    def add(self, columns: list[pd.Series]) -> None:
        """Add some rows, as columns in the order of the names."""
        if not columns:
            return
        rows = np.zeros((len(columns[0]), LANES), dtype=np.uint64)
        changes: dict[Way, list[Array]] = {way: [] for way in WAYS}  # made by reading in another way
        for i, cells in enumerate(columns):
            bits = self._bits(cells, self._form.places[i])
            rows += bits
            misread_columns = misread_cells(cells)
            for way, row_sum in self._misread.items():
                if way in misread_columns or row_sum.places[i] != self._form.places[i]:
                    changes[way].append(self._bits(misread_columns.get(way, cells), row_sum.places[i]) - bits)
        self._n += len(rows)
        chunk_sum = _summed(rows)
        self._form.sum += chunk_sum
        for way, row_sum in self._misread.items():
            row_sum.sum += _summed(rows + sum(changes[way])) if changes[way] else chunk_sum

    def hexdigest(self) -> str:
        """The fingerprint of all rows that were added."""
        return self._marked(self._form)

    def marks(self) -> Texts:
        """The fingerprint, then those that the rows would have with every text misread, in each of WAYS."""
        return (self.hexdigest(), *map(self._marked, self._misread.values()))

    def _marked(self, form: _Form) -> str:
        content = json.dumps([form.names, self._n, form.sum.tolist()])
        return FORMAT + hmac.new(self._key, content.encode(), hashlib.sha256).hexdigest()

    def _bits(self, cells: pd.Series, place: int) -> Array:
        """The bits (rows, LANES) of each cell of a column."""
        codes, texts = distinct(cells)
        are_written = cells.dtype.kind in "iuf"  # as `_known_by` writes them
        identifying_texts = [*(texts if are_written else map(_known_by, texts)), ""]
        salt = place.to_bytes(8, "little")
        digest_bytes = b"".join(
            hashlib.blake2b(
                text.encode("utf-8", "surrogatepass"), digest_size=8 * LANES, key=self._cells, salt=salt
            ).digest()
            for text in identifying_texts
        )
        return np.frombuffer(digest_bytes, dtype="<u8").reshape(-1, LANES).astype(np.uint64)[codes]


def _summed(rows: Array) -> Array:
    """The sum (LANES,) over scrambled rows (n, LANES)."""
    return mixed(np.arange(1, LANES + 1, dtype=np.uint64), rows).sum(axis=0)


def _known_by(text: str) -> str:
    """The text that identifies a cell: numbers that are the same float are alike, as 1.50 and 1.5.

    So a table that is saved anew in another format is known again; whole numbers are known by all of their digits, and
    what no column reads as a number, as `1_0`, by its own signs.
    """
    text = canonical(text)
    number = number_of(text)
    return text if text.lstrip("-").isdigit() or number != number else canonical(str(number))
