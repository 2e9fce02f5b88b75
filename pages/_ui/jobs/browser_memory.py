"""What was typed about a table's columns, kept in the browser: after a reload it is back with the same columns.

The browser keeps what is in force after the last edit, also that nothing is typed any more. Every page draws it: a
change that was typed on Data may end when another page is open.

Never a cell, and nothing that was read off the records: an entry that was is left out, and so is what was guessed.
"""

from functools import partial
from typing import Any

import streamlit as st

from dpcore import PrivacyUnit

from ..session import Table, Told, whole_table
from ..session.session import FORGOTTEN
from ..session.stakeholder_wall import is_withheld
from ..session.table import MAX_ROWS_OF_PERSON, READ_OFF
from .table_changes import attempt

KEY, BACK, SAID = "kept-columns", "_back", "_said"
KEEP = """
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
_keep = st.components.v2.component("kept_columns", js=KEEP)


def remember(current: Table, *, says: bool = False) -> None:
    """Keep what was typed of an upload; before anything was, ask the browser whether it knows the columns."""
    if is_withheld(current):  # what is typed differs from what was guessed, and guesses are made of cells
        _keep(key=KEY, data={"forget": False})
        return
    is_restored, typed_parts = st.session_state.get(BACK) == current.identity, said(current)
    if typed_parts is not None:  # what was said since is newer than what the browser knows
        st.session_state[SAID] = current.identity
    has_typed = st.session_state.get(SAID) == current.identity
    data: dict[str, Any] = {}
    if current.uploaded:
        data = {"columns": current.names, "said": typed_parts, "wanted": not is_restored and not has_typed}
        data |= {"emptied": has_typed and typed_parts is None}  # else what was taken back would return the next day
    _keep(key=KEY, data=data | {"forget": st.session_state.pop(FORGOTTEN, False)}, on_found_change=_found)
    if is_restored and says:
        st.caption(
            "What you typed about these columns is back. It was kept in this browser; “Forget my table” removes it."
        )


def said(current: Table) -> dict[str, Any] | None:
    """The entries that are not as guessed, None for columns left out, constraints and unit; None for nothing typed."""
    initial_entries = _begun(current)
    entries, unit = current.entries, current.unit
    storable_names = [name for name in current.names if current.origins.get(name) != READ_OFF]
    typed_entries = {
        name: entries.get(name) for name in storable_names if entries.get(name) != initial_entries.get(name)
    }
    if not typed_entries and not current.constraints and unit.person is None:
        return None
    return {
        "entries": typed_entries,
        "constraints": current.constraints,
        "person": unit.person,
        "most_rows": unit.most_rows,
    }


def _found() -> None:
    """Say of the table what the browser knows; it may send what it likes, and is read as a schema is."""
    current, stored = whole_table(), st.session_state[KEY].get("found")
    if not current.uploaded or not isinstance(stored, dict) or st.session_state.get(BACK) == current.identity:
        return
    st.session_state[BACK] = current.identity
    attempt(partial(_restore, stored))


def _restore(found: dict[str, Any], mine: Table, told: Told) -> None:
    """Say of a table what the browser knows of its columns, except where a person was quicker and typed anew."""
    entries, constraints = found.get("entries"), found.get("constraints")
    person, max_rows = found.get("person"), found.get("most_rows")
    initial_entries, current_entries = _begun(mine), mine.entries
    if person in mine.names and mine.unit.person is None and _is_limit(max_rows):
        mine.protect(PrivacyUnit(person, max_rows))
    stored_entries = [(n, e) for n, e in entries.items() if n in mine.names] if isinstance(entries, dict) else []
    stored_entries = [(n, e) for n, e in stored_entries if current_entries.get(n) == initial_entries.get(n)]
    mine.change({n: e for n, e in stored_entries if e is None or (isinstance(e, dict) and "kind" in e)}, told=told)
    if isinstance(constraints, list) and constraints and not mine.constraints:
        mine.constrain(constraints)


def _begun(current: Table) -> dict[str, Any]:
    """Return the entries that a table began with, as guessed."""
    return {guess.name: guess.entry for guess in current.guesses.values() if not guess.aside}


def _is_limit(most: object) -> bool:
    return isinstance(most, int) and not isinstance(most, bool) and 1 <= most <= MAX_ROWS_OF_PERSON
