"""The curator of points in a bounded region: it counts their votes for public candidates."""

from ..statistics.votes import Votes
from .curator import Curator


class PointCurator(Curator):
    """The holder of points (r, d), which counts their votes."""

    _statistic_types = (Votes,)
    __slots__ = ()
