"""Days and times as numbers: days, or seconds, since 1 January 1970; and natural bins of them.

A schema says days as `2020-12-31` and times as `2020-12-31T18:30`, whatever a file writes. A column
of days counts days, one of times seconds, of no time zone.
"""

import math
import re
from datetime import date, datetime, timedelta

import numpy as np

from ...core.types import Array, Texts, value_object

EPOCH = datetime(1970, 1, 1)
EPOCH_ORDINAL = EPOCH.toordinal()
FIRST_DAY = date.min.toordinal() - EPOCH_ORDINAL
LAST_DAY = date.max.toordinal() - EPOCH_ORDINAL
SECONDS_PER_DAY = 86_400
MAX_SNAP = 0.2  # of a bin, by which an edge that noise made may move to a rounder one
FIRST_MONDAY = 4  # 5 January 1970
ISO_PATTERN = re.compile(
    r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}))?)?)?)?", re.ASCII
)
MONTH = "month"
DAY = "day"
SECOND = "second"


@value_object
class CalendarStep:
    """A distance between edges that a person would write: so many months, days or seconds."""

    unit: str
    count: int

    def max_length(self, per_day: int) -> int:
        """Return how many numbers it spans at most, where a day has `per_day` of them."""
        days_by_unit = {MONTH: 31.0, DAY: 1.0, SECOND: 1 / SECONDS_PER_DAY}
        return round(self.count * days_by_unit[self.unit] * per_day)

    def starts(self, low: float, high: float, per_day: int) -> list[float]:
        """Return the numbers in (low, high] with which a step begins."""
        if self.unit == MONTH:
            return _month_starts(self.count, low, high, per_day)
        length = self.max_length(per_day)
        offset = FIRST_MONDAY * per_day if self == WEEK else 0
        first = (math.floor(low) - offset) // length + 1
        last = (math.floor(high) - offset) // length
        return [float(offset + length * i) for i in range(first, last + 1)]


WEEK = CalendarStep(DAY, 7)
# the bins that a schema may name
STEP_BY_WORD = {
    "years": CalendarStep(MONTH, 12),
    "quarters": CalendarStep(MONTH, 3),
    "months": CalendarStep(MONTH, 1),
    "weeks": WEEK,
    "days": CalendarStep(DAY, 1),
}
# the steps at which a person would put an edge, the widest first
DAY_STEPS = (
    *(CalendarStep(MONTH, count) for count in (1200, 600, 240, 120, 60, 24, 12, 6, 3, 1)),
    WEEK,
    CalendarStep(DAY, 1),
)
TIME_STEPS = tuple(
    CalendarStep(SECOND, count) for count in (43_200, 21_600, 10_800, 3_600, 1_800, 600, 300, 60)
)


def calendar_steps(per_day: int) -> tuple[CalendarStep, ...]:
    """Return the steps of a column whose days have so many numbers, the widest first."""
    return DAY_STEPS if per_day == 1 else DAY_STEPS + TIME_STEPS


def day_number(day: date) -> int:
    """Return the number of days since 1 January 1970.

    >>> day_number(date(1970, 2, 1))
    31
    """
    return day.toordinal() - EPOCH_ORDINAL


def date_of_number(number: float) -> date:
    """Return the day with this number; the first or the last one that there is beyond them."""
    clipped = min(max(math.floor(number), FIRST_DAY), LAST_DAY)
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


def calendar_edges(step: CalendarStep, low: float, high: float, per_day: int) -> list[float]:
    """Return low and high with the starts of all steps between them.

    Of days the last one is included: where a step starts with it, it is a bin of its own.
    """
    starts = step.starts(low, high, per_day)
    if starts and starts[-1] == high:
        return [low, *starts, high + 0.5] if per_day == 1 else [low, *starts]
    return [low, *starts, high]


def roundest_start(low: float, high: float, per_day: int) -> float:
    """Return the number in (low, high] where the widest calendar step begins.

    Of several it is the one nearest to the middle; `high` if there is none.

    >>> day_text(roundest_start(day_number(date(2019, 11, 3)), day_number(date(2020, 4, 9)), 1))
    '2020-01-01'
    """
    middle = (low + high) / 2
    for step in calendar_steps(per_day):
        starts = step.starts(low, high, per_day)
        if starts:
            return min(starts, key=lambda start: abs(start - middle))
    return high


def snap_edges(edges: list[float], per_day: int) -> list[float]:
    """Return rising edges of days or times near these, where wide calendar steps begin.

    They move by a fifth of a bin at most, the first and the last one only outwards. The last of
    days is a last day, which stays with a bin of one day.
    """
    gaps = np.diff(edges)
    snapped = [roundest_start(edges[0] - MAX_SNAP * gaps[0], edges[0], per_day)]
    for edge, gap, next_gap in zip(edges[1:-1], gaps[:-1], gaps[1:], strict=True):
        is_near_last_day = next_gap < 1
        start = roundest_start(edge - MAX_SNAP * gap, edge + MAX_SNAP * next_gap, per_day)
        snapped.append(edge if is_near_last_day else start)
    last = edges[-1]
    slack = MAX_SNAP * gaps[-1]
    if gaps[-1] < 1:
        return [*snapped, last]
    if per_day == 1:
        return [*snapped, roundest_start(last, last + 1 + slack, per_day) - 1]
    return [*snapped, roundest_start(last - 1, last + slack, per_day)]


def _month_starts(months: int, low: float, high: float, per_day: int) -> list[float]:
    """Return the first days in (low, high] of every so many months, counted from year 0."""
    days = [date_of_number(low // per_day), date_of_number(high // per_day)]
    first, last = np.array(days, "datetime64[M]").astype(int) + 1970 * 12
    numbers = np.arange(first - first % months, last + 1, months) - 1970 * 12
    starts = numbers.astype("datetime64[M]").astype("datetime64[D]").astype(int) * per_day
    return [float(start) for start in starts if low < start <= high]
