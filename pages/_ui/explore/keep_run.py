"""Take a run along: pin it beside another, download rows and settings, copy the code that repeats it."""

import json
import shlex
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.algorithms.query_release.shared.optimal_noise import least_rmse
from dpcore.core.parameters import parameters
from dpcore.core.provenance import Tag
from dpcore.evaluation.run import ERRORS, generators
from dpcore.evaluation.sweeps.worker_pool import PoolJob, Result
from dpcore.queries.parse_queries import join_names

from ..components import heading, peek
from ..session import Table, session
from .run_settings import Chosen

BELOW = "root mean square error ÷ least of any unbiased method"


@dataclass(eq=False)
class Pinned:
    """The run A of a tab, if one is `kept`: the version of its table, its result, its curve, and the least error.

    The last is the smallest root mean square error of any unbiased Gaussian release of what A was asked.
    """

    kept: tuple[str, Result, pd.DataFrame, float | None] | None = None

    def close(self) -> None:
        """Unpin."""
        self.kept = None


def least_error(chosen: Chosen) -> float | None:
    """The line that no unbiased Gaussian release of these questions is below, in root mean square error, if known."""
    return least_rmse(chosen.problem.workload, chosen.budget, chosen.problem.effective_n)


def pinned(table: Table) -> tuple[Result, pd.DataFrame] | None:
    """The pinned run A and its curve, if one is pinned on this very table."""
    slot = session().own("pinned", Pinned)
    return slot.kept[1:3] if slot.kept is not None and slot.kept[0] == table.version else None


@peek
def pin(table: Table, job: PoolJob, chosen: Chosen, curve: pd.DataFrame) -> None:
    """The button that pins, and, with a run pinned, A beside B in one table."""
    heading("Beside another run", Tag.PEEK)
    slot = session().own("pinned", Pinned)
    with st.container(horizontal=True):
        if st.button("Pin this run as A", icon=":material/push_pin:"):
            slot.kept = table.version, job.results[0], curve, least_error(chosen)
            st.rerun()
        if pinned(table) is not None and st.button("Unpin", icon=":material/close:"):
            slot.close()
            st.rerun()
    if pinned(table) is None:
        st.caption("Pin this run, change a setting, and see both side by side here and in the charts above.")
        return
    _, result, _, least = slot.kept  # type: ignore[misc]
    compared_runs = {"A (pinned)": (result, least), "B (now)": (job.results[0], least_error(chosen))}
    columns = {name: _facts(result.summary, least) for name, (result, least) in compared_runs.items()}
    st.dataframe(pd.DataFrame(columns))
    st.caption(
        "The last ratio compares with the least error of unbiased releases with Gaussian noise, for the same questions "
        "and budget. Below 1 the algorithm is better than raw noise, because answers support each other. The price is "
        "some bias."
    )


def _facts(summary: dict[str, Any], least: float | None) -> dict[str, str]:
    settings = {name: _short(value) for name, value in summary["parameters"].items()}
    errors = {name: _short(summary["final"][name]) for name in ERRORS}
    errors |= {BELOW: _short(summary["final"]["rmse"] / least if least else None)}
    budget = {"ε": _short(summary["epsilon"]), "δ": _short(summary["delta"])}
    return {"algorithm": summary["algorithm"], **budget, **settings, **errors, "seconds": _short(summary["seconds"])}


def _short(value: Any) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


