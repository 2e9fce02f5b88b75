"""Settings of Explore in the sidebar: sliders first, then algorithm and queries, then others."""

import streamlit as st

from dpcore import ALGORITHMS, Budget, BudgetError, InputError, QueryRelease
from dpcore.accuracy.meaning_of_epsilon import describe_delta
from dpcore.accuracy.work_forecast import (
    MIN_SECONDS_TO_MENTION,
    describe_forecast,
    forecast_affordable_run,
)
from dpcore.algorithms.algorithm import make_plan
from dpcore.algorithms.schema_measurement.split_budget import SplitBudget
from dpcore.core.parameters import build_from_texts
from dpcore.core.types import by_name
from dpcore.evaluation.experiment import Experiment

from ..components import deployments, parameter_widgets, question_choice
from ..components.tab_experiment import store_experiment
from ..session import Table, session

ALPHA = "α"
CURVE_AXES = ("step", "ε used")  # what a curve can be drawn against


@by_name
class RunSettings:
    """An experiment, its problem about the table of this tab, and whether to run it again.

    `split` is how the budget is split with the table's schema, where that is measured.
    One run takes about `predicted_seconds`, by its forecast.
    """

    experiment: Experiment
    problem: QueryRelease
    run_again: bool
    split: SplitBudget | None = None
    predicted_seconds: float | None = None


def choose_run_settings(table: Table) -> RunSettings:
    """Draw the settings' widgets; return the chosen settings.

    Raises InputError for a choice that cannot be run; the widgets that were drawn stay.
    """
    with st.sidebar:
        sliders = st.container(key="sliders", gap=None)
        with sliders:
            epsilon = parameter_widgets.epsilon_slider()
            _draw_slider_ends("epsilon", "stronger promise", "more accurate")
            _draw_slider_ends("finer", "<b>Finer settings</b>, for experts", "")
            delta_place, alpha_place, alpha_note = (st.container(gap=None) for _ in range(3))
        promise_container = st.container()
        name = parameter_widgets.algorithm_selectbox()
        more_expander = st.expander("More", icon=":material/tune:")
        begin_with = question_choice.first_columns(table, table.domain, may_pair=True)
        has_fewer_columns = len(begin_with) < len(table.domain.names)
        with st.expander(
            "Columns, questions", expanded=has_fewer_columns, icon=":material/table_chart:"
        ):
            workload, texts = question_choice.choose_workload(table, may_pair=True)
        problem = QueryRelease(workload, table.n, table.unit.group)
        budget = Budget(
            epsilon,
            parameter_widgets.delta_slider(
                delta_place, must_be_zero=_promises_only_pure(name, problem, epsilon)
            ),
        )
        with delta_place:
            _draw_slider_ends("delta", describe_delta(budget.delta), "")
        promise_container.page_link(
            "pages/guarantee.py", label="What does this ε mean?", icon=":material/verified_user:"
        )
        with more_expander:
            deployments.draw_deployments(epsilon)
            seed, repeat = parameter_widgets.seed_inputs()
            settings = parameter_widgets.setting_widgets(
                name, problem, budget, {ALPHA: (alpha_place, alpha_note)}, more_expander
            )
            again = st.button("Run again", icon=":material/replay:")
        if "alpha" in settings:
            with alpha_place:
                _draw_slider_ends("alpha", "keeps details", "smooths more")
    algorithm = build_from_texts(ALGORITHMS[name], settings)
    key = (problem.domain, problem.n, problem.group, tuple(texts), algorithm, budget)
    seconds, size = session().memoize_public(
        "forecast", key, lambda: forecast_affordable_run(algorithm, problem, budget)
    )
    if seconds >= MIN_SECONDS_TO_MENTION:
        st.caption(f"Forecast: {describe_forecast(seconds, size)}, from public numbers.")
    split = None if table.trial is None else table.trial.split_budget(budget)
    schema_share = None if split is None else split.share
    task = question_choice.task_of_table(table, problem.domain.names, texts, schema_share)
    experiment = Experiment(task=task, algorithm=algorithm, budget=budget, seed=seed, repeat=repeat)
    store_experiment(experiment, table)
    return RunSettings(
        experiment=experiment,
        problem=problem,
        run_again=again,
        split=split,
        predicted_seconds=seconds,
    )


def _draw_slider_ends(slider_key: str, left_text: str, right_text: str) -> None:
    """Draw two captions below a slider, at its ends."""
    with st.container(key=f"ends-{slider_key}"):
        st.html(f"<p><span>{left_text}</span><span>{right_text}</span></p>")


def _promises_only_pure(name: str, problem: QueryRelease, epsilon: float) -> bool:
    """Return whether this algorithm can be planned at δ = 0 only."""
    return not _can_plan(name, problem, Budget(epsilon, 1e-9)) and _can_plan(
        name, problem, Budget(epsilon, 0.0)
    )


def _can_plan(name: str, problem: QueryRelease, budget: Budget) -> bool:
    try:
        make_plan(ALGORITHMS[name](), problem, budget)
    except (BudgetError, InputError):
        return False
    return True
