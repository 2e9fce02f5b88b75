"""One screen: where things stand on it. All its style is here, and holds on this page only.

At 1440 × 900 the verdict, four charts and the sliders are in sight without scrolling. The sliders
stand on top of the sidebar and stay there while it scrolls. Where the sidebar is closed, as it is
on a phone until somebody opens it, what is left of it is a bar of the sliders at the bottom of the
screen; the page ends above it.
"""

from collections.abc import Callable
from functools import cached_property, wraps
from typing import TypeVar

import pandas as pd
import pyarrow as pa
import streamlit as st
from plotly.graph_objects import Figure
from streamlit.delta_generator import DeltaGenerator

from dpcore import InputError
from dpcore.core.types import by_name

from ..components import (
    draw_downloadable_chart,
    draw_heading,
    draw_trial_note,
    glossary_tooltip,
    hide_in_stakeholder_view,
    inline_container,
    rows_to_show,
)
from ..session import Table, escape_markdown

S = TypeVar("S")


@by_name
class ChartContent:
    """A chart and what it says: its sentence, its numbers, and what else is to be known."""

    figure: Figure
    summary: str
    frame: pd.DataFrame
    note: str

    @cached_property
    def first_rows(self) -> pa.Table:
        """The rows that the page shows of its numbers."""
        return rows_to_show(self.frame)


