"""Marks of cells: 64-bit hashes that are equal where two cells say the same, whatever else a column holds."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.util import hash_array as keyed_hash

from ..core.types import Array
from ..schema.cell_text import MISSING_TEXTS, canonical, distinct, floats

GOLDEN, FIRST, SECOND = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
LARGEST, DIGITS = 10**18, re.compile("0|[1-9][0-9]{0,17}")
LARGEST_WHOLE = 1e16  # below which the text of a whole float is its digits
Mark = Array | np.uint64
hash_array: Any = keyed_hash  # SipHash; pandas names it by __getattr__, which type checkers cannot follow


def marks(cells: pd.Series) -> Array:
    """The hash (n,) of each cell's text, from which every reading begins; a missing cell has an empty text."""
    return _marks(cells, str)


def persons(cells: pd.Series) -> Array:
    """The hash (n,) of the person in each cell: 17, `17.0` and `" 17 "` are one, `007` and `7` are two.

    All ways to say that a value is missing name nobody, who is one person too.
    """
    return _marks(cells, lambda text: "" if canonical(text) in MISSING_TEXTS else canonical(text))


def _marks(cells: pd.Series, said: Callable[[str], str]) -> Array:
    if (numbers := _of_numbers(cells)) is not None:
        return numbers
    codes, texts = distinct(cells)
    return _hashed([*map(said, texts), ""])[codes]


def mixed(a: Mark, b: Mark) -> Array:
    """The mark made of two marks, in this order. Source: Steele, Lea, Flood 2014 (the finaliser of SplitMix64)."""
    x = np.atleast_1d(a) * GOLDEN + np.atleast_1d(b)
    x = (x ^ (x >> np.uint64(30))) * FIRST
    x = (x ^ (x >> np.uint64(27))) * SECOND
    return x ^ (x >> np.uint64(31))


def _of_numbers(cells: pd.Series) -> Array | None:
    """The hash (n,) of each number's text, mostly computed without writing it; None for any other column."""
    if not isinstance(cells.dtype, np.dtype) or cells.dtype.kind not in "iu" and cells.dtype != np.float64:
        return None
    values = cells.to_numpy()
    is_whole = (values >= 0) & (values < LARGEST)
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # of a NaN that signals
            is_whole &= (values < LARGEST_WHOLE) & (values == np.floor(values))
    hashes = mixed(GOLDEN, np.where(is_whole, values, 0).astype(np.uint64))
    if not is_whole.all():
        other_values = values[~is_whole]
        texts = floats(other_values) if other_values.dtype.kind == "f" else other_values.astype(str).astype(object)
        texts[other_values != other_values] = ""
        hashes[~is_whole] = _of_texts(texts)
    return hashes


def _hashed(texts: list[str]) -> Array:
    """The hash of each text; a whole number below LARGEST is hashed as a number."""
    match_integer = DIGITS.fullmatch
    numbers = np.array([int(text) if match_integer(text) else LARGEST for text in texts], dtype=np.uint64)
    hashes, text_positions = mixed(GOLDEN, numbers), np.flatnonzero(numbers == LARGEST)
    hashes[text_positions] = _of_texts([texts[i] for i in text_positions])
    return hashes


def _of_texts(texts: Sequence[str] | Array) -> Array:
    strings = np.empty(len(texts), dtype=object)
    strings[:] = texts
    try:
        return hash_array(strings, categorize=False)
    except UnicodeEncodeError:  # half a surrogate pair: no file that is read here holds one
        strings[:] = [text.encode("utf-8", "surrogatepass") for text in texts]
        return hash_array(strings, categorize=False)
