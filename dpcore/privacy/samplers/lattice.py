"""The exponential mechanism x ∝ exp(−kF(x)), drawn exactly on a public grid, for promises at δ = 0.

K's public box is cut into 2^`GRID_BITS` cells along each axis, and an answer is the middle of a
cell: its digits follow from public ends and whole numbers. F between neighbours differs by a
G/unit-Lipschitz function on K, so also on the middles that lie in K, and the law on them has the
bounded range that `PlainRisk` derives for K.

Boxes of cells, with sides of powers of two, cover K. F is convex, so it lies above its tangent
plane at one cell of a box. A box is drawn with the mass under exp(−k · plane)
(`mechanisms.exponential`). Within it a cell j along an axis has weight exp(−γj): the product over
its binary digits, so that every digit is an independent coin. The cell is kept with probability
exp(−gap) (`exact_bernoulli`), gap being how far kF lies above the plane, at least 0. All coins and
choices are exact for the floats that describe them. How boxes are cut depends on rows and changes
no law, only the time.

Rounding moves the logarithm of a cell's weight by at most e. With u = 2^−52, `reach` the largest
|⟨a, x⟩|, L the largest slope and M the largest loss: a loss is off by (d + 4)u(M + L · reach), a
mean of at most n of them by nu M more, and a slope, which may belong to a point (d + 4)u · reach
away, puts the plane too high by a few times as much; the gap is three such numbers, and logarithms
of masses are off by 2^−44 an axis. So e = 8(terms + d + 64)u k(M + L · reach) + 2^−44 d, terms = n.
On a line, rows of a loss of two slopes are moved to middles of cells, each by itself, and summed in
whole numbers: terms = 0. Both neighbours' weights and sums may be off by e, so k is lowered by 4e
of ε₀.

Targets beyond 2R + width of ⟨a, c⟩ are moved there, row by row: on K their slopes stay what they
are, so F changes by a constant. Boxes are cut further until a cell is kept, as each is in boxes of
one cell: a draw ends, and when it does depends on the rows, as running times do (a timing channel).
For the squared distance on a box the law is a product over the axes, drawn one after the other.
"""

from collections.abc import Callable

import numpy as np

from ...core.types import Array, Rng
from ...problems.losses import Logistic, Loss, PiecewiseLinear, SquaredDistance, require_sloped_loss
from ...problems.regions import Ball, Box
from ...problems.risks import Risk
from .. import mechanisms
from ..exact_bernoulli import flip_exp_coins
from ..statistics.density_targets import Density, PlainRisk, Target
from .plane import MAX_STEEPNESS

GRID_BITS = 30
UNIT_ROUNDOFF = 2.0**-52
LOG_MASS_ERROR = 2.0**-44  # rounding of logarithms of masses
MAX_DIMENSIONS = 2
MAX_BOXES_PER_CUT = 512  # boxes cut at once
CELLS_PER_BATCH = 64  # cells tried at once
BALL_EDGE_FACTOR = (
    1 + 1e-9
)  # boxes that reach so far beyond a ball are kept, so that rounding leaves out no cell
TangentFunction = Callable[
    [Array], tuple[Array, Array]
]  # of points (m, d): heights (m,) and slopes (m, d)


def unsupported_reason(target: Target) -> str | None:
    """Return the reason why this sampler cannot draw from a target; None when it can."""
    if not isinstance(target, PlainRisk) or not target.region.is_bounded:
        return "the sampler grid needs the plain exponential mechanism on a bounded region"
    if isinstance(target.loss, SquaredDistance) and isinstance(target.region, Box):
        return None
    if len(target.region.centre) > MAX_DIMENSIONS:
        return (
            f"delta=0 needs a public grid: at most {MAX_DIMENSIONS} coefficients, or means "
            "within a box"
        )
    return None


