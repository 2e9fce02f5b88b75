"""A real release: reserve its budget for ever, draw it once with unseeded noise, write it.

Nothing here compares a release with the truth: no error is computed, so none can be seen, stored or chosen by.
"""

import hashlib
import json
import math
import platform
from collections import Counter
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from ..algorithms import registered_name
from ..data.schema import domain_to_json
from ..errors import BudgetError, InputError
from ..privacy import entropy, exact
from ..privacy.accounting.budget import Accounting, Sums
from ..privacy.accounting.lifetime import events_to_json, planned
from ..privacy.curator import Curator
from ..privacy.measurement import MeasuredAnswers
from ..releases import Release
from .files import check_folder, write, write_schema
from .ledger_store import Reservation, Store, now
from .measured import OpenRelease, SettledRelease
from .request import PreparedRelease, plain

FLOATING = "floating-point noise ({}); the proof speaks of real numbers, and a float's last bits may tell more"
WHOLE = "exact {} noise on {} (whole numbers, by opendp {}, from the operating system's entropy)"
PICKED = "exact {} (coins without rounding, by {})"
ON_WHOLE = ("discrete Gaussian", "discrete Laplace", "sparse vector")

Progress = Callable[[int, int], None]  # is told: this round of so many


def publish(ready: PreparedRelease, store: Store, folder: Path, progress: Progress | None = None) -> dict[str, Any]:
    """Reserve, draw once, write all files into the new `folder`; the facts as in release.json.

    `progress` is called after the charge with 0, then with every round. Raises OverspendError before anything is
    charged. Whatever fails later leaves the release charged, and marked so.
    """
    check_folder(folder)
    reservation = ready.reserve(store)
    schema: dict[str, Any] = {}
    try:
        if isinstance(ready, OpenRelease):
            ready = ready.settle(entropy.generator())
            schema = domain_to_json(ready.problem.domain)
        release, measurements, draws, noise = _draw(ready, progress)
        count = ready.request.rows or ready.problem.n
        synthetic = release.sample(count, draws)
        facts = write(
            folder,
            _facts(ready, reservation, noise),
            release,
            synthetic,
            measurements,
            ready.problem.workload,
            schema=schema,
            neutralize=ready.request.neutralize,
        )
    except BaseException as error:
        store.note(reservation.number, "failed", type(error).__name__)
        if schema and isinstance(error, InputError):
            write_schema(folder, schema)  # it is paid for
            raise InputError(f"{error}; the schema that was measured is in {folder.name}/schema.json") from None
        if isinstance(error, OSError):
            why = f"cannot be written: {error.strerror or error}; the release stays charged"
            raise InputError(f"{str(folder)[:200]}: {why}") from None
        raise
    store.note(reservation.number, "released", json.dumps(facts["files"]))
    return facts


def _draw(
    ready: PreparedRelease, progress: Progress | None
) -> tuple[Release, list[MeasuredAnswers], np.random.Generator, str]:
    """The last released object, what was measured on the way, the generator for rows, and what the noise was, in words.

    Noise cannot be seeded, and no generator can be guessed from what it drew.
    """
    noise, own, draws = (entropy.generator() for _ in range(3))
    problem, plan, algorithm = ready.problem, ready.plan, ready.request.algorithm
    curator = Curator(ready.rows, problem.n, plan, noise, group=problem.group, domain=getattr(problem, "domain", None))
    release, tell = None, progress or (lambda _t, _rounds: None)
    tell(0, plan["rounds"])
    for step in algorithm.steps(problem, plan, curator, own):
        release = step.release
        tell(step.t, plan["rounds"])
    if release is None:
        raise InputError("the algorithm released nothing")
    if not algorithm.adaptive:
        allowed: Counter[object] = Counter()
        for charge in plan.charges:
            allowed[charge.spend] += charge.times
        if Counter[object](spend for _, spend in curator.ledger.events) - allowed:
            raise BudgetError("the algorithm did not keep to its plan; nothing leaves")
    return release, curator.measured, draws, _noise(curator)


def _noise(curator: Curator) -> str:
    """What was drawn exactly, and what in floating point."""
    exactly, found = curator.exactly, []
    where = "counts"
    if curator.step < 1:
        where = f"queries rounded to multiples of 2^{math.log2(curator.step):.0f}, a public grid, which it covers"
    if whole := sorted(law for law in exactly if law in ON_WHOLE):
        found.append(WHOLE.format(" and ".join(whole), where, exact.version()))
    if picked := sorted(law for law in exactly if law not in ON_WHOLE):
        found.append(PICKED.format(" and ".join(picked), entropy.NAME))
    if len(curator.ledger.events) > exactly.total():
        found.append(("the rest by " if exactly else "") + FLOATING.format(entropy.NAME))
    return "; ".join(found)


def _facts(ready: PreparedRelease, reservation: Reservation, noise: str) -> dict[str, Any]:
    """All that is public about a release: enough to recompute its claim, and no data."""
    request, problem, plan = ready.request, ready.problem, ready.plan
    schema = domain_to_json(problem.domain)
    total = reservation.lifetime
    accounting, charges, sums = plan.accounting, planned(plan), plan.sums
    if isinstance(ready, SettledRelease):
        accounting, charges = ready.division.accounting, (*ready.measured_events, *charges)
        sums = Sums.of(charges)
    counted = accounting is Accounting.OPTIMAL
    symbol, cost = ("releases", sum(c.times for c in plan.charges)) if counted else sums.cost(accounting)
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
        "plan": {"choices": [{"name": c.name, "value": plain(c.value), "why": c.why} for c in plan.choices]},
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
        "bounds": _bounds(ready),
        "measured": _measured(ready),
        "reason": request.reason,
        "versions": _versions(),
    }


def _bounds(ready: PreparedRelease) -> str:
    """Where bounds and values come from, in words."""
    domain = ready.problem.domain
    if domain.peeked:
        return "read off the records (a private peek)"
    if not domain.measured:
        return "typed by a person"
    here = "with this release" if isinstance(ready, SettledRelease) else "with an earlier release"
    return f"measured privately and paid for {here}: {', '.join(domain.measured)}; others typed by a person"


def _measured(ready: PreparedRelease) -> list[dict[str, Any]]:
    """What was found of every column that was measured with this release."""
    if not isinstance(ready, SettledRelease):
        return []
    return [{"column": f.column.name, "found": f.words, "nothing": f.nothing, "tag": f.tag} for f in ready.found.found]


def _versions() -> dict[str, str]:
    name = "privacy-utility-explorer"
    try:
        own = metadata.version(name)
    except metadata.PackageNotFoundError:  # run from a folder, not installed
        own = "not installed"
    return {name: own, "python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
