"""The distinguishing game on a page: settings, progress, both measured curves under their limits, and the lesson."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpcore.algorithms import ALGORITHMS, solving
from dpcore.experiments.audit import BUGS, CONFIDENCE, Audit, audit, short
from dpcore.experiments.transcripts import TRUST, Evidence, Judged, trade_off, transcribe
from dpcore.privacy.accounting import guarantee
from dpcore.privacy.accounting.budget import Accounting, Budget
from dpcore.privacy.accounting.conversions import gdp_mu
from dpcore.problems import QueryRelease
from dpcore.tags import Tag

from ..charts import base as charts
from ..jobs.work import Work, begin
from ..shell import controls
from ..shell.frame import heading, tag
from ..shell.results import panel
from ..shell.session import session

RUNS = [500, 1000, 2000, 4000, 10_000, 40_000]
DELTAS = [*controls.DELTAS, 0.02, 0.05, 0.1]  # a promise nobody should make, but a sharp game
DRAWN = 200  # points of a curve
HALF = "half-sensitivity"


@dataclass(eq=False)
class Game:
    """A tab's audit: under way, done or none yet."""

    work: Work | None = None
    of: str = ""

    def start(self, name: str, budget: Budget, runs: int, bug: str, seed: int) -> None:
        """Play; what runs is stopped."""
        self.close()
        self.of = name
        algorithm = short(ALGORITHMS[name]())

        def play(work: Work) -> Judged:
            def told(share: float) -> None:
                work.tell(share / 2, f"{share:.0%} of {runs:,} runs on each of two tables")

            def more(share: float) -> None:
                work.tell((1 + share) / 2, f"{share:.0%} of up to {2 * runs:,} transcripts")

            found = audit(algorithm, budget, runs=runs, bug=bug, seed=seed, progress=told)
            return Judged(found, transcribe(algorithm, budget, transcripts=2 * runs, bug=bug, seed=seed, progress=more))

        self.work = begin("audit", play)

    def close(self) -> None:
        """Ask for the end of what runs."""
        if self.work is not None:
            self.work.cancel()


def current() -> Game:
    """The audit of the calling tab."""
    return session().own("game", Game)


def explain() -> None:
    """The game in words."""
    with st.container(horizontal=True, vertical_alignment="center"):
        tag(Tag.PUBLIC)
        st.caption("Both tables are made for the game; no record of yours takes part, and no budget is spent.")
    st.markdown(
        "Two tables are the same but for one record. The algorithm runs on one of them; somebody who sees only what it "
        "released says which. A promise of ε and δ limits how much more often they can be right on one table "
        "than wrong on the other. Whoever does better than that has **proved that the promise is broken**. "
        "Whoever does not has proved nothing: a game finds bugs, only mathematics finds guarantees."
    )


def settings(game: Game) -> None:
    """The widgets, and the button that plays."""
    left, middle, right = st.columns(3)
    with left:
        titles = {cls.about.title: name for name, cls in solving(QueryRelease).items()}
        name = titles[st.selectbox("Algorithm", list(titles), key="audit-algorithm", **controls.KEPT)]
        st.caption("With its default parameters and as few rounds as it can do: the game needs many short runs.")
    with middle:
        epsilon = st.select_slider(
            "ε, promised", controls.EPSILONS, 1.0, controls.number, key="audit-epsilon", **controls.KEPT
        )
        delta = st.select_slider(
            "δ, promised", DELTAS, 0.01, controls.number, key="audit-delta", **controls.KEPT,
            help="A large δ makes a sharp game; so does δ = 0, where the algorithm can promise it.",
        )  # fmt: skip
    with right:
        runs = st.select_slider(
            "Runs on each table", RUNS, 4000, lambda r: f"{r:,}", key="audit-runs", **controls.KEPT,
            help="More runs give sharper bounds, and take longer.",
        )  # fmt: skip
        seed = st.number_input("Seed of the game", 0, 2**31 - 1, 0, key="audit-seed", **controls.KEPT)
    bug = st.toggle(
        "Plant a bug: halve the sensitivity", key="audit-bug", **controls.KEPT,
        help="All noise is half of what the plan says, as if somebody had taken neighbours to add or remove a record.",
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Play the game", type="primary", icon=":material/casino:", on_click=game.start,
            args=(name, Budget(epsilon, delta), runs, HALF if bug else BUGS[0], int(seed)),
        )  # fmt: skip


