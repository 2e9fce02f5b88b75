"""Kill releases at random moments: every one that touched the data is charged, and the ledger still verifies.

python -m tests.benchmarks.kills --kills 200
"""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from dpcore.privacy.accounting.budget import Budget
from dpcore.privacy.accounting.lifetime import Lifetime, events_from_json
from dpcore.publishing.ledger_store import Store, verify
from tests.benchmarks.frame import main


def write_table(folder: Path, rows: int = 20_000) -> None:
    """A table t.csv and its schema s.json."""
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.integers(0, 6, (rows, 4)), columns=list("abcd")).to_csv(folder / "t.csv", index=False)
    (folder / "s.json").write_text(json.dumps(dict.fromkeys("abcd", 6)), encoding="utf-8")


ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"}


def order(out: str) -> list[str]:
    """The arguments of a release of the table into a folder of its own."""
    command = f"release t.csv --schema s.json --queries marginals:2 --algorithm mwem --set rounds=20 --out {out}"
    budget = "--epsilon 0.05 --delta 1e-9 --ledger l.sqlite --dataset d --total-epsilon 50 --total-delta 1e-9"
    return f"{command} {budget}".split()


def start(folder: Path, out: str) -> subprocess.Popen:
    """Begin a release."""
    here = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-m", "dpcore", *order(out)], env=ENVIRONMENT, **here)


def kill_many(kills: int, folder: Path) -> dict[str, int]:
    """Kill that many releases, each at a random moment; what became of them, and what is wrong with the ledger."""
    chance, path = random.Random(0), folder / "l.sqlite"
    write_table(folder)
    begun = time.monotonic()
    first = start(folder, "out")
    first.communicate(timeout=120)
    whole = time.monotonic() - begun
    charged, told = 1, {"finished": 0, "killed before the charge": 0, "killed after it": 0, "free": 0, "unsound": 0}
    for number in range(kills):
        process = start(folder, f"out{number}")
        time.sleep(chance.uniform(0.5, 1.05) * whole)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        left = (folder / f"out{number}").exists()
        found = Store(path).show()[0]
        new, charged = len(found.releases) - charged, len(found.releases)
        told["finished"] += process.returncode == 0
        told["killed before the charge"] += process.returncode != 0 and not new and not left
        told["killed after it"] += process.returncode != 0 and new == 1
        told["free"] += (left or process.returncode == 0) and new != 1
        events = [event for release in found.releases for event in events_from_json(release["events"])]
        same = Lifetime(Budget(50, 1e-9), found.lifetime.accounting, 0.0).total(events) == found.spent
        told["unsound"] += bool(verify(path)) or not same
    return told


if __name__ == "__main__":
    main(kill_many, "kills", 200)
