"""The schema file: JSON to Domain and back."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ..core.errors import InputError
from ..core.types import Json, Texts
from .cell_text import canonical_text_of_value, is_valid_unicode
from .column import MAX_COLUMN_CELLS, OTHER_LABEL, Column, MissingCodes, SameTexts
from .column_readings import (
    DATE_AND_TIME,
    DATE_READINGS,
    READINGS,
    numbers_per_day_of_reading,
    reads_categories,
    whole_date_of_reading,
)
from .constraints_json import add_constraints_from_json, constraints_to_json
from .domain import Domain
from .forms.bin_numbers import whole_number_bins
from .forms.calendar_numbers import (
    SECONDS_PER_DAY,
    STEP_BY_WORD,
    calendar_edges,
    parse_period,
)
from .forms.round_trip import check_round_trip
from .text_format import (
    DELIMITER_NAMES,
    FIRST_LINE,
    NO_HEADER,
    SPACES_AFTER_DELIMITER,
    SPACES_AS_WRITTEN,
    SPACES_BETWEEN_COLUMNS,
    TextFormat,
    encoding_name,
)

COLUMN_KINDS = ("categorical", "numeric", "integer")
ADVICE_BY_KIND = {
    "date": 'dates are too detailed: leave the column out, or say "kind": "integer" and "read": '
    '"date of d/m/y" (or y-m-d, m/d/y), "year of …" or "month of …", with a range',
    "text": "free text is too detailed: leave the column out, or group it into a few categories",
}
MAX_COLUMNS = 5000
MAX_DOMAIN_DIGITS = 4000  # a number of more than 4300 digits cannot be written
MAX_NUMBER = 1e15  # number whose neighbours are still distinct
# of which some go together, by the kind
VALUE_KEYS = ("values", "low", "high", "bins", "edges", "size")
CHOICES_BY_KEY = {  # the first one is what is taken where a schema says nothing
    "missing": ("refuse", "category", "other"),
    "out_of_range": ("refuse", "clip", "other"),
    "unreadable": ("refuse", "missing"),
    "read": READINGS,
}
FIRST_YEAR_LIMITS = (1, 9900)  # of the hundred years that two digits can mean
OTHER_COLUMN_KEYS = {"kind", "ordered", "same", "missing_codes", "form", "first_year"}
COLUMN_KEYS = OTHER_COLUMN_KEYS.union(CHOICES_BY_KEY, VALUE_KEYS)
FILE_CHOICES_BY_KEY = {
    "delimiter": [*DELIMITER_NAMES],
    "line_breaks": [True, False],
    "spaces": [SPACES_AS_WRITTEN, SPACES_AFTER_DELIMITER, SPACES_BETWEEN_COLUMNS],
}
MAX_FILE_LINE = 1_000_000  # number of the line that holds the names, and of lines left out
MAX_HEADER_LINES = 5  # that hold the names together
FILE_COUNT_LIMITS = {
    "width": (1, MAX_COLUMNS),
    "skip_end": (0, MAX_FILE_LINE),
    "header_lines": (1, MAX_HEADER_LINES),
}
FILE_KEYS = tuple(field.name for field in fields(TextFormat))


def domain_from_json(schema: Any) -> Domain:
    """Return the domain of a schema, or of a {"name": size} file of integer codes.

    Raises InputError that names column and key.

    >>> domain_from_json({"columns": {"sex": {"kind": "categorical", "values": ["F", "M"]}}}).size
    2
    """
    if not isinstance(schema, Mapping) or not schema:
        raise InputError(
            'the schema must be a JSON object: {"columns": {NAME: {"kind": …}}} or {NAME: size}'
        )
    if all(type(size) is int for size in schema.values()):
        return _parse_domain(
            {name: {"kind": "integer", "size": size} for name, size in schema.items()}, False
        )
    if not isinstance(schema.get("columns"), Mapping):
        raise InputError('the schema has no "columns" object')
    unknown_keys = set(schema) - {"columns", "peeked", "constraints", "measured", "file"}
    if unknown_keys:
        raise InputError(
            f"the schema has an unknown key {min(unknown_keys)!r}; it may have columns, "
            "constraints, file, measured, peeked"
        )
    domain = add_constraints_from_json(
        _parse_domain(schema["columns"], bool(schema.get("peeked", False))),
        schema.get("constraints"),
    )
    measured = schema.get("measured", [])
    if not isinstance(measured, list) or any(name not in domain.names for name in measured):
        raise InputError('"measured" must list columns of the schema')
    return replace(
        domain, measured=tuple(measured), file=text_format_from_json(schema.get("file", {}))
    )


def domain_to_json(domain: Domain) -> Json:
    """Return the schema file of a domain; reading it back gives the same domain.

    >>> domain = domain_from_json({"a": 2, "b": 3})
    >>> domain_from_json(domain_to_json(domain)) == domain
    True
    """
    other_entries = {
        "constraints": constraints_to_json(domain),
        "peeked": domain.peeked,
        "file": domain.file.to_json(),
        "measured": list(domain.measured),
    }
    columns = {column.name: _column_to_json(column) for column in domain.columns}
    return {"columns": columns} | {key: value for key, value in other_entries.items() if value}


def _column_to_json(column: Column) -> Json:
    """Return the entry of a column, without most of what is so by default."""
    entry: Json = {"kind": column.kind}
    if column.values:
        entry["values"] = list(column.values)
    elif column.edges:
        entry["edges"] = _numbers_to_json(column, column.edges)
    else:
        entry["low"], entry["high"] = _numbers_to_json(column, column.bounds)
    entry |= {
        "ordered": column.ordered,
        "missing": column.missing,
        "out_of_range": column.out_of_range,
    }
    if column.read:
        entry["read"] = column.read
    if column.unreadable != "refuse":
        entry["unreadable"] = column.unreadable
    entry |= statements_to_json(column.same, column.missing_codes, column.form)
    if column.stated_first_year is not None:
        entry["first_year"] = column.stated_first_year
    return entry


def _numbers_to_json(column: Column, numbers: Iterable[float]) -> list[float | str]:
    """Return bounds or edges as a schema says them: those of days and times as texts."""
    return [column.number_text(number) if column.is_date else number for number in numbers]


def statements_to_json(same: SameTexts, missing_codes: MissingCodes, form: str) -> Json:
    """Return what an entry states of texts: which are one value, which are missing, and the form.

    The arguments are those of a `Column`; what is not stated is left out.
    """
    entry: Json = {}
    if same:
        entry["same"] = {str(value): list(texts) for value, texts in same}
    if missing_codes:
        entry["missing_codes"] = list(missing_codes)
    if form:
        entry["form"] = form
    return entry


def _parse_domain(columns: Json, peeked: bool) -> Domain:
    if len(columns) > MAX_COLUMNS:
        raise InputError(
            f"the schema has {len(columns):,} columns, at most {MAX_COLUMNS:,} are read"
        )
    domain = Domain(tuple(_parse_column(name, spec) for name, spec in columns.items()), peeked)
    if sum(math.log10(size) for size in domain.shape) > MAX_DOMAIN_DIGITS:
        raise InputError(
            f"the schema has more than 10^{MAX_DOMAIN_DIGITS} combinations; leave columns out, "
            "or give them fewer values"
        )
    return domain


def text_format_from_json(entry: Any) -> TextFormat:
    """Return the format of a text file, from the entry "file" of a schema.

    Raises InputError for anything else.
    """
    if not isinstance(entry, Mapping):
        raise InputError(f'"file" must be a JSON object; it may have {", ".join(FILE_KEYS)}')
    settings = {name: _parse_file_setting(name, value) for name, value in entry.items()}
    if "width" in settings and settings.get("header") != NO_HEADER:
        raise InputError('"file": width goes with header "none"; the names say how many there are')
    line_count = settings.get("header_lines", 1)
    header = settings.get("header", FIRST_LINE)
    if line_count > 1 and (isinstance(header, str) or header < line_count):
        raise InputError(
            '"file": header_lines says how many lines hold the names, header the number of the '
            f'last one: "header": {line_count}, "header_lines": {line_count}'
        )
    if settings.get("spaces") == SPACES_BETWEEN_COLUMNS and settings.get("delimiter"):
        raise InputError('"file": spaces "between" separate the columns; leave the delimiter out')
    return TextFormat(**settings)


def _parse_file_setting(name: Any, value: Any) -> Any:
    """Return the value of a setting of the entry "file"."""
    stated = f'"file": {str(name)[:40]}={str(value)[:40]!r}'
    if name not in FILE_KEYS:
        raise InputError(f'"file": unknown key {str(name)[:40]!r}; allowed: {", ".join(FILE_KEYS)}')
    if name == "encoding":
        encoding = encoding_name(value) if isinstance(value, str) else ""
        if not encoding:
            raise InputError(f"{stated} is no text encoding that Python has, such as utf-8, cp1251")
        return encoding
    if name == "header":
        if value in (None, NO_HEADER):
            return NO_HEADER
        is_line = type(value) is int and 1 <= value <= MAX_FILE_LINE
        if not is_line and value != FIRST_LINE:
            raise InputError(
                f'{stated} is neither the number of the line that holds the names, nor "none"'
            )
        return value
    if name == "sheet":
        if not isinstance(value, str) or not is_valid_unicode(value):
            raise InputError(f"{stated} is not the name of a sheet")
        return value
    if name in FILE_COUNT_LIMITS:
        low, high = FILE_COUNT_LIMITS[name]
        if type(value) is not int or not low <= value <= high:
            raise InputError(f"{stated} is not a whole number in {low}..{high:,}")
        return value
    if json.dumps(value, default=str) not in map(json.dumps, FILE_CHOICES_BY_KEY[name]):
        raise InputError(
            f"{stated} is not one of {', '.join(map(repr, FILE_CHOICES_BY_KEY[name]))}"
        )
    return value


def _parse_column(name: Any, spec: Any) -> Column:
    _check_column_entry(name, spec)
    spec = dict(spec)
    if isinstance(spec.get("kind"), str) and spec["kind"] in ADVICE_BY_KIND:
        raise InputError(f"column {name!r}: {ADVICE_BY_KIND[spec['kind']]}")
    kind = _parse_choice(name, spec, "kind", COLUMN_KINDS, None)
    choices = _parse_choices(name, spec, kind)
    ordered = spec.get("ordered", kind == "numeric" or (kind == "integer" and "size" not in spec))
    if not isinstance(ordered, bool):
        raise InputError(f"column {name!r}: ordered must be true or false, not {ordered!r}")
    reading = choices["read"]
    if reads_categories(reading) != (kind == "categorical") and reading:
        raise InputError(f"column {name!r}: read={reading!r} does not go with a {kind} column")
    common = choices | {"name": name, "kind": kind, "ordered": ordered}
    whole_date = whole_date_of_reading(reading)
    if whole_date and (kind == "numeric") != (whole_date == DATE_AND_TIME):
        expected = "numeric" if whole_date == DATE_AND_TIME else "integer"
        raise InputError(f"column {name!r}: read={reading!r} goes with an {expected} column")
    common["missing_codes"] = _parse_missing_codes(name, spec, choices["missing"])
    common["form"] = _parse_form(name, spec, kind)
    common["stated_first_year"] = _parse_first_year(name, spec, reading)
    if kind == "categorical":
        column = _parse_categorical_column(name, spec, common)
    elif "other" in (choices["out_of_range"], choices["missing"]):
        raise InputError(
            f'column {name!r}: "other" has no meaning for numbers; use "clip" and "category"'
        )
    else:
        if "same" in spec:
            raise InputError(f'column {name!r}: "same" goes with categories alone')
        column = Column(**common, **_parse_bounds_and_edges(name, kind, spec))
        check_round_trip(column)
    if column.size > MAX_COLUMN_CELLS:
        raise InputError(
            f"column {name!r}: {column.size} values are more than {MAX_COLUMN_CELLS}; use fewer "
            "bins"
        )
    return column


def _check_column_entry(name: Any, spec: Any) -> None:
    """Raise InputError for a name that is no text, or an entry that is no object of known keys."""
    if not isinstance(name, str) or not name or not is_valid_unicode(name):
        raise InputError(
            f"column {name!r}: a column's name must be a text of at least one character"
        )
    if not isinstance(spec, Mapping):
        raise InputError(f"column {name!r}: its description must be a JSON object, not {spec!r}")
    unknown_keys = set(spec) - COLUMN_KEYS
    if unknown_keys:
        raise InputError(
            f"column {name!r}: unknown key {min(map(str, unknown_keys))!r}; allowed: "
            f"{', '.join(sorted(COLUMN_KEYS))}"
        )


def _parse_choices(name: str, spec: Json, kind: str) -> Json:
    """Return what a column's entry says for every key of `CHOICES_BY_KEY`, or its default."""
    choices: Json = {
        key: _parse_choice(name, spec, key, allowed, allowed[0])
        for key, allowed in CHOICES_BY_KEY.items()
    }
    is_parsed = kind != "categorical" or choices["read"].startswith("weekday")
    is_unreadable_allowed = is_parsed and choices["missing"] == "category"
    if choices["unreadable"] != "refuse" and not is_unreadable_allowed:
        raise InputError(
            f'column {name!r}: unreadable "missing" goes with numbers or weekdays, and with '
            'missing "category"'
        )
    return choices


