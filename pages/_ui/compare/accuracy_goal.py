"""What is near enough: which answers, how far off at most, in which share of releases."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from dpcore.core.types import Array, Texts, by_name
from dpcore.queries import Marginals, Workload

from ..session import distinct_labels, persistent_widget_args, printable_text

TOLERANCE_OPTIONS = [0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1]
# Beyond what may be wanted: said of a table for which nothing on the slider is reached.
WIDE_TOLERANCES = [0.15, 0.2, 0.3, 0.5, 0.7, 1.0]
RELEASE_SHARES = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999]
MAX_LISTED_TABLES = 2_000  # tables in the list to choose the needed one from
ALL_ANSWERS: Texts = ()


@by_name
class AccuracyGoal:
    """The goal that the answers of one table, or all, are within a tolerance.

    `columns` are those of the table, and `ALL_ANSWERS` stands for everything that is asked. `share`
    is the share of releases in which it has to be so.
    """

    columns: Texts
    tolerance: float
    share: float

    def needed_slice(self, workload: Workload) -> slice | None:
        """Return the slice of the needed answers; None if the workload does not ask them."""
        if self.columns == ALL_ANSWERS:
            return slice(0, workload.m)
        return tables_by_columns(workload).get(self.columns)

    def needed_text(self, workload: Workload) -> str:
        """Return the needed answers in words."""
        if self.columns == ALL_ANSWERS:
            return f"all {workload.m:,} answers"
        return table_label(self.columns)

    def largest_error(self, answers: Array, real: Array, workload: Workload) -> float | None:
        """Return the largest error of the needed answers; None if they are not asked."""
        needed = self.needed_slice(workload)
        if needed is None:
            return None
        return float(np.abs(answers[needed] - real[needed]).max())


def tables_by_columns(workload: Workload) -> Mapping[Texts, slice]:
    """Return the slice of the answers of each asked table, by the names of its columns."""
    slices = {}
    names = workload.domain.names
    for part, part_slice in workload.parts:
        if not isinstance(part, Marginals):
            continue
        for axes, _, table in part.layout:
            columns = tuple(names[axis] for axis in axes)
            start = part_slice.start
            slices[columns] = slice(start + table.start, start + table.stop)
    return slices


def table_label(columns: Texts) -> str:
    """Return the name of a table, safe to print."""
    return " × ".join(printable_text(name, 24) for name in columns)


def choose_goal(workload: Workload) -> AccuracyGoal:
    """Draw the sentence of what is needed, as three widgets; return the goal."""
    with st.container(key="asked-what"):
        table_column, tolerance_column, share_column = st.columns([1.2, 1, 1])
    columns_by_label = _columns_by_label(workload)
    label = table_column.selectbox(
        "I need",
        list(columns_by_label),
        key="ask-table",
        help="The answers that have to be near enough. Columns and questions are chosen in the "
        "sidebar.",
        **persistent_widget_args(),
    )
    tolerance = tolerance_column.select_slider(
        "within",
        TOLERANCE_OPTIONS,
        0.01,
        format_tolerance,
        key="ask-tolerance",
        help="1 point is 1% of the table. An answer says how much of it has a combination "
        "of values.",
        bind="query-params",
    )
    share = share_column.select_slider(
        "in",
        RELEASE_SHARES,
        0.95,
        format_release_share,
        key="ask-share",
        bind="query-params",
    )
    return AccuracyGoal(columns=columns_by_label[label], tolerance=tolerance, share=share)


def _columns_by_label(workload: Workload) -> dict[str, Texts]:
    """Return what may be needed, by its name in the list: every answer, or one table's."""
    names = distinct_labels(workload.domain.names)
    columns_by_label = {"every answer": ALL_ANSWERS}
    for columns in [*tables_by_columns(workload)][:MAX_LISTED_TABLES]:
        # a column may be called as the first choice is
        columns_by_label.setdefault(" × ".join(names[name] for name in columns), columns)
    return columns_by_label


def smallest_tolerance_above(error: float) -> float:
    """Return the smallest round tolerance that an error keeps; 1 if it exceeds all."""
    return next((t for t in [*TOLERANCE_OPTIONS, *WIDE_TOLERANCES] if error <= t), 1.0)


def format_tolerance(tolerance: float) -> str:
    """Return an error tolerance in points, as the slider shows it."""
    noun = "point" if tolerance == 0.01 else "points"
    return f"{100 * tolerance:g} {noun}"


def format_release_share(share: float) -> str:
    """Return a share of releases as the slider shows it."""
    return f"{100 * share:g}% of releases"
