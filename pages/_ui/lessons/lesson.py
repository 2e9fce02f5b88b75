"""Lessons as links: a preset of Explore, a prediction, the answer; it is what runs say, made once and never typed."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from dpcore import ALGORITHMS
from dpcore.numbers import points
from dpcore.theory.meaning import Promise

from ..charts.base import guessed
from ..shell import link, meaning, number
from . import moving
from .answers import LessonFinding, Medians, ratio, rule, sampling

FILE = Path(__file__).parents[3] / "assets" / "lessons.json"  # made by `python -m tests.making`
SEEDS = (0, 1, 2, 3, 4)
DELTA = 1e-9  # that of Explore, unless somebody moves it
PERCENT = "{:.1%}".format


Place = tuple[float, int]  # an ε, and the place of a bar


@dataclass(frozen=True)
class Bar:
    """A bar of a lesson: its name, which error of a run it is, and what is `changed` in the lesson's settings."""

    name: str
    measure: str
    changed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Lesson:
    """A question to predict before the charts are shown; `settings` are Explore's address, the algorithm by name.

    `decide` finds the right one of the `answers`: from the medians of its bars, or from theory. The card of a lesson
    shows its `known` bar and asks for the `hidden` one, each by its ε and its place among the bars.
    """

    title: str
    question: str
    answers: tuple[str, ...]
    decide: Callable[[Medians], LessonFinding]
    explanation: str
    settings: dict[str, str] = field(default_factory=dict)
    task: str = ""  # what a class does, on the card
    known: Place = (1.0, 0)
    hidden: Place = (1.0, 1)
    remember: str = ""  # the one sentence that stays
    bars: tuple[Bar, ...] = ()  # they follow ε, drawn with the answer
    shows: str = ""  # what the bars are
    unit: str = "points"  # of the bars
    words: tuple[str, ...] = ()  # of the glossary, explained beside the question

    @property
    def key(self) -> str:
        """The name of the lesson in an address, "" for one that is not among Explore's."""
        return next((key for key, lesson in LESSONS.items() if lesson is self), "")

    def link(self, *, large: bool) -> str:
        """Return the address of the lesson, relative to the app, in `large` type or not."""
        title = ALGORITHMS[self.settings["algorithm"]].about.title  # what the widget writes into the address
        shown = {"present": "true"} if large else {}
        return "explore?" + urlencode({"lesson": self.key} | self.settings | {"algorithm": title} | shown)

    def asked(self) -> dict[str, Any]:
        """Return what the runs of the lesson are made by."""
        return {"settings": self.settings, "bars": [asdict(bar) for bar in self.bars]}

    @property
    def shares(self) -> np.ndarray:
        """What the bars are, (seeds, ε, bars)."""
        return np.array(kept_runs()[self.key]["shares"])

    def found(self, seeds: Sequence[int] = SEEDS) -> LessonFinding:
        """Return the right answer by the medians over these seeds."""
        if not self.bars:
            return self.decide({})
        medians = np.median(self.shares[list(seeds)], axis=0).tolist()
        return self.decide(dict(zip(moving.STOPS, medians, strict=True)))

    @property
    def revealed(self) -> bool:
        """Whether this tab has seen the answer."""
        return st.session_state.get(f"_revealed-{self.title}", False)

    def card(self) -> go.Figure:
        """Draw the known bar, and the hidden one once it is revealed, in the median of their repeats."""
        bars = {}
        for epsilon, place in (self.known, self.hidden):
            name = self.bars[place].name if self.known[0] == self.hidden[0] else f"ε = {number(epsilon)}"
            bars[name] = float(np.median(self.shares[:, moving.STOPS.index(epsilon), place]))
        return guessed(bars, self.unit, hidden=not self.revealed)


@cache
def kept_runs() -> dict[str, Any]:
    """Return the settings and bars of all lessons, as they were made."""
    return json.loads(FILE.read_text(encoding="utf-8"))


