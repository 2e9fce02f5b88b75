"""A schema with unknown parts, marked "private" in its file, which will be measured privately."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..core.errors import InputError, require_two_rows
from ..core.types import Json, ProgressCallback, Texts, ignore_progress, value_object
from .column import OTHER_LABEL, Column, MissingCodes, SameTexts
from .column_readings import (
    AS_WRITTEN,
    comparable_name,
    numbers_per_day_of_reading,
    whole_date_of_reading,
)
from .column_texts import ColumnTexts
from .date_texts import DEFAULT_FIRST_YEAR, YEAR_FIRST_ORDER
from .domain import Domain
from .forms.calendar_numbers import FIRST_DAY, LAST_DAY, snap_edges
from .forms.round_trip import without_unfit_form
from .schema_json import domain_from_json, statements_to_json

PRIVATE = "private"
DEFAULT_BINS = 16  # of a column to be measured, about, where nothing is said
MAX_BINS = 1000
EXPECTED_CATEGORIES = 7  # categories to plan with
READING_KEYS = ("kind", "read", "ordered", "form")
# what a person states of texts: which are one value, and which count as missing
STATEMENT_KEYS = ("same", "missing_codes")
PRIVATE_COLUMN_KEYS = {*READING_KEYS, *STATEMENT_KEYS, "values", "bounds", "bins", "missing"}


@value_object
class UnknownColumn:
    """A column whose values or bounds will be measured.

    It states its kind, its reading, and how many bins it should have, about; None for as many as
    suit it. `quantiles` asks for bins that hold about as many rows each, else they are as wide as
    each other where that shows enough. A few whole numbers, `bins` or fewer, get a cell each.
    `same` and `missing_codes` are public, as a `Column` has them: while it is measured, a cell's
    text is first read as the value that it is the same as, and codes count as missing. `form` is
    how the column is written.
    """

    name: str
    kind: str
    read: str = AS_WRITTEN
    bins: int | None = None
    quantiles: bool = False
    same: SameTexts = ()
    missing_codes: MissingCodes = ()
    form: str = ""

    @property
    def is_categorical(self) -> bool:
        """Whether values will be measured, not bounds."""
        return self.kind == "categorical"

    @property
    def is_integer(self) -> bool:
        """Whether numbers that are not whole count as missing."""
        return self.kind == "integer"

    @property
    def placeholder(self) -> Column:
        """A column of the size expected of the measured one, from public numbers alone."""
        labels = tuple(f"({PRIVATE} {i})" for i in range(EXPECTED_CATEGORIES))
        return (
            self.column_of_values(labels)
            if self.is_categorical
            else self.column_of_bins([float(e) for e in range((self.bins or DEFAULT_BINS) + 1)])
        )

    def column_of_values(self, values: Sequence[str], missing: bool = False) -> Column:
        """Return the column with these values and one for all others.

        Missing cells are among those others or have their own. Of `same` it has what speaks of
        these values: texts that are the same as another one are among the others, as that one is.
        """
        column = Column(
            name=self.name,
            kind=self.kind,
            values=(*values, OTHER_LABEL),
            read=self.read,
            missing="category" if missing else "other",
            out_of_range="other",
            missing_codes=self.missing_codes,
        )
        texts_by_key = {column.category_key(value): texts for value, texts in self.same}
        same = [(value, texts_by_key.get(column.category_key(value))) for value in column.values]
        return replace(column, same=tuple((value, texts) for value, texts in same if texts))

    def column_of_bins(self, edges: Sequence[float]) -> Column:
        """Return the column with these bins.

        Numbers outside are clipped, and other texts count as missing. Edges of days are days that
        there are, those of times whole seconds. A form that cannot write numbers of all bins is
        left out.
        """
        if whole_date_of_reading(self.read):
            edges = self._date_edges(edges)
        common: Json = {"name": self.name, "kind": self.kind, "ordered": True, "read": self.read}
        common |= {"missing": "category", "out_of_range": "clip", "unreadable": "missing"}
        common["missing_codes"] = self.missing_codes
        reads_years = self.read.startswith("year") or whole_date_of_reading(self.read)
        if reads_years and not self.read.endswith(YEAR_FIRST_ORDER):
            common["stated_first_year"] = DEFAULT_FIRST_YEAR  # by which its years are measured
        common |= {"low": edges[0], "high": edges[-1], "edges": tuple(edges)}
        return without_unfit_form(Column(**common, form=self.form))

    def _date_edges(self, edges: Sequence[float]) -> list[float]:
        """Return edges of days or times, within the calendar, where its wide steps begin."""
        per_day = numbers_per_day_of_reading(self.read)
        last_day = (LAST_DAY + 1) * per_day - 1
        inside = snap_edges(list(edges), per_day) if len(edges) > 1 else edges
        inside = np.clip(inside, FIRST_DAY * per_day, last_day)
        if self.kind == "numeric":
            inside = np.floor(inside)
        unique = np.unique(inside)
        return unique.tolist() if len(unique) > 1 else [last_day - 1.0, float(last_day)]

    def column_of_integers(self, low: int, high: int) -> Column:
        """Return the column with a cell for every whole number in low..high."""
        column = self.column_of_bins([low, high + 1])
        if whole_date_of_reading(self.read):
            high = min(high, LAST_DAY)
        return replace(column, low=low, high=high, edges=())


@value_object
class PartialSchema:
    """A schema with columns that will be measured: `unknown_columns`, in the order of the schema.

    In the `placeholder`, a domain for planning and for reading queries before anything is measured,
    they have the sizes expected of them. Its constraints speak of the public columns alone.
    """

    placeholder: Domain
    unknown_columns: tuple[UnknownColumn, ...]

    @property
    def names(self) -> Texts:
        """The names of all columns."""
        return self.placeholder.names

    def project(self, names: Sequence[str]) -> "PartialSchema":
        """Return the schema of the named columns only; InputError names one that is missing."""
        column_by_name = {c.name: c for c in self.unknown_columns}
        return PartialSchema(
            self.placeholder.project(names),
            tuple(column_by_name[name] for name in names if name in column_by_name),
        )

    def fill_in(self, measured_columns: Mapping[str, Column]) -> Domain:
        """Return the domain, with measured columns in place of the unknown ones."""
        columns = {c.name: c for c in self.placeholder.columns} | {
            c.name: measured_columns[c.name] for c in self.unknown_columns
        }
        return replace(self.placeholder, columns=tuple(columns.values()))

    def unknown_column_texts(
        self, frame: pd.DataFrame, progress: ProgressCallback = ignore_progress
    ) -> list[ColumnTexts]:
        """Return the raw cells of the unknown columns.

        `progress` receives the number of columns done.

        Raises first what `Domain.encode` raises about the public columns, an InputError where one
        cannot be read, and InputError for an unknown column that is not there.
        """
        require_two_rows(len(frame))
        column_by_name = {c.name: c for c in self.unknown_columns}
        texts = []
        for column, cells in self.placeholder.cells_by_column(frame):
            if column.name in column_by_name:
                progress(len(texts), len(column_by_name))
                unknown = column_by_name[column.name]
                column_texts = ColumnTexts.from_series(
                    cells, unknown.read, unknown.same, unknown.missing_codes
                )
                texts.append(column_texts.without_units(column.written_form))
            else:
                column.encode(cells)
        return texts


def has_private_columns(schema: Any) -> bool:
    """Return whether any column of a schema file is marked as private, to be measured."""
    columns = schema.get("columns") if isinstance(schema, Mapping) else None
    return isinstance(columns, Mapping) and any(map(is_private_entry, columns.values()))


def partial_schema_from_json(schema: Any) -> PartialSchema:
    """Return a schema with private parts, read from JSON; InputError names column and key.

    A constraint that speaks of a column to be measured is refused: which of its cells it forbids
    cannot be said yet.
    """
    columns = schema["columns"]
    public_entries = {name: spec for name, spec in columns.items() if not is_private_entry(spec)}
    constraints = schema.get("constraints")
    if isinstance(constraints, list):
        for position, spec in enumerate(constraints, start=1):
            private_names = [
                name
                for name in _columns_in_constraint(spec)
                if name in columns and name not in public_entries
            ]
            if private_names:
                raise InputError(
                    f"constraint {position}: column {private_names[0]!r} is to be measured, so "
                    "that nothing can be "
                    "said of its "
                    "values yet; drop the constraint, or give the column's bounds or values"
                )
    closed_entries = {
        name: public_entries[name] if name in public_entries else _probe_entry(spec)
        for name, spec in columns.items()
    }
    probe_domain = domain_from_json({**schema, "columns": closed_entries})
    unknown_columns = {
        c.name: _parse_unknown_column(c, columns[c.name])
        for c in probe_domain.columns
        if c.name not in public_entries
    }
    measured = tuple(
        name
        for name in probe_domain.names
        if name in unknown_columns or name in probe_domain.measured
    )
    placeholder_columns = tuple(
        unknown_columns[c.name].placeholder if c.name in unknown_columns else c
        for c in probe_domain.columns
    )
    return PartialSchema(
        replace(probe_domain, columns=placeholder_columns, measured=measured),
        tuple(unknown_columns.values()),
    )


def drop_faulty_unused_columns(schema: Any, used_names: Sequence[str]) -> Any:
    """Return a schema file without the columns that are not used and whose entries are wrong.

    So a column that a run leaves out does not stop it. Constraints on such a column, and its mark
    as measured, are dropped with it; all else is returned as it is.
    """
    columns = schema.get("columns") if isinstance(schema, Mapping) else None
    if not isinstance(columns, Mapping):
        return schema
    used_keys = set(map(comparable_name, used_names))
    faulty = {
        name
        for name, spec in columns.items()
        if comparable_name(str(name)) not in used_keys and not _is_readable_entry(name, spec)
    }
    if not faulty:
        return schema
    restricted = dict(schema) | {
        "columns": {name: spec for name, spec in columns.items() if name not in faulty}
    }
    if isinstance(schema.get("constraints"), list):
        restricted["constraints"] = [
            spec
            for spec in schema["constraints"]
            if faulty.isdisjoint(_columns_in_constraint(spec))
        ]
    if isinstance(schema.get("measured"), list):
        restricted["measured"] = [name for name in schema["measured"] if name not in faulty]
    return restricted


def _is_readable_entry(name: Any, spec: Any) -> bool:
    try:
        if is_private_entry(spec):
            partial_schema_from_json({"columns": {name: spec}})
        else:
            domain_from_json({"columns": {name: spec}})
    except InputError:
        return False
    return True


def partial_schema_to_json(schema: PartialSchema) -> Json:
    """Return the schema file of a partial schema."""
    entries = {}
    for c in schema.unknown_columns:
        entry: Json = {"kind": c.kind}
        if c.is_categorical:
            entry["values"] = PRIVATE
        else:
            entry["bounds"] = PRIVATE
            if c.quantiles or c.bins is not None:
                entry["bins"] = PRIVATE if c.quantiles else c.bins
        if c.read:
            entry["read"] = c.read
        entries[c.name] = entry | statements_to_json(c.same, c.missing_codes, c.form)
    schema_json: Json = {"columns": entries}
    file_format = schema.placeholder.file.to_json()
    if file_format:
        schema_json["file"] = file_format
    return schema_json


def private_entry(spec: Json) -> Json:
    """Return the schema entry of a column to be measured, from one with less said.

    Bins stay as they were entered. Codes and values that are the same stay where the column was to
    be measured before; else they may have been read off its rows.
    """
    kept_entry = _value_free_entry(spec)
    if is_private_entry(spec):
        kept_entry |= {key: spec[key] for key in STATEMENT_KEYS if key in spec}
    if spec.get("kind") == "categorical":
        return kept_entry | {"values": PRIVATE}
    entry = kept_entry | {"bounds": PRIVATE}
    if spec.get("bins") is not None:
        entry["bins"] = spec["bins"]
    return entry


def _value_free_entry(spec: Json) -> Json:
    """Return the parts of a column's schema entry that do not depend on its values."""
    return {key: spec[key] for key in READING_KEYS if key in spec}


