"""What a promise means: odds, 100 figures, posteriors, an attacker's two errors; public numbers only."""

import math

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.privacy.accounting import guarantee
from dpcore.privacy.accounting.budget import Budget
from dpcore.theory import accountants, meaning

from ..charts import privacy as promise
from ..shell import controls
from ..shell.controls import number
from ..shell.results import below, panel
from .planned import Planned, section, total_delta

PRIORS = [0.0001, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]
MOST = 100  # releases like this one


def share(chance: float) -> str:
    """A probability as a person writes it, never 0% or 100% by rounding."""
    if not 1e-5 <= chance <= 1 - 1e-5:
        return "under 0.001%" if chance < 0.5 else "over 99.999%"
    if chance <= 0.5:
        return f"{100 * chance:.3g}%"
    return f"{100 * chance:.{max(1, math.ceil(-math.log10(1 - chance) - 1e-9) - 1)}f}%"


def attacker() -> tuple[float, int]:
    """What somebody believes before, and how many releases like this one that person sees."""
    words = "How likely an attacker thinks it is, before the release, that the record is hers. Anything but 0 and 1."
    prior = st.select_slider("Belief before the release", PRIORS, 0.1, share, key="prior", help=words, **controls.KEPT)
    words = "The same algorithm at the same ε and δ, run on the same people so many times."
    return prior, st.number_input("Releases like this one", 1, MOST, 1, key="releases", help=words, **controls.KEPT)


def words(budget: Budget, planned: Planned | None) -> None:
    """The promise in odds, and 100 guesses as little figures."""
    section("What does this ε promise one person?", "ε and δ as typed above; nothing is charged.", planned)
    guess = float(guarantee.best_guess(0.5, budget.epsilon, budget.delta))
    right = max(50, round(100 * guess))
    summary = f"Of 100 guesses at most {share(guess)[:-1]} are right on average; a coin gets 50."
    left, side = st.columns([2, 3], gap="large", vertical_alignment="center")
    with left:
        described = f"{summary} {right - 50} figures with raised arms, {100 - right} hollow."
        st.html(promise.icon_array(50, right, described))
        st.markdown(
            f"**Filled**: 50 right by luck · **arms up**: {right - 50} more because of the release · "
            f"**hollow**: {100 - right} wrong"
        )
    with side:
        st.markdown(
            f"Somebody knows every other record and must say which of **two equally likely tables** was used: yours, "
            f"or the one with your record replaced. At **ε = {number(budget.epsilon)}, δ = {number(budget.delta)}** at "
            f"most **{share(guess)[:-1]} of 100** such guesses are right, whatever is published: (e^ε + δ)/(1 + e^ε)."
        )
        st.markdown(
            "Your record makes nothing that may be published more than "
            f"**{meaning.number(budget.epsilon)} times** (e^ε) likelier"
            + (", give or take δ" if budget.delta else "")
            + f". {meaning.odds(budget.delta, meaning.promise(budget.epsilon, budget.delta))}"
        )
        if planned is not None:
            st.markdown(
                f"**{planned.name}** allows less: at most **{share(planned.guess(0.5))[:-1]} of 100**. Both are true. "
                f"{share(guess)[:-1]} is for the worst algorithm that keeps this promise, and for whoever knows "
                f"no more than ε and δ; {share(planned.guess(0.5))[:-1]} is for the noise that this plan adds."
            )
        table = pd.DataFrame({"guesses": ["right by luck", "right because of the release", "wrong"]})
        table["of 100"] = [50, round(100 * guess - 50, 2), round(100 - 100 * guess, 2)]
        below(summary, table, "guesses")


def suspicion(budget: Budget, prior: float, times: int, planned: Planned | None) -> None:
    """What a belief becomes after one release, and after `times` of them."""
    sources = "ε, δ, belief and number of releases as typed; the plan is made of n, the schema and the questions."
    section("What does a suspicion become?", sources, planned)
    total = total_delta(budget, times)
    one = evidence(np.array([budget.epsilon]), np.array([budget.delta]), budget.delta)
    lines = {"one release, any algorithm": one}
    if times > 1:
        lines[f"{times} releases, any algorithm"] = evidence(
            *guarantee.compose_any(budget.epsilon, budget.delta, times), total
        )
    if planned is not None:
        lines[f"{times} × {planned.name}" if times > 1 else planned.name] = evidence(
            *planned.pairs(together=True), total
        )
    frame, here = beliefs(lines, prior)
    guess = float(guarantee.best_guess(prior, budget.epsilon, budget.delta))
    st.markdown(
        f"Somebody who bets on the likelier side is right {share(max(prior, 1 - prior))} of the time without the "
        f"release, at most **{share(guess)}** with one"
        + (f", **{share(planned.guess(prior))}** by this plan." if planned else ".")
    )
    summary = (
        f"A belief of {share(prior)} becomes at most {share(here[f'{next(iter(lines))} at most'])} after one release."
    )
    if budget.delta:
        summary += f" Each bound may fail with probability {guarantee.small_failure(budget.delta):.0e} a release"
        summary += f", {guarantee.small_failure(total):.0e} for all." if times > 1 else "."
        st.caption(why_not_delta(budget, one))
    panel(promise.posteriors(frame, prior), summary, frame, "posterior")
    if times > 1:
        _totals(budget, times, total, planned)


