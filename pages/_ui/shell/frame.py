"""What every page begins with: title, menu, tags and the house style."""

import math
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import streamlit as st

from dpcore.tags import Tag

from . import link, uploads
from .menu import ENTRIES
from .opened import REST
from .session import session
from .state import SAMPLES, STAKEHOLDER, lost, stakeholder, table
from .table import Table
from .text import clean
from .words import WORDS, meaning

P, R = ParamSpec("P"), TypeVar("R")

TO_DATA = ("pages/data.py", "Change table or schema", ":material/table_chart:")
ICONS = {
    Tag.PUBLIC: (":material/public:", "blue"),
    Tag.TYPED: (":material/edit:", "gray"),
    Tag.PAID: (":material/verified_user:", "green"),
    Tag.PEEK: (":material/visibility:", "orange"),
}
STYLE = """<style>
.block-container {padding-top: 4rem; padding-bottom: 3rem; max-width: 84rem;}
[data-testid="stCaptionContainer"] {color: inherit !important; opacity: 0.8;}
[data-testid="stSliderThumbValue"], [data-testid="stSliderThumbValue"] p {color: inherit !important;}
[data-testid="stButtonGroup"] button {color: inherit !important;}
@media (max-width: 640px) {.block-container {padding-left: 0.8rem; padding-right: 0.8rem;}}
@media (prefers-reduced-motion: reduce) {* {animation: none !important; transition: none !important;}}
</style>"""
PRESENT = """<style>
html {font-size: 21px;} .block-container {max-width: 100%;} [data-testid="stHeader"] {display: none;}
</style>"""


def frame(label: str) -> None:
    """Draw the head of the page that the menu calls so; before the page itself."""
    _drop_endless()
    if link.renamed():
        st.rerun()
    title, lead = ENTRIES[label].title, ENTRIES[label].lead
    uploads.begin_page(label)
    st.set_page_config(page_title=f"{title} · Privacy–Utility Explorer", page_icon="🔐", layout="wide")
    st.html(STYLE)
    link.sample()
    gone, compact = lost(), ENTRIES[label].compact
    with st.container(horizontal=True, key="menu", vertical_alignment="center"):
        st.title(title, anchor=False, width="content" if compact else "stretch")
        if compact:
            st.caption(lead)
        _present()
    if not compact:
        st.markdown(lead)
    if gone:
        with st.container(horizontal=True, vertical_alignment="center", key="lost"):
            st.warning(
                "Your table is gone. An upload is kept in this server's memory for one tab, and a reload begins a new "
                f"one. Bring it again; until then this is the sample “{SAMPLES[table().name][0]}”."
            )
            st.page_link("pages/data.py", label="Bring it again", icon=":material/upload:")
    if stakeholder():
        st.query_params["view"] = STAKEHOLDER
        st.info(
            "Stakeholder view: only what is public, typed by a person or paid for. Private peeks – errors, real "
            "values, records – are left out on every page; this hides them from a screen, it guards "
            "nothing. To leave it, open the address without “view=stakeholder”.",
            icon=":material/visibility_off:",
        )


def _present() -> None:
    """The switch for a projector."""
    if st.toggle("Presenter", key="present", bind="query-params", help="Large type, no bars."):
        st.html(PRESENT)


def _drop_endless() -> None:
    """Take numbers without end out of the address, and start anew: a widget of whole numbers would raise on them."""
    found = [name for name in st.query_params if any(_endless(v) for v in st.query_params.get_all(name))]
    for name in found:
        link.note(name, st.query_params[name], "numbers that have an end")
        del st.query_params[name]
    if found:
        st.rerun()


def _endless(text: str) -> bool:
    try:
        return not math.isfinite(float(text))
    except ValueError:
        return False


def tag(kind: Tag) -> None:
    """Say where the thing beside it comes from."""
    icon, colour = ICONS[kind]
    words = f"{kind.meaning}\n\n{meaning(kind.value)}" if kind.value in WORDS else kind.meaning
    st.badge(kind.value, icon=icon, color=colour, help=words)


def whose(mine: Table, link: tuple[str, str, str] = TO_DATA, left: str = REST) -> None:
    """The line that says which table this is and where its schema comes from, with a link: page, label and icon.

    Where the schema is that of a trial it says so, and what is `left` of the budget.
    """
    page, label, icon = link
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(f"Table: {clean(mine.name)}, {mine.many}")
        tag(mine.tag)
        st.page_link(page, label=label, icon=icon)
    tried(mine, left)


def tried(mine: Table, left: str = REST) -> None:
    """The line that says that a trial measured the schema, and what is `left` of the budget."""
    if mine.trial is not None:
        st.caption(f"{mine.trial.words} {left}", help=meaning("trial"))


def unfinished(mine: Table, then: str) -> bool:
    """Whether the schema is not complete; says so, and what can be done when it is: `then`."""
    if mine.domain is None and mine.opening is not None:
        st.info(f"Some of this table's schema is to be measured. Try that on the Data page, then {then}.")
    elif mine.domain is None:
        st.info(f"The schema of this table is not complete yet. Fill it in on the Data page, then {then}.")
    return mine.domain is None


def in_memory(mine: Table) -> bool:
    """Whether the records are there one by one; says so where they are not, and what can be done."""
    if mine.large is not None:
        st.info(
            "This needs the records one by one, and this table is read in parts, so that only counts are known. Bring "
            "a smaller table, such as some of its rows, on the Data page."
        )
    return mine.large is None


def heading(text: str, kind: Tag, words: str | None = None, *, said: bool = False) -> None:
    """A section's question with its tag, where the page has not `said` it of all; `words` explain it, as a tooltip."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.subheader(text, width="content", anchor=False, help=words)
        if not said:
            tag(kind)


def public(text: str) -> None:
    """The line above a chart that says which public numbers go into it."""
    st.caption(f"Public: {text}")


def peek(section: Callable[P, R]) -> Callable[P, R | None]:
    """A section that shows something of the real records: left out of the stakeholder view, noted for an upload."""

    @wraps(section)
    def shown(*args: P.args, **kwargs: P.kwargs) -> R | None:
        if stakeholder():
            return None
        session().look(table())
        return section(*args, **kwargs)

    return shown
