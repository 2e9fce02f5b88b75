"""What the grid says of a column, as texts, and the entry of a schema that these texts say."""

import json
import re
from contextlib import suppress
from typing import Any

import pandas as pd

from dpcore import InputError
from dpcore.schema.column_readings import (
    AMOUNT_WITH_COMMA,
    AMOUNT_WITH_POINT,
    DATE_READINGS,
    PREFIX_LENGTHS,
)
from dpcore.schema.editing.merged_values import without_contradictions
from dpcore.schema.forms.calendar_numbers import STEP_BY_WORD
from dpcore.schema.inference.column_guess import initial_column_entry
from dpcore.schema.partial_schema import PRIVATE, is_private_entry, private_entry

from ..session import Table

NOT_USED = "not used"
MEASURED_TEXT = "measured privately"
GROUPS_BEGIN_TEXT = "groups begin at"
READING_BY_TEXT = {
    "categories": ("categorical", ""),
    "categories, any spelling": ("categorical", "any case"),
}
READING_BY_TEXT |= {"whole numbers": ("integer", ""), "numbers": ("numeric", "")}
for _sign, _read in (("1,234.50", AMOUNT_WITH_POINT), ("1.234,50", AMOUNT_WITH_COMMA)):
    READING_BY_TEXT |= {
        f"numbers like {_sign}": ("numeric", _read),
        f"whole numbers like {_sign[:5]}": ("integer", _read),
    }
READING_BY_TEXT |= {
    _read: (initial_column_entry(_read)["kind"], _read)
    for _read in (*DATE_READINGS, *PREFIX_LENGTHS)
}
TEXT_BY_READING = {reading: text for text, reading in READING_BY_TEXT.items()}
# what an entry says beside its values, kept while it is the same kind and reading
KEPT_KEYS = ("ordered", "unreadable", "missing_codes", "same", "form", "first_year")
DAY_PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:]{5,8})?"
NUMBER_PATTERN = rf"{DAY_PATTERN}|-?[0-9.]+(?:e[-+]?[0-9]+)?"
RANGE_PATTERN = re.compile(
    rf"(?P<low>{NUMBER_PATTERN})? *(?:to|–|\.\.\.?) *(?P<high>{NUMBER_PATTERN})?(?:[,;]? "
    rf"*(?:(?P<bins>[0-9]+) groups|(?P<steps>{'|'.join(STEP_BY_WORD)})))?"
)


def grid_column_names(current: Table) -> list[str]:
    """Return the column names in the grid's order: those that seemed to be of no use last."""
    return sorted(current.names, key=lambda name: bool(current.column_guess(name).exclusion))


def grid_cells(current: Table, name: str) -> dict[str, Any]:
    """Return the editable cells of a column's row in the grid, from the table's schema."""
    is_used = name in current.entries
    spec = current.entries.get(name)
    spec = spec if isinstance(spec, dict) else {}
    reading = str(spec.get("kind")), str(spec.get("read", ""))
    return {
        "what it is": TEXT_BY_READING.get(reading, " ".join(reading)) if is_used else NOT_USED,
        "public values or range": public_values_text(spec) or None if is_used else "",
        "missing": spec.get("missing", "refuse"),
        "out of range": spec.get("out_of_range", "refuse"),
    }


def public_values_text(spec: dict[str, Any]) -> str:
    """Return a column's public values or range as the grid writes them."""
    with suppress(TypeError, ValueError):  # of a file may be anything
        if is_private_entry(spec):
            bins = spec.get("bins")
            if bins == PRIVATE:
                return f"{MEASURED_TEXT}, groups of equal counts"
            return f"{MEASURED_TEXT}, {bins} groups" if bins else MEASURED_TEXT
        values = spec.get("values")
        if values:
            is_plain = all(
                isinstance(v, str) and v and v == v.strip(" [") and ";" not in v for v in values
            )
            return "; ".join(values) if is_plain else json.dumps(values, ensure_ascii=False)
        if spec.get("edges"):
            low, *cuts, high = map(_exact_text, spec["edges"])
            return f"{low} to {high}, {GROUPS_BEGIN_TEXT} {', '.join(cuts)}"
        if "size" in spec:
            return f"0 to {spec['size'] - 1}"
        ends = [
            _exact_text(spec[key]) if spec.get(key) is not None else "" for key in ("low", "high")
        ]
        bins = spec.get("bins")
        bins_text = f"{bins} groups" if bins else ""
        if bins in STEP_BY_WORD:
            bins_text = bins
        return ", ".join(filter(None, [f"{ends[0]} to {ends[1]}" if any(ends) else "", bins_text]))
    return json.dumps(spec)


