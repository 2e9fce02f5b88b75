"""The junction tree that constraints require: each constraint's columns lie in a clique.

Public sizes decide.
"""

from ..core.errors import InputError
from ..problems import MAX_ENUMERABLE_CELLS
from ..schema.domain import Domain
from .junction_tree import JunctionTree, build_junction_tree, min_junction_tree_cells


def constraint_junction_tree(domain: Domain) -> JunctionTree:
    """Return the junction tree over single columns and the constraints' tables.

    Every model contains it. Raises InputError if it is more than can be held.
    """
    message = (
        "the schema's constraints tie columns together over {} combinations, more than the "
        "{:,} a model may hold"
    )
    min_cells = min_junction_tree_cells(domain.shape, domain.allowed_tables)
    if (min_cells) > MAX_ENUMERABLE_CELLS:
        raise InputError(
            message.format(f"at least 10^{len(str(min_cells)) - 1}", MAX_ENUMERABLE_CELLS)
        )
    junction = build_junction_tree(domain.shape, domain.allowed_tables)
    if domain.allowed_tables and junction.cells > MAX_ENUMERABLE_CELLS:
        raise InputError(message.format(f"{junction.cells:,}", MAX_ENUMERABLE_CELLS))
    return junction
