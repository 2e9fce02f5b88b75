"""What a finished run showed: what its plan chose, what it spent, and its errors step by step.

`Run.summarise` makes a `RunSummary`. A worker process sends it to the page, a sweep makes a point
of it, and the command line writes its `to_json`. Its errors come from the real rows: they are a
private peek.

>>> from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run, samples
>>> sample = samples.titanic()
>>> rows = sample.domain.encode(sample.frame)
>>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
>>> algorithm = ALGORITHMS["mwem"](rounds=3)
>>> summary = Run(algorithm, problem, rows, Budget(1.0, 1e-6)).finish().summarise()
>>> summary.algorithm, summary.parameters["rounds"], summary.problem.n
('mwem', 3, 2201)
>>> summary.spent.epsilon <= summary.budget.epsilon
True
>>> [point.t for point in summary.convergence]
[1, 2, 3]
>>> summary.errors == summary.convergence[-1].empirical
True
>>> summary.to_json()["final"]["max_error"] == summary.query_errors.max_error
True
"""

from typing import Any

from ..accuracy.meaning_of_epsilon import Promise
from ..core.provenance import Provenance
from ..core.types import Json, by_name, value_object
from ..privacy.accounting import Budget, PlannedEvent, PrivacySpent, Setting
from ..problems.problem_facts import ProblemFacts
from .release_errors import Errors, ReleaseErrors, TaskScore


@value_object
class ConvergencePoint:
    """One point of the convergence curve: the errors of what was released at step t.

    `population` are the errors against the data-generating distribution, where that was given.
    `seconds` is the algorithm's own time so far, without the metrics.
    """

    t: int
    spent: PrivacySpent
    empirical: ReleaseErrors
    population: ReleaseErrors | None
    seconds: float
    note: str = ""
    tag = Provenance.REAL_DATA

    @property
    def query_errors(self) -> Errors:
        """The errors against the real rows of a query release; TypeError for another problem."""
        if not isinstance(self.empirical, Errors):
            raise TypeError(f"{type(self.empirical).__name__} are no errors of queries")
        return self.empirical

    @property
    def errors_by_name(self) -> dict[str, float | None]:
        """The errors by name; those against the population carry the prefix population_."""
        errors = self.empirical.to_json()
        if self.population is not None:
            for name, value in self.population.to_json().items():
                errors[f"population_{name}"] = value
        return errors

    def to_json(self) -> Json:
        """Return the point as one flat dictionary."""
        return {
            "t": self.t,
            **self.errors_by_name,
            "epsilon_spent": self.spent.epsilon,
            "seconds": self.seconds,
        }


@by_name
class RunSummary:
    """A summary of a finished run of an algorithm, by its registered name, with a seed.

    `settings` and `planned_events` are those of the run's plan, which may be a part of the
    `budget`; the `promise` is that of the whole budget. `problem` are the public facts about the
    problem. `scores` are those of each purpose, where a release was scored for some. `memory` is
    the peak in bytes, None where the operating system does not report it.
    """

    algorithm: str
    settings: tuple[Setting, ...]
    budget: Budget
    spent: PrivacySpent
    promise: Promise
    planned_events: tuple[PlannedEvent, ...]
    problem: ProblemFacts
    seed: int
    convergence: tuple[ConvergencePoint, ...]
    memory: int | None
    scores: tuple[TaskScore, ...] | None = None
    tag = Provenance.REAL_DATA

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of the settings, by name."""
        return {setting.name: setting.value for setting in self.settings}

    @property
    def seconds(self) -> float:
        """The algorithm's own seconds, without the metrics."""
        return self.convergence[-1].seconds

    @property
    def errors(self) -> ReleaseErrors:
        """The errors of the last release against the real rows."""
        return self.convergence[-1].empirical

    @property
    def query_errors(self) -> Errors:
        """The errors of the last release of a query release; TypeError for another problem."""
        return self.convergence[-1].query_errors

    @property
    def final_results(self) -> Json:
        """The scores by purpose where there are any, else the last release's errors by name."""
        if self.scores is None:
            return self.convergence[-1].errors_by_name
        return {score.purpose: score.to_json() for score in self.scores}

    def to_json(self) -> Json:
        """Return the summary as a dictionary, as the command line's --json writes it."""
        return {
            "algorithm": self.algorithm,
            "parameters": self.parameters,
            "reasons": {setting.name: setting.why for setting in self.settings},
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "spent": self.spent.to_json(),
            "promise": self.promise.to_json(),
            "charges": [event.to_json() for event in self.planned_events],
            **self.problem.to_json(),
            "seed": self.seed,
            "tags": {
                "final": Provenance.REAL_DATA,
                "records": Provenance.REAL_DATA,
                "spent": Provenance.PUBLIC,
                "promise": Provenance.PUBLIC,
            },
            "final": self.final_results,
            "records": [point.to_json() for point in self.convergence],
            "seconds": self.seconds,
            "memory": self.memory,
        }
