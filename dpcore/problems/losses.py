"""Convex losses of one row, their largest difference between two rows, and their smooth versions.

A row is (a, b): a public feature vector a (d,) with ‖a‖ ≤ 1, and a target b; or a point s (d,).
"""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.special import expit

from ..core.errors import InputError
from ..core.types import Array, value_object

MAX_BOXES = 300_000
# of a rounded kink: those of a region's radius
MIN_HUBER_WIDTH = 1e-12
MAX_HUBER_WIDTH = 1e15


@value_object
class PiecewiseLinear:
    """A convex loss g(u) of slope `low` below u = 0 and `high` above.

    u = ⟨a, x⟩ − b (or b⟨a, x⟩ − 1 for a margin). Between −width and width the slope rises evenly,
    so that g is `low·u` or `high·u` plus at most (high − low)width/4. `offset` is subtracted from
    g. Made by `pinball_loss`, `absolute_loss`, `hinge_loss` and `huber_loss`.
    """

    name: str
    low: float
    high: float
    width: float = 0.0
    offset: float = 0.0
    margin: bool = False
    strong_convexity = 0.0

    def __post_init__(self) -> None:
        if not (-math.inf < self.low < self.high < math.inf and 0 <= self.width < math.inf):
            raise InputError(
                f"the loss {self.name} needs slopes low={self.low:g} < high={self.high:g} and a "
                "width ≥ 0"
            )

    @property
    def lipschitz_constant(self) -> float:
        """The Lipschitz constant of the loss in x: the largest slope max |g'|, as ‖a‖ ≤ 1."""
        return max(abs(self.low), abs(self.high))

    @property
    def curvature(self) -> float:
        """The largest second derivative max g''; ∞ for a loss with a kink."""
        return (self.high - self.low) / (2 * self.width) if self.width else math.inf

    def smoothed(self, width: float) -> "PiecewiseLinear":
        """Return the loss with its kink rounded over at least `width`.

        It is larger by (high − low)·width/4 at most.
        """
        return self if self.width >= width else replace(self, width=width)

    def residual(self, t: Array, b: Array) -> tuple[Array, Array | float]:
        """Return the residual u and its derivative du/dt, for t = ⟨a, x⟩."""
        if self.margin:
            return b * t - 1, b
        return t - b, 1.0

    def value(self, t: Array, b: Array) -> Array:
        """Return the losses for t = ⟨a, x⟩ (r, …) and targets b that broadcast."""
        u, _ = self.residual(t, b)
        out = self.low * u
        np.maximum(out, self.high * u, out=out)
        if self.width:
            kink_depth = np.maximum(self.width - np.abs(u), 0)
            out += (self.high - self.low) / (4 * self.width) * kink_depth * kink_depth
        return out - self.offset if self.offset else out

    def slope(self, t: Array, b: Array) -> Array:
        """Return the derivative df/dt of the losses, shaped as t.

        At a kink it is the mean of both slopes.
        """
        u, residual_slope = self.residual(t, b)
        high_share = (
            np.clip((u + self.width) / (2 * self.width), 0, 1)
            if self.width
            else (np.sign(u) + 1) / 2
        )
        return residual_slope * (self.low + (self.high - self.low) * high_share)

    def second_derivative(self, t: Array, b: Array) -> Array:
        """Return the second derivative d²f/dt² of the losses, shaped as t.

        0 for a loss with kinks.
        """
        u, _ = self.residual(t, b)
        curvature = self.curvature if self.width else 0.0
        return np.where(np.abs(u) < self.width, curvature, 0.0)


def pinball_loss(level: float) -> PiecewiseLinear:
    """Return the pinball loss max(q(b − t), (1 − q)(t − b)), least in mean at the q-quantile.

    Raises InputError unless 0 < q < 1.
    """
    if not 0 < level < 1:
        raise InputError(f"quantile={level:g} is outside (0, 1), its ends not included")
    return PiecewiseLinear(f"pinball({level:g})", -level, 1 - level)


def absolute_loss() -> PiecewiseLinear:
    """Return the absolute loss |t − b|."""
    return PiecewiseLinear("absolute", -1, 1)


def hinge_loss() -> PiecewiseLinear:
    """Return the hinge loss max(0, 1 − b t), b = ±1."""
    return PiecewiseLinear("hinge", -1, 0, margin=True)


def huber_loss(width: float) -> PiecewiseLinear:
    """Return the Huber loss u²/(2w) for |u| ≤ w, else |u| − w/2, with u = t − b.

    Its gradient is clipped at 1.
    """
    if not MIN_HUBER_WIDTH <= width <= MAX_HUBER_WIDTH:
        allowed_range = f"{MIN_HUBER_WIDTH:g}..{MAX_HUBER_WIDTH:g}"
        raise InputError(
            f"huber width={width:g} must be above 0 and finite: it is served in {allowed_range}"
        )
    return PiecewiseLinear(f"huber({width:g})", -1, 1, width, width / 2)


