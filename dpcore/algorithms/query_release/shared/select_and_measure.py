"""The loop of mwem and pep: select, measure, and fit D to all past measurements.

Sees a Curator, never records.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....core.types import Array, Rng, by_name
from ....models.tree_model import Support
from ....privacy.accounting import Budget, Charge, Choice, Gaussian, Plan, Pure, select_and_measure
from ....privacy.curators.table_curator import TableCurator
from ....privacy.measurement import deviation
from ....privacy.statistics import ONE_TABLE, Sensitivity, SignedErrors, SomeAnswers
from ....problems import QueryRelease, query_words
from ....queries import Workload
from ...algorithm import Algorithm, Step, Steps, model_cells, rounds_param
from ...pooled_measurements import TINY, Pool, tables_read
from .initial_model import Ground, grounded, model_setup
from .maximum_entropy_fit import fit, product

SWEEPS = (2, 2)  # over past measurements, each round and in the last one
PRIOR = 30.0  # weight of KL(D ‖ D_0) beside the likelihood of measured queries
TABLE_PRIOR = 0.8  # the same for measured tables, in units of μ·n of one measurement, as in gaussian_maxent
FIT_ROUNDS = 100  # iterations of the fit to measured tables in each round
LONGEST = 1.0  # step of one θ, where it is found by Newton's method
MOST_ROUNDS = 400  # limit of the rule
Rules = dict[tuple[str, bool], tuple[float, float]]  # (constant, power) by what is measured and whether δ = 0


def balanced_rounds(
    problem: QueryRelease, budget: Budget, rule: tuple[float, float], most: int, fewest: int = 1, cells: float = 1.0
) -> Choice:
    """The rounds T = constant · signal^power, kept in fewest..most; signal is n√ρ, or nε at δ = 0.

    The noise of T rounds grows like √T/(n√ρ), or like T/(nε), and what another round gains falls with T. `cells`: how
    many cells share what a round measures. All constants are fitted on two tables.
    """
    is_pure, (constant, power) = budget.delta == 0, rule
    signal = problem.effective_n / problem.width / cells * (budget.epsilon if is_pure else math.sqrt(budget.rho))
    default_rounds = constant * signal**power
    signal_symbol = ("nε" if is_pure else "n√ρ") + (f"/{cells:.3g} counts a table" if cells > 1 else "")
    why = (
        f"{constant:g} ({signal_symbol})^{power:.2g} = {default_rounds:.3g}: noise overtakes a round's gain; kept "
        f"in {fewest}..{most}"
    )
    return Choice("rounds", round(min(max(default_rounds, fewest), most)), why)


def measured_rounds(
    problem: QueryRelease, budget: Budget, rules: Rules, measure: str, most: int, fewest: int = 1
) -> Choice:
    """The rounds by `balanced_rounds`, where each measures a query, or for "marginal" its whole table.

    The error of what is not yet measured falls like 1/T for queries, and faster for tables, if they are large.
    """
    candidate_count, cells_per_table = problem.workload.m, 1.0
    if measure == "marginal":
        tables = tables_read(problem.workload, "measure=marginal")
        candidate_count, cells_per_table = 2 * len(tables.tables), tables.m / len(tables.tables)
    rule = rules[measure, budget.delta == 0]
    return balanced_rounds(problem, budget, rule, max(min(candidate_count, most), fewest), fewest, cells_per_table)


def noise_choice(problem: QueryRelease, measure: str, spend: Gaussian | Pure) -> Choice:
    """The choice "sigma": the largest deviation of the noise on a selected query, or on a cell of its table."""
    width = problem.workload.width
    sensitivity, answer_kind = Sensitivity(width, width), "query"
    if measure == "marginal":
        sensitivity, answer_kind = ONE_TABLE, "combination of a measured table"
    sigma = deviation(sensitivity, spend, problem.effective_n)
    return Choice("sigma", sigma, f"standard deviation of the noise on every {answer_kind}, at the most")


@by_name
class SelectAndMeasure(Algorithm):
    """The base of mwem and pep: select the worst-answered query, measure it, and let D explain all measurements."""

    rounds: int | None = rounds_param()
    cells: int | None = model_cells()

    graphical = True
    who: ClassVar[str]  # its name in messages
    measure = "query"  # what a round measures: the query selected, or the "marginal" table that it is in
    output = "last"  # the distribution that is released, or the "average" over rounds
    shares: ClassVar[dict[str, float]]  # of the budget for measurements, by what is measured
    rules: ClassVar[Rules]  # of T
    work: ClassVar[dict[str, int]]  # rounds times cells at the most, by what is measured; of the rule

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """The charges of T equal selections and measurements; T from n, m and the budget unless given."""
        measure, share = self.measure, self.shares[self.measure]
        setup = model_setup(problem, budget, self.cells, self.who)
        max_rounds = min(MOST_ROUNDS, max(20, self.work[measure] // setup.cells))
        default = measured_rounds(problem, setup.left, self.rules, measure, max_rounds)
        rounds = self.settled("rounds", default.value, default.why)
        selection_spend, measurement_spend = select_and_measure(setup.left, T := rounds.value, share)
        charges = (
            Charge("select", selection_spend, T, SignedErrors),
            Charge("measure", measurement_spend, T, SomeAnswers),
        )
        sigma = noise_choice(problem, measure, measurement_spend)
        why = "of the budget for measurements, the rest for selections: fitted on two tables"
        choices = (rounds, *self.own_choices(sigma.value), Choice("share", share, why), sigma)
        return Plan(budget, (*charges, *setup.charges), (*choices, *setup.choices))

    def own_choices(self, sigma: float) -> tuple[Choice, ...]:
        """The choices that only this algorithm makes; `sigma` is the deviation of the noise on a measurement."""
        raise NotImplementedError

    def past(self, ground: Ground) -> "Queries | Tables":
        """An empty record of past measurements, which knows how D will explain them."""
        return past_of(self.measure, ground)

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Steps of one selection and one measurement each."""
        selection_spend, measurement_spend, T = plan.spend("select"), plan.spend("measure"), plan["rounds"]
        state = grounded(problem, plan, curator, self.cells)
        workload, reader, history = state.workload, state.reader, self.past(state)
        D, total = state.prior, np.zeros(1)
        for t in range(1, T + 1):
            j = curator.select(SignedErrors(workload, reader.answers(D)), selection_spend) % workload.m
            m = curator.measure(asked_statistic(workload, self.measure, j), measurement_spend)
            D = history.explain(D, j, m.values, m.stddev, last=t == T)
            total = total + D
            released = D if self.output == "last" else total / t
            yield Step(t, state.model.release(released), f"worst: {query_words(workload, j)}")


