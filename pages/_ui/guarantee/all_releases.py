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
        dataset = _chosen(release_ledger.known(ledger), table)
    except InputError as error:
        st.error(release_ledger.words(error, ledger))
        return
    if dataset is None:
        return
    events = tuple(event for release in dataset.releases for event in events_from_json(release["events"]))
    lifetime, budget = dataset.lifetime, dataset.lifetime.budget
    deltas = np.unique([*DELTAS, *([budget.delta] if budget.delta else [])])
    curves, lifetime_curve = session().memo(
        "total", (repr((lifetime, events)), tuple(deltas)),
        lambda: (
            accountant_comparison.ledger_curves(lifetime, events, deltas),
            accountant_comparison.lifetime_curve(lifetime, deltas),
        ),
    )  # fmt: skip
    st.caption(
        plain(
            f"Protected: each {dataset.unit}. {len(dataset.releases)} releases so far, added up by "
            f"{lifetime.accounting}. "
            f"They use ε = {dataset.spent:.4g} of {budget.epsilon:g} at δ = {brief(budget.delta)}.",
            400,
        )
    )
    spent_pairs = accountant_comparison.pairs(curves, deltas, sum(n * event.failure for event, n in events))
    lifetime_pairs = accountant_comparison.pairs({str(lifetime.accounting): lifetime_curve}, deltas, lifetime.failure)
    failure = guarantee.small_failure(budget.delta)
    evidence_by_label = {
        f"used so far ({len(dataset.releases)})": guarantee.evidence_bound(*spent_pairs, failure),
        "all that may ever be released": guarantee.evidence_bound(*lifetime_pairs, failure),
    }
    beliefs(evidence_by_label)
    delta_index = nearest(deltas, budget)
    summary = f"At δ = {brief(deltas[delta_index])} what was used so far costs {listed(curves, delta_index)}."
    draw({**curves, "all that may ever be": lifetime_curve}, deltas, budget, summary, "ledger-curve")
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
    table_dataset_name = release_ledger.dataset_name(table)
    default_index = next((i for i, d in enumerate(sets) if d.name == table_dataset_name), 0)
    dataset_index = st.selectbox(
        "Data set in the budget record",
        range(len(sets)),
        default_index,
        lambda i: clean(sets[i].name, 80),
        key="total-dataset",
    )
    return sets[dataset_index]
