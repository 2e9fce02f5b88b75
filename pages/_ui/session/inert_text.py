"""Escaping of hostile column names, values and file names for markdown and figures."""

import itertools
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

MAX_TEXT_CHARS = 60
INVISIBLE_CATEGORIES = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")  # categories of characters
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# GitHub-flavoured markdown makes links and emoji of bare text even after escapes; a word joiner (no
# width) stops it.
_LINKS = re.compile(r"(\\:|\\@|www)", re.IGNORECASE)


def printable_text(text: object, max_chars: int = MAX_TEXT_CHARS) -> str:
    """Return one line of text without control characters, shortened in the middle when long.

    Control, zero-width and direction-changing characters are shown as �, the middle of a long text
    as ….
    """
    line = str(text)
    if not line.isprintable():  # else none of its characters is one of these
        line = "".join("�" if unicodedata.category(c) in INVISIBLE_CATEGORIES else c for c in line)
    return (
        line
        if len(line) <= max_chars
        else f"{line[: max_chars // 2]}…{line[max_chars // 2 + 1 - max_chars :]}"
    )


def distinct_labels(names: Iterable[object], max_chars: int = 24) -> dict[Any, str]:
    """Return a display label for every name, shortened so that different names differ.

    The middle is left out.
    """
    full_names = {name: printable_text(name, 10**6) for name in names}
    labels = {name: printable_text(text, max_chars) for name, text in full_names.items()}
    for short, count in Counter(labels.values()).items():
        alike = (
            sorted({full_names[name] for name in labels if labels[name] == short})
            if count > 1
            else []
        )
        start_chars = max_chars - max_chars // 2 - 1
        differing_from = len(os.path.commonprefix(alike))
        differing_to = differing_from + max_chars // 2
        distinct_by_name = {
            text: f"{text[:start_chars]}…{text[differing_from:differing_to]}" for text in alike
        }
        if len(set(distinct_by_name.values())) < len(alike):
            distinct_by_name = {
                text: f"{printable_text(text, max_chars - 5)} ({i})"
                for i, text in enumerate(alike, 1)
            }
        labels |= {
            name: distinct_by_name[full_names[name]]
            for name in full_names
            if full_names[name] in distinct_by_name
        }
    return labels


def distinct_figure_labels(names: Iterable[object], max_chars: int = 32) -> list[str]:
    """Return `distinct_labels` names for a figure."""
    names = list(names)
    labels = distinct_labels(names, max_chars)
    return [escape_figure_text(labels[name], max_chars) for name in names]


def escape_markdown(text: object, max_chars: int = MAX_TEXT_CHARS) -> str:
    """Return `text` for markdown and widget labels, shown literally.

    It is never HTML, LaTeX, colour, emoji, image or link.
    """
    return _LINKS.sub("\\1\u2060", _PUNCTUATION.sub(r"\\\1", printable_text(text, max_chars)))


def algorithm_nickname(title: str) -> str:
    """Return the name of an algorithm in its title's brackets, else the title."""
    return title[title.rindex("(") + 1 : -1] if title.endswith(")") and "(" in title else title


def escape_figure_text(text: object, max_chars: int = 32) -> str:
    """Return `text` escaped for titles, ticks and hovers of a Plotly figure.

    These read a few HTML tags.
    """
    return (
        printable_text(text, max_chars)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
    )


def capitalize_first(text: str) -> str:
    """Return text with its first character in upper case and the others as they are."""
    return f"{text[:1].upper()}{text[1:]}"


def join_first_printable_texts(texts: Collection[object], max_chars: int = 80) -> str:
    """Return the first texts joined, up to `max_chars`, and how many more there are.

    At least one text is included.
    """
    first_texts = [printable_text(text) for text in itertools.islice(texts, max_chars)]
    while len(", ".join(first_texts)) > max_chars and len(first_texts) > 1:
        first_texts.pop()
    more_count = len(texts) - len(first_texts)
    return ", ".join(first_texts) + (f" and {more_count:,} more" if more_count else "")


def format_query_label(label: tuple[tuple[str, str], ...]) -> str:
    """Return a query in words, as plain text: `sex = Female and age = 17–24`."""
    return " and ".join(
        f"{printable_text(column)} = {printable_text(value)}" for column, value in label
    )
