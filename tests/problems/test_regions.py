"""Regions and the tables of points in them."""

import numpy as np
import pandas as pd

from dpcore import PointRelease
from dpcore.problems.regions import Ball, Space, build_box, read_point_rows
from tests.small_problems import approx, expect_error, parametrize, seeded

BALL = Ball(np.zeros(2), 2.0)
NAMES = ("x", "y")
BOX = build_box([0], [1, 3], ["x", "y"])
REGIONS = parametrize("region", [BALL, BOX, Ball(np.ones(1), 0.5), build_box([-2], [-1], ["x"])])


@REGIONS
def test_projection_is_the_nearest_point_and_uniform_points_are_inside(region):
    rng = seeded(0)
    inside = region.uniform(2000, rng)
    assert region.project(inside) == approx(inside, abs=1e-12)
    X = 5 * rng.normal(size=(50, region.d))
    P = region.project(X)
    assert region.project(P) == approx(P, abs=1e-12)
    to_inside = np.linalg.norm(X[:, None] - inside, axis=2).min(axis=1)
    assert (np.linalg.norm(X - P, axis=1) <= to_inside + 1e-9).all()
    assert np.linalg.norm(inside[:, None] - inside[:200], axis=2).max() <= region.diameter
    low, high = region.corners
    assert (inside >= low).all()
    assert (inside <= high).all()
    assert region.contains(inside).all()
    assert region.contains(P).all()
    assert inside.mean(axis=0) == approx(region.centre, abs=0.15)
    assert np.linalg.norm(inside, axis=1).max() <= region.max_norm
    assert (
        np.linalg.norm(inside - region.centre, axis=1).max() <= region.radius == region.diameter / 2
    )
    assert region.contains(Ball(region.centre, region.inner_radius).uniform(500, rng)).all()
    assert not region.contains(
        Ball(region.centre, 1.3 * region.inner_radius).uniform(500, rng)
    ).all()
    space = Space(region.centre, 1.0)
    assert (space.project(X) == X).all()
    assert space.contains(X).all()


def test_points_are_grouped_and_points_outside_by_rounding_are_taken_in():
    rows = read_point_rows(
        BALL, NAMES, pd.DataFrame({"x": [0.0, 2 + 1e-12, 0.0, -0.0], "y": ["1", "0", "1", " 1"]})
    )
    assert rows.values == approx(np.array([[0, 1], [2, 0]]), abs=1e-12)
    assert rows.weights.tolist() == [3, 1]


@parametrize(
    "cells, message",
    [
        (
            {"x": [0, 0, 3], "y": [0, 1, 0]},
            r"the point \(3, 0\) in row 3 is outside the ball of radius 2 about 0 \(1 of 3",
        ),
        ({"x": [0, np.nan], "y": [0, 0]}, "column 'x': 'nan' in row 2 is not a finite number"),
        ({"x": [0, "a"], "y": [0, 0]}, "column 'x': 'a' in row 2 is not a finite number"),
        ({"x": [0], "y": [0]}, "the table has 1 row; at least 2 are needed"),
        ({"x": [0, 1], "z": [0, 1]}, "no single column 'y'; its columns are x, z"),
    ],
)
def test_bad_points_are_refused_with_their_row(cells, message):
    with expect_error(message):
        read_point_rows(BALL, NAMES, pd.DataFrame(cells))


@parametrize(
    "make, message",
    [
        *((lambda r=r: Ball(np.zeros(1), r), f"radius={r:g} must be above 0") for r in (0, np.nan)),
        (lambda: Space(np.zeros(1), np.inf), "radius=inf must be above 0"),
        (
            lambda: PointRelease(BALL, 5, ("x",)),
            "1 names do not match the ball of radius 2 about 0, which has d=2",
        ),
        (lambda: build_box([0, 0, 0], [1], ["x", "y"]), "3 values of low for 2 coordinates"),
        (lambda: build_box([0, 2], [1], ["x", "y"]), "coordinate 'y': low=2 must be below high=1"),
        (lambda: PointRelease(BALL, 1, NAMES), "has 1 row; at least 2"),
        (lambda: PointRelease(BALL, 5, NAMES, group=6), "group=6 is outside 1..5"),
    ],
)
def test_bad_regions_and_problems_are_refused(make, message):
    with expect_error(message):
        make()
