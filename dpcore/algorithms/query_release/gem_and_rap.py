"""GEM and RAP: select, measure, and fit a mixture of product distributions. Sees a Curator, never records."""

import math
from typing import ClassVar

import numpy as np

from ...core.parameters import param
from ...core.types import Array, Rng, by_name
from ...models.product_mixture import Generator, MixtureFit, RelaxedRows, Target
from ...models.releases import ProductMixture
from ...privacy.accounting import Budget, Charge, Choice, Plan, enlarged, measure_once, select_and_measure
from ...privacy.curators.table_curator import TableCurator
from ...privacy.statistics import Answers, SignedErrors, SomeAnswers
from ...problems import QueryRelease, query_words
from ...queries import Marginals, Workload
from ...queries.product_answers import Products, blocks, require_readable
from ..algorithm import Algorithm, Step, Steps, rounds_param
from ..pooled_measurements import TINY, Evidence, shares_of, singles_of, tables_read
from .mwem import SHARES
from .shared.select_and_measure import asked_statistic, balanced_rounds, noise_choice

RULE = {  # selections = constant · signal^power, by what is measured and whether δ = 0; fitted on two tables
    ("query", False): (0.3, 2 / 3), ("marginal", False): (0.28, 1 / 2),
    ("query", True): (0.2, 1 / 2), ("marginal", True): (0.065, 1 / 2),
}  # fmt: skip
MOST_SELECTIONS = 200  # limit of the rule
ROUNDS, MOST_TOGETHER = 5, 8  # limits of RAP's rule: rounds, and selections a round
SINGLES, FIRST_RANGE = 0.1, (0.1, 0.4)  # the rule for `first`: L1 noise on a column, and the range of the share
PRIOR = 0.3  # weight of KL(p_c ‖ p_0) in the fit, in units of 1/σ of one measurement
LAST = 4  # the last round takes this many times the steps of the others
MOST_PRODUCTS = 5 * 10**7  # queries times components up to which components are not thinned out
MEASURE = "what a selection is followed by: a measurement of the query, or of its whole table; auto: tables if any"
FIRST = "share of the budget for noisy counts of single columns, whose product the fit starts from"
COLUMNS = "columns"  # the name of the charge for single columns
COMPONENTS = "product distributions in the mixture"


