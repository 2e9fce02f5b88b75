"""Exact laws of a Curator's outputs, computed independently of it: Gaussian noise, and selections.

For public tables only, whose true values may be known. A likelihood ratio between two of them is
the sharpest score of a transcript that there is (Neyman, Pearson 1933); wrong noise makes it less
sharp, never wrong.
"""

import math
from typing import Any

import numpy as np
from scipy.stats import laplace

from ...core.types import Array, frozen
from ...privacy.accounting import Pure
from ...privacy.measurement import noise_scale
from ...privacy.statistics import (
    AbsoluteErrors,
    Answers,
    CellAnswers,
    SomeAnswers,
    sparse_vector_laplace_scales,
)
from ...schema.domain import Rows

# the verbs whose outcomes are few, each with a known law
SELECTION_VERBS = (
    "select",
    "draw_queries",
    "above_threshold",
)
QUADRATURE_NODES = 2000  # nodes of the quadrature over a noisy threshold


@frozen
class CuratorCall:
    """A call of an algorithm to its curator: verb, statistic or score, spend, other arguments."""

    verb: str
    statistic: Any
    spend: Any
    arguments: tuple = ()


def gaussian_log_ratio(call: CuratorCall, first: Rows, second: Rows) -> tuple[Array, float, float]:
    """Return w, c and μ² of the log likelihood ratio log p₂(y)/p₁(y) = w · y − c of an output y.

    p₁ and p₂ are its densities under the two tables: y ~ N(a, Σ) or N(b, Σ), so w = Σ⁻¹(b − a), c =
    w · (a + b)/2, μ² = w · (b − a). Noise on cells leaves as the queries see it, Σ = σ²AAᵀ; its
    pseudo-inverse serves, as b − a is in its range.
    """
    statistic = call.statistic
    n = first.n
    sigma = noise_scale(statistic, call.spend, n)

    def value(rows: Rows) -> Array:
        """Return the statistic of a table; a part of the answers is read off all of them."""
        if isinstance(statistic, SomeAnswers):
            return statistic.value(Answers(statistic.workload).value(rows))
        return statistic.value(rows)

    a = value(first)
    b = value(second)
    if not isinstance(statistic, CellAnswers):
        return log_ratio_of_means(a, b, (b - a) / sigma**2)
    A = np.column_stack([statistic.postprocess(cell) for cell in np.eye(len(a))])
    a = A @ a
    b = A @ b
    return log_ratio_of_means(
        a, b, np.linalg.pinv(A @ A.T, rcond=1e-10, hermitian=True) @ (b - a) / sigma**2
    )


def log_ratio_of_means(a: Array, b: Array, w: Array) -> tuple[Array, float, float]:
    """Return w, c and μ² of `gaussian_log_ratio` for means a and b, and w = Σ⁻¹(b − a)."""
    return w, float(w @ (a + b) / 2), float(w @ (b - a))


def selection_probabilities(call: CuratorCall, rows: Rows) -> Array:
    """Return the probability of every outcome of one selection from the rows.

    For a sparse vector the last outcome is "none is above".

    Exponential mechanism: p_i ∝ exp(s_i/scale), scale = 2Δ/(nε₀). Permute-and-flip: with h_i =
    exp((s_i − max)/scale) and a uniform arrival time t of each, p_i = h_i ∫ Π_{j≠i} (1 − t h_j) dt,
    a polynomial that Gauss–Legendre quadrature integrates exactly. Sparse vector: ∫ f(ν) Π_{j<i} (1
    − above_j) above_i dν over the noisy threshold.
    """
    score = call.statistic
    spend = call.spend
    n = rows.n
    s = score.value(Answers(score.workload).value(rows))
    if isinstance(score, AbsoluteErrors):
        return _sparse_vector_probabilities(
            s, *sparse_vector_laplace_scales(score.sensitivity / n, spend.epsilon)
        )
    scale = 2 * score.sensitivity / (n * spend.epsilon)
    weights = np.exp((s - s.max()) / scale)
    if not isinstance(spend, Pure):
        return weights / weights.sum()
    t, dt = np.polynomial.legendre.leggauss(len(s) // 2 + 1)
    survival = 1 - (t[:, None] + 1) / 2 * weights
    survival_of_others = np.column_stack(
        [np.delete(survival, i, axis=1).prod(axis=1) for i in range(len(s))]
    )
    return weights * (dt / 2 @ survival_of_others)


def _sparse_vector_probabilities(values: Array, threshold_scale: float, scale: float) -> Array:
    """Return the probabilities of a sparse vector's outcomes 0..b−1 and of none.

    Computed by quadrature over the threshold's noise.
    """
    u = (np.arange(QUADRATURE_NODES) + 0.5) / QUADRATURE_NODES
    nu = laplace.ppf(u, scale=threshold_scale)
    tail = laplace.sf((nu[:, None] - values) / scale)
    below = np.cumprod(1 - tail, axis=1)
    before = np.column_stack([np.ones(QUADRATURE_NODES), below[:, :-1]])
    return np.append((before * tail).mean(axis=0), below[:, -1].mean())


def most_telling_outcomes(p: Array, q: Array, trials: float, z: float) -> tuple[float, Array]:
    """Return the log probability ratio that can be shown, and the outcome set that shows it best.

    The ratio is the one that `trials` of each table would show. Of all sets {p/q ≥ t}, the chosen
    one has the largest log of (P − z sd(P))/(Q + z sd(Q)): a rare outcome that says much is seen
    too seldom.
    """
    order = np.argsort(np.log(np.maximum(q, 1e-300)) - np.log(np.maximum(p, 1e-300)), kind="stable")
    P = np.cumsum(p[order]).clip(0, 1)
    Q = np.cumsum(q[order]).clip(0, 1)
    low = P - z * np.sqrt(P * (1 - P) / trials)
    high = Q + z * np.sqrt(Q * (1 - Q) / trials) + 1e-300
    provable_log_ratios = np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -math.inf)
    best = int(provable_log_ratios.argmax())
    outcome_mask = np.zeros(len(p), dtype=bool)
    outcome_mask[order[: best + 1]] = True
    return float(provable_log_ratios[best]), outcome_mask
