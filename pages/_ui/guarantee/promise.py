"""Meaning of a promise: one picture, one number, its limits, beliefs, an attacker's errors.

Its limits are what is not promised.
"""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Budget
from dpcore.accuracy import accountant_comparison
from dpcore.accuracy.meaning_of_epsilon import (
    EXAMPLE_SUSPICION,
    Promise,
    describe_delta,
    format_percent,
    format_times_in_100,
    guess_tile_texts,
)
from dpcore.core.numbers import format_short_number
from dpcore.privacy.accounting import guarantee
from dpcore.release.evidence.card import GROUP_FACTS_CAVEAT, SEVERAL_ROWS_CAVEAT

from ..charts import privacy_charts as drawn
from ..components import CHART_CONFIG, draw_chart_footer, draw_chart_panel, parameter_widgets
from ..session import Table, escape_markdown
from .planned_release import PlannedRelease

PRIORS = [
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    0.95,
    0.99,
]


def choose_release_count() -> int:
    """Ask how many releases like this one someone sees."""
    help_text = "The same algorithm with the same settings, run again on the same people."
    return st.slider(
        "Releases like this one",
        1,
        parameter_widgets.MAX_RELEASES,
        1,
        key="releases",
        help=help_text,
        **parameter_widgets.ADDRESS_WIDGET_ARGS,
    )


def promise_of_releases(
    budget: Budget, times: int, planned: PlannedRelease | None = None
) -> Promise:
    """Return the promise of `times` releases: by planned noise, else by ε and δ alone."""
    single_promise = Promise(budget.epsilon, budget.delta) if planned is None else planned.promise
    return replace(single_promise, releases=times)


def draw_picture(promise: Promise) -> None:
    """Draw the two worlds, the release between them and 100 guesses, with an explanation.

    It also speaks of more releases.
    """
    most_right, right_after_10, right_after_100 = (
        format_times_in_100(replace(promise, releases=k).max_guess_probability()).split()[0]
        for k in (promise.releases, 10, 100)
    )
    summary = (
        f"At most {most_right} right: 50 by luck (grey), {float(most_right) - 50:g} by the "
        "release (pink). "
        "Unprotected: all 100."
    )
    st.html(drawn.two_worlds_html(math.ceil(float(most_right)), summary))
    st.caption(f"{summary} After 10 releases: {right_after_10}, after 100: {right_after_100}.")


def draw_verdict(
    budget: Budget, times: int, planned: PlannedRelease | None, guess_rate: float, table: Table
) -> None:
    """Draw the guess rate as the page's main sentence, a belief's change, and what is not hidden.

    Behind its ⓘ is the rate that ε and δ alone would allow.
    """
    budget_promise = promise_of_releases(budget, times)
    prefix = f"After {times} releases: " if times > 1 else ""
    st.subheader(
        prefix + " ".join(guess_tile_texts(guess_rate)),
        anchor=False,
        help="This number follows from the planned noise, where a plan can be made. "
        f"ε = {format_short_number(budget.epsilon)} and δ = {format_short_number(budget.delta)} "
        "alone allow any algorithm "
        f"{format_times_in_100(budget_promise.max_guess_probability())}. A coin is right 50 times.",
    )
    posterior_texts = _posterior_texts(_evidence(budget, times, planned), EXAMPLE_SUSPICION)
    rises = (f"to at most {most} in {cases}" for cases, most in reversed(posterior_texts.items()))
    st.markdown(
        "This is an average over releases. **Example:** “this patient has diabetes”, "
        f"suspected at {format_percent(EXAMPLE_SUSPICION)}. This rises {', '.join(rises)}.",
        help=f"This counts each case beyond the last bound in full. The failure probability δ = "
        f"{describe_delta(budget.delta)} counts it only by how far beyond it is.",
    )
    rows = (
        SEVERAL_ROWS_CAVEAT
        if table.unit.person is None
        else escape_markdown(f"Protected is {table.unit.description}.", 200)
    )
    st.markdown(f"**Not hidden:** {GROUP_FACTS_CAVEAT} {rows}")


def _evidence(budget: Budget, times: int, planned: PlannedRelease | None) -> dict[str, float]:
    """Return bounds on a release's evidence (log odds) in nearly all and in most cases.

    Of one release the first is by ε and δ, else by the plan. So one release's is what its card
    says.
    """
    budget_promise = promise_of_releases(budget, times)
    largest_evidence = budget_promise.max_log_odds_change
    usual_evidence = {}
    if planned is not None:
        pairs = planned.pairs(times)
        usual_evidence = {"19 of 20 cases": guarantee.log_odds_bound(*pairs, 0.025)}  # either way
        if times > 1:
            largest_evidence = min(
                largest_evidence,
                guarantee.log_odds_bound(*pairs, budget_promise.failure_probability),
            )
    return {
        f"all but {describe_delta(budget_promise.failure_probability)}"
        if budget_promise.failure_probability
        else "every case": largest_evidence
    } | usual_evidence


