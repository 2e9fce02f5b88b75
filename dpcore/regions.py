"""The convex sets K that a parameter may come from. Imports errors."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .errors import InputError


@dataclass(frozen=True, eq=False)
class Ball:
    """{x: ‖x − c‖ ≤ R} in R^d, c = `centre` (d,)."""

    centre: np.ndarray
    radius: float
    bounded = True

    def __post_init__(self) -> None:
        check_radius(self.radius)

    @property
    def diameter(self) -> float:
        """The largest distance of two points."""
        return 2 * self.radius

    @property
    def reach(self) -> float:
        """sup ‖x‖."""
        return float(np.linalg.norm(self.centre)) + self.radius

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest box around it, low and high (d,)."""
        return self.centre - self.radius, self.centre + self.radius

    @property
    def inner(self) -> float:
        """The radius of a ball about the centre inside it."""
        return self.radius

    def contains(self, X: np.ndarray) -> np.ndarray:
        """Which of the points X (m, d) lie in it (m,)."""
        return ((X - self.centre) ** 2).sum(-1) <= self.radius**2

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point to x (d,)."""
        gap = float(np.linalg.norm(x - self.centre))
        if self.contains(x[None])[0]:
            return x
        return self.centre + (x - self.centre) * (self.radius / gap * (1 - 1e-14))  # inside, whatever rounding does


@dataclass(frozen=True, eq=False)
class Box:
    """{x: low ≤ x ≤ high}, low and high (d,)."""

    low: np.ndarray
    high: np.ndarray
    bounded = True

    def __post_init__(self) -> None:
        if not (self.low < self.high).all():
            raise InputError("a box needs low < high in every coordinate")

    @cached_property
    def centre(self) -> np.ndarray:
        """Its middle."""
        return (self.low + self.high) / 2

    @property
    def radius(self) -> float:
        """R = max ‖x − c‖: half its diagonal."""
        return math.dist(self.low, self.high) / 2

    @property
    def diameter(self) -> float:
        """The largest distance of two points."""
        return 2 * self.radius

    @property
    def reach(self) -> float:
        """sup ‖x‖."""
        return float(np.linalg.norm(np.maximum(np.abs(self.low), np.abs(self.high))))

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Itself."""
        return self.low, self.high

    @property
    def inner(self) -> float:
        """The radius of a ball about the centre inside it."""
        return float((self.high - self.low).min()) / 2

    def contains(self, X: np.ndarray) -> np.ndarray:
        """Which of the points X (m, d) lie in it (m,)."""
        return np.asarray(((self.low <= X) & (self.high >= X)).all(-1))

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point to x (d,)."""
        return np.clip(x, self.low, self.high)


@dataclass(frozen=True, eq=False)
class Space:
    """All of R^d. `radius` is only a public guess of how far from c = `centre` the optimum may lie."""

    centre: np.ndarray
    radius: float
    bounded = False
    diameter = reach = inner = math.inf

    def __post_init__(self) -> None:
        check_radius(self.radius)

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """−∞ and ∞ (d,)."""
        return np.full(len(self.centre), -np.inf), np.full(len(self.centre), np.inf)

    def contains(self, X: np.ndarray) -> np.ndarray:
        """Every point (m,)."""
        return np.ones(X.shape[:-1], dtype=bool)

    def project(self, x: np.ndarray) -> np.ndarray:
        """Itself."""
        return x


Region = Ball | Box | Space


def check_radius(radius: float) -> None:
    """InputError unless a radius is above 0 and finite."""
    if not 0 < radius < math.inf:
        raise InputError(f"radius={radius:g} must be above 0 and finite")
