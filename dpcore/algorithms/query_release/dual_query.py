"""DualQuery and DQRS: a player who draws queries that are still wrong, and one who answers them.

Sees a Curator.

DualQuery. Round t draws s signed queries with probability ∝ exp(η Σ_{τ<t} s (⟨q, P_n⟩ − q(x^τ))) (t
= 1: uniform, free), and x^t = argmax_x Σ over draws of s q(x), a public best response. Draws of
earlier rounds count, `memory` times less each round: they are public, their law changes slowly, and
this takes noise out of x^t (memory = 0: as published). Released are the rows x^1 … x^t.

A draw in round t is 2η(t − 1)Δ-bounded-range, Δ = w/n with w = max_j (hi_j − lo_j), so that ρ = s
Σ_t (2η(t − 1)Δ)²/8 = s (ηΔ)² T(T − 1)(2T − 1)/12, or ε = s ηΔ T(T − 1) in pure DP; η uses the whole
budget by the better of the two.

DQRS. With u(q) = η s (⟨q, P_n⟩ − q(x^{t−1})), |u| ≤ ηw, an old draw is kept with probability
exp(u(q) − 2ηw), else replaced by one from Q^t: for a fixed x^{t−1} it follows exactly Q^t. The bit
is released: it is B-bounded-range, B = ln[(e^{ηw(1+1/n)} − 1)/(e^{ηw} − 1)], and costs B²/8; a
fresh draw costs η²(t − 1)²w²/(2n²), as in DualQuery. Where bits are dearer than what they are
expected to save (early rounds), all draws are fresh ones.

How many draws are replaced is only known from the bits, so each charge is made as it comes; the run
ends after T rounds, or when the ledger says that the next charge would not fit. η is the largest
whose expected charges fit.
"""

import math

import numpy as np

from ...core.numbers import bisect_interval
from ...core.parameters import parameter_field
from ...core.types import Array, Rng, by_name
from ...models.releases import SyntheticRows
from ...privacy.accounting import ROUNDING_MARGIN, BoundedRange, Budget, Plan, PlannedEvent, Setting
from ...privacy.curators.table_curator import TableCurator
from ...privacy.statistics import AcceptProbabilities, SignedErrors, keep_bit_epsilon
from ...problems import QueryRelease
from ..algorithm import Algorithm, Step, Steps
from ..run_costs import SECONDS_PER_ANSWER
from .shared.best_response import BestResponseOracle, QuerySums, response_seconds
from .shared.select_and_measure import balanced_rounds

DEFAULT_DRAWS = {False: 10, True: 2}  # by whether δ = 0; these rules were fitted on two tables
ROUND_RULES = {False: (1.0, 2 / 3), True: (0.4, 1 / 2)}  # T = constant · signal^power
MIN_DEFAULT_ROUNDS = 20  # least rounds of the rule
MAX_DEFAULT_ROUNDS = {True: 1000, False: 400}  # most of them, by whether cells can be listed
# weight below which an earlier draw no longer counts, so that integer programs stay small
MIN_DRAW_WEIGHT = 0.01
# draws are planned to be kept with probability e^(−2.1 ηw): 2 by design, the rest found in runs
REJECTION_EXPONENT = 2.1
# range of step sizes ηw that are searched
MIN_STEP_SIZE = 1e-12
MAX_STEP_SIZE = 1e12
STEP_SIZE_HALVINGS = 26  # of the range of log ηw, to a millionth of ηw


