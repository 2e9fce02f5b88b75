"""The number of standard errors on either side of an interval, and the errors of sampling."""

import math
from typing import Any

import numpy as np
from scipy.special import ndtri

from ...core.errors import InputError
from ...core.types import Array

LEVEL_RANGE = (0.5, 0.9999)


def check_level(level: float) -> float:
    """Return the confidence level; raise InputError outside the supported range."""
    if not LEVEL_RANGE[0] <= level <= LEVEL_RANGE[1]:
        raise InputError(f"level={level:g} is outside {LEVEL_RANGE[0]:g}..{LEVEL_RANGE[1]:g}")
    return level


def two_sided_quantile(level: float, *, laplace: bool = False) -> float:
    """Return the number of standard deviations on either side of a confidence interval.

    For Laplace noise it is a single variable's quantile.
    """
    normal_quantile = float(ndtri((1 + level) / 2))
    return max(normal_quantile, -math.log(1 - level) / math.sqrt(2)) if laplace else normal_quantile


def shrink_towards_half(shares: Any, n: float, level: float) -> Array:
    """Return the shares p of n rows, moved towards ½ (Agresti and Coull).

    So the sampling error is never 0.
    """
    z = two_sided_quantile(level)
    return (np.clip(shares, 0, 1) * n + z**2 / 2) / (n + z**2)


def sampling_standard_errors(shares: Any, n: float, level: float) -> Array:
    """Return the standard errors √(p(1 − p)/n) of a sample of n rows.

    They are for a query in [0, 1] at shares p moved towards ½.
    """
    p = shrink_towards_half(shares, n, level)
    return np.sqrt(p * (1 - p) / n)
