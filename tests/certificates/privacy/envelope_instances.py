"""Logistic instances of any kind, and how near their envelope comes to the potential."""

import math
from dataclasses import dataclass

import numpy as np

from dpcore.privacy.samplers import envelope
from dpcore.privacy.samplers.shapes import GaussianEnvelope, RadialEnvelope
from dpcore.privacy.statistics import Density
from dpcore.problems.losses import Logistic
from dpcore.problems.regions import Ball, Space
from dpcore.problems.risks import Risk

ROUNDING = 1e-7  # of a gap, beside 1e-12 of the potential: x̂ is only near the smallest point


@dataclass(frozen=True)
class Instance:
    """Few weighted records a (m, d), already multiplied by their labels, in a region about c of
    radius R.
    """

    A: np.ndarray
    w: np.ndarray
    c: np.ndarray
    R: float
    mu: float
    k: float
    bounded: bool = True

    @property
    def density(self):
        """∝ exp(−k(F + μ‖x − c‖²/2))."""
        region = Ball(self.c, self.R) if self.bounded else Space(self.c, self.R)
        risk = Risk(Logistic(), np.column_stack([self.A, np.ones(len(self.A))]), self.w)
        return Density(risk, region, self.k, self.mu)


@dataclass(frozen=True)
class Found:
    """An instance, its envelope and the smallest gap U − bound that was met, but for what rounding
    explains.
    """

    instance: Instance
    over: GaussianEnvelope | RadialEnvelope
    gap: float


# With κ in the tilted shape's S the bound lies above the potential here.
HOSTILE = Instance(
    np.array(
        [
            [-0.85110806, -0.05574001],
            [0.04205115, 0.08731278],
            [-0.17921959, -0.9838091],
            [-0.02342773, 0.02074589],
            [0.35589426, 0.81901939],
        ]
    ),
    np.array([5.80931217e-06, 1.71755498e-03, 3.34697753e-04, 9.97406290e-01, 5.35647854e-04]),
    np.zeros(2),
    12.096596696588945,
    5.3199372925801e-06,
    4414.202823048146,
)


def draw(rng, d):
    """An instance of any kind: alike or rare records, long or short, all scales of k, μ and R."""
    m = int(rng.integers(1, 6))
    A = rng.normal(size=(m, d))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    A *= rng.choice([1.0, 0.3, 0.03], (m, 1))
    mu = 0.0 if rng.random() < 0.6 else 10 ** rng.uniform(-6, 0)
    bounded = mu == 0 or rng.random() < 0.85
    c = rng.normal(size=d) * rng.choice([0.0, 0.0, 1.0])
    w = 10 ** rng.uniform(-5, 0, m)
    R = 10 ** rng.uniform(-0.5, 1.5)
    k = 10 ** rng.uniform(1, 4)
    return Instance(A, w / w.sum(), c, R, mu, k, bounded)


def lowest(instance, rng):
    """The envelope, and the smallest gap U − bound at points of it, of its rim and of K."""
    density = instance.density
    over = envelope.logistic_envelope(instance.density)
    metric = over.M if isinstance(over, RadialEnvelope) else over.P
    x = over.at
    d = len(over.at)
    level = float(density.potential(x[None])[0])
    far = 2 * instance.R * math.sqrt(float(np.linalg.eigvalsh(metric)[-1]))
    directions = np.linalg.solve(np.linalg.cholesky(metric).T, rng.normal(size=(d, 600))).T
    directions /= np.sqrt(((directions @ metric) * directions).sum(1))[:, None]
    V = directions * (far * rng.random((600, 1)) ** rng.choice([0.01, 0.3, 1, 4], (600, 1)))
    V = density.region.project(x + np.concatenate([V, over.draw(200, rng)])) - x
    gap = density.potential(x + V) - level - np.maximum(over.bound(V), over.exponent_floor)
    return Found(instance, over, float(gap.min(initial=0)) + ROUNDING + 1e-12 * abs(level))
