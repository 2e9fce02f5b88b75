"""The loop of mwem and pep: select, measure, and fit D to all past measurements.

Sees a Curator, never records.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....core.types import Array, Rng, by_name
from ....models.tree_model import QuerySupport
from ....privacy.accounting import (
    Budget,
    Gaussian,
    Plan,
    PlannedEvent,
    Pure,
    Setting,
    select_and_measure_spends,
)
from ....privacy.curators.table_curator import TableCurator
from ....privacy.measurement import noise_stddev
from ....privacy.statistics import ONE_TABLE_SENSITIVITY, Sensitivity, SignedErrors, SomeAnswers
from ....problems import QueryRelease, query_text
from ....queries import Workload
from ...algorithm import Algorithm, Step, Steps, model_cells_param, rounds_param
from ...marginal_shares import require_marginals
from ...noisy_tables import MIN_STDDEV, NoisyTables
from .initial_model import ModelState, initial_model, plan_model_setup
from .maximum_entropy_fit import fit_maximum_entropy, product_potentials

REPLAY_SWEEPS = (2, 2)  # over past measurements, each round and in the last one
QUERY_PRIOR_WEIGHT = 30.0  # weight of KL(D ‖ D_0) beside the likelihood of measured queries
# the same for measured tables, in units of μ·n of one measurement, as in gaussian_maxent
TABLE_PRIOR_WEIGHT = 0.8
FIT_ITERATIONS = 100  # iterations of the fit to measured tables in each round
MAX_THETA_STEP = 1.0  # step of one θ, where it is found by Newton's method
MAX_DEFAULT_ROUNDS = 400  # limit of the rule
# (constant, power) by what is measured and whether δ = 0
RoundRules = dict[tuple[str, bool], tuple[float, float]]


def balanced_rounds(
    problem: QueryRelease,
    budget: Budget,
    rule: tuple[float, float],
    max_rounds: int,
    min_rounds: int = 1,
    cells_per_measurement: float = 1.0,
) -> Setting:
    """Return the setting of T rounds, T = constant · signal^power, kept in a range.

    `rule` is (constant, power); the range is `min_rounds`..`max_rounds`; signal is n√ρ, or nε at δ
    = 0. The noise of T rounds grows like √T/(n√ρ), or like T/(nε), and what another round gains
    falls with T. `cells_per_measurement`: how many cells share what a round measures. All constants
    are fitted on two tables.
    """
    is_pure = budget.delta == 0
    constant, power = rule
    signal = (
        problem.effective_n
        / problem.width
        / cells_per_measurement
        * (budget.epsilon if is_pure else math.sqrt(budget.rho))
    )
    default_rounds = constant * signal**power
    signal_symbol = ("nε" if is_pure else "n√ρ") + (
        f"/{cells_per_measurement:.3g} counts a table" if cells_per_measurement > 1 else ""
    )
    why = (
        f"{constant:g} ({signal_symbol})^{power:.2g} = {default_rounds:.3g}: noise overtakes a "
        "round's gain; kept "
        f"in {min_rounds}..{max_rounds}"
    )
    return Setting("rounds", round(min(max(default_rounds, min_rounds), max_rounds)), why)


def balanced_rounds_by_measure(
    problem: QueryRelease,
    budget: Budget,
    rules: RoundRules,
    measure: str,
    max_rounds: int,
    min_rounds: int = 1,
) -> Setting:
    """Return the rounds by `balanced_rounds`, for rounds that measure a query or a table.

    For "marginal" each round measures the query's whole table. The error of what is not yet
    measured falls like 1/T for queries, and faster for tables, if they are large.
    """
    candidate_count = problem.workload.m
    cells_per_table = 1.0
    if measure == "marginal":
        tables = require_marginals(problem.workload, "measure=marginal")
        candidate_count = 2 * len(tables.tables)
        cells_per_table = tables.m / len(tables.tables)
    rule = rules[measure, budget.delta == 0]
    return balanced_rounds(
        problem,
        budget,
        rule,
        max(min(candidate_count, max_rounds), min_rounds),
        min_rounds,
        cells_per_table,
    )


def noise_setting(problem: QueryRelease, measure: str, spend: Gaussian | Pure) -> Setting:
    """Return the setting "sigma": the largest noise deviation on a selected query.

    Or on a cell of its table.
    """
    width = problem.workload.width
    sensitivity = Sensitivity(width, width)
    answer_kind = "query"
    if measure == "marginal":
        sensitivity = ONE_TABLE_SENSITIVITY
        answer_kind = "combination of a measured table"
    sigma = noise_stddev(sensitivity, spend, problem.effective_n)
    return Setting(
        "sigma", sigma, f"standard deviation of the noise on every {answer_kind}, at the most"
    )


@by_name
class SelectAndMeasure(Algorithm):
    """The base of mwem and pep: select the worst-answered query, measure it, refit D.

    D is to explain all measurements.
    """

    rounds: int | None = rounds_param()
    cells: int | None = model_cells_param()

    graphical = True
    evaluations_per_round = 2.0
    algorithm_name: ClassVar[str]  # its name in messages
    # what a round measures: the query selected, or the "marginal" table that it is in
    measure = "query"
    output = "last"  # the distribution that is released, or the "average" over rounds
    # share of the budget for measurements, by what is measured
    measurement_shares: ClassVar[dict[str, float]]
    round_rules: ClassVar[RoundRules]  # of T
    # rounds times cells at the most that the rule allows, by what is measured
    max_work: ClassVar[dict[str, int]]

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """Return a plan of T equal selections and measurements.

        T from n, m and the budget unless given.
        """
        measure = self.measure
        share = self.measurement_shares[self.measure]
        setup = plan_model_setup(problem, budget, self.cells, self.algorithm_name)
        max_rounds = min(MAX_DEFAULT_ROUNDS, max(20, self.max_work[measure] // setup.max_cells))
        default = balanced_rounds_by_measure(
            problem, setup.remaining_budget, self.round_rules, measure, max_rounds
        )
        rounds = self.choose_default("rounds", default.value, default.why)
        T = rounds.value
        selection_spend, measurement_spend = select_and_measure_spends(
            setup.remaining_budget, T, share
        )
        charges = (
            PlannedEvent("select", selection_spend, T, SignedErrors),
            PlannedEvent("measure", measurement_spend, T, SomeAnswers),
        )
        sigma = noise_setting(problem, measure, measurement_spend)
        why = "of the budget for measurements, the rest for selections: fitted on two tables"
        choices = (rounds, *self.extra_settings(sigma.value), Setting("share", share, why), sigma)
        return Plan(budget, (*charges, *setup.planned_events), (*choices, *setup.settings))

    def extra_settings(self, sigma: float) -> tuple[Setting, ...]:
        """Return the settings that only this algorithm makes.

        `sigma` is the deviation of the noise on a measurement.
        """
        raise NotImplementedError

    def new_history(self, state: ModelState) -> "QueryHistory | TableHistory":
        """Return an empty history of measurements, which knows how D will explain them."""
        return new_measurement_history(self.measure, state)

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Yield steps of one selection and one measurement each."""
        selection_spend = plan.spend_of("select")
        measurement_spend = plan.spend_of("measure")
        T = plan["rounds"]
        state = initial_model(problem, plan, curator, self.cells)
        workload = state.workload
        reader = state.reader
        history = self.new_history(state)
        D = state.prior
        total = np.zeros(1)
        for t in range(1, T + 1):
            j = (
                curator.select(SignedErrors(workload, reader.answers(D)), selection_spend)
                % workload.m
            )
            m = curator.measure(statistic_for_query(workload, self.measure, j), measurement_spend)
            D = history.refit(D, j, m.values, m.stddev, is_last=t == T)
            total = total + D
            released = D if self.output == "last" else total / t
            yield Step(t, state.model.release(released), f"worst: {query_text(workload, j)}")


