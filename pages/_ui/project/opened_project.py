"""A project that a person opens: its file is checked, then its schema and settings are taken.

The schema goes to the table in use where that has the columns, else it waits for such a table. The
settings go to Explore by a link, as those of a shared link do.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import DeletedFile

from dpcore import InputError, QueryRelease, read_json
from dpcore.algorithms import algorithms_for_problem
from dpcore.algorithms.algorithm import Algorithm
from dpcore.core.job import StatusCallback
from dpcore.core.parameters import Param, declared_parameters, parameter_values
from dpcore.evaluation.experiment import Experiment
from dpcore.evaluation.project import MAX_PROJECT_BYTES, Project
from dpcore.schema.column_readings import positions_of_name

from ..components.parameter_widgets import (
    AUTO,
    DELTA_OPTIONS,
    EPSILON_OPTIONS,
    MAX_EXPLORE_REPEATS,
    SEED_RANGE,
    format_setting,
    setting_options,
)
from ..components.question_choice import (
    columns_key,
    has_other_queries,
    kinds_of_queries,
    set_columns,
)
from ..components.tab_experiment import experiment_slot
from ..jobs.browser_memory import skip_restoring
from ..jobs.table_changes import cancel_table_jobs, start_schema_change
from ..session import (
    Table,
    escape_markdown,
    is_stakeholder_view,
    join_first_printable_texts,
    owner,
    session,
    set_widget_value,
    whole_table,
)
from ..session.current_table import SAMPLES, sample_table, use_sample

UPLOAD_KEY = "project-file"
PROJECT_NAME = "project"  # of the opened project among a tab's resources
IN_VIEW_TEXT = "To open a project, turn the stakeholder view off."


@dataclass(eq=False)
class OpenedProject:
    """The project that was opened in a tab: what it is called, and what became of it.

    It `waits` as long as no table has its columns, and is `hidden` once it was seen. A `problem` is
    why a file is no project; `notes` are what of it cannot be shown.
    """

    name: str = ""
    project: Project | None = None
    waits: bool = False
    hidden: bool = False
    problem: str = ""
    notes: tuple[str, ...] = ()

    def close(self) -> None:
        """Forget it."""
        self.name = ""
        self.project = None
        self.waits = False
        self.hidden = False
        self.problem = ""
        self.notes = ()

    def hide(self) -> None:
        """Say no more of it; the folder of its ledger is still offered on Release."""
        self.hidden = True


def draw_open_uploader() -> None:
    """Draw the place for a project's file, to choose or to drop."""
    if is_stakeholder_view():
        st.caption(IN_VIEW_TEXT)
        return
    if owner.has_samples_only():
        st.caption(owner.samples_only_text())
        return
    st.file_uploader(
        "Open a project",
        ["json"],
        key=UPLOAD_KEY,
        on_change=_take_project,
        max_upload_size=MAX_PROJECT_BYTES // 1_000_000,
    )


def draw_opened_project() -> None:
    """Draw what became of the project that was opened, and where it leads; else nothing."""
    if is_stakeholder_view():
        return
    opened = _opened_project()
    if opened.problem:
        st.error(escape_markdown(opened.problem, 400))
        opened.problem = ""
    if opened.project is None or opened.hidden:
        return
    if _is_shown_experiment(opened.project.experiment):
        opened.hide()
        return
    if opened.waits and has_columns_of(whole_table(), opened.project):
        _use_on_table(opened, whole_table())
    name = escape_markdown(opened.name, 80)
    with st.container(key="project", horizontal=True, vertical_alignment="center"):
        if opened.waits:
            columns = join_first_printable_texts(_schema_columns(opened.project))
            st.info(
                f"“{name}” is read. It waits for a table with its columns: "
                f"{escape_markdown(columns, 300)}."
            )
            st.page_link("pages/data.py", label="Bring the table", icon=":material/upload:")
        else:
            st.success(" ".join([f"“{name}” is open.", *opened.notes]))
            st.page_link(
                "pages/explore.py",
                label="Explore with its settings",
                icon=":material/query_stats:",
                query_params=link_settings(opened.project.experiment, whole_table())[0],
            )
        st.button("Close", key="close-project", on_click=opened.hide, type="tertiary")


def _is_shown_experiment(experiment: Experiment) -> bool:
    """Return whether a page has shown just this experiment on the table in use."""
    slot = experiment_slot()
    other = slot.experiment
    if other is None or slot.table_identity != whole_table().identity:
        return False
    return (
        other.task.queries == experiment.task.queries
        and other.task.schema == experiment.task.schema
        and other.algorithm == experiment.algorithm
        and other.budget == experiment.budget
        and other.seeds == experiment.seeds
    )


def project_ledger() -> str:
    """Return the folder of the ledger that the opened project names; "" without one."""
    opened = session().find_resource(PROJECT_NAME)
    if not isinstance(opened, OpenedProject) or opened.project is None:
        return ""
    return opened.project.ledger.strip()


def read_project(file: Any, name: str) -> Project:
    """Return the project in a file; InputError says what is wrong with it."""
    if file.size > MAX_PROJECT_BYTES:
        raise InputError(f"{name}: too large; a project has at most {MAX_PROJECT_BYTES:,} bytes")
    return Project.from_json(read_json(file, name))


