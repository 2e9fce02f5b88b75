"""The sources of errors, and errors to compare with; from real data, not for publishing.

Everything here is computed from the real records, to explore by; nothing of it is ever released.
"""

import math
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from ..accuracy.usefulness import counts_rows
from ..algorithms.algorithm import Algorithm, make_plan
from ..core.errors import InputError
from ..core.parameters import parameters
from ..core.provenance import Tag
from ..core.types import Array, Rng, frozen, value_object
from ..models.graphical_model import Graphical
from ..models.releases import Histogram, Records, Release
from ..privacy.accounting import LARGEST, Budget, Plan
from ..problems import MAX_CELLS, QueryRelease, require_enumerable
from ..queries import Marginals, Workload
from ..schema.domain import Domain, Rows
from .metrics import Errors, errors

RESAMPLES = 10  # tables drawn to measure a sampling error


@value_object
class Baseline:
    """A comparison error that needs no algorithm, named in words; a mean over `RESAMPLES` tables if random."""

    words: str
    errors: Errors
    tag = Tag.PEEK


def baselines(problem: QueryRelease, rows: Rows, population: Array | None = None) -> dict[str, Baseline]:
    """The errors to compare with: `uniform`, `independent` columns, `resampling` n rows, and `sampling`.

    `resampling` n rows from the table is the floor for every release of n synthetic rows drawn at random, and, where P
    is not known, the usual estimate of the table's own sampling error. `uniform` and `independent` are left out where
    the cells cannot be enumerated, `sampling` where P (k,) is not given.
    """
    workload = problem.workload
    truth, n = workload.answers_of_rows(rows), rows.n if counts_rows(workload) else None
    baselines_by_name = {}
    if problem.domain.size <= MAX_CELLS:
        k = problem.domain.size
        for name, D, description in (
            ("uniform", np.full(k, 1 / k), "knowing nothing: all combinations alike"),
            ("independent", independent(problem.domain, rows), "knowing each column, but nothing of how they combine"),
        ):
            baselines_by_name[name] = Baseline(description, errors(workload.answers(D), truth, workload, n))
    rng = np.random.default_rng(0)
    resampled_answers = (workload.answers_of_rows(resample(rows, rows.n, rng)) for _ in range(RESAMPLES))
    resampled_errors = [errors(answers, truth, workload, n) for answers in resampled_answers]
    baselines_by_name["resampling"] = Baseline(
        f"drawing {rows.n:,} rows from the table at random", Errors.mean(resampled_errors)
    )
    if population is not None:
        sampling_errors = errors(truth, workload.answers(population), workload)
        baselines_by_name["sampling"] = Baseline(
            f"the table itself, {rows.n:,} draws from its population", sampling_errors
        )
    return baselines_by_name


def independent(domain: Domain, rows: Rows) -> Array:
    """The product (k,) of the records' 1-way marginals."""
    one_way = Marginals.all(domain, 1)
    answers = one_way.answers_of_rows(rows)
    return reduce(np.multiply.outer, [answers[table] for table in one_way.tables]).ravel()


def empirical(domain: Domain, rows: Rows) -> Array:
    """The table's distribution P_n (k,), taken as a population. Raises InputError where cells cannot be enumerated."""
    require_enumerable(domain)
    return np.bincount(domain.index(rows.values), rows.weights, domain.size) / rows.n


def resample(rows: Rows, n: int, rng: Rng) -> Rows:
    """A table of n records drawn with replacement from the records of another."""
    return counted(rows.values, rng.multinomial(n, rows.weights / rows.n))


def held_out(rows: Rows, count: int, rng: Rng) -> tuple[Rows, Rows]:
    """Two tables: the records without a simple random sample of `count`, and that sample."""
    weights = rows.weights.astype(np.int64)
    held_out_weights = rng.multivariate_hypergeometric(weights, count, method="marginals")
    return counted(rows.values, weights - held_out_weights), counted(rows.values, held_out_weights)


def draw(domain: Domain, P: Array, n: int, rng: Rng) -> Rows:
    """A table of n records drawn from a known population P (k,)."""
    counts = rng.multinomial(n, P / P.sum())
    cells = np.flatnonzero(counts)
    return Rows(domain.codes_of(cells), counts[cells])


def counted(values: Array, counts: Array) -> Rows:
    """The table of the records (r, d) whose counts are positive."""
    return Rows(values[counts > 0], counts[counts > 0])


@frozen
class Waterfall:
    """The sources of every query's error: `parts` (m,) by name, which sum to released − reference.

    `reference` (m,) are the answers of the population where it is known, else of the table's own values; `released`
    (m,) are the release's. The parts, each measured: "sampling" (the table instead of its population), "binning" (cells
    instead of values), "structure" (what the model cannot hold: ties that its tree leaves out, records that constraints
    call impossible), "model" (what the algorithm with its settings misses of the rest without noise) and "privacy".
    """

    reference: Array
    parts: dict[str, Array]
    released: Array
    tag = Tag.PEEK


