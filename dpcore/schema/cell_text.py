"""The text of a table's cell, found from that cell alone, whatever reader or database it came from.

A cell of a text file says its text. A value with a type (in Excel, Parquet or a database) says one
text: a whole number its digits, however many; a float the shortest text that reads as it, in as
many bits; a date its ISO text; true and false `True` and `False`; a missing value nothing. How a
column reads such a text is for `column_readings`.
"""

import math
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa

from ..core.types import Array

_MISSING_TEXT_LIST = """
NA N/A NaN nan NULL null None <NA> #N/A n/a n.a. N.A. #NA NAN NaT
Null none NONE missing Missing MISSING - -- – — ? . ..
#DIV/0! #VALUE! #REF! #NAME? #NUM! #NULL! #CALC! #SPILL!
"""
# a category that is listed among a column's values is one, whatever it is called
MISSING_TEXTS = frozenset(["", *_MISSING_TEXT_LIST.split()])
ZERO_PATTERN = "0"
WHOLE_NUMBER_PATTERN = "-?[1-9][0-9]*"
DAY_PATTERN = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
# what may follow them
ZERO_FRACTION_PATTERN = r"\.0*"
MIDNIGHT_PATTERN = r"[ T]00:00:00(\.0*)?"
REDUNDANT_TEXT_PATTERN = re.compile(
    rf"-?(?P<zero>{ZERO_PATTERN})({ZERO_FRACTION_PATTERN})?|(?P<whole>{WHOLE_NUMBER_PATTERN}){ZERO_FRACTION_PATTERN}|(?P<day>{DAY_PATTERN}){MIDNIGHT_PATTERN}"
)
# Raised for a time that the calendar of its zone does not have; the last is Python's, for a year
# after 9999.
TIME_ERRORS = NotImplementedError, ValueError, OverflowError
# floats between which Arrow and Python write the same digits
MIN_ARROW_FLOAT = 1e-4
MAX_ARROW_FLOAT = 1e10
CODES_PER_BLOCK = 1 << 14  # that are looked at together
MIN_FACTORIZED_ROWS = 1_000  # of fewer, each text is found as quickly as its number


class NumberText(str):
    """The text of a number from a numeric file, never read as an amount or a date.

    The class itself is the mark.
    """

    __slots__ = ()


def text_of_cell(value: object) -> str:
    """Return the text of a raw cell, without spaces around it."""
    if isinstance(value, str):
        return value.strip()
    try:
        if isinstance(value, (bool, np.bool_)):
            return str(value)
        if isinstance(value, np.floating):
            value = floats_as_printed(np.atleast_1d(value)).item()
        if isinstance(value, (int, float, np.integer)):
            return NumberText(canonical_text(str(value)))
        if isinstance(value, Decimal):
            return NumberText(f"{value:f}")
        return (
            value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
        ).strip()
    except ValueError:  # a whole number of more digits than are written
        return ""


def canonical_text(text: str) -> str:
    """Return one text for all ways to write a value: `17` for `17.0`, a day for its midnight.

    Values with the same canonical text are one category, one person and one cell. `007`, `0012e322`
    and whole numbers of any length are returned as they are.
    """
    match = REDUNDANT_TEXT_PATTERN.fullmatch(text) if text[-1:] in ("0", ".") else None
    return next(filter(None, match.groupdict().values())) if match else text


def canonical_text_of_value(value: object) -> str:
    """Return the canonical text of a value: 1, 1.0, "1" and " 1" are one category."""
    return canonical_text(text_of_cell(value))


def factorize_texts(cells: pd.Series) -> tuple[Array, list[str]]:
    """Return each raw cell's index (n,) among the distinct texts, and these texts (r,).

    The index is −1 for a missing value. Every distinct value is looked at once; a text of a number
    and a text that is equal to it stay separate. Of categories no row is looked at, but its code.
    """
    dtype_kind = cells.dtype.kind
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return _factorize_categories(cells.cat.codes.to_numpy(), cells.dtype.categories)
    if isinstance(cells.dtype, pd.StringDtype) or dtype_kind in "iufbM":
        codes, values = pd.factorize(cells, use_na_sentinel=True)
        if dtype_kind in "iu":  # whose texts every reading takes alike
            return codes, list(map(str, values.tolist()))
        if dtype_kind == "f":
            return codes, list(map(NumberText, float_texts(floats_as_printed(np.asarray(values)))))
        try:
            return codes, list(map(text_of_cell, values.tolist()))
        except TIME_ERRORS:  # some of them
            return codes, [
                _zoned_time_text(pd.DatetimeIndex(values), i) for i in range(len(values))
            ]
    code_of_text: dict[tuple[type, str], int] = {}
    texts = (None if _is_missing(v) else text_of_cell(v) for v in cells.astype(object).tolist())
    codes = [
        -1 if text is None else code_of_text.setdefault((type(text), text), len(code_of_text))
        for text in texts
    ]
    return np.array(codes, dtype=np.int64), [text for _, text in code_of_text]


