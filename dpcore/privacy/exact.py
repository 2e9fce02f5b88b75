"""Noise on whole numbers drawn without rounding, by OpenDP.

A float near a noisy answer may not be reachable from every count, so that its last bits tell the count. These draws
are whole numbers, made of the operating system's random bits by exact arithmetic, added to whole numbers.
"""

import math
from importlib import metadata
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..errors import InputError
from ..numbers import ROOM

WHOLE = 2.0**53  # up to which a float is every whole number
LARGEST = 2.0**58  # scale beyond which 64 bits might not hold the sum
STEPS = 2**20  # grid steps in the scale of the noise that is drawn on the grid


def version() -> str:
    """The version of the library that draws the exact noise."""
    return metadata.version("opendp")


def gaussian(counts: np.ndarray, scale: float) -> np.ndarray:
    """Whole numbers `counts` (m,) plus independent discrete Gaussian noise: P(x) ∝ exp(−x²/(2 scale²)) on ℤ.

    ρ-zCDP with ρ = Δ₂²/(2 scale²) for counts of ℓ2-sensitivity Δ₂. It is not μ-GDP. The variance is at most scale².
    Raises InputError where the library is missing or the scale too large. Source: Canonne, Kamath, Steinke 2020,
    Theorem 14 (privacy), Algorithm 3 (sampler).
    """
    dp = _library(scale)
    return _drawn(dp, dp.m.make_gaussian, dp.l2_distance(T=float), scale, counts)


def laplace(counts: np.ndarray, scale: float) -> np.ndarray:
    """Whole numbers `counts` (m,) plus independent discrete Laplace noise: P(x) ∝ exp(−|x|/scale) on ℤ.

    ε-DP with ε = Δ₁/scale for counts of ℓ1-sensitivity Δ₁. The variance is at most 2 scale². Raises InputError as
    `gaussian` does. Source: Ghosh, Roughgarden, Sundararajan 2012; Canonne, Kamath, Steinke 2020, Algorithm 2.
    """
    dp = _library(scale)
    return _drawn(dp, dp.m.make_laplace, dp.l1_distance(T="i64"), scale, counts)


def laplace_above(counts: np.ndarray, scale: float, failure: float, group: int) -> np.ndarray:
    """Positive counts plus discrete Laplace noise where the sum reaches a threshold, else 0; see `Curator.measure`.

    A count of c ≤ b = `group` that a neighbour lacks must reach the threshold b + t with probability ≤ failure/b. On
    ℤ P(noise ≥ t) = rᵗ/(1 + r) for t ≥ 1, r = e^{−1/scale}: t is the smallest whole number that does.
    """
    noisy = laplace(counts, scale)
    return np.where((counts > 0) & (noisy >= threshold(scale, failure, group, True)), noisy, 0.0)


def threshold(scale: float, failure: float, group: int, of_laplace: bool) -> float:
    """The threshold b + t with P(noise ≥ t) ≤ failure/b, for b = `group` and discrete Laplace or Gaussian noise.

    On ℤ the tail of the Laplace law is rᵗ/(1 + r), and that of the Gaussian one at t is at most that of N(0, σ²) at
    t − 1 (Canonne, Kamath, Steinke 2020, Proposition 25).
    """
    wide = scale * ROOM
    if of_laplace:
        tail = wide * (math.log(group / failure) - math.log1p(math.exp(-1 / wide) * (1 - 1e-12)))
        return group + max(math.ceil(tail * ROOM), 1)
    return group + max(math.ceil(-float(ndtri(failure / group)) * wide * ROOM), 0) + 1


def blur(scale: float, sensitivity: float) -> tuple[float, float]:
    """The step of a public grid for values of the given sensitivity, and the scale, in steps, of noise on that grid.

    Rounding to the nearest step moves each value by half of it at the most, so that between neighbours they move by at
    most one step more; the scale grows by as much. Nothing has to be drawn where no row moves them: (1, 0).
    """
    if sensitivity == 0:
        return 1.0, 0.0
    step = 2.0 ** math.floor(math.log2(scale / STEPS))
    return step, scale / step * (1 + step / sensitivity) * ROOM


def first_above(values: np.ndarray, level: float, scale: float) -> int | None:
    """The index that `mechanisms.first_above` finds, for values, level and noise that are whole numbers."""
    above = laplace(values, scale) >= level
    return int(np.argmax(above)) if above.any() else None


def _library(scale: float) -> Any:
    if not 0 <= scale < LARGEST:
        raise InputError(f"exact noise of scale {scale:g} steps is outside [0, {LARGEST:g})")
    import opendp.prelude  # type: ignore[import]  # here, as it takes a moment to load

    dp: Any = opendp.prelude

    dp.enable_features("contrib")  # OpenDP's word for what it has not yet reviewed in full, these two too
    return dp


def _drawn(dp: Any, make: Any, metric: Any, scale: float, counts: np.ndarray) -> np.ndarray:
    if scale == 0:  # the counts are the same for all records
        return counts
    measurement = make(dp.vector_domain(dp.atom_domain(T="i64")), metric, scale * ROOM)
    counts = np.clip(counts, -WHOLE, WHOLE)  # no two counts are farther apart for it, so no sensitivity grows
    return np.array(measurement(counts.astype(np.int64).tolist()), dtype=float)
