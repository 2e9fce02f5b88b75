"""Release points near private ones, and report their distance W1 to them (uses real data: for exploring).

Two examples:
  python -m dpcore evolve points.csv --ball 1 --algorithm private_evolution --epsilon 1 --delta 1e-6
  python -m dpcore evolve points.csv --low 0 --high 1 --algorithm psmm --epsilon 1 --synthetic near.csv
"""

from argparse import Namespace

import numpy as np

from ... import InputError, PointRelease, Run, read_table
from ...algorithms.points.evolution_steps import PRESETS
from ...core.types import Json, Texts
from ...problems.regions import Ball, Bounded, box, point_rows
from ..arguments import RUNS, algorithm, argument, budget, budget_of, real, reals, rows, whole_number
from ..output_files import check_writable
from ..progress import each_run, report
from ..table_arguments import choose

LETTERS = {"T": "rounds", "sigma": "sigma", "alpha": "alpha", "levels": "levels", "n_s": "samples"}

LAST = 10**9  # more steps than there are: W1 is computed at the end only

ARGUMENTS = (
    argument("points", "POINTS", "a .csv or .tsv file in UTF-8, or .parquet; each column is a coordinate"),
    argument("--ball", "R", "the points lie in the ball of radius R about 0 (public)", type=real),
    argument("--low", "L", "… or in a box from L on: one number, or one a column, with commas"),
    argument("--high", "H", "… up to H"),
    *algorithm(PointRelease),
    *budget(delta=1e-9),
    argument("--preset", None, "settings of private_evolution as the paper has them", choices=PRESETS),
    *RUNS,
    argument("--every", "K", "W1 at every K-th step too (default: at the end only)", type=whole_number(1, LAST)),
    argument("--synthetic", "out.csv", "write synthetic points (of the first seed)"),
    rows("points"),
)


def execute(chosen: Namespace) -> None:
    """Check what is public, evolve points once for each seed, print their distances and write the files."""
    check_writable(chosen.json, chosen.synthetic)
    budget = budget_of(chosen)
    if chosen.preset and chosen.algorithm != "private_evolution":
        raise InputError(f"--preset {chosen.preset} is one of private_evolution, not of {chosen.algorithm}")
    preset = [f"{name}={value}" for name, value in PRESETS.get(chosen.preset, {}).items()]
    algorithm = choose(chosen.algorithm, preset + chosen.set, PointRelease)
    frame = read_table(chosen.points)
    names = tuple(map(str, frame.columns))
    region = _region(chosen, names)
    rows = point_rows(region, names, frame)
    problem = PointRelease(region, rows.n, names)
    every = chosen.every or LAST

    def summary(run: Run) -> Json:
        run_facts = run.to_json()
        return {letter: run_facts["parameters"].get(name) for letter, name in LETTERS.items()} | run_facts

    runs = each_run(chosen, lambda seed: Run(algorithm, problem, rows, budget, seed=seed, every=every), summary)
    about = f"n={rows.n} d={len(names)} in {runs[0]['region']}"
    report(runs, about, "distance W1 to the real points", ("w1", "w1_error"))


def _region(chosen: Namespace, names: Texts) -> Bounded:
    """The public region that --ball, or --low and --high, describe."""
    if chosen.ball is not None and chosen.low is None and chosen.high is None:
        return Ball(np.zeros(len(names)), chosen.ball)
    if chosen.ball is None and chosen.low is not None and chosen.high is not None:
        return box(reals("--low", chosen.low), reals("--high", chosen.high), names)
    raise InputError("say where the points lie, which is public: --ball R, or --low L and --high H")
