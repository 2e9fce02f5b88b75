"""Lessons as links: a preset of Explore, a prediction, and the answer from runs.

The answer is what runs say, made once and never typed.
"""

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from dpcore import ALGORITHMS
from dpcore.accuracy.meaning_of_epsilon import Promise
from dpcore.core.types import value_object

from ..charts.figure_frame import guess_bars
from ..components import CHART_CONFIG, format_setting, glossary_tooltip
from ..session import address_link, sample_table
from . import dragged_answers
from .lesson_answers import (
    BarPosition,
    LessonFinding,
    Medians,
    decide_by_ratio,
    decide_rule_lesson,
    decide_sampling_lesson,
    format_in_unit,
)

# made by `python -m tests.make_assets`
LESSON_RUNS_FILE = Path(__file__).parents[3] / "assets" / "lessons.json"
SEEDS = (0, 1, 2, 3, 4)
DELTA = 1e-9  # that of Explore, unless somebody moves it
# of lessons without marks
DECISION_RULES = {
    "population": decide_sampling_lesson,
    "unseen-rule": decide_rule_lesson,
}


@value_object
class Bar:
    """Bar of a lesson: its name, which error of a run it shows, and its changed settings.

    `changed` is what differs from the lesson's settings.
    """

    name: str
    measure: str
    changed: dict[str, str] = field(default_factory=dict)


@value_object
class Lesson:
    """Question to predict before the charts are shown, with Explore settings and answers.

    `settings` are Explore's address, the algorithm by name. The right one of the `answers` is what
    `decide` returns, from the medians of its bars or from theory; without it, the one of the
    `marks`
    that the ratio of two bars is nearest to, with the `finding` in words. The card of a lesson
    shows
    its `known` bar and asks for the `hidden` one, each by its ε and its position among the bars.
    """

    title: str
    question: str
    answers: Sequence[str]
    decide: Callable[[Medians], LessonFinding] | None
    explanation: str
    key: str = ""  # the name of the lesson in an address, if it is among Explore's
    settings: dict[str, str] = field(default_factory=dict)
    task: str = ""  # what a class does, on the card
    reference: BarPosition = (1.0, 0)
    hidden: BarPosition = (1.0, 1)
    remember: str = ""  # the one sentence that stays
    bars: Sequence[Bar] = ()  # they follow ε, drawn with the answer
    shows: str = ""  # what the bars are
    unit: str = "people"  # of the bars
    marks: Sequence[float] = ()
    finding: str = ""
    glossary_terms: Sequence[str] = ()  # of the glossary, explained beside the question

    def link(self, *, large: bool) -> str:
        """Return the address of the lesson, relative to the app, in `large` type or not."""
        # what the widget writes into the address
        title = ALGORITHMS[self.settings["algorithm"]].about.title
        presenter_query = {"present": "true"} if large else {}
        return "explore?" + urlencode(
            {"lesson": self.key, **self.settings, "algorithm": title, **presenter_query}
        )

    def run_definition(self) -> dict[str, Any]:
        """Return what the runs of the lesson are made by."""
        return {"settings": self.settings, "bars": [asdict(bar) for bar in self.bars]}

    @property
    def values(self) -> np.ndarray:
        """What the bars are, in the unit of the lesson (seeds, ε, bars)."""
        rows = 1 if self.unit == "%" else sample_table(self.settings["sample"]).n
        return rows * np.array(stored_runs()[self.key]["shares"])

    def find_answer(self, seeds: Sequence[int] = SEEDS) -> LessonFinding:
        """Return the right answer by the medians over these seeds."""
        values = np.median(self.values[list(seeds)], axis=0).tolist() if self.bars else ()
        medians = dict(zip(dragged_answers.EPSILON_STOPS, values, strict=False))
        if self.decide is not None:
            return self.decide(medians)
        return decide_by_ratio(
            medians, self.reference, self.hidden, self.marks, self.finding, self.unit
        )

    @property
    def is_revealed(self) -> bool:
        """Whether this tab has seen the answer."""
        return st.session_state.get(f"_revealed-{self.title}", False)

    @property
    def visible_bars(self) -> list[float]:
        """The known bar, and the hidden one once it is revealed, in the median of their repeats."""
        positions = [self.reference, self.hidden] if self.is_revealed else [self.reference]
        return [
            np.median(self.values[:, dragged_answers.EPSILON_STOPS.index(at), bar])
            for at, bar in positions
        ]

    def draw_card(self) -> None:
        """Draw what is seen, on one scale with all lessons about the same sample."""
        st.caption(self.shows)
        is_same_epsilon = self.reference[0] == self.hidden[0]
        names = [
            self.bars[bar].name if is_same_epsilon else f"ε = {format_setting(at)}"
            for at, bar in (self.reference, self.hidden)
        ]
        sample_maxima = (
            max(other.visible_bars)
            for other in LESSONS.values()
            if other.settings["sample"] == self.settings["sample"]
        )
        figure = guess_bars(
            names,
            self.visible_bars,
            [format_in_unit(bar, self.unit) for bar in self.visible_bars],
            max(sample_maxima),
        )
        st.plotly_chart(figure, key=f"card-{self.key}", alt=self.task, config=CHART_CONFIG)


