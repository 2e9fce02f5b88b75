"""The only holder of records. Few verbs; each charges the ledger first and touches the records after.

Imports everything else of this folder. A new verb is a privacy review.
"""

import math
from collections import Counter
from typing import Any, Final

import numpy as np

from ..data.domain import Rows
from ..errors import BudgetError, InputError
from ..workloads import Workload
from . import exact, mechanisms
from .accounting.budget import Approximate, BoundedRange, Gaussian, Pure, Spend, SubsampledGaussian
from .accounting.ledger import Ledger, Plan
from .samplers import SAMPLERS, objective
from .statistics.answers import Answers, CellAnswers, SignedErrors, SomeAnswers, Statistic
from .statistics.gradients import MeanGradient, RegularisedMinimiser, RiskStatistic
from .statistics.query_draws import KeepOdds, SummedErrors
from .statistics.scores import AbsoluteErrors, TableErrors, sparse_scales
from .statistics.targets import PerturbedRisk, PlainRisk, RankError, RegularisedRisk, Target
from .statistics.votes import CodeVotes, PointStatistic, Votes

VOTED: Final = (Votes, CodeVotes)
MEASURED: Final = (Answers, SomeAnswers, CellAnswers, MeanGradient, RegularisedMinimiser, *VOTED)
COUNTABLE: Final = (Answers, SomeAnswers, CellAnswers, *VOTED)
SCORED: Final = (SignedErrors, TableErrors)
STREAMED: Final = (AbsoluteErrors,)
DRAWN: Final = (RegularisedRisk, PlainRisk, RankError)


class _Counts(Rows):
    """Records of which answers are counts, whole numbers and exactly so, not shares of n."""

    n = 1  # type: ignore[assignment]


