"""Draw a promise: two worlds and 100 guesses, beliefs, privacy curves, an attacker's errors; nothing is computed."""

import base64
from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from .base import FIFTH, FOURTH, GREY, REAL, SIXTH, SYNTHETIC, THIRD, curves, finish

DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"]
COLOURS = [REAL, SYNTHETIC, THIRD, FOURTH, FIFTH, SIXTH]
BLUE, ORANGE, WON, INK = "#0072B2", "#D55E00", "#B0568C", "#7A7A7A"  # of a drawing: no palette reaches it
CHANCES = [1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999]
SMALLEST = CHANCES[0]
HEAD = '<circle cx="5" cy="2.6" r="2"/>'
BODY = '<path d="M2.6 13.4V9.5H2V6.2Q2 5.2 3 5.2H7Q8 5.2 8 6.2V9.5H7.4V13.4Z"/>'
ARMS = '<path d="M2.7 8.4L.8 4.6M7.3 8.4L9.2 4.6" stroke-width="1.1" stroke-linecap="round"/>'
ROWS, YOU = 5, 2  # rows of a drawn table, and the one that differs


def two_worlds(right: int, words: str) -> str:
    """Return HTML: two tables that differ in one person, one release, and 100 guesses, of which `right` are right.

    50 figures are right by luck (grey), the others of `right` because of the release (arms up), the rest wrong
    (hollow); a row has 25. The drawing is an image, as `st.html` lets no SVG through, and its greys are seen on white
    and on black. Its headings are text of the page.
    """
    looks = (
        f'<g fill="{INK}" stroke="{INK}" stroke-width=".4">{HEAD}{BODY}</g>',
        f'<g fill="{WON}" stroke="{WON}" stroke-width=".4">{HEAD}{BODY}{ARMS}</g>',
        f'<g fill="none" stroke="{INK}" stroke-width=".6">{HEAD}{BODY}</g>',
    )
    shown = [looks[0 if i < 50 else 1 if i < right else 2] for i in range(100)]
    figures = "".join(
        f'<g transform="translate({i % 25 * 15.7} {168 + i // 25 * 24}) scale(1.5)">{one}</g>'
        for i, one in enumerate(shown)
    )
    parts = [
        _table(40, BLUE),
        _table(248, ORANGE),
        f'<path d="M92 104V122H300V104M196 122V136" fill="none" stroke="{INK}" stroke-width="2"/>',
        f'<path d="M191 131L196 138L201 131Z" fill="{INK}"/>',
        figures,
    ]
    size = 'viewBox="0 0 392 264" width="784" height="528"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'
    source = "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
    headings = "".join(
        f'<b style="position:absolute;left:{left}%;top:{top}%;transform:translateX(-50%);white-space:nowrap">{text}</b>'
        for left, top, text in (
            (23.5, 0, "with you"),
            (76.5, 0, "with someone else"),
            (50, 54, "one release: which table was it?"),
        )
    )
    image = f'<img src="{source}" alt="{words}" style="display:block;width:100%;height:auto">'
    return f'<div style="position:relative;max-width:36rem">{image}{headings}</div>'


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
    curves: Mapping[str, np.ndarray], deltas: np.ndarray, promise: tuple[float, float], thick: str
) -> go.Figure:
    """δ against ε, one line a name; the promise as a star; the line called `thick` in grey behind the others."""
    figure = go.Figure()
    drawn = {name: e for name, e in curves.items() if name != thick}
    if thick in curves:
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
    """Draw columns of a frame, each with its words in `lines`, over its "false alarms"; both axes are shares.

    All such lines meet at their ends, so a legend names them.
    """
    share = {"tickformat": ".0%", "range": [-0.01, 1.01]}
    figure = curves(frame, "false alarms", lines, titles).update_xaxes(**share).update_yaxes(**share)
    return figure.update_layout(annotations=[], showlegend=True, margin_r=8)


def _reach(curves: Mapping[str, np.ndarray], asked: float) -> float:
    """The end of the ε axis: far enough for most lines, near enough to tell them apart."""
    ends = sorted(float(e[np.isfinite(e)].max()) for e in curves.values() if np.isfinite(e).any())
    return 1.05 * max(asked, min(ends[-1], 2.5 * ends[0]))
