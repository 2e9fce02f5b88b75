"""What a person typed and chose about a table, kept in the browser and restored after a reload.

That is facts about its columns, the questions that were asked, and the folder in which its budget
is recorded. They are back with the same columns. The browser keeps what is in force after the last
edit, also that nothing is typed any more. Every page draws it: a change that was typed on Data may
end when another page is open.

Never raw text of a row, and nothing that was inferred from the rows: an entry that was is left out,
and so is what was guessed.
"""

from functools import partial
from typing import Any

import streamlit as st

from dpcore import PrivacyUnit
from dpcore.core.job import StatusCallback
from dpcore.data.privacy_unit import MAX_ROWS_OF_ONE_VOTE

from ..components.question_choice import (
    WORKLOAD_TEXTS_BY_KIND,
    kinds_of_queries,
    set_columns,
)
from ..components.tab_experiment import experiment_slot
from ..session import Table, set_widget_value, whole_table
from ..session.session import FORGOTTEN_KEY
from ..session.stakeholder_wall import is_public_table
from ..session.table import INFERRED_FROM_DATA, MAX_ROWS_OF_PERSON
from . import ledger_memory
from .table_changes import start_schema_change

COMPONENT_KEY = "kept-columns"
RESTORED_KEY = "_back"
TYPED_KEY = "_said"
KEEP_SCRIPT = """
const NAME = "columns", TABLES = 5;
export default function ({ data, setTriggerValue }) {
  const same = (one) => JSON.stringify(one.columns) === JSON.stringify(data.columns);
  try {
    const kept = JSON.parse(localStorage.getItem(NAME) ?? "[]");
    if (data.forget) localStorage.removeItem(NAME);
    else if (data.said || data.emptied) {
      const others = kept.filter((one) => !same(one)).slice(0, TABLES - 1);
      const mine = data.said ? [{ columns: data.columns, said: data.said }] : [];
      localStorage.setItem(NAME, JSON.stringify([...mine, ...others]));
    } else if (data.wanted && kept.some(same)) setTriggerValue("found", kept.find(same).said);
  } catch { /* a browser that keeps nothing, or has no room */ }
}
"""
_keep_component = st.components.v2.component("kept_columns", js=KEEP_SCRIPT)


def remember_columns(current: Table, *, show_notice: bool = False) -> None:
    """Store the typed facts of an upload in the browser, or ask the browser for earlier ones.

    It is asked before anything was typed, whether it knows the columns.
    """
    # what is typed differs from what was guessed, and guesses are made of cells
    if is_public_table(current):
        _keep_component(key=COMPONENT_KEY, data={"forget": False})
        return
    is_restored = st.session_state.get(RESTORED_KEY) == current.identity
    kept_parts = kept_parts_of(current)
    if kept_parts is not None:  # what was said since is newer than what the browser knows
        st.session_state[TYPED_KEY] = current.identity
    has_typed = st.session_state.get(TYPED_KEY) == current.identity
    data: dict[str, Any] = {}
    if current.uploaded:
        data = {
            "columns": current.names,
            "said": kept_parts,
            "wanted": not is_restored and not has_typed,
        }
        # else what was taken back would return the next day
        data |= {"emptied": has_typed and kept_parts is None}
    _keep_component(
        key=COMPONENT_KEY,
        data=data | {"forget": st.session_state.pop(FORGOTTEN_KEY, False)},
        on_found_change=_restore_from_browser,
    )
    if is_restored and show_notice:
        st.caption(
            "What you typed about these columns is back. It was kept in this browser; “Forget my "
            "table” removes it."
        )


def kept_parts_of(current: Table) -> dict[str, Any] | None:
    """Return all that the browser keeps of a table; None where nothing was typed or chosen."""
    parts = {**(typed_schema_parts(current) or {}), **_asked_parts(current)}
    remembered = ledger_memory.remembered_ledger(current)
    if remembered is not None:
        parts["ledger"] = remembered.to_json()
    return parts or None


def _asked_parts(current: Table) -> dict[str, Any]:
    """Return the columns and the questions of the last experiment on a table, if there was one."""
    slot = experiment_slot()
    if slot.experiment is None or slot.table_identity != current.identity:
        return {}
    task = slot.experiment.task
    return {"chosen": list(task.columns), "questions": kinds_of_queries(task)}


