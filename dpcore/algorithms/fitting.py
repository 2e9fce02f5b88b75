"""Maximum-entropy fits to noisy answers, shared by all that measure tables. Sees noisy answers, never records."""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..workloads import Marginals, Union, Workload

FLOOR = 1e-4  # of a category's share in the product of noisy 1-way marginals
TINY = 1e-12  # standard deviation where nothing moves, so that residuals can be scaled by it
SETTLED = 1e-3  # gradient, in standard deviations of the noise, below which a fit is at its optimum


@dataclass(frozen=True)
class Evidence:
    """Noisy answers y (m,) of a workload with standard deviations (m,)."""

    workload: Workload
    y: np.ndarray
    sigma: np.ndarray


def tables_of(workload: Workload) -> tuple[Marginals, slice] | None:
    """The marginal tables of a workload, and the place of their answers among all."""
    if isinstance(workload, Union):
        places = zip(workload.workloads, workload.places, strict=True)
        return next(((w, place) for w, place in places if isinstance(w, Marginals)), None)
    return (workload, slice(workload.m)) if isinstance(workload, Marginals) else None


def summed(evidence: Evidence, workload: Workload) -> Evidence:
    """Noisy answers of `workload`, whose tables are summed out of larger noisy ones and averaged by precision.

    A cell of table A is the sum of Π_{S∖A} d_i cells of a table S ⊇ A, so its variance is that many times larger.
    """
    found = tables_of(evidence.workload)
    if workload is evidence.workload or not found or not isinstance(workload, Marginals):
        return evidence
    source, place = found
    noisy, sigma = evidence.y[place], evidence.sigma[place]
    y, precision = np.zeros(workload.m), np.zeros(workload.m)
    for axes, table in zip(workload.axes, workload.tables, strict=True):
        for larger, shape, part in zip(source.axes, source.shapes, source.tables, strict=True):
            if set(axes) <= set(larger):
                gone = tuple(i for i, a in enumerate(larger) if a not in axes)
                weight = 1 / (sigma[part.start] ** 2 * math.prod(shape[i] for i in gone))
                y[table] += weight * noisy[part].reshape(shape).sum(axis=gone).ravel()
                precision[table] += weight
    return Evidence(workload, y / precision, 1 / np.sqrt(precision))


def product(evidence: Evidence) -> np.ndarray:
    """log of the product of noisy 1-way marginals (k,), floored; uniform in columns that no table holds."""
    domain = evidence.workload.domain
    log_D = np.zeros(domain.shape)
    if found := tables_of(evidence.workload):
        for axis in sorted({a for axes in found[0].axes for a in axes}):
            single = Marginals(domain, [[domain.names[axis]]])
            shares = np.maximum(summed(evidence, single).y, FLOOR)
            shape = [-1 if a == axis else 1 for a in range(len(domain.shape))]
            log_D += np.log(shares / shares.sum()).reshape(shape)
    return log_D.ravel()


def fit(evidence: Evidence, weight: float, base: np.ndarray, rounds: int) -> Iterator[np.ndarray]:
    """Iterates log D (k,), up to a constant, of argmin_D ½ Σ ((answers(D) − y)/σ)² + weight · KL(D ‖ exp base).

    L-BFGS on the dual f(φ) = weight · log Z(φ) + ½‖φ‖² + φ·y/σ, which is strongly convex, so that every pair of
    differences has positive curvature and backtracking always ends. Source: Nocedal, Wright 2006, Algorithm 7.4.
    """
    workload, target = evidence.workload, evidence.y / evidence.sigma

    def evaluate(phi: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        log_D = base - workload.adjoint(phi / evidence.sigma) / weight
        top = log_D.max()
        D = np.exp(log_D - top)
        total = D.sum()
        answers = workload.answers(D / total) / evidence.sigma
        value = weight * (top + math.log(total)) + phi @ phi / 2 + phi @ target
        return value, phi + target - answers, log_D

    phi = np.zeros(workload.m)
    value, gradient, log_D = evaluate(phi)
    pairs: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=20)
    for _ in range(rounds):
        direction = -_inverse_hessian(pairs, gradient)
        slope, step = direction @ gradient, 1.0
        while True:
            after = evaluate(phi + step * direction)
            if after[0] <= value + 1e-4 * step * slope + 1e-12 * abs(value):
                break
            step /= 2
        pair = step * direction, after[1] - gradient
        if pair[0] @ pair[1] > 0:  # else rounding has eaten the curvature
            pairs.append(pair)
        phi = phi + step * direction
        value, gradient, log_D = after
        yield log_D
        if np.abs(gradient).max() <= SETTLED:
            return


def _inverse_hessian(pairs: deque[tuple[np.ndarray, np.ndarray]], gradient: np.ndarray) -> np.ndarray:
    """The L-BFGS approximation of H⁻¹ · gradient from pairs of (step, change of gradient)."""
    out, shares = gradient.copy(), []
    for s, change in reversed(pairs):
        shares.append((s @ out) / (s @ change))
        out -= shares[-1] * change
    if pairs:
        s, change = pairs[-1]
        out *= (s @ change) / (change @ change)
    for (s, change), share in zip(pairs, reversed(shares), strict=True):
        out += (share - (change @ out) / (s @ change)) * s
    return out
