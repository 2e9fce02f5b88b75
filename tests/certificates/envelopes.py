"""A search for logistic instances whose envelope does not lie below the potential, and envelopes by quadrature."""

import math
from dataclasses import dataclass, replace

import numpy as np

from dpcore.geometry.regions import Ball, Space
from dpcore.learning.losses import Logistic
from dpcore.learning.risks import Risk
from dpcore.privacy.samplers import envelope
from dpcore.privacy.samplers.shapes import Envelope, Radial
from dpcore.privacy.statistics.targets import Density

ROUNDING = 1e-7  # of a gap, beside 1e-12 of the potential: x̂ is only near the smallest point
ENOUGH = 0.3
SHRINKING = (0.3, 0.1, 0.03, 0.01)


@dataclass(frozen=True)
class Instance:
    """Few weighted records a (m, d), already multiplied by their labels, in a region about c of radius R."""

    A: np.ndarray
    w: np.ndarray
    c: np.ndarray
    R: float
    mu: float
    k: float
    error: float
    bounded: bool = True

    @property
    def density(self) -> Density:
        """∝ exp(−k(F + μ‖x − c‖²/2))."""
        region = Ball(self.c, self.R) if self.bounded else Space(self.c, self.R)
        risk = Risk(Logistic(), np.column_stack([self.A, np.ones(len(self.A))]), self.w)
        return Density(risk, region, self.k, self.mu)


@dataclass(frozen=True)
class Found:
    """An instance, its envelope and the smallest gap U − bound that was met, but for what rounding explains.

    `share` is the smallest gap as a share of T − bound, T the quadratic that U is near x̂, where that is at least
    ENOUGH: this is what a search climbs by, as every gap is near 0 where all three are nearly the same.
    """

    instance: Instance
    over: Envelope | Radial
    gap: float
    share: float


# With κ for the extreme in the tilted shape, accepted points are about 30 times as far from their law as is paid for.
HOSTILE = Instance(
    np.array([[-0.85110806, -0.05574001], [0.04205115, 0.08731278], [-0.17921959, -0.9838091],
              [-0.02342773, 0.02074589], [0.35589426, 0.81901939]]),
    np.array([5.80931217e-06, 1.71755498e-03, 3.34697753e-04, 9.97406290e-01, 5.35647854e-04]),
    np.zeros(2),
    12.096596696588945,
    5.3199372925801e-06,
    4414.202823048146,
    6.066861896618436e-09,
)  # fmt: skip


def draw(rng: np.random.Generator, d: int) -> Instance:
    """An instance of any kind: alike or rare records, long or short, all scales of k, μ and R."""
    m = int(rng.integers(1, 6))
    A = rng.normal(size=(m, d))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    A *= rng.choice([1.0, 0.3, 0.03], (m, 1))
    mu = 0.0 if rng.random() < 0.6 else 10 ** rng.uniform(-6, 0)
    bounded = mu == 0 or rng.random() < 0.85
    c = rng.normal(size=d) * rng.choice([0.0, 0.0, 1.0])
    w, R, k = 10 ** rng.uniform(-5, 0, m), 10 ** rng.uniform(-0.5, 1.5), 10 ** rng.uniform(1, 4)
    return Instance(A, w / w.sum(), c, R, mu, k, 10 ** rng.uniform(-10, -3), bounded)


def changed(old: Instance, scale: float, rng: np.random.Generator) -> Instance:
    """The same a little otherwise."""

    def factor(size: int | None = None) -> np.ndarray:
        return np.exp(2 * scale * rng.normal(size=size) * rng.integers(0, 2, size))

    A = old.A + scale * rng.normal(size=old.A.shape) * rng.integers(0, 2, (len(old.A), 1))
    A /= np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1)
    w, k, mu, R = old.w * factor(len(A)), old.k * factor(), old.mu * factor(), old.R * factor()
    return replace(old, A=A, w=w / w.sum(), k=float(k), mu=float(mu), R=float(R))


