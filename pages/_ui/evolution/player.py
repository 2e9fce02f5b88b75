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
        player_container, button_row = st.container(), row()
    with side:
        promise_container = st.container()
        sample, n, budget, setting_texts, seeds = _settings(experts, button_row)
    problem, rows = points(sample, n)
    algorithm = build(PE, setting_texts)
    plan = algorithm.plan(problem, budget)
    with promise_container:
        guess_rate = Promise.of_plan(plan, adaptive=algorithm.adaptive).guess()
        show_tiles([guess_tile(guess_rate)], "Protects one place per person; several need more noise.")
    runs = tab_runs("evolve")
    task = (sample, n, budget, tuple(sorted(setting_texts.items())), seeds)
    if runs.asked != task:
        runs.start(task, _wanted(setting_texts, problem, rows, budget, plan["samples"], seeds))
    with player_container:
        watch(runs, "evolve", enough=2)  # the path and one start are enough for the player
    results_by_kind = {}
    for (what, _), result in runs.results:
        results_by_kind.setdefault(what, []).append(result)
    if "path" not in results_by_kind or "start" not in results_by_kind:
        return
    title, usefulness_text, lengths = "Random places are becoming a map like the real one", "", {"5 km": 5 / KM}
    if done := runs.ended and "curve" in results_by_kind:
        distances = result_panels.curves(results_by_kind["start"] + results_by_kind["curve"])
        km_by_step = (KM * distances["w1"]).groupby(distances["t"]).agg(["median", "min", "max"])
        final_km = km_by_step["median"].iloc[-1]
        distance_text = f"{final_km:.1f} km off"
        lengths[distance_text] = final_km / KM
        if not st.session_state.get(PLAYS, True):
            title = f"Done: the map is {distance_text} on average"
        usefulness_text = f"**Good for: areas over {np.ceil(2 * final_km):.0f} km wide.** Not for: streets or homes."
    with player_container:
        heading(title)
        st.markdown(usefulness_text)
        _player(
            rows, results_by_kind["start"][0].release, results_by_kind["path"][0].path, lengths, button_row, experts
        )
    if done:
        with side:
            _curve(budget.epsilon, km_by_step)
        with experts:
            result_panels.accounts(next(job for (what, _), job in runs.jobs if what == "curve" and job.results))


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
        help_text = "The paper's algorithms by name; what you choose below replaces what the preset says."
        preset = st.selectbox("Preset", [OWN, *PE.presets], key="pe-preset", help=help_text, **parameter_widgets.KEPT)
        help_text = "Auto: ln(nε), or 2 ln(nε) in the paper's simulations."
        rounds = st.select_slider(
            "T, steps", ROUNDS, AS_PRESET, key="pe-rounds", help=help_text, **parameter_widgets.KEPT
        )
        selected = {"rounds": rounds}
        for p in parameters(PE):
            if p.name in ("post", "sampling", "release"):
                help_text, choices = p.doc[0].upper() + p.doc[1:] + ".", [AS_PRESET, *p.choices]
                selected[p.name] = st.selectbox(
                    p.name, choices, key=f"pe-{p.name}", help=help_text, **parameter_widgets.KEPT
                )
        help_text = "The chart shows the range over runs with repeat numbers 0, 1, …"
        seeds = st.number_input("Repeats", 1, 20, 5, key="pe-seeds", help=help_text, **parameter_widgets.KEPT)
    changed_settings = {name: str(value) for name, value in selected.items() if value != AS_PRESET}
    setting_texts = PE.presets.get(preset, {}) | changed_settings
    return sample, n, budget, setting_texts, int(seeds)


def _wanted(
    texts: dict[str, str], problem: PointRelease, rows: Rows, budget: Budget, kept: int, seeds: int
) -> Iterator[WantedRun]:
    """Every step of one run with all its candidates, the initial points, and the distance at every step of all."""
    start = {"rounds": "0", "samples": str(kept)}
    runs = [("path", 0, {"release": "weights"}, {"every": LAST, "path": True})]
    for seed in range(seeds):
        runs += [("start", seed, start, {}), ("curve", seed, {}, {"every": 1})]
    for what, seed, changed_settings, run_options in runs:
        task = {
            "algorithm": build(PE, texts | changed_settings),
            "problem": problem,
            "budget": budget,
            "seeds": (seed,),
        }
        yield WantedRun((what, seed), rows, {**task, **run_options})


