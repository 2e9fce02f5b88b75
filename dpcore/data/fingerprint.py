"""Whether two tables hold the same records: a keyed fingerprint of a whole table, chunk by chunk.

Neither the order of rows and columns counts nor how a cell is written: 1, 1.0 and "1" are the same, as are an empty and
a missing one. Without the key it says nothing about the records.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from .column import _key
from .marks import mixed

SECOND = "2:"  # what fingerprints of the second format begin with; those of the first are bare
LANES = 4  # of 64 bits


def fingerprint(frame: pd.DataFrame, key: bytes) -> str:
    """That of a table in memory."""
    found = Fingerprint([str(c) for c in frame.columns], key)
    found.add([pd.Series(frame.iloc[:, i]) for i in range(frame.shape[1])])
    return found.hexdigest()


def marks_of(frame: pd.DataFrame, key: bytes, *, first: bool) -> tuple[str, ...]:
    """Fingerprints by which a table in memory may be known, and with `first` also that of the first format."""
    return (fingerprint(frame, key), *([first_fingerprint(frame, key)] if first else []))


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
        """Some rows, column by column as they were named."""
        if not columns:
            return
        rows = np.zeros((len(columns[0]), LANES), dtype=np.uint64)
        for place, i in enumerate(self._order):
            codes, texts = _coded(columns[i])
            rows += self._bits(place, texts)[codes]
        self._n += len(rows)
        for lane in range(LANES):
            self._sum[lane : lane + 1] += mixed(np.uint64(lane + 1), rows[:, lane]).sum(keepdims=True)

    def hexdigest(self) -> str:
        """The fingerprint of all that was added."""
        told = json.dumps([self.names, self._n, self._sum.tolist()])
        return SECOND + hmac.new(self._key, told.encode(), hashlib.sha256).hexdigest()

    def _bits(self, place: int, texts: list[str]) -> np.ndarray:
        who = place.to_bytes(8, "little")
        said = (text.encode("utf-8", "surrogatepass") for text in texts)
        joined = b"".join(
            hashlib.blake2b(text, digest_size=8 * LANES, key=self._cells, salt=who).digest() for text in said
        )
        return np.frombuffer(joined, dtype="<u8").reshape(-1, LANES).astype(np.uint64)


def first_fingerprint(frame: pd.DataFrame, key: bytes) -> str:
    """The first format, by which ledgers know tables that were released before: HMAC-SHA256 of all rows, sorted.

    A cell enters with its length before it, so that different rows never look alike.
    """
    names = [str(c) for c in frame.columns]
    order = sorted(range(len(names)), key=names.__getitem__)
    mac = hmac.new(key, json.dumps([sorted(names), len(frame)]).encode(), hashlib.sha256)
    if order:
        rows = np.full(len(frame), "", dtype=object)
        for i in order:
            codes, texts = _coded(pd.Series(frame.iloc[:, i]))
            rows = rows + np.array([f"{len(text)}:{text}" for text in texts], dtype=object)[codes]
        rows.sort()
        mac.update("".join(rows).encode("utf-8", "surrogatepass"))
    return mac.hexdigest()


def _coded(cells: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Texts, the last one that of a missing cell, and which of them each cell is (n,), −1 for the last."""
    if cells.dtype == object and pd.api.types.infer_dtype(cells, skipna=True) != "string":
        cells = cells.map(_text)  # factorize takes True for 1, and stumbles over a list
    codes, distinct = pd.factorize(cells, use_na_sentinel=True)
    return codes, [*map(_text, distinct), ""]


def _text(value: Any) -> str:
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return ""
    text = _key(value)
    try:
        number = float(text)
    except ValueError:
        return text
    return text if number != number or number in (np.inf, -np.inf) else _key(number)
