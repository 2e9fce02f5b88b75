"""Gaussian noise on every answer once, then the maximum-entropy fit. Sees a Curator, never records.

The only touch of records is one Gaussian release of the workload's answers (Δ₂ derived in
`Answers`: √(2 · tables)/n for marginals), or of tables that give them with less noise
(`Workload.measured`, from public numbers), exactly μ-GDP with noise σ = Δ₂/μ. All the rest is
post-processing:

    base    D_0 = product of the noisy 1-way marginals (uniform where no tables are measured),
    or a public start stage 1 D_1 = argmin_D ½ Σ_j (⟨q_j, D⟩ − y_j)²/σ_j² + 0.6 α μ n KL(D ‖
    D_0) on the lower-way marginals
            (pairs, for 3-way tables) summed out of the noisy ones, those of pairs and more with
            σ_S²/w_S for σ_S², w_S the share of ‖y_S − D_0‖² that is more than noise (`signals`)
    stage 2 D_2 = argmin_D the same on all answers, with α μ n KL(D ‖ D_1)

each through its smooth dual, strongly concave in the noise-scaled residuals φ: log D = log base −
Σ_j (φ_j/σ_j) q_j /(αμn) − log Z, with gradient φ + (y − answers(D))/σ. α scales with μn so that one
value serves every ε and n; the default was chosen on two public tables. D is held on listed cells,
or on a junction tree over the measured tables where that is small. Where neither is possible tables
are chosen in batches (`measure_chosen`), with CHOSEN · α and all w_S = 1.
"""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import numpy as np

from ...core.parameters import parameter_field
from ...core.types import Array, Rng, by_name
from ...models.grouped_cells import GroupedCellsModel
from ...models.listed_cells import ListedCellsModel
from ...models.releases import Release
from ...models.tree_model import JunctionTreeModel
from ...privacy.accounting import Budget, Plan, PlannedEvent, Setting, gaussian_spend
from ...privacy.curators.table_curator import TableCurator
from ...privacy.measurement import noise_stddev
from ...privacy.noisy_answers import NoisyAnswers
from ...privacy.statistics import Answers
from ...problems import QueryRelease
from ...queries import Marginals, Union, Workload
from ...queries.marginals import marginals_and_slice
from ..algorithm import (
    MAX_ANSWER_ARRAYS,
    MAX_CELL_ARRAYS,
    Algorithm,
    Step,
    model_cells_param,
)
from ..marginal_shares import one_way_marginals, queried_columns, require_marginals
from ..noisy_tables import MIN_STDDEV
from ..run_costs import likely_tree_cells
from .shared.clique_selection import (
    choose_tree_cell_limit,
    plan_table_selection,
)
from .shared.earlier_tree import (
    MAX_EARLIER_CELLS_RATIO,
    TreeFit,
    measure_earlier_tree,
    provisional_fit,
)
from .shared.fit_costs import (
    grouped_fit_seconds,
    listed_fit_seconds,
    tree_fit_seconds,
    tree_search_seconds,
)
from .shared.maximum_entropy_fit import (
    CONVERGED_GRADIENT,
    LARGE_MODEL_CELLS,
    fit_stages,
    staged_fit,
)
from .shared.model_choice import (
    TREE_CELLS_RANGE,
    find_public_model,
    full_model,
    model_cell_limit,
)
from .shared.tree_measurement import choose_tree_and_measure

# factor on alpha where a tree was chosen: each of its fewer tables carries more information
CHOSEN_TREE_ALPHA_FACTOR = 0.35
# gradient, in standard deviations of the noise, at which the fit of a model of more than
# LARGE_MODEL_CELLS ends: from here on the mean L1 of two wide tables stayed the same to four
# digits, for 40 % more iterations
LARGE_MODEL_CONVERGED_GRADIENT = 0.05
MAX_RELEASE_ARRAYS = 8  # arrays of all cells that are held where a fit itself needs none
MAX_LISTING_SLOWDOWN = 1.2  # seconds of a listing beside those of a tree, for which it is taken
SHORT_LISTING_SECONDS = 0.5  # of a listing that is taken whatever a tree would take
ALPHA_REASON = "in units of μ·n, so that the prior weighs alike at every ε"


