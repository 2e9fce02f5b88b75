"""The sources of errors, and errors to compare with; from real data, not for publishing.

Everything here is computed from the real records, to explore by; nothing of it is ever released.
"""

import math
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from ..accuracy.usefulness import all_queries_count_rows
from ..algorithms.algorithm import Algorithm, make_plan
from ..core.errors import InputError
from ..core.parameters import declared_parameters
from ..core.provenance import Provenance
from ..core.types import Array, Rng, frozen, value_object
from ..models.graphical_model import GraphicalModel
from ..models.releases import Histogram, Release, SyntheticRows
from ..privacy.accounting import MAX_EPSILON, Budget, Plan
from ..problems import MAX_ENUMERABLE_CELLS, QueryRelease, require_enumerable
from ..queries import Marginals, Workload
from ..schema.domain import Domain, Rows
from .metrics import compute_errors
from .release_errors import Errors

RESAMPLED_TABLES = 10  # tables drawn to measure a sampling error


@frozen
class Baseline:
    """An error to compare with that needs no algorithm, described in words.

    `answers` (tables, m) are those of the tables that it is the mean error of: `RESAMPLED_TABLES`
    tables if it is random, else one.
    """

    description: str
    errors: Errors
    answers: Array
    tag = Provenance.REAL_DATA


def baseline_errors(
    problem: QueryRelease, rows: Rows, population: Array | None = None
) -> dict[str, Baseline]:
    """Return the errors of up to four baselines: uniform, independent, resampling, sampling.

    `resampling` n rows from the table is the floor for every release of n synthetic rows drawn at
    random, and, where P is not known, the usual estimate of the table's own sampling error.
    `independent` columns have the product of the marginals. It and `uniform` are left out where the
    cells cannot be enumerated, `sampling` where P (k,) is not given.
    """
    workload = problem.workload
    truth = workload.answers_of_rows(rows)
    n = rows.n if all_queries_count_rows(workload) else None
    baselines_by_name = {}
    if problem.domain.size <= MAX_ENUMERABLE_CELLS:
        k = problem.domain.size
        for name, D, description in (
            ("uniform", np.full(k, 1 / k), "knowing nothing: all combinations alike"),
            (
                "independent",
                product_of_marginals(problem.domain, rows),
                "knowing each column, but nothing of how they combine",
            ),
        ):
            answers = workload.answers(D)
            baselines_by_name[name] = Baseline(
                description, compute_errors(answers, truth, workload, n), answers[None]
            )
    rng = np.random.default_rng(0)
    resampled_answers = np.stack(
        [
            workload.answers_of_rows(resample_rows(rows, rows.n, rng))
            for _ in range(RESAMPLED_TABLES)
        ]
    )
    resampled_errors = [
        compute_errors(answers, truth, workload, n) for answers in resampled_answers
    ]
    baselines_by_name["resampling"] = Baseline(
        f"drawing {rows.n:,} rows from the table at random",
        Errors.mean(resampled_errors),
        resampled_answers,
    )
    if population is not None:
        sampling_errors = compute_errors(truth, workload.answers(population), workload)
        baselines_by_name["sampling"] = Baseline(
            f"the table itself, {rows.n:,} draws from its population",
            sampling_errors,
            truth[None],
        )
    return baselines_by_name


def product_of_marginals(domain: Domain, rows: Rows) -> Array:
    """Return the product (k,) of the rows' 1-way marginals."""
    one_way = Marginals.all(domain, 1)
    answers = one_way.answers_of_rows(rows)
    return reduce(np.multiply.outer, [answers[table] for table in one_way.tables]).ravel()


def empirical_distribution(domain: Domain, rows: Rows) -> Array:
    """Return the table's distribution P_n (k,), to be used as a population.

    Raises InputError where cells cannot be enumerated.
    """
    require_enumerable(domain)
    votes = np.bincount(domain.cell_numbers(rows.values), rows.weights, domain.size)
    return votes / rows.vote_count


def resample_rows(rows: Rows, n: int, rng: Rng) -> Rows:
    """Draw a table of n rows with replacement from the rows of another."""
    return rows_with_counts(rows.values, rng.multinomial(n, rows.weights / rows.vote_count))


def split_held_out(rows: Rows, count: int, rng: Rng) -> tuple[Rows, Rows]:
    """Split off a simple random sample of `count` rows; return the other rows and that sample."""
    weights = rows.weights.astype(np.int64)
    held_out_weights = rng.multivariate_hypergeometric(weights, count, method="marginals")
    return rows_with_counts(rows.values, weights - held_out_weights), rows_with_counts(
        rows.values, held_out_weights
    )


def draw_rows(domain: Domain, P: Array, n: int, rng: Rng) -> Rows:
    """Draw a table of n rows from a known population P (k,)."""
    counts = rng.multinomial(n, P / P.sum())
    cells = np.flatnonzero(counts)
    return Rows(domain.codes_of_cells(cells), counts[cells])


def rows_with_counts(values: Array, counts: Array) -> Rows:
    """Return the table of those rows (r, d) whose counts are positive, with their counts."""
    return Rows(values[counts > 0], counts[counts > 0])


@frozen
class ErrorWaterfall:
    """The sources of every query's error: `parts` (m,) by name, which sum to released − reference.

    `reference` (m,) are the answers of the population where it is known, else of the table's own
    values; `released` (m,) are the release's. The parts, each measured: "sampling" (the table
    instead of its population), "binning" (cells instead of values), "structure" (what the model
    cannot hold: ties that its tree leaves out, records that constraints call impossible), "model"
    (what the algorithm with its settings misses of the rest without noise) and "privacy".
    """

    reference: Array
    parts: dict[str, Array]
    released: Array
    tag = Provenance.REAL_DATA


