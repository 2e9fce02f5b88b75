"""Releases that are killed at random moments are charged where they touched the data, and the
ledger stays sound.
"""

import random
import signal
import subprocess
import sys
import time

from dpcore import Budget
from dpcore.privacy.accounting import LifetimeBudget, events_from_json
from dpcore.release.ledger.ledger_store import LedgerStore, verify_ledger
from tests.cli.test_release import ENVIRONMENT, facts, order

KILLS = 5
UNFINISHED = "reserved, never finished"  # a ledger's state of a release that nothing has ended
SMALL = {"epsilon": 0.05, "total": ("50", "1e-6"), "algorithm": "mwem"}


def start(out):
    command = [sys.executable, "-m", "dpcore", *order(out, "--set=rounds=20", **SMALL)]
    return subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def releases():
    """Every release that the ledger charged for."""
    (data_set,) = LedgerStore("l.sqlite").list_datasets()
    return data_set.releases


def test_killed_releases_are_charged_and_never_free(here):
    """A release that a kill stopped after its charge is finished, without another, by the next that
    asks the same.
    """
    chance = random.Random(0)
    begun = time.monotonic()
    start("out").communicate(timeout=120)
    whole = time.monotonic() - begun
    for number in range(KILLS):
        charged = len(releases())
        waiting = [r for r in releases() if r["state"] == UNFINISHED]
        process = start(f"out{number}")
        time.sleep(chance.uniform(0.5, 1.05) * whole)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        new = len(releases()) - charged
        assert new in ((0,) if waiting else (0, 1)), "a release is charged once"
        folders = [folder for folder in here.glob("out*") if folder.is_dir()]
        entries = [facts(folder)["ledger"]["entry"] for folder in folders]
        assert len(set(entries)) == len(entries), "a release is never free"
        assert len(entries) + sum(r["state"] == UNFINISHED for r in releases()) >= len(releases())
        assert verify_ledger("l.sqlite") == []
    (data_set,) = LedgerStore("l.sqlite").list_datasets()
    events = [
        event for release in data_set.releases for event in events_from_json(release["events"])
    ]
    lifetime = LifetimeBudget(
        Budget(50, 1e-6), data_set.lifetime.accounting, data_set.lifetime.failure
    )
    assert lifetime.total_epsilon(events) == data_set.spent
