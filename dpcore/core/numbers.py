"""Numbers: reading them from text, writing them, and limits on sizes and memory."""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeVar

from .errors import InputError

N = TypeVar("N", int, float)
ROOM = 1 + 1e-12  # sensitivities, scales and μ found by rounded arithmetic are enlarged by this
MAX_ROWS = 100_000_000  # synthetic rows at once
LONGEST = 400  # characters: more than any number that is served has


def read_number(text: str, name: str, kind: type[N], low: float = -math.inf, high: float = math.inf) -> N:
    """The finite number of `kind` in `text`, within low..high inclusive; InputError names a wrong text, shortened."""
    try:
        value = kind(text) if len(text) <= LONGEST else None
    except ValueError:
        value = None
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        expected = "whole number" if kind is int else "finite number"
        allowed_range = f" in {low:g}..{high:g}" if math.isfinite(low) and math.isfinite(high) else ""
        raise InputError(f"{name}={text[:40]!r} is not a {expected}{allowed_range}")
    if not low <= value <= high:
        raise InputError(f"{name}={text[:40]} is outside {low:g}..{high:g}")
    return value


def bisected(below: Callable[[float], bool], low: float, high: float, halvings: int) -> tuple[float, float]:
    """The ends of the part of low..high in which `below(x)` turns from true to false, after so many halvings."""
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return low, high


def consecutive(sizes: Iterable[int]) -> tuple[slice, ...]:
    """The slices of parts of these sizes, one after the other."""
    return tuple(slice(start, stop) for start, stop in pairwise(accumulate(sizes, initial=0)))


def mean_of_all(values: Sequence[Any]) -> float | None:
    """The mean of the values; None where any of them is missing."""
    return None if None in values else float(sum(values) / len(values))


def check_rows(rows: int) -> None:
    """Raise InputError for a number of synthetic rows outside the supported range."""
    if not 0 < rows <= MAX_ROWS:
        raise InputError(f"rows={rows} is outside 1..{MAX_ROWS}")


def brief(value: float) -> str:
    """A number in the notation of experts, such as 0.5 or 1e-9."""
    return f"{value:g}".replace("e+", "e").replace("e0", "e").replace("e-0", "e-")


def points(probability: float) -> str:
    """A difference of probabilities in percentage points with two significant digits."""
    return f"{float(f'{100 * probability:.2g}'):g}"


def noun(rows_each: int) -> str:
    """What is counted where a person has so many rows at most: people, or rows that one of them may have several of."""
    return "people" if rows_each == 1 else "rows"


def amount(probability: float, n: float, noun: str) -> str:
    """A difference of probabilities in points and, as seen by whoever counts, in people: `0.44 points ≈ 88 people`."""
    return f"{points(probability)} points ≈ {counted(probability, n, noun)}"


def counted(probability: float, n: float, noun: str) -> str:
    """A difference of probabilities in people or rows, to two significant digits below 10."""
    count = probability * n
    return f"{f'{count:,.0f}' if count >= 10 else f'{count:.2g}'} {noun}"


def machine_memory() -> float:
    """The memory of this machine in bytes; ∞ where the system does not report it."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")
