"""One column's raw cells, grouped by text, before there is a schema; schemas are measured on them.

What a cell reads as, and which of the public kinds it is, depends on that cell and on public things alone.
"""

import re
from collections.abc import Iterable
from functools import cached_property

import numpy as np
import pandas as pd

from ..core.types import Array, Texts, frozen
from .cell_text import MISSING_TEXTS, counted, is_text
from .column import MISSING_LABEL, OTHER, absences
from .column_readings import AS_WRITTEN, ORDERS, category_of, number_of, read_date

LONGEST = 200  # characters of a text that may become a category
MISSING, WHOLE, NUMBER, TEXT = 0, 1, 2, 6
DATES = {order: 3 + i for i, order in enumerate(ORDERS)}
COMMAS = 7
KINDS = 8  # of cells: missing, a whole number, another number, a day in one of three orders, any other text, and a
# number with a decimal comma
DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+")


@frozen
class RawCells:
    """The distinct texts (r,) of a column's cells, their counts, and the number of empty cells.

    `read` is how each is read first; see `readings`.
    """

    texts: Texts
    counts: Array
    empty: int
    read: str = AS_WRITTEN

    @classmethod
    def of(cls, cells: pd.Series, read: str = AS_WRITTEN) -> "RawCells":
        """The cells of a column of a table."""
        texts, counts = counted(cells)
        return cls(tuple(texts), counts, len(cells) - int(counts.sum()), read)

    @property
    def present(self) -> int:
        """The number of cells that are not empty."""
        return int(self.counts.sum())

    @property
    def n(self) -> int:
        """The number of cells."""
        return self.present + self.empty

    @property
    def said(self) -> "RawCells":
        """The same cells, where a text for a missing value counts as empty, and each text occurs once."""
        text_counts = {text: count for text, count in self._summed(self.texts).items() if text not in MISSING_TEXTS}
        counts = np.fromiter(text_counts.values(), int, len(text_counts))
        return RawCells(tuple(text_counts), counts, self.n - int(counts.sum()), self.read)

    def _summed(self, names: Iterable[str]) -> dict[str, int]:
        """The number of cells for each name, given one name for every text."""
        cell_counts: dict[str, int] = {}
        for name, count in zip(names, self.counts.tolist(), strict=True):
            cell_counts[name] = cell_counts.get(name, 0) + count
        return cell_counts

    @cached_property
    def _read(self) -> dict[str, int]:
        """The number of cells for each text as it is read."""
        return self._summed(category_of(text, self.read) for text in self.texts)

    @cached_property
    def categories(self) -> dict[str, int]:
        """The count of each category, except texts that cannot be one: too long, no Unicode, or the other's name.

        None of them is a way to say that a value is missing.
        """
        excluded = {OTHER, MISSING_LABEL, *absences(self.read)}
        return {
            key: count
            for key, count in self._read.items()
            if key not in excluded and 0 < len(key) <= LONGEST and is_text(key)
        }

    @cached_property
    def missing(self) -> int:
        """The number of cells that are empty or hold a text for a missing value."""
        missing_texts = absences(self.read)
        return self.empty + sum(count for key, count in self._read.items() if key in missing_texts)

    @cached_property
    def numbers(self) -> Array:
        """The number that each text states (r,), NaN where it states none."""
        return np.array([number_of(text, self.read) for text in self.texts])

    @cached_property
    def kinds(self) -> Array:
        """The number of cells of each kind (KINDS,)."""
        return np.bincount(
            [MISSING, *(_kind(text, self.read) for text in self.texts)],
            np.append(self.empty, self.counts),
            KINDS,
        ).astype(np.int64)


def _kind(text: str, how: str) -> int:
    if text in MISSING_TEXTS:
        return MISSING
    number = number_of(text, how)
    if number == number:
        return WHOLE if number == np.floor(number) else NUMBER
    if DECIMAL_COMMA.fullmatch(text):
        return COMMAS
    return next((DATES[order] for order in ORDERS if read_date(text, order)), TEXT)
