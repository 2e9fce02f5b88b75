"""The law of a quantile's answer after several draws, each centred at the one before, by quadrature; for display.

Given a centre c, a stage draws from ∝ exp(−k(F(x) + μ(x − c)²/2)); the law after it is that density
averaged over c, the draw before. Both integrals are sums: over PLACES of c, groups of equal mass of the earlier law,
and over cells of x on which the exponent counts as straight. Cells are narrow where many records share a value.
"""

import numpy as np

from ..errors import InputError
from ..learning.losses import PiecewiseLinear
from ..learning.risks import Risk
from ..privacy.samplers.line import PiecewiseGaussian
from ..privacy.statistics.targets import Density
from ..types import Array

PLACES = 240
CELLS = 1500
ATOMS = 20  # values shared by most records, about which cells shrink to a tenth of 1/k
OUTSIDE = 1e-7  # mass on either side without cells of its own

Cells = tuple[Array, Array]  # edges (m + 1,) and the mass of every cell (m,)


def risk_values(risk: Risk, x: Array) -> Array:
    """The risk F (m,) at points x (m,) of a location risk with a kink, from running sums instead of all pairs."""
    order = np.argsort(risk.b)
    b, w = risk.b[order], risk.w[order]
    W, B = np.concatenate([[0.0], np.cumsum(w)]), np.concatenate([[0.0], np.cumsum(w * b)])
    i, loss = np.searchsorted(b, x, side="right"), risk.loss
    if not isinstance(loss, PiecewiseLinear):
        raise InputError("a loss of two slopes is needed")
    below, above = x * W[i] - B[i], (B[-1] - B[i]) - x * (1 - W[i])
    return loss.high * below - loss.low * above


def first(density: Density) -> Cells:
    """The exact law of one draw as probabilities of cells, which are narrow where the law is large."""
    law = PiecewiseGaussian(density)
    cumulative = law.cumulative / law.cumulative[-1]
    ends = np.interp([OUTSIDE, 1 - OUTSIDE], cumulative, law.edges)
    edges = _edges(density.risk, density.k, ends, (law.edges[0], law.edges[-1]))
    return edges, np.diff(law.cdf(edges))


def following(before: Cells, risk: Risk, region: tuple[float, float], k: float, mu: float) -> Cells:
    """The law of a draw whose centre is a draw from `before`; `region` holds the ends of K."""
    edges, mass = before
    cumulative = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
    c = np.interp((np.arange(PLACES) + 0.5) / PLACES, cumulative, edges)
    ends = np.interp([OUTSIDE, 1 - OUTSIDE], cumulative, edges)
    x = _edges(risk, k, ends, region)
    U = k * (risk_values(risk, x) + mu * (x - c[:, None]) ** 2 / 2)
    U -= U.min(1, keepdims=True)
    rise = np.abs(np.diff(U))
    mean = np.exp(-np.minimum(U[:, :-1], U[:, 1:])) * np.where(
        rise < 1e-6, 1 - rise / 2, -np.expm1(-rise) / np.maximum(rise, 1e-6)
    )
    cells = mean * np.diff(x)
    return x, (cells / cells.sum(1, keepdims=True)).mean(0)


def _edges(risk: Risk, k: float, ends: Array, region: tuple[float, float]) -> Array:
    """The edges of narrow cells about `ends`, inside K."""
    room = 0.2 * (ends[1] - ends[0])
    low, high = max(ends[0] - room, region[0]), min(ends[1] + room, region[1])
    near = (risk.b > low) & (risk.b < high)
    b, w = risk.b[near], risk.w[near]
    atoms = b[np.argsort(-w)[:ATOMS]]
    steps = np.geomspace(min(0.1 / k, high - low), high - low, 60)
    about = (atoms[:, None] + np.concatenate([-steps, [0.0], steps])).ravel()
    return np.unique(np.clip(np.concatenate([np.linspace(low, high, CELLS + 1), about]), low, high))
