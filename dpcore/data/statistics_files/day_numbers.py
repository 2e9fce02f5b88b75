"""Days and times that SPSS, Stata and SAS store as numbers, by the format of their column."""

import re

import numpy as np

from ...core.types import Array, value_object
from ...schema.forms.calendar_numbers import FIRST_DAY, LAST_DAY, SECONDS_PER_DAY

# days from the first day of each program's calendar to 1 January 1970
SPSS_EPOCH_DAYS = 141_428  # from 14 October 1582
SAS_EPOCH_DAYS = 3_653  # from 1 January 1960, as Stata's
EPOCH_YEAR = 1960
MILLISECONDS_PER_SECOND = 1000
MONTHS_PER_YEAR = 12
DAY = "day"
MOMENT = "moment"
TIME = "time"
FORMAT_NAME_PATTERN = re.compile(r"[A-Z]+(?:8601[A-Z]+)?")
STATA_FORMAT_PATTERN = re.compile(r"%-?(?:t([dcCwmqhy])|(d))(.*)", re.DOTALL)
STATA_TIME_DISPLAY = re.compile(r"hh|mm|ss|am|pm|[:._ ]", re.IGNORECASE)
SPSS_KIND_BY_FORMAT = {
    **dict.fromkeys(("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "QYR", "MOYR", "WKYR"), DAY),
    **dict.fromkeys(("DATETIME", "YMDHMS"), MOMENT),
    **dict.fromkeys(("TIME", "DTIME", "MTIME"), TIME),
}
SAS_DATE_SIGNS = "BCDNPS"  # blank, colon, dash, none, period, slash between the parts of a date
SAS_KIND_BY_FORMAT = {
    **dict.fromkeys(("DATE", "DDMMYY", "MMDDYY", "YYMMDD", "WEEKDATE", "WEEKDATX"), DAY),
    **dict.fromkeys(("WORDDATE", "WORDDATX", "JULIAN", "MONYY", "MMYY", "YYMM", "YYMON"), DAY),
    **dict.fromkeys(("YYQ", "NLDATE", "EURDFDD", "E8601DA", "B8601DA", "IS8601DA"), DAY),
    **dict.fromkeys((f"DDMMYY{sign}" for sign in SAS_DATE_SIGNS), DAY),
    **dict.fromkeys((f"MMDDYY{sign}" for sign in SAS_DATE_SIGNS), DAY),
    **dict.fromkeys((f"YYMMDD{sign}" for sign in SAS_DATE_SIGNS), DAY),
    **dict.fromkeys(("DATETIME", "DATEAMPM", "MDYAMPM", "E8601DT", "B8601DT", "IS8601DT"), MOMENT),
    **dict.fromkeys(("DTDATE", "B8601DN", "E8601DN"), MOMENT),
    **dict.fromkeys(("TIME", "HHMM", "TOD", "TIMEAMPM", "E8601TM", "B8601TM", "IS8601TM"), TIME),
}
STATA_MONTHS_PER_UNIT = {"m": 1, "q": 3, "h": 6}
STATA_WEEKS_PER_YEAR = 52


@value_object
class DayFormat:
    """How a column's numbers are days: those of a program, and their kind or unit.

    `unit` is one of DAY, MOMENT and TIME, or a letter of Stata's.
    """

    program: str
    unit: str

    def texts(self, numbers: Array) -> Array:
        """Return the text of each number (n,): a day, a day with its time, or a time of day.

        None for NaN, and for what lies beyond the years 1 to 9999.
        """
        seconds = self._seconds(numbers)
        texts = np.empty(len(numbers), dtype=object)
        low = FIRST_DAY * SECONDS_PER_DAY
        high = (LAST_DAY + 1) * SECONDS_PER_DAY
        with np.errstate(invalid="ignore"):
            is_inside = (seconds >= low) & (seconds < high)
        moments = np.floor(seconds[is_inside]).astype(np.int64).astype("datetime64[s]")
        if self.unit == TIME:
            texts[is_inside] = [text[11:] for text in np.datetime_as_string(moments)]
        elif self.unit == MOMENT:
            texts[is_inside] = [t.replace("T", " ") for t in np.datetime_as_string(moments)]
        else:
            texts[is_inside] = list(np.datetime_as_string(moments.astype("datetime64[D]")))
        return texts

    def _seconds(self, numbers: Array) -> Array:
        """Return the seconds since 1970 that numbers (n,) mean; of times, those since midnight."""
        if self.unit == TIME:
            return numbers / self._units_per_second
        if self.program == "SPSS":
            return numbers - SPSS_EPOCH_DAYS * SECONDS_PER_DAY
        if self.unit == MOMENT:
            return numbers / self._units_per_second - SAS_EPOCH_DAYS * SECONDS_PER_DAY
        if self.unit == DAY:
            return (np.floor(numbers) - SAS_EPOCH_DAYS) * SECONDS_PER_DAY
        return _days_of_stata_periods(numbers, self.unit) * SECONDS_PER_DAY

    @property
    def _units_per_second(self) -> int:
        return MILLISECONDS_PER_SECOND if self.program == "Stata" else 1


def day_format(program: str, format_name: str | None) -> DayFormat | None:
    """Return how the numbers of a column are days; None if its format is not one of days.

    Args:
        program: "SPSS", "Stata" or "SAS".
        format_name: the format of the column, as `DATE11`, `%td` or `MMDDYY10.`.

    """
    if not format_name:
        return None
    if program == "Stata":
        return _stata_format(format_name)
    match = FORMAT_NAME_PATTERN.match(format_name.upper())
    kinds = SPSS_KIND_BY_FORMAT if program == "SPSS" else SAS_KIND_BY_FORMAT
    kind = kinds.get(match[0]) if match else None
    return DayFormat(program, kind) if kind else None


def _stata_format(format_name: str) -> DayFormat | None:
    match = STATA_FORMAT_PATTERN.fullmatch(format_name)
    if not match or match[1] == "y":  # a year is the number itself
        return None
    unit = match[1] or "d"
    if unit == "d":
        return DayFormat("Stata", DAY)
    if unit not in "cC":
        return DayFormat("Stata", unit)
    shows_time_only = match[3] and not STATA_TIME_DISPLAY.sub("", match[3])
    return DayFormat("Stata", TIME if shows_time_only else MOMENT)


def _days_of_stata_periods(numbers: Array, unit: str) -> Array:
    """Return the days since 1970 on which weeks, months, quarters or half-years begin."""
    whole = np.floor(numbers)
    with np.errstate(invalid="ignore"):
        is_plain = np.abs(whole) < LAST_DAY
    whole = np.where(is_plain, whole, 0).astype(np.int64)
    if unit == "w":
        years = whole // STATA_WEEKS_PER_YEAR
        months = years * MONTHS_PER_YEAR
        days = 7 * (whole % STATA_WEEKS_PER_YEAR)
    else:
        months = whole * STATA_MONTHS_PER_UNIT[unit]
        days = np.zeros_like(whole)
    start = np.datetime64(f"{EPOCH_YEAR}-01", "M") + months
    return np.where(is_plain, start.astype("datetime64[D]").astype(np.int64) + days, np.nan)
