"""Hashes of cells: 64-bit numbers that are equal if two cells say the same.

Whatever else a column holds does not count.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.util import hash_array as keyed_hash

from ..core.types import Array
from ..schema.cell_text import MISSING_TEXTS, canonical_text, factorize_texts, float_texts

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
FIRST_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
SECOND_MULTIPLIER = np.uint64(0x94D049BB133111EB)
MAX_HASHED_INTEGER = 10**18
INTEGER_PATTERN = re.compile("0|[1-9][0-9]{0,17}")
MAX_EXACT_FLOAT = 1e16  # below which the text of a whole float is its digits
CellHash = Array | np.uint64
hash_array: Any = (
    keyed_hash  # SipHash; pandas names it by __getattr__, which type checkers cannot follow
)


def hash_cells(cells: pd.Series) -> Array:
    """Return the hash (n,) of each cell's text, from which every reading begins.

    A missing cell has an empty text.
    """
    return _hash_cell_texts(cells, str)


def hash_person_ids(cells: pd.Series) -> Array:
    """Return the hash (n,) of the person named in each cell.

    17, `17.0` and `" 17 "` are one person, `007` and `7` are two. All ways to say that a value is
    missing name nobody, who is one person too.
    """
    return _hash_cell_texts(
        cells, lambda text: "" if canonical_text(text) in MISSING_TEXTS else canonical_text(text)
    )


def _hash_cell_texts(cells: pd.Series, text_to_hash: Callable[[str], str]) -> Array:
    numbers = _hash_numbers(cells)
    if numbers is not None:
        return numbers
    codes, texts = factorize_texts(cells)
    return _hash_texts_and_integers([*map(text_to_hash, texts), ""])[codes]


def combine_hashes(first: CellHash, second: CellHash) -> Array:
    """Return the hash made of two hashes, in this order.

    Source: Steele, Lea, Flood 2014 (the finaliser of SplitMix64).
    """
    x = np.atleast_1d(first) * GOLDEN_GAMMA + np.atleast_1d(second)
    x = (x ^ (x >> np.uint64(30))) * FIRST_MULTIPLIER
    x = (x ^ (x >> np.uint64(27))) * SECOND_MULTIPLIER
    return x ^ (x >> np.uint64(31))


def _hash_numbers(cells: pd.Series) -> Array | None:
    """Return the hash (n,) of each number's text; None for any other column.

    Mostly it is computed without writing the text.
    """
    if (
        not isinstance(cells.dtype, np.dtype)
        or cells.dtype.kind not in "iu"
        and cells.dtype != np.float64
    ):
        return None
    values = cells.to_numpy()
    is_whole = (values >= 0) & (values < MAX_HASHED_INTEGER)
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # of a NaN that signals
            is_whole &= (values < MAX_EXACT_FLOAT) & (values == np.floor(values))
    hashes = combine_hashes(GOLDEN_GAMMA, np.where(is_whole, values, 0).astype(np.uint64))
    if not is_whole.all():
        other_values = values[~is_whole]
        texts = (
            float_texts(other_values)
            if other_values.dtype.kind == "f"
            else other_values.astype(str).astype(object)
        )
        if other_values.dtype.kind == "f":
            texts[np.isnan(other_values)] = ""
        hashes[~is_whole] = _siphash_texts(texts)
    return hashes


def _hash_texts_and_integers(texts: list[str]) -> Array:
    """Return the hash of each text.

    A whole number below MAX_HASHED_INTEGER is hashed as a number.
    """
    match_integer = INTEGER_PATTERN.fullmatch
    numbers = np.array(
        [int(text) if match_integer(text) else MAX_HASHED_INTEGER for text in texts],
        dtype=np.uint64,
    )
    hashes = combine_hashes(GOLDEN_GAMMA, numbers)
    text_positions = np.flatnonzero(numbers == MAX_HASHED_INTEGER)
    hashes[text_positions] = _siphash_texts([texts[i] for i in text_positions])
    return hashes


def _siphash_texts(texts: Sequence[str] | Array) -> Array:
    strings = np.empty(len(texts), dtype=object)
    strings[:] = texts
    try:
        return hash_array(strings, categorize=False)
    except UnicodeEncodeError:  # half a surrogate pair: no file that is read here holds one
        strings[:] = [text.encode("utf-8", "surrogatepass") for text in texts]
        return hash_array(strings, categorize=False)
