"""Bars of a lesson that follow ε, at every stop of the slider; the charts of the page follow where it is let go."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from ..charts.drag import Frames, drag
from ..shell import EPSILONS, below, give, number, peek
from .answers import in_unit

STOPS = [epsilon for epsilon in EPSILONS if epsilon >= 0.1]  # what happens below dwarfs the rest


def frames(title: str, names: Sequence[str], values: np.ndarray, unit: str) -> Frames:
    """Return one drawing, the median of the repeats that the answer names; `values` are (seeds, ε, bars)."""
    median = np.median(values, axis=0)
    stops = [f"ε = {number(epsilon)}" for epsilon in STOPS]
    words = [f"At **{stop}**: {_said(names, at, unit)}." for stop, at in zip(stops, median, strict=True)]
    return Frames(
        title=title, name="ε, of these bars", stops=stops, ends=("stronger promise", "less noise"), labels=names,
        real=None, synthetic=median[None], words=[words], shown="median", unit=unit, repeats=values,
    )  # fmt: skip


def _said(names: Sequence[str], values: np.ndarray, unit: str) -> str:
    """Return what the bars show in words, rounded as they are."""
    return "; ".join(f"{name}: {in_unit(value, unit)}" for name, value in zip(names, values, strict=True))


@peek
def draw(title: str, names: Sequence[str], values: np.ndarray, unit: str, key: str) -> None:
    """Draw the bars and their slider, and below their numbers as a table."""
    st.markdown(f"**{title}.** Drag ε. The charts below follow when you let go.")
    at = STOPS.index(max(st.session_state.get("epsilon", 1.0), STOPS[0]))
    drag(frames(title, names, values, unit), at, f"drag-{key}", _choose)
    table = pd.DataFrame(values[:, at], columns=pd.Index(names))
    below(f"Each of the {len(values)} repeats keeps its noise while ε moves.", table, key)


def _choose(stop: int) -> None:
    """Move the page's own slider there, which writes the ε into the address."""
    give("epsilon", STOPS[stop])
