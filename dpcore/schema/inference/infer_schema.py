"""Guesses at the kinds of a new table's columns, from the rows themselves.

`guess_column` says a column's kind and why it is set aside, in words that count nothing and quote
no cell but codes for missing values. Whoever uses it marks the schema as peeked. `infer_column`
gives one column's values or bounds, `proposal` a whole table's schema.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from ...core.types import Array, Texts, frozen
from ..amount_texts import has_limit_sign
from ..cell_text import canonical_text
from ..column_readings import (
    AMOUNT_READINGS,
    ANY_CASE,
    AS_WRITTEN,
    DATE,
    DATE_AND_TIME,
    DATE_PARTS,
    PREFIX_LENGTHS,
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
from ..forms.calendar_numbers import SECONDS_PER_DAY
from ..forms.number_form import parse_number_form
from ..schema_json import MAX_NUMBER
from ..text_format import ROW_NUMBER_NAME
from .column_guess import DATE_COLUMN, TEXT_COLUMN, ColumnGuess
from .identifiers import (
    BIRTH_DATE_HEADER,
    CODE_TEXT,
    EMAIL_TEXT,
    IDENTIFIER_HEADER,
    MIN_MATCHING_SHARE,
    PERSON_HEADER,
    POSTAL_CODE_HEADER,
    header_names_codes,
    header_names_one_person,
    looks_like_identifier,
    normalize_header,
)
from .infer_form import find_unit, infer_form
from .missing_codes import find_missing_codes
from .rounded_bounds import MAX_BIN_SHARE, YEAR_RANGE
from .scales import order_on_scale
from .stated_column import NOTHING_STATED, StatedColumn

MAX_CATEGORIES = 200  # categories of a column that is read off
MIN_INFORMATIVE_ROWS = 20  # fewer say nothing about whether values repeat
MIN_ROWS_WITHOUT_REPEATS = 10  # of texts of which no one occurs twice
MIN_ROWS_PER_LONG_TEXT = 5  # from which on long texts are categories
FREE_TEXT_MEAN_CHARS = 40  # mean characters of a cell of free text
ID_WORD_HEADER = re.compile(
    r"\b(ids?|uuid|guid|key|nr|no|index|ssn|account|e?mail|phone)\b|\bnumber( [0-9]+)?$"
)
YEAR_HEADER = re.compile(r"\b(years?|yr)\b")
MAX_STRAY_TEXTS = 5  # texts without a digit that may stand beside numbers
MAX_STRAY_SHARE = 0.5  # the share of cells that these texts may be
MAX_FEW_NUMBERS = 10  # numbers that are categories, if they occur often
MIN_ROWS_PER_FEW_NUMBERS = 5  # rows for each of them
MAX_LIMIT_SHARE = 0.2  # share of a column's texts that may be as `<0.5` or `90+`
MIN_DATES_BESIDE_WORDS = 3  # days beside which a few words count as missing
PLAUSIBLE_YEARS = range(1850, 2101)  # of days that are written as eight digits
LEADING_ZERO_TEXT = re.compile("-?0[0-9]+")  # a code: no number is written so
DIGITS_TEXT = re.compile("-?[0-9]+")
ANY_DIGIT = re.compile(r"\d")
MIN_DIGITS_SHARE = 0.5  # of the texts of codes with leading zeros
PLAIN_DECIMAL_TEXT = re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
MAX_CODE_DECIMALS = 2  # digits after the point, as in 250.01 of ICD-9
CODE_NUMBER_TEXT = re.compile("[A-Za-z]{0,5}[-_ ]?[0-9]{3,}")  # as P-0001
REPEATED_ID_TEXT = re.compile("([A-Za-z]{2,5}|[A-Za-z][-_])[0-9]{3,}")  # as PED054, not as ICD
MAX_PREFIX_CATEGORIES = 100  # categories that the first characters of codes are offered for
TYPES_OF_DAYS = ("datetime64", "datetime", "date")  # as pandas calls those of cells
EXCLUSIONS_OF_STATED_VALUES = ("empty", "constant", "id", "person", "birth", "row", "unnamed")


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
    first_text = compose_accents(column_texts.texts[0])
    is_one_text = all(compose_accents(text) == first_text for text in column_texts.texts)
    constant = is_one_text and not column_texts.empty_count
    if name == ROW_NUMBER_NAME and _all_differ(column_texts) and not constant:
        return ColumnGuess(name, "categorical", exclusion="distinct")
    has_days = pd.api.types.infer_dtype(cells, skipna=True) in TYPES_OF_DAYS
    date_guess = _guess_date(
        name, header, _without_midnights(column_texts) if has_days else column_texts, constant
    )
    if date_guess is not None:
        return date_guess
    numbers = _parse_as_numbers(column_texts)
    if not constant and _identifies_people(header, column_texts, numbers):
        return ColumnGuess(name, TEXT_COLUMN, exclusion="person")
    is_code = header_names_codes(header) and (numbers is None or numbers.can_be_codes)
    if numbers is None or is_code or _has_leading_zeros(column_texts):
        return _guess_categorical(name, header, column_texts, constant)
    return _guess_numbers(name, header, column_texts, numbers, constant)


def _without_midnights(column_texts: ColumnTexts) -> ColumnTexts:
    """Return the texts of days that a file has as days, each as its day alone."""
    return replace(column_texts, texts=tuple(map(canonical_text, column_texts.texts)))


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

    `unreadable` says whether a few words stand beside them, `unit_form` the form of one unit that
    is beside all of them, and that the reading does not know.
    """

    read: str
    numbers: Array
    counts: Array
    unreadable: bool
    unit_form: str = ""

    @property
    def are_whole(self) -> bool:
        """Whether all of the numbers are whole."""
        return bool((self.numbers == np.floor(self.numbers)).all())

    @property
    def can_be_codes(self) -> bool:
        """Whether the numbers have no more decimals than codes have."""
        return bool((self.numbers == np.round(self.numbers, MAX_CODE_DECIMALS)).all())


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
    parts = _informative_parts_first(orders, texts, column_texts)
    whole_date = DATE_AND_TIME if _has_times(texts, orders[0]) else DATE
    whole_reading = f"{whole_date} of {orders[0]}"
    unambiguous_parts = tuple(part for part in parts if _is_unambiguous(part, orders))
    return ColumnGuess(
        name,
        DATE_COLUMN,
        exclusion=_date_exclusion(header, constant, parts[0] in unambiguous_parts),
        other_readings=tuple(
            f"{part} of {order}" for order in orders for part in (*parts, whole_date)
        ),
        date_parts=(*unambiguous_parts, whole_date) if len(orders) == 1 else unambiguous_parts,
        unreadable=unreadable,
        form=infer_form(replace(column_texts, read=whole_reading)),
        whole_date=whole_reading if len(orders) == 1 else "",
    )


