"""Column: the public facts about one column, and the coding of its cells."""

import math
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd

from ..core.errors import InputError, shorten
from ..core.types import Array, Rng, Texts, by_name
from .bin_curve import BinCurve, fit_bin_curve
from .cell_text import (
    MISSING_TEXTS,
    canonical_text_of_value,
    count_texts,
    factorize_texts,
    floats_as_printed,
)
from .column_readings import (
    ANY_CASE,
    AS_WRITTEN,
    casefold_text,
    category_of_cell,
    missing_texts_of_reading,
    numbers_per_day_of_reading,
    parse_cell_number,
    whole_date_of_reading,
)
from .date_texts import DEFAULT_FIRST_YEAR, YEARS_OF_TWO_DIGITS
from .forms.bin_numbers import multiples_in_bins, whole_number_bins
from .forms.calendar_numbers import (
    SECONDS_PER_DAY,
    date_of_number,
    day_text,
    moment_text,
    parse_period,
    period_labels,
)
from .forms.date_form import DateForm, default_date_form, parse_date_form
from .forms.number_form import NumberForm, parse_number_form

MISSING_LABEL = "(missing)"
OTHER_LABEL = "(other)"  # the category of all that is not listed, where a column has one
MAX_COLUMN_CELLS = 1_000_000
# values with the other texts that are read as them, and values that count as missing
SameTexts = tuple[tuple[str | int | float | bool, Texts], ...]
MissingCodes = tuple[str | int | float, ...]


