"""Tables on the server: any file on a person's own machine, on a server for others those of one
folder and no other.
"""

import os
from functools import partial

import pandas as pd
import pytest

from dpcore import InputError
from dpcore.core.job import Job
from pages._ui.data import file_reading, server_paths, server_tables
from pages._ui.jobs.thread_jobs import run_job
from tests.pages.headless import (
    button_labels,
    click,
    click_and_wait,
    error_text,
    everything,
    run_until_settled,
    set_fields,
    table,
)
from tests.pages.test_data import CSV, opened
from tests.pages.test_reading import Gate
from tests.small_problems import expect_error

READ = "Read it"
SECRET = b"name,password\nroot,hunter2\nguest,hunter3\n"


@pytest.fixture
def elsewhere(tmp_path):
    """A file that no visitor may read."""
    path = tmp_path / "elsewhere" / "secret.csv"
    path.parent.mkdir()
    path.write_bytes(SECRET)
    return path


@pytest.fixture
def folder(tmp_path, elsewhere, monkeypatch):
    """The folder that the owner of a server for others has set up, with ways out of it."""
    root = tmp_path / "tables"
    (root / "deep").mkdir(parents=True)
    (root / "people.csv").write_bytes(CSV)
    (root / "again.csv").symlink_to(root / "people.csv")
    (root / "out.csv").symlink_to(elsewhere)
    (root / "gone.csv").symlink_to(root / "nothing.csv")
    for name in ("deep/inner.csv", ".hidden.csv", "notes.md", "\u202eodd.csv"):
        (root / name).write_bytes(SECRET)
    os.mkfifo(root / "pipe.csv")
    (root / "folder.csv").mkdir()
    (root / "away").symlink_to(elsewhere.parent)
    monkeypatch.setenv(server_paths.FOLDER_VARIABLE, str(root))
    monkeypatch.setattr(server_paths, "is_public_host", lambda: True)
    return root


def typed(app, path):
    return click_and_wait(set_fields(app, **{server_tables.PATH_WIDGET_KEY: str(path)}), READ)


def test_a_file_that_is_named_on_ones_own_machine_is_read_as_an_upload_is(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(CSV)
    app = typed(opened(None), path)
    there = table(app)
    uploaded = table(opened(CSV, "people.csv"))
    assert there.frame.equals(uploaded.frame)
    assert (there.name, there.schema, there.guesses) == (
        uploaded.name,
        uploaded.schema,
        uploaded.guesses,
    )
    assert there.uploaded, (
        "it is nobody's sample: its name goes into no address, its results into no shared cache"
    )
    assert there.schema_uses_real_data
    assert "on this computer" in there.source
    assert "sample" not in app.query_params
    assert str(tmp_path) not in str(dict(app.query_params))
    click_and_wait(app, "Forget my table")
    assert not table(app).uploaded
    assert not app.text_input(key=server_tables.PATH_WIDGET_KEY).value


REFUSED = {
    "nothing.csv": "nothing.csv: there is no such file",
    "people.md": "people.md: the ending '.md' is not one of",
    "folder.csv": "folder.csv: the folder holds no file that ends in .parquet",
    "two.csv": "two.csv: column 'a' is in the header twice",
}


def test_what_cannot_be_read_is_refused_in_one_line_and_the_table_stays(tmp_path):
    (tmp_path / "people.md").write_bytes(CSV)
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "two.csv").write_bytes(b"a,a\n1,2\n")
    app = opened(None, sample="titanic")
    for name, words in REFUSED.items():
        typed(app, tmp_path / name)
        assert words in error_text(app)
        assert len(app.error) == 1
        assert str(tmp_path) not in error_text(app)
        assert table(app).name == "titanic"
    for path in ("people.csv", "../people.csv", "", "~nobody-here/people.csv"):
        typed(app, path)
        assert "no whole path" in error_text(app)


def test_on_a_server_for_others_nothing_can_be_named_until_its_owner_sets_up_a_folder(
    monkeypatch, elsewhere
):
    monkeypatch.setattr(server_paths, "is_public_host", lambda: True)
    monkeypatch.delenv(server_paths.FOLDER_VARIABLE, raising=False)
    app = opened(None)
    assert READ not in button_labels(app)
    assert server_tables.PATH_WIDGET_KEY not in {t.key for t in app.text_input}
    with expect_error("only where its owner"):
        server_paths.resolve_table_path(str(elsewhere))


def test_a_folder_shows_its_tables_and_no_way_out_of_it(folder):
    assert server_paths.list_table_names(folder) == [
        "again.csv",
        "deep",
        "folder.csv",
        "people.csv",
    ]
    app = opened(None)
    assert app.selectbox(
        key=server_tables.FILE_WIDGET_KEY
    ).options == server_paths.list_table_names(folder)
    assert server_tables.PATH_WIDGET_KEY not in {t.key for t in app.text_input}
    click_and_wait(set_fields(app, **{server_tables.FILE_WIDGET_KEY: "people.csv"}), READ)
    assert table(app).name == "people.csv"
    assert len(table(app).frame) == 300
    assert str(folder) not in everything(app)


