"""Requests for releases, checked before any row is read or budget is used.

Nothing here compares a release with the truth: no error is computed, so none can be seen, stored or
chosen by.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from ..algorithms import Algorithm, registered_name
from ..core.errors import InputError
from ..core.numbers import check_synthetic_row_count
from ..core.types import Texts
from ..problems.parse_tasks import require_releasable_task, task_columns
from ..queries import Workload
from ..schema.domain import Domain
from ..schema.text_format import (
    DEFAULT_TEXT_FORMAT,
    ENCODING_NAMES,
    NO_HEADER,
    TextFormat,
    keeps_lines_apart,
)
from .data_set import BudgetRequest
from .public_start import StartTable

NOISE_MODES = ("auto", "exact", "float")


def check_text_format(format: TextFormat) -> None:
    """Raise InputError for a text format in which a row can change how later rows are read."""
    if not keeps_lines_apart(format.encoding):
        raise InputError(
            f"a file in {ENCODING_NAMES.get(format.encoding, format.encoding)} is not released, as "
            "one stray byte moves all that follow; save it as UTF-8"
        )
    if format.header == NO_HEADER and not format.width:
        raise InputError(
            "without names of columns, the number of columns is not to be read off a row; state "
            'it: "file": {"header": "none", "width": 5}'
        )
    if format.line_breaks:
        raise InputError(
            "a text file with line breaks inside values is not released, as one open quote "
            "changes all rows that "
            'follow; save it as Parquet or Excel, and leave "line_breaks" out of the schema\'s '
            '"file"'
        )


def _check_public_schema(domain: Domain, reason: str) -> None:
    """Raise InputError for bounds from the data without a `reason`, or an unsafe text format."""
    if domain.peeked and not reason.strip():
        raise InputError(
            "the schema's bounds were filled in from the data (peeked): give a written "
            "reason to use it"
        )
    check_text_format(domain.file)


@dataclass(frozen=True, kw_only=True, eq=False)
class SchemaRequest(BudgetRequest):
    """A request to measure a schema of a table in memory, whose file was read by `format`."""

    format: TextFormat = DEFAULT_TEXT_FORMAT

    def __post_init__(self) -> None:
        check_text_format(self.format)


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseRequest(BudgetRequest):
    """A request for a release: the whole table as read, its queries, its algorithm and budget.

    `reason` says in words why a schema that was read off the rows is used all the same. `noise`
    "exact" asks for noise without rounding, "auto" for that too, but within a subspace seen through
    tables, where Gaussian noise cannot be had so. Selections are drawn without rounding always. No
    noise in floating point keeps a promise at δ = 0: "float" is refused there, and "auto" is
    "exact".
    """

    workload: Workload
    query_texts: Sequence[str]
    algorithm: Algorithm
    start: StartTable | None = None
    reason: str = ""
    rows: int | None = None
    neutralize: bool = False
    noise: str = "auto"

    def __post_init__(self) -> None:
        if self.noise not in NOISE_MODES:
            raise InputError(f"noise={self.noise!r} is none of {', '.join(NOISE_MODES)}")
        if self.noise == "float" and self.budget.delta == 0:
            raise InputError(
                "noise=float at delta=0: rounded noise keeps no such promise; choose auto, or "
                "delta > 0"
            )
        _check_public_schema(self.workload.domain, self.reason)
        if self.rows is not None:
            check_synthetic_row_count(self.rows)

    def check_exact_noise(self, exact: bool) -> None:
        """Raise InputError for a plan with inexact noise where the request demands exact noise."""
        if not exact and (self.noise == "exact" or self.budget.delta == 0):
            name = registered_name(self.algorithm)
            explanation = f"{name} measures a subspace here, which exact noise does not fit"
            is_pure = self.budget.delta == 0
            setting = "delta=0" if is_pure else "noise=exact"
            alternative = "delta > 0" if is_pure else "float"
            raise InputError(
                f"{setting}: {explanation}; choose another algorithm, or {alternative}"
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class LearningRequest(BudgetRequest):
    """A request to release what is learned from a table in memory: the numbers of one task.

    `task` is a text that `read_task` reads, in the `schema`, of which only the task's columns are
    used. Whether it is refused follows from the schema, from n and from the settings, never from
    what rows hold: rows are read as the schema says, and any of those that it allows are learned
    from. `reason` and `radius` are as in `ReleaseRequest` and `read_task`.
    """

    schema: Domain
    task: str
    algorithm: Algorithm
    radius: float | None = None
    reason: str = ""
    neutralize: bool = False
    start = None  # no algorithm that learns begins at a public table

    def __post_init__(self) -> None:
        require_releasable_task(self.task, self.schema)
        _check_public_schema(self.domain, self.reason)
        if not isinstance(self.frame, pd.DataFrame):
            raise InputError(
                f"{self.frame.name}: learning reads single rows of a table in memory, not of one "
                "that is read in parts"
            )
        if self.unit.counts_people:
            raise InputError(
                "learning counts rows, not people who share a vote; count rows, of which a person "
                "may have several"
            )

    @cached_property
    def domain(self) -> Domain:
        """The schema of the columns that the task uses."""
        return self.schema.project(task_columns(self.task, self.schema))

    @property
    def query_texts(self) -> Texts:
        """The texts of what is asked for: the task's alone."""
        return (self.task,)
