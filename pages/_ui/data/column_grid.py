"""Grid of the Data page, a row per column: first values, kind, public values, one action."""

import re
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.core.job import StatusCallback
from dpcore.core.provenance import Provenance
from dpcore.schema.column_readings import DATE_PARTS, DATE_READINGS, PREFIX_LENGTHS, WHOLE_DATES
from dpcore.schema.editing.code_values import give_own_value, number_codes_of
from dpcore.schema.inference import repairs
from dpcore.schema.inference.column_guess import ColumnGuess, initial_column_entry
from dpcore.schema.inference.repairs import ColumnProblem
from dpcore.schema.inference.rounded_bounds import CROWDED_BIN_NOTE
from dpcore.schema.partial_schema import is_private_entry, private_entry

from ..jobs.table_changes import start_schema_change
from ..session import (
    Table,
    distinct_labels,
    escape_markdown,
    is_stakeholder_view,
    printable_text,
    session,
    whole_table,
)
from ..session.first_values import MAX_PREVIEW_ROWS
from ..session.table import GUESSED, USER_INPUT
from . import grid_edits
from .column_entries import (
    GROUPS_BEGIN_TEXT,
    MEASURED_TEXT,
    NOT_USED,
    READING_BY_TEXT,
    grid_cells,
    grid_column_names,
)
from .reading_doubts import BARS_KEY
from .value_editor import (
    can_edit_values,
    draw_editor_choice,
    draw_value_editor,
    open_editor,
    value_notes,
)

MEASURE_ACTION = "Measure privately"
USE_ACTION = "Use it"
EDIT_ACTION = "Edit values"
MERGE_ACTION = "Merge values"
OWN_CODES_ACTION = "own codes"
IDENTIFIER_TEXTS = {
    "person": "names people",
    "birth": "dates of birth",
    "id": "an ID, which may name people",
}
POLICY_TEXTS = {
    "refuse": "not allowed",
    "category": "a value of their own",
    "clip": "in the outermost groups",
    "other": "counted in (other)",
}
ORIGIN_TEXTS = {USER_INPUT: "entered by you", GUESSED: "guessed"}
BARS_COLUMN = "how often"  # the column of small charts
TEXT_COLUMNS = (
    "column",
    "public values or range",
    "what it is",
    "state",
    "next",
    "way",
    "missing",
    "out of range",
    "from",
)
PUBLIC_VALUES_HELP = (
    "What everybody may know without this table. Values: a; b; c. A range: 0 to 120, or 0 to "
    "120, 12 groups. "
    f"Unequal groups: 0 to 120, {GROUPS_BEGIN_TEXT} 18, 65. Where nobody knows: {MEASURED_TEXT}."
)
SETTINGS_HELP = (
    "What becomes of missing values and of those out of range, and where each line comes from."
)
MAX_VISIBLE_ROWS = 12  # rows of the grid that are seen at once
MAX_SCHEMA_BARS = 30  # bars at the most of a column whose values are public
GRID_CONFIG = {
    "column": st.column_config.TextColumn(disabled=True, width=130),
    "what it is": st.column_config.SelectboxColumn(
        options=[NOT_USED, *READING_BY_TEXT],
        required=True,
        help="Choose what it is. A column that is not used is never read.",
    ),
    "state": st.column_config.TextColumn(disabled=True, width=300),
    "from": st.column_config.TextColumn(disabled=True),
} | {
    which: st.column_config.SelectboxColumn(
        options=["refuse", column_policy, "other"], required=True, format_func=POLICY_TEXTS.get
    )
    for which, column_policy in (("missing", "category"), ("out of range", "clip"))
}


def draw_grid(current: Table, is_changing: bool) -> None:
    """Draw the grid, and take what is typed or clicked in it, also while a change is on its way."""
    grid_container = st.container(key="columns")
    shows_all_settings, shows_bars = _draw_switches()
    # also where all of them are empty
    rows = pd.DataFrame(_grid_rows(current)).astype(dict.fromkeys(TEXT_COLUMNS, "string"))
    rows["column"] = rows["column"].map(distinct_labels(rows["column"], 18))
    charts = _bar_charts(current) if shows_bars else []
    if any(charts):
        session().mark_viewed(current)
        rows.insert(1, BARS_COLUMN, charts)
    key = grid_edits.refresh_grid_key(
        current, with_bars=BARS_COLUMN in rows, is_changing=is_changing
    )
    hidden_columns = {
        "way",
        *(() if shows_all_settings else ("missing", "out of range", "from")),
        *(() if any(rows["next"]) else ("next",)),
    }
    phone_rows = rows[["column", "public values or range", "state"]].fillna("").map(escape_markdown)
    grid_container.container(key="whole").table(phone_rows.set_index("column"))  # on a phone
    with grid_container.container(key="edit-choice"):  # there, too
        draw_editor_choice(current)
    grid_container.data_editor(
        rows,
        hide_index=True,
        column_config=_column_config(current),
        column_order=[c for c in rows if c not in hidden_columns],
        num_rows="fixed",
        placeholder="copy from a form",
        key=key,
        on_change=grid_edits.apply_grid_edits,
        args=(key,),
        height="content" if len(rows) <= MAX_VISIBLE_ROWS else 35 * (MAX_VISIBLE_ROWS + 1),
        alt="The columns of the table: what each is, what is public about it, and what is left "
        "to decide.",
    )
    with grid_container:
        draw_value_editor(current)
    grid_container.markdown(
        "Write values from your form, not from the table: a rare value could give someone away."
    )


