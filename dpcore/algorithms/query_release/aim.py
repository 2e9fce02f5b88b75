"""AIM: choose marginal tables adaptively, measure them, refit. Sees a Curator, never records.

Candidates (`candidate_tables`) are all tables over subsets of the columns that a query reads
together. A round of cost u selects S by

    w_S · (‖table_S(P_n) − table_S(D)‖₁ − 0.3 · size_S · E|noise|),   Δ = 2 max w/n
    (`TableErrors`), w ≤ 1,

w_S ∝ Σ over the workload's tables A of |S ∩ A|, and measures the whole table with Δ₂ = √2/n: u =
ε₀²/8 + μ²/2, nine tenths of it to measure; with Laplace noise at δ = 0, Δ₁ = 2/n and u = ε₀ + ε₁.
Where the fit to it changed that table by less than 0.3 of the noise in it, the next round doubles
ε₀ and μ: u becomes 4u (2u at δ = 0). A round that would leave less than itself takes all that is
left and is the last. The first step costs 0.9u for each column. Every charge depends on released
answers and the ledger only, the plan is an upper bound.

Where cells cannot be listed D lives on a junction tree, and candidates are the tables that leave it
small enough. D is the two-stage maximum-entropy fit of `gaussian_maxent` to all tables measured so
far, those measured several times averaged by precision, with weights 1/σ²; its base is the product
of the noisy 1-way tables or a public start.
"""

import math

import numpy as np

from ...core.parameters import parameter_field
from ...core.types import Array, Rng, by_name
from ...models.graphical_model import GraphicalModel
from ...models.grouped_cells import GroupedCellsModel
from ...models.listed_cells import ListedCellsModel
from ...models.releases import Release, SyntheticRows
from ...models.tree_model import JunctionTreeModel
from ...privacy.accounting import (
    ROUNDING_MARGIN,
    BoundedRange,
    Budget,
    Gaussian,
    Plan,
    PlannedEvent,
    Pure,
    Setting,
)
from ...privacy.curators.table_curator import TableCurator
from ...privacy.measurement import noise_stddev
from ...privacy.statistics import ONE_TABLE_SENSITIVITY, SomeAnswers, TableErrors
from ...problems import QueryRelease
from ...queries import Marginals
from ...queries.marginals import nonempty_subsets
from ..algorithm import Algorithm, Step, Steps, model_cells_param
from ..marginal_shares import queried_columns, require_marginals
from ..noisy_tables import NoisyTables
from .shared.clique_selection import (
    MAX_WEIGHED_TABLES,
    CliqueBudget,
    choose_tree_cell_limit,
    exclusion_penalties,
    expected_abs_noise,
)
from .shared.fit_costs import (
    COUNT_SECONDS_PER_ROW,
    grouped_refit_seconds,
    listed_refit_seconds,
    tree_refit_seconds,
)
from .shared.maximum_entropy_fit import staged_fit
from .shared.model_choice import (
    full_model,
    lists_all_cells,
    model_cell_limit,
)

# share of a round's budget for its measurement; the rest is for its selection
MEASUREMENT_SHARE = 0.9
ROUNDS_PER_COLUMN = 16  # rounds for each column, if no round is enlarged; as published
# rounds for each √column, as they are enlarged: 5 to 14 on five tables at ε = .1 and 1
LIKELY_ROUNDS_PER_ROOT_COLUMN = 9
# share of the noise expected in a table that is taken off its score: less than all, as the fit
# removes most of it
NOISE_PENALTY = 0.3
# share of that noise: a smaller change of the measured table says that only noise is left to fit
SMALL_CHANGE_NOISE_SHARE = 0.3
ENTROPY_WEIGHT = 0.5  # weight of KL(D ‖ D_0) in units of n √Σμ²
# rows that stand for D on a tree when candidates are weighed: as a multiple of n, and their range
SAMPLED_ROWS_PER_ROW = 2
MIN_SAMPLED_ROWS = 10_000
MAX_SAMPLED_ROWS = 100_000
FIT_ITERATIONS = 60  # of the fit in each round
LAST_FIT_ITERATIONS = 200  # of the fit in the last round


