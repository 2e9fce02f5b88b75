"""A table that is read in parts: the same numbers on every page as in memory, never the records,
and clear refusals.
"""

import json

import numpy as np
import pandas as pd
import pytest

from dpcore import PrivacyUnit
from dpcore.data.sources import gathered_counts as sources
from pages._ui.data import server_paths, server_tables
from pages._ui.jobs import counting_job
from pages._ui.session import Table, counted_table
from tests.pages.headless import (
    button_labels,
    caption_text,
    click_and_wait,
    error_text,
    everything,
    markdown_text,
    run_until_settled,
    session,
    set_fields,
    switch_page,
    table,
    typed_schema,
    unescape_markdown,
    upload_schema,
)
from tests.pages.test_data import opened
from tests.pages.test_places import typed
from tests.pages.test_reading import Gate
from tests.small_problems import categorical, expect_error, integer, private, seeded

N = 3000
SCHEMA = {
    "columns": {
        "id": integer(0, N, bins=3),
        "a": categorical("x", "y", "z"),
        "b": integer(0, 9, bins=10),
        "c": integer(0, 9, bins=10),
    }
}


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """A folder of Parquet, of which this session looks at the first rows only."""
    rng = seeded(0)
    frame = pd.DataFrame(
        {
            "id": np.arange(N) // 2,
            "a": rng.choice(list("xyz"), N),
            "b": rng.integers(0, 10, N),
            "c": rng.integers(0, 10, N),
        }
    )
    (tmp_path / "people").mkdir()
    frame[:2000].to_parquet(tmp_path / "people" / "0.parquet", row_group_size=500)
    frame[2000:].to_parquet(tmp_path / "people" / "1.parquet")
    frame.to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.setattr(server_tables, "MAX_FIRST_ROWS", 200)
    return tmp_path / "people"


def large(path, schema=None, **query):
    """The Data page with that table, and what is public about it."""
    app = typed(opened(None, **query), path)
    assert not error_text(app)
    if schema:
        upload_schema(app, json.dumps(schema).encode())
    return app


@pytest.fixture
def app(parts):
    """The Data page with that folder and its schema."""
    return large(parts, SCHEMA)


def in_memory(path):
    return Table("people", pd.read_parquet(path), SCHEMA, "", uploaded=True)


def protecting(app, person):
    return set_fields(app, **{"Can one person": person})


def same(one, other):
    def listed(rows):
        return sorted(zip(map(tuple, rows.values.tolist()), rows.weights.tolist(), strict=True))

    return listed(one) == listed(other)


@pytest.fixture
def unlisted(monkeypatch):
    """More cells than are listed or counted without being asked."""
    for module in (sources, counted_table):
        monkeypatch.setattr(module, "MAX_LISTED_CELLS", 60)
    monkeypatch.setattr(counting_job, "COMFORTABLE_CELLS", 10)


def test_a_folder_is_counted_and_never_in_memory(parts, app):
    mine = table(app)
    assert mine.large_table is not None
    assert len(mine.frame) == 200
    assert mine.n == N
    assert mine.row_count_text == "3,000 rows"
    whole = in_memory(parts)
    assert same(mine.encoded_rows(("a", "b")), whole.encoded_rows(("a", "b")))
    assert same(mine.encoded_rows(mine.domain.names), whole.encoded_rows(mine.domain.names))
    assert mine.source in unescape_markdown(caption_text(app))


def test_guesses_look_at_the_first_rows_and_say_so(parts):
    app = large(parts)
    assert table(app).schema_uses_real_data
    assert "guessed from the first 200 rows" in everything(app).replace("\\", "")
    assert "This table stays where it lies on this computer." in everything(app)
    assert "An upload stays" not in caption_text(app)


