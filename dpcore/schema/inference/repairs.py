"""All problems of a schema's columns on a table, each with repairs of one click.

What is wrong may quote a cell, and some repairs read the records: both are private peeks.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from ...core.errors import InputError
from ...core.types import Json, Texts, value_object
from ..column import Column
from ..column_readings import ANY_CASE, AS_WRITTEN, READINGS, folded
from ..schema_json import KINDS, domain_from_json
from .infer_schema import DATE, TEXT, UNREADABLE, guess_column, read_off

READ, ASIDE, MISSING, CLIP, ONE, ADD, GUESS = "read", "aside", "missing", "clip", "one", "add", "guess"
WORDS, OWN = "words", "own"
FIXES = {
    READ: "Fill in from my data (not protected)",
    ADD: "Add the values that are there",
    GUESS: "Take it for what it seems to be",
    ONE: "Count its spellings as one value",
    MISSING: "Make missing a value of its own",
    CLIP: "Count them in the outermost groups",
    WORDS: "Count words as missing",
    OWN: "Make them values of their own",
    ASIDE: "Leave it out",
}
PEEKS = frozenset({READ, ADD, GUESS, ONE, OWN})  # repairs that write into the schema what the records say


@value_object
class Problem:
    """A problem with a column, and its repairs, best first; `open`: the schema says nothing of the column yet."""

    column: str
    what: str
    fixes: Texts
    open: bool = False


def problems(name: str, cells: pd.Series, entry: Any) -> tuple[Problem, ...]:
    """All problems of one column; empty where it can be used."""
    column, error_message = _column(name, entry)
    if column is None:
        if not isinstance(entry, Mapping) or entry.get("kind") not in KINDS:
            return (Problem(name, error_message, (GUESS, ASIDE)),)
        missing = all(entry.get(key) is None for key in ("values", "low", "high", "edges", "size"))
        return (Problem(name, error_message, (READ, ASIDE), open=missing),)
    try:
        missing, outside = column.findings(cells)
    except InputError as error:
        return (Problem(name, str(error), (GUESS, WORDS, ASIDE)),)
    column_problems = []
    if outside and (column.values or column.out_of_range == "refuse"):
        fixes = (ONE, ADD, ASIDE) if _one_helps(column, cells) else (ADD, ASIDE) if column.values else (CLIP, ASIDE)
        column_problems.append(Problem(name, _refused(replace(column, missing="category"), cells), fixes))
    if missing and column.missing == "refuse":
        message = f"column {name!r}: {missing:,} of {len(cells):,} values are missing"
        column_problems.append(Problem(name, message, (MISSING, ASIDE)))
    return tuple(column_problems)


def words_missing(name: str, cells: pd.Series, entry: Any) -> dict[str, int]:
    """The texts with a letter, such as `none`, that count as missing in a used column, and their counts."""
    column, _ = _column(name, entry)
    text_counts = {} if column is None else column.said_missing(cells)
    return {text: count for text, count in text_counts.items() if any(map(str.isalpha, text))}


def mended(name: str, cells: pd.Series, entry: Any, fix: str) -> Json | None:
    """The column's entry after a repair, None if the column is left out; InputError where it cannot be repaired."""
    entry = dict(entry) if isinstance(entry, Mapping) else {}
    reading = entry.get("read") if entry.get("read") in READINGS else AS_WRITTEN
    if fix == ASIDE:
        return None
    if fix == MISSING:
        return entry | {"missing": "category"}
    if fix == CLIP:
        return entry | {"out_of_range": "clip"}
    if fix == WORDS:
        return entry | UNREADABLE
    if fix == OWN:
        return entry | {"values": [*entry["values"], *words_missing(name, cells, entry)]}
    if fix == ADD:
        values = read_off(name, cells, "categorical", reading)["values"]
        column, _ = _column(name, entry)
        known_keys = {column.key(value) for value in column.values} if column else set()
        return entry | {
            "values": [*entry["values"], *(v for v in values if column and column.key(v) not in known_keys)]
        }
    if fix == ONE:
        return _kept(entry) | read_off(name, cells, "categorical", ANY_CASE)
    if fix == GUESS:
        guess = guess_column(name, cells)
        if guess.kind in (DATE, TEXT) or guess.aside == "id":
            raise InputError(f"column {name!r}: {guess.why}; leave it out")
        return read_off(name, cells, guess.kind, guess.read, unreadable=guess.unreadable)
    unreadable = entry.get("unreadable") == "missing"
    inferred = _kept(entry) | read_off(name, cells, entry["kind"], reading, unreadable=unreadable)
    combined = _kept(entry) | _unsaid(inferred, entry)
    return inferred if _column(name, combined)[0] is None else combined


def _kept(entry: Json) -> Json:
    """The parts of an entry that the user chose: its policies."""
    return {key: value for key, value in entry.items() if key in ("ordered", "missing", "out_of_range", "unreadable")}


def _unsaid(read: Json, entry: Json) -> Json:
    """The entry read from the data, without the bounds that the user has already given."""
    user_bounds = {key: entry[key] for key in ("low", "high") if entry.get(key) is not None}
    if user_bounds and "edges" in read:
        read = {key: value for key, value in read.items() if key != "edges"} | {
            "low": read["edges"][0], "high": read["edges"][-1], "bins": len(read["edges"]) - 1,
        }  # fmt: skip
    return read | user_bounds | ({"bins": entry["bins"]} if entry.get("bins") is not None and "low" in read else {})


def _column(name: str, entry: Any) -> tuple[Column | None, str]:
    try:
        return domain_from_json({"columns": {name: entry}}).columns[0], ""
    except InputError as error:
        return None, str(error)


def _refused(column: Column, cells: pd.Series) -> str:
    try:
        column.encode(cells)
    except InputError as error:
        return str(error)
    return f"column {column.name!r}"


def _one_helps(column: Column, cells: pd.Series) -> bool:
    """Whether all cells are listed values except for case and spaces."""
    if column.read or not column.values:
        return False
    casefolded_values = {folded(str(value)) for value in column.values}
    if len(casefolded_values) < len(column.values):
        return False
    return not replace(column, read=ANY_CASE).findings(cells)[1]
