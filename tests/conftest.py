"""What several test modules need."""

from multiprocessing import active_children
from types import SimpleNamespace

import pandas as pd
import pytest
import streamlit as st
from streamlit.elements.lib import policies
from streamlit.runtime.caching import clear_session_data_cache, clear_session_resource_cache
from streamlit.runtime.pages_manager import PagesManager
from xdist.scheduler import LoadScopeScheduling

from dpcore import Budget
from dpcore.evaluation import predicted_errors
from dpcore.privacy.accounting.events import PrivacyEvent
from tests.chromium import chromium, page, server
from tests.cli.command_files import write_files

__all__ = ["chromium", "page", "server"]

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "![x](http://evil.example/x.png)",
    "$E=mc^2$ :red[now]",
    "https://evil.example/a?b",
    "a.b['c']:d\u202e\u200b",
]


class Together(LoadScopeScheduling):
    """Tests of a file run in one process, in turn, and so do all that drive a browser, as they
    share a server.
    """

    def _split_scope(self, nodeid):
        return "browser" if "/browser/" in nodeid else nodeid.split("::")[0]


def pytest_collection_modifyitems(items):
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.browser)
            item.add_marker(
                pytest.mark.flaky(reruns=2)
            )  # a busy machine may outlast even 30 seconds
        elif (
            "pages" in item.path.parts
        ):  # these wait for threads, and headless tabs have little patience
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(autouse=True)
def few_simulations(monkeypatch):
    """Errors are predicted by few simulated releases; test_predicted_errors asks for more."""
    monkeypatch.setattr(predicted_errors, "MAX_REPEATS", 2)


def pytest_make_parametrize_id(val):
    """A budget or a spend names a test by its numbers."""
    return str(val) if isinstance(val, Budget | PrivacyEvent) else None


_managed = PagesManager.__init__


def _entered(self, *args, **kwargs):
    """Headless tabs go by the entry, app.py, as on the server: Streamlit would take the folder for
    the pages.
    """
    _managed(self, *args, **kwargs)
    PagesManager.uses_pages_directory = False


PagesManager.__init__ = _entered


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return Together(config, log)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working folder, in which the files of `tests.cli.command_files` lie."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def hostile():
    """A table whose names and values are attacks on a page, and its schema; new for every test."""
    values = ["<b>bold</b>", "**stars** :smile:", "![y](http://evil.example/y.png)", "&lt;i&gt;"]
    frame = pd.DataFrame(
        {name: [values[(i + j) % 4] for i in range(400)] for j, name in enumerate(HOSTILE)}
    )
    return frame, {"columns": {name: {"kind": "categorical", "values": values} for name in HOSTILE}}


@pytest.fixture(autouse=True)
def tab(request, monkeypatch):
    """What a page's headless tab leaves behind is freed at the end, as when a browser's closes; the
    workers stay.

    A sample that a page compares by itself is compared by one algorithm at one budget.
    """
    if "pages" not in request.path.parts:
        yield
        return
    monkeypatch.setattr("pages._ui.compare.overview.DEFAULT_ALGORITHMS", ("gaussian_maxent",))
    monkeypatch.setattr("pages._ui.compare.overview.DEFAULT_EPSILONS", (1.0,))
    yield
    clear_session_resource_cache("test session id")
    clear_session_data_cache("test session id")


@pytest.fixture
def one_value(monkeypatch):
    """Fails where a widget is drawn with a default and a value at once: a server logs that, a
    headless tab does not.
    """
    warned = []
    monkeypatch.setattr(policies, "runtime", SimpleNamespace(exists=lambda: True))
    monkeypatch.setattr(policies, "_shown_default_value_warning", False)
    monkeypatch.setattr(policies._LOGGER, "warning", lambda *said, **_: warned.append(said))
    yield
    assert warned == []


@pytest.fixture(autouse=True, scope="session")
def workers():
    """One pool for all pages of this process: starting it takes longer than most tests."""
    yield
    st.cache_resource.clear()


@pytest.fixture(scope="module")
def others():
    """Child processes that were there before the file's own."""
    return set(active_children())
