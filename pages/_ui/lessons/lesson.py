"""Lessons as links: a preset of Explore, a prediction, the reveal; the answer is what runs say, and never typed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from dpcore.algorithms import ALGORITHMS
from dpcore.theory.meaning import Promise

from ..charts.drag import Frames
from ..jobs.job import watch
from ..jobs.work import Work, begin
from ..shell import link
from ..shell.controls import EPSILONS
from ..shell.words import meaning
from . import moving, runs
from .runs import SEEDS, LessonFinding, Tries

SHARED = "These runs are made once, for everyone who opens the lesson."


@dataclass(frozen=True)
class Lesson:
    """A question to predict before the charts are shown; `settings` are Explore's address, the algorithm by name.

    `decide` finds the right one of the `answers`: from runs at these settings and beside them, or from theory.
    """

    title: str
    question: str
    answers: tuple[str, ...]
    decide: Callable[[Tries], LessonFinding]
    explanation: str
    settings: dict[str, str]
    remember: str = ""  # the one sentence that stays
    words: tuple[str, ...] = ()  # of the glossary, explained beside the question
    moving: Callable[[Tries], Frames] | None = None  # bars that follow ε, drawn with the answer
    series: int = 1  # algorithms whose runs these are

    def link(self, key: str) -> str:
        """The address of the lesson, relative to the app."""
        title = ALGORITHMS[self.settings["algorithm"]].about.title  # what the widget writes into the address
        return "explore?" + urlencode({"lesson": key} | self.settings | {"algorithm": title})

    def found(
        self, seeds: tuple[int, ...] = SEEDS, told: Callable[[float, str], Any] = lambda *_: None
    ) -> LessonFinding:
        """The right answer by runs at these seeds."""
        return self.decide(Tries(self.settings, seeds, told))

    def answered(self, told: Callable[[float, str], Any]) -> tuple[LessonFinding, Frames | None]:
        """The right answer at all seeds, and the bars that go with it."""
        if self.moving is None:
            return self.found(told=told), None
        tries = Tries(self.settings, SEEDS, told, self.series * (1 + len(EPSILONS)))
        return self.decide(tries), self.moving(tries)


LESSONS = {
    "epsilon": Lesson(
        "How much accuracy does stronger protection cost?",
        "Random noise hides each of 20,000 people in counts. Now take a privacy budget (ε) ten times smaller: 0.1 "
        "instead of 1. How much larger is the typical error?",
        ("About the same", "About 3 times", "About 6 times", "About 10 times"),
        runs.SMALLER_EPSILON,
        "The noise itself grows about tenfold. The error grows less, because all answers must fit one "
        f"table of people. What you get at ε = 1: {Promise(1, 1e-9).suspicion_words} At ε = 0.1 "
        f"it rises to {Promise(0.1, 1e-9).suspicion}.",
        {"sample": "census", "epsilon": "1", "algorithm": "gaussian_maxent"},
        "Stronger protection costs accuracy, and fitting wins some of it back.",
        ("marginal", "point"),
    ),
    "small-groups": Lesson(
        "Why are results about small groups less exact?",
        "109 of the 2,201 people on the Titanic were children. The same noise hides everyone. About whom do the real "
        "and the published table disagree more: children or adults?",
        ("Adults: there are more of them", "Both alike: the noise is the same", "Children: they are few"),
        runs.small_groups,
        "Every count gets the same noise. Among 2,092 adults it hardly shows. Among 109 children it changes much of "
        "what is known about them. Look at “Groups” below, by Age, then by Class.",
        {"sample": "titanic", "epsilon": "0.3", "algorithm": "gaussian_maxent"},
        "The smaller the group, the less exact its results.",
        ("disagreement",),
        moving.disagreement,
    ),
    "noise": Lesson(
        "Look at the data often, or only once?",
        "A table is improved in many steps. Look at the real data with fresh noise in every step, or once and reuse "
        "that look? Both protect equally. Which is more accurate?",
        ("In every step: noise averages out", "Both cost the same, so they are equal", "One look, reused"),
        runs.FRESH_NOISE,
        "Many looks share one budget, so each of them gets more noise. A single look has the whole budget, and "
        "everything computed from it afterwards is free. To compare, pin this run under “Two settings” and set noise "
        "to “reused” among the parameters.",
        {"sample": "census", "epsilon": "1", "algorithm": "dpam", "dpam.noise": "fresh"},
        "Look once, and reuse what you saw.",
    ),
    "constants": Lesson(
        "Must you plan for the worst table?",
        "The same release is made twice: once with the cautious settings of the textbook, once with practical ones. "
        "Both protect equally. How much smaller is the largest error with the practical ones?",
        ("It is larger: the textbook is optimal", "About equal", "About 3 times smaller"),
        runs.PAPER_CONSTANTS,
        "The textbook plans for the worst table that anyone could bring. Privacy must hold even for that table. "
        "Accuracy need not be planned for it. To compare, pin this run under “Two settings” and "
        "set schedule to “practical” among the parameters.",
        {"sample": "berkeley", "epsilon": "1", "algorithm": "dpfw", "dpfw.schedule": "paper"},
        "Be cautious about privacy, and practical about accuracy.",
    ),
    "population": Lesson(
        "Does less noise bring you to the truth?",
        "A table has 20,000 people out of a population that we know. We take less and less noise. Does the error about "
        "the population go to zero?",
        ("Yes, like the error about the table", "No: it stops at what sampling costs", "It grows"),
        runs.sampling,
        "The 20,000 people are a sample, so chance alone makes them differ from the population. A larger ε removes "
        "noise, but it cannot remove that chance. Move ε and see where the two errors part.",
        {"sample": "census", "epsilon": "0.1", "algorithm": "gaussian_maxent"},
        "Once the noise is smaller than the luck of the sample, more ε buys nothing.",
        ("sampling floor",),
    ),
    "unseen-rule": Lesson(
        "Can all pairs be right, and the rows wrong?",
        "Two coins were thrown, and a third column says whether they show the same side. A release measures all pairs "
        "of columns with little noise. In how many of its rows is the third column right?",
        ("In nearly all: there is little noise", "In three of four", "In half of them, as by a guess"),
        runs.unseen_rule,
        "Any two of these columns look unrelated, so no pair holds the rule, however large ε is. Evolution lets real "
        "rows vote for whole invented rows. Those that break the rule get few votes and disappear. Choose “every "
        "triple” among the questions and see.",
        {"sample": "coins", "epsilon": "10", "algorithm": "gaussian_maxent"},
        "A release knows only what it asked.",
        moving=moving.rule,
        series=2,
    ),
}


def lesson() -> Lesson | None:
    """The lesson that the address names; one that nobody knows is noted, and taken out of it."""
    if (asked := st.query_params.get("lesson")) not in (None, *LESSONS):
        link.note("lesson", asked, ", ".join(LESSONS))
        del st.query_params["lesson"]
    return LESSONS.get(asked or "")


def predict(current: Lesson) -> bool:
    """Draw the lesson's panel; return whether the prediction was made and the charts may be shown."""
    key = next((key for key, lesson in LESSONS.items() if lesson is current), "")
    number = f" {list(LESSONS).index(key) + 1} of {len(LESSONS)}" if key else ""
    work = _made(current)
    with st.container(border=True, key=f"lesson-{current.title}"):
        places = st.columns(2 if current.moving else 1)  # the chart beside its question, both in sight on a slide
        with places[0]:
            st.subheader(f"Lesson{number}: {current.title}", anchor=False)
            words = meaning(*current.words)
            guess = st.radio(current.question, current.answers, None, key=f"guess-{current.title}", help=words)
            if st.button("Reveal", type="primary", disabled=guess is None, key=f"reveal-{current.title}"):
                st.session_state[f"_revealed-{current.title}"] = True
            revealed = st.session_state.get(f"_revealed-{current.title}", False)
            if revealed and _answer(current, guess, work, places[-1]):
                _onward(key)
    return revealed


