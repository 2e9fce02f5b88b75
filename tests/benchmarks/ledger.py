"""How long a ledger of 10,000 releases takes: verify, show, one reservation; python -m
tests.benchmarks.ledger.
"""

import json
from pathlib import Path

from dpcore import Budget
from dpcore.privacy.accounting import BoundedRange, Gaussian
from dpcore.privacy.accounting.data_set_total import TotalCost
from dpcore.privacy.accounting.events import events_to_json
from dpcore.release.ledger import chain
from dpcore.release.ledger.ledger_store import LedgerStore, verify_ledger
from tests.benchmarks.measuring import main, timed
from tests.release.ledger.ledger_charges import charge_events

TOTAL = Budget(50, 1e-6)
EACH = Budget(0.05, 1e-6)
# seconds of a processor, for 10,000 releases
VERIFY = 3.0
RESERVE = 0.1
FILES = json.dumps(
    {name: "ab" * 32 for name in ("answers.csv", "card.html", "release.json", "synthetic.csv")}
)


def events(part):
    """What a release does that is that part of all of them on; no two are the same."""
    return ((BoundedRange(0.001 * (1 + part)), 10), (Gaussian(0.002 * (1 + part)), 10))


def build(path, releases):
    """A ledger of one data set and that many releases, each noted as made, in one transaction."""
    first = charge_events(
        LedgerStore(path, create=True), events=events(0), budget=EACH, dataset="people", total=TOTAL
    )
    lifetime = first.lifetime
    total = lifetime.add_events(TotalCost(), events(0))
    with chain.open_connection(path, 1.0) as db:
        db.execute("BEGIN")
        for number in range(1, releases):
            done = events(number / releases)
            total = lifetime.add_events(total, done)
            fields = {
                "dataset": 1,
                "version": 2,
                "algorithm": "mwem",
                "epsilon": EACH.epsilon,
                "delta": EACH.delta,
            }
            fields |= {
                "rho": sum(times * event.rho for event, times in done),
                "total_epsilon": lifetime.total_epsilon(total),
            }
            fields |= {
                "events": json.dumps(events_to_json(done)),
                "settings": '{"rounds": 10}',
                "reason": "",
            }
            made, _ = chain.append_row(db, "releases", **fields, time=chain.utc_now())
            chain.append_row(
                db, "states", release=made, state="released", note=FILES, time=chain.utc_now()
            )
        db.execute("COMMIT")


def measure(releases, folder):
    """Build, read and add to a ledger; whether all gates were kept, and what was found wrong."""
    path = folder / "l.sqlite"

    def reserve():
        charge_events(LedgerStore(path), events=events(0.5), budget=EACH)

    timed(f"build {releases} releases", lambda: build(path, releases))
    wrong, kept = timed("verify", lambda: verify_ledger(path), VERIFY)
    timed("show", lambda: LedgerStore(path).list_datasets())
    Path(f"{path}{chain.CHECKED_SUFFIX}").unlink()
    timed("reservation, nothing remembered", reserve)
    kept = all([timed("reservation", reserve, RESERVE)[1] for _ in range(5)]) and kept
    wrong = [*wrong, *verify_ledger(path)]
    return {
        "megabytes": round(path.stat().st_size / 1e6, 1),
        "wrong": wrong,
        "kept": kept and not wrong,
    }


if __name__ == "__main__":
    main(measure, "releases", 10_000)
