"""The form in which a column's dates are written, stated by letters: `DD.MM.YYYY`, `Mon D, YYYY`.

YYYY or YY is the year, MM or M the month, DD or D the day, with and without a zero before it. Mon
is Jan, Month is January; MON, mon, MONTH and month write other letters, and `Month[de]` names the
language. hh or h is the hour, with AM or am of twelve, mm the minute, ss the second.
"""

import re
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from functools import cached_property, partial

from ...core.errors import InputError, shorten
from ...core.types import Texts, value_object
from .calendar_numbers import SECONDS_PER_DAY, moment_of_number
from .month_names import LANGUAGES, month_names

FORM_BY_ORDER = {"y-m-d": "YYYY-MM-DD", "d/m/y": "DD/MM/YYYY", "m/d/y": "MM/DD/YYYY"}
TIME_FORM = " hh:mm:ss"
MAX_FORM_CHARS = 60
MONTH_LETTERS = r"(?:MONTH|Month|month|MON|Mon|mon)(?:\[[a-z]{2}\])?"
LETTERS_PATTERN = re.compile(rf"YYYY|YY|{MONTH_LETTERS}|MM|M|DD|D|hh|h|mm|ss|AM|am")
# what may stand between letters: signs, and a few words of dates
LITERAL_PATTERN = re.compile(r"[^\w\[\]]|_|de |T(?=h)|Z\Z")
PART_BY_LETTER = {"Y": "year", "D": "day", "h": "hour", "m": "minute", "s": "second", "A": "half"}
SECONDS_BY_PART = {"second": 1, "minute": 60, "hour": 3600}
FORM_HELP = 'write it with YYYY, MM, DD, such as "DD.MM.YYYY", "Mon D, YYYY" or "M/D/YY hh:mm AM"'


@value_object
class DateForm:
    """A form of dates, as a tuple of letters and of signs between them.

    `seconds_per_number` is 86,400 for a column that counts days, 1 for one that counts seconds.
    """

    parts: Texts
    seconds_per_number: int

    def write(self, number: float) -> str:
        """Return the text of a day's or a time's number."""
        moment = moment_of_number(number * self.seconds_per_number)
        return "".join(writer(moment) for writer in self._writers)

    def bare_number_text(self, text: str) -> str:
        """Return a cell's text as it is read: a date has no unit."""
        return text

    @cached_property
    def step(self) -> Fraction:
        """The distance between two numbers that the form can tell apart."""
        parts = {_part_of_letters(letters) for letters in self.parts}
        seconds = [SECONDS_BY_PART[part] for part in parts if part in SECONDS_BY_PART]
        step = Fraction(min(seconds, default=SECONDS_PER_DAY), self.seconds_per_number)
        return max(step, Fraction(1))

    @cached_property
    def _writers(self) -> list[Callable[[datetime], str]]:
        has_halves = any(letters in ("AM", "am") for letters in self.parts)
        return [_writer_of_letters(letters, has_halves) for letters in self.parts]


def parse_date_form(text: str, seconds_per_number: int) -> DateForm:
    """Return the form that a schema states; InputError for what is none.

    >>> parse_date_form("D. Month[de] YYYY", SECONDS_PER_DAY).write(59)
    '1. März 1970'
    """
    parts = []
    position = 0
    while position < len(text) and len(text) <= MAX_FORM_CHARS:
        match = LETTERS_PATTERN.match(text, position) or LITERAL_PATTERN.match(text, position)
        if not match:
            break
        parts.append(match[0])
        position = match.end()
    if position < len(text):
        raise InputError(f"{shorten(repr(text[position:]))} is no part of a date; {FORM_HELP}")
    counts = Counter(filter(None, map(_part_of_letters, parts)))
    doubled = [part for part, count in counts.items() if count > 1]
    missing = [part for part in ("year", "month", "day") if part not in counts]
    if doubled or missing:
        problem = f"the {doubled[0]} is there twice" if doubled else f"it has no {missing[0]}"
        raise InputError(f"{problem}; {FORM_HELP}")
    for letters in parts:
        language = _language_of_letters(letters)
        if language not in LANGUAGES:
            raise InputError(
                f"{language!r} is none of the languages of months: {', '.join(LANGUAGES)}"
            )
    return DateForm(tuple(parts), seconds_per_number)


def default_date_form(order: str, seconds_per_number: int) -> DateForm:
    """Return the form of dates where a schema states none: digits in the order they are read in."""
    time_form = TIME_FORM if seconds_per_number == 1 else ""
    return parse_date_form(FORM_BY_ORDER[order] + time_form, seconds_per_number)


def _part_of_letters(letters: str) -> str:
    """Return the part of a date that letters of a form stand for; empty for signs."""
    if re.fullmatch(MONTH_LETTERS, letters) or letters in ("MM", "M"):
        return "month"
    if not LETTERS_PATTERN.fullmatch(letters):
        return ""
    return PART_BY_LETTER["A" if letters == "am" else letters[0]]


def _language_of_letters(letters: str) -> str:
    return letters[letters.index("[") + 1 : -1] if "[" in letters else LANGUAGES[0]


def _writer_of_letters(letters: str, has_halves: bool) -> Callable[[datetime], str]:
    """Return the function that writes one part of a date.

    It can be sent to a worker process, as a form is that keeps it.
    """
    if re.fullmatch(MONTH_LETTERS, letters):
        return partial(_write_month_name, _month_names_of_letters(letters))
    if letters in ("AM", "am"):
        return partial(_write_half, ("AM", "PM") if letters == "AM" else ("am", "pm"))
    part = _part_of_letters(letters)
    if not part:
        return partial(_write_sign, letters)
    if part == "year":
        return partial(_write_year, len(letters))
    if part == "hour" and has_halves:
        return partial(_write_hour_of_half, len(letters))
    return partial(_write_number, part, len(letters))


def _write_month_name(names: list[str], moment: datetime) -> str:
    return names[moment.month - 1]


def _write_half(halves: tuple[str, str], moment: datetime) -> str:
    return halves[moment.hour // 12]


def _write_sign(sign: str, _: datetime) -> str:
    return sign


def _write_year(digits: int, moment: datetime) -> str:
    return f"{moment.year:04d}"[-digits:]


def _write_hour_of_half(digits: int, moment: datetime) -> str:
    return str((moment.hour + 11) % 12 + 1).zfill(digits)


def _write_number(part: str, digits: int, moment: datetime) -> str:
    return str(getattr(moment, part)).zfill(digits)


def _month_names_of_letters(letters: str) -> list[str]:
    """Return the names of months as letters such as `MON` and `Month[de]` write them."""
    word = letters.partition("[")[0]
    names = month_names(_language_of_letters(letters), short=len(word) == len("Mon"))
    if word.isupper():
        return [name.upper() for name in names]
    if word.islower():
        return [name.lower() for name in names]
    return [name[0].upper() + name[1:] for name in names]
