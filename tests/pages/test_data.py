"""The Data page, headless: one grid, one click a decision, and nothing that was looked up becomes
public unsaid.
"""

from dataclasses import replace

import numpy as np
from streamlit.elements.widgets import file_uploader
from streamlit.runtime.uploaded_file_manager import DeletedFile

from dpcore import InputError, PrivacyUnit, QueryRelease, domain_from_json
from dpcore.algorithms import algorithms_for_problem
from dpcore.core.types import ignore_progress
from pages._ui.data import column_grid as page_grid
from pages._ui.data import grid_edits
from pages._ui.data.privacy_unit_choice import COUNT_ROWS
from pages._ui.jobs.browser_memory import typed_schema_parts
from pages._ui.session.first_values import MAX_BARS
from tests.pages.headless import (
    button_labels,
    caption_text,
    click_and_wait,
    dataframe,
    error_text,
    heading,
    new_tab,
    schema_entries,
    session,
    set_fields,
    switch_page,
    table,
    typed_schema,
    upload,
    visible_text,
)
from tests.small_problems import categorical, integer, private

READ = "Fill in from my data (not protected)"
KNOWN = "I confirm that this is public knowledge"
ROWS = "\n".join(
    f"p{i},{1 + i % 28}/{1 + i % 12}/2020,{['yes', 'Yes', ' yes ', 'no'][i % 4]},{20 + i % 60},{'' if i % 9 else 4}"
    for i in range(300)
)
CSV = f"id,when,answer,age,rare\n{ROWS}\n".encode()


def opened(content=CSV, name="t.csv", *, bars=True, **query):
    app = new_tab(**query)
    app.session_state["first-values"] = bars
    switch_page(app, "data")
    return app if content is None else upload(app, content, name)


def grid(app):
    """The rows of the grid, by column."""
    return {row["column"]: row for row in dataframe(app, "what it is").to_dict("records")}


def explore(app):
    """The way on to Explore: whether it is open, and its words."""
    (link,) = [link.proto for link in app.get("page_link") if link.proto.page == "explore"]
    return not link.disabled, link.label


def act(app, monkeypatch, name):
    """Click the action of a column, as the grid reports it."""
    click = {"row": list(grid(app)).index(name), "label": grid(app)[name]["next"]}
    edit(app, monkeypatch, {"next-step": click}, page_grid._run_clicked_action)


def edit(app, monkeypatch, state, callback):
    """Call what the grid calls, with what the browser tells it; what it asks for is done at once."""
    mine = table(app)
    refused = []

    def attempt(change):
        try:
            change(mine, ignore_progress)
        except InputError as error:
            refused.append(str(error))

    with monkeypatch.context() as patch:
        patch.setattr(page_grid, "session", lambda: session(app))
        patch.setattr(page_grid, "is_stakeholder_view", lambda: False)
        patch.setattr(page_grid.st, "session_state", state)
        for module in (page_grid, grid_edits):
            patch.setattr(module, "whole_table", lambda: mine)
            patch.setattr(module, "start_schema_change", attempt)
        callback()
    app.run()
    return refused


def test_what_is_no_column_to_count_is_set_aside_with_the_reason_and_comes_back_with_one_click(
    monkeypatch,
):
    assert "“patient_id” may name people" in told(opened(CSV.replace(b"id,", b"patient_id,")))
    app = opened()
    assert set(schema_entries(app)) == {"answer", "age", "rare", "when"}
    assert schema_entries(app)["when"] == integer(1, 12, read="month of d/m/y"), (
        "by the first part of a day that differs"
    )
    assert list(grid(app)) == ["when", "answer", "age", "rare", "id"], (
        "what is not used stands last"
    )
    assert (grid(app)["id"]["state"], grid(app)["id"]["next"]) == (
        "an ID, which may name people",
        "Use it",
    )
    assert "may identify people: id." in told(app)
    assert "Optional: 1 column holds dates, which are too detailed: when" in visible_text(app)
    assert "Use the month" not in button_labels(app), "it is"
    click_and_wait(app, "Use the weekday")
    assert schema_entries(app)["when"]["read"] == "weekday of d/m/y"
    assert grid(app)["when"]["what it is"] == "weekday of d/m/y"
    assert grid(app)["when"]["state"] == "ready"
    act(app, monkeypatch, "id")
    assert "id" in schema_entries(app)
    assert grid(app)["when"]["next"] == "", "it is ready"