@by_name
class DualQuery(Algorithm):
    """The algorithm DualQuery: draw badly answered queries, add the row that answers them best.

    Released are the rows x^1 … x^T. The module's docstring has the draws and what they cost. An
    oracle that runs out of time costs accuracy, not privacy.
    Source: Gaboardi, Gallego Arias, Hsu, Roth, Wu 2014, Algorithm 1, with zCDP in place of their
    composition.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(DualQuery(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    rounds: int | None = parameter_field(
        None,
        "synthetic rows, and rounds of draws",
        symbol="T",
        low=2,
        high=20_000,
        log=True,
        auto="n and the budget: more rows are finer, and leave less budget for each draw",
    )
    samples: int | None = parameter_field(
        None,
        "queries drawn a round",
        symbol="s",
        low=1,
        high=10_000,
        log=True,
        auto="10, or 2 at δ = 0",
    )
    memory: float = parameter_field(
        0.8,
        "how much an earlier round's draws count, compared with the next round's",
        low=0,
        high=0.99,
    )
    seconds: float = parameter_field(
        0.25, "time limit of one best response, in seconds", low=1e-6, high=3600, log=True
    )

    seconds_per_draw = 5e-4  # of the draws of a round, beside the answers

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """Return a plan of s draws in each round from the second on.

        T and s from n and the budget unless given.
        """
        T, s = self._rounds_and_samples(problem, budget)
        delta = problem.width / problem.effective_n
        eta = budget.epsilon / (s.value * T.value * (T.value - 1))
        if budget.delta > 0:
            cost = s.value * T.value * (T.value - 1) * (2 * T.value - 1) / 12
            eta = max(eta, math.sqrt(budget.rho / cost))
        eta *= ROUNDING_MARGIN / delta
        spends = (_draw_spend(problem, eta, t) for t in range(2, T.value + 1))
        charges = tuple(
            PlannedEvent("draw_queries", spend, s.value, SignedErrors) for spend in spends
        )
        return Plan(budget, charges, self._settings(T, s, eta))

    def run_seconds(self, problem: QueryRelease, plan: Plan) -> float:
        """Return the predicted seconds of a run: in every round all answers and a best response."""
        response = response_seconds(problem.workload, 0, self.seconds)
        answers = SECONDS_PER_ANSWER * problem.workload.m
        return plan["rounds"] * (self.seconds_per_draw + response + 2 * answers)

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Yield steps of s draws and one new row each."""
        player = _RowPlayer(problem, self.memory, self.seconds)
        eta = plan["eta"]
        for t in range(1, plan["rounds"] + 1):
            if t == 1:
                draws = player.uniform_draws(plan["samples"], rng)
            else:
                draws = curator.draw_queries(
                    player.accumulated_errors(t), _draw_spend(problem, eta, t), plan["samples"]
                )
            yield player.add_response(draws, rng)

    def _rounds_and_samples(self, problem: QueryRelease, budget: Budget) -> tuple[Setting, Setting]:
        """Return the number of rounds T and of draws s: as given, or by the rule."""
        max_rounds = MAX_DEFAULT_ROUNDS[BestResponseOracle(problem.workload).enumerates_cells]
        default = balanced_rounds(
            problem, budget, ROUND_RULES[budget.delta == 0], max_rounds, MIN_DEFAULT_ROUNDS
        )
        why = "few at δ = 0, where every draw is dear: fitted on two tables"
        rounds = self.choose_default("rounds", default.value, default.why)
        return rounds, self.choose_default("samples", DEFAULT_DRAWS[budget.delta == 0], why)

    def _settings(self, rounds: Setting, samples: Setting, eta: float) -> tuple[Setting, ...]:
        """Return all settings of a plan with these rounds, draws a round, and step size η."""
        why = "step size η: the largest that the budget allows"
        return (rounds, samples, Setting("eta", eta, why), *self.as_settings("memory", "seconds"))


@by_name
class DQRS(DualQuery):
    """DualQuery that keeps draws of the last round, by rejection sampling, and pays for others.

    The run ends after T rounds, or when the ledger says that the next charge would not fit. η is
    the largest whose expected charges fit; the module's docstring has the law of a draw and its
    cost.
    Source: Vietri, Tian, Bun, Steinke, Wu 2020 (DQRS), with B in place of their bound.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(DQRS(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    adaptive = True
    seconds_per_draw = 1e-3

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """Return a plan of the bits and the expected fresh draws.

        At the largest η for which they fit the budget.
        """
        T, s = self._rounds_and_samples(problem, budget)

        def expected_charges_at(log_step: float) -> _ExpectedEvents:
            return _ExpectedEvents(problem, budget, T.value, s.value, math.exp(log_step))

        def fits(log_step: float) -> bool:
            return bool(expected_charges_at(log_step).cost <= ROUNDING_MARGIN)

        expected_charges = expected_charges_at(
            bisect_interval(
                fits, math.log(MIN_STEP_SIZE), math.log(MAX_STEP_SIZE), STEP_SIZE_HALVINGS
            )[0]
        )
        return Plan(
            budget, expected_charges.charges(problem), self._settings(T, s, expected_charges.eta)
        )

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Yield steps of s coin flips, fresh draws for the rejected ones, and one new row each."""
        player = _RowPlayer(problem, self.memory, self.seconds)
        eta = plan["eta"]
        s = plan["samples"]
        expected_charges = _ExpectedEvents(
            problem, plan.budget, plan["rounds"], s, eta * problem.width
        )
        draws = player.uniform_draws(s, rng)
        yield player.add_response(draws, rng)
        for t in range(2, plan["rounds"] + 1):
            is_kept = np.zeros(s, dtype=bool)
            fresh_spend = _draw_spend(problem, eta, t)
            if expected_charges.reuses[t - 2]:
                if not curator.can_afford(expected_charges.bit_spend, s):
                    return
                is_kept = curator.keep_draws(
                    player.acceptance_probabilities(draws, eta), expected_charges.bit_spend
                )
            missing_count = int(s - is_kept.sum())
            if missing_count:
                if not curator.can_afford(fresh_spend, missing_count):
                    return
                draws = draws.copy()
                draws[~is_kept] = curator.draw_queries(
                    player.accumulated_errors(t), fresh_spend, missing_count
                )
            yield player.add_response(draws, rng, int(is_kept.sum()))