def verdict(game: Game) -> None:
    """What was found, the curve, and the lesson."""
    if game.work is None or game.work.state != "done":
        return
    played: Judged = game.work.result
    found, evidence = played.found, played.evidence
    heading("Is the promise kept?", Tag.PUBLIC)
    planted = found.bug == HALF
    low = max(found.epsilon_low, found.accounted_low)
    if found.kept and evidence is not None and not evidence.kept:
        st.error(
            f"The promise is broken: {symbol(evidence)} = {evidence.promised:.3g} is charged, but what leaves the "
            f"Curator needs at least {evidence.sure_low:.3g}, with {CONFIDENCE:.1%} confidence.",
            icon=":material/gpp_bad:",
        )
    elif found.kept:
        st.success(
            f"The promise is consistent with this game: the true ε is at least {low:.3g}, {found.promised:.3g} is "
            f"promised at δ = {found.budget.delta:g}.", icon=":material/check_circle:"
        )  # fmt: skip
    else:
        st.error(
            f"The promise is broken: ε = {found.promised:.3g} is promised at δ = {found.budget.delta:g}, but the true "
            f"ε is at least {low:.3g}, with {CONFIDENCE:.1%} confidence.", icon=":material/gpp_bad:"
        )  # fmt: skip
    for place, (label, value, words) in zip(
        st.columns(3),
        (
            ("Promised ε", found.promised, f"The plan's own ε, by {found.accounting}."),
            ("ε is at least (any mechanism)", found.epsilon_low, "Clopper–Pearson bounds of both error rates."),
            ("ε is at least (same accounting)", found.accounted_low, "The ε that the accounting would have to state."),
        ),
        strict=True,
    ):
        place.metric(label, f"{value:.3f}", help=words)
    heading("Can anyone tell the two tables apart more often than promised?", Tag.PUBLIC)
    frame = curves(found)
    summary = (
        f"{ALGORITHMS[found.algorithm].about.title}, {found.runs:,} runs on each of two tables of {found.records:,} "
        f"records: {telling(found, frame)}"
    )
    panel(figure(frame), summary, frame, "audit")
    if evidence is not None:
        _transcripts(evidence)
    _lesson(played, planted)


def symbol(evidence: Evidence) -> str:
    """The letter of what is judged."""
    return "μ" if evidence.kind == "noise" else "ε₀ of the first selection"


def _transcripts(evidence: Evidence) -> None:
    """What all that leaves the Curator shows, by the sharpest test there is: measured beside promised."""
    heading("How much of the promise is really used?", Tag.PUBLIC)
    st.caption(
        "A release shows a part of what was drawn from the records; the price is for all of it. Here the algorithm's "
        "own questions are put to new Curators of the worst pair of small tables, and what they answer is judged by "
        "its exact likelihood ratio under the stated noise."
    )
    frame = transcript_curves(evidence)
    panel(transcript_figure(frame, evidence), in_words(evidence), frame, "transcripts")


def in_words(evidence: Evidence) -> str:
    """What was shown of what was promised, in one sentence."""
    share = evidence.low / evidence.promised
    said = (
        f"{evidence.transcripts:,} transcripts of tables of {evidence.records} records show {symbol(evidence)} ≥ "
        f"{evidence.low:.3g} with {TRUST:.0%} confidence: {share:.0%} of the {evidence.promised:.3g} that is charged"
    )
    return f"{said}; more would show up to {evidence.there:.3g}." if evidence.low < evidence.there else f"{said}."


