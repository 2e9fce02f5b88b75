"""Cost and predicted error of measuring a schema, a trial of it, and the trial's result."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import Budget, InputError
from dpcore.algorithms.schema_measurement.hidden_rows import HiddenRows, predict_hidden_rows
from dpcore.algorithms.schema_measurement.measure_columns import plan_measurement
from dpcore.algorithms.schema_measurement.split_budget import split_for_schema
from dpcore.core.job import Job, StatusCallback
from dpcore.core.provenance import Provenance
from dpcore.evaluation.schema_trial import measure_schema_with_seed
from dpcore.problems import ColumnMeasurement
from dpcore.schema.inference.infer_column import infer_column_from_data
from dpcore.schema.partial_schema import PartialSchema, UnknownColumn

from ..components import (
    column_costs,
    draw_badge_if_different,
    draw_downloadable_table,
    draw_heading,
    glossary_tooltip,
    hide_in_stakeholder_view,
    inline_container,
    parameter_widgets,
)
from ..jobs import job_result
from ..jobs.table_changes import MAX_CONCURRENT_JOBS, THREAD_KIND, start_schema_change
from ..session import (
    Table,
    is_stakeholder_view,
    join_first_printable_texts,
    printable_text,
    selected_share,
    session,
    share_slider,
    whole_table,
)
from ..session.schema_share import SchemaTrial

REAL_ROWS_JOB = "beside-the-trial"  # its name in a session
REAL_ROWS = "real rows (do not publish)"
NO_RELEASE_TEXT = (
    "A trial is no release. Its noise can be repeated, so someone who knows its number can take "
    "it off again. It uses "
    "no budget. What it finds uses real data"
)
COUNTS_AS_VIEWED_TEXT = ", and this session counts as having looked at the table"


def draw_measurement_panel(current: Table, try_slot: DeltaGenerator | None) -> None:
    """Draw the cost and error of measuring a partial schema, and a trial of it.

    The button that tries it is in `try_slot`.
    """
    partial_schema = current.partial_schema
    if partial_schema is None:
        return
    is_inferred = current.is_schema_inferred
    if is_inferred and is_stakeholder_view():
        return
    draw_heading(
        "What measuring costs, before anything is measured",
        Provenance.REAL_DATA if is_inferred else Provenance.PUBLIC,
    )
    n = current.n
    rows_per_person = current.unit.group
    epsilon_container, delta_container, share_container = st.columns(3)
    with epsilon_container:
        budget = parameter_widgets.budget_sliders(delta_container)
    default_share = split_for_schema(
        partial_schema.unknown_columns, None, n, rows_per_person, budget
    ).share
    with share_container:
        selected_part = share_slider(default_share)
    schema_part = default_share if selected_part is None else selected_part
    guess_note = ", which were guessed from the data" if is_inferred else ""
    st.caption(
        f"From {n:,} rows, {_column_count_text(partial_schema)} to be measured and "
        f"their kinds{guess_note}. No value is read. Of the budget {schema_part:.1%} is the "
        f"schema's, {1 - schema_part:.1%} is left for the algorithm."
    )
    key = partial_schema.unknown_columns, n, rows_per_person, budget, schema_part
    column_costs.draw_column_costs(
        session().memoize(
            "schema-plan",
            key,
            lambda: _cost_rows(partial_schema, n, rows_per_person, budget, schema_part),
        )
    )
    if not is_stakeholder_view():
        _draw_trial(current, budget, selected_part)
        if try_slot is not None:  # once the sliders it reads are there
            hidden_rows = predict_hidden_rows_of_columns(
                partial_schema.unknown_columns, schema_part, n, rows_per_person, budget
            )
            _draw_try_button(partial_schema, try_slot, hidden_rows)


def _column_count_text(partial_schema: PartialSchema) -> str:
    column_count = len(partial_schema.unknown_columns)
    noun = "columns" if column_count > 1 else "column"
    return f"{column_count} {noun}"


def _cost_rows(
    partial_schema: PartialSchema, n: int, rows_per_person: int, budget: Budget, schema_part: float
) -> list[dict[str, str]]:
    """Return a line of cost and predicted error for every column to be measured.

    At δ = 0 those that cannot be measured say so, and cost nothing.
    """

    def cost_rows_of(columns: Sequence[UnknownColumn], refusal: str = "") -> list[dict[str, str]]:
        """Return the lines of all columns, where these ones are measured."""
        split = split_for_schema(columns, schema_part, n, rows_per_person, budget)
        problem = ColumnMeasurement(tuple(columns), n, rows_per_person)
        plan = plan_measurement(problem, split, exact=False) if columns else None
        return column_costs.column_cost_rows(partial_schema.unknown_columns, problem, plan, refusal)

    try:
        return cost_rows_of(partial_schema.unknown_columns)
    except InputError as error:
        if budget.delta:
            raise
        measurable_columns = [
            column for column in partial_schema.unknown_columns if not column.is_categorical
        ]
        return cost_rows_of(measurable_columns, str(error).partition(": ")[2])


def predict_hidden_rows_of_columns(
    columns: Sequence[UnknownColumn],
    schema_part: float | None,
    n: int,
    rows_per_person: int,
    budget: Budget,
) -> HiddenRows | None:
    """Return what measuring these columns will hide, from public numbers alone.

    None where the budget cannot measure them: values at δ = 0.
    """

    def predict() -> HiddenRows | None:
        split = split_for_schema(columns, schema_part, n, rows_per_person, budget)
        problem = ColumnMeasurement(tuple(columns), n, rows_per_person)
        try:
            plan = plan_measurement(problem, split, exact=False)
        except InputError:
            return None
        return predict_hidden_rows(problem, plan)

    key = tuple(columns), schema_part, n, rows_per_person, budget
    return session().memoize("hidden-rows", key, predict)


def _draw_try_button(
    partial_schema: PartialSchema, try_slot: DeltaGenerator, hidden_rows: HiddenRows | None
) -> None:
    """Draw the button that tries the measurement, and what it will hide.

    It is not the main button where nearly all will be hidden. None is for what cannot be measured.
    """
    with try_slot, inline_container(key="try-it"):
        text = "At δ = 0 some of these columns cannot be measured: see below."
        if hidden_rows is not None:
            columns_text = _column_count_text(partial_schema)
            hidden_text = column_costs.hidden_rows_text(hidden_rows)
            text = f"{columns_text} to be measured privately. {hidden_text} Its cost is below."
        st.markdown(text, width="stretch")
        is_advised = hidden_rows is not None and not hidden_rows.hides_nearly_all
        st.button(
            "Try it: measure with noise that can be repeated",
            type="primary" if is_advised and whole_table().trial is None else "secondary",
            icon=":material/science:",
            help=glossary_tooltip("trial"),
            disabled=hidden_rows is None,
            on_click=_start_trial,
        )


def _draw_trial(current: Table, budget: Budget, selected_part: float | None) -> None:
    """Draw what a trial is, its number, and what the last one found."""
    help_text = "The same number repeats the same noise, and so finds the same."
    st.number_input(
        "Repeat number of the trial",
        *parameter_widgets.SEED_RANGE,
        0,
        key="schema-seed",
        help=help_text,
        width=160,
        persist_state="session",
    )
    st.caption(f"{NO_RELEASE_TEXT}{COUNTS_AS_VIEWED_TEXT * current.uploaded}.")
    if current.trial is not None:
        _draw_trial_results(current, current.trial, budget, selected_part)


@hide_in_stakeholder_view
def _draw_trial_results(
    current: Table, trial: SchemaTrial, budget: Budget, selected_part: float | None
) -> None:
    """Draw what the last trial found, column by column."""
    draw_heading("What the trial found", Provenance.REAL_DATA, glossary_tooltip("trial"))
    st.caption(trial.summary)
    if (trial.split.budget, trial.budget_share) != (budget, selected_part):
        st.caption(
            "The sliders were moved since: try it again, to see what a release there would find."
        )
    real_rows = _real_rows_if_requested(current)
    rows = [
        {
            "column": printable_text(measured_column.column.name),
            "found": ("⚠ " if measured_column.found_nothing else "") + measured_column.description,
            "values": f"{measured_column.column.size:,}: "
            f"{join_first_printable_texts(measured_column.column.labels, 200)}",
        }
        | ({REAL_ROWS: real_rows.get(measured_column.column.name, "")} if real_rows else {})
        for measured_column in trial.measured_schema.findings
    ]
    draw_downloadable_table(pd.DataFrame(rows), "trial")


def _start_trial() -> None:
    """Start measuring the schema in the background, with the widgets' settings.

    Whoever asks for it counts as having looked.
    """
    session().mark_viewed(whole_table())
    widget_values = st.session_state
    budget = Budget(widget_values["epsilon"], widget_values["delta"])
    selected_part = selected_share()
    seed = int(widget_values["schema-seed"])

    def measure_schema(target: Table, progress: StatusCallback) -> None:
        if target.partial_schema is None:
            raise InputError("the schema is not complete, or nothing of it is to be measured")
        n = target.n
        rows_per_person = target.unit.group
        split = split_for_schema(
            target.partial_schema.unknown_columns, selected_part, n, rows_per_person, budget
        )
        measured_schema = measure_schema_with_seed(
            target.partial_schema,
            target.frame,
            target.unit,
            split,
            seed=seed,
            progress=lambda done, total: progress(done / total, "The schema is measured"),
        )
        target.use_trial(
            SchemaTrial(
                measured_schema=measured_schema,
                partial_schema=target.partial_schema,
                split=split,
                seed=seed,
                budget_share=selected_part,
                n=n,
                rows_per_person=rows_per_person,
            )
        )

    start_schema_change(measure_schema)


def _real_rows_if_requested(current: Table) -> dict[str, str]:
    """Return what the records say, by column, once a person asks for it; {} until it is there."""
    with inline_container():
        is_requested = st.toggle("Show the real rows beside it", key=f"beside-{current.version}")
        if is_requested:
            draw_badge_if_different(Provenance.REAL_DATA)
    if not is_requested:
        return {}
    session().mark_viewed(current)
    unknown_columns = current.partial_schema.unknown_columns  # type: ignore[union-attr]
    read_rows = partial(_describe_real_columns, current, unknown_columns)
    return (
        job_result(
            REAL_ROWS_JOB,
            current.version,
            THREAD_KIND,
            read_rows,
            "Read them again",
            MAX_CONCURRENT_JOBS,
        )
        or {}
    )


def _describe_real_columns(
    current: Table, columns: Sequence[UnknownColumn], job: Job
) -> dict[str, str]:
    """Return each column's real contents in words: values, or round bounds.

    They are as they would be inferred from the rows.
    """
    text_by_column = {}
    for position, column in enumerate(columns):
        job.report_progress(position / len(columns), "What is in the real rows")
        try:
            entry = infer_column_from_data(
                column.name, current.column_cells(column.name), column.kind, column.read
            )
        except InputError as error:
            text_by_column[column.name] = str(error).partition(": ")[2]
            continue
        values = entry.get("values")
        bounds = entry.get("edges") or [entry.get("low"), entry.get("high")]
        text = (
            f"{len(values):,} values: {join_first_printable_texts(values, 200)}"
            if values
            else f"{bounds[0]:g} to {bounds[-1]:g}"
        )
        text_by_column[column.name] = text
    return text_by_column
