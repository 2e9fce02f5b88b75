"""Predicted seconds of maximum-entropy fits, from public sizes and the budget.

The constants were fitted on the runs of `tests.benchmarks.forecasts` and `tests.benchmarks.smaller`
on one core of a server of 2023. The number of iterations follows n√ρ, by which noise is small.
"""

import math

from ....privacy.accounting import Budget
from ....problems import QueryRelease
from ...run_costs import SECONDS_PER_TREE_COLUMN, likely_tree_cells
from .maximum_entropy_fit import LARGE_MODEL_CELLS

LISTED_ITERATIONS = 1.3  # for each √(n√ρ), of a fit to many cells
FEW_CELLS_FACTOR = 1.4  # as many more, as a fit to few cells ends at a smaller gradient
LISTED_SECONDS_PER_ITERATION = 3.5e-4
LISTED_SECONDS_PER_CELL = 6.5e-9  # of an iteration
LISTED_SECONDS_PER_ANSWER = 6e-8  # of an iteration
GROUPED_SECONDS_PER_ITERATION = 6e-4
GROUPED_SECONDS_PER_CELL = 8e-10  # of an iteration
GROUPED_RELEASE_SECONDS_PER_CELL = 4e-8  # of the four distributions that are shown
TREE_ITERATIONS = 42.0  # for each ∛(n√ρ), of all fits to a tree that grows
MAX_TREE_ITERATIONS = 800
TREE_SECONDS_PER_CELL = 1.4e-8  # of an iteration
MEAN_TREE_SHARE = 0.4  # cells of a tree while it grows, as a share of the most
SEARCH_SECONDS_PER_ROW = 6e-9  # for each table counted
SEARCH_SECONDS_PER_TRIAL = 5e-5  # for each column and pair
SEARCH_SECONDS_PER_CELL = 1e-9  # for each table that is summed out of a tree
COUNTS_PER_PAIR = 3  # times that the table of a pair is counted
# of a fit after every measurement: iterations for each √(n√ρ), and the most of them
REFIT_ITERATIONS = 1.7
MAX_REFIT_ITERATIONS = 120
STEPWISE_TREE_SHARE = 0.08  # cells of a tree that grows table by table, as a share of the most
COUNT_SECONDS_PER_ROW = 1e-8  # for each candidate that is counted


def listed_fit_seconds(
    problem: QueryRelease, answer_count: int, budget: Budget, max_iterations: int
) -> float:
    """Return the predicted seconds of a fit to an array of all cells."""
    k = problem.domain.size
    seconds = (
        LISTED_SECONDS_PER_ITERATION
        + LISTED_SECONDS_PER_CELL * k
        + LISTED_SECONDS_PER_ANSWER * answer_count
    )
    return _listed_iterations(problem, budget, max_iterations) * seconds


def tree_fit_seconds(
    problem: QueryRelease, cells: int, budget: Budget, max_iterations: int
) -> float:
    """Return the predicted seconds of a fit to a tree that is known before, of so many cells."""
    seconds = SECONDS_PER_TREE_COLUMN * len(problem.domain.shape) + TREE_SECONDS_PER_CELL * cells
    return _listed_iterations(problem, budget, max_iterations) * seconds


def grouped_fit_seconds(problem: QueryRelease, budget: Budget, max_iterations: int) -> float:
    """Return the predicted seconds of a fit to all cells in groups of columns."""
    k = problem.domain.size
    seconds = GROUPED_SECONDS_PER_ITERATION + GROUPED_SECONDS_PER_CELL * k
    iterations = _listed_iterations(problem, budget, max_iterations)
    return iterations * seconds + GROUPED_RELEASE_SECONDS_PER_CELL * k


def tree_search_seconds(
    problem: QueryRelease, table_count: int, budget: Budget, max_cells: float
) -> float:
    """Return the predicted seconds of the choice of a tree, and of the fits on the way and last.

    `max_cells` is the most that the tree may hold.
    """
    columns = len(problem.domain.shape)
    pairs = math.comb(columns, 2)
    iterations = min(TREE_ITERATIONS * _signal(problem, budget) ** (1 / 3), MAX_TREE_ITERATIONS)
    fit_seconds = iterations * (
        SECONDS_PER_TREE_COLUMN * columns + TREE_SECONDS_PER_CELL * MEAN_TREE_SHARE * max_cells
    )
    search_seconds = (
        SEARCH_SECONDS_PER_ROW * problem.n * (table_count + COUNTS_PER_PAIR * pairs)
        + SEARCH_SECONDS_PER_TRIAL * columns * pairs
        + SEARCH_SECONDS_PER_CELL * max_cells * (table_count + pairs)
    )
    return fit_seconds + search_seconds


def listed_refit_seconds(problem: QueryRelease, answer_count: int, budget: Budget) -> float:
    """Return the predicted seconds of a fit to all cells that goes on from the one before."""
    seconds = LISTED_SECONDS_PER_ITERATION + LISTED_SECONDS_PER_ANSWER * answer_count
    return _refit_iterations(problem, budget) * (
        seconds + LISTED_SECONDS_PER_CELL * problem.domain.size
    )


def grouped_refit_seconds(problem: QueryRelease, budget: Budget) -> float:
    """Return the predicted seconds of such a fit to all cells in groups of columns."""
    seconds = GROUPED_SECONDS_PER_ITERATION + GROUPED_SECONDS_PER_CELL * problem.domain.size
    return _refit_iterations(problem, budget) * seconds


def tree_refit_seconds(problem: QueryRelease, budget: Budget, max_cells: int) -> float:
    """Return the predicted seconds of such a fit to a tree of at most `max_cells` cells."""
    seconds = SECONDS_PER_TREE_COLUMN * len(problem.domain.shape)
    cells = STEPWISE_TREE_SHARE * likely_tree_cells(problem, max_cells)
    return _refit_iterations(problem, budget) * (seconds + TREE_SECONDS_PER_CELL * cells)


def _listed_iterations(problem: QueryRelease, budget: Budget, max_iterations: int) -> float:
    """Return the predicted iterations of both stages of a fit to all cells."""
    factor = 1.0 if problem.domain.size > LARGE_MODEL_CELLS else FEW_CELLS_FACTOR
    iterations = factor * LISTED_ITERATIONS * math.sqrt(_signal(problem, budget))
    return min(iterations, max_iterations)


def _refit_iterations(problem: QueryRelease, budget: Budget) -> float:
    """Return the predicted iterations of both stages of a fit that goes on from the one before."""
    return min(REFIT_ITERATIONS * math.sqrt(_signal(problem, budget)), MAX_REFIT_ITERATIONS)


def _signal(problem: QueryRelease, budget: Budget) -> float:
    """Return n√ρ, in which the noise on a share is about one."""
    return problem.effective_n * math.sqrt(budget.rho)