def _restore_asked(stored: dict[str, Any], current: Table) -> None:
    """Choose the columns and the questions that the browser kept, as far as there are such."""
    chosen = stored.get("chosen")
    questions = stored.get("questions")
    if isinstance(chosen, list):
        names = [name for name in current.names if name in chosen]
        if names:
            set_columns(current, names)
    if isinstance(questions, list):
        kinds = [kind for kind in WORKLOAD_TEXTS_BY_KIND if kind in questions]
        if kinds:
            set_widget_value("questions", kinds)


def typed_schema_parts(current: Table) -> dict[str, Any] | None:
    """Return the schema parts a person typed: entries, constraints and privacy unit.

    The entries are those that are not as guessed, None for columns left out. The result is None
    where
    nothing was typed.
    """
    initial_entries = _initial_entries(current)
    entries = current.entries
    unit = current.unit
    storable_names = [
        name for name in current.names if current.origins.get(name) != INFERRED_FROM_DATA
    ]
    typed_entries = {
        name: entries.get(name)
        for name in storable_names
        if entries.get(name) != initial_entries.get(name)
    }
    if not typed_entries and not current.constraints and unit.person is None:
        return None
    return {
        "entries": typed_entries,
        "constraints": current.constraints,
        "person": unit.person,
        "most_rows": unit.most_rows,
        "counts_people": unit.counts_people,
        "row_totals": unit.row_totals,
        "person_columns": list(unit.person_columns),
    }


def skip_restoring(current: Table) -> None:
    """Take nothing from the browser for this table: what is stated of it is newer."""
    st.session_state[RESTORED_KEY] = current.identity


def _restore_from_browser() -> None:
    """Start restoring the facts that the browser kept about the table's columns.

    A browser may send what it likes: it is read as a schema is.
    """
    current = whole_table()
    stored = st.session_state[COMPONENT_KEY].get("found")
    if (
        not current.uploaded
        or not isinstance(stored, dict)
        or st.session_state.get(RESTORED_KEY) == current.identity
    ):
        return
    st.session_state[RESTORED_KEY] = current.identity
    _restore_asked(stored, current)
    ledger_memory.restore_ledger(stored.get("ledger"), current)
    start_schema_change(partial(_restore_columns, stored))


def _restore_columns(stored: dict[str, Any], current: Table, progress: StatusCallback) -> None:
    """Set a table's columns from the browser's facts, except where a person typed anew."""
    entries = stored.get("entries")
    constraints = stored.get("constraints")
    unit = _stored_unit(stored, current)
    initial_entries = _initial_entries(current)
    current_entries = current.entries
    if unit is not None and current.unit.person is None:
        current.set_privacy_unit(unit)
    stored_entries = (
        [(n, e) for n, e in entries.items() if n in current.names]
        if isinstance(entries, dict)
        else []
    )
    stored_entries = [
        (n, e) for n, e in stored_entries if current_entries.get(n) == initial_entries.get(n)
    ]
    current.update_entries(
        {n: e for n, e in stored_entries if e is None or (isinstance(e, dict) and "kind" in e)},
        progress=progress,
    )
    if isinstance(constraints, list) and constraints and not current.constraints:
        current.set_constraints(constraints)


def _stored_unit(stored: dict[str, Any], current: Table) -> PrivacyUnit | None:
    """Return the privacy unit that the browser kept; None where this table has no such."""
    person = stored.get("person")
    max_rows = stored.get("most_rows")
    counts_people = stored.get("counts_people") is True
    most = MAX_ROWS_OF_ONE_VOTE if counts_people else MAX_ROWS_OF_PERSON
    if person not in current.names or not _is_row_limit(max_rows, most):
        return None
    if not counts_people:
        return PrivacyUnit(person, max_rows)
    stored_columns = stored.get("person_columns")
    if not isinstance(stored_columns, list):
        stored_columns = []
    return PrivacyUnit(
        person,
        max_rows,
        counts_people=True,
        row_totals=stored.get("row_totals") is True,
        person_columns=tuple(name for name in current.names if name in stored_columns),
    )


def _initial_entries(current: Table) -> dict[str, Any]:
    """Return the entries that a table began with, as guessed."""
    return {
        guess.name: guess.initial_entry for guess in current.guesses.values() if not guess.exclusion
    }


def _is_row_limit(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most
