"""Small tasks on points that several test files share."""

import numpy as np
import pandas as pd

from dpcore import PointRelease
from dpcore.algorithms import algorithms_for_problem
from dpcore.algorithms.points.evolution_steps import PRESETS
from dpcore.problems.regions import Ball, build_box, read_point_rows
from tests.small_problems import other_choices, seeded

BALL = Ball(np.zeros(2), 1.0)
REGIONS = {
    "disc": BALL,
    "line": build_box([0], [1], ["x"]),
    "cuboid": build_box([0, 0, -1], [1, 1, 1], "abc"),
}
POINTS = algorithms_for_problem(PointRelease)


def variants():
    """Every algorithm for points, once more for each other choice of each parameter, and the
    presets.
    """
    out = [(name, {}) for name in POINTS]
    for name, cls in POINTS.items():
        out += [(name, other) for other in other_choices(cls)]
    return [*out, *(("private_evolution", preset) for preset in PRESETS.values())]


def quarter_disc_points(n, seed=0):
    """Points of the quarter disc, as in the paper's Figure 4."""
    return np.abs(Ball(np.zeros(2), 1.0).uniform(n, seeded(seed)))


def point_problem(X, region=BALL):
    """The problem of points X (n, d), and its records."""
    names = tuple("xyzu"[: region.d])
    rows = read_point_rows(region, names, pd.DataFrame(X, columns=list(names)))
    return PointRelease(region, rows.n, names), rows
