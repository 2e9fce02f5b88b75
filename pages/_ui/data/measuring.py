"""What measuring a schema costs and how far off it may be, before; a trial of it, and what that found, afterwards."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from dpcore.data.guessing import read_off
from dpcore.data.open_schema import OpenColumn, OpenSchema
from dpcore.errors import InputError
from dpcore.evaluation.schema_trial import explore_schema
from dpcore.privacy.accounting.budget import Budget
from dpcore.schemas.measure import ColumnFindings
from dpcore.schemas.plan import divide, plan_schema
from dpcore.tags import Tag

from ..jobs.job import watch
from ..jobs.work import Work, owned
from ..shell import controls, priced
from ..shell.frame import heading, peek, tag
from ..shell.opened import Trial, chosen_part, share_of, share_slider
from ..shell.results import as_table
from ..shell.session import session
from ..shell.state import stakeholder, table
from ..shell.table import Table, Told
from ..shell.text import clean, plain
from ..shell.words import meaning
from .reading import AT_ONCE, KIND, attempt

BESIDE = "beside-the-trial"  # its name in a session
SHOWN = 40  # columns in one list: the rest is in the table
FEW = 12  # values or bins that are listed of one column
NO_RELEASE = (
    "A trial is no release. Its noise can be repeated, so someone who knows its number can take it off again. It uses "
    "no budget. What it finds uses real data"
)
COUNTS = ", and this session counts as having looked at the table"


def panel(current: Table) -> None:
    """For a schema of which some is to be measured: its price and its error beforehand, then a trial of it."""
    opening = current.opening
    if opening is None:
        return
    guessed = current.guessed
    if guessed and stakeholder():
        return
    heading("What measuring costs, before anything is measured", Tag.PEEK if guessed else Tag.PUBLIC)
    n, group = current.n, current.unit.most_rows
    left, middle, right = st.columns(3)
    with left:
        epsilon = controls.epsilon_slider()
    budget = Budget(epsilon, controls.delta_slider(middle))
    usual = share_of(opening, None, n, group, budget).part
    with right:
        part = share_slider(usual)
    mine, many = usual if part is None else part, len(opening.open)
    st.caption(
        f"From {n:,} rows, {many} column{'s' * (many > 1)} to be measured and their kinds"
        + ", which were guessed from the data" * guessed
        + f". No value is read. Of the budget {mine:.1%} is the schema's, {1 - mine:.1%} is left for the algorithm."
    )
    key = opening.open, n, group, budget, mine
    priced.draw(session().memo("schema-plan", key, lambda: _lines(opening, n, group, budget, mine)))
    if not stakeholder():
        _trial(current, budget, part)


def _lines(opening: OpenSchema, n: int, group: int, budget: Budget, part: float) -> list[dict[str, str]]:
    """A line for every open column; at δ = 0 those that cannot be measured say so, and cost nothing."""
    served, refused = opening.open, ""
    if budget.delta == 0:
        first = next((column for column in served if column.categorical), None)
        refused = "" if first is None else _refused(first, n, group, budget, part)
        served = tuple(column for column in served if not column.categorical)
    division = divide(budget, part, categories=any(c.categorical for c in served))
    plan = plan_schema(served, n, group, division, exact=False) if served else None
    return priced.lines(opening.open, plan, refused)


def _refused(column: OpenColumn, n: int, group: int, budget: Budget, part: float) -> str:
    """Why its values cannot be measured, without its name."""
    try:
        plan_schema([column], n, group, divide(budget, part, categories=True), exact=False)
    except InputError as error:
        return str(error).partition(": ")[2]
    return ""


def _trial(current: Table, budget: Budget, part: float | None) -> None:
    """The button, and what the last trial found."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="try-it"):
        words = "The same number repeats the same noise, and so finds the same."
        st.number_input(
            "Repeat number of the trial", *controls.WHOLE["seed"], 0, key="schema-seed", help=words, width=160,
            persist_state="session",
        )  # fmt: skip
        refused = budget.delta == 0 and any(c.categorical for c in current.opening.open)  # type: ignore[union-attr]
        st.button(
            "Try it: measure with noise that can be repeated", type="primary" if current.trial is None else "secondary",
            icon=":material/science:", help=meaning("trial"), disabled=refused, on_click=_try,
        )  # fmt: skip
    st.caption(
        "At δ = 0 some of these columns cannot be measured: see above."
        if refused
        else f"{NO_RELEASE}{COUNTS * current.uploaded}."
    )
    if current.trial is not None:
        _results(current, current.trial, budget, part)


