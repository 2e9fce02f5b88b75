"""The worst of a run first: which column, which pair and which group it is furthest off for."""

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.core.numbers import unit_noun
from dpcore.core.provenance import Provenance
from dpcore.evaluation.run import Comparison, subgroup_errors

from ..components import draw_heading, glossary_tooltip, hide_in_stakeholder_view
from ..session import escape_markdown, printable_text
from .sweep_jobs import ALGORITHM_TITLES, Dot, Sweep

WorstError = tuple[float, str]  # the largest difference of shares, and what has it


@hide_in_stakeholder_view
def draw_worst_errors(sweep: Sweep, selected_dot: Dot | None) -> None:
    """Draw a line each for the column, pair and group with the largest error in one run.

    It is the clicked run, or else the best one.
    """
    dot = selected_dot or sweep.best_dot
    if (
        dot is None
        or dot.pair_answers is None
        or sweep.pair_workload is None
        or sweep.problem is None
    ):
        return
    draw_heading(
        "Where is it furthest off?",
        Provenance.REAL_DATA,
        glossary_tooltip("marginal", "cell", "point", "disagreement"),
    )
    point = dot.point
    worst_by_kind = find_worst_errors(
        Comparison(sweep.pair_workload, np.asarray(sweep.real_pair_answers), dot.pair_answers)
    )
    share, group = worst_by_kind.pop("group")
    lines = [
        (kind, name, f"{100 * off:.2g} points", f"{sweep.problem.n * off:,.0f}")
        for kind, (off, name) in worst_by_kind.items()
    ]
    columns = pd.Index(["worst", "which", "off by", f"≈ {unit_noun(sweep.problem.group)}"])
    st.dataframe(pd.DataFrame(lines, columns=columns), hide_index=True)
    description = (
        "the clicked dot" if selected_dot else "the best run there; click a dot for another"
    )
    caption = (
        f"{ALGORITHM_TITLES[point.algorithm]} at ε = {point.epsilon:g}, repeat number "
        f"{point.seed}: {description}. "
    )
    caption += (
        f"The tables disagree most about the group {escape_markdown(group, 120)}: by {share:.2%}."
    )
    st.caption(caption)


def find_worst_errors(comparison: Comparison) -> dict[str, WorstError]:
    """Return the largest error and its label for a column, for a pair and for a group.

    For a column it is that of a value, for a pair that of a cell; for a group it is how much the
    tables
    disagree about its members.
    """
    workload = comparison.workload
    gaps = comparison.synthetic - comparison.real
    names = workload.domain.names
    errors_by_kind = {}
    for axes, shape, table in workload.layout:
        cells = gaps[table].reshape(shape)
        for axis_index, axis in enumerate(axes):
            other_axes = tuple(other for other in range(len(axes)) if other != axis_index)
            errors_by_kind.setdefault("column", []).append(
                (float(np.abs(cells.sum(axis=other_axes)).max()), printable_text(names[axis]))
            )
        if len(axes) == 2:
            pair = " × ".join(printable_text(names[axis]) for axis in axes)
            errors_by_kind.setdefault("pair", []).append((float(np.abs(cells).max()), pair))
    for name in names:
        group_errors = subgroup_errors(comparison, name)
        for label, share, error in zip(
            group_errors.labels, group_errors.share, group_errors.error, strict=True
        ):
            if share > 0:
                errors_by_kind.setdefault("group", []).append(
                    (
                        float(np.nan_to_num(error)),
                        f"{printable_text(name)} = {printable_text(label)}",
                    )
                )
    return {kind: max(several) for kind, several in errors_by_kind.items()}