def test_the_button_to_explore_says_what_is_missing_and_the_page_how_much_is_left():
    app = opened()
    assert heading(app) == "3 columns to decide"
    assert explore(app) == (False, "**Explore it**: first decide about 3 columns")
    assert grid(app)["age"]["next"] == "Measure privately"
    click_and_wait(app, READ)
    assert heading(app) == "Ready, if each row is another person"
    assert explore(app) == (True, "**Explore it**")
    for columns, words in (
        ({}, "mend what is named below"),
        ({"rare": private("categorical")}, "try the measurement"),
        ({"rare": integer(0, 3)}, "decide about 1 column"),
    ):
        assert explore(typed_schema(app, {"columns": columns})) == (
            False,
            f"**Explore it**: first {words}",
        )


def test_the_charts_are_of_the_first_rows_and_can_be_switched_off_before_a_table_is_brought():
    app = opened(bars=False)
    assert "how often" not in grid(app)["age"]
    assert not session(app).was_viewed(table(app))
    app = opened()
    assert sorted(grid(app)["answer"]["how often"]) == [75, 75, 150], (
        "spaces around a text are no part of it"
    )
    assert len(grid(app)["age"]["how often"]) == MAX_BARS
    assert grid(app)["id"]["how often"] is None, "it may name people"
    assert session(app).was_viewed(table(app))


PEOPLE = "Full Name,Age,plan,PLZ\n" + "\n".join(
    f"Ann Lee{i},{'unknown' if i % 50 == 0 else i % 90},{['none', 'gold'][i % 2]},{i * 523 % 99999:05d}"
    for i in range(160)
)


def test_names_stay_out_words_beside_numbers_are_said_and_codes_are_cut():
    app = opened(PEOPLE.encode())
    click_and_wait(app, READ)
    click_and_wait(app, "Use their first characters")
    click_and_wait(app, READ)
    columns = schema_entries(app)
    assert set(columns) == {"Age", "plan", "PLZ"}
    assert "Ann" not in str(table(app).schema)
    assert (columns["Age"]["kind"], columns["Age"]["unreadable"]) == ("integer", "missing")
    assert grid(app)["Age"]["state"] == "ready; counted as missing: unknown"
    assert (columns["PLZ"]["read"], columns["PLZ"]["values"][:2]) == (
        "first 2 characters",
        ["00", "01"],
    )
    assert "1 column holds words for missing (“none”): plan" in visible_text(app)
    click_and_wait(app, "Make them values of their own")
    assert schema_entries(app)["plan"]["values"] == ["gold", "none"]
    assert explore(app)[0]


def test_a_file_that_was_read_wrongly_is_read_again_by_one_click():
    app = opened(b"x,y;z\n" + b"1,2;caf\xc3\xa9\n" * 30)
    assert (table(app).names, "file" in table(app).schema) == (["x", "y;z"], False)
    click_and_wait(app, "Separate by semicolons")
    assert table(app).names == ["x,y", "z"]
    assert table(app).schema["file"] == {"delimiter": ";"}
    assert "separated by semicolons" in caption_text(app)
    click_and_wait(app, "Read as Windows-1252")
    assert table(app).frame["z"][0] == "cafÃ©"
    click_and_wait(app, "Read as UTF-8")
    assert table(app).frame["z"][0] == "café"
    assert table(app).schema["file"] == {"delimiter": ";"}
    before = table(app)
    click_and_wait(app, "Read as UTF-16")
    assert app.error
    assert table(app) is before
    click_and_wait(switch_page(switch_page(app, "start"), "data"), "Read as Windows-1252")
    assert "no longer at hand" in error_text(app)
    assert table(app) is before


