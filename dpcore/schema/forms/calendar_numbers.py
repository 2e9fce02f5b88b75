"""Days and times as numbers: days, or seconds, since 1 January 1970; and natural bins of them.

A schema says days as `2020-12-31` and times as `2020-12-31T18:30`, whatever a file writes. A column
of days counts days, one of times seconds, of no time zone.
"""

import re
from datetime import date, datetime, timedelta

import numpy as np

from ...core.types import Array, Texts

EPOCH = datetime(1970, 1, 1)
EPOCH_ORDINAL = EPOCH.toordinal()
FIRST_DAY = date.min.toordinal() - EPOCH_ORDINAL
LAST_DAY = date.max.toordinal() - EPOCH_ORDINAL
SECONDS_PER_DAY = 86_400
FIRST_MONDAY = 4  # 5 January 1970
ISO_PATTERN = re.compile(
    r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}))?)?)?)?", re.ASCII
)
# the bins that a schema may name, each with its number of months; weeks and days have none
MONTHS_BY_UNIT = {"years": 12, "quarters": 3, "months": 1}
CALENDAR_UNITS = (*MONTHS_BY_UNIT, "weeks", "days")
# the steps at which a person would put an edge, the roundest first: months, days, seconds
MONTH_STEPS = (1200, 600, 240, 120, 60, 24, 12, 6, 3, 1)
DAY_STEPS = (7, 1)
SECOND_STEPS = (43_200, 21_600, 10_800, 3_600, 1_800, 600, 300, 60)


def day_number(day: date) -> int:
    """Return the number of days since 1 January 1970.

    >>> day_number(date(1970, 2, 1))
    31
    """
    return day.toordinal() - EPOCH_ORDINAL


def date_of_number(number: float) -> date:
    """Return the day with this number; the first or the last one that there is beyond them."""
    clipped = int(np.clip(np.floor(number), FIRST_DAY, LAST_DAY))
    return date.fromordinal(clipped + EPOCH_ORDINAL)


def moment_of_number(number: float) -> datetime:
    """Return the time that many seconds after 1970 began."""
    day = date_of_number(number // SECONDS_PER_DAY)
    seconds = int(number % SECONDS_PER_DAY)
    return datetime(day.year, day.month, day.day) + timedelta(seconds=seconds)


def day_text(number: float) -> str:
    """Return a day's number as a schema says it: `2020-12-31`."""
    return date_of_number(number).isoformat()


def moment_text(number: float) -> str:
    """Return a time's number as a schema says it: `2020-12-31T18:30`, or a day for its midnight."""
    moment = moment_of_number(number)
    if number % SECONDS_PER_DAY == 0:
        return moment.date().isoformat()
    return moment.isoformat(timespec="seconds" if moment.second else "minutes")


def parse_period(text: str) -> tuple[int, int] | None:
    """Return the first second of a year, month, day or minute, and the one after its last.

    None for a text that says none of them.

    >>> first, after_last = parse_period("2020-02")
    >>> (after_last - first) // SECONDS_PER_DAY
    29
    """
    match = ISO_PATTERN.fullmatch(text)
    if not match:
        return None
    year, month, day, hour, minute, second = (
        int(part) if part else None for part in match.groups()
    )
    try:
        start = datetime(year or 0, month or 1, day or 1, hour or 0, minute or 0, second or 0)
    except ValueError:
        return None
    first = round((start - EPOCH).total_seconds())
    if month is None:
        length = _days_of_months(start, 12) * SECONDS_PER_DAY
    elif day is None:
        length = _days_of_months(start, 1) * SECONDS_PER_DAY
    elif hour is None:
        length = SECONDS_PER_DAY
    else:
        length = 60 if second is None else 1
    return first, first + length


def _days_of_months(start: datetime, months: int) -> int:
    """Return the number of days of some months from a first one on."""
    first_month = np.datetime64(start, "M")
    days = np.array([first_month, first_month + months]).astype("datetime64[D]")
    return int(np.diff(days)[0].astype(int))


def period_labels(first: Array, after_last: Array) -> Texts:
    """Return a text for each span of days: years, months or days, as all of them allow.

    Args:
        first: the first day (n,) of each span.
        after_last: the day (n,) after its last one.

    """
    days = [*map(date_of_number, np.append(first, after_last).tolist())]
    length = len("2020-12-31")
    if all(day.day == 1 for day in days):
        are_years = all(day.month == 1 for day in days)
        length = len("2020") if are_years else len("2020-12")
    labels = []
    for first_day, next_day in zip(first.tolist(), after_last.tolist(), strict=True):
        start = day_text(first_day)[:length]
        end = day_text(next_day - 1)[:length]
        labels.append(start if start == end else f"{start}–{end}")
    return tuple(labels)


def calendar_edges(unit: str, low: float, high: float, per_day: int) -> list[float]:
    """Return low and high with the first days of all years, months … between them.

    Args:
        unit: one of CALENDAR_UNITS.
        low: the first number.
        high: the last one.
        per_day: how many numbers a day has: 1, or SECONDS_PER_DAY.

    """
    if unit in MONTHS_BY_UNIT:
        starts = _month_starts(MONTHS_BY_UNIT[unit], low, high, per_day)
    else:
        starts = _multiples(7 if unit == "weeks" else 1, low, high, per_day)
    return [low, *(start for start in starts if low < start < high), high]


def rounder_starts(low: float, high: float, per_day: int) -> list[list[float]]:
    """Return the numbers in (low, high] where a calendar step begins, a list for each step.

    The widest steps come first: centuries … years, half years, quarters, months, weeks, days, and
    of seconds hours and minutes.
    """
    lists = [_month_starts(months, low, high, per_day) for months in MONTH_STEPS]
    lists += [_multiples(days, low, high, per_day) for days in DAY_STEPS]
    if per_day == SECONDS_PER_DAY:
        lists += [_step_multiples(seconds, 0, low, high) for seconds in SECOND_STEPS]
    return lists


def roundest_start(low: float, high: float, per_day: int) -> float:
    """Return the number in (low, high] where the widest calendar step begins.

    Of several it is the one nearest to the middle; `high` if there is none.

    >>> day_text(roundest_start(day_number(date(2019, 11, 3)), day_number(date(2020, 4, 9)), 1))
    '2020-01-01'
    """
    middle = (low + high) / 2
    for starts in rounder_starts(low, high, per_day):
        if starts:
            return min(starts, key=lambda start: abs(start - middle))
    return high


def _month_starts(months: int, low: float, high: float, per_day: int) -> list[float]:
    """Return the first days in (low, high] of every so many months, counted from year 0."""
    ends = np.array(
        [date_of_number(low // per_day), date_of_number(high // per_day)], "datetime64[M]"
    )
    first, last = ends.astype(int) + 1970 * 12
    numbers = np.arange(first - first % months, last + 1, months) - 1970 * 12
    starts = numbers.astype("datetime64[M]").astype("datetime64[D]").astype(int) * per_day
    return [float(start) for start in starts if low < start <= high]


def _multiples(days: int, low: float, high: float, per_day: int) -> list[float]:
    """Return the starts in (low, high] of every so many days; those of weeks are Mondays."""
    offset = FIRST_MONDAY if days == 7 else 0
    return _step_multiples(days * per_day, offset * per_day, low, high)


def _step_multiples(step: int, offset: int, low: float, high: float) -> list[float]:
    first = (int(np.floor(low)) - offset) // step + 1
    last = (int(np.floor(high)) - offset) // step
    return [float(offset + step * i) for i in range(first, last + 1)]
