"""Hostile text made inert: column names, cell values and file names before they reach markdown or a figure."""

import itertools
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

LONGEST = 60
HIDDEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")  # categories of characters
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# GitHub-flavoured markdown makes links and emoji of bare text even after escapes; a word joiner (no width) stops it.
_LINKS = re.compile(r"(\\:|\\@|www)", re.IGNORECASE)


def clean(text: object, longest: int = LONGEST) -> str:
    """One line without control, zero-width or direction-changing characters (shown as �), its middle … when long."""
    shown = str(text)
    if not shown.isprintable():  # else none of its characters is one of these
        shown = "".join("�" if unicodedata.category(c) in HIDDEN else c for c in shown)
    return shown if len(shown) <= longest else f"{shown[: longest // 2]}…{shown[longest // 2 + 1 - longest :]}"


def distinct(names: Iterable[object], longest: int = 24) -> dict[Any, str]:
    """Return every name as it is shown: shortened in the middle so that no two that differ read the same."""
    full = {name: clean(name, 10**6) for name in names}
    found = {name: clean(text, longest) for name, text in full.items()}
    for short, many in Counter(found.values()).items():
        alike = sorted({full[name] for name in found if found[name] == short}) if many > 1 else []
        same, room = len(os.path.commonprefix(alike)), longest // 2  # what follows tells them apart
        told = {text: f"{text[: longest - room - 1]}…{text[same : same + room]}" for text in alike}
        if len(set(told.values())) < len(alike):
            told = {text: f"{clean(text, longest - 5)} ({i})" for i, text in enumerate(alike, 1)}
        found |= {name: told[full[name]] for name in full if full[name] in told}
    return found


def short_names(names: Iterable[object], longest: int = 32) -> list[str]:
    """Return `distinct` names for a figure."""
    names = list(names)
    found = distinct(names, longest)
    return [figure_text(found[name], longest) for name in names]


def plain(text: object, longest: int = LONGEST) -> str:
    """`text` for markdown and widget labels: shown as it stands, never as HTML, LaTeX, colour, emoji, image or link."""
    return _LINKS.sub("\\1\u2060", _PUNCTUATION.sub(r"\\\1", clean(text, longest)))


def nickname(title: str) -> str:
    """The name of an algorithm in its title's brackets, else the title."""
    return title[title.rindex("(") + 1 : -1] if title.endswith(")") and "(" in title else title


def figure_text(text: object, longest: int = 32) -> str:
    """`text` for titles, ticks and hovers of a Plotly figure, which read a few HTML tags."""
    return clean(text, longest).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def few(texts: Collection[object], most: int = 80) -> str:
    """The first texts, `most` characters in all but at least one text, and how many more there are."""
    shown = [clean(text) for text in itertools.islice(texts, most)]
    while len(", ".join(shown)) > most and len(shown) > 1:
        shown.pop()
    return ", ".join(shown) + f" and {len(texts) - len(shown):,} more" * (len(texts) > len(shown))


def question(label: tuple[tuple[str, str], ...]) -> str:
    """A query in words, as plain text: `sex = Female and age = 17–24`."""
    return " and ".join(f"{clean(column)} = {clean(value)}" for column, value in label)
