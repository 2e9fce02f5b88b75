"""What was typed about a table's columns, kept in the browser: after a reload it is back with the same columns.

Never a cell, and nothing that was read off the records: an entry that was is left out, and so is what was guessed.
"""

from functools import partial
from typing import Any

import streamlit as st

from dpcore import PrivacyUnit

from ..shell import Table, Told, whole_table
from ..shell.sessions import FORGOTTEN
from ..shell.tables import READ_OFF
from ..shell.wall import is_withheld
from .reading import attempt

KEY, BACK, SAID = "kept-columns", "_back", "_said"
KEEP = """
const NAME = "columns", TABLES = 5;
export default function ({ data, setTriggerValue }) {
  const same = (one) => JSON.stringify(one.columns) === JSON.stringify(data.columns);
  try {
    const kept = JSON.parse(localStorage.getItem(NAME) ?? "[]");
    if (data.forget) localStorage.removeItem(NAME);
    else if (data.said) {
      const others = kept.filter((one) => !same(one)).slice(0, TABLES - 1);
      localStorage.setItem(NAME, JSON.stringify([{ columns: data.columns, said: data.said }, ...others]));
    } else if (data.wanted && kept.some(same)) setTriggerValue("found", kept.find(same).said);
  } catch { /* a browser that keeps nothing, or has no room */ }
}
"""
_keep = st.components.v2.component("kept_columns", js=KEEP)


def remember(current: Table) -> None:
    """Keep what was typed of an upload; before anything was, ask the browser whether it knows the columns."""
    if is_withheld(current):  # what is typed differs from what was guessed, and guesses are made of cells
        _keep(key=KEY, data={"forget": False})
        return
    back, words = st.session_state.get(BACK) == id(current.frame), said(current)
    if words is not None:  # what was said since is newer than what the browser knows
        st.session_state[SAID] = id(current.frame)
    wanted = not back and st.session_state.get(SAID) != id(current.frame)
    data = {"columns": current.names, "said": words, "wanted": wanted} if current.uploaded else {}
    _keep(key=KEY, data=data | {"forget": st.session_state.pop(FORGOTTEN, False)}, on_found_change=_found)
    if back:
        st.caption(
            "What you typed about these columns is back. It was kept in this browser; “Forget my table” removes it."
        )


def said(current: Table) -> dict[str, Any] | None:
    """The entries that are not as guessed, None for columns left out, constraints and unit; None for nothing typed."""
    begun = {guess.name: guess.entry for guess in current.guesses.values() if not guess.aside}
    entries, unit = current.entries, current.unit
    ours = [name for name in current.names if current.origins.get(name) != READ_OFF]
    typed = {name: entries.get(name) for name in ours if entries.get(name) != begun.get(name)}
    if not typed and not current.constraints and unit.person is None:
        return None
    return {"entries": typed, "constraints": current.constraints, "person": unit.person, "most_rows": unit.most_rows}


def _found() -> None:
    """Say of the table what the browser knows; it may send what it likes, and is read as a schema is."""
    mine, found = whole_table(), st.session_state[KEY].get("found")
    if not mine.uploaded or not isinstance(found, dict) or st.session_state.get(BACK) == id(mine.frame):
        return
    st.session_state[BACK] = id(mine.frame)
    person, most = found.get("person"), found.get("most_rows")
    if person in mine.names and isinstance(most, int) and 1 <= most <= 1000:
        st.session_state[f"person-{id(mine.frame)}"] = person
        mine.protect(PrivacyUnit(person, most))
    attempt(partial(_restore, found))


def _restore(found: dict[str, Any], mine: Table, told: Told) -> None:
    entries, constraints = found.get("entries"), found.get("constraints")
    known = [(n, e) for n, e in entries.items() if n in mine.names] if isinstance(entries, dict) else []
    mine.change({n: e for n, e in known if e is None or (isinstance(e, dict) and "kind" in e)}, told=told)
    if isinstance(constraints, list) and constraints:
        mine.constrain(constraints)
