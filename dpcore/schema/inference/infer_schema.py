"""Guesses at the kinds and bounds of a new table's columns, from the records themselves.

`guess_columns` says kinds and why a column is set aside, in words that quote no cell and count nothing; `read_off`
gives one column's values or bounds. Whoever uses either marks the schema as peeked. `propose` makes a schema file of
both, for the command line.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ...core.errors import InputError
from ...core.types import Array, Json, Texts, Watch, unwatched, value_object
from ..column_readings import (
    ANY_CASE,
    AS_WRITTEN,
    COMMA,
    ORDERS,
    PARTS,
    POINT,
    PREFIX,
    WEEKDAYS,
    category_of,
    folded,
    number_of,
    of_categories,
    read_date,
)
from ..column_texts import RawCells
from ..schema_json import LARGEST
from .identifiers import (
    BORN,
    CODE,
    CODED,
    EMAIL,
    IDENTIFIER,
    MOST,
    PERSON,
    POSTAL,
    formed,
    header_of,
    names_one,
    natural,
)
from .rounded_bounds import BINS, round_bounds

MOST_VALUES = 200  # categories of a column that is read off
FEW_ROWS = 20  # fewer say nothing about whether values repeat
LONG_TEXT = 40  # mean characters of a cell of free text
NAMING = re.compile(r"\b(ids?|uuid|guid|key|nr|no|number|index|ssn|account|e?mail|phone)\b")
STRAYS, UNKNOWN = 5, 0.5  # texts without a digit that may stand beside numbers, and the share of cells they may be
MOST_CODES = 100  # categories that the first characters of codes are offered for
DATE, TEXT = "date", "text"
UNREADABLE = {"missing": "category", "unreadable": "missing"}
CALENDAR = {
    "month": {"kind": "integer", "low": 1, "high": 12},
    "weekday": {"kind": "categorical", "values": [*WEEKDAYS], "ordered": True},
    "hour": {"kind": "integer", "low": 0, "high": 23},
}
ASIDE = {
    "empty": "no value in any row",
    "constant": "the same value in every row, so there is nothing to learn",
    "id": "looks like an ID, which may name a person",
    "person": "looks like names, addresses, e-mail, phone or person numbers, which identify people",
    "birth": "looks like dates of birth, which help to identify people",
    "code": "codes with too many values; use their first characters",
    "date": "dates are too detailed; use the year, month, weekday or hour",
    "text": "looks like free text, with too many different values to count",
    "unnamed": "no name in the header",
}


@value_object
class Guess:
    """A guess about a column: its kind, or "date" or "text"; its reading; the reason if it is not used.

    `offers` are other readings that would make something of it: of a date its parts that differ, of codes their first
    characters, of spellings one value; `parts` are those of them that are the same in every order of dates. Where it
    is `unreadable`, a few texts stand beside its numbers, and count as missing.
    """

    name: str
    kind: str
    read: str = AS_WRITTEN
    aside: str = ""
    offers: Texts = ()
    parts: Texts = ()
    unreadable: bool = False

    @property
    def entry(self) -> Json:
        """The first schema entry for the guess: kind and reading (of dates and codes the first one), without
        values.
        """
        if self.kind == DATE or self.aside == "code":
            return begun(self.offers[0])
        kind = "categorical" if self.kind == TEXT else self.kind
        return {"kind": kind} | ({"read": self.read} if self.read else {}) | (UNREADABLE if self.unreadable else {})

    @property
    def why(self) -> str:
        """The reason why the column is not used, in words; empty where it is used."""
        return ASIDE.get(self.aside, "")


def guess_columns(frame: pd.DataFrame, told: Watch = unwatched) -> Iterator[Guess]:
    """A guess for every column, from the records themselves; `told` receives the number of columns done."""
    for i, (name, cells) in enumerate(frame.items()):
        told(i)
        yield guess_column(str(name), cells)


def guess_column(name: str, cells: pd.Series) -> Guess:
    """A guess about one column."""
    column_texts = RawCells.of(cells).said
    header = header_of(name)
    if not name:
        return Guess(name, TEXT, aside="unnamed")
    if not column_texts.texts:
        return Guess(name, "categorical", aside="empty")
    constant = len(column_texts.texts) == 1 and not column_texts.empty
    if orders := _orders(column_texts.texts):
        parts = [part for part in PARTS if _differs(f"{part} of {orders[0]}", column_texts.texts)] or PARTS[:1]
        other_readings = tuple(f"{part} of {order}" for order in orders for part in parts)
        exclusion = "constant" if constant else "birth" if BORN.fullmatch(header) else "date"
        unambiguous_parts = tuple(part for part in parts if len(orders) == 1 or part in ("year", "hour"))
        return Guess(name, DATE, aside=exclusion, offers=other_readings, parts=unambiguous_parts)
    read, numbers, unreadable = _numbers(column_texts)
    if not constant and _names_people(header, column_texts, numbers is not None):
        return Guess(name, TEXT, aside="person")
    if numbers is None or POSTAL.search(header) or CODED.search(header):
        return _of_texts(name, header, column_texts, constant)
    whole = bool((numbers == np.floor(numbers)).all())
    kind = "integer" if whole else "numeric"
    is_row_number = (
        whole and len(column_texts.texts) == column_texts.present == numbers.max() - numbers.min() + 1 >= FEW_ROWS
    )
    is_identifier = whole and bool(
        _many(column_texts)
        and IDENTIFIER.fullmatch(header)
        or _nearly_all_differ(column_texts)
        and NAMING.search(header)
    )
    exclusion = "constant" if constant else "id" if is_row_number or is_identifier else ""
    return Guess(name, kind, read=read, aside=exclusion, unreadable=unreadable)


def read_off(name: str, cells: pd.Series, kind: str, read: str = AS_WRITTEN, *, unreadable: bool = False) -> Json:
    """The schema entry of one column with its values, or round bounds and bins, taken from the records.

    Values stand in their natural order. With `unreadable`, texts that are no number count as missing.
    Raises InputError where that gives no cells: dates and texts as they are, no value, too many different ones.
    """
    spec: Json = {"kind": kind} | ({"read": read} if read else {})
    column_texts = RawCells.of(cells, read).said
    if calendar := of_calendar(read):
        return calendar | _policy(column_texts.empty)
    if kind == "categorical":
        values = (
            _spellings(column_texts) if read == ANY_CASE else {category_of(text, read) for text in column_texts.texts}
        )
        values = sorted(values, key=natural)
        if len(values) > MOST_VALUES:
            raise InputError(
                f"column {name!r}: {len(values)} different values are more than {MOST_VALUES}; leave it out, or group "
                "its values"
            )
        if not values:
            raise InputError(f"column {name!r}: it holds no value that could be read off")
        return spec | {"values": values} | _policy(column_texts.empty)
    numbers, counts = column_texts.numbers, column_texts.counts
    if unreadable:
        spec |= UNREADABLE
        numbers, counts = numbers[~np.isnan(numbers)], counts[~np.isnan(numbers)]
    if not len(numbers) or not (np.abs(numbers) <= LARGEST).all():
        raise InputError(f"column {name!r}: its values are not all numbers up to {LARGEST:g}; choose another kind")
    whole = kind == "integer" and bool((numbers == np.floor(numbers)).all())
    spec["kind"] = "integer" if whole else "numeric"
    return spec | round_bounds(numbers, counts, whole=whole) | _policy(column_texts.empty)


def propose(frame: pd.DataFrame, *, peek: bool = False, told: Watch = unwatched) -> Json:
    """A schema of every column's guessed kind; bounds and values are null for the user to fill in.

    Dates, and what has too many values or too large ones, get the kinds "date" and "text", which a schema refuses with
    advice. With `peek` values and bounds are read off the records, which is not private: the schema is then marked
    "peeked". `told` hears before each column how many are done.
    """
    columns = {}
    for guess, (_, cells) in zip(guess_columns(frame, told), frame.items(), strict=True):
        kind = guess.kind if guess.name else "categorical"
        columns[guess.name] = {"kind": kind}
        if kind in (DATE, TEXT):
            continue
        if guess.aside == "empty" and peek:
            columns[guess.name] = _blanks(cells)
        elif peek:
            try:
                columns[guess.name] = read_off(guess.name, cells, kind, guess.read, unreadable=guess.unreadable)
            except InputError:  # too many values to list, or numbers too large
                columns[guess.name] = {"kind": TEXT}
        else:
            unknown_values = {"values": None} if kind == "categorical" else {"low": None, "high": None}
            bins = {"bins": BINS} if kind == "numeric" else {}
            columns[guess.name] = guess.entry | unknown_values | bins
    return {"columns": columns} | ({"peeked": True} if peek else {})


def begun(read: str) -> Json:
    """The first schema entry of a column with a given reading, as far as it is known without the records."""
    return of_calendar(read) or {"kind": "categorical" if of_categories(read) else "integer", "read": read}


def of_calendar(read: str) -> Json:
    """The schema entry of a column of months, weekdays or hours, whose values are known; empty for other readings."""
    entry = CALENDAR.get(read.partition(" of ")[0])
    return entry | {"read": read} if entry else {}


def _blanks(cells: pd.Series) -> Json:
    """The schema entry of a column without values: its texts for missing cells are then its categories."""
    column_texts = RawCells.of(cells)
    nonempty_count = column_texts.counts @ np.array([*map(bool, column_texts.texts)], dtype=int)
    return {"kind": "categorical", "values": sorted(set(column_texts.texts) - {""}, key=natural)} | _policy(
        column_texts.n - int(nonempty_count)
    )


def _policy(missing: int) -> dict[str, str]:
    return {"missing": "category"} if missing else {}


def _many(seen: RawCells) -> bool:
    return len(seen.texts) > FEW_ROWS


def _nearly_all_differ(seen: RawCells) -> bool:
    return seen.present >= FEW_ROWS and len(seen.texts) >= 0.9 * seen.present


def _orders(texts: Sequence[str]) -> Texts:
    """The orders of day, month and year that fit every text, day before month first; none if no order fits all."""
    if not all(re.match(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{2,4}", text) for text in texts):
        return ()
    fitting_orders = tuple(order for order in ORDERS if all(read_date(text, order) for text in texts))
    return fitting_orders[:1] if fitting_orders[:1] == ("y-m-d",) else fitting_orders


def _differs(read: str, texts: Sequence[str]) -> bool:
    """Whether not all texts are read alike."""
    read_text = category_of if of_categories(read) else number_of
    return len({read_text(text, read) for text in texts}) > 1


def _numbers(seen: RawCells) -> tuple[str, Array | None, bool]:
    """The reading of texts as numbers, those (r,), and whether a few words like `unknown` occur among them.

    None where they are no numbers, too large to tell apart, or few: beside few numbers a word is a category like them.
    """
    for texts, has_words in ((seen.texts, False), (_beside_words(seen), True)):
        for read in (AS_WRITTEN, POINT, COMMA):
            numbers = np.array([number_of(text, read) for text in texts])
            if len(texts) and (np.abs(numbers) <= LARGEST).all():
                return read, numbers, has_words
    return AS_WRITTEN, None, False


def _beside_words(seen: RawCells) -> list[str]:
    """The texts with a digit, if only a few have none; empty otherwise."""
    strays = np.array([re.search(r"\d", text) is None for text in seen.texts])
    are_few = 0 < strays.sum() <= STRAYS and seen.counts @ strays <= UNKNOWN * seen.present
    digit_texts = [text for text, stray in zip(seen.texts, strays, strict=True) if not stray]
    return digit_texts if are_few and len(digit_texts) > FEW_ROWS else []


def _names_people(header: str, seen: RawCells, numbers: bool) -> bool:
    """Whether a column identifies people: many values, and all e-mail, or a header or form that says so."""
    if all(EMAIL.fullmatch(text) for text in seen.texts):
        return True
    mostly_distinct = 2 * len(seen.texts) > seen.present
    if (_many(seen) or mostly_distinct) and PERSON.fullmatch(header):
        return True
    return not numbers and _many(seen) and mostly_distinct and formed(seen.texts)


def _of_texts(name: str, header: str, seen: RawCells, constant: bool) -> Guess:
    """A guess for categories: used, unless the texts are codes, names, free text or a single value."""
    lengths = np.fromiter(map(len, seen.texts), int, len(seen.texts))
    has_spellings = len({folded(text) for text in seen.texts}) < len(seen.texts)
    is_long = float(lengths @ seen.counts) / seen.present > LONG_TEXT
    has_too_many = len(seen.texts) > MOST_VALUES or (_many(seen) and 2 * len(seen.texts) > seen.present)
    other_readings = (ANY_CASE,) * has_spellings
    if constant:
        return Guess(name, "categorical", aside="constant", offers=other_readings)
    if is_long:
        return Guess(name, TEXT, aside="text", offers=other_readings)
    look_like_codes = sum(bool(CODE.fullmatch(text)) for text in seen.texts) >= MOST * len(seen.texts)
    header_match = CODED.search(header)
    is_coded = (
        POSTAL.search(header)
        or look_like_codes
        and header_match
        or (look_like_codes or header_match)
        and not _nearly_all_differ(seen)
    )
    if _many(seen) and is_coded and not names_one(name) and (prefix_readings := _beginnings(seen.texts)):
        return Guess(name, "categorical", aside="code" * has_too_many, offers=prefix_readings)
    if (
        _nearly_all_differ(seen)
        or (has_too_many and NAMING.search(header))
        or (_many(seen) and IDENTIFIER.fullmatch(header))
    ):
        return Guess(name, "categorical", aside="id", offers=other_readings)
    return Guess(name, TEXT if has_too_many else "categorical", aside="text" * has_too_many, offers=other_readings)


def _beginnings(texts: Sequence[str]) -> Texts:
    """The readings of first characters that make a few categories of codes, the longest first."""
    max_categories = min(MOST_CODES, len(texts) - 1)
    return tuple(
        read for read in reversed(PREFIX) if 1 < len({category_of(text, read) for text in texts}) <= max_categories
    )


def _spellings(seen: RawCells) -> set[str]:
    """The most frequent spelling of each category: one text of all that are read alike."""
    rarest_first = sorted(zip(-seen.counts, seen.texts, strict=True), reverse=True)
    return set({folded(text): text for _, text in rarest_first}.values())  # of those alike the last one stays
