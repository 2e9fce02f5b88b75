"""Reading a file and changing a schema take a while: the table in use stays, all can be cancelled,
nothing is left.
"""

import gc
import threading

import pandas as pd
import pytest

from dpcore.core.job import Job, JobCancelled
from pages._ui.data import file_reading
from pages._ui.jobs import job_watcher, table_changes
from pages._ui.jobs.thread_jobs import run_job, start_job
from pages._ui.session.table import INFERRED_FROM_DATA, Table
from tests.pages.headless import (
    button_labels,
    click,
    error_text,
    run_until_settled,
    session,
    table,
    unescape_markdown,
    upload_schema,
)
from tests.pages.test_data import CSV, KNOWN, READ, opened
from tests.small_problems import parametrize

UNIQUE = "zebra-crossing-4711"


class Gate:
    """Stands before a function: it goes on when it is let."""

    def __init__(self, monkeypatch, owner, name):
        self.reached = threading.Event()
        self.open = threading.Event()
        self.left = threading.Event()
        monkeypatch.setattr(job_watcher, "PATIENCE_SECONDS", 0.0)
        inside = getattr(owner, name)

        def waits(*args, **options):
            self.reached.set()
            assert self.open.wait(60)
            try:
                return inside(*args, **options)
            finally:
                self.left.set()

        monkeypatch.setattr(owner, name, waits)

    def stands(self):
        """Wait until work has come to it; what is cancelled earlier never does."""
        assert self.reached.wait(60)

    def let(self):
        self.stands()
        self.open.set()
        assert self.left.wait(60)

    def cancelled(self, app):
        """Cancel what stands there, and let it find that out."""
        self.stands()
        click(app, "Cancel")
        self.let()
        return run_until_settled(app)


def bring(app, content=CSV, name="t.csv"):
    return app.file_uploader(key="upload").set_value((name, content, "text/csv")).run()


def tables_left():
    gc.collect()
    return [o for o in gc.get_objects() if isinstance(o, pd.DataFrame) and UNIQUE in o.columns]


def all_idle():
    """Whether all threads that read have come to an end of what they did."""
    together = threading.Barrier(table_changes.MAX_CONCURRENT_JOBS)
    works = [
        start_job(
            table_changes.THREAD_KIND,
            lambda _: together.wait(60),
            table_changes.MAX_CONCURRENT_JOBS,
        )
        for _ in range(table_changes.MAX_CONCURRENT_JOBS)
    ]
    return all(work.wait(60) for work in works)


def test_the_table_in_use_stays_until_another_one_is_read(monkeypatch):
    gate = Gate(monkeypatch, file_reading, "load_table")
    app = bring(opened(None, sample="titanic"), name="*mine*.csv")
    assert "Cancel" in button_labels(app)
    assert table(app).name == "titanic"
    assert app.selectbox(key="sample").value == "titanic"
    assert any(
        "The file is read" in bar.proto.text or "Waiting" in bar.proto.text
        for bar in app.get("progress")
    )
    gate.let()
    run_until_settled(app)
    assert table(app).name == "*mine*.csv"
    assert app.selectbox(key="sample").value is None
    assert app.query_params["table"] in ("uploaded", ["uploaded"])
    assert "sample" not in app.query_params
    assert set(table(app).schema["columns"]) == {"when", "answer", "age", "rare"}


def test_reading_a_file_can_be_cancelled_and_the_table_is_still_the_one_before(monkeypatch):
    gate = Gate(monkeypatch, file_reading, "load_table")
    app = bring(opened(None, sample="titanic"))
    gate.cancelled(app)
    assert table(app).name == "titanic"
    assert "Cancelled. The table is still the one before: titanic" in unescape_markdown(
        app.warning[0].value
    )
    assert not app.error
    app = run_until_settled(bring(app))
    assert table(app).name == "t.csv", "the same file can be brought again"


@parametrize("other", ["forget", "sample"])
def test_a_table_that_is_forgotten_or_replaced_while_it_is_read_leaves_nothing(monkeypatch, other):
    app = run_until_settled(opened())
    gate = Gate(monkeypatch, file_reading, "propose_schema")
    bring(app, f"{UNIQUE},b\n".encode() + b"1,2\n" * 50, f"{UNIQUE}.csv")
    gate.stands()
    assert tables_left(), "it is being read"
    if other == "forget":
        click(app, "Forget my table")
    else:
        app.selectbox(key="sample").set_value("titanic").run()
    assert "arrival" not in session(app).resources
    gate.let()
    assert all_idle(), "its thread has stopped"
    run_until_settled(app.run())
    assert table(app).name == ("titanic" if other == "sample" else "census")
    assert UNIQUE not in str(app.main)
    assert tables_left() == []