def has_columns_of(table: Table, project: Project) -> bool:
    """Return whether a table has every column of a project once, and its person's."""
    unit = project.experiment.task.unit
    needed_names = [*_schema_columns(project), *([] if unit.person is None else [unit.person])]
    if not all(len(positions_of_name(name, table.names)) == 1 for name in unit.person_columns):
        return False
    return bool(needed_names) and all(table.names.count(name) == 1 for name in needed_names)


def link_settings(experiment: Experiment, table: Table) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the settings of Explore as its address says them, and notes on what it cannot say."""
    notes = []
    settings: dict[str, Any] = {}
    for name, symbol, value, options in (
        ("epsilon", "ε", experiment.budget.epsilon, EPSILON_OPTIONS),
        ("delta", "δ", experiment.budget.delta, DELTA_OPTIONS),
    ):
        nearest = min(options, key=lambda option: abs(option - value))
        settings[name] = format_setting(nearest)
        if nearest != value:
            notes.append(f"{symbol} = {value:.6g} is not on the slider: {nearest:g} is taken.")
    settings["algorithm"] = type(experiment.algorithm).about.title
    parameter_texts, parameter_notes = _parameter_settings(experiment.algorithm)
    settings |= parameter_texts
    notes += parameter_notes
    settings["seed"] = str(min(experiment.seed, SEED_RANGE[1]))
    settings["repeats"] = str(min(experiment.repeat, MAX_EXPLORE_REPEATS))
    if settings["seed"] != str(experiment.seed) or settings["repeats"] != str(experiment.repeat):
        notes.append("Its repeats are more than Explore offers.")
    kinds = kinds_of_queries(experiment.task)
    if not table.uploaded:
        settings["sample"] = table.name
        settings |= _query_settings(experiment, kinds, table)
    if has_other_queries(experiment.task):
        notes.append("Some of its questions can be asked in the command line only.")
    return settings, tuple(notes)


def _parameter_settings(algorithm: Algorithm) -> tuple[dict[str, str], list[str]]:
    """Return an algorithm's parameters as an address says them, and notes on the others."""
    settings = {}
    notes = []
    algorithms = algorithms_for_problem(QueryRelease)
    registered = next(name for name, cls in algorithms.items() if isinstance(algorithm, cls))
    values = parameter_values(algorithm)
    for parameter in declared_parameters(type(algorithm)):
        value = values[parameter.name]
        text = _parameter_text(parameter, value)
        if text is None:
            notes.append(f"{parameter.name} = {value:.6g} is not on its slider.")
        else:
            settings[f"{registered}.{parameter.name}"] = text
    return settings, notes


def _parameter_text(parameter: Param, value: Any) -> str | None:
    """Return a parameter's value as its widget shows it; None for one that it does not offer."""
    if value is None:
        return AUTO
    if parameter.choices:
        return str(value)
    return format_setting(value) if value in setting_options(parameter) else None


def _query_settings(experiment: Experiment, kinds: list[str], table: Table) -> dict[str, Any]:
    """Return the columns and the `kinds` of questions of a sample as its address says them."""
    settings: dict[str, Any] = {}
    if experiment.task.columns:
        settings[columns_key(table)] = list(experiment.task.columns)
    if kinds:
        settings["questions"] = kinds
    return settings


def _schema_columns(project: Project) -> list[str]:
    """Return the columns of a project's schema, as far as it is one."""
    columns = project.experiment.task.schema.get("columns")
    return list(columns) if isinstance(columns, dict) else []


def _opened_project() -> OpenedProject:
    """Return the tab's opened project."""
    return session().get_or_create(PROJECT_NAME, OpenedProject)


def _take_project() -> None:
    """Read the file that was just brought, and use its project."""
    file = st.session_state[UPLOAD_KEY]
    if file is None or isinstance(file, DeletedFile):
        return
    opened = _opened_project()
    opened.close()
    try:
        project = read_project(file, file.name)
    except InputError as error:
        opened.problem = str(error)
        return
    sample_name = _sample_of_project(project)
    opened.name = file.name
    opened.project = project
    if sample_name is not None:
        cancel_table_jobs()
        use_sample(sample_name)
        opened.notes = link_settings(project.experiment, whole_table())[1]
    elif whole_table().uploaded and has_columns_of(whole_table(), project):
        _use_on_table(opened, whole_table())
    else:
        opened.waits = True


def _sample_of_project(project: Project) -> str | None:
    """Return the name of the sample that a project is about; None for another table."""
    task = project.experiment.task
    for name in SAMPLES:
        if task.table == f"{name}.csv":
            return name if sample_table(name).schema == task.schema else None
    return None


def _use_on_table(opened: OpenedProject, table: Table) -> None:
    """Give an upload the schema of a project, and the page its columns and questions."""
    project = opened.project
    if project is None:
        return
    opened.waits = False
    opened.notes = link_settings(project.experiment, table)[1]
    skip_restoring(table)
    start_schema_change(partial(_apply_schema, project))
    if project.experiment.task.columns:
        set_columns(table, project.experiment.task.columns)
    kinds = kinds_of_queries(project.experiment.task)
    if kinds:
        set_widget_value("questions", kinds)


def _apply_schema(project: Project, table: Table, progress: StatusCallback) -> None:
    """Set a table's schema, its origins and whom to protect as a project says."""
    task = project.experiment.task
    table.restore_statement(
        task.schema,
        project.origins,
        kinds_confirmed=project.kinds_confirmed,
        has_data_entries=project.has_data_entries,
        progress=progress,
    )
    # pages have no pairs of rows
    unit = replace(task.unit, succession_columns=(), time_column=None)
    table.set_privacy_unit(unit)
