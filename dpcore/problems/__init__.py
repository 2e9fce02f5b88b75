"""The problems that algorithms solve: query release, points in a region, risk minimisation."""

from .kinds import (
    MAX_CELLS,
    Answering,
    Grouped,
    PointRelease,
    PublicStart,
    QueryRelease,
    RiskMinimisation,
    check_distribution,
    public_start,
    query_words,
    require_enumerable,
)
