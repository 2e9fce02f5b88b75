"""A real release: use its budget for good, draw it once with unseeded noise, write it.

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

import numpy as np
import pandas as pd
import scipy

from ..algorithms import registered_name
from ..data.schema import domain_to_json
from ..errors import BudgetError, InputError
from ..privacy import entropy
from ..privacy.accounting.budget import Accounting, Gaussian, Sums
from ..privacy.accounting.lifetime import events_to_json, planned
from ..privacy.curator import Curator
from ..privacy.curators import curator_of
from ..privacy.measurement import MeasuredAnswers
from ..releases import Release, UnbiasedAnswers
from ..types import Json, Rng
from .files import check_folder, write, write_schema
from .ledger_store import Reservation, Store
from .leftovers import draft, noted
from .open_release import OpenRelease, SettledRelease
from .request import PreparedRelease, json_value
from .signing import Key, key_of

FLOATING = "floating-point noise ({}); the proof is about real numbers, and the rounding of floats may reveal more"
EXACT = "exact {} on {} (without rounding, by {})"

Progress = Callable[[int, int], None]  # receives the round and the number of rounds


def publish(ready: PreparedRelease, store: Store, folder: Path, progress: Progress | None = None) -> Json:
    """Reserve the budget, draw once, write all files into the new `folder`; return the facts of release.json.

    `progress` is called after the charge with 0, then with every round. Raises OverspendError before anything is
    charged. Whatever fails later leaves the release charged, and marked so.
    """
    check_folder(folder)
    key = key_of(store.path)
    with draft(folder) as made:
        place: Json = {"folder": str(folder.absolute()), "draft": str(made)}
        reservation = ready.reserve(store, signed_by=key.public, **place)
        facts = _publish(ready, store, reservation, folder, made, key, progress)
        store.note(reservation.number, "released", json.dumps(noted(folder)))
    return facts


def _publish(
    ready: PreparedRelease, store: Store, reservation: Reservation, folder: Path, made: Path, key: Key,
    progress: Progress | None,
) -> Json:  # fmt: skip
    """Draw a reserved release and write it into the draft `made`, which becomes `folder`; return the facts."""
    schema: Json = {}
    try:
        if isinstance(ready, OpenRelease):
            found = ready.measure(entropy.generator())
            schema = domain_to_json(found.domain)
            ready = ready.settle(found)
        account = store.account(reservation.number)
        release, measurements, draws, noise = _draw(ready, progress)
        count = ready.request.rows or ready.problem.n
        synthetic = _rows(release, count, draws)
        return write(
            folder,
            _facts(ready, reservation, noise, account["releases"][-1]),
            release,
            synthetic,
            measurements,
            ready,
            made=made,
            schema=schema,
            account=account,
            key=key,
        )
    except BaseException as error:
        store.note(reservation.number, "failed", type(error).__name__)
        kept = bool(schema) and write_schema(folder, schema)  # it is paid for
        more = f"; the schema that was measured is in {folder.name}/schema.json" if kept else ""
        if isinstance(error, OSError):
            why = f"cannot be written: {error.strerror or error}; its budget stays used"
            raise InputError(f"{str(folder)[:200]}: {why}{more}") from None
        if kept and isinstance(error, InputError):
            raise InputError(f"{error}{more}") from None
        raise


def _draw(ready: PreparedRelease, progress: Progress | None) -> tuple[Release, list[MeasuredAnswers], Rng, str]:
    """The last released object, the measurements, the generator for rows, and a description of the noise.

    Noise cannot be seeded, and no generator can be guessed from what it drew.
    """
    noise, own, draws = (entropy.generator() for _ in range(3))
    problem, plan, algorithm = ready.problem, ready.plan, ready.request.algorithm
    curator = curator_of(problem, ready.rows, plan, noise)
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
    if ready.request.budget.delta == 0 and len(curator.ledger.events) > curator.exactly.total():
        raise BudgetError("noise in floating point keeps no promise at delta=0; nothing leaves")
    return release, curator.measured, draws, _noise(curator)


def _rows(release: Release, count: int, draws: Rng) -> pd.DataFrame | None:
    """Synthetic rows; None for answers that have no distribution."""
    try:
        return release.sample(count, draws)
    except InputError:
        if isinstance(release, UnbiasedAnswers):
            return None
        raise


def _noise(curator: Curator) -> str:
    """A text that says which noise was drawn exactly and which in floating point."""
    exactly, found = curator.exactly, []
    where = "counts"
    if curator.step < 1:
        where = f"queries rounded to multiples of 2^{math.log2(curator.step):.0f}, a public grid, which it covers"
    if exactly:
        found.append(EXACT.format(" and ".join(sorted(exactly)), where, entropy.NAME))
    if len(curator.ledger.events) > exactly.total():
        found.append(("the rest by " if exactly else "") + FLOATING.format(entropy.NAME))
    return "; ".join(found)


def _facts(ready: PreparedRelease, reservation: Reservation, noise: str, entry: Json) -> Json:
    """All public facts of a release, enough to recompute its claim; its time is that of the charge.

    A second time would tell how long the release took, which may depend on the records.
    """
    request, problem, plan = ready.request, ready.problem, ready.plan
    schema = domain_to_json(problem.domain)
    total = reservation.lifetime
    accounting, charges, sums = plan.accounting, planned(plan), plan.sums
    if isinstance(ready, SettledRelease):
        accounting, charges = ready.division.accounting, (*ready.measured_events, *charges)
        sums = Sums.of(charges)
        noise = f"{noise}; that of the schema: {_schema_noise(ready)}"
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
        "bounds": _bounds(ready),
        "measured": _measured(ready),
        "reason": request.reason,
        "versions": _versions(),
    }


def _schema_noise(ready: SettledRelease) -> str:
    """A text that says what was drawn for the schema, exactly or in floating point."""
    if not ready.measuring.exact:
        return FLOATING.format(entropy.NAME)
    laws = {"Gaussian noise" if isinstance(c.spend, Gaussian) else "Laplace noise" for c in ready.measuring.charges}
    return EXACT.format(" and ".join(sorted(laws)), "counts", entropy.NAME)


def _bounds(ready: PreparedRelease) -> str:
    """A text that says where bounds and values come from."""
    domain = ready.problem.domain
    if domain.peeked:
        return "filled in from the data, not protected"
    here = [f.column.name for f in ready.found.found] if isinstance(ready, SettledRelease) else []
    earlier = [name for name in domain.measured if name not in here]
    said = [
        f"measured from the data, protected, with {which} release: {', '.join(names)}"
        for which, names in (("this", here), ("an earlier", earlier))
        if names
    ]
    typed = len(domain.measured) < len(domain.names)
    return "; ".join([*said, *(["others entered by a person"] if said else ["entered by a person"]) * typed])


def _measured(ready: PreparedRelease) -> list[Json]:
    """The findings on every column that was measured with this release."""
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
