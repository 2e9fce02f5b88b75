"""Noise on whole numbers drawn without rounding, by OpenDP: the extra `exact`.

A float near a noisy answer may not be reachable from every count, so that its last bits tell the count. These draws
are whole numbers, made of the operating system's random bits by exact arithmetic, added to whole numbers.
"""

from importlib import metadata, util
from typing import Any

import numpy as np

from ..errors import InputError

ROOM = 1 + 1e-12  # scales found by rounded arithmetic are enlarged by this
LARGEST = 2.0**50  # scale beyond which 64 bits might not hold the sum


def version() -> str | None:
    """The version of the library that draws, None where it is not installed."""
    return metadata.version("opendp") if util.find_spec("opendp") else None


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


def _library(scale: float) -> Any:
    if version() is None:
        raise InputError("exact noise needs the extra [exact], the library opendp, which is not installed here")
    if not 0 <= scale < LARGEST:
        raise InputError(f"exact noise of scale {scale:g} counts is outside [0, {LARGEST:g})")
    import opendp.prelude  # type: ignore[import]  # here, as it takes a moment to load

    dp: Any = opendp.prelude

    dp.enable_features("contrib")  # OpenDP's word for what it has not yet reviewed in full, these two too
    return dp


def _drawn(dp: Any, make: Any, metric: Any, scale: float, counts: np.ndarray) -> np.ndarray:
    if scale == 0:  # the counts are the same for all records
        return counts
    measurement = make(dp.vector_domain(dp.atom_domain(T="i64")), metric, scale * ROOM)
    return np.array(measurement(counts.astype(np.int64).tolist()), dtype=float)
