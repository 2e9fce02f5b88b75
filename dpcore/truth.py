"""What a release is compared with, one class for each kind of problem. Imports problems, releases and metrics.

Everything computed here from records is a private peek; only `run` makes these.
"""

from typing import Any, Protocol

import numpy as np

from .domain import Rows
from .metrics import Errors, errors
from .problems import QueryRelease, check_distribution
from .releases import Release


class Measured(Protocol):
    """Errors of a release: named numbers, of which a line of progress shows one, the `headline`."""

    @property
    def headline(self) -> tuple[str, float]:
        """Its name in words, and the number."""
        ...

    def to_json(self) -> dict[str, float | None]:
        """The numbers by name."""
        ...


class Truth(Protocol):
    """The real records of a problem, and its population where that is known."""

    def empirical(self, release: Any) -> Measured:
        """Errors against the records."""
        ...

    def population(self, release: Any) -> Measured | None:
        """Errors against the data-generating distribution; None where it is not known."""
        ...


class QueryTruth:
    """Answers (m,) of the workload on the records, and on a population P (k,) where that was given."""

    def __init__(self, problem: QueryRelease, rows: Rows, population: np.ndarray | None) -> None:
        self.workload = problem.workload
        self.answers = self.workload.answers_of_rows(rows)
        self.population_answers = None
        if population is not None:
            P = check_distribution(population, problem.domain, "the population")
            self.population_answers = self.workload.answers(P)

    def empirical(self, release: Release) -> Errors:
        """Errors against the records."""
        return errors(release.answers(self.workload), self.answers, self.workload)

    def population(self, release: Release) -> Errors | None:
        """Errors against the population."""
        if self.population_answers is None:
            return None
        return errors(release.answers(self.workload), self.population_answers, self.workload)


TRUTHS: dict[type, type] = {QueryRelease: QueryTruth}
