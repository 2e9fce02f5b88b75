"""Marks of cells: 64-bit numbers, equal where two cells mean the same, whatever else a column holds."""

from typing import Any

import numpy as np
import pandas as pd
from pandas.util import hash_array as keyed_hash

from .column import MISSING_TEXTS

GOLDEN, FIRST, SECOND = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
Mark = np.ndarray | np.uint64
hash_array: Any = keyed_hash  # SipHash; pandas names it by __getattr__, which type checkers cannot follow


def marks(cells: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """What every cell means, and how it is written, as hashes (n,); each depends on that very cell and on no other.

    A table's reader, or whoever wrote it, gives a column one type by looking at all cells: a missing one makes whole
    numbers floats, a text makes numbers texts, and decimal commas become points where nothing but such numbers stands
    in a column. So 17, 17.0, "17", " 17.0 " and "17,0" mean the same here, as do all ways to say that a value is
    missing. Cells that are written alike mean the same.
    """
    if isinstance(cells.dtype, np.dtype) and cells.dtype.kind in "iuf":
        values = cells.to_numpy()
        meant = _of_numbers(values.astype(float))
        return meant, meant if values.dtype.kind == "f" else values.astype(np.uint64)
    if cells.dtype == object and pd.api.types.infer_dtype(cells, skipna=True) != "string":
        # With the type before it: to factorize True would be 1, and a list no value at all.
        found: dict[str, int] = {}
        values = cells.tolist()
        codes = np.array([found.setdefault(f"{type(v).__name__} {v}", len(found)) for v in values], dtype=int)
        written = list(found)
        values = [values[i] for i in np.unique(codes, return_index=True)[1]]
    else:
        codes, distinct = pd.factorize(cells)
        values = distinct.tolist()
        written = [str(value) for value in values]
    meant = np.append(_of_values(values), _of_numbers(np.array([np.nan])))  # a missing cell has code −1: the last
    return meant[codes], np.append(_of_texts(written), np.uint64(0))[codes]


def mixed(a: Mark, b: Mark) -> np.ndarray:
    """One mark of two, in this order. Source: Steele, Lea, Flood 2014 (the finaliser of SplitMix64)."""
    x = np.atleast_1d(a) * GOLDEN + np.atleast_1d(b)
    x = (x ^ (x >> np.uint64(30))) * FIRST
    x = (x ^ (x >> np.uint64(27))) * SECOND
    return x ^ (x >> np.uint64(31))


def _of_values(values: list) -> np.ndarray:
    """The mark of what each value means: a number, a text or nothing."""
    meanings = [_meaning(value if type(value) is str else str(value)) for value in values]
    numbers = np.fromiter((np.nan if type(m) is str else m for m in meanings), float, len(meanings))
    texts = np.fromiter((type(m) is str for m in meanings), bool, len(meanings))
    out = _of_numbers(numbers)
    out[texts] = _of_texts([m for m in meanings if type(m) is str])
    return out


def _meaning(text: str) -> float | str:
    """A number, NaN where the value is missing, else its text without spaces around it."""
    try:
        return float(text)
    except ValueError:
        text = text.strip()
    if text in MISSING_TEXTS or text == "NaT":
        return np.nan
    if text.count(",") == 1:
        try:
            return float(text.replace(",", "."))
        except ValueError:
            pass
    return text


def _of_numbers(numbers: np.ndarray) -> np.ndarray:
    """The mark of each number; −0 is 0, and one NaN is like another."""
    return mixed(GOLDEN, np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64))


def _of_texts(texts: list[str]) -> np.ndarray:
    found = np.empty(len(texts), dtype=object)
    found[:] = texts
    try:
        return hash_array(found, categorize=False)
    except UnicodeEncodeError:  # half a surrogate pair: no file that is read here holds one
        found[:] = [text.encode("utf-8", "surrogatepass") for text in texts]
        return hash_array(found, categorize=False)
