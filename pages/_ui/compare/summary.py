"""The worst of a run first: which column, which pair and which group it is furthest off for."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.evaluation.run import Comparison, subgroups
from dpcore.tags import Tag

from ..shell.frame import heading, peek
from ..shell.text import clean, plain
from ..shell.words import meaning
from .sweeps import TITLES, Dot, Sweep


@dataclass(frozen=True)
class Worst:
    """Where a run is furthest off: which `kind` of thing, its name, and the largest difference of shares.

    Of a group: how much the real and the synthetic table disagree about it.
    """

    kind: str
    name: str
    share: float


@peek
def worst(sweep: Sweep, chosen: Dot | None) -> Dot | None:
    """A line each for the worst column, pair and group; returns the run they are of."""
    dot = chosen or best(sweep)
    if dot is None or dot.pairs is None or sweep.pairs is None or sweep.problem is None:
        return dot
    heading("Where is it furthest off?", Tag.PEEK, meaning("marginal", "cell", "point", "disagreement"))
    point = dot.point
    *found, group = worst_of(Comparison(sweep.pairs, np.asarray(sweep.real_pairs), dot.pairs))
    lines = [(w.kind, w.name, f"{100 * w.share:.2g} points", f"{sweep.problem.n * w.share:,.0f}") for w in found]
    columns = pd.Index(["worst", "which", "off by", "≈ rows"])
    st.dataframe(pd.DataFrame(lines, columns=columns), hide_index=True)
    which = "the clicked dot" if chosen else "the best run at the largest ε; click a dot for another"
    words = f"{TITLES[point.algorithm]} at ε = {point.epsilon:g}, repeat number {point.seed}: {which}. "
    words += f"The tables disagree most about the group {plain(group.name, 120)}: by {group.share:.2%}."
    st.caption(words)
    return dot


def best(sweep: Sweep) -> Dot | None:
    """The run with the smallest worst error at the largest ε."""
    done = [d for d in sweep.shown if d.point.state == "done"]
    largest = max((d.point.epsilon for d in done), default=0.0)
    return min(
        (d for d in done if d.point.epsilon == largest), key=lambda d: d.point.errors["max_error"] or 0, default=None
    )


def worst_of(both: Comparison) -> list[Worst]:
    """The value of a column and the cell of a pair with the largest difference, and the group disagreed about most."""
    workload, gaps = both.workload, both.synthetic - both.real
    names, singles, pairs = workload.domain.names, {}, []
    for axes, shape, table in zip(workload.axes, workload.shapes, workload.tables, strict=True):
        cells = gaps[table].reshape(shape)
        for place, axis in enumerate(axes):
            if axis not in singles:
                rest = tuple(other for other in range(len(axes)) if other != place)
                singles[axis] = float(np.abs(cells.sum(axis=rest)).max())
        if len(axes) == 2:
            pairs.append((float(np.abs(cells).max()), " × ".join(clean(names[a]) for a in axes)))
    column = max(singles, key=lambda axis: singles[axis])
    found = [Worst("column", clean(names[column]), singles[column])]
    if pairs:
        share, name = max(pairs)
        found.append(Worst("pair", name, share))
    groups = []
    for name in names:
        of = subgroups(both, name)
        share = np.where(of.share > 0, np.nan_to_num(of.error), 0.0)
        i = int(share.argmax())
        groups.append((float(share[i]), f"{clean(name)} = {clean(of.labels[i])}"))
    share, name = max(groups)
    return [*found, Worst("group", name, share)]
