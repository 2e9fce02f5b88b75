"""Bars of a lesson that follow ε, at every stop of the slider; the charts of the page follow where it is let go."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.numbers import points

from ..charts.drag import Frames, drag
from ..shell import EPSILONS, below, give, number, peek

STOPS = [epsilon for epsilon in EPSILONS if epsilon >= 0.1]  # what happens below dwarfs the rest


def frames(title: str, names: Sequence[str], shares: np.ndarray, unit: str) -> Frames:
    """Return a drawing for each repeat, which keeps its noise, only scaled; `shares` are (seeds, ε, bars)."""
    said = [[_said(names, at, unit) for at in one] for one in shares]
    stops = [f"ε = {number(epsilon)}" for epsilon in STOPS]
    words = [[f"At **{stop}**: {text}." for stop, text in zip(stops, one, strict=True)] for one in said]
    return Frames(
        title=title, name="ε, of these bars", stops=stops, ends=("stronger promise", "less noise"), labels=names,
        real=None, synthetic=shares, words=words, shown="one repeat", unit=unit,
    )  # fmt: skip


def _said(names: Sequence[str], shares: np.ndarray, unit: str) -> str:
    """Return what the bars show in words, rounded as they are."""
    shown = "{:.1%}".format if unit == "%" else lambda share: f"{points(share)} points"
    return "; ".join(f"{name} {shown(share)}" for name, share in zip(names, shares, strict=True))


@peek
def draw(title: str, names: Sequence[str], shares: np.ndarray, unit: str, key: str) -> None:
    """Draw the bars and their slider, and below their numbers as a table."""
    st.markdown(f"**{title}** Drag ε. The charts below follow when you let go.")
    at = STOPS.index(max(st.session_state.get("epsilon", 1.0), STOPS[0]))
    drag(frames(title, names, shares, unit), at, f"drag-{key}", _choose)
    table = pd.DataFrame(shares[:, at], columns=pd.Index(names))
    below(f"Each of the {len(shares)} repeats keeps its noise while ε moves.", table, key)


def _choose(stop: int) -> None:
    """Move the page's own slider there, which writes the ε into the address."""
    give("epsilon", STOPS[stop])
