"""Show what all releases of a data set promise together, from the release ledger alone."""

import numpy as np
import streamlit as st

from dpcore import InputError
from dpcore.accuracy import accountant_comparison
from dpcore.core.numbers import brief
from dpcore.privacy.accounting import events_from_json, guarantee
from dpcore.release.ledger.ledger_store import DataSet

from ..session import Table, clean, plain, release_ledger, session
from .accountant_costs import draw, listed, nearest
from .planned_release import DELTAS
from .promise import beliefs


def total(table: Table) -> None:
    """Draw beliefs and privacy curves for a data set's releases so far and for all that may follow."""
    if release_ledger.off():
        st.caption("This server has no budget record, so there is nothing to add up.")
        return
    ledger = release_ledger.where()
    if ledger is None:
        return
    try:
        found = _chosen(release_ledger.known(ledger), table)
    except InputError as error:
        st.error(release_ledger.words(error, ledger))
        return
    if found is None:
        return
    events = tuple(event for release in found.releases for event in events_from_json(release["events"]))
    life, budget = found.lifetime, found.lifetime.budget
    deltas = np.unique([*DELTAS, *([budget.delta] if budget.delta else [])])
    curves, most = session().memo(
        "total", (repr((life, events)), tuple(deltas)),
        lambda: (
            accountant_comparison.ledger_curves(life, events, deltas),
            accountant_comparison.lifetime_curve(life, deltas),
        ),
    )  # fmt: skip
    st.caption(
        plain(
            f"Protected: each {found.unit}. {len(found.releases)} releases so far, added up by {life.accounting}. "
            f"They use ε = {found.spent:.4g} of {budget.epsilon:g} at δ = {brief(budget.delta)}.",
            400,
        )
    )
    spent = accountant_comparison.pairs(curves, deltas, sum(n * event.failure for event, n in events))
    ever = accountant_comparison.pairs({str(life.accounting): most}, deltas, life.failure)
    failure = guarantee.small_failure(budget.delta)
    lines = {
        f"used so far ({len(found.releases)})": guarantee.evidence_bound(*spent, failure),
        "all that may ever be released": guarantee.evidence_bound(*ever, failure),
    }
    beliefs(lines)
    at = nearest(deltas, budget)
    said = f"At δ = {brief(deltas[at])} what was used so far costs {listed(curves, at)}."
    draw({**curves, "all that may ever be": most}, deltas, budget, said, "ledger-curve")
    st.caption(
        "“All that may ever be released” holds even if someone chooses later releases in view of earlier ones. The "
        "whole budget and its accounting were fixed at the first release. “Used so far” holds if the number and kind "
        "of releases did not depend on what earlier ones showed. The same is true of the other accountants."
    )


def _chosen(sets: list[DataSet], table: Table) -> DataSet | None:
    """The data set chosen in a widget."""
    if not sets:
        st.caption("The budget record holds no release yet.")
        return None
    own = release_ledger.dataset_name(table)
    first = next((i for i, d in enumerate(sets) if d.name == own), 0)
    place = st.selectbox(
        "Data set in the budget record", range(len(sets)), first, lambda i: clean(sets[i].name, 80), key="total-dataset"
    )
    return sets[place]