def _draw_switches() -> tuple[bool, bool]:
    """Draw the switches; return whether all settings are shown, and whether bars of values are."""
    switches = st.container(horizontal=True)
    shows_all_settings = switches.toggle(
        "Show all settings", key="all-settings", persist_state="session", help=SETTINGS_HELP
    )
    if is_stakeholder_view():
        return shows_all_settings, False
    shows_bars = switches.toggle(
        "Show how often values occur",
        True,
        key=BARS_KEY,
        persist_state="session",
        help="Small charts of real values. Switch them off before you bring a table that you "
        "must not look at.",
    )
    return shows_all_settings, shows_bars


def _column_config(current: Table) -> dict[str, Any]:
    """Return how the grid's columns look and what they explain."""
    privacy_note = (
        f"{Provenance.REAL_DATA.capitalize()}." if current.uploaded else "This sample is public."
    )
    return GRID_CONFIG | {
        "public values or range": st.column_config.TextColumn(width=300, help=PUBLIC_VALUES_HELP),
        BARS_COLUMN: st.column_config.BarChartColumn(
            width="small",
            y_min=0,
            help=f"How often values occur in the first {MAX_PREVIEW_ROWS:,} rows. {privacy_note}",
        ),
        "next": st.column_config.ButtonColumn(
            "action", on_click=_run_clicked_action, key="next-step"
        ),
    }


def _grid_rows(current: Table) -> list[dict[str, Any]]:
    """Return one row per column of the table, also for columns that the schema leaves out."""
    entries = current.entries
    missing_words = current.missing_word_counts
    rows = []
    problems_by_column: dict[str, list[ColumnProblem]] = {}
    for problem in current.problems:
        problems_by_column.setdefault(problem.column, []).append(problem)
    for name in grid_column_names(current):
        is_used = name in entries
        spec = entries.get(name)
        spec = spec if isinstance(spec, dict) else {}
        guess = current.column_guess(name)
        cells = grid_cells(current, name)
        if is_used:
            column_problems = problems_by_column.get(name, [])
            state = _state_text(
                spec,
                column_problems,
                missing_words.get(name, {}),
                [] if is_stakeholder_view() else value_notes(current, name),
                has_crowded_bin=current.has_crowded_bin(name),
            )
            action_label, action = _used_action(
                spec, column_problems, current.suggested_merges(name)
            )
            origin = ORIGIN_TEXTS.get(current.origins[name], "filled in from the data")
        elif name == current.unit.person:
            state = "says whose row it is; is not released"
            action_label, action = "", ""
            origin = ""
        else:
            state = _unused_reason(guess)
            action_label, action = _use_action(guess)
            origin = ""
        rows.append(
            {
                "column": name,
                "public values or range": cells["public values or range"],
                "what it is": cells["what it is"],
                "state": state,
                "next": action_label,
                "way": action,
                "missing": cells["missing"],
                "out of range": cells["out of range"],
                "from": origin,
            }
        )
    return rows


def _unused_reason(guess: ColumnGuess) -> str:
    """Return in a few words why a column is not used."""
    return (
        IDENTIFIER_TEXTS.get(guess.exclusion, re.split("[,;]", guess.exclusion_reason)[0])
        or "left out by you"
    )


def _state_text(
    spec: dict[str, Any],
    column_problems: list[ColumnProblem],
    missing_words: dict[str, int],
    notes: list[str],
    *,
    has_crowded_bin: bool,
) -> str:
    """Return the state of a used column: to be measured, a problem, or ready.

    Where the view allows it, the problem and the words that count as missing may quote raw text,
    and it is said if most rows are in one bin.
    """
    if is_private_entry(spec):
        codes = spec.get("missing_codes")
        if not isinstance(codes, list) or not codes or is_stakeholder_view():
            return "to be measured"
        return f"to be measured; counted as missing: {', '.join(map(printable_text, codes))}"
    if column_problems:
        problem_text = (
            "does not fit"
            if is_stakeholder_view()
            else printable_text(column_problems[0].message.partition(": ")[2], 120)
        )
        return "needs values or a range" if column_problems[0].is_unfilled else problem_text
    parts = ["ready"]
    if not is_stakeholder_view():
        codes = spec.get("missing_codes")
        missing = [*map(str, codes if isinstance(codes, list) else ()), *missing_words]
        if missing:
            parts.append(f"counted as missing: {', '.join(map(printable_text, missing))}")
        if spec.get("form"):
            parts.append(f"written as {printable_text(spec['form'])}")
        if has_crowded_bin:
            parts.append(CROWDED_BIN_NOTE)
        parts += notes
    return "; ".join(parts)


