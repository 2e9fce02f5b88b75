"""The problems that algorithms solve: query release, points, risk minimisation, columns."""

from .column_measurement import ColumnMeasurement
from .kinds import (
    MAX_ENUMERABLE_CELLS,
    BoundedContribution,
    PointRelease,
    PublicStart,
    QueryRelease,
    RiskMinimisation,
    TableAnswerer,
    check_distribution,
    public_start_from_table,
    query_text,
    require_enumerable,
)