STYLE = """<style>
/* The page: little air, so that all of it is in sight. */
.block-container {padding-left: 1.4rem; padding-right: 1.4rem; max-width: 110rem;}
.block-container > [data-testid="stVerticalBlock"] {gap: 0.4rem;}
.st-key-lead {display: none;}
.st-key-screen h3, .st-key-sections h3 {font-size: 1rem; padding: 0; line-height: 1.1;}
.st-key-screen [data-testid="stVerticalBlock"] {gap: 0.15rem;}
.st-key-screen [data-testid="stHorizontalBlock"],
.st-key-screen [data-testid="stVerticalBlock"]:has([class*="st-key-cell-"]) {gap: 1rem;}
.st-key-screen [data-testid="stCaptionContainer"] p {font-size: 0.875rem; line-height: 1.2;}
.st-key-screen :is(.xtick, .ytick) text {font-size: max(13px, 0.75rem) !important;}
.st-key-pair .xtick text {font-size: 13px !important;}  /* they have no more room */
.st-key-verdict {gap: 0.5rem; padding-bottom: 0.25rem;}
.st-key-uses button {min-height: 1.6rem; padding: 0 0.3rem;}
.st-key-next a {padding: 0.2rem 0.8rem !important;}
.st-key-tiles span {font-size: inherit !important;}
@media (min-width: 641px) {.st-key-uses {flex-wrap: nowrap !important; min-height: 1.7rem;}
  .st-key-tiles {justify-content: space-between;} .st-key-tiles > div {
    flex: none !important; width: auto !important; min-width: 0 !important;}}
.st-key-verdict [data-testid="stMarkdownContainer"],
  .st-key-verdict [data-testid="stCaptionContainer"] {
  margin-bottom: 0;}
.st-key-verdict p {margin: 0; line-height: 1.35;}
.st-key-screen [class*="st-key-cell-"] {padding: 0.2rem 0.7rem 0.4rem;}
[class*="st-key-head-"] > div:first-child {flex: 1 1 0; width: auto; min-width: 10rem;}
/* as the first option does it too */
[class*="st-key-head-"] [aria-label="Clear value"] {display: none;}
@media (min-width: 641px) {[class*="st-key-head-"] {flex-wrap: nowrap !important;}}
.st-key-sections {margin-top: 1rem;}
/* What belongs to settings that are no longer chosen is dimmed at once;
  not while repeats come in: a thin bar runs. */
body:not(:has(.st-key-replays)) [data-stale="true"] {opacity: 0.35 !important;
  transition: none !important;}
body:has(.st-key-replays) [data-stale="true"] {opacity: 1 !important;}
.st-key-screen {position: relative;}
body:has(.st-key-replays) .st-key-screen::before {content: ""; position: absolute; top: -4px;
  height: 3px; width: 20%;
  background: #0072B2; animation: runs 1.5s ease-in-out infinite alternate;}
@keyframes runs {from {left: 0;} to {left: 80%;}}
@media (max-width: 640px) {.block-container {padding-left: 0.8rem; padding-right: 0.8rem;}
  .st-key-menu {margin-top: -0.75rem;}
  .st-key-tiles p {line-height: 1.2;} [class*="st-key-head-"] button {min-height: 1.8rem;}
  [class*="st-key-head-"] {gap: 0 1rem !important;}
  [class*="st-key-head-"] [data-testid="stSelectbox"] :is(div, input, button) {height: 1.75rem;
    min-height: 0;}
  /* A tile is a line, its number first;
    what stands beside the sentence below them comes after the charts, but for what it offers. */
  .st-key-tiles > div {flex-basis: 100% !important;} .st-key-tiles br {display: none;}
  .st-key-tiles p {display: grid; grid-template-columns: 11.5rem 1fr; column-gap: 0.6rem;
    align-items: start;}
  .st-key-tiles strong {order: -1; grid-row: 1 / span 2;}
  .st-key-tiles > :last-child p {display: block;}  /* a sentence */
  .st-key-tiles > :not(:last-child) strong ~ span ~ span,
    .st-key-tiles > :not(:first-child):not(:last-child) strong ~ span {display: none;}
  :has(> :is(.st-key-verdict, .st-key-uses)), .st-key-verdict,
    .st-key-uses {display: contents !important;}
  .st-key-uses > div:first-child {flex: none; width: 100%; margin-top: -0.4rem;}
  .st-key-uses > :not(:first-child):not(:has(.st-key-useful-changes)) {order: 1;}
  .st-key-uses p {font-size: 0.875rem;}
  .st-key-tiles {gap: 0.2rem;} .st-key-tiles strong {font-size: 1rem;}
  :has(> .st-key-sections) {order: 2;}}
/* what is scrolled must not shine through */
[data-testid="stSidebar"] [data-stale="true"] {opacity: 1 !important;}
/* The sliders: on top of the sidebar, whatever is scrolled. */
[data-testid="stSidebarHeader"] {height: 2.4rem; padding-bottom: 0; margin-bottom: 0;}
[data-testid="stSidebarUserContent"] {padding-top: 0;}
[data-testid="stSidebarUserContent"] > div > div >
  [data-testid="stLayoutWrapper"]:has(.st-key-sliders) {
  position: sticky; top: 0; z-index: 10; padding: 0.3rem 0; background: inherit;}
/* the sidebar's own, down to the sliders */
[data-testid="stSidebar"] *:has(.st-key-sliders) {background: inherit;}
/* it would lie upon what the ends mean */
.st-key-sliders [data-testid="stSliderTickBar"] {display: none;}
[class*="st-key-ends"] {margin: -1rem 0 0.6rem;} [class*="st-key-ends"] p {
  display: flex; justify-content: space-between; margin: 0; font-size: 0.875rem;}
.st-key-ends-finer {margin: 0.2rem 0 0.6rem; padding-top: 0.6rem;
  border-top: 1px solid rgba(128, 128, 128, 0.4);}
/* A closed sidebar: its sliders in a bar at the bottom of the screen, and nothing else of it. */
[data-testid="stSidebar"][data-collapsed="true"] {
  position: fixed !important; inset: auto 0 0 0; z-index: 100; width: 100% !important;
  min-width: 100% !important;
  max-width: 100% !important; height: auto !important; transform: none !important;
  visibility: visible !important;
  border-top: 1px solid rgba(128, 128, 128, 0.4); box-shadow: 0 -2px 8px rgba(0, 0, 0, 0.15);}
[data-collapsed="true"] [data-testid="stSidebarContent"] {
  width: 100% !important; height: auto !important; overflow: visible; padding: 0.2rem 1rem 0.4rem;}
[data-collapsed="true"] [data-testid="stSidebarHeader"],
  [data-collapsed="true"] [data-testid="stSidebarNav"],
[data-collapsed="true"] [data-testid="stSidebarNavSeparator"],
[data-collapsed="true"] [data-testid="stSidebarUserContent"] > div > div >
  :not(:has(.st-key-sliders)),
[data-collapsed="true"] .st-key-sliders :has(> [class*="st-key-ends"]) {display: none !important;}
[data-collapsed="true"] [data-testid="stSidebarUserContent"] {padding: 0; width: 100%;}
[data-collapsed="true"] [data-testid="stSlider"] {
  display: grid; grid-template-columns: 9.5rem 1fr; align-items: center; height: 2.5rem;}
body:has([data-collapsed="true"]) .block-container {padding-bottom: 5rem;}
/* Where the sliders have room beside each other, as at 200% zoom and in Presenter,
  the bar is one line. */
@media (min-width: 641px) {
  [data-collapsed="true"] .st-key-sliders {flex-direction: row; gap: 1.2rem;}
  [data-collapsed="true"] .st-key-sliders > * {flex: 1 1 0; min-width: 0;}
  [data-collapsed="true"] [data-testid="stSlider"] {grid-template-columns: 1fr 1fr;}
  [data-collapsed="true"] [data-testid="stSlider"] [data-testid="stTooltipIcon"] {display: none;}
  [data-collapsed="true"] [data-testid="stSlider"] label p {line-height: 1.15;}}
@media (max-width: 640px) {[data-collapsed="true"] .st-key-sliders > :nth-child(n + 2)
  {display: none;}}
/* A narrow screen has one chart beside the other only where their heads fit. */
@media (max-width: 900px) {.st-key-screen > div > [data-testid="stHorizontalBlock"] > div
  {min-width: 100%;}}
</style>"""

