"""Charts of a privacy promise: two worlds and 100 guesses, beliefs and privacy curves.

An attacker's errors are drawn, too; nothing is computed here.
"""

import base64
from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from .figure_frame import (
    FIFTH,
    FOURTH,
    GREY,
    REAL,
    SIXTH,
    SYNTHETIC,
    TEXT_FONT,
    THIRD,
    add_band,
    finish_figure,
    line_chart,
)

DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"]
COLOURS = [REAL, SYNTHETIC, THIRD, FOURTH, FIFTH, SIXTH]
# The colours of a drawing, which no palette reaches.
BLUE = "#0072B2"
ORANGE = "#D55E00"
RELEASE_COLOUR = "#B0568C"
PERSON_GREY = "#7A7A7A"
HEAD_SVG = '<circle cx="5" cy="2.6" r="2"/>'
BODY_SVG = '<path d="M2.6 13.4V9.5H2V6.2Q2 5.2 3 5.2H7Q8 5.2 8 6.2V9.5H7.4V13.4Z"/>'
RAISED_ARMS_SVG = (
    '<path d="M2.7 8.4L.8 4.6M7.3 8.4L9.2 4.6" stroke-width="1.1" stroke-linecap="round"/>'
)
# rows of a drawn table, and the one that differs
DRAWN_ROW_COUNT = 5
DIFFERING_ROW = 2


def _guess_svg(i: int, right_guesses: int) -> str:
    """Return the figure of guess `i` of 100: right by luck, right by the release, or wrong."""
    if i < 50:
        return (
            f'<g fill="{PERSON_GREY}" stroke="{PERSON_GREY}" '
            f'stroke-width=".4">{HEAD_SVG}{BODY_SVG}</g>'
        )
    if i < right_guesses:
        return (
            f'<g fill="{RELEASE_COLOUR}" stroke="{RELEASE_COLOUR}" '
            f'stroke-width=".4">{HEAD_SVG}{BODY_SVG}{RAISED_ARMS_SVG}</g>'
        )
    return f'<g fill="none" stroke="{PERSON_GREY}" stroke-width=".6">{HEAD_SVG}{BODY_SVG}</g>'


def two_worlds_html(right_guesses: int, alt_text: str) -> str:
    """Return HTML that draws two neighbouring tables, one release and 100 guesses.

    The tables differ in one person, and `right_guesses` of the guesses are right. 50 figures are
    right
    by luck (grey), the others of `right_guesses` because of the release (arms up), the rest wrong
    (hollow); a line has 25. The drawing is an image, as `st.html` lets no SVG through, and its
    greys
    are seen on white and on black. Its headings are text of the page.
    """
    figures = "".join(
        f'<g transform="translate({i % 25 * 15.7} {136 + i // 25 * 24}) scale(1.5)">'
        f"{_guess_svg(i, right_guesses)}</g>"
        for i in range(100)
    )
    parts = [
        _table_svg(40, BLUE),
        _table_svg(248, ORANGE),
        f'<path d="M92 86V98H300V86M196 98V108" fill="none" stroke="{PERSON_GREY}" '
        'stroke-width="2"/>',
        f'<path d="M191 105L196 112L201 105Z" fill="{PERSON_GREY}"/>',
        figures,
    ]
    size = 'viewBox="0 0 392 232" width="784" height="464"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'
    source = "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
    headings = "".join(
        f'<b style="position:absolute;left:{left_percent}%;top:{top}%;'
        "transform:translateX(-50%);white-space:nowrap;"
        f'line-height:1">{text}</b>'
        for left_percent, top, text in (
            (23.5, 0, "with you"),
            (76.5, 0, "with someone else"),
            (50, 49, "100 guesses: which table?"),
        )
    )
    image = f'<img src="{source}" alt="{alt_text}" style="display:block;width:100%;height:auto">'
    return f'<div style="position:relative;max-width:40rem">{image}{headings}</div>'


def _table_svg(x: float, colour: str) -> str:
    """Return SVG of a table's rows at `x`, with the one person's row in `colour`."""
    rows = (
        f'<rect x="{x}" y="{26 + 12 * i}" width="104" height="9" rx="2" '
        f'fill="{colour if i == DIFFERING_ROW else PERSON_GREY}" '
        f'opacity="{1 if i == DIFFERING_ROW else 0.35}"/>'
        for i in range(DRAWN_ROW_COUNT)
    )
    return "".join(rows)


