"""Synthetic samples of points in the plane, drawn from known distributions."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from ..core.errors import InputError
from ..core.types import Array, Rng, value_object
from .regions import Ball

COORDINATE_NAMES = ("x", "y")
UNIT_DISC = Ball(np.zeros(2), 1.0)  # where all of them lie: D = 2


@value_object
class PointSample:
    """A known distribution on the unit disc.

    It has a name in words, and `draw`, which returns n points (n, 2).
    """

    title: str
    draw: Callable[[int, Rng], Array]

    def draw_table(self, n: int, seed: int) -> pd.DataFrame:
        """Return a table of n random points of the disc, the same for the same seed.

        Raises InputError for fewer than two.
        """
        if n < 2:
            raise InputError(f"n={n} points are too few; at least 2 are needed")
        X = UNIT_DISC.project(self.draw(n, np.random.default_rng(10_000 + seed)))
        return pd.DataFrame(X, columns=pd.Index(COORDINATE_NAMES))


def disc_sampler(radius: float) -> Callable[[int, Rng], Array]:
    """Return a function that draws uniform points from the disc of this radius about 0."""
    return lambda n, rng: Ball(np.zeros(2), radius).uniform(n, rng)


def _draw_clusters(n: int, rng: Rng) -> Array:
    centres = np.array([[-0.5, -0.3], [0.5, 0.4]])
    shares = [0.7, 0.3]
    return centres[rng.choice(2, n, p=shares)] + 0.08 * rng.standard_normal((n, 2))


def _draw_ring(n: int, rng: Rng) -> Array:
    angle = 2 * np.pi * rng.random(n)
    length = 0.7 + 0.05 * rng.standard_normal(n)
    return length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def _draw_moons(n: int, rng: Rng) -> Array:
    angle = np.pi * rng.random(n)
    side = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    arc = np.column_stack([0.5 * np.cos(angle) - 0.25, 0.5 * np.sin(angle) - 0.12])
    return side[:, None] * arc + 0.04 * rng.standard_normal((n, 2))


POINT_SAMPLES = {
    "quarter": PointSample("A quarter of a disc", lambda n, rng: np.abs(UNIT_DISC.uniform(n, rng))),
    "clusters": PointSample("Two towns: 70% and 30% of calls", _draw_clusters),
    "ring": PointSample("Ring", _draw_ring),
    "moons": PointSample("Two half moons", _draw_moons),
    "tight": PointSample("A small disc, of radius 0.02", disc_sampler(0.02)),
    "spread": PointSample("A large disc, of radius 0.5", disc_sampler(0.5)),
}
