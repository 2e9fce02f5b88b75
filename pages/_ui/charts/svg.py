"""A frontier as plain SVG, for pages that are printed or mailed: no script, no font, no address of anybody."""

import math
from collections.abc import Mapping
from html import escape

import pandas as pd

from ..shell.text import clean

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 780, 400, 70, 16, 280, 48
DASHES = {
    "dash": "6 3",
    "dashdot": "8 3 2 3",
    "dot": "2 3",
    "longdash": "10 4",
    "longdashdot": "10 3 2 3",
}
SHAPES = {
    "circle": '<circle cx="{x}" cy="{y}" r="4.5" fill="{c}"/>',
    "square": '<rect x="{x0}" y="{y0}" width="8" height="8" fill="{c}"/>',
    "diamond": '<path d="M{x} {y}m0 -6l6 6l-6 6l-6 -6z" fill="{c}"/>',
    "triangle-up": '<path d="M{x} {y}m0 -5l5 9h-10z" fill="{c}"/>',
    "triangle-down": '<path d="M{x} {y}m0 5l5 -9h-10z" fill="{c}"/>',
    "cross": '<path d="M{x} {y}m-5 0h10m-5 -5v10" stroke="{c}" stroke-width="3"/>',
    "star": '<path d="M{x} {y}m0 -6l1.5 4.5h4.5l-3.7 2.8 1.4 4.6-3.7-2.8-3.7 2.8 1.4-4.6-3.7-2.8h4.5z" fill="{c}"/>',
    "pentagon": '<path d="M{x} {y}m0 -5.5l5.5 4-2 6.5h-7l-2-6.5z" fill="{c}"/>',
    "hexagram": '<path d="M{x} {y}m0 -6l5 9h-10zm0 12l5 -9h-10z" fill="{c}"/>',
    "x": '<path d="M{x} {y}m-4 -4l8 8m0 -8l-8 8" stroke="{c}" stroke-width="3"/>',
}


def frontier(
    middle: pd.DataFrame, steps: pd.DataFrame, floors: Mapping[str, float], looks: Mapping[str, Mapping[str, str]],
    title: str,
) -> str:  # fmt: skip
    """Medians against ε, both axes logarithmic, the step frontier and horizontal floors; a legend at the right."""
    shown = middle[middle["error"] > 0]
    if not len(shown):
        return "<p>No error is above zero: nothing to draw on a logarithmic axis.</p>"
    errors = [*shown["error"], *(v for v in floors.values() if v > 0)]
    across = _scale(shown["epsilon"].min() / 1.2, shown["epsilon"].max() * 1.2, LEFT, WIDTH - RIGHT)
    up = _scale(min(errors) / 1.3, max(errors) * 1.3, HEIGHT - BOTTOM, TOP)
    tall = max(HEIGHT, TOP + 20 * (shown["algorithm"].nunique() + len(floors)))  # as high as the legend
    out = [
        f'<svg viewBox="0 0 {WIDTH} {tall}" role="img" aria-label="{escape(title, quote=True)}">',
        _axes(shown, errors, across, up, title),
    ]
    kept = steps[steps["error"] > 0]
    if len(kept):
        path = f"M{across(kept['epsilon'].iloc[0]):.1f} {up(kept['error'].iloc[0]):.1f}"
        path += "".join(
            f"H{across(e):.1f}V{up(v):.1f}" for e, v in zip(kept["epsilon"][1:], kept["error"][1:], strict=True)
        )
        out.append(f'<path d="{path}" fill="none" stroke="#999" stroke-width="5" opacity=".5"/>')
    y = TOP + 12
    for name, own in shown.groupby("algorithm", sort=False):
        look = looks[str(name)]
        points = " ".join(f"{across(e):.1f},{up(v):.1f}" for e, v in zip(own["epsilon"], own["error"], strict=True))
        out.append(f'<polyline points="{points}" fill="none" stroke="{look["color"]}" stroke-width="1.5"/>')
        out += [_mark(look, across(e), up(v)) for e, v in zip(own["epsilon"], own["error"], strict=True)]
        out += [_mark(look, WIDTH - RIGHT + 16, y), _text(WIDTH - RIGHT + 28, y + 4, str(name))]
        y += 20
    for (name, value), dash in zip(floors.items(), DASHES.values(), strict=False):
        line = f'stroke="#666" stroke-dasharray="{dash}"'
        out.append(f'<path d="M{LEFT} {up(value):.1f}H{WIDTH - RIGHT}" {line}/>')
        out.append(f'<path d="M{WIDTH - RIGHT + 8} {y}h16" {line}/>')
        out.append(_text(WIDTH - RIGHT + 28, y + 4, clean(name, 38)))
        y += 20
    return "".join([*out, "</svg>"])


def _scale(low: float, high: float, start: float, end: float):  # noqa: ANN202 - a function of one number
    a, b = math.log(low), math.log(high)
    return lambda value: start + (math.log(value) - a) / max(b - a, 1e-9) * (end - start)


def _axes(shown: pd.DataFrame, errors: list[float], across, up, title: str) -> str:  # noqa: ANN001
    out = [f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#333"/>']
    for epsilon in sorted(shown["epsilon"].unique()):
        out.append(_text(across(epsilon), HEIGHT - BOTTOM + 18, f"{epsilon:g}", "middle"))
    decades = range(math.floor(math.log10(min(errors) / 1.3)), math.ceil(math.log10(max(errors) * 1.3)) + 1)
    for value in (digit * 10.0**power for power in decades for digit in (1, 2, 5)):
        if TOP <= up(value) <= HEIGHT - BOTTOM:
            out.append(_text(LEFT - 8, up(value) + 4, f"{value:g}", "end"))
            out.append(f'<path d="M{LEFT} {up(value):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
    out.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "ε (smaller: stronger promise)", "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(f'<g transform="rotate(-90 14 {middle})">{_text(14, middle, title, "middle")}</g>')
    return "".join(out)


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="12" text-anchor="{anchor}">{escape(text)}</text>'


def _mark(look: Mapping[str, str], x: float, y: float) -> str:
    shape = SHAPES[look["symbol"]]
    return shape.format(x=f"{x:.1f}", y=f"{y:.1f}", x0=f"{x - 4:.1f}", y0=f"{y - 4:.1f}", c=look["color"])
