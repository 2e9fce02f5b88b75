"""Distinguishing game on the Audit page: settings, score histograms and expert curves.

The score histograms are the picture of two piles of releases; both measured curves are for experts.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpcore import ALGORITHMS, Budget, QueryRelease
from dpcore.accuracy.meaning_of_epsilon import Promise, format_times_in_100
from dpcore.algorithms import algorithms_for_problem
from dpcore.algorithms.algorithm import make_plan
from dpcore.core.job import Job
from dpcore.core.types import ProgressCallback
from dpcore.evaluation.audit.distinguishing_game import (
    CONFIDENCE,
    PLANTED_BUGS,
    GameResult,
    play_distinguishing_game,
    two_question_problem,
    with_fewest_rounds,
)
from dpcore.evaluation.audit.transcript_test import (
    EVIDENCE_CONFIDENCE,
    AuditResult,
    AuditVerdict,
    audit_transcripts,
    promised_hit_rates,
)
from dpcore.privacy.accounting import ACCOUNTANT_BY_NAME, GdpAccountant, gdp_mu, guarantee

from ..charts import figure_frame as charts
from ..charts import privacy_charts
from ..components import CHART_CONFIG, draw_chart_panel, parameter_widgets, show_tiles
from ..jobs import close_job, get_or_start_job, wait_or_draw_progress
from ..session import session

GAMES_PER_TABLE_OPTIONS = [500, 1000, 2000, 4000, 10_000, 40_000]
# a promise nobody should make, but a sharp game
DELTA_OPTIONS = [
    *parameter_widgets.DELTA_OPTIONS,
    0.02,
    0.05,
    0.1,
]
CURVE_POINTS = 200  # points of a curve
HALF_NOISE_BUG = "half-sensitivity"
CURRENT_GAME_KEY = "game"  # the name in a session of the game that is played
LAST_GAME_KEY = "last-game"  # and of the last finished one
# The budget of the game that the page opens with: the one that other pages open with.
OPENING_EPSILON = 1.0
OPENING_DELTA = 1e-9
# The opening game, made by `python -m tests.make_assets`.
OPENING_GAME_FILE = Path(__file__).parents[3] / "assets" / "audit.json"
HISTOGRAM_BINS = 24  # bars
# The names of the first and the second table: answers to two questions.
HEALTHY = "Anna healthy"
ILL = "Anna ill"
# what to learn from a game, by whether a bug was planted and whether the promise was kept
OUTCOME_LESSONS = {
    (
        True,
        False,
    ): "**The game catches the planted bug.** The noise was half of what the plan says. The "
    "release looks "
    "better and its card states the same ε. Only a game like this one notices. The package's "
    "tests play it against "
    "every algorithm.",
    (
        True,
        True,
    ): "**The game misses the planted bug this time.** The noise was half of what the plan says, "
    "and these "
    "games were too few to prove it. Play more games, or choose a larger δ.",
    (
        False,
        True,
    ): "**No breach was found.** The method treats every table alike, also yours. A result just "
    "below "
    "the limit is as planned: more noise only costs accuracy. This tests the software by trying "
    "it, and can miss a "
    "small breach. Guarantee shows the reasoning.",
    (
        False,
        False,
    ): "**No bug was planted, yet the bound exceeds the promise.** This happens by chance in one "
    "game of "
    "a thousand. Play again with another repeat number, and report it if it stays.",
}


def start_game(name: str, budget: Budget, runs: int, bug: str, seed: int) -> None:
    """Play the game beside the page, and stop the one that this tab is playing."""
    algorithm = with_fewest_rounds(ALGORITHMS[name]())

    def play_game(work: Job) -> AuditVerdict:
        def half_progress(half_index: int, label: str) -> ProgressCallback:
            return lambda done, total: work.report_progress(
                (half_index + done / total) / 2, f"{done / total:.0%} of {label}"
            )

        game_settings = {"bug": bug, "seed": seed}
        game_audit = play_distinguishing_game(
            algorithm,
            budget,
            runs=runs,
            progress=half_progress(0, f"{runs:,} games on each table"),
            **game_settings,
        )
        transcript_progress = half_progress(1, f"up to {2 * runs:,} transcripts of all that leaves")
        return AuditVerdict(
            game_audit,
            audit_transcripts(
                algorithm,
                budget,
                transcripts=2 * runs,
                progress=transcript_progress,
                **game_settings,
            ),
        )

    close_job(CURRENT_GAME_KEY)
    get_or_start_job(CURRENT_GAME_KEY, None, "audit", play_game)


@st.cache_resource(show_spinner=False)
def opening_game() -> AuditVerdict:
    """Return the precomputed game, played on public tables, that every visitor sees first."""
    game_audit, evidence = (
        {
            name: np.array(value) if isinstance(value, list) else value
            for name, value in part.items()
        }
        for part in json.loads(OPENING_GAME_FILE.read_text(encoding="utf-8"))
    )
    budget = {"budget": Budget(OPENING_EPSILON, OPENING_DELTA)}
    game_audit["accounting"] = ACCOUNTANT_BY_NAME[game_audit["accounting"]]
    return AuditVerdict(GameResult(**game_audit, **budget), AuditResult(**evidence, **budget))


def watch_game() -> tuple[AuditVerdict, bool]:
    """Draw the progress of a running game; return the last finished one and whether none runs.

    The flag is also true when the game that was asked for has just finished.
    """
    game_job = session().find_resource(CURRENT_GAME_KEY)
    session_state = st.session_state
    if game_job and wait_or_draw_progress(game_job, "audit") and game_job.result:
        session_state[LAST_GAME_KEY] = game_job.result
    return session_state.get(LAST_GAME_KEY, opening_game()), not game_job or bool(game_job.result)


def draw_settings() -> None:
    """Draw the widgets, and the button that plays."""
    main_container = st.container(key="in-sight")
    bug = main_container.toggle(
        "Try a broken version: half the noise",
        key="audit-bug",
        **parameter_widgets.ADDRESS_WIDGET_ARGS,
        help="All noise is then half of what the plan says, as a programmer's mistake would make "
        "it. A breach is red.",
    )
    epsilon = main_container.select_slider(
        "Promised privacy budget (ε)",
        parameter_widgets.EPSILON_OPTIONS,
        OPENING_EPSILON,
        parameter_widgets.format_setting,
        key="audit-epsilon",
        **parameter_widgets.ADDRESS_WIDGET_ARGS,
    )
    with st.expander("For experts", icon=":material/tune:"):
        algorithm_name = _choose_algorithm()
        delta = _choose_delta()
        runs, seed = _choose_repetition()
    main_container.button(
        "Apply and play",
        type="primary",
        icon=":material/casino:",
        on_click=start_game,
        args=(
            algorithm_name,
            Budget(epsilon, delta),
            runs,
            HALF_NOISE_BUG if bug else PLANTED_BUGS[0],
            seed,
        ),
    )


def _choose_algorithm() -> str:
    """Draw the list of algorithms; return the chosen one's name in code."""
    names_by_title = {
        cls.about.title: name for name, cls in algorithms_for_problem(QueryRelease).items()
    }
    title = st.selectbox(
        "Algorithm",
        list(names_by_title),
        key="audit-algorithm",
        help="It uses its default parameters and as few steps as it can: the game needs "
        "many short runs.",
        **parameter_widgets.ADDRESS_WIDGET_ARGS,
    )
    return names_by_title[title]


