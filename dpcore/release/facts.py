"""The public facts of a release, as release.json holds them and every document is made from."""

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata

import numpy as np
import scipy

from ..algorithms import registered_name
from ..core.types import Json
from ..privacy.accounting import events_of_plan, events_to_json
from ..schema.schema_json import domain_to_json
from .data_set import Reservation
from .evidence.origin_words import EARLIER_RELEASE, THIS_RELEASE, describe_bounds
from .preparation import MeasuredSchemaRelease, PreparedRelease, to_json_value
from .provenance import column_origins


def release_facts(
    ready: PreparedRelease,
    reservation: Reservation,
    noise: str,
    account_entry: Json,
    earlier_entries: Mapping[str, int],
) -> Json:
    """All public facts of a release, enough to recompute its claim; its time is that of the charge.

    `noise` says how it was drawn; `account_entry` is its own in the data set's account.
    `earlier_entries` are the columns that earlier releases measured, as `provenance.entries_in`
    gives them.

    A second time would tell how long the release took, which may depend on the records.
    """
    request = ready.request
    problem = ready.problem
    plan = ready.plan
    total = reservation.lifetime
    accountant = plan.accountant
    planned_charges = events_of_plan(plan)
    column_findings = ()
    if isinstance(ready, MeasuredSchemaRelease):
        planned_charges = (*ready.measured_events, *planned_charges)
        accountant = ready.division.accounting.of_events(planned_charges)
        column_findings = ready.measured_schema.findings
    origins_by_column = column_origins(
        problem.domain, [f.column.name for f in column_findings], earlier_entries
    )
    measured = tuple(
        origin.column
        for origin in origins_by_column
        if origin.source in (THIS_RELEASE, EARLIER_RELEASE)
    )
    schema = domain_to_json(
        replace(problem.domain, measured=measured)
    )  # no claim that the ledger does not bear out
    provenance = [origin.to_json() for origin in origins_by_column]
    return {
        "format": 1,
        "time": account_entry["time"],
        "dataset": {
            "name": reservation.dataset,
            "version": reservation.version,
            "total": {"epsilon": total.budget.epsilon, "delta": total.budget.delta},
            "spent": {"epsilon": reservation.spent, "delta": total.budget.delta},
            "accounting": total.accounting.name,
            "failure": total.failure,
        },
        "ledger": {
            "id": reservation.ledger,
            "entry": reservation.number,
            "hash": reservation.entry_hash,
            "link": account_entry["link"],
        },
        "protects": {
            "unit": request.unit.protected_text,
            "neighbours": request.unit.neighbours_text,
            "records": problem.n,
            "rows_per_person": problem.group,
        },
        "promise": {
            "epsilon": request.budget.epsilon,
            "delta": request.budget.delta,
            "accounting": accountant.name,
            "cost": accountant.cost_text,
            "charges": events_to_json(planned_charges),
            "reserved": events_to_json(ready.events),
        },
        "plan": {
            "choices": [
                {"name": c.name, "value": to_json_value(c.value), "why": c.why}
                for c in plan.settings
            ]
        },
        "made_by": {
            "algorithm": registered_name(request.algorithm),
            "source": request.algorithm.about.source,
            "adaptive": request.algorithm.adaptive,
            "public_start": request.start is not None,
            "start": None if request.start is None else request.start.to_json(),
            "noise": noise,
        },
        "queries": {"asked": list(request.query_texts), "count": problem.workload.m},
        "schema": schema,
        "schema_sha256": hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest(),
        "bounds": describe_bounds(provenance),
        "provenance": provenance,
        "measured": [
            {
                "column": f.column.name,
                "found": f.description,
                "nothing": f.found_nothing,
                "tag": f.tag,
            }
            for f in column_findings
        ],
        "reason": request.reason,
        "versions": software_versions(),
    }


def software_versions() -> dict[str, str]:
    """The versions of this program and of what computed the release."""
    name = "privacy-utility-explorer"
    try:
        program_version = metadata.version(name)
    except metadata.PackageNotFoundError:  # run from a folder, not installed
        program_version = "not installed"
    return {
        name: program_version,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
