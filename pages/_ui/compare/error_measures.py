"""Choice of the error that the Compare page shows: largest, typical, one query, one group.

All are in percentage points.
"""

from collections.abc import Callable

import numpy as np
import streamlit as st

from dpcore.core.numbers import unit_noun
from dpcore.core.types import value_object
from dpcore.evaluation.run import Comparison, subgroup_errors

from ..charts.figure_frame import points_axis_title
from ..session import format_query_label, persistent_widget_args, printable_text
from .sweep_jobs import Dot, Sweep

MAX_LISTED_QUERIES = 2_000  # questions in the list to choose one from
K_MARGINAL_KIND = "K-marginal, points below 1,000"
ERROR_NAME_BY_KIND = {
    "largest error": "max_error",
    "typical error": "mean_error",
    "root mean square over questions": "rmse",
    "mean L1 distance of tables": "mean_l1",
    K_MARGINAL_KIND: None,
    "one question": None,
    "one group": None,
}


@value_object
class ErrorMeasure:
    """Error measure of the Compare page: an axis title and a number for each dot.

    `value_of_dot` gives the number, against the table or, with `population`, its population.
    `error_name` is that of a baseline's error; None where baselines have none.
    """

    axis_title: str
    value_of_dot: Callable[[Dot], float | None]
    error_name: str | None
    population: bool = False


def choose_measure(sweep: Sweep) -> ErrorMeasure:
    """Draw the widgets for an error measure; return the chosen measure."""
    kind = st.selectbox("Error of", list(ERROR_NAME_BY_KIND), key="measure", bind="query-params")
    if kind == "one question":
        return _choose_query_measure(sweep)
    if kind == "one group":
        return _choose_group_measure(sweep)
    if kind == K_MARGINAL_KIND:
        k_marginal_of_dot = _error_getter("k_marginal")

        def k_marginal_score(dot: Dot) -> float | None:
            percentage_points = k_marginal_of_dot(dot)
            return None if percentage_points is None else 1000 - percentage_points / 100

        return ErrorMeasure(kind, k_marginal_score, None)
    name = ERROR_NAME_BY_KIND[kind] or ""
    truth = "this table"
    if sweep.reference is not None:
        truth = st.segmented_control(
            "The truth is",
            [truth, "its population"],
            default=truth,
            required=True,
            key="truth",
            bind="query-params",
        )
    unit = points_axis_title(sweep.problem.n, unit_noun(sweep.problem.group))
    if truth == "this table":
        return ErrorMeasure(f"{kind}, {unit}", _error_getter(name), name)
    return ErrorMeasure(
        f"{kind} in the population, {unit}",
        _error_getter(f"population_{name}"),
        name,
        population=True,
    )


def _error_getter(name: str) -> Callable[[Dot], float | None]:
    def error_in_points(dot: Dot) -> float | None:
        value = dot.point.errors.get(name)
        return None if value is None else 100 * value

    return error_in_points


def _choose_query_measure(sweep: Sweep) -> ErrorMeasure:
    """Draw a choice of one workload query; return the measure of its error.

    The largest real shares come first in the list.
    """
    real = np.asarray(sweep.real_answers)
    workload = sweep.problem.workload  # type: ignore[union-attr]
    query_indices = np.argsort(-real, kind="stable")[:MAX_LISTED_QUERIES].tolist()
    names = {
        f"{printable_text(format_query_label(workload.label(j)), 120)} ({real[j]:.2%})": j
        for j in query_indices
    }
    j = names[
        st.selectbox(
            "Question",
            list(names),
            key=f"measured-question-{sweep.group.id}",
            **persistent_widget_args(),
        )
    ]

    def error_in_points(dot: Dot) -> float | None:
        return None if dot.answers is None else 100 * float(abs(dot.answers[j] - real[j]))

    return ErrorMeasure("error of one question, points", error_in_points, None)


def _choose_group_measure(sweep: Sweep) -> ErrorMeasure:
    """Draw a choice of one column value; return the measure of the error in that group.

    The error is how much the tables disagree about the group's members.
    """
    domain = sweep.problem.domain  # type: ignore[union-attr]
    column = st.selectbox(
        "Groups by",
        domain.names,
        format_func=printable_text,
        key=f"group-column-{sweep.group.id}",
        **persistent_widget_args(),
    )
    labels = domain.columns[domain.names.index(column)].labels
    label = st.selectbox(
        "Group",
        labels,
        format_func=printable_text,
        key=f"group-{sweep.group.id}-{column}",
        **persistent_widget_args(),
    )

    def disagreement_in_points(dot: Dot) -> float | None:
        if sweep.pair_workload is None or dot.pair_answers is None:
            return None
        real = sweep.real_pair_answers
        comparison = Comparison(sweep.pair_workload, real, dot.pair_answers)
        value = float(subgroup_errors(comparison, column).error[labels.index(label)])
        return None if np.isnan(value) else 100 * value

    return ErrorMeasure("disagreement about the group (points)", disagreement_in_points, None)
