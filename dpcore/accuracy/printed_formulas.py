"""The closed forms that the papers print for ε, applied to a plan.

A Gaussian plan is known by μ = Δ₂/σ of all its releases together (T releases with the same σ have μ
= Δ₂√T/σ).
"""

import math
from collections.abc import Callable

from ..core.parameters import paper_of
from ..core.types import value_object

LINEAR_QUERIES = paper_of("DPAM")
PRIVATE_EVOLUTION = paper_of("PrivateEvolution")
REGULARISED_EXPONENTIAL = paper_of("RegularizedExponential")


@value_object
class PrintedFormula:
    """One printed formula: ε at δ as a function of μ, and where its proof holds.

    `latex` is what is printed, in LaTeX; `source` names its authors, year and place.
    """

    name: str
    latex: str
    source: str
    epsilon_function: Callable[[float, float], float]
    max_epsilon: float = math.inf  # ε up to which its source proves it

    def evaluate(self, mu: float, delta: float) -> float:
        """Return the ε that the formula states for a plan of μ at δ.

        NaN if its logarithm is negative.
        """
        try:
            return self.epsilon_function(mu, delta)
        except ValueError:
            return math.nan


def _classical_epsilon(mu: float, delta: float) -> float:
    """Return the classical formula μ √(2 ln(1.25/δ)) of the Gaussian mechanism."""
    return mu * math.sqrt(2 * math.log(1.25 / delta))


# Each solves "σ as printed" for ε with σ = Δ₂√T/μ, Δ₂ = √2/n (replace-one).
GAUSSIAN_FORMULAS = (
    PrintedFormula(
        "classical",
        r"\varepsilon = \mu \sqrt{2 \ln(1.25/\delta)}",
        f"{LINEAR_QUERIES}, on the Gaussian mechanism (“for any ε”); proved for ε ≤ 1 by Dwork, "
        "Roth 2014, Theorem A.1. "
        f"Also the proof sketch of {PRIVATE_EVOLUTION}, "
        r"$\sigma = \sqrt{4T \ln(1.25/\delta)}/(n\varepsilon)$",
        _classical_epsilon,
        1.0,
    ),
    PrintedFormula(
        "linear queries",
        r"\varepsilon = 2\mu \sqrt{2 \ln(1/\delta)}",
        f"{LINEAR_QUERIES}, Algorithm 2 (DPAM): "
        r"$\sigma = 4\sqrt{T \ln(1/\delta)}/(n\varepsilon)$",
        lambda mu, delta: 2 * mu * math.sqrt(2 * math.log(1 / delta)),
    ),
    PrintedFormula(
        "Private Evolution",
        r"\varepsilon = 2\mu \sqrt{2 \ln(1.25/\delta)}",
        f"{PRIVATE_EVOLUTION}, Theorem 4.1: "
        r"$\sigma = 4\sqrt{T \ln(1.25/\delta)}/(n\varepsilon)$, twice what its proof sketch has",
        lambda mu, delta: 2 * _classical_epsilon(mu, delta),
        1.0,
    ),
    PrintedFormula(
        "regularised exp. mechanism",
        r"\varepsilon = \mu^2/2 + \mu \sqrt{2 \ln(1/(2\delta))}",
        f"{REGULARISED_EXPONENTIAL}, Lemma 6.3: "
        r"$s = \sqrt{2 \ln(1/(2\delta)) + 2\varepsilon} - \sqrt{2 \ln(1/(2\delta))}$, here "
        r"$s = \mu$",
        lambda mu, delta: mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / (2 * delta))),
    ),
    PrintedFormula(
        "regularised, small ε",
        r"\varepsilon = \mu \sqrt{2 \ln(1/(2\delta))}",
        f"{REGULARISED_EXPONENTIAL}, proof of Theorem 6.9: "
        r"$s = \varepsilon/\sqrt{2 \ln(3/(4\delta'))}$ at $2\delta'/3 = \delta$, "
        r"$\varepsilon < 1/10$",
        lambda mu, delta: mu * math.sqrt(2 * math.log(1 / (2 * delta))),
        0.1,
    ),
)


def zcdp_epsilon_closed_form(rho: float, delta: float) -> float:
    """Return the conversion ρ + 2√(ρ ln(1/δ)) of ρ-zCDP to ε.

    It is from the linear-queries paper's proof of Theorem 5. Source: Bun, Steinke 2016, Prop. 1.3.
    """
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def strong_composition_epsilon(epsilon: float, step_count: int, delta: float) -> float:
    """Return the strong composition 4ε₀√(2T ln(1/δ)) for T ε₀-DP steps, if ln(1/δ) ≥ ε₀²T.

    NaN elsewhere. Source: the linear-queries paper's Theorem 6 (Dwork, Rothblum, Vadhan 2010), by
    which its DPFW is calibrated.
    """
    if math.log(1 / delta) < epsilon**2 * step_count:
        return math.nan
    return 4 * epsilon * math.sqrt(2 * step_count * math.log(1 / delta))