def lowest(instance: Instance, rng: np.random.Generator, points: int = 90) -> Found:
    """The smallest gap at points of the envelope, of the sphere and of K, each time looked for nearer to the worst."""
    density, over = instance.density, envelope.envelope(instance.density, instance.error)
    x, d = over.at, len(over.at)
    level = float(density.potential(x[None])[0])
    room = ROUNDING + 1e-12 * abs(level)
    g = density.k * (density.risk.gradient(x) + density.mu * (x - density.centre))
    H = density.k * (density.risk.hessian(x) + density.mu * np.eye(d))
    far = min(over.r, 2 * instance.R * math.sqrt(float(np.linalg.eigvalsh(over.M)[-1])))

    def measured(V: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        V = density.region.project(x + V) - x
        V = V[((V @ over.M) * V).sum(1) <= over.r**2]
        bound = np.maximum(over.bound(V), over.least)
        gap, below = density.potential(x + V) - level - bound, V @ g + ((V @ H) * V).sum(1) / 2 - bound
        return gap, np.where(below < ENOUGH, np.inf, gap / np.maximum(below, ENOUGH)), V

    directions = np.linalg.solve(np.linalg.cholesky(over.M).T, rng.normal(size=(d, points))).T
    directions /= np.sqrt(((directions @ over.M) * directions).sum(1))[:, None]
    V = directions * (far * rng.random((points, 1)) ** rng.choice([0.3, 1, 4], (points, 1)))
    gap, share, V = measured(np.concatenate([V, over.draw(points // 3, rng)]))
    for size in SHRINKING:
        best = V[np.argsort(share)[:4]].repeat(15, 0)
        lengths = np.linalg.norm(best, axis=1, keepdims=True)
        near = best * (1 + size * rng.normal(size=(len(best), 1))) + size * lengths * rng.normal(size=best.shape)
        gap, share, V = (np.concatenate(pair) for pair in zip((gap, share, V), measured(near), strict=True))
    return Found(instance, over, float(gap.min(initial=0)) + room, float(share.min(initial=math.inf)))


def search(rng: np.random.Generator, kind: type, d: int, starts: int, steps: int) -> Found:
    """The worst envelope of a kind: the worst of `starts` random instances, made worse step by step."""

    def share(found: Found) -> float:
        return found.share if isinstance(found.over, kind) else math.inf

    worst = min((lowest(draw(rng, d), rng) for _ in range(starts)), key=share)
    for _ in range(steps):
        other = lowest(changed(worst.instance, float(rng.choice([0.5, 0.2, 0.05])), rng), rng)
        worst = min(worst, other, key=share)
    return worst


def variation(found: Found, radii: int = 1000, angles: int = 360) -> float:
    """Total variation between the law of accepted points and the density on K, d ≤ 2, by quadrature.

    Proposals of density ∝ exp(−bound) are accepted with probability min(1, exp(bound − U)), so accepted points have the
    density ∝ exp(−max(U, bound)) where the envelope reaches.
    """
    V, area, U = _polar(found, radii, angles)
    reached = ((V @ found.over.M) * V).sum(1) <= found.over.r**2
    bound = np.where(reached, np.maximum(found.over.bound(V), found.over.least), 0)
    p, q = np.exp(-U) * area, np.exp(-np.maximum(U, bound)) * area * reached
    return float(np.abs(p / p.sum() - q / q.sum()).sum() / 2)


def log_whole(found: Found) -> float:
    """log ∫_K exp(−U), d ≤ 2, by quadrature."""
    _, area, U = _polar(found, 1000, 360)
    return float(np.log((np.exp(-U) * area).sum()))


def _polar(found: Found, radii: int, angles: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points v of K about x̂, polar in the norm of M, radii evenly in the log; what each stands for; and U."""
    density, over = found.instance.density, found.over
    x, d = over.at, len(over.at)
    root = np.linalg.inv(np.linalg.cholesky(over.M)).T
    widest = 2.1 * found.instance.R * math.sqrt(float(np.linalg.eigvalsh(over.M)[-1]))
    edges = np.concatenate([[0], np.geomspace(1e-6, 1, radii)]) * widest
    middle = (edges[1:] + edges[:-1]) / 2
    turn = 2 * np.pi * (np.arange(angles) + 0.5) / angles
    unit = np.array([[1.0], [-1.0]]) if d == 1 else np.column_stack([np.cos(turn), np.sin(turn)])
    V = (middle[:, None, None] * (unit @ root.T)).reshape(-1, d)
    area = np.repeat(np.diff(edges) * middle ** (d - 1), len(unit)) * abs(np.linalg.det(root))
    area *= 1 if d == 1 else 2 * np.pi / angles
    inside = density.region.contains(x + V)
    V, area = V[inside], area[inside]
    return V, area, density.potential(x + V) - float(density.potential(x[None])[0])
