"""Head of every page: title, the table and its owner, one badge, and the house style.

Also the headings, notes and checks that pages share.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import InputError
from dpcore.core.numbers import unit_noun
from dpcore.core.provenance import Provenance

from ..session import address_link, stakeholder_wall, uploads
from ..session.current_table import SAMPLES, is_uploaded_table_lost, server_label, visible_table
from ..session.inert_text import escape_markdown, printable_text
from ..session.render_turns import redraw_page
from ..session.schema_share import REST_OF_BUDGET_TEXT
from ..session.session import RELEASE_DESK, session
from ..session.stakeholder_view import STAKEHOLDER_VIEW, is_stakeholder_view
from ..session.table import Table
from . import budget_gauge
from .glossary_words import glossary_tooltip
from .menu import ENTRIES_BY_GROUP, ENTRIES_BY_LABEL, PageEntry

P = ParamSpec("P")
R = TypeVar("R")

SHARE_SLOT_KEY = "_share"  # what Share offers beside the link, on the page that is drawn
HEAD_KEY = "_head"  # of the page that is drawn: its entry in the menu, and the place of its line

ICONS = {
    Provenance.PUBLIC: (":material/public:", "blue"),
    Provenance.USER_INPUT: (":material/edit:", "gray"),
    Provenance.RELEASED: (":material/verified_user:", "green"),
    Provenance.REAL_DATA: (":material/visibility:", "orange"),
}
LOGO_FILE = str(Path(__file__).parents[3] / "assets" / "mark.svg")
# what a public table says in place of `Provenance.REAL_DATA`
PUBLIC_SAMPLE_TEXT = "public sample: free to show"
FIELD_SELECTOR = """:is([data-testid="stSelectbox"] [role="group"],
  [data-testid="stMultiSelect"] [role="group"],
  [data-testid="stTextInputRootElement"], [data-testid="stNumberInputContainer"],
  [data-testid="stTextAreaRootElement"])"""  # what a border is drawn around
PAGE_STYLE = """<style>
.block-container {max-width: 84rem;}
.block-container > [data-testid="stVerticalBlock"] > [data-testid="stElementContainer"] p
  {max-width: 70ch;}
.st-key-gauge p {white-space: nowrap;}
@media (max-width: 600px) {.st-key-line [data-testid="stText"] {font-size: 0.875rem;}}
.st-key-menu {gap: 0.5rem 1rem;} .st-key-menu h1 {padding: 0;}
.st-key-menu > :last-child {margin-left: auto;}
/* One size of tiles, and one look of the next step, on all pages. */
.st-key-tiles {gap: 0.2rem 1.2rem;}
.st-key-tiles > div {flex: 1 1 9rem; width: auto; min-width: 9rem;}
.st-key-tiles [data-testid="stMarkdownContainer"] {margin-bottom: 0;}
/* In one line, but in a column of a page, where they would stand beyond it. */
@media (min-width: 901px) {
  .st-key-tiles:not([data-testid="stColumn"] *) {flex-wrap: nowrap;}
  .st-key-tiles:not([data-testid="stColumn"] *) > div {flex-basis: auto;}}
