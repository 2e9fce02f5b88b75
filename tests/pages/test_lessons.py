"""The lessons' answers are what runs at their settings give: at every seed, and by an independent
count.
"""

import re

import numpy as np
from streamlit.testing.v1 import AppTest

from dpcore import Budget, samples
from dpcore.privacy.accounting import gdp_mu
from pages._ui.lessons import hidden_company
from pages._ui.lessons.dragged_answers import EPSILON_STOPS
from pages._ui.lessons.lesson import LESSONS, SEEDS, stored_runs
from pages._ui.lessons.lesson_answers import decide_sampling_lesson, nearest_mark_index
from tests import make_assets
from tests.pages.headless import (
    click,
    click_and_wait,
    dataframe,
    figures,
    follower_values,
    markdown_text,
    open_page,
    plotly_numbers,
    set_fields,
)
from tests.small_problems import all_tables, approx, parametrize, run_to_end, seeded


def test_the_first_lesson_s_factor_by_hand():
    """Counted anew, beside what the lesson does: the mean error over all cells of all pairs, at
    both ε.
    """
    sample = samples.census()
    rows = sample.domain.encode(sample.frame)
    problem = all_tables(sample.domain, rows.n)
    workload = problem.workload
    truth = workload.answers_of_rows(rows)
    runs = [
        run_to_end("gaussian_maxent", problem, rows, Budget(epsilon, 1e-9))
        for epsilon in (0.1, 1.0)
    ]
    mean_errors = [float(np.abs(run.release.answers(workload) - truth).mean()) for run in runs]
    factor = mean_errors[0] / mean_errors[1]
    assert 5 < factor < 7.5
    found = LESSONS["epsilon"].find_answer()
    assert LESSONS["epsilon"].answers[found.right_answer_index] == "About 6 times"
    said_so = float(re.search(r"([\d.]+) times as much", found.sentence)[1])
    assert said_so == approx(factor, rel=0.2), "of runs that were made before"


@parametrize("lesson", LESSONS.values(), ids=LESSONS)
def test_what_is_drawn_was_made_by_the_lessons_settings_and_comes_out_alike_again(lesson):
    kept = stored_runs()[lesson.key]
    assert {"settings": kept["settings"], "bars": kept["bars"]} == lesson.run_definition()
    rows = 1 if lesson.unit == "%" else make_assets.sample_table(lesson.settings["sample"]).n
    assert rows == 1 or f"people of {rows:,}" in lesson.shows
    assert np.shape(kept["shares"]) == (len(SEEDS), len(EPSILON_STOPS), len(lesson.bars))
    ((again,),) = make_assets.shares(
        lesson, (0,), (0.3,)
    )  # other draws, after a change, are no other law
    at = lesson.values[:, EPSILON_STOPS.index(0.3)] / rows
    assert ((at.min(axis=0) / 2 < again) & (again < at.max(axis=0) * 2)).all()


def test_the_lessons_begin_with_one_patient_and_lead_to_each_of_them():
    app = open_page("lessons")
    told = next(m.value for m in app.markdown if "Anna" in m.value)
    noise = seeded(17).standard_normal(2) / gdp_mu(1, 1e-9)
    shown = [int(number) for number in re.findall(r"\*\*(\d+)\*\*", told)]
    assert shown[:2] == [120, 121]
    assert shown[2:] == approx(np.array(shown[:2]) + noise, abs=0.5)
    set_fields(app, present=True)
    links = [link.proto.url for link in app.get("link_button")]
    assert links == [lesson.link(large=False) + "&present=true" for lesson in LESSONS.values()]
    seen = list(LESSONS.values())[2]
    app.session_state[f"_revealed-{seen.title}"] = True
    for lesson, drawn in zip(LESSONS.values(), figures(app.run()), strict=True):
        (bars,) = drawn["data"]
        known, hidden = (
            np.median(lesson.values[:, EPSILON_STOPS.index(epsilon), place])
            for epsilon, place in (lesson.reference, lesson.hidden)
        )
        assert plotly_numbers(bars["x"])[:2] == approx([known, hidden if lesson is seen else 0.0])
        assert (bars["text"][1] == "<b>?</b>") is (lesson is not seen), (
            "the answer is no part of the question"
        )
        assert (lesson.remember in markdown_text(app)) is (lesson is seen)
        assert (lesson.task in [link.proto.label for link in app.get("link_button")]) is (
            lesson is not seen
        )


