"""Releases that are killed at random moments are charged where they touched the data, and the ledger stays sound."""

import random
import signal
import subprocess
import sys
import time

from dpcore import Budget
from dpcore.privacy.accounting import Lifetime, events_from_json
from dpcore.release.ledger.ledger_store import Store, verify
from tests.cli.test_release import ENVIRONMENT, order

KILLS = 5
SMALL = {"epsilon": 0.05, "total": ("50", "1e-6"), "algorithm": "mwem"}


def start(out):
    command = [sys.executable, "-m", "dpcore", *order(out, "--set=rounds=20", **SMALL)]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def test_killed_releases_are_charged_and_never_free(here):
    chance, begun = random.Random(0), time.monotonic()
    start("out").communicate(timeout=120)
    whole, charged = time.monotonic() - begun, 1
    for number in range(KILLS):
        process = start(f"out{number}")
        time.sleep(chance.uniform(0.5, 1.05) * whole)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        (found,) = Store("l.sqlite").show()
        new, charged = len(found.releases) - charged, len(found.releases)
        left = (here / f"out{number}").exists()
        assert new == 1 if left or process.returncode == 0 else new in (0, 1), "a release is never free"
        assert verify("l.sqlite") == []
        events = [event for release in found.releases for event in events_from_json(release["events"])]
        lifetime = Lifetime(Budget(50, 1e-6), found.lifetime.accounting, found.lifetime.failure)
        assert lifetime.total(events) == found.spent
