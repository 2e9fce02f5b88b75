"""Gradient descent on noisy clipped gradients: of all records in every step, or of a Poisson sample of them."""

import math
from typing import Any

from ...core.errors import InputError
from ...core.parameters import param
from ...core.types import Array, Rng, by_name
from ...models.releases import Parameter
from ...privacy.accounting import Budget, Charge, Choice, Plan, SubsampledGaussian, gaussian_share, sampled_steps
from ...privacy.curators.risk_curator import RiskCurator
from ...privacy.measurement import deviation
from ...privacy.statistics import MeanGradient
from ...problems import RiskMinimisation
from ..algorithm import Algorithm, Step, Steps


def _free(doc: str, symbol: str, auto: str) -> Any:
    """A parameter for any positive number, left to the plan unless it is given."""
    return param(None, doc, symbol=symbol, low=1e-9, high=1e9, log=True, auto=auto)


@by_name
class NoisyGD(Algorithm):
    """Noisy gradient descent: x ← Π_K(x − step · (∇F(x) + noise)), T times, on the clipped mean gradient.

    Each gradient is Gaussian(μ*/√T): noise of deviation Δ₂√T/(nμ*), Δ₂ = min(2C, G) (`MeanGradient`),
    so all T are exactly μ*-GDP. Averages of iterates are post-processing. Raises InputError for δ = 0.
    Source: Bassily, Smith, Thakurta 2014, full batch; Dong, Roth, Su 2022 for the accounting.
    """

    rounds: int = param(100, "gradient steps", symbol="T", low=1, high=100_000, log=True)
    step: float | None = _free("step size", "η", "R, T and the noise, for any convex loss")
    clip: float | None = _free(
        "length that gradients of single rows are cut to", "C", "the loss's steepest slope: nothing is cut"
    )
    average: str = param("tail", "what is released: the mean of iterates", choices=("tail", "all", "last"))

    problem = RiskMinimisation

    def plan(self, problem: RiskMinimisation, budget: Budget) -> Plan:
        """The charges of T equal gradients; the step R/√(T(L² + dσ²)) minimises the textbook bound on the average."""
        spend = self._spend(problem, budget)
        clip, R = self.settled("clip", problem.steepest, "no gradient is longer"), problem.R
        L, d, T, n = clip.value, problem.d, self.rounds, problem.effective_n
        sigma = deviation(_statistic(problem, problem.region.centre, L), spend, n)
        gradient_length = math.sqrt(L * L + d * sigma * sigma + self._sampling(L, n))
        step_star = R / (math.sqrt(T) * gradient_length)
        choices = (
            *self.given("rounds", "average"),
            clip,
            self.settled("step", step_star, "R/√(T(L² + dσ²)), for any convex loss"),
            Choice("step_star", step_star, "smallest textbook bound"),
            Choice("risk_bound", R * gradient_length / math.sqrt(T), "at step_star"),
            Choice("sigma", sigma, "deviation of the noise on every coordinate of a gradient"),
            *self._said(spend),
        )
        return Plan(budget, (Charge("measure", spend, T, MeanGradient),), choices)

    def _spend(self, problem: RiskMinimisation, budget: Budget) -> Any:  # noqa: ARG002 - for others
        """The spend of one gradient: Gaussian noise of μ/√T."""
        return gaussian_share(budget, 1 / self.rounds)

    def _sampling(self, clip: float, n: float) -> float:  # noqa: ARG002 - for samples
        """The square of the length that sampling rows adds to a gradient: 0 without sampling."""
        return 0.0

    def _said(self, spend: Any) -> tuple[Choice, ...]:
        """The choices that only this algorithm makes: the GDP parameter of the whole."""
        return (Choice("s", spend.mu * math.sqrt(self.rounds), "GDP parameter of the whole"),)

    def steps(self, problem: RiskMinimisation, plan: Plan, curator: RiskCurator, _rng: Rng) -> Steps:
        """Steps of one noisy gradient each."""
        spend, T = plan.spend("measure"), plan["rounds"]
        first_averaged = {"all": 1, "tail": T // 2 + 1, "last": T}[self.average]  # iterate that counts in the mean
        x = total = problem.region.centre
        for t in range(1, T + 1):
            statistic = _statistic(problem, x, plan["clip"])
            is_sampled = isinstance(spend, SubsampledGaussian)
            measurement = curator.measure_sample(statistic, spend) if is_sampled else curator.measure(statistic, spend)
            x = problem.region.project(x - plan["step"] * measurement.values)
            total = total + x if t > first_averaged else x  # before the mean begins, the last iterate
            yield Step(t, Parameter(problem.names, problem.region.project(total / max(t - first_averaged + 1, 1))))


def _statistic(problem: RiskMinimisation, x: Array, clip: float) -> MeanGradient:
    """The mean gradient at x, every row's cut to length `clip`."""
    return MeanGradient(problem.loss, problem.region, x, clip, problem.location)


@by_name
class DPSGD(NoisyGD):
    """DP-SGD: gradient descent on Poisson samples, rate q: sums clipped at C with noise N(0, (zC)²), over qn.

    z is the smallest for which T such sums are (ε, δ)-DP by privacy loss distributions under replacement
    (`subsampled_epsilon`, where a replacement moves a sum by 2C). Raises InputError for δ = 0, and where people have
    several rows. Source: Abadi et al. 2016, Algorithm 1; Doroshenko et al. 2022 for the accounting.
    """

    rounds: int = param(200, "gradient steps", symbol="T", low=1, high=20_000, log=True)
    rate: float = param(0.05, "probability with which a row is in a step's sample", symbol="q", low=1e-5, high=0.9,
                        log=True)  # fmt: skip

    def _spend(self, problem: RiskMinimisation, budget: Budget) -> SubsampledGaussian:
        """The spend of one gradient on a sample; InputError where a person has several rows."""
        if problem.effective_n < problem.n:
            raise InputError("dp_sgd protects single rows only, not several rows of a person; use noisy_gd")
        return sampled_steps(budget, self.rate, self.rounds)

    def _sampling(self, clip: float, n: float) -> float:
        """The square of the length that sampling adds to a gradient."""
        return clip**2 / (self.rate * n)

    def _said(self, spend: SubsampledGaussian) -> tuple[Choice, ...]:
        """The choices of the sampling rate and of the noise that it needs."""
        multiplier = Choice("noise_multiplier", spend.noise_multiplier, "the smallest that keeps the promise, to 0.3%")
        return (*self.given("rate"), multiplier)