def too_long_reason(target: PlainRisk, k: float, _error: float, _n: int) -> str | None:
    """Return the reason why boxes would hardly fit the density; None when they do.

    From public numbers. See `plane.too_long_reason`.
    """
    if len(target.region.centre) == 1 or isinstance(target.loss, SquaredDistance):
        return None
    steepness = k * require_sloped_loss(target.loss).lipschitz_constant * target.region.radius
    if (steepness) > MAX_STEEPNESS:
        return (
            "the sampler grid needs too many boxes where k · slope · radius is "
            f"{steepness:.3g}; take a smaller epsilon"
        )
    return None


def rounding_share(target: PlainRisk, k: float, n: int) -> float:
    """Return the share of k that pays for rounding.

    4e of ε₀ = k G · diameter/unit, which is at least k G · diameter/n.
    """
    region = target.region
    loss = target.loss
    d = len(target.region.centre)
    if isinstance(loss, SquaredDistance):
        max_distance = float(
            np.linalg.norm(
                np.maximum(abs(loss.low - region.centre), abs(loss.high - region.centre))
            )
        )
        magnitude = 2 * (max_distance + region.radius) ** 2
    else:
        width = loss.width if isinstance(loss, PiecewiseLinear) else 0.0
        reach = region.max_norm + 1 if loss.margin else region.radius
        max_loss = (
            loss.lipschitz_constant * (reach + 1)
            if loss.margin
            else loss.lipschitz_constant * (3 * region.radius + 2 * width)
        )
        magnitude = max_loss + loss.lipschitz_constant * reach
    terms = 0 if _is_quantile_on_line(loss, target.location) else n
    e = 8 * (terms + d + 64) * UNIT_ROUNDOFF * magnitude + LOG_MASS_ERROR * d / k
    return 4 * e * n / (target.G * region.diameter)


def draw(density: Density, _error: float, rng: Rng) -> Array:
    """Return one exact draw (d,) from the law on the middles of the grid's cells."""
    region = density.region
    c = density.region.centre
    low_corner, high_corner = region.corners
    low = low_corner - c
    high = high_corner - c
    if isinstance(density.risk.loss, SquaredDistance):
        mean = density.risk.w @ (density.risk.A - c)
        if isinstance(region, Box):
            axes = [
                _CellBoxes(
                    _square_tangents(density.k, mean[i : i + 1]),
                    low[i : i + 1],
                    high[i : i + 1],
                    None,
                ).draw(rng)
                for i in range(len(c))
            ]
            return region.project(c + np.concatenate(axes))
        tangents = _square_tangents(density.k, mean)
    else:
        tangents = _risk_tangents(density, low, high)
    ball = region.radius if isinstance(region, Ball) else None
    return region.project(c + _CellBoxes(tangents, low, high, ball).draw(rng))


