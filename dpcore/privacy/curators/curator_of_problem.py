"""Which curator holds the rows of a problem."""

from typing import Any, Final

from ...core.types import Rng
from ...problems import PointRelease, QueryRelease, RiskMinimisation
from ..accounting.budget_meter import Plan
from .curator import Curator
from .point_curator import PointCurator
from .risk_curator import RiskCurator
from .table_curator import TableCurator

CURATOR_TYPES: Final[dict[type, type[Curator]]] = {
    QueryRelease: TableCurator,
    PointRelease: PointCurator,
    RiskMinimisation: RiskCurator,
}


def make_curator(problem: Any, rows: Any, plan: Plan, rng: Rng) -> Curator:
    """Return a new curator of a problem's `rows`.

    The number and grouping of the rows are checked against the problem first.
    """
    if isinstance(problem, QueryRelease):
        return TableCurator(rows, problem.n, plan, rng, group=problem.group, domain=problem.domain)
    curator_type = CURATOR_TYPES[type(problem)]
    return curator_type(rows, problem.n, plan, rng, group=problem.group)
