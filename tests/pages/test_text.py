"""Hostile text is escaped for markdown and for figures; what a person sees is what stands in the
table.
"""

import unicodedata

from dpcore.core.numbers import format_percentage_points
from pages._ui.session.inert_text import (
    INVISIBLE_CATEGORIES,
    distinct_labels,
    escape_figure_text,
    escape_markdown,
    format_query_label,
    printable_text,
)
from tests.small_problems import parametrize


@parametrize("mark", [*"*_`[]()<>$~#!|&\\:{}"])
def test_every_mark_of_markdown_is_escaped(mark):
    assert f"\\{mark}" in escape_markdown(f"a{mark}b")


def test_bare_links_and_emoji_are_broken_without_a_visible_change():
    shown = escape_markdown("http://a.example www.b.example x@y.example :smile:")
    assert not any(
        link in shown.replace("\\", "") for link in ("http://", "www.b", "x@y", ":smile")
    )
    assert (
        shown.replace("\\", "").replace("\u2060", "")
        == "http://a.example www.b.example x@y.example :smile:"
    )


def test_invisible_and_direction_changing_characters_show_as_replacement():
    assert printable_text("a\u202eb\u200bc\x00d\ne") == "a�b�c�d�e"


def test_no_character_at_all_gets_through_that_is_invisible_or_changes_direction():
    """What is printable to Python is shown at once: that must mean that nothing of these categories
    is in it.
    """
    for code in range(0x110000):
        if unicodedata.category(chr(code)) in INVISIBLE_CATEGORIES:
            assert printable_text(chr(code)) == "�", hex(code)


def test_long_text_loses_its_middle():
    assert printable_text("a" * 50 + "b" * 50) == "a" * 30 + "…" + "b" * 29


def test_figure_text_keeps_no_tag():
    assert escape_figure_text("<a href='http://x'>&") == "&lt;a href='http://x'&gt;&amp;"


def test_a_question_in_words():
    assert format_query_label((("sex", "F"), ("age", "17–24"))) == "sex = F and age = 17–24"


def test_points():
    assert format_percentage_points(0.0212) == "2.1"


@parametrize("name", ["{}" + "x" * 70, "x" * 70 + "{}", "x" * 70 + "{}" + "y" * 70])
def test_long_names_are_shortened_and_told_apart(name):
    names = [name.format(i) for i in range(12)]
    shown = distinct_labels([*names, "age"])
    assert len(set(shown.values())) == 13
    assert max(map(len, shown.values())) <= 24
    assert shown["age"] == "age"
