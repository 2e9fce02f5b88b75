"""The sections of the glossary: words on cards, algorithms, letters and labels."""

from html import escape

import streamlit as st

from dpcore import ALGORITHMS
from dpcore.core.parameters import declared_parameters
from dpcore.core.provenance import Provenance

from ..components import draw_badge_if_different, format_setting, inline_container
from ..components.glossary_words import GLOSSARY, stroke_image_url
from .glossary_examples import example_sentences

CARDS_HTML = (  # a card opens on the rest of its meaning and on its example; the first is wide
    "<style>.words {{display: grid; gap: 1rem; padding-top: 0.5rem; "
    "grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr))}}"
    ".words details {{position: relative; border: 1px solid #8885; border-radius: 0.5rem; "
    "overflow-wrap: anywhere; padding: 1rem 2rem 1rem 1rem; min-height: 8rem}}"
    ".words summary {{list-style: none; cursor: pointer}} "
    ".words img {{float: right; margin: 0 0 0.5rem 1rem}}"
    ".words summary::after {{content: '+'; position: absolute; bottom: 0; right: 0.75rem; "
    "font-size: 1.5rem}}"
    ".words [open] summary::after {{content: '–'}}"
    "@media (min-width: 1200px) {{.words > :first-child {{grid-column: span 2}}}}"
    "@media (max-width: 640px) {{.words {{gap: 0.5rem}} .words details "
    "{{padding: 0.5rem 2rem 0.5rem 1rem; min-height: 0}}}}</style>"
    '<div class="words">{}</div>'
)


def card_html(word: str, everyday_word: str, meaning: str, *, is_open: bool) -> str:
    """Return a glossary card as HTML, with an everyday word and the expert's word for it.

    It shows the first sentence of the meaning; the rest and an example unfold.
    """
    first_sentence, full_stop, other_sentences = escape(meaning).partition(". ")
    example = escape(GLOSSARY[word].get("example") or example_sentences()[word])
    open_attribute = " open" if is_open or word in ("ε", "composition") else ""
    return (
        f"<details{open_attribute}><summary><img "
        f'src="{stroke_image_url(GLOSSARY[word]["picture"])}" alt="" width="64">'
        f"<b>{escape(everyday_word)} "
        f"({escape(word)})</b><br>{first_sentence}{full_stop.strip()}</summary>"
        f"<div>{other_sentences} <i>{example}</i></div></details>"
    )


def show_algorithm(name: str) -> None:
    """Say of one algorithm what it does, when to use it, and its settings."""
    about = ALGORITHMS[name].about
    st.markdown(
        f"{about.summary}\n\n**Use it when** {about.use_when}. **Not when** {about.avoid_when}."
    )
    settings = [
        {
            "parameter": p.name,
            "symbol": p.symbol,
            "default": "auto" if p.default is None else format_setting(p.default),
            "range": p.allowed_values_text,
            "meaning": p.doc,
            "auto from": p.auto,
        }
        for p in declared_parameters(ALGORITHMS[name])
    ]
    st.dataframe(settings, hide_index=True)


def show_words(rows: list[tuple[str, str, str]], *, are_open: bool) -> None:
    """Draw a card for each word."""
    st.html(CARDS_HTML.format("".join(card_html(*row, is_open=are_open) for row in rows)))


def show_algorithms(names: list[str]) -> None:
    """List algorithms, and say more of one of them."""
    abouts = {name: ALGORITHMS[name].about for name in names}
    rows = [
        {"algorithm": a.title, "in short": a.brief, "cost": a.cost, "source": a.source}
        for a in abouts.values()
    ]
    st.dataframe(rows, hide_index=True)
    name = st.selectbox(
        "Show one", names, format_func=lambda name: abouts[name].title, key="glossary-algorithm"
    )
    show_algorithm(name)


def show_letters(letters: list[tuple[str, str]]) -> None:
    """List letters and what they mean."""
    st.dataframe([{"letter": sign, "meaning": means} for sign, means in letters], hide_index=True)


def show_labels(tags: list[Provenance]) -> None:
    """Say what each label of a section means."""
    for kind in tags:
        with inline_container():
            draw_badge_if_different(kind)
            st.markdown(kind.meaning)
