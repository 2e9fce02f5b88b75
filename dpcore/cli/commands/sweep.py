"""Run several algorithms at several ε with several seeds, and compare their errors (uses real data:
for exploring).

Every algorithm runs at every ε with every seed. The numbers are those of `run`. Files are kept up
to date, so that an interrupted sweep goes on with --resume. --scheduler tls://HOST:PORT (extra
"cluster") runs it on a Dask cluster, to which the chosen columns are sent; without TLS only an
address of this machine is taken. For what TABLE and --queries may be, see: python -m dpcore run
--help

Two examples:
  python -m dpcore sweep people.csv --schema s.json --queries marginals:2 --algorithms dpfw,mwem --json o.json
  python -m dpcore sweep people.csv --schema s.json --queries marginals:2 --epsilons 1,3 --json o.json --resume
"""

import math
from argparse import Namespace
from collections.abc import Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any

import pandas as pd

from ... import InputError, QueryRelease, Rows
from ...algorithms import algorithms_for_problem
from ...core.numbers import format_short_number
from ...core.types import Json, ProgressCallback
from ...data.sources.gathered_counts import GatheredCounts
from ...data.sources.parquet_source import ParquetSource
from ...data.sources.source import Source
from ...evaluation.experiment import ExperimentGrid, QueryTask
from ...evaluation.sweeps.dask_cluster import ClusterSource, connect_to_scheduler, sweep_on_cluster
from ...evaluation.sweeps.sweep import (
    Case,
    SweepPoint,
    rows_digest,
    run_case_with,
    run_sweep,
    steps_between_comparisons,
)
from ...evaluation.sweeps.worker_pool import WorkerPool
from ...queries.parse_queries import split_column_names
from ...release.release_files import neutralize_formulas
from ...schema.partial_schema import PartialSchema, partial_schema_to_json
from ..arguments import (
    argument,
    grid_arguments,
    settings_argument,
    whole_number_parser,
)
from ..measured_runs import MeasuredSchemaRuns
from ..output_files import check_writable, print_message
from ..sweep_points import (
    GridRunner,
    PointGenerator,
    SweepFiles,
    grid_from_arguments,
    mean_lines,
    run_missing_points,
    sweep_files,
)
from ..table_arguments import (
    TASK_ARGUMENTS,
    build_algorithm,
    format_columns,
    load_workload,
    read_problem_and_rows,
)

MAX_JOBS = 64
PRINTED_ERRORS = ("misplaced", "largest")

CLUSTER_HELP = "run on a Dask cluster, tls://HOST:PORT or tcp://127.0.0.1:PORT, instead"
ARGUMENTS = (
    *TASK_ARGUMENTS,
    (
        "--algorithms",
        {
            "metavar": "a,b,c",
            "help": "some of %(default)s",
            "default": ",".join(algorithms_for_problem(QueryRelease)),
        },
    ),
    settings_argument("NAME.PARAM", "one of the algorithms"),
    *grid_arguments(5),
    argument(
        "--jobs", "J", "runs at the same time", type=whole_number_parser(1, MAX_JOBS), default=1
    ),
    argument("--scheduler", "ADDRESS", CLUSTER_HELP),
    argument("--tls-ca", "FILE", "the authority's certificate, for tls://"),
    argument("--tls-cert", "FILE", "the own certificate, for tls://"),
    argument("--tls-key", "FILE", "the own key, for tls://"),
)


def execute(args: Namespace) -> None:
    """Run every algorithm at every ε with every seed, and print the means over seeds.

    The arguments are checked first.
    """
    check_writable(args.json, args.csv)
    algorithms = _build_algorithms(args.algorithms, args.set)
    files = sweep_files(args)
    grid = grid_from_arguments(args, algorithms)
    credentials = {"ca": args.tls_ca, "cert": args.tls_cert, "key": args.tls_key}
    with (
        closing(connect_to_scheduler(args.scheduler, **credentials))
        if args.scheduler
        else nullcontext() as client
    ):
        workers = SweepWorkers(processes=args.jobs, scheduler=args.scheduler, client=client)
        _run_and_report(grid, files, workers)


@dataclass(frozen=True, kw_only=True)
class SweepWorkers:
    """Who runs a sweep: a cluster's `client` at the address `scheduler`, or some processes here."""

    processes: int
    scheduler: str | None
    client: Any


