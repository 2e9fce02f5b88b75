"""The junction tree that constraints require: each one's columns lie in a clique. Public sizes decide."""

from ..core.errors import InputError
from ..problems import MAX_CELLS
from ..schema.domain import Domain
from .junction_tree import JunctionTree, fewest_cells, junction_tree


def tied(domain: Domain) -> JunctionTree:
    """The junction tree over single columns and the constraints' tables, which every model contains.

    InputError where that is more than can be held.
    """
    message = "the schema's constraints tie columns together over {} combinations, more than the {:,} a model may hold"
    if (min_cells := fewest_cells(domain.shape, domain.zeros)) > MAX_CELLS:
        raise InputError(message.format(f"at least 10^{len(str(min_cells)) - 1}", MAX_CELLS))
    junction = junction_tree(domain.shape, domain.zeros)
    if domain.zeros and junction.cells > MAX_CELLS:
        raise InputError(message.format(f"{junction.cells:,}", MAX_CELLS))
    return junction
