"""Ways to read a column's cells before they are counted: dates, amounts, spellings, first characters.

A reading is stated in the schema. It reads every cell by itself, whatever else the column holds, so replacing one
person's rows changes what is read in those rows only. What it cannot read stays as it was written, and is then missing
or refused like any other cell.
"""

import math
import re
from datetime import date

from .cell_text import MISSING_TEXTS, Number, canonical

AS_WRITTEN, ANY_CASE = "", "any case"
POINT, COMMA = "amount, decimal point", "amount, decimal comma"
PARTS, ORDERS = ("year", "month", "weekday", "hour"), ("y-m-d", "d/m/y", "m/d/y")
DATES = tuple(f"{part} of {order}" for part in PARTS for order in ORDERS)
PREFIX = {"first character": 1} | {f"first {k} characters": k for k in range(2, 7)}
READINGS = (AS_WRITTEN, ANY_CASE, POINT, COMMA, *DATES, *PREFIX)
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
PIVOT = 69  # two-digit years from here on are of the last century, as POSIX has it
YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[ T].*)?", re.ASCII | re.DOTALL)
YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:[ T].*)?", re.ASCII | re.DOTALL)
HOUR = re.compile(r"[^ T]+[ T]+(\d{1,2}):.*?(?:([AP])\.?M\.?)?", re.ASCII | re.DOTALL | re.IGNORECASE)
SPACES = r"[\s\u00a0\u202f]*+"  # all of them at once: else a text of spaces takes time in their fourth power
SIGNS = SPACES + r"(?:[$€£¥₹%‰]|(?:USD|EUR|GBP|CHF|JPY|SEK|NOK|DKK|kr)\b\.?)?" + SPACES
BODY = r"(?P<sign>[-+\u2212]?){}(?P<whole>[1-9]\d{{0,2}}(?:(?:{}|[ \u00a0\u202f'])\d{{3}})+|\d+)?(?:{}(?P<part>\d+))?{}"
AMOUNT = {
    POINT: re.compile(SIGNS + BODY.format(SIGNS, ",", r"\.", SIGNS), re.ASCII),
    COMMA: re.compile(SIGNS + BODY.format(SIGNS, r"\.", ",", SIGNS), re.ASCII),
}


def number_of(text: str, how: str = AS_WRITTEN) -> float:
    """The finite number in a cell's text, read as `how` (of READINGS); NaN where it has none.

    Without a reading a number has a decimal point, and no other sign between its digits.
    """
    if how and type(text) is not Number:
        if how in AMOUNT:
            if match := AMOUNT[how].fullmatch(text):
                return _amount(match)
        elif day := read_date(text, how.partition(" of ")[2]):
            return {"year": day.year, "month": day.month, "hour": _hour(text)}.get(how.partition(" of ")[0], math.nan)
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) and text.isascii() and "_" not in text else math.nan


def category_of(text: str, how: str = AS_WRITTEN) -> str:
    """The category in a cell's text, read as `how`."""
    if how == ANY_CASE:
        return canonical(folded(canonical(text)))  # a space that only looks like one may stand before a midnight
    if how.startswith("weekday") and (day := read_date(text, how.partition(" of ")[2])):
        return WEEKDAYS[day.weekday()]
    if how in PREFIX and text not in MISSING_TEXTS:
        return canonical(canonical(text)[: PREFIX[how]].strip())
    return canonical(text)


def of_categories(how: str) -> bool:
    """Whether a reading makes categories, not numbers."""
    return how == ANY_CASE or how in PREFIX or how.startswith("weekday")


def folded(text: str) -> str:
    """The text without its letters' case and without spaces in and around it."""
    return " ".join(text.split()).casefold()


def read_date(text: str, order: str) -> date | None:
    """The day at the start of a text: year first where it has four digits, else in this order; None if invalid."""
    if match := YEAR_FIRST.fullmatch(text):
        year, month, day = match.group(1, 3, 4)
    elif match := YEAR_LAST.fullmatch(text):
        if order == "y-m-d":
            return None
        day, month, year = match.group(1, 3, 4) if order == "d/m/y" else match.group(3, 1, 4)
    else:
        return None
    full_year = int(year) if len(year) == 4 else int(year) + (1900 if int(year) >= PIVOT else 2000)
    try:
        return date(full_year, int(month), int(day))
    except ValueError:
        return None


def _hour(text: str) -> float:
    """The hour of a text that begins with a day, 0 to 23; NaN where it says no time."""
    if not (match := HOUR.fullmatch(text)):
        return math.nan
    hour = int(match[1])
    if match[2]:
        hour = hour % 12 + 12 * (match[2] in "Pp")
    return hour if hour < 24 else math.nan


def _amount(found: re.Match) -> float:
    """The number of an amount: `€ 1,234.50`, `12 %`, `-$3`; its unit is not converted.

    NaN for a sign alone, and for a number that is too large.
    """
    number = float(f"{re.sub(r'[^0-9]', '', found['whole'] or '0')}.{found['part'] or 0}")
    if not (found["whole"] or found["part"]) or number == math.inf:
        return math.nan
    return -number if found["sign"] in ("-", "\u2212") else number