def suspicion_chart(
    frame: pd.DataFrame, prior: float, rise_by_name: Mapping[str, str]
) -> go.Figure:
    """Return a chart of an attacker's suspicion after a release against the one before.

    Each name has a band from its column "… at least" to "… at most". `rise_by_name` says how high
    the
    `prior` rises by each name: a point on the band's upper edge, and words in the corner.
    """
    figure = go.Figure()
    x = frame["before"]
    figure.add_scatter(
        x=x, y=x, mode="lines", line={"color": GREY, "dash": "dot"}, hoverinfo="skip"
    )
    legend_lines = []
    for (name, rise_text), colour in zip(rise_by_name.items(), COLOURS, strict=False):
        low = frame[f"{name} at least"]
        high = frame[f"{name} at most"]
        add_band(figure, x, low, high, colour, opacity=0.3)
        figure.add_scatter(
            x=x[x == prior], y=high[x == prior], mode="markers", marker={"color": colour, "size": 9}
        )
        legend_lines.append(f'<span style="color:{colour}">●</span> {name}: {rise_text}')
    figure.update_xaxes(title="before").update_yaxes(title="after")
    _with_share_axes(finish_figure(figure, 260)).update_layout(showlegend=False, margin_t=8)
    return figure.add_annotation(
        x=0,
        y=1,
        xanchor="left",
        yanchor="top",
        align="left",
        showarrow=False,
        text="<br>".join(legend_lines),
        font=TEXT_FONT,
    )


def privacy_curve_chart(
    curves: Mapping[str, np.ndarray],
    deltas: np.ndarray,
    promise: tuple[float, float],
    thick_name: str,
) -> go.Figure:
    """Return a chart of δ against ε, one line per name, with the promised (ε, δ) as a star.

    The line called `thick_name` is in grey behind the others.
    """
    figure = go.Figure()
    thin_curves = {name: e for name, e in curves.items() if name != thick_name}
    if thick_name in curves:
        line = {"color": GREY, "width": 6}
        figure.add_scatter(
            x=curves[thick_name], y=deltas, mode="lines", name=thick_name, line=line, opacity=0.5
        )
    for (name, epsilons), colour, dash in zip(thin_curves.items(), COLOURS, DASHES, strict=False):
        figure.add_scatter(
            x=epsilons,
            y=deltas,
            mode="lines",
            name=name,
            line={"color": colour, "dash": dash, "width": 2},
            hovertemplate=f"{name}: ε = %{{x:.4g}} at δ = %{{y:.1e}}<extra></extra>",
        )
    if promise[1] > 0:
        marker = {
            "symbol": "star",
            "size": 13,
            "color": GREY,
            "line": {"width": 1, "color": "white"},
        }
        figure.add_scatter(
            x=[promise[0]], y=[promise[1]], mode="markers", name="asked for", marker=marker
        )
    figure.update_yaxes(
        title="failure probability (δ)", type="log", exponentformat="power", dtick=2
    )
    return finish_figure(
        figure.update_xaxes(
            title="privacy budget (ε)", range=[0, _epsilon_axis_end(curves, promise[0])]
        ),
        400,
    )


def trade_off_chart(
    frame: pd.DataFrame, lines: dict[str, str], titles: tuple[str, str]
) -> go.Figure:
    """Return a chart of columns of `frame` over its "false alarms", both axes as shares.

    `lines` maps each column to its name.
    """
    return _with_share_axes(line_chart(frame, "false alarms", lines, titles))


def _with_share_axes(figure: go.Figure) -> go.Figure:
    """Return the figure with shares on both axes and a legend.

    A legend names the lines, as they all meet at their ends.
    """
    share = {"tickformat": ".0%", "range": [-0.01, 1.01]}
    figure.layout.annotations = ()
    return (
        figure.update_xaxes(**share)
        .update_yaxes(**share)
        .update_layout(showlegend=True, margin_r=8)
    )


def _epsilon_axis_end(curves: Mapping[str, np.ndarray], promised_epsilon: float) -> float:
    """Return the end of the ε axis: far enough for most lines, near enough to tell them apart."""
    ends = sorted(float(e[np.isfinite(e)].max()) for e in curves.values() if np.isfinite(e).any())
    return 1.05 * max(promised_epsilon, min(ends[-1], 2.5 * ends[0]))