def _parse_categorical_column(name: str, spec: Json, common: Json) -> Column:
    """Return a column of categories; `common` are the fields that columns of all kinds have."""
    if common["out_of_range"] == "clip":
        raise InputError(
            f'column {name!r}: out_of_range "clip" has no meaning for categories; use "refuse"'
        )
    needs_other_label = "other" in (common["out_of_range"], common["missing"])
    if needs_other_label and OTHER_LABEL not in (spec.get("values") or ()):
        raise InputError(
            f'column {name!r}: "other" needs the category {OTHER_LABEL!r} among its values'
        )
    values = _parse_values(name, spec)
    column = Column(**common, values=values)
    # the label of missing values is one of the keys
    keys = [column.category_key(label) for label in column.labels]
    ((key, occurrences),) = Counter(keys).most_common(1)
    if occurrences > 1:
        raise InputError(f"column {name!r}: the value {key!r} is in values twice")
    missing_values = set(map(column.category_key, column.missing_codes)).intersection(keys)
    if missing_values:
        raise InputError(
            f"column {name!r}: {min(missing_values)!r} is in values and in missing_codes; "
            "leave it out of one of them"
        )
    return replace(column, same=_parse_same(column, spec.get("same", {})))


def _parse_same(column: Column, entry: Any) -> SameTexts:
    """Return the values of a column with the other texts that are read as them.

    Raises InputError for a value that is not listed, and for a text that is said to be two values.
    """
    name = column.name
    if not isinstance(entry, Mapping) or not all(
        isinstance(texts, list) and all(isinstance(text, str) for text in texts)
        for texts in entry.values()
    ):
        raise InputError(
            f"column {name!r}: same must be a JSON object of values, each with a list of texts: "
            '{"Male": ["M", "m"]}'
        )
    value_by_key = {column.category_key(value): value for value in column.values}
    key_by_text = {key: key for key in value_by_key}
    pairs = []
    for value_text, texts in entry.items():
        value_key = column.category_key(value_text)
        if value_key not in value_by_key:
            raise InputError(
                f"column {name!r}: {value_text!r} in same is none of the values; add it to values"
            )
        for text in texts:
            key = column.category_key(text)
            if key_by_text.setdefault(key, value_key) != value_key:
                raise InputError(
                    f"column {name!r}: {text!r} in same is read as {value_text!r}, and it is also "
                    f"{key_by_text[key]!r}; leave it out of one of them"
                )
        pairs.append((value_by_key[value_key], tuple(texts)))
    return tuple(pairs)