def _choose_delta() -> float:
    """Draw the slider of the promised δ."""
    return st.select_slider(
        "δ, promised",
        DELTA_OPTIONS,
        OPENING_DELTA,
        parameter_widgets.format_setting,
        key="audit-delta",
        **parameter_widgets.ADDRESS_WIDGET_ARGS,
        help="A large δ makes a sharp game; so does δ = 0, where the algorithm can promise it.",
    )


def _choose_repetition() -> tuple[int, int]:
    """Draw the widgets of how often the game is played; return the games a table and the seed."""
    runs = st.select_slider(
        "Games on each table",
        GAMES_PER_TABLE_OPTIONS,
        4000,
        lambda r: f"{r:,}",
        key="audit-runs",
        **parameter_widgets.ADDRESS_WIDGET_ARGS,
        help="More games give sharper bounds, and take longer.",
    )
    seed = st.number_input(
        "Repeat number",
        0,
        2**31 - 1,
        0,
        key="audit-seed",
        **parameter_widgets.ADDRESS_WIDGET_ARGS,
    )
    return runs, int(seed)


def draw_outcome(game_audit: GameResult) -> None:
    """Draw the rate of right guesses beside the promised limit, and both score histograms.

    The histograms are the two piles of releases with their overlap.
    """
    margin_of_error = 100 / np.sqrt(game_audit.runs)  # in 19 of 20 games
    st.caption(
        "Anna is ill in one invented table, healthy in its twin. Each was released "
        f"{game_audit.runs:,} times at ε = "
        f"{game_audit.budget.epsilon:g}. A program that knows everyone else guessed which. Luck "
        "moves that by up to "
        f"{margin_of_error:.2g}: only above "
        f"{float(guesses_in_100(game_audit)[1]) + margin_of_error:.3g} suggests a breach."
    )
    st.plotly_chart(
        guess_scale_figure(game_audit), key="scale", alt=score_text(game_audit), config=CHART_CONFIG
    )
    overlap = min(2 - 2 * guess_rates(game_audit)[0], 1)
    summary = f"The piles overlap by {overlap:.0%}: the more, the less a release says about Anna."
    draw_chart_panel(pile_figure(game_audit), summary, score_histograms(game_audit), "piles")


