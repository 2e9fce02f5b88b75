"""The public facts of a release, as release.json holds them and every document is made from."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..algorithms import registered_name
from ..algorithms.schema_measurement.column_findings import ColumnFindings
from ..core.types import Json
from ..core.versions import software_versions
from ..privacy.accounting import Plan, events_of_plan, events_to_json
from ..schema.column_readings import positions_of_name
from ..schema.domain import Domain
from ..schema.schema_json import domain_to_json
from .data_set import Reservation
from .evidence.origin_words import EARLIER_RELEASE, THIS_RELEASE, describe_bounds
from .preparation import Prepared, PreparedLearning, to_json_value
from .provenance import ColumnOrigin, column_origins
from .request import LearningRequest, ReleaseRequest


def release_facts(
    ready: Prepared,
    reservation: Reservation,
    noise: str,
    account_entry: Json,
    earlier_entries: Mapping[str, int],
) -> Json:
    """Return all public facts of a release, enough to recompute its claim.

    Its time is that of the charge: a second time would tell how long the release took, which may
    depend on the rows. `noise` says how the noise was drawn; `account_entry` is its own in the data
    set's account. `earlier_entries` are the columns that earlier releases measured, as
    `provenance.measuring_entries` gives them.
    """
    findings = _findings(ready)
    measured_names = [finding.column.name for finding in findings]
    origins = column_origins(ready.domain, measured_names, earlier_entries)
    schema = _claimed_schema(ready.domain, origins)
    provenance = [origin.to_json() for origin in origins]
    return {
        "format": 1,
        "time": account_entry["time"],
        "dataset": _dataset_facts(reservation),
        "ledger": _ledger_facts(reservation, account_entry["link"]),
        "protects": _protection_facts(ready),
        "promise": _promise_facts(ready),
        "plan": _plan_facts(ready.plan),
        "made_by": _algorithm_facts(ready.request, noise),
        "queries": _query_facts(ready),
        "schema": schema,
        "schema_sha256": hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest(),
        "bounds": describe_bounds(provenance),
        "provenance": provenance,
        "measured": _measured_facts(findings),
        "reason": ready.request.reason,
        "versions": software_versions(),
    }


def _findings(ready: Prepared) -> Sequence[ColumnFindings]:
    """Return what a release measured of its columns; nothing where its schema was public."""
    measurement = ready.schema_measurement
    if measurement is None or measurement.result is None:
        return ()
    return measurement.result.findings


def _claimed_schema(domain: Domain, origins: Sequence[ColumnOrigin]) -> Json:
    """Return the schema as JSON, marking as measured only columns that the ledger backs."""
    measured = tuple(
        origin.column for origin in origins if origin.source in (THIS_RELEASE, EARLIER_RELEASE)
    )
    return domain_to_json(replace(domain, measured=measured))


def _measured_facts(findings: Sequence[ColumnFindings]) -> list[Json]:
    """Return what a release measured of each column whose description was private."""
    return [
        {
            "column": finding.column.name,
            "found": finding.description,
            "nothing": finding.found_nothing,
            "tag": finding.tag,
        }
        for finding in findings
    ]


def _ledger_facts(reservation: Reservation, link: str) -> Json:
    """Return the ledger and its entry of a release, with the link in the data set's account."""
    return {
        "id": reservation.ledger,
        "entry": reservation.number,
        "hash": reservation.entry_hash,
        "link": link,
    }


def _query_facts(ready: Prepared) -> Json:
    """Return what was asked for, as texts, and how many numbers answer it."""
    is_learning = isinstance(ready, PreparedLearning)
    count = ready.problem.d if is_learning else ready.problem.workload.m
    return {"asked": list(ready.request.query_texts), "count": count}


def _protection_facts(ready: Prepared) -> Json:
    """Return who is protected, among how many rows, and how many of them may be one person's.

    Where people count, "records" is their number, of which one is one person, and "row_limit" the
    rows that share a person's vote; "row_totals" says that the schema's column `rows` holds how
    many these are; "successions" are the columns of which it holds pairs of a person's rows too.
    """
    unit = ready.request.unit
    facts = {
        "unit": unit.protected_text,
        "neighbours": unit.neighbours_text,
        "records": ready.problem.n,
        "rows_per_person": ready.problem.group,
    }
    if unit.counts_people:
        facts |= {"count": "people", "row_limit": unit.most_rows}
    if unit.row_totals:
        facts["row_totals"] = True
    names = ready.domain.names
    positions = {i for column in unit.person_columns for i in positions_of_name(column, names)}
    if positions:
        facts["person_columns"] = [names[i] for i in sorted(positions)]
    if unit.succession_columns:
        domain = ready.domain
        facts["successions"] = [domain.column(name).name for name in unit.succession_columns]
    if unit.time_column is not None:
        facts["time_column"] = ready.domain.column(unit.time_column).name
    return facts


def _plan_facts(plan: Plan) -> Json:
    """Return the settings that a plan chose, and why."""
    settings = [
        {"name": setting.name, "value": to_json_value(setting.value), "why": setting.why}
        for setting in plan.settings
    ]
    return {"choices": settings}


def _dataset_facts(reservation: Reservation) -> Json:
    """Return the data set, its total budget and what it has spent."""
    total = reservation.lifetime
    return {
        "name": reservation.dataset,
        "version": reservation.version,
        "total": {"epsilon": total.budget.epsilon, "delta": total.budget.delta},
        "spent": {"epsilon": reservation.spent, "delta": total.budget.delta},
        "accounting": total.accounting.name,
        "failure": total.failure,
    }


def _promise_facts(ready: Prepared) -> Json:
    """Return the promise of a release and the events that it is recomputed from."""
    accountant = ready.plan.accountant
    planned_events = events_of_plan(ready.plan)
    measurement = ready.schema_measurement
    if measurement is not None:
        planned_events = (*measurement.events, *planned_events)
        accountant = measurement.split.accounting.of_events(planned_events)
    return {
        "epsilon": ready.request.budget.epsilon,
        "delta": ready.request.budget.delta,
        "accounting": accountant.name,
        "cost": accountant.cost_text,
        "charges": events_to_json(planned_events),
        "reserved": events_to_json(ready.events),
    }


def _algorithm_facts(request: ReleaseRequest | LearningRequest, noise: str) -> Json:
    """Return the algorithm of a release, where it starts, and how its noise was drawn."""
    return {
        "algorithm": registered_name(request.algorithm),
        "source": request.algorithm.about.source,
        "adaptive": request.algorithm.adaptive,
        "public_start": request.start is not None,
        "start": None if request.start is None else request.start.to_json(),
        "noise": noise,
    }