def test_a_file_that_is_waiting_is_let_go_of_at_once():
    work = Job(lambda _: UNIQUE)
    work.close()
    assert work.task is None
    run_job(work)
    assert (work.state, work.result) == ("cancelled", None)


def test_what_comes_of_a_job_that_was_closed_at_its_very_end_is_let_go_of():
    def closed(work):
        work.close()
        return UNIQUE

    work = Job(closed)
    run_job(work)
    assert work.result is None


def test_reading_off_goes_on_beside_the_page_and_a_cancelled_one_changes_nothing(monkeypatch):
    app = opened()
    gate = Gate(monkeypatch, Table, "repair_columns")
    before = table(app).schema
    click(app, READ)
    assert "Cancel" in button_labels(app)
    assert READ not in button_labels(app), (
        "nothing that would be changed by it is offered meanwhile"
    )
    assert table(app).schema is before
    gate.cancelled(app)
    assert "Cancelled: the schema is as it was." in [w.value for w in app.warning]
    assert (table(app).schema, table(app).schema_uses_real_data, table(app).has_data_entries) == (
        before,
        True,
        False,
    )
    assert session(app).was_viewed(table(app)), "it was asked for, and may have begun"
    click(app, READ)
    assert table(run_until_settled(app)).has_data_entries


def test_what_is_asked_for_while_a_change_is_under_way_is_done_after_it(monkeypatch):
    app = opened()
    gate = Gate(monkeypatch, Table, "repair_columns")
    click(app, READ)
    click(app, KNOWN)
    app.selectbox(key=f"person-{table(app).identity}").set_value("answer").run()
    assert table(app).unit.person == "answer"
    gate.let()
    run_until_settled(app)
    mine = table(app)
    (encoded,) = mine.encoded_by_columns.values()
    assert encoded.n == mine.n == 3, "a copy made before knows nothing of whom it protects"
    assert mine.kinds_confirmed
    assert mine.origins["answer"] == INFERRED_FROM_DATA
    assert mine.domain is not None
    assert mine.domain.peeked
    assert session(app).resources.keys().isdisjoint(("change", "arrival"))


def test_a_change_of_a_table_that_is_gone_changes_no_other(monkeypatch):
    app = opened()
    gate = Gate(monkeypatch, Table, "repair_columns")
    click(app, READ)
    gate.stands()
    app.selectbox(key="sample").set_value("census").run()
    before = table(app).version
    gate.let()
    run_until_settled(app.run())
    assert (table(app).name, table(app).version) == ("census", before)
    assert not app.error


def test_a_change_tells_how_far_it_is_and_a_stop_ends_it():
    frame = pd.DataFrame({f"c{i}": [str(j % 3) for j in range(30)] for i in range(4)})
    entries = {"columns": {name: {"kind": "categorical"} for name in frame.columns}}
    mine = Table("t", frame, entries, "", uploaded=True)
    told = []
    twin = mine.editable_copy()
    twin.repair_columns(frame.columns, "read", lambda share, words: told.append((share, words)))
    assert [share for share, _ in told] == [i / 8 for i in range(8)]
    assert told[5] == (5 / 8, "Column 2 of 4 is checked")
    assert (mine.domain, twin.domain.names) == (None, tuple(frame.columns)), "a copy"

    def stop(*_):
        raise JobCancelled

    with pytest.raises(JobCancelled):
        mine.editable_copy().repair_columns(frame.columns, "read", stop)
    assert twin.has_data_entries
    assert not mine.has_data_entries


def test_a_schema_file_that_is_none_is_said_and_another_one_is_used():
    app = opened()
    good = b'{"columns": {"age": {"kind": "integer", "low": 0, "high": 120}}}'
    for content, words in (
        (b"{", "not readable as JSON"),
        (b"[1]", "must be a JSON object"),
        (b'{"columns": {"age": {"kind": [], "edges": [30]}}}', ""),
        (good, ""),
    ):
        upload_schema(app, content)
        assert words in error_text(app) + "".join(warning.value for warning in app.warning)
    assert not error_text(app)
    assert table(app).domain.names == ("age",)
    assert not table(app).schema_uses_real_data
