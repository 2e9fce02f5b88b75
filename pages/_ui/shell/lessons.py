"""Five lessons as links: a preset of Explore, a prediction, the reveal, the explanation."""

from dataclasses import dataclass
from urllib.parse import urlencode

import streamlit as st

from dpcore.algorithms import ALGORITHMS


@dataclass(frozen=True)
class Lesson:
    """A question to predict before the charts are shown; `settings` are Explore's address, the algorithm by name."""

    title: str
    question: str
    answers: tuple[str, ...]
    right: int
    explanation: str
    settings: dict[str, str]

    def link(self, key: str) -> str:
        """The address of the lesson, relative to the app."""
        title = ALGORITHMS[self.settings["algorithm"]].about.title  # what the widget writes into the address
        return "explore?" + urlencode({"lesson": key} | self.settings | {"algorithm": title})


LESSONS = {
    "epsilon": Lesson(
        "What ε does",
        "These are all pairs of columns of 20,000 people at ε = 1. With ε ten times smaller, how much larger is "
        "the typical error?",
        ("About the same", "About 3 times", "About 10 times", "About 100 times"),
        1,
        "Noise grows about tenfold, but the error less than that: fitting a smooth, non-negative distribution "
        "takes off most of a large noise and only little of a small one. Move ε from 1 to 0.1 and watch the "
        "verdict. The promise changes much more: at ε = 1 a snooper's odds may change by a factor of 2.7, at ε = "
        "0.1 by 1.1, with δ by more in rare cases.",
        {"sample": "census", "epsilon": "1", "algorithm": "gaussian_maxent"},
    ),
    "small-groups": Lesson(
        "Why small groups suffer",
        "109 of the 2,201 people on the Titanic were children. At ε = 0.3, about whom is more of what the "
        "synthetic table says misplaced: children or adults?",
        ("Adults: there are more of them", "Both alike: the noise is the same", "Children: they are few"),
        2,
        "The noise on every count is the same, whoever is counted. For 2,092 adults it is nothing, for 109 "
        "children it is a large part of what is known about them. Look at “Which groups pay most?”, by Age, then "
        "by Class.",
        {"sample": "titanic", "epsilon": "0.3", "algorithm": "gaussian_maxent"},
    ),
    "noise": Lesson(
        "Fresh against reused noise",
        "This algorithm looks at the data in every round. Fresh noise in every round, or one noisy look reused in "
        "all rounds, for the same ε: which is more accurate?",
        ("Fresh noise: it averages out", "Both cost the same, so they are equal", "One look, reused"),
        2,
        "T fresh looks share one budget, so each is √T times noisier, and the algorithm chases the noise of each. "
        "One look has the whole budget; everything computed from it afterwards is free. Pin this run, set noise to"
        " “reused” under More, and compare.",
        {"sample": "census", "epsilon": "1", "algorithm": "dpam", "dpam.noise": "fresh"},
    ),
    "constants": Lesson(
        "Paper constants against exact accounting",
        "This run uses step size, number of rounds and output as the theorem has them, corrected. A practical "
        "schedule keeps the same promise. How much smaller is its worst error?",
        ("It is larger: theory is optimal", "About equal", "Several times smaller"),
        2,
        "Theorems fix constants so that a proof goes through for the worst table. The promise of privacy must hold"
        " for the worst table too; accuracy need not be planned for it. Pin this run, set schedule to “practical” "
        "under More: fewer rounds, a smaller error, exactly the same ε and δ.",
        {"sample": "berkeley", "epsilon": "1", "algorithm": "dpfw", "dpfw.schedule": "paper"},
    ),
    "population": Lesson(
        "Empirical against population",
        "The table is a sample of 20,000 from a population that we know. When ε grows from 0.1 to 10, does the "
        "error against the population go to zero?",
        ("Yes, like the error against the table", "No: it stops at what sampling costs", "It grows: overfitting"),
        1,
        "Two lines: against the table, and against the population it was drawn from. Privacy noise vanishes with "
        "growing ε, sampling error does not. Once the first is far below the second, more ε buys nothing that "
        "matters for the population. Move ε and see where the lines part.",
        {"sample": "census", "epsilon": "0.1", "algorithm": "gaussian_maxent"},
    ),
}


def lesson() -> Lesson | None:
    """The lesson that the address names."""
    return LESSONS.get(st.query_params.get("lesson", ""))


def predict(current: Lesson) -> bool:
    """The lesson's panel; True once the prediction was made and the charts may be shown."""
    with st.container(border=True, key=f"lesson-{current.title}"):
        st.subheader(f"Lesson: {current.title}", anchor=False)
        guess = st.radio(current.question, current.answers, None, key=f"guess-{current.title}")
        if st.button("Reveal", type="primary", disabled=guess is None, key=f"reveal-{current.title}"):
            st.session_state[f"_revealed-{current.title}"] = True
        revealed = st.session_state.get(f"_revealed-{current.title}", False)
        if revealed:
            right = current.answers[current.right]
            st.markdown(f"**{'Right' if guess == right else 'The answer'}: {right}.** {current.explanation}")
    return revealed
