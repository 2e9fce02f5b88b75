"""Words with one meaning: where they stand on Explore and on Compare, that meaning is at hand."""

import re

from pages._ui.components.glossary_words import glossary_tooltip
from tests.pages.headless import FIELDS, SAID, figures, open_page
from tests.pages.test_compare import compared

ASKED = ("frontier", "workload", "sampling floor", "marginal", "cell", "point")
PLACES = (*SAID, *FIELDS, "title")


def tooltips(app):
    return "\n".join(
        element.proto.help
        for kind in PLACES
        for element in getattr(app, kind)
        if hasattr(element.proto, "help")
    )


def visible(app):
    """What a person reads: sentences, labels, and the names of what is drawn; without the rest of a
    figure.
    """
    texts = [
        getattr(element, "label", "") or getattr(element, "value", "")
        for kind in PLACES
        for element in getattr(app, kind)
    ]
    for figure in figures(app):
        texts += [trace.get("name") or "" for trace in figure["data"]]
        texts += [note.get("text") or "" for note in figure["layout"].get("annotations", [])]
    return "\n".join(str(text) for text in texts)


def unexplained(text, explained, words):
    """The words that a text holds and whose meaning is not in what explains it."""
    shown = {word for word in words if re.search(rf"\b{word}s?\b", text, re.IGNORECASE)}
    return {word for word in shown if glossary_tooltip(word) not in explained}


def test_a_word_that_stands_on_a_page_is_explained_on_it():
    words = (*ASKED, "disagreement", "seed")
    compare = compared(details="Where from")
    for app, missing in ((open_page("explore", sample="census"), {"frontier"}), (compare, set())):
        text = visible(app)
        help_ = f"{tooltips(app)}\n{text}"
        assert not unexplained(text, help_, words)
        assert {word for word in ASKED if glossary_tooltip(word) not in help_} == missing
    assert glossary_tooltip() is None


def test_a_word_without_its_meaning_is_found():
    for word in ASKED:
        assert unexplained(f"Two {word}s here.", "", ASKED) == {word}
        assert not unexplained(f"Two {word}s here.", f"It is: {glossary_tooltip(word)}", ASKED)