def test_a_sample_is_in_use_as_a_whole_and_its_forecast_names_algorithms_by_title_and_code():
    app = opened(None, sample="census")
    age = np.histogram(
        table(app).frame["age"][:2000].astype(int), (17, 25, 35, 45, 55, 65, 75, 91)
    )[0]
    assert [*grid(app)["age"]["how often"]] == [*age]
    assert {row["state"] for row in grid(app).values()} == {"ready"}
    assert explore(app)[0]
    assert not any("can serve it" in frame.value for frame in app.dataframe)
    app.session_state["data-part"] = "For experts"
    frame = dataframe(app.run(), "can serve it")
    named = dict(zip(frame["name in code"], frame["algorithm"], strict=True))
    assert named == {
        name: cls.about.title for name, cls in algorithms_for_problem(QueryRelease).items()
    }
    assert "0 MiB" not in set(frame["memory"])
    assert any(text.endswith("MiB") for text in frame["memory"])


def test_reading_off_takes_the_open_columns_only_and_marks_the_schema():
    app = opened()
    table(app).update_entries({"age": integer(0, 120, bins=12)})
    app.run()
    click_and_wait(app, READ)
    mine = table(app)
    assert mine.schema["columns"]["age"] == integer(0, 120, bins=12), "typed"
    assert mine.origins == {
        "when": "guessed",
        "answer": "read off",
        "age": "guessed",
        "rare": "read off",
    }
    assert mine.domain is not None
    assert mine.domain.peeked
    assert KNOWN not in button_labels(app), "what was read off cannot be known any more"
    assert session(app).was_viewed(mine)
    assert "is outside the promise" in caption_text(app)
    click_and_wait(app, "Count its spellings as one value")
    assert schema_entries(app)["answer"]["values"] == ["no", "yes"]
    mine = table(app)
    assert "id" not in mine.schema["columns"], "what was set aside stays so"
    mine.confirm_kinds()
    mine.update_entries({"answer": None, "rare": None})
    assert mine.schema_uses_real_data, "whatever is confirmed and left out"
    assert mine.domain.peeked


def test_a_guess_is_a_peek_until_a_person_says_that_it_is_known_anyway():
    app = opened(bars=False)
    mine = table(app)
    mine.update_entries({"answer": categorical("yes", "no", read="any case"), "rare": None})
    mine.update_entries({"age": integer(0, 120)})
    app.run()
    assert table(app).domain.peeked, "kinds came from the records"
    click_and_wait(app, KNOWN)
    assert not table(app).domain.peeked
    assert set(table(app).origins.values()) == {"typed"}
    assert "peeked" not in table(app).schema
    assert not session(app).was_viewed(mine), "no cell was shown"
    click_and_wait(app, "Use the weekday")
    assert table(app).domain.peeked, "which number is the month was guessed from the data"
    click_and_wait(app, KNOWN)
    assert not table(app).domain.peeked


def test_all_problems_are_listed_at_once_each_with_its_repairs():
    app = opened(bars=False)
    mine = table(app)
    mine.update_entries({"age": integer(30, 40), "rare": integer(4, 4)})
    app.run()
    assert "is outside 30..40" in visible_text(app)
    assert "values are missing" in visible_text(app)
    assert "Without public values or a range: 1 column." in visible_text(app)
    assert heading(app) == "3 columns to decide"
    assert session(app).was_viewed(mine), "what is wrong quotes cells"
    click_and_wait(app, "Count them in the outermost groups")
    click_and_wait(app, "Make missing a value of its own")
    assert set(table(app).valid_column_names) == {"when", "age", "rare"}
    click_and_wait(app, "Leave them out")
    assert table(app).domain.names == ("when", "age", "rare")