@by_name
class AIM(Algorithm):
    """The algorithm AIM: measure the marginal that D answers worst, refit D to all, and repeat.

    The first step measures the 1-way tables. Every charge depends on released answers and the
    ledger only, so the plan is an upper bound; the module's docstring has the score and the
    stopping rule. Raises InputError where queries are not read off marginal tables.
    Source: McKenna, Mullins, Sheldon, Miklau 2022, AIM, for replaced records, with weights 1/σ²
    instead of 1/σ and a regularised fit.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(AIM(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    rounds: int | None = parameter_field(
        None,
        "steps at the most: the 1-way tables, then a table each",
        symbol="T",
        low=2,
        high=10_000,
        log=True,
        auto="16 a column and one; usually far fewer, as rounds are enlarged",
    )
    cells: int | None = model_cells_param()

    graphical = True
    adaptive = True

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """Return a plan of the first tables and of as many equal rounds as fit the whole budget."""
        tables = require_marginals(problem.workload, "aim")
        n = problem.effective_n
        cell_limit = Setting("cells", problem.domain.size, "all there are")
        if not self._lists_all_cells(problem):
            cell_limit = choose_tree_cell_limit(candidate_tables(tables), n, budget, self.cells)
        d = len(queried_columns(tables))
        rounds = self.choose_default(
            "rounds",
            ROUNDS_PER_COLUMN * d + 1,
            f"{ROUNDS_PER_COLUMN} for each of {d} columns, and one for the 1-way tables",
        )
        T = rounds.value - 1
        likely_rounds = min(rounds.value, LIKELY_ROUNDS_PER_ROOT_COLUMN * math.sqrt(d))
        total_cost = budget.rho if budget.delta > 0 else budget.epsilon
        first_cost = total_cost / (MEASUREMENT_SHARE * d + T) * ROUNDING_MARGIN
        selection_spend, measurement_spend = _round_spends(first_cost, budget)
        events = (
            PlannedEvent("measure", measurement_spend, d + T, SomeAnswers),
            PlannedEvent("select", selection_spend, T, TableErrors),
        )
        iterations = round(2 * FIT_ITERATIONS * likely_rounds)
        first_why = (
            f"ρ, or ε at δ = 0, of a round before it is enlarged: T and {d} tables use it all"
        )
        sigma = noise_stddev(ONE_TABLE_SENSITIVITY, measurement_spend, n)
        sigma_why = "standard deviation of the noise on every count of the first tables"
        settings = (
            rounds,
            Setting("iterations", iterations, "of all fits, in the rounds that are likely"),
            Setting("share", MEASUREMENT_SHARE, "of each round for measuring, as published"),
            Setting("first", first_cost, first_why),
            Setting("sigma", sigma, sigma_why),
            cell_limit,
        )
        return Plan(budget, events, settings)

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Yield steps: the 1-way tables first, then one selection and one measurement each."""
        tables = require_marginals(problem.workload, "aim")
        candidates = candidate_tables(tables)
        model = self._full_model(problem, candidates)
        measured = _MeasuredCandidates(problem, tables, candidates, plan["cells"], model)
        one_way_indices = measured.one_way_indices
        cost = plan["first"]
        remaining_cost = cost * (MEASUREMENT_SHARE * len(one_way_indices) + plan["rounds"] - 1)
        _, measurement_spend = _round_spends(cost, plan.budget)
        for i in one_way_indices:
            measured.measure(i, measurement_spend, curator)
        remaining_cost -= MEASUREMENT_SHARE * cost * len(one_way_indices)
        D = measured.refit(FIT_ITERATIONS)
        yield Step(1, D, "every column alone")
        for t in range(2, plan["rounds"] + 1):
            is_last = t == plan["rounds"] or remaining_cost < 2 * cost
            cost = remaining_cost * ROUNDING_MARGIN if is_last else cost
            selection_spend, measurement_spend = _round_spends(cost, plan.budget)
            # rounding alone, but then nothing may be measured
            if not curator.can_afford(selection_spend):
                return
            noise = expected_abs_noise(measurement_spend, 1, problem.effective_n)
            i = measured.select_worst(D, noise, selection_spend, curator, rng)
            previous = D
            measured.measure(i, measurement_spend, curator)
            remaining_cost -= cost
            D = measured.refit(LAST_FIT_ITERATIONS if is_last else FIT_ITERATIONS)
            yield Step(t, D, f"{' × '.join(measured.candidates.columns[i])}, noise {noise:.2g}")
            if is_last:
                return
            if measured.is_small_change(i, previous, D, noise):
                cost *= 4 if plan.budget.delta > 0 else 2

    def run_seconds(self, problem: QueryRelease, plan: Plan) -> float:
        """Return the predicted seconds of a run: in every likely round a fit and all scores.

        On a tree the scores are read off rows, of the table and of D.
        """
        tables = require_marginals(problem.workload)
        rounds = LIKELY_ROUNDS_PER_ROOT_COLUMN * math.sqrt(len(queried_columns(tables)))
        candidates = candidate_tables(tables)
        model = self._full_model(problem, candidates)
        count_seconds = 0.0
        if model is None:
            row_count = problem.n + _sampled_row_count(problem.n)
            count_seconds = COUNT_SECONDS_PER_ROW * row_count * len(candidates.tables)
            refit_seconds = tree_refit_seconds(problem, plan.budget, plan["cells"])
        elif isinstance(model, GroupedCellsModel):
            refit_seconds = grouped_refit_seconds(problem, plan.budget)
        else:
            refit_seconds = listed_refit_seconds(problem, candidates.m, plan.budget)
        return min(plan["rounds"], rounds) * (refit_seconds + count_seconds)

    def _full_model(
        self, problem: QueryRelease, candidates: Marginals
    ) -> GroupedCellsModel | ListedCellsModel | None:
        """Return the model of all cells; None where a tree holds what is measured."""
        return full_model(problem, candidates) if self._lists_all_cells(problem) else None

    def _lists_all_cells(self, problem: QueryRelease) -> bool:
        """Return whether the model lists all cells, so that every table fits it."""
        return lists_all_cells(problem, model_cell_limit(self.cells, is_stepwise=True))


