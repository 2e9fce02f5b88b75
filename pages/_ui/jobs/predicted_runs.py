"""Errors predicted before a release: its plan is run on tables that are drawn from the schema."""

from collections.abc import Hashable
from contextlib import suppress
from typing import Any

from dpcore import InputError
from dpcore.algorithms.algorithm import forecast_seconds_and_bytes
from dpcore.core.types import Json
from dpcore.evaluation.predicted_errors import (
    PUBLIC_BASIS,
    PredictedErrors,
    draw_public_tables,
    simulation_repeats,
)
from dpcore.evaluation.run import FINAL_STEP_ONLY
from dpcore.problems import QueryRelease

from ..session import session
from .job_group import PlannedRun, tab_job_group
from .job_watcher import wait_or_draw_progress


def predict_before_release(
    problem: QueryRelease, task: dict[str, Any], key: Hashable
) -> Json | None:
    """Return the predicted errors of a plan in JSON; None while they are simulated, or without any.

    Draws progress, and Cancel, while they are simulated. No row of the table is read.

    Args:
        problem: What would be released.
        task: The algorithm, the budget and its split, as the pool's JobSpec takes them.
        key: What makes it another plan.

    """
    group = tab_job_group("predicted-errors")
    if group.requested != key:
        tables = session().memoize(
            "public-tables",
            (problem.domain, problem.n),
            lambda: draw_public_tables(problem.domain, problem.n),
        )
        seconds = 0.0
        with suppress(InputError):  # the runs themselves say why
            seconds = forecast_seconds_and_bytes(task["algorithm"], problem, task["budget"])[0]
        repeats = simulation_repeats(seconds, len(tables))
        run_task = task | {
            "problem": problem,
            "seeds": tuple(range(repeats)),
            "every": FINAL_STEP_ONLY,
        }
        group.start(
            key,
            [PlannedRun(i, rows, run_task, seconds * repeats) for i, rows in enumerate(tables)],
        )
    if not wait_or_draw_progress(group, "predicted-errors"):
        return None
    errors = [result.summary.query_errors for _, result in group.results]
    if len(group.results) < len(group.jobs) or not errors:
        return None
    predicted = PredictedErrors.of_runs(errors, problem.workload, len(group.jobs), PUBLIC_BASIS)
    return predicted.to_json()
