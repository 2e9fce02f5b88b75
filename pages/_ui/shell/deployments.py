"""The ε of public deployments, as marks beside a slider: never without unit, model and year."""

import base64
import math
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from .controls import EPSILONS

FILE = Path(__file__).parents[3] / "assets" / "deployments.csv"
SOURCE = "opendp/deployments-registry-data, commit 3e9c812 of 2026-07-15 (MIT)"
WARNING = (
    "A bare ε says little. What it protects differs from line to line: a person, a person's day, one event. So do "
    "who is trusted, and how much is released."
)
WIDTH, HEIGHT, EDGE = 300, 26, 8


@cache
def stated() -> pd.DataFrame:
    """The deployments that state an ε, smallest first: name, curator, year, variant, ε, δ, unit, model."""
    table = pd.read_csv(FILE, comment="#")
    known = table[table["epsilon"].notna() & table["unit"].notna() & table["model"].notna() & table["year"].notna()]
    return known.sort_values("epsilon", kind="stable").reset_index(drop=True)


@cache
def listed() -> int:
    """How many deployments the registry holds, with or without an ε."""
    return len(pd.read_csv(FILE, comment="#"))


def near(epsilon: float) -> pd.Series:
    """The deployment whose ε is nearest, by its ratio."""
    table = stated()
    return table.iloc[int(np.argmin(np.abs(np.log(table["epsilon"] / epsilon))))]


def sentence(found: pd.Series) -> str:
    """A deployment in a line, with what its ε means nothing without."""
    unit, model = found["unit"], str(found["model"]).lower()
    return f"{found['name']} ({found['curator']}, {found['year']}): ε = {found['epsilon']:g}, {unit}, {model} model"


def _marks(epsilon: float) -> None:
    """A strip of the slider's steps, a line a deployment."""
    table, found = stated(), near(epsilon)
    said = f"{len(table)} public deployments by their ε. Nearest to {epsilon:g}: {sentence(found)}."
    image = base64.b64encode(strip(table["epsilon"].tolist(), epsilon, EPSILONS).encode()).decode()
    picture = f'<img alt="{escape(said)}" src="data:image/svg+xml;base64,{image}" style="width:100%;display:block">'
    st.html(picture)


def known(epsilon: float) -> None:
    """All of them behind a button, with what an ε means nothing without, and a sentence that says so."""
    table, found = stated(), near(epsilon)
    table = table.assign(delta=table["delta"].map("{:g}".format, na_action="ignore").fillna("–"))
    with st.popover(f"{len(table)} real uses of ε", icon=":material/public:", type="tertiary"):
        st.text(f"Nearest to ε = {epsilon:g}: {sentence(found)}.")
        _marks(epsilon)
        st.text(WARNING)
        columns = ["epsilon", "delta", "unit", "model", "year", "variant", "name", "curator"]
        names = {"epsilon": "ε", "delta": "δ", "unit": "protects", "model": "model"}
        st.dataframe(table[columns].rename(columns=names), hide_index=True, height=320)
        st.caption(f"{len(table)} of {listed()} entries state an ε; the others another parameter or none. {SOURCE}.")


def strip(epsilons: Sequence[float], chosen: float, steps: Sequence[float]) -> str:
    """The picture (SVG): a grey line for each, beyond the last step at its edge, and a triangle at the chosen one."""

    def across(epsilon: float) -> float:
        share = np.interp(math.log(epsilon), np.log(steps), np.linspace(0, 1, len(steps)))
        return EDGE + float(share) * (WIDTH - 2 * EDGE)

    lines = "".join(f'<path d="M{across(e):.1f} 3v12"/>' for e in epsilons)
    x = across(chosen)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f'<g stroke="#7a7a7a" stroke-width="2" stroke-opacity=".55">{lines}</g>'
        f'<path d="M{EDGE} 15.5h{WIDTH - 2 * EDGE}" stroke="#8a8a8a"/>'
        f'<path d="M{x:.1f} 16l5 8h-10z" fill="#d9480f"/></svg>'
    )
