"""Parameters turned into widgets; nothing here computes."""

import math
from typing import Any

import streamlit as st

from dpcore.params import Param, parameters

AUTO = "auto"
EPSILONS = [0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0]
DELTAS = [0.0] + [float(f"1e-{power}") for power in range(12, 1, -1)]


def grid(low: float, high: float, kind: type) -> list:
    """1-2-5 steps from `low` to `high`, both included."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = {kind(float(f"{digit}e{power}")) for power in decades for digit in (1, 2, 5)}
    return sorted({v for v in steps if low <= v <= high} | {kind(low), kind(high)})


def number(value: Any) -> str:
    """A setting as a person writes it."""
    return value if isinstance(value, str) else f"{value:g}" if value < 1e6 else f"{value:,.0f}"


def epsilon_slider() -> float:
    """ε on a logarithmic scale."""
    help_text = "Privacy budget: smaller means more noise and a stronger promise. Each step to the right weakens it."
    return st.select_slider(
        "ε, privacy budget",
        EPSILONS,
        value=1.0,
        format_func=number,
        key="epsilon",
        help=help_text,
        persist_state="session",
    )


def delta_slider() -> float:
    """δ on a logarithmic scale, with 0 for pure differential privacy."""
    help_text = "Probability that the promise of ε does not hold; keep it far below 1/n. 0 asks for pure DP."
    return st.select_slider(
        "δ, failure probability",
        DELTAS,
        value=1e-9,
        format_func=number,
        key="delta",
        help=help_text,
        persist_state="session",
    )


def settings(algorithm: str, cls: type) -> dict[str, str]:
    """One widget for each parameter of an algorithm; returns texts as `params.build` takes them."""
    chosen = {}
    listed = parameters(cls)
    for p, column in zip(listed, st.columns(len(listed)), strict=True):
        chosen[p.name] = str(_widget(p, f"{algorithm}.{p.name}", column))
    return chosen


def _widget(p: Param, key: str, place: Any) -> Any:
    label = f"{p.name} {p.symbol}".strip()
    words = p.doc[0].upper() + p.doc[1:] + f" ({p.range})." + (f" Auto: from {p.auto}." if p.auto else "")
    if p.choices:
        index = p.choices.index(p.default)
        return place.selectbox(label, p.choices, index, key=key, help=words, persist_state="session")
    options = grid(p.low or 0.0, p.high or 0.0, p.kind)
    if p.default is None:
        options, value = [AUTO, *options], AUTO
    else:
        options, value = sorted({*options, p.default}), p.default
    return place.select_slider(
        label, options, value=value, format_func=number, key=key, help=words, persist_state="session"
    )
