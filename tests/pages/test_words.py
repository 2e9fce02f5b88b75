"""Words with one meaning: where they stand on Explore and on Compare, that meaning is at hand."""

import re

from pages._ui.shell.words import meaning
from tests.pages.headless import FIELDS, SAID, figures, open_page
from tests.pages.test_compare import compared

ASKED = ("frontier", "workload", "sampling floor", "marginal", "cell", "point")
PLACES = (*SAID, *FIELDS, "title")


def tooltips(app):
    return "\n".join(
        element.proto.help for kind in PLACES for element in getattr(app, kind) if hasattr(element.proto, "help")
    )


def visible(app):
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


def test_a_word_that_stands_on_a_page_is_explained_on_it():
    compare = compared(details="Where from")
    for app, missing in ((open_page("explore", sample="census"), {"frontier"}), (compare, set())):
        text = visible(app)
        help_ = f"{tooltips(app)}\n{text}"
        shown = {word for word in (*ASKED, "disagreement", "seed") if re.search(rf"\b{word}s?\b", text, re.IGNORECASE)}
        assert not [word for word in shown if meaning(word) not in help_]
        assert {word for word in ASKED if meaning(word) not in help_} == missing
    assert meaning() is None