class _MeasuredCandidates:
    """The candidates with what was measured of them so far, and the model that is fitted to it."""

    def __init__(
        self,
        problem: QueryRelease,
        tables: Marginals,
        candidates: Marginals,
        max_cells: int,
        model: JunctionTreeModel | None,
    ) -> None:
        self.problem = problem
        self.candidates = candidates
        self.sizes = np.array(candidates.sizes)
        self.weights = coverage_weights(candidates, tables)
        self.clique_budget = CliqueBudget(candidates, max_cells, model)
        self.noisy_tables = NoisyTables(problem.domain)
        self.stage_potentials = {}
        self.one_way_indices = [i for i, S in enumerate(self.candidates.axes) if len(S) == 1]

    def measure(self, i: int, spend: Gaussian | Pure, curator: TableCurator) -> None:
        """Measure candidate i, and add its noisy table to those before."""
        m = curator.measure(SomeAnswers(self.candidates, self.candidates.tables[i]), spend)
        self.noisy_tables.add(self.candidates.axes[i], m.values, m.stddev)

    def refit(self, max_iterations: int) -> Release:
        """Return the fit to all that was measured, up to so many iterations in each stage."""
        weight = ENTROPY_WEIGHT * math.sqrt(2 * self.noisy_tables.precision)
        model = self.clique_budget.model_holding(self.noisy_tables)
        *_, (D, _) = staged_fit(
            self.noisy_tables.arrays(),
            weight,
            max_iterations,
            model,
            self.problem.log_start,
            self.stage_potentials,
        )
        return model.release(D)

    def select_worst(
        self,
        D: Release,
        noise: float,
        spend: BoundedRange | Pure,
        curator: TableCurator,
        rng: Rng,
    ) -> int:
        """Select a candidate that D answers badly, beyond the E|noise| of its measurement."""
        n = self.problem.effective_n
        still_fits = self.clique_budget.still_fits
        noise_scale = 2 * 2 * self.weights.max() / (n * spend.epsilon)
        penalties = exclusion_penalties(
            NOISE_PENALTY * noise * self.sizes, self.weights, still_fits, noise_scale
        )
        answers = estimate_candidate_answers(D, self.candidates, n, rng)
        i = curator.select(TableErrors(self.candidates, answers, penalties, self.weights), spend)
        # a table without room is drawn with probability e^-90
        return i if still_fits[i] else self.one_way_indices[0]

    def is_small_change(self, i: int, before: Release, after: Release, noise: float) -> bool:
        """Return whether a fit changed candidate i by so little that only noise is left in it."""
        table = Marginals.over_axes(self.problem.domain, [self.candidates.axes[i]])
        change = np.abs(after.answers(table) - before.answers(table)).sum()
        return change <= SMALL_CHANGE_NOISE_SHARE * noise * self.sizes[i]