def _parse_missing_codes(name: str, spec: Json, missing: str) -> MissingCodes:
    """Return the values that count as missing in a column."""
    codes = spec.get("missing_codes", [])
    is_list = isinstance(codes, list) and all(
        isinstance(code, str) or (type(code) in (int, float) and math.isfinite(code))
        for code in codes
    )
    if not is_list:
        raise InputError(
            f"column {name!r}: missing_codes must be a list of numbers and texts, such as "
            '[-9, 99, "refused"]'
        )
    if codes and missing == "refuse":
        raise InputError(
            f"column {name!r}: missing_codes count as missing, which is refused: set missing "
            '"category"'
        )
    return tuple(codes)


def _parse_form(name: str, spec: Json, kind: str) -> str:
    """Return the form in which a column's dates or numbers are written."""
    form = spec.get("form", "")
    if not isinstance(form, str) or not is_valid_unicode(form):
        raise InputError(
            f'column {name!r}: form must be a text, such as "DD.MM.YYYY" or "€ 1.000,00"'
        )
    if form and kind == "categorical":
        raise InputError(
            f"column {name!r}: form goes with numbers and dates; categories are written as values "
            "has them"
        )
    return form


def _parse_first_year(name: str, spec: Json, reading: str) -> int | None:
    """Return the first of the hundred years that two digits mean in a column; None if not said."""
    if "first_year" not in spec:
        return None
    year = spec["first_year"]
    low, high = FIRST_YEAR_LIMITS
    if type(year) is not int or not low <= year <= high:
        raise InputError(
            f"column {name!r}: first_year={repr(year)[:40]} is not a whole number in {low}..{high}"
        )
    if reading not in DATE_READINGS:
        raise InputError(
            f"column {name!r}: first_year says which century two digits of a year mean; it goes "
            'with dates alone, such as "read": "year of d/m/y"'
        )
    return year


