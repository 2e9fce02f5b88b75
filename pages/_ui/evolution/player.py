"""Watch points evolve: a public sample, the player, and beside it the distance after each step."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import ALGORITHMS, Budget, PointRelease, Rows
from dpcore.experiments.pool import Result
from dpcore.geometry.point_samples import DISC, NAMES, POINT_SAMPLES
from dpcore.geometry.regions import point_rows
from dpcore.params import build, parameters
from dpcore.tags import Tag
from dpcore.theory import evolution as theory
from dpcore.theory.meaning import Promise, guess_tile

from ..charts import evolution as evolution_charts
from ..jobs import LAST, WantedRun, tab_runs, watch
from ..shell import controls, heading, peek, results, row, show_tiles
from ..shell.frame import shows

PE = ALGORITHMS["private_evolution"]
OWN, AS_PRESET = "our defaults", "as the preset"
SIZES = [100, 200, 500, 1000, 2000]
ROUNDS = [AS_PRESET, *range(1, 31)]
MAPS = "<style>.st-key-maps {aspect-ratio: 2 / 1.15; max-height: min(28rem, 43vh);}</style>"  # as high as two maps are
PLAYS = "evolve-plays"  # whether it does
SECOND = 0.7  # of a step, while it plays
WIDTH, SPEED = 20, 40  # of the map in km; km an hour of an ambulance, to compare with


@st.cache_resource(max_entries=64, show_spinner=False)
def points(sample: str, n: int, seed: int = 0) -> tuple[PointRelease, Rows]:
    """Return n points of a public sample, and the problem of releasing them."""
    rows = point_rows(DISC, NAMES, POINT_SAMPLES[sample].table(n, seed))
    return PointRelease(DISC, rows.n, NAMES), rows


def watch_it() -> None:
    """Draw the whole part. Raises InputError for settings that do not go together."""
    shows(Tag.PUBLIC)
    main, side = st.columns([2, 1], gap="large")  # side by side, so that nothing has to be scrolled while it plays
    experts = st.expander("For experts: settings, and budget used")
    with main:
        place, below_it, under = st.container(), row(), st.container()
    with side:
        sample, n, budget, texts, seeds = _settings(experts, below_it)
    problem, rows = points(sample, n)
    algorithm = build(PE, texts)
    plan = algorithm.plan(problem, budget)
    right = Promise.of_plan(plan, adaptive=algorithm.adaptive).guess()
    with side:
        show_tiles([guess_tile(right)], "For yours, open “My places”.")
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
    said, done = "Random points are becoming a map like the real one", mine.ended and "curve" in found
    if done:
        off = results.curves(found["start"] + found["curve"])
        off["distance"] = off["w1"] / problem.diameter * WIDTH
        by = off.groupby("t")["distance"].median()
        if not st.session_state.get(PLAYS, True):
            said = f"Done: random points became a map, {by.iloc[-1]:.1f} km off"
    with place:
        _player(rows, found["start"][0], found["path"][0], said, below_it, under)
    if done:
        with side:
            _curve(found["curve"][0], problem, off, by)
        with experts:
            results.accounts(next(job for (what, _), job in mine.jobs if what == "curve" and job.results))


def _settings(experts: Any, place: Any) -> tuple[str, int, Budget, dict[str, str], int]:
    """Draw the widgets, ε in its `place` and those for `experts` in theirs."""
    titles = {sample.title: name for name, sample in POINT_SAMPLES.items()}
    sample = titles[st.selectbox("Example", list(titles), 1, key="pe-sample", **controls.KEPT)]
    with place:
        budget = controls.budget(experts)
    with experts:
        n = st.select_slider("n, private points", SIZES, 500, controls.number, key="pe-n", **controls.KEPT)
        words = "The paper's algorithms by name; what you choose below replaces what the preset says."
        preset = st.selectbox("Preset", [OWN, *PE.presets], key="pe-preset", help=words, **controls.KEPT)
        words = "Auto: ln(nε), or 2 ln(nε) in the paper's simulations."
        rounds = st.select_slider("T, steps", ROUNDS, AS_PRESET, key="pe-rounds", help=words, **controls.KEPT)
        chosen = {"rounds": rounds}
        for p in parameters(PE):
            if p.name in ("post", "sampling", "release"):
                words, choices = p.doc[0].upper() + p.doc[1:] + ".", [AS_PRESET, *p.choices]
                chosen[p.name] = st.selectbox(p.name, choices, key=f"pe-{p.name}", help=words, **controls.KEPT)
        words = "The chart shows the range over runs with repeat numbers 0, 1, …"
        seeds = st.number_input("Repeats", 1, 20, 5, key="pe-seeds", help=words, **controls.KEPT)
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
def _player(rows: Rows, start: Result, path: Result, said: str, place: Any, under: Any) -> None:
    """Draw what evolves below a finding; what plays it goes to its `place`, and what is seen in words `under` that."""
    heading(said)
    releases = [start.release, *path.path]
    steps = [(release.points, release.weights) for release in releases]
    V, weights = steps[-1]
    V, weights = steps[-1] = V[weights > 0], weights[weights > 0]  # what goes out
    _plays(np.repeat(rows.values, rows.weights, axis=0), steps, place)
    away = np.linalg.norm(V[:, None] - rows.values, axis=2).min(axis=1) * WIDTH / 2  # the disc's radius is 1
    summary = "Each real point votes for the nearest invented one. Noise adds false votes: the farthest point is "
    summary += f"{away.max():.1f} km off. Points without votes (×) drop out."
    lines = [
        pd.DataFrame({"t": t, "x": V[w > 0, 0], "y": V[w > 0, 1], "weight": w[w > 0]}) for t, (V, w) in enumerate(steps)
    ]
    with under:
        results.below(summary, pd.concat(lines[::-1], ignore_index=True), "evolution")


def _plays(private: np.ndarray, steps: list[tuple[np.ndarray, np.ndarray]], place: Any) -> None:
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
        V, weights = steps[t]
        alt = f"Step {t} of {T}: {np.count_nonzero(weights):,} of {len(V):,} invented points have votes."
        figure = evolution_charts.step(private, V, weights, DISC.corners)
        chart.plotly_chart(figure, key="evolution", alt=alt, config=results.QUIET, height="stretch")

    icon = f":material/{'pause' if now[PLAYS] else 'play_arrow'}:"
    place.button("Pause" if now[PLAYS] else "Play", icon=icon, key="evolve-play", on_click=press)
    st.fragment(draw, run_every=SECOND if now[PLAYS] else None)()


@peek
def _curve(result: Result, problem: PointRelease, off: pd.DataFrame, by: pd.Series) -> None:
    """Draw the km against t; a theorem whose error exceeds the map's width is a sentence, not a line."""
    settled, D = result.summary["parameters"], problem.diameter
    first, last = by.iloc[0], by.iloc[-1]
    noise = {name: settled[name] for name in ("alpha", "sigma", "levels", "samples")}
    promised = theory.error(**noise, d=problem.d, D=D) < D
    words = "Shaded: all repeats." if promised else "Measured; no theorem promises it for so few points."
    heading(f"From {first:.1f} to {last:.1f} km in {by.index[-1]} steps", words=words)
    st.markdown(f"**Good for: areas over {np.ceil(2 * last):.0f} km wide.** Not for: streets or homes.")
    summary = f"On average {last:.1f} km: {60 * last / SPEED:.0f} minutes by ambulance at {SPEED} km an hour."
    results.panel(evolution_charts.distances(off), summary, off, "distance")
