"""Table of a session: its rows, its schema and who stated it, and its privacy unit."""

import copy
import json
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from dpcore import Domain, InputError, PrivacyUnit, domain_from_json, domain_to_json
from dpcore.core.job import StatusCallback
from dpcore.core.types import Json, Texts, frozen, ignore_progress
from dpcore.data.sources.gathered_counts import GatheredCounts
from dpcore.data.sources.source import Source
from dpcore.data.table_shape import Doubt
from dpcore.evaluation.project import GUESSED, INFERRED_FROM_DATA, TYPED
from dpcore.schema.cell_text import factorize_frame
from dpcore.schema.editing.code_values import Code, missing_codes_of
from dpcore.schema.inference.column_guess import ColumnGuess
from dpcore.schema.inference.default_columns import choose_default_columns
from dpcore.schema.inference.merges import suggest_merges_of_column
from dpcore.schema.inference.proposal import has_crowded_bin
from dpcore.schema.inference.repairs import (
    PEEKING_FIXES,
    ColumnProblem,
    find_column_problems,
    missing_word_counts,
    repair_column,
)
from dpcore.schema.partial_schema import (
    PartialSchema,
    has_private_columns,
    is_private_entry,
    partial_schema_from_json,
)
from dpcore.schema.text_format import DEFAULT_TEXT_FORMAT, TextFormat

from .counted_table import CountsByColumns, LargeTable, LedgerSource, merge_counts, rows_from_counts
from .first_values import count_first_values
from .schema_share import SchemaTrial

COMFORTABLE_CELLS = 100_000  # of the columns chosen at first
MAX_ROWS_OF_PERSON = 1000  # the largest limit that a person may choose
# Where a column's entry comes from.
USER_INPUT = TYPED
SchemaEntry = dict[str, Any]


@frozen
class ColumnCheck:
    """What the cells of a column say of its entry, which is kept as text."""

    entry_text: str
    problems: tuple[ColumnProblem, ...]
    missing_words: dict[str, int]
    has_crowded_bin: bool
    merges: dict[str, list[str]]  # values that seem to be the same