def waterfall(
    workload: Workload,
    rows: Rows,
    release: Release,
    noiseless: Release,
    population: Array | None = None,
    values: Array | None = None,
) -> Waterfall:
    """The errors of a release, for any workload of its domain, split into their sources.

    `noiseless` is what `noiseless` of the run released with the same seed; what it gets wrong is the model's part,
    smoothing that the run does because of the noise it expects included. Where a distribution is held on a tree or
    under constraints, the best one that it could hold of the records (`nearest_of_model`) tells "structure" from that;
    as the twin without noise may have chosen another tree, it is held against the best on its own. `values` (m,): the
    answers by the table's own values (`questions.unbinned`); without them no query is thought to cut a bin.
    `population`: P (k,), where known.
    """
    binned_answers, released, noiseless_answers = (
        workload.answers_of_rows(rows),
        release.answers(workload),
        noiseless.answers(workload),
    )
    table_answers = binned_answers if values is None else np.asarray(values, dtype=float)
    reference = table_answers if population is None else workload.answers(population)
    parts = {"binning": binned_answers - table_answers}
    nearest, nearest_noiseless = (nearest_of_model(model, rows) for model in (release, noiseless))
    if nearest is None or nearest_noiseless is None:
        parts |= {"model": noiseless_answers - binned_answers, "privacy": released - noiseless_answers}
    else:
        nearest_answers, model_error = (
            nearest.answers(workload),
            noiseless_answers - nearest_noiseless.answers(workload),
        )
        parts |= {
            "structure": nearest_answers - binned_answers,
            "model": model_error,
            "privacy": released - nearest_answers - model_error,
        }
    if population is not None:
        parts = {"sampling": table_answers - reference, **parts}
    return Waterfall(reference, parts, released)


def nearest_of_model(release: Release, rows: Rows) -> Release | None:
    """The likeliest distribution for the records among those a release's model can hold; None if it holds any.

    On a tree it has the records' own clique tables. Records that constraints call impossible are left out.
    """
    if not isinstance(release, Graphical | Histogram):
        return None
    domain = release.domain
    is_possible = domain.possible(rows.values)
    if not is_possible.any():
        return None
    possible_rows = counted(rows.values, rows.weights * is_possible)
    if isinstance(release, Histogram):
        return None if is_possible.all() else Records(domain, possible_rows.values, possible_rows.weights)
    tree = release.junction
    cliques = Marginals(domain, [[domain.names[a] for a in clique] for clique in tree.cliques])
    return Graphical(domain, tree, cliques.answers_of_rows(possible_rows))


def noiseless(algorithm: Algorithm, problem: QueryRelease, budget: Budget) -> tuple[Algorithm, Budget]:
    """The same algorithm with the settings that its plan chose, and a budget so large that noise vanishes."""
    return with_choices(algorithm, make_plan(algorithm, problem, budget)), Budget(LARGEST, budget.delta)


def with_choices(algorithm: Algorithm, plan: Plan) -> Any:
    """The algorithm with every parameter that was left to its plan set to the plan's choice."""
    unset_names = [p.name for p in parameters(type(algorithm)) if getattr(algorithm, p.name) is None]
    return replace(algorithm, **{name: plan[name] for name in unset_names})  # type: ignore[type-var]


@value_object
class Conclusion:
    """A comparison that a reader might draw: `value` of `outcome` is more frequent among `first` than `second`.

    Both are values of the column `group`; all are labels of the domain's cells.
    """

    group: str
    first: str
    second: str
    outcome: str
    value: str

    def workload(self, domain: Domain) -> Marginals:
        """The table that answers the comparison. Raises InputError for an unknown label, or one column used twice."""
        for name, labels in ((self.group, (self.first, self.second)), (self.outcome, (self.value,))):
            column_labels = domain.column(name).labels
            for label in labels:
                if label not in column_labels:
                    raise InputError(
                        f"column {name!r} has no value {label!r}; its values are {', '.join(column_labels[:8])}"
                    )
        return Marginals(domain, [[self.group, self.outcome]])

    def difference(self, domain: Domain, answers: Array) -> float:
        """The share of `value` among `first` minus that among `second`, from answers (m,); NaN for empty groups.

        Shares of a group whose released size is 0 or less mean nothing.
        """
        table = self.workload(domain)
        answers = answers.reshape(table.shapes[0])
        if table.axes[0] != domain.axes([self.group, self.outcome]):
            answers = answers.T
        group, outcome = domain.column(self.group), domain.column(self.outcome)
        sizes, column = answers.sum(axis=1), outcome.labels.index(self.value)
        shares = [
            float(answers[i, column] / sizes[i]) if sizes[i] > 0 else math.nan
            for i in map(group.labels.index, (self.first, self.second))
        ]
        return shares[0] - shares[1]