def factorize_frame(frame: pd.DataFrame, min_rows: int = MIN_FACTORIZED_ROWS) -> pd.DataFrame:
    """Return a table with each column of texts as categories, in the order in which they come.

    What is read of it later, however often, looks at each distinct text, and at no row's text
    again. Columns of any other kind stay as they are, and so does a table of fewer than `min_rows`.
    """
    if len(frame) < min_rows:
        return frame
    columns = {i: _as_categories(pd.Series(frame.iloc[:, i])) for i in range(len(frame.columns))}
    return pd.DataFrame(columns, index=frame.index).set_axis(frame.columns, axis=1)


def _as_categories(cells: pd.Series) -> pd.Series:
    """Return a column of texts as categories, and any other one as it is."""
    if not isinstance(cells.dtype, pd.StringDtype):
        return cells
    codes, texts = pd.factorize(cells, use_na_sentinel=True)
    return pd.Series(pd.Categorical.from_codes(codes, texts, validate=False), index=cells.index)


def _factorize_categories(codes: Array, categories: pd.Index) -> tuple[Array, list[str]]:
    """Return what `factorize_texts` does, of the codes (n,) of categories, −1 if missing.

    Categories without a row are none of the texts, and those of one text are one.
    """
    codes = codes.astype(np.intp)
    if not _come_in_order(codes, len(categories)):
        present = codes >= 0
        codes[present], used = pd.factorize(codes[present])
        categories = categories.take(np.asarray(used))
    are_texts = isinstance(categories.dtype, pd.StringDtype)
    texts = list(map(str.strip if are_texts else text_of_cell, categories.tolist()))
    if len(set(texts)) == len(texts):
        return codes, texts
    code_of_text: dict[tuple[type, str], int] = {}
    merged = [code_of_text.setdefault((type(text), text), len(code_of_text)) for text in texts]
    return np.array([*merged, -1])[codes], [text for _, text in code_of_text]


def _come_in_order(codes: Array, category_count: int) -> bool:
    """Return whether all categories occur, each after the one before it has occurred."""
    last = -1
    for start in range(0, len(codes), CODES_PER_BLOCK):
        block = np.append(last, codes[start : start + CODES_PER_BLOCK])
        largest_so_far = np.maximum.accumulate(block)
        if (np.diff(largest_so_far) > 1).any():
            return False
        last = int(largest_so_far[-1])
        if last == category_count - 1:  # as mostly after a few rows
            return True
    return last == category_count - 1


def count_texts(cells: pd.Series) -> tuple[list[str], Array]:
    """Return the distinct texts (r,) of raw cells that are not missing, and their counts (r,)."""
    codes, texts = factorize_texts(cells)
    return texts, np.bincount(codes[codes >= 0], minlength=len(texts))


def float_texts(values: Array) -> Array:
    """Return the texts (n,) of 64-bit floats.

    Those of usual size are written by Arrow, which is much faster.
    """
    is_usual = (np.abs(values) >= MIN_ARROW_FLOAT) & (np.abs(values) < MAX_ARROW_FLOAT)
    texts = np.empty(len(values), dtype=object)
    texts[is_usual] = [
        canonical_text(text) for text in pa.array(values[is_usual]).cast(pa.string()).to_pylist()
    ]
    texts[~is_usual] = [canonical_text(str(value)) for value in values[~is_usual].tolist()]
    return texts


def floats_as_printed(values: Array) -> Array:
    """Return the 64-bit floats (n,) that the texts of numbers say.

    This is 0.1 for the 32-bit float nearest to it.
    """
    if values.dtype.kind != "f" or values.dtype.itemsize >= 8:
        return values.astype(float)
    return pa.array(values.astype(np.float32)).cast(pa.string()).cast(pa.float64()).to_numpy()


def is_valid_unicode(text: str) -> bool:
    """Return whether the text can be written and shown.

    JSON may contain halves of a character, which can not.
    """
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def _zoned_time_text(times: pd.DatetimeIndex, index: int) -> str:
    """Return the text of a time in its zone, or in UTC if the zone's calendar does not have it.

    Either text is of the same moment.
    """
    try:
        return text_of_cell(times[index])
    except TIME_ERRORS:
        return f"{times.tz_convert(None)[index]}+00:00"


def _is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, NA or NaT, as no text is."""
    return (
        value is None
        or value is pd.NA
        or value is pd.NaT
        or (isinstance(value, float) and math.isnan(value))
    )
