"""A table in a session: its records, what is public about it and who said so, and whom it protects."""

import copy
import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from dpcore import Domain, InputError, PrivacyUnit, domain_from_json, domain_to_json
from dpcore.data.sources.gathered_counts import Counts
from dpcore.data.sources.source import Source
from dpcore.schema.inference.default_columns import first_columns
from dpcore.schema.inference.infer_schema import Guess
from dpcore.schema.inference.repairs import PEEKS, Problem, mended, problems, words_missing
from dpcore.schema.partial_schema import OpenSchema, is_open, is_private, open_schema_from_json
from dpcore.schema.text_format import UNSTATED, TextFormat

from .counted_table import Known, Large, LedgerSource, added, rows_of
from .first_values import first_values
from .schema_share import Trial

COMFORTABLE_CELLS = 100_000  # of the columns chosen at first
MAX_ROWS_OF_PERSON = 1000  # the largest limit that a person may choose
TYPED, GUESSED, READ_OFF = "typed", "guessed", "read off"  # where a column's entry comes from
Entry = dict[str, Any]
Told = Callable[[float, str], object]  # hears how far something is, and in words; what it raises ends it


def unheard(_share: float, _words: str) -> None:
    """Nobody listens."""


@dataclass(eq=False)
class Table:
    """A table in this session: its schema as JSON, and the domain once the schema is complete (else what is wrong).

    `guesses` say what its columns seem to be, `origins` where each entry of the schema comes from. As long as one is
    guessed, and for ever after one was read off the records, the schema is marked as peeked. `unit` is whom the
    guarantee protects. A schema of which some is to be measured is an `opening`, and the domain is then that of the
    last `trial`. `format` is what a schema has to say of the file. Of a `large` table, which is read
    in parts, `frame` holds the first rows, to guess by, and `counts` is what was counted of all of them.
    """

    name: str
    frame: pd.DataFrame
    schema: dict[str, Any]
    source: str
    uploaded: bool
    population: np.ndarray | None = None
    guesses: dict[str, Guess] = field(default_factory=dict)  # by column
    unit: PrivacyUnit = PrivacyUnit()
    domain: Domain | None = None
    problem: str = ""
    version: str = ""
    origins: dict[str, str] = field(default_factory=dict)
    confirmed: bool = True  # whether a person said that kinds and the choice of columns are known without the table
    read_off: bool = False  # whether values or bounds were ever taken from the records
    problems: tuple[Problem, ...] = ()
    encoded: dict[tuple[str, ...], Any] = field(default_factory=dict)  # Rows, or Counts of a large table
    _checked: dict[str, tuple[str, tuple[Problem, ...], dict[str, int]]] = field(default_factory=dict)
    large: Large | None = None
    counts: Known = field(default_factory=dict)
    format: TextFormat = UNSTATED
    sha256: str = ""  # of the bytes of the file it was read from, by which a ledger knows it
    opening: OpenSchema | None = None
    trial: Trial | None = None
    _kept: int | None = None  # how many rows count, once that was asked for
    identity: str = field(default_factory=lambda: uuid.uuid4().hex)  # its twins have it too
    came_with: Domain | None = None  # the domain that `population` is a distribution over
    told: InitVar[Told] = unheard

    def __post_init__(self, told: Told) -> None:
        self.set_schema(self.schema, told, guessed=bool(self.guesses))
        self.came_with = self.domain

    def twin(self) -> "Table":
        """A copy to change while this one is in use, and to take its place; they share the records."""
        clone = copy.copy(self)
        clone.origins, clone.encoded, clone._checked = dict(self.origins), dict(self.encoded), dict(self._checked)
        return clone

    def set_schema(self, schema: dict[str, Any], told: Told = unheard, *, guessed: bool = False) -> None:
        """Take a whole schema; keep it even when it is not complete yet, and say what is missing.

        A person states it, unless it was `guessed`; one that says itself that it was peeked stays so.
        """
        self.schema, self.confirmed = schema, not guessed
        if not self.entries:  # a plain file of sizes is written out
            with suppress(InputError):
                self.schema = domain_to_json(domain_from_json(schema))
        uses_real_data = bool(self.entries) and bool(schema.get("peeked"))
        self.read_off = uses_real_data and not guessed
        self.origins = dict.fromkeys(self.entries, GUESSED if guessed else READ_OFF if uses_real_data else TYPED)
        self._check(told)

    def change(self, entries: Mapping[str, Entry | None], origin: str = TYPED, told: Told = unheard) -> None:
        """Give these columns other entries, or none to leave them out; all others stay as they are.

        An entry that was guessed or read off stays so however it is edited, and a new guess is to be confirmed anew.
        """
        self.read_off = self.read_off or origin == READ_OFF
        self.confirmed = self.confirmed and origin != GUESSED
        columns = dict(self.entries)
        for name, entry in entries.items():
            columns.pop(name, None)
            previous_origin = self.origins.pop(name, TYPED if self.confirmed else GUESSED)
            if entry is not None:
                columns[name] = entry
                self.origins[name] = READ_OFF if READ_OFF in (origin, previous_origin) else previous_origin
        self._write({name: columns[name] for name in self.names if name in columns}, self.constraints, told)

    def mend(self, names: Iterable[str], fix: str, told: Told = unheard) -> None:
        """Repair these columns, as far as they are in use; what cannot be mended so is a problem of its own."""
        entries: dict[str, Entry | None] = {}
        failures = []
        old_entries = self.entries
        names = [name for name in names if name in old_entries]
        for position, name in enumerate(names):
            told(position / len(names) / 2, f"Column {position + 1:,} of {len(names):,} is read")
            try:
                entries[name] = mended(name, self.cells(name), old_entries[name], fix)
            except InputError as error:
                failures.append(str(error))
        origin = READ_OFF if fix in PEEKS and entries else TYPED
        self.change(entries, origin, lambda share, text: told((1 + share) / 2, text))
        if failures:
            raise InputError("; ".join(failures))

    def confirm(self) -> None:
        """A person says that kinds and the choice of columns are known without this table; what was read off stays."""
        self.origins = {name: TYPED if was == GUESSED else was for name, was in self.origins.items()}
        self.confirmed = True
        self._write(self.entries, self.constraints)

    def constrain(self, constraints: list[Any]) -> None:
        """Say what cannot be; InputError for what is wrong with it, once the columns are complete."""
        if self.domain is not None:
            domain_from_json({"columns": self.entries, "constraints": constraints})
        self._write(self.entries, constraints)

    def protect(self, unit: PrivacyUnit) -> None:
        """Protect `unit` from now on."""
        if unit != self.unit:
            self.unit = unit
            self._check()

    def tried(self, trial: Trial) -> None:
        """Take the schema that a trial found for this table's domain, until the schema is changed."""
        self.encoded, self.version = {}, uuid.uuid4().hex
        self.trial, self.domain = trial, trial.found.domain
        self.rows(first_columns(self.domain, COMFORTABLE_CELLS))

    def rows(self, names: tuple[str, ...]) -> Any:
        """The records encoded in the named columns, once: Rows, or Counts of a large table where cells are too many.

        A large table must have been counted by them.
        """
        if names not in self.encoded:
            domain = (domain_from_json(self.schema) if self.domain is None else self.domain).project(names)
            self.encoded[names] = (
                domain.encode(self.unit.limited(self.frame, names))
                if self.large is None
                else rows_of(self.counts, domain, self.unit)
            )
        return self.encoded[names]

    def count(self, found: Counts) -> None:
        """Take in what was counted of a large table."""
        self.counts = added(self.counts, found)

    def whence(self, names: tuple[str, ...]) -> np.ndarray | None:
        """The population's distribution over these columns; None for no population, or where the schema was changed."""
        if self.population is None or self.domain is None or self.domain != self.came_with:
            return None
        return self.domain.marginal(self.population, names)

    def cells(self, name: str) -> pd.Series:
        """The cells of one column; InputError unless there is exactly one that is called so."""
        if self.names.count(name) != 1:
            raise InputError(f"the table has {self.names.count(name) or 'no'} column {name!r}")
        return pd.Series(self.frame.iloc[:, self.names.index(name)]).reset_index(drop=True)

    @cached_property
    def names(self) -> list[str]:
        """All columns of the table."""
        return [str(name) for name in self.frame.columns]

    @property
    def n(self) -> int:
        """How many rows count; of a large table once they were counted."""
        counted = next(iter([*self.counts.values(), *self.encoded.values()]), None)
        if counted is not None:
            return counted.n
        if self._kept is None:
            self._kept = len(self.kept)
        return self._kept

    @property
    def size(self) -> int | None:
        """How many rows there are; None where nobody has counted them yet."""
        if self.large is None:
            return len(self.frame)
        return self.large.rows if self.large.said else self.n if self.counts and self.unit.person is None else None

    @property
    def many(self) -> str:
        """How many rows there are, in words."""
        return "rows not counted yet" if self.size is None else f"{self.size:,} rows"

    @property
    def kept_words(self) -> str:
        """How many rows count under the limit of rows per person, in words; "" without a limit, or not counted yet.

        The number uses real data: it is the sum over people of the smaller of their rows and the limit.
        """
        if self.unit.person is None or (self.large is not None and not (self.counts or self.encoded)):
            return ""
        total_text = "" if self.size is None else f" of {self.size:,}"
        return f"{self.n:,}{total_text} rows kept, at most {self.unit.most_rows} of a person"

    @property
    def content(self) -> pd.DataFrame | Source:
        """What a ledger knows it by: all of its rows and columns, whatever the schema says of them."""
        return self.frame if self.large is None else LedgerSource(self.large.source, self.large)

    @property
    def looked_at(self) -> str:
        """Where guesses come from, in words."""
        return "all rows" if self.large is None else f"the first {len(self.frame):,} rows"

    @property
    def kept(self) -> pd.DataFrame:
        """The rows that count where all columns of the schema are used."""
        if self.large is not None:
            raise InputError("this table is read in parts, and its rows are not counted yet")
        schema_in_use = self.opening if self.domain is None else self.domain
        return self.unit.limited(self.frame, () if schema_in_use is None else schema_in_use.names)

    @property
    def done(self) -> list[str]:
        """The columns in use with which nothing is wrong."""
        faulty_names = {problem.column for problem in self.problems}
        return [name for name in self.entries if name not in faulty_names]

    @property
    def words_missing(self) -> dict[str, dict[str, int]]:
        """By column, as far as cells are looked at, the words that count as missing, and how often each stands."""
        words_by_column = {name: checked[2] for name, checked in self._checked.items() if name in self.entries}
        return {
            name: word_counts
            for name, word_counts in words_by_column.items()
            if word_counts and not is_private(self.entries[name])
        }

    def guess(self, name: str) -> Guess:
        """What a column seemed to be; of a table whose schema came with it, nothing."""
        return self.guesses.get(name) or Guess(name=name, kind="categorical")

    @cached_property
    def first_values(self) -> dict[str, dict[str, int]]:
        """Bars for the first values of every column: a private peek."""
        return first_values(self.frame)

    @property
    def guessed(self) -> bool:
        """Whether something of its schema was guessed or read off the records."""
        return bool(self._stated("peeked"))

    @property
    def peeked(self) -> bool:
        """Whether something of its schema was guessed, read off the records, or found in a trial."""
        return self.guessed or self.trial is not None

    @property
    def entries(self) -> dict[str, Entry]:
        """The schema's entries by column, as far as it is one."""
        columns = self._stated("columns")
        return dict(columns) if isinstance(columns, Mapping) else {}

    @property
    def constraints(self) -> list[Any]:
        """What the schema says that cannot be, as it stands there."""
        constraints = self._stated("constraints")
        return list(constraints) if isinstance(constraints, list) else []

    def _stated(self, what: str) -> Any:
        """What a schema says under a name; None where it is no schema, or says nothing."""
        return self.schema.get(what) if isinstance(self.schema, Mapping) else None

    def _write(self, columns: Mapping[str, Entry], constraints: list[Any], told: Told = unheard) -> None:
        """Make this the schema, with its mark, and find out what is wrong with it."""
        old_entries = self.entries
        still_measured = [name for name in self._stated("measured") or () if columns.get(name) == old_entries.get(name)]
        self.schema = {"columns": dict(columns)} | ({"constraints": constraints} if constraints else {})
        self.schema |= {"measured": still_measured} if still_measured else {}
        self.schema |= {"file": file_format} if (file_format := self.format.to_json()) else {}
        if self.read_off or not self.confirmed:
            self.schema["peeked"] = True
        self._check(told)

    def _check(self, told: Told = unheard) -> None:
        """Find the domain and all that is wrong; columns that did not change are not looked at again."""
        self.encoded, self.counts, self._kept, self.version = {}, {}, None, uuid.uuid4().hex
        self.domain = self.opening = self.trial = None
        self.problems, self.problem, entries = (), "", self.entries
        try:
            for position, (name, entry) in enumerate(entries.items()):
                told(position / len(entries), f"Column {position + 1:,} of {len(entries):,} is checked")
                self.problems += self._problems(name, entry)
            if self.problems:
                self.problem = self.problems[0].what
            elif is_open(self.schema):
                self.opening = self._opened()
            else:
                self.domain = self._read_alike(domain_from_json(self.schema))
                if self.large is None:
                    self.rows(first_columns(self.domain, COMFORTABLE_CELLS))
        except InputError as error:
            self.domain, self.problem = None, str(error)

    def _opened(self) -> OpenSchema:
        if self.large is not None:
            raise InputError(
                "some of this schema is to be measured, and this table is read in parts: measuring needs it whole"
            )
        partial_schema = open_schema_from_json(self.schema)
        self._read_alike(partial_schema.placeholder)
        return partial_schema

    def _read_alike(self, domain: Domain) -> Domain:
        """Refuse a schema of a file that is written in another way than the table was read."""
        if domain.file != self.format:
            format_text = json.dumps(self.format.to_json())
            raise InputError(
                f'the schema says another "file" than the table was read by: say {format_text}, or save it as UTF-8'
            )
        return domain

    def _problems(self, name: str, entry: Entry) -> tuple[Problem, ...]:
        """What is wrong with a column; of one that is to be measured no cell is looked at."""
        text = json.dumps(entry, default=str)
        if is_private(entry):
            self.cells(name)  # whether it is there
            return ()
        if name not in self._checked or self._checked[name][0] != text:
            cells = self.cells(name)
            column_problems = problems(name, cells, entry)
            self._checked[name] = text, column_problems, {} if column_problems else words_missing(name, cells, entry)
        return self._checked[name][1]