def _is_unambiguous(part: str, orders: Texts) -> bool:
    """Return whether a part of a day is the same in every order of day, month and year."""
    return len(orders) == 1 or part in ("year", "hour")


def _informative_parts_first(
    orders: Texts, texts: Sequence[str], column_texts: ColumnTexts
) -> Sequence[str]:
    """Return the parts of days that differ, those last of which one value is in most rows.

    Nearly all days may be of one year: their months then show more. Parts that are the same in
    every order that fits come before the others.
    """
    shares = {
        part: _largest_share(f"{part} of {orders[0]}", texts, column_texts) for part in DATE_PARTS
    }
    parts = [part for part in DATE_PARTS if shares[part] < 1]
    if not parts:
        return DATE_PARTS[:1]
    return sorted(
        parts, key=lambda part: (not _is_unambiguous(part, orders), shares[part] > MAX_BIN_SHARE)
    )


def _largest_share(reading: str, texts: Sequence[str], column_texts: ColumnTexts) -> float:
    """Return the share of the texts' rows that the most frequent value of a reading has."""
    read_text = category_of_cell if reads_categories(reading) else parse_cell_number
    count_by_text = dict(zip(column_texts.texts, column_texts.counts.tolist(), strict=True))
    rows_by_value: Counter[object] = Counter()
    for text in texts:
        rows_by_value[read_text(text, reading)] += count_by_text[text]
    return max(rows_by_value.values()) / rows_by_value.total()


