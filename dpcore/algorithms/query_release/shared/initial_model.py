"""The setup of algorithms that tilt a distribution by queries: a model, its queries, and its start.

Sees a Curator, never records.
"""

import math

import numpy as np

from ....core.numbers import bisected
from ....core.types import Array, frozen
from ....models.listed_cells import Cells
from ....models.tree_model import Tree, TreeReader
from ....privacy.accounting import (
    MARGIN,
    SMALLEST,
    SMALLEST_DELTA,
    BoundedRange,
    Budget,
    Charge,
    Choice,
    Plan,
    Pure,
    conversions,
    equal_selections,
    measure_once,
    select_once,
)
from ....privacy.curators.table_curator import TableCurator
from ....problems import PublicStart, QueryRelease
from ....queries import Workload
from ...pooled_measurements import singles_of, tables_read
from .clique_selection import CHOOSING, cells_of, choose_tree, drawing, finding_charges, inside_cliques, model_of

HALVINGS = 50  # of a range of log δ


@frozen
class Ground:
    """A model, the queries it answers, and the potentials (size,) of D_0; None: uniform."""

    model: Tree
    workload: Workload
    base: Array | None

    @property
    def prior(self) -> Array:
        """The beliefs (size,) of D_0."""
        return self.normalise(np.zeros(self.model.size))[1]

    @property
    def reader(self) -> Workload | TreeReader:
        """The reader that computes the queries' answers from beliefs."""
        return self.model.reader(self.workload)

    def normalise(self, q: Array, scale: float = 1.0) -> tuple[float, Array]:
        """The log normaliser and the beliefs (size,) of D ∝ D_0 exp(scale · q)."""
        theta = scale * q
        if self.base is not None:
            theta += self.base
        return self.model.normalise(theta)


@frozen
class ModelSetup:
    """The cost of finding a model: its `charges`, the budget that they leave, and the `choices` made."""

    left: Budget
    charges: tuple[Charge, ...]
    choices: tuple[Choice, ...]
    listed: bool = False  # whether all cells are

    @property
    def cells(self) -> int:
        """The largest number of cells that the model may hold."""
        return next(choice.value for choice in self.choices if choice.name == "cells")

    def selections(self, times: int) -> BoundedRange | Pure:
        """The spend of one of `times` equal selections, where the algorithm spends on nothing else."""
        if not self.charges or self.left.delta == 0:
            return equal_selections(self.left, times)
        return select_once(self.left, 1 / times)  # as ρ it adds up with the charges


def model_setup(problem: QueryRelease, budget: Budget, most: int | None, who: str) -> ModelSetup:
    """The cost of finding a model: nothing where `model_of` has one, else 1-way tables and draws of pairs.

    Both are shares of ρ, or of ε at δ = 0, as `gaussian_maxent` has them, and what is left adds up with them. Raises
    InputError where queries are not read off tables, or the tables have too many cells.
    """
    if (model := model_of(problem, problem.workload, most)) is not None:
        lists_all_cells = isinstance(model, Cells)
        cells_note = "all there are" if lists_all_cells else "of the tree that holds all tables asked"
        return ModelSetup(budget, (), (Choice("cells", model.size, cells_note),), lists_all_cells)
    tables = tables_read(problem.workload, who)
    n = problem.effective_n
    cells = cells_of(tables, n, budget, most)
    pair_draws, one_way_share, charges = finding_charges(tables, n, budget)
    algorithm_share = 1 - one_way_share - CHOOSING
    if budget.delta == 0:
        remaining_budget = Budget(algorithm_share * budget.epsilon, 0, additive=True)
    else:
        remaining_budget = promise_of(algorithm_share * budget.rho * MARGIN, budget)
    return ModelSetup(remaining_budget, charges, (
        cells,
        *drawing(tables, pair_draws, measure_once(budget, algorithm_share), n),
        Choice("kept", algorithm_share, "share of ρ, or ε at δ = 0, for the algorithm; the rest finds 1-way tables "
            "and a tree"),
    ))  # fmt: skip


def promise_of(rho: float, budget: Budget) -> Budget:
    """The largest promise that ρ allows: at the budget's δ, or at its ε with a smaller δ where ρ is tiny."""
    epsilon = conversions.zcdp_epsilon(rho, budget.delta)
    if epsilon >= SMALLEST:
        return Budget(epsilon, budget.delta, additive=True)

    def fits(log_delta: float) -> bool:
        return conversions.zcdp_rho(budget.epsilon, math.exp(log_delta)) <= rho

    min_log_delta, _ = bisected(fits, math.log(SMALLEST_DELTA), math.log(budget.delta), HALVINGS)
    return Budget(budget.epsilon, math.exp(min_log_delta), additive=True)


def grounded(problem: QueryRelease, plan: Plan, curator: TableCurator, most: int | None) -> Ground:
    """The model that `model_of` has, with the queries as asked, from the public start or uniform.

    Else a tree that is found, those of its tables that are asked or part of one that is, and the public start or the
    product of the noisy 1-way tables. All of it depends on released values only. Queries outside the tree are answered
    by what it says of their columns.
    """
    if (model := model_of(problem, problem.workload, most)) is not None:
        start = problem.log_start
        return Ground(model, problem.workload, model.potentials(start) if isinstance(start, PublicStart) else start)
    tables = tables_read(problem.workload)
    findings = choose_tree(tables, problem.effective_n, plan, curator)
    tree = Tree(problem.domain, findings.junction)
    if isinstance(problem.start, PublicStart):
        base_potentials = tree.potentials(problem.start)
    else:
        base_potentials = tree.reader(singles_of(tables)).adjoint(
            np.log(np.concatenate(list(findings.shares.values())))
        )
    return Ground(tree, inside_cliques(tables, findings.junction), base_potentials)
