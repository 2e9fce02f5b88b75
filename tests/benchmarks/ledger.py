"""How long a ledger of 10,000 releases takes: verify, show, one reservation; python -m tests.benchmarks.ledger."""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from dpcore.privacy.accounting.budget import BoundedRange, Budget, Gaussian
from dpcore.privacy.accounting.lifetime import Total, events_to_json
from dpcore.publishing import chain, checked
from dpcore.publishing.ledger_store import Store, verify

FRAME = pd.DataFrame({"a": [1, 2, 2], "b": ["x", "y", None]})
TOTAL, EACH = Budget(50, 1e-6), Budget(0.05, 1e-6)
GATES = {"verify": 3.0, "reservation": 0.1}  # seconds of a processor, for 10,000 releases
FILES = json.dumps({name: "ab" * 32 for name in ("answers.csv", "card.html", "release.json", "synthetic.csv")})


def events(part: float) -> tuple:
    """What a release does that is that part of all of them on; no two are the same."""
    return ((BoundedRange(0.001 * (1 + part)), 10), (Gaussian(0.002 * (1 + part)), 10))


def build(path: Path, releases: int) -> None:
    """A ledger of one data set and that many releases, each noted as made, in one transaction."""
    first = Store(path, create=True).reserve(FRAME, events(0), EACH, dataset="people", total=TOTAL)
    lifetime = first.lifetime
    total = lifetime.plus(Total(), events(0))
    with chain.connected(path, 1.0) as db:
        db.execute("BEGIN")
        for number in range(1, releases):
            done = events(number / releases)
            total = lifetime.plus(total, done)
            fields = {"dataset": 1, "version": 2, "algorithm": "mwem", "epsilon": EACH.epsilon, "delta": EACH.delta}
            fields |= {"rho": sum(times * event.rho for event, times in done), "total_epsilon": lifetime.total(total)}
            fields |= {"events": json.dumps(events_to_json(done)), "settings": '{"rounds": 10}', "reason": ""}
            made, _ = chain.append(db, "releases", **fields, time=chain.now())
            chain.append(db, "states", release=made, state="released", note=FILES, time=chain.now())
        db.execute("COMMIT")


def timed(name: str, act: Callable[[], Any]) -> tuple[Any, bool]:
    """Do it, print how long it took beside its gate; whether it kept to it, other work on the machine set aside."""
    begun, worked = time.perf_counter(), time.process_time()
    done = act()
    passed, took, gate = time.perf_counter() - begun, time.process_time() - worked, GATES.get(name)
    print(
        f"{name:34} {passed:8.3f} s, of which {took:.3f} s of a processor"
        + (f"  gate {gate} s: {'kept' if took <= gate else 'MISSED'}" if gate else "")
    )
    return done, gate is None or took <= gate


def times(releases: int) -> bool:
    """Build, read and add to a ledger; whether all gates were kept and nothing was found wrong."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "l.sqlite"

        def reserve() -> Any:
            return Store(path).reserve(FRAME, events(0.5), EACH)

        timed(f"build {releases} releases", lambda: build(path, releases))
        wrong, kept = timed("verify", lambda: verify(path))
        timed("show", lambda: Store(path).show())
        Path(f"{path}{checked.ENDING}").unlink()
        timed("reservation, nothing remembered", reserve)
        good = [timed("reservation", reserve)[1] for _ in range(5)]
        print(f"{path.stat().st_size / 1e6:.1f} MB, {len(verify(path)) + len(wrong)} thing(s) wrong")
        return kept and all(good) and not wrong and not verify(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--releases", type=int, default=10_000)
    sys.exit(0 if times(parser.parse_args().releases) else 1)
