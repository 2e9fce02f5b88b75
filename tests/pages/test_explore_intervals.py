"""Intervals on Explore, headless: of a column, of typed questions, compared, refused with the reason, as a file."""

import io
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpcore.intervals.cells import cell_intervals
from dpcore.intervals.known import known
from dpcore.intervals.questions import answer, compare_questions
from dpcore.parsing.questions import understand
from dpcore.workloads import Marginals
from pages._ui.explore import ask
from tests.pages.headless import berkeley, dataframe, numbers, open_page, said, settled
from tests.pages.test_explore import chart

pytestmark = pytest.mark.usefixtures("tab")
FIRST, SECOND = "Gender = Female", "Admission = Admitted"


@pytest.fixture(scope="module")
def by_hand():
    """The run that the page shows of the berkeley sample, and what its noisy tables say."""
    run = berkeley("gaussian_maxent", 1.0, 0)
    return run, known(run.release, run.measured, run.problem.domain)


def words(app):
    return f"{said(app)} {' '.join(c.value for c in app.caption)}".replace("\\", "").replace("\u2060", "")


def asked(app, first, second="", kind=None):
    app.text_input(key="question").set_value(first)
    app.text_input(key="question-with").set_value(second)
    if kind:
        app.selectbox(key="compared-by").set_value(kind)
    return settled(app.run())


def test_a_column_carries_the_intervals_of_the_release(by_hand):
    run, told = by_hand
    app = open_page("explore", sample="berkeley")
    figure = chart(app, "95% range")
    drawn = next(t for t in figure["data"] if t["name"] == "95% range")
    column = figure["layout"]["xaxis"]["title"]["text"]
    expected = cell_intervals(told, Marginals(told.domain, [[column]]), run.problem.n)
    middle, up, down = (
        np.array(numbers(v)) for v in (drawn["y"], drawn["error_y"]["array"], drawn["error_y"]["arrayminus"])
    )
    assert middle + up == pytest.approx(100 * expected["high"])
    assert middle - down == pytest.approx(100 * expected["low"])
    assert "95% intervals for this table, from the release alone" in words(app)
    assert any(button.label == "All combinations with intervals (CSV)" for button in app.get("download_button"))
    shown = dataframe(app, "population from")
    assert (shown["population from"] <= shown["table from"]).all()
    assert (shown["table to"] <= shown["population to"]).all()


def test_typed_questions_carry_intervals_and_are_compared(by_hand):
    run, told = by_hand
    app = open_page("explore", sample="berkeley")
    n, both = run.problem.n, [understand(text, told.domain) for text in (FIRST, SECOND)]
    for kind in ask.KINDS:
        app = asked(app, FIRST, SECOND, kind)
        for question in both:
            assert ask.in_words(answer(told, question, n)).replace("\\", "") in words(app)
            assert f"{question.text}: **Real " in words(app)
        found = compare_questions(told, *both, n, kind)
        assert ask.in_words(found, kind).replace("\\", "") in words(app)
        assert found.low < found.unbiased < found.high
        assert "(conservative)" not in words(app)


def test_what_was_not_measured_together_is_bounded_conservatively_and_why_is_said():
    text = "Gender = Female and Admission = Admitted and Department = A"
    app = asked(open_page("explore", sample="berkeley"), text)
    why = "nothing was measured about Department × Gender × Admission together"
    assert re.search(
        rf"at 95% \(conservative: {why}, and every table is allowed .*?\): in this table 0\.00% to", words(app)
    )
    app = asked(app, FIRST, text, "difference")
    assert words(app).count(why) == 2
    assert "From the release alone, at 95%: in this table" in words(app)
    app = asked(app, FIRST, text, "ratio")
    assert f"cannot be bounded: noise does not tell ({text}) apart from 0" in words(app)


def test_stakeholders_see_what_the_release_says_and_nothing_real():
    app = asked(open_page("explore", sample="berkeley", view="stakeholder"), FIRST)
    assert "From the release alone, at 95%: in this table" in words(app)
    assert re.search(r"Gender = Female: \*\*synthetic [\d.]+%\*\*", words(app))
    assert not re.search(r"\breal\b.*%", words(app), re.IGNORECASE)


def test_all_cells_are_written_with_their_intervals(by_hand, monkeypatch):
    run, told = by_hand

    def written(tables):
        done, chosen = SimpleNamespace(release=run.release, known=told), SimpleNamespace(problem=run.problem)
        return pd.read_csv(io.StringIO(ask.cells(done, tables, chosen)))

    tables = run.problem.workload
    frame = written(tables)
    assert len(frame) == tables.m
    assert frame["answer"].to_numpy() == pytest.approx(run.release.answers(tables))
    for name, values in cell_intervals(told, tables, run.problem.n).items():
        assert frame[name].to_numpy() == pytest.approx(values)
    beyond = written(Marginals(told.domain, [list(told.domain.names)]))
    assert beyond[["unbiased", "low", "high", "population_low", "population_high"]].isna().all(axis=None)
    monkeypatch.setattr(ask, "MOST_CELLS", tables.m - 1)
    app = open_page("explore", sample="berkeley")
    assert re.search(rf"{tables.m} combinations are more than the {tables.m - 1}", words(app))
