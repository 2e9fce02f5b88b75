"""What "error" means on the Compare page: the largest, the typical, one question, one group; in points."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from dpcore.core.numbers import noun
from dpcore.core.types import value_object
from dpcore.evaluation.run import Comparison, subgroups

from ..charts.figure_frame import in_points
from ..session import clean, question, shared
from .sweep_jobs import Dot, Sweep

MOST_LISTED = 2_000  # questions in the list to choose one from
BELOW = "K-marginal, points below 1,000"
KINDS = {
    "largest error": "max_error",
    "typical error": "mean_error",
    "root mean square over questions": "rmse",
    "mean L1 distance of tables": "mean_l1",
    BELOW: None,
    "one question": None,
    "one group": None,
}


@value_object
class Measure:
    """A number for each dot: `words` for the axis, `of` the dot, against the table or its `population`.

    `name` is that of a baseline's error; None where baselines have none.
    """

    words: str
    of: Callable[[Dot], float | None]
    name: str | None
    population: bool = False


def choose(sweep: Sweep) -> Measure:
    """The widgets, and the measure they say."""
    kind = st.selectbox("Error of", list(KINDS), key="measure", bind="query-params")
    if kind == "one question":
        return _one_question(sweep)
    if kind == "one group":
        return _one_group(sweep)
    if kind == BELOW:
        k_marginal_of_dot = _of("k_marginal")
        return Measure(kind, lambda dot: None if (k := k_marginal_of_dot(dot)) is None else 1000 - k / 100, None)
    name, truth = KINDS[kind] or "", "this table"
    if sweep.beside is not None:
        truth = st.segmented_control(
            "The truth is", [truth, "its population"], default=truth, required=True, key="truth", bind="query-params"
        )
    unit = in_points(sweep.problem.n, noun(sweep.problem.group))
    if truth == "this table":
        return Measure(f"{kind}, {unit}", _of(name), name)
    return Measure(f"{kind} in the population, {unit}", _of(f"population_{name}"), name, population=True)


def _of(name: str) -> Callable[[Dot], float | None]:
    def of(dot: Dot) -> float | None:
        value = dot.point.errors.get(name)
        return None if value is None else 100 * value

    return of


def _one_question(sweep: Sweep) -> Measure:
    """One query of the workload, the largest real shares first in the list."""
    real, workload = np.asarray(sweep.real), sweep.problem.workload  # type: ignore[union-attr]
    query_indices = np.argsort(-real, kind="stable")[:MOST_LISTED].tolist()
    names = {f"{clean(question(workload.label(j)), 120)} ({real[j]:.2%})": j for j in query_indices}
    j = names[st.selectbox("Question", list(names), key=f"measured-question-{sweep.id}", **shared())]

    def of(dot: Dot) -> float | None:
        return None if dot.answers is None else 100 * float(abs(dot.answers[j] - real[j]))

    return Measure("error of one question, points", of, None)


def _one_group(sweep: Sweep) -> Measure:
    """One value of one column: how much the tables disagree about its members."""
    domain = sweep.problem.domain  # type: ignore[union-attr]
    column = st.selectbox("Groups by", domain.names, format_func=clean, key=f"group-column-{sweep.id}", **shared())
    labels = domain.columns[domain.names.index(column)].labels
    label = st.selectbox("Group", labels, format_func=clean, key=f"group-{sweep.id}-{column}", **shared())

    def of(dot: Dot) -> float | None:
        if sweep.pairs is None or dot.pairs is None:
            return None
        comparison = Comparison(sweep.pairs, sweep.real_pairs, dot.pairs)  # type: ignore[arg-type]
        value = float(subgroups(comparison, column).error[labels.index(label)])
        return None if np.isnan(value) else 100 * value

    return Measure("disagreement about the group (points)", of, None)
