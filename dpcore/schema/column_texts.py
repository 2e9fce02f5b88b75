"""One column's raw cells, grouped by text, before there is a schema; schemas are measured on them.

What a cell reads as, and which of the public kinds it is, depends on that cell and on public things
alone.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pandas as pd

from ..core.types import Array, Texts, frozen
from .cell_text import MISSING_TEXTS, count_texts, is_valid_unicode
from .column import MISSING_LABEL, OTHER_LABEL, Column, MissingCodes, SameTexts
from .column_readings import (
    AS_WRITTEN,
    category_of_cell,
    parse_cell_number,
)
from .date_texts import DATE_ORDERS, parse_date
from .forms.date_form import DateForm
from .forms.number_form import NumberForm

MAX_CATEGORY_CHARS = 200  # characters of a text that may become a category
# the kinds of a cell: missing, a whole number, another number, a day in one of three orders, any
# other text, and a number with a decimal comma
MISSING_KIND = 0
WHOLE_NUMBER_KIND = 1
NUMBER_KIND = 2
TEXT_KIND = 6
DATE_KINDS = {order: 3 + i for i, order in enumerate(DATE_ORDERS)}
DECIMAL_COMMA_KIND = 7
KIND_COUNT = 8
DECIMAL_COMMA_PATTERN = re.compile(r"[-+]?[0-9]+,[0-9]+")
ZERO_BY_DIGIT = str.maketrans("123456789", "000000000")


def text_shapes(texts: Sequence[str]) -> list[str]:
    """Return each text with all of its digits 1 to 9 as zeros.

    A million numbers have a few shapes, which are looked at in their place: whatever depends on
    where a text has digits, and not on which, is the same for its shape.
    """
    joined = "\n".join(texts)
    if joined.count("\n") == len(texts) - 1:
        return joined.translate(ZERO_BY_DIGIT).split("\n")
    return [text.translate(ZERO_BY_DIGIT) for text in texts]


@frozen
class ColumnTexts:
    """The distinct texts (r,) of a column's cells, their counts, and the number of empty cells.

    `read` is how each is read first, see `column_readings`; `same` holds values with the other
    texts that are read as them, and `missing_codes` values that count as missing, as a `Column`
    has them. All three are stated by a person and the same for every cell.
    """

    texts: Texts
    counts: Array
    empty_count: int
    read: str = AS_WRITTEN
    same: SameTexts = ()
    missing_codes: MissingCodes = ()

    @classmethod
    def from_series(
        cls,
        cells: pd.Series,
        reading: str = AS_WRITTEN,
        same: SameTexts = (),
        missing_codes: MissingCodes = (),
    ) -> "ColumnTexts":
        """Return the distinct texts of a table's column and their counts."""
        texts, counts = count_texts(cells)
        empty_count = len(cells) - int(counts.sum())
        return cls(tuple(texts), counts, empty_count, reading, same, missing_codes)

    @property
    def nonempty_count(self) -> int:
        """The number of cells that are not empty."""
        return int(self.counts.sum())

    @property
    def n(self) -> int:
        """The number of cells."""
        return self.nonempty_count + self.empty_count

    @property
    def without_missing_markers(self) -> "ColumnTexts":
        """The same texts, where texts for a missing value count as empty cells.

        Each text occurs once.
        """
        if MISSING_TEXTS.isdisjoint(self.texts) and len(set(self.texts)) == len(self.texts):
            return self
        text_counts = {
            text: count
            for text, count in self._count_by_name(self.texts).items()
            if text not in MISSING_TEXTS
        }
        counts = np.fromiter(text_counts.values(), int, len(text_counts))
        empty_count = self.n - int(counts.sum())
        return replace(self, texts=tuple(text_counts), counts=counts, empty_count=empty_count)

    @cached_property
    def shape_counts(self) -> Counter[str]:
        """The number of texts of each shape, see `text_shapes`."""
        return Counter(text_shapes(self.texts))

    def without_units(self, form: DateForm | NumberForm | None) -> "ColumnTexts":
        """Return the texts without the unit of the column's form, of which some may be equal."""
        if form is None:
            return self
        return replace(self, texts=tuple(map(form.bare_number_text, self.texts)))

    def _count_by_name(self, names: Iterable[str]) -> dict[str, int]:
        """Return the number of cells for each name, given one name for every text."""
        cell_counts: dict[str, int] = {}
        for name, count in zip(names, self.counts.tolist(), strict=True):
            cell_counts[name] = cell_counts.get(name, 0) + count
        return cell_counts

    @cached_property
    def _statements(self) -> Column:
        """A column that states how these cells are read, with no values but those of `same`."""
        return Column(
            name="",
            kind="categorical",
            values=tuple(value for value, _ in self.same),
            read=self.read,
            same=self.same,
            missing_codes=self.missing_codes,
        )

    def _category(self, text: str) -> str:
        """Return the category in a cell's text: the one that `same` states, else its own."""
        key = category_of_cell(text, self.read)
        code = self._statements.code_by_key.get(key)
        return key if code is None else self._statements.category_key(self.same[code][0])

    @cached_property
    def _counts_as_read(self) -> dict[str, int]:
        """The number of cells for each category."""
        return self._count_by_name(map(self._category, self.texts))

    @cached_property
    def _missing_keys(self) -> frozenset[str]:
        """The categories that mean a missing value, without values that `same` states."""
        return self._statements.missing_keys.difference(self._statements.code_by_key)

    @cached_property
    def category_counts(self) -> dict[str, int]:
        """The count of each category, without texts that cannot be a category.

        These are texts that are too long, no Unicode, or equal to the name of the category for all
        others. No category is a way to say that a value is missing.
        """
        excluded = {OTHER_LABEL, MISSING_LABEL, *self._missing_keys}
        return {
            key: count
            for key, count in self._counts_as_read.items()
            if key not in excluded and 0 < len(key) <= MAX_CATEGORY_CHARS and is_valid_unicode(key)
        }

    @cached_property
    def missing_count(self) -> int:
        """The number of cells that are empty or hold a text or code for a missing value."""
        return self.empty_count + sum(
            count for key, count in self._counts_as_read.items() if key in self._missing_keys
        )

    @cached_property
    def numbers(self) -> Array:
        """The number that each text states (r,), NaN where it states none or counts as missing."""
        numbers = np.array([parse_cell_number(text, self.read) for text in self.texts])
        if not self.missing_codes:
            return numbers
        is_missing_text = np.array([*map(self._statements.is_missing_text, self.texts)], dtype=bool)
        is_missing = is_missing_text | np.isin(numbers, self._statements.missing_numbers)
        return np.where(is_missing, np.nan, numbers)

    @cached_property
    def kind_counts(self) -> Array:
        """The number of cells of each kind (KINDS,)."""
        return np.bincount(
            [MISSING_KIND, *map(self._kind_of_cell, self.texts)],
            np.append(self.empty_count, self.counts),
            KIND_COUNT,
        ).astype(np.int64)

    def _kind_of_cell(self, text: str) -> int:
        """Return the kind of a cell's text."""
        if self._statements.is_missing_text(text):
            return MISSING_KIND
        number = parse_cell_number(text, self.read)
        if self.missing_codes and number in self._statements.missing_numbers:
            return MISSING_KIND
        if not math.isnan(number):
            return WHOLE_NUMBER_KIND if number == np.floor(number) else NUMBER_KIND
        if DECIMAL_COMMA_PATTERN.fullmatch(text):
            return DECIMAL_COMMA_KIND
        date_kinds = (DATE_KINDS[order] for order in DATE_ORDERS if parse_date(text, order))
        return next(date_kinds, TEXT_KIND)
