"""A data set that a release is charged to: found in the ledger, or added to it with its version."""

import json
import sqlite3

from ...core.types import frozen
from ...privacy.accounting import Budget, Events, LifetimeBudget, TotalCost, events_to_json
from ..data_set import (
    BudgetRequest,
    Reservation,
    TableIdentity,
    check_budget_fits,
    find_dataset,
    total_promise,
)
from . import chain
from .chain import utc_now

DatasetTotals = dict[int, TotalCost]  # by the data set's number


@frozen
class ChargedDataset:
    """A data set that a release's events were added to: its rows' numbers, and its spending."""

    name: str
    number: int
    version: int
    version_number: int
    lifetime: LifetimeBudget
    spent: float


def add_events_to_data_set(
    db: sqlite3.Connection,
    request: BudgetRequest,
    identity: TableIdentity,
    events: Events,
    totals: DatasetTotals,
) -> ChargedDataset:
    """Return a request's data set with `events` added to its total in `totals`.

    Its row, and that of its version, are added to the ledger where there are none. Raises as
    `LedgerStore.reserve` does, before anything is added.
    """
    unit = request.unit.ledger_noun
    name, row, version_row_number, number, stored_fingerprint = find_dataset(
        db, identity, request.dataset, request.new_version
    )
    lifetime = total_promise(db, name, row, request.total, unit, events)
    before = totals[row["seq"]] if row else TotalCost()
    after = lifetime.add_events(before, events)
    check_budget_fits(name, lifetime, before, events, after)
    dataset_number = row["seq"] if row else _append_dataset(db, name, lifetime, unit)
    if version_row_number is None:
        version_row_number, _ = chain.append_row(
            db,
            "versions",
            dataset=dataset_number,
            number=number,
            fingerprint=stored_fingerprint,
            time=utc_now(),
        )
    totals[dataset_number] = after
    spent = lifetime.total_epsilon(after)
    return ChargedDataset(name, dataset_number, number, version_row_number, lifetime, spent)


def append_release(
    db: sqlite3.Connection,
    ledger: str,
    dataset: ChargedDataset,
    budget: Budget,
    events: Events,
    *,
    algorithm: str,
    settings: str,
    reason: str,
) -> Reservation:
    """Append a release to the ledger, charged to a data set, and return its reservation.

    Its row has its own promise.
    """
    seq, entry_hash = chain.append_row(
        db,
        "releases",
        dataset=dataset.number,
        version=dataset.version_number,
        algorithm=algorithm,
        epsilon=float(budget.epsilon),
        delta=float(budget.delta),
        rho=sum(times * event.rho for event, times in events),
        events=json.dumps(events_to_json(events)),
        total_epsilon=dataset.spent,
        settings=settings,
        reason=reason,
        time=utc_now(),
    )
    return Reservation(
        seq, entry_hash, ledger, dataset.name, dataset.version, dataset.lifetime, dataset.spent
    )


def _append_dataset(db: sqlite3.Connection, name: str, lifetime: LifetimeBudget, unit: str) -> int:
    """Add the row of a new data set; return its number."""
    dataset_number, _ = chain.append_row(
        db,
        "datasets",
        name=name,
        epsilon=float(lifetime.budget.epsilon),
        delta=float(lifetime.budget.delta),
        failure=float(lifetime.failure),
        accounting=lifetime.accounting.code,
        unit=unit,
        time=utc_now(),
    )
    return dataset_number
