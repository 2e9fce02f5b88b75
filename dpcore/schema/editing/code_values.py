"""Codes beside a column's values, as -9 and 99: they count as missing, or are values of their own.

A code of a column of numbers has a bin that no other number is in. Between it and the range of the
others there is one more bin, so that no synthetic number lies there unless a row does.
"""

import math
from collections.abc import Collection, Sequence
from itertools import pairwise

import numpy as np

from ...core.errors import InputError
from ...core.types import Json
from ..cell_text import canonical_text, canonical_text_of_value
from ..column_readings import parse_cell_number

Code = int | float | str
VALUE_KEYS = ("low", "high", "bins", "edges", "size")
MAX_MISSING_CODES = 50  # of one column
MAX_CODE_WIDTH = 0.1  # of the bin of a code among numbers that need not be whole
DIGITS = 12  # of an edge


def missing_codes_of(entry: Json) -> list[Code]:
    """Return the codes that count as missing; none if the entry is not in that form."""
    codes = entry.get("missing_codes")
    return [*codes] if isinstance(codes, list) else []


def number_codes_of(entry: Json) -> list[int | float]:
    """Return the numbers that count as missing beside other numbers with a range."""
    if entry.get("kind") == "categorical" or not has_range(entry):
        return []
    return [code for code in missing_codes_of(entry) if not isinstance(code, str)]


def has_range(entry: Json) -> bool:
    """Return whether a column of numbers has a range, so that codes can have bins beside it."""
    try:
        return len(_edges_of(entry)) > 1
    except (KeyError, TypeError, ValueError):
        return False


def own_codes_of(entry: Json, candidates: Collection[Code]) -> list[Code]:
    """Return those of the candidates that have a value or a bin of their own."""
    if entry.get("kind") == "categorical":
        texts = {canonical_text_of_value(value) for value in entry.get("values") or ()}
        return [code for code in candidates if canonical_text_of_value(code) in texts]
    if not has_range(entry):
        return []
    missing = missing_codes_of(entry)
    candidates = [code for code in candidates if code not in missing]
    bins = [*pairwise(_edges_of(entry))]
    return [code for code in candidates if any(_is_bin_of(entry, ends, code) for ends in bins)]


def parse_code(entry: Json, text: str) -> Code:
    """Return the code that a person typed; InputError for none."""
    text = text.strip().replace("−", "-")
    if not text:
        raise InputError("a code is a number or a text, such as -9 or refused")
    number = parse_cell_number(text)
    if entry.get("kind") == "categorical" or math.isnan(number):
        return canonical_text(text)
    return _short(number)


def count_as_missing(entry: Json, code: Code, candidates: Collection[Code] = ()) -> Json:
    """Return a column's entry in which a code counts as missing.

    >>> count_as_missing({"kind": "categorical", "values": ["1", "9"]}, "9")["values"]
    ['1']
    """
    codes = missing_codes_of(entry)
    if code not in codes and len(codes) >= MAX_MISSING_CODES:
        raise InputError(f"{len(codes)} codes count as missing already, which is the most")
    codes = codes if code in codes else [*codes, code]
    changed = _without_own_value(entry, code, candidates)
    return changed | {"missing": "category", "missing_codes": codes}


def give_own_value(entry: Json, code: Code, candidates: Collection[Code] = ()) -> Json:
    """Return a column's entry in which a code is a value of its own, and no longer missing.

    Raises InputError for a text beside numbers, and for numbers without a range.

    >>> entry = {"kind": "integer", "low": 0, "high": 20, "bins": 2, "missing_codes": [99]}
    >>> give_own_value(entry, 99)["edges"]
    [0, 10, 20.5, 98.5, 99.5]
    """
    changed = _without_missing_code(entry, code)
    if entry.get("kind") == "categorical":
        values = list(entry.get("values") or ())
        is_listed = canonical_text_of_value(code) in map(canonical_text_of_value, values)
        return changed | {"values": values if is_listed else [*values, code]}
    if isinstance(code, str):
        raise InputError(f"{code!r} is no number: beside numbers it can only count as missing")
    if not has_range(entry):
        raise InputError("give the column a range first, so that the code has a place beside it")
    if own_codes_of(changed, [code]):
        return changed
    base, outer_codes = _split_range(entry, candidates)
    if base[0] <= code <= base[-1]:
        base = _with_inner_bin(entry, base, code)
    else:
        outer_codes = [*outer_codes, code]
    return _with_edges(changed, _with_outer_bins(entry, base, outer_codes))


