"""Guesses at the kinds of a new table's columns, from the rows themselves.

`guess_column` says a column's kind and why it is set aside, in words that count nothing and quote
no cell but codes for missing values. Whoever uses it marks the schema as peeked. `infer_column`
gives one column's values or bounds, `proposal` a whole table's schema.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from ...core.types import Array, Json, Texts, frozen, value_object
from ..amount_texts import has_limit_sign
from ..column_readings import (
    AMOUNT_READINGS,
    ANY_CASE,
    AS_WRITTEN,
    DATE_PARTS,
    PREFIX_LENGTHS,
    WEEKDAYS,
    casefold_text,
    category_of_cell,
    compose_accents,
    parse_cell_number,
    reads_categories,
)
from ..column_texts import ColumnTexts
from ..date_texts import (
    DATE_ORDERS,
    EIGHT_DIGITS_PATTERN,
    parse_date,
)
from ..schema_json import MAX_NUMBER
from ..text_format import ROW_NUMBER_NAME
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
    normalize_header,
)
from .missing_codes import find_missing_codes
from .rounded_bounds import YEAR_RANGE
from .stated_column import NOTHING_STATED, StatedColumn

MAX_CATEGORIES = 200  # categories of a column that is read off
MIN_INFORMATIVE_ROWS = 20  # fewer say nothing about whether values repeat
FREE_TEXT_MEAN_CHARS = 40  # mean characters of a cell of free text
ID_WORD_HEADER = re.compile(r"\b(ids?|uuid|guid|key|nr|no|number|index|ssn|account|e?mail|phone)\b")
MAX_STRAY_TEXTS = 5  # texts without a digit that may stand beside numbers
MAX_STRAY_SHARE = 0.5  # the share of cells that these texts may be
MAX_FEW_NUMBERS = 10  # whole numbers that are categories, if they occur often
MIN_ROWS_PER_FEW_NUMBERS = 5  # rows for each of them
MAX_LIMIT_SHARE = 0.2  # share of a column's texts that may be as `<0.5` or `90+`
MIN_DATES_BESIDE_WORDS = 3  # days beside which a few words count as missing
PLAUSIBLE_YEARS = range(1850, 2101)  # of days that are written as eight digits
LEADING_ZERO_TEXT = re.compile("-?0[0-9]+")  # a code: no number is written so
CODE_NUMBER_TEXT = re.compile("[A-Za-z]{0,5}[-_ ]?[0-9]{3,}")  # as P-0001
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
    "row": "counts the rows, so there is nothing to learn",
    "distinct": "nearly every row has another value, so there is nothing to count",
    "unnamed": "no name in the header",
}
EXCLUSIONS_OF_STATED_VALUES = ("empty", "constant", "id", "person", "birth", "row", "unnamed")


@value_object
class ColumnGuess:
    """A guess about a column: its kind, its reading, and the reason if it is not used.

    The kind may also be "date" or "text". `other_readings` are other readings that would make
    something of the column: of a date its parts that differ, of codes their first characters, of
    spellings one value. `date_parts` are those of them that are the same in every order of dates.
    If it is `unreadable`, a few texts stand beside its numbers or days, and count as missing; so do
    its `missing_codes`, as -9 and 99. `ordered` categories are few whole numbers. `stated` is what
    the file itself says of the column, which is not guessed.
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
    stated: StatedColumn = NOTHING_STATED

    @property
    def initial_entry(self) -> Json:
        """The first schema entry for the guess: kind and reading, with values only if stated.

        Of the readings of dates and codes it is the first one.
        """
        if self.kind == DATE_COLUMN or self.exclusion == "code":
            entry = {**initial_column_entry(self.other_readings[0])}
        else:
            kind = "categorical" if self.kind == TEXT_COLUMN else self.kind
            entry: Json = {"kind": kind}
            if self.read:
                entry["read"] = self.read
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


def guess_column(name: str, cells: pd.Series, stated: StatedColumn = NOTHING_STATED) -> ColumnGuess:
    """Return a guess about one column; categories in an order of their file keep it.

    What the file states of it, its values and the codes for missing ones, is not guessed.
    """
    if stated.values or stated.missing_codes:
        return _guess_stated_column(name, cells, stated)
    guess = _guess_unordered_column(name, cells)
    has_order = isinstance(cells.dtype, pd.CategoricalDtype) and cells.dtype.ordered
    if has_order and guess.kind == "categorical" and not guess.exclusion:
        return replace(guess, ordered=True)
    return guess


def _guess_stated_column(name: str, cells: pd.Series, stated: StatedColumn) -> ColumnGuess:
    """Return a guess about a column whose values, or codes for missing ones, the file states."""
    present = cells.astype(object).where(~cells.isin(list(stated.missing_codes)), None)
    guess = _guess_unordered_column(name, present)
    if stated.values and guess.exclusion not in EXCLUSIONS_OF_STATED_VALUES:
        guess = ColumnGuess(name, "categorical", ordered=stated.ordered)
    return replace(guess, missing_codes=stated.missing_codes, stated=stated)