def _posterior_texts(evidence: dict[str, float], prior: float) -> dict[str, str]:
    """Return to what percentage a suspicion rises by each evidence, rounded up."""
    return {
        name: format_percent(float(guarantee.posterior(prior, moved)))
        for name, moved in evidence.items()
    }


def draw_suspicion(budget: Budget, times: int, planned: PlannedRelease | None) -> None:
    """Show what a belief becomes after `times` releases."""
    draw_beliefs(_evidence(budget, times, planned))
    if times > 1:
        _draw_totals(budget, times, planned)


def draw_beliefs(evidence_by_label: dict[str, float]) -> None:
    """Draw what a belief becomes by the evidence of each line."""
    widget_column, chart_column = st.columns([2, 3], gap="medium")
    help_text = "How likely someone thinks it is that something is true of you."
    prior = widget_column.select_slider(
        "Suspicion before",
        PRIORS,
        EXAMPLE_SUSPICION,
        format_percent,
        key="prior",
        help=help_text,
        **parameter_widgets.ADDRESS_WIDGET_ARGS,
    )
    frame = pd.DataFrame({"before": np.unique([*PRIORS, *np.arange(1, 100) / 100])})
    for name, moved in evidence_by_label.items():
        frame[f"{name} at most"] = guarantee.posterior(frame["before"], moved)
        frame[f"{name} at least"] = guarantee.posterior(frame["before"], -moved)
    posterior_texts = _posterior_texts(evidence_by_label, prior)
    parts = ", ".join(f"at most {most} ({name})" for name, most in posterior_texts.items())
    summary = f"A suspicion of {format_percent(prior)} becomes {parts}."
    chart_column.plotly_chart(
        drawn.suspicion_chart(frame, prior, posterior_texts),
        key="beliefs",
        alt=summary,
        config=CHART_CONFIG,
    )
    with widget_column:
        draw_chart_footer("", frame, "beliefs")


def _draw_totals(budget: Budget, times: int, planned: PlannedRelease | None) -> None:
    """List ε of all releases together by each accounting."""
    total = promise_of_releases(budget, times).total_delta
    optimal_epsilon = guarantee.composed_epsilon(budget.epsilon, budget.delta, times, total)
    rows = [
        (times * budget.epsilon, "sum of ε", "always true, and nearly always too much"),
        (
            optimal_epsilon,
            "optimal for any algorithm",
            "knows only that each is (ε, δ)-DP (Kairouz, Oh, Viswanath 2015)",
        ),
    ]
    if planned is not None:
        delta_index = np.searchsorted(planned.deltas, total) if total else 0
        costs = {
            name: float(c[delta_index])
            for name, c in planned.epsilon_curves_by_accountant(times).items()
            if total or name == accountant_comparison.PURE
        }
        rows += [(cost, name, f"knows the noise of {planned.name}") for name, cost in costs.items()]
    st.markdown(
        f"**{times} releases together**, at δ = {times} × {format_short_number(budget.delta)} = "
        f"{format_short_number(total)}:"
    )
    st.dataframe(pd.DataFrame(rows, columns=["ε", "accounting", "what it knows"]), hide_index=True)


def draw_mistakes(budget: Budget, times: int, planned: PlannedRelease | None) -> None:
    """Draw the trade-off between the two mistakes that an attacker can make."""
    st.markdown(
        "Someone guesses whether a row is yours. A wrong yes is a **false alarm**, a wrong no is "
        "a **miss**. "
        "Nobody gets below these lines: whoever makes fewer false alarms misses more."
    )
    alarms = np.unique(np.concatenate([np.linspace(0, 1, 81), np.logspace(-4, -1, 30)]))
    frame = pd.DataFrame({"false alarms": alarms, "perfect privacy": 1 - alarms})
    frame["limit by ε and δ"] = guarantee.type_2_error_bound(alarms, budget.epsilon, budget.delta)
    if planned is not None:
        frame[planned.name] = planned.trade_off(alarms, 1)
        if times > 1:
            frame[f"{times} × {planned.name}"] = planned.trade_off(alarms, times)
    least_missed = float(np.interp(0.05, alarms, frame["limit by ε and δ"]))
    summary = (
        f"Someone who makes 5% false alarms misses at least {least_missed:.0%} by ε and δ; "
        "with perfect privacy 95%."
    )
    lines = {name: name for name in frame.columns[1:]}
    figure = drawn.trade_off_chart(
        frame, lines, ("false alarms: says yes, and is wrong", "missed: says no, and is wrong")
    )
    draw_chart_panel(figure, summary, frame, "trade-off")
