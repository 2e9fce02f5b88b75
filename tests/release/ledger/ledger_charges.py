"""Charges of a ledger, as the tests of it make them."""

import pandas as pd

from dpcore import Budget
from dpcore.privacy.accounting import BoundedRange, Gaussian
from dpcore.release.data_set import BudgetRequest
from dpcore.release.ledger.ledger_store import LedgerStore

FRAME = pd.DataFrame({"a": [1, 2, 2], "b": ["x", "y", None]})
TOTAL = Budget(2, 1e-6)
SMALL = Budget(0.5, 1e-6)
SPEND = ((BoundedRange(0.05), 2), (Gaussian(0.01), 1))
RELEASE = {
    "algorithm",
    "settings",
    "reason",
    "preview",
}  # what is said of a release beside its request


def charge_events(store, frame=FRAME, events=SPEND, budget=SMALL, **said):
    """Charge these events in a ledger, and return the charge."""
    request = BudgetRequest(
        frame=frame, budget=budget, **{k: v for k, v in said.items() if k not in RELEASE}
    )
    return store.reserve(request, events, **{k: v for k, v in said.items() if k in RELEASE})


def new_ledger(folder, **said):
    """A new ledger with one release, made and noted."""
    store = LedgerStore(folder / "l.sqlite", create=True)
    store.add_note(
        charge_events(store, dataset="people", total=TOTAL, **said).number, "released", "{}"
    )
    return store


def data_set(store):
    """The first data set of a ledger."""
    return store.list_datasets()[0]