def test_a_wrong_guess_is_told_what_it_was_and_the_bars_that_follow_epsilon_are_what_the_page_below_says():
    """At a stop that is not the lesson's own; the bars are the median that the answer names."""
    lesson = LESSONS["small-groups"]
    app = open_page("explore", lesson="small-groups", sample="titanic", epsilon="0.1")
    app.radio[0].set_value(lesson.answers[0]).run()
    click_and_wait(app, "Reveal")
    assert (
        f"Not quite: you said “{lesson.answers[0]}”. The answer: {lesson.answers[2]}."
        in markdown_text(app)
    )
    assert lesson.find_answer().sentence in markdown_text(app)
    app.radio[0].set_value(lesson.answers[2]).run()
    assert "Right: " in markdown_text(app), "a second guess is judged anew"
    data = follower_values(app)
    assert data["at"] == EPSILON_STOPS.index(0.1)
    assert data["real"] is None
    assert data["synthetic"] == [np.median(lesson.values, axis=0).tolist()]
    assert data["repeats"] == len(SEEDS)
    below = dataframe(set_fields(app, **{"Groups by": "Age"}), "group", "error").set_index("group")[
        "error"
    ]
    drawn = data["synthetic"][0][data["at"]]
    assert drawn == approx(below[["Child", "Adult"]].to_numpy(), rel=0.5), (
        "the same run, unless it was made before"
    )
    assert data["sentences"][0][data["at"]] == f"children: {drawn[0]:.1%}; adults: {drawn[1]:.1%}."
    falling = np.array(data["synthetic"])[0, :, 0]
    assert falling[0] > 5 * falling[-1]


def test_the_answer_is_the_nearest_mark_and_follows_the_numbers():
    ratios = {0.2: 0, 1.6: 0, 1.8: 1, 4.1: 1, 4.3: 2, 7.7: 2, 7.8: 3, 99: 3}
    assert {ratio: nearest_mark_index(ratio, (1, 3, 6, 10)) for ratio in ratios} == ratios

    for people, right in (((1.0, 0.11), 0), ((1.0, 0.4), 1), ((0.4, 0.5), 2)):
        assert (
            decide_sampling_lesson(
                {0.1: (1.0, people[0]), 10.0: (0.1, people[1])}
            ).right_answer_index
            == right
        )


def test_the_hidden_number_follows_from_five_tables_and_from_no_four():
    """Counted over all tables of forty people: the owners' table is the one too many."""
    hidden = hidden_company.HIDDEN_COMPANY
    assert hidden_company.hidden_counts().sum() == 4, "no company is shown"
    found = hidden_company.possible_counts(hidden_company.suppressed_tables(), hidden)
    assert found == [hidden_company.ILL_PEOPLE[hidden]] == [2]
    for left_out in ("by trade", "by size", "by owner"):
        names = [name for name in hidden_company.TABLES if name != left_out]
        assert (
            len(hidden_company.possible_counts(hidden_company.suppressed_tables(names), hidden)) > 1
        )
    assert hidden_company.possible_counts(hidden_company.rounded_tables(), hidden) == [0, 1, 2]


def test_the_reader_finds_it_by_hand_and_sees_what_rounding_would_have_changed():
    app = open_page("lessons")
    assert "small bakery **•**" in markdown_text(app)
    assert "**2**" not in markdown_text(app), "the answer is no part of the question"
    app.number_input(key="hidden-company").set_value(7).run()
    assert "**Not quite.**" in markdown_text(app)
    app.number_input(key="hidden-company").set_value(2).run()
    text = markdown_text(app)
    assert "**Right.** Add bakeries and large companies: 22 + 33 = 55." in text
    assert "(55 − 15) / 2 = 20, and the small one 22 − 20 = 2." in text
    assert "may have 0 to 2 ill people" in text


def _slider_beside_a_drag():
    import streamlit as st

    from pages._ui.components.parameter_widgets import epsilon_slider
    from pages._ui.lessons.dragged_answers import _set_page_epsilon

    for stop in (0, 8):
        st.button(str(stop), on_click=_set_page_epsilon, args=(stop,))
    st.text(epsilon_slider())


def test_where_the_drag_is_let_go_the_slider_of_the_page_stands(one_value):
    app = AppTest.from_function(_slider_beside_a_drag).run()
    assert app.text[0].value == "1.0"
    for stop in (8, 0):
        click(app, str(stop))
        assert app.text[0].value == str(EPSILON_STOPS[stop])
        assert app.run().text[0].value == str(EPSILON_STOPS[stop])
