"""A column of a statistical package's file: what the file states of it, and how its cells read."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...core.types import Array, value_object
from ...schema.cell_text import canonical_text_of_value
from ...schema.column import MISSING_LABEL, OTHER_LABEL
from ...schema.column_readings import category_of_cell
from ...schema.inference.identifiers import natural_sort_key
from ...schema.inference.stated_column import StatedColumn
from .day_numbers import DayFormat, day_format

MAX_LISTED_RANGE = 20  # whole numbers of a range whose codes a schema lists
MIN_NEIGHBOUR_LABELS = 2  # of whole numbers side by side, which make a column one of categories
MIN_LABELS = 3  # of any numbers, where the file does not say how the column is measured
CATEGORICAL_MEASURES = ("nominal", "ordinal")
ORDINAL_MEASURE = "ordinal"
SCALE_MEASURE = "scale"
STRING_TYPE = "string"
FLOAT_TYPE = "float"
RESERVED_LABELS = (MISSING_LABEL, OTHER_LABEL)
Code = float | str
Range = tuple[Code, Code]


@value_object
class Variable:
    """A column as a file's dictionary has it.

    `labels` are the value labels by code; a special missing value's code is its letter.
    `missing_ranges` are the lowest and the highest of codes that the file declares missing.
    """

    label: str
    is_text: bool
    is_single_precision: bool
    days: DayFormat | None
    measure: str
    labels: Mapping[Code, str]
    missing_ranges: tuple[Range, ...]

    @classmethod
    def of(cls, dictionary: Any, name: str, program: str) -> "Variable":
        """Return the column called `name` of a file of a program, from the file's dictionary."""
        storage = dictionary.readstat_variable_types.get(name)
        is_text = storage == STRING_TYPE
        format_name = dictionary.original_variable_types.get(name)
        labels = dictionary.variable_value_labels.get(name) or {}
        ranges = dictionary.missing_ranges.get(name) or []
        return cls(
            label=(dictionary.column_names_to_labels.get(name) or "").strip(),
            is_text=is_text,
            is_single_precision=storage == FLOAT_TYPE,
            days=None if is_text else day_format(program, format_name),
            measure=dictionary.variable_measure.get(name) or "",
            labels={code: text.strip() for code, text in labels.items() if text.strip()},
            missing_ranges=tuple((bounds["lo"], bounds["hi"]) for bounds in ranges),
        )

    @cached_property
    def statement(self) -> StatedColumn:
        """What a schema may take from the file as it stands."""
        if not self.has_categories:
            codes = () if self.days is not None else self._listed_missing_codes
            return StatedColumn(self.label, missing_codes=codes)
        missing = map(self._text_of, (*self._listed_missing_codes, *self._special_codes))
        return StatedColumn(
            self.label,
            tuple(dict.fromkeys(self._text_by_code[code] for code in self._value_codes)),
            ordered=self.measure == ORDINAL_MEASURE,
            missing_codes=tuple(dict.fromkeys(filter(None, missing))),
        )

    @cached_property
    def has_categories(self) -> bool:
        """Whether the column is one of categories, by what the file says of it alone.

        A few labels of a column of numbers name its ends, as "none" and "90 and over".
        """
        codes = self._value_codes
        if not codes or self.days is not None:
            return False
        if self.is_text or self.measure in CATEGORICAL_MEASURES:
            return True
        span = float(codes[-1]) - float(codes[0])
        are_neighbours = span == len(codes) - 1 and all(float(c).is_integer() for c in codes)
        if are_neighbours and len(codes) >= MIN_NEIGHBOUR_LABELS:
            return True
        return self.measure != SCALE_MEASURE and len(codes) >= MIN_LABELS

    def cells(self, stored: Sequence[Any]) -> pd.Series:
        """Return what the cells (n,) say, of the values as they are stored."""
        if self.has_categories or self.is_text:
            read = self._text_of if self.has_categories else self._written_text
            texts = {value: read(value) for value in set(stored)}
            return pd.Series([texts[value] for value in stored], dtype=object)
        numbers = np.array([np.nan if isinstance(v, str) else v for v in stored], dtype=float)
        is_hidden = self._are_missing(numbers)
        if self.days is not None:
            return pd.Series(self.days.texts(np.where(is_hidden, np.nan, numbers)), dtype=object)
        is_hidden &= ~np.isin(numbers, np.array(self._listed_missing_codes, dtype=float))
        numbers = np.where(is_hidden, np.nan, numbers)
        return pd.Series(numbers.astype(np.float32) if self.is_single_precision else numbers)

    def joined(self, parts: Sequence[pd.Series]) -> pd.Series:
        """Return the cells of all parts; those of categories in the order that the file states."""
        cells = pd.concat(parts, ignore_index=True)
        if not self.has_categories:
            return cells
        values = self.statement.values
        others = {text for text in cells.tolist() if text is not None}.difference(values)
        categories = [*values, *sorted(others, key=natural_sort_key)]
        return pd.Series(pd.Categorical(cells, categories, ordered=self.statement.ordered))

    @cached_property
    def _value_codes(self) -> tuple[Code, ...]:
        """The codes with a label that are no missing values, in order."""
        codes = [code for code in self.labels if not self._is_missing(code)]
        return tuple(codes if self.is_text else sorted(codes))

    @cached_property
    def _special_codes(self) -> tuple[Code, ...]:
        """The letters of special missing values with a label, as Stata and SAS have them."""
        return tuple(c for c in self.labels if isinstance(c, str) and not self.is_text)

    @cached_property
    def _listed_missing_codes(self) -> tuple[Code, ...]:
        """The codes that the file declares missing, without those of wide ranges and no label."""
        codes: list[Code] = []
        for low, high in self.missing_ranges:
            if low == high:
                codes.append(low)
            elif isinstance(low, float) and isinstance(high, float):
                first = max(low, -(2.0**53))
                last = min(high, 2.0**53)
                if last - first < MAX_LISTED_RANGE:
                    codes += map(float, range(math.ceil(first), math.floor(last) + 1))
        labelled = [c for c in self.labels if self._is_missing(c) and c not in self._special_codes]
        plain = {*codes, *labelled}
        if self.is_text:
            return tuple(str(code).strip() for code in sorted(plain, key=str))
        return tuple(int(c) if float(c).is_integer() else float(c) for c in sorted(plain))

    @cached_property
    def _text_by_code(self) -> dict[Code, str]:
        """The text of each code with a label; one that is missing differs from all values."""
        texts: dict[Code, str] = {}
        for code in self._value_codes:
            text = _category(self.labels[code])
            texts[code] = f"{text} ({_category(code)})" if text in RESERVED_LABELS else text
        values = {*texts.values(), *RESERVED_LABELS}
        for code in self.labels:
            if code not in texts:
                text = _category(self.labels[code])
                texts[code] = f"{text} ({_category(code)})" if text in values else text
        return texts

    def _text_of(self, value: Any) -> str | None:
        """Return what a value of a column of categories says; None where that is nothing."""
        code = value.strip() if isinstance(value, str) else value
        if code in self._text_by_code:
            return self._text_by_code[code]
        if self.is_text:
            return self._written_text(value)
        if code is None or isinstance(code, str):
            return None
        if self._is_missing(code) and code not in self._listed_missing_codes:
            return None
        return _category(code)

    def _written_text(self, value: Any) -> str | None:
        """Return the text of a value of a column of texts."""
        return value.strip() if isinstance(value, str) else None

    def _is_missing(self, code: Code) -> bool:
        """Return whether the file declares a code missing."""
        if isinstance(code, str) and not self.is_text:
            return True
        return any(_is_within(code, bounds) for bounds in self.missing_ranges)

    def _are_missing(self, numbers: Array) -> Array:
        """Return which numbers (n,) the file declares missing."""
        is_missing = np.zeros(len(numbers), dtype=bool)
        for low, high in self.missing_ranges:
            is_missing |= (numbers >= low) & (numbers <= high)
        return is_missing


def _is_within(code: Code, bounds: Range) -> bool:
    """Return whether a code lies in a range of codes of its own kind."""
    low, high = bounds
    if isinstance(code, str):
        return isinstance(low, str) and code.strip() == low.strip()
    return not isinstance(low, str) and not isinstance(high, str) and low <= code <= high


def _category(value: Code) -> str:
    """Return the text of a code or a label in the form in which categories are compared."""
    return category_of_cell(canonical_text_of_value(value))
