"""Explore in the stakeholder view of a private table: predictions from public numbers.

They follow from the plan alone.
"""

import streamlit as st

from dpcore.accuracy.meaning_of_epsilon import guess_tile_texts
from dpcore.accuracy.promise_with_schema import promise_of
from dpcore.accuracy.usefulness import planned_tables, promised_error
from dpcore.algorithms.algorithm import make_plan
from dpcore.core.numbers import unit_noun
from dpcore.core.provenance import Provenance
from dpcore.privacy.accounting import Plan, budget_warnings
from dpcore.release import tiles as tiled

from ..components import draw_heading, result_panels, show_tiles
from ..components.verdict_tiles import UNKNOWN_ERROR_TILE
from ..jobs.predicted_runs import predict_before_release
from ..session import Table, escape_markdown, show_left_out_notice
from ..session.stakeholder_wall import PublicTable, predicted_size_note
from .run_settings import RunSettings
from .useful_changes import draw_useful_changes, uses_sentence


def draw_predicted_panel(table: PublicTable, run_settings: RunSettings) -> None:
    """Draw the tiles of a plan that was not run, what it settles on, and what it would use."""
    plan = draw_predicted_verdict(table, run_settings)
    for caution in budget_warnings(run_settings.experiment.budget, run_settings.problem.n):
        st.warning(escape_markdown(caution, 300))
    if predicted_size_note(table):
        st.caption(predicted_size_note(table))
    show_left_out_notice()
    draw_heading("What was chosen, and what it would use", Provenance.PUBLIC)
    result_panels.draw_plan_tables(plan.settings, plan.planned_events)


def draw_predicted_verdict(table: Table | PublicTable, run_settings: RunSettings) -> Plan:
    """Draw the tiles of a plan that was not run, from public numbers; return the plan."""
    problem = run_settings.problem
    algorithm = run_settings.experiment.algorithm
    budget = run_settings.experiment.budget
    plan = make_plan(algorithm, problem, budget)
    planned = planned_tables(problem, plan)
    experiment = run_settings.experiment
    task = {"algorithm": algorithm, "budget": budget, "split": run_settings.split}
    predicted = predict_before_release(
        problem, task, (problem.domain, problem.n, experiment, run_settings.split)
    )
    noun = unit_noun(problem.group)
    tiles = [
        *tiled.all_predicted_tiles(predicted, problem.n, noun),
        *tiled.promised_error_tile(promised_error(planned, problem.workload), problem.n, noun),
    ] or [UNKNOWN_ERROR_TILE]
    promise = promise_of(algorithm, problem, budget, run_settings.split)
    with st.container(key="verdict"):
        uses_container, _ = show_tiles(
            [*tiles, guess_tile_texts(promise.max_guess_probability())],
            uses_sentence(run_settings),
        )
        draw_useful_changes(table, run_settings, uses_container, may_change_schema=False)
    return plan
