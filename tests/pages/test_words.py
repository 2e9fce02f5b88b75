"""Words with one meaning: where they stand on Explore and on Compare, that meaning is at hand as a tooltip."""

import re

import pytest

from pages._ui.shell.words import WORDS, meaning
from tests.pages.test_compare import compared
from tests.pages.test_pages import EXPLORE, figures, open_page

pytestmark = pytest.mark.usefixtures("tab")
ASKED = ("frontier", "workload", "sampling floor", "marginal", "cell", "point")
PLACES = ("markdown", "caption", "subheader", "title", "text", "info", "warning", "multiselect", "selectbox", "slider")


def tooltips(app) -> str:
    return "\n".join(
        element.proto.help for kind in PLACES for element in getattr(app, kind) if hasattr(element.proto, "help")
    )


def visible(app) -> str:
    """What a person reads: sentences, labels, and the names of what is drawn; without the rest of a figure."""
    texts = [
        getattr(element, "label", "") or getattr(element, "value", "")
        for kind in PLACES
        for element in getattr(app, kind)
    ]
    for figure in figures(app):
        texts += [trace.get("name") or "" for trace in figure["data"]]
        texts += [note.get("text") or "" for note in figure["layout"].get("annotations", [])]
    return "\n".join(str(text) for text in texts)


@pytest.fixture(scope="module")
def pages():
    """Tooltips and texts of both pages with their charts."""
    apps = {"explore": open_page(EXPLORE, sample="census"), "compare": compared()}
    apps["compare"].session_state["details"] = "Where from"
    apps["compare"].run()
    return {name: (tooltips(app), visible(app)) for name, app in apps.items()}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_that_stands_on_a_page_is_explained_on_it(pages, word):
    for name, (help_, text) in pages.items():
        if re.search(rf"\b{word}s?\b", text, re.IGNORECASE):
            assert meaning(word) in help_, name


def test_every_word_that_was_asked_for_is_explained_where_errors_are_shown(pages):
    for name, missing in (("explore", {"frontier"}), ("compare", set())):
        assert {word for word in ASKED if meaning(word) not in pages[name][0]} == missing


def test_no_word_no_tooltip():
    assert meaning() is None
