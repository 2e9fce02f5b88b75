"""What a promise means: one picture, one number, what is not promised, beliefs and an attacker's mistakes."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Budget
from dpcore.numbers import brief
from dpcore.privacy.accounting import guarantee
from dpcore.publishing.card import OTHERS, SEVERAL
from dpcore.theory import accountants
from dpcore.theory.meaning import Promise, delta_words, guess_tile, one_in, times_in_100

from ..charts import privacy as promise
from ..shell import QUIET, Table, below, controls, panel, plain
from .planned import Planned

PRIORS = [0.0001, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]
ANY, USUALLY = "worst case", "19 of 20 cases"  # as lines


def share(chance: float) -> str:
    """Write a probability as a person does, never 0% or 100% by rounding."""
    if not 1e-5 <= chance <= 1 - 1e-5:
        return "under 0.001%" if chance < 0.5 else "over 99.999%"
    if chance <= 0.5:
        return f"{100 * chance:.3g}%"
    return f"{100 * chance:.{max(1, math.ceil(-math.log10(1 - chance) - 1e-9) - 1)}f}%"


def releases() -> int:
    """Ask how many releases like this one someone sees."""
    words = "The same algorithm with the same settings, run again on the same people."
    return st.slider(
        "Releases like this one", 1, controls.MOST_RELEASES, 1, key="releases", help=words, **controls.KEPT
    )


def promised(budget: Budget, times: int, planned: Planned | None = None) -> Promise:
    """Return the promise of `times` releases: by the noise that is planned, else by ε and δ alone."""
    one = Promise(budget.epsilon, budget.delta) if planned is None else planned.promise
    return replace(one, releases=times)


def picture(right: float) -> None:
    """Draw the two worlds, the release between them, and 100 guesses, and say what is seen."""
    most = times_in_100(right).split()[0]
    others = f"{float(most) - 50:g} by the release"
    words = f"At most {most} are right: 50 by luck (grey), {others}. Unprotected: all 100."
    st.html(promise.two_worlds(math.ceil(float(most)), words))
    st.caption(words)


def verdict(budget: Budget, times: int, planned: Planned | None, right: float, table: Table) -> None:
    """State this page's one sentence, what ε alone would allow behind its ⓘ, a belief, and what is not promised."""
    alone = promised(budget, times)
    whose = f"The noise of {planned.name} gives this number." if planned else "This number is for any algorithm."
    st.subheader(
        f"After {times} releases: " * (times > 1) + " ".join(guess_tile(right)), anchor=False,
        help=f"{whose} ε = {brief(budget.epsilon)} and δ = {brief(budget.delta)} alone allow any algorithm "
        f"{times_in_100(alone.guess())}. A coin is right 50 times.",
    )  # fmt: skip
    st.markdown(
        f"**Example:** “this patient has diabetes”. {alone.suspicion_words}",
        help=_may_fail(alone.failure, budget.delta) or None,
    )
    rows = f"{SEVERAL} Change this on Data."
    if table.unit.person is not None:
        rows = plain(f"Protected is {table.unit.words}.", 200)
    st.markdown(f"**Not promised:** {OTHERS} {rows}")


def _may_fail(failure: float, delta: float) -> str:
    """How often a suspicion may rise further, and that this is not δ; empty where it never does."""
    if not delta:
        return ""
    follows = f"That follows from the failure probability δ = {delta_words(delta)}, a number of the proof."
    return f"A suspicion may rise further {one_in(failure)}. {follows}"


def suspicion(budget: Budget, times: int, planned: Planned | None) -> None:
    """Show what a belief becomes after one release and after `times` of them."""
    one, all_of_them = promised(budget, 1), promised(budget, times)
    lines = {ANY: one.evidence}
    if times > 1:
        lines[f"{times} × {ANY}"] = all_of_them.evidence
    if planned is not None:
        moved = guarantee.evidence_bound(*planned.pairs(times), all_of_them.failure)
        if not math.isclose(moved, all_of_them.evidence, rel_tol=0.02):  # else one line hides the other
            lines[f"{times} × {planned.name}" if times > 1 else planned.name] = moved
        lines[USUALLY] = guarantee.evidence_bound(*planned.pairs(times), 0.025)  # either way
    beliefs(lines, all_of_them.failure, budget.delta)
    if times > 1:
        _totals(budget, times, planned)


