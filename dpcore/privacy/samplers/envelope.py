"""Draws by rejection from one Gaussian, for logistic loss and the squared distance.

Logistic loss in d ≤ 20 dimensions.

With x̂ near the smallest point of F_μ = F + μ‖x − c‖²/2 on K, g = ∇F_μ(x̂) and H = ∇²F(x̂), every
logistic risk has F_μ(x̂ + v) ≥ F_μ(x̂) + ⟨g, v⟩ + φ(S) vᵀHv + μ‖v‖²/2 where |⟨a_i, v⟩| ≤ S for all
i, φ(S) = (e^{−S} + S − 1)/S²: its third derivative along v is at most S times the second, so
integrate e^{−St} twice. With M = k(H + μI), ‖v‖²_M = vᵀMv and κ = max_i ‖a_i‖ in the norm of M⁻¹, S
= κ‖v‖_M serves. So does S = √Q ‖v‖_M, Q the largest Σ c_i ⟨a_i, v⟩⁴ on ‖v‖_M = 1, c_i = k w_i
ℓ''_i: row by row the bound is Σ c_i δ_i² φ(|δ_i|), δ_i = ⟨a_i, v⟩; φ is convex, so that is at least
Σcδ² φ(Σc|δ|³/Σcδ²) (Jensen), and the argument at most √(Σcδ⁴/Σcδ²) (Cauchy–Schwarz). Where vᵀkHv is
a share b of ‖v‖²_M only, bφ(S/√b) + (1 − b)/2 is at least φ(S). Many rows make Q small, however far
out one of them lies.

The envelope is r^{d−1} exp(−φ(κr)r²) along r = ‖v‖_M, which is log-concave. It holds on all of K,
so that an accepted point has exactly the density's law.

Where x̂ lies on the sphere of a ball about m, g = −λ(x̂ − m) + e. With y = −⟨x̂ − m, v⟩, x̂ + v
lies in the ball only if y ≥ ‖v‖²/2 − s, s = (R² − ‖x̂ − m‖²)/2. A part θ of the pull λy stays as it
is, and tilts the envelope on the half-space y ≥ −s; the rest is at least (1 − θ)λ(‖v‖²/2 − s), a
Gaussian again. Its S is the longest ‖a_i‖ times the largest ‖v‖ of K: each |⟨a_i, v⟩| is at most
that, so φ(|⟨a_i, v⟩|) ≥ φ(S) row by row, and Σ c_i ⟨a_i, v⟩² φ(S) = φ(S)vᵀkHv needs nothing else. κ
would not do: of the rows it promises no more than bφ(κr/√b), and the (1 − b)/2 that made up for
that above is in this Gaussian already. θ = 2/(d + 1) accepts about one in 1.4 d. Of the two
envelopes the one of smaller mass is taken.

Where no proposal is accepted until they cost more than `proximal` would, which public numbers say,
or where rounding leaves M singular, the draw comes from that one. That keeps the law: an accepted
point is distributed as any other, however late it comes, and the proximal draw begins anew; so the
result is a mixture of two laws, the density's and one within the error paid for of it, whatever the
rows. Which of the two it was, and the number of proposals, depend on the rows: a timing channel;
nothing else leaves. An error message, or an output that ignores the rows, would not do in its
place: how likely proposals are to fail may differ between neighbours by any factor, and whoever
sees a failure would learn which of them it was. So where no error was paid for, and `proximal`
cannot serve, this sampler is refused beforehand: nothing would surely end it.
"""

import math

import numpy as np

from ...core.types import Array, Rng
from ...problems.losses import Logistic, SquaredDistance, require_sloped_loss
from ...problems.regions import Ball, Box
from ...problems.risks import Risk, minimise_risk
from ..statistics.density_targets import Density, Target
from . import proximal
from .shapes import GaussianEnvelope, RadialEnvelope, draw_truncated_gaussian, phi