def _parse_values(name: str, spec: Json) -> tuple:
    _check_value_keys(name, spec, ("values",))
    values = spec.get("values")
    if values is None:
        raise InputError(
            f"column {name!r}: values are not given; they are public, so a person must fill them in"
        )
    if not isinstance(values, list) or not values:
        raise InputError(
            f"column {name!r}: values must list the allowed categories, not {values!r}"
        )
    for v in values:
        if not isinstance(v, (str, int, float)) or (isinstance(v, float) and not math.isfinite(v)):
            raise InputError(
                f"column {name!r}: {v!r} in values is not a text, a finite number, true or false"
            )
    invalid_texts = [
        key for key in map(canonical_text_of_value, values) if not is_valid_unicode(key)
    ]
    if invalid_texts:
        raise InputError(f"column {name!r}: {invalid_texts[0]!r} in values is not Unicode text")
    return tuple(values)


def _parse_bounds_and_edges(name: str, kind: str, spec: Json) -> Json:
    """Return the low, high and edges of a numeric or integer column."""
    is_date = bool(whole_date_of_reading(spec.get("read", "")))
    if "size" in spec:
        return _parse_size(name, kind, spec, is_date)
    if spec.get("edges") is not None:
        edges = _parse_edges(name, spec, is_date)
    else:
        _check_value_keys(name, spec, ("low", "high", "bins"))
        low = _parse_number(name, "low", spec.get("low"), spec)
        high = _parse_number(name, "high", spec.get("high"), spec)
        if not low < high and not (kind == "integer" and low == high):
            raise InputError(
                f"column {name!r}: low={spec['low']} must be below high={spec['high']}"
            )
        if kind == "integer" and spec.get("bins") is None:
            if low != int(low) or high != int(high):
                raise InputError(
                    f"column {name!r}: low={low:g} and high={high:g} must be whole numbers"
                )
            return {"low": int(low), "high": int(high)}
        edges = _edges_of_bins(name, spec, low, high, is_date)
    if kind == "integer":
        _check_bins_hold_whole_numbers(name, edges)
    return {"low": edges[0], "high": edges[-1], "edges": tuple(edges)}


