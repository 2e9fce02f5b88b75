"""What is typed into the grid: the table owns every cell, is told of each edit once, and the grid shows what it says.

The browser keeps the edited cells of a grid under the grid's key. So the key stays the same while a person types, and
no edit is lost while an earlier one is still being checked. An edit is dropped by the browser once the table says the
same. The key changes only where the table says something else than an edit: the edit was overtaken by a repair or a
schema from a file, and must not hide it.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import InputError

from ..jobs.table_changes import attempt, say_unchanged
from ..session import Table, Told, plain, stakeholder, whole_table
from .column_entries import ASIDE, SAID, cells_of, entry_of, names

GRIDS, TURN, LAST = "_grids", "_grid-turn", "_grid-last"  # what the session knows of its grids
MAX_GRIDS = 3  # grids of earlier keys that may still send an edit
Edits = dict[int, dict[str, Any]]  # by row and column of the grid


@dataclass(eq=False)
class Grid:
    """What the grid of a key was given, and which edits of it the table was told of."""

    given: list[dict[str, Any]]
    taken: Edits


def drawn(current: Table, *, with_bars: bool, busy: bool) -> str:
    """Return the key that the grid is drawn with now; `busy` while a change is on its way."""
    st.session_state.setdefault(TURN, 0)
    key = _key(current, with_bars)
    if not busy and _overtaken(current, _edits(key)):
        st.session_state[TURN] += 1
        key = _key(current, with_bars)
    initial_cells = [cells_of(current, name) for name in names(current)]
    grids = {old: grid for old, grid in st.session_state.get(GRIDS, {}).items() if old != key}
    recent_grids = dict(list(grids.items())[-MAX_GRIDS:])
    st.session_state[GRIDS] = recent_grids | {key: Grid(initial_cells, _edits(key))}
    st.session_state[LAST] = key
    return key


def take(key: str) -> None:
    """Tell the table of what was typed or chosen since; called by the grid of this key."""
    grid = st.session_state.get(GRIDS, {}).get(key)
    if grid is None or not _is_of(key, whole_table()):
        return
    edits, old_edits, grid.taken = _edits(key), grid.taken, _edits(key)
    new_edits = {
        at: {column: cell for column, cell in cells.items() if not _holds(old_edits, at, column, cell)}
        for at, cells in edits.items()
    }
    for at, cells in old_edits.items():
        for column, cell in cells.items():
            initial_cell = grid.given[at][column]
            if column not in edits.get(at, {}) and not _same(cell, initial_cell):  # typed back to what it was
                new_edits.setdefault(at, {})[column] = initial_cell
    new_edits = {at: cells for at, cells in new_edits.items() if cells}
    if new_edits:
        attempt(partial(_use, new_edits))


def renew(columns: list[str]) -> None:
    """Show from now on what the table says of these columns, whatever was typed into their cells before."""
    current, edits = whole_table(), _edits(st.session_state.get(LAST, ""))
    all_names = names(current)
    if any(all_names[at] in columns for at in edits if at < len(all_names)):
        st.session_state[TURN] = st.session_state.get(TURN, 0) + 1


def say(current: Table) -> None:
    """Say what of the schema was not changed, and what stands in the grid and cannot be read."""
    if say_unchanged(current):
        return
    key, failures = st.session_state.get(LAST, ""), []
    if _is_of(key, current):
        all_names = names(current)
        for at, cells in _edits(key).items():
            for column, cell in cells.items():
                try:
                    _entry(current, all_names[at], {column: cell})
                except InputError as error:
                    failures.append(str(error))
    if failures and not stakeholder():
        st.error(plain("; ".join(failures), 400))


def _use(edits: Edits, mine: Table, told: Told) -> None:
    """Change the schema by these edits, each as far as it can be read; InputError for the others."""
    all_names, entries, failures = names(mine), {}, []
    for at, cells in edits.items():
        try:
            entries[all_names[at]] = _entry(mine, all_names[at], cells)
        except InputError as error:
            failures.append(str(error))
    if entries:
        mine.change(entries, told=told)
    if failures:
        raise InputError("; ".join(failures))


def _entry(current: Table, name: str, cells: dict[str, Any]) -> dict[str, Any] | None:
    """Return the entry of a column as these of its cells say, and the others as they are."""
    row = cells_of(current, name)
    if row["what it is"] == ASIDE and "what it is" not in cells:  # something is said of what was not used
        guessed_entry = current.guess(name).entry
        row["what it is"] = SAID[guessed_entry["kind"], guessed_entry.get("read", "")]
    return entry_of(name, row | cells, current.entries.get(name, {}))


def _overtaken(current: Table, edits: Edits) -> bool:
    """Whether the table says something else than an edit that it could read."""
    all_names = names(current)
    for at, cells in edits.items():
        name = all_names[at]
        table_cells = cells_of(current, name)
        for column, cell in cells.items():
            if _same(cell, table_cells[column]):
                continue
            try:
                entry = _entry(current, name, {column: cell})
            except InputError:  # it stays in sight, with what is wrong with it
                continue
            if entry != current.entries.get(name):
                return True
    return False


def _edits(key: str) -> Edits:
    """The edited cells that the browser keeps under a key."""
    state = st.session_state.get(key) or {}
    return {int(at): dict(cells) for at, cells in state.get("edited_rows", {}).items()}


def _key(current: Table, with_bars: bool) -> str:
    bars = "-bars" if with_bars else ""
    return f"schema-{current.identity}-{st.session_state[TURN]}{bars}"


def _is_of(key: str, current: Table) -> bool:
    return key.startswith(f"schema-{current.identity}-")


def _holds(edits: Edits, at: int, column: str, cell: Any) -> bool:
    """Whether this cell stands among the edits."""
    return column in edits.get(at, {}) and _same(edits[at][column], cell)


def _same(one: Any, other: Any) -> bool:
    """Whether two cells say the same; an empty one may be written in several ways."""
    are_empty = [cell is None or cell == "" or cell is pd.NA for cell in (one, other)]
    return all(are_empty) or (not any(are_empty) and one == other)
