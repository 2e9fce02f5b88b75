"""Choice of the error that the Compare page shows, first what is needed, then those of experts.

Rows in a wrong cell are counted of 100 rows, all others are percentage points.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import QueryRelease
from dpcore.core.numbers import mean_if_complete, unit_noun
from dpcore.core.types import Array, by_name
from dpcore.evaluation.error_diagnosis import Baseline
from dpcore.evaluation.run import Comparison, subgroup_errors
from dpcore.evaluation.sweeps.frontier import summarise_by_epsilon

from ..charts.figure_frame import points_axis_title
from ..session import format_query_label, persistent_widget_args, printable_text
from .accuracy_goal import AccuracyGoal
from .sweep_jobs import Dot, Sweep

MAX_LISTED_QUERIES = 2_000  # questions in the list to choose one from
NEED_KIND = "what I need"
MISPLACED_KIND = "rows in a wrong cell"
LARGEST_KIND = "largest error"
RMSE_KIND = "root mean square over questions"
K_MARGINAL_KIND = "K-marginal, points below 1,000"
QUERY_KIND = "one question"
GROUP_KIND = "one group"
KINDS = (
    MISPLACED_KIND,
    LARGEST_KIND,
    NEED_KIND,
    RMSE_KIND,
    K_MARGINAL_KIND,
    QUERY_KIND,
    GROUP_KIND,
)
ERROR_NAME_BY_KIND = {MISPLACED_KIND: "misplaced", LARGEST_KIND: "largest", RMSE_KIND: "rmse"}


@by_name
class ErrorMeasure:
    """Error measure of the Compare page: its name, unit and a number for each dot.

    `value_of_dot` gives the number, in hundredths, against the table or, with `population`, its
    population. `error_name` is the name of the same error of a baseline, and `error_of_answers`
    computes it from a table's answers (m,); both are None where baselines have none. `is_need` says
    that it is the error that the goal is about: of that the worst repeat counts, as a goal is kept
    or not, and of all others the median.
    """

    name: str
    unit: str
    value_of_dot: Callable[[Dot], float | None]
    error_name: str | None = None
    error_of_answers: Callable[[Array], float | None] | None = None
    population: bool = False
    is_need: bool = False

    @property
    def axis_title(self) -> str:
        """The name and the unit, as the axis of a chart has them."""
        return f"{self.name}, {self.unit}"

    @property
    def short_unit(self) -> str:
        """The unit without what it comes to, in parentheses, as a number is followed by it."""
        return self.unit.partition(" (")[0]

    @property
    def repeat_text(self) -> str:
        """Which of the repeats counts, in words."""
        return "worst of the repeats" if self.is_need else "median of the repeats"

    def summarise(self, sweep: Sweep) -> pd.DataFrame:
        """Return the error of each setting, an algorithm at an ε, as `summarise_by_epsilon`."""
        summary = summarise_by_epsilon(sweep.error_table(self.value_of_dot))
        return summary.assign(error=summary["high"]) if self.is_need else summary

    def value_of_baseline(self, baseline: Baseline) -> float | None:
        """Return the same error of a baseline, in hundredths; None where it has none."""
        if self.error_name is not None:
            error = getattr(baseline.errors, self.error_name)
        elif self.error_of_answers is not None:
            error = mean_if_complete(
                [self.error_of_answers(answers) for answers in baseline.answers]
            )
        else:
            error = None
        return None if error is None else 100 * error


def choose_measure(
    sweep: Sweep, goal: AccuracyGoal, experts_container: DeltaGenerator
) -> ErrorMeasure:
    """Draw the widgets for an error measure; return the chosen measure."""
    kind = st.selectbox(
        "Error shown", KINDS, KINDS.index(NEED_KIND), key="measure", bind="query-params"
    )
    if kind == NEED_KIND:
        return need_measure(sweep, goal)
    with experts_container:
        if kind == QUERY_KIND:
            return _choose_query_measure(sweep)
        if kind == GROUP_KIND:
            return _choose_group_measure(sweep)
        if kind == K_MARGINAL_KIND:
            return _k_marginal_measure()
        return _choose_truth(sweep, kind)


def need_measure(sweep: Sweep, goal: AccuracyGoal) -> ErrorMeasure:
    """Return the measure that a goal is about: the largest error of the needed answers."""
    workload = sweep.problem.workload

    def largest_error_in_points(dot: Dot) -> float | None:
        error = sweep.error_of_need(goal, dot.answers)
        return None if error is None else 100 * error

    return ErrorMeasure(
        name=f"largest error of {goal.needed_text(workload)}",
        unit=_points_unit(sweep),
        value_of_dot=largest_error_in_points,
        error_of_answers=lambda answers: sweep.error_of_need(goal, answers),
        is_need=True,
    )


def misplaced_name(problem: QueryRelease) -> str:
    """Return what the headline error is called: without tables there are no cells."""
    if not problem.workload.tables:
        return "error of an answer on average"
    return f"{unit_noun(problem.group)} in a wrong cell"


def _points_unit(sweep: Sweep) -> str:
    return points_axis_title(sweep.problem.n, unit_noun(sweep.problem.group))


def _choose_truth(sweep: Sweep, kind: str) -> ErrorMeasure:
    """Draw a choice of the truth where there are two; return the measure of that kind."""
    error_name = ERROR_NAME_BY_KIND[kind]
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
    name = kind
    unit = _points_unit(sweep)
    if kind == MISPLACED_KIND:
        name = misplaced_name(sweep.problem)
        unit = "of 100" if sweep.problem.workload.tables else unit
    if truth == "this table":
        return ErrorMeasure(
            name=name, unit=unit, value_of_dot=_error_getter(error_name), error_name=error_name
        )
    return ErrorMeasure(
        name=f"{name} in the population",
        unit=unit,
        value_of_dot=_error_getter(f"population_{error_name}"),
        error_name=error_name,
        population=True,
    )


def _k_marginal_measure() -> ErrorMeasure:
    """Return the measure of how far the K-marginal score is below its best, 1,000."""
    k_marginal_of_dot = _error_getter("k_marginal")

    def points_below_best(dot: Dot) -> float | None:
        percentage_points = k_marginal_of_dot(dot)
        return None if percentage_points is None else 1000 - percentage_points / 100

    name, _, unit = K_MARGINAL_KIND.partition(", ")
    return ErrorMeasure(name=name, unit=unit, value_of_dot=points_below_best)


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

    def error_of_answers(answers: Array) -> float:
        return float(abs(answers[j] - real[j]))

    def error_in_points(dot: Dot) -> float | None:
        return None if dot.answers is None else 100 * error_of_answers(dot.answers)

    return ErrorMeasure(
        name="error of one question",
        unit=_points_unit(sweep),
        value_of_dot=error_in_points,
        error_of_answers=error_of_answers,
    )


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

    return ErrorMeasure(
        name="disagreement about the group", unit="points", value_of_dot=disagreement_in_points
    )
