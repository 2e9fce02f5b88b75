"""The verdict as tiles, wherever a release is judged: how far off, as exact as which sample, what a guess may reach."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.publishing.tiles import Tile

from .frame import row
from .text import plain


def show_tiles(tiles: Sequence[Tile], uses: str) -> DeltaGenerator:
    """Draw the tiles and, below, the sentence about what the release is good for; returns the place beside that."""
    with st.container(horizontal=True, key="tiles"):
        for name, value, beside in tiles:
            st.markdown(f"{plain(name)}  \n**{plain(value)}**  \n{plain(beside, 120)}")
    line = row(key="uses")
    first, _, rest = uses.partition(". ")
    line.markdown(f"**{plain(first, 300)}.** {plain(rest, 300)}" if rest else plain(uses, 400))
    return line
