"""The empirical risk F(x) = Σ_i w_i f(x; z_i) of given numbers, and its smallest value on a region.

It holds rows, so only the privacy folder and `truth` make one.
"""

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize
from scipy.sparse import csr_array, eye_array, hstack

from ..core.errors import InputError
from ..core.numbers import bisect_interval
from ..core.types import Array
from .losses import (
    Loss,
    PiecewiseLinear,
    SquaredDistance,
    gradient_difference_bound,
    require_sloped_loss,
)
from .regions import Ball, Box, Region

LOSSES_PER_BLOCK = 400_000  # losses computed at once: few enough for a processor's cache
MAX_NEWTON_STEPS = 500
BISECTION_HALVINGS = 60
MAX_LINEAR_PROGRAM_ROWS = 2000  # up to which risks with kinks are also solved as linear programs
# over which kinks are rounded off, in units of the range of residuals
KINK_WIDTHS = (
    3e-2,
    3e-3,
    3e-4,
    3e-5,
    3e-6,
    3e-7,
    1e-8,
)


class Risk:
    """The empirical risk F and its derivatives, for rows `values` with `weights`.

    `values` (r, p) are the rows. The `weights` (r,) are how often each row occurs. With features,
    the columns are a (d,) and the target b; a is scaled into the unit ball if it is not in it,
    which depends on its own row only, so that `gradient_difference_bound` in `losses` holds
    whatever was handed over. The same holds for points clipped into their box. Without features (a
    location) the one column is b and a = 1.
    """

    def __init__(
        self, loss: Loss, values: Array, weights: Array, *, location: bool = False
    ) -> None:
        self.loss: Loss = loss
        self.location = location
        self.counts = np.asarray(weights, dtype=float)
        self.n = float(np.sum(weights))
        self.w = self.counts / self.n
        values = np.asarray(values, dtype=float)
        if isinstance(loss, SquaredDistance):
            self.A = np.clip(values, loss.low, loss.high)
            self.b = np.zeros(len(values))
            self.mean = self.w @ self.A
            self.half_variance = float(self.w @ ((self.A - self.mean) ** 2).sum(1)) / 2
        elif location:
            self.A = np.ones((len(values), 1))
            self.b = values[:, 0]
        else:
            norms = np.linalg.norm(values[:, :-1], axis=1, keepdims=True)
            self.A = values[:, :-1] if (norms <= 1).all() else values[:, :-1] / np.maximum(norms, 1)
            self.b = np.where(values[:, -1] > 0, 1.0, -1.0) if loss.margin else values[:, -1]

    @property
    def d(self) -> int:
        """The number of coordinates of x."""
        return self.A.shape[1]

    def with_loss(self, loss: Loss) -> "Risk":
        """Return the risk of the same rows under another loss."""
        out = object.__new__(Risk)
        out.__dict__.update(self.__dict__, loss=loss)
        return out

    def value(self, x: Array) -> float:
        """Return the risk F(x) at one point."""
        return float(self.values(x[None])[0])

    def values(self, X: Array) -> Array:
        """Return the risks F (m,) at every row of X (m, d)."""
        return self.values_and_gradients(X, with_gradients=False)[0]

    def values_and_gradients(self, X: Array, *, with_gradients: bool = True) -> tuple[Array, Array]:
        """Return the risks F (m,) and a subgradient (m, d) at every row of X (m, d)."""
        if isinstance(self.loss, SquaredDistance):
            offsets = X - self.mean
            return (offsets**2).sum(1) / 2 + self.half_variance, offsets
        F = np.empty(len(X))
        G = np.zeros(X.shape)
        step = max(1, LOSSES_PER_BLOCK // len(self.A))
        for i in range(0, len(X), step):
            t = self.A @ X[i : i + step].T
            F[i : i + step] = self.w @ self.loss.value(t, self.b[:, None])
            if with_gradients:
                G[i : i + step] = (self.w[:, None] * self.loss.slope(t, self.b[:, None])).T @ self.A
        return F, G

    def gradient(self, x: Array) -> Array:
        """Return a subgradient (d,) of the risk at x."""
        return self.values_and_gradients(x[None])[1][0]

    def hessian(self, x: Array) -> Array:
        """Return the Hessian ∇²F (d, d) at x, for a smooth loss."""
        if isinstance(self.loss, SquaredDistance):
            return np.eye(self.d)
        return (self.A.T * (self.w * self.loss.second_derivative(self.A @ x, self.b))) @ self.A


class LossOnRegion:
    """The loss of a row as a function of x on a region K.

    With `location` x is a number like the rows' own.
    """

    loss: Loss
    region: Region
    location: bool

    @cached_property
    def G(self) -> float:  # noqa: N802 - the paper's letter
        """The Lipschitz constant of f(·; z) − f(·; z') on K, for all records z, z'."""
        return gradient_difference_bound(
            self.loss, location=self.location, max_norm=self.region.max_norm
        )

    def risk(self, rows: Any) -> Risk:
        """Return the empirical risk F on the rows."""
        return Risk(self.loss, rows.values, rows.weights, location=self.location)


def minimise_by_newton(
    risk: Risk,
    x: Array,
    *,
    mu: float,
    centre: Array,
    tilt: Array | float = 0.0,
    ball: Ball | None = None,
    tolerance: float = 1e-12,
) -> Array:
    """Return the minimiser of F(x) + μ‖x − c‖²/2 + ⟨tilt, x⟩ over R^d, or a ball.

    The loss must be smooth; damped Newton starts from x. On R^d it ends when the gradient's norm is
    at most `tolerance`, or when rounding hides any further fall: it promises nothing of what it
    reached, and raises nothing.
    """
    tilt = np.broadcast_to(np.asarray(tilt, dtype=float), x.shape)

    def objective(x: Array) -> float:
        return risk.value(x) + mu * float((x - centre) @ (x - centre)) / 2 + float(tilt @ x)

    def objective_gradient(x: Array) -> Array:
        return risk.gradient(x) + mu * (x - centre) + tilt

    value = objective(x)
    g = objective_gradient(x)
    damping = 0.0
    scale = risk.loss.curvature + mu
    for _ in range(MAX_NEWTON_STEPS):
        if np.linalg.norm(g) <= tolerance:
            break
        H = risk.hessian(x) + (mu + damping + 1e-12 * scale) * np.eye(risk.d)
        try:
            step = np.linalg.solve(H, -g)
            if ball is not None and not ball.contains((x + step)[None])[0]:
                step = _minimise_on_sphere(H, g, x, ball) - x
        except np.linalg.LinAlgError:  # no error may leave: it would depend on the rows
            break
        decrease = -float(g @ step)
        if decrease <= 0:
            break
        new_value = objective(x + step)
        if new_value > value - 1e-4 * decrease:
            new_gradient = objective_gradient(x + step)
            if decrease < 1e-14 * max(abs(value), 1e-300):  # below rounding: go by the gradient
                if ball is not None or not np.linalg.norm(new_gradient) < np.linalg.norm(g) * 0.9:
                    break
            elif damping < 1e6 * scale:  # where few rows bend, a quadratic is trusted too far
                damping = max(8 * damping, 1e-6 * scale)
                continue
            else:
                break
        x = x + step
        value = new_value
        g = objective_gradient(x)
        damping = damping / 8 if damping > 1e-8 * scale else 0.0
    return x if ball is None else ball.project(x)


def _minimise_on_sphere(H: Array, g: Array, x: Array, ball: Ball) -> Array:
    """Return the minimiser over a ball of ⟨g, y − x⟩ + (y − x)ᵀH(y − x)/2 on its sphere.

    It solves (H + λ)(y − m) = H(x − m) − g.
    """
    eigenvalues, Q = np.linalg.eigh(H)
    r = Q.T @ (H @ (x - ball.centre) - g)

    def excess(log_lam: float) -> float:
        return float(np.linalg.norm(r / (eigenvalues + math.exp(log_lam)))) - ball.radius

    high = math.log(float(np.linalg.norm(r)) / ball.radius + 1e-300) + 1e-9
    low = high - 1.0
    while excess(low) < 0 and low > high - 80:
        low -= 2
    # Unlike a library's, this cannot fail, whatever rounding makes of the ends.
    log_lam, _ = bisect_interval(lambda at: excess(at) > 0, low, high, BISECTION_HALVINGS)
    return ball.project(ball.centre + Q @ (r / (eigenvalues + math.exp(log_lam))))


def minimise_risk(
    risk: Risk, region: Region, *, mu: float = 0.0, centre: Array | None = None
) -> Array:
    """Return the minimiser (d,) over the region of F(x) + μ‖x − c‖²/2.

    c is the region's centre unless given. Kinks are rounded off over a width that shrinks to 1e-8
    of the range of residuals, each time from the last solution, so that the value found is too
    large by about that much at the most. Raises InputError if there is no smallest value within
    reach: separable classes on R^d without a regulariser.
    """
    c = region.centre if centre is None else centre
    loss = risk.loss
    kinked_loss = loss if isinstance(loss, PiecewiseLinear) and not loss.width and mu == 0 else None
    if kinked_loss and not kinked_loss.margin and risk.d == 1 and (risk.A == 1).all():
        level = -kinked_loss.low / (kinked_loss.high - kinked_loss.low)
        return region.project(np.quantile(risk.b, [level], weights=risk.w, method="inverted_cdf"))
    scale = 2 * min(region.radius, 1e9) + float(np.ptp(risk.b))
    widths = [0.0] if loss.curvature < math.inf else [scale * w for w in KINK_WIDTHS]
    x = region.centre.copy()
    for width in widths:
        smooth_risk = risk.with_loss(require_sloped_loss(loss).smoothed(width)) if width else risk
        if isinstance(region, Box):
            x = _minimise_in_box(smooth_risk, region, x, mu, c)
        else:
            x = minimise_by_newton(
                smooth_risk, x, mu=mu, centre=c, ball=region if isinstance(region, Ball) else None
            )
    if kinked_loss and len(risk.w) <= MAX_LINEAR_PROGRAM_ROWS:
        exact_minimiser = _solve_linear_program(risk, kinked_loss, region)
        if region.contains(exact_minimiser[None])[0] and risk.value(exact_minimiser) < risk.value(
            x
        ):
            x = exact_minimiser
    if mu == 0 and not region.is_bounded and np.linalg.norm(x - c) > 1e4 * region.radius:
        raise InputError(
            "the risk has no smallest value on R^d (separable classes?); choose a ball or mu > 0"
        )
    return x


def _minimise_in_box(risk: Risk, region: Box, x: Array, mu: float, c: Array) -> Array:
    def value_and_gradient(x: Array) -> tuple[float, Array]:
        F, G = risk.values_and_gradients(x[None])
        return float(F[0] + mu * (x - c) @ (x - c) / 2), G[0] + mu * (x - c)

    bounds = list(zip(region.low, region.high, strict=True))
    options = {"maxiter": 2000, "ftol": 1e-16, "gtol": 1e-12}
    result: Any = minimize(
        value_and_gradient, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    return result.x


def _solve_linear_program(risk: Risk, loss: PiecewiseLinear, region: Region) -> Array:
    """Return the minimiser of a risk with kinks over the box around the region.

    It is found by linear programming with u = p − q.
    """
    r, d = risk.A.shape
    if loss.margin:
        residual_matrix = risk.A * risk.b[:, None]
        right_side = np.ones(r)
    else:
        residual_matrix = risk.A
        right_side = risk.b
    rows = hstack([csr_array(residual_matrix), -eye_array(r), eye_array(r)])
    cost = np.concatenate([np.zeros(d), loss.high * risk.w, -loss.low * risk.w])
    bounds = [*zip(*region.corners, strict=True), *[(0, None)] * (2 * r)]
    solution: Any = linprog(cost, A_eq=rows, b_eq=right_side, bounds=bounds, method="highs")
    return solution.x[:d] if solution.x is not None else region.centre
