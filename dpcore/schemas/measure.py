"""From noisy counts to a schema: post-processing of what a `ColumnCurator` lets out, and nothing else."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from ..data.cells import DATES, MISSING, NUMBER, WHOLE
from ..data.domain import Column, Domain
from ..data.open_schema import OpenColumn, OpenSchema
from ..errors import BudgetError
from ..privacy.accounting.budget import Gaussian
from ..privacy.columns import ColumnCurator, NoisyCounts
from ..privacy.statistics.columns import KindCounts, Magnitudes, TreeCounts, powers
from ..tags import Tag
from .plan import SchemaPlan

LEAVES = 500  # cells of the grid on which ends and bins are found
FINEST = 12  # a power of two is cut into 2^12 parts at the most
CHANCE = 0.001  # that an empty power of two beside a full one seems full
ENDS = 4.0  # standard deviations at which there is more beyond an end than noise
SURE = 3.0  # standard deviations at which a noisy count is taken for more than nothing
MOSTLY = 0.9  # of present cells: what makes a column one of numbers, or of dates


@dataclass(frozen=True, eq=False)
class Found:
    """What was found of one column, in words, with its noisy counts by cell: released, and paid for.

    `nothing` says that no value passed, or no number was seen.
    """

    column: Column
    words: str
    nothing: bool = False
    tag: ClassVar[Tag] = Tag.PAID


@dataclass(frozen=True, eq=False)
class MeasuredSchema:
    """The domain that was found, column by column; what was charged for it."""

    domain: Domain
    found: tuple[Found, ...]
    charged: list[Any] = field(default_factory=list)
    tag: ClassVar[Tag] = Tag.PAID


def measure_schema(schema: OpenSchema, plan: SchemaPlan, curator: ColumnCurator) -> MeasuredSchema:
    """Measure every open column of a schema, in order; raises BudgetError when what was charged is not the plan."""
    found = [measure_column(column, i, plan, curator) for i, column in enumerate(schema.open)]
    charged = curator.ledger.events
    planned = [c.spend for c in plan.plan.charges for _ in range(c.times)]
    if [spend for _, spend in charged] != planned:
        raise BudgetError("the schema was not measured as planned; nothing leaves")
    return MeasuredSchema(schema.settled({f.column.name: f.column for f in found}), tuple(found), charged)


def measure_column(column: OpenColumn, place: int, plan: SchemaPlan, curator: ColumnCurator) -> Found:
    """Measure one column, the one at `place` of the curator."""
    if column.categorical:
        return _categories(column, place, plan, curator)
    statistic = Magnitudes(column.whole)
    seen = curator.count(place, statistic, plan.bounds)
    edges, deep = _grid(seen, column.whole, isinstance(plan.bounds, Gaussian))
    tree = TreeCounts(edges, column.whole)
    counts = curator.count(place, tree, plan.tree)
    return _bounds(column, tree, counts, plan.n, deep)


def guess_kinds(names: Sequence[str], plan: SchemaPlan, curator: ColumnCurator) -> list[OpenColumn]:
    """What every column seems to be, by a private share of its cells that read as numbers or dates."""
    out = []
    for place, name in enumerate(names):
        counts = curator.count(place, KindCounts(), plan.kinds).values  # type: ignore[arg-type]
        counts = np.maximum(counts, 0)
        present = max(float(counts.sum() - counts[MISSING]), 1.0)
        days = {order: counts[DATES[order]] for order in DATES}
        best = max(days, key=lambda order: days[order])
        numbers = counts[WHOLE] + counts[NUMBER]
        if numbers >= MOSTLY * present:
            kind = "numeric" if counts[NUMBER] >= (1 - MOSTLY) * numbers else "integer"
            out.append(OpenColumn(name=name, kind=kind, ordered=True, quantiles=kind == "numeric"))
        elif sum(days.values()) >= MOSTLY * present:
            out.append(OpenColumn(name=name, kind="integer", ordered=True, read=f"year of {best}"))
        else:
            out.append(OpenColumn(name=name, kind="categorical"))
    return out


def _categories(column: OpenColumn, place: int, plan: SchemaPlan, curator: ColumnCurator) -> Found:
    found = curator.frequent(place, plan.values)  # type: ignore[arg-type]
    missing = found.missing >= SURE * found.stddev
    rest = max(plan.n - float(found.counts.sum()) - found.missing * missing, 0.0)
    own = column.of_values(found.texts, missing)
    if not found.texts:
        words = f"no value passed the threshold of {found.threshold:,.0f} rows: all are one category"
        return Found(own, words, True)
    many = f"{len(found.texts)} value{'s' * (len(found.texts) > 1)} passed the threshold of {found.threshold:,.0f} rows"
    where = "missing ones have a category of their own" if missing else "missing ones are among the others"
    return Found(own, f"{many}; about {rest:,.0f} rows say others, which are one category; {where}")


def _full(seen: NoisyCounts, gaussian: bool) -> np.ndarray:
    """The places of powers of two that hold numbers: the fullest, and those that are the surer the farther off.

    An empty one k steps from the nearest is taken with a chance of CHANCE^k, any that widens the range many times with
    CHANCE² in all, and any that is no farther from 0 than the others with CHANCE in all, as it does little harm.
    None where even the fullest may be empty.
    """
    counts = seen.values[:-1] / seen.stddev
    size = np.abs(np.arange(len(counts)) - len(counts) // 2)
    full = np.zeros(len(counts), dtype=bool)
    full[np.argmax(counts)] = counts.max() >= _sure(CHANCE / len(counts), gaussian)
    while full.any():
        places = np.flatnonzero(full)
        steps = np.abs(np.arange(len(counts))[:, None] - places).min(axis=1)
        anywhere = np.where(size <= size[places].max(), CHANCE, CHANCE**2) / len(counts)
        more = full | (counts >= _sure(np.maximum(CHANCE ** np.maximum(steps, 1), anywhere), gaussian))
        if (more == full).all():
            return places
        full = more
    return np.flatnonzero(full)


def _sure(chance: Any, gaussian: bool) -> Any:
    """The standard deviations that noise exceeds with a chance."""
    return -ndtri(chance) if gaussian else -np.log(2 * chance) / math.sqrt(2)


def _grid(seen: NoisyCounts, whole: bool, gaussian: bool) -> tuple[np.ndarray, bool]:
    """Public edges of cells from the lowest to the highest power of two that holds numbers, each cut into parts.

    What is known of the records here is what the noisy counts say. (0, 1), and False, where none holds any.
    """
    ends, cells, full = powers(), len(seen.values) - 1, _full(seen, gaussian)
    if not len(full):
        return np.array([0.0, 1.0]), False
    depth = min(FINEST, int(math.log2(LEAVES / (len(full) + 1))))
    edges: list[float] = []
    for i in range(full[0], full[-1] + 1):
        low, high = ends[i], ends[i + 1]
        middle = low < 0 < high
        parts = 2**depth if i in full and not middle else 1
        edges += list(np.linspace(low, high, parts + 1)[:-1]) if not middle else [0.0] if i == full[0] else [low]
    edges.append(float(ends[full[-1] + 1]) if full[-1] != cells // 2 else 0.0)
    out = np.unique(np.ceil(edges) if whole else np.array(edges))
    if len(out) < 2:  # nothing but zeros
        out = np.array([out[0], out[0] + 1])
    step = math.ceil(len(out) / LEAVES)
    return np.unique(np.append(out[::step], out[-1])), True


def _ends(tree: TreeCounts, leaves: np.ndarray, stddev: float) -> tuple[int, int, float] | None:
    """The edges outside which there may be nothing, and how many rows may be; None where there may be none at all.

    Walking inward, an end is the last edge before as many rows are passed as noise would hardly make of none.
    """
    cells = len(leaves)
    below = np.tri(cells)  # row i: all cells up to i
    first, last = (
        np.flatnonzero(weights @ leaves >= ENDS * stddev * tree.deviations(weights)) for weights in (below, below.T)
    )
    if not len(first) or not len(last):
        return None
    low, high = int(first[0]), int(last[-1])
    beyond = tree.deviations(np.array([below[low], below.T[high]])).max()
    return min(low, high), max(low, high) + 1, ENDS * stddev * float(beyond)


def _bounds(column: OpenColumn, tree: TreeCounts, counts: NoisyCounts, n: int, deep: bool) -> Found:
    """Ends and bins from noisy counts of a grid's cells."""
    edges, leaves = tree.edges, tree.fitted(counts.values, n)[:-1]
    ends = _ends(tree, leaves, counts.stddev) if deep else None
    if ends is None:
        return Found(column.of_edges([0.0, 1.0]), "too few numbers were seen: all of them are one bin", True)
    first, last, beyond = ends
    below = _rising(np.concatenate([[0.0], np.cumsum(leaves)]))
    low, high = float(edges[first]), float(edges[last])
    off = f"about {beyond:,.0f} rows may lie beyond an end"
    if column.whole:
        lowest, highest = math.ceil(low), max(math.ceil(high) - 1, math.ceil(low))
        if highest - lowest < column.bins and not column.quantiles:
            return Found(column.of_whole(lowest, highest), f"{lowest} to {highest}; {off}")
    if last == first + 1 and not column.whole:
        return Found(column.of_edges([low, high]), f"nearly all in {low:g} to {high:g}, one bin; {off}")
    if column.quantiles:
        targets = below[-1] * np.arange(1, column.bins) / column.bins  # of all: those beyond an end are in its bin
        inner = _short(np.interp(targets, below + np.arange(len(below)) * 1e-9, edges), high - low)
    else:
        inner = _short(np.linspace(low, high, column.bins + 1)[1:-1], high - low)
    if column.whole:
        inner = np.ceil(inner)
        ends = np.unique(np.clip([lowest, *inner, highest], lowest, highest))
        ends = ends if len(ends) > 1 else np.array([lowest, lowest + 1.0])
    else:
        ends = np.unique([low, *inner, high])
        ends = ends[(ends >= low) & (ends <= high)]
    made = "bins of about as many rows each" if column.quantiles else "bins"
    words = f"{ends[0]:g} to {ends[-1]:g}, {len(ends) - 1} {made}; {off}"
    return Found(column.of_edges([float(e) for e in ends]), words)


def _rising(sums: np.ndarray) -> np.ndarray:
    """The mean of the smallest rising curve above and the largest below."""
    return (np.maximum.accumulate(sums) + np.minimum.accumulate(sums[::-1])[::-1]) / 2


def _short(numbers: np.ndarray, width: float) -> np.ndarray:
    """Increasing numbers without digits that are worth less than a hundredth of the gap to the next."""
    gaps = np.append(np.diff(numbers), width)
    gaps = np.minimum(gaps, np.append(width, gaps[:-1]))
    places = np.maximum(2 - np.floor(np.log10(np.maximum(gaps, width * 1e-9))), 0).astype(int)
    return np.array([round(float(x), int(p)) for x, p in zip(numbers, places, strict=True)])