@by_name
class _Mixture(Algorithm):
    """The base of gem and rap: select, measure, and fit a mixture of product distributions.

    They differ in what makes the logits, and in how many queries a round selects.
    """

    rounds: int | None = rounds_param()
    measure: str = param("auto", MEASURE, choices=("auto", "query", "marginal"))
    first: float | None = param(None, FIRST, low=0.0, high=0.9, auto="n, the columns and the budget")
    components: int | None = param(None, COMPONENTS, symbol="C", low=1, high=10_000, log=True, auto="m")
    updates: int | None = param(None, "gradient steps a round", low=1, high=10_000, log=True, auto="m")

    logits: ClassVar[type[Generator] | type[RelaxedRows]]
    most_updates: ClassVar[int]  # of the rule, for workloads that are not small

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """The charges of the single columns' counts, and of T q equal selections and measurements with the rest."""
        workload = problem.workload
        require_readable(workload)
        is_measure_set = self.measure != "auto"
        measure = self.measure if is_measure_set else "marginal" if workload.base else "query"
        candidate_count = len(tables_read(workload, "measure=marginal").tables) if measure == "marginal" else workload.m
        max_selections = min(MOST_SELECTIONS, 2 * candidate_count if measure == "marginal" else candidate_count)
        default = balanced_rounds(problem, budget, RULE[measure, budget.delta == 0], max_selections)
        queries_reason = f"1/{ROUNDS} of all selections, 1..{MOST_TOGETHER}, and at most {candidate_count}"
        queries = self._together(min(max(default.value // ROUNDS, 1), MOST_TOGETHER), candidate_count, queries_reason)
        rounds = self.settled("rounds", math.ceil(default.value / queries.value), f"{default.why} selections")
        C = int(min(max(workload.m // 20, 50), 200, max(MOST_PRODUCTS // workload.m, 50)))
        updates = min(self.most_updates, 10 + workload.m // 10)
        first = self.settled("first", *_first(problem, budget))
        selection_count, share = rounds.value * queries.value, SHARES[measure]
        selection_spend, measurement_spend = select_and_measure(budget, selection_count, share, 1 - first.value)
        one_way_charges = []
        if first.value > 0:
            one_way_spend = measure_once(budget, first.value)
            selection_spend, measurement_spend, one_way_spend = enlarged(
                budget, (selection_spend, selection_count), (measurement_spend, selection_count), (one_way_spend, 1)
            )
            one_way_charges = [Charge("measure", one_way_spend, 1, Answers(_singles(workload)), COLUMNS)]
        charges = (
            Charge("select", selection_spend, selection_count, SignedErrors),
            Charge("measure", measurement_spend, selection_count, SomeAnswers),
            *one_way_charges,
        )
        choices = (
            rounds,
            Choice(
                "measure", measure, "given" if is_measure_set else "whole tables, where all queries are read off tables"
            ),
            first,
            self.settled("components", C, f"50..200: m/20, and at most {MOST_PRODUCTS:g}/m"),
            self.settled("updates", updates, f"10 + m/10, at most {self.most_updates}"),
            Choice("share", share, "of the rest for measurements, what is left for selections: as mwem"),
            noise_choice(problem, measure, measurement_spend),
            queries,
        )
        return Plan(budget, charges, choices)

    def _together(self, best: int, most: int, why: str) -> Choice:  # noqa: ARG002 - for others
        """The choice of how many queries a round selects."""
        return Choice("queries", 1, "one selection and one measurement a round")

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Steps of a round's selections, measurements and a fit; the first one measures the single columns too."""
        workload, selection_spend = problem.workload, plan.spend("select")
        measurement_spend = plan.spend("measure")
        product_answers, prior_weight = Products(workload), PRIOR / max(plan["sigma"], TINY)
        (base, targets), measurements = _single_columns(problem, plan, curator), []
        fit = MixtureFit(workload, self.logits(base, plan["components"], rng), base)
        for t in range(1, plan["rounds"] + 1):
            answers, worst_queries = product_answers.answers(fit.p, fit.weights), []
            for _ in range(plan["queries"]):
                j = curator.select(SignedErrors(workload, answers), selection_spend) % workload.m
                statistic = asked_statistic(workload, plan["measure"], j)
                m = curator.measure(statistic, measurement_spend)
                if statistic.l2 > 0:  # else the answer is the same on all records
                    measurements.append((statistic, m.values, m.stddev))
                answers = _with_measured(workload, answers, statistic, m.values)
                worst_queries.append(query_words(workload, j))
            updates = plan["updates"] * (LAST if t == plan["rounds"] else 1)
            fit.descend([*targets, *targets_of(measurements)], prior_weight, updates)
            release = ProductMixture(problem.domain, np.ascontiguousarray(fit.p.T), fit.weights)
            yield Step(t, release, "worst: " + "; ".join(worst_queries))


@by_name
class GEM(_Mixture):
    """Select the worst-answered query, measure it, and train a small network whose output explains what was measured.

    D is a mixture of C product distributions with equal weights: D = (1/C) Σ_c Π_i p_c,i, the logits of all p_c being
    B tanh(Az + a) + b for C inputs of fixed noise z, 16 numbers each, and 64 hidden units: 1,088 + 65 Σ d_i parameters.
    First all single columns are measured together, with a share `first` of the budget and Δ₂ = √(2d)/n; b starts at the
    logarithm of these counts, p_0. Then T rounds each select a signed query by s · ⟨q_j, P_n − D⟩ (ε₀-bounded-range,
    Δ = max_j (hi_j − lo_j)/n) and measure it, Δ₂ = (hi_j − lo_j)/n, or its whole table, Δ₂ = √2/n, with Gaussian noise
    Δ₂/μ: T (ε₀²/8 + μ²/2) in zCDP, less composed optimally. At δ = 0 noise is Laplace, and costs ε add up. After each
    round Adam takes `updates` steps down ½ Σ_i (⟨q_i, D⟩ − a_i)²/σ_i² + w Σ_c KL(p_c ‖ p_0)/C over all measurements
    a_i.

    Raises InputError for "marginal" where a query is not read off a marginal table, and for a query matrix over more
    than 10⁶ cells. Source: Liu, Vietri, Wu 2021, Algorithm 4 (GEM), with a loss weighted by precision, single columns
    first, and a prior, which the paper has not.
    """

    logits, most_updates = Generator, 50


@by_name
class RAP(_Mixture):
    """Select the q worst-answered queries, measure them, and move relaxed rows until they explain what was measured.

    D = (1/C) Σ_c Π_i p_c,i is the mixture of C relaxed rows, each one probability vector a column, the softmax of free
    logits: C Σ d_i parameters. First all single columns are measured together, with a share `first` of the budget and
    Δ₂ = √(2d)/n; the logits start at the logarithm of these counts, p_0, plus noise. Then each of T rounds selects and
    measures q times, as GEM does, without a fit in between: what was just measured counts as answered by its noisy
    value, which is public, so that it is not chosen again. Tq (ε₀²/8 + μ²/2) in zCDP; at δ = 0 noise is Laplace, and
    costs ε add up. After each round Adam takes `updates` steps down ½ Σ_i (⟨q_i, D⟩ − a_i)²/σ_i² + w Σ_c KL(p_c ‖
    p_0)/C over all measurements a_i.

    Raises InputError for "marginal" where a query is not read off a marginal table, and for a query matrix over more
    than 10⁶ cells. Source: Aydore et al. 2021, Algorithm 3 (adaptive RAP) with SparseMax replaced by softmax, single
    columns first, and a prior.
    """

    rounds: int | None = rounds_param("rounds of q selections and measurements and a fit", "n, m, q")
    queries: int | None = param(
        None, "selections, and as many measurements, a round", symbol="q", low=1, high=1000, log=True,
        auto="n, m and the budget: a fifth of all selections",
    )  # fmt: skip
    logits, most_updates = RelaxedRows, 100

    def _together(self, best: int, most: int, why: str) -> Choice:
        """The choice of how many queries a round selects: as many as were given, or by the rule; at most `most`."""
        setting = self.settled("queries", best, why)
        return Choice("queries", min(setting.value, most), setting.why if setting.value <= most else why)


def _singles(workload: Workload) -> Marginals:
    """The 1-way tables of the columns that queries read, which may be measured first; of all for a query matrix."""
    return singles_of(workload) if workload.base else Marginals.all(workload.domain, 1)


def _first(problem: QueryRelease, budget: Budget) -> tuple[float, str]:
    """The budget's share at which noise moves a column's counts by SINGLES in L1, averaged over columns.

    With a share f that is √(2/π) Σ d_i/(√(fd) n√ρ), as Δ₂ = √(2d)/n; at δ = 0 it is 2 Σ d_i/(f nε), as Δ₁ = 2d/n.
    """
    one_way, n = _singles(problem.workload), problem.effective_n
    if budget.delta == 0:
        f = 2 * one_way.m / (SINGLES * n * budget.epsilon)
    else:
        f = 2 / math.pi * one_way.m**2 / (len(one_way.tables) * budget.rho * (SINGLES * n) ** 2)
    low, high = FIRST_RANGE
    why = f"{f:.3g} would keep the noise on a column to {SINGLES:g} in L1; kept in {low:g}..{high:g}"
    return min(max(f, low), high), why


def _single_columns(problem: QueryRelease, plan: Plan, curator: TableCurator) -> tuple[Array, list[Target]]:
    """log p_0 (Σ d_i,) of the product of noisy counts of single columns, and these counts; uniform without them."""
    domain = problem.domain
    base = np.concatenate([np.full(size, -math.log(size)) for size in domain.shape])
    if not plan["first"]:
        return base, []
    one_way = _singles(problem.workload)
    m = curator.measure(Answers(one_way), plan.spend(COLUMNS))
    y, sigma = m.values, m.stddev
    shares = shares_of(Evidence(one_way, y, np.full(one_way.m, sigma)))
    for (axis,), column_shares in zip(one_way.axes, shares, strict=True):
        base[blocks(domain)[axis]] = np.log(column_shares)
    return base, [Target(Products(one_way), y, np.full(one_way.m, sigma**-2))]


def targets_of(measured: list[tuple[SomeAnswers, Array, float]]) -> list[Target]:
    """All measured answers, with their standard deviations, as one target in a list; an empty list for none."""
    if not measured:
        return []
    # in the order of tables, which is quicker
    measured = sorted(measured, key=lambda measurement: measurement[0].part.start)
    query_indices = np.concatenate(
        [np.arange(statistic.part.start, statistic.part.stop) for statistic, _, _ in measured]
    )
    precision = np.concatenate([np.full(len(y), max(stddev, TINY) ** -2.0) for _, y, stddev in measured])
    products = Products(measured[0][0].workload, query_indices)
    return [Target(products, np.concatenate([y for _, y, _ in measured]), precision)]


def _with_measured(workload: Workload, answers: Array, statistic: SomeAnswers, y: Array) -> Array:
    """The answers (m,), with those just measured replaced by their noisy values."""
    answers = answers.copy()
    if statistic.workload is workload:
        answers[statistic.part] = y
    else:
        coefficients = workload.matrix[:, statistic.part]
        is_affected = np.diff(coefficients.indptr) > 0
        answers[is_affected] = (coefficients @ y)[is_affected]
    return answers
