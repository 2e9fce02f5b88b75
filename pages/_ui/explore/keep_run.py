"""Pinning of a run beside another, downloads of rows and settings, code that repeats it."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.algorithms.query_release.shared.optimal_noise import least_rmse
from dpcore.core.provenance import Provenance
from dpcore.core.types import frozen
from dpcore.data.privacy_unit import PrivacyUnit
from dpcore.evaluation.programs.query_program import query_program
from dpcore.evaluation.run import ERROR_NAMES, seeded_generators
from dpcore.evaluation.run_summary import RunSummary
from dpcore.evaluation.sweeps.worker_pool import RunJob, RunResult
from dpcore.models.synthetic_people import sample_table

from ..components import draw_heading, draw_program, hide_in_stakeholder_view
from ..session import Table, session
from ..session.render_turns import redraw_page
from .run_settings import RunSettings

RMSE_RATIO_LABEL = "root mean square error ÷ least of any unbiased method"


@frozen
class PinnedRun:
    """The run A: the version of its table, its result, and its convergence curve.

    `least_rmse` is the smallest root mean square error of any unbiased Gaussian release of what A
    was asked, if it is known.
    """

    table_version: str
    result: RunResult
    curve: pd.DataFrame
    least_rmse: float | None


@dataclass(eq=False)
class PinnedRunSlot:
    """The run A of a tab, if one is pinned."""

    pinned_run: PinnedRun | None = None

    def close(self) -> None:
        """Unpin."""
        self.pinned_run = None


def least_unbiased_rmse(run_settings: RunSettings) -> float | None:
    """Return the least root mean square error of unbiased Gaussian releases; None if unknown.

    The releases are of these settings' queries.
    """
    return least_rmse(
        run_settings.problem.workload,
        run_settings.experiment.budget,
        run_settings.problem.effective_n,
    )


def pinned_run_of(table: Table) -> PinnedRun | None:
    """Return the run A, if one is pinned on this very table."""
    pinned_run = session().get_or_create("pinned", PinnedRunSlot).pinned_run
    if pinned_run is None or pinned_run.table_version != table.version:
        return None
    return pinned_run


@hide_in_stakeholder_view
def draw_pin(table: Table, job: RunJob, run_settings: RunSettings, curve: pd.DataFrame) -> None:
    """Draw the pin button and, with a run pinned, a table of A beside B."""
    draw_heading("Beside another run", Provenance.REAL_DATA)
    slot = session().get_or_create("pinned", PinnedRunSlot)
    with st.container(horizontal=True):
        if st.button("Pin this run as A", icon=":material/push_pin:"):
            slot.pinned_run = PinnedRun(
                table.version, job.results[0], curve, least_unbiased_rmse(run_settings)
            )
            redraw_page()
        pinned_run = pinned_run_of(table)
        if pinned_run is not None and st.button("Unpin", icon=":material/close:"):
            slot.close()
            redraw_page()
    if pinned_run is None:
        st.caption(
            "Pin this run, change a setting, and see both side by side here and in the charts "
            "above."
        )
        return
    columns = {
        "A (pinned)": _comparison_column(pinned_run.result.summary, pinned_run.least_rmse),
        "B (now)": _comparison_column(job.results[0].summary, least_unbiased_rmse(run_settings)),
    }
    st.dataframe(pd.DataFrame(columns))
    st.caption(
        "The last ratio compares with the least error of unbiased releases with Gaussian noise, "
        "for the same questions "
        "and budget. Below 1 the algorithm is better than raw noise, because answers support "
        "each other. The price is "
        "some bias."
    )


def _comparison_column(summary: RunSummary, least_rmse: float | None) -> dict[str, str]:
    """Return the lines of a run in the table that compares two."""
    errors = summary.query_errors
    errors_by_name = errors.to_json()
    rmse_ratio = errors.rmse / least_rmse if least_rmse else None
    return {
        "algorithm": summary.algorithm,
        "ε": _format_value(summary.budget.epsilon),
        "δ": _format_value(summary.budget.delta),
        **{name: _format_value(value) for name, value in summary.parameters.items()},
        **{name: _format_value(errors_by_name[name]) for name in ERROR_NAMES},
        RMSE_RATIO_LABEL: _format_value(rmse_ratio),
        "seconds": _format_value(summary.seconds),
    }


def _format_value(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@hide_in_stakeholder_view
def draw_downloads(table: Table, job: RunJob, run_settings: RunSettings) -> None:
    """Draw downloads: synthetic rows, and the code of the run."""
    result = job.results[0]
    unit = run_settings.experiment.task.unit
    draw_heading("Download")
    with st.container(horizontal=True):
        st.download_button(
            "Synthetic rows (CSV)",
            lambda: _sample_csv(result, unit),
            "synthetic.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
            help=_download_help(unit),
        )
    st.caption(
        "Exploring can be repeated, so someone who knows the repeat number can take the noise "
        "off again. "
        "These rows are for looking at, not for publishing. Share ▾ saves everything that repeats "
        "this run but the table."
    )
    draw_program(query_program(run_settings.experiment), table)
    if table.trial is not None:
        st.caption(
            "The command measures the schema anew, with the run's repeat number and share of "
            "this budget. It may "
            "find another one than the trial did."
        )


def _download_help(unit: PrivacyUnit) -> str:
    """Return what the synthetic rows to download are."""
    if unit.row_totals:
        return (
            "As many people as the table has, from the first repeat, with invented ids. Rows of "
            "one person are alike only through the person's columns. Where successions are asked, "
            "they also follow these."
        )
    if unit.counts_people:
        return "One row for each person of the table, from the first repeat."
    return "As many rows as the table has, from the first repeat."


def _sample_csv(result: RunResult, unit: PrivacyUnit) -> str:
    generator = seeded_generators(result.summary.seed)[2]
    people_or_rows = result.summary.problem.n
    return sample_table(result.release, unit, people_or_rows, generator).to_csv(index=False)