@peek
def _player(rows: Rows, start: Points, path: list[Points], lengths: dict[str, float], place: Any, experts: Any) -> None:
    """Draw what evolves, `lengths` below the maps, and in its `place` what plays it; a table goes to `experts`."""
    private = np.repeat(rows.values, rows.weights, axis=0)
    steps = [(start.points, start.weights, start.weights < 0)]
    for S in path:
        false_votes = S.weights > 0
        false_votes[KDTree(S.points).query(private)[1]] = False
        steps.append((S.points, S.weights, false_votes))
    steps[-1] = V, weights, _ = tuple(part[steps[-1][1] > 0] for part in steps[-1])  # what goes out
    _plays(private, steps, lengths, place)
    with experts:
        result_panels.below("What goes out.", pd.DataFrame(V, columns=NAMES).assign(votes=weights), "evolution")


def _plays(private: np.ndarray, steps: list[tuple[np.ndarray, ...]], lengths: dict[str, float], place: Any) -> None:
    """Draw the chart of step t, a slider over t, and in `place` a button that moves it on by itself."""
    T, session_state = len(steps) - 1, st.session_state
    step_key, shown_step_key = f"evolve-t-{T}", "evolve-shown"
    if PLAYS not in session_state:  # it plays by itself once
        session_state[PLAYS], session_state[shown_step_key] = True, -1

    def press() -> None:
        session_state[PLAYS] = not session_state[PLAYS]
        if not session_state[PLAYS]:
            session_state[step_key] = session_state[shown_step_key]
        else:
            # at its end it begins again
            session_state[shown_step_key] = -1 if session_state[step_key] >= T else session_state[step_key]

    def draw() -> None:
        # apart: a slow browser still sends steps that were shown before
        key = f"{step_key}-playing" if session_state[PLAYS] else step_key
        if session_state[PLAYS]:
            session_state[key] = session_state[shown_step_key] = min(session_state[shown_step_key] + 1, T)
            if session_state[shown_step_key] == T:
                session_state[PLAYS], session_state[step_key] = False, T
                st.rerun()
        st.html(MAPS)
        chart = st.container(key="maps")
        t = st.slider("Step", 0, T, key=key, disabled=session_state[PLAYS])
        V, weights, false_votes = steps[t]
        largest_gap_km = KM * KDTree(private).query(V[false_votes])[0].max(initial=0)
        alt = f"Step {t} of {T}: {np.count_nonzero(weights):,} of {len(V):,} invented points have votes."
        figure = evolution_charts.step(private, V, weights, false_votes, DISC.corners, largest_gap_km, lengths)
        chart.plotly_chart(figure, key="evolution", alt=alt, config=result_panels.QUIET, height="stretch")

    icon = f":material/{'pause' if session_state[PLAYS] else 'play_arrow'}:"
    place.button("Pause" if session_state[PLAYS] else "Play", icon=icon, key="evolve-play", on_click=press)
    st.fragment(draw, run_every=SECOND if session_state[PLAYS] else None)()


@peek
def _curve(epsilon: float, by: pd.DataFrame) -> None:
    """Draw the km against t, and say what the steps cost."""
    first, *_, last = medians = by["median"]
    step = (medians <= first - 0.9 * (first - last)).idxmax()
    heading(
        f"90% of the gain comes by step {step}" if last < first else "No gain: noise decided",
        words="Shaded: all repeats. Measured, not proved.",
    )
    summary = f"ε = {epsilon:g} covers all steps; their number, {len(by) - 1}, is set beforehand. "
    summary += "Each real place votes for the nearest invented one. Noise adds false votes."
    result_panels.panel(evolution_charts.distances(by), summary, by.reset_index(), "distance")