def _date_exclusion(header: str, constant: bool, is_unambiguous: bool) -> str:
    """Return why a column of days is set aside, a key of EXCLUSION_REASONS or nothing."""
    if constant:
        return "constant"
    if BIRTH_DATE_HEADER.fullmatch(header):
        return "birth"
    return "" if is_unambiguous else "date"


def _guess_numbers(
    name: str, header: str, column_texts: ColumnTexts, numbers: NumberTexts, constant: bool
) -> ColumnGuess:
    """Return a guess for a column of numbers: few of them that occur often are categories."""
    whole = numbers.are_whole
    kind = "integer" if whole else "numeric"
    if constant:
        return ColumnGuess(name, kind, read=numbers.read, exclusion="constant")
    form = numbers.unit_form or infer_form(replace(column_texts, read=numbers.read))
    codes = find_missing_codes(numbers.numbers, numbers.counts)
    few_count = len(set(numbers.numbers.tolist()) - set(codes))
    min_rows = max(MIN_INFORMATIVE_ROWS, MIN_ROWS_PER_FEW_NUMBERS * few_count)
    is_as_written = numbers.read == AS_WRITTEN and not (numbers.unreadable or numbers.unit_form)
    if (
        (whole or _are_plain_decimals(column_texts))
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
        form=form,
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
    steps = np.diff(numbers.numbers)  # in the rows' order, as no number occurs twice
    in_order = bool((steps > 0).all() or (steps < 0).all())
    are_years = are_years or YEAR_HEADER.search(header) is not None
    if is_consecutive and in_order and distinct_count >= MIN_INFORMATIVE_ROWS and not are_years:
        return "row"
    return ""


def _has_many_texts(column_texts: ColumnTexts) -> bool:
    return len(column_texts.texts) > MIN_INFORMATIVE_ROWS


def _nearly_all_differ(column_texts: ColumnTexts) -> bool:
    return (
        column_texts.nonempty_count >= MIN_INFORMATIVE_ROWS
        and len(column_texts.texts) >= 0.9 * column_texts.nonempty_count
    )


def _fitting_date_orders(texts: Sequence[str]) -> Texts:
    """Return the orders of day, month and year that fit every text.

    Day before month comes first; none if no order fits all, and where the order is plain, or makes
    no difference, only one.
    """
    fitting_orders = tuple(
        order for order in DATE_ORDERS if texts and all(_plausible_date(t, order) for t in texts)
    )
    readings = {tuple(parse_date(text, order) for text in texts) for order in fitting_orders}
    is_plain = fitting_orders[:1] == ("y-m-d",) or len(readings) == 1
    return fitting_orders[:1] if is_plain else fitting_orders


def _has_times(texts: Sequence[str], order: str) -> bool:
    """Return whether the texts say different times of the day."""
    seconds = [parse_cell_number(text, f"{DATE_AND_TIME} of {order}") for text in texts]
    return len({second % SECONDS_PER_DAY for second in seconds}) > 1


def _plausible_date(text: str, order: str) -> bool:
    """Return whether a text is a day; of eight digits in a row, one of a plausible year."""
    day = parse_date(text, order)
    if day is None:
        return False
    return not EIGHT_DIGITS_PATTERN.fullmatch(text) or day.year in PLAUSIBLE_YEARS


def _all_differ(column_texts: ColumnTexts) -> bool:
    """Return whether no text occurs twice."""
    return len(column_texts.texts) == column_texts.nonempty_count


def _are_plain_decimals(column_texts: ColumnTexts) -> bool:
    """Return whether every text is a decimal number that occurs again, and none another's."""
    texts = column_texts.texts
    are_plain = all(PLAIN_DECIMAL_TEXT.fullmatch(text) for text in texts)
    occur_again = bool((column_texts.counts > 1).all())
    return are_plain and occur_again and len({float(text) for text in texts}) == len(texts)


def _has_leading_zeros(column_texts: ColumnTexts) -> bool:
    """Return whether some text is a number with zeros before it, so that all are codes.

    Among words it is a word.
    """
    if not any(map(LEADING_ZERO_TEXT.fullmatch, column_texts.texts)):
        return False
    digits = sum(bool(DIGITS_TEXT.fullmatch(text)) for text in column_texts.texts)
    return digits >= MIN_DIGITS_SHARE * len(column_texts.texts)


def _parse_as_numbers(column_texts: ColumnTexts) -> NumberTexts | None:
    """Return a column's texts as numbers, a few words like `unknown` left out.

    None if the texts are no numbers, too large to tell apart, or few: beside few numbers a word is
    a category like them.
    """
    shape_counts = column_texts.shape_counts
    limit_count = sum(count for shape, count in shape_counts.items() if has_limit_sign(shape))
    if limit_count > MAX_LIMIT_SHARE * len(column_texts.texts):
        return None
    digit_texts = _texts_with_digits(column_texts, MIN_INFORMATIVE_ROWS)
    for texts, has_words in ((column_texts.texts, False), (digit_texts, True)):
        unit_form = find_unit(texts)
        for form in ("", unit_form) if unit_form else ("",):
            number_texts = _read_numbers(column_texts, texts, form)
            if number_texts is not None:
                return replace(number_texts, unreadable=has_words)
    return None


def _read_numbers(column_texts: ColumnTexts, texts: Sequence[str], form: str) -> NumberTexts | None:
    """Return texts as numbers by the first reading that fits all, without the unit of a form."""
    bare_texts = [*map(parse_number_form(form).bare_number_text, texts)] if form else texts
    for read in (AS_WRITTEN, *AMOUNT_READINGS):
        numbers = np.array([parse_cell_number(text, read) for text in bare_texts])
        if len(texts) and (np.abs(numbers) <= MAX_NUMBER).all():
            counts = column_texts.counts
            if texts is not column_texts.texts:
                count_by_text = dict(zip(column_texts.texts, counts, strict=True))
                counts = np.array([count_by_text[text] for text in texts])
            unit_form = infer_form(replace(column_texts, read=read)) if form else ""
            return NumberTexts(read, numbers, counts, False, unit_form or form)
    return None


def _texts_with_digits(column_texts: ColumnTexts, min_count: int) -> list[str]:
    """Return the more than `min_count` texts with a digit if a few others have none; else none."""
    if all(map(ANY_DIGIT.search, column_texts.shape_counts)):
        return []
    strays = np.array([ANY_DIGIT.search(text) is None for text in column_texts.texts])
    are_few = (
        0 < strays.sum() <= MAX_STRAY_TEXTS
        and column_texts.counts @ strays <= MAX_STRAY_SHARE * column_texts.nonempty_count
    )
    digit_texts = [
        text for text, stray in zip(column_texts.texts, strays, strict=True) if not stray
    ]
    return digit_texts if are_few and len(digit_texts) > min_count else []


def _identifies_people(header: str, column_texts: ColumnTexts, numbers: NumberTexts | None) -> bool:
    """Return whether a column identifies people.

    It does if all texts are e-mail addresses, or if it has many values and a header or form that
    says so. No decimal number does.
    """
    if all(EMAIL_TEXT.fullmatch(text) for text in column_texts.texts):
        return True
    if numbers is not None and not numbers.are_whole:
        return False
    mostly_distinct = 2 * len(column_texts.texts) > column_texts.nonempty_count
    if (_has_many_texts(column_texts) or mostly_distinct) and PERSON_HEADER.fullmatch(header):
        return True
    return (
        numbers is None
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
    texts = column_texts.texts
    has_spellings = len({casefold_text(text) for text in texts}) < len(texts)
    other_readings = (ANY_CASE,) if has_spellings else ()
    if constant:
        return ColumnGuess(name, "categorical", exclusion="constant", other_readings=other_readings)
    if _is_free_text(column_texts):
        return ColumnGuess(name, TEXT_COLUMN, exclusion="text", other_readings=other_readings)
    if _are_codes(header, column_texts) and not header_names_one_person(name):
        prefix_readings = _prefix_readings_with_few_categories(texts)
        if prefix_readings:
            exclusion = "code" if _has_too_many_texts(column_texts) else ""
            return ColumnGuess(
                name, "categorical", exclusion=exclusion, other_readings=prefix_readings
            )
    exclusion = _category_exclusion(header, column_texts)
    return ColumnGuess(
        name,
        TEXT_COLUMN if exclusion == "text" else "categorical",
        exclusion=exclusion,
        other_readings=other_readings,
        ordered=not exclusion and bool(order_on_scale(texts)),
    )


def _category_exclusion(header: str, column_texts: ColumnTexts) -> str:
    """Return why a column of categories is set aside, a key of EXCLUSION_REASONS or nothing."""
    has_too_many = _has_too_many_texts(column_texts)
    has_many = _has_many_texts(column_texts)
    nearly_all_differ = _nearly_all_differ(column_texts) or (
        _all_differ(column_texts) and column_texts.nonempty_count >= MIN_ROWS_WITHOUT_REPEATS
    )
    if (
        (nearly_all_differ and _have_form(column_texts.texts, CODE_NUMBER_TEXT))
        or (has_many and _have_form(column_texts.texts, REPEATED_ID_TEXT))
        or (has_too_many and ID_WORD_HEADER.search(header))
        or (has_many and IDENTIFIER_HEADER.fullmatch(header))
    ):
        return "id"
    if nearly_all_differ:
        return "distinct"
    return "text" if has_too_many else ""


def _has_too_many_texts(column_texts: ColumnTexts) -> bool:
    """Return whether a column has more texts than can be listed or than occur again."""
    return len(column_texts.texts) > MAX_CATEGORIES or (
        _has_many_texts(column_texts) and 2 * len(column_texts.texts) > column_texts.nonempty_count
    )


def _is_free_text(column_texts: ColumnTexts) -> bool:
    """Return whether texts are long, and not so few that each is a category."""
    lengths = np.fromiter(map(len, column_texts.texts), int, len(column_texts.texts))
    mean_length = float(lengths @ column_texts.counts) / column_texts.nonempty_count
    occur_often = len(column_texts.texts) * MIN_ROWS_PER_LONG_TEXT <= column_texts.nonempty_count
    return mean_length > FREE_TEXT_MEAN_CHARS and not occur_often


def _are_codes(header: str, column_texts: ColumnTexts) -> bool:
    """Return whether a column of many texts holds codes, by its header or their form."""
    if not _has_many_texts(column_texts):
        return False
    if POSTAL_CODE_HEADER.search(header) or _has_leading_zeros(column_texts):
        return True
    look_like_codes = _have_form(column_texts.texts, CODE_TEXT)
    header_match = header_names_codes(header)
    if look_like_codes and header_match:
        return True
    return (look_like_codes or header_match) and not _nearly_all_differ(column_texts)


def _have_form(texts: Sequence[str], form: re.Pattern[str]) -> bool:
    """Return whether most texts have a form, as an ID has that of letters before a number."""
    matches = sum(bool(form.fullmatch(text)) for text in texts)
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
