"""The closed set of scores that queries are drawn and kept by, each sensitivity derived beside it. Imports statistics.

A signed query is an index in 0..2m-1: j is +q_j and m + j is −q_j. P_n, neighbours and units as in `statistics`.
"""

import math
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...workloads import Workload
from ..rounding import near
from .answers import ROOM, Known


@dataclass(frozen=True, eq=False)
class SummedErrors(Known):
    """Scores s · (rounds · ⟨q_j, P_n⟩ − past_j) of all 2m signed queries: first s = +1, then s = −1.

    `past` (m,) are public sums of answers, Σ_{τ<t} q_j(x^τ), and `rounds` = t − 1 > 0. One record moves ⟨q_j, P_n⟩ by
    hi_j − lo_j ≤ w at the most, so Δ = (t − 1) w. As each score moves by −Δ..Δ, a draw with probability
    ∝ exp(η · score) has log-likelihood ratios η · (change of the score) − (one change of the normaliser) that span 2ηΔ:
    it is 2ηΔ-bounded-range, and η = ε₀/(2Δ) for BoundedRange(ε₀).
    """

    workload: Workload
    past: np.ndarray
    rounds: int

    def check(self) -> None:
        """Raise InputError for a workload whose sensitivities are not known, or sums that do not fit it."""
        super().check()
        if not (isinstance(self.rounds, (int, np.integer)) and self.rounds > 0) or self.past.shape != (
            self.workload.m,
        ):
            raise InputError(f"rounds={self.rounds} must be a whole number ≥ 1, and past one sum for each query")
        if np.isnan(self.past).any():
            raise InputError("sums of answers must be numbers")

    @property
    def sensitivity(self) -> float:
        """Δ for one record."""
        return self.rounds * self.workload.width

    def value(self, truth: np.ndarray) -> np.ndarray:
        """Scores (2m,) from the workload's answers on the records."""
        errors = self.rounds * truth - near(self.past, self.rounds)
        return np.concatenate([errors, -errors])


def bit_range(step: float, unit: float) -> float:
    """B of one keep-or-reject bit, with step = ηw and unit = n (n/b for a group of b); see `KeepOdds`. Never 0."""
    if step == 0:
        return math.log1p(1 / unit)  # the limit, and all that is left of floating point
    grown = -math.expm1(-step * (1 + 1 / unit)) / -math.expm1(-step)
    return (step / unit + math.log(grown)) * ROOM


@dataclass(frozen=True, eq=False)
class KeepOdds(Known):
    """log-probabilities u − 2ηw of keeping each of s drawn queries, u = η s (⟨q_j, P_n⟩ − answers_j) within ±ηw.

    `drawn` (s,) are signed queries, `answers` (s,) public values q_j(x^{t−1}), w is the workload's width; as both terms
    of u lie in [lo_j, hi_j], |u| ≤ ηw by itself, and clipping to that keeps the bound whatever `answers` are.

    Bounded range of one bit: with v = u − 2ηw in [−3ηw, −ηw], its log-odds are v − ln(1 − e^v), whose derivative
    1/(1 − e^v) grows with v. One record moves v by ηw/n at the most, so the log-odds move most between −ηw − ηw/n and
    −ηw: B = ln[(e^{ηw(1+1/n)} − 1)/(e^{ηw} − 1)]. The two log-likelihood ratios of a bit differ by just that move, so
    the bit is B-bounded-range. It is independent of the other bits.
    Source: Vietri et al. 2020 (rejection sampling); B is derived here.
    """

    workload: Workload
    drawn: np.ndarray
    answers: np.ndarray
    eta: float

    def check(self) -> None:
        """Raise InputError for a workload whose sensitivities are not known, or draws that are not its queries."""
        super().check()
        inside = ((self.drawn >= 0) & (self.drawn < 2 * self.workload.m)).all() and self.drawn.dtype.kind in "iu"
        flat = self.drawn.ndim == 1 and self.answers.shape == self.drawn.shape
        if not 0 < self.eta < math.inf or not flat or not inside or np.isnan(self.answers).any():
            raise InputError(f"eta={self.eta} must be above 0, and every draw a signed query with its answer")

    def needs(self, unit: float) -> float:
        """B for one record among `unit`."""
        return bit_range(self.eta * self.workload.width, unit)

    def value(self, truth: np.ndarray) -> np.ndarray:
        """log-probabilities (s,) from the workload's answers on the records."""
        m, limit = self.workload.m, self.eta * self.workload.width
        signs = np.where(self.drawn < m, 1.0, -1.0)
        u = self.eta * signs * (truth[self.drawn % m] - self.answers)
        return np.clip(u, -limit, limit) - 2 * limit