LESSONS = {
    "epsilon": Lesson(
        "What does stronger protection cost?",
        "Random noise hides each of 20,000 people in counts. Now take a privacy budget (ε) ten times smaller: 0.1 "
        "instead of 1. How much larger is the typical error?",
        ("About the same", "About 3 times", "About 6 times", "About 10 times"),
        ratio(
            (0.1, 0),
            (1.0, 0),
            (1, 3, 6, 10),
            "the typical error is {there} points at ε = 1 and {here} at ε = 0.1, {ratio} times as much",
            points,
        ),
        "The noise itself grows about tenfold. The error grows less, because all answers must fit one "
        f"table of people. What you get at ε = 1: {Promise(1, 1e-9).suspicion_words} At ε = 0.1 "
        f"it rises to {Promise(0.1, 1e-9).suspicion}.",
        {"sample": "census", "epsilon": "1", "algorithm": "gaussian_maxent"},
        "Guess the error at ε = 0.1",
        (1.0, 0),
        (0.1, 0),
        "Stronger protection costs accuracy.",
        (Bar("typical error", "typical"), Bar("largest error", "largest")),
        "How far off are answers?",
        words=("marginal", "point"),
    ),
    "small-groups": Lesson(
        "Are small groups as exact as large ones?",
        "109 of the 2,201 people on the Titanic were children. The same noise hides everyone. About whom do the real "
        "and the published table disagree more: children or adults?",
        ("Adults: there are more of them", "Both alike: the noise is the same", "Children: they are few"),
        ratio(
            (0.3, 0),
            (0.3, 1),
            (0.1, 1, 10),
            "the real and the published table disagree by {here} about children and by {there} about adults",
            PERCENT,
        ),
        "Every count gets the same noise. Among 2,092 adults it hardly shows. Among 109 children it changes much of "
        "what is known about them. Look at “Groups” below, by Age, then by Class.",
        {"sample": "titanic", "epsilon": "0.3", "algorithm": "gaussian_maxent"},
        "Guess the error about children",
        (0.3, 1),
        (0.3, 0),
        "Small groups get less exact results.",
        (Bar("children", "Child"), Bar("adults", "Adult")),
        "How wrong is the table?",
        "%",
        ("disagreement",),
    ),
    "noise": Lesson(
        "Look at the data often, or only once?",
        "A table is improved in many steps. Look at the real data with fresh noise in every step, or once and reuse "
        "that look? Both protect equally. Which is more accurate?",
        ("In every step: noise averages out", "Both cost the same, so they are equal", "One look, reused"),
        ratio(
            (1.0, 0),
            (1.0, 1),
            (0.1, 1, 10),
            "the typical error is {here} points with fresh noise and {there} with one look",
            points,
        ),
        "Many looks share one budget, so each of them gets more noise. A single look has the whole budget, and "
        "everything computed from it afterwards is free. To compare, pin this run under “Two settings” and set noise "
        "to “reused” among the parameters.",
        {"sample": "census", "epsilon": "1", "algorithm": "dpam", "dpam.noise": "fresh"},
        "Guess the error of many looks",
        (1.0, 1),
        (1.0, 0),
        "Look once, and reuse what you saw.",
        (Bar("looks often", "typical"), Bar("looks once", "typical", {"noise": "reused"})),
        "Typical error",
    ),
    "constants": Lesson(
        "Are the settings of a textbook the most accurate?",
        "The same release is made twice: once with the cautious settings of the textbook, once with practical ones. "
        "Both protect equally. How much smaller is the largest error with the practical ones?",
        ("It is larger: the textbook is optimal", "About equal", "Two to three times smaller"),
        ratio(
            (1.0, 0),
            (1.0, 1),
            (0.4, 1, 2.5),
            "the largest error is {here} points with textbook settings, {there} with practical ones: {ratio} times "
            "less",
            points,
        ),
        "The textbook plans for the worst table that anyone could bring. Privacy must hold even for that table. "
        "Accuracy need not be planned for it. To compare, pin this run under “Two settings” and "
        "set schedule to “practical” among the parameters.",
        {"sample": "berkeley", "epsilon": "1", "algorithm": "dpfw", "dpfw.schedule": "paper"},
        "Guess the error of practical settings",
        (1.0, 0),
        (1.0, 1),
        "Be cautious about privacy, and practical about accuracy.",
        (Bar("textbook settings", "largest"), Bar("practical settings", "largest", {"schedule": "practical"})),
        "Largest error",
    ),
    "population": Lesson(
        "With hardly any noise, are answers exact?",
        "A table has 20,000 people out of a population that we know. We take less and less noise. Does the error about "
        "the population go to zero?",
        ("Yes, like the error about the table", "No: it stops at what sampling costs", "It grows"),
        sampling,
        "The 20,000 people are a sample, so chance alone makes them differ from the population. A larger ε removes "
        "noise, but it cannot remove that chance. Move ε and see where the two errors part.",
        {"sample": "census", "epsilon": "0.1", "algorithm": "gaussian_maxent"},
        "Guess the error about everybody",
        (10.0, 0),
        (10.0, 1),
        "Less noise cannot remove the luck of the sample.",
        (Bar("about these 20,000 people", "largest"), Bar("about everybody", "population")),
        "Largest error",
        words=("sampling floor",),
    ),
    "unseen-rule": Lesson(
        "Every two columns are right. Are whole rows?",
        "Two coins were thrown, and a third column says whether they show the same side. A release measures all pairs "
        "of columns with little noise. In how many of its rows is the third column right?",
        ("In nearly all: there is little noise", "In three of four", "In half of them, as by a guess"),
        rule,
        "Any two of these columns look unrelated, so no pair holds the rule, however large ε is. Evolution lets real "
        "rows vote for whole invented rows. Those that break the rule get few votes and disappear. Choose “every "
        "triple” among the questions and see.",
        {"sample": "coins", "epsilon": "10", "algorithm": "gaussian_maxent"},
        "Guess how many rows are right",
        (10.0, 1),
        (10.0, 0),
        "A release knows only what it asked.",
        (
            Bar("made from pairs of columns", "possible"),
            Bar("chosen by votes on rows", "possible", {"algorithm": "private_evolution_table"}),
        ),
        "Rows with the third column right",
        "%",
    ),
}


