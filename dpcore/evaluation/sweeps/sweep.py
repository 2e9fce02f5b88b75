"""Runs of many algorithms at many budgets with many seeds, each of which becomes one point.

Every point holds errors against the real records: a private peek.
"""

import hashlib
import json
import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...algorithms.algorithm import Algorithm, forecast_seconds_and_bytes, make_plan
from ...core.errors import InputError, PrivacyWarning, user_message
from ...core.job import JobState
from ...core.parameters import parameter_values
from ...core.provenance import Provenance
from ...core.types import Array, Json, Kinds, ProgressCallback, by_name, ignore_progress
from ...data.privacy_unit import PrivacyUnit
from ...data.sources.gathered_counts import GatheredCounts
from ...privacy.accounting import Budget
from ...problems import PublicStart, QueryRelease
from ...queries import Explicit, Marginals, TableQueries, Union, Workload
from ...schema.cell_text import factorize_texts
from ...schema.column_readings import comparable_name
from ...schema.domain import Countable
from ...schema.schema_json import domain_to_json
from ..run import Run
from ..run_summary import RunSummary
from .shared_rows import SharedRows
from .worker_pool import JobSpec, RunJob, WorkerPool

MAX_POINTS = 100_000
# times, at most, that a run in this process lets its caller look around
MAX_COMPARISONS_PER_RUN = 50
POLL_SECONDS = 0.1

NUMBER = (int, float)
STATES = ("done", "refused", "failed")
POINT_FIELD_TYPES: dict[str, type | Kinds] = {  # of a `SweepPoint` in a file
    "algorithm": str,
    "settings": dict,
    "epsilon": NUMBER,
    "delta": NUMBER,
    "seed": int,
    "state": str,
    "message": str,
    "errors": dict,
    "spent": dict,
    "seconds": (*NUMBER, type(None)),
    "memory": (int, type(None)),
}


class PointKey(NamedTuple):
    """The key of a point within its sweep; points are sorted by it."""

    algorithm: str
    epsilon: float
    delta: float
    seed: int


def is_error_value(value: Any) -> bool:
    """Return whether a value can be the error of a run: a number, or None if not defined."""
    return value is None or isinstance(value, (int, float))


@by_name
class SweepPoint:
    """One run of a sweep, with its outcome.

    `algorithm` is its name in the sweep, `settings` its parameters (None: by the plan).

    state "done": `errors` are those of the last release by name, those against a population with
    the prefix population_; `spent` is the ledger's total; `seconds` are the algorithm's own, and
    `memory` is its peak in bytes. "refused": it cannot serve this problem at this budget, says
    `message`, by public numbers alone. "failed": it broke off, and `message` says how.
    """

    algorithm: str
    settings: Json
    epsilon: float
    delta: float
    seed: int
    state: str
    message: str = ""
    errors: dict[str, float | None] = field(default_factory=dict)
    spent: Json = field(default_factory=dict)
    seconds: float | None = None
    memory: int | None = None
    tag = Provenance.REAL_DATA

    @property
    def key(self) -> PointKey:
        """The key that identifies this point within its sweep."""
        return PointKey(self.algorithm, self.epsilon, self.delta, self.seed)

    def to_json(self) -> Json:
        """Return the point as a dictionary, as the files of a sweep hold it."""
        return asdict(self)

    @classmethod
    def from_json(
        cls, document: Any, is_valid_error: Callable[[Any], bool] = is_error_value
    ) -> "SweepPoint":
        """Return the point that `to_json` wrote; raise InputError for anything else.

        Its errors are those that `is_valid_error` accepts.
        """
        try:
            point = cls(**document)
        except TypeError:
            point = None
        if point is None or not point._is_valid(is_valid_error):
            raise InputError(f"{str(document)[:80]} is not a point of a sweep")
        return point

    def _is_valid(self, is_valid_error: Callable[[Any], bool]) -> bool:
        """Return whether every field has its type, and every number is in its range."""
        for name, field_type in POINT_FIELD_TYPES.items():
            if not isinstance(getattr(self, name), field_type):
                return False
        return (
            self.state in STATES
            and 0 < self.epsilon < math.inf
            and 0 <= self.delta < 1
            and all(map(is_valid_error, self.errors.values()))
        )