def guess_rates(game_audit: GameResult) -> tuple[float, float]:
    """Return the measured probability of a right guess and the highest one the promise allows.

    The measured guesser says "second" beyond the line between the piles. The line comes from other
    games than those that it is judged by, so the first number is unbiased.
    """
    line_index = int(np.sum(game_audit.thresholds >= game_audit.line))
    alarms, hits = (
        float(np.append(0.0, share)[line_index])
        for share in (game_audit.false_alarms, game_audit.hits)
    )
    algorithm = with_fewest_rounds(ALGORITHMS[game_audit.algorithm]())
    plan = make_plan(algorithm, two_question_problem(game_audit.records), game_audit.budget)
    return (hits + 1 - alarms) / 2, Promise.of_plan(
        plan, adaptive=algorithm.adaptive
    ).max_guess_probability()


def guesses_in_100(game_audit: GameResult) -> tuple[float, str]:
    """Return the measured and the maximum promised number of right guesses in 100.

    The first is to a tenth; the second is a text as on other pages.
    """
    right, allowed = guess_rates(game_audit)
    return round(100 * right, 1), format_times_in_100(allowed).split()[0]


def score_text(game_audit: GameResult) -> str:
    """Say how often the guesser was right, and how often the promise allows."""
    right, limit = guesses_in_100(game_audit)
    return f"{right:g} of 100 guesses right, at most {limit} allowed"


def guess_scale_figure(game_audit: GameResult) -> go.Figure:
    """Return a scale from 50 (a coin) to 100 with the measured and the allowed right guesses.

    Both numbers are rounded as in the text.
    """
    right, limit = guesses_in_100(game_audit)
    allowed = float(limit)
    figure = go.Figure().add_scatter(
        x=[right, allowed],
        y=[1, -1],
        mode="markers+text",
        text=[f"{right:g} of 100 right", f"{limit} allowed"],
        textposition="middle right",
        marker={"size": 14, "color": charts.ERROR, "symbol": ["circle", "triangle-up"]},
    )
    for bar_end in (allowed, 100):
        figure.add_shape(
            type="rect",
            x0=50,
            x1=bar_end,
            y0=-0.3,
            y1=0.3,
            fillcolor=charts.ERROR,
            opacity=0.2,
            line_width=0,
        )
    figure.update_xaxes(
        range=[43, 112], tickvals=[50, 75, 100], ticktext=["50: a coin", "75", "100: unprotected"]
    )
    return charts.finish_figure(
        figure.update_yaxes(range=[-2, 2], visible=False), 104
    ).update_layout(margin_t=8)


def score_histograms(game_audit: GameResult) -> pd.DataFrame:
    """Return each table's share of releases per score bin, without the farthest 1 in 100.

    There are `HISTOGRAM_BINS` equal bins. Scores are differences from the line between the piles.
    """
    scores = game_audit.thresholds
    edges = np.histogram_bin_edges(scores, HISTOGRAM_BINS, np.quantile(scores, [0.005, 0.995]))
    counts = {
        name: np.histogram(scores, edges, weights=np.diff(share, prepend=0.0))[0]
        for name, share in ((HEALTHY, game_audit.false_alarms), (ILL, game_audit.hits))
    }
    return pd.DataFrame({"score": (edges[:-1] + edges[1:]) / 2 - game_audit.line, **counts})


