"""AIM: choose marginal tables adaptively, measure them, refit. Sees a Curator, never records."""

import math

import numpy as np

from ...core.parameters import param
from ...core.types import Array, Rng, by_name
from ...models.graphical_model import Graphical
from ...models.releases import Records, Release
from ...privacy.accounting import MARGIN, BoundedRange, Budget, Charge, Choice, Gaussian, Plan, Pure
from ...privacy.curators.table_curator import TableCurator
from ...privacy.measurement import deviation
from ...privacy.statistics import ONE_TABLE, SomeAnswers, TableErrors
from ...problems import QueryRelease
from ...queries import Marginals
from ...queries.marginals import subsets
from ..algorithm import Algorithm, Step, Steps, model_cells
from ..pooled_measurements import Pool, columns_read, tables_read
from .shared.clique_selection import MOST_WEIGHED, Room, barring, cells_of, expected, lists
from .shared.maximum_entropy_fit import staged

SHARE = 0.9  # share of a round's budget for its measurement; the rest is for its selection
ROUNDS = 16  # rounds for each column, if no round is enlarged; as published
LIKELY = 9  # rounds for each √column, as they are enlarged: 5 to 14 on five tables at ε = .1 and 1
PENALTY = 0.3  # of the noise expected in a table, taken off its score: less than all, as the fit removes most of it
SETTLED = 0.3  # of that noise: a smaller change of the measured table says that noise is what is left to fit
ENTROPY = 0.5  # weight of KL(D ‖ D_0) in units of n √Σμ²
DRAWN = (2, 10_000, 100_000)  # rows that stand for D on a tree when candidates are weighed: times n, and their range
FIT_ROUNDS, LAST_FIT_ROUNDS = 60, 200  # iterations of the fit in each round and in the last one


