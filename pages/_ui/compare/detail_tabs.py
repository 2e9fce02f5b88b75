"""The Compare page below its frontier: the button that runs, and the tabs about the runs."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ..session import Table, set_widget_value
from . import (
    error_sources,
    meeting_report,
    minimum_epsilon,
    overview,
    purpose_scores,
    worst_errors,
)
from .error_measures import ErrorMeasure
from .sweep_jobs import Dot, Sweep
from .verdict import Advice

TABS = ("Ranking", "Where from", "Conclusions", "Purposes", "Other tools", "Report")
# kept until it is served: the run that hears a press may end early for a newer one
PRESSED_KEY = "compare-pressed"


def draw_run_button(*, is_primary: bool) -> None:
    """Draw the button that runs what is planned."""
    st.button(
        "Run the comparison",
        icon=":material/play_arrow:",
        key="compare-run",
        help="Runs that are there already are kept. Add an algorithm, an ε or repeats, "
        "and only those run.",
        on_click=set_widget_value,
        args=(PRESSED_KEY, True),  # no function of the page, which would keep its table
        type="primary" if is_primary else "secondary",
    )


def make_tabs() -> dict[str, DeltaGenerator]:
    """Draw the tabs, empty; return them by their labels."""
    tabs = st.tabs(TABS, key="details", on_change="rerun", bind="query-params")
    return dict(zip(TABS, tabs, strict=True))


def draw_details(
    tabs: dict[str, DeltaGenerator],
    table: Table,
    sweep: Sweep,
    measure: ErrorMeasure,
    selected_run: Dot | None,
    advice: Advice,
) -> None:
    """Draw the tab that is open: the others would compute what nobody sees."""
    with tabs["Ranking"]:
        if tabs["Ranking"].open:
            overview.draw_regrets(sweep, measure)
            minimum_epsilon.draw_search_by_runs(
                table, sweep, advice.goal, st.session_state["compared"]
            )
    with tabs["Where from"]:
        if tabs["Where from"].open:
            worst_errors.draw_worst_errors(sweep, selected_run)
            error_sources.draw_error_sources(table, sweep, selected_run)
    with tabs["Conclusions"]:
        if tabs["Conclusions"].open:
            error_sources.draw_conclusions(sweep)
    with tabs["Purposes"]:
        if tabs["Purposes"].open:
            purpose_scores.draw_task_scores(sweep)
    with tabs["Report"]:
        if tabs["Report"].open:
            meeting_report.draw_download(table, sweep, measure, advice)
