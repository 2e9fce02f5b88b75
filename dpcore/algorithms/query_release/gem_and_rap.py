"""GEM and RAP: select, measure, and fit a mixture of product distributions.

Sees a Curator, never records.

GEM. D is a mixture of C product distributions with equal weights: D = (1/C) Σ_c Π_i p_c,i, the
logits of all p_c being B tanh(Az + a) + b for C inputs of fixed noise z, 16 numbers each, and 64
hidden units: 1,088 + 65 Σ d_i parameters. First all single columns are measured together, with a
share `first` of the budget and Δ₂ = √(2d)/n; b starts at the logarithm of these counts, p_0. Then T
rounds each select a signed query by s · ⟨q_j, P_n − D⟩ (ε₀-bounded-range, Δ = max_j (hi_j −
lo_j)/n) and measure it, Δ₂ = (hi_j − lo_j)/n, or its whole table, Δ₂ = √2/n, with Gaussian noise
Δ₂/μ: T (ε₀²/8 + μ²/2) in zCDP, less composed optimally. At δ = 0 noise is Laplace, and costs ε add
up. After each round Adam takes `updates` steps down ½ Σ_i (⟨q_i, D⟩ − a_i)²/σ_i² + w Σ_c KL(p_c ‖
p_0)/C over all measurements a_i.

RAP. D = (1/C) Σ_c Π_i p_c,i is the mixture of C relaxed rows, each one probability vector a column,
the softmax of free logits: C Σ d_i parameters. First all single columns are measured together, with
a share `first` of the budget and Δ₂ = √(2d)/n; the logits start at the logarithm of these counts,
p_0, plus noise. Then each of T rounds selects and measures q times, as GEM does, without a fit in
between: what was just measured counts as answered by its noisy value, which is public, so that it
is not chosen again. Tq (ε₀²/8 + μ²/2) in zCDP; at δ = 0 noise is Laplace, and costs ε add up. After
each round Adam takes `updates` steps down ½ Σ_i (⟨q_i, D⟩ − a_i)²/σ_i² + w Σ_c KL(p_c ‖ p_0)/C over
all measurements a_i.
"""

import math
from typing import Any, ClassVar

import numpy as np

from ...core.parameters import parameter_field
from ...core.types import Array, Rng, by_name
from ...models.product_mixture import GeneratorNetwork, MixtureFit, NoisyTarget, RelaxedRows
from ...models.releases import ProductMixture
from ...privacy.accounting import (
    Budget,
    Plan,
    PlannedEvent,
    Setting,
    enlarge_spends,
    measurement_spend,
    select_and_measure_spends,
)
from ...privacy.curators.table_curator import TableCurator
from ...privacy.measurement import Measurement
from ...privacy.noisy_answers import NoisyAnswers
from ...privacy.statistics import Answers, SignedErrors, SomeAnswers
from ...problems import QueryRelease, query_text
from ...queries import Marginals, Workload
from ...queries.product_answers import ProductAnswers, column_slices, require_answerable_by_products
from ..algorithm import Algorithm, Step, Steps, rounds_param
from ..marginal_shares import one_way_marginals, one_way_shares, require_marginals
from ..noisy_tables import MIN_STDDEV
from .mwem import MEASUREMENT_SHARES
from .shared.select_and_measure import balanced_rounds, noise_setting, statistic_for_query

# selections = constant · signal^power, by what is measured and whether δ = 0; fitted on two tables
SELECTION_RULES = {
    ("query", False): (0.3, 2 / 3),
    ("marginal", False): (0.28, 1 / 2),
    ("query", True): (0.2, 1 / 2),
    ("marginal", True): (0.065, 1 / 2),
}
MAX_DEFAULT_SELECTIONS = 200  # limit of the rule
MAX_DEFAULT_ROUNDS = 5  # limit of RAP's rule for rounds
MAX_QUERIES_PER_ROUND = 8  # limit of RAP's rule for selections a round
ONE_WAY_L1_TARGET = 0.1  # the rule for `first`: L1 noise on a column
FIRST_SHARE_RANGE = (0.1, 0.4)  # the range of the share `first`
PRIOR_WEIGHT = 0.3  # weight of KL(p_c ‖ p_0) in the fit, in units of 1/σ of one measurement
# predicted seconds of a gradient step, fitted on runs of `tests.benchmarks.forecasts`
SECONDS_PER_STEP = 2e-4
SECONDS_PER_FACTOR = 3.5e-10  # of a component: for each column of each answer measured
SECONDS_PER_LOGIT = 3e-8  # of a component
LAST_ROUND_FACTOR = 4  # the last round takes this many times the steps of the others
# queries times components up to which components are not thinned out
MAX_QUERY_COMPONENTS = 5 * 10**7
MEASURE_DOC = (
    "what a selection is followed by: a measurement of the query, or of its whole "
    "table; auto: tables if any"
)
FIRST_DOC = (
    "share of the budget for noisy counts of single columns, whose product the fit starts from"
)
ONE_WAY_MEASUREMENT_NAME = "columns"  # the name of the event for single columns
COMPONENTS_DOC = "product distributions in the mixture"


