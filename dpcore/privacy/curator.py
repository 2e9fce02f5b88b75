"""The only holder of records. Few verbs; each charges the ledger first and touches the records after.

A new verb is a privacy review.
"""

import math
from collections import Counter
from dataclasses import fields, replace
from functools import partial
from typing import Any, Final

import numpy as np

from ..data.domain import Countable, Domain
from ..data.plain import plain
from ..data.sources.counts import Counts
from ..errors import BudgetError, InputError
from ..geometry.regions import Ball, Box, Space
from ..learning.losses import Logistic, PiecewiseLinear, SquaredDistance
from ..workloads import Workload, sealed, sealed_domain
from . import exact, grid, mechanisms
from .accounting.budget import Approximate, BoundedRange, Budget, Gaussian, Pure, Spend, SubsampledGaussian
from .accounting.ledger import Charge, Ledger, Plan
from .measurement import MeasuredAnswers, Measurement, MeasurementRecorder, deviation, noise_scale
from .samplers import SAMPLERS, objective
from .statistics.answers import EPS, Answers, CellAnswers, SignedErrors, SomeAnswers, Statistic
from .statistics.gradients import MeanGradient, RegularisedMinimiser, RiskStatistic
from .statistics.query_draws import AcceptProbabilities, SummedErrors
from .statistics.residuals import Residuals
from .statistics.scores import AbsoluteErrors, TableErrors, sparse_scales
from .statistics.targets import PerturbedRisk, PlainRisk, RankError, RegularisedRisk, Target
from .statistics.votes import CodeVotes, PointStatistic, Votes

VOTED: Final = (Votes, CodeVotes)
MEASURED: Final = (Answers, SomeAnswers, CellAnswers, Residuals, MeanGradient, RegularisedMinimiser, *VOTED)
ONE_BY_ONE: Final = (CellAnswers, MeanGradient, RegularisedMinimiser, *VOTED)  # what counts of tables do not answer
SCORED: Final = (SignedErrors, TableErrors)
STREAMED: Final = (AbsoluteErrors,)
MOST_BLURRED: Final = 64.0  # of |answer| and level together in the sparse vector, both shares
DRAWN: Final = (RegularisedRisk, PlainRisk, RankError)
MADE_OF: Final = (Ball, Box, Space, PiecewiseLinear, Logistic, SquaredDistance)  # beside numbers and arrays
PLANNED: Final = (Budget, Charge, Gaussian, BoundedRange, Pure, Approximate, SubsampledGaussian)


def check_readable(rows: Countable, plan: Plan) -> None:
    """Raise InputError where a plan asks of records one by one what is known as counts of tables only."""
    if not isinstance(rows, Counts):
        return
    kinds = {c.statistic if isinstance(c.statistic, type) else type(c.statistic) for c in plan.charges}
    if not kinds.isdisjoint(ONE_BY_ONE):
        rows.refuse()


