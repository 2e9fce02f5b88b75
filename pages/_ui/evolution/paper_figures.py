"""Paper's figures from live runs, beside a reference.

They are about initialisation, steps, number of samples, and clustered or spread points.
"""

from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Budget
from dpcore.algorithms import Algorithm
from dpcore.core.parameters import build_from_texts
from dpcore.core.types import value_object
from dpcore.evaluation.run import FINAL_STEP_ONLY

from ..charts import evolution_charts
from ..components import (
    ADDRESS_WIDGET_ARGS,
    draw_heading,
    hide_in_stakeholder_view,
    inline_container,
    result_panels,
)
from ..jobs import JobGroup, PlannedRun, tab_job_group, wait_or_draw_progress
from .player import PE, sample_points

PAPER_BUDGET = Budget(1.0, 1e-4)  # the paper's
POINT_COUNTS = [500, 1000, 2000]
STEP_COUNTS = (2, 4, 8, 30)
RATIOS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
BETAS = (0.0, 0.1, 0.25, 0.5)
TREATMENTS = ("truncate", "bounded-lipschitz", "laplace")

# Means of 100 runs, and their standard errors, of a separate implementation: what is drawn as
# “reference”.
REFERENCE_FILE = Path(__file__).parents[3] / "assets" / "evolution.csv"
# samples by the radius of the disc that they fill
SAMPLE_BY_RADIUS = {
    0.02: "tight",
    0.5: "spread",
}
# Each line on the chart and place on its axis, with settings of the algorithm that differ, and its
# sample.
SettingsByLineAndX = dict[tuple[str, float], dict[str, Any]]


@value_object
class PaperFigure:
    """One figure: its question, its axis, and what it runs at n."""

    question: str
    axis: str
    settings: Callable[[int], SettingsByLineAndX]
    mark: Callable[[int], tuple[str, float]] | None = None
    every: int = FINAL_STEP_ONLY
    sizes: list[int] = field(default_factory=lambda: POINT_COUNTS)


def _build_simulation(settings: dict[str, Any]) -> Algorithm:
    return build_from_texts(
        PE, PE.presets["simulations"] | {name: str(value) for name, value in settings.items()}
    )


def _default_plan(n: int) -> Any:
    return _build_simulation({}).plan(sample_points("quarter", n)[0], PAPER_BUDGET)


def _settings_by_sample_count(n: int) -> SettingsByLineAndX:
    best = _default_plan(n)["samples"]
    return {(f"n = {n}", r): {"samples": max(1, round(r * best))} for r in RATIOS}


FIGURES = {
    "2: initialisation": PaperFigure(
        "How much does the start matter?",
        "step",
        lambda _: {(f"β = {beta:g}", beta): {} for beta in BETAS},
        every=1,
        sizes=[500, 1000],
    ),
    "3: number of steps": PaperFigure(
        "How many steps are best?",
        "T, number of steps",
        lambda n: {
            (f"n = {n}", float(T)): {"rounds": T}
            for T in sorted({*STEP_COUNTS, _default_plan(n)["rounds"]})
        },
        mark=lambda n: ("predicted T = 2 ln(nε)", float(_default_plan(n)["rounds"])),
    ),
    "3: number of samples": PaperFigure(
        "How many samples are best?",
        "n_s as a multiple of what Theorem 4.1 says",
        _settings_by_sample_count,
        mark=lambda n: (f"predicted n_s = {_default_plan(n)['samples']}", 1.0),
    ),
    "4: clustered or spread": PaperFigure(
        "Which noise for clustered points, which for spread ones?",
        "radius of the disc the points fill",
        lambda _: {
            (post, r): {"post": post, "sample": name}
            for post in TREATMENTS
            for r, name in SAMPLE_BY_RADIUS.items()
        },
        sizes=[1000],
    ),
}


