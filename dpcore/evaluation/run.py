"""One run of an algorithm, and the only place where a release is compared with the truth.

What it computes from the records, every error of every Record, is a private peek and tagged so.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..accuracy.meaning_of_epsilon import Promise
from ..accuracy.usefulness import all_queries_count_rows
from ..algorithms import registered_name
from ..algorithms.algorithm import Algorithm, Step, make_plan
from ..algorithms.query_release.shared.earlier_tree import TreeFit
from ..core.errors import InputError, PrivacyWarning
from ..core.numbers import check_synthetic_row_count
from ..core.provenance import Provenance
from ..core.types import Array, Rng, Texts, frozen
from ..data.privacy_unit import PrivacyUnit
from ..models.releases import Release
from ..models.synthetic_people import sample_table
from ..privacy.accounting import Budget, Plan, PrivacySpent, Spend, budget_warnings
from ..privacy.curators.curator_of_problem import make_curator
from ..privacy.noisy_answers import NoisyAnswers
from ..queries import Marginals, Workload
from ..queries.single_columns import single_columns_of
from ..schema.domain import Countable, Domain, sum_to_axes
from .metrics import compute_errors
from .peak_memory import PeakMemory
from .release_errors import Errors, ReleaseErrors
from .run_summary import ConvergencePoint, RunSummary
from .truth import TRUTH_BY_PROBLEM

# a number of steps that no run has: `every` for a comparison after the last step alone
FINAL_STEP_ONLY = 10**9
EACH_ROW = PrivacyUnit()
# the errors that tables show, in this order
ERROR_NAMES = ("misplaced", "largest", "mean_error", "rmse")


def seeded_generators(seed: int) -> tuple[Rng, Rng, Rng]:
    """Return independent generators of a seeded run: for noise, algorithm and synthetic rows.

    The synthetic rows are drawn at the end.
    """
    noise_seed, algorithm_seed, sampling_seed = np.random.SeedSequence(seed).spawn(3)
    return (
        np.random.default_rng(noise_seed),
        np.random.default_rng(algorithm_seed),
        np.random.default_rng(sampling_seed),
    )


class Run:
    """A lazy, cancellable, seeded run: iterate over it for its points, stop to cancel.

    A Record below is a `ConvergencePoint`.

    With `every` > 1, a number or a function of the plan's rounds, only every so many-th step, and
    the last one, is compared with the truth and becomes a Record. With `path` what every step
    released is kept in `path`, in order; else that list stays empty. Of very many tables on a tree
    only some are compared after a step, and the Record says so; after the last one all are. Where
    that came before its time, a second Record of the same step takes the rough one's place. `stop`
    is asked after every step, be it compared or not; the step after which it says yes is the last
    one, and the run is `stopped`. `plan` is there at once, made for the whole budget unless one is
    given, as for a part of the budget: then `mass_sum` is the promise of all that the budget pays
    for; `release` is the last released object; `convergence` what was yielded so far; `truth` what
    it is compared with. `spent` is the ledger's total so far, `events` what was charged.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> [point.t for point in Run(MWEM(rounds=3), problem, rows, Budget(1.0, 1e-9))]
    [1, 2, 3]
    """

    def __init__(
        self,
        algorithm: Algorithm,
        problem: Any,
        rows: Countable,
        budget: Budget,
        *,
        seed: int = 0,
        population: Any = None,
        every: int | Callable[[int], int] = 1,
        path: bool = False,
        stop: Callable[[], bool] = lambda: False,
        plan: Plan | None = None,
        whole: Promise | None = None,
    ) -> None:
        for caution in budget_warnings(budget, problem.n):
            warnings.warn(caution, PrivacyWarning, stacklevel=3)
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise InputError(f"seed={seed} must be a whole number ≥ 0")
        self.algorithm = algorithm
        self.problem = problem
        self.budget = budget
        self.seed = seed
        self._whole = whole
        self.plan = make_plan(algorithm, problem, budget) if plan is None else plan
        self.every = every(self.plan["rounds"]) if callable(every) else every
        noise_rng, self._algorithm_rng, self._sampling_rng = seeded_generators(seed)
        self._curator = make_curator(problem, rows, self.plan, noise_rng)
        self.truth = TRUTH_BY_PROBLEM[type(problem)](problem, rows, population)
        self.convergence: list[ConvergencePoint] = []
        self.release: Release | None = None
        self.tree_fit: TreeFit | None = None  # of a tree that was chosen, once the run has ended
        self.path: list[Release] = []
        self._keep_path = path
        self._stop = stop
        self.stopped = False
        self._iterator = self._run_steps()
        self._peak: PeakMemory | None = None
        self._spent = self._curator.spent

    @property
    def spent(self) -> PrivacySpent:
        """The budget spent so far; without a further charge it is the identical object."""
        spent = self._curator.spent
        if spent != self._spent:
            self._spent = spent
        return self._spent

    @property
    def promise(self) -> Promise:
        """The promise of the whole budget.

        The plan's, unless the plan is only a part of what the budget pays for.
        """
        if self._whole is not None:
            return self._whole
        if self.plan.budget != self.budget:
            return Promise(self.budget.epsilon, self.budget.delta)
        return Promise.of_plan(self.plan, adaptive=self.algorithm.adaptive)

    @property
    def measured(self) -> list[NoisyAnswers]:
        """The noisy answers released so far and their standard errors, both protected."""
        return self._curator.measured_answers

    @property
    def events(self) -> list[tuple[str, Spend]]:
        """The events charged so far, in order."""
        return self._curator.budget_meter.events

    def __iter__(self) -> Iterator[ConvergencePoint]:
        return self._iterator

    def sample(self, rows: int | None = None, unit: PrivacyUnit = EACH_ROW) -> pd.DataFrame:
        """Draw synthetic rows of the last release: `rows` of them, or as many as real ones.

        Where `unit` counts people with totals of rows, these are people, each with its rows. Uses
        no budget.
        """
        if self.release is None:
            raise InputError("nothing has been released yet: iterate over the run first")
        if rows is not None:
            check_synthetic_row_count(rows)
        count = self.problem.n if rows is None else rows
        return sample_table(self.release, unit, count, self._sampling_rng)

    def finish(self) -> "Run":
        """Run to the end and return self."""
        for _ in self:
            pass
        return self

    def _run_steps(self) -> Iterator[ConvergencePoint]:
        """Yield the convergence point of each compared step, as the algorithm makes them."""
        seconds = 0.0
        self._peak = PeakMemory()
        step = None
        approximate_errors = None
        start = time.perf_counter()
        for step in self.algorithm.steps(
            self.problem, self.plan, self._curator, self._algorithm_rng
        ):
            seconds += time.perf_counter() - start
            self.release = step.release
            self.tree_fit = step.tree_fit
            if self._keep_path:
                self.path.append(step.release)
            self.stopped = self._stop()
            if self.stopped:
                break
            if step.t % self.every == 0:
                approximate_errors = (
                    None
                    if step.t == self.plan["rounds"]
                    else self.truth.approximate_errors(step.release)
                )
                yield self._add_convergence_point(step, seconds, approximate_errors)
            start = time.perf_counter()
        if step is not None and (
            self.stopped or step.t % self.every != 0 or approximate_errors is not None
        ):
            yield self._add_convergence_point(
                step, seconds, self.truth.approximate_errors(step.release) if self.stopped else None
            )

    def _add_convergence_point(
        self, step: Step, seconds: float, approximate_errors: ReleaseErrors | None
    ) -> ConvergencePoint:
        """Append the convergence point of a step and return it.

        Its errors are `approximate_errors` where there are any. The point is then the last in
        `convergence`.
        """
        if approximate_errors:
            empirical = approximate_errors
            population = None
            note = f"{step.note}; errors of some of the tables, all are compared at the end"
        else:
            empirical, population = self.truth.errors_vs_sample_and_population(step.release)
            note = step.note
        # the point before was of approximate errors
        if self.convergence and self.convergence[-1].t == step.t:
            self.convergence.pop()
        point = ConvergencePoint(step.t, self.spent, empirical, population, seconds, note)
        self.convergence.append(point)
        return point

    def provisional_errors(self, rows: Countable, earlier: TreeFit) -> ReleaseErrors | None:
        """Return about what the run will find, on the tree of an earlier run; None without one.

        A private peek for a page on which somebody moves ε: it is no part of the run, which neither
        knows of it nor depends on it. Its noise is that of this run's plan, from a curator of its
        own.

        Args:
            rows: The real rows of the run.
            earlier: What a run of the same problem found at another budget; of noisy answers alone.

        """
        noise_rng, _, _ = seeded_generators(self.seed)
        curator: Any = make_curator(self.problem, rows, self.plan, noise_rng)
        release = self.algorithm.provisional_release(self.problem, self.plan, curator, earlier)
        if release is None:
            return None
        return self.truth.errors_vs_sample_and_population(release)[0]

    def summarise(self) -> RunSummary:
        """Return what the run showed; it has made one step at least."""
        planned_events = [replace(event, statistic=None) for event in self.plan.planned_events]
        return RunSummary(
            algorithm=registered_name(self.algorithm),
            settings=self.plan.settings,
            budget=self.budget,
            spent=self.spent,
            promise=self.promise,
            planned_events=tuple(planned_events),
            problem=self.problem.facts,
            seed=self.seed,
            convergence=tuple(self.convergence),
            memory=self._peak.bytes_above_start if self._peak else None,
        )


@frozen
class Comparison:
    """A workload's answers (m,) on the real rows and by a release, side by side.

    Not for publishing. `n` rows are compared with, where every query counts rows.
    """

    workload: Workload
    real: Array
    synthetic: Array
    n: int | None = None
    tag = Provenance.REAL_DATA

    @property
    def gaps(self) -> Array:
        """The absolute differences |synthetic − real| (m,)."""
        return np.abs(self.synthetic - self.real)

    @property
    def single_columns(self) -> "Comparison | None":
        """The comparison of the single columns of the tables asked; None without tables."""
        columns = single_columns_of(self.workload)
        if columns is None:
            return None
        return Comparison(
            columns.workload, columns.answers(self.real), columns.answers(self.synthetic), self.n
        )

    @property
    def with_largest_error(self) -> "Comparison":
        """The comparison that has the largest error: this one, or that of the single columns."""
        columns = self.single_columns
        if columns is None or columns.gaps.max() <= self.gaps.max():
            return self
        return columns

    @property
    def errors(self) -> Errors:
        """The errors of the synthetic answers: rows in a wrong cell, the largest, and more."""
        return compute_errors(self.synthetic, self.real, self.workload, self.n)

    def worst(self, count: int) -> Array:
        """Return the indices of the `count` worst-answered queries, worst first."""
        return np.argsort(-self.gaps, kind="stable")[:count]


def compare_with_rows(release: Release, rows: Countable, workload: Workload) -> Comparison:
    """Compare a release with the rows on any workload of its domain."""
    real = workload.answers_of_rows(rows)
    n = rows.n if all_queries_count_rows(workload) else None
    return Comparison(workload, real, release.answers(workload), n)


@frozen
class SubgroupErrors:
    """The real share and the release's relative error for every value of one column.

    `error` is Σ |synthetic − real| over all cells of the group, in its tables with the other
    columns, divided by Σ (|synthetic| + |real|): 0 where they say the same, 1 at the most, where
    they have nothing in common. The same noise weighs more on a small group. NaN where nobody is in
    it. A private peek.
    """

    labels: Texts
    share: Array
    error: Array
    tag = Provenance.REAL_DATA


def subgroup_errors(comparison: Comparison, column: str) -> SubgroupErrors:
    """Return the release's error about each value of `column`.

    From a comparison on pairs with it (`pairs_with_column`).
    """
    pairs = comparison.workload
    if not isinstance(pairs, Marginals):
        raise InputError("groups are read off marginal tables only")
    axis = pairs.domain.names.index(column)
    difference_sums = []
    mass_sums = []
    real = np.zeros(0)
    for axes, shape, table in pairs.layout:
        if axis in axes:
            mass = np.abs(comparison.synthetic[table]) + comparison.real[table]
            gaps = comparison.gaps[table].reshape(shape)
            real = sum_to_axes(comparison.real[table].reshape(shape), axes, [axis])
            difference_sums.append(sum_to_axes(gaps, axes, [axis]))
            mass_sums.append(sum_to_axes(mass.reshape(shape), axes, [axis]))
    error = np.divide(
        np.sum(difference_sums, axis=0),
        np.sum(mass_sums, axis=0),
        out=np.full(len(real), np.nan),
        where=real > 0,
    )
    return SubgroupErrors(pairs.domain.columns[axis].labels, real, error)


def pairs_with_column(domain: Domain, column: str | None = None) -> Marginals:
    """Return the marginals of all pairs of columns, or of those with `column`.

    If there is no other column, the one of `column` itself.
    """
    if column is None:
        return Marginals.all(domain, min(2, len(domain.names)))
    others = [name for name in domain.names if name != column]
    return Marginals(domain, [[column, other] for other in others] or [[column]])
