"""Bars of a lesson that follow ε, at every stop of the slider; the charts of the page follow where it is let go."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from ..charts.dragged_bars import Frames, drag
from ..components import EPSILONS, below, number, peek
from ..session import give
from .lesson_answers import in_unit

STOPS = [epsilon for epsilon in EPSILONS if epsilon >= 0.1]  # what happens below dwarfs the rest


@peek
def draw(title: str, names: Sequence[str], values: np.ndarray, unit: str, key: str) -> None:
    """Draw the bars, the median of the repeats as the answer names it, and their slider, and below all as a table.

    `values` are (seeds, ε, bars).
    """
    st.markdown(f"**{title}.** Drag ε. The charts below follow when you let go.")
    stop_index = STOPS.index(max(st.session_state.get("epsilon", 1.0), STOPS[0]))
    median = np.median(values, axis=0)
    bar_texts = [
        "; ".join(f"{name}: {in_unit(value, unit)}" for name, value in zip(names, bars, strict=True)) for bars in median
    ]
    stops = [f"ε = {number(epsilon)}" for epsilon in STOPS]
    frames = Frames(
        title=title, name="ε, of these bars", stops=stops, ends=("stronger promise", "less noise"), labels=names,
        real=None, synthetic=median[None], words=[[f"{text}." for text in bar_texts]], shown="median", unit=unit,
        repeats=values,
    )  # fmt: skip
    drag(frames, stop_index, f"drag-{key}", _choose)
    table = pd.DataFrame(values[:, stop_index], columns=pd.Index(names))
    below(f"Each of the {len(values)} repeats keeps its noise while ε moves.", table, key)


def _choose(stop: int) -> None:
    """Move the page's own slider there, which writes the ε into the address."""
    give("epsilon", STOPS[stop])
