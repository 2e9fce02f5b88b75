"""The constraints of a schema file: from JSON and back. All is checked, no record is read."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from ..core.errors import InputError, shortened
from ..core.types import Json
from .column import Column
from .constraints import Constraint, Impossible, Order, Within
from .domain import Domain

MOST, MOST_CELLS = 200, 1_000_000  # constraints, and cells of the tables of all of them
KEYS = {"impossible": {"impossible"}, "within": {"within", "which"}, "order": {"order"}}
FORMS = '{"impossible": {NAME: values, …}}, {"within": [NAME, NAME], "which": {value: values}} or {"order": [NAME, …]}'


def constrained(domain: Domain, given: Any) -> Domain:
    """The domain under a schema's constraints; InputError names the constraint, the column, and what is allowed."""
    if given is None:
        return domain
    if not isinstance(given, list):
        raise InputError(f"constraints must be a list of {FORMS}")
    if len(given) > MOST:
        raise InputError(f"the schema has {len(given):,} constraints, at most {MOST} are read")
    constraints, total_cells = [], 0
    for position, spec in enumerate(given, start=1):
        try:
            constraint = _constraint(domain, spec)
            tables = combinations(constraint.columns, 2) if isinstance(constraint, Order) else [constraint.columns]
            total_cells += sum(domain.cells(domain.axes(names)) for names in tables)
            if total_cells > MOST_CELLS:
                raise InputError(
                    f"with {constraint.words} the tables of all constraints have {total_cells:,} combinations, more "
                    "than "
                    f"{MOST_CELLS:,}; give {', '.join(constraint.columns)} fewer values"
                )
        except InputError as error:
            raise InputError(f"constraint {position}: {error}") from None
        constraints.append(constraint)
    constrained_domain = replace(domain, constraints=tuple(constraints))
    constrained_domain.witness  # noqa: B018 - raises where no record can be
    return constrained_domain


def stated(domain: Domain) -> list[Json]:
    """The constraints of a domain as the schema file writes them."""
    return [_to_json(constraint, domain) for constraint in domain.constraints]


def _to_json(constraint: Constraint, domain: Domain) -> Json:
    if isinstance(constraint, Impossible):
        return {"impossible": {name: _said(domain.column(name), codes) for name, codes in constraint.cells}}
    if isinstance(constraint, Within):
        first, second = map(domain.column, constraint.columns)
        which = {first.labels[code]: _said(second, beside) for code, beside in constraint.which}
        return {"within": list(constraint.columns), "which": which}
    return {"order": list(constraint.columns)}


def _constraint(domain: Domain, spec: Any) -> Constraint:
    kind = next((key for key in KEYS if isinstance(spec, Mapping) and key in spec), None)
    if kind is None:
        raise InputError(f"{_short(spec)} is none of {FORMS}")
    if unknown_keys := set(spec) - KEYS[kind]:
        raise InputError(f"{_short(sorted(map(str, unknown_keys))[0])} does not go with {kind!r}; write {FORMS}")
    return {"impossible": _impossible, "within": _within, "order": _order}[kind](domain, **spec)


def _impossible(domain: Domain, impossible: Any) -> Impossible:
    if not isinstance(impossible, Mapping) or not impossible:
        example = f'{{"age": {{"to": 14}}}}, not {_short(impossible)}'
        raise InputError(f"impossible must name columns and their values: {example}")
    return Impossible(tuple((name, _codes(_column(domain, name), values)) for name, values in impossible.items()))


def _order(domain: Domain, order: Any) -> Order:
    columns = _columns(domain, "order", order)
    for column in columns:
        if column.values:
            raise InputError(f"column {column.name!r} holds categories; only numbers have an order")
    return Order(tuple(column.name for column in columns))


def _within(domain: Domain, within: Any, which: Any = None) -> Within:
    columns = _columns(domain, "within", within)
    if len(columns) != 2:
        raise InputError(f"within must name two columns, the narrower one first, not {len(columns)}")
    if not isinstance(which, Mapping) or not which:
        raise InputError(f'which must say where values lie: {{"Lyon": "Rhône"}}, not {_short(which)}')
    first, second = columns
    allowed_codes: dict[int, tuple[int, ...]] = {}
    for value, allowed_values in which.items():
        for code in _codes(first, value):
            if code in allowed_codes:
                raise InputError(f"column {first.name!r}: {_short(value)} is in which twice")
            allowed_codes[code] = _codes(second, allowed_values)
    return Within((first.name, second.name), tuple(allowed_codes.items()))


