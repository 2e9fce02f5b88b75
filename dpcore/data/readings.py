"""How the cells of a column are read before they are counted: dates, amounts of money, spellings.

A reading is chosen by a person, or guessed once and then stands in the schema. It reads every cell by itself, whatever
else the column holds, so replacing one person's rows changes what is read in those rows only. What it cannot read stays
as it was written, and is then missing or refused like any other cell.
"""

import math
import re
from datetime import date

import numpy as np
import pandas as pd

AS_WRITTEN, ANY_CASE = "", "any case"
POINT, COMMA = "amount, decimal point", "amount, decimal comma"
PARTS, ORDERS = ("year", "month", "weekday"), ("y-m-d", "d/m/y", "m/d/y")
DATES = tuple(f"{part} of {order}" for part in PARTS for order in ORDERS)
READINGS = (AS_WRITTEN, ANY_CASE, POINT, COMMA, *DATES)
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
PIVOT = 69  # two-digit years from here on are of the last century, as POSIX has it
YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[ T].*)?", re.ASCII | re.DOTALL)
YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:[ T].*)?", re.ASCII | re.DOTALL)
SIGNS = r"[\s\u00a0\u202f]*(?:[$€£¥₹%‰]|(?:USD|EUR|GBP|CHF|JPY|SEK|NOK|DKK|kr)\b\.?)?[\s\u00a0\u202f]*"
BODY = r"(?P<sign>[-+\u2212]?){}(?P<whole>[1-9]\d{{0,2}}(?:(?:{}|[ \u00a0\u202f'])\d{{3}})+|\d+)?(?:{}(?P<part>\d+))?{}"
AMOUNT = {
    POINT: re.compile(SIGNS + BODY.format(SIGNS, ",", r"\.", SIGNS), re.ASCII),
    COMMA: re.compile(SIGNS + BODY.format(SIGNS, r"\.", ",", SIGNS), re.ASCII),
}
PLAIN = re.compile(r"\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\s*", re.ASCII)


def read_cells(cells: pd.Series, how: str) -> pd.Series:
    """The cells as `how` (of READINGS) reads them, one by one; numbers stay numbers."""
    if not how or cells.dtype.kind in "iufb":
        return cells
    if isinstance(cells.dtype, pd.StringDtype) or cells.dtype.kind == "M":
        codes, distinct = pd.factorize(cells, use_na_sentinel=True)
        values = np.empty(len(distinct) + 1, dtype=object)
        values[:-1] = [read_value(value, how) for value in distinct]
        return pd.Series(values[codes], index=cells.index, dtype=object)
    return cells.astype(object).map(lambda value: read_value(value, how), na_action="ignore")


def read_value(value: object, how: str) -> object:
    """One cell as `how` reads it, or as it was when it cannot be read so; reading twice is reading once."""
    if not how or isinstance(value, (int, float, np.number)):
        return value
    text = str(value).strip()
    if how == ANY_CASE:
        return folded(text)
    if how in AMOUNT:
        number = _amount(text, how)
        return value if number is None else number
    part, _, order = how.partition(" of ")
    day = read_date(text, order)
    if day is None:
        return value
    return {"year": day.year, "month": day.month, "weekday": WEEKDAYS[day.weekday()]}[part]


def numbers_of(cells: pd.Series, how: str) -> np.ndarray:
    """What every cell says as a number (n,), NaN for one that says none: each by itself, however the others look.

    So a text in a column of numbers is read as missing, and changes nothing about its neighbours.
    """
    if cells.dtype.kind in "iuf" and isinstance(cells.dtype, np.dtype):
        numbers = cells.to_numpy().astype(float)
        return np.where(np.isfinite(numbers), numbers, np.nan)
    codes, texts = distinct(cells)
    return np.append([number_of(text, how) for text in texts], np.nan)[codes]


def distinct(cells: pd.Series) -> tuple[np.ndarray, list[str]]:
    """The texts (r,) that cells are, and which of them each is (n,), −1 for no value: whatever they are, one by one."""
    if isinstance(cells.dtype, pd.StringDtype) or (isinstance(cells.dtype, np.dtype) and cells.dtype.kind in "iufbM"):
        codes, values = pd.factorize(cells, use_na_sentinel=True)
        if isinstance(cells.dtype, pd.StringDtype):
            values = values.to_numpy(dtype=object)  # type: ignore[union-attr]  # read one by one in a fifth of the time
        return codes, [written(value) for value in values]
    found: dict[str, int] = {}
    codes = [-1 if _is_none(v) else found.setdefault(written(v), len(found)) for v in cells.astype(object).tolist()]
    return np.array(codes, dtype=np.int64), list(found)


def number_of(text: str, how: str = AS_WRITTEN) -> float:
    """The finite number that one cell's text says, with a decimal point or a decimal comma; NaN where it says none."""
    value = read_value(text, how)
    if isinstance(value, str):
        value = value.replace(",", ".") if value.count(",") == 1 and "." not in value else value
        value = float(value) if PLAIN.fullmatch(value) else math.nan
    number = float(value) if isinstance(value, (int, float)) else math.nan
    return number if math.isfinite(number) else math.nan


def written(value: object) -> str:
    """One text for one value, without spaces around it: 1 and 1.0 are written alike."""
    try:
        if isinstance(value, (float, np.floating)) and float(value).is_integer():
            return str(int(value))
        return str(value).strip()
    except ValueError:  # a whole number of more digits than are written
        return ""


def _is_none(value: object) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def folded(text: str) -> str:
    """A text without what its letters' case and the spaces in and around it say."""
    return " ".join(text.split()).casefold()


def read_date(text: str, order: str) -> date | None:
    """The day that begins a text: year first where four digits are, else in this order; None for no such day."""
    if found := YEAR_FIRST.fullmatch(text):
        year, month, day = found[1], found[3], found[4]
    elif found := YEAR_LAST.fullmatch(text):
        if order == "y-m-d":
            return None
        day, month, year = (found[1], found[3], found[4]) if order == "d/m/y" else (found[3], found[1], found[4])
    else:
        return None
    number = int(year) if len(year) == 4 else int(year) + (1900 if int(year) >= PIVOT else 2000)
    try:
        return date(number, int(month), int(day))
    except ValueError:
        return None


def _amount(text: str, how: str) -> float | None:
    """The number of an amount: `€ 1,234.50`, `12 %`, `-$3`; its unit is not converted. None for what is none."""
    found = AMOUNT[how].fullmatch(text)
    if found and (found["whole"] or found["part"]):
        digits = re.sub(r"\D", "", found["whole"] or "0")
        number = float(f"{digits}.{found['part'] or 0}")
        return -number if found["sign"] in ("-", "\u2212") else number
    return float(text) if PLAIN.fullmatch(text) else None
