"""Explore's view of all columns at once, in the place of the one column's chart."""

from dataclasses import replace

import streamlit as st

from dpcore.core.numbers import unit_noun
from dpcore.evaluation.sweeps.worker_pool import RunResult

from ..components import hide_in_stakeholder_view
from ..overview.all_columns import PanelSource, draw_panels
from ..session import Table
from .outcome import RunResults
from .run_settings import RunSettings

SWITCH_KEY = "all-columns"


def draw_switch() -> bool:
    """Draw the switch between one column and all, and return whether all are shown."""
    return st.toggle("All columns", key=SWITCH_KEY, bind="query-params")


@st.fragment
@hide_in_stakeholder_view
def draw_real_beside_synthetic(run_results: RunResults) -> None:
    """Draw all columns, real beside synthetic, and the group that is clicked."""
    problem = run_results.settings.problem
    rows = run_results.table.encoded_rows(problem.domain.names)
    source = _source(run_results.result, run_results.settings, run_results.unit_name)
    with st.container(border=True, key="cell-columns"):
        draw_panels(replace(source, rows=rows))


@st.fragment
def draw_released_only(table: Table, result: RunResult, run_settings: RunSettings) -> None:
    """Draw all columns of a run's release, and nothing of the real rows."""
    draw_panels(_source(result, run_settings, unit_noun(table.unit.most_rows)))


def _source(result: RunResult, run_settings: RunSettings, unit: str) -> PanelSource:
    """Return what the panels show of a run, without the real rows."""
    domain = run_settings.problem.domain
    return PanelSource(
        key=f"panels-{hash(domain.names)}",
        domain=domain,
        release=result.release,
        unbiased_answers=result.unbiased_answers,
        n=run_settings.problem.n,
        unit=unit,
        rows=None,
        with_sidebar=True,
    )
