"""Take a run along: pin it beside another, download rows and settings, copy the code that repeats it."""

import json
import shlex
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.algorithms.query_release.shared.optimal_noise import least_rmse
from dpcore.core.parameters import declared_parameters
from dpcore.core.provenance import Provenance
from dpcore.evaluation.run import ERROR_NAMES, seeded_generators
from dpcore.evaluation.sweeps.worker_pool import RunJob, RunResult
from dpcore.queries.parse_queries import join_column_names

from ..components import draw_heading, hide_in_stakeholder_view
from ..session import Table, session
from .run_settings import RunSettings

RMSE_RATIO_LABEL = "root mean square error ÷ least of any unbiased method"


@dataclass(eq=False)
class PinnedRunSlot:
    """The run A of a tab, if one is `pinned_run`: the version of its table, its result, its curve, and the least error.

    The last is the smallest root mean square error of any unbiased Gaussian release of what A was
    asked.
    """

    pinned_run: tuple[str, RunResult, pd.DataFrame, float | None] | None = None

    def close(self) -> None:
        """Unpin."""
        self.pinned_run = None


def least_unbiased_rmse(run_settings: RunSettings) -> float | None:
    """The line that no unbiased Gaussian release of these questions is below, in root mean square error, if known."""
    return least_rmse(
        run_settings.problem.workload, run_settings.budget, run_settings.problem.effective_n
    )


def pinned_result_and_curve(table: Table) -> tuple[RunResult, pd.DataFrame] | None:
    """The pinned run A and its curve, if one is pinned on this very table."""
    slot = session().get_or_create("pinned", PinnedRunSlot)
    return (
        slot.pinned_run[1:3]
        if slot.pinned_run is not None and slot.pinned_run[0] == table.version
        else None
    )


@hide_in_stakeholder_view
def draw_pin(table: Table, job: RunJob, run_settings: RunSettings, curve: pd.DataFrame) -> None:
    """The button that pins, and, with a run pinned, A beside B in one table."""
    draw_heading("Beside another run", Provenance.REAL_DATA)
    slot = session().get_or_create("pinned", PinnedRunSlot)
    with st.container(horizontal=True):
        if st.button("Pin this run as A", icon=":material/push_pin:"):
            slot.pinned_run = (
                table.version,
                job.results[0],
                curve,
                least_unbiased_rmse(run_settings),
            )
            st.rerun()
        if pinned_result_and_curve(table) is not None and st.button(
            "Unpin", icon=":material/close:"
        ):
            slot.close()
            st.rerun()
    if pinned_result_and_curve(table) is None:
        st.caption(
            "Pin this run, change a setting, and see both side by side here and in the charts "
            "above."
        )
        return
    _, result, _, least = slot.pinned_run  # type: ignore[misc]
    compared_runs = {
        "A (pinned)": (result, least),
        "B (now)": (job.results[0], least_unbiased_rmse(run_settings)),
    }
    columns = {
        name: _comparison_column(result.summary, least)
        for name, (result, least) in compared_runs.items()
    }
    st.dataframe(pd.DataFrame(columns))
    st.caption(
        "The last ratio compares with the least error of unbiased releases with Gaussian noise, "
        "for the same questions "
        "and budget. Below 1 the algorithm is better than raw noise, because answers support "
        "each other. The price is "
        "some bias."
    )


def _comparison_column(summary: dict[str, Any], least: float | None) -> dict[str, str]:
    settings = {name: _format_value(value) for name, value in summary["parameters"].items()}
    errors = {name: _format_value(summary["final"][name]) for name in ERROR_NAMES}
    errors |= {RMSE_RATIO_LABEL: _format_value(summary["final"]["rmse"] / least if least else None)}
    budget = {"ε": _format_value(summary["epsilon"]), "δ": _format_value(summary["delta"])}
    return {
        "algorithm": summary["algorithm"],
        **budget,
        **settings,
        **errors,
        "seconds": _format_value(summary["seconds"]),
    }


def _format_value(value: Any) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