@by_name
class _Mixture(Algorithm):
    """The base of gem and rap: select, measure, and fit a mixture of product distributions.

    They differ in what makes the logits, and in how many queries a round selects.
    """

    rounds: int | None = rounds_param()
    measure: str = parameter_field("auto", MEASURE_DOC, choices=("auto", "query", "marginal"))
    first: float | None = parameter_field(
        None, FIRST_DOC, low=0.0, high=0.9, auto="n, the columns and the budget"
    )
    components: int | None = parameter_field(
        None, COMPONENTS_DOC, symbol="C", low=1, high=10_000, log=True, auto="m"
    )
    updates: int | None = parameter_field(
        None, "gradient steps a round", low=1, high=10_000, log=True, auto="m"
    )

    logits_type: ClassVar[type[GeneratorNetwork] | type[RelaxedRows]]
    max_default_updates: ClassVar[int]  # of the rule, for workloads that are not small

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """Return a plan of single columns' counts, then T q selections and measurements.

        The selections and measurements are equal and use the rest of the budget.
        """
        workload = problem.workload
        require_answerable_by_products(workload)
        measure = self._measure_setting(workload)
        rounds, queries = self._rounds_and_queries(problem, budget, measure.value)
        first = self.choose_default("first", *_default_first_share(problem, budget))
        share = MEASUREMENT_SHARES[measure.value]
        events = _planned_events(workload, budget, rounds.value * queries.value, first.value, share)
        components, updates = self._fit_settings(workload.m)
        why = "of the rest for measurements, what is left for selections: as mwem"
        round_spend: Any = events[1].spend
        sigma = noise_setting(problem, measure.value, round_spend)
        share_setting = Setting("share", share, why)
        settings = (rounds, measure, first, components, updates, share_setting, sigma, queries)
        return Plan(budget, events, settings)

    def _measure_setting(self, workload: Workload) -> Setting:
        """Return the setting of what a selection is followed by: "marginal" or "query"."""
        if self.measure != "auto":
            return Setting("measure", self.measure, "given")
        measure = "marginal" if workload.base else "query"
        return Setting("measure", measure, "whole tables, where all queries are read off tables")

    def _rounds_and_queries(
        self, problem: QueryRelease, budget: Budget, measure: str
    ) -> tuple[Setting, Setting]:
        """Return the settings of how many rounds there are, and how many queries each selects."""
        candidate_count = problem.workload.m
        max_selections = candidate_count
        if measure == "marginal":
            tables = require_marginals(problem.workload, "measure=marginal")
            candidate_count = len(tables.tables)
            max_selections = 2 * candidate_count
        default = balanced_rounds(
            problem,
            budget,
            SELECTION_RULES[measure, budget.delta == 0],
            min(MAX_DEFAULT_SELECTIONS, max_selections),
        )
        queries_reason = (
            f"1/{MAX_DEFAULT_ROUNDS} of all selections, 1..{MAX_QUERIES_PER_ROUND}, "
            f"and at most {candidate_count}"
        )
        default_queries = min(max(default.value // MAX_DEFAULT_ROUNDS, 1), MAX_QUERIES_PER_ROUND)
        queries = self._queries_per_round(default_queries, candidate_count, queries_reason)
        default_rounds = math.ceil(default.value / queries.value)
        rounds = self.choose_default("rounds", default_rounds, f"{default.why} selections")
        return rounds, queries

    def _fit_settings(self, m: int) -> tuple[Setting, Setting]:
        """Return the settings of the mixture's components and of the gradient steps a round."""
        C = int(min(max(m // 20, 50), 200, max(MAX_QUERY_COMPONENTS // m, 50)))
        updates = min(self.max_default_updates, 10 + m // 10)
        return (
            self.choose_default(
                "components", C, f"50..200: m/20, and at most {MAX_QUERY_COMPONENTS:g}/m"
            ),
            self.choose_default(
                "updates", updates, f"10 + m/10, at most {self.max_default_updates}"
            ),
        )

    # a subclass may need all of them
    def _queries_per_round(
        self,
        default: int,  # noqa: ARG002
        candidate_count: int,  # noqa: ARG002
        why: str,  # noqa: ARG002
    ) -> Setting:
        """Return the setting of how many queries a round selects."""
        return Setting("queries", 1, "one selection and one measurement a round")

    def run_seconds(self, problem: QueryRelease, plan: Plan) -> float:
        """Return the predicted seconds of a run: those of all gradient steps.

        The answers measured grow from round to round, and the last round takes more steps.
        """
        workload = problem.workload
        rounds = plan["rounds"]
        step_count = plan["updates"] * (rounds + LAST_ROUND_FACTOR - 1)
        mean_round = (rounds * rounds / 2 + LAST_ROUND_FACTOR * rounds) / (
            rounds + LAST_ROUND_FACTOR - 1
        )
        mean_answers = 1.0
        factors = 1
        if plan["measure"] == "marginal":
            tables = require_marginals(workload, "gem")
            mean_answers = workload.m / len(tables.axes)
            factors = max(map(len, tables.axes))
        product_count = min(mean_round * plan["queries"] * mean_answers, workload.m) * factors
        component_seconds = SECONDS_PER_FACTOR * product_count
        component_seconds += SECONDS_PER_LOGIT * sum(problem.domain.shape)
        return step_count * (SECONDS_PER_STEP + plan["components"] * component_seconds)

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Yield steps of a round's selections, measurements and a fit.

        The first one measures the single columns too.
        """
        workload = problem.workload
        selection_spend = plan.spend_of("select")
        round_spend = plan.spend_of("measure")
        product_answers = ProductAnswers(workload)
        prior_weight = PRIOR_WEIGHT / max(plan["sigma"], MIN_STDDEV)
        base, targets = _measure_single_columns(problem, plan, curator)
        measurements = []
        fit = MixtureFit(workload, self.logits_type(base, plan["components"], rng), base)
        for t in range(1, plan["rounds"] + 1):
            answers = product_answers.answers(fit.p, fit.weights)
            worst_queries = []
            for _ in range(plan["queries"]):
                j = curator.select(SignedErrors(workload, answers), selection_spend) % workload.m
                statistic = statistic_for_query(workload, plan["measure"], j)
                m = curator.measure(statistic, round_spend)
                if statistic.l2 > 0:  # else the answer is the same on all rows
                    measurements.append(m)
                answers = _replace_measured_answers(workload, answers, statistic, m.values)
                worst_queries.append(query_text(workload, j))
            updates = plan["updates"] * (LAST_ROUND_FACTOR if t == plan["rounds"] else 1)
            fit.descend([*targets, *fit_targets(measurements)], prior_weight, updates)
            release = ProductMixture(problem.domain, np.ascontiguousarray(fit.p.T), fit.weights)
            yield Step(t, release, "worst: " + "; ".join(worst_queries))


@by_name
class GEM(_Mixture):
    """The algorithm GEM: select the worst-answered query, measure it, and train a network on it.

    The network's output is a mixture of product distributions; the module's docstring has both.
    Raises InputError for "marginal" where a query is not read off a marginal table, and for a query
    matrix over more than 10⁶ cells.
    Source: Liu, Vietri, Wu 2021, Algorithm 4 (GEM), with a loss weighted by precision, single
    columns first, and a prior, which the paper has not.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(GEM(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    logits_type = GeneratorNetwork
    max_default_updates = 50


@by_name
class RAP(_Mixture):
    """The algorithm RAP: select the q worst-answered queries, measure them, and fit relaxed rows.

    The module's docstring has the relaxed rows and the cost. Raises InputError for "marginal" where
    a query is not read off a marginal table, and for a query matrix over more than 10⁶ cells.
    Source: Aydore et al. 2021, Algorithm 3 (adaptive RAP) with SparseMax replaced by softmax,
    single columns first, and a prior.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(RAP(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    rounds: int | None = rounds_param(
        "rounds of q selections and measurements and a fit", "n, m, q"
    )
    queries: int | None = parameter_field(
        None,
        "selections, and as many measurements, a round",
        symbol="q",
        low=1,
        high=1000,
        log=True,
        auto="n, m and the budget: a fifth of all selections",
    )
    logits_type = RelaxedRows
    max_default_updates = 100

    def _queries_per_round(self, default: int, candidate_count: int, why: str) -> Setting:
        """Return the setting of how many queries a round selects.

        As many as were given, or by the rule; at most `candidate_count`.
        """
        setting = self.choose_default("queries", default, why)
        return Setting(
            "queries",
            min(setting.value, candidate_count),
            setting.why if setting.value <= candidate_count else why,
        )


def _planned_events(
    workload: Workload, budget: Budget, selection_count: int, first_share: float, share: float
) -> tuple[PlannedEvent, ...]:
    """Return the planned selections and measurements, and the single columns' if they have a share.

    Args:
        workload: The queries.
        budget: The budget, of which everything is used.
        selection_count: The number of selections, and of measurements after them.
        first_share: The share of the budget for the counts of single columns; 0 for none.
        share: The share of the rest for measurements.

    """
    selection_spend, round_spend = select_and_measure_spends(
        budget, selection_count, share, 1 - first_share
    )
    one_way_events = []
    if first_share > 0:
        one_way_spend = measurement_spend(budget, first_share)
        selection_spend, round_spend, one_way_spend = enlarge_spends(
            budget,
            (selection_spend, selection_count),
            (round_spend, selection_count),
            (one_way_spend, 1),
        )
        statistic = Answers(_one_way_tables(workload))
        one_way_events = [
            PlannedEvent("measure", one_way_spend, 1, statistic, ONE_WAY_MEASUREMENT_NAME)
        ]
    return (
        PlannedEvent("select", selection_spend, selection_count, SignedErrors),
        PlannedEvent("measure", round_spend, selection_count, SomeAnswers),
        *one_way_events,
    )


def _one_way_tables(workload: Workload) -> Marginals:
    """Return the 1-way tables of the columns that queries read.

    They may be measured first; of all columns for a query matrix.
    """
    return one_way_marginals(workload) if workload.base else Marginals.all(workload.domain, 1)


def _default_first_share(problem: QueryRelease, budget: Budget) -> tuple[float, str]:
    """Return the budget's share for the single columns' first measurement, and its reason.

    At that share noise moves a column's counts by ONE_WAY_L1_TARGET in L1, averaged over columns.

    With a share f that is √(2/π) Σ d_i/(√(fd) n√ρ), as Δ₂ = √(2d)/n; at δ = 0 it is 2 Σ d_i/(f nε),
    as Δ₁ = 2d/n.
    """
    one_way = _one_way_tables(problem.workload)
    n = problem.effective_n
    if budget.delta == 0:
        f = 2 * one_way.m / (ONE_WAY_L1_TARGET * n * budget.epsilon)
    else:
        f = (
            2
            / math.pi
            * one_way.m**2
            / (len(one_way.tables) * budget.rho * (ONE_WAY_L1_TARGET * n) ** 2)
        )
    low, high = FIRST_SHARE_RANGE
    why = (
        f"{f:.3g} would keep the noise on a column to {ONE_WAY_L1_TARGET:g} in L1; kept in "
        f"{low:g}..{high:g}"
    )
    return min(max(f, low), high), why


def _measure_single_columns(
    problem: QueryRelease, plan: Plan, curator: TableCurator
) -> tuple[Array, list[NoisyTarget]]:
    """Return log p_0 (Σ d_i,) of the product of noisy single-column counts, and these counts.

    Uniform without them.
    """
    domain = problem.domain
    base = np.concatenate([np.full(size, -math.log(size)) for size in domain.shape])
    if not plan["first"]:
        return base, []
    one_way = _one_way_tables(problem.workload)
    m = curator.measure(Answers(one_way), plan.spend_of(ONE_WAY_MEASUREMENT_NAME))
    y = m.values
    sigma = m.stddev
    shares = one_way_shares(NoisyAnswers(one_way, y, np.full(one_way.m, sigma)))
    for (axis,), column_shares in zip(one_way.axes, shares, strict=True):
        base[column_slices(domain)[axis]] = np.log(column_shares)
    return base, [NoisyTarget(ProductAnswers(one_way), y, np.full(one_way.m, sigma**-2))]


def fit_targets(measurements: list[Measurement]) -> list[NoisyTarget]:
    """Return all measured answers, with standard deviations, as one target in a list.

    An empty list for none.
    """
    if not measurements:
        return []
    # in the order of tables, which is quicker
    measurements = sorted(measurements, key=lambda m: m.statistic.part.start)
    query_indices = np.concatenate(
        [np.arange(m.statistic.part.start, m.statistic.part.stop) for m in measurements]
    )
    precision = np.concatenate(
        [np.full(len(m.values), max(m.stddev, MIN_STDDEV) ** -2.0) for m in measurements]
    )
    products = ProductAnswers(measurements[0].statistic.workload, query_indices)
    return [NoisyTarget(products, np.concatenate([m.values for m in measurements]), precision)]


def _replace_measured_answers(
    workload: Workload, answers: Array, statistic: SomeAnswers, y: Array
) -> Array:
    """Return the answers (m,), with those just measured replaced by their noisy values."""
    answers = answers.copy()
    if statistic.workload is workload:
        answers[statistic.part] = y
    else:
        coefficients = workload.matrix[:, statistic.part]
        is_affected = np.diff(coefficients.indptr) > 0
        answers[is_affected] = (coefficients @ y)[is_affected]
    return answers
