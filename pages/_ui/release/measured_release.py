"""Release whose schema is measured first: what is read for it beforehand, and its preview."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from dpcore import Budget, PrivacyUnit, read_queries
from dpcore.algorithms.schema_measurement.hidden_rows import predict_hidden_rows
from dpcore.algorithms.schema_measurement.split_budget import default_schema_share
from dpcore.core.job import Job
from dpcore.core.provenance import Provenance
from dpcore.privacy.accounting import additive_accounting
from dpcore.release.preparation import (
    PartialSchemaRows,
    PreparedRelease,
    SchemaMeasurement,
    prepare_release,
    prepare_with_partial_schema,
)
from dpcore.release.request import ReleaseRequest
from dpcore.schema.partial_schema import DEFAULT_BINS, EXPECTED_CATEGORIES, PartialSchema

from ..components import column_costs, draw_heading
from ..jobs import job_result
from ..session import Table, selected_share, share_slider

READ_JOB = "read-for-release"  # its name in a session


def draw_schema_share(table: Table, names: Sequence[str], budget: Budget) -> None:
    """Draw the widget for the schema's budget share, if chosen columns are to be measured."""
    unknown_count = (
        0
        if table.partial_schema is None
        else len(table.partial_schema.project(names).unknown_columns)
    )
    if unknown_count:
        share_slider(default_schema_share(unknown_count, table.n, table.unit.group, budget))


def prepare_measured_release(request: ReleaseRequest, table: Table) -> PreparedRelease | None:
    """Return the release planned with placeholders; None until its columns are read.

    They are read beside the page. Where none of the chosen columns is to be measured it is like any
    other release.
    """
    schema = table.partial_schema.project(request.workload.domain.names)  # type: ignore[union-attr]
    records = _read_records(table, schema)
    if records is None:
        return None
    if not schema.unknown_columns:
        return prepare_release(request, records.rows)
    question_texts = list(request.query_texts)
    return prepare_with_partial_schema(
        request,
        schema,
        lambda domain: read_queries(question_texts, domain)[0],
        selected_share(),
        records,
    )


def draw_measurement_preview(measurement: SchemaMeasurement) -> None:
    """Draw the cost and predicted error of each column to be measured.

    It also says with which placeholders the plan below is made.
    """
    schema_part = measurement.split.share
    draw_heading(
        "The schema is measured first",
        Provenance.REAL_DATA if measurement.schema.placeholder.peeked else Provenance.PUBLIC,
    )
    st.caption(
        f"{schema_part:.1%} of the budget measures it, and {1 - schema_part:.1%} is left for the "
        "algorithm. The plan "
        "below has "
        f"placeholders: {EXPECTED_CATEGORIES} values for each column of categories, and for "
        f"numbers the bins you entered, or {DEFAULT_BINS}. It is "
        "made anew in the schema that is found, within the same budget. Questions are read in "
        "that schema."
    )
    problem = measurement.problem
    hidden_rows = predict_hidden_rows(problem, measurement.plan)
    if hidden_rows.hides_nearly_all:
        st.warning(column_costs.hidden_rows_text(hidden_rows))
    else:
        st.markdown(column_costs.hidden_rows_text(hidden_rows))
    cost_rows = column_costs.column_cost_rows(problem.columns, problem, measurement.plan)
    column_costs.draw_column_costs(cost_rows)


def reserved_epsilon(ready: PreparedRelease) -> float:
    """Return the ε reserved: all that schema and algorithm may ever spend."""
    budget = ready.request.budget
    return additive_accounting(budget).of_events(ready.events).epsilon(budget.delta)


def _read_records(table: Table, schema: PartialSchema) -> PartialSchemaRows | None:
    """Return the columns read beforehand; None while they are read, or if they cannot be."""
    read_records = partial(_read_open_records, table.frame, schema, table.unit)
    return job_result(
        READ_JOB,
        (table.version, schema.names),
        "release-reading",
        read_records,
        "Read the columns after all",
    )


def _read_open_records(
    frame: pd.DataFrame, schema: PartialSchema, unit: PrivacyUnit, job: Job
) -> PartialSchemaRows:
    text = "The columns are read. Nothing is drawn, and no budget is used"
    return PartialSchemaRows.of(
        frame, schema, unit, lambda done, total: job.report_progress(done / total, text)
    )