@hide_in_stakeholder_view
def draw_downloads(table: Table, job: RunJob, run_settings: RunSettings) -> None:
    """Synthetic rows, the settings that repeat the run, and the code in two languages."""
    result = job.results[0]
    draw_heading("Download")
    settings = _repeat_settings(table, job, run_settings)
    with st.container(horizontal=True):
        st.download_button(
            "Synthetic rows (CSV)",
            lambda: _sample_csv(result),
            "synthetic.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
            help="As many rows as the table has, from the first repeat.",
        )
        st.download_button(
            "Settings (JSON)",
            json.dumps(settings, indent=2, ensure_ascii=False),
            "settings.json",
            "application/json",
            icon=":material/settings:",
            on_click="ignore",
            help="Everything that repeats this run but the table.",
        )
    st.caption(
        "Exploring can be repeated, so someone who knows the repeat number can take the noise "
        "off again. "
        "These rows are for looking at, not for publishing."
    )
    with st.expander("Show code", icon=":material/code:"):
        st.code(settings["command"], language="bash", wrap_lines=True)
        if table.trial is None:
            st.code(_python_code(table, settings), language="python")
        else:
            st.caption(
                "The command measures the schema anew, with the run's repeat number and share of "
                "this budget. It may "
                "find another one than the trial did."
            )


def _sample_csv(result: RunResult) -> str:
    generator = seeded_generators(result.summary["seed"])[2]
    return result.release.sample(result.summary["n"], generator).to_csv(index=False)


def _repeat_settings(table: Table, job: RunJob, run_settings: RunSettings) -> dict[str, Any]:
    """Everything that repeats the run but the table, and the command line that does."""
    task = job.task
    parameter_values = {
        p.name: getattr(task.algorithm, p.name) for p in declared_parameters(type(task.algorithm))
    }
    settings = {
        "columns": list(task.problem.domain.names),
        "queries": run_settings.query_texts,
        "algorithm": job.results[0].summary["algorithm"],
        "epsilon": task.budget.epsilon,
        "delta": task.budget.delta,
        "parameters": parameter_values,
        "seed": run_settings.seeds[0],
        "repeat": len(run_settings.seeds),
        "person": table.unit.person,
        "most_rows": table.unit.most_rows,
    }
    if run_settings.schema is not None:
        settings["schema_share"] = run_settings.schema.fraction
    options = [("--schema", "schema.json"), ("--columns", join_column_names(settings["columns"]))]
    options += [("--queries", text) for text in run_settings.query_texts]
    options += [("--algorithm", settings["algorithm"])]
    options += [("--epsilon", f"{settings['epsilon']:g}"), ("--delta", f"{settings['delta']:g}")]
    options += [("--set", f"{name}={v}") for name, v in parameter_values.items() if v is not None]
    if run_settings.schema is not None:
        options += [("--schema-share", repr(run_settings.schema.fraction))]
    options += [("--seed", str(settings["seed"])), ("--repeat", str(settings["repeat"]))]
    if table.unit.person is not None:
        options += [("--person", table.unit.person), ("--most-rows", str(table.unit.most_rows))]
    command = [
        "python",
        "-m",
        "dpcore",
        "run",
        _table_path(table),
        *(word for option in options for word in option),
    ]
    return settings | {"schema": table.schema, "command": shlex.join(command)}


def _table_path(table: Table) -> str:
    return table.name if table.uploaded else f"assets/{table.name}.csv"


def _python_code(table: Table, settings: dict[str, Any]) -> str:
    """The library calls that repeat the run."""
    arguments = ", ".join(
        f"{name}={value!r}" for name, value in settings["parameters"].items() if value is not None
    )
    table_expression = "table"
    if table.unit.person is not None:
        table_expression = (
            f"limit_rows(table, {table.unit.person!r}, {table.unit.most_rows}, domain.names)"
        )
    return f"""from dpcore import (
    ALGORITHMS, Budget, QueryRelease, Run, domain_from_json, limit_rows, read_json, read_queries, read_table,
)

domain = domain_from_json(read_json("schema.json")).project({settings["columns"]!r})
table = read_table({_table_path(table)!r}, format=domain.file)
rows = domain.encode({table_expression})
workload, notes = read_queries({settings["queries"]!r}, domain)
problem = QueryRelease(workload, rows.n, group={table.unit.most_rows})
algorithm = ALGORITHMS[{settings["algorithm"]!r}]({arguments})
run = Run(algorithm, problem, rows, Budget({settings["epsilon"]!r}, {settings["delta"]!r}), seed={settings["seed"]}).finish()
print(run.convergence[-1].empirical, run.spent, run.sample(5), sep="\\n")
"""