@cache
def stored_runs() -> dict[str, Any]:
    """Return the settings and bars of all lessons, as they were made."""
    return json.loads(LESSON_RUNS_FILE.read_text(encoding="utf-8"))


def read_lessons() -> dict[str, Lesson]:
    """Return the lessons in their order, as they are written beside this file."""
    usual_suspicion = Promise(1.0, DELTA).suspicion_sentence
    stronger_suspicion = Promise(0.1, DELTA).suspicion_percent
    lessons = {}
    for key, entry in tomllib.loads(
        Path(__file__).with_name("lessons.toml").read_text(encoding="utf-8")
    ).items():
        explanation = entry.pop("explanation").format(
            usual=usual_suspicion, stronger=stronger_suspicion
        )
        bars = [Bar(**bar) for bar in entry.pop("bars")]
        lessons[key] = Lesson(
            key=key, decide=DECISION_RULES.get(key), explanation=explanation, bars=bars, **entry
        )
    return lessons


LESSONS = read_lessons()


def lesson_in_address() -> Lesson | None:
    """Return the lesson that the address names, if any; note an unknown one for a warning."""
    address_link.discard_unknown_value("lesson", LESSONS)
    return LESSONS.get(st.query_params.get("lesson", ""))


def draw_prediction(current: Lesson) -> bool:
    """Draw the lesson's panel; return whether the prediction was made.

    Then the charts may be shown.
    """
    number = f" {list(LESSONS).index(current.key) + 1} of {len(LESSONS)}" if current.key else ""
    with st.container(border=True, key=f"lesson-{current.title}"):
        # the chart beside its question, on one slide
        question_column, chart_column = st.columns(2 if current.bars else [1, 1e-9])
        with question_column:
            st.subheader(f"Lesson{number}: {current.title}", anchor=False)
            help_text = glossary_tooltip(*current.glossary_terms)
            guess = st.radio(
                current.question,
                current.answers,
                None,
                key=f"guess-{current.title}",
                help=help_text,
            )
            if current.is_revealed:
                _draw_answer(current, guess)
            else:
                st.button(
                    "Reveal",
                    type="primary",
                    disabled=guess is None,
                    key=f"reveal-{current.title}",
                    on_click=st.session_state.update,
                    args=({f"_revealed-{current.title}": True},),
                )
        with chart_column:
            if current.bars and not current.is_revealed:
                current.draw_card()
            elif current.bars:
                dragged_answers.draw_bars(
                    current.shows,
                    [bar.name for bar in current.bars],
                    current.values,
                    current.unit,
                    current.key,
                )
    return current.is_revealed


def _draw_answer(current: Lesson, guess: str | None) -> None:
    """Draw the answer, the sentence that stays, the way on, and why."""
    finding = current.find_answer()
    right_answer = current.answers[finding.right_answer_index]
    if guess == right_answer:
        verdict = f"Right: {right_answer}."
    else:
        verdict = (
            f"Not quite: you said “{guess}”. The answer: {right_answer}."
            if guess
            else f"The answer: {right_answer}."
        )
    runs = (
        f" In the median of {len(SEEDS)} repeats {finding.sentence}."
        if current.bars
        else f" {finding.sentence}"
    )
    st.markdown(f"**{verdict}**{runs}")
    if current.remember:
        draw_reminder(current.remember)
    later_lessons = (
        list(LESSONS.values())[list(LESSONS).index(current.key) + 1 :] if current.key else []
    )
    if later_lessons:
        st.link_button(
            f"Next lesson: {later_lessons[0].title}",
            later_lessons[0].link(large=st.session_state["present"]),
            icon=":material/arrow_forward:",
        )
    elif current.key:
        st.page_link("pages/lessons.py", label="All lessons", icon=":material/school:")
    st.markdown(current.explanation)


def draw_reminder(sentence: str) -> None:
    """Draw the one sentence of a lesson that stays."""
    st.info(f"**Remember: {sentence[0].lower()}{sentence[1:]}**", icon=":material/lightbulb:")