def statistic_for_query(workload: Workload, measure: str, j: int) -> SomeAnswers:
    """Return the statistic to measure where query j was selected.

    Its answer or, for "marginal", the table that it reads.
    """
    if measure == "query":
        return SomeAnswers(workload, slice(j, j + 1))
    tables = require_marginals(workload, "measure=marginal")
    return SomeAnswers(tables, tables.slices[workload.support(j)[0]])


def new_measurement_history(measure: str, state: ModelState) -> "QueryHistory | TableHistory":
    """Return an empty history of measurements of single queries, or of whole tables.

    Of tables for `measure` "marginal".
    """
    return (
        QueryHistory(state, penalised_likelihood_step)
        if measure == "query"
        else TableHistory(state)
    )


@dataclass
class QueryMeasurement:
    """A measured query: where the model holds it, its noisy answer, and θ."""

    support: QuerySupport
    answer: float = 0.0
    precision: float = 0.0
    theta: float = 0.0

    def add(self, answer: float, precision: float) -> None:
        """Average one more noisy answer into the measurement, weighted by precision."""
        self.answer = (self.precision * self.answer + precision * answer) / (
            self.precision + precision
        )
        self.precision += precision

    def update_weight(self, step: float) -> None:
        """Change the fact's θ by `step`."""
        self.theta += step