def entry_from_row(
    name: str, row: dict[str, Any], old_entry: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the schema entry that a row of the grid describes; None for an unused column.

    `old_entry` is the one the column had. Raises InputError for a text that cannot be read.
    """
    if row["what it is"] == NOT_USED:
        return None
    kind, read = READING_BY_TEXT.get(
        row["what it is"], (old_entry.get("kind"), old_entry.get("read", ""))
    )
    text = (
        "" if pd.isna(row["public values or range"]) else str(row["public values or range"]).strip()
    )
    if kind == "categorical" and old_entry.get("ordered") and RANGE_PATTERN.fullmatch(text):
        kind = "integer"  # a range says that few whole numbers are not a list of categories
    spec = {"kind": kind} | ({"read": read} if read else {})
    is_same_reading = (kind, read) == (old_entry.get("kind"), old_entry.get("read", ""))
    if is_same_reading:
        spec |= {key: old_entry[key] for key in KEPT_KEYS if key in old_entry}
    if text == public_values_text(old_entry):
        if not is_same_reading:  # it was about another kind
            return initial_column_entry(read) if read in DATE_READINGS else spec
        spec = dict(old_entry)
    elif text.casefold().startswith((MEASURED_TEXT, PRIVATE)):
        bins = re.search(r"([0-9]+) groups", text)
        if bins:
            spec["bins"] = int(bins[1])
        elif "equal" in text:
            spec["bins"] = PRIVATE
        if is_same_reading and is_private_entry(old_entry):
            return private_entry(old_entry | {"bins": spec.get("bins")})
        return private_entry(spec)
    elif text:
        if kind == "categorical":
            spec = without_contradictions(spec | {"values": _parse_values(name, text)})
        else:
            spec |= _parse_range(name, text)
    if is_private_entry(spec):
        return spec
    spec |= {"missing": row["missing"], "out_of_range": row["out of range"]}
    return (
        spec
        if spec["missing"] == "category"
        else {k: v for k, v in spec.items() if k not in ("unreadable", "missing_codes")}
    )


def _parse_values(name: str, text: str) -> list:
    if not text.startswith("["):
        return [part.strip() for part in text.split(";") if part.strip()]
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"column {name!r}: values are not a JSON list: {error.msg}") from None


def _parse_range(name: str, text: str) -> dict[str, Any]:
    try:
        text, split, cuts = text.partition(f", {GROUPS_BEGIN_TEXT}")
        match = RANGE_PATTERN.fullmatch(text)
        groups = match.groupdict()  # type: ignore[union-attr]
        steps = groups.pop("steps")
        ends = {key: _number_or_day(end) for key, end in groups.items() if end}
        if split:
            cut_texts = cuts.replace(",", " ").split()
            return {"edges": [ends["low"], *map(_number_or_day, cut_texts), ends["high"]]}
        if steps:
            return ends | {"bins": steps}
        return ends | ({"bins": int(ends["bins"])} if "bins" in ends else {})
    except (ValueError, AttributeError, KeyError):
        quoted_text = repr(text[:60])
        advice = f"write 0 to 120, 12 groups, or 0 to 120, {GROUPS_BEGIN_TEXT} 18, 65"
        raise InputError(f"column {name!r}: {quoted_text} is no range; {advice}") from None


def _number_or_day(text: str) -> float | str:
    return text if re.fullmatch(DAY_PATTERN, text) else float(text)


def _exact_text(number: float | str) -> str:
    if isinstance(number, str) and re.fullmatch(DAY_PATTERN, number):
        return number
    return repr(float(number)).removesuffix(".0")