class _ExpectedEvents:
    """The expected planned events of DQRS at step size ηw.

    Rounds 2..T that reuse draws, and fresh draws of each round.
    """

    def __init__(self, problem: QueryRelease, budget: Budget, T: int, s: int, step: float) -> None:
        n = problem.effective_n
        self.eta = step / problem.width
        self.bit_spend = BoundedRange(keep_bit_epsilon(step, n))
        draw_ranges = 2 * step * np.arange(1, T) / n  # the bounded range of a draw in rounds 2..T
        rejected_share = -math.expm1(-REJECTION_EXPONENT * step)
        power = 1 if budget.delta == 0 else 2  # of ε₀, in what adds up
        self.reuses = (
            self.bit_spend.epsilon**power + rejected_share * draw_ranges**power < draw_ranges**power
        )
        self.fresh_draws = np.diff(
            np.floor(np.cumsum(np.append(0, np.where(self.reuses, s * rejected_share, s))) + 1e-9)
        ).astype(int)
        self.bit_count = s * int(self.reuses.sum())
        pure = (
            self.bit_count * self.bit_spend.epsilon + self.fresh_draws @ draw_ranges
        ) / budget.epsilon
        rho = (self.bit_count * self.bit_spend.epsilon**2 + self.fresh_draws @ draw_ranges**2) / 8
        # as a share of the budget
        self.cost = min(pure, rho / budget.rho) if budget.delta > 0 else pure

    def charges(self, problem: QueryRelease) -> tuple[PlannedEvent, ...]:
        """Return the planned events for the bits, and for the draws of each round."""
        bit_charges = (
            (PlannedEvent("keep_draws", self.bit_spend, self.bit_count, AcceptProbabilities),)
            if self.bit_count
            else ()
        )
        fresh_draws_by_round = enumerate(self.fresh_draws.tolist(), start=2)
        return (
            *bit_charges,
            *(
                PlannedEvent("draw_queries", _draw_spend(problem, self.eta, t), r, SignedErrors)
                for t, r in fresh_draws_by_round
                if r
            ),
        )


class _RowPlayer:
    """The player who answers: it receives public draws and adds rows."""

    def __init__(self, problem: QueryRelease, memory: float, seconds: float) -> None:
        self.workload = problem.workload
        self.memory = memory
        self.oracle = BestResponseOracle(problem.workload, seconds)
        self.row_sums = QuerySums(problem.workload)
        self.weights = np.zeros(problem.workload.m)
        self.rows: list[Array] = []

    def uniform_draws(self, s: int, rng: Rng) -> Array:
        """Return the draws (s,) of the first round, uniform and independent of the rows."""
        return rng.integers(2 * self.workload.m, size=s)

    def accumulated_errors(self, t: int) -> SignedErrors:
        """Return the errors, summed over the rows so far, from which round t draws its queries."""
        return SignedErrors(self.workload, self.row_sums.sums, t - 1)

    def acceptance_probabilities(self, draws: Array, eta: float) -> AcceptProbabilities:
        """Return the probabilities of keeping the old draws after the last row."""
        last_row_sums = QuerySums(self.workload)
        last_row_sums.add_rows(self.rows[-1])
        return AcceptProbabilities(
            self.workload, draws, last_row_sums.sums[draws % self.workload.m], eta
        )

    def add_response(self, draws: Array, rng: Rng, kept_count: int = 0) -> Step:
        """Add the best response to these and the decayed earlier draws; return a step.

        The step releases all rows.
        """
        m = self.workload.m
        self.weights *= self.memory
        np.add.at(self.weights, draws % m, np.where(draws < m, 1.0, -1.0))
        self.weights[np.abs(self.weights) < MIN_DRAW_WEIGHT] = 0
        response = self.oracle.argmax(self.weights, rng)
        self.row_sums.add_rows(response.codes)
        self.rows.append(response.codes)
        note = (
            f"{kept_count} of {len(draws)} draws kept"
            if kept_count
            else f"{len(draws)} queries drawn"
        )
        late_note = (
            "; time limit reached, best row found so far" if response.timed_out_count else ""
        )
        return Step(
            len(self.rows),
            SyntheticRows.from_rows(self.workload.domain, np.concatenate(self.rows)),
            note + late_note,
        )


def _draw_spend(problem: QueryRelease, eta: float, t: int) -> BoundedRange:
    """Return the spend of one draw in round t: 2η(t − 1)Δ-bounded-range."""
    return BoundedRange(2 * eta * (t - 1) * problem.width / problem.effective_n)