@by_name
class Case:
    """A planned point: its algorithm, the algorithm's name, its budget and its seed."""

    name: str
    algorithm: Algorithm
    budget: Budget
    seed: int

    @property
    def key(self) -> PointKey:
        """The algorithm, ε, δ and seed that identify the point."""
        return PointKey(self.name, self.budget.epsilon, self.budget.delta, self.seed)

    def make_point(self, state: str, **facts: Any) -> SweepPoint:
        """Return the point of this case in a state: done, refused or failed.

        `facts` are its other fields.
        """
        return SweepPoint(
            algorithm=self.name,
            settings=parameter_values(self.algorithm),
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            seed=self.seed,
            state=state,
            **facts,
        )

    def finished_point(self, summary: RunSummary) -> SweepPoint:
        """Return the point of a finished run."""
        return self.make_point(
            "done",
            errors=summary.final_results,
            spent=summary.spent.to_json(),
            seconds=summary.seconds,
            memory=summary.memory,
        )

    def refused_point(self, problem: QueryRelease) -> SweepPoint | None:
        """Return the point with the reason why the algorithm cannot run; None when it can.

        The reason is found from public numbers.
        """
        try:
            make_plan(self.algorithm, problem, self.budget)
        except InputError as error:
            return self.make_point("refused", message=str(error))
        return None


def check_point_count(point_count: int) -> None:
    """Raise InputError for a sweep of no points, or of too many."""
    if not 1 <= point_count <= MAX_POINTS:
        raise InputError(f"a sweep of {point_count:,} points is outside 1..{MAX_POINTS:,}")


def plan_cases(
    algorithms: Mapping[str, Algorithm],
    problem: QueryRelease,
    budgets: Sequence[Budget],
    seeds: Sequence[int],
) -> list[Case]:
    """Return all cases to run, in an order that shows a first one of every algorithm early.

    All of the first seed come first; within a seed the middle budget, then its neighbours; within a
    budget the algorithms by the time they are forecast to take. InputError for nothing to do, for
    too much and for repetitions.
    """
    check_point_count(len(algorithms) * len(budgets) * len(seeds))
    if len(set(budgets)) < len(budgets) or len(set(seeds)) < len(seeds):
        raise InputError("a budget or a seed of the sweep is named twice")
    ordered_budgets = sorted(budgets, key=lambda b: (b.epsilon, b.delta))
    middle_index = len(ordered_budgets) // 2
    ordered_budgets = [
        ordered_budgets[i]
        for i in sorted(range(len(ordered_budgets)), key=lambda i: abs(i - middle_index))
    ]
    forecast_seconds = {
        name: _forecast_seconds(algorithm, problem, ordered_budgets[0])
        for name, algorithm in algorithms.items()
    }
    names = sorted(algorithms, key=forecast_seconds.__getitem__)
    return [
        Case(name=name, algorithm=algorithms[name], budget=budget, seed=seed)
        for seed, budget, name in product(seeds, ordered_budgets, names)
    ]


def _forecast_seconds(algorithm: Algorithm, problem: QueryRelease, budget: Budget) -> float:
    try:
        return forecast_seconds_and_bytes(algorithm, problem, budget)[0]
    except InputError:
        return 0.0  # it will refuse at once


def run_sweep(
    cases: Iterable[Case],
    problem: QueryRelease,
    rows: Countable,
    *,
    pool: WorkerPool | None = None,
    progress: ProgressCallback = ignore_progress,
) -> Iterator[SweepPoint]:
    """Yield the point of each case as soon as its run ends, here or in a pool's workers.

    The numbers are those of a `Run` with the same seed, in both. Lazy: closing the generator, or an
    exception raised in it, cancels what runs. A case that is refused or fails becomes a point, and
    the rest goes on. `progress` is called now and then meanwhile, in this thread, with
    the runs that have ended; in this process with the steps of the run. The budgets'
    cautions are the caller's to show.
    """
    if pool is None:
        for case in cases:
            yield case.refused_point(problem) or run_case(case, problem, rows, progress)
        return
    shared_rows = SharedRows(rows)
    running = []
    finished_count = 0
    try:
        for case in cases:
            refused_point = case.refused_point(problem)
            if refused_point:
                yield refused_point
            else:
                running.append(
                    (case, pool.submit(job_spec_of_case(case, problem, shared_rows), "sweep"))
                )
        while running:
            progress(finished_count, finished_count + len(running))
            running[0][1].wait(POLL_SECONDS)
            for case, job in [pair for pair in running if pair[1].ended]:
                running.remove((case, job))
                finished_count += 1
                yield point_of_job(case, job)
    finally:
        for _, job in running:
            job.cancel()
        shared_rows.free_memory()


