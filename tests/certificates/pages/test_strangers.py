"""With a ledger and its key on, no visitor without the key can tell by a page, or by its time, what
was released.
"""

import random
import time
from io import BytesIO
from pathlib import Path

import pytest
from scipy.stats import mannwhitneyu

from dpcore import Budget
from dpcore.data.readers import load_table
from dpcore.release.ledger.ledger_store import LedgerStore
from pages._ui.session import release_ledger as shared_ledger
from tests.pages.headless import ROOT, run_until_settled
from tests.pages.test_release import GUESSES, PEOPLE, for_others, go, unlocked, uploaded
from tests.release.ledger.ledger_charges import charge_events

TRIES = 200  # of each table
CHANCE = 1e-4  # of a false alarm; and far above what a difference of a few milliseconds gives


@pytest.fixture
def released(tmp_path, monkeypatch):
    """A server for others whose ledger holds a release of the second of GUESSES."""
    frame = load_table(BytesIO(PEOPLE), "people.csv").frame
    store = LedgerStore(tmp_path / "ledger.sqlite", create=True)
    charge_events(store, frame, dataset="hospital", total=Budget(3, 1e-6), algorithm="planted")
    for_others(monkeypatch, tmp_path)
    return [go(uploaded(content), "release") for content in GUESSES]


def times(apps, tries):
    """How long the page takes for each of the tables, in seconds; drawn in a random order, so that
    nothing drifts.
    """
    found = [[], []]
    for which in random.Random(0).sample([0, 1] * tries, 2 * tries):
        start = time.perf_counter()
        apps[which].run()
        found[which].append(time.perf_counter() - start)
    return found


def test_the_time_of_a_page_does_not_tell_a_stranger_which_table_was_released(released):
    assert mannwhitneyu(*times(released, TRIES)).pvalue > CHANCE


def test_no_page_opens_the_ledger_for_a_stranger(released, monkeypatch):
    def opens(*_args, **_options):
        raise AssertionError("the ledger was opened")

    for name in ("LedgerStore", "is_new_ledger"):
        monkeypatch.setattr(shared_ledger, name, opens)
    app = released[1]
    for page in sorted(Path(ROOT / "pages").glob("*.py")):
        assert not run_until_settled(go(app, page.stem)).exception, page.stem
    app.switch_page(str(ROOT / "pages/release.py")).run()
    with pytest.raises(AssertionError, match="encountered an error"):
        unlocked(app)  # for the holder of the key it is opened