def test_explore_shows_what_it_shows_of_the_table_in_memory(parts, app):
    switch_page(app, "explore")
    [verdict] = [m.value for m in app.markdown if m.value.startswith("People in a wrong cell")]
    whole = opened((parts.parent / "people.csv").read_bytes(), "people.csv")
    table(whole).set_schema(SCHEMA)
    whole = switch_page(whole, "explore")
    assert [m.value for m in whole.markdown if m.value.startswith("People in a wrong cell")] == [
        verdict
    ]


def test_what_cannot_be_listed_is_counted_by_its_tables(parts, unlisted, app):
    app.query_params["below"] = "Ask a question"
    switch_page(app, "explore")
    assert not error_text(app)
    rows = table(app).encoded_rows(table(app).domain.names)
    assert isinstance(rows, sources.GatheredCounts)
    assert rows.source is None, "no page waits for a file"
    assert "in a wrong cell" in markdown_text(app)
    started = session(app).resources["explore"].group.requested
    set_fields(app, question="a = x and b > 4 and c < 5")
    truth = pd.read_parquet(parts).query("a == 'x' and b > 4 and c < 5")
    assert f"**Real {len(truth) / N:.2%}, synthetic" in markdown_text(app)
    assert session(app).resources["explore"].group.requested is started, (
        "the run on the screen is not begun anew"
    )


def test_compare_counts_the_columns_that_are_chosen(parts, monkeypatch):
    monkeypatch.setattr(counting_job, "COMFORTABLE_CELLS", 3)
    app = switch_page(large(parts, SCHEMA), "compare")
    mine = table(app)
    set_fields(app, Columns=["b", "c"])
    assert not error_text(app)
    assert same(mine.encoded_rows(("b", "c")), in_memory(parts).encoded_rows(("b", "c")))
    click_and_wait(app, "Run the comparison")
    assert not error_text(app)


def test_a_part_of_the_screen_that_was_not_counted_says_so(parts, unlisted, monkeypatch):
    monkeypatch.setattr(counted_table, "MAX_PAIR_CELLS", 0)
    app = large(parts, SCHEMA)
    switch_page(app, "explore")
    table(app).counts, table(app).encoded_by_columns = {}, {}
    set_fields(app, questions=["every single column"])
    assert "was not counted" in caption_text(app)
    assert "in a wrong cell" in markdown_text(app)


def test_too_many_cells_at_once_are_refused(parts, unlisted, monkeypatch):
    monkeypatch.setattr(counted_table, "MAX_COUNTED_CELLS", 100)
    assert "and 100 are counted at once" in error_text(switch_page(large(parts, SCHEMA), "explore"))


def test_a_schema_is_not_measured_on_the_first_rows(parts):
    app = large(parts, {"columns": {**SCHEMA["columns"], "a": private("categorical")}})
    assert table(app).domain is None
    assert table(app).partial_schema is None
    assert "read in parts" in table(app).problem


