"""Predicted seconds of processors of one evaluation of a model, from public sizes.

Fitted on runs of `tests.benchmarks.forecasts` on one core of a server of 2023.
"""

from ..problems import QueryRelease

SECONDS_PER_EVALUATION = 1e-4
SECONDS_PER_CELL = 1.1e-8
SECONDS_PER_ANSWER = 4e-8
SECONDS_PER_TREE_COLUMN = 7e-5


def evaluation_seconds(problem: QueryRelease, max_cells: int) -> float:
    """Return the predicted seconds of one normalising and answering of a model.

    Of all cells, if there are `max_cells` of them; else of a tree with at most that many.
    """
    answer_seconds = SECONDS_PER_ANSWER * problem.workload.m
    if max_cells == problem.domain.size:
        return SECONDS_PER_EVALUATION + SECONDS_PER_CELL * max_cells + answer_seconds
    cells = likely_tree_cells(problem, max_cells)
    return SECONDS_PER_TREE_COLUMN * len(problem.domain.shape) + SECONDS_PER_CELL * cells


def likely_tree_cells(problem: QueryRelease, max_cells: int) -> float:
    """Return how many cells a chosen tree has at the most that lacks the largest pair of columns.

    Its two cliques have all columns but one of the two. No more than `max_cells`.
    """
    sizes = sorted(problem.domain.shape)[-2:]
    return min(max_cells, sum(problem.domain.size / size for size in sizes))
