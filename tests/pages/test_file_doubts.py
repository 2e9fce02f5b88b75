"""The Data page says what it assumed of a file's shape, and one click reads the file otherwise."""

from pages._ui.data import reading_doubts
from tests.pages.headless import (
    button_labels,
    click,
    markdown_text,
    run_until_settled,
    table,
    unescape_markdown,
)
from tests.pages.test_data import opened

TITLED = b"Staff of 2026,\nname,hours\n" + b"Ann,38\nBo,40\nCy,20\n" * 10
PLAIN = b"name,hours\n" + b"Ann,38\nBo,40\nCy,20\n" * 10


def test_a_title_above_the_names_is_a_doubt_that_one_click_settles():
    app = opened(TITLED)
    assert list(table(app).frame.columns) == ["name", "hours"]
    assert [doubt.kind for doubt in table(app).doubts] == ["title"]
    said = unescape_markdown(markdown_text(app))
    assert "Line 2 is read as the names; the line above it looks like a title." in said
    assert "No, line 1 holds the names" in button_labels(app)
    click(app, "No, line 1 holds the names")
    run_until_settled(app)
    assert table(app).text_format.header == 1
    assert "Staff of 2026" in table(app).frame.columns
    assert table(app).doubts == ()


def test_a_plain_file_raises_no_doubt():
    app = opened(PLAIN)
    assert table(app).doubts == ()
    assert not [label for label in button_labels(app) if label.startswith("No,")]


def test_a_file_put_together_from_two_has_names_all_the_same():
    app = opened(PLAIN * 2)
    assert list(table(app).frame.columns) == ["name", "hours"]


def test_every_statement_of_a_doubt_has_words():
    for statement, words in (
        ({"skip_end": 0}, "no line out"),
        ({"sheet": "A_b"}, "A\\_b"),
        ({"encoding": "windows-1252"}, "Windows-1252"),
        ({"delimiter": ";"}, "semicolons"),
        ({"spaces": ""}, "spaces"),
        ({"spaces": "", "delimiter": ","}, "commas"),
    ):
        assert words in reading_doubts.reading_text(statement)
