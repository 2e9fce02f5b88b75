"""Tiles that judge a release: its error, the sample as exact, and a guesser's best rate."""

import re
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.evaluation.run import Comparison
from dpcore.release.tiles import Tile

from ..session.inert_text import distinct_labels, escape_markdown, format_query_label
from .frame import inline_container

UNKNOWN_ERROR_TILE = (
    "Error",
    "not known yet",
    "Explore shows it, measured with repeats of fresh noise",
)


def show_tiles(tiles: Sequence[Tile], uses: str) -> tuple[DeltaGenerator, list[DeltaGenerator]]:
    """Draw the tiles and, below, the release's possible uses; return their containers.

    The first is the place beside the uses, the others are the tiles' own.
    """
    with st.container(horizontal=True, key="tiles"):
        tile_slots = [st.markdown(tile_text(*tile)) for tile in tiles]
    uses_container = inline_container(key="uses")
    first_sentence, _, other_sentences = uses.partition(". ")
    uses_container.markdown(
        f"**{escape_markdown(first_sentence, 300)}.** {escape_markdown(other_sentences, 300)}"
        if other_sentences
        else escape_markdown(uses, 400)
    )
    return uses_container, tile_slots


def tile_text(name: str, value: str, note: str) -> str:
    """Return a tile as markdown.

    How its number is known, the first word of the note, is a part of its own: on a phone Explore
    shows no more of the notes, and only the first tile's.
    """
    lines = [escape_markdown(name, 120), f"**{escape_markdown(value)}**"]
    how_known = re.match("(measured|predicted|promised)", note)
    first_length = 0 if how_known is None else how_known.end()
    parts = (note[:first_length], note[first_length:])
    lines.append("".join(f":small[{escape_markdown(part, 120)}]" for part in parts if part))
    return "  \n".join(lines)


def largest_error_name(comparison: Comparison) -> str:
    """Return the name of the tile of the largest error, with the question that has it."""
    worst = comparison.with_largest_error
    display_names = distinct_labels(worst.workload.domain.names)
    label = worst.workload.label(int(worst.worst(1)[0]))
    question_text = format_query_label(
        tuple((display_names.get(column, column), value) for column, value in label)
    )
    return f"Largest error, at {question_text}"
