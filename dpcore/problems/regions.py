"""Public convex sets K of R^d for points and parameters, and tables read as points of them.

Ball and Box are bounded: they know their diameter D and draw uniform points.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..core.errors import InputError, require_two_rows
from ..core.types import Array, Rng, frozen
from ..schema.column import Column
from ..schema.domain import Domain, Rows

ROUNDING_SHARE = 1e-9  # share of the diameter by which rounding may put a point outside
MIN_RADIUS = 1e-12
MAX_RADIUS = 1e15  # coordinates beyond have neighbours that are more than 1 away
MIN_RELATIVE_SIDE = 1e-9  # side of a box over its largest coordinate, as its points are rounded
PROJECTION_SHRINKAGE = 1 - 1e-14  # what is projected on a ball is inside, whatever rounding does


class _BoundedSet:
    """The base of bounded sets with a `centre` (d,).

    A set lies inside the ball of `radius` R = max ‖x − c‖ around the centre.
    """

    centre: Any
    radius: Any
    is_bounded = True

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return len(self.centre)

    @property
    def diameter(self) -> float:
        """The diameter D: the largest distance of two points."""
        return 2 * self.radius


@frozen
class Ball(_BoundedSet):
    """The ball {x: ‖x − c‖ ≤ R} in R^d, c = `centre` (d,).

    >>> Ball(np.zeros(2), 1.0).project(np.array([[3.0, 4.0]])).round(9)
    array([[0.6, 0.8]])
    """

    centre: Array
    radius: float

    def __post_init__(self) -> None:
        check_radius(self.radius)

    def __str__(self) -> str:
        centre_text = f"({', '.join(f'{c:g}' for c in self.centre)})" if self.centre.any() else "0"
        return f"the ball of radius {self.radius:g} about {centre_text}"

    @property
    def max_norm(self) -> float:
        """The largest norm sup ‖x‖ of a point of the ball."""
        return float(np.linalg.norm(self.centre)) + self.radius

    @property
    def corners(self) -> tuple[Array, Array]:
        """The corners (low, high), each (d,), of the smallest box around the ball."""
        return self.centre - self.radius, self.centre + self.radius

    @property
    def inner_radius(self) -> float:
        """The radius of the largest ball about the centre that lies inside."""
        return self.radius

    def contains(self, X: Array) -> Array:
        """Return whether each of the points X (m, d) lies in the ball (m,)."""
        return ((X - self.centre) ** 2).sum(-1) <= self.radius**2

    def project(self, X: Array) -> Array:
        """Return the nearest points of the ball to X (…, d)."""
        V = X - self.centre
        lengths = np.linalg.norm(V, axis=-1, keepdims=True)
        nearest = self.centre + V * (
            self.radius / np.maximum(lengths, self.radius) * PROJECTION_SHRINKAGE
        )
        return np.where(self.contains(X)[..., None], X, nearest)

    def uniform(self, count: int, rng: Rng) -> Array:
        """Draw uniform random points (count, d) of the ball.

        A point has a normal direction, and a length R u^{1/d}.
        """
        X = rng.standard_normal((count, self.d))
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(float).tiny)
        return self.centre + self.radius * X * rng.random((count, 1)) ** (1 / self.d)


@frozen
class Box(_BoundedSet):
    """The box {x: low ≤ x ≤ high}, low and high (d,)."""

    low: Array
    high: Array

    def __post_init__(self) -> None:
        if not (self.low < self.high).all():
            raise InputError("a box needs low < high in every coordinate")

    def __str__(self) -> str:
        return "the box " + " × ".join(
            f"[{a:g}, {b:g}]" for a, b in zip(self.low, self.high, strict=True)
        )

    @cached_property
    def centre(self) -> Array:
        """The centre of the box (d,)."""
        return (self.low + self.high) / 2

    @property
    def radius(self) -> float:
        """The radius R = max ‖x − c‖ of the ball around the box: half its diagonal."""
        return math.dist(self.low, self.high) / 2

    @property
    def max_norm(self) -> float:
        """The largest norm sup ‖x‖ of a point of the box."""
        return float(np.linalg.norm(np.maximum(np.abs(self.low), np.abs(self.high))))

    @property
    def corners(self) -> tuple[Array, Array]:
        """The corners (low, high) of the box, each (d,)."""
        return self.low, self.high

    @property
    def inner_radius(self) -> float:
        """The radius of the largest ball about the centre that lies inside."""
        return float((self.high - self.low).min()) / 2

    def contains(self, X: Array) -> Array:
        """Return whether each of the points X (m, d) lies in the box (m,)."""
        return np.asarray(((self.low <= X) & (self.high >= X)).all(-1))

    def project(self, X: Array) -> Array:
        """Return the nearest points of the box to X (…, d)."""
        return np.clip(X, self.low, self.high)

    def uniform(self, count: int, rng: Rng) -> Array:
        """Draw uniform random points (count, d) of the box."""
        return rng.uniform(self.low, self.high, (count, self.d))


@frozen
class Space:
    """All of R^d. `radius` is a public guess of the distance of the optimum from c = `centre`."""

    centre: Array
    radius: float
    is_bounded = False
    diameter = math.inf
    max_norm = math.inf
    inner_radius = math.inf

    def __post_init__(self) -> None:
        check_radius(self.radius)

    @property
    def corners(self) -> tuple[Array, Array]:
        """The bounds of each coordinate, −∞ and ∞ (d,)."""
        return np.full(len(self.centre), -np.inf), np.full(len(self.centre), np.inf)

    def contains(self, X: Array) -> Array:
        """Return whether each point (m,) lies in R^d: always true."""
        return np.ones(X.shape[:-1], dtype=bool)

    def project(self, X: Array) -> Array:
        """Return the points X unchanged, as every point lies in R^d."""
        return X


BoundedRegion = Ball | Box
Region = Ball | Box | Space


def check_radius(radius: float) -> None:
    """Raise InputError unless the radius lies in the supported range."""
    if not MIN_RADIUS <= radius <= MAX_RADIUS:
        raise InputError(
            f"radius={radius:g} must be above 0: it is served in {MIN_RADIUS:g}..{MAX_RADIUS:g}"
        )


def build_box(low: Sequence[float], high: Sequence[float], names: Sequence[str]) -> Box:
    """Return the box with one bound for all coordinates, or one for each.

    InputError names the wrong coordinate.
    """
    bounds = []
    for bound_name, bound_values in (("low", low), ("high", high)):
        if len(bound_values) not in (1, len(names)):
            raise InputError(
                f"{len(bound_values)} values of {bound_name} for {len(names)} coordinates; give "
                f"one, or {len(names)}"
            )
        bounds.append(np.broadcast_to(np.array(bound_values, dtype=float), len(names)))
    for name, a, b in zip(names, *bounds, strict=True):
        if not -MAX_RADIUS <= a < b <= MAX_RADIUS:
            raise InputError(
                f"coordinate {name!r}: low={a:g} must be below high={b:g}, both in ±{MAX_RADIUS:g}"
            )
        if b - a < max(MIN_RADIUS, MIN_RELATIVE_SIDE * max(abs(a), abs(b))):
            raise InputError(
                f"coordinate {name!r}: low={a!r} and high={b!r} are too close to tell points apart"
            )
    return Box(*bounds)


def read_point_rows(region: BoundedRegion, names: Sequence[str], frame: pd.DataFrame) -> Rows:
    """Return the points of a region in a table of numbers, as distinct values (r, d) and counts.

    `names` are the columns of the coordinates. Points outside by rounding alone are projected.
    Raises InputError, with the row and the value, for a cell that is no finite number, a point
    outside, a column that is not there, or one row.

    >>> frame = pd.DataFrame({"x": [0.1, 0.1, 0.5], "y": [0.2, 0.2, 0.0]})
    >>> read_point_rows(Ball(np.zeros(2), 1.0), ["x", "y"], frame).n
    3
    """
    require_two_rows(len(frame))
    column_names = [str(c) for c in frame.columns]
    missing_names = [name for name in names if column_names.count(name) != 1]
    if missing_names:
        raise InputError(
            f"the table has no single column {missing_names[0]!r}; its columns are "
            f"{', '.join(column_names)}"
        )
    X = np.column_stack(
        [_finite_numbers(frame.iloc[:, column_names.index(name)], name) for name in names]
    )
    projected = region.project(X)
    is_outside = np.linalg.norm(projected - X, axis=1) > ROUNDING_SHARE * region.diameter
    if is_outside.any():
        row = int(is_outside.argmax())
        point_text = ", ".join(f"{value:g}" for value in X[row])
        raise InputError(
            f"the point ({point_text}) in row {row + 1} is outside {region} ({is_outside.sum()} "
            f"of {len(X)} are)"
        )
    values, weights = np.unique(projected + 0.0, axis=0, return_counts=True)  # −0.0 + 0.0 is 0.0
    return Rows(values, weights)


def read_scaled_points(domain: Domain, frame: pd.DataFrame) -> tuple[Box, Rows]:
    """Return the unit box, and as points in it the rows of a table by the columns of a domain.

    All of them are numbers, scaled by their public bounds; a missing one is in the middle.

    >>> sample = samples.census(1000)
    >>> region, rows = read_scaled_points(sample.domain.project(["age", "hours"]), sample.frame)
    >>> rows.values.shape[1], rows.n
    (2, 1000)
    """
    region = build_box([0.0], [1.0], domain.names)
    positions = domain.column_positions([str(name) for name in frame.columns])
    coordinates = {
        column.name: _scale_to_unit_interval(column, pd.Series(frame.iloc[:, position]))
        for column, position in zip(domain.columns, positions, strict=True)
    }
    return region, read_point_rows(region, domain.names, pd.DataFrame(coordinates))


def _scale_to_unit_interval(column: Column, cells: pd.Series) -> Array:
    """Return a column's numbers as shares of its public range; ½ where missing."""
    low, high = column.bounds
    return np.nan_to_num((column.read_numbers(cells) - low) / (high - low), nan=0.5)


def _finite_numbers(cells: pd.Series, name: str) -> Array:
    """Return the cells of a column as finite floats (n,).

    InputError names the first cell that is not one.
    """
    numbers = np.asarray(pd.to_numeric(cells.astype(object), errors="coerce"), dtype=float)
    is_invalid = ~(np.abs(numbers) <= MAX_RADIUS)
    if is_invalid.any():
        row = int(is_invalid.argmax())
        raise InputError(
            f"column {name!r}: {str(cells.iloc[row])[:40]!r} in row {row + 1} is not a finite "
            "number"
        )
    return numbers
