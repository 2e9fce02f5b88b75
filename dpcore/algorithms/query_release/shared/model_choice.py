"""The choice of a problem's model: all cells, a small tree over all tables, or one to be found.

Public sizes decide, never rows.
"""

from ....core.types import Array
from ....models.constraint_tree import constraint_junction_tree
from ....models.grouped_cells import GroupedCellsModel, grouped_model
from ....models.junction_tree import build_junction_tree, min_junction_tree_cells
from ....models.listed_cells import ListedCellsModel
from ....models.tree_model import JunctionTreeModel
from ....problems import QueryRelease
from ....queries import Workload

TREE_CELLS_RANGE = (10_000, 3_000_000)  # range of a tree's cells where noisy tables choose it
# range of a tree's cells where the model is fitted anew after every table
STEPWISE_TREE_CELLS_RANGE = (10_000, 300_000)


def model_cell_limit(max_cells: int | None, *, is_stepwise: bool) -> int:
    """Return how many cells a model may hold that answers all tables asked.

    `max_cells`, or as many as the largest tree that is chosen in its place. Time and memory go with
    the cells, and a model of all cells loses no table, so that its noise is known before: it is
    preferred as long as it takes seconds. `is_stepwise`: whether the model is fitted anew after
    every table.
    """
    allowed_range = STEPWISE_TREE_CELLS_RANGE if is_stepwise else TREE_CELLS_RANGE
    return max_cells or allowed_range[1]


def find_public_model(
    problem: QueryRelease, measured_workload: Workload, max_cells: int
) -> JunctionTreeModel | None:
    """Return the model of all cells, else a small junction tree, else None.

    All cells if they are at most `max_cells`. None where such a tree would hold more than
    `max_cells` cells: then tables must be chosen. Decided by public sizes. Raises InputError where
    queries are not read off tables: that needs all cells, as a listed start does.
    """
    domain = problem.domain
    tables = measured_workload.base
    if tables is None:
        problem.require_enumerable()
    if tables is None or lists_all_cells(problem, max_cells):
        return ListedCellsModel(domain)
    # single columns always fit
    max_tree_cells = max(max_cells, constraint_junction_tree(domain).cells)
    if min_junction_tree_cells(domain.shape, tables.axes) > max_tree_cells:
        return None
    junction = build_junction_tree(domain.shape, [*tables.axes, *domain.allowed_tables])
    return JunctionTreeModel(domain, junction) if junction.cells <= max_tree_cells else None


def full_model(problem: QueryRelease, workload: Workload) -> GroupedCellsModel | ListedCellsModel:
    """Return the model of all cells: in groups of columns where that takes less time, else listed.

    A public start is listed. Decided by public sizes.
    """
    grouped = None if problem.start is not None else grouped_model(problem.domain, workload)
    return grouped or ListedCellsModel(problem.domain)


def lists_all_cells(problem: QueryRelease, max_cells: int) -> bool:
    """Return whether a model lists all cells.

    At most `max_cells` of them, or a listed public start. Raises InputError where they are too many
    for any.
    """
    if problem.domain.size <= max_cells or isinstance(problem.start, Array):
        problem.require_enumerable()
        return True
    return False