def job_spec_of_case(
    case: Case, problem: QueryRelease, shared_rows: SharedRows, population: Array | None = None
) -> JobSpec:
    """Return the job that runs a case in a pool's worker, on shared rows."""
    return JobSpec(
        algorithm=case.algorithm,
        problem=problem,
        budget=case.budget,
        seeds=(case.seed,),
        block=shared_rows.block,
        population=population,
    )


def point_of_job(case: Case, job: RunJob) -> SweepPoint:
    """Return the point of a case whose job has ended; a cancelled job counts as failed."""
    if job.state == JobState.DONE:
        return case.finished_point(job.results[0].summary)
    return case.make_point("failed", message=job.error or job.state.value)


def run_case(
    case: Case, problem: QueryRelease, rows: Countable, progress: ProgressCallback = ignore_progress
) -> SweepPoint:
    """Run a case in this process and return its point."""
    return run_case_with(
        case,
        partial(
            Run,
            case.algorithm,
            problem,
            rows,
            case.budget,
            seed=case.seed,
            every=steps_between_comparisons,
        ),
        progress,
    )


def run_case_with(
    case: Case,
    make_run: Callable[[], Run],
    progress: ProgressCallback,
    summarise: Callable[[Run], RunSummary] = Run.summarise,
) -> SweepPoint:
    """Return the point of a case whose run `make_run` creates, as with a measured schema.

    An InputError makes it the point of a refused case. `summarise` makes the summary of the
    finished run. A bug ends the point with a message.
    """
    run = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            run = make_run()
        for point in run:
            progress(point.t, run.plan["rounds"])
        return case.finished_point(summarise(run))
    # a bug must end one point with a message, not the sweep
    except Exception as error:  # noqa: BLE001
        if run is None and isinstance(error, InputError):
            return case.make_point("refused", message=str(error))
        return case.make_point("failed", message=user_message(error))


def steps_between_comparisons(rounds: int) -> int:
    """Return the number of steps between two comparisons of a run with the truth."""
    return max(1, math.ceil(rounds / MAX_COMPARISONS_PER_RUN))


def sweep_identity(problem: QueryRelease) -> Json:
    """Return the identity of a sweep's task, from public facts only.

    Sweeps with equal ones can be compared.
    """
    return {
        "n": problem.n,
        "rows_per_person": problem.group,
        "columns": list(problem.domain.names),  # their order is that of the cells
        "schema": domain_to_json(problem.domain),
        "queries": problem.workload.m,
        "queries_sha256": _sha256_of_arrays(_arrays_of_workload(problem.workload)),
        "start_sha256": None
        if problem.start is None
        else _sha256_of_arrays(_arrays_of_public_start(problem.start)),
    }


def rows_digest(rows: Countable) -> str:
    """Return a digest of the rows in any order; not for publishing.

    It confirms a guess of the whole table. All that a run sees of a table are these rows, after the
    rows of each person were limited, in the cells of the schema that `sweep_identity` names, in the
    order of its columns, and how many votes each person has where people count. Of rows that were
    only counted, a digest of their tables, and of the bytes of the source, as a run may count more
    tables of it.
    """
    unit_arrays = [np.array([rows.votes_per_unit])] if rows.votes_per_unit > 1 else []
    if isinstance(rows, GatheredCounts):
        parts = [
            part for axes in sorted(rows.tables) for part in (np.array(axes), rows.tables[axes])
        ]
        tables = _sha256_of_arrays([*parts, *unit_arrays])
        source = "" if rows.source is None else rows.source.sha256
        return hashlib.sha256(f"{tables}{source}".encode()).hexdigest() if source else tables
    return _sha256_of_arrays([rows.values, rows.weights, *unit_arrays])