def penalised_likelihood_step(measurement: QueryMeasurement, p: float, variance: float) -> float:
    """Return the step of θ towards a penalised likelihood's maximum, from p = ⟨q, D⟩.

    argmin ½ Σ (⟨q, D⟩ − answer)² precision + QUERY_PRIOR_WEIGHT · KL(D ‖ D_0).
    """
    weight = QUERY_PRIOR_WEIGHT / measurement.precision
    step = (measurement.answer - p - weight * measurement.theta) / max(
        weight + variance, MIN_STDDEV
    )
    return min(max(step, -MAX_THETA_STEP), MAX_THETA_STEP)


class QueryHistory:
    """Past measurements of single queries, newest last, and their replay into D.

    The replay makes D explain them. `theta_step(measurement, ⟨q, D⟩, Var_D(q))` is what one visit
    adds to a measurement's θ; D ∝ D_0 exp(Σ_i θ_i q_i).
    """

    def __init__(
        self,
        state: ModelState,
        theta_step: Callable[[QueryMeasurement, float, float], float],
        sweeps: tuple[int, int] = REPLAY_SWEEPS,
    ) -> None:
        self.workload = state.workload
        self.model = state.model
        self.move = theta_step
        self.sweeps = sweeps
        self.measurements: dict[int, QueryMeasurement] = {}

    def refit(self, D: Array, j: int, y: Array, sigma: float, *, is_last: bool = False) -> Array:
        """Return the distribution D (size,), reweighted after query j was measured as y (1,).

        y has standard deviation sigma.

        A query measured c times counts once, with the mean answer and sigma²/c.
        """
        measurement = self.measurements.pop(j, None) or QueryMeasurement(
            self.model.query_support(self.workload, j)
        )
        measurement.add(float(y[0]), max(sigma, MIN_STDDEV) ** -2.0)
        self.measurements[j] = measurement
        D = D.copy()
        clique_numbers = {fact.support.clique_number for fact in self.measurements.values()}
        for _ in range(self.sweeps[is_last]):
            mass = 1.0
            for clique_number, table in self.model.visit_cliques(D, clique_numbers):
                for measurement in reversed(self.measurements.values()):
                    if measurement.support.clique_number == clique_number:
                        mass += self._update_theta(measurement, table, mass)
            D /= D.sum() / len(self.model.cliques)
        return D

    def _update_theta(self, measurement: QueryMeasurement, table: Array, mass: float) -> float:
        """Reweight a table by one step of a measurement's θ; return the change of its sum.

        The table's sum is `mass`.
        """
        clique_table = table.transpose(measurement.support.axis_order)
        q = measurement.support.q
        query_cells = clique_table[measurement.support.cells]
        weighted = q * query_cells
        p = float(weighted.sum()) / mass
        variance = float((q * weighted).sum()) / mass - p * p
        step = self.move(measurement, p, variance)
        reweighted = query_cells * np.exp(step * q)
        mass_change = float(reweighted.sum() - query_cells.sum())
        clique_table[measurement.support.cells] = reweighted
        measurement.update_weight(step)
        return mass_change


class TableHistory:
    """Past measurements of marginal tables, and the maximum-entropy fit to them."""

    def __init__(self, state: ModelState) -> None:
        self.ground = state
        self.noisy_tables = NoisyTables(state.workload.domain)

    def refit(
        self,
        D: Array,  # noqa: ARG002
        j: int,
        y: Array,
        sigma: float,
        *,
        is_last: bool = False,  # noqa: ARG002
    ) -> Array:
        """Return the fit (size,) to all tables after the table of query j was measured as y."""
        self.noisy_tables.add(self.ground.workload.support(j)[0], y, sigma)
        noisy_answers = self.noisy_tables.arrays()
        model = self.ground.model
        base_potentials = self.ground.base_potentials
        base_potentials = (
            product_potentials(noisy_answers, model) if base_potentials is None else base_potentials
        )
        weight = TABLE_PRIOR_WEIGHT * math.sqrt(2) / max(sigma, MIN_STDDEV)
        *_, (_, D) = fit_maximum_entropy(
            noisy_answers, weight, base_potentials, FIT_ITERATIONS, model
        )
        return D