@by_name
class Column:
    """A public column of categories (`values`), whole numbers (`low`..`high`) or bins (`edges`).

    A whole number is one cell.

    Bin i is [edges[i], edges[i+1]); the last bin includes `high`. With missing="category" one more
    cell stands last. `ordered` says that neighbouring cells are alike, `read` how cells are read
    first, one by one: see `column_readings`.

    A column that refuses nothing, as one whose schema was measured, has out_of_range="clip" and
    unreadable="missing", or the category OTHER, and out_of_range="other": unlisted values are
    counted there, as missing ones are with missing="other".

    `same` holds values with the other texts that are read as them, `missing_codes` values that
    count as missing, as -9 and 99 beside ages. `stated_first_year` is the first of the hundred
    years that two digits of a year can mean; without it the range says the century. A column that
    is `read` as a date holds its number (`forms`). `form` is how dates and numbers are written:
    without one, a number as digits.

    >>> Column(name="age", kind="integer", low=17, high=90).size
    74
    """

    name: str
    kind: str
    values: tuple[str | int | float | bool, ...] = ()
    low: float | None = None
    high: float | None = None
    edges: tuple[float, ...] = ()
    ordered: bool = False
    missing: str = "refuse"
    out_of_range: str = "refuse"
    read: str = ""
    unreadable: str = "refuse"
    same: SameTexts = ()
    missing_codes: MissingCodes = ()
    form: str = ""
    stated_first_year: int | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """`low` and `high` of a column of numbers; InputError for categories, which have none."""
        if self.low is None or self.high is None:
            raise InputError(
                f"column {self.name!r} holds categories, not numbers; numbers with public bounds "
                "are needed here"
            )
        return self.low, self.high

    @property
    def nonmissing_size(self) -> int:
        """The number of cells for values that are not missing."""
        if self.values:
            return len(self.values)
        if self.edges:
            return len(self.edges) - 1
        low, high = self.bounds
        return int(high) - int(low) + 1

    @property
    def size(self) -> int:
        """The number of cells, the missing one included."""
        return self.nonmissing_size + (self.missing == "category")

    @property
    def allowed_text(self) -> str:
        """The allowed values in words, cut when long."""
        if not self.values:
            return "..".join(map(self.number_text, self.bounds))
        text = ", ".join(repr(v) for v in self.values[:8])
        return text if len(self.values) <= 8 else f"{text}, … ({len(self.values)} in all)"

    @cached_property
    def labels(self) -> Texts:
        """A text for every cell, in order."""
        if self.values:
            texts = [*map(canonical_text_of_value, self.values)]
        elif self.is_date and not self.is_real_valued:
            texts = [*period_labels(*self.whole_number_ranges)]
        elif self.is_real_valued:
            bin_texts = [f"{a} to under {b}" for a, b in self._bin_edge_texts]
            texts = [
                *bin_texts[:-1],
                bin_texts[-1].replace("under ", ""),
            ]  # the last bin includes its upper edge
        else:
            texts = [
                f"{a}–{b - 1}" if b - a > 1 else str(a)
                for a, b in zip(*self.whole_number_ranges, strict=True)
            ]
        if self.missing == "category":
            texts.append(MISSING_LABEL)
        return tuple(texts)

    @property
    def is_real_valued(self) -> bool:
        """Whether the cells are bins of numbers that need not be whole."""
        return self.kind == "numeric"

    @property
    def is_date(self) -> bool:
        """Whether the numbers are those of days or times."""
        return bool(whole_date_of_reading(self.read))

    @property
    def numbers_per_day(self) -> int:
        """The numbers that a day has in a column of dates: 1, or that of its seconds."""
        return numbers_per_day_of_reading(self.read)

    def number_text(self, number: float) -> str:
        """Return a number of the column in words: `2020-12-31` for that of a day."""
        if not self.is_date:
            return f"{number:g}"
        return moment_text(number) if self.is_real_valued else day_text(number)

    def span_of_period(self, text: str) -> tuple[float, float] | None:
        """Return the first number of a day, month or year, and the one after its last.

        None for a text that says none, as `2020-12-31`, `2020-12` and `2020` do.
        """
        period = parse_period(text)
        if period is None:
            return None
        first, after_last = (second * self.numbers_per_day / SECONDS_PER_DAY for second in period)
        return first, math.ceil(after_last)

    @cached_property
    def written_form(self) -> DateForm | NumberForm | None:
        """The form in which dates and numbers are written; None for digits alone.

        Raises InputError for a `form` that is none.
        """
        if not self.is_date:
            return parse_number_form(self.form) if self.form else None
        seconds_per_number = SECONDS_PER_DAY // self.numbers_per_day
        if self.form:
            return parse_date_form(self.form, seconds_per_number)
        return default_date_form(self.read.partition(" of ")[2], seconds_per_number)

    @property
    def whole_number_ranges(self) -> tuple[Array, Array]:
        """The first whole number of every cell, and the one after its last, each (present,).

        Raises InputError for categories.
        """
        if self.edges:
            return whole_number_bins(self.edges)
        first = int(self.bounds[0]) + np.arange(self.nonmissing_size)
        return first, first + 1

    @property
    def _bin_edge_texts(self) -> list[tuple[str, str]]:
        """The edges of every bin as texts, with enough digits to distinguish all edges."""
        if self.is_date:
            return list(pairwise(map(moment_text, self.edges)))
        digits = next(
            d for d in (6, 9, 12, 17) if len({f"{e:.{d}g}" for e in self.edges}) == len(self.edges)
        )
        return list(pairwise(f"{e:.{digits}g}" for e in self.edges))

    @cached_property
    def code_by_label(self) -> dict[str, int]:
        """The code of every value or bin by its label.

        A bin of real numbers is also found as "[20, 40)".
        """
        codes = {label: code for code, label in enumerate(self.labels[: self.nonmissing_size])}
        if self.is_real_valued:
            last_code = self.nonmissing_size - 1
            codes |= {
                f"[{a}, {b}{']' if i == last_code else ')'}": i
                for i, (a, b) in enumerate(self._bin_edge_texts)
            }
        return codes

    @cached_property
    def midpoints(self) -> Array:
        """The middle of every cell's numbers (size,), NaN for the missing cell.

        Raises InputError for categories.
        """
        least, largest = self.number_ranges
        if self.is_real_valued:
            largest = np.asarray(self.edges[1:])
        return np.append((least + largest) / 2, [np.nan] * (self.size - self.nonmissing_size))

    @property
    def number_ranges(self) -> tuple[Array, Array]:
        """The least and the largest number of every cell (present,); InputError for categories."""
        if not self.is_real_valued:
            first, after_last = self.whole_number_ranges
            return first.astype(float), after_last - 1.0
        edges = np.asarray(self.edges, dtype=float)
        return edges[:-1], np.append(np.nextafter(edges[1:-1], -np.inf), edges[-1])

    def label_of_range(self, first: int, last: int) -> str:
        """Return neighbouring cells as words: `25–44`, `0 to under 35`, `Basic to Bachelor`.

        The cells are first..last.
        """
        first_label = self.labels[first]
        last_label = self.labels[last]
        if first == last or self.values:
            return first_label if first == last else f"{first_label} to {last_label}"
        separator = " to " if self.is_real_valued else "–"
        return first_label.split(separator)[0] + separator + last_label.split(separator)[-1]

    def encode(self, cells: pd.Series) -> Array:
        """Return the codes (n,) of texts, numbers or booleans.

        Raises InputError, which names the value, its row and how many are refused.
        """
        codes, absent, outside = self._classify_cells(cells)
        if self.values and self.out_of_range == "other":
            codes = np.where(outside, self.values.index(OTHER_LABEL), codes)
        elif self.values:
            self._raise_if_any(
                outside, cells, f"is not one of the allowed values {self.allowed_text}"
            )
        elif self.out_of_range == "refuse":
            self._raise_if_any(
                outside,
                cells,
                f"is outside {self.allowed_text}",
                'widen it or set out_of_range "clip"',
            )
        if self.missing == "refuse":
            self._raise_if_any(
                absent, cells, "is missing", 'set missing "category" to give it a value of its own'
            )
        return np.where(
            absent,
            self.values.index(OTHER_LABEL) if self.missing == "other" else self.nonmissing_size,
            codes,
        )

    def encode_leniently(self, cells: pd.Series) -> tuple[Array, Array, Array]:
        """Return codes (n,) of cells that another tool wrote, and masks of valid and placed ones.

        A cell that `encode` refuses is not valid. It is placed all the same where the nearest cell
        is plain: a fraction at its whole number, a number outside at the end of the range, a value
        in other letters (`False` for FALSE) at that value, and what cannot be read as missing. A
        cell that is not placed has the code 0.
        """
        if self.values:
            codes, absent, outside = self._classify_cells(cells)
            is_refused = outside & (self.out_of_range == "refuse")
            other_code = self._code_of_any_case(cells)
            codes = np.where(outside, np.maximum(other_code, 0), codes)
            unplaced = outside & (other_code < 0)
        else:
            numbers, absent = self._read_raw_numbers(cells)
            is_unreadable = np.isnan(numbers) & ~absent
            rounded = np.rint(numbers) if self.kind == "integer" else numbers
            is_fractional = ~is_unreadable & ~absent & (rounded != numbers)
            low, high = self.bounds
            outside = ~is_unreadable & ~absent & ((rounded < low) | (rounded > high))
            is_refused = outside & (self.out_of_range == "refuse")
            if self.unreadable == "missing":
                absent = absent | is_unreadable | is_fractional
            else:
                is_refused = is_refused | is_unreadable | is_fractional
            codes = self._codes_of_numbers(rounded, absent | is_unreadable)
            unplaced = is_unreadable & ~absent
        is_valid = ~is_refused & ~(absent & (self.missing == "refuse"))
        missing_code = self.values.index(OTHER_LABEL) if self.missing == "other" else None
        if self.missing == "category":
            missing_code = self.nonmissing_size
        needs_missing = absent | unplaced
        if missing_code is None:
            return np.where(needs_missing, 0, codes), is_valid, ~needs_missing
        return np.where(needs_missing, missing_code, codes), is_valid, np.ones(len(cells), bool)

    def _code_of_any_case(self, cells: pd.Series) -> Array:
        """Return the code (n,) of the only value that each cell says in other letters, else −1.

        A column with a category for all others has that one instead of −1.
        """
        default = self.values.index(OTHER_LABEL) if self.out_of_range == "other" else -1
        if self.out_of_range == "other":
            return np.full(len(cells), default)
        codes_by_text: dict[str, set[int]] = {}
        for key, code in self.code_by_key.items():
            codes_by_text.setdefault(casefold_text(key), set()).add(code)
        text_index, texts = factorize_texts(cells)
        candidates = [codes_by_text.get(casefold_text(text), set()) for text in texts]
        codes = [next(iter(found)) if len(found) == 1 else default for found in candidates]
        return np.array([*codes, default])[text_index]

    def read_numbers(self, cells: pd.Series) -> Array:
        """Return the numbers (n,), clipped to low..high, NaN if missing.

        Raises what `encode` raises, and InputError for a column of categories.
        """
        bounds = self.bounds
        self.encode(cells)
        numbers, absent = self._parse_numbers(cells)
        return np.where(absent, np.nan, np.clip(numbers, *bounds))

    def count_missing_and_outside(self, cells: pd.Series) -> tuple[int, int]:
        """Return how many raw cells are missing and how many are outside the allowed values.

        The numbers come from the rows themselves.
        """
        _, absent, outside = self._classify_cells(cells)
        return int(absent.sum()), int(outside.sum())

    def missing_text_counts(self, cells: pd.Series) -> dict[str, int]:
        """Return the texts that count as missing in this column, with their cell counts.

        The counts come from the rows themselves.
        """
        texts, counts = count_texts(cells)
        absent = self._classify_cells(pd.Series(texts, dtype=object))[1]
        return {
            text: int(n)
            for text, n, gone in zip(texts, counts, absent, strict=True)
            if gone and text
        }

    def category_key(self, value: object) -> str:
        """Return the key that is equal for two values of the same category."""
        return category_of_cell(
            canonical_text_of_value(value), ANY_CASE if self.read == ANY_CASE else AS_WRITTEN
        )

    @cached_property
    def code_by_key(self) -> dict[str, int]:
        """The code of every category by each key that is read as it."""
        codes = {self.category_key(value): code for code, value in enumerate(self.values)}
        for value, texts in self.same:
            code = codes[self.category_key(value)]
            codes |= {self.category_key(text): code for text in texts}
        return codes

    @cached_property
    def missing_keys(self) -> frozenset[str]:
        """The keys of texts that count as missing, unless they are keys of categories."""
        codes = map(self.category_key, self.missing_codes)
        return missing_texts_of_reading(self.read).union(codes)

    @cached_property
    def first_year(self) -> int:
        """The first of the hundred years that a year of two digits can mean.

        Where it is not stated, they lie around the middle of the stated range of years or days.
        """
        if self.stated_first_year is not None:
            return self.stated_first_year
        if self.low is None or self.high is None:
            return DEFAULT_FIRST_YEAR
        middle = (self.low + self.high) / 2
        if self.is_date:
            middle = date_of_number(middle // self.numbers_per_day).year
        elif not self.read.startswith("year"):
            return DEFAULT_FIRST_YEAR
        return math.floor(middle) - YEARS_OF_TWO_DIGITS // 2

    def _classify_cells(self, cells: pd.Series) -> tuple[Array, Array, Array]:
        """Return codes (n,), clipped into range, and masks of missing and of outside cells.

        Raises InputError for other texts.
        """
        if self.values:
            text_index, texts = factorize_texts(cells)
            keys = [category_of_cell(text, self.read, self.first_year) for text in texts]
            unlisted_code = -2 if self.unreadable == "missing" else -1
            code_of_text = np.array(
                [
                    self.code_by_key.get(key, -2 if key in self.missing_keys else unlisted_code)
                    for key in keys
                ]
                + [-2]
            )
            codes = code_of_text[text_index]
            return np.maximum(codes, 0), codes == -2, codes == -1
        numbers, absent = self._parse_numbers(cells)
        low, high = self.bounds
        outside = ~absent & ((numbers < low) | (numbers > high))
        return self._codes_of_numbers(numbers, absent), absent, outside

    def _codes_of_numbers(self, numbers: Array, absent: Array) -> Array:
        """Return the codes (n,) of numbers, clipped into the range; any for absent ones."""
        low, high = self.bounds
        numbers = np.clip(np.where(absent, low, numbers), low, high)
        if self.edges:
            return np.minimum(
                np.searchsorted(self.edges, numbers, side="right") - 1, self.nonmissing_size - 1
            )
        return (numbers - low).astype(np.int64)

    def fit_bin_curve(self, codes: Array) -> BinCurve | None:
        """Return how numbers lie in the bins of rows with codes (n,); None where they lie evenly.

        See `bin_curve`. Categories and single whole numbers have no bins to lie in.
        """
        if self.values or not self.edges:
            return None
        edges = np.asarray(self.edges, dtype=float)
        if not self.is_real_valued:
            first, after_last = self.whole_number_ranges
            edges = np.append(first, after_last[-1]).astype(float)
        counts = np.bincount(codes, minlength=self.size)[: self.nonmissing_size]
        return fit_bin_curve(edges, counts)

    def decode(self, codes: Array, rng: Rng, curve: BinCurve | None = None) -> pd.Series:
        """Return values (n,) for codes (n,), drawn within each bin along a curve, or evenly.

        Whole numbers stay whole, missing stays missing.
        """
        absent = codes == self.nonmissing_size
        codes = np.where(absent, 0, codes).astype(np.int64)
        if self.values:
            all_whole = all(type(v) is int for v in self.values)
            values = pd.Series(np.array(self.values, dtype=None if all_whole else object)[codes])
        elif self.is_real_valued:
            edges = np.asarray(self.edges)
            low = edges[codes]
            high = edges[codes + 1]
            draws = rng.uniform(low, high) if curve is None else curve.draw(codes, rng)
            # a draw may be rounded up to the next bin's edge
            values = pd.Series(np.minimum(draws, np.nextafter(high, low)))
        else:
            first, after_last = self.whole_number_ranges
            low = first[codes]
            high = after_last[codes]
            if curve is None:
                draws = rng.integers(low, high)
            else:
                draws = np.clip(curve.draw(codes, rng).astype(np.int64), low, high - 1)
            values = pd.Series(draws)
        if absent.any():
            values = (values.astype("Int64") if values.dtype.kind == "i" else values).mask(absent)
        return values.rename(self.name)

    def decode_rounded(self, codes: Array, rng: Rng, curve: BinCurve | None = None) -> pd.Series:
        """Return the values of `decode`, with numbers of bins rounded down to multiples of `step`.

        These are the digits that the numbers are worth, or that the form has.
        """
        values = self.decode(codes, rng, curve)
        if not self.is_real_valued or self.step is None:
            return values
        bins = np.where(codes == self.nonmissing_size, 0, codes)
        first, last = self.step_ranges
        up, down = self.step.as_integer_ratio()
        steps = np.floor(values.to_numpy(dtype=float) * down / up)
        # also where the product was rounded up
        steps = np.clip(steps, first[bins], last[bins])
        return pd.Series(steps * up / down, name=self.name)

    def write(self, values: pd.Series) -> pd.Series:
        """Return values (n,) as the texts of the column's form; as they are where it has none."""
        form = self.written_form
        if self.values or form is None:
            return values
        index, numbers = pd.factorize(values, use_na_sentinel=True)
        texts = np.array([*map(form.write, numbers.tolist()), None], dtype=object)
        return pd.Series(texts[index], name=self.name, dtype=object)

    @cached_property
    def step(self) -> Fraction | None:
        """The distance of the numbers that are drawn: that of the form, or a power of ten."""
        if self.written_form is not None:
            return self.written_form.step
        return None if self.decimal_places is None else Fraction(1, 10**self.decimal_places)

    @cached_property
    def step_ranges(self) -> tuple[Array, Array]:
        """The first and the last multiple of `step` in every bin (present,), in steps."""
        return multiples_in_bins(self.edges, self.step or Fraction(1))

    @cached_property
    def decimal_places(self) -> int | None:
        """The number of digits after the point of a drawn number.

        It is that of the edges, or enough for ten steps in a bin. None if the edges fit no grid
        that floating point can tell apart: 1/3, or 0.1 beside 10¹⁵.
        """
        edge_digits = (
            -int(Decimal(repr(float(edge))).normalize().as_tuple().exponent) for edge in self.edges
        )
        digits = max(0, math.ceil(1 - math.log10(min(np.diff(self.edges)))), *edge_digits)
        return None if digits > 12 or max(map(abs, self.edges)) * 10.0**digits > 2.0**50 else digits

    def _parse_numbers(self, cells: pd.Series) -> tuple[Array, Array]:
        """Return finite floats (n,), NaN for cells without a number, and a mask of missing ones.

        Raises InputError for other texts, and for fractions of a column of whole numbers.
        """
        numbers, absent = self._read_raw_numbers(cells)
        is_unreadable = np.isnan(numbers) & ~absent
        is_fractional = (
            (self.kind == "integer") & (numbers != np.floor(numbers)) & ~absent & ~is_unreadable
        )
        if self.unreadable == "missing":
            return numbers, absent | is_unreadable | is_fractional
        self._raise_if_any(is_unreadable, cells, f"is not a number in {self.allowed_text}")
        self._raise_if_any(is_fractional, cells, f"is not a whole number in {self.allowed_text}")
        return numbers, absent

    def _read_raw_numbers(self, cells: pd.Series) -> tuple[Array, Array]:
        """Return finite floats (n,), NaN for cells without a number, and a mask of missing ones."""
        is_number_type = isinstance(cells.dtype, np.dtype) and cells.dtype.kind in "iuf"
        if is_number_type and " of " not in self.read:  # what their texts say, without them
            numbers = floats_as_printed(cells.to_numpy())
            absent = np.isnan(numbers)
            numbers = np.where(np.isfinite(numbers), numbers, np.nan)
        else:
            codes, texts = factorize_texts(cells)
            form = self.written_form
            bare_texts = texts if form is None else map(form.bare_number_text, texts)
            text_numbers = [
                parse_cell_number(text, self.read, self.first_year) for text in bare_texts
            ]
            numbers = np.array([*text_numbers, np.nan])[codes]
            absent = np.array([*map(self.is_missing_text, texts), True])[codes]
        if self.missing_codes:
            absent = absent | np.isin(numbers, self.missing_numbers)
        return numbers, absent

    def is_missing_text(self, text: str) -> bool:
        """Return whether a text counts as missing in a column of numbers."""
        if not self.missing_codes:
            return text in MISSING_TEXTS
        return text in MISSING_TEXTS or category_of_cell(text) in self.missing_keys

    @cached_property
    def missing_numbers(self) -> Array:
        """The numbers among the codes for missing values."""
        numbers = [parse_cell_number(canonical_text_of_value(code)) for code in self.missing_codes]
        return np.array([number for number in numbers if not math.isnan(number)])

    def _raise_if_any(
        self, refused: Array, cells: pd.Series, reason: str, advice: str = ""
    ) -> None:
        if refused.any():
            row = int(refused.argmax())
            value = cells.iloc[row]
            value_text = shorten(repr(value.item() if isinstance(value, np.generic) else value))
            message = f"column {self.name!r}: {value_text} in row {row + 1} {reason}"
            advice_text = f"; {advice}" if advice else ""
            raise InputError(
                f"{message} ({refused.sum()} of {len(cells)} rows like it){advice_text}"
            )
