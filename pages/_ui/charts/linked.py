"""Altair charts whose parts are linked by brushing. Fields have fixed names: hostile names never reach a field."""

import altair as alt
import pandas as pd

from .base import REAL, SYNTHETIC


def queries(table: pd.DataFrame, columns: list[list[str]]) -> alt.VConcatChart:
    """Errors of the worst queries, worst first; brushing some of them shows which columns they involve.

    `table` has question, real, synthetic, error; `columns` names the columns of each query.
    """
    dots = table.assign(rank=range(1, len(table) + 1))
    involved = dots[["rank", "error"]].assign(column=columns).explode("column")
    brush = alt.selection_interval(encodings=["x"], name="brush")
    x = alt.X(
        "rank:Q", title="questions, worst first", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="d")
    )
    hint = [
        alt.Tooltip("question:N"),
        *(alt.Tooltip(f"{name}:Q", format=".2%") for name in ("real", "synthetic", "error")),
    ]
    faded = alt.condition(brush, alt.value(0.85), alt.value(0.15))
    y = alt.Y("error:Q", title="error", axis=alt.Axis(format="%"))
    above = alt.Chart(dots).mark_circle(size=40, color=SYNTHETIC).encode(x, y, opacity=faded, tooltip=hint)
    bars = (
        alt.Chart(involved)
        .transform_filter(brush)
        .mark_bar(color=REAL)
        .encode(
            alt.X("mean(error):Q", title="mean error of the marked questions", axis=alt.Axis(format="%")),
            alt.Y("column:N", title=None, sort="-x", axis=alt.Axis(labelLimit=160)),
            tooltip=[alt.Tooltip("count():Q", title="questions"), alt.Tooltip("mean(error):Q", format=".2%")],
        )
    )
    both = alt.vconcat(
        above.properties(width="container", height=240).add_params(brush), bars.properties(width="container")
    )
    return both.properties(usermeta={"embedOptions": {"renderer": "canvas"}})  # the chart has a text of its own
