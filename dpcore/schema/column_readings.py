"""Ways to read a column's raw cells before they are counted: dates, amounts, spellings.

A reading is stated in the schema; some take only the first characters. It reads every cell by
itself, whatever else the column holds, so replacing one person's rows changes what is read in those
rows only. What it cannot read stays as it was written, and is then missing or refused like any
other cell.
"""

import math
import re
from datetime import date

from .cell_text import MISSING_TEXTS, NumberText, canonical_text

AS_WRITTEN = ""
ANY_CASE = "any case"
AMOUNT_WITH_POINT = "amount, decimal point"
AMOUNT_WITH_COMMA = "amount, decimal comma"
DATE_PARTS = ("year", "month", "weekday", "hour")
DATE_ORDERS = ("y-m-d", "d/m/y", "m/d/y")
DATE_READINGS = tuple(f"{part} of {order}" for part in DATE_PARTS for order in DATE_ORDERS)
PREFIX_LENGTHS = {"first character": 1} | {f"first {k} characters": k for k in range(2, 7)}
READINGS = (
    AS_WRITTEN,
    ANY_CASE,
    AMOUNT_WITH_POINT,
    AMOUNT_WITH_COMMA,
    *DATE_READINGS,
    *PREFIX_LENGTHS,
)
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
CENTURY_PIVOT_YEAR = 69  # two-digit years from here on are of the last century, as POSIX has it
YEAR_FIRST_PATTERN = re.compile(
    r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[ T].*)?", re.ASCII | re.DOTALL
)
YEAR_LAST_PATTERN = re.compile(
    r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:[ T].*)?", re.ASCII | re.DOTALL
)
HOUR_PATTERN = re.compile(
    r"[^ T]+[ T]+(\d{1,2}):.*?(?:([AP])\.?M\.?)?", re.ASCII | re.DOTALL | re.IGNORECASE
)
# all of them at once: else a text of spaces takes time in their fourth power
SPACES_PATTERN = r"[\s\u00a0\u202f]*+"
CURRENCY_SIGN_PATTERN = (
    SPACES_PATTERN + r"(?:[$€£¥₹%‰]|(?:USD|EUR|GBP|CHF|JPY|SEK|NOK|DKK|kr)\b\.?)?" + SPACES_PATTERN
)
AMOUNT_PATTERN_TEMPLATE = (
    r"(?P<sign>[-+\u2212]?){}(?P<whole>[1-9]\d{{0,2}}(?:(?:{}|[ "
    r"\u00a0\u202f'])\d{{3}})+|\d+)?(?:{}(?P<part>\d+))?{}"
)
AMOUNT_PATTERNS = {
    AMOUNT_WITH_POINT: re.compile(
        CURRENCY_SIGN_PATTERN
        + AMOUNT_PATTERN_TEMPLATE.format(CURRENCY_SIGN_PATTERN, ",", r"\.", CURRENCY_SIGN_PATTERN),
        re.ASCII,
    ),
    AMOUNT_WITH_COMMA: re.compile(
        CURRENCY_SIGN_PATTERN
        + AMOUNT_PATTERN_TEMPLATE.format(CURRENCY_SIGN_PATTERN, r"\.", ",", CURRENCY_SIGN_PATTERN),
        re.ASCII,
    ),
}


def parse_cell_number(text: str, reading: str = AS_WRITTEN) -> float:
    """Return the finite number in a cell's text, read as `reading`; NaN if it has none.

    `reading` is one of READINGS. Without a reading a number has a decimal point, and no other sign
    between its digits.
    """
    if reading and type(text) is not NumberText:
        if reading in AMOUNT_PATTERNS:
            match = AMOUNT_PATTERNS[reading].fullmatch(text)
            if match:
                return _parse_amount(match)
        elif day := parse_date(text, reading.partition(" of ")[2]):
            return {"year": day.year, "month": day.month, "hour": _hour_of_dated_time(text)}.get(
                reading.partition(" of ")[0], math.nan
            )
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) and text.isascii() and "_" not in text else math.nan


def category_of_cell(text: str, reading: str = AS_WRITTEN) -> str:
    """Return the category in a cell's text, read as `reading`."""
    if reading == ANY_CASE:
        return canonical_text(
            casefold_text(canonical_text(text))
        )  # a space that only looks like one may stand before a midnight
    if reading.startswith("weekday"):
        day = parse_date(text, reading.partition(" of ")[2])
        if day:
            return WEEKDAYS[day.weekday()]
    if reading in PREFIX_LENGTHS and text not in MISSING_TEXTS:
        return canonical_text(canonical_text(text)[: PREFIX_LENGTHS[reading]].strip())
    return canonical_text(text)


def reads_categories(reading: str) -> bool:
    """Return whether a reading makes categories, not numbers."""
    return reading == ANY_CASE or reading in PREFIX_LENGTHS or reading.startswith("weekday")


def casefold_text(text: str) -> str:
    """Return the text without its letters' case and without spaces in and around it."""
    return " ".join(text.split()).casefold()


def parse_date(text: str, order: str) -> date | None:
    """Return the day at the start of a text, or None if it is invalid.

    The year is first if it has four digits, else the parts are in this order.
    """
    match = YEAR_FIRST_PATTERN.fullmatch(text)
    if match:
        year, month, day = match.group(1, 3, 4)
    elif match := YEAR_LAST_PATTERN.fullmatch(text):
        if order == "y-m-d":
            return None
        day, month, year = match.group(1, 3, 4) if order == "d/m/y" else match.group(3, 1, 4)
    else:
        return None
    full_year = int(year)
    if len(year) != 4:
        full_year += 1900 if full_year >= CENTURY_PIVOT_YEAR else 2000
    try:
        return date(full_year, int(month), int(day))
    except ValueError:
        return None


def _hour_of_dated_time(text: str) -> float:
    """Return the hour, 0 to 23, of a text that begins with a day; NaN if it says no time."""
    match = HOUR_PATTERN.fullmatch(text)
    if not match:
        return math.nan
    hour = int(match[1])
    if match[2]:
        is_afternoon = match[2] in "Pp"
        hour = hour % 12 + (12 if is_afternoon else 0)
    return hour if hour < 24 else math.nan


def _parse_amount(match: re.Match) -> float:
    """Return the number of an amount such as `€ 1,234.50`, `12 %` or `-$3`.

    Its unit is not converted. NaN for a sign alone, and for a number that is too large.
    """
    number = float(f"{re.sub(r'[^0-9]', '', match['whole'] or '0')}.{match['part'] or 0}")
    if not (match["whole"] or match["part"]) or number == math.inf:
        return math.nan
    return -number if match["sign"] in ("-", "\u2212") else number