def estimate_candidate_answers(D: Release, candidates: Marginals, n: float, rng: Rng) -> Array:
    """Return the answers (m,) of D to all candidates, or of rows drawn from D for a tree.

    The second is faster. Both are public, and the scores move alike whatever D is said to answer.
    """
    if not isinstance(D, GraphicalModel):
        return D.answers(candidates)
    row_count = _sampled_row_count(n)
    codes = D.sample_codes(int(row_count), rng)
    return SyntheticRows(D.domain, codes, np.ones(len(codes), dtype=int)).answers(candidates)


def _sampled_row_count(n: float) -> int:
    """Return how many rows stand for D on a tree when candidates are weighed."""
    return int(min(max(SAMPLED_ROWS_PER_ROW * n, MIN_SAMPLED_ROWS), MAX_SAMPLED_ROWS))


def candidate_tables(tables: Marginals) -> Marginals:
    """Return all tables over subsets of the columns of some table, the smaller ones first.

    Of very many, single columns and those with the fewest combinations; a fixed rule mixes those
    that have as many.
    """
    subset_axes = {
        B for axes in tables.axes for B in (*nonempty_subsets(axes), *((a,) for a in axes))
    }
    if len(subset_axes) > MAX_WEIGHED_TABLES:
        shuffle_keys = {
            B: sum(a * 7919 ** (i + 1) for i, a in enumerate(B)) % 1009 for B in subset_axes
        }
        subset_axes = sorted(
            subset_axes, key=lambda B: (len(B) > 1, tables.domain.table_size(B), shuffle_keys[B], B)
        )[:MAX_WEIGHED_TABLES]
    return Marginals.over_axes(tables.domain, sorted(subset_axes, key=lambda B: (len(B), B)))


def coverage_weights(candidates: Marginals, tables: Marginals) -> Array:
    """Return the weights w (candidates,) of the candidates for the requested tables.

    The columns shared with the requested tables, summed over them and scaled to at most 1.
    """
    shared_columns = [sum(len(set(S) & set(A)) for A in tables.axes) for S in candidates.axes]
    return np.array(shared_columns) / max(shared_columns)


def _round_spends(cost: float, budget: Budget) -> tuple[BoundedRange | Pure, Gaussian | Pure]:
    """Return the spends of a selection and a measurement that together cost ρ, or ε at δ = 0."""
    if budget.delta == 0:
        return Pure((1 - MEASUREMENT_SHARE) * cost), Pure(MEASUREMENT_SHARE * cost)
    return BoundedRange(math.sqrt(8 * (1 - MEASUREMENT_SHARE) * cost)), Gaussian(
        math.sqrt(2 * MEASUREMENT_SHARE * cost)
    )