@dataclass(eq=False)
class Table:
    """Table of a session: rows, a schema as JSON, and the domain once the schema is complete.

    Until then, `problem` says what is wrong. `guesses` say what its columns seem to be, `origins`
    where each entry of the schema comes from. As long as one is guessed, and for ever after one was
    inferred from the rows, the schema is marked as peeked. `unit` is whom the guarantee protects. A
    schema of which some is to be measured is a `partial_schema`, and the domain is then that of the
    last `trial`. `text_format` is what a schema has to say of the file. Of a `large_table`, which
    is
    read in parts, `frame` holds the first rows, to guess by, and `counts` is what was counted of
    all of
    them.
    """

    name: str
    frame: pd.DataFrame
    schema: dict[str, Any]
    source: str
    uploaded: bool
    population: np.ndarray | None = None
    guesses: dict[str, ColumnGuess] = field(default_factory=dict)  # by column
    unit: PrivacyUnit = PrivacyUnit()
    domain: Domain | None = None
    problem: str = ""
    version: str = ""
    origins: dict[str, str] = field(default_factory=dict)
    # whether a person said that kinds and the choice of columns are known without the table
    kinds_confirmed: bool = True
    has_data_entries: bool = False  # whether values or bounds were ever taken from the rows
    problems: tuple[ColumnProblem, ...] = ()
    # Rows, or Counts of a large table
    encoded_by_columns: dict[tuple[str, ...], Any] = field(default_factory=dict)
    codes: dict[str, tuple[Code, ...]] = field(default_factory=dict)  # stated so far, by column
    _column_checks: dict[str, ColumnCheck] = field(default_factory=dict)
    large_table: LargeTable | None = None
    counts: CountsByColumns = field(default_factory=dict)
    text_format: TextFormat = DEFAULT_TEXT_FORMAT
    doubts: tuple[Doubt, ...] = ()  # about how the file was read
    stated_format: Json = field(default_factory=dict)  # what a person said of the file so far
    first_lines: tuple[Texts, ...] = ()  # as they were read, where that was guessed
    last_lines: tuple[Texts, ...] = ()  # those that are left out at the end
    sha256: str = ""  # of the bytes of the file it was read from, by which a ledger knows it
    partial_schema: PartialSchema | None = None
    trial: SchemaTrial | None = None
    _limited_row_count: int | None = None  # how many rows count, once that was asked for
    identity: str = field(default_factory=lambda: uuid.uuid4().hex)  # its twins have it too
    population_domain: Domain | None = None  # the domain that `population` is a distribution over
    # the rows with their texts factorized, which its twins share; made at once where not given
    factorized_frame: pd.DataFrame = field(default_factory=pd.DataFrame)
    progress: InitVar[StatusCallback] = ignore_progress

    def __post_init__(self, progress: StatusCallback) -> None:
        if self.factorized_frame.empty:
            self.factorized_frame = factorize_frame(self.frame)
        self.set_schema(self.schema, progress, is_guessed=bool(self.guesses))
        self.population_domain = self.domain

    def editable_copy(self) -> "Table":
        """Return a copy to change while this table is in use, and to replace it.

        They share the rows.
        """
        clone = copy.copy(self)
        clone.origins = dict(self.origins)
        clone.encoded_by_columns = dict(self.encoded_by_columns)
        clone._column_checks = dict(self._column_checks)
        return clone

    @property
    def statement(self) -> tuple[Any, ...]:
        """All that a change on Data can change: the schema, where it comes from, and the rest."""
        return (
            self.schema,
            self.origins,
            self.kinds_confirmed,
            self.unit,
            self.stated_format,
            self.trial,
        )

    def without_encoded_rows(self) -> "Table":
        """Return a copy to go back to, which takes no room beside the rows that it shares."""
        clone = self.editable_copy()
        clone.encoded_by_columns = {}
        return clone

    def set_schema(
        self,
        schema: dict[str, Any],
        progress: StatusCallback = ignore_progress,
        *,
        is_guessed: bool = False,
    ) -> None:
        """Take a whole schema; keep it even when it is not complete yet, and say what is missing.

        A person states it, unless it was `guessed`; one that says itself that it was peeked stays
        so.
        """
        self.schema = schema
        self.kinds_confirmed = not is_guessed
        if not self.entries:  # a plain file of sizes is written out
            with suppress(InputError):
                self.schema = domain_to_json(domain_from_json(schema))
        uses_real_data = bool(self.entries) and bool(schema.get("peeked"))
        self.has_data_entries = uses_real_data and not is_guessed
        origin = INFERRED_FROM_DATA if uses_real_data else USER_INPUT
        self.origins = dict.fromkeys(self.entries, GUESSED if is_guessed else origin)
        self._validate_schema(progress)

    def restore_statement(
        self,
        schema: dict[str, Any],
        origins: Mapping[str, str],
        *,
        kinds_confirmed: bool,
        has_data_entries: bool,
        progress: StatusCallback = ignore_progress,
    ) -> None:
        """Take a whole schema as it was saved, with where its entries come from.

        Of one that says that it was peeked, a column without a known origin was inferred.
        """
        self.set_schema(schema, progress)
        if not self.is_schema_inferred:
            return
        self.origins = {name: origins.get(name, INFERRED_FROM_DATA) for name in self.entries}
        self.kinds_confirmed = kinds_confirmed and GUESSED not in self.origins.values()
        self.has_data_entries = has_data_entries or INFERRED_FROM_DATA in self.origins.values()

    def update_entries(
        self,
        entries: Mapping[str, SchemaEntry | None],
        origin: str = USER_INPUT,
        progress: StatusCallback = ignore_progress,
    ) -> None:
        """Give these columns other entries, or none to leave them out; all others stay as they are.

        An entry that was guessed or read off stays so however it is edited, and a new guess is to
        be confirmed anew.
        """
        self.has_data_entries = self.has_data_entries or origin == INFERRED_FROM_DATA
        self.kinds_confirmed = self.kinds_confirmed and origin != GUESSED
        columns = dict(self.entries)
        for name, entry in entries.items():
            columns.pop(name, None)
            previous_origin = self.origins.pop(
                name, USER_INPUT if self.kinds_confirmed else GUESSED
            )
            if entry is not None:
                columns[name] = entry
                self.origins[name] = (
                    INFERRED_FROM_DATA
                    if INFERRED_FROM_DATA in (origin, previous_origin)
                    else previous_origin
                )
        self._store_schema(
            {name: columns[name] for name in self.names if name in columns},
            self.constraints,
            progress,
        )

    def repair_columns(
        self, names: Iterable[str], repair: str, progress: StatusCallback = ignore_progress
    ) -> None:
        """Repair the used ones of these columns; raise InputError for those that cannot be.

        The others are repaired all the same.
        """
        entries: dict[str, SchemaEntry | None] = {}
        failures = []
        old_entries = self.entries
        names = [name for name in names if name in old_entries]
        for position, name in enumerate(names):
            progress(
                position / len(names) / 2, f"Column {position + 1:,} of {len(names):,} is read"
            )
            try:
                entries[name] = repair_column(
                    name, self.column_cells(name), old_entries[name], repair
                )
            except InputError as error:
                failures.append(str(error))
        origin = INFERRED_FROM_DATA if repair in PEEKING_FIXES and entries else USER_INPUT
        self.update_entries(entries, origin, lambda share, text: progress((1 + share) / 2, text))
        if failures:
            raise InputError("; ".join(failures))

    def confirm_kinds(self) -> None:
        """Mark guessed kinds and the choice of columns as known to a person without this table.

        What was inferred from the rows stays marked.
        """
        self.origins = {
            name: USER_INPUT if was == GUESSED else was for name, was in self.origins.items()
        }
        self.kinds_confirmed = True
        self._store_schema(self.entries, self.constraints)

    def set_constraints(self, constraints: list[Any]) -> None:
        """Set the combinations that cannot occur; raise InputError for an invalid constraint.

        They are checked once the columns are complete.
        """
        if self.domain is not None:
            domain_from_json({"columns": self.entries, "constraints": constraints})
        self._store_schema(self.entries, constraints)

    def set_privacy_unit(self, unit: PrivacyUnit) -> None:
        """Set `unit` as the privacy unit from now on."""
        if unit != self.unit:
            self.unit = unit
            self._validate_schema()

    def use_trial(self, trial: SchemaTrial) -> None:
        """Use the schema that a trial measured as this table's domain, until the schema changes."""
        self.encoded_by_columns = {}
        self.version = uuid.uuid4().hex
        self.trial = trial
        self.domain = trial.measured_schema.domain
        self.encoded_rows(choose_default_columns(self.domain, COMFORTABLE_CELLS))

    def encoded_rows(self, names: tuple[str, ...]) -> Any:
        """Return the rows encoded in the named columns, `rows` of row totals too, made once.

        They are Rows, or Counts of a large table where cells are too many. A large table must have
        been
        counted by these columns.
        """
        if names not in self.encoded_by_columns:
            table_names = self.unit.names_in_table(names)
            domain = domain_from_json(self.schema) if self.domain is None else self.domain
            domain = domain.project(table_names)
            if table_names != names:
                domain = self.unit.extend_domain(domain)
            self.encoded_by_columns[names] = (
                self.unit.encode(domain, self.factorized_frame)
                if self.large_table is None
                else rows_from_counts(self.counts, domain, self.unit)
            )
        return self.encoded_by_columns[names]

    def add_counts(self, new_counts: GatheredCounts) -> None:
        """Take in what was counted of a large table."""
        self.counts = merge_counts(self.counts, new_counts)

    def population_on(self, names: tuple[str, ...]) -> np.ndarray | None:
        """Return the population's distribution over these columns; None without a population.

        None also where the schema was changed.
        """
        if self.population is None or self.domain is None or self.domain != self.population_domain:
            return None
        if self.unit.row_totals:  # a population says nothing of how many rows people have
            return None
        return self.domain.marginal(self.population, names)

    def column_cells(self, name: str) -> pd.Series:
        """Return one column's raw texts, factorized; InputError unless exactly one has its name."""
        if self.names.count(name) != 1:
            raise InputError(f"the table has {self.names.count(name) or 'no'} column {name!r}")
        cells = pd.Series(self.factorized_frame.iloc[:, self.names.index(name)])
        return cells.reset_index(drop=True)

    @cached_property
    def names(self) -> list[str]:
        """All columns of the table."""
        return [str(name) for name in self.frame.columns]

    @property
    def n(self) -> int:
        """How many rows count, or people; of a large table once they were counted."""
        counted = next(iter([*self.counts.values(), *self.encoded_by_columns.values()]), None)
        if counted is not None:
            return counted.n
        if self._limited_row_count is None:
            frame = self.limited_frame
            self._limited_row_count = len(self.unit.one_row_each.bound_contributions(frame))
        return self._limited_row_count

    @property
    def row_count(self) -> int | None:
        """How many rows there are; None where nobody has counted them yet."""
        if self.large_table is None:
            return len(self.frame)
        if self.large_table.is_row_count_exact:
            return self.large_table.rows
        return self.n if self.counts and self.unit.person is None else None

    @property
    def public_count(self) -> int | None:
        """The number that is public: of rows, or of people where these count; None if not known.

        Where people count, the number of rows is private.
        """
        if not self.unit.counts_people:
            return self.row_count
        is_counted = self.large_table is None or self.counts or self.encoded_by_columns
        return self.n if is_counted else None

    @property
    def row_count_text(self) -> str:
        """How many rows there are, in words."""
        return "rows not counted yet" if self.row_count is None else f"{self.row_count:,} rows"

    @property
    def limited_rows_text(self) -> str:
        """Number of rows under the rows-per-person limit, in words; "" if not limited or counted.

        Where people count, their number. That of rows uses real data: it is the sum over people of
        the smaller of their rows and the limit.
        """
        if self.unit.person is None or (
            self.large_table is not None and not (self.counts or self.encoded_by_columns)
        ):
            return ""
        if self.unit.counts_people:
            return f"{self.n:,} people, who count once each"
        total_text = "" if self.row_count is None else f" of {self.row_count:,}"
        return f"{self.n:,}{total_text} rows kept, at most {self.unit.most_rows} of a person"

    @property
    def ledger_content(self) -> pd.DataFrame | Source:
        """Content by which a ledger knows the table: all rows and columns, whatever the schema."""
        return (
            self.frame
            if self.large_table is None
            else LedgerSource(self.large_table.source, self.large_table)
        )

    @property
    def inspected_rows_text(self) -> str:
        """Where guesses come from, in words."""
        return "all rows" if self.large_table is None else f"the first {len(self.frame):,} rows"

    @property
    def limited_frame(self) -> pd.DataFrame:
        """The rows that count, each by itself, where all columns of the schema are used."""
        if self.large_table is not None:
            raise InputError("this table is read in parts, and its rows are not counted yet")
        schema_in_use = self.partial_schema if self.domain is None else self.domain
        return self.unit.row_unit.bound_contributions(
            self.frame, () if schema_in_use is None else schema_in_use.names
        )

    @property
    def valid_column_names(self) -> list[str]:
        """The columns in use with which nothing is wrong."""
        faulty_names = {problem.column for problem in self.problems}
        return [name for name in self.entries if name not in faulty_names]

    @property
    def missing_word_counts(self) -> dict[str, dict[str, int]]:
        """Words that count as missing and their frequency, by column.

        They are known as far as raw texts were checked.
        """
        words_by_column = {
            name: checked.missing_words
            for name, checked in self._column_checks.items()
            if name in self.entries
        }
        return {
            name: word_counts
            for name, word_counts in words_by_column.items()
            if word_counts and not is_private_entry(self.entries[name])
        }

    def has_crowded_bin(self, name: str) -> bool:
        """Return whether most rows of a used column are in one bin, as far as it was checked."""
        checked = self._column_checks.get(name)
        return checked is not None and name in self.entries and checked.has_crowded_bin

    def suggested_merges(self, name: str) -> dict[str, list[str]]:
        """Return the values of a used column that seem to be the same, by one of each group."""
        checked = self._column_checks.get(name)
        return {} if checked is None or name not in self.entries else checked.merges

    def codes_of(self, name: str) -> list[Code]:
        """Return the codes of a column: those guessed, stated, and counted as missing."""
        guessed = self.column_guess(name).missing_codes
        missing = missing_codes_of(self.entries.get(name, {}))
        return [*dict.fromkeys([*guessed, *self.codes.get(name, ()), *missing])]

    def change_code(
        self,
        name: str,
        code: Code,
        change: Callable[[SchemaEntry, Code, Collection[Code]], SchemaEntry],
        progress: StatusCallback = ignore_progress,
    ) -> None:
        """Change what a code of a column counts as, and keep the code in mind."""
        entry = change(self.entries[name], code, self.codes_of(name))
        self.codes = {**self.codes, name: (*self.codes.get(name, ()), code)}
        self.update_entries({name: entry}, progress=progress)

    def column_guess(self, name: str) -> ColumnGuess:
        """Return the guess of a column's kind; an empty guess if the schema came with the table."""
        return self.guesses.get(name) or ColumnGuess(name=name, kind="categorical")

    @cached_property
    def first_values(self) -> dict[str, dict[str, int]]:
        """Bars for the first values of every column: a private peek."""
        return count_first_values(self.frame)

    @property
    def is_schema_inferred(self) -> bool:
        """Whether something of its schema was guessed or read off the records."""
        return bool(self._schema_value("peeked"))

    @property
    def schema_uses_real_data(self) -> bool:
        """Whether any of the schema was guessed, inferred from rows, or measured in a trial."""
        return self.is_schema_inferred or self.trial is not None

    @property
    def entries(self) -> dict[str, SchemaEntry]:
        """The schema's entries by column, as far as it is one."""
        columns = self._schema_value("columns")
        return dict(columns) if isinstance(columns, Mapping) else {}

    @property
    def constraints(self) -> list[Any]:
        """What the schema says that cannot be, as it stands there."""
        constraints = self._schema_value("constraints")
        return list(constraints) if isinstance(constraints, list) else []

    def _schema_value(self, key: str) -> Any:
        """Return the schema's value under a key; None if it has none or is no schema."""
        return self.schema.get(key) if isinstance(self.schema, Mapping) else None

    def _store_schema(
        self,
        columns: Mapping[str, SchemaEntry],
        constraints: list[Any],
        progress: StatusCallback = ignore_progress,
    ) -> None:
        """Make this the schema, with its mark, and find out what is wrong with it."""
        old_entries = self.entries
        still_measured = [
            name
            for name in self._schema_value("measured") or ()
            if columns.get(name) == old_entries.get(name)
        ]
        self.schema = {"columns": dict(columns)} | (
            {"constraints": constraints} if constraints else {}
        )
        self.schema |= {"measured": still_measured} if still_measured else {}
        file_format = self.text_format.to_json()
        self.schema |= {"file": file_format} if file_format else {}
        if self.has_data_entries or not self.kinds_confirmed:
            self.schema["peeked"] = True
        self._validate_schema(progress)

    def _validate_schema(self, progress: StatusCallback = ignore_progress) -> None:
        """Set the domain and all problems from the schema; check only columns that changed."""
        self.encoded_by_columns = {}
        self.counts = {}
        self._limited_row_count = None
        self.version = uuid.uuid4().hex
        self.domain = None
        self.partial_schema = None
        self.trial = None
        self.problems = ()
        self.problem = ""
        entries = self.entries
        try:
            for position, (name, entry) in enumerate(entries.items()):
                progress(
                    position / len(entries),
                    f"Column {position + 1:,} of {len(entries):,} is checked",
                )
                self.problems += self._column_problems(name, entry)
            if self.problems:
                self.problem = self.problems[0].message
            elif has_private_columns(self.schema):
                self.partial_schema = self._read_partial_schema()
            else:
                self.domain = self._require_same_format(domain_from_json(self.schema))
                if self.large_table is None:
                    self.encoded_rows(choose_default_columns(self.domain, COMFORTABLE_CELLS))
        except InputError as error:
            self.domain = None
            self.problem = str(error)

    def _read_partial_schema(self) -> PartialSchema:
        if self.large_table is not None:
            raise InputError(
                "some of this schema is to be measured, and this table is read in parts: "
                "measuring needs it whole"
            )
        if self.unit.row_totals:
            raise InputError(
                "totals of rows beside people need a whole schema, and some of it is to be "
                "measured; do without totals, or state it"
            )
        partial_schema = partial_schema_from_json(self.schema)
        self._require_same_format(partial_schema.placeholder)
        return partial_schema

    def _require_same_format(self, domain: Domain) -> Domain:
        """Refuse a schema of a file that is written in another way than the table was read."""
        if domain.file != self.text_format:
            format_text = json.dumps(self.text_format.to_json())
            raise InputError(
                f'the schema says another "file" than the table was read by: say {format_text}, '
                "or save it as UTF-8"
            )
        return domain

    def _column_problems(self, name: str, entry: SchemaEntry) -> tuple[ColumnProblem, ...]:
        """Return what is wrong with a column; one to be measured is not read for that."""
        text = json.dumps(entry, default=str)
        if is_private_entry(entry):
            self.column_cells(name)  # whether it is there
            return ()
        if name not in self._column_checks or self._column_checks[name].entry_text != text:
            cells = self.column_cells(name)
            column_problems = find_column_problems(name, cells, entry)
            is_category = isinstance(entry, Mapping) and entry.get("kind") == "categorical"
            self._column_checks[name] = ColumnCheck(
                text,
                column_problems,
                {} if column_problems else missing_word_counts(name, cells, entry),
                not column_problems and has_crowded_bin(name, cells, entry),
                suggest_merges_of_column(entry, cells) if is_category else {},
            )
        return self._column_checks[name].problems
