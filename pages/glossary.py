"""Glossary: everyday words beside the experts', tags, letters, and algorithms to sort; from their declarations."""

from collections.abc import Callable
from html import escape

import streamlit as st

from dpcore import ALGORITHMS
from dpcore.core.parameters import LETTERS, parameters
from dpcore.core.provenance import Tag
from pages._ui.components import number, row, tag
from pages._ui.components.glossary_words import GLOSSARY, picture
from pages._ui.glossary.glossary_examples import examples
from pages._ui.session import plain

TABS = "glossary-part"  # the key of what is open
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
    first_sentence, full_stop, other_sentences = escape(means).partition(". ")
    example = escape(GLOSSARY[word].get("example") or examples()[word])
    open_attribute = " open" if asked or word in ("ε", "composition") else ""
    return (
        f'<details{open_attribute}><summary><img src="{picture(GLOSSARY[word]["picture"])}" alt="" width="64">'
        f"<b>{escape(said)} ({escape(word)})</b><br>{first_sentence}{full_stop.strip()}</summary>"
        f"<div>{other_sentences} <i>{example}</i></div></details>"
    )


def matches(*texts: str) -> bool:
    """Return whether one of these texts contains what is searched for."""
    return asked in " ".join(texts).casefold()


def about_algorithm(name: str) -> None:
    """Say of one algorithm what it does, when to use it, and its settings."""
    about = ALGORITHMS[name].about
    st.markdown(f"{about.summary}\n\n**Use it when** {about.use_when}. **Not when** {about.avoid_when}.")
    settings = [
        {
            "parameter": p.name, "symbol": p.symbol, "default": "auto" if p.default is None else number(p.default),
            "range": p.range, "meaning": p.doc, "auto from": p.auto,
        }
        for p in parameters(ALGORITHMS[name])
    ]  # fmt: skip
    st.dataframe(settings, hide_index=True)


def show_words(rows: list[tuple[str, str, str]]) -> None:
    """Draw a card for each word."""
    st.html(CARDS.format("".join(card(*row) for row in rows)))


def show_algorithms(names: list[str]) -> None:
    """List algorithms, and say more of one of them."""
    abouts = {name: ALGORITHMS[name].about for name in names}
    rows = [{"algorithm": a.title, "in short": a.brief, "cost": a.cost, "source": a.source} for a in abouts.values()]
    st.dataframe(rows, hide_index=True)
    name = st.selectbox("Show one", names, format_func=lambda name: abouts[name].title, key="glossary-algorithm")
    about_algorithm(name)


def show_letters(letters: list[tuple[str, str]]) -> None:
    """List letters and what they mean."""
    st.dataframe([{"letter": sign, "meaning": means} for sign, means in letters], hide_index=True)


def show_labels(tags: list[Tag]) -> None:
    """Say what each label of a section means."""
    for kind in tags:
        with row():
            tag(kind)
            st.markdown(kind.meaning)


asked = st.text_input(
    "Search", key="glossary-search", placeholder="Search for a word, a letter or an algorithm",
    label_visibility="collapsed",
).casefold().strip()  # fmt: skip
words = [(word, entry["plain"], entry["means"]) for word, entry in GLOSSARY.items()]
abouts = {name: cls.about for name, cls in ALGORITHMS.items()}
parts: dict[str, tuple[list, Callable[[list], None]]] = {
    "Words": ([entry for entry in words if matches(*entry)], show_words),
    "Algorithms": (
        [n for n, a in abouts.items() if matches(n, a.title, a.brief, a.cost, a.source)],
        show_algorithms,
    ),
    "Letters": ([entry for entry in LETTERS.items() if matches(*entry)], show_letters),
    "Labels": ([kind for kind in Tag if matches(kind.value, kind.meaning)], show_labels),
}
labels = {name: f"{name} ({len(found)})" if asked else name for name, (found, _) in parts.items()}
opened = str(st.session_state.get(TABS, "")).partition(" (")[0]
st.session_state[TABS] = labels.get(opened, labels["Words"])
for place, (name, (found, show)) in zip(
    st.tabs(list(labels.values()), key=TABS, on_change="rerun"), parts.items(), strict=True
):
    with place:
        if found:
            show(found)
            continue
        elsewhere = [label for other, label in labels.items() if parts[other][0]]
        hint = f"Look behind {', '.join(elsewhere)}." if elsewhere else "Search for a part of it."
        st.caption(f"Nothing behind {name} contains “{plain(asked, 80)}”. {hint}")
