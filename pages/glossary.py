"""Glossary: letters, words, tags, and the parameters of every algorithm; generated from their declarations."""

import pandas as pd
import streamlit as st

from dpcore.algorithms import ALGORITHMS
from dpcore.params import LETTERS, parameters
from dpcore.tags import Tag
from pages._ui.shell.controls import number
from pages._ui.shell.frame import heading, tag
from pages._ui.shell.words import WORDS

heading("Letters")
st.markdown("\n".join(f"- **{letter}**: {meaning}" for letter, meaning in LETTERS.items()))

heading("Words")
st.markdown("\n".join(f"- **{word}**: {WORDS[word]}" for word in sorted(WORDS)))

heading("Tags: where a number comes from")
for kind in Tag:
    with st.container(horizontal=True, vertical_alignment="center"):
        tag(kind)
        st.markdown(kind.meaning)

heading("Algorithms and their parameters")
for name, cls in ALGORITHMS.items():
    about = cls.about
    with st.expander(f"{about.title} (`{name}`)"):
        st.markdown(f"{about.summary}\n\n**Use it when** {about.use_when}. **Not when** {about.avoid_when}.")
        st.markdown(f"**Cost**: {about.cost}. **Source**: {about.source}.")
        rows = [
            {
                "parameter": p.name, "symbol": p.symbol, "default": "auto" if p.default is None else number(p.default),
                "range": p.range, "meaning": p.doc, "auto from": p.auto,
            }
            for p in parameters(cls)
        ]  # fmt: skip
        st.dataframe(pd.DataFrame(rows), hide_index=True)