def _use_action(guess: ColumnGuess) -> tuple[str, str]:
    """Return the button label and the reading with which one click uses an unused column."""
    read = next(
        (read for read in guess.other_readings if read in DATE_READINGS or read in PREFIX_LENGTHS),
        "",
    )
    if read:
        return f"Use the {read.partition(' of ')[0]}", read
    return (USE_ACTION, USE_ACTION) if guess.name else ("", "")


def _used_action(
    entry: dict[str, Any], column_problems: list[ColumnProblem], merges: dict[str, list[str]]
) -> tuple[str, str]:
    """Return the button label and the action for a used column.

    It is a repair if something is wrong, else a look at its values; empty where these say nothing.
    """
    if not column_problems or (merges and not is_stakeholder_view()):
        can_edit = can_edit_values(entry) and not is_stakeholder_view()
        label = MERGE_ACTION if merges else EDIT_ACTION
        return (label, EDIT_ACTION) if can_edit else ("", "")
    must_measure = is_stakeholder_view() or (
        column_problems[0].is_unfilled and whole_table().large_table is None
    )
    repair = MEASURE_ACTION if must_measure else column_problems[0].fixes[0]
    return repairs.FIX_LABELS.get(repair, repair), repair


def _bar_charts(current: Table) -> list[list[int] | None]:
    """Return each column's bar heights; None if it is to be measured or names people."""
    entries = current.entries
    charts = []
    for name in grid_column_names(current):
        entry = entries.get(name)
        unused_kind = current.column_guess(name).exclusion
        is_hidden = (
            unused_kind in (*IDENTIFIER_TEXTS, "distinct", "row", "unnamed")
            if entry is None
            else is_private_entry(entry)
        )
        charts.append(None if is_hidden else _value_counts(current, name))
    return charts


def _value_counts(current: Table, name: str) -> list[int]:
    """Return how often each value or group of the schema occurs in the first rows.

    Where there are many of them, or the column is not ready, return the counts of its first values.
    """
    column = (
        current.domain.column(name) if current.domain and name in current.domain.names else None
    )
    if column is None or column.size > MAX_SCHEMA_BARS:
        return [*current.first_values[name].values()]
    return np.bincount(
        column.encode(current.column_cells(name)[:MAX_PREVIEW_ROWS]), minlength=column.size
    ).tolist()


def _run_clicked_action() -> None:
    """Run the action that was clicked in a column's row."""
    click = st.session_state["next-step"]
    row = _grid_rows(whole_table())[click["row"]]
    if row["next"] != click["label"]:  # it is another table by now
        return
    start_column_action(row["way"], [row["column"]])


# What is called by a click asks for the table: an argument would keep one that was forgotten.


def start_column_action(action: str, column_names: list[str]) -> None:
    """Start a change of columns: a repair, measuring, use as guessed, or another reading.

    They are columns of the table in use. The values of the first one may also be opened to edit.
    """
    if action == EDIT_ACTION:
        open_editor(column_names[0])
        return
    current = whole_table()
    entries_at_click = dict(whole_table().entries)
    if action in repairs.PEEKING_FIXES:
        session().mark_viewed(current)

    def change(target: Table, progress: StatusCallback) -> None:
        faulty_names = {problem.column for problem in target.problems}
        unchanged_names = [
            name
            for name in column_names
            if name in faulty_names or target.entries.get(name) == entries_at_click.get(name)
        ]
        if action in repairs.FIX_LABELS:  # as far as nothing else became of them meanwhile
            target.repair_columns(unchanged_names, action, progress)
        elif action == OWN_CODES_ACTION:
            for name in unchanged_names:
                for code in number_codes_of(target.entries[name]):
                    target.change_code(name, code, give_own_value, progress)
        elif action == MEASURE_ACTION:
            target.update_entries(
                {
                    name: private_entry(target.entries[name])
                    for name in column_names
                    if name in faulty_names
                },
                progress=progress,
            )
        else:
            guesses = {name: target.column_guess(name) for name in column_names}
            new_entries = {
                name: guess.initial_entry
                if action == USE_ACTION
                else initial_column_entry(_date_reading(guess, action))
                for name, guess in guesses.items()
            }
            target.update_entries(new_entries, GUESSED, progress)

    start_schema_change(change)
    grid_edits.renew_grid(column_names)


def _date_reading(guess: ColumnGuess, date_part: str) -> str:
    """Return the reading of a date column as `date_part`, in the guessed order of day and month.

    A value of `date_part` that is no part of a date is returned unchanged.
    """
    if date_part not in (*WHOLE_DATES, *DATE_PARTS):
        return date_part
    return date_part + " of " + guess.other_readings[0].partition(" of ")[2]
