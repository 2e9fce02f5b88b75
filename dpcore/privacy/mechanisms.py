"""The noise itself. The generator is passed in; nothing here knows a record or a budget. Imports nothing of dpcore."""

import numpy as np


def gaussian(values: np.ndarray, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """`values` plus independent N(0, σ²): μ-GDP with μ = Δ₂/σ for values of ℓ2-sensitivity Δ₂."""
    return values + sigma * rng.standard_normal(values.shape)


def laplace(values: np.ndarray, scale: float, rng: np.random.Generator) -> np.ndarray:
    """`values` plus independent Laplace noise: ε-DP with ε = Δ₁/scale for values of ℓ1-sensitivity Δ₁."""
    return values + rng.laplace(0.0, scale, values.shape)


def exponential(scores: np.ndarray, scale: float, rng: np.random.Generator) -> int:
    """argmax of `scores` plus Gumbel noise, which picks i with probability ∝ exp(scores[i]/scale).

    With scale = 2Δ/ε₀ and scores of sensitivity Δ it is ε₀-bounded-range, hence ε₀-DP. Source: McSherry, Talwar 2007;
    Durfee, Rogers 2019, Lemma 4.2.
    """
    # −log of a standard exponential is a standard Gumbel, and numpy draws it in half the time of rng.gumbel.
    return int(np.argmax(scores - scale * np.log(rng.standard_exponential(scores.shape))))


def categorical(scores: np.ndarray, scale: float, draws: int, rng: np.random.Generator) -> np.ndarray:
    """`draws` independent draws (draws,) of i with probability ∝ exp(scores[i]/scale): each one is `exponential`.

    By the inverse of the cumulative law, as many draws are made from the same scores. Scale 0 stands for scores that no
    record moves, where every i is as good.
    """
    weights = np.exp((scores - scores.max()) / scale) if scale > 0 else np.ones(scores.shape)
    cumulative = np.cumsum(weights)
    found = np.searchsorted(cumulative, rng.random(draws) * cumulative[-1], side="right")
    return np.minimum(found, len(scores) - 1)


def coins(log_probability: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Independent bits (s,), each True with probability exp(log_probability[i]) ≤ 1."""
    return rng.random(log_probability.shape) < np.exp(log_probability)