def split_error_by_source(
    workload: Workload,
    rows: Rows,
    release: Release,
    noiseless: Release,
    population: Array | None = None,
    unbinned_answers: Array | None = None,
) -> ErrorWaterfall:
    """Split the errors of a release on any workload of its domain into their sources.

    `noiseless` is what `noiseless_setting` of the run released with the same seed; what it gets
    wrong is the model's part, smoothing that the run does because of the noise it expects included.
    Where a distribution is held on a tree or under constraints, the best one that it could hold of
    the rows (`nearest_in_model`) tells "structure" from that; as the run without noise may have
    chosen another tree, it is held against the best on its own. `unbinned_answers` (m,): the
    answers by the table's own values (`questions.exact_question_share`); without them no query is
    thought to cut a bin. `population`: P (k,), where known.
    """
    binned_answers = workload.answers_of_rows(rows)
    released = release.answers(workload)
    noiseless_answers = noiseless.answers(workload)
    table_answers = (
        binned_answers if unbinned_answers is None else np.asarray(unbinned_answers, dtype=float)
    )
    reference = table_answers if population is None else workload.answers(population)
    parts = {"binning": binned_answers - table_answers}
    nearest = nearest_in_model(release, rows)
    nearest_noiseless = nearest_in_model(noiseless, rows)
    if nearest is None or nearest_noiseless is None:
        parts |= {
            "model": noiseless_answers - binned_answers,
            "privacy": released - noiseless_answers,
        }
    else:
        nearest_answers = nearest.answers(workload)
        model_error = noiseless_answers - nearest_noiseless.answers(workload)
        parts |= {
            "structure": nearest_answers - binned_answers,
            "model": model_error,
            "privacy": released - nearest_answers - model_error,
        }
    if population is not None:
        parts = {"sampling": table_answers - reference, **parts}
    return ErrorWaterfall(reference, parts, released)


def nearest_in_model(release: Release, rows: Rows) -> Release | None:
    """Return the likeliest distribution for the rows that a release's model can hold.

    None if the model holds any distribution. On a tree it has the rows' own clique tables. Rows
    that constraints call impossible are left out.
    """
    if not isinstance(release, GraphicalModel | Histogram):
        return None
    domain = release.domain
    is_possible = domain.possible_rows_mask(rows.values)
    if not is_possible.any():
        return None
    possible_rows = rows_with_counts(rows.values, np.where(is_possible, rows.weights, 0))
    if isinstance(release, Histogram):
        return (
            None
            if is_possible.all()
            else SyntheticRows(domain, possible_rows.values, possible_rows.weights)
        )
    tree = release.junction
    cliques = Marginals(domain, [[domain.names[a] for a in clique] for clique in tree.cliques])
    return GraphicalModel(domain, tree, cliques.answers_of_rows(possible_rows))


def noiseless_setting(
    algorithm: Algorithm, problem: QueryRelease, budget: Budget
) -> tuple[Algorithm, Budget]:
    """Return the algorithm with its plan's settings, and a budget so large that noise vanishes."""
    return with_planned_parameters(algorithm, make_plan(algorithm, problem, budget)), Budget(
        MAX_EPSILON, budget.delta
    )


def with_planned_parameters(algorithm: Algorithm, plan: Plan) -> Any:
    """Return the algorithm with every parameter left to its plan set to the plan's choice."""
    unset_names = [
        p.name for p in declared_parameters(type(algorithm)) if getattr(algorithm, p.name) is None
    ]
    planned_values = {name: plan[name] for name in unset_names}
    return replace(algorithm, **planned_values)  # type: ignore[type-var]


@value_object
class GroupComparison:
    """The claim that `value` of `outcome` is more frequent among `first` than among `second`.

    A comparison that a reader might draw. `first` and `second` are values of the column `group`;
    all are labels of the domain's cells.
    """

    group: str
    first: str
    second: str
    outcome: str
    value: str

    def workload(self, domain: Domain) -> Marginals:
        """Return the marginal of both columns, which answers the comparison.

        Raises InputError for an unknown label, or one column used twice.
        """
        for name, labels in (
            (self.group, (self.first, self.second)),
            (self.outcome, (self.value,)),
        ):
            column_labels = domain.column(name).labels
            for label in labels:
                if label not in column_labels:
                    raise InputError(
                        f"column {name!r} has no value {label!r}; its values are "
                        f"{', '.join(column_labels[:8])}"
                    )
        return Marginals(domain, [[self.group, self.outcome]])

    def share_difference(self, domain: Domain, answers: Array) -> float:
        """Return the share of `value` among `first` minus that among `second`, from answers (m,).

        NaN for empty groups: shares of a group whose released size is 0 or less mean nothing.
        """
        table = self.workload(domain)
        answers = answers.reshape(table.shapes[0])
        if table.axes[0] != domain.axes([self.group, self.outcome]):
            answers = answers.T
        group = domain.column(self.group)
        outcome = domain.column(self.outcome)
        sizes = answers.sum(axis=1)
        column = outcome.labels.index(self.value)
        shares = [
            float(answers[i, column] / sizes[i]) if sizes[i] > 0 else math.nan
            for i in map(group.labels.index, (self.first, self.second))
        ]
        return shares[0] - shares[1]
