"""What is guessed of one column of a new table, and the schema entry that follows from it."""

from ...core.types import Json, Texts, value_object
from ..column_readings import (
    AS_WRITTEN,
    DATE_AND_TIME,
    WEEKDAYS,
    reads_categories,
    whole_date_of_reading,
)
from .stated_column import NOTHING_STATED, StatedColumn

DATE_COLUMN = "date"
TEXT_COLUMN = "text"
UNREADABLE_AS_MISSING = {"missing": "category", "unreadable": "missing"}
CALENDAR_ENTRIES = {
    "month": {"kind": "integer", "low": 1, "high": 12},
    "weekday": {"kind": "categorical", "values": [*WEEKDAYS], "ordered": True},
    "hour": {"kind": "integer", "low": 0, "high": 23},
}
EXCLUSION_REASONS = {
    "empty": "no value in any row",
    "constant": "the same value in every row, so there is nothing to learn",
    "id": "looks like an ID, which may name a person",
    "person": "looks like names, addresses, e-mail, phone or person numbers, which identify people",
    "birth": "looks like dates of birth, which help to identify people",
    "code": "codes with too many values; use their first characters",
    "date": "dates are too detailed; use the year, month, weekday or hour",
    "text": "looks like free text, or has too many different values to count",
    "row": "counts the rows, so there is nothing to learn",
    "distinct": "nearly every row has another value, so there is nothing to count",
    "unnamed": "no name in the header",
}


@value_object
class ColumnGuess:
    """A guess about a column: its kind, its reading, and the reason if it is not used.

    The kind may also be "date" or "text". `other_readings` are other readings that would make
    something of the column: of a date its parts that differ, of codes their first characters, of
    spellings one value. `date_parts` are those of them that are the same in every order of dates.
    If it is `unreadable`, a few texts stand beside its numbers or days, and count as missing; so do
    its `missing_codes`, as -9 and 99. `ordered` categories are few numbers, or words on a scale.
    `form` is how its dates or numbers seem to be written, and `whole_date` the reading that keeps a
    date whole, where there is only one. `stated` is what the file itself says of the column, which
    is not guessed.
    """

    name: str
    kind: str
    read: str = AS_WRITTEN
    exclusion: str = ""
    other_readings: Texts = ()
    date_parts: Texts = ()
    unreadable: bool = False
    ordered: bool = False
    missing_codes: tuple[int | float | str, ...] = ()
    form: str = ""
    whole_date: str = ""
    stated: StatedColumn = NOTHING_STATED

    @property
    def initial_entry(self) -> Json:
        """The first schema entry for the guess: kind and reading, with values only if stated.

        Of the readings of codes it is the first one. Of those of dates it is the date itself, or
        its first part that differs where everybody knows the values of that, as of months.
        """
        reading = self.other_readings[0] if self.other_readings else ""
        return self._entry_read_as(reading if calendar_entry(reading) else self.whole_date)

    @property
    def entry_from_rows(self) -> Json:
        """The entry whose values or bounds are taken from the rows: of a date it is the date."""
        return self._entry_read_as(self.whole_date)

    def _entry_read_as(self, date_reading: str) -> Json:
        if self.kind == DATE_COLUMN or self.exclusion == "code":
            entry = {**initial_column_entry(date_reading or self.other_readings[0])}
        else:
            kind = "categorical" if self.kind == TEXT_COLUMN else self.kind
            entry: Json = {"kind": kind}
            if self.read:
                entry["read"] = self.read
        if self.form and (self.kind != DATE_COLUMN or entry["read"] == self.whole_date):
            entry["form"] = self.form
        if self.ordered:
            entry["ordered"] = True
        if self.unreadable:
            entry |= UNREADABLE_AS_MISSING
        if self.missing_codes:
            entry |= {"missing": "category", "missing_codes": list(self.missing_codes)}
        if self.stated.values and entry["kind"] == "categorical":
            entry["values"] = list(self.stated.values)
        return entry

    @property
    def exclusion_reason(self) -> str:
        """The reason why the column is not used, in words; empty where it is used."""
        return EXCLUSION_REASONS.get(self.exclusion, "")


def initial_column_entry(reading: str) -> Json:
    """Return the first schema entry of a column with a given reading.

    It holds what is known without the rows.
    """
    kind = "integer"
    if reads_categories(reading):
        kind = "categorical"
    elif whole_date_of_reading(reading) == DATE_AND_TIME:
        kind = "numeric"
    return calendar_entry(reading) or {
        "kind": kind,
        "read": reading,
    }


def calendar_entry(reading: str) -> Json:
    """Return the schema entry of a column of months, weekdays or hours.

    The values of these are known; the entry is empty for other readings.
    """
    entry = CALENDAR_ENTRIES.get(reading.partition(" of ")[0])
    return entry | {"read": reading} if entry else {}