def beliefs(lines: dict[str, float], failure: float, delta: float) -> None:
    """Draw what a belief becomes by the evidence of each line.

    `failure` is the probability, by `delta`, that evidence is exceeded.
    """
    beside, drawing = st.columns([2, 3], gap="medium")
    words = f"How likely someone thinks it is that something is true of you. {_may_fail(failure, delta)}"
    prior = beside.select_slider("Suspicion before", PRIORS, 0.1, share, key="prior", help=words, **controls.KEPT)
    frame = pd.DataFrame({"before": np.unique([*PRIORS, *np.arange(1, 100) / 100])})
    for name, moved in lines.items():
        frame[f"{name} at most"] = guarantee.posterior(frame["before"], moved)
        frame[f"{name} at least"] = guarantee.posterior(frame["before"], -moved)
    here = frame[frame["before"] == prior].iloc[0]
    parts = [f"{share(here[f'{name} at least'])} to {share(here[f'{name} at most'])} ({name})" for name in lines]
    summary = f"A suspicion of {share(prior)} becomes {', '.join(parts)}."
    drawing.plotly_chart(promise.posteriors(frame, prior), key="beliefs", alt=summary, config=QUIET)
    with beside:
        below(summary, frame, "beliefs")


def _totals(budget: Budget, times: int, planned: Planned | None) -> None:
    """List ε of all releases together by each accounting."""
    total = promised(budget, times).total_delta
    e = guarantee.composed_epsilon(budget.epsilon, budget.delta, times, total)
    rows = [
        (times * budget.epsilon, "sum of ε", "always true, and nearly always too much"),
        (e, "optimal for any algorithm", "knows only that each is (ε, δ)-DP (Kairouz, Oh, Viswanath 2015)"),
    ]
    if planned is not None:
        at = np.searchsorted(planned.deltas, total) if total else 0
        costs = {name: float(c[at]) for name, c in planned.curves(times).items() if total or name == accountants.PURE}
        rows += [(cost, name, f"knows the noise of {planned.name}") for name, cost in costs.items()]
    st.markdown(f"**{times} releases together**, at δ = {times} × {brief(budget.delta)} = {brief(total)}:")
    st.dataframe(pd.DataFrame(rows, columns=["ε", "accounting", "what it knows"]), hide_index=True)


def mistakes(budget: Budget, times: int, planned: Planned | None) -> None:
    """Draw the trade-off between the two mistakes that an attacker can make."""
    st.markdown(
        "Someone guesses whether a row is yours. A wrong yes is a **false alarm**, a wrong no is a **miss**. "
        "Nobody gets below these lines: whoever makes fewer false alarms misses more."
    )
    alarms = np.unique(np.concatenate([np.linspace(0, 1, 81), np.logspace(-4, -1, 30)]))
    frame = pd.DataFrame({"false alarms": alarms, "perfect privacy": 1 - alarms})
    frame["limit by ε and δ"] = guarantee.trade_off(alarms, budget.epsilon, budget.delta)
    if planned is not None:
        frame[planned.name] = planned.trade_off(alarms, 1)
        if times > 1:
            frame[f"{times} × {planned.name}"] = planned.trade_off(alarms, times)
    least = float(np.interp(0.05, alarms, frame["limit by ε and δ"]))
    summary = f"Someone who makes 5% false alarms misses at least {least:.0%} by ε and δ"
    if planned is not None:
        summary += f", {float(np.interp(0.05, alarms, frame[planned.name])):.0%} by this plan"
    lines = {name: name for name in frame.columns[1:]}
    figure = promise.trade_off(frame, lines, ("false alarms: says yes, and is wrong", "missed: says no, and is wrong"))
    panel(figure, summary + "; with perfect privacy 95%.", frame, "trade-off")