def _guess_unordered_column(name: str, cells: pd.Series) -> ColumnGuess:
    """Return a guess about one column, whatever order its file gives to its categories."""
    column_texts = ColumnTexts.from_series(cells).without_missing_markers
    header = normalize_header(name)
    if not name:
        return ColumnGuess(name, TEXT_COLUMN, exclusion="unnamed")
    if not column_texts.texts:
        return ColumnGuess(name, "categorical", exclusion="empty")
    if counts_rows(name, cells):
        return ColumnGuess(name, "integer", exclusion="row")
    distinct_texts = {compose_accents(text) for text in column_texts.texts}
    constant = len(distinct_texts) == 1 and not column_texts.empty_count
    date_guess = _guess_date(name, header, column_texts, constant)
    if date_guess is not None:
        return date_guess
    numbers = _parse_as_numbers(column_texts)
    if not constant and _identifies_people(header, column_texts, numbers is not None):
        return ColumnGuess(name, TEXT_COLUMN, exclusion="person")
    is_code = POSTAL_CODE_HEADER.search(header) or CODE_HEADER.search(header)
    if numbers is None or is_code or _has_leading_zeros(column_texts):
        return _guess_categorical(name, header, column_texts, constant)
    return _guess_numbers(name, header, column_texts, numbers, constant)


def counts_rows(name: str, cells: pd.Series) -> bool:
    """Return whether a column without a name in the header holds whole numbers that rise."""
    if name != ROW_NUMBER_NAME or len(cells) < 2:
        return False
    texts = [str(cell).strip() for cell in cells]
    if not all(re.fullmatch(r"[0-9]{1,18}", text) for text in texts):
        return False
    numbers = [int(text) for text in texts]
    return all(later > earlier for earlier, later in pairwise(numbers))


@frozen
class NumberTexts:
    """A column's texts read as numbers (r,) with their counts (r,), some of them left out.

    `unreadable` says whether a few words stand beside them.
    """

    read: str
    numbers: Array
    counts: Array
    unreadable: bool

    @property
    def are_whole(self) -> bool:
        """Whether all of the numbers are whole."""
        return bool((self.numbers == np.floor(self.numbers)).all())


def _guess_date(
    name: str, header: str, column_texts: ColumnTexts, constant: bool
) -> ColumnGuess | None:
    """Return a guess for a column of days, which is used by one of its parts; None for others.

    It is set aside where the orders of day and month that fit would read that part differently.
    """
    texts = column_texts.texts
    orders = _fitting_date_orders(texts)
    unreadable = False
    if not orders:
        texts = _texts_with_digits(column_texts, MIN_DATES_BESIDE_WORDS)
        orders = _fitting_date_orders(texts)
        unreadable = True
    if not orders:
        return None
    parts = [
        part for part in DATE_PARTS if _has_different_readings(f"{part} of {orders[0]}", texts)
    ] or DATE_PARTS[:1]
    unambiguous_parts = tuple(
        part for part in parts if len(orders) == 1 or part in ("year", "hour")
    )
    if constant:
        exclusion = "constant"
    elif BIRTH_DATE_HEADER.fullmatch(header):
        exclusion = "birth"
    else:
        exclusion = "" if parts[0] in unambiguous_parts else "date"
    return ColumnGuess(
        name,
        DATE_COLUMN,
        exclusion=exclusion,
        other_readings=tuple(f"{part} of {order}" for order in orders for part in parts),
        date_parts=unambiguous_parts,
        unreadable=unreadable,
    )


def _guess_numbers(
    name: str, header: str, column_texts: ColumnTexts, numbers: NumberTexts, constant: bool
) -> ColumnGuess:
    """Return a guess for a column of numbers: few whole ones that occur often are categories."""
    whole = numbers.are_whole
    kind = "integer" if whole else "numeric"
    if constant:
        return ColumnGuess(name, kind, read=numbers.read, exclusion="constant")
    codes = find_missing_codes(numbers.numbers, numbers.counts)
    few_count = len(set(numbers.numbers.tolist()) - set(codes))
    min_rows = max(MIN_INFORMATIVE_ROWS, MIN_ROWS_PER_FEW_NUMBERS * few_count)
    is_as_written = numbers.read == AS_WRITTEN and not numbers.unreadable
    if (
        whole
        and is_as_written
        and few_count <= MAX_FEW_NUMBERS
        and column_texts.nonempty_count >= min_rows
    ):
        return ColumnGuess(name, "categorical", ordered=True)
    exclusion = _number_exclusion(header, column_texts, numbers) if whole else ""
    return ColumnGuess(
        name,
        kind,
        read=numbers.read,
        exclusion=exclusion,
        unreadable=numbers.unreadable,
        missing_codes=tuple(int(code) if whole else code for code in codes),
    )


