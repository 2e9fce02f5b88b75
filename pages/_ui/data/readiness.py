"""Forecasts from public numbers: cells, memory, time, and which algorithms can run."""

import streamlit as st

from dpcore import Budget, Domain, InputError, Marginals, QueryRelease
from dpcore.accuracy.work_forecast import forecast_affordable_run, format_bytes, format_seconds
from dpcore.algorithms import algorithms_for_problem
from dpcore.data.sources.gathered_counts import count_violations
from dpcore.schema.constraints import Constraint

from ..components import hide_in_stakeholder_view
from ..session import Table, printable_text, session
from ..session.current_table import format_cell_count

FORECAST_BUDGET = Budget(1.0, 1e-9)


def draw_forecasts(table: Table) -> None:
    """Draw each algorithm's forecast for a run over all pairs of columns, or its refusal."""
    domain = table.domain
    n = table.n
    st.text(
        f"{len(domain.names)} columns in use, {format_cell_count(domain.size)} combinations of "
        "their values"
    )
    max_rows = table.unit.group
    rows = session().memoize(
        "forecasts", (table.version, n, max_rows), lambda: _forecasts(domain, n, max_rows)
    )
    st.dataframe(rows, hide_index=True)
    st.caption(
        "All pairs of columns, ε = 1, δ = 1e-9, on one core, from the number of combinations alone."
    )


def _forecasts(domain: Domain, n: int, most_rows: int) -> list[dict[str, str]]:
    """Return one line per algorithm: whether it can run on all pairs, its time and memory.

    The queries are listed once, as 200 columns have 19,900 pairs.
    """
    problem = QueryRelease(Marginals.all(domain, min(2, len(domain.names))), n, most_rows)
    rows = []
    for name, cls in algorithms_for_problem(QueryRelease).items():
        line = {"algorithm": cls.about.title, "name in code": name}
        try:
            seconds, size = forecast_affordable_run(cls(), problem, FORECAST_BUDGET)
            rows.append(
                line
                | {
                    "can serve it": "yes",
                    "time": format_seconds(seconds),
                    "memory": format_bytes(size),
                }
            )
        except InputError as error:
            rows.append(line | {"can serve it": f"no: {error}", "time": "–", "memory": "–"})
    return rows


@hide_in_stakeholder_view
def draw_policy_counts(table: Table) -> None:
    """Draw how many raw texts each policy affects, and how many rows break each constraint.

    The policies are those for missing and out-of-range values.
    """
    rows = []
    if table.large_table is not None:
        st.caption(
            f"Of {table.inspected_rows_text}; what the schema refuses of any row is said when "
            "all of them are counted."
        )
    for column in table.domain.columns:
        missing, out_of_range = column.count_missing_and_outside(table.column_cells(column.name))
        policy = {"missing": column.missing, "out of range": column.out_of_range}
        rows.append(
            {
                "column": column.name,
                "missing values": missing,
                "values out of range": out_of_range,
                **policy,
            }
        )
    st.dataframe(rows, hide_index=True)
    if table.domain.constraints:
        broken_counts = _rows_breaking_constraints(table)
        lines = [
            {"constraint": printable_text(c.description), "rows that break it": count}
            for c, count in broken_counts
        ]
        st.dataframe(lines, hide_index=True)
        st.caption("They are counted as they are. No synthetic row is like them.")


def _rows_breaking_constraints(table: Table) -> list[tuple[Constraint, int]]:
    """Return the number of rows that break each constraint.

    Of a large table it is known where that was counted, and its columns have few cells.
    """
    if table.large_table is not None:
        counts = table.counts.get(table.domain.names)
        return [] if counts is None else count_violations(table.domain, counts)
    constrained_names = {
        name for constraint in table.domain.constraints for name in constraint.columns
    }
    names = tuple(name for name in table.domain.names if name in constrained_names)
    return table.domain.project(names).count_violations(table.encoded_rows(names))
