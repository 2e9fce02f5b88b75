"""Requests for releases, checked and planned before any row is read or budget is used.

Nothing here compares a release with the truth: no error is computed, so none can be seen, stored or chosen by.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..algorithms import registered_name
from ..algorithms.base import Algorithm, make_plan
from ..algorithms.forecasts import affordable
from ..data.domain import Rows
from ..data.privacy_unit import PrivacyUnit
from ..data.sources.base import Source
from ..data.sources.counts import Counts, gather
from ..data.sources.people import limited
from ..data.text_format import TextFormat
from ..errors import InputError
from ..numbers import check_rows
from ..privacy.accounting.budget import Budget
from ..privacy.accounting.ledger import Choice, Plan
from ..privacy.accounting.lifetime import Event, reserved
from ..privacy.curator import check_readable
from ..problems import PublicStart, QueryRelease
from ..schemas.plan import exactly
from ..types import Array, Watch, unwatched
from ..workloads import Workload
from ..workloads.union import marginal_tables
from .ledger_store import Reservation, Store

NOISES = ("auto", "exact", "float")
WHY_EXACT = "noise and selections without rounding, so that no last digit reveals more than the budget allows"


def check_format(format: TextFormat) -> None:
    """Raise InputError for a text format in which one row's content can change how later rows are read."""
    if format.encoding == "utf-16":
        raise InputError("a file in UTF-16 is not released, as one stray byte moves all that follow; save it as UTF-8")
    if format.line_breaks:
        raise InputError(
            "a text file with line breaks inside values is not released, as one open quote changes all rows that "
            'follow; save it as Parquet or Excel, and leave "line_breaks" out of the schema\'s "file"'
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseRequest:
    """A request for a release: the whole table as read, its questions, its algorithm and its budget.

    A table may be a source, which is read in parts.
    `unit` is whom it protects; `reason` says in words why a schema that was read off the records is used all the same.
    `total` is the budget of a new data set, and `default_name` its name when `dataset` is not given. `noise` "exact"
    asks for noise and selections without rounding, "auto" for that too, but within a subspace seen through tables,
    where Gaussian noise cannot be had so. No noise in floating point keeps a promise at δ = 0: "float" is refused
    there, and "auto" is "exact".
    """

    frame: pd.DataFrame | Source
    workload: Workload
    asked: Sequence[str]
    algorithm: Algorithm
    budget: Budget
    start: Array | PublicStart | None = None
    dataset: str | None = None
    default_name: str | None = None
    new_version: bool = False
    total: Budget | None = None
    unit: PrivacyUnit = PrivacyUnit()
    reason: str = ""
    rows: int | None = None
    neutralize: bool = False
    noise: str = "auto"

    @property
    def table(self) -> pd.DataFrame:
        """The whole table; InputError for a source, which is never held in memory."""
        if isinstance(self.frame, pd.DataFrame):
            return self.frame
        raise InputError(
            f"{self.frame.name}: a schema is measured on a whole table in memory, not on one read in parts"
        )

    def __post_init__(self) -> None:
        if self.noise not in NOISES:
            raise InputError(f"noise={self.noise!r} is none of {', '.join(NOISES)}")
        if self.workload.domain.peeked and not self.reason.strip():
            raise InputError(
                "the schema's bounds were filled in from the data (peeked): give a written reason to use it"
            )
        if self.noise == "float" and self.budget.delta == 0:
            raise InputError("noise=float at delta=0: rounded noise keeps no such promise; choose auto, or delta > 0")
        check_format(self.workload.domain.file)
        if self.rows is not None:
            check_rows(self.rows)

    def check_exact(self, exact: bool) -> None:
        """Raise InputError for a plan whose noise is not exact where the request demands exact noise."""
        if not exact and (self.noise == "exact" or self.budget.delta == 0):
            name = registered_name(self.algorithm)
            why = f"{name} measures a subspace here, which exact noise does not fit"
            at, other = ("delta=0", "delta > 0") if self.budget.delta == 0 else ("noise=exact", "float")
            raise InputError(f"{at}: {why}; choose another algorithm, or {other}")


@dataclass(frozen=True, eq=False)
class PreparedRelease:
    """A request checked against table and schema, and planned; nothing has been drawn or charged."""

    request: ReleaseRequest
    problem: QueryRelease
    rows: Rows | Counts
    plan: Plan
    events: tuple[tuple[Event, int], ...]

    def reserve(self, store: Store, *, preview: bool = False, **leaving: str) -> Reservation:
        """Charge the release in the ledger, or with `preview` only show the charge; see `Store.reserve`.

        `leaving` is kept in the ledger with the settings: the key that signs it, and where it is written.
        """
        request = self.request
        asked = {"asked": list(request.asked)} | leaving
        return reserve(
            store,
            request,
            self.events,
            algorithm=registered_name(request.algorithm),
            settings={c.name: json_value(c.value) for c in self.plan.choices} | asked,
            reason=request.reason,
            preview=preview,
        )


def reserve(store: Store, request: Any, events: tuple[tuple[Event, int], ...], **told: Any) -> Reservation:
    """Charge a request, for a release or for measuring a schema, in its data set's ledger; see `Store.reserve`."""
    return store.reserve(
        request.frame,
        events,
        request.budget,
        dataset=request.dataset,
        default_name=request.default_name,
        unit=request.unit.noun,
        total=request.total,
        new_version=request.new_version,
        **told,
    )


def prepare(request: ReleaseRequest, rows: Rows | Counts | None = None) -> PreparedRelease:
    """The prepared release: its table encoded, its plan made. Rows that the schema refuses raise InputError here.

    The plan keeps its promise by what adds up, as the data set's ledger does. `rows` are this very table's, where they
    are encoded already.
    """
    if rows is None:
        rows = records_of(request.frame, request.workload, request.unit)
    problem = QueryRelease(request.workload, rows.n, request.unit.most_rows, request.start)
    affordable(request.algorithm, problem, request.budget)
    plan = make_plan(request.algorithm, problem, replace(request.budget, additive=True))
    if request.noise != "float":
        plan = exactly(plan)
    request.check_exact(plan.exact)
    if plan.exact:
        plan = replace(plan, choices=(*plan.choices, Choice("noise", "exact", WHY_EXACT)))
    check_readable(rows, plan)
    return PreparedRelease(request, problem, rows, plan, reserved(plan, request.algorithm.adaptive))


def records_of(
    table: pd.DataFrame | Source, workload: Workload, unit: PrivacyUnit, watch: Watch = unwatched
) -> Rows | Counts:
    """A table's rows in a workload's domain; of a source, only counts of the tables asked for.

    Rows of one person are limited first. `watch` is told how much of a source is read.
    """
    domain = workload.domain
    if isinstance(table, pd.DataFrame):
        return domain.encode(unit.limited(table, domain.names))
    tables = marginal_tables(workload)
    return gather(limited(table, unit, domain.names), domain, tables.axes if tables else (), watch)


def json_value(value: Any) -> Any:
    """The value of a plan's choice as a number or text that JSON can hold."""
    return (
        value.item() if isinstance(value, np.generic) else value if isinstance(value, (int, float, str)) else str(value)
    )
