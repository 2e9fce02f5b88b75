"""The one grid of the Data page, a row a column: its first values, what it is, what is public, one action."""

import re
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.core.provenance import Tag
from dpcore.schema.column_readings import DATES, PARTS, PREFIX
from dpcore.schema.inference import repairs
from dpcore.schema.inference.infer_schema import Guess, begun
from dpcore.schema.inference.repairs import Problem
from dpcore.schema.partial_schema import is_private, private_entry

from ..jobs.table_changes import attempt
from ..session import Table, Told, clean, distinct, plain, session, stakeholder, whole_table
from ..session.first_values import ROWS
from ..session.table import GUESSED, TYPED
from . import grid_edits
from .column_entries import ASIDE, MEASURED, SPLIT, TAKEN, cells_of, names

MEASURE, USE = "Measure privately", "Use it"
STATES = {"person": "names people", "birth": "dates of birth", "id": "an ID, which may name people"}
POLICIES = {
    "refuse": "not allowed",
    "category": "a value of their own",
    "clip": "in the outermost groups",
    "other": "counted in (other)",
}
FROM = {TYPED: "entered by you", GUESSED: "guessed"}
BARS = "how often"  # the column of small charts
TEXTS = ("column", "public values or range", "what it is", "state", "next", "way", "missing", "out of range", "from")
PUBLIC = (
    "What everybody may know without this table. Values: a; b; c. A range: 0 to 120, or 0 to 120, 12 groups. "
    f"Unequal groups: 0 to 120, {SPLIT} 18, 65. Where nobody knows: {MEASURED}."
)
MORE = "What becomes of missing values and of those out of range, and where each line comes from."
TALL = 12  # rows of the grid that are seen at once
GROUPS = 30  # bars at the most of a column whose values are public
GRID = {
    "column": st.column_config.TextColumn(disabled=True, width=130),
    "what it is": st.column_config.SelectboxColumn(
        options=[ASIDE, *TAKEN], required=True, help="Choose what it is. A column that is not used is never read."
    ),
    **dict.fromkeys(("state", "from"), st.column_config.TextColumn(disabled=True)),
} | {
    which: st.column_config.SelectboxColumn(options=["refuse", own, "other"], required=True, format_func=POLICIES.get)
    for which, own in (("missing", "category"), ("out of range", "clip"))
}


def grid(current: Table, busy: bool) -> None:
    """Draw the grid, and take what is typed or clicked in it, also while a change is on its way."""
    grid_container, switches = st.container(key="columns"), st.container(horizontal=True)
    shows_all_settings = switches.toggle("Show all settings", key="all-settings", persist_state="session", help=MORE)
    shows_bars = not stakeholder() and switches.toggle(
        "Show how often values occur",
        True,
        key="first-values",
        persist_state="session",
        help="Small charts of real values. Switch them off before you bring a table that you must not look at.",
    )
    rows = pd.DataFrame(_rows(current)).astype(dict.fromkeys(TEXTS, "string"))  # also where all of them are empty
    rows["column"] = rows["column"].map(distinct(rows["column"], 18))
    charts = _charts(current) if shows_bars else []
    if any(charts):
        session().look(current)
        rows.insert(1, BARS, charts)
    key = grid_edits.drawn(current, with_bars=BARS in rows, busy=busy)
    privacy_note = f"{Tag.PEEK.capitalize()}." if current.uploaded else "This sample is public."
    hidden_columns = {
        "way",
        *(() if shows_all_settings else ("missing", "out of range", "from")),
        *(() if any(rows["next"]) else ("next",)),
    }
    column_config = GRID | {
        "public values or range": st.column_config.TextColumn(width=420, help=PUBLIC),
        BARS: st.column_config.BarChartColumn(
            width="small", y_min=0, help=f"How often values occur in the first {ROWS:,} rows. {privacy_note}"
        ),
        "next": st.column_config.ButtonColumn("action", on_click=_act, key="next-step"),
    }
    phone_rows = rows[["column", "public values or range", "state"]].fillna("").map(plain)
    grid_container.container(key="whole").table(phone_rows.set_index("column"))  # on a phone
    grid_container.data_editor(
        rows,
        hide_index=True,
        column_config=column_config,
        column_order=[c for c in rows if c not in hidden_columns],
        num_rows="fixed",
        placeholder="copy from a form",
        key=key,
        on_change=grid_edits.take,
        args=(key,),
        height="content" if len(rows) <= TALL else 35 * (TALL + 1),
        alt="The columns of the table: what each is, what is public about it, and what is left to decide.",
    )
    grid_container.markdown("Write values from your form, not from the table: a rare value could give someone away.")


