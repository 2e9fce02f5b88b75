"""Risk bounds of the regularised exponential mechanism as functions of public numbers, corrected.

n records, d dimensions, f(·; z) − f(·; z') G-Lipschitz, R = max ‖x − c‖ on K, s the GDP parameter
of the whole draw. Source throughout: Gopi, Lee, Liu 2022; the corrections are said beside each
formula.
"""

import math


def erm_mu(*, n: float, d: int, G: float, R: float, s: float) -> float:
    """Return the regularisation μ = √(2d) G/(snR) that minimises `erm_bound`.

    Theorem 6.4 has a diameter D for R and a closed form for s; centring K at c makes ‖x* − c‖ ≤ R
    enough.
    """
    return math.sqrt(2 * d) * G / (s * n * R)


def erm_bound(*, n: float, d: int, G: float, R: float, s: float, mu: float) -> float:
    """Return the bound E F(x) − min F ≤ d/k + μR²/2 with k = μ(sn/G)² (Theorem 6.2).

    At `erm_mu` it is √2 G R √d/(sn).
    """
    return d * (G / (s * n)) ** 2 / mu + mu * R * R / 2


def sco_mu(*, n: float, d: int, G: float, R: float, s: float) -> float:
    """Return the regularisation μ = (G/R) √(2(d/(sn)² + 1/n)) that minimises `sco_bound`."""
    return G / R * math.sqrt(2 * (d / (s * n) ** 2 + 1 / n))


def sco_bound(*, n: float, d: int, G: float, R: float, s: float, mu: float) -> float:
    """Return the bound for the population: d/k + μR²/2 + G²/(nμ).

    Theorem 6.8 prints G/(nμ) last, of wrong units.

    At `sco_mu` it is GR √(2(d/(sn)² + 1/n)).
    """
    return erm_bound(n=n, d=d, G=G, R=R, s=s, mu=mu) + G * G / (n * mu)


def paper_gdp_parameter(*, epsilon: float, delta: float) -> float:
    """Return the GDP parameter s = √(2c + 2ε) − √(2c), c = log(3/(4δ)), of Theorem 6.4.

    The exact s is larger.

    The theorem leaves δ/3 for the sampler but needs (1 + e^ε)δ/3, so that as printed it spends more
    than δ. Theorem 6.9's s = ε/√(2c) is not even safe at large ε.
    """
    c = math.log(3 / (4 * delta))
    return math.sqrt(2 * c + 2 * epsilon) - math.sqrt(2 * c)


def stage_count(*, n: float, d: int, s: float) -> int:
    """Return the number of stages: 3, 2 or 1, by a rule of thumb.

    Where √(2d)/(sn) is below .01, below .05, or above.
    """
    q = math.sqrt(2 * d) / (s * n)
    if q < 0.01:
        return 3
    return 2 if q < 0.05 else 1


def stage_radius_ratio(*, n: float, d: int, s: float, smooth: bool) -> float:
    """Return the ratio of a stage's radius to the last one's.

    ¼ for a loss with kinks, else 6√q within ¼ … ½.

    A rule of thumb from public numbers. Kinks make the minimum sharp, and a draw comes near it at
    once. A smooth risk is flat there, so that a draw of little budget finds the optimum no better
    than to about √q of the radius.
    """
    return min(0.5, max(0.25, 6 * math.sqrt(math.sqrt(2 * d) / (s * n)))) if smooth else 0.25
