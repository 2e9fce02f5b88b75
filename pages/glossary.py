"""Glossary: everyday words beside the experts', tags, letters, and algorithms to sort; from their declarations."""

from html import escape

import streamlit as st

from dpcore import ALGORITHMS
from dpcore.params import LETTERS, parameters
from dpcore.tags import Tag
from pages._ui.glossary.examples import examples
from pages._ui.shell import number, row, tag
from pages._ui.shell.words import GLOSSARY, picture

CARDS = (  # a card opens on the rest of its meaning and on its example; the first is wide
    "<style>.words {{display: grid; gap: 1rem; padding-top: 0.5rem; "
    "grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr))}}"
    ".words details {{position: relative; border: 1px solid #8885; border-radius: 0.5rem; overflow-wrap: anywhere; "
    "padding: 1rem 2rem 1rem 1rem; min-height: 8rem}}"
    ".words summary {{list-style: none; cursor: pointer}} .words img {{float: right; margin: 0 0 0.5rem 1rem}}"
    ".words summary::after {{content: '+'; position: absolute; bottom: 0; right: 0.75rem; font-size: 1.5rem}}"
    ".words [open] summary::after {{content: '–'}}"
    "@media (min-width: 1200px) {{.words > :first-child {{grid-column: span 2}}}}"
    "@media (max-width: 640px) {{.words {{gap: 0.5rem}} .words details {{padding: 0.5rem 2rem 0.5rem 1rem; "
    "min-height: 0}}}}</style>"
    '<div class="words">{}</div>'
)


def card(word: str, said: str, means: str) -> str:
    """Return a card: what people say, the expert's word, the first sentence of its meaning; the rest and an example."""
    first, stop, rest = escape(means).partition(". ")
    example = escape(GLOSSARY[word].get("example") or examples()[word])
    opened = " open" if asked or word in ("ε", "composition") else ""
    return (
        f'<details{opened}><summary><img src="{picture(GLOSSARY[word]["picture"])}" alt="" width="64">'
        f"<b>{escape(said)} ({escape(word)})</b><br>{first}{stop.strip()}</summary>"
        f"<div>{rest} <i>{example}</i></div></details>"
    )


asked = st.text_input(
    "Search", key="glossary-search", placeholder="Search for a word, a letter or an algorithm",
    label_visibility="collapsed",
).casefold()  # fmt: skip
words, algorithms, letters, tags = st.tabs(("Words", "Algorithms", "Letters", "Labels"))
with words:
    rows = [(word, entry["plain"], entry["means"]) for word, entry in GLOSSARY.items()]
    found = [row for row in rows if asked in " ".join(row).casefold()]
    st.html(CARDS.format("".join(card(*row) for row in found)))
    if not found:
        st.caption("No word contains this. Search for a part of it, or look behind the other tabs.")
with algorithms:
    about = {name: cls.about for name, cls in ALGORITHMS.items()}
    names = [name for name, a in about.items() if asked in f"{name} {a.title} {a.brief}".casefold()] or list(about)
    listed = [
        {"algorithm": a.title, "in short": a.brief, "cost": a.cost, "source": a.source}
        for a in map(about.__getitem__, names)
    ]
    st.dataframe(listed, hide_index=True)
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
    st.dataframe(settings, hide_index=True)
with letters:
    told = [
        {"letter": sign, "meaning": means} for sign, means in LETTERS.items() if asked in f"{sign} {means}".casefold()
    ]
    st.dataframe(told, hide_index=True)
with tags:
    for kind in Tag:
        with row():
            tag(kind)
            st.markdown(kind.meaning)
