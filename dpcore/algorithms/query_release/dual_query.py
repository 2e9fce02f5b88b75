"""DualQuery and DQRS: a player who draws queries that are still wrong, and one who answers them. Sees a Curator."""

import math

import numpy as np

from ...core.numbers import bisected
from ...core.parameters import param
from ...core.types import Array, Rng, by_name
from ...models.releases import Records
from ...privacy.accounting import MARGIN, BoundedRange, Budget, Charge, Choice, Plan
from ...privacy.curators.table_curator import TableCurator
from ...privacy.statistics import AcceptProbabilities, SignedErrors, bit_range
from ...problems import QueryRelease
from ..algorithm import Algorithm, Step, Steps
from .shared.best_response import Counter, Oracle
from .shared.select_and_measure import balanced_rounds

SAMPLES = {False: 10, True: 2}  # by whether δ = 0; these rules were fitted on two tables
RULE = {False: (1.0, 2 / 3), True: (0.4, 1 / 2)}  # T = constant · signal^power
FEWEST_ROUNDS, MOST_ROUNDS = 20, {True: 1000, False: 400}  # limits of the rule, by whether cells can be listed
FORGOTTEN = 0.01  # weight below which an earlier draw no longer counts, so that integer programs stay small
REJECTED = 2.1  # draws are planned to be kept with probability e^(−2.1 ηw): 2 by design, the rest found in runs
LOWEST, HIGHEST, HALVINGS = 1e-12, 1e12, 26  # step sizes ηw that are searched, to a millionth of them