def drop_code(entry: Json, code: Code, candidates: Collection[Code] = ()) -> Json:
    """Return a column's entry in which a code is a value like all others."""
    return _without_own_value(_without_missing_code(entry, code), code, candidates)


def _without_missing_code(entry: Json, code: Code) -> Json:
    codes = [old for old in missing_codes_of(entry) if old != code]
    changed = {key: part for key, part in entry.items() if key != "missing_codes"}
    return changed | ({"missing_codes": codes} if codes else {})


def _without_own_value(entry: Json, code: Code, candidates: Collection[Code]) -> Json:
    """Return an entry without the value or the bin that a code has of its own."""
    if entry.get("kind") == "categorical":
        text = canonical_text_of_value(code)
        values = entry.get("values")
        if not isinstance(values, list):
            return entry
        return entry | {
            "values": [value for value in values if canonical_text_of_value(value) != text]
        }
    if isinstance(code, str) or not own_codes_of(entry, [code]):
        return entry
    base, outer_codes = _split_range(entry, [*candidates, code])
    if code in outer_codes:
        outer_codes = [old for old in outer_codes if old != code]
    else:
        base = _without_inner_bin(entry, base, code)
    return _with_edges(entry, _with_outer_bins(entry, base, outer_codes))


def _edges_of(entry: Json) -> list[float]:
    """Return the edges of a column of numbers; of whole numbers without bins one for each."""
    if entry.get("edges") is not None:
        return [float(edge) for edge in entry["edges"]]
    if entry.get("size") is not None:
        return [*map(float, range(int(entry["size"]))), entry["size"] - 0.5]
    low = float(entry["low"])
    high = float(entry["high"])
    if entry.get("bins") is not None:
        edges = np.linspace(low, high, int(entry["bins"]) + 1)
        return [round(edge, DIGITS) for edge in edges.tolist()]
    return [*map(float, range(int(low), int(high) + 1)), high + 0.5]


def _are_whole(entry: Json) -> bool:
    return entry.get("kind") == "integer"


def _is_bin_of(entry: Json, ends: tuple[float, float], code: Code) -> bool:
    """Return whether a code is the only number of its kind in a bin."""
    if isinstance(code, str):
        return False
    low, high = ends
    if _are_whole(entry):
        return code - 1 < low <= code < high <= code + 1
    return low == code and high - low <= MAX_CODE_WIDTH


def _split_range(
    entry: Json, candidates: Collection[Code]
) -> tuple[list[float], list[int | float]]:
    """Return the edges of the usual numbers, and the codes with bins of their own beside them."""
    edges = _edges_of(entry)
    missing = missing_codes_of(entry)
    numbers = [c for c in candidates if not isinstance(c, str) and c not in missing]
    codes = []
    is_peeled = True
    while is_peeled:
        is_peeled = False
        above = [code for code in numbers if _is_bin_of(entry, (edges[-2], edges[-1]), code)]
        if above and len(edges) > 2:
            codes += above
            edges = _without_gap_above(entry, edges[:-1], numbers)
            is_peeled = True
        below = [code for code in numbers if _is_bin_of(entry, (edges[0], edges[1]), code)]
        if below and len(edges) > 2:
            codes += below
            edges = _without_gap_below(entry, edges[1:], numbers)
            is_peeled = True
    return edges, codes


def _without_gap_above(
    entry: Json, edges: list[float], numbers: Sequence[int | float]
) -> list[float]:
    """Return edges without the bin between the usual numbers and a code, ended as they were."""

    def ends_with_code() -> bool:
        return any(_is_bin_of(entry, (edges[-2], edges[-1]), code) for code in numbers)

    if ends_with_code():
        return edges
    if len(edges) > 2 and (not _are_whole(entry) or _is_half(edges[-2])):
        edges = edges[:-1]
        if ends_with_code():
            return edges
    if not _are_whole(entry):
        return [*edges[:-1], _before_step(edges[-1])]
    is_single = edges[-1] - edges[-2] < 1  # whole numbers without bins end so
    return edges if is_single or not _is_half(edges[-1]) else [*edges[:-1], edges[-1] - 0.5]