# For a projector: the same screen in large type, without what is not about the findings.
PRESENTER_STYLE = """<style>
.st-key-screen h3 {font-size: 0.95rem;} .st-key-tiles p {font-size: 0.8rem;}
.st-key-tiles strong {font-size: 1rem;}
.st-key-verdict [data-testid="stCaptionContainer"] p {font-size: 0.74rem; line-height: 1.25;}
.st-key-screen [data-testid="stCaptionContainer"] p {font-size: 0.68rem;}
[class*="st-key-head-"] {gap: 0.3rem;}
[class*="st-key-head-"] button p,
  [class*="st-key-head-"] [data-baseweb="select"] {font-size: 0.75rem;}
[class*="st-key-head-"] button {padding: 0 0.3rem; min-height: 1.8rem;}
[class*="st-key-head-"] > div:first-child {min-width: 6rem;}
[class*="st-key-head-"] [data-testid="stSelectbox"] {max-width: 11rem;}
[class*="st-key-head-"] [data-testid="stSelectbox"] input {font-size: 0.7rem;}
[class*="st-key-head-"] [data-testid="stSelectbox"] :is(div, input, button) {height: 1.7rem;
  min-height: 0;}
.st-key-menu button, .st-key-uses button {min-height: 0;}
[data-collapsed="true"] [data-testid="stSlider"] {height: 2.2rem; margin: -0.3rem 0;}
/* A lesson has a slider of its own, and nothing lies upon its slide. */
body:has([class*="st-key-lesson-"])
  :is([data-collapsed="true"], [data-testid="stExpandSidebarButton"]) {display: none;}
</style>"""


def draw_style(table: Table) -> None:
    """Draw the style of the screen, and the note on a trial of the schema."""
    st.html(STYLE)
    if st.session_state.get("present"):
        st.html(PRESENTER_STYLE)
    draw_trial_note(table)


def chart_part(
    key: str, *glossary_words: str
) -> Callable[[Callable[..., ChartContent]], Callable[[S], None]]:
    """Return a decorator that makes a chart part of the screen from a drawing function.

    The function is given the chart's data, a container in the part's head, and its details. The
    head
    states the result, the first line of what the chart says; the rest is below the chart. Details
    are
    folded: terms of `glossary_words` from the glossary, what else is to be known and the numbers.
        It is
    a private peek, as the page has said, and drawn anew by itself when a part of it is chosen.
    """

    def decorate(
        body: Callable[[S, DeltaGenerator, DeltaGenerator], ChartContent],
    ) -> Callable[[S], None]:
        @st.fragment
        @hide_in_stakeholder_view
        @wraps(body)
        def draw_part(chart_data: S) -> None:
            with st.container(border=True, key=f"cell-{key}"):
                head_row = inline_container(key=f"head-{key}")
                with head_row:
                    title = st.container()
                    chooser_container = st.container(key=f"chosen-{key}", width="content")
                    popover_slot = st.empty()
                    details = popover_slot.popover(
                        ":material/info:", type="tertiary", help="About this chart"
                    )
                try:
                    content = body(chart_data, chooser_container, details)
                except InputError as error:  # of a large table, of which only tables are known
                    popover_slot.empty()
                    st.caption(escape_markdown(error, 400))
                    return
                finding, _, further_text = content.summary.partition("\n")
                with title:
                    draw_heading(escape_markdown(finding, 400))
                if further_text:
                    st.caption(escape_markdown(further_text, 400))
                with details:
                    note = escape_markdown(content.note, 1000)
                    st.caption(f"{note}\n\n{glossary_tooltip(*glossary_words)}")
                    draw_downloadable_chart(
                        content.frame, key, finding, first_rows=content.first_rows
                    )

        return draw_part

    return decorate