class Curator:
    """Holds records and a ledger; answers what a plan has paid for, with noise from the generator it was given.

    Args: `rows`, grouped records, or counts of their tables; `plan`, what may be charged; `n`, their public number;
    `rng`, the noise; `group`, how many records neighbours may differ in (each sensitivity is that many times larger);
    `domain`, that of the records, where they have one: workloads that speak of another are refused. A plan that is
    `exact` has noise drawn as whole numbers, on counts or on a public grid (`privacy.grid`), from the operating
    system's entropy, and selections drawn without rounding, from the bits of `rng`; `exactly` says which laws were
    drawn so, and how often, `step` on which grid what was no counts; all else that was charged was paid for noise in
    floating point.

    Every question is made anew before a record is read: of numbers, plain arrays, and twins of workloads.
    """

    __slots__ = (
        *(
            "__answers",
            "__counts",
            "__domain",
            "__exactly",
            "__grids",
            "__group",
            "__ledger",
            "__measured",
            "__plan",
            "__rng",
            "__rows",
        ),
        *("__step", "__threshold", "__twins", "__unit"),
    )

    def __init__(
        self,
        rows: Countable,
        n: int,
        plan: Plan,
        rng: np.random.Generator,
        *,
        group: int = 1,
        domain: Domain | None = None,
    ) -> None:
        if rows.n != n:
            raise InputError(f"the problem speaks of n={n} records, the table has {rows.n}")
        check_readable(rows, plan)
        if not 1 <= (group := plain(group)) <= n:
            raise InputError(f"group={group} is outside 1..{n}, the number of records")
        self.__plan = plan
        self.__ledger = Ledger(Plan(*plain((plan.budget, plan.charges), PLANNED), exact=bool(plan.exact)))
        self.__unit = rows.n / group  # sensitivities are those of one record moving in n · P_n
        self.__group = group
        self.__rows: Any = rows  # what counts do not answer they refuse
        self.__rng = rng
        self.__domain = None if domain is None else sealed_domain(domain)
        self.__twins: dict[int, tuple[Workload, Workload]] = {}  # by the id of the workload, which is kept for that
        self.__exactly: Counter[str] = Counter()
        self.__measured = MeasurementRecorder()
        self.__step = 1.0
        self.__answers: dict[int, tuple[Workload, np.ndarray]] = {}
        self.__counts: dict[int, tuple[Workload, np.ndarray]] = {}
        self.__grids: dict[int, tuple[Workload, Workload, float]] = {}
        self.__threshold: tuple[Pure, float, float] | None = None  # paid and not used up: spend, Δ, its noise

    @property
    def plan(self) -> Plan:
        """The plan as it was given; what may be charged was copied from it at the start."""
        return self.__plan

    @property
    def ledger(self) -> Ledger:
        """A copy of the ledger as it stands now: whatever is done to the copy gives no budget back."""
        return self.__ledger.statement(self.__plan)

    @property
    def unit(self) -> float:
        """n, or n/b for neighbours that differ in a group of b records: what sensitivities are divided by."""
        return self.__unit

    @property
    def exactly(self) -> Counter[str]:
        """How often each law was drawn on whole numbers, without rounding."""
        return self.__exactly.copy()

    @property
    def step(self) -> float:
        """The step of the finest grid on which answers that are no counts were released; 1 where all were counts."""
        return self.__step

    @property
    def measured(self) -> list[MeasuredAnswers]:
        """The noisy answers that left up to now, and their standard errors, workload by workload, in new arrays."""
        return self.__measured.averages()

    def affords(self, spend: Spend, times: int = 1) -> bool:
        """Whether the plan allows `spend`, so many times, now; from what was charged, so it touches no record."""
        return self.__ledger.fits(spend, times)

    def measure(
        self, statistic: Statistic | RiskStatistic | PointStatistic, spend: Gaussian | Pure | Approximate
    ) -> Measurement:
        """What leaves of the statistic with noise: N(0, (Δ₂/(nμ))²) for Gaussian(μ), Laplace(Δ₁/(nε)) for Pure(ε).

        Approximate(ε₀, δ₀) pays for votes: Laplace(bΔ₁/(nε₀)) on positive shares, which leave only from the threshold
        H = (bΔ₁/(nε₀)) log(b/(2δ₀)) + b/n on, for neighbours that differ in b records (the group). A share of c ≤ b
        votes that the neighbour lacks reaches H with probability ½ e^{−(H − c/n) nε₀/(bΔ₁)} ≤ δ₀/b, and there are b of
        them at the most: δ₀. Otherwise all such shares stay 0 on both sides, and the others differ by bΔ₁/n in sum:
        ε₀. b = 1 is the paper's H with log(1/(2δ₀)). Source: Vadhan 2017, Theorem 3.5; Gonzalez et al. 2025, 4.2.

        Where the plan is exact, n · value is whole numbers of steps of a public grid (1 for counts), gets discrete
        noise of scale bΔ₂/μ, μ²/2-zCDP, or bΔ₁/ε, ε-DP, and is divided by n, which is public; see `exact`.
        Raises BudgetError, before any record is read, when the plan does not allow the charge.
        """
        payable = (Gaussian, Pure, Approximate) if type(statistic) in VOTED else (Gaussian, Pure)
        own, paid = self._check(statistic, MEASURED, spend, payable)
        self.__ledger.charge("measure", paid)
        exactly = self.__ledger.plan.exact and grid.gridded(own)
        own, values = self._noisy_on_grid(own, paid) if exactly else (own, self._noisy(own, paid))
        # With it goes what was asked and paid, as given: what was made of that is held by nobody outside.
        out = Measurement(values, deviation(own, paid, self.unit), statistic, spend)
        self.__measured.add(out, own)
        return out

    def select(self, score: SignedErrors | TableErrors, spend: BoundedRange | Pure) -> int:
        """The index of a nearly largest score, of scale 2Δ/(nε₀): permute-and-flip for Pure(ε₀), which is ε₀-DP and all
        that is known of it; the exponential mechanism for BoundedRange(ε₀), whose scores are lower in the mean.

        Raises BudgetError, before any record is read, when the plan does not allow the charge.
        """
        score, spend = self._check(score, SCORED, spend, (BoundedRange, Pure))
        self.__ledger.charge("select", spend)
        scores, delta, unit = self._scores(score)
        scale = 2 * delta / (unit * spend.epsilon)
        if isinstance(spend, Pure):
            self._note("permute-and-flip")
            return mechanisms.permute_and_flip(scores, scale, self.__rng)
        if self.__ledger.plan.exact:
            self._note("exponential mechanism")
            return int(mechanisms.exponential_exactly(scores, scale, 1, self.__rng)[0])
        return mechanisms.exponential(scores, scale, self.__rng)

    def draw_queries(self, score: SummedErrors, spend: BoundedRange, times: int = 1) -> np.ndarray:
        """`times` independent signed queries (times,), each with probability ∝ exp(η · score), η = n ε₀/(2Δ).

        Each is a draw of the exponential mechanism, ε₀-bounded-range as `SummedErrors` derives, and charged apart: they
        are independent given the public sums, so ρ = times · ε₀²/8. Raises BudgetError, before any record is read, when
        the plan does not allow all the charges.
        """
        score, spend = self._check(score, (SummedErrors,), spend, (BoundedRange,))
        self.__ledger.charge("draw_queries", spend, times := plain(times))
        scores, delta, unit = self._scores(score)
        if self.__ledger.plan.exact:
            self._note("exponential mechanism", times)
            return mechanisms.exponential_exactly(scores, 2 * delta / (unit * spend.epsilon), times, self.__rng)
        return mechanisms.categorical(scores, 2 * delta / (unit * spend.epsilon), times, self.__rng)

    def keep_draws(self, score: AcceptProbabilities, spend: BoundedRange) -> np.ndarray:
        """One bit (s,) for each drawn query: True, with the probability that `AcceptProbabilities` says, to keep it.

        The bits are released. Each is B-bounded-range and charged apart, before any record is read; BudgetError when
        the plan does not allow all the charges, or when `spend` is below B for this number of records.
        """
        score, spend = self._check(score, (AcceptProbabilities,), spend, (BoundedRange,))
        if spend.epsilon < (needs := score.needs(self.unit)):
            raise BudgetError(f"keep_draws needs ε₀={needs:.6g} a bit, ε₀={spend.epsilon:.6g} is paid")
        self.__ledger.charge("keep_draws", spend, len(score.drawn))
        if not self.__ledger.plan.exact:
            return mechanisms.coins(score.value(self._true_answers(score.workload)), self.__rng)
        self._note("coins", len(score.drawn))
        workload, counts = self._true_counts(score.workload)
        return mechanisms.coins(score.rounded(workload, self.__rows.n).value(counts / self.__rows.n), self.__rng)

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
        errors, spend = self._check(errors, STREAMED, spend, (Pure,))
        known = self.__threshold
        if known is None:
            self.__ledger.charge("above_threshold", spend)
        elif known[:2] != (spend, errors.sensitivity):
            raise BudgetError(f"the threshold in use was paid for by {known[0]} at sensitivity {known[1]:g}")
        if self.__ledger.plan.exact:
            values, blur, scale = self._blurred(errors, spend)
            draw, find = exact.laplace, exact.first_above
        else:
            values = errors.value(self._true_answers(errors.workload))
            blur, scale = sparse_scales(errors.sensitivity / self.unit, spend.epsilon)
            draw, find = partial(mechanisms.laplace, rng=self.__rng), partial(mechanisms.first_above, rng=self.__rng)
        if known is None:
            self._note("sparse vector")
            known = self.__threshold = (spend, errors.sensitivity, float(draw(np.zeros(1), blur)[0]))
        place = find(values, known[2], scale)
        if place is not None:
            self.__threshold = None
        return place

    def measure_sample(self, statistic: MeanGradient, spend: SubsampledGaussian) -> Measurement:
        """The clipped sum (d,) over a Poisson sample of the records with noise N(0, (zC)²), divided by rate · n.

        Every record is in the sample with probability `rate`, independently; the expected size is public, the true one
        is not. Raises InputError for groups, and BudgetError before any record is read.
        """
        own, paid = self._check(statistic, (MeanGradient,), spend, (SubsampledGaussian,))
        if self.unit != self.__rows.n:
            raise InputError(
                "samples of records are priced for single rows only; rows of one person cannot be protected"
            )
        self.__ledger.charge("measure", paid)
        counts = self.__rng.binomial(self.__rows.weights, paid.rate)
        total = own.clipped_sum(self.__rows.values, counts)
        noisy = mechanisms.gaussian(total, paid.noise_multiplier * own.clip, self.__rng)
        values = noisy / (paid.rate * self.__rows.n)
        return Measurement(values, deviation(own, paid, self.__rows.n), statistic, spend)

    def draw_parameter(self, target: Target, sampler: str, spend: Gaussian | BoundedRange | Approximate) -> np.ndarray:
        """A parameter (d,) from the law that `target` describes, as sharp as `spend` pays for.

        `sampler` names one of `samplers.SAMPLERS`; its error in total variation is at most what the spend's failure
        pays for. "objective" solves a `PerturbedRisk`. The time taken depends on the records. Raises InputError and
        BudgetError before any record is read.
        """
        if isinstance(target, PerturbedRisk):
            law, paid = self._check(target, (PerturbedRisk,), spend, PerturbedRisk.payable)
            lam, sigma = law.settle(self.__rows.n, self.unit, paid)
            self.__ledger.charge("draw", paid)
            return objective.solve(law, self.__rows, lam, sigma, self.__rng)
        payable = type(target).payable if type(target) in DRAWN else ()
        law, paid = self._check(target, DRAWN, spend, payable)
        if (sampler := plain(sampler)) not in SAMPLERS:
            raise InputError(f"there is no sampler {sampler!r}; the samplers are {', '.join(SAMPLERS)}")
        error = self.__ledger.plan.budget.sampler_error(paid.failure)
        k = law.k(self.unit, paid)
        SAMPLERS[sampler].check(law, k, error, self.__rows.n)
        self.__ledger.charge("draw", paid)
        density = law.density(self.__rows, self.unit, paid)
        return SAMPLERS[sampler].draw(density, error, self.__rng)

    def _note(self, law: str, times: int = 1) -> None:
        """That a law was drawn exactly; permute-and-flip of scores in floating point is not, in an exact plan only."""
        if self.__ledger.plan.exact:
            self.__exactly[law] += times

    def _scores(self, score: Any) -> tuple[np.ndarray, float, float]:
        """Scores, Δ and the unit it is of: shares of n; or, in an exact plan, exact counts with room for rounding.

        What rounding adds to a score, e at the most and from public numbers, adds 2e to Δ.
        """
        if not self.__ledger.plan.exact:
            return score.value(self._true_answers(score.workload)), score.sensitivity, self.unit
        workload, counts = self._true_counts(score.workload)
        whole, room = score.in_counts(workload, self.__rows.n)
        delta = (whole.sensitivity + 2 * room) * exact.ROOM if whole.sensitivity > 0 else 0.0
        return whole.value(counts, self.__rows.n), delta, self.unit / self.__rows.n

    def _blurred(self, errors: AbsoluteErrors, spend: Pure) -> tuple[np.ndarray, float, float]:
        """Errors of exact counts in steps of a public grid, and both scales in steps, the same for every batch."""
        workload, counts = self._true_counts(errors.workload)
        n = self.__rows.n
        whole, room = errors.in_counts(workload, n)
        if room > (most := MOST_BLURRED * EPS * n):
            raise InputError(f"answers or the level of a batch are above {MOST_BLURRED:g}, too large for exact noise")
        delta = (whole.sensitivity + 2 * most) * exact.ROOM
        blur, scale = sparse_scales(delta * n / self.unit, spend.epsilon)
        step, in_steps = exact.blur(blur, delta)
        return np.rint(whole.value(counts, n) / step), in_steps, in_steps * (scale / blur if blur else 0.0)

    def _noisy(self, statistic: Any, spend: Gaussian | Pure | Approximate) -> np.ndarray:
        """What leaves, with noise in floating point; charged by the caller."""
        seen: Any = self._true_answers(statistic.workload) if isinstance(statistic, SomeAnswers) else self.__rows
        value, scale = statistic.value(seen), noise_scale(statistic, spend, self.unit)
        if isinstance(spend, Gaussian):
            noisy = mechanisms.gaussian(value, scale, self.__rng)
        elif isinstance(spend, Approximate):
            threshold = scale * math.log(self.__group / (2 * spend.failure)) + 1 / self.unit
            noisy = mechanisms.laplace_above(value, scale, threshold, self.__rng)
        else:
            noisy = mechanisms.laplace(value, scale, self.__rng)
        return statistic.postprocess(noisy)

    def _noisy_on_grid(self, statistic: Any, spend: Gaussian | Pure | Approximate) -> tuple[Any, np.ndarray]:
        """The statistic on its grid, and what leaves with whole noise in steps of that; charged by the caller."""
        n, b = self.__rows.n, self.__rows.n / self.unit
        if isinstance(statistic, SomeAnswers):
            workload, counts = self._true_counts(statistic.workload)
            seen: Any = counts
            own, step = replace(statistic, workload=workload), self.__grids[id(statistic.workload)][2]
        else:
            own, step = grid.on_grid(statistic, n)
            seen = self.__rows.counted
        whole, scale = own.value(seen) / step, noise_scale(own, spend, step / b)
        self.__step = min(self.__step, step)
        self._note("discrete Gaussian" if isinstance(spend, Gaussian) else "discrete Laplace")
        if isinstance(spend, Gaussian):
            noisy = exact.gaussian(whole, scale)
        elif isinstance(spend, Approximate):
            noisy = exact.laplace_above(whole, scale, spend.failure, self.__group)
        else:
            noisy = exact.laplace(whole, scale)
        return own, own.postprocess(noisy * step / n)

    def _true_counts(self, workload: Workload) -> tuple[Workload, np.ndarray]:
        """A workload with its entries on the grid, and its n · ⟨q_j, P_n⟩ without error; once per workload."""
        if id(workload) not in self.__grids:
            self.__grids[id(workload)] = (workload, *grid.workload_on_grid(workload, self.__rows.n))
        _, own, step = self.__grids[id(workload)]
        self.__step = min(self.__step, step)
        if id(own) not in self.__counts:
            self.__counts[id(own)] = (own, own.answers_of_rows(self.__rows.counted))
        return own, self.__counts[id(own)][1]

    def _true_answers(self, workload: Workload) -> np.ndarray:
        """⟨q_j, P_n⟩, counted once per workload; the workload is kept so that its id stays its own."""
        if id(workload) not in self.__answers:
            self.__answers[id(workload)] = (workload, workload.answers_of_rows(self.__rows))
        return self.__answers[id(workload)][1]

    def _check(self, question: Any, known: tuple, spend: Any, payable: tuple) -> tuple[Any, Any]:
        """The question and the spend made anew of plain parts, and checked: no code but the audit's meets a record."""
        if self.__threshold and known is not STREAMED:
            raise BudgetError("a threshold is in use: nothing else may be asked before a query is above it")
        if type(question) not in known:
            raise BudgetError(f"{type(question).__name__} is not a statistic with a derived sensitivity")
        if type(spend) not in payable:
            names = " or ".join(p.__name__ for p in payable)
            raise BudgetError(f"{type(spend).__name__} does not pay for this; it takes {names}")
        parts = {f.name: vars(question)[f.name] for f in fields(question)}
        if "workload" in parts:
            twin = self._twin(parts.pop("workload"))
            question = type(question)(workload=twin, **{name: plain(part) for name, part in parts.items()})
        else:
            question = plain(question, (type(question), *MADE_OF))
        question.check()
        return question, plain(spend, payable)

    def _twin(self, workload: Workload) -> Workload:
        """The workload's twin, on which all is counted; nobody outside holds it."""
        if id(workload) not in self.__twins:
            self.__twins[id(workload)] = (workload, sealed(workload, self.__domain))
        return self.__twins[id(workload)][1]
