"""The errors that a release is predicted to have, by simulation: no row of the table is read.

Before a release its plan is run on tables that are drawn from what is public alone; after it on
tables that are drawn from the release itself, which is post-processing and costs no budget. What
the noise alone promises, whatever the table, is `accuracy.usefulness.promised_error`.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

import numpy as np

from ..algorithms.algorithm import Algorithm, forecast_seconds_and_bytes
from ..core.errors import InputError, PrivacyWarning
from ..core.types import Array, Json, ProgressCallback, Rng, ignore_progress, value_object
from ..models.releases import Release, UnbiasedAnswers
from ..privacy.accounting import Plan
from ..problems import QueryRelease
from ..queries import Workload
from ..queries.workload import table_columns
from ..schema.constraints import replace_impossible_rows
from ..schema.domain import Domain, Rows
from .release_errors import Errors
from .run import FINAL_STEP_ONLY, Run

PUBLIC_BASIS = "public"  # tables were drawn from the schema and n alone
RELEASE_BASIS = "release"  # tables were drawn from the release itself
SIMULATION_SECONDS = 3.0  # about as long as repeats may take, by their forecast
MIN_RUN_SECONDS = 0.01
MIN_RUNS = 2  # of all tables together
MAX_REPEATS = 9
# by which a real table's errors may differ from those of drawn tables, measured on real tables
# (tests/benchmarks/predicted.py); the largest error is seldom less, where a strong link is lost
MARGIN_RATIO = 1.25
LARGEST_MARGIN_RATIO = 2.0
MAX_RANGE_RATIO = 3.0  # a wider range of rows in a wrong cell says nothing
LATENT_GROUPS = 8  # groups of alike rows, in a table with links
CONCENTRATION = 0.3  # of the shares of values in such a group: the smaller, the fewer are common


def even_table(domain: Domain, n: int, rng: Rng) -> Rows:
    """Draw n rows with all values alike and nothing linked."""
    return _table_of_codes(domain, [rng.integers(0, size, n) for size in domain.shape], rng)


def skewed_table(domain: Domain, n: int, rng: Rng) -> Rows:
    """Draw n rows with one common value and many rare ones in each column, nothing linked.

    The values' shares fall as 1, 1/4, 1/9 and so on, in any order.
    """
    codes = [rng.choice(size, n, p=_falling_shares(size, 2, rng)) for size in domain.shape]
    return _table_of_codes(domain, codes, rng)


def linked_table(domain: Domain, n: int, rng: Rng) -> Rows:
    """Draw n rows of a few groups: rows of one group are alike in all columns."""
    group = rng.choice(LATENT_GROUPS, n, p=_falling_shares(LATENT_GROUPS, 1, rng))
    codes = []
    for size in domain.shape:
        shares = rng.dirichlet(np.full(size, CONCENTRATION), LATENT_GROUPS)
        cumulative = np.cumsum(shares, axis=1)[group]
        codes.append((rng.random(n)[:, None] > cumulative[:, :-1]).sum(axis=1))
    return _table_of_codes(domain, codes, rng)


PUBLIC_TABLES: tuple[Callable[[Domain, int, Rng], Rows], ...] = (
    even_table,
    skewed_table,
    linked_table,
)


def _falling_shares(size: int, power: int, rng: Rng) -> Array:
    """Return shares (size,) that fall as 1/rank^power, in random order."""
    weights = 1 / np.arange(1, size + 1) ** power
    return rng.permutation(weights / weights.sum())


def _table_of_codes(domain: Domain, columns: list[Array], rng: Rng) -> Rows:
    """Return codes (n,) of each column as rows, of which none is impossible."""
    codes = np.column_stack(columns)
    if domain.allowed_tables:
        possible = domain.possible_rows_mask(codes)
        codes = replace_impossible_rows(codes, possible, domain.example_possible_row, rng)
    return domain.group_rows(codes)


@value_object
class PredictedErrors:
    """The errors of simulated releases: the range in which a real one is predicted to lie.

    `misplaced` and `largest` are (low, high), as shares of the rows (see `Errors`). Of `repeats`
    simulated releases of each table; `basis` says from what these tables were drawn.
    `as_exact_as_sample` is the middle of theirs, None where not every query counts rows.
    `table_columns` are the least and the most columns of a table asked, None without tables.
    """

    misplaced: tuple[float, float]
    largest: tuple[float, float]
    as_exact_as_sample: float | None
    repeats: int
    basis: str
    table_columns: tuple[int, int] | None

    @classmethod
    def of_runs(
        cls, errors: Sequence[Errors], workload: Workload, tables: int, basis: str
    ) -> "PredictedErrors":
        """Return the range of the errors of simulated releases, all repeats of each table."""
        sample_shares = [e.as_exact_as_sample for e in errors if e.as_exact_as_sample is not None]
        misplaced = [e.misplaced for e in errors]
        largest = [e.largest for e in errors]
        return cls(
            misplaced=_widest_allowed(min(misplaced) / MARGIN_RATIO, max(misplaced) * MARGIN_RATIO),
            largest=(min(largest) / MARGIN_RATIO, min(max(largest) * LARGEST_MARGIN_RATIO, 1.0)),
            as_exact_as_sample=float(np.median(sample_shares)) if sample_shares else None,
            repeats=len(errors) // tables,
            basis=basis,
            table_columns=table_columns(workload),
        )

    def to_json(self) -> Json:
        """Return the fields by name, for JSON."""
        return asdict(self)


def simulation_repeats(predicted_seconds: float, tables: int) -> int:
    """Return how often each of some tables is released, by the predicted seconds of a run."""
    affordable = int(SIMULATION_SECONDS / max(predicted_seconds * tables, MIN_RUN_SECONDS))
    return min(max(affordable, math.ceil(MIN_RUNS / tables)), MAX_REPEATS)


def draw_public_tables(domain: Domain, n: int) -> list[Rows]:
    """Return tables of n rows drawn from the schema alone: even, skewed, and linked.

    The draws are a public rule's: the same at every call.
    """
    return [draw(domain, n, np.random.default_rng(i)) for i, draw in enumerate(PUBLIC_TABLES)]


def predict_from_release(
    release: Release,
    algorithm: Algorithm,
    problem: QueryRelease,
    plan: Plan,
    rng: Rng,
    progress: ProgressCallback = ignore_progress,
) -> PredictedErrors:
    """Return the errors of releases of a table drawn from a release: post-processing, no budget.

    Of a release without a distribution, tables are drawn from what is public instead.
    """
    try:
        tables = [problem.domain.encode(release.sample(problem.n, rng))]
        basis = RELEASE_BASIS
    except InputError:
        if not isinstance(release, UnbiasedAnswers):
            raise
        tables = draw_public_tables(problem.domain, problem.n)
        basis = PUBLIC_BASIS
    return predict_on_tables(tables, basis, algorithm, problem, plan, rng, progress)


def predict_on_tables(
    tables: Sequence[Rows],
    basis: str,
    algorithm: Algorithm,
    problem: QueryRelease,
    plan: Plan,
    rng: Rng,
    progress: ProgressCallback = ignore_progress,
) -> PredictedErrors:
    """Return the errors of releases of invented tables, each with fresh noise."""
    # what noise in floating point may reveal does not matter: no person is in these tables
    plan = replace(plan, exact=False)
    seconds = forecast_seconds_and_bytes(algorithm, problem, plan.budget)[0]
    repeats = simulation_repeats(seconds, len(tables))
    seeds = rng.integers(2**32, size=(len(tables), repeats)).tolist()
    errors = []
    for rows, table_seeds in zip(tables, seeds, strict=True):
        for seed in table_seeds:
            progress(len(errors), len(tables) * repeats)
            errors.append(_simulated_errors(algorithm, problem, rows, plan, seed))
    return PredictedErrors.of_runs(errors, problem.workload, len(tables), basis)


def _simulated_errors(
    algorithm: Algorithm, problem: QueryRelease, rows: Rows, plan: Plan, seed: int
) -> Errors:
    """Return the errors of one release of invented rows."""
    with warnings.catch_warnings():  # whoever asks for the real release was warned
        warnings.simplefilter("ignore", PrivacyWarning)
        run = Run(
            algorithm, problem, rows, plan.budget, seed=seed, every=FINAL_STEP_ONLY, plan=plan
        )
    return run.finish().summarise().query_errors


def _widest_allowed(low: float, high: float) -> tuple[float, float]:
    """Return a range of shares, narrowed about its middle to MAX_RANGE_RATIO where it is wider."""
    if high > MAX_RANGE_RATIO * low > 0:
        middle = math.sqrt(low * high)
        half_ratio = math.sqrt(MAX_RANGE_RATIO)
        low = middle / half_ratio
        high = middle * half_ratio
    return low, min(high, 1.0)