def test_how_a_large_text_is_written_is_guessed_and_stated(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(b"n,k\n" + b'1,"M\xf6ller\nJr"\n' * 500)
    monkeypatch.setattr(server_tables, "is_large_table", lambda _: True)
    app = typed(opened(None), path)
    click_and_wait(app, "Read as UTF-8")
    assert table(app).frame["k"][0] == "M\\xf6ller\nJr"
    mine = table(click_and_wait(app, "Read as Windows-1252"))
    assert mine.frame["k"][0] == "Möller\nJr"
    assert mine.schema["file"] == {"encoding": "windows-1252", "line_breaks": True}
    assert mine.large_table.source.format == mine.text_format
    mine.set_schema({"columns": {"n": integer(0, 7)}})
    assert 'say {"encoding": "windows-1252", "line_breaks": true}' in mine.problem


def test_what_the_schema_refuses_names_column_value_and_row_to_whoever_may_look(parts):
    pd.DataFrame({"id": [1, 2], "a": ["x", "stranger"], "b": [1, 2], "c": [3, 4]}).to_parquet(
        parts / "2.parquet"
    )
    app = large(parts, SCHEMA)
    line = error_text(app)
    assert line.startswith("people/2.parquet, row group 1: column 'a'")
    assert "'stranger'" in line
    assert "row 2" in line
    assert str(parts) not in line
    assert session(app).was_viewed(table(app))
    app.query_params["view"] = "stakeholder"
    app.run()
    assert "stranger" not in everything(app)
    assert "What you entered about its columns" in [s.value for s in app.subheader]


def test_a_page_that_is_opened_first_counts_itself(app, tmp_path):
    mine = table(app)
    for page in ("explore", "compare", "release", "guarantee"):
        mine.counts = {}
        mine.encoded_by_columns = {}
        switch_page(app, page)
        if page == "release":
            set_fields(app, ledger_folder=str(tmp_path))
        assert mine.counts, page


def test_what_needs_records_says_so_in_one_line(app):
    switch_page(app, "learning")
    assert "needs the rows one by one" in everything(app)
    set_fields(app, part="For experts")
    assert "needs the rows one by one" not in everything(app)
    switch_page(app, "evolution")
    app.session_state["part"] = "My table"
    run_until_settled(app.run())
    assert "needs the rows one by one" in everything(app)


def test_people_are_limited_where_their_rows_stand_together_and_refused_else(parts, app):
    mine = table(app)
    protecting(app, "id")
    assert mine.n == N // 2
    whole = in_memory(parts)
    whole.set_privacy_unit(PrivacyUnit("id", 10, counts_people=True))
    every = mine.domain.names
    assert same(mine.encoded_rows(every), whole.encoded_rows(every))
    with expect_error("not counted yet"):
        mine.encoded_rows(("a", "b"))  # by fewer columns other rows of a person may count
    switch_page(app, "explore")
    set_fields(app, Columns=["a", "b"])
    assert same(mine.encoded_rows(("a", "b")), whole.encoded_rows(("a", "b")))
    switch_page(app, "data")
    protecting(app, "a")
    assert "are far apart" in error_text(app)
    assert not mine.counts


def test_a_file_that_changes_is_refused_and_forgetting_lets_go(parts, app):
    mine = table(app)
    pd.read_parquet(parts)[:500].to_parquet(parts / "1.parquet")
    mine.counts = {}
    mine.encoded_by_columns = {}
    app.run()
    run_until_settled(app)
    assert "has changed since it was read first" in error_text(app)
    assert counting_job.RETRY_LABEL in button_labels(app)
    click_and_wait(app, "Forget my table")
    assert {*session(app).resources} == {"experiment", "project"}, "what Share draws anew"
    assert not table(app).uploaded


def test_counting_can_be_cancelled_and_begun_again(parts, monkeypatch):
    gate = Gate(monkeypatch, counting_job, "limit_source")
    app = large(parts)
    mine = table(app)
    typed_schema(app, SCHEMA)
    gate.cancelled(app)
    assert any("Cancelled" in w.value for w in app.warning)
    assert not mine.counts
    click_and_wait(app, counting_job.RETRY_LABEL)
    assert mine.n == N


def test_what_is_outside_of_the_folder_is_not_read_through_one_inside(tmp_path, monkeypatch, parts):
    root = tmp_path / "tables"
    (root / "census").mkdir(parents=True)
    pd.read_parquet(parts).to_parquet(root / "census" / "0.parquet")
    (root / "census" / "1.parquet").symlink_to(parts / "1.parquet")
    monkeypatch.setenv(server_paths.FOLDER_VARIABLE, str(root))
    monkeypatch.setattr(server_paths, "is_public_host", lambda: True)
    app = opened(None)
    assert app.selectbox(key=server_tables.FILE_WIDGET_KEY).options == ["census"]
    click_and_wait(set_fields(app, **{server_tables.FILE_WIDGET_KEY: "census"}), "Read it")
    assert server_paths.OUTSIDE_FOLDER_TEXT in error_text(app)
    assert str(tmp_path) not in everything(app)
    assert not table(app).uploaded