def _run_and_report(
    grid: ExperimentGrid[QueryTask], files: SweepFiles, workers: SweepWorkers
) -> None:
    """Read the table, run the missing points here or on a cluster, and print the means."""
    delta_text = format_short_number(grid.budgets[0].delta)
    if grid.task.partial_schema is None:
        runner = _known_schema_runner(grid.task, workers)
        problem = runner.problem
        data_summary = (
            f"n={problem.n} combinations={problem.domain.size} "
            f"queries={problem.workload.m} delta={delta_text}"
        )
    else:
        runner = _measured_schema_runner(grid.task, grid.task.partial_schema, workers)
        data_summary = (
            f"n={runner.problem.n} delta={delta_text}; schema measured "
            "anew for every ε and seed, in the same budget"
        )
    points = run_missing_points(grid, files, runner, points_csv)
    print(data_summary)
    print("\n".join(report_lines(points)))


def _known_schema_runner(task: QueryTask, workers: SweepWorkers) -> GridRunner:
    """Return how a task with a known schema is run, after its table is read."""
    choose_counter = partial(_cluster_counter, workers.client, workers.scheduler)
    problem, rows = read_problem_and_rows(task, load_workload(task), choose_counter)
    run = partial(_run_with_known_schema, workers, problem, rows)
    return GridRunner(problem=problem, digest=rows_digest(rows), run=run)


def _measured_schema_runner(
    task: QueryTask, schema: PartialSchema, workers: SweepWorkers
) -> GridRunner:
    """Return how a task with a schema that each run measures is run, after its table is read."""
    workload = load_workload(task)
    if workers.processes > 1 or workers.scheduler:  # they would have to read raw cells
        raise InputError(
            "--jobs and --scheduler need a schema that is known; points that measure their "
            "own run here"
        )
    measured = MeasuredSchemaRuns(task, schema, workload)
    command_facts = {
        "open": partial_schema_to_json(schema)["columns"],
        "schema_share": task.schema_share,
        # what they ask of a measured column is not in the workload yet
        "asked": list(task.queries),
    }
    return GridRunner(
        problem=measured.placeholder_problem,
        digest=measured.digest,
        run=partial(_run_with_measured_schema, measured),
        command_facts=command_facts,
    )


def _run_with_known_schema(
    workers: SweepWorkers,
    problem: QueryRelease,
    rows: Rows | GatheredCounts,
    waiting_cases: Sequence[Case],
    progress: ProgressCallback,
) -> PointGenerator:
    """Yield the points of a known schema, run on a cluster, by processes, or in this one."""
    if workers.scheduler:
        print_message("note", _describe_sent_data(rows, problem, workers.scheduler))
        yield from sweep_on_cluster(workers.client, waiting_cases, problem, rows, progress=progress)
        return
    pool = (
        WorkerPool(workers=min(workers.processes, len(waiting_cases)))
        if workers.processes > 1 and waiting_cases
        else None
    )
    with closing(pool) if pool else nullcontext():
        yield from run_sweep(waiting_cases, problem, rows, pool=pool, progress=progress)


def _run_with_measured_schema(
    measured: MeasuredSchemaRuns, waiting_cases: Iterable[Case], progress: ProgressCallback
) -> PointGenerator:
    """Yield the point of each case, run in this process, with the numbers of `run`."""
    for case in waiting_cases:
        yield run_case_with(
            case,
            partial(
                measured.run,
                case.algorithm,
                case.budget,
                case.seed,
                every=steps_between_comparisons,
            ),
            progress,
        )


def _cluster_counter(client: Any, address: str | None, source: Source) -> Source:
    """Return the counter of a source: a cluster's workers if they can read it in shares."""
    if client is None or not isinstance(source, ParquetSource):
        return source
    print_message(
        "note",
        f"the workers of {address} read {source.name} themselves: path and schema are sent to them",
    )
    return ClusterSource(replace(source, path=source.path.absolute()), client)


def _describe_sent_data(rows: Rows | GatheredCounts, problem: QueryRelease, address: str) -> str:
    """Return a description of the data that leaves this machine."""
    columns = ", ".join(problem.domain.names)
    if isinstance(rows, GatheredCounts):
        data_text = f"counts of {len(rows.tables):,} tables of the columns {columns}"
    else:
        data_text = (
            f"{len(rows.weights):,} distinct rows of the columns {columns}, with their counts"
        )
    return f"{data_text}, are sent to {address}; whoever runs that cluster can see them"