def _parse_size(name: str, kind: str, spec: Json, is_date: bool) -> Json:
    """Return the bounds of a column of the codes 0 to size − 1."""
    _check_value_keys(name, spec, ("size",))
    size = spec["size"]
    if kind != "integer" or is_date or type(size) is not int or size < 1:
        raise InputError(
            f"column {name!r}: size={size!r} must be a whole number ≥ 1 of an integer column"
        )
    return {"low": 0, "high": size - 1}


def _parse_edges(name: str, spec: Json, is_date: bool) -> list[float]:
    """Return stated edges, of which the last day may be a bin of its own."""
    _check_value_keys(name, spec, ("edges",))
    stated = spec["edges"] if isinstance(spec["edges"], list) else []
    edges = [_parse_number(name, "edges", edge, spec) for edge in stated]
    is_last_day_alone = is_date and len(edges) > 1 and edges[-2] == edges[-1]
    if is_last_day_alone and spec["kind"] == "integer":
        edges[-1] += 0.5  # so that the bin begins and ends with this day
    if len(edges) < 2 or (np.diff(edges) <= 0).any():
        raise InputError(
            f"column {name!r}: edges must be at least two increasing numbers, not {stated!r}"
        )
    return edges


def _edges_of_bins(name: str, spec: Json, low: float, high: float, is_date: bool) -> list[float]:
    """Return the edges of equally wide bins, or in a column of dates of years or months."""
    bins = spec.get("bins")
    if is_date and isinstance(bins, str) and bins in STEP_BY_WORD:
        per_day = numbers_per_day_of_reading(spec["read"])
        return calendar_edges(STEP_BY_WORD[bins], low, high, per_day)
    if type(bins) is not int or not 1 <= bins <= MAX_COLUMN_CELLS:
        advice = f", or bins that are {', '.join(STEP_BY_WORD)}" if is_date else ""
        raise InputError(
            f"column {name!r}: bins={bins!r} is outside 1..{MAX_COLUMN_CELLS}; give bins or "
            f"edges{advice}"
        )
    edges = [float(edge) for edge in np.linspace(low, high, bins + 1)]
    if is_date:
        edges = [low, *(float(math.ceil(edge)) for edge in edges[1:-1]), high]
    if (np.diff(edges) <= 0).any():
        raise InputError(
            f"column {name!r}: bins={bins} are too many for {spec['low']}..{spec['high']}"
        )
    return edges