def _columns(domain: Domain, key: str, spec: Any) -> list[Column]:
    if not isinstance(spec, list) or not 2 <= len(spec) <= 20 or len({str(name) for name in spec}) < len(spec):
        raise InputError(f"{key} must list 2 to 20 different columns, not {_short(spec)}")
    return [_column(domain, name) for name in spec]


def _column(domain: Domain, name: Any) -> Column:
    if name not in domain.names:
        raise InputError(
            f"there is no column {_short(name)}; the columns are {shortened(', '.join(domain.names), 400)}"
        )
    return domain.column(name)


def _codes(column: Column, spec: Any) -> tuple[int, ...]:
    """The codes of cells named by a value, a range, null for the missing one, or a list of these."""
    codes = {code for item in (spec if isinstance(spec, list) else [spec]) for code in _cells(column, item)}
    if not codes:
        raise InputError(f"column {column.name!r}: an empty list names none of its values {column.allowed}")
    return tuple(sorted(codes))


def _cells(column: Column, item: Any) -> Sequence[int]:
    if item is None:
        if column.size == column.present:
            raise InputError(
                f"column {column.name!r}: null names missing values, and they are no value of their own; set missing"
            )
        return [column.present]
    if isinstance(item, Mapping):
        return _between(column, item)
    if not isinstance(item, (str, int, float)):
        raise InputError(f"column {column.name!r}: {_short(item)} names none of its values {column.allowed}")
    if column.values:
        code_of_key = {column.key(value): code for code, value in enumerate(column.values)}
        if (code := code_of_key.get(column.key(item))) is not None:
            return [code]
    elif isinstance(item, str) and item in column.codes:
        return [column.codes[item]]
    elif not isinstance(item, (str, bool)) and abs(item) <= 1e15:
        low, high = column.extents
        if len(matching_codes := np.flatnonzero((low == item) & (high == item))):
            return matching_codes.tolist()
    allowed_text = f'{_shown(column)}; or say {{"from": number, "to": number}}' if column.edges else column.allowed
    raise InputError(f"column {column.name!r}: {_short(item)} is none of its values {allowed_text}")


def _between(column: Column, item: Mapping[Any, Any]) -> Sequence[int]:
    """The cells of numbers that lie wholly between two numbers, both included."""
    if column.values or not item or set(item) - {"from", "to"}:
        expected = "holds categories: list them" if column.values else 'a range is {"from": number, "to": number}'
        raise InputError(f"column {column.name!r}: {expected}, not {_short(dict(item))}")
    for key, end in item.items():
        if isinstance(end, bool) or not isinstance(end, (int, float)) or not abs(end) <= 1e15:
            raise InputError(f"column {column.name!r}: {key}={_short(end)} is not a finite number in -1e15..1e15")
    start, end = item.get("from", -math.inf), item.get("to", math.inf)
    low, high = column.extents
    codes = np.flatnonzero((low >= start) & (high <= end))
    if not len(codes):
        raise InputError(
            f"column {column.name!r}: no whole value or bin lies in {start:g}..{end:g}; its values are {_shown(column)}"
        )
    return codes.tolist()


def _said(column: Column, codes: Sequence[int]) -> list[Any]:
    """The cells in the form that `_codes` reads: categories by label, numbers as ranges, missing as null."""
    nonmissing_codes = [code for code in codes if code < column.present]
    missing = [None] * (len(nonmissing_codes) < len(codes))
    if column.values:
        return [*(column.labels[code] for code in nonmissing_codes), *missing]
    runs = np.split(nonmissing_codes, np.flatnonzero(np.diff(nonmissing_codes) > 1) + 1)  # of neighbouring cells
    low = column.extents[0]
    high = np.asarray(column.edges[1:]) if column.fractional else column.extents[1]
    return [*({"from": float(low[run[0]]), "to": float(high[run[-1]])} for run in runs if len(run)), *missing]


def _shown(column: Column) -> str:
    return ", ".join(column.labels[:8]) + " …" * (column.size > 8)


def _short(value: Any) -> str:
    return shortened(repr(value))
