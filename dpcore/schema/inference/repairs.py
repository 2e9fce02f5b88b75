"""All problems of a schema's columns on a table, each with repairs of one click.

What is wrong may quote a cell, and some repairs read the rows: both are private peeks.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from ...core.errors import InputError
from ...core.types import Json, Texts, value_object
from ..column import Column
from ..column_readings import ANY_CASE, AS_WRITTEN, READINGS, casefold_text
from ..editing.code_values import missing_codes_of
from ..editing.merged_values import merge_stated_values
from ..schema_json import COLUMN_KINDS, domain_from_json
from .column_guess import DATE_COLUMN, TEXT_COLUMN, UNREADABLE_AS_MISSING
from .infer_column import infer_column_from_data, infer_guessed_entry
from .infer_schema import guess_column

FILL_IN = "read"
LEAVE_OUT = "aside"
KEEP_MISSING = "missing"
CLIP_OUTSIDE = "clip"
MERGE_SPELLINGS = "one"
ADD_VALUES = "add"
USE_GUESS = "guess"
WORDS_AS_MISSING = "words"
WORDS_AS_VALUES = "own"
FIX_LABELS = {
    FILL_IN: "Fill in from my data (not protected)",
    ADD_VALUES: "Add the values that are there",
    USE_GUESS: "Take it for what it seems to be",
    MERGE_SPELLINGS: "Count its spellings as one value",
    KEEP_MISSING: "Make missing a value of its own",
    CLIP_OUTSIDE: "Count them in the outermost groups",
    WORDS_AS_MISSING: "Count words as missing",
    WORDS_AS_VALUES: "Make them values of their own",
    LEAVE_OUT: "Leave it out",
}
POLICY_KEYS = (  # of an entry that a person chose, beside its values
    *("ordered", "missing", "out_of_range", "unreadable"),
    *("same", "missing_codes", "form", "first_year"),
)
PEEKING_FIXES = frozenset(
    {FILL_IN, ADD_VALUES, USE_GUESS, MERGE_SPELLINGS, WORDS_AS_VALUES}
)  # repairs that write into the schema what the rows say


@value_object
class ColumnProblem:
    """A problem with a column, and its repairs, best first.

    `is_unfilled` means that the schema says nothing of the column yet.
    """

    column: str
    message: str
    fixes: Texts
    is_unfilled: bool = False


def find_column_problems(name: str, cells: pd.Series, entry: Any) -> tuple[ColumnProblem, ...]:
    """Return all problems of one column; empty if it can be used."""
    column, error_message = _parse_column_entry(name, entry)
    if column is None:
        if not isinstance(entry, Mapping) or entry.get("kind") not in COLUMN_KINDS:
            return (ColumnProblem(name, error_message, (USE_GUESS, LEAVE_OUT)),)
        missing = all(entry.get(key) is None for key in ("values", "low", "high", "edges", "size"))
        return (ColumnProblem(name, error_message, (FILL_IN, LEAVE_OUT), is_unfilled=missing),)
    try:
        missing, outside = column.count_missing_and_outside(cells)
    except InputError as error:
        return (ColumnProblem(name, str(error), (USE_GUESS, WORDS_AS_MISSING, LEAVE_OUT)),)
    column_problems = []
    if outside and (column.values or column.out_of_range == "refuse"):
        if _differs_only_in_spelling(column, cells):
            fixes = (MERGE_SPELLINGS, ADD_VALUES, LEAVE_OUT)
        elif column.values:
            fixes = (ADD_VALUES, LEAVE_OUT)
        else:
            fixes = (CLIP_OUTSIDE, LEAVE_OUT)
        column_problems.append(
            ColumnProblem(name, _encoding_error(replace(column, missing="category"), cells), fixes)
        )
    if missing and column.missing == "refuse":
        message = f"column {name!r}: {missing:,} of {len(cells):,} values are missing"
        column_problems.append(ColumnProblem(name, message, (KEEP_MISSING, LEAVE_OUT)))
    return tuple(column_problems)


def missing_word_counts(name: str, cells: pd.Series, entry: Any) -> dict[str, int]:
    """Return the texts with a letter that count as missing in a used column, with counts.

    `none` is such a text.
    """
    column, _ = _parse_column_entry(name, entry)
    text_counts = {} if column is None else column.missing_text_counts(cells)
    return {text: count for text, count in text_counts.items() if any(map(str.isalpha, text))}


def repair_column(name: str, cells: pd.Series, entry: Any, fix: str) -> Json | None:
    """Return the column's entry after a repair, or None if the column is left out.

    Raises InputError if it cannot be repaired.
    """
    entry = dict(entry) if isinstance(entry, Mapping) else {}
    reading = entry.get("read") if entry.get("read") in READINGS else AS_WRITTEN
    if fix == LEAVE_OUT:
        return None
    if fix == KEEP_MISSING:
        return entry | {"missing": "category"}
    if fix == CLIP_OUTSIDE:
        return entry | {"out_of_range": "clip"}
    if fix == WORDS_AS_MISSING:
        return entry | UNREADABLE_AS_MISSING
    if fix == WORDS_AS_VALUES:
        return entry | {"values": [*entry["values"], *missing_word_counts(name, cells, entry)]}
    if fix == ADD_VALUES:
        values = infer_column_from_data(name, cells, "categorical", reading)["values"]
        column, _ = _parse_column_entry(name, entry)
        known_keys = set(column.code_by_key) if column else set()
        return entry | {
            "values": [
                *entry["values"],
                *(v for v in values if column and column.category_key(v) not in known_keys),
            ]
        }
    if fix == MERGE_SPELLINGS:
        inferred = infer_column_from_data(name, cells, "categorical", ANY_CASE)
        return merge_stated_values(_policies_of_entry(entry) | inferred)
    if fix == USE_GUESS:
        guess = guess_column(name, cells)
        is_excluded_date = guess.kind == DATE_COLUMN and guess.exclusion
        if is_excluded_date or guess.kind == TEXT_COLUMN or guess.exclusion == "id":
            raise InputError(f"column {name!r}: {guess.exclusion_reason}; leave it out")
        return infer_guessed_entry(guess, cells)
    unreadable = entry.get("unreadable") == "missing"
    inferred = _policies_of_entry(entry) | infer_column_from_data(
        name,
        cells,
        entry["kind"],
        reading,
        unreadable=unreadable,
        missing_codes=missing_codes_of(entry),
        form=_form_of_entry(name, entry, cells),
    )
    inferred = merge_stated_values(inferred)
    combined = _policies_of_entry(entry) | _keep_user_bounds(inferred, entry)
    return inferred if _parse_column_entry(name, combined)[0] is None else combined


def _form_of_entry(name: str, entry: Json, cells: pd.Series) -> str:
    """Return the form that an entry states, or the one guessed of a column that is so read."""
    if entry.get("form"):
        return str(entry["form"])
    guess = guess_column(name, cells)
    is_as_guessed = entry.get("read", AS_WRITTEN) == (guess.whole_date or guess.read)
    return guess.form if is_as_guessed else ""


def _policies_of_entry(entry: Json) -> Json:
    """Return the parts of an entry that the user chose: its policies."""
    return {key: value for key, value in entry.items() if key in POLICY_KEYS}


def _keep_user_bounds(inferred: Json, entry: Json) -> Json:
    """Return the entry read from the data, without bounds that the user has already given."""
    user_bounds = {key: entry[key] for key in ("low", "high") if entry.get(key) is not None}
    if user_bounds and "edges" in inferred:
        inferred = {key: value for key, value in inferred.items() if key != "edges"} | {
            "low": inferred["edges"][0],
            "high": inferred["edges"][-1],
            "bins": len(inferred["edges"]) - 1,
        }
    return (
        inferred
        | user_bounds
        | ({"bins": entry["bins"]} if entry.get("bins") is not None and "low" in inferred else {})
    )


def _parse_column_entry(name: str, entry: Any) -> tuple[Column | None, str]:
    try:
        return domain_from_json({"columns": {name: entry}}).columns[0], ""
    except InputError as error:
        return None, str(error)


def _encoding_error(column: Column, cells: pd.Series) -> str:
    try:
        column.encode(cells)
    except InputError as error:
        return str(error)
    return f"column {column.name!r}"


def _differs_only_in_spelling(column: Column, cells: pd.Series) -> bool:
    """Return whether all cells are listed values except for case and spaces."""
    if column.read or not column.values:
        return False
    casefolded_values = {casefold_text(str(value)) for value in column.values}
    if len(casefolded_values) < len(column.values):
        return False
    return not replace(column, read=ANY_CASE).count_missing_and_outside(cells)[1]
