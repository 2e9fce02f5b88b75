"""A real release: reserve its budget for ever, draw it once with unseeded noise, write it. Imports store and outputs.

Nothing here compares a release with the truth: no error is computed, so none can be seen, stored or chosen by.
"""

import hashlib
import json
import math
import platform
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

from .algorithms import registered_name
from .algorithms.base import Algorithm, make_plan
from .domain import Rows
from .errors import BudgetError, InputError
from .outputs import Measurement, check_folder, write
from .privacy.budget import Accounting, Budget, Gaussian
from .privacy.curator import Curator
from .privacy.ledger import Plan
from .privacy.lifetime import Event, events_to_json, reserved
from .privacy.statistics import Answers, CellAnswers, SomeAnswers
from .problems import QueryRelease
from .releases import Release
from .schema import domain_to_json
from .store import Reservation, Store, now
from .tables import limit_rows
from .workloads import Workload

MAX_ROWS = 100_000_000  # synthetic rows at once
FLOATING = (
    "floating-point noise (PCG64, seeded with 128 bits of the operating system's entropy); the proof speaks of real "
    "numbers, and a float's last bits may tell more"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Order:
    """What is to be released: a whole table as it was read, what is asked of it, by what, at what price.

    `person` names the column that says whose row it is, `most_rows` how many a person may have; `reason` says in words
    why a schema that was read off the records is used all the same. `total` is the budget of a new data set, and
    `default_name` its name when `dataset` is not given.
    """

    frame: pd.DataFrame
    workload: Workload
    asked: Sequence[str]
    algorithm: Algorithm
    budget: Budget
    start: np.ndarray | None = None
    dataset: str | None = None
    default_name: str | None = None
    new_version: bool = False
    total: Budget | None = None
    person: str | None = None
    most_rows: int = 1
    reason: str = ""
    rows: int | None = None
    neutralize: bool = False

    def __post_init__(self) -> None:
        if self.workload.domain.peeked and not self.reason.strip():
            raise InputError("the schema's bounds were read off the records (peeked): give a written reason to use it")
        if self.rows is not None and not 0 < self.rows <= MAX_ROWS:
            raise InputError(f"rows={self.rows} is outside 1..{MAX_ROWS}")

    @property
    def unit(self) -> str:
        """Who is protected."""
        return "row" if self.person is None else f"person named by {self.person}"


@dataclass(frozen=True, eq=False)
class Ready:
    """An order checked against table and schema, and planned; nothing has been drawn or charged."""

    order: Order
    problem: QueryRelease
    rows: Rows
    plan: Plan
    events: tuple[tuple[Event, int], ...]

    def reserve(self, store: Store, *, preview: bool = False) -> Reservation:
        """Charge it in the ledger, or with `preview` say what that would give; see `Store.reserve`."""
        order = self.order
        return store.reserve(
            order.frame,
            self.events,
            order.budget,
            dataset=order.dataset,
            default_name=order.default_name,
            unit=order.unit,
            total=order.total,
            new_version=order.new_version,
            algorithm=registered_name(order.algorithm),
            settings={c.name: _plain(c.value) for c in self.plan.choices} | {"asked": list(order.asked)},
            reason=order.reason,
            preview=preview,
        )


def prepare(order: Order, rows: Rows | None = None) -> Ready:
    """Encode the table and plan. What a schema refuses is told here, to the one who holds the table; nothing leaves.

    `rows` are this very table's, where they are encoded already.
    """
    if rows is None:
        frame = order.frame if order.person is None else limit_rows(order.frame, order.person, order.most_rows)
        rows = order.workload.domain.encode(frame)
    problem = QueryRelease(order.workload, rows.n, order.most_rows, order.start)
    plan = make_plan(order.algorithm, problem, order.budget)
    return Ready(order, problem, rows, plan, reserved(plan, order.algorithm.adaptive))


Progress = Callable[[int, int], None]  # is told: this round of so many


def publish(ready: Ready, store: Store, folder: Path, progress: Progress | None = None) -> dict[str, Any]:
    """Reserve, draw once, write all files into the new `folder`; the facts as in release.json.

    `progress` is called after the charge with 0, then with every round. Raises OverspendError before anything is
    charged. Whatever fails later leaves the release charged, and marked so.
    """
    check_folder(folder)
    reservation = ready.reserve(store)
    try:
        release, measurements, draws = _draw(ready, progress)
        count = ready.order.rows or ready.problem.n
        synthetic = release.sample(count, draws)
        facts = write(
            folder,
            _facts(ready, reservation),
            release,
            synthetic,
            measurements,
            ready.problem.workload,
            neutralize=ready.order.neutralize,
        )
    except BaseException as error:
        store.note(reservation.number, "failed", type(error).__name__)
        if isinstance(error, OSError):
            why = f"cannot be written: {error.strerror or error}; the release stays charged"
            raise InputError(f"{str(folder)[:200]}: {why}") from None
        raise
    store.note(reservation.number, "released", json.dumps(facts["files"]))
    return facts


def _draw(ready: Ready, progress: Progress | None) -> tuple[Release, list[Measurement], np.random.Generator]:
    """The last released object, what was measured on the way, and the generator for rows; noise cannot be seeded."""
    noise, own, draws = (np.random.default_rng() for _ in range(3))
    problem, plan, algorithm = ready.problem, ready.plan, ready.order.algorithm
    curator = Curator(ready.rows, problem.n, plan, noise, group=problem.group)
    witness = _Witness(curator)
    release, tell = None, progress or (lambda _t, _rounds: None)
    tell(0, plan["rounds"])
    for step in algorithm.steps(problem, plan, witness, own):  # type: ignore[arg-type]
        release = step.release
        tell(step.t, plan["rounds"])
    if release is None:
        raise InputError("the algorithm released nothing")
    if not algorithm.adaptive:
        planned: Counter[object] = Counter()
        for spend, times in ready.events:
            planned[spend] += times
        if Counter[object](spend for _, spend in curator.ledger.events) - planned:
            raise BudgetError("the algorithm did not keep to its plan; nothing leaves")
    return release, witness.measurements(), draws


class _Witness:
    """Passes every verb on to a curator and notes what measurements it answered, with their standard errors."""

    def __init__(self, curator: Curator) -> None:
        self._curator = curator
        self._sums: dict[int, tuple[Workload, np.ndarray, np.ndarray]] = {}  # Σ precision · answer, Σ precision

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._curator, verb)

    def measure(self, statistic: Any, spend: Any) -> np.ndarray:
        out = self._curator.measure(statistic, spend)
        if type(statistic) in (Answers, SomeAnswers, CellAnswers):
            self._note(statistic, spend, out)
        return out

    def measurements(self) -> list[Measurement]:
        """Answers measured several times are averaged, by their precision."""
        out = []
        for workload, weighted, precision in self._sums.values():
            with np.errstate(divide="ignore", invalid="ignore"):
                there = precision > 0
                mean, error = np.where(there, weighted / precision, np.nan), np.where(there, precision**-0.5, np.nan)
            out.append(Measurement(workload, mean, error))
        return out

    def _note(self, statistic: Any, spend: Any, out: np.ndarray) -> None:
        gaussian = isinstance(spend, Gaussian)
        scale = statistic.l2 / spend.mu if gaussian else math.sqrt(2) * statistic.l1 / spend.epsilon
        sigma = scale / self._curator.unit * getattr(statistic, "norms", 1.0)
        workload, part = statistic.workload, getattr(statistic, "part", slice(None))
        empty = (workload, np.zeros(workload.m), np.zeros(workload.m))
        _, weighted, precision = self._sums.setdefault(id(workload), empty)
        weight = np.maximum(sigma, 1e-150) ** -2.0
        weighted[part] += weight * out
        precision[part] += weight


