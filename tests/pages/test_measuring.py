"""A schema to be measured, on the pages: what is shown before rests on public things alone, and a
trial is a peek.
"""

import gc
import json
import sys

import pandas as pd
import pytest

from dpcore import Budget, domain_to_json
from dpcore.algorithms.schema_measurement.hidden_rows import predict_hidden_rows
from dpcore.algorithms.schema_measurement.measure_columns import plan_measurement
from dpcore.algorithms.schema_measurement.predicted_errors import (
    missing_budget_text,
    predicted_error_text,
)
from dpcore.algorithms.schema_measurement.split_budget import SplitBudget, default_schema_share
from dpcore.evaluation import schema_trial as evaluation
from dpcore.problems import ColumnMeasurement
from dpcore.release.preparation import PartialSchemaRows
from dpcore.schema.partial_schema import partial_schema_from_json
from pages._ui.components import column_costs
from pages._ui.data import schema_measurement
from pages._ui.data.column_entries import entry_from_row
from pages._ui.data.column_grid import _grid_rows
from pages._ui.session.schema_share import SchemaTrial
from pages._ui.session.table import Table
from tests.cli.command_files import OPEN, people_table
from tests.pages.headless import (
    algorithm_title,
    all_words,
    button,
    button_labels,
    caption_text,
    click,
    click_and_wait,
    dataframe,
    error_text,
    open_code,
    run_comparison,
    run_until_settled,
    session,
    set_fields,
    switch_page,
    table,
    upload_schema,
    visible_text,
)
from tests.pages.test_data import opened
from tests.pages.test_reading import Gate
from tests.pages.test_release import NOW, made, release, releases
from tests.small_problems import binned, categorical, integer, private

N = len(people_table())
BUDGET = Budget(1, 1e-9)
REAL = {"Show the real rows": True}
MEASURE = "Measure them privately"
TRY = "Try it: measure with noise that can be repeated"


def brought(frame=None, **query):
    """The Data page with these people and a schema from a file."""
    app = opened(
        (people_table() if frame is None else frame).to_csv(index=False).encode(),
        bars=False,
        **query,
    )
    return upload_schema(app, json.dumps(OPEN).encode())


