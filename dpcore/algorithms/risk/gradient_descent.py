"""Gradient descent on noisy clipped gradients.

Of all rows in every step, or of a Poisson sample of them.
"""

import math
from typing import Any

from ...core.errors import InputError
from ...core.parameters import parameter_field
from ...core.types import Array, Rng, by_name
from ...models.releases import ReleasedParameter
from ...privacy.accounting import (
    Budget,
    Plan,
    PlannedEvent,
    Setting,
    SubsampledGaussian,
    gaussian_spend,
    sampled_sum_spend,
)
from ...privacy.curators.risk_curator import RiskCurator
from ...privacy.measurement import noise_stddev
from ...privacy.statistics import MeanGradient
from ...problems import RiskMinimisation
from ..algorithm import Algorithm, Step, Steps


def _positive_param(doc: str, symbol: str, auto: str) -> Any:
    """Return a parameter for any positive number, left to the plan unless it is given."""
    return parameter_field(None, doc, symbol=symbol, low=1e-9, high=1e9, log=True, auto=auto)


@by_name
class NoisyGD(Algorithm):
    """Noisy gradient descent: x ← Π_K(x − step · (∇F(x) + noise)), T times, gradients clipped.

    Each gradient is Gaussian(μ*/√T): noise of deviation Δ₂√T/(nμ*), Δ₂ = min(2C, G)
    (`MeanGradient`), so all T are exactly μ*-GDP. Averages of iterates are post-processing. Raises
    InputError for δ = 0.
    Source: Bassily, Smith, Thakurta 2014, full batch; Dong, Roth, Su 2022 for the accounting.

    >>> sample = samples.census(2000)
    >>> problem, rows = read_task("quantile:hours:0.5", sample.domain, sample.frame)
    >>> Run(NoisyGD(), problem, rows, Budget(1.0, 1e-9)).finish().release.x.round()
    array([37.])
    """

    rounds: int = parameter_field(100, "gradient steps", symbol="T", low=1, high=100_000, log=True)
    step: float | None = _positive_param(
        "step size", "η", "R, T and the noise, for any convex loss"
    )
    clip: float | None = _positive_param(
        "length that gradients of single rows are cut to",
        "C",
        "the loss's steepest slope: nothing is cut",
    )
    average: str = parameter_field(
        "tail", "what is released: the mean of iterates", choices=("tail", "all", "last")
    )

    problem = RiskMinimisation

    def plan(self, problem: RiskMinimisation, budget: Budget) -> Plan:
        """Return a plan of T equal gradients.

        The step R/√(T(L² + dσ²)) minimises the textbook bound on the average.
        """
        spend = self._gradient_spend(problem, budget)
        clip = self.choose_default("clip", problem.lipschitz_constant, "no gradient is longer")
        R = problem.R
        L = clip.value
        d = problem.d
        T = self.rounds
        n = problem.effective_n
        sigma = noise_stddev(_mean_gradient(problem, problem.region.centre, L), spend, n)
        gradient_length = math.sqrt(L * L + d * sigma * sigma + self._squared_sampling_length(L, n))
        step_star = R / (math.sqrt(T) * gradient_length)
        choices = (
            *self.as_settings("rounds", "average"),
            clip,
            self.choose_default("step", step_star, "R/√(T(L² + dσ²)), for any convex loss"),
            Setting("step_star", step_star, "smallest textbook bound"),
            Setting("risk_bound", R * gradient_length / math.sqrt(T), "at step_star"),
            Setting("sigma", sigma, "deviation of the noise on every coordinate of a gradient"),
            *self._extra_settings(spend),
        )
        return Plan(budget, (PlannedEvent("measure", spend, T, MeanGradient),), choices)

    # a subclass may need the problem
    def _gradient_spend(self, problem: RiskMinimisation, budget: Budget) -> Any:  # noqa: ARG002
        """Return the spend of one gradient: Gaussian noise of μ/√T."""
        return gaussian_spend(budget, 1 / self.rounds)

    # with samples it depends on both
    def _squared_sampling_length(self, clip: float, n: float) -> float:  # noqa: ARG002
        """Return the square of the length that sampling rows adds to a gradient.

        0 without sampling.
        """
        return 0.0

    def _extra_settings(self, spend: Any) -> tuple[Setting, ...]:
        """Return the settings that only this algorithm makes: the GDP parameter of the whole."""
        return (Setting("s", spend.mu * math.sqrt(self.rounds), "GDP parameter of the whole"),)

    def steps(
        self, problem: RiskMinimisation, plan: Plan, curator: RiskCurator, _rng: Rng
    ) -> Steps:
        """Yield steps of one noisy gradient each."""
        spend = plan.spend_of("measure")
        T = plan["rounds"]
        # the first iterate that counts in the mean
        first_averaged = {"all": 1, "tail": T // 2 + 1, "last": T}[self.average]
        x = problem.region.centre
        total = x
        for t in range(1, T + 1):
            statistic = _mean_gradient(problem, x, plan["clip"])
            measurement = (
                curator.measure_sample(statistic, spend)
                if spend.is_subsampled
                else curator.measure(statistic, spend)
            )
            x = problem.region.project(x - plan["step"] * measurement.values)
            # before the mean begins, the last iterate
            total = total + x if t > first_averaged else x
            yield Step(
                t,
                ReleasedParameter(
                    problem.names, problem.region.project(total / max(t - first_averaged + 1, 1))
                ),
            )


def _mean_gradient(problem: RiskMinimisation, x: Array, clip: float) -> MeanGradient:
    """Return the mean gradient at x, every row's cut to length `clip`."""
    return MeanGradient(problem.loss, problem.region, x, clip, problem.location)


@by_name
class DPSGD(NoisyGD):
    """The algorithm DP-SGD: noisy gradient descent on Poisson samples of rate q.

    Sums are clipped at C, noise is N(0, (zC)²), and both are divided by qn.

    z is the smallest for which T such sums are (ε, δ)-DP by privacy loss distributions under
    replacement (`subsampled_epsilon`, where a replacement moves a sum by 2C). Raises InputError for
    δ = 0, and where people have several rows. Source: Abadi et al. 2016, Algorithm 1; Doroshenko et
    al. 2022 for the accounting.

    >>> sample = samples.census(2000)
    >>> problem, rows = read_task("quantile:hours:0.5", sample.domain, sample.frame)
    >>> Run(DPSGD(rounds=20), problem, rows, Budget(1.0, 1e-9)).finish().release.x.round()
    array([37.])
    """

    rounds: int = parameter_field(200, "gradient steps", symbol="T", low=1, high=20_000, log=True)
    rate: float = parameter_field(
        0.05,
        "probability with which a row is in a step's sample",
        symbol="q",
        low=1e-5,
        high=0.9,
        log=True,
    )

    def _gradient_spend(self, problem: RiskMinimisation, budget: Budget) -> SubsampledGaussian:
        """Return the spend of one gradient on a sample.

        Raises InputError where a person has several rows.
        """
        if problem.effective_n < problem.n:
            raise InputError(
                "dp_sgd protects single rows only, not several rows of a person; use noisy_gd"
            )
        return sampled_sum_spend(budget, self.rate, self.rounds)

    def _squared_sampling_length(self, clip: float, n: float) -> float:
        """Return the square of the length that sampling adds to a gradient."""
        return clip**2 / (self.rate * n)

    def _extra_settings(self, spend: SubsampledGaussian) -> tuple[Setting, ...]:
        """Return the settings of the sampling rate and of the noise that it needs."""
        multiplier = Setting(
            "noise_multiplier",
            spend.noise_multiplier,
            "the smallest that keeps the promise, to 0.3%",
        )
        return (*self.as_settings("rate"), multiplier)
