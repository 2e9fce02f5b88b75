"""The linear-queries paper's schedules as functions of public numbers, corrected.

n records, k cells, m unsigned queries of width hi − lo; ρ is the zCDP budget.
"""

import math

D_INF = 2.0  # diameter of conv(Q ∪ −Q) in the sup norm, for queries with values in [-1, 1]


def frank_wolfe_rounds(*, loss: float, alpha: float) -> int:
    """Return the number of rounds T = 2√2 D_∞^{3/2} / (√α u), at least 1.

    `loss` is u = Δ log(2m)/√ρ of `selection_loss`.

    Micali, Lezane, Betken 2025 (Algorithm 1) print D₁^{3/2} and the logarithm under the root; their
    proof gives neither. This is the same optimisation with exponential-mechanism selection: score
    gap ≤ β log 2m, β = 2Δ/ε₀ and ε₀ = √(8ρ/T).
    """
    return max(1, round(2 * math.sqrt(2) * D_INF**1.5 / (math.sqrt(alpha) * loss)))


def frank_wolfe_step(*, rounds: int, alpha: float) -> float:
    """Return the step γ = min(1, 2√(α/(T D_∞))): the paper's constant step, clipped.

    Clipped so that q stays in conv(Q).
    """
    return min(1.0, 2 * math.sqrt(alpha / (rounds * D_INF)))


def frank_wolfe_alpha(*, loss: float, k: int) -> float:
    """Return the regularisation α* = u^{2/5} / (log k)^{4/5}, which minimises gap(α) + α log k.

    u as in `frank_wolfe_rounds`.

    A constant step gives gap ≤ 2D_∞/(γT) + γD_∞²/(2α) + β log 2m with β = 2Δ/ε₀ = Δ√(T/(2ρ)), which
    is 2D_∞^{3/2}/√(αT) + √T u/√2, and at the best T 4√u α^{-1/4} with D_∞ = 2.
    Source: Micali, Lezane, Betken 2025, eq. (8), whose rate this is, with our selection and
    accounting in place of theirs.
    """
    return (loss / math.log(max(k, 2)) ** 2) ** 0.4


def selection_loss(*, n: float, m: int, width: float, rho: float) -> float:
    """Return the loss u = Δ log(2m)/√ρ of selections.

    T selections that share ρ lose at most u √(T/2) each on average.
    """
    return width / n * math.log(2 * m) / math.sqrt(rho)


def mirror_descent_alpha(
    *, n: float, k: int, epsilon: float, delta: float, gaussian_width: float
) -> float:
    """Return the regularisation α* of Theorem 5, corrected.

    α* = log^{1/4}(1/δ) w^{1/2} / (log^{3/4}(k) √(nε)), w = w(Q) the Gaussian width.

    The theorem prints log^{1/2}(1/δ). Its proof bounds the error, up to constants, by 1/(αT) + α
    log k for the descent and √(T log(1/δ)) w/(nε) for the noise. The first two are smallest at α =
    1/√(T log k), where they are 2√(log k/T); then the whole is smallest at T* = √(log k/log(1/δ))
    nε/w, and α at T* is the formula above.
    Source: Micali, Lezane, Betken 2025, Theorem 5.
    """
    log_k = math.log(max(k, 2))
    w = max(gaussian_width, 1e-12)
    return math.log(1 / delta) ** 0.25 * math.sqrt(w / (n * epsilon)) / log_k**0.75


def mirror_descent_rounds(
    *, n: float, k: int, mu: float, l2: float, gaussian_width: float
) -> float:
    """Return the number of rounds T* = √(log k) nμ/(Δ₂ w), up to a constant.

    For the noise of T exact Gaussian releases.

    They have σ = Δ₂√T/(nμ) on every cell, μ the whole budget's, where the paper has 4√(T
    log(1/δ))/(nε).
    """
    return math.sqrt(math.log(max(k, 2))) * n * mu / max(l2 * gaussian_width, 1e-12)
