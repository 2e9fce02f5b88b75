"""Numbers: reading them from text, writing them, and limits on sizes and memory."""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, TypeVar

from .errors import InputError

N = TypeVar("N", int, float)
ROUNDING_SLACK = (
    1 + 1e-12
)  # sensitivities, scales and μ found by rounded arithmetic are enlarged by this
PROCESS_STATUS_FILE = Path("/proc/self/status")
MAX_SYNTHETIC_ROWS = 100_000_000  # synthetic rows at once
MAX_NUMBER_CHARS = 400  # characters: more than any number that is served has


def parse_number(
    text: str, name: str, number_type: type[N], low: float = -math.inf, high: float = math.inf
) -> N:
    """Return the finite number of `number_type` in `text`, within low..high inclusive.

    Raises InputError, which names `name` and the wrong text, shortened.
    """
    try:
        value = number_type(text) if len(text) <= MAX_NUMBER_CHARS else None
    except ValueError:
        value = None
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        expected = "whole number" if number_type is int else "finite number"
        allowed_range = (
            f" in {low:g}..{high:g}" if math.isfinite(low) and math.isfinite(high) else ""
        )
        raise InputError(f"{name}={text[:40]!r} is not a {expected}{allowed_range}")
    if not low <= value <= high:
        raise InputError(f"{name}={text[:40]} is outside {low:g}..{high:g}")
    return value


def bisect_interval(
    is_below: Callable[[float], bool], low: float, high: float, halvings: int
) -> tuple[float, float]:
    """Return the ends of the part of low..high in which `is_below(x)` turns from true to false.

    The part is what remains after so many halvings.
    """
    for _ in range(halvings):
        middle = (low + high) / 2
        if is_below(middle):
            low = middle
        else:
            high = middle
    return low, high


def consecutive_slices(sizes: Iterable[int]) -> tuple[slice, ...]:
    """Return one slice for each size, one after the other from 0."""
    return tuple(slice(start, stop) for start, stop in pairwise(accumulate(sizes, initial=0)))


def mean_if_complete(values: Sequence[Any]) -> float | None:
    """Return the mean of the values, or None if any of them is None."""
    return None if None in values else float(sum(values) / len(values))


def check_synthetic_row_count(rows: int) -> None:
    """Raise InputError for a number of synthetic rows outside the supported range."""
    if not 0 < rows <= MAX_SYNTHETIC_ROWS:
        raise InputError(f"rows={rows} is outside 1..{MAX_SYNTHETIC_ROWS}")


def format_short_number(value: float) -> str:
    """Return a number as text in the notation of experts, such as 0.5 or 1e-9."""
    return f"{value:g}".replace("e+", "e").replace("e0", "e").replace("e-0", "e-")


def format_percentage_points(probability: float) -> str:
    """Return a difference of probabilities in percentage points, to two significant digits."""
    return f"{float(f'{100 * probability:.2g}'):g}"


def unit_noun(rows_per_person: int) -> str:
    """Return the noun for what is counted: "people", or "rows" if a person may have several."""
    return "people" if rows_per_person == 1 else "rows"


def format_points_and_count(probability: float, n: float, unit: str) -> str:
    """Return a difference of probabilities in points and as a count: `0.44 points ≈ 88 people`.

    The count is in `unit`, as whoever counts sees it.
    """
    return f"{format_percentage_points(probability)} points ≈ {format_count(probability, n, unit)}"


def format_count(probability: float, n: float, unit: str) -> str:
    """Return a difference of probabilities as a count of people or rows.

    Counts below 10 have two significant digits.
    """
    count = probability * n
    return f"{f'{count:,.0f}' if count >= 10 else f'{count:.2g}'} {unit}"


def machine_memory_bytes() -> float:
    """Return the memory of this machine in bytes, or ∞ if the system does not report it."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def process_memory_bytes(name: str) -> int | None:
    """Return the bytes that this process's status has after `name`, such as VmRSS.

    None where the system does not report them.
    """
    try:
        status = PROCESS_STATUS_FILE.read_text()
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    return None
