"""Intervals of a difference, a ratio or an odds ratio of two shares of the same rows.

The shares may overlap. Two questions of one table are paired proportions. Each row lies in one of
four cells: both questions hold, only the first, only the second, neither. A share of few rows is
skew, so that the estimate and its error must move together: all four cells get pseudo-rows, and
every share follows from the same cells.

- Estimate: z²/4 pseudo-rows in each cell, z being the normal quantile. Each share then moves
  towards ½ by z² rows, as Agresti and Coull do for one share (1998, The American Statistician
  52:119), and the joint share moves towards ¼, as
  Agresti and Min do for pairs (2005, Statistics in Medicine 24:729).
- Sampling error: z²/2 pseudo-rows in each cell, so that no cell without rows is taken for certain.
  Two shares that never disagree in n rows still leave a difference of z²/n, a little above the rule
  of three.
- Noise: its covariance is known exactly and is added. It does not depend on the shares.

A sample of n rows gives a contrast α·first − β·second, with α, β ≥ 0, the variance
(α² p(1 − p) + β² q(1 − q) − 2αβ (m − pq))/n. A question that counts part of a bin has values g in
[0, 1]; as E g² ≤ E g, the formula of the four cells is never below its variance. The variance falls
in the joint share m. Where nothing says m, it is the least possible, max(0, p + q − 1).

Noise also makes that variance V uncertain, by the standard error e of (α² p + β² q − 2αβ m)/n. As
the coverage 2Φ(z√v) − 1 is concave in v, an unbiased V covers too rarely; by its second derivative,
V + (1 + z²) e²/(4V) makes up for it. It is never more than V + z e, which already is an upper bound
of V. For a question and itself e is 0.

Coverage has no closed form: tests/certificates/intervals searches for the cells, sizes and noise
where it is worst.
"""

from typing import Any

import numpy as np

from ...core.types import Array, frozen
from .confidence_levels import two_sided_quantile

# product of both noises' errors, in standard errors, up to which an odds ratio is linear
MAX_CURVATURE = 0.1
TINY = 1e-9  # distance from 0 and 1 that shares keep inside an odds ratio's contrast

Ends = tuple[Array, Array]
Covariance = tuple[Any, Any, Any]  # variance of the first share, covariance, variance of the second


@frozen
class PairedShares:
    """Unbiased shares of two questions and of both at once, and the covariance of their noise.

    The shares are arrays of one shape (s,). `noise` (3, 3) is the covariance of the noise of the
    three; (2, 2) and `both` None if nothing says the joint share.
    """

    first: Array
    second: Array
    both: Array | None
    noise: Array

    @property
    def apart(self) -> Covariance:
        """The covariance of the noise of the two questions' own shares."""
        return self.noise[0, 0], self.noise[0, 1], self.noise[1, 1]


@frozen
class Quantiles:
    """The numbers of standard errors on either side of an interval.

    They are for sampling, with noise, and with noise at half the error each for two bands.
    """

    sampling: float
    noisy: float
    halved: float


def quantiles(level: float, *, laplace: bool) -> Quantiles:
    """Return the quantiles at a confidence level; larger ones if some noise is Laplace noise."""
    halved = two_sided_quantile((1 + level) / 2, laplace=laplace)
    return Quantiles(two_sided_quantile(level), two_sided_quantile(level, laplace=laplace), halved)


def table_ends(shares: PairedShares, kind: str, z: Quantiles) -> Ends:
    """Return the ends (s,) of the interval of a comparison in the table, from noise alone.

    They are infinite where nothing bounds it.
    """
    return _ends(kind, shares.first, shares.second, shares.apart, shares.apart, z)


def population_ends(shares: PairedShares, kind: str, n: float, z: Quantiles) -> Ends:
    """Return the ends (s,) of the interval of a comparison in the population.

    The n rows were drawn from that population: noise and sampling count. The ends are never inside
    the table's own, which pseudo-rows alone could move.
    """
    rows = z.sampling**2
    p = _added(shares.first, 1 / 2, n, rows)
    q = _added(shares.second, 1 / 2, n, rows)
    sampling = _sampling(shares, kind, n, z.sampling)
    total = tuple(noise + drawn for noise, drawn in zip(shares.apart, sampling, strict=True))
    low, high = _ends(kind, p, q, total, shares.apart, z)  # type: ignore[arg-type]
    table_low, table_high = table_ends(shares, kind, z)
    return np.minimum(low, table_low), np.maximum(high, table_high)


def _added(share: Array, part: float, n: float, rows: float) -> Array:
    """Return the share of n rows after pseudo-rows were added, a `part` of which counts."""
    return (n * share + part * rows) / (n + rows)


def _sampling(shares: PairedShares, kind: str, n: float, z: float) -> Covariance:
    """Return the covariance of two shares from drawing n rows.

    It is never too large for the contrast of this kind.
    """
    p = np.clip(shares.first, 0, 1)
    q = np.clip(shares.second, 0, 1)
    rows = 2 * z**2
    first = _added(p, 1 / 2, n, rows)
    second = _added(q, 1 / 2, n, rows)
    variances = (first * (1 - first) / n, second * (1 - second) / n)

    def covariance(both: Array) -> Array:
        return (_added(both, 1 / 4, n, rows) - first * second) / n

    least = np.maximum(p + q - 1, 0)
    both = least
    if shares.both is not None:
        both = np.clip(shares.both, least, np.minimum(p, q))
        alpha, beta = _contrast(kind, _added(p, 1 / 2, n, z**2), _added(q, 1 / 2, n, z**2))
        noise = shares.apart
        total = noise[0] + variances[0], noise[1] + covariance(both), noise[2] + variances[1]
        spread = _variance(alpha, beta, total)
        form = np.stack(np.broadcast_arrays(alpha**2, beta**2, -2 * alpha * beta))
        error = np.sqrt(np.maximum(np.einsum("i...,ij,j...->...", form, shares.noise, form), 0)) / n
        more = np.minimum((1 + z**2) / 4 * error**2 / spread, z * error)
        both = np.maximum(both - n * more / (2 * alpha * beta), least)
    return variances[0], covariance(both), variances[1]


