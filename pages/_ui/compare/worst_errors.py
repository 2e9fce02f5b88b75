"""The worst of a run first: which column, which pair and which group it is furthest off for."""

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.core.provenance import Tag
from dpcore.evaluation.run import Comparison, subgroups

from ..components import heading, meaning, peek
from ..session import clean, plain
from .sweep_jobs import TITLES, Dot, Sweep

Worst = tuple[float, str]  # the largest difference of shares, and what has it


@peek
def worst(sweep: Sweep, chosen: Dot | None) -> None:
    """A line each for the column, pair and group that the clicked run or the best one is furthest off for."""
    dot = chosen or sweep.best
    if dot is None or dot.pairs is None or sweep.pairs is None or sweep.problem is None:
        return
    heading("Where is it furthest off?", Tag.PEEK, meaning("marginal", "cell", "point", "disagreement"))
    point = dot.point
    worst_by_kind = worst_of(Comparison(sweep.pairs, np.asarray(sweep.real_pairs), dot.pairs))
    share, group = worst_by_kind.pop("group")
    lines = [
        (kind, name, f"{100 * off:.2g} points", f"{sweep.problem.n * off:,.0f}")
        for kind, (off, name) in worst_by_kind.items()
    ]
    columns = pd.Index(["worst", "which", "off by", "≈ rows"])
    st.dataframe(pd.DataFrame(lines, columns=columns), hide_index=True)
    description = "the clicked dot" if chosen else "the best run there; click a dot for another"
    caption = f"{TITLES[point.algorithm]} at ε = {point.epsilon:g}, repeat number {point.seed}: {description}. "
    caption += f"The tables disagree most about the group {plain(group, 120)}: by {share:.2%}."
    st.caption(caption)


def worst_of(both: Comparison) -> dict[str, Worst]:
    """The value of a column and the cell of a pair with the largest difference, and the group disagreed about most."""
    workload, gaps = both.workload, both.synthetic - both.real
    names, errors_by_kind = workload.domain.names, {}
    for axes, shape, table in workload.layout:
        cells = gaps[table].reshape(shape)
        for axis_index, axis in enumerate(axes):
            other_axes = tuple(other for other in range(len(axes)) if other != axis_index)
            errors_by_kind.setdefault("column", []).append(
                (float(np.abs(cells.sum(axis=other_axes)).max()), clean(names[axis]))
            )
        if len(axes) == 2:
            pair = " × ".join(clean(names[axis]) for axis in axes)
            errors_by_kind.setdefault("pair", []).append((float(np.abs(cells).max()), pair))
    for name in names:
        group_errors = subgroups(both, name)
        for label, share, error in zip(group_errors.labels, group_errors.share, group_errors.error, strict=True):
            if share > 0:
                errors_by_kind.setdefault("group", []).append(
                    (float(np.nan_to_num(error)), f"{clean(name)} = {clean(label)}")
                )
    return {kind: max(several) for kind, several in errors_by_kind.items()}
