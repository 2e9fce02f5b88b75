"""Explore's views of the whole table: all columns at once, and the links of all pairs."""

from dataclasses import replace

import streamlit as st

from dpcore.core.numbers import unit_noun
from dpcore.evaluation.sweeps.worker_pool import RunResult

from ..components import hide_in_stakeholder_view
from ..overview.all_columns import PanelSource, draw_panels
from ..overview.associations import draw_associations
from ..session import Table
from .outcome import RunResults
from .run_settings import RunSettings

SWITCH_KEY = "whole-table"


def draw_switch() -> bool:
    """Draw the switch between one column and all, and return whether all are shown."""
    return st.toggle("All columns", key=SWITCH_KEY, bind="query-params")


@st.fragment
@hide_in_stakeholder_view
def draw_real_beside_synthetic(run_results: RunResults) -> None:
    """Draw all columns, real beside synthetic, and the group that is clicked."""
    with st.container(border=True, key="cell-columns"):
        draw_panels(_source_with_rows(run_results))


@st.fragment
def draw_released_only(table: Table, result: RunResult, run_settings: RunSettings) -> None:
    """Draw all columns of a run's release, and nothing of the real rows."""
    draw_panels(_source(result, run_settings, unit_noun(table.unit.group)))


@hide_in_stakeholder_view
def draw_real_associations(run_results: RunResults) -> None:
    """Draw the links of all pairs of columns, real beside synthetic."""
    draw_associations(_source_with_rows(run_results))


def draw_released_associations(table: Table, result: RunResult, run_settings: RunSettings) -> None:
    """Draw the links of all pairs of columns of a run's release, and nothing of the real rows."""
    draw_associations(_source(result, run_settings, unit_noun(table.unit.group)))


def _source_with_rows(run_results: RunResults) -> PanelSource:
    """Return what is shown of a run, with the real rows."""
    source = _source(run_results.result, run_results.settings, run_results.unit_name)
    return replace(source, rows=run_results.rows)


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
        epsilon=run_settings.experiment.budget.epsilon,
    )
