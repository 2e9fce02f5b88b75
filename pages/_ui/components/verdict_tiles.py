"""The verdict as tiles, wherever a release is judged: how far off, as exact as which sample, what a guess may reach."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.release.tiles import Tile

from ..session.inert_text import plain
from .frame import row


def show_tiles(tiles: Sequence[Tile], uses: str) -> tuple[DeltaGenerator, list[DeltaGenerator]]:
    """Draw the tiles and, below, what the release is good for; returns the place beside that, and the tiles' own."""
    with st.container(horizontal=True, key="tiles"):
        places = [st.markdown(tile_text(*tile)) for tile in tiles]
    line = row(key="uses")
    first, _, rest = uses.partition(". ")
    line.markdown(f"**{plain(first, 300)}.** {plain(rest, 300)}" if rest else plain(uses, 400))
    return line, places


def tile_text(name: str, value: str, beside: str) -> str:
    """A tile in markdown."""
    return f"{plain(name, 120)}  \n**{plain(value)}**  \n:small[{plain(beside, 120)}]"