@by_name
class DualQuery(Algorithm):
    """Draw queries from weights that favour what the rows so far answer badly; add the row that answers the draws best.

    Round t draws s signed queries with probability ∝ exp(η Σ_{τ<t} s (⟨q, P_n⟩ − q(x^τ))) (t = 1: uniform, free), and
    x^t = argmax_x Σ over draws of s q(x), a public best response. Draws of earlier rounds count, `memory` times less
    each round: they are public, their law changes slowly, and this takes noise out of x^t (memory = 0: as published).
    Released are the rows x^1 … x^t.

    A draw in round t is 2η(t − 1)Δ-bounded-range, Δ = w/n with w = max_j (hi_j − lo_j), so that
    ρ = s Σ_t (2η(t − 1)Δ)²/8 = s (ηΔ)² T(T − 1)(2T − 1)/12, or ε = s ηΔ T(T − 1) in pure DP; η uses the whole budget by
    the better of the two. An oracle that runs out of time costs accuracy, not privacy.
    Source: Gaboardi, Gallego Arias, Hsu, Roth, Wu 2014, Algorithm 1, with zCDP in place of their composition.
    """

    rounds: int | None = param(
        None, "synthetic rows, and rounds of draws", symbol="T", low=2, high=20_000, log=True,
        auto="n and the budget: more rows are finer, and leave less budget for each draw",
    )  # fmt: skip
    samples: int | None = param(
        None, "queries drawn a round", symbol="s", low=1, high=10_000, log=True, auto="10, or 2 at δ = 0",
    )  # fmt: skip
    memory: float = param(
        0.8, "how much an earlier round's draws count, compared with the next round's", low=0, high=0.99
    )
    seconds: float = param(0.25, "time limit of one best response, in seconds", low=1e-6, high=3600, log=True)

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """The charges of s draws in each round from the second on; T and s from n and the budget unless given."""
        T, s = self._sizes(problem, budget)
        delta = problem.width / problem.effective_n
        eta = budget.epsilon / (s.value * T.value * (T.value - 1))
        if budget.delta > 0:
            cost = s.value * T.value * (T.value - 1) * (2 * T.value - 1) / 12
            eta = max(eta, math.sqrt(budget.rho / cost))
        eta *= MARGIN / delta
        spends = (_draw(problem, eta, t) for t in range(2, T.value + 1))
        charges = tuple(Charge("draw_queries", spend, s.value, SignedErrors) for spend in spends)
        return Plan(budget, charges, self._choices(T, s, eta))

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Steps of s draws and one new row each."""
        player, eta = _RowPlayer(problem, self.memory, self.seconds), plan["eta"]
        for t in range(1, plan["rounds"] + 1):
            if t == 1:
                draws = player.uniform(plan["samples"], rng)
            else:
                draws = curator.draw_queries(player.errors(t), _draw(problem, eta, t), plan["samples"])
            yield player.respond(draws, rng)

    def _sizes(self, problem: QueryRelease, budget: Budget) -> tuple[Choice, Choice]:
        """The number of rounds T and of draws s: as given, or by the rule."""
        max_rounds = MOST_ROUNDS[Oracle(problem.workload).enumerates]
        default = balanced_rounds(problem, budget, RULE[budget.delta == 0], max_rounds, FEWEST_ROUNDS)
        why = "few at δ = 0, where every draw is dear: fitted on two tables"
        rounds = self.settled("rounds", default.value, default.why)
        return rounds, self.settled("samples", SAMPLES[budget.delta == 0], why)

    def _choices(self, rounds: Choice, samples: Choice, eta: float) -> tuple[Choice, ...]:
        """All choices of a plan with these rounds, draws a round, and step size η."""
        why = "step size η: the largest that the budget allows"
        return (rounds, samples, Choice("eta", eta, why), *self.given("memory", "seconds"))


@by_name
class DQRS(DualQuery):
    """DualQuery that keeps some of the last round's draws, by rejection sampling, and pays for fresh ones only.

    With u(q) = η s (⟨q, P_n⟩ − q(x^{t−1})), |u| ≤ ηw, an old draw is kept with probability exp(u(q) − 2ηw), else
    replaced by one from Q^t: for a fixed x^{t−1} it follows exactly Q^t. The bit is released: it is B-bounded-range,
    B = ln[(e^{ηw(1+1/n)} − 1)/(e^{ηw} − 1)], and costs B²/8; a fresh draw costs η²(t − 1)²w²/(2n²), as in DualQuery.
    Where bits are dearer than what they are expected to save (early rounds), all draws are fresh ones.

    How many draws are replaced is only known from the bits, so each charge is made as it comes; the run ends after T
    rounds, or when the ledger says that the next charge would not fit. η is the largest whose expected charges fit.
    Source: Vietri, Tian, Bun, Steinke, Wu 2020 (DQRS), with B in place of their bound.
    """

    adaptive = True

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """The charges of the bits and of the expected fresh draws, at the largest η for which they fit the budget."""
        T, s = self._sizes(problem, budget)

        def expected(log_step: float) -> _Expected:
            return _Expected(problem, budget, T.value, s.value, math.exp(log_step))

        def fits(log_step: float) -> bool:
            return bool(expected(log_step).cost <= MARGIN)

        expected_charges = expected(bisected(fits, math.log(LOWEST), math.log(HIGHEST), HALVINGS)[0])
        return Plan(budget, expected_charges.charges(problem), self._choices(T, s, expected_charges.eta))

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Steps of s coin flips, fresh draws for the rejected ones, and one new row each."""
        player, eta, s = _RowPlayer(problem, self.memory, self.seconds), plan["eta"], plan["samples"]
        expected_charges = _Expected(problem, plan.budget, plan["rounds"], s, eta * problem.width)
        draws = player.uniform(s, rng)
        yield player.respond(draws, rng)
        for t in range(2, plan["rounds"] + 1):
            is_kept, fresh_spend = np.zeros(s, dtype=bool), _draw(problem, eta, t)
            if expected_charges.reuses[t - 2]:
                if not curator.affords(expected_charges.bit, s):
                    return
                is_kept = curator.keep_draws(player.odds(draws, eta), expected_charges.bit)
            if missing_count := int(s - is_kept.sum()):
                if not curator.affords(fresh_spend, missing_count):
                    return
                draws = draws.copy()
                draws[~is_kept] = curator.draw_queries(player.errors(t), fresh_spend, missing_count)
            yield player.respond(draws, rng, int(is_kept.sum()))