def _check_bins_hold_whole_numbers(name: str, edges: list[float]) -> None:
    """Raise InputError for a bin without a whole number."""
    first, after_last = whole_number_bins(edges)
    is_empty = after_last <= first
    if is_empty.any():
        i = int(is_empty.argmax())
        raise InputError(
            f"column {name!r}: the bin from {edges[i]:g} to {edges[i + 1]:g} holds no whole "
            "number; use fewer bins"
        )


def _check_value_keys(name: str, spec: Json, allowed_keys: Texts) -> None:
    """Raise InputError for keys that repeat each other, or have no meaning for this kind."""
    for key in VALUE_KEYS:
        if key not in allowed_keys and spec.get(key) is not None:
            raise InputError(
                f"column {name!r}: {key} does not go with {' and '.join(allowed_keys)} in a "
                f"{spec['kind']} column"
            )


def _parse_choice(name: str, spec: Json, key: str, choices: Texts, default: str | None) -> str:
    value = spec.get(key, default)
    if value not in choices:
        raise InputError(f"column {name!r}: {key}={value!r} is not one of {', '.join(choices)}")
    return value


def _parse_number(name: str, key: str, value: Any, spec: Json) -> float:
    """Return a bound or an edge: a number, or in a column of dates that of a day or a time."""
    if value is None:
        raise InputError(
            f"column {name!r}: {key} is not given; bounds are public, so a person must fill them in"
        )
    whole_date = whole_date_of_reading(spec.get("read", ""))
    if whole_date:
        return _parse_date_bound(name, key, value, has_time=whole_date == DATE_AND_TIME)
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not -MAX_NUMBER <= value <= MAX_NUMBER
    ):
        raise InputError(
            f"column {name!r}: {key}={repr(value)[:40]} is not a finite number in -1e15..1e15"
        )
    return float(value)


def _parse_date_bound(name: str, key: str, value: Any, *, has_time: bool) -> float:
    """Return the number of a day, or of the second that a time begins with."""
    min_chars = len("2020-12-31")
    max_chars = len("2020-12-31T18:30:00") if has_time else min_chars
    is_text = isinstance(value, str) and min_chars <= len(value) <= max_chars
    period = parse_period(value) if is_text else None
    if period is None:
        example = "2020-12-31T18:30" if has_time else "2020-12-31"
        raise InputError(
            f"column {name!r}: {key}={repr(value)[:40]} is not written as {example}, as days of a "
            "schema are"
        )
    return float(period[0]) if has_time else period[0] / SECONDS_PER_DAY