def draw_figures() -> None:
    """Draw the widgets that choose a figure, run it in the pool, draw it beside the reference."""
    with st.container(border=True, key="figure-settings"):
        left_column, middle_column, right_column = st.columns(3)
        name = left_column.selectbox(
            "Figure", list(FIGURES), 1, key="pe-figure", **ADDRESS_WIDGET_ARGS
        )
        figure = FIGURES[name]
        n = middle_column.selectbox(
            "n, private points",
            figure.sizes,
            figure.sizes.index(1000),
            key=f"pe-n-{name[:4]}{name[-3:]}",
            persist_state="session",
        )
        runs = right_column.number_input(
            "Runs of each setting",
            2,
            100,
            20,
            key="pe-runs",
            help="Each with its own sample.",
            **ADDRESS_WIDGET_ARGS,
        )
        with inline_container():
            pressed = st.button("Run the figure", type="primary", icon=":material/play_arrow:")
            st.caption(
                "Settings of Gonzalez, Fanti and Ramdas (2025): ε = 1, δ = 1e-4. Every run ends "
                "with an exact W1."
            )
    run_group = tab_job_group("figures")
    if pressed:
        run_group.start((name, n, int(runs)), _wanted_runs(figure, n, int(runs)), (name, n))
    if not run_group.jobs:
        st.info("Press the button. Figure 2 measures every step, so it takes longest.")
        return
    if wait_or_draw_progress(run_group, "figures") and run_group.results:
        _draw_figure(run_group, *run_group.context)


def _wanted_runs(figure: PaperFigure, n: int, runs: int) -> Iterator[PlannedRun]:
    for seed in range(runs):
        for setting, changed_settings in figure.settings(n).items():
            problem, rows = sample_points(changed_settings.pop("sample", "quarter"), n, seed)
            algorithm = _build_simulation(changed_settings)
            # the initialisation: S_0 = (1 − 2β) S, which only a public sample allows
            if figure.every == 1:
                S = np.repeat(rows.values, rows.weights, axis=0)
                initial_points = (1 - 2 * setting[1]) * S
                algorithm = algorithm.with_public_initial_points(initial_points)
            task = {
                "algorithm": algorithm,
                "problem": problem,
                "budget": PAPER_BUDGET,
                "seeds": (seed,),
            }
            yield PlannedRun(setting, rows, {**task, "every": figure.every})


@hide_in_stakeholder_view
def _draw_figure(run_group: JobGroup, name: str, n: int) -> None:
    """Draw means and standard errors of the finished runs beside the reference.

    A sentence says how they agree with it.
    """
    figure = FIGURES[name]
    lines = [
        {
            "line": line,
            "x": float(record.t) if figure.every == 1 else x,
            "w1": record.empirical.w1,
        }
        for (line, x), result in run_group.results
        for record in result.summary.convergence
    ]
    grouped = pd.DataFrame(lines).groupby(["line", "x"])["w1"]
    measured = grouped.agg(
        mean="mean", error=lambda v: v.std(ddof=1) / len(v) ** 0.5, runs="size"
    ).reset_index()
    reference_table = pd.read_csv(REFERENCE_FILE)
    reference = reference_table[
        (reference_table["figure"] == name) & (reference_table["n"] == n)
    ].drop(columns=["figure", "n"])
    draw_heading(figure.question)
    merged = measured.merge(reference, on=["line", "x"], how="left", suffixes=("", "_reference"))
    compared = merged.dropna(subset="mean_reference")
    gap_in_standard_errors = (compared["mean"] - compared["mean_reference"]).abs() / np.hypot(
        compared["error"], compared["error_reference"]
    )
    best = measured.loc[measured["mean"].idxmin()]
    summary = f"The smallest mean W1 is {best['mean']:.3g} ({best['line']}, at {best['x']:g})."
    if len(compared):
        summary += (
            f" {int((gap_in_standard_errors <= 4).sum())} of {len(compared)} means lie within "
            "four standard "
            "errors of the reference."
        )
    chart = evolution_charts.settings_chart(
        measured,
        reference,
        figure.axis,
        log=figure.every != 1,
        marked_setting=None if figure.mark is None else figure.mark(n),
    )
    result_panels.draw_chart_panel(chart, summary, merged, "figure")
