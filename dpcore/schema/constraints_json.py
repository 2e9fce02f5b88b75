"""The constraints of a schema file: from JSON and back. All is checked, no row is read."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from ..core.errors import InputError, shorten
from ..core.types import Json
from .column import Column
from .constraints import Constraint, ImpossibleCells, NestedColumns, OrderedColumns
from .domain import Domain

MAX_CONSTRAINTS = 200
MAX_CONSTRAINT_CELLS = 1_000_000  # cells of the tables of all constraints
KEYS_BY_KIND = {"impossible": {"impossible"}, "within": {"within", "which"}, "order": {"order"}}
ALLOWED_FORMS = (
    '{"impossible": {NAME: values, …}}, {"within": [NAME, NAME], "which": {value: values}} '
    'or {"order": [NAME, …]}'
)


def add_constraints_from_json(domain: Domain, constraint_specs: Any) -> Domain:
    """Return the domain with the constraints of a schema file.

    Raises InputError, which names the constraint, the column, and what is allowed.
    """
    if constraint_specs is None:
        return domain
    if not isinstance(constraint_specs, list):
        raise InputError(f"constraints must be a list of {ALLOWED_FORMS}")
    if len(constraint_specs) > MAX_CONSTRAINTS:
        raise InputError(
            f"the schema has {len(constraint_specs):,} constraints, at most {MAX_CONSTRAINTS} "
            "are read"
        )
    constraints = []
    total_cells = 0
    for position, spec in enumerate(constraint_specs, start=1):
        try:
            constraint = _parse_constraint(domain, spec)
            tables = (
                combinations(constraint.columns, 2)
                if isinstance(constraint, OrderedColumns)
                else [constraint.columns]
            )
            total_cells += sum(domain.table_size(domain.axes(names)) for names in tables)
            if total_cells > MAX_CONSTRAINT_CELLS:
                raise InputError(
                    f"with {constraint.description} the tables of all constraints have "
                    f"{total_cells:,} combinations, more "
                    "than "
                    f"{MAX_CONSTRAINT_CELLS:,}; give {', '.join(constraint.columns)} fewer values"
                )
        except InputError as error:
            raise InputError(f"constraint {position}: {error}") from None
        constraints.append(constraint)
    constrained_domain = replace(domain, constraints=tuple(constraints))
    constrained_domain.example_possible_row  # noqa: B018 - raises where no row can be
    return constrained_domain


def constraints_to_json(domain: Domain) -> list[Json]:
    """Return the constraints of a domain as the schema file writes them."""
    return [_constraint_to_json(constraint, domain) for constraint in domain.constraints]


def _constraint_to_json(constraint: Constraint, domain: Domain) -> Json:
    if isinstance(constraint, ImpossibleCells):
        return {
            "impossible": {
                name: codes_to_json(domain.column(name), codes) for name, codes in constraint.cells
            }
        }
    if isinstance(constraint, NestedColumns):
        first, second = map(domain.column, constraint.columns)
        which = {
            first.labels[code]: codes_to_json(second, beside)
            for code, beside in constraint.allowed_codes
        }
        return {"within": list(constraint.columns), "which": which}
    return {"order": list(constraint.columns)}


def _parse_constraint(domain: Domain, spec: Any) -> Constraint:
    kind = next((key for key in KEYS_BY_KIND if isinstance(spec, Mapping) and key in spec), None)
    if kind is None:
        raise InputError(f"{_short_repr(spec)} is none of {ALLOWED_FORMS}")
    unknown_keys = set(spec) - KEYS_BY_KIND[kind]
    if unknown_keys:
        raise InputError(
            f"{_short_repr(sorted(map(str, unknown_keys))[0])} does not go with {kind!r}; write "
            f"{ALLOWED_FORMS}"
        )
    if kind == "impossible":
        return _parse_impossible(domain, **spec)
    if kind == "within":
        return _parse_within(domain, **spec)
    return _parse_order(domain, **spec)


def _parse_impossible(domain: Domain, impossible: Any) -> ImpossibleCells:
    if not isinstance(impossible, Mapping) or not impossible:
        example = f'{{"age": {{"to": 14}}}}, not {_short_repr(impossible)}'
        raise InputError(f"impossible must name columns and their values: {example}")
    return ImpossibleCells(
        tuple(
            (name, _parse_codes(_find_column(domain, name), values))
            for name, values in impossible.items()
        )
    )


def _parse_order(domain: Domain, order: Any) -> OrderedColumns:
    columns = _parse_columns(domain, "order", order)
    for column in columns:
        if column.values:
            raise InputError(f"column {column.name!r} holds categories; only numbers have an order")
    return OrderedColumns(tuple(column.name for column in columns))


def _parse_within(domain: Domain, within: Any, which: Any = None) -> NestedColumns:
    columns = _parse_columns(domain, "within", within)
    if len(columns) != 2:
        raise InputError(
            f"within must name two columns, the narrower one first, not {len(columns)}"
        )
    if not isinstance(which, Mapping) or not which:
        raise InputError(
            f'which must say where values lie: {{"Lyon": "Rhône"}}, not {_short_repr(which)}'
        )
    first, second = columns
    allowed_codes: dict[int, tuple[int, ...]] = {}
    for value, allowed_values in which.items():
        for code in _parse_codes(first, value):
            if code in allowed_codes:
                raise InputError(f"column {first.name!r}: {_short_repr(value)} is in which twice")
            allowed_codes[code] = _parse_codes(second, allowed_values)
    return NestedColumns((first.name, second.name), tuple(allowed_codes.items()))


def _parse_columns(domain: Domain, key: str, spec: Any) -> list[Column]:
    if (
        not isinstance(spec, list)
        or not 2 <= len(spec) <= 20
        or len({str(name) for name in spec}) < len(spec)
    ):
        raise InputError(f"{key} must list 2 to 20 different columns, not {_short_repr(spec)}")
    return [_find_column(domain, name) for name in spec]


def _find_column(domain: Domain, name: Any) -> Column:
    if name not in domain.names:
        raise InputError(
            f"there is no column {_short_repr(name)}; the columns are "
            f"{shorten(', '.join(domain.names), 400)}"
        )
    return domain.column(name)


def _parse_codes(column: Column, spec: Any) -> tuple[int, ...]:
    """Return the codes of the cells that a constraint names.

    They are named by a value, a range, null for the missing one, or a list of these.
    """
    codes = {
        code
        for item in (spec if isinstance(spec, list) else [spec])
        for code in _codes_of_item(column, item)
    }
    if not codes:
        raise InputError(
            f"column {column.name!r}: an empty list names none of its values {column.allowed_text}"
        )
    return tuple(sorted(codes))


def _codes_of_item(column: Column, item: Any) -> Sequence[int]:
    if item is None:
        if column.size == column.nonmissing_size:
            raise InputError(
                f"column {column.name!r}: null names missing values, and they are no value of "
                "their own; set missing"
            )
        return [column.nonmissing_size]
    if isinstance(item, Mapping):
        return _codes_in_range(column, item)
    if not isinstance(item, (str, int, float)):
        raise InputError(
            f"column {column.name!r}: {_short_repr(item)} names none of its values "
            f"{column.allowed_text}"
        )
    if column.values:
        code = column.code_by_key.get(column.category_key(item))
        if code is not None:
            return [code]
    elif isinstance(item, str) and item in column.code_by_label:
        return [column.code_by_label[item]]
    elif column.is_date and isinstance(item, str) and column.span_of_period(item):
        return _codes_in_period(column, {"from": item, "to": item})
    elif not isinstance(item, (str, bool)) and abs(item) <= 1e15:
        low, high = column.number_ranges
        matching_codes = np.flatnonzero((low == item) & (high == item))
        if len(matching_codes):
            return matching_codes.tolist()
    allowed_text = (
        f'{_list_first_labels(column)}; or say {{"from": number, "to": number}}'
        if column.edges
        else column.allowed_text
    )
    raise InputError(
        f"column {column.name!r}: {_short_repr(item)} is none of its values {allowed_text}"
    )


def _codes_in_range(column: Column, item: Mapping[Any, Any]) -> Sequence[int]:
    """Return the cells of numbers that lie wholly between two numbers, both included."""
    if column.values or not item or set(item) - {"from", "to"}:
        expected = (
            "holds categories: list them"
            if column.values
            else 'a range is {"from": number, "to": number}'
        )
        raise InputError(f"column {column.name!r}: {expected}, not {_short_repr(dict(item))}")
    if column.is_date:
        return _codes_in_period(column, item)
    for key, end in item.items():
        if isinstance(end, bool) or not isinstance(end, (int, float)) or not abs(end) <= 1e15:
            raise InputError(
                f"column {column.name!r}: {key}={_short_repr(end)} is not a finite number in "
                "-1e15..1e15"
            )
    start = item.get("from", -math.inf)
    end = item.get("to", math.inf)
    low, high = column.number_ranges
    codes = np.flatnonzero((low >= start) & (high <= end))
    if not len(codes):
        raise InputError(
            f"column {column.name!r}: no whole value or bin lies in {start:g}..{end:g}; its "
            f"values are {_list_first_labels(column)}"
        )
    return codes.tolist()


def _codes_in_period(column: Column, item: Mapping[Any, Any]) -> Sequence[int]:
    """Return the cells of days that lie wholly between two days, months or years, both included."""
    spans = {}
    for key, end in item.items():
        spans[key] = column.span_of_period(end) if isinstance(end, str) else None
        if spans[key] is None:
            raise InputError(
                f"column {column.name!r}: {key}={_short_repr(end)} is no day such as 2020-12-31, "
                "month or year"
            )
    start = spans["from"][0] if "from" in spans else -math.inf
    stop = spans["to"][1] if "to" in spans else math.inf
    low, high = column.number_ranges
    codes = np.flatnonzero((low >= start) & (high < stop))
    if not len(codes):
        raise InputError(
            f"column {column.name!r}: no whole day or bin lies in {_short_repr(dict(item))}; its "
            f"values are {_list_first_labels(column)}"
        )
    return codes.tolist()


def codes_to_json(column: Column, codes: Sequence[int]) -> list[Any]:
    """Return the cells in the form that `_parse_codes` reads.

    Categories are written by label, numbers as ranges, missing as null.
    """
    nonmissing_codes = [code for code in codes if code < column.nonmissing_size]
    missing = [None] if len(nonmissing_codes) < len(codes) else []
    if column.values:
        return [*(column.labels[code] for code in nonmissing_codes), *missing]
    runs = np.split(
        nonmissing_codes, np.flatnonzero(np.diff(nonmissing_codes) > 1) + 1
    )  # of neighbouring cells
    low = column.number_ranges[0]
    high = np.asarray(column.edges[1:]) if column.is_real_valued else column.number_ranges[1]
    ends = [(float(low[run[0]]), float(high[run[-1]])) for run in runs if len(run)]
    if column.is_date:
        texts = [(column.number_text(start), column.number_text(end)) for start, end in ends]
        return [*({"from": start, "to": end} for start, end in texts), *missing]
    return [*({"from": start, "to": end} for start, end in ends), *missing]


def _list_first_labels(column: Column) -> str:
    first_labels = ", ".join(column.labels[:8])
    return f"{first_labels} …" if column.size > 8 else first_labels


def _short_repr(value: Any) -> str:
    return shorten(repr(value))
