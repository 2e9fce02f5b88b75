"""The budget of a data set as shares that add up: used before, by this release, and what is left."""

import math

import streamlit as st

COLOURS = ("#8A857C", "#0072B2", "#D55E00")  # used before, this release, and more than is left
BAR = 36  # pixels


def draw(used: float, now: float) -> None:
    """Draw the shares (0 to 1) of the whole budget that were used before and that this release uses."""
    before, mine = _percent(used), _percent(now)
    over = mine > 100 - before
    left = 100 - before - mine * (not over)
    needs = "more than the whole budget" if mine > 100 else f"{mine} %"
    middle = f"This release needs {needs}" if over else f"This release {needs}" if mine else ""
    texts = (f"Used {before} %", middle, f"Left {left} %")
    bar = _part(before, COLOURS[0]) + _part(100 - before if over else mine, COLOURS[1 + over])
    marks = "".join(f"<span>{text}</span>" for text in texts)
    st.html(
        f'<figure role="img" aria-label="Privacy budget: {", ".join(filter(None, texts))}" style="margin:0">'
        f'<div style="display:flex;height:{BAR}px;border-radius:6px;overflow:hidden;background:{COLOURS[0]}33">{bar}'
        f'</div><div style="display:flex;justify-content:space-between;padding-top:6px">{marks}</div></figure>'
    )


def _percent(share: float) -> int:
    """A share in whole points, rounded up; 101 for all that is more than the whole."""
    return math.ceil(100 * min(share, 1.01) - 1e-9)


def _part(width: int, colour: str) -> str:
    return f'<div style="width:{width}%;background:{colour}"></div>' if width else ""