@peek
def _results(current: Table, trial: Trial, budget: Budget, part: float | None) -> None:
    """What the last trial found, column by column."""
    heading("What the trial found", Tag.PEEK, meaning("trial"))
    st.caption(trial.words)
    if (trial.division.budget, trial.part) != (budget, part):
        st.caption("The sliders were moved since: try it again, to see what a release there would find.")
    beside = _beside(current)
    for found in trial.found.found[:SHOWN]:
        _found(found, beside.get(found.column.name, ""))
    if len(trial.found.found) > SHOWN:
        st.caption(f"{len(trial.found.found) - SHOWN} more columns are in the table.")
    lines = [
        {"column": clean(f.column.name), "found": f.words, "cells": f.column.size}
        | ({"records": beside.get(f.column.name, "")} if beside else {})
        for f in trial.found.found
    ]
    with st.popover("As a table", type="tertiary", icon=":material/table:"):
        as_table(pd.DataFrame(lines), "trial")


def _try() -> None:
    """Measure beside the page, as the widgets stand now; whoever asks for it counts as having looked."""
    session().look(table())
    stands = st.session_state
    budget, part, seed = Budget(stands["epsilon"], stands["delta"]), chosen_part(), int(stands["schema-seed"])

    def measured(mine: Table, told: Told) -> None:
        if mine.opening is None:
            raise InputError("the schema is not complete, or nothing of it is to be measured")
        n, group = mine.n, mine.unit.most_rows
        share = share_of(mine.opening, part, n, group, budget)
        division = divide(budget, share.part, categories=share.categories)
        found = explore_schema(
            mine.opening,
            mine.frame,
            mine.unit,
            division,
            seed=seed,
            told=lambda at: told(at, "The schema is measured"),
        )
        mine.tried(Trial(found=found, opening=mine.opening, division=division, seed=seed, part=part, n=n, group=group))

    attempt(measured)


def _found(found: ColumnFindings, beside: str) -> None:
    """What was found of one column, its first cells, and what the records say if that was asked for."""
    labels = found.column.labels
    cells = _few(labels)
    icon = ":material/warning: " if found.nothing else ""
    st.markdown(
        f"{icon}**{plain(found.column.name)}**: {plain(found.words, 500)}. "
        + f"{len(labels):,} value{'s' * (len(labels) > 1)}:  {plain(cells, 500)}."
        + (f" Real rows (do not publish): {plain(beside, 500)}." if beside else "")
    )


def _beside(current: Table) -> dict[str, str]:
    """What the records say, by column, once a person asks for it; {} until it is there."""
    with st.container(horizontal=True, vertical_alignment="center"):
        asked = st.toggle("Show the real rows beside it", key=f"beside-{current.version}")
        if asked:
            tag(Tag.PEEK)
    if not asked:
        return {}
    session().look(current)
    job = partial(_read, current, current.opening.open)  # type: ignore[union-attr]
    work = owned(BESIDE, current.version, KIND, job, AT_ONCE)
    return work.result if watch(work, BESIDE) and work.state == "done" else {}


def _read(current: Table, columns: Sequence[OpenColumn], work: Work) -> dict[str, str]:
    """Return by column what its real rows hold: values, or round bounds, as they would be read off."""
    out = {}
    for at, column in enumerate(columns):
        work.tell(at / len(columns), "What is in the real rows")
        try:
            entry = read_off(column.name, current.cells(column.name), column.kind, column.read)
        except InputError as error:
            out[column.name] = str(error).partition(": ")[2]
            continue
        values = entry.get("values")
        bounds = entry.get("edges") or [entry.get("low"), entry.get("high")]
        said = f"{len(values):,} values: {_few(values)}" if values else f"{bounds[0]:g} to {bounds[-1]:g}"
        out[column.name] = said
    return out


def _few(texts: Sequence[object]) -> str:
    """The first of them, and how many more there are."""
    more = len(texts) - FEW
    return ", ".join(clean(text, 30) for text in texts[:FEW]) + (f" and {more:,} more" if more > 0 else "")
