"""Ways to read a column's raw cells before they are counted: dates, amounts, spellings.

A reading is stated in the schema; some take only the first characters. It reads every cell by
itself, whatever else the column holds, so replacing one person's rows changes what is read in those
rows only. What it cannot read stays as it was written, and is then missing or refused like any
other cell.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from datetime import date

from .amount_texts import AMOUNT_WITH_COMMA, AMOUNT_WITH_POINT, parse_amount
from .cell_text import MISSING_TEXTS, NumberText, canonical_text
from .date_texts import DATE_ORDERS, DEFAULT_FIRST_YEAR, parse_date
from .forms.calendar_numbers import SECONDS_PER_DAY, day_number
from .plain_letters import with_ascii_digits

AS_WRITTEN = ""
ANY_CASE = "any case"
AMOUNT_READINGS = (AMOUNT_WITH_POINT, AMOUNT_WITH_COMMA)
DATE = "date"  # the day itself, as its number
DATE_AND_TIME = "date and time"  # as a number of seconds
WHOLE_DATES = (DATE, DATE_AND_TIME)
DATE_PARTS = ("year", "month", "weekday", "hour")
DATE_READINGS = tuple(
    f"{part} of {order}" for part in (*WHOLE_DATES, *DATE_PARTS) for order in DATE_ORDERS
)
PREFIX_LENGTHS = {"first character": 1} | {f"first {k} characters": k for k in range(2, 7)}
READINGS = (
    AS_WRITTEN,
    ANY_CASE,
    *AMOUNT_READINGS,
    *DATE_READINGS,
    *PREFIX_LENGTHS,
)
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOUR_PATTERN = re.compile(
    r"[^ T]+[ T]+(\d{1,2}):.*?(?:([AP])\.?M\.?)?", re.ASCII | re.DOTALL | re.IGNORECASE
)
TIME_PATTERN = re.compile(
    r"[ T,](?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:[.,]\d+)?"
    r"(?:[ \u00a0\u202f]?(?P<half>[AP])\.?M\b\.?)?",
    re.ASCII | re.IGNORECASE,
)


def parse_cell_number(
    text: str, reading: str = AS_WRITTEN, first_year: int = DEFAULT_FIRST_YEAR
) -> float:
    """Return the finite number in a cell's text, read as `reading`; NaN if it has none.

    Without a reading a number has a decimal point, and no other sign between its digits.

    Args:
        text: what the cell says.
        reading: one of READINGS.
        first_year: the first of the hundred years that a year of two digits can mean.

    """
    if reading in AMOUNT_READINGS:
        number = math.nan if type(text) is NumberText else parse_amount(text, reading)
        if not math.isnan(number):
            return number
    elif reading:
        part, _, order = reading.partition(" of ")
        day = parse_date(text, order, first_year)
        if part in WHOLE_DATES:
            return math.nan if day is None else _number_of_whole_date(text, day, part)
        if day:
            parts = {"year": day.year, "month": day.month, "hour": _hour_of_dated_time(text)}
            return parts.get(part, math.nan)
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) and text.isascii() and "_" not in text else math.nan


def category_of_cell(
    text: str, reading: str = AS_WRITTEN, first_year: int = DEFAULT_FIRST_YEAR
) -> str:
    """Return the category in a cell's text, read as `reading`.

    Letters with their accents written in one way or another (NFC, NFD) are the same. `first_year`
    is the first of the hundred years that a year of two digits can mean.
    """
    text = compose_accents(text)
    if reading == ANY_CASE:
        return canonical_text(
            casefold_text(canonical_text(text))
        )  # a space that only looks like one may stand before a midnight
    if reading.startswith("weekday"):
        day = parse_date(text, reading.partition(" of ")[2], first_year)
        if day:
            return WEEKDAYS[day.weekday()]
    if reading in PREFIX_LENGTHS and text not in MISSING_TEXTS:
        return canonical_text(canonical_text(text)[: PREFIX_LENGTHS[reading]].strip())
    return canonical_text(text)


def reads_categories(reading: str) -> bool:
    """Return whether a reading makes categories, not numbers."""
    return reading == ANY_CASE or reading in PREFIX_LENGTHS or reading.startswith("weekday")


def missing_texts_of_reading(reading: str) -> frozenset[str]:
    """Return the texts that mean a missing value if raw cells are read as `reading`."""
    if reading == ANY_CASE:
        return frozenset(map(casefold_text, MISSING_TEXTS))
    return MISSING_TEXTS


def casefold_text(text: str) -> str:
    """Return the text without its letters' case and without spaces in and around it."""
    return compose_accents(" ".join(text.split()).casefold())


def compose_accents(text: str) -> str:
    """Return the text with every letter and its accents as one character (NFC)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def comparable_name(name: str) -> str:
    """Return the form of a column's name in which names are compared: in NFC, trimmed."""
    return compose_accents(name).strip()


def positions_of_name(name: str, names: Sequence[str]) -> list[int]:
    """Return the positions of a name among others; if it is none, of those alike in NFC, trimmed.

    >>> positions_of_name("age ", ["sex", "age"])
    [1]
    """
    positions = [i for i, other in enumerate(names) if other == name]
    if positions:
        return positions
    key = comparable_name(name)
    return [i for i, other in enumerate(names) if comparable_name(other) == key]


def whole_date_of_reading(reading: str) -> str:
    """Return one of WHOLE_DATES for a reading that keeps the whole date; empty for others."""
    part = reading.partition(" of ")[0]
    return part if part in WHOLE_DATES else ""


def numbers_per_day_of_reading(reading: str) -> int:
    """Return how many numbers a day has in a column that is so read: 1, or that of its seconds."""
    return SECONDS_PER_DAY if whole_date_of_reading(reading) == DATE_AND_TIME else 1


def _number_of_whole_date(text: str, day: date, part: str) -> float:
    """Return the number of a day, or of the second that a text says; NaN for no time of a day.

    A text without a time is a day's first second.
    """
    if part == DATE:
        return day_number(day)
    match = TIME_PATTERN.search(with_ascii_digits(text))
    seconds = day_number(day) * SECONDS_PER_DAY
    if not match:
        return seconds
    hour = _hour_of_day(int(match["hour"]), match["half"])
    minute = int(match["minute"])
    second = int(match["second"] or 0)
    is_time = hour < 24 and minute < 60 and second < 60
    return seconds + 3600 * hour + 60 * minute + second if is_time else math.nan


def _hour_of_day(hour: int, half: str | None) -> int:
    """Return the hour, 0 to 23, of an hour of twelve with its half of the day, or of 24 without."""
    if not half:
        return hour
    return hour % 12 + (12 if half in "Pp" else 0)


def _hour_of_dated_time(text: str) -> float:
    """Return the hour, 0 to 23, of a text that begins with a day; NaN if it says no time."""
    match = HOUR_PATTERN.fullmatch(text)
    if not match:
        return math.nan
    hour = _hour_of_day(int(match[1]), match[2])
    return hour if hour < 24 else math.nan