def pile_figure(game_audit: GameResult) -> go.Figure:
    """Draw both piles as bars, and the line at which the guess changes."""
    frame = score_histograms(game_audit)
    figure = go.Figure()
    for name, bar_style in (
        (HEALTHY, {"color": charts.THIRD, "opacity": 0.5}),
        (ILL, {"color": "rgba(0, 0, 0, 0)", "line": {"color": charts.FOURTH, "width": 2}}),
    ):
        figure.add_bar(
            x=frame["score"],
            y=frame[name],
            name=name,
            marker=bar_style,
            hovertemplate="%{y:.1%}<extra></extra>",
        )
    figure.add_vline(
        x=0,
        line={"color": charts.GREY, "width": 2},
        annotation_text="here the guess is “ill” →",
    )
    figure.update_layout(barmode="overlay", bargap=0)
    figure.update_xaxes(title="Anna looks ill →", showticklabels=False)
    y_range = [0, frame.iloc[:, 1:].max(axis=None) * 1.2]  # for the words above the bars
    return charts.finish_figure(
        figure.update_yaxes(title="share of releases", tickformat=".0%", range=y_range), 214
    )


def draw_verdict(audit_verdict: AuditVerdict) -> None:
    """Say whether a breach was found."""
    game_audit = audit_verdict.game
    evidence = audit_verdict.evidence
    if audit_verdict.is_consistent:
        st.success(f"**Passed: {score_text(game_audit)}.**", icon=":material/check_circle:")
        return
    lower_bound = max(game_audit.epsilon_low, game_audit.accounted_low)
    promised = game_audit.promised
    quantity = "ε"
    if game_audit.kept and evidence is not None:
        lower_bound = evidence.sure_low
        promised = evidence.promised
        quantity = judged_symbol(evidence)
    st.error(
        f"**Failed, the promise is broken: {score_text(game_audit)}.** With {CONFIDENCE:.1%} "
        f"confidence, {quantity} is at "
        "least "
        f"{lower_bound:.3g}. Promised was {promised:.3g}.",
        icon=":material/gpp_bad:",
    )


def draw_explanation(audit_verdict: AuditVerdict) -> None:
    """Say what the outcome means."""
    game_audit = audit_verdict.game
    title = ALGORITHMS[game_audit.algorithm].about.title
    st.markdown(
        OUTCOME_LESSONS[game_audit.bug == HALF_NOISE_BUG, audit_verdict.is_consistent],
        help=f"Algorithm: {title}. Each table has {game_audit.records:,} rows and two yes/no "
        "questions, healthy and "
        "ill. "
        "Anna says yes to one of them. Each person has one row. Where rows share one vote, those "
        "of a person weigh as one row does here.",
    )


def draw_expert_view(audit_verdict: AuditVerdict) -> None:
    """Draw the bounds and curves behind the verdict."""
    game_audit = audit_verdict.game
    evidence = audit_verdict.evidence
    guesser_tab, transcript_tab = st.tabs(("What the guesser sees", "Everything that leaves"))
    with guesser_tab:
        bounds = [
            ("Promised ε", game_audit.promised, f"the plan's own, by {game_audit.accounting.name}"),
            ("ε is at least", game_audit.epsilon_low, "for any mechanism, by Clopper–Pearson"),
            ("ε is at least", game_audit.accounted_low, "as the same accounting would state it"),
        ]
        show_tiles([(name, f"{value:.3f}", note) for name, value, note in bounds], "")
        frame = game_curves(game_audit)
        curve_titles = {
            "right": "this game",
            "limit": "limit by ε and δ",
            "gaussian": "limit by the plan's μ",
        }
        draw_chart_panel(
            _trade_off_figure(frame, curve_titles), curve_summary(game_audit, frame), frame, "audit"
        )
        st.caption(
            "The solid curve is from games that did not shape the test. It may cross its limit "
            "by chance. "
            f"The verdict uses Clopper–Pearson bounds at {CONFIDENCE:.1%} confidence."
        )
    if evidence is not None:
        with transcript_tab:
            st.caption(
                "A release shows a part of what was drawn from the rows, but the price is for "
                "all of it. Here new "
                "Curators of the worst pair of small tables answer the algorithm's own "
                "questions. The exact likelihood "
                "ratio under the stated noise judges their answers."
            )
            frame = transcript_curves(evidence)
            curve_titles = {
                "right": "measured",
                "promised": f"promised: {judged_symbol(evidence)} = {evidence.promised:.3g}",
                "shown": f"shown with {EVIDENCE_CONFIDENCE:.0%} confidence: {evidence.low:.3g}",
            }
            draw_chart_panel(
                _trade_off_figure(frame, curve_titles),
                transcript_summary(evidence),
                frame,
                "transcripts",
            )


