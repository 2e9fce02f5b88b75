"""The verdict as tiles, wherever a release is judged: how far off, as exact as which sample, what a guess may reach."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.publishing.card import ACCURACY, SAMPLED
from dpcore.theory.meaning import times_in_100

from .text import amount, plain, points

Tile = tuple[str, str, str]  # what is measured, its value, and what to compare that with


def draw(tiles: Sequence[Tile], uses: str) -> DeltaGenerator:
    """Draw the tiles and, below, the sentence about what the release is good for; returns the place beside that."""
    with st.container(horizontal=True, key="tiles"):
        for name, value, beside in tiles:
            st.markdown(f"{plain(name)}  \n**{plain(value)}**  \n{plain(beside, 120)}")
    line = st.container(horizontal=True, vertical_alignment="center", key="uses")
    line.caption(plain(uses, 400))
    return line


def foretold(sizes: tuple[float, float] | None, exact: float | None, n: int, noun: str) -> list[Tile]:
    """The tiles of a release's accuracy by its noise alone: the typical error, that of 19 in 20 answers, the sample."""
    if sizes is None:
        return []
    (typical, most), beside = ACCURACY, "by the noise alone"
    return [error(typical, sizes[0], n, noun, beside), error(most, sizes[1], n, noun), *exactness(exact)]


def error(name: str, gap: float, n: int, noun: str, where: str = "") -> Tile:
    """The tile of an error: in people, with points beside, and the question that has it."""
    of_all, counted = amount(gap, n, noun).split(" ≈ ")
    return name, counted, f"{of_all}, {where}" if where else of_all


def exactness(share: float | None) -> list[Tile]:
    """The tile of `as_exact_as_sample`; none where it is not known."""
    return [] if share is None else [("As exact as", f"a sample of {points(share)}%", SAMPLED)]


def guess(chance: float, epsilon: float) -> Tile:
    """The tile of the promise: how often a guess about one person is right, at the most."""
    right = f"guesses right {times_in_100(chance)}"
    return "Someone who knows everyone else", right, f"a coin: 50 · ε = {epsilon:.4g}"
