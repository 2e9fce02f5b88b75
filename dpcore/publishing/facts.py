"""The public facts of a release, as release.json holds them and every document is made from."""

import hashlib
import json
import platform
from collections.abc import Sequence
from importlib import metadata

import numpy as np
import scipy

from ..algorithms import registered_name
from ..data.domain import Domain
from ..data.schema import domain_to_json
from ..privacy.accounting import Accounting, Sums, events_to_json, planned
from ..types import Json
from .dataset import Reservation
from .prepared import PreparedRelease, SettledRelease, json_value


def facts_of(ready: PreparedRelease, reservation: Reservation, noise: str, entry: Json) -> Json:
    """All public facts of a release, enough to recompute its claim; its time is that of the charge.

    `noise` says how it was drawn; `entry` is its own in the data set's account.

    A second time would tell how long the release took, which may depend on the records.
    """
    request, problem, plan = ready.request, ready.problem, ready.plan
    schema = domain_to_json(problem.domain)
    total = reservation.lifetime
    accounting, charges, sums, found = plan.accounting, planned(plan), plan.sums, ()
    if isinstance(ready, SettledRelease):
        accounting, charges = ready.division.accounting, (*ready.measured_events, *charges)
        sums, found = Sums.of(charges), ready.found.found
    counted = accounting is Accounting.OPTIMAL
    symbol, cost = ("releases", sum(c.times for c in plan.charges)) if counted else sums.cost(accounting)
    return {
        "format": 1,
        "time": entry["time"],
        "dataset": {
            "name": reservation.dataset,
            "version": reservation.version,
            "total": {"epsilon": total.budget.epsilon, "delta": total.budget.delta},
            "spent": {"epsilon": reservation.spent, "delta": total.budget.delta},
            "accounting": total.accounting,
            "failure": total.failure,
        },
        "ledger": {
            "id": reservation.ledger,
            "entry": reservation.number,
            "hash": reservation.entry,
            "link": entry["link"],
        },
        "protects": {
            "unit": request.unit.protected,
            "neighbours": request.unit.neighbours,
            "records": problem.n,
            "rows_per_person": problem.group,
        },
        "promise": {
            "epsilon": request.budget.epsilon,
            "delta": request.budget.delta,
            "accounting": accounting,
            "cost": f"{symbol}={cost:.6g}",
            "charges": events_to_json(charges),
            "reserved": events_to_json(ready.events),
        },
        "plan": {"choices": [{"name": c.name, "value": json_value(c.value), "why": c.why} for c in plan.choices]},
        "made_by": {
            "algorithm": registered_name(request.algorithm),
            "source": request.algorithm.about.source,
            "adaptive": request.algorithm.adaptive,
            "public_start": request.start is not None,
            "noise": noise,
        },
        "queries": {"asked": list(request.asked), "count": problem.workload.m},
        "schema": schema,
        "schema_sha256": hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest(),
        "bounds": _bounds(problem.domain, [f.column.name for f in found]),
        "measured": [{"column": f.column.name, "found": f.words, "nothing": f.nothing, "tag": f.tag} for f in found],
        "reason": request.reason,
        "versions": versions(),
    }


def _bounds(domain: Domain, here: Sequence[str]) -> str:
    """A text that says where bounds and values come from; columns `here` were measured with this release."""
    if domain.peeked:
        return "filled in from the data, not protected"
    earlier = [name for name in domain.measured if name not in here]
    said = [
        f"measured from the data, protected, with {which} release: {', '.join(names)}"
        for which, names in (("this", here), ("an earlier", earlier))
        if names
    ]
    typed = len(domain.measured) < len(domain.names)
    return "; ".join([*said, *(["others entered by a person"] if said else ["entered by a person"]) * typed])


def versions() -> dict[str, str]:
    """The versions of this program and of what computed the release."""
    name = "privacy-utility-explorer"
    try:
        own = metadata.version(name)
    except metadata.PackageNotFoundError:  # run from a folder, not installed
        own = "not installed"
    return {name: own, "python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
