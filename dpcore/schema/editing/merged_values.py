"""Values that are the same: several values of a column are merged into one, and taken apart."""

from collections.abc import Collection, Iterable

from ...core.types import Json
from ..cell_text import canonical_text_of_value
from ..column_readings import AS_WRITTEN, category_of_cell
from ..inference.identifiers import natural_sort_key


def merge_values(entry: Json, value: str, texts: Iterable[str]) -> Json:
    """Return a column's entry in which these texts are read as `value`.

    They are no values of their own any more, and texts that were read as one of them go along.

    >>> merge_values({"values": ["F", "M", "Male"]}, "Male", ["M"])
    {'values': ['F', 'Male'], 'same': {'Male': ['M']}}
    """
    value_key = _key(entry, value)
    merged = {_key(entry, text): text for text in texts if _key(entry, text) != value_key}
    same: dict[str, list[str]] = {}
    for name, old_texts in merged_texts(entry).items():
        target = value if _key(entry, name) in {value_key, *merged} else name
        same.setdefault(target, []).extend(
            text for text in old_texts if target == value or _key(entry, text) not in merged
        )
    group = same.setdefault(value, [])
    old_keys = {_key(entry, text) for text in group}
    group.extend(text for key, text in merged.items() if key not in old_keys)
    values = [old for old in entry.get("values") or () if _key(entry, old) not in merged]
    if value_key not in {_key(entry, old) for old in values}:
        values.append(value)
    return entry | {
        "values": values,
        "same": {name: same_texts for name, same_texts in same.items() if same_texts},
    }


def split_value(entry: Json, value: str) -> Json:
    """Return a column's entry in which the texts that are read as `value` are values again.

    >>> split_value({"values": ["F", "Male"], "same": {"Male": ["M"]}}, "Male")
    {'values': ['F', 'M', 'Male']}
    """
    same = merged_texts(entry)
    texts = same.pop(value, [])
    values: list[object] = list(entry.get("values") or ())
    was_in_order = _are_in_natural_order(values)
    position = [_key(entry, old) for old in values].index(_key(entry, value)) + 1
    values[position:position] = texts
    if was_in_order:
        values.sort(key=lambda old: natural_sort_key(canonical_text_of_value(old)))
    changed = {key: part for key, part in entry.items() if key != "same"} | {"values": values}
    return changed | ({"same": same} if same else {})


def merge_stated_values(entry: Json) -> Json:
    """Return an entry whose values are without those that its "same" reads as another one."""
    if not isinstance(entry.get("values"), list):
        return entry
    for value, texts in merged_texts(entry).items():
        entry = merge_values(entry, value, texts)
    return entry


def without_contradictions(entry: Json) -> Json:
    """Return an entry in which "same" and codes say nothing of what its values list.

    So it is with values that were typed: they count more than what was said before.
    """
    keys = {_key(entry, value) for value in entry.get("values") or ()}
    same = {
        value: [text for text in texts if _key(entry, text) not in keys]
        for value, texts in merged_texts(entry).items()
        if _key(entry, value) in keys
    }
    same = {value: texts for value, texts in same.items() if texts}
    codes = [code for code in entry.get("missing_codes") or () if _key(entry, code) not in keys]
    changed = {key: part for key, part in entry.items() if key not in ("same", "missing_codes")}
    changed |= {"same": same} if same else {}
    return changed | ({"missing_codes": codes} if codes else {})


def merged_texts(entry: Json) -> dict[str, list[str]]:
    """Return the texts that are read as each value; none if the entry is not in that form."""
    same = entry.get("same")
    if not isinstance(same, dict):
        return {}
    return {str(value): [*texts] for value, texts in same.items() if isinstance(texts, list)}


def _key(entry: Json, value: object) -> str:
    """Return what is equal for two texts of one category of a column."""
    reading = entry.get("read")
    return category_of_cell(
        canonical_text_of_value(value), reading if isinstance(reading, str) else AS_WRITTEN
    )


def _are_in_natural_order(values: Collection[object]) -> bool:
    texts = [canonical_text_of_value(value) for value in values]
    return texts == sorted(texts, key=natural_sort_key)