def test_stakeholders_see_no_guess_and_nothing_that_quotes_a_cell():
    app = opened(view="stakeholder")
    for words in ("may identify people", "Optional", READ, "answer"):
        assert words not in visible_text(app)
        assert words not in {b.label for b in app.button if not b.disabled}
    assert not app.dataframe


def test_a_schema_of_a_persons_own_is_typed_and_one_that_says_so_is_peeked():
    mine = table(opened())
    schema = {"columns": {"age": integer(0, 120)}}
    mine.set_schema(schema)
    assert (mine.schema_uses_real_data, mine.domain) == (False, domain_from_json(schema))
    mine.set_schema(schema | {"peeked": True})
    assert mine.domain.peeked
    mine.update_entries({"age": integer(0, 99)})
    assert mine.domain.peeked
    mine.set_schema({"rare": 5})
    assert mine.problem
    mine.set_schema([1])
    assert mine.domain is None
    assert "must be a JSON object" in mine.problem


YEARS = "first,last\n" + "\n".join(f"{2000 + i % 5},{2000 + i % 7}" for i in range(70)) + "\n"
TYPED = {name: integer(2000, 2006) for name in ("first", "last")}


def told(app):
    """Errors and captions without what keeps them from being read as anything but text."""
    return f"{error_text(app)} {caption_text(app)}"


def test_constraints_are_chosen_kept_and_counted_as_a_peek_only():
    app = opened(YEARS.encode())
    typed_schema(app, {"columns": TYPED})
    app.session_state["data-part"] = "Impossible combinations"
    app.run()
    set_fields(app, **{"from": "2000", "to": "2006"})
    last = next(f for f in app.selectbox if "-1-last-" in str(f.key) and f.label == "from")
    last.set_value("2000").run()
    last = next(f for f in app.selectbox if "-1-last-" in str(f.key) and f.label == "to")
    last.set_value("2006").run()
    click_and_wait(app, "Add it")
    assert "together allow no row at all" in told(app)
    assert not table(app).constraints
    set_fields(app, **{"Kind of": "These numbers never fall from left to right"})
    set_fields(app, **{"Columns, from": ["first", "last"]})
    click_and_wait(app, "Add it")
    assert [c.description for c in table(app).domain.constraints] == ["first ≤ last"]
    assert "Never falls: first ≤ last" in visible_text(app)
    assert not table(app).schema_uses_real_data
    table(app).update_entries({"first": TYPED["first"] | {"missing": "category"}})
    assert table(app).constraints == [{"order": ["first", "last"]}], (
        "an edited column leaves them as they are"
    )
    assert not any("constraint" in frame.value.columns for frame in app.dataframe)
    app.session_state["data-part"] = "Rows"
    counted = dataframe(app.run(), "constraint")
    assert counted["rows that break it"].tolist() == [sum(i % 5 > i % 7 for i in range(70))]


def test_an_upload_that_the_server_no_longer_holds_is_asked_for_again(monkeypatch):
    app = opened(None)
    monkeypatch.setattr(file_uploader, "_get_upload_files", lambda _: [DeletedFile("gone")])
    upload(app, CSV)
    assert "no longer at hand" in error_text(app)
    assert table(app).name == "census"


