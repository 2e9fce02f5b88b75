"""Values, bounds and bins of one column, from the rows themselves: a private peek."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd

from ...core.errors import InputError
from ...core.types import Json
from ..amount_texts import has_limit_sign
from ..cell_text import canonical_text, canonical_text_of_value, text_of_cell
from ..column import Column
from ..column_readings import (
    AMOUNT_READINGS,
    ANY_CASE,
    AS_WRITTEN,
    WHOLE_DATES,
    casefold_text,
    category_of_cell,
    numbers_per_day_of_reading,
    parse_cell_number,
    whole_date_of_reading,
)
from ..column_texts import ColumnTexts
from ..date_texts import (
    DEFAULT_FIRST_YEAR,
    YEARS_OF_TWO_DIGITS,
    has_two_digit_year,
    parse_date,
)
from ..forms.number_form import parse_number_form
from ..schema_json import MAX_NUMBER, domain_from_json
from .column_guess import UNREADABLE_AS_MISSING, ColumnGuess, calendar_entry
from .date_bounds import round_date_bounds
from .identifiers import natural_sort_key
from .infer_form import infer_form
from .infer_schema import MAX_CATEGORIES
from .rounded_bounds import round_bounds
from .scales import order_on_scale


def infer_guessed_entry(guess: ColumnGuess, cells: pd.Series) -> Json:
    """Return the schema entry of a guess, with values or bounds and bins from the rows.

    Raises InputError if that gives no cells.
    """
    entry = guess.entry_from_rows
    if "values" in entry:
        return entry | _unlisted_values(guess, cells, entry)
    inferred = infer_column_from_data(
        guess.name,
        cells,
        entry["kind"],
        entry.get("read", AS_WRITTEN),
        unreadable=guess.unreadable,
        missing_codes=guess.missing_codes,
        form=entry.get("form", ""),
    )
    form = inferred.get("form")
    return {key: value for key, value in entry.items() if key != "form" or form} | inferred


def _unlisted_values(guess: ColumnGuess, cells: pd.Series, entry: Json) -> Json:
    """Return the values of an entry with those that the file does not name, and missing ones.

    Raises InputError if too many are not named.
    """
    column_texts = ColumnTexts.from_series(cells).without_missing_markers
    column_texts = _without_codes(column_texts, guess.missing_codes)
    named = set(entry["values"])
    unlisted = {category_of_cell(text) for text in column_texts.texts}.difference(named)
    if len(unlisted) > MAX_CATEGORIES:
        raise InputError(
            f"column {guess.name!r}: {len(unlisted)} values without a label are more than "
            f"{MAX_CATEGORIES}; leave it out, or group its values"
        )
    values = [*entry["values"], *sorted(unlisted, key=natural_sort_key)]
    return {"values": values} | _missing_policy(column_texts.empty_count)


def infer_column_from_data(
    name: str,
    cells: pd.Series,
    kind: str,
    reading: str = AS_WRITTEN,
    *,
    unreadable: bool = False,
    missing_codes: Sequence[object] = (),
    form: str = "",
) -> Json:
    """Return the schema entry of one column, with values or bounds and bins from the rows.

    Values are in their natural order, in that of a scale as Low and High, or in that of an ordered
    column of Parquet; bounds and bins are round. With `unreadable`, texts that are no number count
    as missing, as `missing_codes` do. Without a `form` it is the one in which most of the texts are
    written.

    Raises InputError if that gives no cells: dates and texts as they are, no value, too many
    different ones.
    """
    spec: Json = {"kind": kind} | ({"read": reading} if reading else {})
    if missing_codes:
        spec |= {"missing": "category", "missing_codes": list(missing_codes)}
    column_texts = ColumnTexts.from_series(cells, reading).without_missing_markers
    column_texts = _without_codes(column_texts, missing_codes)
    policy = _missing_policy(column_texts.empty_count)
    calendar = calendar_entry(reading)
    if calendar:
        return calendar | policy | (UNREADABLE_AS_MISSING if unreadable else {})
    if kind == "categorical":
        return spec | {"values": _category_values(name, cells, column_texts)} | policy
    form = form or infer_form(column_texts)
    bounds = _number_bounds(name, column_texts, kind, form, unreadable=unreadable)
    entry = spec | bounds | policy
    return entry | {"form": form} if form and _is_column(name, entry | {"form": form}) else entry


def _without_codes(column_texts: ColumnTexts, missing_codes: Sequence[object]) -> ColumnTexts:
    """Return the texts without codes for missing values, which count as empty cells."""
    if not missing_codes:
        return column_texts
    keys = {canonical_text_of_value(code) for code in missing_codes}
    is_kept = np.array([canonical_text(text) not in keys for text in column_texts.texts], bool)
    texts = [text for text, kept in zip(column_texts.texts, is_kept, strict=True) if kept]
    counts = column_texts.counts[is_kept]
    empty_count = column_texts.n - int(counts.sum())
    return replace(column_texts, texts=tuple(texts), counts=counts, empty_count=empty_count)


def _category_values(name: str, cells: pd.Series, column_texts: ColumnTexts) -> list[str]:
    """Return a column's categories in order; InputError for none, and for too many."""
    reading = column_texts.read
    if reading == ANY_CASE:
        values = _most_frequent_spellings(column_texts)
    else:
        values = {category_of_cell(text, reading) for text in column_texts.texts}
    if len(values) > MAX_CATEGORIES:
        raise InputError(
            f"column {name!r}: {len(values)} different values are more than "
            f"{MAX_CATEGORIES}; leave it out, or group its values"
        )
    if not values:
        raise InputError(f"column {name!r}: it holds no value that could be read off")
    in_natural_order = order_on_scale(values) or sorted(values, key=natural_sort_key)
    if not isinstance(cells.dtype, pd.CategoricalDtype) or not cells.dtype.ordered:
        return in_natural_order
    categories = [category_of_cell(text_of_cell(c), reading) for c in cells.dtype.categories]
    ordered_values = [value for value in dict.fromkeys(categories) if value in values]
    return [*ordered_values, *(value for value in in_natural_order if value not in categories)]


