"""Constraints of a schema as a person chooses them from lists, and in words."""

import json
from collections.abc import Mapping, Sequence

from ...core.errors import InputError
from ...core.types import Json, Texts
from ..cell_text import canonical_text_of_value
from ..column import MISSING_LABEL, Column
from ..constraints_json import codes_to_json

MAX_CHOICE_CELLS = 2000  # of a column whose values are chosen from a list


def codes_of_choice(column: Column, first: str, last: str | None = None) -> list[int]:
    """Return the codes of the cells from one label of a column to another one, both included.

    Without a last one, or for missing values, it is the first alone.
    """
    start = column.labels.index(first)
    if last is None or MISSING_LABEL in (first, last):
        return [start]
    end = column.labels.index(last)
    return [*range(min(start, end), max(start, end) + 1)]


def impossible_combination(columns: Sequence[Column], codes: Sequence[Sequence[int]]) -> Json:
    """Return the constraint that these cells of the columns never occur together.

    Raises InputError for less than two different columns, or a column without cells.
    """
    _check_choice(columns, codes)
    return {
        "impossible": {
            column.name: _alone_or_list(codes_to_json(column, column_codes))
            for column, column_codes in zip(columns, codes, strict=True)
        }
    }


def allowed_combination(
    columns: Sequence[Column], codes: Sequence[Sequence[int]], constraints: Sequence[Json]
) -> list[Json]:
    """Return the constraints with one by which cells of a column go with cells of another alone.

    It is added to the constraint that these columns have already, if there is one. Raises
    InputError as `impossible_combination` does, and for missing values of the first column.
    """
    _check_choice(columns, codes)
    first, second = columns
    if any(code >= first.nonmissing_size for code in codes[0]):
        raise InputError(f"column {first.name!r}: missing values may go with anything")
    names = [first.name, second.name]
    allowed = _alone_or_list(codes_to_json(second, codes[1]))
    which = {first.labels[code]: allowed for code in codes[0]}
    for position, constraint in enumerate(constraints):
        if isinstance(constraint, Mapping) and constraint.get("within") == names:
            merged = {"within": names, "which": {**constraint.get("which", {}), **which}}
            return [*constraints[:position], merged, *constraints[position + 1 :]]
    return [*constraints, {"within": names, "which": which}]


def constraint_in_words(constraint: object) -> str:
    """Return what a constraint of a schema says, in words; its JSON if it is not in a known form.

    >>> constraint_in_words({"impossible": {"age": {"to": 14}, "married": "yes"}})
    'never together: age up to 14 and married yes'
    """
    if isinstance(constraint, Mapping):
        impossible = constraint.get("impossible")
        if isinstance(impossible, Mapping):
            parts = [f"{name} {_values_in_words(values)}" for name, values in impossible.items()]
            return f"never together: {' and '.join(parts)}"
        order = constraint.get("order")
        if isinstance(order, list):
            return f"never falls: {' ≤ '.join(map(str, order))}"
        within = constraint.get("within")
        which = constraint.get("which")
        if isinstance(within, list) and isinstance(which, Mapping):
            pairs = [f"{value} with {_values_in_words(v)}" for value, v in which.items()]
            return f"only together, {' and '.join(map(str, within))}: {'; '.join(pairs)}"
    return json.dumps(constraint, ensure_ascii=False)


def orderable_names(columns: Sequence[Column]) -> Texts:
    """Return the names of the columns whose numbers can be compared."""
    return tuple(column.name for column in columns if not column.values)


def _check_choice(columns: Sequence[Column], codes: Sequence[Sequence[int]]) -> None:
    if len({column.name for column in columns}) < 2:
        raise InputError("choose two different columns")
    for column, column_codes in zip(columns, codes, strict=True):
        if not column_codes:
            raise InputError(f"column {column.name!r}: choose at least one value")


def _alone_or_list(values: list) -> object:
    """Return the values as a schema writes them: one alone without a list."""
    return values[0] if len(values) == 1 else values


def _values_in_words(values: object) -> str:
    items = values if isinstance(values, list) else [values]
    return ", ".join(map(_value_in_words, items))


def _value_in_words(value: object) -> str:
    if value is None:
        return "missing"
    if isinstance(value, Mapping):
        start = value.get("from")
        end = value.get("to")
        if start == end:
            return canonical_text_of_value(start)
        if start is None:
            return f"up to {canonical_text_of_value(end)}"
        if end is None:
            return f"from {canonical_text_of_value(start)}"
        return f"{canonical_text_of_value(start)} to {canonical_text_of_value(end)}"
    return canonical_text_of_value(value)
