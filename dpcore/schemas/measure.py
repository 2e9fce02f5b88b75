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
CHANCE = 0.01  # that some empty cell of the magnitudes seems to hold a number
ENDS = 1.5  # typical errors of a rank that are cut off at each end
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
    leaves = tree.fitted(counts.values, plan.n)
    return _bounds(column, edges, leaves[:-1], counts.stddev * math.sqrt(tree.levels), deep)


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


def _grid(seen: NoisyCounts, whole: bool, gaussian: bool) -> tuple[np.ndarray, bool]:
    """Public edges of cells from the lowest to the highest power of two that holds numbers, each cut into parts.

    What is known of the records here is what the noisy counts say. (0, 1), and False, where none holds any.
    """
    ends, cells = powers(), len(seen.values) - 1
    # No more than CHANCE for any of the empty cells to seem full.
    tail = -float(ndtri(CHANCE / cells)) if gaussian else math.log(cells / (2 * CHANCE)) / math.sqrt(2)
    full = np.flatnonzero(seen.values[:cells] >= seen.stddev * tail)
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


def _bounds(column: OpenColumn, edges: np.ndarray, leaves: np.ndarray, rank: float, deep: bool) -> Found:
    """Ends and bins from noisy counts of a grid's cells; `rank` is the typical error of a sum of them."""
    below = _rising(np.concatenate([[0.0], np.cumsum(leaves)]))
    total = below[-1]
    if not deep or total <= SURE * rank:
        return Found(column.of_edges([0.0, 1.0]), "too few numbers were seen: all of them are one bin", True)
    cut = min(ENDS * rank, total / 20)
    first = int(np.searchsorted(below, below[0] + cut, side="right")) - 1
    last = int(np.searchsorted(below, total - cut, side="left"))
    first, last = min(first, len(edges) - 2), max(last, min(first, len(edges) - 2) + 1)
    low, high = float(edges[first]), float(edges[last])
    off = f"the ends may be off by about {rank:,.0f} rows"
    if column.whole:
        lowest, highest = math.ceil(low), max(math.ceil(high) - 1, math.ceil(low))
        if highest - lowest < column.bins and not column.quantiles:
            return Found(column.of_whole(lowest, highest), f"{lowest} to {highest}; {off}")
    if last == first + 1 and not column.whole:
        return Found(column.of_edges([low, high]), f"nearly all in {low:g} to {high:g}, one bin; {off}")
    if column.quantiles:
        targets = below[first] + (below[last] - below[first]) * np.arange(1, column.bins) / column.bins
        inner = np.interp(
            targets, below[first : last + 1] + np.arange(last - first + 1) * 1e-9, edges[first : last + 1]
        )
    else:
        inner = np.linspace(low, high, column.bins + 1)[1:-1]
    if column.whole:
        inner = np.ceil(inner)
        ends = np.unique(np.clip([lowest, *inner, highest], lowest, highest))
        ends = ends if len(ends) > 1 else np.array([lowest, lowest + 1.0])
    else:
        ends = np.unique([low, *(_short(x, high - low) for x in inner), high])
        ends = ends[(ends >= low) & (ends <= high)]
    made = "bins of about as many rows each" if column.quantiles else "bins"
    words = f"{ends[0]:g} to {ends[-1]:g}, {len(ends) - 1} {made}; {off}"
    return Found(column.of_edges([float(e) for e in ends]), words)


def _rising(sums: np.ndarray) -> np.ndarray:
    """The mean of the smallest rising curve above and the largest below."""
    return (np.maximum.accumulate(sums) + np.minimum.accumulate(sums[::-1])[::-1]) / 2


def _short(number: float, width: float) -> float:
    """The number without digits that are worth less than a 10,000th of the width."""
    return round(float(number), max(0, 4 - math.floor(math.log10(width)))) if width < 1e4 else round(float(number), 0)
