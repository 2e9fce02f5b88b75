"""Whether two tables hold the same records: a keyed fingerprint of a whole table."""

import hashlib
import hmac
import json

import numpy as np
import pandas as pd

from .column import _key


def fingerprint(frame: pd.DataFrame, key: bytes) -> str:
    """HMAC-SHA256 of the multiset of rows with columns sorted by name: the order of rows and columns does not count.

    Nor does how a cell is written: 1, 1.0 and "1" are the same, as are an empty and a missing one. A cell enters with
    its length before it, so that different rows never look alike. Without the key it says nothing about the records.
    """
    names = [str(c) for c in frame.columns]
    order = sorted(range(len(names)), key=names.__getitem__)
    mac = hmac.new(key, json.dumps([sorted(names), len(frame)]).encode(), hashlib.sha256)
    if order:
        rows = np.full(len(frame), "", dtype=object)
        for i in order:
            rows = rows + _texts(pd.Series(frame.iloc[:, i]))
        rows.sort()
        mac.update("".join(rows).encode("utf-8", "surrogatepass"))
    return mac.hexdigest()


def _texts(cells: pd.Series) -> np.ndarray:
    """One text (n,) a cell, its length first."""
    if cells.dtype == object and pd.api.types.infer_dtype(cells, skipna=True) != "string":
        cells = cells.map(_text)  # factorize takes True for 1, and stumbles over a list
    codes, distinct = pd.factorize(cells, use_na_sentinel=True)
    texts = [_text(value) for value in distinct] + [""]
    return np.array([f"{len(text)}:{text}" for text in texts], dtype=object)[codes]


def _text(value: object) -> str:
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return ""
    text = _key(value)
    try:
        number = float(text)
    except ValueError:
        return text
    return text if number != number or number in (np.inf, -np.inf) else _key(number)
