"""Bars of a lesson that follow ε, at every stop of the slider: a disagreement about groups, a rule that is kept."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from ..charts.drag import Frames, drag
from ..shell.controls import EPSILONS, number
from ..shell.frame import peek
from ..shell.results import below
from ..shell.state import give
from .runs import EVOLVED, Tries

TITLE = "How much do the real and the synthetic table disagree about a group?"
RULE = "In how many rows is the third column right?"
NAME = "ε, of these bars"


def disagreement(tries: Tries) -> Frames:
    """A drawing for each seed, whose noise is the same at every ε, only scaled; the groups are those by age."""
    runs = [tries.at(epsilon) for epsilon in EPSILONS]
    groups = list(runs[0][0].groups)
    shares = np.array([[[run.groups[name] for name in groups] for run in at] for at in runs]).swapaxes(0, 1)
    look = {"title": TITLE, "ends": ("stronger promise", "nearer tables"), "real": None, "shown": "disagreement"}
    return _frames(shares, groups, _said, **look)


def rule(tries: Tries) -> Frames:
    """A drawing for each seed: the share of rows that keep the rule, made from pairs of columns and evolved."""
    made = [[tries.at(epsilon), tries.at(epsilon, algorithm=EVOLVED)] for epsilon in EPSILONS]
    shares = np.array([[[run.possible for run in runs] for runs in at] for at in made]).transpose(2, 0, 1)
    look = {"title": RULE, "ends": ("stronger promise", "more of the rule"), "real": np.ones(2)}
    return _frames(shares, ["made from pairs", "evolved"], _kept, **look)


def _frames(shares: np.ndarray, labels: list[str], words: Callable[..., str], **look: Any) -> Frames:
    """Frames of shares (drawings, stops, labels), each said by `words` of its ε, labels and shares."""
    said = [[words(epsilon, labels, at) for epsilon, at in zip(EPSILONS, one, strict=True)] for one in shares]
    return Frames(
        name=NAME, stops=[f"ε = {number(epsilon)}" for epsilon in EPSILONS], labels=labels, synthetic=shares,
        words=said, spoken=[[text.replace("**", "") for text in one] for one in said], **look,
    )  # fmt: skip


def _kept(epsilon: float, _labels: list[str], shares: np.ndarray) -> str:
    made, evolved = (f"**{share:.0%}**" for share in shares)
    return (
        f"At **ε = {number(epsilon)}** the third column is right in {made} of rows made from pairs and in {evolved} of "
        "evolved rows."
    )


@peek
def draw(frames: Frames, key: str, epsilon: float) -> None:
    """The bars and their slider; where it is let go, the charts of the page follow. The numbers as a table below."""
    st.markdown(f"**{frames.title}** Drag ε; the charts below follow when you let go.")
    at = EPSILONS.index(epsilon)
    drag(frames, at, f"drag-{key}", _choose)
    table = pd.DataFrame({"bar": frames.labels})
    for i, shares in enumerate(frames.synthetic[:, at]):
        table[f"{frames.shown}, noise {i + 1}"] = shares
    below(f"Each throw of the noise is kept while ε moves; {len(frames.synthetic)} throws.", table, key)


def _choose(stop: int) -> None:
    """The page's own slider has this ε then, and writes it into the address."""
    give("epsilon", EPSILONS[stop])


def _said(epsilon: float, groups: list[str], shares: np.ndarray) -> str:
    each = (f"**{share:.1%}** of what they say about “{name}”" for name, share in zip(groups, shares, strict=True))
    return f"At **ε = {number(epsilon)}** the tables disagree on {' and on '.join(each)}."