def _answer(current: Lesson, guess: str | None, work: Work, beside: Any) -> bool:
    """Draw the answer, why, and `beside` what moves, as soon as the runs have ended; return whether it is there."""
    if not watch(work, f"lesson-{current.title}", final=SHARED) or work.state != "done":
        return False
    found: LessonFinding
    found, frames = work.result
    right = current.answers[found.right]
    if guess == right:
        verdict = f"Right: {right}."
    else:
        verdict = f"Not quite: you said “{guess}”. The answer: {right}." if guess else f"The answer: {right}."
    runs = f" In the median of {len(SEEDS)} repeats {found.words}." if current.settings else f" {found.words}"
    st.markdown(f"**{verdict}**{runs}")
    st.markdown(current.explanation)
    if current.remember:
        st.info(f"**Remember: {current.remember[0].lower()}{current.remember[1:]}**", icon=":material/lightbulb:")
    if frames is not None:
        here = st.session_state.get("epsilon", float(current.settings["epsilon"]))
        with beside:
            moving.draw(frames, f"lesson-{current.title}", here)
    return True


@st.cache_resource(show_spinner=False)
def _shared() -> dict[str, Work]:
    """Return the works of all lessons by title: the samples are public, so one answer serves everyone."""
    return {}


def _made(current: Lesson) -> Work:
    """Begin the runs of a lesson where nobody has opened it yet, or where they failed; they go on beside the page."""
    works = _shared()
    if (known := works.get(current.title)) is None or (known.ended and known.state != "done"):
        works[current.title] = begin("lesson", lambda work: current.answered(work.tell))
        works[current.title].patience = 0.1  # the page below it waits too
    return works[current.title]


def _onward(key: str) -> None:
    """To the next lesson, from the last one to all."""
    later = list(LESSONS)[list(LESSONS).index(key) + 1 :] if key else []
    if later:
        label = f"Next lesson: {LESSONS[later[0]].title}"
        st.link_button(label, LESSONS[later[0]].link(later[0]), icon=":material/arrow_forward:")
    elif key:
        st.page_link("pages/lessons.py", label="All lessons", icon=":material/school:")
