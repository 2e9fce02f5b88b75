"""The check that what a column's form writes is read as the same value: it needs no rows."""

from dataclasses import replace

import numpy as np
import pandas as pd

from ...core.errors import InputError, shorten
from ...core.types import Array
from ..column import Column
from .number_form import MAX_STEPS

MAX_TRIED_BINS = 50
DAYS_OF_A_YEAR = np.arange(0, 366, 15)  # so that every month is tried


def check_round_trip(column: Column) -> None:
    """Raise InputError unless the column's form is one, and what it writes is read as written.

    So a form must fit how the column is read, each bin must hold a number that it can write, and
    two digits of a year must mean one century.
    """
    form_text = f"column {column.name!r}: form {shorten(repr(column.form))}"
    try:
        form = column.written_form
    except InputError as error:
        raise InputError(f"{form_text}: {error}") from None
    if form is None:
        return
    if column.is_real_valued:
        _check_bins_hold_multiples(column, form_text)
    numbers = _numbers_to_try(column)
    texts = column.write(pd.Series(numbers))
    tolerant = replace(
        column, missing="category", unreadable="missing", out_of_range="clip", missing_codes=()
    )
    is_other = tolerant.read_numbers(texts) != numbers
    if is_other.any():
        i = int(is_other.argmax())
        raise InputError(
            f"{form_text} writes {column.number_text(numbers[i])} as "
            f"{shorten(repr(texts.iloc[i]))}, which read={column.read!r} does not read as that; "
            "change one of them"
        )


def without_unfit_form(column: Column) -> Column:
    """Return a column without its form where that cannot write numbers of all bins."""
    try:
        check_round_trip(column)
    except InputError:
        return replace(column, form="")
    return column


def _check_bins_hold_multiples(column: Column, form_text: str) -> None:
    """Raise InputError for a bin without a number that the form can write."""
    if column.step is not None and max(map(abs, column.bounds)) / column.step > MAX_STEPS:
        raise InputError(f"{form_text} has too many digits for numbers of this size; write fewer")
    first, last = column.step_ranges
    is_empty = last < first
    if is_empty.any():
        label = column.labels[int(is_empty.argmax())]
        raise InputError(
            f"{form_text} can write no number of the bin {label}; give it more digits, or use "
            "wider bins"
        )


def _numbers_to_try(column: Column) -> Array:
    """Return the first and the last numbers that the form writes, of a sample of the bins."""
    if column.is_real_valued and column.step is not None:
        up, down = column.step.as_integer_ratio()
        first, last = (steps * up / down for steps in column.step_ranges)
    else:
        first, after_last = column.whole_number_ranges
        last = after_last - 1
    count = min(len(first), MAX_TRIED_BINS)
    bins = np.unique(np.linspace(0, len(first) - 1, count).astype(int))
    numbers = np.concatenate([first[bins], last[bins]])
    if column.is_date:
        days = numbers[0] + DAYS_OF_A_YEAR * column.numbers_per_day
        numbers = np.append(numbers, days[days <= last[-1]])
    return numbers.astype(float)
