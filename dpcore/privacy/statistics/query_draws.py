"""The closed set of scores that queries are drawn and kept by, each sensitivity derived beside it.

A signed query is an index in 0..2m-1: j is +q_j and m + j is −q_j. P_n, neighbours and units as in
`privacy/statistics`.
"""

import math

import numpy as np

from ...core.errors import InputError
from ...core.numbers import ROUNDING_SLACK
from ...core.types import Array, frozen
from ...queries import Workload
from .query_answers import FLOAT_ERROR, WorkloadStatistic


def keep_bit_epsilon(step: float, effective_n: float) -> float:
    """Return the privacy cost B of one keep-or-reject bit; never 0.

    step = ηw, unit = `effective_n`: n (n/b for groups of b).
    """
    if step == 0:
        return math.log1p(1 / effective_n)  # the limit, and all that is left of floating point
    odds_ratio = -math.expm1(-step * (1 + 1 / effective_n)) / -math.expm1(-step)
    return (step / effective_n + math.log(odds_ratio)) * ROUNDING_SLACK


@frozen
class AcceptProbabilities(WorkloadStatistic):
    """The log-probability of keeping each of s drawn queries: u − 2ηw.

    u = η s (⟨q_j, P_n⟩ − answers_j) within ±ηw.

    `signed_queries` (s,) are signed queries, `answers` (s,) public values q_j(x^{t−1}), w is the
    queries' width; as both terms of u lie in [lo_j, hi_j], |u| ≤ ηw already, and clipping to that
    keeps the bound whatever `answers` are.

    Bounded range of one bit: with v = u − 2ηw in [−3ηw, −ηw], its log-odds are v − ln(1 − e^v),
    whose derivative 1/(1 − e^v) grows with v. One row moves v by ηw/n at the most, so the log-odds
    move most between −ηw − ηw/n and −ηw: B = ln[(e^{ηw(1+1/n)} − 1)/(e^{ηw} − 1)]. The two
    log-likelihood ratios of a bit differ by just that move, so the bit is B-bounded-range. It is
    independent of the other bits.
    Source: Vietri et al. 2020 (rejection sampling); B is derived here.
    """

    workload: Workload
    signed_queries: Array
    answers: Array
    eta: float

    def check(self) -> None:
        """Raise InputError for a workload without known sensitivities, or draws not its queries."""
        super().check()
        in_workload = (
            (self.signed_queries >= 0) & (self.signed_queries < 2 * self.workload.m)
        ).all() and self.signed_queries.dtype.kind in "iu"
        same_shape = (
            self.signed_queries.ndim == 1 and self.answers.shape == self.signed_queries.shape
        )
        if (
            not 0 < self.eta < math.inf
            or not same_shape
            or not in_workload
            or np.isnan(self.answers).any()
        ):
            raise InputError(
                f"eta={self.eta} must be above 0, and every draw a signed query with its answer"
            )

    def rounding_share(self, n: int) -> float:
        """Return the share r of η that is given up, so that B covers what rounding adds.

        Floating point moves v by at most e = 2^-50 ηw ((1 + max |answers|)/w + 3), so that
        neighbours' v differ by η'w'/n + 2e at the most, for the η' of `with_smaller_eta`. The 2e
        cost at most 2e (1 + 1/(η'w')) of log-odds. As |d/dt t/(eᵗ − 1)| ≤ ½, B(t) has a derivative
        of at least 1/(2n), so that the smaller η gains r ηw/(2n), which is enough: r is chosen so.
        Raises InputError where r would be above ½.
        """
        w = self.workload.width
        limit = self.eta * self.workload.width
        if not limit > 0:
            return 0.0
        max_answer = float(np.abs(self.answers).max(initial=0))
        share = 4 * n * FLOAT_ERROR * ((1 + max_answer) / w + 3) * (1 + 2 / limit)
        if not share <= 0.5:
            raise InputError(
                f"eta={self.eta:g} with n={n} is beyond what rounding lets a bit be kept by"
            )
        return share

    def with_smaller_eta(self, workload: Workload, rounding_share: float) -> "AcceptProbabilities":
        """Return the same bits with a smaller η' = (1 − r)η w/w', r = `rounding_share`.

        w' is the width of `workload`.
        """
        eta = (
            self.eta
            * (1 - rounding_share)
            * min(self.workload.width / (workload.width or 1.0), 1.0)
        )
        return AcceptProbabilities(workload, self.signed_queries, self.answers, eta)

    def minimum_epsilon(self, effective_n: float) -> float:
        """Return the privacy cost B of one bit to one row among `effective_n`."""
        return keep_bit_epsilon(self.eta * self.workload.width, effective_n)

    def value(self, truth: Array) -> Array:
        """Return the log-probabilities (s,) from the workload's answers on the rows."""
        m = self.workload.m
        limit = self.eta * self.workload.width
        signs = np.where(self.signed_queries < m, 1.0, -1.0)
        u = self.eta * signs * (truth[self.signed_queries % m] - self.answers)
        return np.clip(u, -limit, limit) - 2 * limit