@value_object
class Logistic:
    """The logistic loss log(1 + exp(−b⟨a, x⟩)), b = ±1."""

    name = "logistic"
    lipschitz_constant = 1.0
    curvature = 0.25
    strong_convexity = 0.0
    margin = True

    def smoothed(self, width: float) -> "Logistic":  # noqa: ARG002 - it is smooth
        """Return the loss itself, as it is smooth."""
        return self

    def value(self, t: Array, b: Array) -> Array:
        """Return the losses for t = ⟨a, x⟩ (r, …) and targets b that broadcast."""
        u = -b * t
        return np.maximum(u, 0) + np.log(
            1 + np.exp(-np.abs(u))
        )  # faster than log1p, and as exact in a mean

    def slope(self, t: Array, b: Array) -> Array:
        """Return the derivative df/dt of the losses, shaped as t."""
        return -b * expit(-b * t)

    def second_derivative(self, t: Array, b: Array) -> Array:  # noqa: ARG002 - one interface for all losses
        """Return the second derivative d²f/dt² of the losses, shaped as t."""
        return expit(t) * expit(-t)


@value_object
class SquaredDistance:
    """The loss ½‖x − s‖² for points s in the box low..high (d,).

    It is 1-strongly convex, so it needs no regulariser.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    name = "squared distance"
    curvature = 1.0
    strong_convexity = 1.0
    margin = False

    @property
    def box_diameter(self) -> float:
        """The diameter of the box of points."""
        return math.dist(self.low, self.high)


SlopedLoss = PiecewiseLinear | Logistic  # losses of one number ⟨a, x⟩, with a bounded slope
Loss = SlopedLoss | SquaredDistance


def require_sloped_loss(loss: Loss) -> SlopedLoss:
    """Return the loss, checked to be a function of ⟨a, x⟩.

    Raises InputError for the squared distance.
    """
    if isinstance(loss, SquaredDistance):
        raise InputError(f"the {loss.name} has no slope along one feature")
    return loss


def gradient_difference_bound(loss: Loss, *, location: bool, max_norm: float) -> float:
    """Return the Lipschitz constant G of f(·; z) − f(·; z'), for all rows z, z'.

    It holds on {‖x‖ ≤ `max_norm`}.

    - SquaredDistance: its gradient in x is x − s, so the difference has gradient s' − s: G = the
      box's diameter.
    - PiecewiseLinear, location (a = 1, d = 1): the slopes lie in low..high, so G = high − low: 1
      for pinball, 2 for absolute.
    - PiecewiseLinear, features: ‖g'a − g'₂a₂‖ ≤ 2 max|g'| as ‖a‖ ≤ 1: 2 for hinge, absolute and
      Huber (whose gradient ends at 1).
    - Logistic: `logistic_difference_bound`, at most 2.
    """
    if isinstance(loss, SquaredDistance):
        return loss.box_diameter
    if isinstance(loss, Logistic):
        return logistic_difference_bound(max_norm)
    return loss.high - loss.low if location else 2 * loss.lipschitz_constant


@lru_cache
def logistic_difference_bound(max_norm: float) -> float:
    """Return an upper bound on ‖∇f(x; z) − ∇f(x; z')‖ over ‖x‖ ≤ `max_norm` for logistic loss.

    It is within about 1%. With r = `max_norm`: ∇f = −σ(−⟨w, x⟩)w with w = ba, ‖w‖ ≤ 1. At fixed ⟨w,
    x⟩ and ⟨w', x⟩ the parts across x may be turned opposite ways and made longest, which only
    enlarges the norm, so w = (cos α, sin α) and w' = (cos β, −sin β) in a plane with x on its first
    axis, α, β in 0..π. With p = σ(−r cos α), q = σ(−r cos β), the norm squared is p² + q² − 2pq
    cos(α + β). The norm moves by at most 1 + r/4 with α and with β, and ½ with r (each σ' ≤ 1/4);
    boxes of (α, β, r) whose centre plus that cannot be the largest are dropped, the others cut in
    halves, until the bound is within 1% of a value, or there are too many; it holds at any time,
    and so does p + q ≤ 2σ(r).
    """
    if max_norm > 20:
        return 2.0
    rates = np.array([1 + max_norm / 4, 1 + max_norm / 4, 0.5])
    half_widths = np.array([math.pi, math.pi, max(max_norm, 1e-9)]) / 16
    midpoints = (np.arange(8) * 2 + 1) / 16
    boxes = np.stack(
        np.meshgrid(math.pi * midpoints, math.pi * midpoints, max_norm * midpoints, indexing="ij"),
        -1,
    ).reshape(-1, 3)
    best = 0.0
    bound = 0.0
    for _ in range(12):
        p = expit(-boxes[:, 2] * np.cos(boxes[:, 0]))
        q = expit(-boxes[:, 2] * np.cos(boxes[:, 1]))
        norm = np.sqrt(np.maximum(p * p + q * q - 2 * p * q * np.cos(boxes[:, 0] + boxes[:, 1]), 0))
        best = max(best, float(norm.max()))
        bound = min(float(norm.max() + rates @ half_widths), 2 * float(expit(max_norm)))
        if bound <= 1.01 * best or len(boxes) > MAX_BOXES:
            break
        boxes = boxes[norm + rates @ half_widths > best]
        half_widths = half_widths / 2
        corners = (
            np.stack(np.meshgrid(*[(-1, 1)] * 3, indexing="ij"), -1).reshape(-1, 3) * half_widths
        )
        boxes = (boxes[:, None, :] + corners).reshape(-1, 3)
    return min(bound, 2.0)
