"""What a tab has chosen as a project: its table's schema and decisions, and its last experiment."""

import json
from dataclasses import dataclass, replace

import streamlit as st

from dpcore import Budget, QueryRelease
from dpcore.algorithms import algorithms_for_problem
from dpcore.evaluation.experiment import Experiment, QueryTask
from dpcore.evaluation.project import PROJECT_FILE, TYPED, Project

from ..components.parameter_widgets import DEFAULT_REPEATS, selected_budget
from ..components.program_panel import table_file_name
from ..components.question_choice import first_columns
from ..components.tab_experiment import ExperimentSlot, experiment_slot
from ..session import is_public_host, is_public_table, session, visible_table
from ..session.release_ledger import find_ledger_path
from ..session.session import Session
from ..session.stakeholder_wall import PublicTable, public_table_of
from ..session.table import Table

SAVE_HELP = (
    "Schema, who is protected, questions, algorithm, budget and your decisions. No row is in it."
)
INFERRED_TEXT = "Its schema has values that were taken from your data: share the file with care."
NOTHING_TO_SAVE_TEXT = "The schema rests on the data, so this view saves no project."


@dataclass(frozen=True, kw_only=True)
class TypedChoices:
    """What a person entered beside the schema: the budget, a reason, and the ledger's folder."""

    budget: Budget
    reason: str
    ledger: str


def draw_save_button() -> None:
    """Draw the button that saves the tab's project; its file is written when it is pressed."""
    table = visible_table()
    if not table.schema:
        st.caption(NOTHING_TO_SAVE_TEXT)
        return
    tab_session = session()
    slot = experiment_slot()
    in_view = is_public_table(table)
    choices = _typed_choices(in_view=in_view)
    st.download_button(
        "Save project",
        lambda: _project_text(tab_session, slot, choices, in_view=in_view),
        PROJECT_FILE,
        "application/json",
        on_click="ignore",
        icon=":material/save:",
        help=SAVE_HELP,
    )
    if table.is_schema_inferred:
        st.caption(INFERRED_TEXT)


def project_of_table(
    table: Table | PublicTable, experiment: Experiment | None, choices: TypedChoices
) -> Project:
    """Return the project of a table: the experiment on it, or that which Explore begins with."""
    if experiment is None:
        experiment = _first_experiment(table, choices.budget)
    columns = tuple(name for name in experiment.task.columns if name in table.entries)
    task = replace(
        experiment.task,
        table=table_file_name(table),
        schema=table.schema,
        columns=columns,
        unit=table.unit,
    )
    if is_public_table(table):  # which has no schema but one that a person entered
        origins = dict.fromkeys(table.entries, TYPED)
        kinds_confirmed = True
        has_data_entries = False
    else:
        origins = {name: origin for name, origin in table.origins.items() if name in table.entries}
        kinds_confirmed = table.kinds_confirmed
        has_data_entries = table.has_data_entries
    return Project(
        experiment=replace(experiment, task=task),
        origins=origins,
        kinds_confirmed=kinds_confirmed,
        has_data_entries=has_data_entries,
        reason=choices.reason,
        ledger=choices.ledger,
    )


def _typed_choices(*, in_view: bool) -> TypedChoices:
    """Return what was entered in this tab; the stakeholder view keeps reasons and folders back."""
    reason = ""
    ledger = ""
    if not in_view:
        reason = " ".join(st.session_state.get("reason", "").split())
    ledger_path = None if in_view or is_public_host() else find_ledger_path()
    if ledger_path is not None:
        ledger = str(ledger_path.parent)
    return TypedChoices(budget=selected_budget(), reason=reason, ledger=ledger)


def _project_text(
    tab_session: Session, slot: ExperimentSlot, choices: TypedChoices, *, in_view: bool
) -> str:
    """Return the file of a tab's project; empty where its table was forgotten meanwhile."""
    if tab_session.table is None:
        return ""
    table = public_table_of(tab_session.table) if in_view else tab_session.table
    project = project_of_table(table, slot.experiment, choices)
    return json.dumps(project.to_json(), indent=2, ensure_ascii=False)


def _first_experiment(table: Table | PublicTable, budget: Budget) -> Experiment:
    """Return the experiment that Explore begins with on a table."""
    names: list[str] = []
    if table.domain is not None:
        names = first_columns(table, table.domain, may_pair=True)
    column_count = len(names or table.entries)
    algorithm_class = next(iter(algorithms_for_problem(QueryRelease).values()))
    task = QueryTask(
        table=table_file_name(table),
        schema=table.schema,
        queries=("marginals:2" if column_count > 1 else "marginals:1",),
        columns=tuple(names),
    )
    return Experiment(task=task, algorithm=algorithm_class(), budget=budget, repeat=DEFAULT_REPEATS)
