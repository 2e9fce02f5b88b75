"""Draw a promise: two worlds and 100 guesses, beliefs, privacy curves, an attacker's errors; nothing is computed."""

import base64
from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from .base import FIFTH, FOURTH, GREY, REAL, SIXTH, SYNTHETIC, THIRD, curves, finish

DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"]
COLOURS = [REAL, SYNTHETIC, THIRD, FOURTH, FIFTH, SIXTH]
BLUE, ORANGE, INK = "#0072B2", "#D55E00", "#7A7A7A"  # of a drawing, into which the browser puts no palette
CHANCES = [1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999]
SMALLEST = CHANCES[0]
HEAD = '<circle cx="5" cy="2.6" r="2"/>'
BODY = '<path d="M2.6 13.4V9.5H2V6.2Q2 5.2 3 5.2H7Q8 5.2 8 6.2V9.5H7.4V13.4Z"/>'
ARMS = '<path d="M2.7 8.4L.8 4.6M7.3 8.4L9.2 4.6" stroke-width="1.1" stroke-linecap="round"/>'
ROWS, YOU = 5, 2  # rows of a drawn table, and the one that differs


def two_worlds(right: int, words: str) -> str:
    """Return an image: two tables that differ in one person, one release, and 100 guesses, of which `right` are right.

    50 figures are right by luck (blue), the others of `right` because of the release (arms up), the rest wrong
    (hollow). It is an image of its own, as `st.html` lets no SVG through; its greys are seen on white and on black.
    """
    looks = (
        f'<g fill="{BLUE}" stroke="{BLUE}" stroke-width=".4">{HEAD}{BODY}</g>',
        f'<g fill="{ORANGE}" stroke="{ORANGE}" stroke-width=".4">{HEAD}{BODY}{ARMS}</g>',
        f'<g fill="none" stroke="{INK}" stroke-width=".6">{HEAD}{BODY}</g>',
    )
    shown = [looks[0 if i < 50 else 1 if i < right else 2] for i in range(100)]
    figures = "".join(
        f'<g transform="translate({4 + i % 20 * 19.2} {168 + i // 20 * 26}) scale(1.65)">{one}</g>'
        for i, one in enumerate(shown)
    )
    parts = [
        _label(92, 18, "with you"),
        _label(300, 18, "with someone else"),
        _table(40, BLUE),
        _table(248, ORANGE),
        f'<path d="M92 104V122H300V104M196 122V136" fill="none" stroke="{INK}" stroke-width="2"/>',
        f'<path d="M191 131L196 138L201 131Z" fill="{INK}"/>',
        _label(196, 158, "one release: which table was it?"),
        figures,
    ]
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 392 300" width="784" height="600">{"".join(parts)}</svg>'
    )
    source = "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
    return f'<img src="{source}" alt="{words}" style="display:block;width:100%;max-width:36rem;height:auto">'


def _label(x: float, y: float, text: str) -> str:
    look = f'font-family="sans-serif" font-size="15" font-weight="600" text-anchor="middle" fill="{INK}"'
    return f'<text x="{x}" y="{y}" {look}>{text}</text>'


def _table(x: float, colour: str) -> str:
    """Rows of a table, the one of a person in `colour`."""
    rows = (
        f'<rect x="{x}" y="{28 + 15 * i}" width="104" height="11" rx="2" fill="{colour if i == YOU else INK}" '
        f'opacity="{1 if i == YOU else 0.35}"/>'
        for i in range(ROWS)
    )
    return "".join(rows)


def log_odds(chance: np.ndarray) -> np.ndarray:
    """Where a probability lies on the axes of `posteriors`."""
    return np.log(chance) - np.log1p(-chance)


def posteriors(frame: pd.DataFrame, prior: float) -> go.Figure:
    """Belief after against belief before, both by log odds; a pair of columns "… at most", "… at least" is one look."""
    figure = go.Figure()
    x = log_odds(frame["before"].to_numpy())
    figure.add_scatter(x=x, y=x, mode="lines", name="no release", line={"color": GREY, "dash": "dot"}, hoverinfo="skip")
    names = [str(c).removesuffix(" at most") for c in frame if str(c).endswith(" at most")]
    for name, colour, dash in zip(names, COLOURS, DASHES, strict=False):
        for side, first in (("at most", True), ("at least", False)):
            y = frame[f"{name} {side}"].to_numpy()
            inside = np.clip(y, 1e-12, 1 - 1e-12)
            figure.add_scatter(
                x=x, y=log_odds(inside), mode="lines", name=name, legendgroup=name, showlegend=first, customdata=y,
                line={"color": colour, "dash": dash},
                hovertemplate=f"{name}: {side} %{{customdata:.4%}}<extra></extra>",
            )  # fmt: skip
    figure.add_vline(x=float(log_odds(np.array(prior))), line={"color": GREY, "width": 1})
    ticks = {"tickvals": log_odds(np.array(CHANCES)), "ticktext": [f"{100 * c:.5g}%" for c in CHANCES]}
    edge = float(log_odds(np.array(1 - SMALLEST)))
    figure.update_xaxes(title="belief before the release", **ticks, range=[-9.4, 4.8])
    figure.update_yaxes(title="belief after it", **ticks, range=[-edge, edge])
    return finish(figure, 460)


def privacy_curves(
    curves: Mapping[str, np.ndarray], deltas: np.ndarray, promise: tuple[float, float], thick: str | None = None
) -> go.Figure:
    """δ against ε, one line a name; the promise as a star; the line called `thick` in grey behind the others."""
    figure = go.Figure()
    drawn = {name: e for name, e in curves.items() if name != thick}
    if thick:
        line = {"color": GREY, "width": 6}
        figure.add_scatter(x=curves[thick], y=deltas, mode="lines", name=thick, line=line, opacity=0.5)
    for (name, epsilons), colour, dash in zip(drawn.items(), COLOURS, DASHES, strict=False):
        figure.add_scatter(
            x=epsilons, y=deltas, mode="lines", name=name, line={"color": colour, "dash": dash, "width": 2},
            hovertemplate=f"{name}: ε = %{{x:.4g}} at δ = %{{y:.1e}}<extra></extra>",
        )  # fmt: skip
    if promise[1] > 0:
        marker = {"symbol": "star", "size": 13, "color": GREY, "line": {"width": 1, "color": "white"}}
        figure.add_scatter(x=[promise[0]], y=[promise[1]], mode="markers", name="asked for", marker=marker)
    figure.update_yaxes(title="δ", type="log", exponentformat="power", dtick=2)
    return finish(figure.update_xaxes(title="ε", range=[0, _reach(curves, promise[0])]), 400)


def trade_off(frame: pd.DataFrame, lines: dict[str, str], titles: tuple[str, str]) -> go.Figure:
    """Draw columns of a frame, each with its words in `lines`, over its "false alarms"; both axes are shares."""
    share = {"tickformat": ".0%", "range": [-0.01, 1.01]}
    return curves(frame, "false alarms", lines, titles).update_xaxes(**share).update_yaxes(**share)


def _reach(curves: Mapping[str, np.ndarray], asked: float) -> float:
    """The end of the ε axis: far enough for most lines, near enough to tell them apart."""
    ends = sorted(float(e[np.isfinite(e)].max()) for e in curves.values() if np.isfinite(e).any())
    return 1.05 * max(asked, min(ends[-1], 2.5 * ends[0]))
