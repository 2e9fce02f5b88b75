"""Glossary page: everyday words beside experts' terms, tags, letters and algorithms.

The algorithms can be sorted; all comes from their declarations.
"""

from collections.abc import Callable
from functools import partial

import streamlit as st

from dpcore import ALGORITHMS
from dpcore.core.parameters import SYMBOL_MEANINGS
from dpcore.core.provenance import Provenance
from pages._ui.components.glossary_words import GLOSSARY
from pages._ui.glossary.glossary_sections import (
    show_algorithms,
    show_labels,
    show_letters,
    show_words,
)
from pages._ui.session import escape_markdown

TABS_KEY = "glossary-part"  # the key of what is open


def matches_search(*texts: str) -> bool:
    """Return whether one of these texts contains what is searched for."""
    return search_text in " ".join(texts).casefold()


search_text = (
    st.text_input(
        "Search",
        key="glossary-search",
        placeholder="Search for a word, a letter or an algorithm",
        label_visibility="collapsed",
    )
    .casefold()
    .strip()
)
glossary_entries = [(word, entry["plain"], entry["means"]) for word, entry in GLOSSARY.items()]
descriptions = {name: cls.about for name, cls in ALGORITHMS.items()}
sections: dict[str, tuple[list, Callable[[list], None]]] = {
    "Words": (
        [entry for entry in glossary_entries if matches_search(*entry)],
        partial(show_words, are_open=bool(search_text)),
    ),
    "Algorithms": (
        [
            n
            for n, a in descriptions.items()
            if matches_search(n, a.title, a.brief, a.cost, a.source)
        ],
        show_algorithms,
    ),
    "Letters": (
        [entry for entry in SYMBOL_MEANINGS.items() if matches_search(*entry)],
        show_letters,
    ),
    "Labels": (
        [kind for kind in Provenance if matches_search(kind.value, kind.meaning)],
        show_labels,
    ),
}
labels = {
    name: f"{name} ({len(matching_entries)})" if search_text else name
    for name, (matching_entries, _) in sections.items()
}
open_section = str(st.session_state.get(TABS_KEY, "")).partition(" (")[0]
st.session_state[TABS_KEY] = labels.get(open_section, labels["Words"])
for tab, (name, (matches, draw_section)) in zip(
    st.tabs(list(labels.values()), key=TABS_KEY, on_change="rerun"), sections.items(), strict=True
):
    with tab:
        if matches:
            draw_section(matches)
            continue
        matching_labels = [label for other, label in labels.items() if sections[other][0]]
        hint = (
            f"Look behind {', '.join(matching_labels)}."
            if matching_labels
            else "Search for a part of it."
        )
        st.caption(f"Nothing behind {name} contains “{escape_markdown(search_text, 80)}”. {hint}")
