"""The log of a server: what went wrong and where, and never an error's words, which may quote a
cell.
"""

import importlib.util
import io
import logging
import subprocess
import sys
import threading
import warnings

import pytest
from streamlit import config
from streamlit.error_util import handle_user_script_exception

from pages._ui.server import log_privacy
from tests.running_app import ROOT
from tests.small_problems import parametrize

PLANTED = "planted-4711"
LOG = logging.getLogger("planted").error


@pytest.fixture
def hushed(monkeypatch):
    """Hushed for one test."""
    before = logging.getLogRecordFactory()
    for module, name in ((warnings, "showwarning"), (sys, "excepthook"), (threading, "excepthook")):
        monkeypatch.setattr(module, name, getattr(module, name))
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    config.set_option(log_privacy.RICH_LOGGING_OPTION, True)
    log_privacy.hide_error_messages()
    yield
    logging.setLogRecordFactory(before)


def broken():
    """An error whose words, cause and context quote a cell, as pandas writes them."""
    try:
        try:
            float(PLANTED)
        except ValueError as error:
            raise KeyError(PLANTED) from error
    except KeyError as error:
        return error


def logged(log, *args, name="planted", **kwargs):
    """What a logger's own handler writes meanwhile."""
    written = io.StringIO()
    logger = logging.getLogger(name)
    handler = logging.StreamHandler(written)
    logger.addHandler(handler)
    try:
        log(*args, **kwargs)
    finally:
        logger.removeHandler(handler)
    return written.getvalue()


def test_an_error_is_told_by_kind_and_place(hushed):
    told = log_privacy.describe_without_message(broken())
    assert PLANTED not in told
    assert told.count("words are left out") == 2
    assert "KeyError" in told
    assert "ValueError" in told
    assert "test_quiet.py:" in told
    assert "in broken" in told


@parametrize(
    "args, kwargs",
    [
        (("it broke",), {"exc_info": broken()}),
        (("it broke: %s", broken()), {}),
        (("%s of %d: %r", "one", 2, broken()), {"exc_info": broken()}),
        ((broken(),), {}),
    ],
)
def test_whatever_is_logged_of_it(hushed, args, kwargs):
    text = logged(LOG, *args, **kwargs)
    assert "KeyError" in text
    assert PLANTED not in text


def test_what_is_no_error_is_logged_as_it_is(hushed):
    assert logged(LOG, "%s of %d", "one", 2) == "one of 2\n"
    assert logged(LOG, "100 % of it") == "100 % of it\n"
    assert logged(LOG, "%(a)s", {"a": 1}) == "1\n"


def test_an_error_on_a_page_reaches_the_log_without_its_words(hushed, capsys):
    text = logged(
        handle_user_script_exception, broken(), lambda _error: True, name="streamlit.error_util"
    )
    assert "Uncaught app execution" in text
    assert "KeyError" in text
    assert PLANTED not in text + "".join(capsys.readouterr())
    assert importlib.util.find_spec("rich"), (
        "or nothing was tried: with it Streamlit prints errors by itself"
    )


def test_warnings_and_what_ends_a_thread_or_is_dropped_say_no_words_either(hushed, capsys):
    warnings.showwarning(UserWarning(PLANTED), UserWarning, "a.py", 3)
    thread = threading.Thread(target=lambda: {}[PLANTED])
    thread.start()
    thread.join()
    sys.excepthook(KeyError, broken(), None)
    written = capsys.readouterr().err
    assert "UserWarning at a.py:3" in written
    assert written.count("KeyError") == 2
    assert PLANTED not in written


def test_a_process_that_was_hushed_dies_without_words():
    code = f"from pages._ui.server import log_privacy; log_privacy.hide_error_messages(); raise KeyError({PLANTED!r})"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "KeyError (its words" in ended.stderr
    assert PLANTED not in ended.stderr
