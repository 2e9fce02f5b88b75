"""Bars that follow a slider while it moves, drawn by the browser without the server.

Every frame is sent beforehand.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from ..session import printable_text

_ASSET_STEM = Path(__file__).with_suffix("")
_ASSETS = {
    kind: _ASSET_STEM.with_suffix(f".{kind}").read_text(encoding="utf-8")
    for kind in ("html", "css", "js")
}
# Not in a shadow tree: the house style, Presenter's type size and reduced motion reach it as
# everything else.
_mount_component = st.components.v2.component("drag", **_ASSETS, isolate_styles=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class BarFrames:
    """Frames of a bar chart for every stop of a slider, sent to the browser at once.

    `synthetic` holds shares (drawings, stops, labels) beside the `real` ones (labels,), None where
    there are none to show. A drawing is one throw of the noise, kept for all stops. `words` holds a
    sentence for each drawing and stop, which names it, on the page and for screen readers; **
    begins
    and ends what is emphasised.
    """

    title: str
    name: str  # of the slider
    stops: Sequence[str]
    ends: tuple[str, str]  # what its left and its right mean
    labels: Sequence[str]
    real: np.ndarray | None
    synthetic: np.ndarray
    sentences: Sequence[Sequence[str]]
    moving_bars_name: str = "synthetic"  # what the moving bars are
    unit: str = "%"  # of all bars; anything else is counted
    repeats: np.ndarray | None = None  # whose range is drawn, where it is not that of the drawings
    people: int = 0  # in all; if any, a moving bar says by how many of them it is off

    def to_json(self, opening_stop: int) -> dict[str, Any]:
        """Return the data for the browser component, opened at one stop of the slider."""
        repeats = self.synthetic if self.repeats is None else self.repeats
        low = repeats.min(axis=0)
        high = repeats.max(axis=0)
        drawings = len(repeats)
        max_share = max(high.max(), 0.0 if self.real is None else self.real.max())
        step = 10.0 ** math.floor(math.log10(max_share))
        top = math.ceil(2 * max_share / step) * step / 2
        tick_spacing = 2 * step if top > 5.5 * step else step  # more ticks would touch
        return vars(self) | {
            "at": opening_stop,
            "repeats": drawings,
            "labels": [printable_text(label) for label in self.labels],
            "real": None if self.real is None else self.real.tolist(),
            "synthetic": self.synthetic.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "top": top,
            "ticks": np.arange(0, top + 1e-9, tick_spacing).tolist(),
            "digits": 1 if step >= 0.1 else 2,
            "legend": {
                "real": "" if self.real is None else "real",
                "synthetic": self.moving_bars_name,
                "range": f"range of {drawings} repeats" if drawings > 1 else "",
            },
            "again": "Repeat with fresh noise",
        }


def draw_dragged_bars(
    frames: BarFrames, opening_stop: int, key: str, on_stop: Callable[[int], None]
) -> None:
    """Draw the bars and their slider; call `on_stop` with the stop where the thumb is let go.

    The call comes before the page is run again.
    """

    def report_stop() -> None:
        stop = read_reported_stop(st.session_state.get(key), len(frames.stops))
        if stop is not None:
            on_stop(stop)

    _mount_component(key=key, data=frames.to_json(opening_stop), on_stop_change=report_stop)


def read_reported_stop(state: Any, stop_count: int) -> int | None:
    """Return the stop that a browser reports, or None for anything that is not a valid stop.

    A browser may send what it likes.
    """
    stop = state.get("stop") if isinstance(state, Mapping) else None
    is_integer = isinstance(stop, int) and not isinstance(stop, bool)
    return stop if is_integer and 0 <= stop < stop_count else None