class _CellBoxes:
    """Boxes of grid cells, each with a plane below the potential.

    Their lowest cells (m, d), the powers of two of their sides (m, d), and their planes.
    """

    def __init__(
        self, tangents: TangentFunction, low: Array, high: Array, radius: float | None
    ) -> None:
        self.tangents = tangents
        self.low = low
        self.radius = radius
        self.step = (high - low) / 2.0**GRID_BITS
        self.start = np.zeros((1, len(low)), dtype=np.int64)
        self.power = np.full((1, len(low)), GRID_BITS)
        self.height, self.slope, self.mass = self._planes(self.start, self.power)

    def draw(self, rng: Rng) -> Array:
        """Return the middle (d,) of one cell, drawn from the law.

        The first cell that is kept has the law, however boxes were cut before.
        """
        while True:
            self._split_heavy_boxes()
            accepted = self._draw_accepted_points(rng)
            if len(accepted):
                return accepted[0]

    def _middles(self, cells: Array) -> Array:
        """Return the middles (m, d) of cells, from public numbers alone."""
        return self.low + (cells + 0.5) * self.step

    def _planes(self, start: Array, power: Array) -> tuple[Array, Array, Array]:
        """Return the height (m,), slope (m, d) and log mass (m,) of planes below kF on boxes.

        Height and slope are those of kF at a cell of each box; the slope is for one cell.
        """
        touch_cells = _touch_cell(power)
        height, slope = self.tangents(self._middles(start + touch_cells))
        slope = slope * self.step
        absolute_slope = np.abs(slope)
        cells_beyond = np.where(slope >= 0, touch_cells, 2**power - 1 - touch_cells)
        mass = absolute_slope * cells_beyond
        for digit in range(GRID_BITS):
            mass += np.where(digit < power, np.log1p(np.exp(-absolute_slope * 2.0**digit)), 0.0)
        return height, slope, mass.sum(1) - height

    def _split_heavy_boxes(self) -> None:
        """Split the boxes that hold 95% of the mass, each in half along its longer side.

        MAX_BOXES_PER_CUT at the most.
        """
        order = np.argsort(-self.mass)
        share = np.exp(self.mass[order] - self.mass.max())
        heavy_boxes = order[
            : min(int(np.searchsorted(np.cumsum(share), 0.95 * share.sum())) + 1, MAX_BOXES_PER_CUT)
        ]
        heavy_boxes = heavy_boxes[self.power[heavy_boxes].max(axis=1) > 0]
        start = self.start[heavy_boxes].copy()
        power = self.power[heavy_boxes].copy()
        rows = np.arange(len(heavy_boxes))
        axis = np.where(power > 0, self.step * 2.0**power, -1.0).argmax(axis=1)
        power[rows, axis] -= 1
        upper_halves = start.copy()
        upper_halves[rows, axis] += 2 ** power[rows, axis]
        start = np.concatenate([start, upper_halves])
        power = np.concatenate([power, power])
        if self.radius is not None:
            low = self._middles(start)
            high = self._middles(start + 2**power - 1)
            nearest = np.clip(0.0, low, high)
            meets_ball = (nearest**2).sum(axis=1) <= (self.radius * BALL_EDGE_FACTOR) ** 2
            start = start[meets_ball]
            power = power[meets_ball]
        is_unsplit = np.ones(len(self.start), dtype=bool)
        is_unsplit[heavy_boxes] = False
        height, slope, mass = self._planes(start, power)
        self.start = np.concatenate([self.start[is_unsplit], start])
        self.power = np.concatenate([self.power[is_unsplit], power])
        self.height = np.concatenate([self.height[is_unsplit], height])
        self.slope = np.concatenate([self.slope[is_unsplit], slope])
        self.mass = np.concatenate([self.mass[is_unsplit], mass])

    def _draw_accepted_points(self, rng: Rng) -> Array:
        """Return the middles (m, d) of the kept cells, of CELLS_PER_BATCH tried, in order."""
        box = mechanisms.exponential(self.mass, 1.0, CELLS_PER_BATCH, rng)
        slope = self.slope[box]
        power = self.power[box]
        steps = _draw_truncated_geometric(slope, power, rng)
        points = self._middles(self.start[box] + steps)
        inside = np.ones(CELLS_PER_BATCH, dtype=bool)
        if self.radius is not None:
            inside = (points**2).sum(axis=1) <= self.radius**2
        points = points[inside]
        box = box[inside]
        cells_from_touch = (steps - _touch_cell(power))[inside]
        if not len(points):
            return points
        plane = self.height[box] + (self.slope[box] * cells_from_touch).sum(axis=1)
        gap = np.maximum(self.tangents(points)[0] - plane, 0.0)
        return points[flip_exp_coins(gap, rng)]


def _touch_cell(power: Array) -> Array:
    """Return the number of the cell, of 2^power ones, at which a plane touches."""
    return np.where(power > 0, 2 ** np.maximum(power - 1, 0), 0)


