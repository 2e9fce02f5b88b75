"""The paper's figures, live: initialisation, steps, number of samples, clustered or spread; a reference beside them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.algorithms.base import Algorithm
from dpcore.params import build
from dpcore.privacy.accounting.budget import Budget

from ..charts import evolution as evolution_charts
from ..jobs.job import watch
from ..jobs.runs import LAST, Runs, WantedRun, tab_runs
from ..shell import results
from ..shell.controls import KEPT
from ..shell.frame import heading, peek
from ..shell.state import stakeholder
from .player import PE, points

BUDGET = Budget(1.0, 1e-4)  # the paper's
SIZES = [500, 1000, 2000]
STEPS = (2, 4, 8, 30)
RATIOS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
BETAS = (0.0, 0.1, 0.25, 0.5)
TREATMENTS = ("truncate", "bounded-lipschitz", "laplace")

# Means of 100 runs, and their standard errors, of a separate implementation: what is drawn as “reference”.
REFERENCE_STEPS = {
    500: {2: (0.307, 0.009), 4: (0.217, 0.007), 8: (0.205, 0.005), 12: (0.214, 0.005), 30: (0.263, 0.007)},
    1000: {2: (0.281, 0.007), 4: (0.189, 0.006), 8: (0.161, 0.004), 14: (0.163, 0.003), 30: (0.200, 0.004)},
    2000: {2: (0.286, 0.006), 4: (0.159, 0.004), 8: (0.123, 0.003), 15: (0.138, 0.003), 30: (0.156, 0.004)},
}
REFERENCE_SAMPLES = {
    500: (0.353, 0.316, 0.251, 0.214, 0.210, 0.260, 0.378),
    1000: (0.314, 0.246, 0.199, 0.163, 0.156, 0.199, 0.308),
    2000: (0.260, 0.200, 0.151, 0.138, 0.141, 0.197, 0.316),
}
REFERENCE_STARTS = {0.0: {1: 0.139, 2: 0.161, 14: 0.165}, 0.5: {0: 0.666, 1: 0.534, 2: 0.398, 3: 0.293, 14: 0.158}}
REFERENCE_SPREAD = {
    "truncate": {0.02: (0.054, 0.002), 0.5: (0.161, 0.003)},
    "bounded-lipschitz": {0.02: (0.030, 0.002), 0.5: (0.162, 0.003)},
    "laplace": {0.02: (0.0171, 0.0004), 0.5: (0.352, 0.004)},
}
Setting = tuple[str, float]  # the line on the chart, and where on its axis


@dataclass(frozen=True)
class Figure:
    """One figure: its question, its axis, the algorithms by (line, x), the sample, and reference means by n."""

    question: str
    axis: str
    algorithms: Callable[[int], dict[Setting, tuple[str, Algorithm]]]
    reference: Callable[[int], dict[Setting, tuple[float, float]]]
    log: bool = True
    mark: Callable[[int], tuple[str, float]] | None = None
    every: int = LAST
    sizes: list[int] = field(default_factory=lambda: SIZES)


def _simulation(**settings: Any) -> Algorithm:
    return build(PE, PE.presets["simulations"] | {name: str(value) for name, value in settings.items()})


def _plan(n: int) -> Any:
    return _simulation().plan(points("quarter", n)[0], BUDGET)


def _by_steps(n: int) -> dict[Setting, tuple[str, Algorithm]]:
    counts = sorted({*STEPS, _plan(n)["rounds"]})
    return {(f"n = {n}", float(T)): ("quarter", _simulation(rounds=T)) for T in counts}


def _by_samples(n: int) -> dict[Setting, tuple[str, Algorithm]]:
    best = _plan(n)["samples"]
    return {(f"n = {n}", r): ("quarter", _simulation(samples=max(1, round(r * best)))) for r in RATIOS}


def _by_spread(n: int) -> dict[Setting, tuple[str, Algorithm]]:  # noqa: ARG001 - the figure's n is 1000
    places = {0.02: "tight", 0.5: "spread"}
    return {(post, r): (places[r], _simulation(post=post)) for post in TREATMENTS for r in places}


def _by_start(n: int) -> dict[Setting, tuple[str, Algorithm]]:  # noqa: ARG001 - the same for all n
    return {(f"β = {beta:g}", beta): ("quarter", _simulation()) for beta in BETAS}


FIGURES = {
    "2: initialisation": Figure(
        "How much does the start matter?", "step", _by_start,
        lambda n: {(f"β = {b:g}", t): (mean, 0.003) for b, row in REFERENCE_STARTS.items() for t, mean in row.items()}
        if n == 1000 else {},
        log=False, every=1, sizes=[500, 1000],
    ),
    "3: number of steps": Figure(
        "How many steps are best?", "T, number of steps", _by_steps,
        lambda n: {(f"n = {n}", float(T)): value for T, value in REFERENCE_STEPS[n].items()},
        mark=lambda n: ("predicted T = 2 ln(nε)", float(_plan(n)["rounds"])),
    ),
    "3: number of samples": Figure(
        "How many samples are best?", "n_s as a multiple of what Theorem 4.1 says", _by_samples,
        lambda n: {(f"n = {n}", r): (mean, 0.0) for r, mean in zip(RATIOS, REFERENCE_SAMPLES[n], strict=True)},
        mark=lambda n: (f"predicted n_s = {_plan(n)['samples']}", 1.0),
    ),
    "4: clustered or spread": Figure(
        "Which noise for clustered points, which for spread ones?", "radius of the disc the points fill", _by_spread,
        lambda n: {(post, r): v for post, row in REFERENCE_SPREAD.items() for r, v in row.items()} if n == 1000 else {},
        sizes=[1000],
    ),
}  # fmt: skip


def figures() -> None:
    """Draw the widgets that choose a figure, run it in the pool, draw it beside the reference."""
    with st.container(border=True, key="figure-settings"):
        left, middle, right = st.columns(3)
        name = left.selectbox("Figure", list(FIGURES), 1, key="pe-figure", **KEPT)
        figure = FIGURES[name]
        n = middle.selectbox(
            "n, private points", figure.sizes, figure.sizes.index(1000), key=f"pe-n-{name[:4]}{name[-3:]}"
        )
        runs = right.number_input(
            "Runs of each setting", 2, 100, 20, key="pe-runs", help="Each with its own sample.", **KEPT
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            pressed = st.button("Run the figure", type="primary", icon=":material/play_arrow:")
            st.caption(
                "Settings of Gonzalez, Fanti and Ramdas (2025): ε = 1, δ = 10⁻⁴. Every run ends with an exact W1."
            )
    mine = tab_runs("figures")
    if pressed:
        mine.start((name, n, int(runs)), _wanted(figure, n, int(runs)), (name, n))
    if not mine.jobs:
        st.info(
            "Nothing has run yet. Twenty runs of each setting take some ten seconds; figure 2 measures every step: "
            "most of a minute."
        )
        return
    if watch(mine, "figures") and mine.results and not stakeholder():
        _draw(mine, FIGURES[mine.context[0]], mine.context[1])


def _wanted(figure: Figure, n: int, runs: int) -> Iterator[WantedRun]:
    for seed in range(runs):
        for setting, (sample, algorithm) in figure.algorithms(n).items():
            problem, rows = points(sample, n, seed)
            if figure.every == 1:  # the initialisation: S_0 = (1 − 2β) S, which only a public sample allows
                S = np.repeat(rows.values, rows.weights, axis=0)
                algorithm = algorithm.started_from((1 - 2 * setting[1]) * S)  # type: ignore[attr-defined]
            facts = {
                "algorithm": algorithm,
                "problem": problem,
                "budget": BUDGET,
                "seeds": (seed,),
                "every": figure.every,
            }
            yield WantedRun(setting, rows, facts)


@peek
def _draw(mine: Runs, figure: Figure, n: int) -> None:
    """Draw means and standard errors of what has come back, and how they agree with the reference."""
    lines = [
        {"line": line, "x": float(record.t) if figure.every == 1 else x, "w1": record.to_json()["w1"]}
        for (line, x), result in mine.results
        for record in result.records
    ]
    grouped = pd.DataFrame(lines).groupby(["line", "x"], sort=False)["w1"]
    found = grouped.agg(mean="mean", error=lambda v: v.std(ddof=1) / len(v) ** 0.5, runs="size").reset_index()
    known = [{"line": line, "x": x, "mean": m, "error": e} for (line, x), (m, e) in figure.reference(n).items()]
    reference = pd.DataFrame(known, columns=pd.Index(["line", "x", "mean", "error"]))
    found = found.sort_values(["line", "x"], kind="stable") if figure.every != 1 else found
    heading(figure.question)
    both = found.merge(reference, on=["line", "x"], suffixes=("", "_reference"))
    gap = (both["mean"] - both["mean_reference"]).abs() / np.hypot(both["error"], both["error_reference"])
    best = found.loc[found["mean"].idxmin()]
    summary = f"The smallest mean W1 is {best['mean']:.3g} ({best['line']}, at {best['x']:g})."
    if len(both):
        summary += f" {int((gap <= 4).sum())} of {len(both)} means lie within four standard errors of the reference."
    drawn = evolution_charts.settings(
        found, reference, figure.axis, log=figure.log, mark=None if figure.mark is None else figure.mark(n)
    )
    merged = found.merge(reference, on=["line", "x"], how="left", suffixes=("", "_reference"))
    results.panel(drawn, summary, merged, "figure")
