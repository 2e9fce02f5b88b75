"""Forecasts from public numbers: how many cells, how much memory and time, which algorithms can serve them."""

import streamlit as st

from dpcore import Budget, Domain, InputError, Marginals, QueryRelease
from dpcore.accuracy.work_forecast import affordable, in_bytes, in_seconds
from dpcore.algorithms import solving
from dpcore.data.sources.gathered_counts import broken
from dpcore.schema.constraints import Constraint

from ..components import peek
from ..session import Table, clean, session
from ..session.current_table import size_words

USUAL = Budget(1.0, 1e-9)


def readiness(table: Table) -> None:
    """For every algorithm what a run over all columns' pairs will take, or why it cannot."""
    domain, n = table.domain, table.n
    st.text(f"{len(domain.names)} columns in use, {size_words(domain.size)} combinations of their values")
    max_rows = table.unit.most_rows
    rows = session().memo("forecasts", (table.version, n, max_rows), lambda: _forecasts(domain, n, max_rows))
    st.dataframe(rows, hide_index=True)
    st.caption("All pairs of columns, ε = 1, δ = 1e-9, on one core, from the number of combinations alone.")


def _forecasts(domain: Domain, n: int, most_rows: int) -> list[dict[str, str]]:
    """One line an algorithm; the questions are listed once, as 200 columns have 19,900 pairs."""
    problem = QueryRelease(Marginals.all(domain, min(2, len(domain.names))), n, most_rows)
    rows = []
    for name, cls in solving(QueryRelease).items():
        line = {"algorithm": cls.about.title, "name in code": name}
        try:
            seconds, size = affordable(cls(), problem, USUAL)
            rows.append(line | {"can serve it": "yes", "time": in_seconds(seconds), "memory": in_bytes(size)})
        except InputError as error:
            rows.append(line | {"can serve it": f"no: {error}", "time": "–", "memory": "–"})
    return rows


@peek
def policies(table: Table) -> None:
    """How many cells each policy for missing and out-of-range values concerns, and how many records each constraint."""
    rows = []
    if table.large is not None:
        st.caption(f"Of {table.looked_at}; what the schema refuses of any row is said when all of them are counted.")
    for column in table.domain.columns:
        missing, out_of_range = column.findings(table.cells(column.name))
        policy = {"missing": column.missing, "out of range": column.out_of_range}
        rows.append({"column": column.name, "missing values": missing, "values out of range": out_of_range, **policy})
    st.dataframe(rows, hide_index=True)
    if table.domain.constraints:
        broken_counts = _broken(table)
        lines = [{"constraint": clean(c.words), "rows that break it": count} for c, count in broken_counts]
        st.dataframe(lines, hide_index=True)
        st.caption("They are counted as they are. No synthetic row is like them.")


def _broken(table: Table) -> list[tuple[Constraint, int]]:
    """How many records break each constraint; of a large table where it was counted, and its columns have few cells."""
    if table.large is not None:
        counts = table.counts.get(table.domain.names)
        return [] if counts is None else broken(table.domain, counts)
    constrained_names = {name for constraint in table.domain.constraints for name in constraint.columns}
    names = tuple(name for name in table.domain.names if name in constrained_names)
    return table.domain.project(names).broken(table.rows(names))
