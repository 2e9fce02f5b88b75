"""Days in texts: digits in three orders, eight digits in a row, and months by their names.

What a text says depends on it and on public things alone: the order of day and month, and the first
of the hundred years that a year of two digits can mean. A schema states that one by a column's
`first_year`; without it a column of years takes the hundred years around the middle of its range.
"""

import re
from datetime import date

from .plain_letters import with_ascii_digits, without_accents

YEAR_FIRST_ORDER = "y-m-d"
DATE_ORDERS = (YEAR_FIRST_ORDER, "d/m/y", "m/d/y")
# two-digit years mean 1969 to 2068 where nothing is said of a column's range, as POSIX has it
DEFAULT_FIRST_YEAR = 1969
YEARS_OF_TWO_DIGITS = 100
YEAR_FIRST_PATTERN = re.compile(
    r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[ T].*)?", re.ASCII | re.DOTALL
)
YEAR_LAST_PATTERN = re.compile(
    r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:[ T].*)?", re.ASCII | re.DOTALL
)
EIGHT_DIGITS_PATTERN = re.compile(r"([12]\d{3})(\d{2})(\d{2})(?:[ T].*)?", re.ASCII | re.DOTALL)
MONTH_WORD = r"([^\W\d_]{3,12})\.?"
BETWEEN = r"[-/., ]{1,2}(?:de )?"
DAY_NUMBER = r"([0-9]{1,2})(?:st|nd|rd|th|er|º|°)?\.?"
NAMED_DAY_PATTERN = re.compile(
    rf"{DAY_NUMBER}{BETWEEN}{MONTH_WORD}{BETWEEN}([0-9]{{4}}|[0-9]{{2}})(?:[ T,].*)?",
    re.DOTALL | re.IGNORECASE,
)
NAMED_MONTH_PATTERN = re.compile(
    rf"{MONTH_WORD}{BETWEEN}{DAY_NUMBER}{BETWEEN}([0-9]{{4}}|[0-9]{{2}})(?:[ T,].*)?",
    re.DOTALL | re.IGNORECASE,
)
NAMED_YEAR_PATTERN = re.compile(
    rf"([0-9]{{4}}){BETWEEN}{MONTH_WORD}{BETWEEN}{DAY_NUMBER}(?:[ T,].*)?",
    re.DOTALL | re.IGNORECASE,
)
MONTH_WORDS = (
    "jan january januar januari januari janner janv janvier ene enero gen gennaio janeiro stycznia "
    "янв января",
    "feb february februar februari fev fevr fevrier febrero febbraio fevereiro lutego фев февраля",
    "mar mrz march marz maerz mars marts marzo marco mrt maart marca мар марта",
    "apr april avr avril abr abril aprile kwietnia апр апреля",
    "may mai maj mei mayo mag maggio maio maja мая май",
    "jun june juni juin junio giu giugno junho czerwca июн июня",
    "jul july juli juil juillet julio lug luglio julho lipca июл июля",
    "aug august aout ago agosto augustus augusti sierpnia авг августа",
    "sep sept september septembre septiembre set settembre setembro wrzesnia сен сент сентября",
    "oct october okt oktober octobre octubre ott ottobre out outubro pazdziernika окт октября",
    "nov november novembre noviembre novembro listopada ноя ноября",
    "dec december dez dezember decembre dic diciembre dicembre dezembro des desember grudnia дек "
    "декабря",
)


MONTH_BY_WORD = {
    without_accents(word): month
    for month, words in enumerate(MONTH_WORDS, start=1)
    for word in words.split()
}


def parse_date(text: str, order: str, first_year: int = DEFAULT_FIRST_YEAR) -> date | None:
    """Return the day at the start of a text, or None if it is invalid.

    The year is first if it has four digits, else the parts are in this order. Where the month is a
    name every order reads the same, but a year of two digits is none in the order y-m-d. Eight
    digits in a row are a day in that order alone.

    Args:
        text: what a cell says, without spaces around it.
        order: one of DATE_ORDERS.
        first_year: the first of the hundred years that two digits can mean.

    """
    text = with_ascii_digits(text)
    parts = _digit_parts(text, order) or _named_parts(text)
    if parts is None:
        return None
    year, month, day = parts
    if len(year) != 4 and order == YEAR_FIRST_ORDER:
        return None
    full_year = int(year)
    if len(year) != 4:
        full_year = first_year + (full_year - first_year) % YEARS_OF_TWO_DIGITS
    try:
        return date(full_year, int(month), int(day))
    except ValueError:
        return None


def has_two_digit_year(text: str) -> bool:
    """Return whether the day in a text has a year of two digits."""
    text = with_ascii_digits(text)
    parts = _digit_parts(text, "d/m/y") or _named_parts(text)
    return parts is not None and len(parts[0]) == 2


def _digit_parts(text: str, order: str) -> tuple[str, str, str] | None:
    """Return year, month and day of a text in which all of them are digits; else None."""
    match = YEAR_FIRST_PATTERN.fullmatch(text)
    if match:
        return match[1], match[3], match[4]
    match = EIGHT_DIGITS_PATTERN.fullmatch(text)
    if match and order == YEAR_FIRST_ORDER:
        return match[1], match[2], match[3]
    match = YEAR_LAST_PATTERN.fullmatch(text)
    if match and order == "d/m/y":
        return match[4], match[3], match[1]
    if match and order == "m/d/y":
        return match[4], match[1], match[3]
    return None


def _named_parts(text: str) -> tuple[str, str, str] | None:
    """Return year, month and day of a text in which the month is a name; else None."""
    match = NAMED_DAY_PATTERN.fullmatch(text)
    if match:
        day, word, year = match.groups()
    elif match := NAMED_MONTH_PATTERN.fullmatch(text):
        word, day, year = match.groups()
    elif match := NAMED_YEAR_PATTERN.fullmatch(text):
        year, word, day = match.groups()
    else:
        return None
    month = MONTH_BY_WORD.get(without_accents(word))
    return None if month is None else (year, str(month), day)
