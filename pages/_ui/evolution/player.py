"""Watch points evolve: a public sample, the player, and beside it the distance after each step."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from scipy.spatial import KDTree

from dpcore import ALGORITHMS, Budget, PointRelease, Rows
from dpcore.accuracy.meaning_of_epsilon import Promise, guess_tile_texts
from dpcore.core.parameters import build_from_texts, declared_parameters
from dpcore.core.provenance import Provenance
from dpcore.evaluation.run import FINAL_STEP_ONLY
from dpcore.evaluation.sweeps.worker_pool import RunResult
from dpcore.models.releases import ReleasedPoints
from dpcore.problems.point_samples import COORDINATE_NAMES, POINT_SAMPLES, UNIT_DISC
from dpcore.problems.regions import read_point_rows

from ..charts import evolution_charts
from ..components import (
    draw_heading,
    hide_in_stakeholder_view,
    inline_container,
    parameter_widgets,
    result_panels,
    show_tiles,
)
from ..components.frame import set_page_badge
from ..jobs import PlannedRun, tab_job_group, wait_or_draw_progress
from ..session.render_turns import redraw_page

PE = ALGORITHMS["private_evolution"]
DEFAULT_PRESET = "our defaults"
PRESET_VALUE = "as the preset"
POINT_COUNTS = [100, 200, 500, 1000, 2000]
ROUND_OPTIONS = [PRESET_VALUE, *range(1, 31)]
# as high as two maps are
MAPS_STYLE = "<style>.st-key-maps {aspect-ratio: 2 / 1.3; max-height: min(28rem, 46vh);}</style>"
IS_PLAYING_KEY = "evolve-plays"  # whether it does
STEP_SECONDS = 0.7  # of a step, while it plays
KM_PER_UNIT = 10  # in a unit of the map


@st.cache_resource(max_entries=64, show_spinner=False)
def sample_points(sample: str, n: int, seed: int = 0) -> tuple[PointRelease, Rows]:
    """Return n points of a public sample, and the problem of releasing them."""
    rows = read_point_rows(UNIT_DISC, COORDINATE_NAMES, POINT_SAMPLES[sample].draw_table(n, seed))
    return PointRelease(UNIT_DISC, rows.n, COORDINATE_NAMES), rows


def draw_player() -> None:
    """Draw the whole part. Raises InputError for settings that do not go together."""
    set_page_badge(Provenance.PUBLIC)
    # side by side, so that nothing has to be scrolled while it plays
    main, side = st.columns([2, 1], gap="medium")
    experts = st.expander("For experts: settings, and budget used")
    with main:
        player_container = st.container()
        button_row = inline_container()
    with side:
        promise_container = st.container()
        sample, n, budget, setting_texts, seeds = _choose_settings(experts, button_row)
    problem, rows = sample_points(sample, n)
    algorithm = build_from_texts(PE, setting_texts)
    plan = algorithm.plan(problem, budget)
    with promise_container:
        _draw_promise(Promise.of_plan(plan, adaptive=algorithm.adaptive))
    runs = tab_job_group("evolve")
    task = (sample, n, budget, tuple(sorted(setting_texts.items())), seeds)
    if runs.requested != task:
        runs.start(task, _wanted_runs(setting_texts, problem, rows, budget, plan["samples"], seeds))
    with player_container:
        # the path and one start are enough for the player
        wait_or_draw_progress(runs, "evolve", redraw_count=2)
    results_by_kind = {}
    for (what, _), result in runs.results:
        results_by_kind.setdefault(what, []).append(result)
    if "path" not in results_by_kind or "start" not in results_by_kind:
        return
    km_by_step = None
    if runs.ended and "curve" in results_by_kind:
        km_by_step = _distances_in_km(results_by_kind["start"] + results_by_kind["curve"])
    with player_container:
        _draw_map(rows, results_by_kind, km_by_step, button_row, experts)
    if km_by_step is not None:
        with side:
            _draw_distance_curve(budget.epsilon, km_by_step)
        with experts:
            result_panels.draw_run_plan(
                next(job for job in runs.jobs if job.key[0] == "curve" and job.results)
            )


def _draw_promise(promise: Promise) -> None:
    show_tiles(
        [guess_tile_texts(promise.max_guess_probability())],
        "Protects one place per person; several need more noise.",
    )


def _distances_in_km(results: list[RunResult]) -> pd.DataFrame:
    """Return the median, least and largest distance of runs from the real points, by step."""
    distances = result_panels.convergence_table(results)
    km = KM_PER_UNIT * distances["w1"]
    return km.groupby(distances["t"]).agg(["median", "min", "max"])


def _draw_map(
    rows: Any,
    results_by_kind: dict[str, list[RunResult]],
    km_by_step: pd.DataFrame | None,
    button_row: Any,
    experts: Any,
) -> None:
    """Draw the heading, what the map is good for once that is known, and the map."""
    title = "Random places are becoming a map like the real one"
    usefulness_text = ""
    lengths = {"5 km": 5 / KM_PER_UNIT}
    if km_by_step is not None:
        final_km = km_by_step["median"].iloc[-1]
        distance_text = f"{final_km:.1f} km off"
        lengths[distance_text] = final_km / KM_PER_UNIT
        if not st.session_state.get(IS_PLAYING_KEY, True):
            title = f"Done: the map is {distance_text} on average"
        usefulness_text = (
            f"**Good for: areas over {np.ceil(2 * final_km):.0f} km wide.** Not "
            "for: streets or homes."
        )
    draw_heading(title)
    st.markdown(usefulness_text)
    _draw_evolution(
        rows,
        results_by_kind["start"][0].release,
        results_by_kind["path"][0].path,
        lengths,
        button_row,
        experts,
    )


def _choose_settings(
    experts: Any, budget_container: Any
) -> tuple[str, int, Budget, dict[str, str], int]:
    """Draw the widgets, ε in its `place` and those for `experts` in theirs."""
    titles = {sample.title: name for name, sample in POINT_SAMPLES.items()}
    with inline_container():
        title = st.selectbox(
            "Example", list(titles), 1, key="pe-sample", **parameter_widgets.ADDRESS_WIDGET_ARGS
        )
        st.button("Try my places", on_click=lambda: st.session_state.update(part="My places"))
    with budget_container:
        budget = parameter_widgets.budget_sliders(experts)
    with experts:
        n = st.select_slider(
            "n, private points",
            POINT_COUNTS,
            500,
            parameter_widgets.format_setting,
            key="pe-n",
            **parameter_widgets.ADDRESS_WIDGET_ARGS,
        )
        setting_texts = _choose_algorithm_settings()
        seeds = st.number_input(
            "Repeats",
            1,
            20,
            5,
            key="pe-seeds",
            help="The chart shows the range over runs with repeat numbers 0, 1, …",
            **parameter_widgets.ADDRESS_WIDGET_ARGS,
        )
    return titles[title], n, budget, setting_texts, int(seeds)


def _choose_algorithm_settings() -> dict[str, str]:
    """Draw the preset and what may replace its settings; return the settings as texts."""
    preset = st.selectbox(
        "Preset",
        [DEFAULT_PRESET, *PE.presets],
        key="pe-preset",
        help="The paper's algorithms by name; what you choose below replaces what the preset says.",
        **parameter_widgets.ADDRESS_WIDGET_ARGS,
    )
    selected = {
        "rounds": st.select_slider(
            "T, steps",
            ROUND_OPTIONS,
            PRESET_VALUE,
            key="pe-rounds",
            help="Auto: ln(nε), or 2 ln(nε) in the paper's simulations.",
            **parameter_widgets.ADDRESS_WIDGET_ARGS,
        )
    }
    for p in declared_parameters(PE):
        if p.name in ("post", "sampling", "release"):
            selected[p.name] = st.selectbox(
                p.name,
                [PRESET_VALUE, *p.choices],
                key=f"pe-{p.name}",
                help=p.doc[0].upper() + p.doc[1:] + ".",
                **parameter_widgets.ADDRESS_WIDGET_ARGS,
            )
    changed_settings = {
        name: str(value) for name, value in selected.items() if value != PRESET_VALUE
    }
    return PE.presets.get(preset, {}) | changed_settings


def _wanted_runs(
    setting_texts: dict[str, str],
    problem: PointRelease,
    rows: Rows,
    budget: Budget,
    sample_count: int,
    seeds: int,
) -> Iterator[PlannedRun]:
    """Return the planned runs: one full path, then initial points and a W1 curve per seed.

    The path has every step with all its candidates, the curve the distance at every step.
    """
    start = {"rounds": "0", "samples": str(sample_count)}
    runs = [("path", 0, {"release": "weights"}, {"every": FINAL_STEP_ONLY, "path": True})]
    for seed in range(seeds):
        runs += [("start", seed, start, {}), ("curve", seed, {}, {"every": 1})]
    for what, seed, changed_settings, run_options in runs:
        task = {
            "algorithm": build_from_texts(PE, setting_texts | changed_settings),
            "problem": problem,
            "budget": budget,
            "seeds": (seed,),
        }
        yield PlannedRun((what, seed), rows, {**task, **run_options})


@hide_in_stakeholder_view
def _draw_evolution(
    rows: Rows,
    start: ReleasedPoints,
    path: list[ReleasedPoints],
    lengths: dict[str, float],
    button_container: Any,
    experts: Any,
) -> None:
    """Draw the evolution as maps with a player, and a table of the final points for experts.

    The maps have scale bars of `lengths` below them. The player's button is in `button_container`,
    the
    table in `experts`.
    """
    private = np.repeat(rows.values, rows.weights, axis=0)
    steps = [(start.points, start.weights, start.weights < 0)]
    for S in path:
        false_votes = S.weights > 0
        false_votes[KDTree(S.points).query(private)[1]] = False
        steps.append((S.points, S.weights, false_votes))
    V, weights, false_votes = steps[-1]
    goes_out = weights > 0
    V = V[goes_out]
    weights = weights[goes_out]
    steps[-1] = (V, weights, false_votes[goes_out])
    _draw_playback(private, steps, lengths, button_container)
    with experts:
        result_panels.draw_chart_footer(
            "What goes out.",
            pd.DataFrame(V, columns=COORDINATE_NAMES).assign(votes=weights),
            "evolution",
        )


def _draw_playback(
    private: np.ndarray,
    steps: list[tuple[np.ndarray, ...]],
    lengths: dict[str, float],
    button_container: Any,
) -> None:
    """Draw the maps of step t, a slider over t, and a button that plays the steps.

    The button is in `button_container`.
    """
    T = len(steps) - 1
    session_state = st.session_state
    step_key = f"evolve-t-{T}"
    shown_step_key = "evolve-shown"
    if IS_PLAYING_KEY not in session_state:  # it plays by itself once
        session_state[IS_PLAYING_KEY] = True
        session_state[shown_step_key] = -1

    def toggle_playing() -> None:
        session_state[IS_PLAYING_KEY] = not session_state[IS_PLAYING_KEY]
        if not session_state[IS_PLAYING_KEY]:
            session_state[step_key] = session_state[shown_step_key]
        else:
            # at its end it begins again
            session_state[shown_step_key] = (
                -1 if session_state[step_key] >= T else session_state[step_key]
            )

    def draw_step() -> None:
        # apart: a slow browser still sends steps that were shown before
        key = f"{step_key}-playing" if session_state[IS_PLAYING_KEY] else step_key
        if session_state[IS_PLAYING_KEY]:
            next_step = min(session_state[shown_step_key] + 1, T)
            session_state[shown_step_key] = next_step
            session_state[key] = next_step
            if session_state[shown_step_key] == T:
                session_state[IS_PLAYING_KEY] = False
                session_state[step_key] = T
                redraw_page()
        st.html(MAPS_STYLE)
        chart = st.container(key="maps")
        t = st.slider("Step", 0, T, key=key, disabled=session_state[IS_PLAYING_KEY])
        V, weights, false_votes = steps[t]
        largest_gap_km = KM_PER_UNIT * KDTree(private).query(V[false_votes])[0].max(initial=0)
        alt = (
            f"Step {t} of {T}: {np.count_nonzero(weights):,} of {len(V):,} invented points "
            "have votes."
        )
        figure = evolution_charts.evolution_step_maps(
            private, V, weights, false_votes, UNIT_DISC.corners, largest_gap_km, lengths
        )
        chart.plotly_chart(
            figure, key="evolution", alt=alt, config=result_panels.CHART_CONFIG, height="stretch"
        )

    icon = f":material/{'pause' if session_state[IS_PLAYING_KEY] else 'play_arrow'}:"
    button_container.button(
        "Pause" if session_state[IS_PLAYING_KEY] else "Play",
        icon=icon,
        key="evolve-play",
        on_click=toggle_playing,
    )
    st.fragment(draw_step, run_every=STEP_SECONDS if session_state[IS_PLAYING_KEY] else None)()


@hide_in_stakeholder_view
def _draw_distance_curve(epsilon: float, km_by_step: pd.DataFrame) -> None:
    """Draw the km against t, and say what the steps cost."""
    medians = km_by_step["median"]
    first, *_, last = medians
    step = (medians <= first - 0.9 * (first - last)).idxmax()
    draw_heading(
        f"90% of the gain comes by step {step}" if last < first else "No gain: noise decided",
        help_text="Shaded: all repeats. Measured, not proved.",
    )
    summary = (
        f"ε = {epsilon:g} covers all steps; their number, {len(km_by_step) - 1}, is set "
        "beforehand. "
    )
    summary += "Each real place votes for the nearest invented one. Noise adds false votes."
    result_panels.draw_chart_panel(
        evolution_charts.distance_chart(km_by_step), summary, km_by_step.reset_index(), "distance"
    )
