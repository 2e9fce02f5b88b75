"""Schedules and bounds of Private Evolution and of the Private Signed Measure Mechanism, corrected.

n points of diameter D in d dimensions; μ is what the budget allows in Gaussian differential
privacy; σ the standard deviation of the noise on every share of a histogram of n votes; T steps; L
levels of variation; n_s samples. Source of all, unless another is named: Gonzalez, Fanti, Ramdas
2025, "Private Evolution Converges".
"""

import math


def variation_constant(d: int) -> float:
    """Return the constant c_d = (√d + ln 2)² + ln 2 of Lemma D.1.

    A bound on E max(‖N‖², ‖N'‖²) of two normal vectors.
    """
    return (math.sqrt(d) + math.log(2)) ** 2 + math.log(2)


def contraction_rate(d: int) -> float:
    """Return the contraction rate γ = 1/(8π c_d) of a round of variations (Lemma D.1).

    A round shrinks the distance by 1 − γ, down to α.
    """
    return 1 / (8 * math.pi * variation_constant(d))


def finest_variation(*, sigma: float, d: int, D: float) -> float:
    """Return the length α = D σ^{1/max(d,2)} below which variations need not reach."""
    return D * sigma ** (1 / max(d, 2))


def variation_level_count(*, alpha: float, D: float) -> int:
    """Return the number of variation levels L = max(1, ⌈log₂(D/α)⌉).

    Variations of α, 2α, 4α, … up to D.
    """
    return max(1, math.ceil(math.log2(D / alpha)))


def balanced_sample_count(*, sigma: float, levels: int, d: int) -> int:
    """Return the number of samples n_s that balances both sources of error, at least 1.

    n_s = σ⁻¹ (2L + 1)^{1/max(d,2) − 1}.
    """
    return max(1, round((2 * levels + 1) ** (1 / max(d, 2) - 1) / sigma))


def variation_stddev(*, alpha: float, level: int, d: int) -> float:
    """Return the standard deviation s_l = α 2^{l−1}/(√π c_d) of variations at level l = 1..L."""
    return alpha * 2 ** (level - 1) / (math.sqrt(math.pi) * variation_constant(d))


def gaussian_complexity_bound(*, count: int, d: int, D: float) -> float:
    """Return Corollary D.1's bound on G_count(F_BL), up to a constant.

    The constant is that of the chaining lemma D.4, which it drops.

    Ten times D √log(2√m)/√m for d = 1, log(2√m)^{3/2}/√m for d = 2, and for d ≥ 3, with r = m^{1/d}
    (d/2 − 1)^{2/d}, √log(2r)/r. As F_BL is bounded by D, G ≤ D √(2/π) as well, and the smaller one
    is returned.
    """
    root = math.sqrt(count)
    if d == 1:
        rate = math.sqrt(math.log(2 * root)) / root
    elif d == 2:
        rate = math.log(2 * root) ** 1.5 / root
    else:
        r = count ** (1 / d) * (d / 2 - 1) ** (2 / d)
        rate = math.sqrt(math.log(max(2 * r, math.e))) / r
    return D * min(10 * rate, math.sqrt(2 / math.pi))


def sampling_distance_bound(*, samples: int, d: int, D: float) -> float:
    """Return the bound on E W1 of a distribution and draws from it, up to a constant.

    `samples` draws, the number of `balanced_sample_count`. Lemma D.5; Lei 2020.
    """
    if d == 2:
        return D * min(1.0, math.log(max(samples, 2)) / math.sqrt(samples))
    return D * samples ** (-1 / max(d, 2))


def error_bound(
    *, alpha: float, sigma: float, levels: int, samples: int, d: int, D: float
) -> float:
    """Return the error bound of equation (2), up to constants.

    err = (α + 2|V|σG_{|V|} + W(n_s))/γ, |V| = n_s(2L + 1).
    """
    count = samples * (2 * levels + 1)
    noise_term = 2 * count * sigma * gaussian_complexity_bound(count=count, d=d, D=D)
    return (
        alpha + noise_term + sampling_distance_bound(samples=samples, d=d, D=D)
    ) / contraction_rate(d)


def partition_cell_count(*, n: float, epsilon: float, delta: float) -> float:
    """Return the number of cells m = nε/√log(1/δ) of Theorem H.1, without its 1/D.

    m = nε for δ = 0.
    """
    return n * epsilon / (math.sqrt(math.log(1 / delta)) if delta > 0 else 1.0)


def printed_partition_noise(*, epsilon: float, delta: float) -> float:
    """Return the noise √log(1/δ)/ε on counts that Algorithm 5 prints.

    It is not (ε, δ)-DP, which needs √2/μ.
    """
    return math.sqrt(math.log(1 / delta)) / epsilon
