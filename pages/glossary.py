"""Glossary: everyday words beside the experts', tags, letters, and algorithms to sort; from their declarations."""

import pandas as pd
import streamlit as st

from dpcore.algorithms import ALGORITHMS
from dpcore.params import LETTERS, parameters
from dpcore.tags import Tag
from pages._ui.shell.controls import number
from pages._ui.shell.frame import tag
from pages._ui.shell.words import PICTURES, PLAIN, WORDS

FIRST = {"ε": "privacy budget", "δ": "failure probability"}  # letters that stand before the words

asked = st.text_input("Search", key="glossary-search", placeholder="A word, a letter or an algorithm").casefold()
rows = [("", said, letter, LETTERS[letter]) for letter, said in FIRST.items()]
rows += [(PICTURES[word], PLAIN[word], word, WORDS[word]) for word in sorted(WORDS)]
rows += [("", "letter", letter, text) for letter, text in LETTERS.items() if letter not in FIRST]
words, algorithms, tags = st.tabs(("Words and letters", "Algorithms", "Where a number comes from"))
with words:
    frame = pd.DataFrame(rows, columns=pd.Index(["picture", "people say", "experts say", "meaning"]))
    found = frame[frame.apply(lambda row: asked in " ".join(row[1:]).casefold(), axis=1)]
    widths: dict = {name: st.column_config.TextColumn(width=140) for name in ("people say", "experts say")}
    widths["picture"] = st.column_config.ImageColumn(width=80)
    st.dataframe(found, hide_index=True, height=560, column_config=widths, row_height=44)
    if not len(found):
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