def report_lines(points: Sequence[SweepPoint]) -> list[str]:
    """Return the lines of a report: means over seeds and the best algorithm at every ε.

    Also refusals and failures.
    """
    finished_points = (
        {**p.errors, "algorithm": p.algorithm, "epsilon": p.epsilon, "seconds": p.seconds or 0.0}
        for p in points
        if p.state == "done"
    )
    mean_errors = mean_lines(finished_points, "algorithm", "epsilon")
    return [
        *_table_lines(mean_errors),
        *_best_algorithm_lines(mean_errors),
        *_unfinished_lines(points),
    ]


def _table_lines(mean_errors: list[Json]) -> list[str]:
    """Return the lines of the table of mean errors; none without any."""
    if not mean_errors:
        return []
    width = max(len(mean["algorithm"]) for mean in mean_errors)
    error_names = format_columns(PRINTED_ERRORS)
    lines = [
        "errors against the real table (uses real data – do not publish), means over seeds:",
        f"{'algorithm':>{width}} {'ε':>7} {'runs':>5} {error_names} {'seconds':>9}",
    ]
    for mean in mean_errors:
        error_cells = format_columns(mean.get(name) for name in PRINTED_ERRORS)
        row_start = f"{mean['algorithm']:>{width}} {mean['epsilon']:>7g} {mean['runs']:>5}"
        lines.append(f"{row_start} {error_cells} {mean['seconds']:>9.3g}")
    return lines


def _best_algorithm_lines(mean_errors: list[Json]) -> list[str]:
    """Return a line for each error that is printed, with the best algorithm at every ε."""
    lines = []
    for error in PRINTED_ERRORS:
        winners: dict[float, str] = {}
        finite_means = (
            mean
            for mean in mean_errors
            if mean.get(error) is not None and math.isfinite(mean[error])
        )
        for mean in sorted(finite_means, key=itemgetter("epsilon", error)):
            winners.setdefault(mean["epsilon"], mean["algorithm"])
        if winners:
            winner_list = ", ".join(f"ε={epsilon:g} {name}" for epsilon, name in winners.items())
            lines.append(f"best {error}: {winner_list}")
    return lines


def _unfinished_lines(points: Sequence[SweepPoint]) -> list[str]:
    """Return a line for each message of points that were refused or failed."""
    lines = []
    for state in ("refused", "failed"):
        points_by_message: dict[tuple[str, str], list[SweepPoint]] = {}
        for point in points:
            if point.state == state:
                points_by_message.setdefault((point.algorithm, point.message), []).append(point)
        for (name, message), same_message in points_by_message.items():
            epsilons = sorted({p.epsilon for p in same_message})
            epsilon_list = ", ".join(f"{epsilon:g}" for epsilon in epsilons)
            lines.append(
                f"{state}: {name} at ε={epsilon_list} ({len(same_message)} points): "
                f"{' '.join(message.split())}"
            )
    return lines


def _build_algorithms(text: str, settings: Iterable[str]) -> Json:
    """Return the chosen algorithms by name, with their own settings."""
    names = split_column_names(text)
    settings_by_name = {}
    for name in names:
        if name in settings_by_name:
            raise InputError(f"--algorithms names {name!r} twice")
        settings_by_name[name] = []
    for setting in settings:
        name, separator, parameter_text = setting.partition(".")
        if not separator or "=" in name:
            raise InputError(f"--set {setting[:80]!r} is not NAME.PARAM=VALUE")
        if name not in settings_by_name:
            raise InputError(
                f"--set {setting[:80]!r}: {name!r} is not among the algorithms, "
                f"{', '.join(settings_by_name)}"
            )
        settings_by_name[name].append(parameter_text)
    return {
        name: build_algorithm(name, texts, QueryRelease) for name, texts in settings_by_name.items()
    }


def points_csv(points: Sequence[SweepPoint]) -> str:
    """Return the points as CSV, one line each, harmless for spreadsheets.

    Numbers as they are, texts in one line.
    """
    errors = list(dict.fromkeys(name for point in points for name in point.errors))
    lines = []
    for p in points:
        settings = " ".join(
            f"{name}={value}" for name, value in p.settings.items() if value is not None
        )
        lines.append(
            {
                "algorithm": p.algorithm,
                "settings": " ".join(settings.split()),
                "epsilon": p.epsilon,
                "delta": p.delta,
                "seed": p.seed,
                "state": p.state,
                **{name: p.errors.get(name) for name in errors},
                "epsilon_spent": p.spent.get("epsilon"),
                "seconds": p.seconds,
                "message": " ".join(p.message.split()),
            }
        )
    return neutralize_formulas(pd.DataFrame(lines)).to_csv(index=False)