def why_not_delta(budget: Budget, moved: float) -> str:
    """Why beliefs are bounded but for a probability above δ, and what that costs: odds move by e^`moved`."""
    failure = guarantee.small_failure(budget.delta)
    return (
        f"Why {failure:.0e} and not δ = {number(budget.delta)}? δ limits all surprises together, not how often one "
        f"happens: with probability δ an output may give everything away, so that at δ itself nothing is bounded. "
        f"Allowed to fail {failure / budget.delta:.3g} times as often, odds change by a factor of at most "
        f"{math.exp(min(moved, 700)):.4g}; e^ε is {math.exp(min(budget.epsilon, 700)):.4g}."
    )


def beliefs(lines: dict[str, float], prior: float) -> tuple[pd.DataFrame, pd.Series]:
    """Say what a belief becomes at the most and the least, by the evidence of each line; the numbers of the chart."""
    grid = 1 / (1 + np.exp(-np.linspace(-9.3, 4.7, 57)))
    frame = pd.DataFrame({"before": np.sort(np.append(grid, prior))})
    for name, moved in lines.items():
        frame[f"{name} at most"] = guarantee.posterior(frame["before"], moved)
        frame[f"{name} at least"] = guarantee.posterior(frame["before"], -moved)
    here = frame[frame["before"] == prior].iloc[0]
    parts = [f"{name}: {share(here[f'{name} at least'])} to {share(here[f'{name} at most'])}" for name in lines]
    st.markdown(f"**A belief of {share(prior)} becomes**, at least to at most:\n" + "".join(f"\n- {p}" for p in parts))
    return frame, here


def evidence(epsilons: np.ndarray, deltas: np.ndarray, delta: float) -> float:
    """How far the log odds move but for a small probability, by pairs that hold at a promise with δ = `delta`."""
    return guarantee.evidence_bound(epsilons, deltas, guarantee.small_failure(delta))


def _totals(budget: Budget, times: int, total: float, planned: Planned | None) -> None:
    """ε of all releases together, three ways."""
    e = guarantee.composed_epsilon(budget.epsilon, budget.delta, times, total)
    rows = [(times * budget.epsilon, "sum of ε", "always true, nearly always too much")]
    rows.append((e, "optimal for any algorithm", "knows only that each is (ε, δ)-DP (Kairouz, Oh, Viswanath 2015)"))
    if planned is not None:
        at = np.searchsorted(planned.deltas, total) if total else 0
        costs = {name: float(c[at]) for name, c in planned.all.items() if total or name == accountants.PURE}
        rows += [(cost, name, f"knows the noise of {planned.name}") for name, cost in costs.items()]
    st.markdown(f"**{times} releases together**, at δ = {times} × {number(budget.delta)} = {total:.3g}:")
    st.dataframe(pd.DataFrame(rows, columns=pd.Index(["ε", "accounting", "what it knows"])), hide_index=True)


def mistakes(budget: Budget, times: int, planned: Planned | None) -> None:
    """The trade-off of an attacker's two errors."""
    sources = "ε, δ and the plan, as above. A test says “her record is in it”; no test can lie below its line."
    section("Which mistakes must an attacker make?", sources, planned)
    alarms = np.unique(np.concatenate([np.linspace(0, 1, 81), np.logspace(-4, -1, 30)]))
    frame = pd.DataFrame({"false alarms": alarms, "perfect privacy": 1 - alarms})
    frame["promise (ε, δ)"] = guarantee.trade_off(alarms, budget.epsilon, budget.delta)
    if planned is not None:
        frame[planned.name] = planned.trade_off(alarms, 1)
        if times > 1:
            frame[f"{times} × {planned.name}"] = planned.trade_off(alarms, times)
    least = float(np.interp(0.05, alarms, frame["promise (ε, δ)"]))
    summary = f"With 5% false alarms an attacker misses at least {least:.0%} by the promise"
    if planned is not None:
        summary += f", {float(np.interp(0.05, alarms, frame[planned.name])):.0%} by this plan"
    panel(promise.trade_off(frame), summary + "; with perfect privacy 95%.", frame, "trade-off")