def _contrast(kind: str, p: Array, q: Array) -> tuple[Any, Any]:
    """Return the factors (α, β) of the contrast α·first − β·second that a comparison tests.

    The shares are inside (0, 1).
    """
    if kind == "difference":
        return 1.0, 1.0
    if kind == "ratio":
        return 1.0, p / q
    odds = p * (1 - q) / (q * (1 - p))
    return 1 - q + odds * q, p + odds * (1 - p)


def _variance(alpha: Any, beta: Any, covariance: Covariance) -> Array:
    """Return the variance of a contrast α·first − β·second."""
    first, between, second = covariance
    return np.maximum(alpha**2 * first - 2 * alpha * beta * between + beta**2 * second, 0)


def _ends(
    kind: str, p: Array, q: Array, covariance: Covariance, noise: Covariance, z: Quantiles
) -> Ends:
    """Return the ends of a comparison of two shares by their covariance.

    `noise` is a part of the covariance.
    """
    if kind == "difference":
        half = z.noisy * np.sqrt(_variance(1.0, 1.0, covariance))
        return np.clip(p - q - half, -1, 1), np.clip(p - q + half, -1, 1)
    if kind == "ratio":
        return ratio_ends(p, q, covariance, z.noisy)
    return _odds_ends(p, q, covariance, noise, z)


def ratio_ends(a: Array, b: Array, covariance: Covariance, z: float) -> Ends:
    """Return the ends of Fieller's confidence set of a ratio, exact for normal noise.

    The set is {r ≥ 0: (a − rb)² ≤ z² (V_aa − 2 r V_ab + r² V_bb)}, which is A r² − 2 B r + C ≤ 0.
    Where A > 0 it lies between two roots. Where A ≤ 0, b may be 0: there is no upper end, and a
    lower one only where a is clearly above 0. Both are infinite where b is 0 for certain and a is
    not.
    Source: Fieller 1954, Journal of the Royal Statistical Society B 16:175.
    """
    A = b * b - z * z * covariance[2]
    B = a * b - z * z * covariance[1]
    C = a * a - z * z * covariance[0]
    root = np.sqrt(np.maximum(B * B - A * C, 0.0))
    bounded = (A > 0) & (b > 0)
    raised = (A <= 0) & (C > 0) & (a > 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        low = np.where(bounded, (B - root) / A, np.where(raised, C / (B + root), 0.0))
        high = np.where(bounded, (B + root) / A, np.inf)
    return np.maximum(low, 0.0), np.maximum(high, 0.0)


def _odds_ends(p: Array, q: Array, covariance: Covariance, noise: Covariance, z: Quantiles) -> Ends:
    """Return the ends of the interval of the odds ratio of two shares.

    They come from Fieller's set of the products p(1 − q) and q(1 − p), or from each share's own
    band. The products' covariance is by the delta method. For an odds ratio ω it leaves out (1 −
    ω)·δp·δq, a product of two errors. If noise makes that more than a small part of a standard
    error, each share gets a band at half the error, and the odds ratio the range over both bands:
    conservative (Bonferroni). Sampling never makes it so large.
    """
    first, between, second = covariance
    slopes = ((1 - q, -p), (-q, 1 - p))
    products = tuple(
        s[0] * t[0] * first + (s[0] * t[1] + s[1] * t[0]) * between + s[1] * t[1] * second
        for s, t in ((slopes[0], slopes[0]), (slopes[0], slopes[1]), (slopes[1], slopes[1]))
    )
    linear = ratio_ends(p * (1 - q), q * (1 - p), products, z.noisy)  # type: ignore[arg-type]
    inner_p = np.clip(p, TINY, 1 - TINY)
    inner_q = np.clip(q, TINY, 1 - TINY)
    odds = inner_p * (1 - inner_q) / (inner_q * (1 - inner_p))
    spread = np.sqrt(_variance(*_contrast("odds", inner_p, inner_q), covariance))
    curved = np.abs(1 - odds) * np.sqrt(noise[0] * noise[2]) > MAX_CURVATURE * spread
    bands = odds_of_bands(_band(p, first, z.halved), _band(q, second, z.halved))
    return np.where(curved, bands[0], linear[0]), np.where(curved, bands[1], linear[1])


def _band(share: Array, variance: Any, z: float) -> Ends:
    """Return the ends of z standard errors about a share, within [0, 1]."""
    half = z * np.sqrt(variance)
    return np.clip(share - half, 0, 1), np.clip(share + half, 0, 1)


def ratio_of_bands(a: Any, b: Any) -> Ends:
    """Return the least and the largest ratio of two shares, each anywhere in its band.

    Infinite where the second may be 0.
    """
    return _quotient(a[0], b[1], 0.0), _quotient(a[1], b[0], np.inf)


def odds_of_bands(a: Any, b: Any) -> Ends:
    """Return the least and the largest odds ratio of two shares, each anywhere in its band."""
    low = _quotient(a[0] * (1 - b[1]), b[1] * (1 - a[0]), 0.0)
    return low, _quotient(a[1] * (1 - b[0]), b[0] * (1 - a[1]), np.inf)


def _quotient(above: Any, below: Any, unclear: float) -> Array:
    """Return the quotient of two numbers ≥ 0, which may be infinite; 0/0 is `unclear`."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = np.divide(above, below)
    return np.where(np.isnan(found), unclear, found)
