"""Fingerprints that tell whether two tables hold the same records, computed chunk by chunk with a key.

It is of what the cells say, before any schema: neither the order of rows and columns counts, nor from which kind of
file they came. Without the key it says nothing about the records.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable

import numpy as np
import pandas as pd

from ..types import Array
from .cell import canonical, distinct
from .marks import mixed
from .readings import number_of

FORMAT = "4:"  # what fingerprints begin with; those of earlier formats begin with "2:" or "3:", or are bare
LANES = 4  # number of 64-bit parts of a sum


def is_earlier(mark: str) -> bool:
    """Whether a fingerprint is of an earlier format, which no table can be compared with any more."""
    return not mark.startswith(FORMAT)


def fingerprint(frame: pd.DataFrame, key: bytes) -> str:
    """The fingerprint of a table in memory."""
    found = Fingerprint(map(str, frame.columns), key)
    found.add([cells for _, cells in frame.items()])
    return found.hexdigest()


class Fingerprint:
    """A multiset of rows, added chunk by chunk: HMAC-SHA256 of names, n and a sum over rows.

    Every distinct cell of a column gets 256 bits, BLAKE2b of its column's place and its text under the key; a row is
    the sum of its cells' bits in four numbers mod 2⁶⁴, each scrambled by a bijection, and the table the sum of its
    rows. So what is kept does not grow with n, and without the key nobody can look for two tables that agree.
    Source: Clarke, Devadas, van Dijk, Gassend, Suh 2003 (MSet-Add-Hash).
    """

    def __init__(self, columns: Iterable[str], key: bytes) -> None:
        names = list(columns)
        self.names = sorted(names)
        self._order = sorted(range(len(names)), key=names.__getitem__)
        self._key = key
        self._cells = hashlib.sha256(b"cells" + key).digest()
        self._sum = np.zeros(LANES, dtype=np.uint64)
        self._n = 0

    def add(self, columns: list[pd.Series]) -> None:
        """Add some rows, as columns in the order of the names."""
        if not columns:
            return
        rows = np.zeros((len(columns[0]), LANES), dtype=np.uint64)
        for place, i in enumerate(self._order):
            codes, texts = distinct(columns[i])
            written = columns[i].dtype.kind in "iuf"  # as `_known_by` writes them
            known = texts if written else map(_known_by, texts)
            rows += self._bits(place, [*known, ""])[codes]
        self._n += len(rows)
        self._sum += mixed(np.arange(1, LANES + 1, dtype=np.uint64), rows).sum(axis=0)

    def hexdigest(self) -> str:
        """The fingerprint of all rows that were added."""
        told = json.dumps([self.names, self._n, self._sum.tolist()])
        return FORMAT + hmac.new(self._key, told.encode(), hashlib.sha256).hexdigest()

    def _bits(self, place: int, texts: list[str]) -> Array:
        who = place.to_bytes(8, "little")
        said = (text.encode("utf-8", "surrogatepass") for text in texts)
        joined = b"".join(
            hashlib.blake2b(text, digest_size=8 * LANES, key=self._cells, salt=who).digest() for text in said
        )
        return np.frombuffer(joined, dtype="<u8").reshape(-1, LANES).astype(np.uint64)


def _known_by(text: str) -> str:
    """The text that identifies a cell: numbers that are the same float are alike, as 1.50 and 1.5.

    So a table that is saved anew in another format is known again; whole numbers are known by all of their digits, and
    what no column reads as a number, as `1_0`, by its own signs.
    """
    text = canonical(text)
    number = number_of(text)
    return text if text.lstrip("-").isdigit() or number != number else canonical(str(number))