def _facts(ready: Ready, reservation: Reservation) -> dict[str, Any]:
    """All that is public about a release: enough to recompute its claim, and no data."""
    order, problem, plan = ready.order, ready.problem, ready.plan
    schema = domain_to_json(problem.domain)
    people = f"all rows of one person, named by the column {order.person!r}, at most {order.most_rows}"
    neighbours = "tables that differ in {} replaced by any others; their number is public"
    total = reservation.lifetime
    sums = plan.sums
    costs = {
        Accounting.GDP: ("μ²", sums.mu_squared),
        Accounting.ZCDP: ("ρ", sums.rho),
        Accounting.OPTIMAL: ("releases", sums.alike[1]),
        Accounting.PURE: ("ε", sums.pure),
        Accounting.PLD: ("sampled steps", sums.sampled[1] if sums.sampled else 0),
    }
    symbol, cost = costs[plan.accounting]
    return {
        "format": 1,
        "time": now(),
        "dataset": {
            "name": reservation.dataset,
            "version": reservation.version,
            "total": {"epsilon": total.budget.epsilon, "delta": total.budget.delta},
            "spent": {"epsilon": reservation.spent, "delta": total.budget.delta},
            "accounting": total.accounting,
            "failure": total.failure,
        },
        "ledger": {"id": reservation.ledger, "entry": reservation.number, "hash": reservation.entry},
        "protects": {
            "unit": "one row" if order.person is None else people,
            "neighbours": neighbours.format("one row" if order.person is None else people),
            "records": problem.n,
            "rows_per_person": problem.group,
        },
        "promise": {
            "epsilon": order.budget.epsilon,
            "delta": order.budget.delta,
            "accounting": plan.accounting,
            "cost": f"{symbol}={cost:.6g}",
            "charges": events_to_json((c.spend, c.times) for c in plan.charges),
            "reserved": events_to_json(ready.events),
        },
        "plan": {"choices": [{"name": c.name, "value": _plain(c.value), "why": c.why} for c in plan.choices]},
        "made_by": {
            "algorithm": registered_name(order.algorithm),
            "source": order.algorithm.about.source,
            "adaptive": order.algorithm.adaptive,
            "public_start": order.start is not None,
            "noise": FLOATING,
        },
        "queries": {"asked": list(order.asked), "count": problem.workload.m},
        "schema": schema,
        "schema_sha256": hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest(),
        "bounds": "read off the records (a private peek)" if problem.domain.peeked else "typed by a person",
        "reason": order.reason,
        "versions": _versions(),
    }


def _versions() -> dict[str, str]:
    name = "privacy-utility-explorer"
    try:
        own = metadata.version(name)
    except metadata.PackageNotFoundError:  # run from a folder, not installed
        own = "not installed"
    return {name: own, "python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}


def _plain(value: Any) -> Any:
    """A settled choice as JSON holds it."""
    return (
        value.item() if isinstance(value, np.generic) else value if isinstance(value, (int, float, str)) else str(value)
    )
