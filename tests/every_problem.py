"""The small problem of any kind, with its records, on which an algorithm is tested."""

from dpcore import ALGORITHMS, PointRelease, QueryRelease
from tests import point_problems, risk_problems
from tests.small_problems import query_problem, seeded


def problem_and_records(name, where):
    """The problem of an algorithm's kind that has the name `where`, and its records."""
    kind = ALGORITHMS[name].problem
    if kind is QueryRelease:
        return query_problem(where)
    if kind is PointRelease:
        region = point_problems.REGIONS[where]
        return point_problems.point_problem(region.uniform(60, seeded(0)), region)
    return risk_problems.risk_problem(where, 3 if name == "alternating_sampler" else 60)
