"""Edits typed into the grid: each changes the table once, and the grid shows the table.

The browser keeps the edited cells of a grid under the grid's key. So the key stays the same while a
person types, and no edit is lost while an earlier one is still being checked. An edit is dropped by
the browser once the table says the same. The key changes only where the table says something else
than an edit: the edit was overtaken by a repair or a schema from a file, and must not hide it.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import InputError
from dpcore.core.job import StatusCallback

from ..jobs.table_changes import show_schema_problem, start_schema_change
from ..session import Table, escape_markdown, is_stakeholder_view, whole_table
from .column_entries import NOT_USED, TEXT_BY_READING, entry_from_row, grid_cells, grid_column_names

# What the session knows of its grids.
GRIDS_KEY = "_grids"
GRID_TURN_KEY = "_grid-turn"
LAST_GRID_KEY = "_grid-last"
MAX_GRIDS = 3  # grids of earlier keys that may still send an edit
Edits = dict[int, dict[str, Any]]  # by row and column of the grid


@dataclass(eq=False)
class GridState:
    """What the grid of a key was given, and which edits of it the table was told of."""

    initial_cells: list[dict[str, Any]]
    applied_edits: Edits


def refresh_grid_key(current: Table, *, with_bars: bool, is_changing: bool) -> str:
    """Return the widget key of the grid for this drawing.

    `is_changing` is true while a change is on its way.
    """
    st.session_state.setdefault(GRID_TURN_KEY, 0)
    key = _grid_key(current, with_bars)
    if not is_changing and _is_overtaken(current, _edits_of_grid(key)):
        st.session_state[GRID_TURN_KEY] += 1
        key = _grid_key(current, with_bars)
    initial_cells = [grid_cells(current, name) for name in grid_column_names(current)]
    grids = {old: grid for old, grid in st.session_state.get(GRIDS_KEY, {}).items() if old != key}
    recent_grids = dict(list(grids.items())[-MAX_GRIDS:])
    st.session_state[GRIDS_KEY] = recent_grids | {
        key: GridState(initial_cells, _edits_of_grid(key))
    }
    st.session_state[LAST_GRID_KEY] = key
    return key


def apply_grid_edits(key: str) -> None:
    """Tell the table of what was typed or chosen since; called by the grid of this key."""
    grid = st.session_state.get(GRIDS_KEY, {}).get(key)
    if grid is None or not _is_grid_of_table(key, whole_table()):
        return
    edits = _edits_of_grid(key)
    old_edits = grid.applied_edits
    grid.applied_edits = _edits_of_grid(key)
    new_edits = {
        at: {
            column: cell
            for column, cell in cells.items()
            if not _contains_edit(old_edits, at, column, cell)
        }
        for at, cells in edits.items()
    }
    for at, cells in old_edits.items():
        for column, cell in cells.items():
            initial_cell = grid.initial_cells[at][column]
            # typed back to what it was
            if column not in edits.get(at, {}) and not _are_cells_equal(cell, initial_cell):
                new_edits.setdefault(at, {})[column] = initial_cell
    new_edits = {at: cells for at, cells in new_edits.items() if cells}
    if new_edits:
        start_schema_change(partial(_change_entries, new_edits))


def renew_grid(columns: list[str]) -> None:
    """Forget the edits of the grid if any is in these columns, so that it shows the table."""
    current = whole_table()
    edits = _edits_of_grid(st.session_state.get(LAST_GRID_KEY, ""))
    all_names = grid_column_names(current)
    if any(all_names[at] in columns for at in edits if at < len(all_names)):
        st.session_state[GRID_TURN_KEY] = st.session_state.get(GRID_TURN_KEY, 0) + 1


def show_grid_problems(current: Table) -> None:
    """Say what of the schema was not changed, and what stands in the grid and cannot be read."""
    if show_schema_problem(current):
        return
    key = st.session_state.get(LAST_GRID_KEY, "")
    failures = []
    if _is_grid_of_table(key, current):
        all_names = grid_column_names(current)
        for at, cells in _edits_of_grid(key).items():
            for column, cell in cells.items():
                try:
                    _entry_from_cells(current, all_names[at], {column: cell})
                except InputError as error:
                    failures.append(str(error))
    if failures and not is_stakeholder_view():
        st.error(escape_markdown("; ".join(failures), 400))


def _change_entries(edits: Edits, target: Table, progress: StatusCallback) -> None:
    """Change the schema by the readable edits; raise InputError for the others."""
    all_names = grid_column_names(target)
    entries = {}
    failures = []
    for at, cells in edits.items():
        try:
            entries[all_names[at]] = _entry_from_cells(target, all_names[at], cells)
        except InputError as error:
            failures.append(str(error))
    if entries:
        target.update_entries(entries, progress=progress)
    if failures:
        raise InputError("; ".join(failures))


def _entry_from_cells(current: Table, name: str, cells: dict[str, Any]) -> dict[str, Any] | None:
    """Return the entry of a column as these of its cells say, and the others as they are."""
    row = grid_cells(current, name)
    # something is said of what was not used
    if row["what it is"] == NOT_USED and "what it is" not in cells:
        guessed_entry = current.column_guess(name).initial_entry
        row["what it is"] = TEXT_BY_READING[guessed_entry["kind"], guessed_entry.get("read", "")]
    return entry_from_row(name, row | cells, current.entries.get(name, {}))


def _is_overtaken(current: Table, edits: Edits) -> bool:
    """Return whether the table's schema contradicts a readable edit."""
    all_names = grid_column_names(current)
    for at, cells in edits.items():
        name = all_names[at]
        table_cells = grid_cells(current, name)
        for column, cell in cells.items():
            if _are_cells_equal(cell, table_cells[column]):
                continue
            try:
                entry = _entry_from_cells(current, name, {column: cell})
            except InputError:  # it stays in sight, with what is wrong with it
                continue
            if entry != current.entries.get(name):
                return True
    return False


def _edits_of_grid(key: str) -> Edits:
    """Return the edited cells that the browser keeps under the grid's key."""
    state = st.session_state.get(key) or {}
    return {int(at): dict(cells) for at, cells in state.get("edited_rows", {}).items()}


def _grid_key(current: Table, with_bars: bool) -> str:
    bars = "-bars" if with_bars else ""
    return f"schema-{current.identity}-{st.session_state[GRID_TURN_KEY]}{bars}"


def _is_grid_of_table(key: str, current: Table) -> bool:
    return key.startswith(f"schema-{current.identity}-")


def _contains_edit(edits: Edits, at: int, column: str, cell: Any) -> bool:
    """Return whether the edits have this cell in the row `at` and `column`."""
    return column in edits.get(at, {}) and _are_cells_equal(edits[at][column], cell)


def _are_cells_equal(first: Any, second: Any) -> bool:
    """Return whether two grid cells mean the same; an empty one has several forms."""
    are_empty = [cell is None or cell == "" or cell is pd.NA for cell in (first, second)]
    return all(are_empty) or (not any(are_empty) and first == second)
