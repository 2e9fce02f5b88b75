"""A release whose schema is measured first: what is read for it beforehand, and what its preview says."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from dpcore import Budget, PrivacyUnit, read_queries
from dpcore.algorithms.schema_measurement.measurement_plan import default_share
from dpcore.core.provenance import Tag
from dpcore.privacy.accounting import Sums
from dpcore.release.preparation import OpenRecords, OpenRelease, PreparedRelease, prepare, prepare_open
from dpcore.release.request import ReleaseRequest
from dpcore.schema.partial_schema import EXPECTED, OpenSchema

from ..components import column_costs, heading
from ..jobs import Work, result_of
from ..session import Table, chosen_part, share_slider

READ = "read-for-release"  # its name in a session


def share(table: Table, names: Sequence[str], budget: Budget) -> None:
    """The widget for the schema's share, where some of the chosen columns are to be measured."""
    unknown_count = 0 if table.opening is None else len(table.opening.project(names).open)
    if unknown_count:
        share_slider(default_share(unknown_count, table.n, table.unit.most_rows, budget))


def ready_for(request: ReleaseRequest, table: Table) -> PreparedRelease | None:
    """The request planned with placeholders, on cells that were read beside the page; None until they are.

    Where none of the chosen columns is to be measured it is like any other release.
    """
    schema = table.opening.project(request.workload.domain.names)  # type: ignore[union-attr]
    records = _records(table, schema)
    if records is None:
        return None
    if not schema.open:
        return prepare(request, records.rows)
    question_texts = list(request.asked)
    return prepare_open(request, schema, lambda domain: read_queries(question_texts, domain)[0], chosen_part(), records)


def preview(ready: OpenRelease) -> None:
    """What every column to be measured costs, and how far off it may be; what the plan below is made with."""
    schema_plan, division = ready.measuring, ready.division
    schema_part = division.schema / (division.schema + division.rest)
    heading("The schema is measured first", Tag.PEEK if ready.schema.placeholder.peeked else Tag.PUBLIC)
    st.caption(
        f"{schema_part:.1%} of the budget measures it, and {1 - schema_part:.1%} is left for the algorithm. The plan "
        "below has "
        f"placeholders: {EXPECTED} values for each column of categories, and the bins you entered for numbers. It is "
        "made anew in the schema that is found, within the same budget. Questions are read in that schema."
    )
    column_costs.draw(column_costs.lines(schema_plan.columns, schema_plan))


def together(ready: OpenRelease) -> float:
    """The ε of all that schema and algorithm may ever spend: what is reserved."""
    return Sums.of(ready.events).epsilon(ready.request.budget.delta, ready.division.accounting)


def _records(table: Table, schema: OpenSchema) -> OpenRecords | None:
    """What can be read beforehand; None while it is read, or where it cannot be."""
    read_records = partial(_read, table.frame, schema, table.unit)
    return result_of(READ, (table.version, schema.names), "release-reading", read_records, "Read the columns after all")


def _read(frame: pd.DataFrame, schema: OpenSchema, unit: PrivacyUnit, work: Work) -> OpenRecords:
    text = "The columns are read. Nothing is drawn, and no budget is used"
    return OpenRecords.of(frame, schema, unit, lambda share: work.tell(share, text))
