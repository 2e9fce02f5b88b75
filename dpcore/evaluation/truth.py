"""The truth that a release is compared with, one class for each kind of problem.

Everything computed here from records is a private peek; only `run` makes these.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..accuracy.usefulness import all_queries_count_rows
from ..core.errors import InputError
from ..core.types import Array, value_object
from ..models.graphical_model import GraphicalModel
from ..models.releases import Release, ReleasedParameter, ReleasedPoints
from ..problems import PointRelease, QueryRelease, RiskMinimisation, check_distribution
from ..problems.risks import Risk, minimise_risk
from ..problems.transport import w1_distance
from ..queries import Marginals
from ..schema.domain import Countable, Rows
from .metrics import compute_errors
from .release_errors import Errors, ReleaseErrors

MAX_TABLES_PER_STEP = 400  # tables that a tree answers after every step
SAMPLED_TABLES = 100  # tables that it answers where there are more


class Truth(Protocol):
    """The real records of a problem, and its population where that is known."""

    # a subclass may need the release
    def approximate_errors(self, release: Any) -> ReleaseErrors | None:  # noqa: ARG002
        """Return the errors on a part of the queries, where computing all takes long; else None."""
        return None

    def errors_vs_sample_and_population(
        self, release: Any
    ) -> tuple[ReleaseErrors, ReleaseErrors | None]:
        """Return the errors against the rows, and against the data-generating distribution.

        The second is None where that distribution is unknown.
        """
        ...


class QueryTruth(Truth):
    """The workload's true answers (m,) on the rows, and on a population P (k,) if given."""

    def __init__(self, problem: QueryRelease, rows: Countable, population: Array | None) -> None:
        self.workload = problem.workload
        self.answers = self.workload.answers_of_rows(rows)
        self.n = problem.n if all_queries_count_rows(self.workload) else None
        self.population_answers = None
        if population is not None:
            P = check_distribution(population, problem.domain, "the population")
            self.population_answers = self.workload.answers(P)

    def approximate_errors(self, release: Release) -> Errors | None:
        """Return errors against the rows on some tables where a tree would answer very many.

        Else None. The tables are drawn by a public rule, and are the same at every call.
        """
        w = self.workload
        if (
            not isinstance(w, Marginals)
            or len(w.tables) <= MAX_TABLES_PER_STEP
            or not isinstance(release, GraphicalModel)
        ):
            return None
        table_numbers = np.random.default_rng(0).choice(
            len(w.tables), SAMPLED_TABLES, replace=False
        )
        sampled_workload = Marginals.over_axes(w.domain, [w.axes[i] for i in table_numbers])
        true_answers = np.concatenate([self.answers[w.tables[i]] for i in table_numbers])
        return compute_errors(
            release.answers(sampled_workload), true_answers, sampled_workload, self.n
        )

    def errors_vs_sample_and_population(self, release: Release) -> tuple[Errors, Errors | None]:
        """Return the errors against the rows, and against the population.

        The release is asked once.
        """
        answers = release.answers(self.workload)
        population_answers = self.population_answers
        population_errors = (
            None
            if population_answers is None
            else compute_errors(answers, population_answers, self.workload)
        )
        return compute_errors(answers, self.answers, self.workload, self.n), population_errors


@value_object
class RiskErrors(ReleaseErrors):
    """The risk F(x) of a parameter and its excess over the least risk on K.

    `accuracy` is that of its signs, for labels.
    """

    headline_name = "excess risk"
    excess_risk: float
    risk: float
    accuracy: float | None


class RiskTruth(Truth):
    """The empirical risk, and that of held-out rows if given.

    Held-out rows are Rows in the same columns. `min_risk` is the smallest empirical risk on K
    without any privacy.
    """

    def __init__(self, problem: RiskMinimisation, rows: Rows, population: Rows | None) -> None:
        self.problem = problem
        self._risk, self.min_risk = self._risk_and_minimum(rows)
        self._held_out_risk = None if population is None else self._risk_and_minimum(population)

    def errors_vs_sample_and_population(
        self, release: ReleasedParameter
    ) -> tuple[RiskErrors, RiskErrors | None]:
        """Return the risk errors of a released parameter on the rows, and on the held-out rows."""
        held_out_errors = (
            None
            if self._held_out_risk is None
            else self._risk_errors(release.x, *self._held_out_risk)
        )
        return self._risk_errors(release.x, self._risk, self.min_risk), held_out_errors

    def _risk_and_minimum(self, rows: Rows) -> tuple[Risk, float]:
        """Return the risk on some rows, and its least value on K."""
        risk = self.problem.risk(rows)
        return risk, risk.value(minimise_risk(risk, self.problem.region))

    def _risk_errors(self, x: Array, risk: Risk, min_risk: float) -> RiskErrors:
        """Return the errors of a parameter x (d,) by a risk and the least value of that risk."""
        value = risk.value(x)
        accuracy = float(risk.w @ (risk.b * (risk.A @ x) > 0)) if self.problem.loss.margin else None
        return RiskErrors(value - min_risk, value, accuracy)


@value_object
class PointErrors(ReleaseErrors):
    """The W1 distance of two point distributions, and a bound on the error of that distance.

    The bound is 0 where the distance was computed exactly.
    """

    headline_name = "distance W1"
    w1: float
    w1_error: float


class PointTruth(Truth):
    """The real points and their counts.

    Computing a distance takes longer than a step: `Run(every=…)` skips some.
    """

    def __init__(self, problem: PointRelease, rows: Rows, population: Array | None) -> None:
        if population is not None:
            raise InputError("a population of points cannot be compared with; leave it out")
        self.rows = rows

    def errors_vs_sample_and_population(self, release: ReleasedPoints) -> tuple[PointErrors, None]:
        """Return the W1 distance to the rows, and None.

        The data-generating distribution is unknown.
        """
        distance = w1_distance(self.rows.values, self.rows.weights, release.points, release.weights)
        return PointErrors(distance.value, distance.error), None


TRUTH_BY_PROBLEM: dict[type, Callable[..., Truth]] = {
    QueryRelease: QueryTruth,
    RiskMinimisation: RiskTruth,
    PointRelease: PointTruth,
}
