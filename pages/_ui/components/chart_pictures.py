"""Buttons that save a chart as a picture: PNG or SVG, with where it comes from written in it."""

from pathlib import Path

import streamlit as st

from ..session import printable_text
from .frame import picture_source

_ASSET_STEM = Path(__file__).with_suffix("")
_ASSETS = {
    kind: _ASSET_STEM.with_suffix(f".{kind}").read_text(encoding="utf-8")
    for kind in ("html", "css", "js")
}
# Not in a shadow tree: the house style reaches the buttons.
_mount_component = st.components.v2.component("chart_pictures", **_ASSETS, isolate_styles=False)
FAILED_TEXT = "The picture could not be made. Save the table instead."
MAX_TITLE_CHARS = 300


def draw_picture_buttons(
    chart_key: str, title: str, epsilon: float | None = None, *, name: str = "chart"
) -> None:
    """Draw the buttons that save a chart of this page.

    Args:
        chart_key: The key of the chart's element.
        title: What the chart says, written above it.
        epsilon: The budget that the chart is about; None for that of the page's slider, if any.
        name: Of the file, without its ending.

    """
    _mount_component(
        key=f"{chart_key}-pictures",
        data={
            "chart": chart_key,
            "name": name,
            "title": printable_text(title, MAX_TITLE_CHARS),
            "source": picture_source(epsilon),
            "failed": FAILED_TEXT,
        },
    )
