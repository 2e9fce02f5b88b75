"""The form in which a column's dates or numbers seem to be written: a private peek at its texts.

It is proposed, and stands in the schema from then on: what is written follows the schema alone.
"""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import InputError
from ...core.types import Texts
from ..amount_texts import AMOUNT_WITH_COMMA, has_limit_sign
from ..column_readings import (
    AMOUNT_READINGS,
    AS_WRITTEN,
    TIME_PATTERN,
    numbers_per_day_of_reading,
    parse_cell_number,
    whole_date_of_reading,
)
from ..column_texts import ColumnTexts, text_shapes
from ..date_texts import (
    EIGHT_DIGITS_PATTERN,
    MONTH_BY_WORD,
    NAMED_DAY_PATTERN,
    NAMED_MONTH_PATTERN,
    NAMED_YEAR_PATTERN,
    YEAR_FIRST_PATTERN,
    YEAR_LAST_PATTERN,
)
from ..forms.calendar_numbers import SECONDS_PER_DAY
from ..forms.date_form import parse_date_form
from ..forms.month_names import LANGUAGES, month_names
from ..forms.number_form import SIGNS, SPACES, parse_number_form, without_signs
from ..plain_letters import without_accents

_CURRENCY_LIST = """
$ € £ ¥ ₹ Rs Rs. R$ US$ A$ C$ zł Kč Ft kr USD EUR GBP CHF JPY SEK NOK DKK PLN CZK HUF CAD AUD NZD
SGD INR BRL MXN CNY RUB TRY ZAR
"""
_UNIT_LIST = """
% ‰ kg g mg µg t lb lbs oz m cm mm km mi ft in l ml dl cl h hr hrs min s sec ms d day days week
weeks month months year years yr yrs °C °F K W kW kWh MWh V A Hz kHz MHz GHz B KB MB GB TB bpm mmHg
mg/dL mmol/L g/dL kcal cal J kJ m² m³ km² ha mph km/h kg/m² pt px pts
"""
MAX_TEXTS_TRIED = 100  # different texts by which a form of dates is judged
MAX_DECIMALS_WRITTEN = 6  # more digits are what a computer made of a number
MIN_GROUPED_DIGITS = 5  # of a whole number that would have a thousands sign
YEAR_FIRST_PARTS = ("year", "", "month", "day")
PARTS_BY_ORDER = {"d/m/y": ("day", "", "month", "year"), "m/d/y": ("month", "", "day", "year")}
# patterns of dates with the part that each group of theirs is
DATE_PATTERNS = (
    (EIGHT_DIGITS_PATTERN, ("year", "month", "day")),
    (YEAR_FIRST_PATTERN, YEAR_FIRST_PARTS),
    (NAMED_DAY_PATTERN, ("day", "month", "year")),
    (NAMED_MONTH_PATTERN, ("month", "day", "year")),
    (NAMED_YEAR_PATTERN, ("year", "month", "day")),
)
LETTERS_BY_PART = {"year": "Y", "month": "M", "day": "D"}
ORDINAL_PATTERN = re.compile(r"(?<=D)(?:st|nd|rd|th|er|º|°)")
PADDED_LETTERS = (("DD", "D"), ("MM", "M"), ("hh", "h"))
NUMBER_PATTERN = re.compile(
    rf"(?P<before>[^0-9]*)(?P<body>[0-9](?:[0-9.,'{SPACES}]*[0-9])?)(?P<after>[^0-9]*)", re.ASCII
)
CURRENCY_WORDS = frozenset(_CURRENCY_LIST.split())
UNIT_WORDS = frozenset(_UNIT_LIST.split())
MIN_NUMBERS_OF_OTHER_UNIT = 10  # different numbers beside a unit that is not listed


def infer_form(column_texts: ColumnTexts) -> str:
    """Return the form in which a column's texts are written, as it is read; empty for none."""
    if whole_date_of_reading(column_texts.read):
        return infer_date_form(column_texts)
    is_number = column_texts.read in (AS_WRITTEN, *AMOUNT_READINGS)
    return infer_number_form(column_texts) if is_number else ""


