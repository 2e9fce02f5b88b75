"""Guesses at the kinds and bounds of a new table's columns, from the rows themselves.

`guess_columns` says kinds and why a column is set aside, in words that quote no cell and count
nothing; `infer_column_from_data` gives one column's values or bounds. Whoever uses either marks the
schema as peeked. `infer_schema` makes a schema file of both, for the command line.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ...core.errors import InputError
from ...core.types import Array, Json, ProgressCallback, Texts, ignore_progress, value_object
from ..column_readings import (
    AMOUNT_WITH_COMMA,
    AMOUNT_WITH_POINT,
    ANY_CASE,
    AS_WRITTEN,
    DATE_ORDERS,
    DATE_PARTS,
    PREFIX_LENGTHS,
    WEEKDAYS,
    casefold_text,
    category_of_cell,
    parse_cell_number,
    parse_date,
    reads_categories,
)
from ..column_texts import ColumnTexts
from ..schema_json import MAX_NUMBER
from .identifiers import (
    BIRTH_DATE_HEADER,
    CODE_HEADER,
    CODE_TEXT,
    EMAIL_TEXT,
    IDENTIFIER_HEADER,
    MIN_MATCHING_SHARE,
    PERSON_HEADER,
    POSTAL_CODE_HEADER,
    header_names_one_person,
    looks_like_identifier,
    natural_sort_key,
    normalize_header,
)
from .rounded_bounds import TARGET_BIN_COUNT, round_bounds

MAX_CATEGORIES = 200  # categories of a column that is read off
MIN_INFORMATIVE_ROWS = 20  # fewer say nothing about whether values repeat
FREE_TEXT_MEAN_CHARS = 40  # mean characters of a cell of free text
ID_WORD_HEADER = re.compile(r"\b(ids?|uuid|guid|key|nr|no|number|index|ssn|account|e?mail|phone)\b")
MAX_STRAY_TEXTS = 5  # texts without a digit that may stand beside numbers
MAX_STRAY_SHARE = 0.5  # the share of cells that these texts may be
MAX_PREFIX_CATEGORIES = 100  # categories that the first characters of codes are offered for
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
    "text": "looks like free text, with too many different values to count",
    "unnamed": "no name in the header",
}


@value_object
class ColumnGuess:
    """A guess about a column: its kind, its reading, and the reason if it is not used.

    The kind may also be "date" or "text". `other_readings` are other readings that would make
    something of the column: of a date its parts that differ, of codes their first characters, of
    spellings one value. `date_parts` are those of them that are the same in every order of dates.
    If it is `unreadable`, a few texts stand beside its numbers, and count as missing.
    """

    name: str
    kind: str
    read: str = AS_WRITTEN
    exclusion: str = ""
    other_readings: Texts = ()
    date_parts: Texts = ()
    unreadable: bool = False

    @property
    def initial_entry(self) -> Json:
        """The first schema entry for the guess: kind and reading, without values.

        Of the readings of dates and codes it is the first one.
        """
        if self.kind == DATE_COLUMN or self.exclusion == "code":
            return initial_column_entry(self.other_readings[0])
        kind = "categorical" if self.kind == TEXT_COLUMN else self.kind
        entry: Json = {"kind": kind}
        if self.read:
            entry["read"] = self.read
        if self.unreadable:
            entry |= UNREADABLE_AS_MISSING
        return entry

    @property
    def exclusion_reason(self) -> str:
        """The reason why the column is not used, in words; empty where it is used."""
        return EXCLUSION_REASONS.get(self.exclusion, "")


def guess_columns(
    frame: pd.DataFrame, progress: ProgressCallback = ignore_progress
) -> Iterator[ColumnGuess]:
    """Yield a guess for every column, made from the rows themselves.

    `progress` receives the number of columns done.
    """
    for i, (name, cells) in enumerate(frame.items()):
        progress(i, len(frame.columns))
        yield guess_column(str(name), cells)


def guess_column(name: str, cells: pd.Series) -> ColumnGuess:
    """Return a guess about one column."""
    column_texts = ColumnTexts.from_series(cells).without_missing_markers
    header = normalize_header(name)
    if not name:
        return ColumnGuess(name, TEXT_COLUMN, exclusion="unnamed")
    if not column_texts.texts:
        return ColumnGuess(name, "categorical", exclusion="empty")
    constant = len(column_texts.texts) == 1 and not column_texts.empty_count
    orders = _fitting_date_orders(column_texts.texts)
    if orders:
        parts = [
            part
            for part in DATE_PARTS
            if _readings_differ(f"{part} of {orders[0]}", column_texts.texts)
        ] or DATE_PARTS[:1]
        other_readings = tuple(f"{part} of {order}" for order in orders for part in parts)
        if constant:
            exclusion = "constant"
        elif BIRTH_DATE_HEADER.fullmatch(header):
            exclusion = "birth"
        else:
            exclusion = "date"
        unambiguous_parts = tuple(
            part for part in parts if len(orders) == 1 or part in ("year", "hour")
        )
        return ColumnGuess(
            name,
            DATE_COLUMN,
            exclusion=exclusion,
            other_readings=other_readings,
            date_parts=unambiguous_parts,
        )
    read, numbers, unreadable = _parse_as_numbers(column_texts)
    if not constant and _identifies_people(header, column_texts, numbers is not None):
        return ColumnGuess(name, TEXT_COLUMN, exclusion="person")
    if numbers is None or POSTAL_CODE_HEADER.search(header) or CODE_HEADER.search(header):
        return _guess_categorical(name, header, column_texts, constant)
    whole = bool((numbers == np.floor(numbers)).all())
    kind = "integer" if whole else "numeric"
    is_row_number = (
        whole
        and len(column_texts.texts)
        == column_texts.nonempty_count
        == numbers.max() - numbers.min() + 1
        >= MIN_INFORMATIVE_ROWS
    )
    is_identifier = whole and bool(
        _has_many_texts(column_texts)
        and IDENTIFIER_HEADER.fullmatch(header)
        or _nearly_all_differ(column_texts)
        and ID_WORD_HEADER.search(header)
    )
    if constant:
        exclusion = "constant"
    elif is_row_number or is_identifier:
        exclusion = "id"
    else:
        exclusion = ""
    return ColumnGuess(name, kind, read=read, exclusion=exclusion, unreadable=unreadable)


def infer_column_from_data(
    name: str, cells: pd.Series, kind: str, reading: str = AS_WRITTEN, *, unreadable: bool = False
) -> Json:
    """Return the schema entry of one column, with values or bounds and bins from the rows.

    Values are in their natural order; bounds and bins are round. With `unreadable`, texts that are
    no number count as missing. Raises InputError if that gives no cells: dates and texts as they
    are, no value, too many different ones.
    """
    spec: Json = {"kind": kind} | ({"read": reading} if reading else {})
    column_texts = ColumnTexts.from_series(cells, reading).without_missing_markers
    calendar = calendar_entry(reading)
    if calendar:
        return calendar | _missing_policy(column_texts.empty_count)
    if kind == "categorical":
        values = (
            _most_frequent_spellings(column_texts)
            if reading == ANY_CASE
            else {category_of_cell(text, reading) for text in column_texts.texts}
        )
        values = sorted(values, key=natural_sort_key)
        if len(values) > MAX_CATEGORIES:
            raise InputError(
                f"column {name!r}: {len(values)} different values are more than "
                f"{MAX_CATEGORIES}; leave it out, or group "
                "its values"
            )
        if not values:
            raise InputError(f"column {name!r}: it holds no value that could be read off")
        spec["values"] = values
        return spec | _missing_policy(column_texts.empty_count)
    numbers = column_texts.numbers
    counts = column_texts.counts
    if unreadable:
        spec |= UNREADABLE_AS_MISSING
        is_number = ~np.isnan(numbers)
        numbers = numbers[is_number]
        counts = counts[is_number]
    if not len(numbers) or not (np.abs(numbers) <= MAX_NUMBER).all():
        raise InputError(
            f"column {name!r}: its values are not all numbers up to {MAX_NUMBER:g}; choose "
            "another kind"
        )
    whole = kind == "integer" and bool((numbers == np.floor(numbers)).all())
    spec["kind"] = "integer" if whole else "numeric"
    return (
        spec
        | round_bounds(numbers, counts, whole=whole)
        | _missing_policy(column_texts.empty_count)
    )


def infer_schema(
    frame: pd.DataFrame, *, peek: bool = False, progress: ProgressCallback = ignore_progress
) -> Json:
    """Return a schema with every column's guessed kind, bounds and values left to fill in.

    Bounds and values are null for the user to fill in. Dates, and columns with too many values or
    too large ones, get the kinds "date" and "text", which a schema refuses with advice. With `peek`
    values and bounds are taken from the rows, which is not private: the schema is then marked
    "peeked". `progress` receives before each column how many are done.
    """
    columns = {}
    for guess, (_, cells) in zip(guess_columns(frame, progress), frame.items(), strict=True):
        kind = guess.kind if guess.name else "categorical"
        columns[guess.name] = {"kind": kind}
        if kind in (DATE_COLUMN, TEXT_COLUMN):
            continue
        if guess.exclusion == "empty" and peek:
            columns[guess.name] = _all_missing_entry(cells)
        elif peek:
            try:
                columns[guess.name] = infer_column_from_data(
                    guess.name, cells, kind, guess.read, unreadable=guess.unreadable
                )
            except InputError:  # too many values to list, or numbers too large
                columns[guess.name] = {"kind": TEXT_COLUMN}
        else:
            unknown_values = (
                {"values": None} if kind == "categorical" else {"low": None, "high": None}
            )
            bins = {"bins": TARGET_BIN_COUNT} if kind == "numeric" else {}
            columns[guess.name] = guess.initial_entry | unknown_values | bins
    return {"columns": columns} | ({"peeked": True} if peek else {})


def initial_column_entry(reading: str) -> Json:
    """Return the first schema entry of a column with a given reading.

    It holds what is known without the rows.
    """
    return calendar_entry(reading) or {
        "kind": "categorical" if reads_categories(reading) else "integer",
        "read": reading,
    }


def calendar_entry(reading: str) -> Json:
    """Return the schema entry of a column of months, weekdays or hours.

    The values of these are known; the entry is empty for other readings.
    """
    entry = CALENDAR_ENTRIES.get(reading.partition(" of ")[0])
    return entry | {"read": reading} if entry else {}


def _all_missing_entry(cells: pd.Series) -> Json:
    """Return the schema entry of a column without values.

    Its texts for missing cells are then its categories.
    """
    column_texts = ColumnTexts.from_series(cells)
    nonempty_count = column_texts.counts @ np.array([*map(bool, column_texts.texts)], dtype=int)
    return {
        "kind": "categorical",
        "values": sorted(set(column_texts.texts) - {""}, key=natural_sort_key),
    } | _missing_policy(column_texts.n - int(nonempty_count))


def _missing_policy(missing: int) -> dict[str, str]:
    return {"missing": "category"} if missing else {}


def _has_many_texts(column_texts: ColumnTexts) -> bool:
    return len(column_texts.texts) > MIN_INFORMATIVE_ROWS


def _nearly_all_differ(column_texts: ColumnTexts) -> bool:
    return (
        column_texts.nonempty_count >= MIN_INFORMATIVE_ROWS
        and len(column_texts.texts) >= 0.9 * column_texts.nonempty_count
    )


def _fitting_date_orders(texts: Sequence[str]) -> Texts:
    """Return the orders of day, month and year that fit every text.

    Day before month comes first; none if no order fits all.
    """
    if not all(re.match(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{2,4}", text) for text in texts):
        return ()
    fitting_orders = tuple(
        order for order in DATE_ORDERS if all(parse_date(text, order) for text in texts)
    )
    return fitting_orders[:1] if fitting_orders[:1] == ("y-m-d",) else fitting_orders


def _readings_differ(reading: str, texts: Sequence[str]) -> bool:
    """Return whether a reading makes at least two different values of the texts."""
    read_text = category_of_cell if reads_categories(reading) else parse_cell_number
    return len({read_text(text, reading) for text in texts}) > 1


def _parse_as_numbers(column_texts: ColumnTexts) -> tuple[str, Array | None, bool]:
    """Return the reading of texts as numbers, the numbers (r,), and whether some are words.

    A few words like `unknown` may occur among them. The numbers are None if the texts are no
    numbers, too large to tell apart, or few: beside few numbers a word is a category like them.
    """
    for texts, has_words in ((column_texts.texts, False), (_texts_with_digits(column_texts), True)):
        for read in (AS_WRITTEN, AMOUNT_WITH_POINT, AMOUNT_WITH_COMMA):
            numbers = np.array([parse_cell_number(text, read) for text in texts])
            if len(texts) and (np.abs(numbers) <= MAX_NUMBER).all():
                return read, numbers, has_words
    return AS_WRITTEN, None, False


def _texts_with_digits(column_texts: ColumnTexts) -> list[str]:
    """Return the texts with a digit if a few others have none; empty otherwise."""
    strays = np.array([re.search(r"\d", text) is None for text in column_texts.texts])
    are_few = (
        0 < strays.sum() <= MAX_STRAY_TEXTS
        and column_texts.counts @ strays <= MAX_STRAY_SHARE * column_texts.nonempty_count
    )
    digit_texts = [
        text for text, stray in zip(column_texts.texts, strays, strict=True) if not stray
    ]
    return digit_texts if are_few and len(digit_texts) > MIN_INFORMATIVE_ROWS else []


def _identifies_people(header: str, column_texts: ColumnTexts, numbers: bool) -> bool:
    """Return whether a column identifies people.

    It does if all texts are e-mail addresses, or if it has many values and a header or form that
    says so.
    """
    if all(EMAIL_TEXT.fullmatch(text) for text in column_texts.texts):
        return True
    mostly_distinct = 2 * len(column_texts.texts) > column_texts.nonempty_count
    if (_has_many_texts(column_texts) or mostly_distinct) and PERSON_HEADER.fullmatch(header):
        return True
    return (
        not numbers
        and _has_many_texts(column_texts)
        and mostly_distinct
        and looks_like_identifier(column_texts.texts)
    )


def _guess_categorical(
    name: str, header: str, column_texts: ColumnTexts, constant: bool
) -> ColumnGuess:
    """Return a guess for a column of categories.

    It is used, unless the texts are codes, names, free text or a single value.
    """
    lengths = np.fromiter(map(len, column_texts.texts), int, len(column_texts.texts))
    has_spellings = len({casefold_text(text) for text in column_texts.texts}) < len(
        column_texts.texts
    )
    is_long = (
        float(lengths @ column_texts.counts) / column_texts.nonempty_count > FREE_TEXT_MEAN_CHARS
    )
    has_too_many = len(column_texts.texts) > MAX_CATEGORIES or (
        _has_many_texts(column_texts) and 2 * len(column_texts.texts) > column_texts.nonempty_count
    )
    other_readings = (ANY_CASE,) if has_spellings else ()
    if constant:
        return ColumnGuess(name, "categorical", exclusion="constant", other_readings=other_readings)
    if is_long:
        return ColumnGuess(name, TEXT_COLUMN, exclusion="text", other_readings=other_readings)
    look_like_codes = sum(
        bool(CODE_TEXT.fullmatch(text)) for text in column_texts.texts
    ) >= MIN_MATCHING_SHARE * len(column_texts.texts)
    header_match = CODE_HEADER.search(header)
    is_coded = (
        POSTAL_CODE_HEADER.search(header)
        or look_like_codes
        and header_match
        or (look_like_codes or header_match)
        and not _nearly_all_differ(column_texts)
    )
    if _has_many_texts(column_texts) and is_coded and not header_names_one_person(name):
        prefix_readings = _prefix_readings_with_few_categories(column_texts.texts)
        if prefix_readings:
            return ColumnGuess(
                name,
                "categorical",
                exclusion="code" if has_too_many else "",
                other_readings=prefix_readings,
            )
    if (
        _nearly_all_differ(column_texts)
        or (has_too_many and ID_WORD_HEADER.search(header))
        or (_has_many_texts(column_texts) and IDENTIFIER_HEADER.fullmatch(header))
    ):
        return ColumnGuess(name, "categorical", exclusion="id", other_readings=other_readings)
    return ColumnGuess(
        name,
        TEXT_COLUMN if has_too_many else "categorical",
        exclusion="text" if has_too_many else "",
        other_readings=other_readings,
    )


def _prefix_readings_with_few_categories(texts: Sequence[str]) -> Texts:
    """Return the readings by first characters that make a few categories of codes.

    The longest comes first.
    """
    max_categories = min(MAX_PREFIX_CATEGORIES, len(texts) - 1)
    return tuple(
        read
        for read in reversed(PREFIX_LENGTHS)
        if 1 < len({category_of_cell(text, read) for text in texts}) <= max_categories
    )


def _most_frequent_spellings(column_texts: ColumnTexts) -> set[str]:
    """Return the most frequent spelling of each category.

    A category is all texts that are read alike.
    """
    rarest_first = sorted(zip(-column_texts.counts, column_texts.texts, strict=True), reverse=True)
    return set(
        {casefold_text(text): text for _, text in rarest_first}.values()
    )  # of those alike the last one stays