def lesson() -> Lesson | None:
    """The lesson that the address names; one that nobody knows is noted."""
    link.known("lesson", LESSONS)
    return LESSONS.get(st.query_params.get("lesson", ""))


def predict(current: Lesson) -> bool:
    """Draw the lesson's panel; return whether the prediction was made and the charts may be shown."""
    number = f" {list(LESSONS).index(current.key) + 1} of {len(LESSONS)}" if current.key else ""
    with st.container(border=True, key=f"lesson-{current.title}"):
        asked, beside = st.columns(2 if current.bars else [1, 1e-9])  # the chart beside its question, on one slide
        with asked:
            st.subheader(f"Lesson{number}: {current.title}", anchor=False)
            words = meaning(*current.words)
            guess = st.radio(current.question, current.answers, None, key=f"guess-{current.title}", help=words)
            if current.revealed:
                _answer(current, guess)
            else:
                st.button(
                    "Reveal", type="primary", disabled=guess is None, key=f"reveal-{current.title}",
                    on_click=st.session_state.update, args=({f"_revealed-{current.title}": True},),
                )  # fmt: skip
        if current.revealed and current.bars:
            with beside:
                moving.draw(
                    current.shows, [bar.name for bar in current.bars], current.shares, current.unit, current.key
                )
    return current.revealed


def _answer(current: Lesson, guess: str | None) -> None:
    """Draw the answer, the sentence that stays, the way on, and why."""
    found = current.found()
    right = current.answers[found.right]
    if guess == right:
        verdict = f"Right: {right}."
    else:
        verdict = f"Not quite: you said “{guess}”. The answer: {right}." if guess else f"The answer: {right}."
    runs = f" In the median of {len(SEEDS)} repeats {found.words}." if current.bars else f" {found.words}"
    st.markdown(f"**{verdict}**{runs}")
    if current.remember:
        st.info(f"**Remember: {current.remember[0].lower()}{current.remember[1:]}**", icon=":material/lightbulb:")
    later = list(LESSONS.values())[list(LESSONS).index(current.key) + 1 :] if current.key else []
    if later:
        st.link_button(
            f"Next lesson: {later[0].title}",
            later[0].link(large=st.session_state["present"]),
            icon=":material/arrow_forward:",
        )
    elif current.key:
        st.page_link("pages/lessons.py", label="All lessons", icon=":material/school:")
    st.markdown(current.explanation)