def table_digest(frame: pd.DataFrame, names: Sequence[str], unit: PrivacyUnit) -> str:
    """Return a digest of a table whose schema is measured anew; not for publishing.

    Args:
        frame: the table as it was read.
        names: the columns of the schema, in its order.
        unit: the column that names people, which decides which rows count, and how many of each.

    Returns:
        The same text where headings and their order, types, cells, people and limit are the same,
        in any order of rows.

    """
    heads: list[Json] = []
    columns: list[list[str | None]] = []
    keys = set(map(comparable_name, [*names, unit.person or ""]))
    for place, name in enumerate(map(str, frame.columns)):
        if comparable_name(name) in keys:
            cells = pd.Series(frame.iloc[:, place])
            codes, texts = factorize_texts(cells)
            heads.append({"name": name, "type": str(cells.dtype)})
            columns.append([None if code < 0 else texts[code] for code in codes.tolist()])
    out = hashlib.sha256(json.dumps([heads, list(names), *unit.to_json()]).encode())
    for line in sorted(map(json.dumps, zip(*columns, strict=True))):
        out.update(f"{line}\n".encode())
    return out.hexdigest()


def pending_cases(planned: Iterable[Case], points: Collection[SweepPoint]) -> list[Case]:
    """Return the cases without a point, or with a failed one; refused ones are final."""
    finished_keys = {point.key for point in points if point.state != "failed"}
    return [case for case in planned if case.key not in finished_keys]


def remaining_time_text(
    elapsed_seconds: float, points: Iterable[SweepPoint], cases: Iterable[Case]
) -> str:
    """Return the time left in words, from each algorithm's mean run time.

    For an algorithm without a finished run, from the mean of all.
    """
    done_points = [p for p in points if p.state == "done"]
    if not done_points:
        return ""
    seconds_by_algorithm: dict[str, list[float]] = {}
    for point in done_points:
        seconds_by_algorithm.setdefault(point.algorithm, []).append(point.seconds or 0.0)
    total_seconds = sum(p.seconds or 0.0 for p in done_points)
    mean_seconds = {
        name: sum(run_seconds) / len(run_seconds)
        for name, run_seconds in seconds_by_algorithm.items()
    }
    seconds_ahead = sum(
        mean_seconds.get(case.name, total_seconds / len(done_points)) for case in cases
    )
    return f", {elapsed_seconds * seconds_ahead / max(total_seconds, 1e-9):.0f} s left"


def _arrays_of_public_start(start: Array | PublicStart) -> list[Array]:
    """Return the arrays that identify a public start: itself, or its pair tables and weights."""
    if not isinstance(start, PublicStart):
        return [start]
    pairs = Marginals.all(start.domain, min(2, len(start.domain.names)))
    return [start.answers(pairs), np.array([start.row_count, float(start.keeps_support)])]


def _arrays_of_workload(workload: Workload) -> Iterator[Any]:
    """Yield the arrays that identify a workload's queries, given its schema."""
    yield np.frombuffer(type(workload).__name__.encode(), dtype=np.uint8)
    if isinstance(workload, Union):
        for part, _ in workload.parts:
            yield from _arrays_of_workload(part)
    elif isinstance(workload, Explicit):
        yield workload.matrix
    elif isinstance(workload, Marginals):
        yield from (np.array(axes) for axes in workload.axes)
    elif isinstance(workload, TableQueries):
        yield from _arrays_of_workload(workload.base)
        yield from (workload.matrix.data, workload.matrix.indices, workload.matrix.indptr)
    else:
        raise InputError(
            f"{type(workload).__name__} is not a set of questions that a sweep can compare"
        )


def _sha256_of_arrays(arrays: Iterable[Array]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        number_type = np.float64 if array.dtype.kind == "f" else np.int64
        digest.update(
            f"{array.shape}".encode() + np.ascontiguousarray(array, dtype=number_type).tobytes()
        )
    return digest.hexdigest()