.st-key-tiles p {margin: 0; font-size: 0.875rem; line-height: 1.35;}
.st-key-tiles strong {font-size: 1.125rem; line-height: 1.2;}
.st-key-uses > div:first-child {flex: 1 1 16rem; width: auto;}
[class*="st-key-next"] a:not([disabled]) {background: #0072B2; padding: 0.5rem 1rem;}
[class*="st-key-next"] a:not([disabled]) * {color: white !important;}
[class*="st-key-next"] a[disabled],
  [class*="st-key-next"] a[disabled] * {color: inherit !important;}
/* The menu is at the same place beside a sidebar as without one;
  what folds the sidebar is at its foot. */
@media (min-width: 900px) {
  [data-testid="stHeader"] {z-index: 999993;}
  [data-testid="stTopNav"] {position: fixed; left: 36px; width: calc(100vw - 14rem) !important;}
  [data-testid="stSidebar"]:not([data-collapsed="true"]) [data-testid="stSidebarHeader"] {
    height: 3.75rem; padding: 0 0 0 1rem; margin: 0 -30px; background: light-dark(white, #181614);}
  /* What is scrolled ends below the menu, and above the button at the foot. */
  [data-testid="stSidebar"]:not([data-collapsed="true"]) [data-testid="stSidebarContent"] {
    display: flex; flex-direction: column; overflow: hidden; padding-bottom: 2.75rem;}
  [data-testid="stSidebar"]:not([data-collapsed="true"]) [data-testid="stSidebarHeader"]
    {flex: none;}
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
FIELDS button:focus-visible, [role="tab"]:focus-visible,
  [data-testid="stMain"]:focus-visible {outline-offset: -3px;}
[data-testid="stCaptionContainer"] {color: inherit !important; opacity: 0.8;}
[data-testid="stSliderThumbValue"],
  [data-testid="stSliderThumbValue"] p {color: inherit !important;}
[data-testid="stButtonGroup"] button, [data-testid="stWidgetLabel"] {color: inherit !important;}
/* On a phone the main control is at the foot of the screen;
  what is in a closed menu takes no focus. */
@media (max-width: 640px) and (min-height: 561px) {[data-testid="stMain"]:has(.st-key-in-sight)
  {scroll-padding: 10rem;}
  .block-container:has(.st-key-in-sight) {padding-bottom: 11rem;}
  .st-key-in-sight {position: fixed; inset: auto 0 0 0; z-index: 100; flex-flow: row wrap;
    align-items: center;
    gap: 0 0.5rem; padding: 0.5rem 0.8rem; background: light-dark(white, #181614);
    border-top: 1px solid #8886;}
  .st-key-in-sight > * {flex: 1 1 0; width: auto;}
  .st-key-in-sight > :has([data-testid="stSlider"], [data-testid="stMarkdown"]) {flex-basis: 100%;
    order: -1;}}
.st-key-in-sight button:disabled {color: inherit !important;}
[data-collapsed="true"] :is([data-testid="stSidebarNav"], [data-testid="stSidebarHeader"])
  {visibility: hidden;}
@media (max-width: 767px) {[data-testid="stExpandSidebarButton"] {width: auto !important;}
  [data-testid="stExpandSidebarButton"]::after {content: "Menu"; font-size: 1rem;
    padding-left: 0.25rem;}}
@media (max-width: 640px) {.block-container {padding-left: 0.8rem; padding-right: 0.8rem;}
  :has(> .st-key-lead) {display: none;} .st-key-gauge p {white-space: normal;}
  [data-testid="stButtonGroup"] > div {flex-wrap: nowrap; overflow-x: auto;}
  [data-testid="stButtonGroup"] button {flex-shrink: 0; max-width: none;}
  .st-key-menu > :has(> .st-key-line) {order: 1; flex-basis: 100%;}
  .st-key-line {gap: 0.25rem 0.5rem;}}
.js-plotly-plot
  :is([class*="tick"] text, [class$="title"] text, .annotation text, .bartext-outside,
  .textpoint text) {
  fill: currentColor !important;}
[data-testid="stMetricLabel"] p, [data-testid="stCheckbox"] p {white-space: normal;}
@media (max-height: 560px) {.st-key-lead {display: none;}}
@media (prefers-reduced-motion: reduce) {* {animation: none !important;
  transition: none !important;}}
</style>""".replace("FIELDS", FIELD_SELECTOR)
PRESENTER_STYLE = """<style>
html {font-size: 21px;} .block-container {max-width: 100%; padding-top: 0.5rem;}
/* no projector: more would not stand beside each other */
@media (max-width: 640px) {html {font-size: 16px;}}
[data-testid="stExpandSidebarButton"] {background: light-dark(white, #181614) !important;}
:has(> .st-key-lead), [data-testid="stTopNav"], [data-testid="stMainMenu"],
  [data-testid="stHeaderLogo"] {
  display: none !important;}
[data-testid="stHeader"] {position: fixed; inset: auto auto 0 0; width: 3rem; background: none;
  z-index: 101;}
[data-testid="stSidebarContent"] {padding-left: 4rem !important;}
</style>"""


def _menu_highlight_style(entry: PageEntry) -> str:
    """Return the style that lights the menu's group of a page that stands in one."""
    group = next(at for at, entries in enumerate(ENTRIES_BY_GROUP.values()) if entry in entries)
    if not group:
        return ""
    at = (
        f'[data-testid="stTopNav"] > div:nth-of-type({len(ENTRIES_BY_GROUP[""]) + group}) '
        '[data-testid="stTopNavSection"]'
    )
    look = "background: color-mix(in srgb, currentColor 10%, transparent)"
    return f"<style>{at} {{{look};}} {at} p {{font-weight: 600;}}</style>"


def draw_page_head(label: str) -> None:
    """Draw the head of the page that the menu calls so; before the page itself."""
    if address_link.update_former_link():
        redraw_page()
    address_link.store_missing_page()
    session()  # which keeps the link that a tab begins with
    entry = ENTRIES_BY_LABEL[label]
    title = entry.title or label
    uploads.begin_page(label)
    stakeholder_wall.reset_left_out_notice()
    st.set_page_config(
        page_title=f"{title} · Privacy–Utility Explorer",
        page_icon=LOGO_FILE,
        layout="wide",
        initial_sidebar_state="collapsed" if st.query_params.get("present") == "true" else "auto",
    )
    st.logo(LOGO_FILE, size="small")
    st.html(PAGE_STYLE + _menu_highlight_style(entry))
    address_link.discard_unknown_value("sample", SAMPLES)
    address_link.discard_unknown_value("view", [STAKEHOLDER_VIEW])
    is_table_lost = is_uploaded_table_lost()
    with inline_container(key="menu"):
        st.title(title, anchor=False, width="content")
        header_slot = inline_container(key="line")
        _draw_share_menu()
    st.session_state[HEAD_KEY] = entry, header_slot
    if entry.about_table:
        draw_table_header(visible_table())
    elif not entry.says_later:
        with header_slot:
            _draw_badge(_page_badge())
    if not entry.spends:
        with header_slot:
            budget_gauge.draw_table_gauge(visible_table())
    st.container(key="lead").caption(entry.lead.format(here=server_label()))
    st.session_state[address_link.LINK_SLOT_KEY] = st.empty()
    if is_table_lost:
        with inline_container(key="lost"):
            st.warning(
                "Your table is gone. The server keeps a table for one tab, and a reload starts a "
                "new one. "
                "Bring it again. Until then you see the sample "
                f"“{SAMPLES[visible_table().name][0]}”."
            )
            st.page_link("pages/data.py", label="Bring it again", icon=":material/upload:")
    if is_stakeholder_view():
        st.query_params["view"] = STAKEHOLDER_VIEW
        st.info(
            "Stakeholder view: everything that uses real data is left out on every page. This "
            "hides it from a screen "
            "and protects nothing. Share ▾ ends it.",
            icon=":material/visibility_off:",
        )


@contextmanager
def show_refusals() -> Iterator[None]:
    """Say on the page what is refused in here, and draw no more of it."""
    try:
        yield
    except stakeholder_wall.WithheldError:
        stakeholder_wall.show_left_out_notice()
        st.stop()
    except InputError as error:
        st.error(escape_markdown(error, 400))
        st.stop()


def inline_container(**container_args: Any) -> DeltaGenerator:
    """Return a container whose parts stand beside each other, each in the middle of its height."""
    return st.container(horizontal=True, vertical_alignment="center", **container_args)


def table_header_slot() -> DeltaGenerator:
    """Return the container of the table's line in the head of the page."""
    return st.session_state[HEAD_KEY][1]


def draw_table_header(active_table: Table) -> None:
    """Draw the head's line: the table, its row count, its privacy unit, and the page's badge."""
    with table_header_slot():
        protection_text = f"protects {active_table.unit.description.split(';')[0]}"
        rows_text = _size_text(active_table)
        if active_table.limited_rows_text and may_show_limited_rows(active_table):
            rows_text = active_table.limited_rows_text
            is_private = active_table.uploaded and not active_table.unit.counts_people
            if is_private and _page_badge() is not Provenance.REAL_DATA:
                rows_text += " (this number uses real data)"
        st.text(
            f"{printable_text(active_table.name)} · {rows_text} · "
            f"{printable_text(protection_text, 120)}",
            width="content",
        )
        _draw_badge(_page_badge())


def _size_text(active_table: Table) -> str:
    """Return how many people or rows there are, called so as in the page's tiles.

    Data, which decides what a row is, counts rows.
    """
    entry, _ = st.session_state[HEAD_KEY]
    if entry.says_later or active_table.row_count is None:
        return active_table.row_count_text
    if active_table.unit.counts_people:  # how many people there are, the limit's text says
        return active_table.row_count_text
    return f"{active_table.row_count:,} {unit_noun(active_table.unit.group)}"


def may_show_limited_rows(active_table: Table) -> bool:
    """Return whether the row count after contribution bounding may be shown.

    The count is a look at the data, like any other; the number of people is public.
    """
    return (
        active_table.unit.counts_people
        or not active_table.uploaded
        or (session().was_viewed(active_table) and not is_stakeholder_view())
    )


def set_page_badge(provenance: Provenance) -> None:
    """Give the page the badge of the part that is open, at the end of the line in its head."""
    entry, header_slot = st.session_state[HEAD_KEY]
    st.session_state[HEAD_KEY] = replace(entry, shows=provenance), header_slot
    with header_slot:
        _draw_badge(_page_badge())


def picture_source(epsilon: float | None = None) -> str:
    """Return what is written into a picture of a chart: the table, ε and the page's badge.

    ε is that of the page's slider where it is not given; it is left out where there is none.
    """
    entry, _ = st.session_state[HEAD_KEY]
    parts = ["Privacy–Utility Explorer"]
    if entry.about_table:
        parts.append(printable_text(visible_table().name))
    if epsilon is None:
        epsilon = st.session_state.get("epsilon")
    if epsilon is not None:
        parts.append(f"ε = {epsilon:g}")
    badge = _page_badge()
    if badge is not None:
        parts.append(_badge_label(badge))
    return " · ".join(parts)


def _badge_label(provenance: Provenance) -> str:
    """Return the words of a badge; those of a public sample where real data would be shown."""
    if provenance is Provenance.REAL_DATA and not visible_table().uploaded:
        return PUBLIC_SAMPLE_TEXT
    return provenance.value


def _page_badge() -> Provenance | None:
    """Return the one provenance badge of the page that is drawn; None for none."""
    entry, _ = st.session_state[HEAD_KEY]
    if entry.shows is None or (is_stakeholder_view() and entry.shows is Provenance.REAL_DATA):
        return None
    if entry.spends and getattr(session().find_resource(RELEASE_DESK), "released", False):
        return Provenance.RELEASED
    return Provenance.REAL_DATA if _rests_on_data(entry) else entry.shows


def _rests_on_data(entry: PageEntry) -> bool:
    """Return whether the page's public contents rest on a schema taken from the data."""
    return (entry.about_table or entry.says_later) and visible_table().schema_uses_real_data


def _draw_share_menu() -> None:
    """Copy the link, show the page on a projector, or show it without real data."""
    with st.popover("Share", icon=":material/share:", type="tertiary"):
        address_link.draw_copy_button(visible_table())
        if st.toggle(
            "Presenter", key="present", bind="query-params", help="Large type and no menu."
        ):
            st.html(PRESENTER_STYLE)
        # the address decides, also after Back
        st.session_state["stakeholder-view"] = is_stakeholder_view()
        st.toggle(
            "Stakeholder view",
            key="stakeholder-view",
            on_change=_toggle_stakeholder_view,
            help="Leaves out everything that uses real data.",
        )
        st.session_state[SHARE_SLOT_KEY] = st.container()


def _toggle_stakeholder_view() -> None:
    """Turn the stakeholder view on or off, in the address too."""
    if st.session_state["stakeholder-view"]:
        st.query_params["view"] = STAKEHOLDER_VIEW
    else:
        st.query_params.pop("view", None)
        st.session_state.pop("view", None)


def draw_badge_if_different(provenance: Provenance | None) -> None:
    """Draw a provenance badge, if it is known and differs from the page's badge."""
    if provenance is not _page_badge():
        _draw_badge(provenance)


def _draw_badge(provenance: Provenance | None) -> None:
    if provenance is not None:
        icon, colour = ICONS[provenance]
        label = _badge_label(provenance)
        if provenance is Provenance.PUBLIC and st.session_state[HEAD_KEY][0].spends:
            label += " yet"
        st.badge(label, icon=icon, color=colour, help=provenance.meaning)


def draw_row_unit_note(active_table: Table) -> None:
    """Say where a person's rows share one vote elsewhere that here each of them counts."""
    if active_table.unit.counts_people:
        description = escape_markdown(active_table.unit.row_unit.description, 200)
        st.caption(f"On this page each row counts. Protected is {description}.")


def draw_trial_note(active_table: Table, rest_text: str = REST_OF_BUDGET_TEXT) -> None:
    """Draw a line that says that a trial measured the schema, if one did.

    `rest_text` says what happens with the remaining budget.
    """
    if active_table.trial is not None:
        st.caption(f"{active_table.trial.summary} {rest_text}", help=glossary_tooltip("trial"))


def warn_if_schema_incomplete(active_table: Table, next_step: str) -> bool:
    """Draw a warning and return True if the schema is incomplete.

    The warning names the `next_step`, which is possible when the schema is complete.
    """
    if active_table.domain is not None:
        return False
    if stakeholder_wall.is_public_table(active_table) and active_table.schema_omission_reason:
        st.info(active_table.schema_omission_reason, icon=":material/visibility_off:")
        return True
    task_text = "Not every column of this table is decided yet. Decide"
    if active_table.partial_schema is not None:
        task_text = "Some columns of this table are to be measured. Try that"
    st.info(f"{task_text} on Data, then {next_step}.")
    st.page_link("pages/data.py", label="Open Data", icon=":material/table:")
    return True


def check_rows_in_memory(active_table: Table) -> bool:
    """Return whether the table's rows are in memory; if not, say so and what can be done."""
    if active_table.large_table is not None:
        st.info(
            "This needs the rows one by one. This table is read in parts, so only counts are "
            "known. Bring a smaller "
            "table, such as some of its rows, on the Data page."
        )
    return active_table.large_table is None


def draw_heading(
    text: str, provenance: Provenance | None = None, help_text: str | None = None
) -> None:
    """Draw a section's heading, with a provenance badge where it differs from the page's.

    The heading is the section's result or question; `help_text` is a tooltip.
    """
    entry, _ = st.session_state[HEAD_KEY]
    provenance = (
        Provenance.REAL_DATA
        if provenance is Provenance.PUBLIC and _rests_on_data(entry)
        else provenance
    )
    with inline_container(gap="small"):
        st.subheader(text, width="content", anchor=False, help=help_text)
        if provenance is not Provenance.USER_INPUT:
            draw_badge_if_different(provenance)


def hide_in_stakeholder_view(section: Callable[P, R]) -> Callable[P, R | None]:
    """Wrap a section that shows real rows so that the stakeholder view leaves it out.

    Outside the view, it is noted for an upload that its rows were viewed. Of a private table the
    view
    has no rows anyway, see `stakeholder_wall`: the wrapper says so where the section would stand.
    """

    @wraps(section)
    def draw_unless_stakeholder(*args: P.args, **kwargs: P.kwargs) -> R | None:
        active_table = visible_table()
        if (
            stakeholder_wall.is_public_table(active_table)
            and st.session_state[HEAD_KEY][0].about_table
        ):
            stakeholder_wall.show_left_out_notice()
        if is_stakeholder_view():
            return None
        session().mark_viewed(active_table)
        return section(*args, **kwargs)

    return draw_unless_stakeholder