def _rows(current: Table) -> list[dict[str, Any]]:
    """One row a column of the table; those that the schema leaves out are there, too."""
    entries, missing_words, rows = current.entries, current.words_missing, []
    problems_by_column: dict[str, list[Problem]] = {}
    for problem in current.problems:
        problems_by_column.setdefault(problem.column, []).append(problem)
    for name in names(current):
        is_used, spec = name in entries, entries.get(name)
        spec, guess = spec if isinstance(spec, dict) else {}, current.guess(name)
        cells = cells_of(current, name)
        action_label, action = _next_step(problems_by_column.get(name, [])) if is_used else _use(guess)
        rows.append(
            {
                "column": name,
                "public values or range": cells["public values or range"],
                "what it is": cells["what it is"],
                "state": _state(spec, problems_by_column.get(name, []), missing_words.get(name, {}))
                if is_used
                else _aside(guess),
                "next": action_label,
                "way": action,
                "missing": cells["missing"],
                "out of range": cells["out of range"],
                "from": FROM.get(current.origins[name], "filled in from the data") if is_used else "",
            }
        )
    return rows


def _aside(guess: Guess) -> str:
    """Why a column is not used, in a few words."""
    return STATES.get(guess.aside, re.split("[,;]", guess.why)[0]) or "left out by you"


def _state(spec: dict[str, Any], wrong: list[Problem], words: dict[str, int]) -> str:
    """What there is to know of a column in use; what is wrong, and words, may quote a cell."""
    if is_private(spec):
        return "to be measured"
    if wrong:
        problem_text = "does not fit" if stakeholder() else clean(wrong[0].what.partition(": ")[2], 120)
        return "needs values or a range" if wrong[0].open else problem_text
    return f"ready; counted as missing: {', '.join(map(clean, words))}" if words and not stakeholder() else "ready"


def _use(guess: Guess) -> tuple[str, str]:
    """What one click makes of a column that is not used: its label, and the reading."""
    read = next((read for read in guess.offers if read in DATES or read in PREFIX), "")
    return (f"Use the {read.partition(' of ')[0]}", read) if read else (USE, USE) if guess.name else ("", "")


def _next_step(wrong: list[Problem]) -> tuple[str, str]:
    """What one click does about a column in use: its label, and the repair; nothing where nothing is wrong."""
    if not wrong:
        return "", ""
    must_measure = stakeholder() or (wrong[0].open and whole_table().large is None)
    repair = MEASURE if must_measure else wrong[0].fixes[0]
    return repairs.FIXES.get(repair, repair), repair


def _charts(current: Table) -> list[list[int] | None]:
    """The bars of every column; none where it is to be measured, or names people."""
    entries, charts = current.entries, []
    for name in names(current):
        entry, unused_kind = entries.get(name), current.guess(name).aside
        is_hidden = unused_kind in (*STATES, "unnamed") if entry is None else is_private(entry)
        charts.append(None if is_hidden else _bars(current, name))
    return charts


def _bars(current: Table, name: str) -> list[int]:
    """Return how often each value or group of the schema occurs in the first rows, where it has few and is ready."""
    column = current.domain.column(name) if current.domain and name in current.domain.names else None
    if column is None or column.size > GROUPS:
        return [*current.first_values[name].values()]
    return np.bincount(column.encode(current.cells(name)[:ROWS]), minlength=column.size).tolist()


def _act() -> None:
    """Do what was clicked in a column's row."""
    click = st.session_state["next-step"]
    row = _rows(whole_table())[click["row"]]
    if row["next"] == click["label"]:  # else it is another table by now
        do(row["way"], [row["column"]])


# What is called by a click asks for the table: an argument would keep one that was forgotten.


def do(way: str, chosen: list[str]) -> None:
    """Do a repair, measure, use as guessed, or read in some way: these columns of the table in use."""
    current, entries_at_click = whole_table(), dict(whole_table().entries)
    if way in repairs.PEEKS:
        session().look(current)

    def change(mine: Table, told: Told) -> None:
        faulty_names = {problem.column for problem in mine.problems}
        unchanged_names = [
            name for name in chosen if name in faulty_names or mine.entries.get(name) == entries_at_click.get(name)
        ]
        if way in repairs.FIXES:  # as far as nothing else became of them meanwhile
            mine.mend(unchanged_names, way, told)
        elif way == MEASURE:
            mine.change({name: private_entry(mine.entries[name]) for name in chosen if name in faulty_names}, told=told)
        else:
            guesses = {name: mine.guess(name) for name in chosen}
            new_entries = {
                name: guess.entry if way == USE else begun(_reading(guess, way)) for name, guess in guesses.items()
            }
            mine.change(new_entries, GUESSED, told)

    attempt(change)
    grid_edits.renew(chosen)


def _reading(guess: Guess, way: str) -> str:
    """A reading of dates, of a part alone in the order that they have."""
    return way + (" of " + guess.offers[0].partition(" of ")[2]) * (way in PARTS)
