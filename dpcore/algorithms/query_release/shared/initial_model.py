"""The setup of algorithms that tilt a distribution by queries: a model, its queries, and its start.

Sees a Curator, never records.
"""

import math

import numpy as np

from ....core.numbers import bisect_interval
from ....core.types import Array, frozen
from ....models.listed_cells import ListedCellsModel
from ....models.tree_model import JunctionTreeModel, TreeAnswerReader
from ....privacy.accounting import (
    MIN_DELTA,
    MIN_EPSILON,
    ROUNDING_MARGIN,
    BoundedRange,
    Budget,
    Plan,
    PlannedEvent,
    Pure,
    Setting,
    conversions,
    equal_selection_spend,
    measurement_spend,
    selection_spend,
)
from ....privacy.curators.table_curator import TableCurator
from ....problems import PublicStart, QueryRelease
from ....queries import Workload
from ...marginal_shares import one_way_marginals, require_marginals
from .clique_selection import (
    PAIR_SELECTION_SHARE,
    choose_tree,
    choose_tree_cell_limit,
    pair_draw_settings,
    plan_pair_selection,
    tables_inside_cliques,
)
from .model_choice import (
    find_public_model,
    model_cell_limit,
)

LOG_DELTA_HALVINGS = 50  # of a range of log δ


@frozen
class ModelState:
    """A model, the queries it answers, and the potentials (size,) of D_0; None: uniform."""

    model: JunctionTreeModel
    workload: Workload
    base_potentials: Array | None

    @property
    def prior(self) -> Array:
        """The beliefs (size,) of D_0."""
        return self.normalise(np.zeros(self.model.size))[1]

    @property
    def reader(self) -> Workload | TreeAnswerReader:
        """The reader that computes the queries' answers from beliefs."""
        return self.model.reader(self.workload)

    def normalise(self, q: Array, scale: float = 1.0) -> tuple[float, Array]:
        """Return the log normaliser and the beliefs (size,) of D ∝ D_0 exp(scale · q)."""
        theta = scale * q
        if self.base_potentials is not None:
            theta += self.base_potentials
        return self.model.normalise(theta)


@frozen
class ModelSetup:
    """The cost of finding a model: its planned events, the remaining budget, and the settings.

    `charges` are the events, `choices` the settings made.
    """

    remaining_budget: Budget
    planned_events: tuple[PlannedEvent, ...]
    settings: tuple[Setting, ...]
    lists_all_cells: bool = False  # whether all cells are

    @property
    def max_cells(self) -> int:
        """The largest number of cells that the model may hold."""
        return next(setting.value for setting in self.settings if setting.name == "cells")

    def selection_spend(self, selection_count: int) -> BoundedRange | Pure:
        """Return the spend of one of `selection_count` equal selections.

        For an algorithm that spends on nothing else.
        """
        if not self.planned_events or self.remaining_budget.delta == 0:
            return equal_selection_spend(self.remaining_budget, selection_count)
        # as ρ it adds up with the planned events
        return selection_spend(self.remaining_budget, 1 / selection_count)


def plan_model_setup(
    problem: QueryRelease, budget: Budget, max_cells: int | None, algorithm_name: str
) -> ModelSetup:
    """Return the cost of finding a model.

    Nothing where `find_public_model` has one, else 1-way tables and draws of pairs. Both are shares
    of ρ, or of ε at δ = 0, as `gaussian_maxent` has them, and what is left adds up with them.
    Raises InputError where queries are not read off tables, or the tables have too many cells.
    """
    limit = model_cell_limit(max_cells, is_stepwise=True)
    model = find_public_model(problem, problem.workload, limit)
    if model is not None:
        lists_all_cells = isinstance(model, ListedCellsModel)
        cells_note = (
            "all there are" if lists_all_cells else "of the tree that holds all tables asked"
        )
        return ModelSetup(budget, (), (Setting("cells", model.size, cells_note),), lists_all_cells)
    tables = require_marginals(problem.workload, algorithm_name)
    n = problem.effective_n
    cells = choose_tree_cell_limit(tables, n, budget, max_cells)
    pair_draws, one_way_share, charges = plan_pair_selection(tables, n, budget)
    algorithm_share = 1 - one_way_share - PAIR_SELECTION_SHARE
    if budget.delta == 0:
        remaining_budget = Budget(algorithm_share * budget.epsilon, 0, additive=True)
    else:
        remaining_budget = largest_budget_for_rho(
            algorithm_share * budget.rho * ROUNDING_MARGIN, budget
        )
    return ModelSetup(
        remaining_budget,
        charges,
        (
            cells,
            *pair_draw_settings(tables, pair_draws, measurement_spend(budget, algorithm_share), n),
            Setting(
                "kept",
                algorithm_share,
                "share of ρ, or ε at δ = 0, for the algorithm; the rest finds 1-way tables "
                "and a tree",
            ),
        ),
    )


def largest_budget_for_rho(rho: float, budget: Budget) -> Budget:
    """Return the largest promise that ρ allows.

    At the budget's δ, or at its ε with a smaller δ where ρ is tiny.
    """
    epsilon = conversions.zcdp_epsilon(rho, budget.delta)
    if epsilon >= MIN_EPSILON:
        return Budget(epsilon, budget.delta, additive=True)

    def fits(log_delta: float) -> bool:
        return conversions.zcdp_rho(budget.epsilon, math.exp(log_delta)) <= rho

    min_log_delta, _ = bisect_interval(
        fits, math.log(MIN_DELTA), math.log(budget.delta), LOG_DELTA_HALVINGS
    )
    return Budget(budget.epsilon, math.exp(min_log_delta), additive=True)


def initial_model(
    problem: QueryRelease, plan: Plan, curator: TableCurator, max_cells: int | None
) -> ModelState:
    """Return the model state from which an algorithm starts.

    The model that `find_public_model` has, with the queries as asked, from the public start or
    uniform. Else a tree that is found, those of its tables that are asked or part of one that is,
    and the public start or the product of the noisy 1-way tables. All of it depends on released
    values only. Queries outside the tree are answered by what it says of their columns.
    """
    limit = model_cell_limit(max_cells, is_stepwise=True)
    model = find_public_model(problem, problem.workload, limit)
    if model is not None:
        start = problem.log_start
        return ModelState(
            model,
            problem.workload,
            model.public_start_potentials(start) if isinstance(start, PublicStart) else start,
        )
    tables = require_marginals(problem.workload)
    findings = choose_tree(tables, problem.effective_n, plan, curator)
    tree = JunctionTreeModel(problem.domain, findings.junction)
    if isinstance(problem.start, PublicStart):
        base_potentials = tree.public_start_potentials(problem.start)
    else:
        base_potentials = tree.reader(one_way_marginals(tables)).adjoint(
            np.log(np.concatenate(list(findings.shares.values())))
        )
    return ModelState(tree, tables_inside_cliques(tables, findings.junction), base_potentials)