@by_name
class AIM(Algorithm):
    """Measure the 1-way tables, then in each round the table that D answers worst for the workload, and refit D to all.

    Candidates (`closure`) are all tables over subsets of the columns that a query reads together. A round of cost u
    selects S by

        w_S · (‖table_S(P_n) − table_S(D)‖₁ − 0.3 · size_S · E|noise|),   Δ = 2 max w/n (`TableErrors`), w ≤ 1,

    w_S ∝ Σ over the workload's tables A of |S ∩ A|, and measures the whole table with Δ₂ = √2/n: u = ε₀²/8 + μ²/2, nine
    tenths of it to measure; with Laplace noise at δ = 0, Δ₁ = 2/n and u = ε₀ + ε₁. Where the fit to it changed that
    table by less than 0.3 of the noise in it, the next round doubles ε₀ and μ: u becomes 4u (2u at δ = 0). A round that
    would leave less than itself takes all that is left and is the last. The first step costs 0.9u for each column.
    Every charge depends on released answers and the ledger only, the plan is an upper bound.

    Where cells cannot be listed D lives on a junction tree, and candidates are the tables that leave it small enough.
    D is the two-stage maximum-entropy fit of `gaussian_maxent` to all tables measured so far, those measured several
    times averaged by precision, with weights 1/σ²; its base is the product of the noisy 1-way tables or a public start.
    Raises InputError where queries are not read off marginal tables. Source: McKenna, Mullins, Sheldon, Miklau 2022,
    AIM, for replaced records, with weights 1/σ² instead of 1/σ and a regularised fit.
    """

    rounds: int | None = param(
        None, "steps at the most: the 1-way tables, then a table each", symbol="T", low=2, high=10_000, log=True,
        auto="16 a column and one; usually far fewer, as rounds are enlarged",
    )  # fmt: skip
    cells: int | None = model_cells()

    graphical = True
    adaptive = True

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """The charges of the first tables and of as many equal rounds as fit the whole budget."""
        tables = tables_read(problem.workload, "aim")
        n, cell_limit = problem.effective_n, Choice("cells", problem.domain.size, "all there are")
        if not lists(problem, self.cells):
            cell_limit = cells_of(closure(tables), n, budget, self.cells)
        d = len(columns_read(tables))
        rounds = self.settled(
            "rounds", ROUNDS * d + 1, f"{ROUNDS} for each of {d} columns, and one for the 1-way tables"
        )
        T, likely_rounds = rounds.value - 1, min(rounds.value, LIKELY * math.sqrt(d))
        total_cost = budget.rho if budget.delta > 0 else budget.epsilon
        first_cost = total_cost / (SHARE * d + T) * MARGIN
        selection_spend, measurement_spend = _spends(first_cost, budget)
        sigma = deviation(ONE_TABLE, measurement_spend, n)
        choices = (
            rounds,
            Choice("iterations", round(2 * FIT_ROUNDS * likely_rounds), "of all fits, in the rounds that are likely"),
            Choice("share", SHARE, "of each round for measuring, as published"),
            Choice(
                "first", first_cost, f"ρ, or ε at δ = 0, of a round before it is enlarged: T and {d} tables use it all"
            ),
            Choice("sigma", sigma, "standard deviation of the noise on every count of the first tables"),
            cell_limit,
        )
        charges = (
            Charge("measure", measurement_spend, d + T, SomeAnswers),
            Charge("select", selection_spend, T, TableErrors),
        )
        return Plan(budget, charges, choices)

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Steps: the 1-way tables first, then one selection and one measurement each."""
        tables, budget, n = tables_read(problem.workload, "aim"), plan.budget, problem.effective_n
        candidates = closure(tables)
        sizes, weights = np.array(candidates.sizes), coverage(candidates, tables)
        clique_budget = Room(candidates, plan["cells"], listed=lists(problem, self.cells))
        pool, stage_potentials, cost = Pool(candidates), {}, plan["first"]

        def refit(rounds: int) -> Release:
            """The fit to all that was measured, up to so many iterations in each of its stages."""
            weight, model = ENTROPY * math.sqrt(2 * pool.precision), clique_budget.model(pool.facts)
            *_, (D, _) = staged(pool.evidence, weight, rounds, model, problem.log_start, stage_potentials)
            return model.release(D)

        one_way_indices = [i for i, axes in enumerate(candidates.axes) if len(axes) == 1]
        remaining_cost = cost * (SHARE * len(one_way_indices) + plan["rounds"] - 1)
        _, measurement_spend = _spends(cost, budget)
        for i in one_way_indices:
            m = curator.measure(SomeAnswers(candidates, candidates.tables[i]), measurement_spend)
            pool.add(candidates.axes[i], m.values, m.stddev)
        remaining_cost -= SHARE * cost * len(one_way_indices)
        D = refit(FIT_ROUNDS)
        yield Step(1, D, "every column alone")
        for t in range(2, plan["rounds"] + 1):
            is_last = t == plan["rounds"] or remaining_cost < 2 * cost
            cost = remaining_cost * MARGIN if is_last else cost
            selection_spend, measurement_spend = _spends(cost, budget)
            if not curator.affords(selection_spend):  # rounding alone, but then nothing may be asked
                return
            noise = expected(measurement_spend, 1, n)
            noise_scale = 2 * 2 * weights.max() / (n * selection_spend.epsilon)
            penalties = barring(PENALTY * noise * sizes, weights, clique_budget.free, noise_scale)
            i = curator.select(
                TableErrors(candidates, seen(D, candidates, n, rng), penalties, weights), selection_spend
            )
            i = i if clique_budget.free[i] else one_way_indices[0]  # with probability e^-90
            m = curator.measure(SomeAnswers(candidates, candidates.tables[i]), measurement_spend)
            measured_table = Marginals.over(problem.domain, [candidates.axes[i]])
            answers_before = D.answers(measured_table)
            pool.add(candidates.axes[i], m.values, m.stddev)
            remaining_cost -= cost
            D = refit(LAST_FIT_ROUNDS if is_last else FIT_ROUNDS)
            yield Step(t, D, f"{' × '.join(candidates.columns[i])}, noise {noise:.2g}")
            if is_last:
                return
            if np.abs(D.answers(measured_table) - answers_before).sum() <= SETTLED * noise * sizes[i]:
                cost *= 4 if budget.delta > 0 else 2


def seen(D: Release, candidates: Marginals, n: float, rng: Rng) -> Array:
    """The answers (m,) of D to all candidates; for a tree, those of rows drawn from it, which is faster.

    Both are public, and the scores move alike whatever D is said to answer.
    """
    if not isinstance(D, Graphical):
        return D.answers(candidates)
    codes = D.codes(int(min(max(DRAWN[0] * n, DRAWN[1]), DRAWN[2])), rng)
    return Records(D.domain, codes, np.ones(len(codes), dtype=int)).answers(candidates)


def closure(tables: Marginals) -> Marginals:
    """All tables over subsets of columns that some table has together, the smaller ones first.

    Of very many, single columns and those with the fewest combinations; a fixed rule mixes those that have as many.
    """
    subset_axes = {B for axes in tables.axes for B in (*subsets(axes), *((a,) for a in axes))}
    if len(subset_axes) > MOST_WEIGHED:
        shuffle_keys = {B: sum(a * 7919 ** (i + 1) for i, a in enumerate(B)) % 1009 for B in subset_axes}
        subset_axes = sorted(subset_axes, key=lambda B: (len(B) > 1, tables.domain.cells(B), shuffle_keys[B], B))[
            :MOST_WEIGHED
        ]
    return Marginals.over(tables.domain, sorted(subset_axes, key=lambda B: (len(B), B)))


def coverage(candidates: Marginals, tables: Marginals) -> Array:
    """The weights w (candidates,): columns shared with the tables asked, summed over them and scaled to at most 1."""
    shared_columns = [sum(len(set(S) & set(A)) for A in tables.axes) for S in candidates.axes]
    return np.array(shared_columns) / max(shared_columns)


def _spends(cost: float, budget: Budget) -> tuple[BoundedRange | Pure, Gaussian | Pure]:
    """The spends of a selection and a measurement that together cost ρ, or at δ = 0 ε."""
    if budget.delta == 0:
        return Pure((1 - SHARE) * cost), Pure(SHARE * cost)
    return BoundedRange(math.sqrt(8 * (1 - SHARE) * cost)), Gaussian(math.sqrt(2 * SHARE * cost))
