"""Play the distinguishing game on a page: settings, the picture of two piles, and both measured curves for experts."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpcore.algorithms import ALGORITHMS, solving
from dpcore.algorithms.base import make_plan
from dpcore.experiments.audit import BUGS, CONFIDENCE, Audit, audit, short, two_questions
from dpcore.experiments.transcripts import TRUST, AuditResult, Judged, trade_off, transcribe
from dpcore.privacy.accounting import guarantee
from dpcore.privacy.accounting.budget import Accounting, Budget
from dpcore.privacy.accounting.conversions import gdp_mu
from dpcore.problems import QueryRelease
from dpcore.theory.meaning import Promise, times_in_100

from ..charts import base as charts
from ..charts import privacy
from ..jobs.work import Work, let_go, owned
from ..shell import controls
from ..shell.results import QUIET, panel

RUNS = [500, 1000, 2000, 4000, 10_000, 40_000]
DELTAS = [*controls.DELTAS, 0.02, 0.05, 0.1]  # a promise nobody should make, but a sharp game
DRAWN = 200  # points of a curve
HALF = "half-sensitivity"
GAME = "game"  # its name in a session
GAMES = 2000  # of the opening game
OPENING, DELTA = 1.0, 1e-9  # of the game that the page opens with: those that other pages open with
PILES = 24  # bars


def start(name: str, budget: Budget, runs: int, bug: str, seed: int) -> None:
    """Play the game beside the page, and stop the one that this tab is playing."""
    algorithm = short(ALGORITHMS[name]())

    def play(work: Work) -> Judged:
        def told(share: float) -> None:
            work.tell(share / 2, f"{share:.0%} of {runs:,} games on each table")

        def more(share: float) -> None:
            work.tell((1 + share) / 2, f"{share:.0%} of up to {2 * runs:,} transcripts of all that leaves")

        found = audit(algorithm, budget, runs=runs, bug=bug, seed=seed, progress=told)
        return Judged(found, transcribe(algorithm, budget, transcripts=2 * runs, bug=bug, seed=seed, progress=more))

    let_go(GAME)
    owned(GAME, None, "audit", play)


@st.cache_resource(show_spinner="Playing the opening game…")
def opening() -> Judged:
    """Return the finished game that every visitor finds first: public tables, played once for all."""
    algorithm, budget = short(ALGORITHMS["gaussian_maxent"]()), Budget(OPENING, DELTA)
    found = audit(algorithm, budget, runs=GAMES)
    return Judged(found, transcribe(algorithm, budget, transcripts=GAMES))


def settings() -> None:
    """Draw the widgets, and the button that plays."""
    bug = st.toggle(
        "Plant a bug: half the noise", key="audit-bug", **controls.KEPT,
        help="All noise is half of what the plan says, as a programmer's mistake in the sensitivity would make it.",
    )  # fmt: skip
    epsilon = st.select_slider(
        "Promised privacy budget (ε)", controls.EPSILONS, OPENING, controls.number, key="audit-epsilon", **controls.KEPT
    )
    play = st.container()
    with st.expander("For experts", icon=":material/tune:"):
        titles = {cls.about.title: name for name, cls in solving(QueryRelease).items()}
        words = "It uses its default parameters and as few steps as it can: the game needs many short runs."
        title = st.selectbox("Algorithm", list(titles), key="audit-algorithm", help=words, **controls.KEPT)
        delta = st.select_slider(
            "δ, promised", DELTAS, DELTA, controls.number, key="audit-delta", **controls.KEPT,
            help="A large δ makes a sharp game; so does δ = 0, where the algorithm can promise it.",
        )  # fmt: skip
        runs = st.select_slider(
            "Games on each table", RUNS, 4000, lambda r: f"{r:,}", key="audit-runs", **controls.KEPT,
            help="More games give sharper bounds, and take longer.",
        )  # fmt: skip
        seed = st.number_input("Repeat number", 0, 2**31 - 1, 0, key="audit-seed", **controls.KEPT)
    budget = Budget(epsilon, delta)
    play.button(
        "Play your own game", type="primary", icon=":material/casino:", on_click=start,
        args=(titles[title], budget, runs, HALF if bug else BUGS[0], int(seed)),
    )  # fmt: skip


def picture(found: Audit) -> None:
    """Draw how often a guess is right beside what is allowed, and the two piles of releases, under the finding."""
    right, _ = guesses(found)
    st.subheader(f"Someone guesses the right table {100 * right:.0f} times in 100", anchor=False)
    st.plotly_chart(scale(found), key="scale", alt=score(found), config=QUIET)
    summary = "The less the two piles overlap, the more often a guess is right."
    panel(piles(found), summary, pile_table(found), "piles")


def guesses(found: Audit) -> tuple[float, float]:
    """Return how often the line between the piles is right, and how often the promise allows anyone to be.

    The line comes from other games than those that it is judged by, so the first number is unbiased.
    """
    beyond = int(np.sum(found.thresholds >= found.line))
    alarms, hits = (float(np.append(0.0, share)[beyond]) for share in (found.false_alarms, found.hits))
    algorithm = short(ALGORITHMS[found.algorithm]())
    plan = make_plan(algorithm, two_questions(found.records), found.budget)
    return (hits + 1 - alarms) / 2, Promise.of_plan(plan, adaptive=algorithm.adaptive).guess()


def score(found: Audit) -> str:
    """Say how often the guesser was right, how often a coin is and the promise allows, and what chance may do."""
    right, allowed = guesses(found)
    least = times_in_100(allowed).split()[0]
    said = f"in {found.runs:,} games on each table the guesser was right {100 * right:.0f} times in 100"
    return f"{said} (a coin: 50). The promise allows {least}. Luck moves this by {100 / np.sqrt(found.runs):.0f}."


def scale(found: Audit) -> go.Figure:
    """Draw on one line how often a coin and the guesser are right, and the limit of the promise."""
    right, allowed = (100 * share for share in guesses(found))
    chance = 100 / np.sqrt(found.runs)  # 19 of 20 games are as near as that
    guessed = f"guessed: {right:.0f}, with luck {right - chance:.0f} to {right + chance:.0f}"
    texts = ["a coin: 50", guessed, f"allowed: {times_in_100(allowed / 100).split()[0]}"]
    out = go.Figure().add_scatter(
        x=[50, right, allowed], y=[0, 0, 0], text=texts, mode="markers+text",
        textposition=["bottom left", "top center", "bottom right"],
        error_x_array=[0, chance, 0],
        marker={"size": 14, "color": [charts.GREY, charts.SYNTHETIC, charts.REAL]}, error_x_color=charts.SYNTHETIC,
    )  # fmt: skip
    out.add_shape(type="rect", x0=50, x1=allowed, y0=-1, y1=1, fillcolor=charts.REAL, opacity=0.15, line_width=0)
    room = (max(allowed, right) - 50) / 2 + chance
    out.update_xaxes(title="right guesses in 100", range=[50 - room, max(allowed, right) + room])
    return charts.finish(out.update_yaxes(range=[-3, 3], visible=False), 140)


def pile_table(found: Audit) -> pd.DataFrame:
    """Return the share of each table's releases in `PILES` equal steps of the test's score.

    Scores are in standard deviations from the line between the piles.
    """
    ends = np.quantile(found.thresholds, [0.005, 0.995])
    edges = np.linspace(*ends, PILES + 1) if ends[0] < ends[1] else np.array([ends[0] - 0.5, ends[0] + 0.5])
    at = np.clip(found.thresholds, edges[0], edges[-1])
    counts = {}
    for name, share in (("first table", found.false_alarms), ("second table", found.hits)):
        counts[name] = np.histogram(at, edges, weights=np.diff(share, prepend=0.0))[0]
    middle = (edges[:-1] + edges[1:]) / 2 - found.line
    return pd.DataFrame({"score": middle / (np.std(found.thresholds) or 1.0), **counts})


def piles(found: Audit) -> go.Figure:
    """Draw both piles as bars, and the line at which the guess changes."""
    frame, out = pile_table(found), go.Figure()
    for name, look in (
        ("first table", {"color": charts.REAL, "opacity": 0.5}),
        ("second table", {"color": "rgba(0, 0, 0, 0)", "line": {"color": charts.SYNTHETIC, "width": 2}}),
    ):
        out.add_bar(
            x=frame["score"], y=frame[name], name=name, marker=look,
            hovertemplate="%{y:.1%}<extra></extra>",
        )  # fmt: skip
    for x, text, anchor in ((0.01, "← guess: first", "left"), (0.99, "guess: second →", "right")):
        out.add_annotation(x=x, y=1, xref="paper", yref="paper", text=text, xanchor=anchor, showarrow=False)
    out.add_vline(x=0, line={"color": charts.GREY, "width": 2})
    out.update_layout(barmode="overlay", bargap=0)
    out.update_xaxes(title="score that the guesser gives a release")
    return charts.finish(out.update_yaxes(title="share of releases", tickformat=".0%"), 300)


def verdict(played: Judged) -> None:
    """Say whether a breach was found, and what that shows."""
    found, evidence = played.found, played.evidence
    if played.kept:
        st.success(f"**No breach found:** {score(found)}", icon=":material/check_circle:")
    else:
        least, most, what = max(found.epsilon_low, found.accounted_low), found.promised, "ε"
        if found.kept and evidence is not None:
            least, most, what = evidence.sure_low, evidence.promised, symbol(evidence)
        st.error(
            f"**The promise is broken:** {score(found)} With {CONFIDENCE:.1%} confidence, {what} is at least "
            f"{least:.3g}. Promised was {most:.3g}.",
            icon=":material/gpp_bad:",
        )
    st.markdown(_lesson(played, found.bug == HALF))


def experts(played: Judged) -> None:
    """Draw the bounds and curves behind the verdict."""
    found, evidence = played.found, played.evidence
    guesser, everything = st.tabs(("What the guesser sees", "Everything that leaves"))
    with guesser:
        for place, (label, value, words) in zip(
            st.columns(3),
            (
                ("Promised ε", found.promised, f"The plan's own ε, by {found.accounting}."),
                ("ε is at least (any mechanism)", found.epsilon_low, "Clopper–Pearson bounds of both error rates."),
                ("ε is at least (same accounting)", found.accounted_low, "The ε that the accounting would state."),
            ),
            strict=True,
        ):
            place.metric(label, f"{value:.3f}", help=words)
        frame = curves(found)
        summary = (
            f"{ALGORITHMS[found.algorithm].about.title}, {found.runs:,} games on each of two tables of "
            f"{found.records:,} rows: {telling(found, frame)}"
        )
        names = {"right": "this game", "limit": "limit by ε and δ", "gaussian": "limit by the plan's μ"}
        panel(_trade_off(frame, names), summary, frame, "audit")
        st.caption(
            "The blue curve is from games that did not shape the test. It may cross its limit by chance. "
            f"The verdict uses Clopper–Pearson bounds at {CONFIDENCE:.1%} confidence."
        )
    if evidence is not None:
        with everything:
            st.caption(
                "A release shows a part of what was drawn from the rows, but the price is for all of it. Here new "
                "Curators of the worst pair of small tables answer the algorithm's own questions. The exact likelihood "
                "ratio under the stated noise judges their answers."
            )
            frame = transcript_curves(evidence)
            names = {
                "right": "measured",
                "promised": f"promised: {symbol(evidence)} = {evidence.promised:.3g}",
                "shown": f"shown with {TRUST:.0%} confidence: {evidence.low:.3g}",
            }
            panel(_trade_off(frame, names), in_words(evidence), frame, "transcripts")


def symbol(evidence: AuditResult) -> str:
    """Return the letter of what is judged."""
    return "μ" if evidence.kind == "noise" else "ε₀ of the first selection"


def in_words(evidence: AuditResult) -> str:
    """Say in one sentence how much of the promise was shown to be used."""
    share = evidence.low / evidence.promised
    said = (
        f"{evidence.transcripts:,} transcripts of tables of {evidence.records} rows show {symbol(evidence)} ≥ "
        f"{evidence.low:.3g} with {TRUST:.0%} confidence: {share:.0%} of the {evidence.promised:.3g} that the plan uses"
    )
    return f"{said}; more would show up to {evidence.there:.3g}." if evidence.low < evidence.there else f"{said}."


def transcript_curves(evidence: AuditResult) -> pd.DataFrame:
    """Return the measured trade-off, the part shown with confidence, and the promise, at false alarms up to 1."""
    at = np.unique(np.linspace(0, len(evidence.hits) - 1, DRAWN).astype(int))
    x = np.unique(np.concatenate([np.linspace(0, 1, DRAWN // 2 + 1), evidence.false_alarms[at]]))
    seen = np.interp(x, np.append(0.0, evidence.false_alarms), np.append(0.0, evidence.hits))
    sizes = {"promised": evidence.promised, "shown": evidence.low}
    return pd.DataFrame(
        {"false alarms": x, "right": seen, **{k: trade_off(evidence.kind, size, x) for k, size in sizes.items()}}
    )


def curves(found: Audit) -> pd.DataFrame:
    """Return the empirical curve, its limit at (ε, δ), and for Gaussian plans the sharper limit Φ(Φ⁻¹(q) + μ)."""
    at = np.unique(np.linspace(0, len(found.hits) - 1, DRAWN).astype(int))
    frame = pd.DataFrame({"false alarms": found.false_alarms[at], "right": found.hits[at], "limit": found.limit[at]})
    ends = pd.DataFrame({"false alarms": [0.0, 1.0], "right": [0.0, 1.0], "limit": [found.budget.delta, 1.0]})
    frame = pd.concat([ends.iloc[:1], frame, ends.iloc[1:]], ignore_index=True)
    if found.accounting is Accounting.GDP:
        mu = gdp_mu(found.promised, found.budget.delta)
        frame["gaussian"] = 1 - guarantee.gaussian_trade_off(frame["false alarms"], mu)
    return frame


def telling(found: Audit, frame: pd.DataFrame) -> str:
    """Quote the point of the curve that says most: the farthest above its limit, or, where that is kept, above a coin.

    The limit is the one that the verdict rests on: that of the plan's μ where it is drawn and gave the larger ε.
    """
    sharper = "gaussian" in frame and found.accounted_low >= found.epsilon_low
    name = "gaussian" if sharper else "limit"
    over = frame["right"] - frame[name]
    broken = not found.kept and float(over.max()) > 0
    best = int((over if broken else frame["right"] - frame["false alarms"]).argmax())
    alarms, right, limit = (float(frame[of][best]) for of in ("false alarms", "right", name))
    said = f"at {alarms:.1%} false alarms the second table is recognised {right:.1%} of the time"
    return f"{said}, where the promise allows no more than {limit:.1%}." if broken else (
        f"{said}; the promise allows {limit:.1%}."
    )  # fmt: skip


def _trade_off(frame: pd.DataFrame, names: dict[str, str]) -> go.Figure:
    """Draw the named curves that a frame has over its false alarms, the measured one first, and a coin's."""
    frame = frame.assign(coin=frame["false alarms"])
    names = {name: title for name, title in names.items() if name in frame} | {"coin": "a coin"}
    return privacy.trade_off(frame, names, ("false alarms: says second, is first", "right: says second, is second"))


def _lesson(played: Judged, planted: bool) -> str:
    """Return what to learn from a game, in words."""
    if planted and not played.kept:
        return (
            "**The game catches the planted bug.** The noise was half of what the plan says. The release looks better "
            "and its card states the same ε. Only a game like this one notices. The package's tests play it against "
            "every algorithm."
        )
    if planted:
        return (
            "**The game misses the planted bug this time.** The noise was half of what the plan says, and these games "
            "were too few to prove it. Play more games, or choose a larger δ."
        )
    if played.kept:
        return (
            "**Near the limit is good:** more noise would only cost accuracy. Only the proof shows that there is "
            "no breach. Plant the bug and play to see it caught."
        )
    return (
        "**No bug was planted, yet the bound exceeds the promise.** This happens by chance in one game of a thousand. "
        "Play again with another repeat number, and report it if it stays."
    )
