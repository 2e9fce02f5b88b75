"""Watch points evolve: a public sample, the player, and beside it the distance after each step."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from scipy.spatial import KDTree

from dpcore import ALGORITHMS, Budget, PointRelease, Rows
from dpcore.accuracy.meaning_of_epsilon import Promise, guess_tile
from dpcore.core.parameters import build, parameters
from dpcore.core.provenance import Tag
from dpcore.models.releases import Points
from dpcore.problems.point_samples import DISC, NAMES, POINT_SAMPLES
from dpcore.problems.regions import point_rows

from ..charts import evolution_charts
from ..components import heading, parameter_widgets, peek, result_panels, row, show_tiles
from ..components.frame import shows
from ..jobs import LAST, WantedRun, tab_runs, watch

PE = ALGORITHMS["private_evolution"]
OWN, AS_PRESET = "our defaults", "as the preset"
SIZES = [100, 200, 500, 1000, 2000]
ROUNDS = [AS_PRESET, *range(1, 31)]
MAPS = "<style>.st-key-maps {aspect-ratio: 2 / 1.3; max-height: min(28rem, 46vh);}</style>"  # as high as two maps are
PLAYS = "evolve-plays"  # whether it does
SECOND = 0.7  # of a step, while it plays
KM = 10  # in a unit of the map


@st.cache_resource(max_entries=64, show_spinner=False)
def points(sample: str, n: int, seed: int = 0) -> tuple[PointRelease, Rows]:
    """Return n points of a public sample, and the problem of releasing them."""
    rows = point_rows(DISC, NAMES, POINT_SAMPLES[sample].table(n, seed))
    return PointRelease(DISC, rows.n, NAMES), rows


def watch_it() -> None:
    """Draw the whole part. Raises InputError for settings that do not go together."""
    shows(Tag.PUBLIC)
    main, side = st.columns([2, 1], gap="medium")  # side by side, so that nothing has to be scrolled while it plays
    experts = st.expander("For experts: settings, and budget used")
    with main:
        place, below_it = st.container(), row()
    with side:
        promised = st.container()
        sample, n, budget, texts, seeds = _settings(experts, below_it)
    problem, rows = points(sample, n)
    algorithm = build(PE, texts)
    plan = algorithm.plan(problem, budget)
    with promised:
        right = Promise.of_plan(plan, adaptive=algorithm.adaptive).guess()
        show_tiles([guess_tile(right)], "Protects one place per person; several need more noise.")
    mine = tab_runs("evolve")
    asked = (sample, n, budget, tuple(sorted(texts.items())), seeds)
    if mine.asked != asked:
        mine.start(asked, _wanted(texts, problem, rows, budget, plan["samples"], seeds))
    with place:
        watch(mine, "evolve", enough=2)  # the path and one start are enough for the player
    found = {}
    for (what, _), result in mine.results:
        found.setdefault(what, []).append(result)
    if "path" not in found or "start" not in found:
        return
    said, good, lengths = "Random places are becoming a map like the real one", "", {"5 km": 5 / KM}
    if done := mine.ended and "curve" in found:
        off = result_panels.curves(found["start"] + found["curve"])
        by = (KM * off["w1"]).groupby(off["t"]).agg(["median", "min", "max"])
        last = by["median"].iloc[-1]
        words = f"{last:.1f} km off"
        lengths[words] = last / KM
        if not st.session_state.get(PLAYS, True):
            said = f"Done: the map is {words} on average"
        good = f"**Good for: areas over {np.ceil(2 * last):.0f} km wide.** Not for: streets or homes."
    with place:
        heading(said)
        st.markdown(good)
        _player(rows, found["start"][0].release, found["path"][0].path, lengths, below_it, experts)
    if done:
        with side:
            _curve(budget.epsilon, by)
        with experts:
            result_panels.accounts(next(job for (what, _), job in mine.jobs if what == "curve" and job.results))


def _settings(experts: Any, place: Any) -> tuple[str, int, Budget, dict[str, str], int]:
    """Draw the widgets, ε in its `place` and those for `experts` in theirs."""
    titles = {sample.title: name for name, sample in POINT_SAMPLES.items()}
    with row():
        sample = titles[st.selectbox("Example", list(titles), 1, key="pe-sample", **parameter_widgets.KEPT)]
        st.button("Try my places", on_click=lambda: st.session_state.update(part="My places"))
    with place:
        budget = parameter_widgets.budget(experts)
    with experts:
        n = st.select_slider(
            "n, private points", SIZES, 500, parameter_widgets.number, key="pe-n", **parameter_widgets.KEPT
        )
        words = "The paper's algorithms by name; what you choose below replaces what the preset says."
        preset = st.selectbox("Preset", [OWN, *PE.presets], key="pe-preset", help=words, **parameter_widgets.KEPT)
        words = "Auto: ln(nε), or 2 ln(nε) in the paper's simulations."
        rounds = st.select_slider("T, steps", ROUNDS, AS_PRESET, key="pe-rounds", help=words, **parameter_widgets.KEPT)
        chosen = {"rounds": rounds}
        for p in parameters(PE):
            if p.name in ("post", "sampling", "release"):
                words, choices = p.doc[0].upper() + p.doc[1:] + ".", [AS_PRESET, *p.choices]
                chosen[p.name] = st.selectbox(p.name, choices, key=f"pe-{p.name}", help=words, **parameter_widgets.KEPT)
        words = "The chart shows the range over runs with repeat numbers 0, 1, …"
        seeds = st.number_input("Repeats", 1, 20, 5, key="pe-seeds", help=words, **parameter_widgets.KEPT)
    own = {name: str(value) for name, value in chosen.items() if value != AS_PRESET}
    texts = PE.presets.get(preset, {}) | own
    return sample, n, budget, texts, int(seeds)


def _wanted(
    texts: dict[str, str], problem: PointRelease, rows: Rows, budget: Budget, kept: int, seeds: int
) -> Iterator[WantedRun]:
    """Every step of one run with all its candidates, the initial points, and the distance at every step of all."""
    start = {"rounds": "0", "samples": str(kept)}
    runs = [("path", 0, {"release": "weights"}, {"every": LAST, "path": True})]
    for seed in range(seeds):
        runs += [("start", seed, start, {}), ("curve", seed, {}, {"every": 1})]
    for what, seed, own, more in runs:
        facts = {"algorithm": build(PE, texts | own), "problem": problem, "budget": budget, "seeds": (seed,)}
        yield WantedRun((what, seed), rows, {**facts, **more})


@peek
def _player(rows: Rows, start: Points, path: list[Points], lengths: dict[str, float], place: Any, experts: Any) -> None:
    """Draw what evolves, `lengths` below the maps, and in its `place` what plays it; a table goes to `experts`."""
    private = np.repeat(rows.values, rows.weights, axis=0)
    steps = [(start.points, start.weights, start.weights < 0)]
    for S in path:
        false = S.weights > 0
        false[KDTree(S.points).query(private)[1]] = False
        steps.append((S.points, S.weights, false))
    steps[-1] = V, weights, _ = tuple(part[steps[-1][1] > 0] for part in steps[-1])  # what goes out
    _plays(private, steps, lengths, place)
    with experts:
        result_panels.below("What goes out.", pd.DataFrame(V, columns=NAMES).assign(votes=weights), "evolution")


def _plays(private: np.ndarray, steps: list[tuple[np.ndarray, ...]], lengths: dict[str, float], place: Any) -> None:
    """Draw the chart of step t, a slider over t, and in `place` a button that moves it on by itself."""
    T, now = len(steps) - 1, st.session_state
    at, shown = f"evolve-t-{T}", "evolve-shown"
    if PLAYS not in now:  # it plays by itself once
        now[PLAYS], now[shown] = True, -1

    def press() -> None:
        now[PLAYS] = not now[PLAYS]
        if not now[PLAYS]:
            now[at] = now[shown]
        else:
            now[shown] = -1 if now[at] >= T else now[at]  # at its end it begins again

    def draw() -> None:
        key = f"{at}-playing" if now[PLAYS] else at  # apart: a slow browser still sends steps that were shown before
        if now[PLAYS]:
            now[key] = now[shown] = min(now[shown] + 1, T)
            if now[shown] == T:
                now[PLAYS], now[at] = False, T
                st.rerun()
        st.html(MAPS)
        chart = st.container(key="maps")
        t = st.slider("Step", 0, T, key=key, disabled=now[PLAYS])
        V, weights, false = steps[t]
        off = KM * KDTree(private).query(V[false])[0].max(initial=0)
        alt = f"Step {t} of {T}: {np.count_nonzero(weights):,} of {len(V):,} invented points have votes."
        figure = evolution_charts.step(private, V, weights, false, DISC.corners, off, lengths)
        chart.plotly_chart(figure, key="evolution", alt=alt, config=result_panels.QUIET, height="stretch")

    icon = f":material/{'pause' if now[PLAYS] else 'play_arrow'}:"
    place.button("Pause" if now[PLAYS] else "Play", icon=icon, key="evolve-play", on_click=press)
    st.fragment(draw, run_every=SECOND if now[PLAYS] else None)()


@peek
def _curve(epsilon: float, by: pd.DataFrame) -> None:
    """Draw the km against t, and say what the steps cost."""
    first, *_, last = middle = by["median"]
    most = (middle <= first - 0.9 * (first - last)).idxmax()
    heading(
        f"90% of the gain comes by step {most}" if last < first else "No gain: noise decided",
        words="Shaded: all repeats. Measured, not proved.",
    )
    summary = f"ε = {epsilon:g} covers all steps; their number, {len(by) - 1}, is set beforehand. "
    summary += "Each real place votes for the nearest invented one. Noise adds false votes."
    result_panels.panel(evolution_charts.distances(by), summary, by.reset_index(), "distance")