def _columns_in_constraint(constraint: Any) -> list[str]:
    """Return the columns that a schema file's constraint names, even if it is otherwise wrong."""
    name_lists = (
        [value for key, value in constraint.items() if key != "which"]
        if isinstance(constraint, Mapping)
        else []
    )
    return [
        name
        for names in name_lists
        if isinstance(names, (Mapping, list))
        for name in names
        if isinstance(name, str)
    ]


def is_private_entry(spec: Any) -> bool:
    """Return whether a schema file marks this column as private, to be measured."""
    return isinstance(spec, Mapping) and PRIVATE in (
        spec.get("values"),
        spec.get("bounds"),
        spec.get("bins"),
    )


def _probe_entry(spec: Json) -> Json:
    """Return an ordinary column entry of the same kind and reading as an unknown one.

    Its checks find errors in the unknown one. The values that `same` speaks of are among its own.
    """
    entry = _value_free_entry(spec) | {key: spec[key] for key in STATEMENT_KEYS if key in spec}
    entry["missing"] = "category"
    if whole_date_of_reading(str(spec.get("read", ""))):
        return entry | {"low": "2000-01-01", "high": "2020-12-31", "bins": 1}
    if spec.get("kind") != "categorical":
        return entry | {"low": 0, "high": 1, "bins": 1}
    same = spec.get("same")
    stated_values = list(same) if isinstance(same, Mapping) else []
    return entry | {"values": [OTHER_LABEL, *(v for v in stated_values if v != OTHER_LABEL)]}


