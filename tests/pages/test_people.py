"""People who count once, headless: answers of people and of their rows, each with its own unit."""

import io
import json
import re
from contextlib import redirect_stdout

import numpy as np
import pytest

from dpcore import PrivacyUnit
from dpcore.cli import main
from pages._ui.released import released_views
from tests.pages.headless import (
    caption_text,
    error_text,
    forget_owner,
    new_tab,
    run_comparison,
    run_until_settled,
    set_fields,
    switch_page,
    table,
    typed_schema,
    upload,
    visible_text,
)
from tests.pages.test_release import release
from tests.small_problems import categorical, integer, seeded

PEOPLE = 300
SCHEMA = {"columns": {"sex": categorical("m", "f"), "ward": integer(0, 2)}}
UNIT = PrivacyUnit("id", 4, counts_people=True, row_totals=True, person_columns=("sex",))


@pytest.fixture(autouse=True)
def no_ledger_of_the_owner(monkeypatch):
    forget_owner(monkeypatch)


def stays():
    """Stays of people who have one to four each: of whom, their sex, and the ward."""
    rng = seeded(0)
    people = np.repeat(np.arange(PEOPLE), rng.integers(1, 5, PEOPLE))
    sexes = rng.integers(0, 2, PEOPLE)[people]
    wards = rng.integers(0, 3, len(people))
    lines = [f"p{i},{'mf'[sex]},{ward}" for i, sex, ward in zip(people, sexes, wards, strict=True)]
    return "\n".join(["id,sex,ward", *lines]).encode()


def with_people(unit=UNIT):
    """The Data page with the table of stays, of whose people each counts once."""
    app = new_tab()
    app.session_state["first-values"] = False
    app = typed_schema(upload(switch_page(app, "data"), stays()), SCHEMA)
    table(app).set_privacy_unit(unit)
    return app.run()


def test_answers_are_of_people_and_of_their_rows_with_bounds_of_each(tmp_path):
    app = with_people()
    app.query_params["below"] = "Ask a question"
    app.session_state["repeats"] = 1
    app.session_state["question"] = "ward = 1"
    switch_page(app, "explore")
    text = visible_text(app)
    share = r"\*\*Real [\d.]+%, synthetic [\d.]+%\*\*, of 300 people\. "
    assert re.search(rf"ward = 1: {share}The real answer is not for publishing", text)
    kept = UNIT.bound_contributions(table(app).frame, ["sex", "ward"])
    real = int((kept["ward"].astype(str) == "1").sum())
    assert re.search(rf"of their rows: \*\*real {real}, synthetic \d+\*\*\. Measured error: ", text)
    assert re.search(
        r"in this table \d+ to \d+ rows\. Noise .*: [\d.]+ people, [\d.]+ rows\.", text
    )
    assert "People in a wrong cell" in text
    switch_page(app, "release")
    set_fields(app, ledger_folder=str(tmp_path), reason="They agreed.")
    assert "(4 or fewer) and have as many people." in caption_text(app)
    release(app)
    app.query_params["released"] = released_views.QUESTIONS_TAB
    app.session_state["released-question"] = "ward = 1"
    text = visible_text(run_until_settled(app.run()))
    (facts,) = tmp_path.rglob("release.json")
    people, total = (asked_by_command(facts.parent, count) for count in ("people", "rows"))
    assert f"ward = 1: **{people['estimate']:.2%}** of 300 people. From the release alone" in text
    assert f"How many of their rows: **{total['estimate']:,.0f}**. From the release alone" in text
    bounds = f"in this table {total['low']:,.0f} to {total['high']:,.0f} rows. Noise "
    assert bounds in text


def asked_by_command(folder, count):
    """The interval that the command line gives for the question, of people or of rows."""
    output = io.StringIO()
    with redirect_stdout(output):
        assert main(["ask", str(folder), "ward = 1", "--count", count, "--json"]) == 0
    return json.loads(output.getvalue())[0]


def test_every_other_page_works_on_people_or_says_that_rows_count():
    app = with_people()
    note = "On this page each row counts. Protected is one person with at most 4 rows."
    for page in ("learning", "alternatives"):
        switch_page(app, page)
        assert error_text(app) == "", page
        assert note in caption_text(app), page
    switch_page(app, "guarantee")
    assert error_text(app) == ""
    app.query_params["details"] = "Where from"
    app.session_state["cause-question"] = "rows >= 2 and ward = 1"
    run_comparison(switch_page(app, "compare"), ("gaussian_maxent",), (1.0,))
    assert error_text(app) == "", "a question about how many rows people have"
    assert "People in a wrong cell" in visible_text(app)
    app.query_params["details"] = "Purposes"
    (text,) = [info.value for info in app.run().info if "Purposes need" in info.value]
    assert "On Data, let each row count, at most 1 of a person." in text
    app.query_params["view"] = "stakeholder"
    switch_page(app, "explore")
    assert "People in a wrong cell" in visible_text(app)
    assert "Predicted for all" not in caption_text(app), "how many people count is public"