class Curator:
    """Holds records and a ledger; answers what a plan has paid for, with noise from the generator it was given.

    Args: `rows`, grouped records; `plan`, what may be charged; `n`, their public number; `rng`, the noise; `group`, how
    many records neighbours may differ in (each sensitivity is that many times larger). A plan that is `exact` has noise
    on counts drawn as whole numbers, from the operating system's entropy and not from `rng`; `exactly` says which laws
    were drawn so, and how often; all else that was charged was paid for noise in floating point.
    """

    def __init__(self, rows: Rows, n: int, plan: Plan, rng: np.random.Generator, *, group: int = 1) -> None:
        if rows.n != n:
            raise InputError(f"the problem speaks of n={n} records, the table has {rows.n}")
        self.ledger = Ledger(plan)
        self.unit = n / group  # sensitivities are those of one record moving in n · P_n
        self.__group = group
        self.__rows = rows
        self.__rng = rng
        self.exactly: Counter[str] = Counter()
        self.__answers: dict[int, tuple[Workload, np.ndarray]] = {}
        self.__counts: dict[int, tuple[Workload, np.ndarray]] = {}
        self.__threshold: tuple[Pure, float, float] | None = None  # paid and not used up: spend, Δ, its noise

    def affords(self, spend: Spend, times: int = 1) -> bool:
        """Whether the plan allows `spend`, so many times, now; from what was charged, so it touches no record."""
        return self.ledger.fits(spend, times)

    def measure(
        self, statistic: Statistic | RiskStatistic | PointStatistic, spend: Gaussian | Pure | Approximate
    ) -> np.ndarray:
        """What leaves of the statistic with noise: N(0, (Δ₂/(nμ))²) for Gaussian(μ), Laplace(Δ₁/(nε)) for Pure(ε).

        Approximate(ε₀, δ₀) pays for votes: Laplace(bΔ₁/(nε₀)) on positive shares, which leave only from the threshold
        H = (bΔ₁/(nε₀)) log(b/(2δ₀)) + b/n on, for neighbours that differ in b records (the group). A share of c ≤ b
        votes that the neighbour lacks reaches H with probability ½ e^{−(H − c/n) nε₀/(bΔ₁)} ≤ δ₀/b, and there are b of
        them at the most: δ₀. Otherwise all such shares stay 0 on both sides, and the others differ by bΔ₁/n in sum:
        ε₀. b = 1 is the paper's H with log(1/(2δ₀)). Source: Vadhan 2017, Theorem 3.5; Gonzalez et al. 2025, 4.2.

        Where the plan is exact and the statistic counts, whole numbers n · value get discrete noise of scale bΔ₂/μ,
        μ²/2-zCDP, or bΔ₁/ε, ε-DP, and are divided by n, which is public; not for Approximate.
        Raises BudgetError, before any record is read, when the plan does not allow the charge.
        """
        payable = (Gaussian, Pure, Approximate) if type(statistic) in VOTED else (Gaussian, Pure)
        self._check(statistic, MEASURED, spend, payable)
        self.ledger.charge("measure", spend)
        if self.ledger.plan.exact and type(spend) is not Approximate and self._counts(statistic):
            return statistic.leaving(self._measure_counts(statistic, spend))
        seen = self._true_answers(statistic.workload) if isinstance(statistic, SomeAnswers) else self.__rows
        value = statistic.value(seen)  # type: ignore[arg-type]
        if isinstance(spend, Gaussian):
            noisy = mechanisms.gaussian(value, statistic.l2 / (self.unit * spend.mu), self.__rng)
        elif isinstance(spend, Approximate):
            scale = statistic.l1 / (self.unit * spend.epsilon)
            threshold = scale * math.log(self.__group / (2 * spend.failure)) + 1 / self.unit
            noisy = mechanisms.laplace_above(value, scale, threshold, self.__rng)
        else:
            noisy = mechanisms.laplace(value, statistic.l1 / (self.unit * spend.epsilon), self.__rng)
        return statistic.leaving(noisy)

    def select(self, score: SignedErrors | TableErrors, spend: BoundedRange) -> int:
        """The index of a nearly largest score: exponential mechanism of scale 2Δ/(nε₀), paid by BoundedRange(ε₀).

        Raises BudgetError, before any record is read, when the plan does not allow the charge.
        """
        self._check(score, SCORED, spend, (BoundedRange,))
        self.ledger.charge("select", spend)
        scores = score.value(self._true_answers(score.workload))
        return mechanisms.exponential(scores, 2 * score.sensitivity / (self.unit * spend.epsilon), self.__rng)

    def draw_queries(self, score: SummedErrors, spend: BoundedRange, times: int = 1) -> np.ndarray:
        """`times` independent signed queries (times,), each with probability ∝ exp(η · score), η = n ε₀/(2Δ).

        Each is a draw of the exponential mechanism, ε₀-bounded-range as `SummedErrors` derives, and charged apart: they
        are independent given the public sums, so ρ = times · ε₀²/8. Raises BudgetError, before any record is read, when
        the plan does not allow all the charges.
        """
        self._check(score, (SummedErrors,), spend, (BoundedRange,))
        self.ledger.charge("draw_queries", spend, times)
        scores = score.value(self._true_answers(score.workload))
        return mechanisms.categorical(scores, 2 * score.sensitivity / (self.unit * spend.epsilon), times, self.__rng)

    def keep_draws(self, score: KeepOdds, spend: BoundedRange) -> np.ndarray:
        """One bit (s,) for each drawn query: True, with the probability that `KeepOdds` says, to keep it.

        The bits are released. Each is B-bounded-range and charged apart, before any record is read; BudgetError when
        the plan does not allow all the charges, or when `spend` is below B for this number of records.
        """
        self._check(score, (KeepOdds,), spend, (BoundedRange,))
        if spend.epsilon < (needs := score.needs(self.unit)):
            raise BudgetError(f"keep_draws needs ε₀={needs:.6g} a bit, ε₀={spend.epsilon:.6g} is paid")
        self.ledger.charge("keep_draws", spend, len(score.drawn))
        return mechanisms.coins(score.value(self._true_answers(score.workload)), self.__rng)

    def above_threshold(self, errors: AbsoluteErrors, spend: Pure) -> int | None:
        """The place in a batch of the first query whose error is above the level, by sparse vector; None if none is.

        Pure(ε₀) pays for one noisy threshold, ν ~ Laplace(Δ/(nε₁)), which serves any number of queries, each with noise
        Laplace(2Δ/(nε₂)), up to and with the first one above (`mechanisms.first_above` says why); ε₀ = ε₁ + ε₂ is
        divided by `sparse_scales`. While none is, the threshold stays in here for the next batch, whose queries,
        answers and level may depend on what was released before; after one is, the next call pays anew. No other verb
        may be used while it is in use, so that verbs compose one after the other. Raises BudgetError, before any record
        is read, when the plan does not allow the charge, or the threshold in use was paid for by another spend or
        sensitivity.
        """
        self._check(errors, STREAMED, spend, (Pure,))
        blur, scale = sparse_scales(errors.sensitivity / self.unit, spend.epsilon)
        known = self.__threshold
        if known is None:
            self.ledger.charge("above_threshold", spend)
            noise = float(mechanisms.laplace(np.zeros(1), blur, self.__rng)[0])
            known = self.__threshold = (spend, errors.sensitivity, noise)
        if known[:2] != (spend, errors.sensitivity):
            raise BudgetError(f"the threshold in use was paid for by {known[0]} at sensitivity {known[1]:g}")
        values = errors.value(self._true_answers(errors.workload))
        place = mechanisms.first_above(values, known[2], scale, self.__rng)
        if place is not None:
            self.__threshold = None
        return place

    def measure_sample(self, statistic: MeanGradient, spend: SubsampledGaussian) -> np.ndarray:
        """The clipped sum (d,) over a Poisson sample of the records with noise N(0, (zC)²), divided by rate · n.

        Every record is in the sample with probability `rate`, independently; the expected size is public, the true one
        is not. Raises InputError for groups, and BudgetError before any record is read.
        """
        self._check(statistic, (MeanGradient,), spend, (SubsampledGaussian,))
        if self.unit != self.__rows.n:
            raise InputError(
                "samples of records are priced for single rows only; rows of one person cannot be protected"
            )
        self.ledger.charge("measure", spend)
        counts = self.__rng.binomial(self.__rows.weights, spend.rate)
        total = statistic.clipped_sum(self.__rows.values, counts)
        noisy = mechanisms.gaussian(total, spend.noise_multiplier * statistic.clip, self.__rng)
        return noisy / (spend.rate * self.__rows.n)

    def draw_parameter(self, target: Target, sampler: str, spend: Gaussian | BoundedRange | Approximate) -> np.ndarray:
        """A parameter (d,) from the law that `target` describes, as sharp as `spend` pays for.

        `sampler` names one of `samplers.SAMPLERS`; its error in total variation is at most what the spend's failure
        pays for. "objective" solves a `PerturbedRisk`. The time taken depends on the records. Raises InputError and
        BudgetError before any record is read.
        """
        if isinstance(target, PerturbedRisk):
            self._check(target, (PerturbedRisk,), spend, PerturbedRisk.payable)
            lam, sigma = target.settle(self.__rows.n, self.unit, spend)  # type: ignore[arg-type]
            self.ledger.charge("draw", spend)
            return objective.solve(target, self.__rows, lam, sigma, self.__rng)
        self._check(target, DRAWN, spend, target.payable)
        if sampler not in SAMPLERS:
            raise InputError(f"there is no sampler {sampler!r}; the samplers are {', '.join(SAMPLERS)}")
        error = self.ledger.plan.budget.sampler_error(spend.failure)
        k = target.k(self.unit, spend)  # type: ignore[arg-type]
        SAMPLERS[sampler].check(target, k, error, self.__rows.n)
        self.ledger.charge("draw", spend)
        density = target.density(self.__rows, self.unit, spend)  # type: ignore[arg-type]
        return SAMPLERS[sampler].draw(density, error, self.__rng)

    def _counts(self, statistic: Any) -> bool:
        return type(statistic) in COUNTABLE and statistic.counted

    def _measure_counts(self, statistic: Any, spend: Gaussian | Pure) -> np.ndarray:
        """Shares (m,) of counts with exact noise; charged by the caller."""
        seen: Any = _Counts(self.__rows.values, self.__rows.weights)
        if isinstance(statistic, SomeAnswers):
            workload, kept = statistic.workload, self.__counts
            if id(workload) not in kept:
                kept[id(workload)] = (workload, workload.answers_of_rows(seen))
            seen = kept[id(workload)][1]
        counts, b = statistic.value(seen), self.__rows.n / self.unit
        if isinstance(spend, Gaussian):
            self.exactly["discrete Gaussian"] += 1
            noisy = exact.gaussian(counts, b * statistic.l2 / spend.mu)
        else:
            self.exactly["discrete Laplace"] += 1
            noisy = exact.laplace(counts, b * statistic.l1 / spend.epsilon)
        return noisy / self.__rows.n

    def _true_answers(self, workload: Workload) -> np.ndarray:
        """⟨q_j, P_n⟩, counted once per workload; the workload is kept so that its id stays its own."""
        if id(workload) not in self.__answers:
            self.__answers[id(workload)] = (workload, workload.answers_of_rows(self.__rows))
        return self.__answers[id(workload)][1]

    def _check(self, question: Any, known: tuple, spend: object, payable: tuple) -> None:
        if self.__threshold and known is not STREAMED:
            raise BudgetError("a threshold is in use: nothing else may be asked before a query is above it")
        if type(question) not in known:
            raise BudgetError(f"{type(question).__name__} is not a statistic with a derived sensitivity")
        if type(spend) not in payable:
            names = " or ".join(p.__name__ for p in payable)
            raise BudgetError(f"{type(spend).__name__} does not pay for this; it takes {names}")
        question.check()