def infer_date_form(column_texts: ColumnTexts) -> str:
    """Return the form that writes most of a column's dates as they are; empty for none."""
    order = column_texts.read.partition(" of ")[2]
    seconds_per_number = SECONDS_PER_DAY // numbers_per_day_of_reading(column_texts.read)
    texts = sorted(set(column_texts.texts))
    tried = texts[:: max(1, len(texts) // MAX_TEXTS_TRIED)]
    numbers = {text: parse_cell_number(text, column_texts.read) for text in tried}
    dates = {text: number for text, number in numbers.items() if not math.isnan(number)}
    candidates: dict[str, None] = {}
    for text in dates:
        candidates |= dict.fromkeys(_date_form_candidates(text, order))
    for candidate in [*candidates]:
        candidates |= dict.fromkeys(_unpadded_forms(candidate))
    best_form = ""
    best_count = 0
    for candidate in candidates:
        try:
            form = parse_date_form(candidate, seconds_per_number)
        except InputError:
            continue
        count = sum(form.write(number) == text for text, number in dates.items())
        if count > best_count:
            best_form = candidate
            best_count = count
    return best_form


def _date_form_candidates(text: str, order: str) -> Iterator[str]:
    """Yield forms in which a text may be written: by letters in place of its parts."""
    patterns: list[tuple[re.Pattern, Texts]] = [*DATE_PATTERNS]
    if order in PARTS_BY_ORDER:
        patterns.append((YEAR_LAST_PATTERN, PARTS_BY_ORDER[order]))
    for pattern, parts in patterns:
        match = pattern.fullmatch(text)
        if not match or (pattern is EIGHT_DIGITS_PATTERN and order != "y-m-d"):
            continue
        end = max(match.end(i) for i in range(1, len(parts) + 1))
        months = [""]
        pieces = []
        position = 0
        for i, part in enumerate(parts, start=1):
            if not part:
                continue
            pieces.append(text[position : match.start(i)])
            if part == "month" and not match[i].isdecimal():
                months = _month_letters(match[i])
                pieces.append("{month}")
            else:
                pieces.append(LETTERS_BY_PART[part] * len(match[i]))
            position = match.end(i)
        for month, tail in itertools.product(months, (_time_letters(text[end:]), "")):
            filled = (month if piece == "{month}" else piece for piece in pieces)
            yield ORDINAL_PATTERN.sub("", "".join(filled) + _until_time(text[end:], tail))


def _until_time(ending: str, tail: str) -> str:
    """Return what follows the parts of a date: its time's letters, or a sign of the year alone."""
    return tail if tail or not ending.startswith(".") else "."


def _time_letters(ending: str) -> str:
    """Return what follows a day with letters in place of its time; empty where it says none."""
    match = TIME_PATTERN.search(ending)
    if not match:
        return ""
    hour = "h" * len(match["hour"])
    second = ":ss" if match["second"] else ""
    half = ""
    if match["half"]:
        space = " " if ending[match.start("half") - 1] == " " else ""
        half = space + ("AM" if match["half"].isupper() else "am")
    before = ending[: match.start("hour")]
    zone = "Z" if ending[match.end() :] == "Z" else ""
    return f"{before}{hour}:mm{second}{half}{zone}"


def _month_letters(word: str) -> list[str]:
    """Return the letters of a form that may have written a month's name."""
    month = MONTH_BY_WORD.get(without_accents(word))
    if month is None:
        return []
    letters = []
    for short, language in itertools.product((False, True), LANGUAGES):
        if month_names(language, short=short)[month - 1].casefold() != word.casefold():
            continue
        name = "Mon" if short else "Month"
        if word.isupper():
            name = name.upper()
        elif word.islower():
            name = name.lower()
        letters.append(name if language == LANGUAGES[0] else f"{name}[{language}]")
    return letters


def _unpadded_forms(form: str) -> Iterator[str]:
    """Yield a form with some of its numbers without a zero before them."""
    for choice in itertools.product((False, True), repeat=len(PADDED_LETTERS)):
        other = form
        for (padded, plain), is_plain in zip(PADDED_LETTERS, choice, strict=True):
            if is_plain:
                other = other.replace(padded, plain)
        if other != form:
            yield other


def infer_number_form(column_texts: ColumnTexts) -> str:
    """Return the form in which most of a column's numbers are written; empty for digits alone.

    So many digits are written after the point as any number has, zeros where all have as many.
    """
    decimal_sign = "," if column_texts.read == AMOUNT_WITH_COMMA else "."
    beside: dict[bool, Counter] = {False: Counter(), True: Counter()}
    thousands_signs: Counter = Counter()
    decimal_counts = set()
    shape_numbers, shapes = pd.factorize(np.array(text_shapes(column_texts.texts), dtype=object))
    shape_rows = np.bincount(shape_numbers, column_texts.counts, len(shapes)).astype(int)
    for shape, count in zip(shapes.tolist(), shape_rows.tolist(), strict=True):
        match = None if has_limit_sign(shape) else NUMBER_PATTERN.fullmatch(shape)
        if not match:
            continue
        whole, _, part = match["body"].partition(decimal_sign)
        is_negative = any(sign in SIGNS for sign in match["before"] + match["after"])
        beside[is_negative][match["before"], match["after"]] += count
        digits = re.sub("[^0-9]", "", whole)
        if len(digits) < len(whole) or len(digits) >= MIN_GROUPED_DIGITS:
            thousands_signs[re.sub("[0-9]", "", whole)[:1]] += count
        decimal_counts.add(len(part))
    if not decimal_counts or max(decimal_counts) > MAX_DECIMALS_WRITTEN:
        return ""
    before, after = _signs_beside_digits(beside[False], beside[True])
    thousands_sign = _most_common(thousands_signs, "")
    least = min(decimal_counts)
    most = max(decimal_counts)
    decimals = decimal_sign + "0" * least + "#" * (most - least) if most else ""
    form = f"{before}1{thousands_sign}000{decimals}{after}"
    return form if form != "1000" and _is_number_form(form) else ""


def _signs_beside_digits(positive: Counter, negative: Counter) -> tuple[str, str]:
    """Return what most numbers have before and after their digits, with the sign of negatives."""
    plain = _most_common(positive, ("", ""))
    if not negative:
        return plain
    signed = _most_common(negative, ("", ""))
    if positive and signed == ("-" + plain[0], plain[1]):
        return plain
    return signed if signed != ("-", "") else ("", "")


def _most_common(counts: Counter, default: Any) -> Any:
    """Return the key of the largest count, of several the last one in order."""
    return max(counts, key=lambda key: (counts[key], key), default=default)


def find_unit(texts: Sequence[str]) -> str:
    """Return a form with the one unit that stands beside all numbers of a column; empty for none.

    A unit is a known one, or a word after many different numbers; before them it is a currency.
    """
    matches = [NUMBER_PATTERN.fullmatch(shape) for shape in set(text_shapes(texts))]
    if not matches or not all(matches):
        return ""
    pairs = {
        (without_signs(match["before"]), without_signs(match["after"]))
        for match in matches
        if match
    }
    pairs.discard(("", ""))
    if len({(before.strip(), after.strip()) for before, after in pairs}) != 1:
        return ""
    before, after = min(pairs)
    word = after.strip()
    is_other_unit = len(texts) > MIN_NUMBERS_OF_OTHER_UNIT and " " not in word
    is_unit = not word or word in UNIT_WORDS or word in CURRENCY_WORDS or is_other_unit
    if not is_unit or (before.strip() and before.strip() not in CURRENCY_WORDS):
        return ""
    form = f"{before}1000{after}"
    return form if _is_number_form(form) else ""


def _is_number_form(text: str) -> bool:
    """Return whether a schema may state a text as the form of numbers."""
    try:
        parse_number_form(text)
    except InputError:
        return False
    return True