def transcript_curves(evidence: Evidence) -> pd.DataFrame:
    """The measured trade-off, what is shown of it with confidence, and what is promised, at false alarms up to 1."""
    at = np.unique(np.linspace(0, len(evidence.hits) - 1, DRAWN).astype(int))
    x = np.unique(np.concatenate([np.linspace(0, 1, DRAWN // 2 + 1), evidence.false_alarms[at]]))
    seen = np.interp(x, np.append(0.0, evidence.false_alarms), np.append(0.0, evidence.hits))
    sizes = {"promised": evidence.promised, "shown": evidence.low}
    return pd.DataFrame(
        {"false alarms": x, "right": seen, **{k: trade_off(evidence.kind, size, x) for k, size in sizes.items()}}
    )


def curves(found: Audit) -> pd.DataFrame:
    """The empirical curve, its limit at (ε, δ), and for Gaussian plans the sharper limit Φ(Φ⁻¹(q) + μ)."""
    at = np.unique(np.linspace(0, len(found.hits) - 1, DRAWN).astype(int))
    frame = pd.DataFrame({"false alarms": found.false_alarms[at], "right": found.hits[at], "limit": found.limit[at]})
    ends = pd.DataFrame({"false alarms": [0.0, 1.0], "right": [0.0, 1.0], "limit": [found.budget.delta, 1.0]})
    frame = pd.concat([ends.iloc[:1], frame, ends.iloc[1:]], ignore_index=True)
    if found.accounting is Accounting.GDP:
        mu = gdp_mu(found.promised, found.budget.delta)
        frame["gaussian"] = 1 - guarantee.gaussian_trade_off(frame["false alarms"], mu)
    return frame


def telling(found: Audit, frame: pd.DataFrame) -> str:
    """The point of the curve that says most: the farthest above its limit, or, where that is kept, above a coin.

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


def figure(frame: pd.DataFrame) -> go.Figure:
    """Right answers against false alarms, under their limits."""
    names = {"right": "this game", "limit": "limit by ε and δ", "gaussian": "limit by the plan's μ"}
    return _trade_off(frame, {name: title for name, title in names.items() if name in frame})


def transcript_figure(frame: pd.DataFrame, evidence: Evidence) -> go.Figure:
    """The same of transcripts: measured, promised, and shown with confidence."""
    return _trade_off(
        frame,
        {
            "right": "measured",
            "promised": f"promised: {symbol(evidence)} = {evidence.promised:.3g}",
            "shown": f"shown with {TRUST:.0%} confidence: {evidence.low:.3g}",
        },
    )


def _trade_off(frame: pd.DataFrame, names: dict[str, str]) -> go.Figure:
    """Curves of a frame over its false alarms, the measured one first."""
    out = go.Figure()
    x = frame["false alarms"]
    lines = (
        {"color": charts.REAL, "width": 3},
        {"color": charts.SYNTHETIC, "dash": "dash"},
        {"color": charts.THIRD, "dash": "dashdot"},
    )
    for (column, title), line in zip(names.items(), lines, strict=False):
        out.add_scatter(x=x, y=frame[column], name=title, mode="lines", line=line)
    out.add_scatter(x=[0, 1], y=[0, 1], name="a coin", mode="lines", line={"color": charts.GREY, "dash": "dot"})
    share = {"tickformat": ".0%", "range": [-0.01, 1.01]}
    out.update_xaxes(title="false alarms: says second, is first (share of runs)", **share)
    out.update_yaxes(title="right: says second, is second (share of runs)", **share)
    return charts.finish(out, 440)


def _lesson(played: Judged, planted: bool) -> None:
    """What to learn from it, in words."""
    heading("What does this show?", Tag.PUBLIC)
    if planted and not played.kept:
        words = (
            "**The planted bug is caught.** The noise was half of what the plan says. Nothing on the outside shows it: "
            "the release looks better, the card states the same ε. Only somebody who tries to break the promise "
            "notices. So the package's tests play this game, and others that need no luck, against every algorithm."
        )
    elif planted:
        words = (
            "**The planted bug is not caught this time.** The noise was half of what the plan says, and this game was "
            "too weak to prove it. Play more runs, or choose a larger δ: passing a test is not being right."
        )
    elif played.kept:
        words = (
            "**Passing proves little.** The lower bound says what this one test could show about these two tables; a "
            "better test may show more. The guarantee rests on the proof. Plant the bug and play again to see that the "
            "game has teeth."
        )
    else:
        words = (
            "**No bug was planted, yet the bound exceeds the promise.** By chance this happens in one game out of a "
            "thousand; play again with another seed, and report it if it stays."
        )
    st.markdown(words)
    st.caption(
        "The blue curve is what was seen in runs that did not shape the test; it may stray over its limit by chance. "
        f"The verdict is from Clopper–Pearson bounds at {CONFIDENCE:.1%} confidence."
    )
