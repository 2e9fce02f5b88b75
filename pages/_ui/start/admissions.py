"""Start page's chart: the 1973 Berkeley admissions, real and private, at every slider ε."""

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run
from dpcore.accuracy.meaning_of_epsilon import guess_tile_texts
from dpcore.core.types import frozen
from dpcore.evaluation.run import FINAL_STEP_ONLY, compare_with_rows

from ..charts.dragged_bars import BarFrames, draw_dragged_bars
from ..components import EPSILON_OPTIONS, draw_chart_footer, draw_heading, format_setting
from ..session import address_link, is_stakeholder_view, sample_table

SAMPLE = "berkeley"
ALGORITHM = "gaussian_maxent"
DELTA = 1e-9
SHOWN_COLUMNS = ("Gender", "Admission")
# Throws of the noise, each kept for all ε: the same seed is the same noise, scaled. The first lies
# within the range of
# the others, as most would.
SEEDS = (0, 1, 4, 7)
OPENING_EPSILON = 0.1  # where a difference is seen, and is small
TITLE = "Who was admitted to Berkeley in 1973?"


@frozen
class Releases:
    """Real and released shares of the admissions at every ε, and the rates of right guesses.

    Real shares are (labels,), released ones (drawings, stops, labels), of `n` rows.
    """

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
def make_releases() -> Releases:
    """Return a release for every ε and drawing, made once.

    The sample is public, and 24 cells take milliseconds.
    """
    table = sample_table(SAMPLE)
    rows = table.encoded_rows(table.domain.names)
    problem = QueryRelease(Marginals.all(table.domain, 2), rows.n)
    shown_marginals = Marginals(table.domain, [SHOWN_COLUMNS])
    algorithm = ALGORITHMS[ALGORITHM]()

    def run(epsilon: float, seed: int) -> Run:
        return Run(
            algorithm, problem, rows, Budget(epsilon, DELTA), seed=seed, every=FINAL_STEP_ONLY
        ).finish()

    runs = [[run(epsilon, seed) for epsilon in EPSILON_OPTIONS] for seed in SEEDS]
    comparisons = [
        [compare_with_rows(result.release, rows, shown_marginals) for result in replicate]
        for replicate in runs
    ]
    labels = [
        " ".join(value for _, value in shown_marginals.label(j)) for j in range(shown_marginals.m)
    ]
    shares = np.array(
        [[comparison.synthetic for comparison in replicate] for replicate in comparisons]
    )
    return Releases(
        labels,
        comparisons[0][0].real,
        shares,
        rows.n,
        [result.promise.max_guess_probability() for result in runs[0]],
    )


def epsilon_in_use() -> float:
    """Return the ε of the address, else of another page's slider, else the opening one."""
    named = {format_setting(epsilon): epsilon for epsilon in EPSILON_OPTIONS}
    address_link.discard_unknown_value("epsilon", named)
    address_value = st.query_params.get("epsilon")
    if address_value is not None:
        return named[address_value]
    session_epsilon = st.session_state.get("epsilon")
    return session_epsilon if session_epsilon in EPSILON_OPTIONS else OPENING_EPSILON


def _keep_epsilon(stop_index: int) -> None:
    """Store an ε in the address and for the pages opened next, as other pages' sliders do."""
    st.session_state["epsilon"] = EPSILON_OPTIONS[stop_index]
    st.query_params["epsilon"] = format_setting(EPSILON_OPTIONS[stop_index])


def draw_admissions(epsilon: float) -> None:
    """Draw the bars and their slider, and the numbers of this ε as a table."""
    admission_releases = make_releases()
    hidden = is_stakeholder_view()
    draw_heading(TITLE)
    stop_index = EPSILON_OPTIONS.index(epsilon)
    draw_dragged_bars(
        chart_frames(admission_releases, hidden=hidden), stop_index, "start-epsilon", _keep_epsilon
    )
    frame = pd.DataFrame(
        {"value": admission_releases.labels} | ({} if hidden else {"real": admission_releases.real})
    )
    for i, shares in enumerate(admission_releases.synthetic[:, stop_index]):
        frame[f"synthetic, noise {i + 1}"] = shares
    draw_chart_footer(
        f"{admission_releases.n:,} applicants of a public table. With private data, every "
        "release uses up budget.",
        frame,
        "start",
    )


def chart_frames(admission_releases: Releases, *, hidden: bool) -> BarFrames:
    """Return the chart's frames for every ε, with their sentences.

    If `hidden`, neither the real shares nor an error is in them.
    """
    worst = admission_releases.errors.max(axis=0)
    sentences = [
        [
            _frame_sentence(*stop, admission_releases.n, hidden)
            for stop in zip(EPSILON_OPTIONS, errors, worst, admission_releases.guesses, strict=True)
        ]
        for errors in admission_releases.errors
    ]
    return BarFrames(
        title=TITLE,
        name="Privacy budget (ε)",
        stops=[f"ε = {format_setting(epsilon)}" for epsilon in EPSILON_OPTIONS],
        ends=("stronger promise", "more accurate, weaker promise"),
        labels=admission_releases.labels,
        real=None if hidden else admission_releases.real,
        synthetic=admission_releases.synthetic,
        sentences=sentences,
        moving_bars_name="synthetic" if hidden else "synthetic (+/− people)",
        people=admission_releases.n,
    )


def _frame_sentence(
    epsilon: float, error: float, worst: float, guess: float, n: int, hidden: bool
) -> str:
    """Return the sentences below a frame: the error and the rate of right guesses at an ε.

    If `hidden`, they do not name an error.
    """
    tile_title, tile_value, tile_note = guess_tile_texts(guess)
    sentence = f"At **ε = {format_setting(epsilon)}**: {tile_title} **{tile_value}** {tile_note}."
    if hidden:
        return sentence
    return (
        f"{sentence} The worst bar is off by **{round(n * error):,} of {n:,} people**, "
        f"in {len(SEEDS)} repeats by up to {round(n * worst):,}."
    )