def test_the_person_is_asked_for_above_the_grid_and_rows_a_person_once_there_is_one():
    rows = "\n".join(f"P{10000 + i // 2},{i},{20 + i % 60}" for i in range(400))
    app = opened(f"patient_id,visit_id,age\n{rows}\n".encode())
    hint = "patient_id” may name people"
    most = "Maximum rows per person"
    assert hint in caption_text(app)
    assert grid(app)["patient_id"]["state"] == "an ID, which may name people", (
        "and no code of a disease"
    )
    assert most not in {field.label for field in app.number_input}
    set_fields(app, **{"Can one person": "patient_id"})
    assert hint not in caption_text(app)
    assert grid(app)["patient_id"]["state"] == "says whose row it is; is not released"
    assert table(app).unit == PrivacyUnit("patient_id", 10, counts_people=True), "the usual way"
    set_fields(app, **{most: 3})
    assert table(app).unit == PrivacyUnit("patient_id", 3, counts_people=True)
    typed_schema(app, {"columns": {"age": integer(20, 79, bins=3)}})
    said = "200 people, who count once each"
    assert f"{said}." in caption_text(app)
    assert any(said in text.value for text in app.text), "in the head"
    assert (table(app).n, table(app).domain.size) == (200, 3)
    set_fields(app, **{"What counts?": COUNT_ROWS})
    assert table(app).unit == PrivacyUnit("patient_id", 1)
    set_fields(app, **{most: 2})
    assert any("protects one person with at most 2 rows" in t.value for t in app.text)
    app.query_params["below"] = "Budget used"
    switch_page(app, "explore")
    assert "400 rows" in caption_text(app)
    assert dataframe(app, "setting")["value"].iloc[-1] == "0.03886"  # √2 · 2 / (400 μ)


def test_columns_of_the_person_are_guessed_and_confirmed_and_their_rows_counted_where_asked():
    lines = [f"P{10000 + i // 2},{'mf'[i // 2 % 2]},{20 + i % 60}" for i in range(400)]
    app = opened("\n".join(["patient_id,sex,age", *lines]).encode())
    set_fields(app, **{"Can one person": "patient_id"})
    offer = "The same in nearly all rows of a person: sex"
    assert offer in visible_text(app)
    assert table(app).unit.person_columns == (), "nothing follows from a look at the rows"
    click_and_wait(app, "Belongs to the person")
    unit = PrivacyUnit("patient_id", 10, counts_people=True, person_columns=("sex",))
    assert table(app).unit == unit
    assert offer not in visible_text(app)
    (chosen,) = [
        field for field in app.multiselect if field.label.startswith("Columns that belong")
    ]
    assert (chosen.value, chosen.options) == (["sex"], ["sex", "age"])
    typed_schema(app, {"columns": {"sex": categorical("m", "f"), "age": integer(20, 79, bins=3)}})
    set_fields(app, **{"Count their rows": True})
    assert table(app).unit == replace(unit, row_totals=True)
    assert table(app).domain.names == ("sex", "age"), "the column rows is none of the schema's"
    rows = table(app).encoded_rows(("age", "rows"))
    assert rows.values[:, 1].tolist() == [1] * len(rows.values), "two rows, by the code 1"
    kept = typed_schema_parts(table(app))
    assert (kept["person_columns"], kept["row_totals"]) == (["sex"], True)
    set_fields(app, **{"Columns that belong": []})
    assert table(app).unit.person_columns == ()
    set_fields(app, **{"What counts?": COUNT_ROWS})
    assert table(app).unit == PrivacyUnit("patient_id", 1)


def test_the_state_says_what_counts_as_missing_and_that_most_rows_are_in_one_bin():
    lines = [f"{i % 50 + 20},{0 if i % 10 else i}" for i in range(200)] + ["-9,0"] * 5
    app = opened("\n".join(["age,gain", *lines]).encode(), bars=False)
    assert schema_entries(app)["age"]["missing_codes"] == [-9]
    mine = table(app)
    mine.update_entries({"gain": integer(0, 200, bins=2)})
    mine.update_entries({"age": schema_entries(app)["age"] | integer(0, 120, bins=12)})
    app.run()
    assert grid(app)["gain"]["state"] == "ready; most rows are in one bin"
    assert grid(app)["age"]["state"] == "ready; counted as missing: -9"


def test_who_is_protected_is_shown_before_anybody_chooses():
    app = opened()
    asked = app.selectbox(key=f"person-{table(app).identity}")
    assert asked.proto.raw_value == "No: each row is another person"
    asked.set_value("answer").run()
    assert table(app).unit.person == "answer"
    asked = app.selectbox(key=f"person-{table(app).identity}")
    asked.set_value("").run()
    assert table(app).unit.person is None