@peek
def downloads(table: Table, job: PoolJob, chosen: Chosen) -> None:
    """Synthetic rows, the settings that repeat the run, and the code in two languages."""
    result = job.results[0]
    heading("Download")
    settings = _settings(table, job, chosen)
    with st.container(horizontal=True):
        st.download_button(
            "Synthetic rows (CSV)", lambda: _rows(result), "synthetic.csv", "text/csv", icon=":material/download:",
            on_click="ignore", help="As many rows as the table has, from the first repeat.",
        )  # fmt: skip
        st.download_button(
            "Settings (JSON)", json.dumps(settings, indent=2, ensure_ascii=False), "settings.json", "application/json",
            icon=":material/settings:", on_click="ignore", help="Everything that repeats this run but the table.",
        )  # fmt: skip
    st.caption(
        "Exploring can be repeated, so someone who knows the repeat number can take the noise off again. "
        "These rows are for looking at, not for publishing."
    )
    with st.expander("Show code", icon=":material/code:"):
        st.code(settings["command"], language="bash", wrap_lines=True)
        if table.trial is None:
            st.code(_python(table, settings), language="python")
        else:
            st.caption(
                "The command measures the schema anew, with the run's repeat number and share of this budget. It may "
                "find another one than the trial did."
            )


def _rows(result: Result) -> str:
    generator = generators(result.summary["seed"])[2]
    return result.release.sample(result.summary["n"], generator).to_csv(index=False)


def _settings(table: Table, job: PoolJob, chosen: Chosen) -> dict[str, Any]:
    """Everything that repeats the run but the table, and the command line that does."""
    task = job.task
    parameter_values = {p.name: getattr(task.algorithm, p.name) for p in parameters(type(task.algorithm))}
    settings = {
        "columns": list(task.problem.domain.names), "queries": chosen.texts,
        "algorithm": job.results[0].summary["algorithm"],
        "epsilon": task.budget.epsilon, "delta": task.budget.delta, "parameters": parameter_values,
        "seed": chosen.seeds[0], "repeat": len(chosen.seeds),
        "person": table.unit.person, "most_rows": table.unit.most_rows,
    }  # fmt: skip
    if chosen.schema is not None:
        settings["schema_share"] = chosen.schema.part
    options = [("--schema", "schema.json"), ("--columns", join_names(settings["columns"]))]
    options += [("--queries", text) for text in chosen.texts]
    options += [("--algorithm", settings["algorithm"])]
    options += [("--epsilon", f"{settings['epsilon']:g}"), ("--delta", f"{settings['delta']:g}")]
    options += [("--set", f"{name}={v}") for name, v in parameter_values.items() if v is not None]
    if chosen.schema is not None:
        options += [("--schema-share", repr(chosen.schema.part))]
    options += [("--seed", str(settings["seed"])), ("--repeat", str(settings["repeat"]))]
    if table.unit.person is not None:
        options += [("--person", table.unit.person), ("--most-rows", str(table.unit.most_rows))]
    command = ["python", "-m", "dpcore", "run", _file(table), *(word for option in options for word in option)]
    return settings | {"schema": table.schema, "command": shlex.join(command)}


def _file(table: Table) -> str:
    return table.name if table.uploaded else f"assets/{table.name}.csv"


def _python(table: Table, facts: dict[str, Any]) -> str:
    """The library calls that repeat the run."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in facts["parameters"].items() if value is not None)
    table_expression = "table"
    if table.unit.person is not None:
        table_expression = f"limit_rows(table, {table.unit.person!r}, {table.unit.most_rows}, domain.names)"
    return f"""from dpcore import (
    ALGORITHMS, Budget, QueryRelease, Run, domain_from_json, limit_rows, read_json, read_queries, read_table,
)

domain = domain_from_json(read_json("schema.json")).project({facts["columns"]!r})
table = read_table({_file(table)!r}, format=domain.file)
rows = domain.encode({table_expression})
workload, notes = read_queries({facts["queries"]!r}, domain)
problem = QueryRelease(workload, rows.n, group={table.unit.most_rows})
algorithm = ALGORITHMS[{facts["algorithm"]!r}]({arguments})
run = Run(algorithm, problem, rows, Budget({facts["epsilon"]!r}, {facts["delta"]!r}), seed={facts["seed"]}).finish()
print(run.records[-1].empirical, run.spent, run.sample(5), sep="\\n")
"""
