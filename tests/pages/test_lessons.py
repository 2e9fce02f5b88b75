"""The lessons' answers are what runs at their settings give: at every seed, and by an independent count."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.algorithms.maximum_entropy import GaussianMaxEnt
from dpcore.data import samples
from dpcore.evaluation.run import Run
from dpcore.privacy.accounting.budget import Budget
from dpcore.privacy.accounting.conversions import gdp_mu
from dpcore.problems import QueryRelease
from dpcore.workloads import Marginals
from pages._ui.lessons.lesson import LESSONS
from pages._ui.lessons.runs import SEEDS, Ran, nearest, sampling
from pages._ui.shell.controls import EPSILONS
from tests.pages.headless import button, dragged, figures, numbers, open_page, press, put, said, settled


def test_the_first_lesson_s_factor_by_hand():
    """Counted anew, beside what the lesson does: the mean error over all cells of all pairs, at both ε."""
    sample = samples.census()
    rows, workload = sample.domain.encode(sample.frame), Marginals.all(sample.domain, 2)
    truth, typical = workload.answers_of_rows(rows), []
    for epsilon in (1.0, 0.1):
        runs = [
            Run(GaussianMaxEnt(), QueryRelease(workload, rows.n), rows, Budget(epsilon, 1e-9), seed=s) for s in SEEDS
        ]
        gaps = [np.abs(run.finish().release.answers(workload) - truth).mean() for run in runs]
        typical.append(float(np.median(gaps)))
    factor = typical[1] / typical[0]
    assert 5 < factor < 7.5
    found = LESSONS["epsilon"].found()
    assert LESSONS["epsilon"].answers[found.right] == "About 6 times"
    assert f"{factor:.2g} times as much" in found.words


def test_what_the_questions_say_of_the_samples_is_so():
    titanic = samples.titanic().frame
    assert (titanic["Age"] == "Child").sum() == 109
    assert len(titanic) == 2201
    assert len(samples.census().frame) == 20_000


def test_the_lessons_begin_with_one_patient_and_lead_to_each_of_them():
    app = open_page("lessons")
    told = next(m.value for m in app.markdown if "Anna" in m.value)
    noise = np.random.default_rng(1).standard_normal(2) / gdp_mu(1, 1e-9)
    shown = [int(number) for number in re.findall(r"\*\*(\d+)\*\*", told)]
    assert shown[:2] == [120, 121]
    assert shown[2:] == pytest.approx(np.array(shown[:2]) + noise, abs=0.5)
    assert [y for trace in figures(app)[0]["data"] for y in numbers(trace["y"])] == shown
    put(app, large=True)
    links = [link.proto.url for link in app.get("link_button")]
    assert links == [lesson.link(key) + "&present=true" for key, lesson in LESSONS.items()]


@pytest.mark.parametrize(
    ("page", "name", "known"),
    [("explore", "lesson", "population"), ("learning", "part", "A middle"), ("evolution", "part", "Watch it")],
)
def test_a_lesson_or_part_that_nobody_knows_is_said_and_which_there_are(page, name, known):
    app = open_page(page, **{name: "none-such"})
    (said_so,) = [w.value for w in app.warning if "In this link" in w.value]
    assert f"{name} = none" in said_so.replace("\\", "")
    assert known in said_so


def test_a_wrong_guess_is_told_what_it_was_and_the_bars_that_follow_epsilon_are_what_the_page_below_says():
    """At a stop that is not the lesson's own: the first throw of the noise is the run that Explore shows there."""
    lesson = LESSONS["small-groups"]
    app = open_page("explore", lesson="small-groups", sample="titanic", epsilon="0.1")
    app.radio[0].set_value(lesson.answers[0]).run()
    press(app, "Reveal")
    assert f"Not quite: you said “{lesson.answers[0]}”. The answer: {lesson.answers[2]}." in said(app)
    assert lesson.found().words in said(app)
    app.radio[0].set_value(lesson.answers[2]).run()
    assert "Right: " in said(app), "a second guess is judged anew"
    data = dragged(app)
    assert data["at"] == EPSILONS.index(0.1)
    assert data["real"] is None
    assert np.shape(data["synthetic"]) == (len(SEEDS), len(EPSILONS), 2)
    app.selectbox(key=next(s.key for s in app.selectbox if s.label == "Groups by")).set_value("Age").run()
    table = next(f.value for f in settled(app).dataframe if {"group", "error"} <= set(f.value.columns))
    below = table.set_index("group")["error"]
    assert data["synthetic"][0][data["at"]] == pytest.approx([below[label] for label in data["labels"]])
    said_of = dict(zip(data["labels"], data["synthetic"][0][data["at"]], strict=True))
    assert f"**{said_of['Child']:.1%}** of what they say about “Child”" in data["words"][0][data["at"]]
    falling = np.mean(data["synthetic"], axis=0)[:, data["labels"].index("Child")]
    assert falling[0] > 5 * falling[-1]


def test_the_answer_is_the_nearest_mark_and_follows_the_numbers():
    ratios = {0.2: 0, 1.6: 0, 1.8: 1, 4.1: 1, 4.3: 2, 7.7: 2, 7.8: 3, 99: 3}
    assert {ratio: nearest(ratio, (1, 3, 6, 10)) for ratio in ratios} == ratios

    class Told:
        def __init__(self, people):
            self.people = people

        def at(self, epsilon=None):
            i = int(epsilon is not None)
            return [Ran(0.0, (1.0, 0.1)[i], self.people[i], {})]

    assert [sampling(Told(p)).right for p in ((1.0, 0.11), (1.0, 0.4), (0.4, 0.5))] == [0, 1, 2]


def _slider_beside_a_drag():
    import streamlit as st

    from pages._ui.lessons.moving import _choose
    from pages._ui.shell.controls import epsilon_slider

    for stop in (0, 8):
        st.button(str(stop), on_click=_choose, args=(stop,))
    st.text(epsilon_slider())


def test_where_the_drag_is_let_go_the_slider_of_the_page_stands(one_value):
    app = AppTest.from_function(_slider_beside_a_drag).run()
    assert app.text[0].value == "1.0"
    for stop in (8, 0):
        app = button(app, str(stop)).click().run()
        assert app.text[0].value == str(EPSILONS[stop])
        assert app.run().text[0].value == str(EPSILONS[stop]), "and stays there"
