"""What to click where the table is too small for its questions, each known to help by the plan."""

from dataclasses import replace
from functools import partial
from typing import Any

from streamlit.delta_generator import DeltaGenerator

from dpcore.accuracy.meaning_of_epsilon import Promise, format_times_in_100
from dpcore.accuracy.useful_changes import UsefulChanges
from dpcore.accuracy.usefulness import SuitableUses, planned_tables, suitable_uses
from dpcore.algorithms.algorithm import make_plan
from dpcore.algorithms.schema_measurement.split_budget import fit_split
from dpcore.core.types import Json, Texts, value_object

from ..components import EPSILON_OPTIONS, format_setting, question_choice
from ..jobs.table_changes import start_schema_change
from ..session import Table, session
from ..session.current_table import set_widget_value
from ..session.stakeholder_wall import PublicTable
from .run_settings import RunSettings


@value_object
class FoundChanges:
    """Columns, entries of coarser columns and an ε that help; None for what does not.

    `guess` is how often the promise at that ε lets someone guess right, in words.
    """

    columns: Texts | None
    coarser: dict[str, Json] | None
    epsilon: float | None
    guess: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing helps."""
        return self.columns is None and self.coarser is None and self.epsilon is None


def uses_of_plan(run_settings: RunSettings) -> SuitableUses:
    """Return what a release is good for, from the noise of its plan alone."""
    problem = run_settings.problem
    experiment = run_settings.experiment
    split = run_settings.split

    def compute() -> SuitableUses:
        if split is None:
            plan = make_plan(experiment.algorithm, problem, experiment.budget)
        else:
            plan = fit_split(experiment.algorithm, problem, split, exact=False)[1]
        return suitable_uses(planned_tables(problem, plan), problem.n, problem.group)

    return session().memoize_public("uses", _plan_key(run_settings), compute)


def uses_sentence(run_settings: RunSettings) -> str:
    """Return what a release is good for; where that is nothing, at which ε, and what to try."""
    uses = uses_of_plan(run_settings)
    if not uses.is_table_too_small:
        return uses.sentence
    epsilon = format_setting(run_settings.experiment.budget.epsilon)
    sentence = f"This table is too small for these questions at ε = {epsilon}."
    return sentence if _find_changes(run_settings).is_empty else f"{sentence} Try:"


def draw_useful_changes(
    table: Table | PublicTable,
    run_settings: RunSettings,
    container: DeltaGenerator,
    *,
    may_change_schema: bool,
) -> None:
    """Draw a button for each change that helps, in `container`; none where the answers are good."""
    if not uses_of_plan(run_settings).is_table_too_small:
        return
    changes = _find_changes(run_settings)
    if changes.is_empty:
        return
    container = container.container(horizontal=True, width="content", key="useful-changes")
    if changes.columns is not None:
        count = len(changes.columns)
        container.button(
            f"{count} {'column' if count == 1 else 'columns'}",
            key="useful-columns",
            on_click=question_choice.set_columns,
            args=(table, changes.columns),
            help="Fewer columns: those with the most values are left out.",
        )
    if changes.coarser is not None and may_change_schema:
        container.button(
            "Coarser bins",
            key="useful-bins",
            on_click=start_schema_change,
            args=(partial(_use_entries, changes.coarser),),
            help="Joins neighbouring numbers of the chosen columns. Data shows the new bins.",
        )
    if changes.epsilon is not None:
        container.button(
            f"ε = {format_setting(changes.epsilon)}",
            key="useful-epsilon",
            on_click=set_widget_value,
            args=("epsilon", changes.epsilon),
            help=(
                "Less noise, and a weaker promise: someone who knows everyone else guesses right "
                f"at most {changes.guess}."
            ),
        )


def _find_changes(run_settings: RunSettings) -> FoundChanges:
    """Return the smallest changes that help; none where the schema has to be measured first."""
    if run_settings.split is not None:
        return FoundChanges(None, None, None)
    experiment = run_settings.experiment
    budget = experiment.budget

    def compute() -> FoundChanges:
        search = UsefulChanges(experiment.algorithm, run_settings.problem, experiment.task.queries)
        larger = [epsilon for epsilon in EPSILON_OPTIONS if epsilon > budget.epsilon]
        epsilon = search.find_epsilon(budget.delta, larger)
        return FoundChanges(
            search.find_columns(budget),
            search.find_coarser_columns(budget),
            epsilon,
            "" if epsilon is None else _guess_text(run_settings, epsilon),
        )

    return session().memoize_public("useful-changes", _plan_key(run_settings), compute)


def _guess_text(run_settings: RunSettings, epsilon: float) -> str:
    """Return how often someone guesses right, at the most, after such a run at another ε."""
    algorithm = run_settings.experiment.algorithm
    budget = replace(run_settings.experiment.budget, epsilon=epsilon)
    plan = make_plan(algorithm, run_settings.problem, budget)
    promise = Promise.of_plan(plan, adaptive=algorithm.adaptive)
    return format_times_in_100(promise.max_guess_probability())


def _plan_key(run_settings: RunSettings) -> tuple[Any, ...]:
    problem = run_settings.problem
    experiment = run_settings.experiment
    return (
        problem.domain,
        experiment.task.queries,
        problem.effective_n,
        experiment.algorithm,
        experiment.budget,
        run_settings.split,
    )


def _use_entries(entries: dict[str, Json], target: Table, progress: Any) -> None:
    """Give a table these entries of its columns."""
    target.update_entries(entries, progress=progress)