MAX_DIMENSIONS = 20
PROPOSALS_PER_BATCH = 16  # proposals drawn at once
BATCHES_BETWEEN_UNIFORM = (
    8  # between two batches spread evenly over the ball: any accepted point has the law
)
MIN_TOTAL_WEIGHT = 1e-200  # weight of all rows below which their fourth moment says nothing
BLOCK_ROWS = 8192  # whose products of features are held at once
# proposals, and proposals a round of the proximal sampler, before that takes over
MIN_PROPOSALS = 256
PROPOSALS_PER_ROUND = 3


def logistic_unsupported_reason(target: Target) -> str | None:
    """Return the reason why this sampler cannot draw from a logistic target; None when it can."""
    if not isinstance(target.loss, Logistic) or isinstance(target.region, Box):
        return "the sampler logistic needs the logistic loss on a ball or on R^d"
    if len(target.region.centre) > MAX_DIMENSIONS:
        return f"the sampler logistic needs d ≤ {MAX_DIMENSIONS}"
    return None


def gaussian_unsupported_reason(target: Target) -> str | None:
    """Return the reason why this sampler cannot draw from a Gaussian target; None when it can."""
    if not isinstance(target.loss, SquaredDistance):
        return "the sampler gaussian needs the squared distance"
    return None


def quartic_form_bound(risk: Risk, x: Array, k: float, M: Array) -> float:
    """Return an upper bound on the maximum Q of the quartic form over ‖v‖_M = 1.

    Q = max Σ c_i ⟨a_i, v⟩⁴, c_i = k w_i ℓ''_i at x.

    With z = M^{−½}a, ⟨a, v⟩² = ⟨zzᵀ, uuᵀ⟩ for a unit u. Its mean, weighted by c/W, W = Σc, is at
    most 1/W, and its variance at most the largest eigenvalue λ of the covariance of zzᵀ, so Q ≤ W(λ
    + 1/W²).
    """
    c = k * risk.w * require_sloped_loss(risk.loss).second_derivative(risk.A @ x, risk.b)
    total_weight = float(c.sum())
    i, j = np.triu_indices(len(x))
    if total_weight < MIN_TOTAL_WEIGHT:  # all rows far out on their own side
        return math.inf
    pair_factors = np.where(i == j, 1.0, math.sqrt(2))
    Z = risk.A @ np.linalg.inv(np.linalg.cholesky(M)).T
    mean = np.zeros(len(i))
    second = np.zeros((len(i), len(i)))
    for start in range(0, len(Z), BLOCK_ROWS):
        z = Z[start : start + BLOCK_ROWS]
        weight = c[start : start + BLOCK_ROWS]
        Y = z[:, i] * z[:, j] * pair_factors * np.sqrt(weight)[:, None]
        mean += np.sqrt(weight) @ Y
        second += Y.T @ Y
    covariance = second / total_weight - np.outer(mean, mean) / total_weight**2
    largest_eigenvalue = (
        max(float(np.linalg.eigvalsh(covariance)[-1]), 0.0)
        + 1e-12 * float(np.trace(second)) / total_weight
    )
    return total_weight * largest_eigenvalue + 1 / total_weight


