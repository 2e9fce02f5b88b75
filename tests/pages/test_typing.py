"""What a person typed last is in force, shown and kept, however quickly one thing is typed after
another.
"""

import ast
import json

from dpcore.core.provenance import Provenance
from dpcore.core.types import ignore_progress
from pages._ui.data import grid_edits
from pages._ui.data.privacy_unit_choice import COUNT_ROWS
from pages._ui.jobs.browser_memory import _restore_columns, typed_schema_parts
from tests.pages.headless import (
    caption_text,
    click_and_wait,
    session,
    set_fields,
    switch_page,
    table,
    typed_schema,
)
from tests.pages.test_data import edit, grid, opened, schema_entries
from tests.size import ROOT
from tests.small_problems import integer, private

MOST = "Maximum rows per person"
COUNT = "What counts?"
PERSON = "Can one person"
VISITS = b"patient_id,visit_id,age,stay\n" + b"".join(
    b"P%d,%d,%d,%d\n" % (10_000 + i // 5, i, 20 + i % 60, i % 7) for i in range(400)
)
AGE = {"columns": {"age": integer(20, 79, bins=3)}}


class Typist:
    """The grid of a browser: it keeps the edits of a key, and drops those that the table says, too."""

    def __init__(self, app, monkeypatch):
        self.app = app
        self.monkeypatch = monkeypatch
        self.key = ""
        self.edits = {}
        monkeypatch.setattr(grid_edits, "_edits_of_grid", self.keeps)

    def keeps(self, key):
        return {at: dict(cells) for at, cells in self.edits.items()} if key == self.key else {}

    def types(self, name, **cells):
        """Type into the row of a column; the entry that comes of it. Messages are in `refused`."""
        kept = self.app.session_state
        self.sees()
        at = grid_edits.grid_column_names(table(self.app)).index(name)
        for column, cell in cells.items():
            self.edits.setdefault(at, {})[column.replace("_", " ")] = cell
        known = {grid_edits.GRIDS_KEY: kept[grid_edits.GRIDS_KEY]}
        self.refused = edit(
            self.app, self.monkeypatch, known, lambda: grid_edits.apply_grid_edits(self.key)
        )
        self.sees()
        return schema_entries(self.app).get(name)

    def sees(self):
        """Take in what the page has drawn last."""
        mine = table(self.app)
        if self.key != self.app.session_state[grid_edits.LAST_GRID_KEY]:
            self.key = self.app.session_state[grid_edits.LAST_GRID_KEY]
            self.edits = {}
        for at, name in enumerate(grid_edits.grid_column_names(mine)):
            said = grid_edits.grid_cells(mine, name)
            cells = self.edits.get(at, {})
            self.edits[at] = {
                column: cell for column, cell in cells.items() if cell != said[column]
            }


def test_what_is_typed_into_the_grid_is_used_at_once(monkeypatch):
    app = opened()
    typed = Typist(app, monkeypatch).types
    assert typed("age", public_values_or_range="0 to 120, 12 groups") == integer(
        0, 120, bins=12, missing="refuse", out_of_range="refuse"
    )
    assert grid(app)["age"]["public values or range"] == "0 to 120, 12 groups"
    assert typed("age", out_of_range="clip")["out_of_range"] == "clip"
    assert typed("age", what_it_is="not used") is None
    assert typed("age", public_values_or_range="0 to 99, groups begin at 18, 65.5")["edges"] == [
        0,
        18,
        65.5,
        99,
    ]
    assert typed("answer", public_values_or_range="yes; no")["values"] == ["yes", "no"]
    assert typed("answer", what_it_is="categories, any spelling") == {
        "kind": "categorical",
        "read": "any case",
    }
    assert typed("when", what_it_is="weekday of d/m/y")["values"][0] == "Mon"
    typed("rare", what_it_is="whole numbers")
    assert typed("rare", public_values_or_range="measured privately, 4 groups") == private(
        "integer", bins=4
    )
    assert set(table(app).origins.values()) == {"guessed"}, (
        "kinds still are, until a person confirms them"
    )


def most_field(app):
    return next(field for field in app.number_input if field.label == MOST)


def visits():
    app = set_fields(opened(VISITS, bars=False), **{PERSON: "patient_id"})
    set_fields(app, **{COUNT: COUNT_ROWS})
    return typed_schema(app, AGE)


def test_every_change_of_the_rows_of_a_person_is_in_force_shown_and_kept():
    app = visits()
    for pressed in range(1, 6):
        most_field(app).increment().run()
        assert (most_field(app).value, table(app).unit.most_rows) == (1 + pressed, 1 + pressed)
        assert typed_schema_parts(table(app))["most_rows"] == 1 + pressed
    for typed in (7, 3, 7, 1):
        set_fields(app, **{MOST: typed})
        assert (most_field(app).value, table(app).unit.most_rows) == (typed, typed)
    switch_page(switch_page(app, "explore"), "data")
    set_fields(app, **{MOST: 4})
    assert most_field(switch_page(switch_page(app, "explore"), "data")).value == 4
    set_fields(app, **{PERSON: None})
    assert table(app).unit.person is None


def test_what_the_browser_is_told_to_keep_is_what_is_in_force_after_the_edit():
    app = visits()
    for typed in (7, 3, 2):
        set_fields(app, **{MOST: typed})
        assert told_to_keep(app)["said"]["most_rows"] == typed
    typed_schema(app, {"columns": {"age": integer(20, 79, bins=3)}})
    again = opened(VISITS, bars=False)
    set_fields(again, **{PERSON: "patient_id"})
    set_fields(again, **{PERSON: ""})
    assert told_to_keep(again) | {"columns": []} == {
        "columns": [],
        "said": None,
        "wanted": False,
        "emptied": True,
        "forget": False,
    }, "what was taken back does not return"


def told_to_keep(app):
    """What the page last asked the browser to remember."""
    part = next(c for c in app.get("bidi_component") if "kept-columns" in c.proto.id)
    return json.loads(part.proto.json)


def test_what_comes_back_from_the_browser_overrides_nothing_that_was_typed_since():
    mine = table(visits())
    mine.update_entries({"age": integer(0, 99)})
    found = {
        "entries": {"age": integer(1, 2), "visit_id": None},
        "person": "visit_id",
        "most_rows": 9,
    }
    _restore_columns(found, mine, ignore_progress)
    assert (mine.unit.person, mine.unit.most_rows) == ("patient_id", 1)
    assert mine.entries["age"] == integer(0, 99)
    assert table(opened(VISITS, bars=False)).unit.person is None


def test_the_grid_keeps_its_key_while_a_person_types_and_takes_each_edit_once(monkeypatch):
    app = opened(bars=False)
    typist = Typist(app, monkeypatch)
    key = app.session_state[grid_edits.LAST_GRID_KEY]
    typist.types("age", public_values_or_range="0 to 120, 12 groups")
    typist.types("rare", public_values_or_range="0 – 9")
    assert typist.types("rare", out_of_range="clip")["out_of_range"] == "clip"
    assert typist.edits, "the table says 0 to 9"
    assert app.session_state[grid_edits.LAST_GRID_KEY] == key
    table(app).update_entries({"age": integer(0, 99), "rare": integer(0, 8)})
    typist.types("age", out_of_range="clip")
    assert (schema_entries(app)["age"]["high"], schema_entries(app)["rare"]["high"]) == (99, 8), (
        "an edit that was taken once is not taken again"
    )
    app.run()
    assert app.session_state[grid_edits.LAST_GRID_KEY] != key, (
        "it must not hide what the table says since"
    )
    key = app.session_state[grid_edits.LAST_GRID_KEY]
    for high in (90, 91, 92):
        assert typist.types("age", public_values_or_range=f"0 to {high}")["high"] == high
    assert app.session_state[grid_edits.LAST_GRID_KEY] == key


def test_a_cell_that_cannot_be_read_takes_no_other_edit_along_and_says_so_until_it_is_mended(
    monkeypatch,
):
    app = opened(bars=False)
    typist = Typist(app, monkeypatch)
    before = schema_entries(app)["age"]
    assert typist.types("age", public_values_or_range="from young to old") == before
    assert "'from young to old' is no range" in typist.refused[0]
    assert typist.types("rare", public_values_or_range="0 to 9")["high"] == 9
    assert typist.refused == []
    assert typist.types("age", public_values_or_range="0 to 99")["high"] == 99


def test_the_columns_and_rows_that_were_chosen_stay_when_the_schema_changes():
    app = opened(VISITS, bars=False)
    columns = {name: integer(0, 99_999, bins=4) for name in ("visit_id", "age", "stay")}
    typed_schema(app, {"columns": columns})
    set_fields(switch_page(app, "explore"), Columns=["age", "stay"])
    assert set_fields(switch_page(app, "release"), **{"Synthetic rows": 77})
    set_fields(switch_page(app, "data"), **{PERSON: "patient_id"})
    set_fields(app, **{MOST: 3})
    switch_page(app, "explore")
    assert next(field for field in app.multiselect if field.label == "Columns").value == [
        "age",
        "stay",
    ]
    switch_page(app, "release")
    assert next(field for field in app.number_input if field.label == "Synthetic rows").value == 77


def test_the_rows_of_a_release_follow_the_rows_that_are_kept_until_a_person_chooses():
    app = visits()
    for most, rows in ((1, 80), (3, 240)):
        set_fields(switch_page(app, "data"), **{MOST: most})
        switch_page(app, "release")
        assert (
            next(field for field in app.number_input if field.label == "Synthetic rows").value
            == rows
        )


def test_a_combination_that_is_being_chosen_stays_while_something_else_is_edited():
    app = opened(b"first,last\n" + b"2000,2001\n" * 60)
    typed_schema(app, {"columns": {name: integer(2000, 2006) for name in ("first", "last")}})
    app.session_state["data-part"] = "Impossible combinations"
    app.run()
    set_fields(app, **{"Kind of": "These numbers never fall from left to right"})
    set_fields(app, **{"Columns, from": ["first", "last"]})
    set_fields(app, **{PERSON: "first"})
    switch_page(switch_page(app, "explore"), "data")
    app.session_state["data-part"] = "Impossible combinations"
    click_and_wait(app.run(), "Add it")
    assert table(app).constraints == [{"order": ["first", "last"]}]


def head(app):
    return next(text.value for text in app.text if text.value.startswith("t.csv"))


def test_the_rows_that_a_limit_keeps_are_said_at_the_limit_and_in_the_head_of_every_page():
    app = set_fields(opened(VISITS), **{PERSON: "patient_id"})
    set_fields(app, **{COUNT: COUNT_ROWS})
    typed_schema(app, AGE)
    for most, kept in ((3, 240), (2, 160), (5, 400)):
        set_fields(app, **{MOST: most})
        said = f"{kept} of 400 rows kept, at most {most} of a person"
        assert f"{said}: {Provenance.REAL_DATA}." in caption_text(app)
        assert f"· {said} ·" in head(app)
    set_fields(app, **{MOST: 3})
    for page in ("explore", "compare", "release", "guarantee"):
        assert "240 of 400 rows kept, at most 3 of a person" in head(switch_page(app, page)), page
    assert "(this number uses real data)" in head(switch_page(app, "release"))
    app.query_params["view"] = "stakeholder"
    for page in ("data", "explore", "compare", "release"):
        assert "240" not in head(switch_page(app, page)), page
        assert "rows kept" not in caption_text(app)


def test_who_has_not_looked_at_the_table_is_not_shown_the_rows_that_a_limit_keeps_until_it_is_asked_for():
    app = set_fields(visits(), **{MOST: 3})
    assert not session(app).was_viewed(table(app))
    assert "rows kept" not in caption_text(app) + head(app)
    click_and_wait(app, "Count the rows that this limit keeps")
    assert "240 of 400 rows kept" in caption_text(app)
    assert session(app).was_viewed(table(app)), "a reason is asked for on Release"


FIELDS = {
    "select_slider",
    "slider",
    "selectbox",
    "multiselect",
    "number_input",
    "toggle",
    "text_input",
    "text_area",
    "segmented_control",
    "checkbox",
    "data_editor",
    "pills",
}
FLEETING = {  # what a person looks at, which nothing is made of; and a key, which must not stay
    "Show the real rows beside it",
    "After step",
    "Step",
    "Data set in the budget record",
    "Measure",
    "Search",
    "Show one",
    "Other files",
    "Release",
    "The owner's key of the ledger",
}


def fields_of(path):
    """The fields of a file: their label, whether they have a key, and whether something keeps what
    is typed.
    """
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in FIELDS
        ):
            named = {keyword.arg for keyword in node.keywords}
            label = (
                node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
            )
            yield (
                label,
                bool(named & {"key", None}),
                bool(named & {"bind", "persist_state", "on_change", None}),
            )


def test_every_field_has_a_key_and_an_owner_that_keeps_what_is_typed():
    every = [
        (str(path), *field)
        for path in sorted((ROOT / "pages").rglob("*.py"))
        for field in fields_of(path)
    ]
    assert len(every) > 70
    for path, label, has_key, is_kept in every:
        assert has_key, f"{path}: {label!r} is a new field whenever its default changes"
        assert is_kept or label in FLEETING, f"{path}: {label!r} is forgotten when the page is left"
    fleeting = {label for _, label, _, is_kept in every if not is_kept}
    assert fleeting >= FLEETING, "a label that no such field has any more would excuse another one"