WAYS_OUT = [
    "out.csv",
    "gone.csv",
    "../elsewhere/secret.csv",
    "deep/inner.csv",
    "deep/../people.csv",
    ".hidden.csv",
    "notes.md",
    "pipe.csv",
    "deep/",
    "away",
    "",
    ".",
    "..",
    "/",
    "/etc/passwd",
    "people.csv/",
    "people.csv\0",
    "~/people.csv",
]


def test_whatever_a_browser_sends_nothing_else_is_read(folder, elsewhere):
    for said in WAYS_OUT:
        with expect_error("is not in the folder") as told:
            server_paths.resolve_table_path(said)
        assert str(folder) not in str(told.value)
    for said in (elsewhere, folder / "people.csv"):
        with expect_error("is not in the folder"):
            server_paths.resolve_table_path(str(said))


def test_a_folder_holds_on_ones_own_machine_too(folder, elsewhere, monkeypatch):
    monkeypatch.setattr(server_paths, "is_public_host", lambda: False)
    with expect_error("is not in the folder"):
        server_paths.resolve_table_path(str(elsewhere))
    assert server_paths.resolve_table_path("people.csv") == (folder / "people.csv", folder)


def test_a_link_that_is_put_in_its_place_after_it_was_chosen_is_seen(folder, elsewhere):
    path, root = server_paths.resolve_table_path("people.csv")
    path.unlink()
    path.symlink_to(elsewhere)
    with pytest.raises(InputError) as refused, server_paths.open_unchanging_file(path, root):
        pytest.fail("it was opened")
    assert str(refused.value) == f"people.csv: {server_paths.OUTSIDE_FOLDER_TEXT}"
    with server_paths.open_unchanging_file(path, None) as file:
        assert file.read() == SECRET, "where there is no folder it may lead anywhere"


def test_a_link_that_is_put_back_is_seen(folder, elsewhere):
    """What is open is compared with what stands there: it does not suffice that the name is right
    again.
    """
    path, root = server_paths.resolve_table_path("people.csv")
    with expect_error("is not in the folder"):
        server_paths.require_file_of_folder(path, root, os.stat(elsewhere))
    server_paths.require_file_of_folder(path, root, os.stat(path))
    server_paths.require_file_of_folder(root / "again.csv", root, os.stat(path))  # a link inside


def test_a_folder_below_that_becomes_a_link_is_seen(folder, elsewhere):
    inner = folder / "deep" / "inner.csv"
    server_paths.require_file_of_folder(inner, folder, os.stat(inner))
    (folder / "deep").rename(folder / "moved")
    (folder / "deep").symlink_to(elsewhere.parent)
    with expect_error("is not in the folder"):
        server_paths.require_file_of_folder(
            folder / "deep" / "secret.csv", folder, os.stat(elsewhere)
        )


def test_a_file_that_grows_while_it_is_read_is_refused(folder, monkeypatch):
    gate = Gate(monkeypatch, file_reading, "load_table")
    app = click(set_fields(opened(None), **{server_tables.FILE_WIDGET_KEY: "people.csv"}), READ)
    gate.stands()
    with (folder / "people.csv").open("ab") as file:
        file.write(b"p300,1/1/2020,yes,44,\n")
    gate.let()
    assert "people.csv: has changed" in error_text(run_until_settled(app))
    assert not table(app).uploaded


def test_reading_says_how_far_it_is_and_can_be_cancelled(tmp_path, monkeypatch):
    path = tmp_path / "people.csv"
    path.write_bytes(CSV * 40)
    work = Job(partial(server_tables._read_server_table, path, None, {}))
    heard = []
    report = work.report_progress

    def overheard(share, words):
        heard.append((share, words))
        if share:
            work.cancel()
        report(share, words)

    monkeypatch.setattr(work, "report_progress", overheard)
    run_job(work)
    assert (work.state, work.result, work.error) == ("cancelled", None, "")
    assert 0 < heard[-1][0] <= file_reading.READ_SHARE


def test_a_folder_in_which_too_much_lies_is_not_searched(tmp_path, monkeypatch):
    monkeypatch.setattr(server_paths, "MAX_FOLDER_FILES", 3)
    for i in range(4):
        (tmp_path / f"{i}.parquet").write_bytes(b"")
    with expect_error("more than 3 files and folders"):
        server_tables._read_server_table(tmp_path, None, {}, Job(None))


def test_what_is_read_in_parts(tmp_path, monkeypatch):
    path = tmp_path / "people.csv"
    path.write_bytes(CSV)
    assert not server_tables._should_read_in_parts(path)
    assert server_tables._should_read_in_parts(tmp_path)
    assert not server_tables._should_read_in_parts(tmp_path / "nothing.parquet")
    monkeypatch.setattr(server_tables, "is_public_host", lambda: True)
    assert not server_tables._should_read_in_parts(path)
    monkeypatch.setattr(server_tables.st, "get_option", lambda _: 0)
    assert server_tables._should_read_in_parts(path), "more than a visitor may upload"
    monkeypatch.undo()
    pd.read_csv(path).to_parquet(tmp_path / "people.parquet")
    assert not server_tables._should_read_in_parts(tmp_path / "people.parquet")
    monkeypatch.setattr(server_tables, "MAX_UPLOADED_CELLS", 300 * 5 - 1)
    assert server_tables._should_read_in_parts(tmp_path / "people.parquet")
