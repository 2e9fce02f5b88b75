"""Bars of a lesson that follow ε at every stop of the slider.

The charts of the page follow where the slider is let go.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from ..charts.dragged_bars import BarFrames, draw_dragged_bars
from ..components import (
    EPSILON_OPTIONS,
    draw_chart_footer,
    format_setting,
    hide_in_stakeholder_view,
)
from ..session import set_widget_value
from .lesson_answers import format_in_unit

# what happens below dwarfs the rest
EPSILON_STOPS = [epsilon for epsilon in EPSILON_OPTIONS if epsilon >= 0.1]


@hide_in_stakeholder_view
def draw_bars(title: str, names: Sequence[str], values: np.ndarray, unit: str, key: str) -> None:
    """Draw bars of the repeats' medians with an ε slider, and all values as a table.

    `values` are (seeds, ε, bars).
    """
    st.markdown(f"**{title}.** Drag ε. The charts below follow when you let go.")
    stop_index = EPSILON_STOPS.index(max(st.session_state.get("epsilon", 1.0), EPSILON_STOPS[0]))
    median = np.median(values, axis=0)
    bar_texts = [
        "; ".join(
            f"{name}: {format_in_unit(value, unit)}"
            for name, value in zip(names, bars, strict=True)
        )
        for bars in median
    ]
    stops = [f"ε = {format_setting(epsilon)}" for epsilon in EPSILON_STOPS]
    frames = BarFrames(
        title=title,
        name="ε, of these bars",
        stops=stops,
        ends=("stronger promise", "less noise"),
        labels=names,
        real=None,
        synthetic=median[None],
        sentences=[[f"{text}." for text in bar_texts]],
        moving_bars_name="median",
        unit=unit,
        repeats=values,
    )
    draw_dragged_bars(frames, stop_index, f"drag-{key}", _set_page_epsilon)
    table = pd.DataFrame(values[:, stop_index], columns=pd.Index(names))
    draw_chart_footer(
        f"Each of the {len(values)} repeats keeps its noise while ε moves.", table, key
    )


def _set_page_epsilon(stop_index: int) -> None:
    """Move the page's own slider there, which writes the ε into the address."""
    set_widget_value("epsilon", EPSILON_STOPS[stop_index])