def everybody_else():
    """A table with as many rows and other cells in the columns to be measured: of other kinds,
    missing, all alike.
    """
    other = people_table()
    other["job"] = ["Clerk", "clerk", " CLERK"] * (N // 3)  # spellings that could be counted as one
    other["pay"] = ""
    other["age"] = "not a number"
    return other


def test_what_it_costs_and_how_far_off_it_may_be_are_those_of_the_plan():
    app = brought()
    opening = partial_schema_from_json(OPEN)
    share = default_schema_share(3, N, 1, BUDGET)
    problem = ColumnMeasurement(opening.unknown_columns, N)
    plan = plan_measurement(problem, SplitBudget(BUDGET, share, first_can_fail=True), exact=False)
    for column in opening.unknown_columns:
        assert predicted_error_text(column, problem, plan) in visible_text(app)
        assert missing_budget_text(column, problem, plan) in visible_text(app), (
            "so few rows show little of it"
        )
    hidden_rows = predict_hidden_rows(problem, plan)
    assert hidden_rows.hides_nearly_all
    assert column_costs.hidden_rows_text(hidden_rows) in visible_text(app)
    assert "Better state the values or ranges yourself" in visible_text(app)
    assert button(app, TRY).proto.type == "secondary", "it is not what is advised"
    assert "its frequent values: ρ" in visible_text(app)
    assert f"{share / 3:.2%} of the budget" in visible_text(app), "the same for each column"
    assert "its range, counts of its bins 2 times: ρ" in visible_text(app)
    set_fields(app, schema_share=0.5, epsilon=10.0)
    assert "Values under" in visible_text(app)
    assert "Better state" not in visible_text(app)
    assert button(app, TRY).proto.type == "primary"
    set_fields(app, epsilon=1.0)
    plan = plan_measurement(problem, SplitBudget(BUDGET, 0.5, first_can_fail=True), exact=False)
    assert predicted_error_text(problem.columns[0], problem, plan) in visible_text(app)
    set_fields(app, delta=0.0)
    assert (
        "**job**: at delta=0 its values cannot be measured, because a single row would reveal "
        "its own" in visible_text(app)
    )
    assert button(app, TRY).disabled


def test_one_click_writes_private_for_the_columns_that_nobody_typed():
    app = opened(people_table().to_csv(index=False).encode(), bars=False)
    table(app).update_entries({"age": integer(0, 120), "pay": {"kind": "numeric", "bins": 5}})
    app.run()
    assert "Measured privately: Values under" in visible_text(app)
    assert button(app, MEASURE).proto.type == "secondary", "nearly all would be hidden"
    click_and_wait(app, MEASURE)
    mine = table(app)
    assert list(mine.schema["columns"].values()) == [
        private("categorical"),
        private("categorical"),
        private("numeric", bins=5),
        integer(0, 120),
    ]
    assert mine.is_schema_inferred, "the kinds are still guesses"
    assert not session(app).was_viewed(mine)
    click_and_wait(app, "I confirm that this is public knowledge")
    assert not table(app).schema_uses_real_data
    assert table(app).partial_schema is not None


def test_the_grid_says_what_the_schema_says_and_back():
    rows = {
        row["column"]: row
        for row in _grid_rows(Table("t.csv", people_table(), OPEN, "", uploaded=True))
    }
    texts = [row["public values or range"] for row in rows.values()]
    assert texts == [
        "measured privately",
        "f; m",
        "measured privately, groups of equal counts",
        "measured privately, 8 groups",
    ]
    for before in (OPEN["columns"], {}):
        again = {
            "columns": {
                name: entry_from_row(name, row, before.get(name, {})) for name, row in rows.items()
            }
        }
        assert partial_schema_from_json(again) == partial_schema_from_json(OPEN)
    assert entry_from_row(
        "sex", rows["sex"] | {"public values or range": "private"}, OPEN["columns"]["sex"]
    ) == private("categorical")
    stated = OPEN["columns"]["age"] | {"missing_codes": [-9]}
    fewer = rows["age"] | {"public values or range": "measured privately, 4 groups"}
    assert entry_from_row("age", fewer, stated) == stated | {"bins": 4}, "codes stay"
    peeked = integer(0, 90, missing_codes=[-9], missing="category")
    assert "missing_codes" not in entry_from_row("age", fewer, peeked), "they may tell of a row"
    with pytest.raises(ValueError, match="column 'age': 'about 5' is no range; write 0 to 120"):
        entry_from_row("age", rows["age"] | {"public values or range": "about 5"}, {})


def test_no_cell_of_an_open_column_is_looked_at_by_the_table(monkeypatch):
    asked = []
    monkeypatch.setattr(pd.Series, "value_counts", lambda *_, **__: pytest.fail("looked"))
    monkeypatch.setattr(
        Table, "column_cells", lambda self, name: asked.append(name) or pd.Series(self.frame[name])
    )
    mine = Table("t.csv", everybody_else(), OPEN, "", uploaded=True)
    assert mine.partial_schema is not None
    assert mine.domain is None
    home = sys.modules[Table.__module__]  # by its name one gets a function of the package
    monkeypatch.setattr(
        home, "find_column_problems", lambda name, *_: asked.append(f"problems of {name}") or ()
    )
    mine.set_schema(OPEN | {"constraints": []})
    assert not [said for said in asked if said.startswith("problems")]


def test_a_trial_makes_the_domain_counts_as_a_look_and_is_gone_when_the_schema_changes():
    app = click_and_wait(brought(), TRY)
    mine = table(app)
    text = dataframe(app, "found").to_csv()
    split = SplitBudget(BUDGET, default_schema_share(3, N, 1, BUDGET), first_can_fail=True)
    found = evaluation.measure_schema_with_seed(
        mine.partial_schema, mine.frame, mine.unit, split, seed=0
    )
    assert mine.domain == found.domain == mine.trial.measured_schema.domain
    for one in found.findings:
        assert one.description in text
    assert session(app).was_viewed(mine)
    assert "A trial is no release" in caption_text(app)
    assert mine.schema_uses_real_data
    assert not mine.is_schema_inferred
    assert mine.schema == OPEN, "what was found does not get into the schema"
    assert "do not publish" not in text
    set_fields(app, **REAL)
    assert (
        "2 values: clerk, nurse" in dataframe(app, "found")["real rows (do not publish)"].tolist()
    )
    click_and_wait(set_fields(app, schema_seed=7), TRY)
    assert table(app).trial.seed == 7
    assert table(app).domain != found.domain
    table(app).update_entries({"sex": categorical("f", "m", missing="category")})
    assert (table(app).trial, table(app).domain) == (None, None)


def guarantee(app):
    """The page with the tab that holds the plan open."""
    app.session_state["expert"] = "Cost"
    return switch_page(app, "guarantee")


def test_stakeholders_see_the_price_and_nothing_that_was_found():
    app = click_and_wait(brought(), TRY)
    assert "clerk" in dataframe(app, "found").to_csv()
    app.query_params["view"] = "stakeholder"
    app.run()
    assert "values shared by fewer than about" in visible_text(app)
    assert "clerk" not in visible_text(app)
    assert TRY not in button_labels(app)
    assert not any("clerk" in str(frame.value) for frame in app.dataframe)


COMMAS = "pay;sex\n" + "\n".join(f"{i},5;{'fm'[i % 2]}" for i in range(300)) + "\n"


def test_decimal_commas_are_read_where_the_schema_says_so_and_the_records_stay_as_they_were_written():
    app = opened(COMMAS.encode())
    mine = table(app)
    assert mine.frame["pay"].iloc[1] == "1,5"
    assert mine.schema["columns"]["pay"] == {
        "kind": "numeric",
        "read": "amount, decimal comma",
        "form": "1000,0",
    }
    assert "numbers like 1.234,50" in list(app.dataframe[0].value["what it is"])
    numbers = binned("numeric", 0, 300, missing="category", out_of_range="clip")
    mine.set_schema({"columns": {"pay": numbers | {"unreadable": "missing"}}, "measured": ["pay"]})
    assert mine.encoded_rows(("pay",)).values.tolist() == [[1]], "not one is a number without that"
    mine.update_entries({"sex": categorical("f", "m")})
    assert mine.schema["measured"] == ["pay"], (
        "what was paid for stays so as long as it is not edited"
    )
    mine.set_schema({"columns": {"pay": numbers}})
    assert "'0,5' in row 1 is not a number" in mine.problem
    mine.set_schema({"columns": {"pay": numbers | {"read": "amount, decimal comma"}}})
    assert mine.encoded_rows(("pay",)).values.tolist() == [[0]]
    assert "measured" not in mine.schema


def test_what_comes_after_a_trial_has_the_rest_of_the_budget_and_says_so():
    app = click_and_wait(brought(people_table().assign(pay="1.5")), TRY)
    split = table(app).trial.split_budget(BUDGET)
    rest = split.second_cost
    app.query_params["below"] = "Budget used"
    switch_page(app, "explore")
    assert (
        0.99 * rest
        < session(app).resources["explore"].first_job.results[0].summary.spent.mu ** 2 / 2
        <= rest
    )
    words = caption_text(app)
    assert (
        f"for {split.share:.1%} of ε = 1 at δ = 1e-9. A release measures it anew. The algorithm "
        "has the rest" in words
    )
    assert "Used: ε = 1 at δ = 1e-9, by the schema and the algorithm together, at the most" in words
    assert f"{split.share:.1%} of the budget of ε = 1 is the schema's" in words
    guarantee(app)
    assert "A release measures it anew" in caption_text(app)
    app.query_params["below"] = "Download"
    command = open_code(switch_page(app, "explore")).code[0].value
    assert f"--schema-share {split.share!r}" in command
    run_comparison(switch_page(app, "compare"))
    *_, dot = session(app).resources["sweep"].planned_outcomes
    assert 0.99 * rest < dot.point.spent["mu"] ** 2 / 2 <= rest


def for_release(app, folder):
    return set_fields(switch_page(app, "release"), ledger_folder=str(folder))


def test_before_anything_is_measured_pages_say_the_same_whatever_the_cells_are_and_what_is_reserved(
    tmp_path,
):
    first, second = both = brought(), brought(everybody_else())
    assert table(first).partial_schema is not None
    assert all_words(first) == all_words(second)
    for app in both:
        assert not session(app).was_viewed(table(app))
        assert "peeked" not in table(app).schema
        guarantee(app)
    assert all_words(first) == all_words(second)
    assert len(first.dataframe), "the costs of a plan"
    for app in both:
        for_release(app, tmp_path)
    assert all_words(first) == all_words(second)
    for app in both:
        assert not app.error
        assert not app.text_area, "nobody has looked"
    assert "**job**: values shared by fewer than about" in visible_text(first)
    assert (
        "Schema and algorithm may cost ε = 1 at δ = 1e-9 by zero-concentrated DP"
        in caption_text(first)
    )
    assert "It uses all that both may ever need" in caption_text(first)
    share = default_schema_share(3, N, 1, BUDGET)
    assert f"{share:.1%} of the budget measures it, and {1 - share:.1%} is left" in caption_text(
        first
    )
    assert not list(tmp_path.iterdir())
    set_fields(first, algorithm=algorithm_title("mwem"), delta=0.0)
    assert "column 'job': at delta=0 its values cannot be measured" in error_text(
        run_until_settled(first)
    ).replace("\u2060", "")
    assert NOW not in button_labels(first)


def test_a_release_after_a_trial_measures_anew_within_its_charge_and_needs_a_reason(tmp_path):
    app = for_release(click_and_wait(brought(), TRY), tmp_path)
    trial = table(app).trial
    assert "Nothing that the trial found goes into it" in caption_text(app)
    assert "a trial of its schema were shown" in caption_text(app)
    assert app.button(key="release-now").disabled
    set_fields(app, reason="tried before")
    release(run_until_settled(app))
    assert "What was measured of the schema, protected" in visible_text(app)
    schema, facts = (json.loads(made(app)[name]) for name in ("schema.json", "release.json"))
    assert schema["measured"] == ["job", "pay", "age"]
    assert schema["columns"]["job"]["values"] == ["clerk", "nurse", "(other)"]
    assert (
        facts["schema"]["columns"]["pay"]
        != domain_to_json(trial.measured_schema.domain)["columns"]["pay"]
    )
    for said_of in facts["measured"]:
        assert said_of["found"] in visible_text(app)
    (entry,) = releases(tmp_path)
    assert entry["reason"] == "tried before"


def test_without_open_columns_among_those_asked_a_release_is_like_any_other(tmp_path):
    app = for_release(brought(), tmp_path)
    set_fields(app, Columns=["sex"], questions=["every single column"])
    assert "is measured first" not in " ".join(s.value for s in app.subheader)
    assert json.loads(made(release(app))["release.json"])["measured"] == []


def test_a_cancelled_trial_leaves_the_schema_and_a_forgotten_table_leaves_nothing(
    tmp_path, monkeypatch
):
    gate = Gate(monkeypatch, schema_measurement, "measure_schema_with_seed")
    app = click(brought(), TRY)
    gate.cancelled(app)
    assert "Cancelled: the schema is as it was." in [w.value for w in app.warning]
    assert table(app).trial is None
    assert table(app).partial_schema is not None
    click_and_wait(app, TRY)
    for_release(set_fields(app, **REAL), tmp_path)
    mine = session(app)
    assert {"read-for-release", "beside-the-trial"} <= set(mine.resources)
    click_and_wait(switch_page(app, "data"), "Forget my table")
    assert not {"read-for-release", "beside-the-trial"} & set(mine.resources)
    gc.collect()
    left = [
        o
        for o in gc.get_objects()
        if isinstance(o, (Table, PartialSchemaRows, SchemaTrial)) and "clerk" in str(vars(o))
    ]
    assert left == []