def _is_column(name: str, entry: Json) -> bool:
    """Return whether an entry describes a column, so that its form fits bounds and reading."""
    try:
        domain_from_json({"columns": {name: entry}})
    except InputError:
        return False
    return True


def _number_bounds(
    name: str, column_texts: ColumnTexts, kind: str, form: str, *, unreadable: bool
) -> Json:
    """Return kind, bounds and bins of a column of numbers; InputError where some are none."""
    whole_date = whole_date_of_reading(column_texts.read)
    texts = column_texts.texts
    if form and not whole_date:
        texts = tuple(map(parse_number_form(form).bare_number_text, texts))
    first_year = _likely_first_year(column_texts)
    numbers = np.array([parse_cell_number(text, column_texts.read, first_year) for text in texts])
    counts = column_texts.counts
    spec: Json = {}
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
    if whole_date:
        per_day = numbers_per_day_of_reading(column_texts.read)
        return spec | {"kind": kind} | round_date_bounds(numbers, counts, per_day)
    whole = kind == "integer" and bool((numbers == np.floor(numbers)).all())
    spec["kind"] = "integer" if whole else "numeric"
    spec |= round_bounds(numbers, counts, whole=whole)
    if _needs_first_year(column_texts, spec, first_year):
        spec["first_year"] = first_year
    limit = _upper_limit(column_texts)
    return spec if limit is None else spec | _bounds_up_to_limit(spec, limit)


def _upper_limit(column_texts: ColumnTexts) -> float | None:
    """Return the largest number of texts such as `90+` and `>90`; None where there are none."""
    if column_texts.read not in AMOUNT_READINGS:
        return None
    limits = [
        parse_cell_number(text, column_texts.read)
        for text in column_texts.texts
        if has_limit_sign(text) and not text.startswith(("<", "≤"))
    ]
    return max(limits, default=None)


def _bounds_up_to_limit(spec: Json, limit: float) -> Json:
    """Return the bounds of an entry, which end at a limit where no bin lies beyond it.

    So `90+` is in the last bin, and no synthetic row is beyond 90.
    """
    if "edges" in spec:
        edges = [*(edge for edge in spec["edges"] if edge < limit), limit]
        return {"edges": edges} if len(edges) > 1 else {}
    if not spec["low"] < limit < spec["high"]:
        return {}
    if "bins" not in spec:
        return {"high": limit}
    step = (spec["high"] - spec["low"]) / spec["bins"]
    inner = [spec["low"] + step * i for i in range(spec["bins"])]
    return {"edges": [*(edge for edge in inner if edge < limit), limit]}


def _likely_first_year(column_texts: ColumnTexts) -> int:
    """Return the first of the hundred years that years of two digits seem to mean.

    They begin after the widest gap between these years, and end by now: most days are past.
    """
    part, _, order = column_texts.read.partition(" of ")
    short_texts = [
        text
        for text in column_texts.texts
        if part in ("year", *WHOLE_DATES) and has_two_digit_year(text)
    ]
    days = [parse_date(text, order) for text in short_texts]
    years = sorted({day.year % YEARS_OF_TWO_DIGITS for day in days if day})
    if not years:
        return DEFAULT_FIRST_YEAR
    following = [*years[1:], years[0] + YEARS_OF_TWO_DIGITS]
    gaps = [after - before for before, after in zip(years, following, strict=True)]
    widest = gaps.index(max(gaps))
    span = YEARS_OF_TWO_DIGITS - gaps[widest]
    first = following[widest] % YEARS_OF_TWO_DIGITS
    this_year = date.today().year
    return first + YEARS_OF_TWO_DIGITS * ((this_year - span - first) // YEARS_OF_TWO_DIGITS)


def _needs_first_year(column_texts: ColumnTexts, spec: Json, first_year: int) -> bool:
    """Return whether the range of years alone would say another century of some text."""
    edges = spec.get("edges") or [spec["low"], spec["high"]]
    column = Column(name="", kind="integer", read=column_texts.read, low=edges[0], high=edges[-1])
    return column.read.startswith("year") and any(
        has_two_digit_year(text)
        and parse_cell_number(text, column.read, first_year)
        != parse_cell_number(text, column.read, column.first_year)
        for text in column_texts.texts
    )


def _missing_policy(missing: int) -> dict[str, str]:
    return {"missing": "category"} if missing else {}


def _most_frequent_spellings(column_texts: ColumnTexts) -> set[str]:
    """Return the most frequent spelling of each category.

    A category is all texts that are read alike.
    """
    rarest_first = sorted(zip(-column_texts.counts, column_texts.texts, strict=True), reverse=True)
    return set(
        {casefold_text(text): text for _, text in rarest_first}.values()
    )  # of those alike the last one stays