class _Expected:
    """The expected charges of DQRS at step size ηw: rounds 2..T that reuse draws, and fresh draws of each round."""

    def __init__(self, problem: QueryRelease, budget: Budget, T: int, s: int, step: float) -> None:
        n = problem.effective_n
        self.eta, self.bit = step / problem.width, BoundedRange(bit_range(step, n))
        draw_ranges = 2 * step * np.arange(1, T) / n  # the bounded range of a draw in rounds 2..T
        rejected_share = -math.expm1(-REJECTED * step)
        power = 1 if budget.delta == 0 else 2  # of ε₀, in what adds up
        self.reuses = self.bit.epsilon**power + rejected_share * draw_ranges**power < draw_ranges**power
        self.redraws = np.diff(
            np.floor(np.cumsum(np.append(0, np.where(self.reuses, s * rejected_share, s))) + 1e-9)
        ).astype(int)
        self.bits = s * int(self.reuses.sum())
        pure = (self.bits * self.bit.epsilon + self.redraws @ draw_ranges) / budget.epsilon
        rho = (self.bits * self.bit.epsilon**2 + self.redraws @ draw_ranges**2) / 8
        self.cost = min(pure, rho / budget.rho) if budget.delta > 0 else pure  # as a share of the budget

    def charges(self, problem: QueryRelease) -> tuple[Charge, ...]:
        """The charges for the bits, and for the draws of each round."""
        bit_charges = (Charge("keep_draws", self.bit, self.bits, AcceptProbabilities),) if self.bits else ()
        fresh_draws_by_round = enumerate(self.redraws.tolist(), start=2)
        return (
            *bit_charges,
            *(
                Charge("draw_queries", _draw(problem, self.eta, t), r, SignedErrors)
                for t, r in fresh_draws_by_round
                if r
            ),
        )


class _RowPlayer:
    """The player who answers: it receives public draws and adds rows."""

    def __init__(self, problem: QueryRelease, memory: float, seconds: float) -> None:
        self.workload, self.memory = problem.workload, memory
        self.oracle, self.seen = Oracle(problem.workload, seconds), Counter(problem.workload)
        self.weights = np.zeros(problem.workload.m)
        self.rows: list[Array] = []

    def uniform(self, s: int, rng: Rng) -> Array:
        """The draws (s,) of the first round, uniform and independent of the records."""
        return rng.integers(2 * self.workload.m, size=s)

    def errors(self, t: int) -> SignedErrors:
        """The errors, summed over the rows so far, from which round t draws its queries."""
        return SignedErrors(self.workload, self.seen.sums, t - 1)

    def odds(self, drawn: Array, eta: float) -> AcceptProbabilities:
        """The probabilities of keeping the old draws after the last row."""
        last_row_sums = Counter(self.workload)
        last_row_sums.add(self.rows[-1])
        return AcceptProbabilities(self.workload, drawn, last_row_sums.sums[drawn % self.workload.m], eta)

    def respond(self, drawn: Array, rng: Rng, kept: int = 0) -> Step:
        """Add the best response to the decayed earlier draws and these; return a step that releases all rows."""
        m = self.workload.m
        self.weights *= self.memory
        np.add.at(self.weights, drawn % m, np.where(drawn < m, 1.0, -1.0))
        self.weights[np.abs(self.weights) < FORGOTTEN] = 0
        response = self.oracle.argmax(self.weights, rng)
        self.seen.add(response.codes)
        self.rows.append(response.codes)
        note = f"{kept} of {len(drawn)} draws kept" if kept else f"{len(drawn)} queries drawn"
        late_note = "; time limit reached, best row found so far" if response.late else ""
        return Step(len(self.rows), Records.of(self.workload.domain, np.concatenate(self.rows)), note + late_note)


def _draw(problem: QueryRelease, eta: float, t: int) -> BoundedRange:
    """The spend of one draw in round t: 2η(t − 1)Δ-bounded-range."""
    return BoundedRange(2 * eta * (t - 1) * problem.width / problem.effective_n)