@by_name
class GaussianMaxEnt(Algorithm):
    """Gaussian noise on all answers once, then the regularised maximum-entropy fit to them.

    The only touch of records is one Gaussian release of the workload's answers, exactly μ-GDP; all
    the rest is post-processing, and the module's docstring has its two stages. Raises InputError at
    δ = 0.
    Source: not in the papers; the baseline to beat. Log-linear fits: McKenna, Sheldon, Miklau 2019.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(GaussianMaxEnt(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    alpha: float = parameter_field(
        0.8,
        "smoothness, the entropy weight in units of μ·n",
        symbol="α",
        low=0.05,
        high=20,
        log=True,
    )
    cells: int | None = model_cells_param("3,000,000")
    rounds: int = parameter_field(
        200,
        "iterations of the fit at the most, per stage",
        symbol="T",
        low=1,
        high=10_000,
        log=True,
    )

    graphical = True

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """Return a plan of one Gaussian measurement.

        Where tables are chosen, of the planned events of `plan_table_selection`.
        """
        measured_workload, model = self._workload_and_model(problem, budget)
        stages = 2 if model is None else len(fit_stages(measured_workload))
        iteration_limit = Setting(
            "iterations", self.rounds * stages, f"at most {self.rounds} in each of {stages} stages"
        )
        alpha = Setting(
            "alpha", self.alpha * (CHOSEN_TREE_ALPHA_FACTOR if model is None else 1), ALPHA_REASON
        )
        step_count = Setting(
            "rounds", 2 * stages, "the first and the last iteration of every stage are shown"
        )
        if model is None:
            tables = require_marginals(problem.workload, "gaussian_maxent")
            charges, choices = plan_table_selection(tables, problem.effective_n, budget, self.cells)
            return Plan(budget, charges, (step_count, iteration_limit, alpha, *choices))
        rounds = (step_count, iteration_limit)
        cells = Setting("cells", problem.domain.size, "all there are")
        if isinstance(model, ListedCellsModel):
            rounds = (replace(iteration_limit, name="rounds"),)
        elif not isinstance(model, GroupedCellsModel):
            cells = Setting("cells", model.size, "of the tree that holds all measured tables")
        spend = gaussian_spend(budget)
        noise = noise_stddev(Answers(measured_workload), spend, problem.effective_n)
        sigma = Setting("sigma", noise, "noise on an answer, bΔ₂/(nμ)")
        charge = PlannedEvent("measure", spend, statistic=Answers(measured_workload))
        return Plan(
            budget,
            (charge,),
            (
                *_substitution_setting(problem.workload, measured_workload),
                *rounds,
                cells,
                alpha,
                sigma,
            ),
        )

    def answer_noise(self, problem: QueryRelease, plan: Plan) -> float | None:
        """Return the standard deviation of the independent Gaussian noise on every answer.

        As measured and published. None where the answers asked follow from others that are measured
        in their place, or some of them only.
        """
        measured_workload, model = self._workload_and_model(problem, plan.budget)
        return (
            plan["sigma"] if model is not None and measured_workload is problem.workload else None
        )

    def steps(
        self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng
    ) -> Iterator[Step]:
        """Yield steps of one iteration of the fit each; the first one uses the whole budget."""
        measured_workload, model = self._workload_and_model(problem, plan.budget)
        is_tree_chosen = model is None
        if model is None:
            tables = require_marginals(problem.workload, "gaussian_maxent")
            noisy_tables, model = choose_tree_and_measure(
                tables, problem.effective_n, plan, curator, problem.log_start
            )
            noisy_answers = noisy_tables.arrays()
            weight = plan["alpha"] * math.sqrt(2 * noisy_tables.precision)
        else:
            spend = plan.spend_of("measure")
            m = curator.measure(Answers(measured_workload), spend)
            stddev = np.full(len(m.values), max(m.stddev, MIN_STDDEV))
            noisy_answers = NoisyAnswers(measured_workload, m.values, stddev)
            weight = plan["alpha"] * spend.mu * problem.effective_n
        is_grouped = isinstance(model, GroupedCellsModel)
        cells = problem.domain.size if is_grouped else model.size
        is_large = cells > LARGE_MODEL_CELLS
        start = problem.log_start
        tree_fit = TreeFit(model.junction, {}) if is_tree_chosen else None
        iterates = staged_fit(
            noisy_answers,
            weight,
            self.rounds,
            model,
            start,
            None if tree_fit is None else tree_fit.potentials,
            weigh_by_signal=not is_tree_chosen,
            converged_gradient=LARGE_MODEL_CONVERGED_GRADIENT if is_large else CONVERGED_GRADIENT,
        )  # type: ignore[arg-type]
        released_iterates = (
            iterates if isinstance(model, ListedCellsModel) else first_and_last_of_stages(iterates)
        )
        for t, (D, note) in enumerate(released_iterates, start=1):
            yield Step(t, model.release(D), note, tree_fit)

    def provisional_release(
        self, problem: QueryRelease, plan: Plan, curator: TableCurator, earlier: TreeFit
    ) -> Release | None:
        """Return a provisional release on an earlier run's tree.

        It is to be shown until this run has ended. None where no tree is chosen, and for a tree of
        another domain or of many more cells than this run may have.
        """
        _, model = self._workload_and_model(problem, plan.budget)
        junction = earlier.junction
        is_tree_chosen = model is None
        if not is_tree_chosen or junction.shape != problem.domain.shape:
            return None
        if junction.cells > MAX_EARLIER_CELLS_RATIO * plan["cells"]:
            return None
        tables = require_marginals(problem.workload, "gaussian_maxent")
        noisy_tables = measure_earlier_tree(tables, problem.effective_n, plan, curator, earlier)
        tree = JunctionTreeModel(tables.domain, junction)
        beliefs = provisional_fit(noisy_tables, tree, plan["alpha"], earlier, problem.log_start)
        return tree.release(beliefs)

    def run_seconds(self, problem: QueryRelease, plan: Plan) -> float:
        """Return the predicted seconds of a run: of one fit, or of the search for a tree."""
        measured_workload, model = self._workload_and_model(problem, plan.budget)
        if model is None:
            return tree_search_seconds(
                problem,
                len(require_marginals(problem.workload).tables),
                plan.budget,
                likely_tree_cells(problem, plan["cells"]),
            )
        return self._fit_seconds(problem, measured_workload, plan.budget, model)

    def run_bytes(self, problem: QueryRelease, plan: Plan) -> float:
        """Return the rough bytes of a run: in groups only what is released lists all cells."""
        _, model = self._workload_and_model(problem, plan.budget)
        if isinstance(model, GroupedCellsModel):
            return 8.0 * (
                MAX_RELEASE_ARRAYS * problem.domain.size
                + MAX_CELL_ARRAYS * model.size
                + MAX_ANSWER_ARRAYS * problem.workload.m
            )
        return super().run_bytes(problem, plan)

    def _fit_seconds(
        self,
        problem: QueryRelease,
        measured_workload: Workload,
        budget: Budget,
        model: JunctionTreeModel,
    ) -> float:
        """Return the predicted seconds of a fit to a model of all tables."""
        max_iterations = self.rounds * len(fit_stages(measured_workload))
        if isinstance(model, GroupedCellsModel):
            return grouped_fit_seconds(problem, budget, max_iterations)
        if isinstance(model, ListedCellsModel):
            return listed_fit_seconds(problem, measured_workload.m, budget, max_iterations)
        return tree_fit_seconds(problem, model.size, budget, max_iterations)

    def _workload_and_model(
        self, problem: QueryRelease, budget: Budget
    ) -> tuple[Workload, JunctionTreeModel | None]:
        """Return the workload to measure, and the model for it; see `find_public_model`.

        A listing keeps all tables that are asked, with noise that is known before. It is taken
        where its predicted time is short, or hardly longer than the choice of a tree.
        """
        measured_workload = _measured_workload(problem.workload)
        limit = model_cell_limit(self.cells, is_stepwise=False)
        model = find_public_model(problem, measured_workload, limit)
        if not isinstance(model, ListedCellsModel) or problem.start is not None:
            return measured_workload, model
        model = full_model(problem, measured_workload)
        if self.cells or not isinstance(problem.workload, Marginals):
            return measured_workload, model
        tables = problem.workload
        n = problem.effective_n
        tree_limit = choose_tree_cell_limit(tables, n, budget, None, TREE_CELLS_RANGE).value
        max_tree_cells = min(tree_limit, problem.domain.size)
        tree_seconds = tree_search_seconds(problem, len(tables.tables), budget, max_tree_cells)
        max_seconds = max(SHORT_LISTING_SECONDS, MAX_LISTING_SLOWDOWN * tree_seconds)
        if self._fit_seconds(problem, measured_workload, budget, model) > max_seconds:
            return measured_workload, None
        return measured_workload, model


def first_and_last_of_stages(iterates: Iterator[tuple[Array, str]]) -> Iterator[tuple[Array, str]]:
    """Yield the first and the last iterate of every stage.

    Because all answers of a wide domain take long.
    """
    for _, stage in groupby(iterates, key=lambda iterate: iterate[1]):
        yield next(stage)
        yield from deque(stage, maxlen=1)  # noqa: B031 - its rest


def _measured_workload(workload: Workload) -> Workload:
    """Return the workload to measure: the tables or queries that the workload names.

    Queries on tables that are not measured get their 1-way tables beside them, for the base, unless
    Δ₂² then doubles.
    """
    measured_workload = workload.measured_workload
    if not queried_columns(measured_workload) or marginals_and_slice(measured_workload):
        return measured_workload
    one_way = one_way_marginals(measured_workload)
    return (
        Union([one_way, measured_workload])
        if Answers(one_way).l2 <= Answers(measured_workload).l2
        else measured_workload
    )


def _substitution_setting(
    queried_workload: Workload, measured_workload: Workload
) -> tuple[Setting, ...]:
    """Return the setting that says which queries are measured in place of those asked."""
    if measured_workload is queried_workload:
        return ()
    table_count = len(measured_workload.tables)
    noun = "tables" if table_count > 1 else "table"
    table_count_text = f"{table_count} marginal {noun}"
    description = (
        table_count_text
        if isinstance(measured_workload, Marginals)
        else f"{table_count_text} and queries, {measured_workload.m} answers in all"
    )
    return (
        Setting(
            "measured",
            description,
            "the answers asked follow from these with less noise, by public variances",
        ),
    )