def _without_gap_below(
    entry: Json, edges: list[float], numbers: Sequence[int | float]
) -> list[float]:
    """Return edges without the bin between a code and the usual numbers."""
    if any(_is_bin_of(entry, (edges[0], edges[1]), code) for code in numbers):
        return edges
    has_gap = not _are_whole(entry) or _is_half(edges[0])
    return edges[1:] if has_gap and len(edges) > 2 else edges


def _with_outer_bins(entry: Json, base: list[float], codes: Sequence[int | float]) -> list[float]:
    """Return the edges of the usual numbers with a bin for each code outside of them."""
    edges = [*base]
    if not _are_whole(entry) and any(code > base[-1] for code in codes):
        edges[-1] = round(edges[-1] + _step([*edges, *codes]), DIGITS)  # its bin holds it still
    for code in sorted(code for code in codes if code > base[-1]):
        edges = _append_code(entry, edges, code)
    for code in sorted((code for code in codes if code < base[0]), reverse=True):
        edges = _prepend_code(entry, edges, code)
    return edges


def _append_code(entry: Json, edges: list[float], code: float) -> list[float]:
    if _are_whole(entry):
        end = edges[-1] if _is_half(edges[-1]) else edges[-1] + 0.5  # its bin holds it still
        gap = [code - 0.5] if code - 0.5 > end else []
        return [*edges[:-1], end, *gap, code + 0.5]
    step = _step([*edges, code])
    gap = [float(code)] if code > edges[-1] else []
    return [*edges, *gap, round(code + step, DIGITS)]


def _prepend_code(entry: Json, edges: list[float], code: float) -> list[float]:
    if _are_whole(entry):
        gap = [code + 0.5] if math.ceil(code + 0.5) < edges[0] else []
        return [code - 0.5, *gap, *edges]
    return [float(code), round(code + _step([*edges, code]), DIGITS), *edges]


def _with_inner_bin(entry: Json, edges: list[float], code: float) -> list[float]:
    """Return the edges with a bin for a code among the usual numbers."""
    if not _are_whole(entry):
        return sorted({*edges, float(code), round(code + _step([*edges, code]), DIGITS)})
    ends = {code - 0.5, code + 0.5}
    is_near = {edge for edge in edges[1:-1] if abs(edge - code) < 0.5 or edge == code + 1}
    return sorted((set(edges) - is_near) | ends)


def _without_inner_bin(entry: Json, edges: list[float], code: float) -> list[float]:
    """Return the edges without those around a code; whole numbers without bins keep theirs."""
    (ends,) = [ends for ends in pairwise(edges) if _is_bin_of(entry, ends, code)]
    removed = {edge for edge in ends if _is_half(edge) or not _are_whole(entry)}
    return [edge for edge in edges if edge not in removed - {edges[0], edges[-1]}]


def _with_edges(entry: Json, edges: list[float]) -> Json:
    """Return an entry with these edges, written as a range where they are evenly spaced."""
    changed = {key: part for key, part in entry.items() if key not in VALUE_KEYS}
    steps = np.diff(edges)
    low = _short(edges[0])
    if _are_whole(entry) and edges[-1] - edges[-2] == 0.5 and (steps[:-1] == 1).all():
        return changed | {"low": low, "high": _short(edges[-1] - 0.5)}
    if np.allclose(steps, steps[0], rtol=1e-9):
        return changed | {"low": low, "high": _short(edges[-1]), "bins": len(steps)}
    return changed | {"edges": [*map(_short, edges)]}


def _step(edges: Sequence[float]) -> float:
    """Return a step of one digit more than all of these numbers have."""
    digits = max(map(_decimal_places, edges))
    return 10.0 ** -(digits + 1)


def _before_step(edge: float) -> float:
    """Return an edge without the step that was added to its last digit."""
    digits = _decimal_places(edge)
    return round(edge - 10.0**-digits, DIGITS)


def _decimal_places(number: float) -> int:
    text = f"{float(number):.{DIGITS}f}".rstrip("0")
    return len(text.partition(".")[2])


def _is_half(number: float) -> bool:
    return number % 1 == 0.5


def _short(number: float) -> int | float:
    return int(number) if float(number).is_integer() else float(number)