def logistic_envelope(density: Density) -> GaussianEnvelope | RadialEnvelope:
    """Return an envelope of a logistic density on K."""
    risk = density.risk
    region = density.region
    k = density.k
    mu = density.mu
    m = density.region.centre
    x = minimise_risk(risk, region, mu=mu, centre=density.centre)
    g = risk.gradient(x) + mu * (x - density.centre)
    H = risk.hessian(x)
    identity = np.eye(len(x))
    lam = 0.0
    theta = 0.0
    s = 0.0
    distance_to_centre = float(np.linalg.norm(x - m))
    if isinstance(region, Ball) and distance_to_centre > region.radius * (1 - 1e-6):
        lam = max(0.0, -float(g @ (x - m)) / region.radius**2)
        theta = 2 / (len(x) + 1)
        s = max(0.0, (region.radius**2 - distance_to_centre**2) / 2)
    max_step = region.inner_radius + distance_to_centre  # the largest ‖v‖
    # where nothing else holds the Gaussian; it lifts the bound by at most ½
    ridge = 1 / max_step**2 if mu == 0 else 0.0
    e = g + lam * (x - m)
    M = k * (H + (mu + lam) * identity) + ridge * identity
    root = np.linalg.inv(np.linalg.cholesky(M))
    max_row_norm = float(np.linalg.norm(risk.A @ root.T, axis=1).max())
    kappa = min(max_row_norm, math.sqrt(quartic_form_bound(risk, x, k, M)))
    slack = k * float(np.linalg.norm(root @ e))
    exponent_floor = (
        -k * (float(np.linalg.norm(e)) * max_step + lam * s) if np.any(e) else -k * lam * s
    )
    max_norm = max_step * math.sqrt(
        float(np.linalg.eigvalsh(M)[-1])
    )  # of any point of K, in the norm of M
    radial_envelope = RadialEnvelope(
        x, M, kappa, slack, (ridge > 0) / 2 + k * lam * s, max_norm, exponent_floor
    )
    if lam == 0:
        return radial_envelope
    S = max_step * float(
        np.linalg.norm(risk.A, axis=1).max()
    )  # not κ: see above, there is no slack left to pay for it
    P = k * (2 * float(phi(S)) * H + (mu + (1 - theta) * lam) * identity) + ridge * identity
    linear = k * (e - theta * lam * (x - m))
    lift = -k * (1 - theta) * lam * s - (ridge > 0) / 2
    half_space_envelope = GaussianEnvelope(
        x, P, linear, lift, -(x - m) / distance_to_centre, -s / distance_to_centre, exponent_floor
    )
    return min(radial_envelope, half_space_envelope, key=lambda shape: shape.log_mass)


def draw_logistic(density: Density, error: float, rng: Rng) -> Array:
    """Return one draw (d,) of a logistic density within `error` in total variation.

    By `proximal` where proposals are hopeless.
    """
    T, _ = proximal.rounds_and_step(density.risk.loss, density.region, density.mu, density.k, error)
    try:
        accepted = rejection_sample(density, 1, rng, max(MIN_PROPOSALS, PROPOSALS_PER_ROUND * T))
    except (
        np.linalg.LinAlgError
    ):  # M or P is singular but for rounding: no envelope, and no error may leave
        accepted = np.zeros((0, len(density.centre)))
    return accepted[0] if len(accepted) else proximal.draw(density, error, rng)


def rejection_sample(
    density: Density, size: int, rng: Rng, max_proposals: float = math.inf
) -> Array:
    """Return independent draws (size, d) by rejection.

    Fewer where more than `max_proposals` proposals would be needed.
    """
    proposal_law = logistic_envelope(density)
    level = float(density.potential(proposal_law.at[None])[0])
    accepted = []
    count = 0
    tries = 0
    proposed = 0
    while count < size and proposed < max_proposals:
        m = max(PROPOSALS_PER_BATCH, min(2 * (size - count), 1024))
        tries = tries + 1
        ball = (
            density.region
            if tries % (BATCHES_BETWEEN_UNIFORM + 1) == 0 and isinstance(density.region, Ball)
            else None
        )
        V = ball.uniform(m, rng) - proposal_law.at if ball else proposal_law.draw(m, rng)
        u = rng.standard_exponential(m)
        is_accepted = density.region.contains(proposal_law.at + V)
        gap = (
            density.potential(proposal_law.at + V[is_accepted])
            - level
            - (proposal_law.exponent_floor if ball else proposal_law.bound(V[is_accepted]))
        )
        is_accepted[is_accepted] = u[is_accepted] >= gap
        accepted.append(proposal_law.at + V[is_accepted])
        count = count + int(is_accepted.sum())
        proposed = proposed + m
    return np.concatenate(accepted)[:size]


def draw_for_squared_distance(density: Density, _error: float, rng: Rng) -> Array:
    """Return one exact draw (d,) for the squared distance: a Gaussian on R^d, cut off at K.

    k(½‖x − s̄‖² + μ‖x − c‖²/2) is k(1 + μ)/2 ‖x − (s̄ + μc)/(1 + μ)‖² and a constant.
    """
    mean = (density.risk.mean + density.mu * density.centre) / (1 + density.mu)
    return draw_truncated_gaussian(
        mean, 1 / (density.k * (1 + density.mu)), density.region, 1, rng
    )[0]
