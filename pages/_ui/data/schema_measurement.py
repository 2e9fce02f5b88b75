"""What measuring a schema costs and how far off it may be, before; a trial of it, and what that found, afterwards."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import Budget, InputError
from dpcore.algorithms.schema_measurement.measurement_plan import SchemaPlan, divide, plan_schema, share_of
from dpcore.core.provenance import Tag
from dpcore.evaluation.schema_trial import explore_schema
from dpcore.schema.inference.infer_schema import read_off
from dpcore.schema.partial_schema import OpenColumn, OpenSchema

from ..components import as_table, column_costs, heading, meaning, parameter_widgets, peek, row, tag
from ..jobs import Work, result_of
from ..jobs.table_changes import AT_ONCE, KIND, attempt
from ..session import Table, Told, chosen_part, clean, few, session, share_slider, stakeholder, whole_table
from ..session.schema_share import Trial

BESIDE = "beside-the-trial"  # its name in a session
REAL_ROWS = "real rows (do not publish)"
NO_RELEASE = (
    "A trial is no release. Its noise can be repeated, so someone who knows its number can take it off again. It uses "
    "no budget. What it finds uses real data"
)
COUNTS = ", and this session counts as having looked at the table"


def panel(current: Table, place: DeltaGenerator | None) -> None:
    """For a schema of which some is to be measured: its price and its error beforehand, then a trial of it.

    The button that tries it stands in `place`.
    """
    partial_schema = current.opening
    if partial_schema is None:
        return
    is_inferred = current.guessed
    if is_inferred and stakeholder():
        return
    heading("What measuring costs, before anything is measured", Tag.PEEK if is_inferred else Tag.PUBLIC)
    n, rows_per_person = current.n, current.unit.most_rows
    epsilon_container, delta_container, share_container = st.columns(3)
    with epsilon_container:
        budget = parameter_widgets.budget(delta_container)
    default_share = share_of(partial_schema.open, None, n, rows_per_person, budget).part
    with share_container:
        selected_part = share_slider(default_share)
    schema_part, column_count = default_share if selected_part is None else selected_part, len(partial_schema.open)
    st.caption(
        f"From {n:,} rows, {column_count} column{'s' * (column_count > 1)} to be measured and their kinds"
        + ", which were guessed from the data" * is_inferred
        + f". No value is read. Of the budget {schema_part:.1%} is the schema's, {1 - schema_part:.1%} is left for "
        "the algorithm."
    )
    key = partial_schema.open, n, rows_per_person, budget, schema_part
    column_costs.draw(
        session().memo("schema-plan", key, lambda: _lines(partial_schema, n, rows_per_person, budget, schema_part))
    )
    if not stakeholder():
        _trial(current, budget, selected_part)
        if place is not None:  # once the sliders it reads are there
            _try_it(partial_schema, place, budget)


def _lines(opening: OpenSchema, n: int, group: int, budget: Budget, part: float) -> list[dict[str, str]]:
    """A line for every open column; at δ = 0 those that cannot be measured say so, and cost nothing."""

    def planned(columns: Sequence[OpenColumn]) -> SchemaPlan:
        division = divide(budget, part, categories=any(c.categorical for c in columns))
        return plan_schema(columns, n, group, division, exact=False)

    try:
        return column_costs.lines(opening.open, planned(opening.open))
    except InputError as error:
        if budget.delta:
            raise
        measurable_columns = [column for column in opening.open if not column.categorical]
        return column_costs.lines(
            opening.open, planned(measurable_columns) if measurable_columns else None, str(error).partition(": ")[2]
        )


def _try_it(opening: OpenSchema, place: DeltaGenerator, budget: Budget) -> None:
    """Draw the button that tries the measurement."""
    with place, row(key="try-it"):
        column_count = len(opening.open)
        columns_text = f"{column_count} column{'s' * (column_count > 1)} to be measured privately. Its cost is below."
        is_impossible = budget.delta == 0 and any(column.categorical for column in opening.open)
        st.markdown(
            "At δ = 0 some of these columns cannot be measured: see below." if is_impossible else columns_text,
            width="stretch",
        )
        st.button(
            "Try it: measure with noise that can be repeated",
            type="primary" if whole_table().trial is None else "secondary",
            icon=":material/science:",
            help=meaning("trial"),
            disabled=is_impossible,
            on_click=_try,
        )


def _trial(current: Table, budget: Budget, part: float | None) -> None:
    """Draw what a trial is, its number, and what the last one found."""
    help_text = "The same number repeats the same noise, and so finds the same."
    st.number_input(
        "Repeat number of the trial",
        *parameter_widgets.SEEDS,
        0,
        key="schema-seed",
        help=help_text,
        width=160,
        persist_state="session",
    )
    st.caption(f"{NO_RELEASE}{COUNTS * current.uploaded}.")
    if current.trial is not None:
        _results(current, current.trial, budget, part)


@peek
def _results(current: Table, trial: Trial, budget: Budget, part: float | None) -> None:
    """Draw what the last trial found, column by column."""
    heading("What the trial found", Tag.PEEK, meaning("trial"))
    st.caption(trial.words)
    if (trial.division.budget, trial.part) != (budget, part):
        st.caption("The sliders were moved since: try it again, to see what a release there would find.")
    real_rows = _beside(current)
    rows = [
        {
            "column": clean(measured_column.column.name),
            "found": f"{'⚠ ' * measured_column.nothing}{measured_column.words}",
            "values": f"{measured_column.column.size:,}: {few(measured_column.column.labels, 200)}",
        }
        | ({REAL_ROWS: real_rows.get(measured_column.column.name, "")} if real_rows else {})
        for measured_column in trial.found.found
    ]
    as_table(pd.DataFrame(rows), "trial")


def _try() -> None:
    """Measure beside the page, as the widgets stand now; whoever asks for it counts as having looked."""
    session().look(whole_table())
    widget_values = st.session_state
    budget, selected_part, seed = (
        Budget(widget_values["epsilon"], widget_values["delta"]),
        chosen_part(),
        int(widget_values["schema-seed"]),
    )

    def measured(mine: Table, told: Told) -> None:
        if mine.opening is None:
            raise InputError("the schema is not complete, or nothing of it is to be measured")
        n, rows_per_person = mine.n, mine.unit.most_rows
        share = share_of(mine.opening.open, selected_part, n, rows_per_person, budget)
        division = divide(budget, share.part, categories=share.categories)
        measured_schema = explore_schema(
            mine.opening,
            mine.frame,
            mine.unit,
            division,
            seed=seed,
            told=lambda done_share: told(done_share, "The schema is measured"),
        )
        mine.tried(
            Trial(
                found=measured_schema,
                opening=mine.opening,
                division=division,
                seed=seed,
                part=selected_part,
                n=n,
                group=rows_per_person,
            )
        )

    attempt(measured)


def _beside(current: Table) -> dict[str, str]:
    """Return what the records say, by column, once a person asks for it; {} until it is there."""
    with row():
        is_requested = st.toggle("Show the real rows beside it", key=f"beside-{current.version}")
        if is_requested:
            tag(Tag.PEEK)
    if not is_requested:
        return {}
    session().look(current)
    read_rows = partial(_read, current, current.opening.open)  # type: ignore[union-attr]
    return result_of(BESIDE, current.version, KIND, read_rows, "Read them again", AT_ONCE) or {}


def _read(current: Table, columns: Sequence[OpenColumn], work: Work) -> dict[str, str]:
    """Return by column what its real rows hold: values, or round bounds, as they would be read off."""
    text_by_column = {}
    for position, column in enumerate(columns):
        work.tell(position / len(columns), "What is in the real rows")
        try:
            entry = read_off(column.name, current.cells(column.name), column.kind, column.read)
        except InputError as error:
            text_by_column[column.name] = str(error).partition(": ")[2]
            continue
        values = entry.get("values")
        bounds = entry.get("edges") or [entry.get("low"), entry.get("high")]
        text = f"{len(values):,} values: {few(values, 200)}" if values else f"{bounds[0]:g} to {bounds[-1]:g}"
        text_by_column[column.name] = text
    return text_by_column