def _number_exclusion(header: str, column_texts: ColumnTexts, numbers: NumberTexts) -> str:
    """Return why a column of whole numbers is set aside, a key of EXCLUSION_REASONS or nothing."""
    if (
        _has_many_texts(column_texts)
        and IDENTIFIER_HEADER.fullmatch(header)
        or _nearly_all_differ(column_texts)
        and ID_WORD_HEADER.search(header)
    ):
        return "id"
    low = numbers.numbers.min()
    high = numbers.numbers.max()
    are_years = YEAR_RANGE[0] <= low and high <= YEAR_RANGE[1]
    distinct_count = len(column_texts.texts)
    is_consecutive = distinct_count == column_texts.nonempty_count == high - low + 1
    if is_consecutive and distinct_count >= MIN_INFORMATIVE_ROWS and not are_years:
        return "row"
    return ""


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


def _has_many_texts(column_texts: ColumnTexts) -> bool:
    return len(column_texts.texts) > MIN_INFORMATIVE_ROWS


def _nearly_all_differ(column_texts: ColumnTexts) -> bool:
    return (
        column_texts.nonempty_count >= MIN_INFORMATIVE_ROWS
        and len(column_texts.texts) >= 0.9 * column_texts.nonempty_count
    )


def _fitting_date_orders(texts: Sequence[str]) -> Texts:
    """Return the orders of day, month and year that fit every text.

    Day before month comes first; none if no order fits all, and where the order is plain only one.
    """
    fitting_orders = tuple(
        order for order in DATE_ORDERS if texts and all(_plausible_date(t, order) for t in texts)
    )
    return fitting_orders[:1] if fitting_orders[:1] == ("y-m-d",) else fitting_orders


def _plausible_date(text: str, order: str) -> bool:
    """Return whether a text is a day; of eight digits in a row, one of a plausible year."""
    day = parse_date(text, order)
    if day is None:
        return False
    return not EIGHT_DIGITS_PATTERN.fullmatch(text) or day.year in PLAUSIBLE_YEARS


def _has_leading_zeros(column_texts: ColumnTexts) -> bool:
    """Return whether some text is a number with zeros before it, so that all are codes."""
    return any(LEADING_ZERO_TEXT.fullmatch(text) for text in column_texts.texts)


def _has_different_readings(reading: str, texts: Sequence[str]) -> bool:
    """Return whether a reading makes at least two different values of the texts."""
    read_text = category_of_cell if reads_categories(reading) else parse_cell_number
    return len({read_text(text, reading) for text in texts}) > 1


def _parse_as_numbers(column_texts: ColumnTexts) -> NumberTexts | None:
    """Return a column's texts as numbers, a few words like `unknown` left out.

    None if the texts are no numbers, too large to tell apart, or few: beside few numbers a word is
    a category like them.
    """
    limit_count = sum(map(has_limit_sign, column_texts.texts))
    if limit_count > MAX_LIMIT_SHARE * len(column_texts.texts):
        return None
    digit_texts = _texts_with_digits(column_texts, MIN_INFORMATIVE_ROWS)
    for texts, has_words in ((column_texts.texts, False), (digit_texts, True)):
        for read in (AS_WRITTEN, *AMOUNT_READINGS):
            numbers = np.array([parse_cell_number(text, read) for text in texts])
            if len(texts) and (np.abs(numbers) <= MAX_NUMBER).all():
                count_by_text = dict(zip(column_texts.texts, column_texts.counts, strict=True))
                counts = np.array([count_by_text[text] for text in texts])
                return NumberTexts(read, numbers, counts, has_words)
    return None


def _texts_with_digits(column_texts: ColumnTexts, min_count: int) -> list[str]:
    """Return the more than `min_count` texts with a digit if a few others have none; else none."""
    strays = np.array([re.search(r"\d", text) is None for text in column_texts.texts])
    are_few = (
        0 < strays.sum() <= MAX_STRAY_TEXTS
        and column_texts.counts @ strays <= MAX_STRAY_SHARE * column_texts.nonempty_count
    )
    digit_texts = [
        text for text, stray in zip(column_texts.texts, strays, strict=True) if not stray
    ]
    return digit_texts if are_few and len(digit_texts) > min_count else []


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
        or _has_leading_zeros(column_texts)
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
    nearly_all_differ = _nearly_all_differ(column_texts)
    if (
        (nearly_all_differ and _are_code_numbers(column_texts.texts))
        or (has_too_many and ID_WORD_HEADER.search(header))
        or (_has_many_texts(column_texts) and IDENTIFIER_HEADER.fullmatch(header))
    ):
        return ColumnGuess(name, "categorical", exclusion="id", other_readings=other_readings)
    if nearly_all_differ:
        return ColumnGuess(name, "categorical", exclusion="distinct", other_readings=other_readings)
    return ColumnGuess(
        name,
        TEXT_COLUMN if has_too_many else "categorical",
        exclusion="text" if has_too_many else "",
        other_readings=other_readings,
    )


def _are_code_numbers(texts: Sequence[str]) -> bool:
    """Return whether most texts are a number with letters before it, as an ID is."""
    matches = sum(bool(CODE_NUMBER_TEXT.fullmatch(text)) for text in texts)
    return matches >= MIN_MATCHING_SHARE * len(texts)


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
