"""The Start page's chart: the 1973 Berkeley admissions, real beside private, at every ε that the slider has."""

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run
from dpcore.accuracy.meaning_of_epsilon import guess_tile
from dpcore.core.types import frozen
from dpcore.evaluation.run import compare

from ..charts.dragged_bars import Frames, drag
from ..components import EPSILONS, below, heading, number
from ..jobs import LAST
from ..session import address_link, sample_table, stakeholder

SAMPLE, ALGORITHM, DELTA = "berkeley", "gaussian_maxent", 1e-9
SHOWN = ("Gender", "Admission")
# Throws of the noise, each kept for all ε: the same seed is the same noise, scaled. The first lies within the range of
# the others, as most would.
SEEDS = (0, 1, 4, 7)
OPENING = 0.1  # where a difference is seen, and is small
TITLE = "Who was admitted to Berkeley in 1973?"


@frozen
class Releases:
    """Real shares (labels,), released ones (drawings, stops, labels) of `n` records, how often guesses are right."""

    labels: list[str]
    real: np.ndarray
    synthetic: np.ndarray
    n: int
    guesses: list[float]

    @property
    def errors(self) -> np.ndarray:
        """The largest difference of shares (drawings, stops)."""
        return np.abs(self.synthetic - self.real).max(axis=2)


@st.cache_data(show_spinner=False)
def releases() -> Releases:
    """A release for every ε and drawing, made once: the sample is public, and 24 cells take milliseconds."""
    table = sample_table(SAMPLE)
    rows = table.rows(table.domain.names)
    problem, shown_marginals = QueryRelease(Marginals.all(table.domain, 2), rows.n), Marginals(table.domain, [SHOWN])
    algorithm = ALGORITHMS[ALGORITHM]()

    def run(epsilon: float, seed: int) -> Run:
        return Run(algorithm, problem, rows, Budget(epsilon, DELTA), seed=seed, every=LAST).finish()

    runs = [[run(epsilon, seed) for epsilon in EPSILONS] for seed in SEEDS]
    comparisons = [[compare(one.release, rows, shown_marginals) for one in row] for row in runs]
    labels = [" ".join(value for _, value in shown_marginals.label(j)) for j in range(shown_marginals.m)]
    shares = np.array([[one.synthetic for one in row] for row in comparisons])
    return Releases(labels, comparisons[0][0].real, shares, rows.n, [one.promise.guess() for one in runs[0]])


def chosen() -> float:
    """The ε of the address, else the one chosen on another page, else the opening one."""
    named = {number(epsilon): epsilon for epsilon in EPSILONS}
    address_link.known("epsilon", named)
    if (address_value := st.query_params.get("epsilon")) is not None:
        return named[address_value]
    session_epsilon = st.session_state.get("epsilon")
    return session_epsilon if session_epsilon in EPSILONS else OPENING


def _choose(stop: int) -> None:
    """Keep an ε as the sliders of other pages do: in the address, and for the pages that a person opens next."""
    st.session_state["epsilon"] = EPSILONS[stop]
    st.query_params["epsilon"] = number(EPSILONS[stop])


def draw(epsilon: float) -> None:
    """The bars and their slider, and the numbers of this ε as a table."""
    admission_releases, hidden = releases(), stakeholder()
    heading(TITLE)
    stop_index = EPSILONS.index(epsilon)
    drag(frames(admission_releases, hidden=hidden), stop_index, "start-epsilon", _choose)
    frame = pd.DataFrame({"value": admission_releases.labels} | ({} if hidden else {"real": admission_releases.real}))
    for i, shares in enumerate(admission_releases.synthetic[:, stop_index]):
        frame[f"synthetic, noise {i + 1}"] = shares
    below(
        f"{admission_releases.n:,} applicants of a public table. With private data, every release uses up budget.",
        frame,
        "start",
    )


def frames(made: Releases, *, hidden: bool) -> Frames:
    """All frames with their sentences; where what is real is `hidden`, neither it nor an error is in them."""
    worst = made.errors.max(axis=0)
    sentences = [
        [_said(*stop, made.n, hidden) for stop in zip(EPSILONS, errors, worst, made.guesses, strict=True)]
        for errors in made.errors
    ]
    return Frames(
        title=TITLE, name="Privacy budget (ε)", stops=[f"ε = {number(epsilon)}" for epsilon in EPSILONS],
        ends=("stronger promise", "more accurate, weaker promise"), labels=made.labels,
        real=None if hidden else made.real, synthetic=made.synthetic, words=sentences,
        shown="synthetic" if hidden else "synthetic (+/− people)", people=made.n,
    )  # fmt: skip


def _said(epsilon: float, error: float, worst: float, guess: float, n: int, hidden: bool) -> str:
    """The sentences of a frame."""
    tile_title, tile_value, tile_note = guess_tile(guess)
    sentence = f"At **ε = {number(epsilon)}**: {tile_title} **{tile_value}** {tile_note}."
    if hidden:
        return sentence
    return (
        f"{sentence} The worst bar is off by **{round(n * error):,} of {n:,} people**, "
        f"in {len(SEEDS)} repeats by up to {round(n * worst):,}."
    )
