"""Watch points evolve: a public sample, the player, and beside it the distance after each step."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.algorithms import ALGORITHMS
from dpcore.algorithms.base import Algorithm
from dpcore.data.domain import Rows
from dpcore.experiments.pool import Result
from dpcore.geometry.point_samples import DISC, NAMES, POINT_SAMPLES
from dpcore.geometry.regions import point_rows
from dpcore.params import build, parameters
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import PointRelease
from dpcore.publishing import tiles as tiled
from dpcore.theory import evolution as theory
from dpcore.theory.meaning import Promise

from ..charts import evolution as evolution_charts
from ..jobs.job import watch
from ..jobs.runs import LAST, WantedRun, tab_runs
from ..shell import controls, results
from ..shell.frame import heading, peek
from ..shell.state import stakeholder
from ..shell.verdict import show_tiles

PE = ALGORITHMS["private_evolution"]
OWN, AS_PRESET = "our defaults", "as the preset"
SIZES = [100, 200, 500, 1000, 2000]
ROUNDS = [AS_PRESET, *range(1, 31)]
SECOND = 0.7  # of a step, while it plays


@st.cache_resource(max_entries=64, show_spinner=False)
def points(sample: str, n: int, seed: int = 0) -> tuple[PointRelease, Rows]:
    """Return n points of a public sample, and the problem of releasing them."""
    rows = point_rows(DISC, NAMES, POINT_SAMPLES[sample].table(n, seed))
    return PointRelease(DISC, rows.n, NAMES), rows


def watch_it() -> None:
    """Draw the whole part. Raises InputError for settings that do not go together."""
    main, side = st.columns([3, 2], gap="large")  # side by side, so that nothing has to be scrolled while it plays
    experts = st.expander("For experts: settings, and budget used")
    with side:
        sample, n, budget, texts, seeds = _settings(experts)
    problem, rows = points(sample, n)
    algorithm = build(PE, texts)
    plan = algorithm.plan(problem, budget)
    right = Promise.of_plan(plan, adaptive=algorithm.adaptive).guess()
    with side:
        words = "Publish only the orange points. Yours would replace the blue ones."
        show_tiles([tiled.guess(right, budget.epsilon)], words)
    mine = tab_runs("evolve")
    asked = (sample, n, budget, tuple(sorted(texts.items())), seeds)
    if mine.asked != asked:
        mine.start(asked, _wanted(algorithm, texts, problem, rows, budget, plan["samples"], seeds))
    with main:
        watch(mine, "evolve", enough=2)  # the path and one start are enough for the player
    found: dict[str, list[Result]] = {}
    for (what, _), result in mine.results:
        found.setdefault(what, []).append(result)
    if "path" in found and "start" in found and not stakeholder():
        with main:
            _player(rows, found["start"][0], found["path"][0])
    if mine.ended and "curve" in found and "start" in found:
        if not stakeholder():
            with side:
                _curve(found, problem)
        with experts:
            results.accounts(next(job for (what, _), job in mine.jobs if what == "curve" and job.results))


def _settings(experts: Any) -> tuple[str, int, Budget, dict[str, str], int]:
    """Draw the widgets, those for `experts` in their place."""
    titles = {sample.title: name for name, sample in POINT_SAMPLES.items()}
    sample = titles[st.selectbox("Public example", list(titles), 1, key="pe-sample", **controls.KEPT)]
    budget = controls.budget(experts)
    with experts:
        n = st.select_slider("n, private points", SIZES, 500, controls.number, key="pe-n", **controls.KEPT)
        words = "The paper's algorithms by name; what you choose below replaces what the preset says."
        preset = st.selectbox("Preset", [OWN, *PE.presets], key="pe-preset", help=words, **controls.KEPT)
        words = "Auto: ln(nε), or 2 ln(nε) in the paper's simulations."
        rounds = st.select_slider("T, steps", ROUNDS, AS_PRESET, key="pe-rounds", help=words, **controls.KEPT)
        listed = {p.name: p for p in parameters(PE) if p.name in ("post", "sampling", "release")}
        texts = dict(PE.presets.get(preset, {}))
        for p in listed.values():
            words = p.doc[0].upper() + p.doc[1:] + "."
            value = st.selectbox(p.name, [AS_PRESET, *p.choices], key=f"pe-{p.name}", help=words, **controls.KEPT)
            texts |= {p.name: value} if value != AS_PRESET else {}
        words = "The chart shows the range over runs with repeat numbers 0, 1, …"
        seeds = st.number_input("Repeats", 1, 20, 5, key="pe-seeds", help=words, **controls.KEPT)
        texts |= {"rounds": str(rounds)} if rounds != AS_PRESET else {}
    return sample, n, budget, texts, int(seeds)


def _wanted(
    algorithm: Algorithm,
    texts: dict[str, str],
    problem: PointRelease,
    rows: Rows,
    budget: Budget,
    kept: int,
    seeds: int,
) -> Iterator[WantedRun]:
    """The initial points, every step of one run with all its candidates, and the distance at every step of all."""
    base: dict[str, Any] = {"problem": problem, "budget": budget}
    start = build(PE, texts | {"rounds": "0", "samples": str(kept)})
    whole = build(PE, texts | {"release": "weights"})
    yield WantedRun(("path", 0), rows, {**base, "algorithm": whole, "seeds": (0,), "every": LAST, "path": True})
    for seed in range(seeds):
        yield WantedRun(("start", seed), rows, {**base, "algorithm": start, "seeds": (seed,)})
    for seed in range(seeds):
        yield WantedRun(("curve", seed), rows, {**base, "algorithm": algorithm, "seeds": (seed,), "every": 1})


@peek
def _player(rows: Rows, start: Result, path: Result) -> None:
    heading("Invented points gather where real ones are")
    above, place = st.container(), st.container()
    releases: list[Any] = [start.release, *path.path]
    steps = [(release.points, release.weights) for release in releases]
    with above:
        _plays(np.repeat(rows.values, rows.weights, axis=0), steps, place)
    place.caption("Each real point votes for the nearest invented one. Noise hides every vote.")
    kept = [int(np.count_nonzero(weights)) for _, weights in steps]
    summary = f"From {len(steps[0][0])} random points to {kept[-1]:,}. Those without votes (×) are dropped."
    lines = [
        pd.DataFrame({"t": t, "x": V[w > 0, 0], "y": V[w > 0, 1], "weight": w[w > 0]}) for t, (V, w) in enumerate(steps)
    ]
    results.below(summary, pd.concat(lines[::-1], ignore_index=True), "evolution")


def _plays(private: np.ndarray, steps: list[tuple[np.ndarray, np.ndarray]], place: Any) -> None:
    """Draw the chart of step t, a slider over t, and in `place` a button that moves it on by itself."""
    T, now = len(steps) - 1, st.session_state
    at, plays, shown = f"evolve-t-{T}", "evolve-plays", "evolve-shown"
    if plays not in now:  # it plays by itself once
        now[plays], now[shown] = True, -1

    def press() -> None:
        now[plays] = not now[plays]
        if not now[plays]:
            now[at] = now[shown]
        else:
            now[shown] = -1 if now[at] >= T else now[at]  # at its end it begins again

    def draw() -> None:
        key = f"{at}-playing" if now[plays] else at  # apart: a slow browser still sends steps that were shown before
        if now[plays]:
            now[key] = now[shown] = min(now[shown] + 1, T)
            if now[shown] == T:
                now[plays], now[at] = False, T
                st.rerun()
        chart = st.container()
        t = st.slider("Step", 0, T, key=key, disabled=now[plays])
        V, weights = steps[t]
        alt = f"Step {t} of {T}: {np.count_nonzero(weights):,} of {len(V):,} invented points have votes."
        figure = evolution_charts.step(private, V, weights, DISC.bounds)
        chart.plotly_chart(figure, key="evolution", alt=alt, config=results.QUIET)

    icon = f":material/{'pause' if now[plays] else 'play_arrow'}:"
    place.button("Pause" if now[plays] else "Play", icon=icon, key="evolve-play", on_click=press)
    st.fragment(draw, run_every=SECOND if now[plays] else None)()


@peek
def _curve(found: dict[str, list[Result]], problem: PointRelease) -> None:
    """Draw W1 against t as a share of the width; a theorem whose error exceeds the width is a sentence, not a line."""
    frame = results.curves(found["start"] + found["curve"])
    settled = found["curve"][0].summary["parameters"]
    D, d = problem.diameter, problem.d
    frame["distance"] = frame["w1"] / D
    by = frame.groupby("t")["distance"].median()
    first, last = float(by.iloc[0]), float(by.iloc[-1])
    noise = {name: settled[name] for name in ("alpha", "sigma", "levels", "samples")}
    err = theory.error(**noise, d=d, D=D)
    heading(f"They end {last:.0%} of the map's width away")
    summary = f"Mean distance at the start: {first:.0%}. Shaded: all repeats."
    words = "" if err < D else " It is measured; no theorem promises it for so few points."
    results.panel(evolution_charts.distances(frame), summary + words, frame, "distance")
