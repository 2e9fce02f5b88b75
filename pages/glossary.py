"""Glossary: everyday words beside the experts', tags, letters, and algorithms to sort; from their declarations."""

from html import escape

import pandas as pd
import streamlit as st

from dpcore.algorithms import ALGORITHMS
from dpcore.params import LETTERS, parameters
from dpcore.tags import Tag
from pages._ui.shell.controls import number
from pages._ui.shell.frame import tag
from pages._ui.shell.words import PICTURES, PLAIN, WORDS

FIRST = {  # letters that come before the words: what people say, and what it means to them
    "ε": (
        "privacy budget",
        "How much of one person may show through. Small: well hidden, less exact. Large: more exact, less hidden.",
    ),
    "δ": ("failure probability", "The chance that the promise fails. Keep it far below 1 in the number of rows."),
}
TABLE = (  # its text wraps, as that of a grid does not
    "<style>.words td, .words th {{padding: 0.75rem 1rem 0.75rem 0; text-align: left; vertical-align: top; "
    "max-width: 70ch}}</style>"
    '<table class="words"><tr><th></th><th>people say, experts say</th><th>meaning</th></tr>{}</table>'
)


def line(row: tuple[str, str, str]) -> str:
    """Return a word, what people say for it and its meaning as a line of the table."""
    word, said, means = map(escape, row)
    picture = f'<img src="{PICTURES[row[0]]}" alt="" width="56">' if row[0] in PICTURES else ""
    return f"<tr><td>{picture}</td><td><b>{said}</b><br>{word}</td><td>{means}</td></tr>"


asked = st.text_input("Search", key="glossary-search", placeholder="A word, a letter or an algorithm").casefold()
rows = [(letter, *plain) for letter, plain in FIRST.items()]
rows += [(word, PLAIN[word], WORDS[word]) for word in sorted(WORDS, key=PLAIN.__getitem__)]
rows += [(letter, "letter", text[0].upper() + text[1:] + ".") for letter, text in LETTERS.items()]
words, algorithms, tags = st.tabs(("Words and letters", "Algorithms", "Where a number comes from"))
with words:
    found = [row for row in rows if asked in " ".join(row).casefold()]
    with st.container(height=560):
        st.html(TABLE.format("".join(map(line, found))))
    if not found:
        st.caption("No word contains this. Search for a part of it, or look among the algorithms.")
with algorithms:
    about = {name: cls.about for name, cls in ALGORITHMS.items()}
    names = [name for name, a in about.items() if asked in f"{name} {a.title} {a.brief}".casefold()] or list(about)
    listed = [(about[name].title, about[name].brief, about[name].cost, about[name].source) for name in names]
    st.dataframe(pd.DataFrame(listed, columns=pd.Index(["algorithm", "in short", "cost", "source"])), hide_index=True)
    name = st.selectbox("Show one", names, format_func=lambda name: about[name].title, key="glossary-algorithm")
    st.markdown(
        f"{about[name].summary}\n\n**Use it when** {about[name].use_when}. **Not when** {about[name].avoid_when}."
    )
    settings = [
        {
            "parameter": p.name, "symbol": p.symbol, "default": "auto" if p.default is None else number(p.default),
            "range": p.range, "meaning": p.doc, "auto from": p.auto,
        }
        for p in parameters(ALGORITHMS[name])
    ]  # fmt: skip
    st.dataframe(pd.DataFrame(settings), hide_index=True)
with tags:
    for kind in Tag:
        with st.container(horizontal=True, vertical_alignment="center"):
            tag(kind)
            st.markdown(kind.meaning)
