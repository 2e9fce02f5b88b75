"""Quantiles by rank, drawn exactly on a public grid.

The public interval is cut into 2^`GRID_BITS` cells of equal width. A row counts in the cell that it
lies in, and an answer is the middle of a cell. Both depend on public ends and on one number each,
so that no digit of an answer tells a row. Of rows in c cells at most, 2c + 1 pieces of the grid
have one rank each: a piece is drawn with probability ∝ its number of cells times exp(−k|W − q|),
without rounding (`mechanisms.exponential`), then one of its cells.

Rounding moves the logarithm of a cell's weight by at most e = 2^−50(64 + k): that of a number of
cells by 2^−52 of 28, the exponent by a few times 2^−53 of k. Each weight of two neighbours may be
off by e, and so may each of their sums, so that likelihood ratios span 4e more. k is lowered by the
share of ε₀ that this takes (`rounding_share`).
"""

import numpy as np

from ...core.errors import InputError
from ...core.types import Array, Rng
from ...problems.losses import PiecewiseLinear
from .. import mechanisms
from ..statistics.density_targets import Density, RankError, Target

GRID_BITS = 40
ROUNDING_UNIT = 2.0**-50


def unsupported_reason(target: Target) -> str | None:
    """Return the reason why this sampler cannot draw from a target; None when it can."""
    return None if isinstance(target, RankError) else "the sampler rank needs a target of ranks"


def rounding_share(_target: Target, k: float, n: int) -> float:
    """Return the share of k that pays for rounding.

    4e of ε₀ = 2k/unit, which is at least 2k/n.
    """
    return 2 * ROUNDING_UNIT * (64 + k) * n / k


def grid_cells(values: Array, low: float, high: float) -> Array:
    """Return the cell of the public grid in which each value lies.

    Beyond the ends it is the first or the last cell.
    """
    share = (np.clip(values, low, high) - low) / (high - low)
    return np.minimum(np.floor(share * 2.0**GRID_BITS), 2.0**GRID_BITS - 1).astype(np.int64)


def cell_middle(cell: int, low: float, high: float) -> float:
    """Return the middle of a cell of the public grid.

    From the number of the cell and public ends alone.
    """
    return min(max(low + (high - low) * ((cell + 0.5) / 2.0**GRID_BITS), low), high)


def draw(density: Density, _error: float, rng: Rng) -> Array:
    """Return one exact draw (1,) from ∝ exp(−k|W(x) − q|) on the grid.

    W is the share of rows in the cells up to that of x.
    """
    risk = density.risk
    loss = density.risk.loss
    if not isinstance(loss, PiecewiseLinear):
        raise InputError("a loss of two slopes is needed")
    (low,), (high,) = density.region.corners
    starts, cell_index = np.unique(grid_cells(risk.b, low, high), return_inverse=True)
    # whole numbers, so summed without error
    W = np.append(0.0, np.cumsum(np.bincount(cell_index, risk.counts))) / risk.n
    ends = np.concatenate([[0], starts, [2**GRID_BITS]])
    size = np.diff(ends)
    W = W[size > 0]
    ends = ends[:-1][size > 0]
    size = size[size > 0]
    level = -loss.low / (loss.high - loss.low)
    scores = np.log(size) - density.k * np.abs(W - level)
    (piece,) = mechanisms.exponential(scores, 1.0, 1, rng)
    cell = int(ends[piece] + rng.integers(size[piece]))
    return np.array([cell_middle(cell, float(low), float(high))])