def judged_symbol(evidence: AuditResult) -> str:
    """Return the letter of what is judged."""
    return "μ" if evidence.kind == "noise" else "ε₀ of the first selection"


def transcript_summary(evidence: AuditResult) -> str:
    """Say in one sentence how much of the promise was shown to be used."""
    share = evidence.low / evidence.promised
    sentence = (
        f"{evidence.transcripts:,} transcripts of tables of {evidence.records} rows show "
        f"{judged_symbol(evidence)} ≥ "
        f"{evidence.low:.3g} with {EVIDENCE_CONFIDENCE:.0%} confidence: {share:.0%} of the "
        f"{evidence.promised:.3g} that the plan uses"
    )
    return (
        f"{sentence}; more would show up to {evidence.achievable:.3g}."
        if evidence.low < evidence.achievable
        else f"{sentence}."
    )


def measured_curve(result: GameResult | AuditResult, **other_curves: np.ndarray) -> pd.DataFrame:
    """Return a measured trade-off at some false alarms from 0 to 1, and what `more` is there."""
    indices = np.unique(np.linspace(0, len(result.hits) - 1, CURVE_POINTS).astype(int))
    lines = {"false alarms": result.false_alarms, "right": result.hits, **other_curves}
    return pd.DataFrame(
        {name: np.concatenate([[0.0], line[indices], [1.0]]) for name, line in lines.items()}
    )


def transcript_curves(evidence: AuditResult) -> pd.DataFrame:
    """Return the measured, the confidently shown and the promised hit rates by false-alarm rate.

    The false-alarm rates go up to 1.
    """
    frame = measured_curve(evidence)
    for name, parameter in (("promised", evidence.promised), ("shown", evidence.low)):
        frame[name] = promised_hit_rates(evidence.kind, parameter, frame["false alarms"].to_numpy())
    return frame


def game_curves(game_audit: GameResult) -> pd.DataFrame:
    """Return the measured trade-off curve and its limits by false-alarm rate.

    The limits are the one at (ε, δ) and, for Gaussian plans, the sharper limit Φ(Φ⁻¹(q) + μ).
    """
    frame = measured_curve(game_audit, limit=game_audit.limit)
    frame.loc[0, "limit"] = game_audit.budget.delta
    if game_audit.accounting is GdpAccountant:
        mu = gdp_mu(game_audit.promised, game_audit.budget.delta)
        frame["gaussian"] = 1 - guarantee.gaussian_trade_off(frame["false alarms"], mu)
    return frame


def curve_summary(game_audit: GameResult, frame: pd.DataFrame) -> str:
    """Return a sentence on the point of the measured curve farthest above its limit.

    Where the limit is kept, it is the point farthest above a coin. The limit is the one that the
    verdict rests on: that of the plan's μ where it is drawn and gave the larger ε.
    """
    is_gaussian_sharper = "gaussian" in frame and game_audit.accounted_low >= game_audit.epsilon_low
    limit_column = "gaussian" if is_gaussian_sharper else "limit"
    excess = frame["right"] - frame[limit_column]
    is_breach = not game_audit.kept and float(excess.max()) > 0
    point_index = int((excess if is_breach else frame["right"] - frame["false alarms"]).argmax())
    alarms, right, limit = (
        float(frame[of][point_index]) for of in ("false alarms", "right", limit_column)
    )
    sentence = (
        f"At {alarms:.1%} false alarms the second table is recognised {right:.1%} of the time"
    )
    return f"{sentence}; the promise allows no more than {limit:.1%}."


def _trade_off_figure(frame: pd.DataFrame, names: dict[str, str]) -> go.Figure:
    """Return a chart of the named curves that `frame` has against false alarms, and a coin's.

    The measured curve comes first.
    """
    frame = frame.assign(coin=frame["false alarms"])
    names = {name: title for name, title in names.items() if name in frame} | {"coin": "a coin"}
    return privacy_charts.trade_off_chart(
        frame, names, ("false alarms: says second, is first", "right: says second, is second")
    )