def asked_statistic(workload: Workload, measure: str, j: int) -> SomeAnswers:
    """The statistic to measure where query j was chosen: its answer or, for "marginal", the table that it reads."""
    if measure == "query":
        return SomeAnswers(workload, slice(j, j + 1))
    tables = tables_read(workload, "measure=marginal")
    return SomeAnswers(tables, tables.slices[workload.support(j)[0]])


def past_of(measure: str, ground: Ground) -> "Queries | Tables":
    """An empty record of measurements of single queries or, for `measure` "marginal", of whole tables."""
    return Queries(ground, likeliest) if measure == "query" else Tables(ground)


@dataclass
class Fact:
    """A measured query: where the model holds it, its noisy answer, and θ."""

    at: Support
    answer: float = 0.0
    precision: float = 0.0
    theta: float = 0.0

    def hear(self, answer: float, precision: float) -> None:
        """Average one more noisy answer into the fact, weighted by precision."""
        self.answer = (self.precision * self.answer + precision * answer) / (self.precision + precision)
        self.precision += precision

    def turn(self, step: float) -> None:
        """Change the fact's θ by `step`."""
        self.theta += step


def likeliest(fact: Fact, p: float, variance: float) -> float:
    """The step of θ towards argmin ½ Σ (⟨q, D⟩ − answer)² precision + PRIOR · KL(D ‖ D_0), from p = ⟨q, D⟩."""
    weight = PRIOR / fact.precision
    step = (fact.answer - p - weight * fact.theta) / max(weight + variance, TINY)
    return min(max(step, -LONGEST), LONGEST)


class Queries:
    """Past measurements of single queries, the newest last, and the replay that makes D explain them.

    `move(fact, ⟨q, D⟩, Var_D(q))` is what one visit adds to a fact's θ; D ∝ D_0 exp(Σ_i θ_i q_i).
    """

    def __init__(
        self, ground: Ground, move: Callable[[Fact, float, float], float], sweeps: tuple[int, int] = SWEEPS
    ) -> None:
        self.workload, self.model, self.move, self.sweeps = ground.workload, ground.model, move, sweeps
        self.facts: dict[int, Fact] = {}

    def explain(self, D: Array, j: int, y: Array, sigma: float, *, last: bool = False) -> Array:
        """The distribution D (size,), reweighted after query j was measured as y (1,), of standard deviation sigma.

        A query measured c times counts once, with the mean answer and sigma²/c.
        """
        measurement = self.facts.pop(j, None) or Fact(self.model.support(self.workload, j))
        measurement.hear(float(y[0]), max(sigma, TINY) ** -2.0)
        self.facts[j] = measurement
        D, clique_numbers = D.copy(), {fact.at.part for fact in self.facts.values()}
        for _ in range(self.sweeps[last]):
            mass = 1.0
            for clique_number, table in self.model.tour(D, clique_numbers):
                for measurement in reversed(self.facts.values()):
                    if measurement.at.part == clique_number:
                        mass += self._visit(measurement, table, mass)
            D /= D.sum() / len(self.model.cliques)
        return D

    def _visit(self, fact: Fact, table: Array, mass: float) -> float:
        """Reweight a table, whose sum is `mass`, by one step of a fact's θ; return the change of its sum."""
        clique_table, q = table.transpose(fact.at.order), fact.at.q
        query_cells = clique_table[fact.at.cells]
        weighted = q * query_cells
        p = float(weighted.sum()) / mass
        variance = float((q * weighted).sum()) / mass - p * p
        step = self.move(fact, p, variance)
        reweighted = query_cells * np.exp(step * q)
        mass_change = float(reweighted.sum() - query_cells.sum())
        clique_table[fact.at.cells] = reweighted
        fact.turn(step)
        return mass_change


class Tables:
    """Past measurements of marginal tables, and the maximum-entropy fit to them."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.pool = ground, Pool(ground.workload)

    def explain(self, D: Array, j: int, y: Array, sigma: float, *, last: bool = False) -> Array:  # noqa: ARG002
        """The fit (size,) to all tables after the table of query j was measured as y."""
        self.pool.add(self.ground.workload.support(j)[0], y, sigma)
        evidence, model, base_potentials = self.pool.evidence, self.ground.model, self.ground.base
        base_potentials = product(evidence, model) if base_potentials is None else base_potentials
        weight = TABLE_PRIOR * math.sqrt(2) / max(sigma, TINY)
        *_, (_, D) = fit(evidence, weight, base_potentials, FIT_ROUNDS, model)
        return D
