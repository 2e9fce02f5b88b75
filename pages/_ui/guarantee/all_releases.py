"""Show what all releases of a data set promise together, from the release ledger alone."""

import numpy as np
import streamlit as st

from dpcore import Budget, InputError
from dpcore.accuracy import accountant_comparison
from dpcore.core.numbers import format_short_number
from dpcore.privacy.accounting import events_from_json, guarantee
from dpcore.release.ledger.ledger_store import DataSet

from ..session import Table, escape_markdown, printable_text, release_ledger, session
from .accountant_costs import draw_privacy_curves, epsilons_text, nearest_delta_index
from .planned_release import CURVE_DELTAS
from .promise import draw_beliefs


def draw_total(table: Table) -> None:
    """Draw beliefs and privacy curves for all releases of a data set, past and possible."""
    if release_ledger.are_releases_blocked():
        st.caption("This server has no budget record, so there is nothing to add up.")
        return
    ledger = release_ledger.ask_for_ledger_path()
    if ledger is None:
        return
    try:
        dataset = _select_dataset(release_ledger.load_data_sets(ledger), table)
    except InputError as error:
        st.error(release_ledger.format_ledger_error(error, ledger))
        return
    if dataset is not None:
        _draw_data_set_total(dataset)


def _draw_data_set_total(dataset: DataSet) -> None:
    """Draw what a data set's releases cost so far, as sentences, beliefs and privacy curves."""
    events = tuple(
        event for release in dataset.releases for event in events_from_json(release["events"])
    )
    lifetime = dataset.lifetime
    budget = lifetime.budget
    deltas = np.unique([*CURVE_DELTAS, *([budget.delta] if budget.delta else [])])
    curves, lifetime_curve = session().memoize(
        "total",
        (repr((lifetime, events)), tuple(deltas)),
        lambda: (
            accountant_comparison.ledger_epsilon_curves(lifetime, events, deltas),
            accountant_comparison.lifetime_epsilon_curve(lifetime, deltas),
        ),
    )
    st.caption(
        escape_markdown(
            f"Protected: each {dataset.unit}. {len(dataset.releases)} releases so far, added up by "
            f"{lifetime.accounting.name}. "
            f"They use ε = {dataset.spent:.4g} of {budget.epsilon:g} at δ = "
            f"{format_short_number(budget.delta)}.",
            400,
        )
    )
    spent_pairs = accountant_comparison.epsilon_delta_pairs(
        curves, deltas, sum(n * event.failure for event, n in events)
    )
    lifetime_pairs = accountant_comparison.epsilon_delta_pairs(
        {lifetime.accounting.name: lifetime_curve}, deltas, lifetime.failure
    )
    failure = guarantee.posterior_failure_chance(budget.delta)
    evidence_by_label = {
        f"used so far ({len(dataset.releases)})": guarantee.log_odds_bound(*spent_pairs, failure),
        "all that may ever be released": guarantee.log_odds_bound(*lifetime_pairs, failure),
    }
    draw_beliefs(evidence_by_label)
    _draw_curves(curves, lifetime_curve, deltas, budget)


def _draw_curves(
    curves: dict[str, np.ndarray], lifetime_curve: np.ndarray, deltas: np.ndarray, budget: Budget
) -> None:
    """Draw the privacy curves of the releases so far and of all that may follow."""
    delta_index = nearest_delta_index(deltas, budget)
    summary = (
        f"At δ = {format_short_number(deltas[delta_index])} what was used so far costs "
        f"{epsilons_text(curves, delta_index)}."
    )
    draw_privacy_curves(
        {**curves, "all that may ever be": lifetime_curve}, deltas, budget, summary, "ledger-curve"
    )
    st.caption(
        "“All that may ever be released” holds even if someone chooses later releases in view of "
        "earlier ones. The whole budget and its accounting were fixed at the first release. “Used "
        "so far” holds if the number and kind of releases did not depend on what earlier ones "
        "showed. The same is true of the other accountants."
    )


def _select_dataset(datasets: list[DataSet], table: Table) -> DataSet | None:
    """Draw a choice of data set; return the chosen one, or None."""
    if not datasets:
        st.caption("The budget record holds no release yet.")
        return None
    table_dataset_name = release_ledger.data_set_name(table)
    default_index = next((i for i, d in enumerate(datasets) if d.name == table_dataset_name), 0)
    dataset_index = st.selectbox(
        "Data set in the budget record",
        range(len(datasets)),
        default_index,
        lambda i: printable_text(datasets[i].name, 80),
        key="total-dataset",
    )
    return datasets[dataset_index]
