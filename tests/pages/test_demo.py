"""A demo for everybody: public samples only, nothing uploaded or released, and a number of tabs."""

import pytest

from dpcore import InputError
from dpcore.cli import launch
from pages._ui.data import server_paths
from pages._ui.server import demo
from pages._ui.session import owner, release_ledger, uploads
from tests.pages.headless import button_labels, everything, open_page
from tests.small_problems import parametrize


@pytest.fixture
def in_demo(monkeypatch, tmp_path):
    """A demo whose owner has also set up what a server for others may offer."""
    assert owner.DEMO_VARIABLE == launch.DEMO_VARIABLE
    monkeypatch.setenv(owner.DEMO_VARIABLE, "1")
    monkeypatch.setenv(owner.KEY_VARIABLE, "k" * owner.MIN_KEY_CHARS)
    monkeypatch.setenv(release_ledger.LEDGER_VARIABLE, str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv(server_paths.FOLDER_VARIABLE, str(tmp_path))
    (tmp_path / "people.csv").write_text("a,b\n1,2\n3,4\n")


@parametrize("page", ["data", "compare", "release", "ask"])
def test_a_page_says_that_there_are_samples_only_and_takes_no_file(in_demo, page):
    app = open_page(page, sample="berkeley")
    assert "public samples" in everything(app)
    assert "uvx privacy-utility-explorer" in everything(app)
    assert not app.get("file_uploader")
    assert "people.csv" not in everything(app)
    assert "Read it" not in button_labels(app)
    assert not app.text_input, "nor a key of the ledger, nor a folder"


def test_start_offers_no_upload(in_demo):
    text = everything(open_page("app"))
    assert "CSV, Excel or Parquet" not in text
    assert "Only samples here" in text


def test_what_a_forged_browser_asks_for_is_refused_too(in_demo, monkeypatch):
    with pytest.raises(InputError, match="public samples only"):
        server_paths.resolve_table_path("people.csv")
    assert release_ledger.are_releases_blocked(), "with a key"
    monkeypatch.delenv(owner.KEY_VARIABLE)
    assert release_ledger.are_releases_blocked(), "and without one, on one's own machine"
    assert release_ledger.find_ledger_path() is None
    sent = []

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "PUT",
        "path": "/_stcore/upload_file/tab/file",
        "headers": [(b"content-length", b"1")],
    }
    step = uploads.UploadLimit(pytest.fail)(scope, pytest.fail, send)
    with pytest.raises(StopIteration):  # no loop: a browser's may run in this thread
        step.send(None)
    assert sent[0]["status"] == 403


def websocket(*protocols):
    text = ", ".join(("streamlit", *protocols)).encode()
    return {"type": "websocket", "headers": [(b"sec-websocket-protocol", text)]}


def test_one_tab_too_many_is_refused_and_one_that_comes_back_is_not(monkeypatch):
    sessions = {f"tab{i}": 0.0 for i in range(demo.MAX_TABS - 1)}
    monkeypatch.setattr(uploads, "_last_active", sessions)
    assert not demo.is_full(websocket())
    sessions["last"] = 0.0
    assert demo.is_full(websocket())
    assert demo.is_full(websocket("token", "unknown"))
    assert not demo.is_full(websocket("token", "last"))
