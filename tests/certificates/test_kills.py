"""Releases that are killed at random moments are charged where they touched the data, and the ledger stays sound."""

from tests.benchmarks.kills import kill_many


def test_killed_releases_are_charged_and_never_free(tmp_path):
    told = kill_many(3, tmp_path)
    assert told["free"] == told["unsound"] == 0
    assert sum(told[name] for name in ("finished", "killed before the charge", "killed after it")) == 3
