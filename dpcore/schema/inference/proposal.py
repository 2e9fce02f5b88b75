"""The schema that is proposed for a new table, by pages and command line alike: a private peek.

What is proposed can be used as it is once bounds and values are filled in. A column of no use is
left out of it, with a reason that quotes no cell.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pandas as pd

from ...core.errors import InputError
from ...core.types import Json, ProgressCallback, Texts, ignore_progress, value_object
from ..amount_texts import has_limit_sign
from ..column import Column
from ..column_readings import AMOUNT_READINGS, whole_date_of_reading
from ..column_texts import ColumnTexts
from ..schema_json import domain_from_json
from .column_guess import ColumnGuess
from .infer_column import infer_guessed_entry
from .infer_schema import guess_column
from .rounded_bounds import MAX_BIN_SHARE, TARGET_BIN_COUNT
from .stated_column import NOTHING_STATED, StatedColumn

MAX_NOTE_CHARS = 80  # of a text of the file in a note


@value_object
class Proposal:
    """A proposed schema: an entry for each column that is used, and a guess for every column.

    `peeked` means that bounds and values came from the rows.
    """

    columns: Json
    guesses: dict[str, ColumnGuess]
    peeked: bool

    @property
    def names_by_reason(self) -> dict[str, list[str]]:
        """The columns that are left out, by the reason for it."""
        names: dict[str, list[str]] = {}
        for guess in self.guesses.values():
            if guess.exclusion:
                names.setdefault(guess.exclusion_reason, []).append(guess.name)
        return names

    def to_json(self) -> Json:
        """Return the schema file, with null where a person must fill in bounds or values."""
        if self.peeked:
            return {"columns": self.columns, "peeked": True}
        return {"columns": {name: _with_nulls(entry) for name, entry in self.columns.items()}}


def propose_schema(
    frame: pd.DataFrame,
    *,
    peek: bool = False,
    stated: Mapping[str, StatedColumn] = MappingProxyType({}),
    progress: ProgressCallback = ignore_progress,
) -> Proposal:
    """Return the proposed schema of a table, with kinds guessed from its rows.

    Args:
        frame: the table.
        peek: whether bounds and values are taken from the rows, too.
        stated: what the file states of its columns, by their names, which is taken as it stands.
        progress: called before each column with how many are done.

    Raises:
        InputError: the table has no rows, of which nothing could be guessed.

    """
    if frame.empty:
        raise InputError(
            "the table has names of columns and no rows; a schema is proposed from rows"
        )
    columns = {}
    guesses = {}
    for i, (label, cells) in enumerate(frame.items()):
        progress(i, len(frame.columns))
        name = str(label)
        guess = guess_column(name, cells, stated.get(name, NOTHING_STATED))
        entry = guess.initial_entry
        if peek and not guess.exclusion:
            try:
                entry = infer_guessed_entry(guess, cells)
            except InputError:  # too many values to list
                guess = replace(guess, exclusion="text")
        guesses[name] = guess
        if not guess.exclusion:
            columns[name] = entry
    return Proposal(columns, guesses, peek)


def reading_notes(guess: ColumnGuess, cells: pd.Series) -> Texts:
    """Return what a person should know of how a column is read; the notes quote its texts."""
    notes = []
    if guess.stated.label:
        notes.append(f"its label is {guess.stated.label[:MAX_NOTE_CHARS]!r}")
    if guess.missing_codes:
        codes = ", ".join(map(_code_text, guess.missing_codes))
        if guess.stated.missing_codes:
            notes.append(f"{codes} count as missing, as the file states")
        else:
            notes.append(f"{codes} count as missing; drop missing_codes if they are numbers")
    if guess.form:
        notes.append(f"written as {guess.form}, and synthetic rows are so, too")
    if guess.unreadable:
        notes.append("words beside its numbers or days count as missing")
    if guess.read in AMOUNT_READINGS:
        texts = sorted(
            text for text in ColumnTexts.from_series(cells).texts if has_limit_sign(text)
        )
        if texts:
            notes.append(f"{texts[0][:20]!r} and the like count as the number itself")
    return tuple(notes)


def _code_text(code: int | float | str) -> str:
    """Return a code for missing values as a note names it."""
    return repr(code[:MAX_NOTE_CHARS]) if isinstance(code, str) else f"{code:g}"


def has_crowded_bin(name: str, cells: pd.Series, entry: object) -> bool:
    """Return whether most rows of a column of numbers are in one bin, which then shows little.

    False for an entry that the cells do not fit.
    """
    if not isinstance(entry, Mapping):
        return False
    try:
        column: Column = domain_from_json({"columns": {name: entry}}).columns[0]
        if not column.edges:
            return False
        codes = column.encode(cells)
    except InputError:
        return False
    counts = np.bincount(codes, minlength=column.size)[: column.nonmissing_size]
    return bool(counts.max() > MAX_BIN_SHARE * max(counts.sum(), 1))


def _with_nulls(entry: Json) -> Json:
    """Return a column's entry with null for what a person must fill in."""
    if entry["kind"] == "categorical":
        return {**entry, "values": entry.get("values")}
    bounds = {"low": entry.get("low"), "high": entry.get("high")}
    bins = {"bins": TARGET_BIN_COUNT} if entry["kind"] == "numeric" else {}
    if whole_date_of_reading(entry.get("read", "")):
        bins = {"bins": "months"}
    return {**entry, **bounds, **bins}