def _parse_unknown_column(probe: Column, spec: Json) -> UnknownColumn:
    name = probe.name
    column = UnknownColumn(
        name,
        probe.kind,
        probe.read,
        same=probe.same,
        missing_codes=probe.missing_codes,
        form=probe.form,
    )
    unknown_keys = set(spec) - PRIVATE_COLUMN_KEYS
    if unknown_keys:
        raise InputError(
            f"column {name!r}: {sorted(map(str, unknown_keys))[0]!r} does not go with what is "
            "private"
        )
    if spec.get("missing", "category") != "category":
        raise InputError(
            f"column {name!r}: what is measured cannot refuse missing values, because that would "
            "reveal them"
        )
    if column.is_categorical:
        if spec.get("values") != PRIVATE or "bounds" in spec or "bins" in spec:
            raise InputError(
                f'column {name!r}: of categories the values are private: "values": "private"'
            )
        return column
    bins = spec.get("bins")
    if spec.get("bounds") != PRIVATE or "values" in spec:
        raise InputError(f'column {name!r}: of numbers the bounds are private: "bounds": "private"')
    is_bin_count = type(bins) is int and 1 <= bins <= MAX_BINS
    if "bins" in spec and bins != PRIVATE and not is_bin_count:
        raise InputError(
            f'column {name!r}: bins={str(bins)[:40]} must be "private" or in 1..{MAX_BINS}'
        )
    return replace(column, quantiles=True) if bins == PRIVATE else replace(column, bins=bins)
