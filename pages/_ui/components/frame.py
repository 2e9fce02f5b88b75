"""What every page begins with: its title, the line that says whose table this is, one badge, and the house style."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import InputError
from dpcore.core.provenance import Tag

from ..session import address_link, stakeholder_wall, uploads
from ..session.current_table import SAMPLES, here, lost, table
from ..session.inert_text import clean, plain
from ..session.schema_share import REST
from ..session.session import DESK, session
from ..session.stakeholder_view import STAKEHOLDER, stakeholder
from ..session.table import Table
from . import budget_gauge
from .glossary_words import meaning
from .menu import ENTRIES, MENU, Entry

P, R = ParamSpec("P"), TypeVar("R")

HEAD = "_head"  # of the page that is drawn: its entry in the menu, and the place of its line

ICONS = {
    Tag.PUBLIC: (":material/public:", "blue"),
    Tag.TYPED: (":material/edit:", "gray"),
    Tag.PAID: (":material/verified_user:", "green"),
    Tag.PEEK: (":material/visibility:", "orange"),
}
MARK = "assets/mark.svg"
SAMPLE = "public sample: free to show"  # what a public table says in place of `Tag.PEEK`
FIELDS = """:is([data-testid="stSelectbox"] [role="group"], [data-testid="stMultiSelect"] [role="group"],
  [data-testid="stTextInputRootElement"], [data-testid="stNumberInputContainer"],
  [data-testid="stTextAreaRootElement"])"""  # what a border is drawn around
STYLE = """<style>
.block-container {max-width: 84rem;}
.block-container > [data-testid="stVerticalBlock"] > [data-testid="stElementContainer"] p {max-width: 70ch;}
.st-key-gauge p {white-space: nowrap;}
.st-key-menu {gap: 0.5rem 1rem;} .st-key-menu h1 {padding: 0;} .st-key-menu > :last-child {margin-left: auto;}
/* One size of tiles, and one look of the next step, on all pages. */
.st-key-tiles {gap: 0.2rem 1.2rem;} .st-key-tiles > div {flex: 1 1 9rem; width: auto; min-width: 9rem;}
.st-key-tiles [data-testid="stMarkdownContainer"] {margin-bottom: 0;}
@media (min-width: 901px) {.st-key-tiles {flex-wrap: nowrap;} .st-key-tiles > div {flex-basis: auto;}}
.st-key-tiles p {margin: 0; font-size: 0.875rem; line-height: 1.35;}
.st-key-tiles strong {font-size: 1.125rem; line-height: 1.2;}
.st-key-uses > div:first-child {flex: 1 1 16rem; width: auto;}
[class*="st-key-next"] a:not([disabled]) {background: #0072B2; padding: 0.5rem 1rem;}
[class*="st-key-next"] a:not([disabled]) * {color: white !important;}
[class*="st-key-next"] a[disabled], [class*="st-key-next"] a[disabled] * {color: inherit !important;}
/* The menu is at the same place beside a sidebar as without one; what folds the sidebar is at its foot. */
@media (min-width: 900px) {
  [data-testid="stHeader"] {z-index: 999993;}
  [data-testid="stTopNav"] {position: fixed; left: 36px; width: calc(100vw - 14rem) !important;}
  [data-testid="stSidebar"]:not([data-collapsed="true"]) [data-testid="stSidebarHeader"] {
    height: 3.75rem; padding: 0 0 0 1rem; margin: 0 -30px; background: light-dark(white, #181614);}
  /* What is scrolled ends below the menu, and above the button at the foot. */
  [data-testid="stSidebar"]:not([data-collapsed="true"]) [data-testid="stSidebarContent"] {
    display: flex; flex-direction: column; overflow: hidden; padding-bottom: 2.75rem;}
  [data-testid="stSidebar"]:not([data-collapsed="true"]) [data-testid="stSidebarHeader"] {flex: none;}
  [data-testid="stSidebar"]:not([data-collapsed="true"]) [data-testid="stSidebarUserContent"] {
    flex: 1 1 0; min-height: 0; overflow-y: auto; margin: 0 -20px; padding: 0.5rem 20px;}
  [data-testid="stSidebarCollapseButton"] {position: absolute; bottom: 0.5rem; right: 0.5rem;}}
[data-testid="stMain"], [data-testid="stSidebarUserContent"] {scroll-padding: 0.75rem;}
/* The ring of a field is around all of it: within, the field would cut it off. */
:focus-visible, label:has(:is([type=radio], [type=checkbox]):focus-visible),
[data-testid="stSlider"]:has(input:focus-visible), FIELDS:has(:is(input, textarea):focus-visible),
[data-testid="stDataFrame"]:has(:focus-visible) {
  outline: 3px solid #D55E00 !important; outline-offset: 2px;}
FIELDS :is(input, textarea):focus-visible, [data-testid="stDataFrame"] :focus-visible {
  outline: none !important;}
/* What fills a box that cuts has its ring within. */
FIELDS button:focus-visible, [role="tab"]:focus-visible, [data-testid="stMain"]:focus-visible {outline-offset: -3px;}
[data-testid="stCaptionContainer"] {color: inherit !important; opacity: 0.8;}
[data-testid="stSliderThumbValue"], [data-testid="stSliderThumbValue"] p {color: inherit !important;}
[data-testid="stButtonGroup"] button, [data-testid="stWidgetLabel"] {color: inherit !important;}
/* On a phone the main control is at the foot of the screen; what is in a closed menu takes no focus. */
@media (max-width: 640px) and (min-height: 561px) {[data-testid="stMain"]:has(.st-key-in-sight) {scroll-padding: 10rem;}
  .block-container:has(.st-key-in-sight) {padding-bottom: 11rem;}
  .st-key-in-sight {position: fixed; inset: auto 0 0 0; z-index: 100; flex-flow: row wrap; align-items: center;
    gap: 0 0.5rem; padding: 0.5rem 0.8rem; background: light-dark(white, #181614); border-top: 1px solid #8886;}
  .st-key-in-sight > * {flex: 1 1 0; width: auto;}
  .st-key-in-sight > :has([data-testid="stSlider"], [data-testid="stMarkdown"]) {flex-basis: 100%; order: -1;}}
.st-key-in-sight button:disabled {color: inherit !important;}
[data-collapsed="true"] :is([data-testid="stSidebarNav"], [data-testid="stSidebarHeader"]) {visibility: hidden;}
@media (max-width: 767px) {[data-testid="stExpandSidebarButton"] {width: auto !important;}
  [data-testid="stExpandSidebarButton"]::after {content: "Menu"; font-size: 1rem; padding-left: 0.25rem;}}
@media (max-width: 640px) {.block-container {padding-left: 0.8rem; padding-right: 0.8rem;}
  :has(> .st-key-lead) {display: none;} .st-key-gauge p {white-space: normal;}
  [data-testid="stButtonGroup"] > div {flex-wrap: nowrap; overflow-x: auto;}
  [data-testid="stButtonGroup"] button {flex-shrink: 0; max-width: none;}
  .st-key-menu > :has(> .st-key-line) {order: 1; flex-basis: 100%;} .st-key-line {gap: 0.25rem 0.5rem;}}
.js-plotly-plot :is([class*="tick"] text, [class$="title"] text, .annotation text, .bartext-outside, .textpoint text) {
  fill: currentColor !important;}
[data-testid="stMetricLabel"] p, [data-testid="stCheckbox"] p {white-space: normal;}
@media (max-height: 560px) {.st-key-lead {display: none;}}
@media (prefers-reduced-motion: reduce) {* {animation: none !important; transition: none !important;}}
</style>""".replace("FIELDS", FIELDS)
PRESENT = """<style>
html {font-size: 21px;} .block-container {max-width: 100%; padding-top: 0.5rem;}
@media (max-width: 640px) {html {font-size: 16px;}}  /* no projector: more would not stand beside each other */
[data-testid="stExpandSidebarButton"] {background: light-dark(white, #181614) !important;}
:has(> .st-key-lead), [data-testid="stTopNav"], [data-testid="stMainMenu"], [data-testid="stHeaderLogo"] {
  display: none !important;}
[data-testid="stHeader"] {position: fixed; inset: auto auto 0 0; width: 3rem; background: none; z-index: 101;}
[data-testid="stSidebarContent"] {padding-left: 4rem !important;}
</style>"""


def _lit(entry: Entry) -> str:
    """Return the style that lights the menu's group of a page that stands in one."""
    group = next(at for at, entries in enumerate(MENU.values()) if entry in entries)
    if not group:
        return ""
    at = f'[data-testid="stTopNav"] > div:nth-of-type({len(MENU[""]) + group}) [data-testid="stTopNavSection"]'
    look = "background: color-mix(in srgb, currentColor 10%, transparent)"
    return f"<style>{at} {{{look};}} {at} p {{font-weight: 600;}}</style>"


def frame(label: str) -> None:
    """Draw the head of the page that the menu calls so; before the page itself."""
    if address_link.renamed():
        st.rerun()
    address_link.note_missing()
    session()  # which keeps the link that a tab begins with
    entry = ENTRIES[label]
    title = entry.title or label
    uploads.begin_page(label)
    stakeholder_wall.begin()
    st.set_page_config(
        page_title=f"{title} · Privacy–Utility Explorer", page_icon=MARK, layout="wide",
        initial_sidebar_state="collapsed" if st.query_params.get("present") == "true" else "auto",
    )  # fmt: skip
    st.logo(MARK, size="small")
    st.html(STYLE + _lit(entry))
    address_link.known("sample", SAMPLES)
    address_link.known("view", [STAKEHOLDER])
    is_table_lost = lost()
    with row(key="menu"):
        st.title(title, anchor=False, width="content")
        header_slot = row(key="line")
        _share()
    st.session_state[HEAD] = entry, header_slot
    if entry.about_table:
        line(table())
    elif not entry.says_later:
        with header_slot:
            _draw(_badge())
    if not entry.spends:
        with header_slot:
            budget_gauge.of_table(table())
    st.container(key="lead").caption(entry.lead.format(here=here()))
    st.session_state[address_link.PLACE] = st.empty()
    if is_table_lost:
        with row(key="lost"):
            st.warning(
                "Your table is gone. The server keeps a table for one tab, and a reload starts a new one. "
                f"Bring it again. Until then you see the sample “{SAMPLES[table().name][0]}”."
            )
            st.page_link("pages/data.py", label="Bring it again", icon=":material/upload:")
    if stakeholder():
        st.query_params["view"] = STAKEHOLDER
        st.info(
            "Stakeholder view: everything that uses real data is left out on every page. This hides it from a screen "
            "and protects nothing. Share ▾ ends it.",
            icon=":material/visibility_off:",
        )


@contextmanager
def refusals() -> Iterator[None]:
    """Say on the page what is refused in here, and draw no more of it."""
    try:
        yield
    except stakeholder_wall.WithheldError:
        stakeholder_wall.say_left_out()
        st.stop()
    except InputError as error:
        st.error(plain(error, 400))
        st.stop()


def row(**more: Any) -> DeltaGenerator:
    """Return a container whose parts stand beside each other, each in the middle of its height."""
    return st.container(horizontal=True, vertical_alignment="center", **more)


def line_place() -> DeltaGenerator:
    """The place of the line in the head of the page."""
    return st.session_state[HEAD][1]


def line(mine: Table) -> None:
    """Say in the head of the page which table this is, how many rows it has and who is protected; and the badge."""
    with line_place():
        protection_text = f"protects {mine.unit.words.split(';')[0]}"
        rows_text = mine.many
        if mine.kept_words and shows_kept(mine):
            rows_text = mine.kept_words + " (this number uses real data)" * (mine.uploaded and _badge() is not Tag.PEEK)
        st.text(f"{clean(mine.name)} · {rows_text} · {clean(protection_text, 120)}", width="content")
        _draw(_badge())


def shows_kept(mine: Table) -> bool:
    """Whether the number of rows that a limit keeps may be shown: it is a look at the data, like any other."""
    return not mine.uploaded or (session().has_looked(mine) and not stakeholder())


def shows(kind: Tag) -> None:
    """Give the page the badge of the part that is open, at the end of the line in its head."""
    entry, header_slot = st.session_state[HEAD]
    st.session_state[HEAD] = replace(entry, shows=kind), header_slot
    with header_slot:
        _draw(_badge())


def _badge() -> Tag | None:
    """The one badge of the page that is drawn."""
    entry, _ = st.session_state[HEAD]
    if entry.shows is None or (stakeholder() and entry.shows is Tag.PEEK):
        return None
    if entry.spends and getattr(session().find(DESK), "released", False):
        return Tag.PAID
    return Tag.PEEK if _rests_on_data(entry) else entry.shows


def _rests_on_data(entry: Entry) -> bool:
    """Whether what a page shows without rows rests on a schema that was taken from the data."""
    return (entry.about_table or entry.says_later) and table().peeked


def _share() -> None:
    """Copy the link, show the page on a projector, or show it without real data."""
    with st.popover("Share", icon=":material/share:", type="tertiary"):
        address_link.copy(table())
        if st.toggle("Presenter", key="present", bind="query-params", help="Large type and no menu."):
            st.html(PRESENT)
        st.session_state["stakeholder-view"] = stakeholder()  # the address decides, also after Back
        st.toggle(
            "Stakeholder view", key="stakeholder-view", on_change=_switch,
            help="Leaves out everything that uses real data.",
        )  # fmt: skip


def _switch() -> None:
    """Turn the stakeholder view on or off, in the address too."""
    if st.session_state["stakeholder-view"]:
        st.query_params["view"] = STAKEHOLDER
    else:
        st.query_params.pop("view", None)
        st.session_state.pop("view", None)


def tag(kind: Tag | None) -> None:
    """Say where the thing beside it comes from, if that is known and differs from the page's badge."""
    if kind is not _badge():
        _draw(kind)


def _draw(kind: Tag | None) -> None:
    if kind is not None:
        icon, colour = ICONS[kind]
        label = SAMPLE if kind is Tag.PEEK and not table().uploaded else kind.value
        label += " yet" * (kind is Tag.PUBLIC and st.session_state[HEAD][0].spends)
        st.badge(label, icon=icon, color=colour, help=kind.meaning)


def tried(mine: Table, left: str = REST) -> None:
    """The line that says that a trial measured the schema, and what is `left` of the budget."""
    if mine.trial is not None:
        st.caption(f"{mine.trial.words} {left}", help=meaning("trial"))


def unfinished(mine: Table, then: str) -> bool:
    """Whether the schema is not complete; says so, and what can be done when it is: `then`."""
    if mine.domain is not None:
        return False
    if stakeholder_wall.is_withheld(mine) and mine.why:
        st.info(mine.why, icon=":material/visibility_off:")
        return True
    task_text = "Not every column of this table is decided yet. Decide"
    if mine.opening is not None:
        task_text = "Some columns of this table are to be measured. Try that"
    st.info(f"{task_text} on Data, then {then}.")
    st.page_link("pages/data.py", label="Open Data", icon=":material/table:")
    return True


def in_memory(mine: Table) -> bool:
    """Whether the records are there one by one; says so where they are not, and what can be done."""
    if mine.large is not None:
        st.info(
            "This needs the rows one by one. This table is read in parts, so only counts are known. Bring a smaller "
            "table, such as some of its rows, on the Data page."
        )
    return mine.large is None


def heading(text: str, kind: Tag | None = None, words: str | None = None) -> None:
    """A section's finding or question, with a badge where it differs from the page's; `words` are a tooltip."""
    entry, _ = st.session_state[HEAD]
    kind = Tag.PEEK if kind is Tag.PUBLIC and _rests_on_data(entry) else kind
    with row(gap="small"):
        st.subheader(text, width="content", anchor=False, help=words)
        if kind is not Tag.TYPED:
            tag(kind)


def peek(section: Callable[P, R]) -> Callable[P, R | None]:
    """A section that shows something of the real records: left out of the stakeholder view, noted for an upload.

    Of a private table the view has no rows anyway, see `wall`: this says so where the section would stand.
    """

    @wraps(section)
    def shown(*args: P.args, **kwargs: P.kwargs) -> R | None:
        active_table = table()
        if stakeholder_wall.is_withheld(active_table) and st.session_state[HEAD][0].about_table:
            stakeholder_wall.say_left_out()
        if stakeholder():
            return None
        session().look(active_table)
        return section(*args, **kwargs)

    return shown