def _draw_truncated_geometric(slope: Array, power: Array, rng: Rng) -> Array:
    """Return whole numbers j in 0..2^power − 1, each with probability ∝ exp(−slope · j).

    They are drawn digit by digit.

    A digit of value v is 1 with odds exp(−slope · v): both are tried alike, and the less likely one
    is kept with probability exp(−|slope| v). The products are exact, as v is a power of two.
    """
    values = np.zeros(slope.shape, dtype=np.int64)
    rising = slope < 0
    for digit in range(int(power.max(initial=0))):
        pending = digit < power
        bits = np.zeros(slope.shape, dtype=np.int64)
        while pending.any():
            unlikely_digit = np.zeros(slope.shape, dtype=np.int64)
            unlikely_digit[pending] = rng.integers(0, 2, int(pending.sum()))
            accepted = pending & (unlikely_digit == 0)
            unlikely_tried = pending & (unlikely_digit == 1)
            accepted[unlikely_tried] = flip_exp_coins(
                np.abs(slope[unlikely_tried]) * 2.0**digit, rng
            )
            bits[accepted] = np.where(
                rising[accepted], 1 - unlikely_digit[accepted], unlikely_digit[accepted]
            )
            pending &= ~accepted
        values += bits << digit
    return values


def _is_quantile_on_line(loss: Loss, location: bool) -> bool:
    """Return whether the risk is that of a two-slope loss on a line.

    Such a risk is summed in whole numbers.
    """
    return location and isinstance(loss, PiecewiseLinear) and not loss.margin and not loss.width


def _square_tangents(k: float, mean: Array) -> TangentFunction:
    """Return the function k‖y − mean‖²/2 and its slopes."""

    def tangents(Y: Array) -> tuple[Array, Array]:
        difference = Y - mean
        return k * (difference**2).sum(axis=1) / 2, k * difference

    return tangents


def _risk_tangents(density: Density, low: Array, high: Array) -> TangentFunction:
    """Return the function kF(c + y) and its slopes."""
    risk = density.risk
    c = density.region.centre
    k = density.k
    loss = require_sloped_loss(risk.loss)
    if _is_quantile_on_line(loss, risk.location):  # a public fact, the same for both neighbours
        return _line_tangents(risk, c, k, float(low[0]), float(high[0]))
    width = loss.width if isinstance(loss, PiecewiseLinear) else 0.0
    centred_risk = risk
    offset = c
    if not isinstance(loss, Logistic) and not loss.margin:
        centred_risk = risk.with_loss(loss)
        offset = np.zeros(len(c))
        max_distance = 2 * density.region.radius + width
        centred_risk.b = np.clip(risk.b - (risk.A * c).sum(1), -max_distance, max_distance)

    def tangents(Y: Array) -> tuple[Array, Array]:
        F, G = centred_risk.values_and_gradients(offset + Y)
        return k * F, k * G

    return tangents


def _line_tangents(risk: Risk, c: Array, k: float, low: float, high: float) -> TangentFunction:
    """Return the function kF(c + y) on a line and its slopes, as sums of whole numbers.

    The rows are moved to middles of cells.
    """
    loss = require_sloped_loss(risk.loss)
    if not isinstance(loss, PiecewiseLinear):
        raise TypeError("a loss of two slopes is needed")
    step = (high - low) / 2.0**GRID_BITS
    position = (np.clip(risk.b - c[0], low, high) - low) / step
    cells, cell_index = np.unique(
        np.minimum(np.floor(position), 2.0**GRID_BITS - 1).astype(np.int64), return_inverse=True
    )
    counts = np.bincount(cell_index, risk.counts).astype(np.int64)
    rows = np.append(0, np.cumsum(counts))
    sums = np.append(0, np.cumsum(counts * cells))

    def tangents(Y: Array) -> tuple[Array, Array]:
        cell_number = np.rint((Y[:, 0] - low) / step - 0.5).astype(np.int64)
        i = np.searchsorted(cells, cell_number, side="right")
        under = cell_number * rows[i] - sums[i]
        over = (sums[-1] - sums[i]) - cell_number * (rows[-1] - rows[i])
        F = (loss.high * under - loss.low * over) * (k * step / risk.n)
        slope = (loss.high * rows[i] + loss.low * (rows[-1] - rows[i])) * (k / risk.n)
        return F, slope[:, None]

    return tangents
