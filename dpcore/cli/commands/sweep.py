"""Run several algorithms at several ε with several seeds, and compare their errors (uses real data: for exploring).

Every algorithm runs at every ε with every seed. The numbers are those of `run`. Files are kept up to date, so that an
interrupted sweep goes on with --resume. --scheduler tls://HOST:PORT (extra "cluster") runs it on a Dask cluster, to
which the chosen columns are sent; without TLS only an address of this machine is taken. For what TABLE and --queries
may be, see: python -m dpcore run --help

Two examples:
  python -m dpcore sweep people.csv --schema s.json --queries marginals:2 --algorithms dpfw,mwem --json o.json
  python -m dpcore sweep people.csv --schema s.json --queries marginals:2 --epsilons 1,3 --json o.json --resume
"""

import json
import math
from argparse import Namespace
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import pandas as pd

from ... import Budget, InputError, QueryRelease, Rows, read_json
from ...algorithms import algorithms_for_problem
from ...core.errors import shorten
from ...core.numbers import format_short_number, mean_if_complete
from ...core.parameters import parameter_values
from ...core.provenance import Provenance
from ...core.types import Json, ProgressCallback
from ...data.sources.gathered_counts import GatheredCounts
from ...data.sources.parquet_source import ParquetSource
from ...data.sources.source import Source
from ...evaluation.sweeps.dask_cluster import ClusterSource, connect_to_scheduler, sweep_on_cluster
from ...evaluation.sweeps.sweep import (
    Case,
    SweepPoint,
    check_point_count,
    is_error_value,
    pending_cases,
    plan_cases,
    remaining_time_text,
    rows_digest,
    run_case_with,
    run_sweep,
    steps_between_comparisons,
    sweep_identity,
)
from ...evaluation.sweeps.worker_pool import WorkerPool
from ...queries.parse_queries import split_column_names
from ...release.release_files import neutralize_formulas
from ...schema.partial_schema import partial_schema_to_json
from ..arguments import (
    argument,
    finite_numbers,
    grid_arguments,
    settings_argument,
    whole_number_parser,
)
from ..measured_runs import MeasuredSchemaRuns
from ..output_files import (
    ProgressLine,
    check_writable,
    print_budget_warnings,
    print_message,
    write_file,
    write_json,
)
from ..table_arguments import (
    TASK_ARGUMENTS,
    build_algorithm,
    format_columns,
    load_schema_and_workload,
    read_problem_and_rows,
)

MAX_JOBS = 64
WRITE_INTERVAL_SECONDS = 2.0  # between two writings of what is done
PROVENANCE_TAGS = {
    "task": Provenance.PUBLIC,
    "parameters": Provenance.PUBLIC,
    "table_sha256": Provenance.REAL_DATA,
    "points": Provenance.REAL_DATA,
}
PRINTED_ERRORS = {"max_error": "max error", "mean_l1": "mean L1"}  # that are printed

PointGenerator = Generator[SweepPoint]
CaseRunner = Callable[[Sequence[Case], ProgressCallback], PointGenerator]

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
    """Check the arguments, run every algorithm at every ε with every seed, and print the means over seeds."""
    check_writable(args.json, args.csv)
    algorithms = _build_algorithms(args.algorithms, args.set)
    budgets = sweep_budgets(args, len(algorithms))
    credentials = {"ca": args.tls_ca, "cert": args.tls_cert, "key": args.tls_key}
    with (
        closing(connect_to_scheduler(args.scheduler, **credentials))
        if args.scheduler
        else nullcontext() as client
    ):
        _run_and_report(args, budgets, algorithms, client)


def _run_and_report(args: Namespace, budgets: list[Budget], algorithms: Json, client: Any) -> None:
    """Read the table, run the missing points here or on a cluster, and print the means."""
    schema, workload = load_schema_and_workload(args)
    if schema:
        if args.jobs > 1 or args.scheduler:  # other processes would have to read raw cells
            raise InputError(
                "--jobs and --scheduler need a schema that is known; points that measure their "
                "own run here"
            )
        measured = MeasuredSchemaRuns(args, schema, workload)
        problem = measured.placeholder_problem
        digest = measured.digest
        run = partial(_run_with_measured_schema, measured)
        task_facts = {
            "open": partial_schema_to_json(schema)["columns"],
            "schema_share": args.schema_share,
            "asked": args.queries,  # what they ask of a measured column is not in the workload yet
        }
        data_summary = (
            f"n={problem.n} delta={format_short_number(args.delta)}; schema measured "
            "anew for every ε and seed, in the same budget"
        )
    else:
        problem, rows = read_problem_and_rows(
            args, workload, partial(_cluster_counter, client, args.scheduler)
        )
        digest = rows_digest(rows)
        task_facts = {}
        run = partial(_run_with_known_schema, args, client, problem, rows)
        data_summary = (
            f"n={problem.n} combinations={problem.domain.size} "
            f"queries={problem.workload.m} delta={format_short_number(args.delta)}"
        )
    points = run_missing_points(
        args, algorithms, budgets, problem, digest, run, points_csv, task_facts
    )
    print(data_summary)
    print("\n".join(report_lines(points)))


def _run_with_known_schema(
    args: Namespace,
    client: Any,
    problem: QueryRelease,
    rows: Rows | GatheredCounts,
    waiting_cases: Sequence[Case],
    progress: ProgressCallback,
) -> PointGenerator:
    """The points of a known schema, run on a cluster, by several processes, or in this one."""
    if args.scheduler:
        print_message("note", _describe_sent_data(rows, problem, args.scheduler))
        yield from sweep_on_cluster(client, waiting_cases, problem, rows, progress=progress)
        return
    pool = (
        WorkerPool(workers=min(args.jobs, len(waiting_cases)))
        if args.jobs > 1 and waiting_cases
        else None
    )
    with closing(pool) if pool else nullcontext():
        yield from run_sweep(waiting_cases, problem, rows, pool=pool, progress=progress)


def _run_with_measured_schema(
    measured: MeasuredSchemaRuns, waiting_cases: Iterable[Case], progress: ProgressCallback
) -> PointGenerator:
    """The point of each case, run in this process, with the numbers of `run`."""
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
    """The counter of a source: a cluster's workers, if they can read it in shares."""
    if client is None or not isinstance(source, ParquetSource):
        return source
    print_message(
        "note",
        f"the workers of {address} read {source.name} themselves: path and schema are sent to them",
    )
    return ClusterSource(replace(source, path=source.path.absolute()), client)


def _describe_sent_data(rows: Rows | GatheredCounts, problem: QueryRelease, address: str) -> str:
    """A description of the data that leaves this machine."""
    columns = ", ".join(problem.domain.names)
    if isinstance(rows, GatheredCounts):
        data_text = f"counts of {len(rows.tables):,} tables of the columns {columns}"
    else:
        data_text = (
            f"{len(rows.weights):,} distinct rows of the columns {columns}, with their counts"
        )
    return f"{data_text}, are sent to {address}; whoever runs that cluster can see them"


def report_lines(points: Sequence[SweepPoint]) -> list[str]:
    """The lines of a report: means over seeds, the best algorithm at every ε, refusals and failures."""
    finished_points = (
        {**p.errors, "algorithm": p.algorithm, "epsilon": p.epsilon, "seconds": p.seconds or 0.0}
        for p in points
        if p.state == "done"
    )
    mean_errors = mean_lines(finished_points, "algorithm", "epsilon")
    lines = []
    if mean_errors:
        width = max(len(mean["algorithm"]) for mean in mean_errors)
        lines.append(
            "errors against the real table (uses real data – do not publish), means over seeds:"
        )
        lines.append(
            f"{'algorithm':>{width}} {'ε':>7} {'runs':>5} {format_columns(PRINTED_ERRORS.values())} {'seconds':>9}"
        )
        for mean in mean_errors:
            error_cells = format_columns(mean.get(name) for name in PRINTED_ERRORS)
            row_start = f"{mean['algorithm']:>{width}} {mean['epsilon']:>7g} {mean['runs']:>5}"
            lines.append(f"{row_start} {error_cells} {mean['seconds']:>9.3g}")
    for error, label in PRINTED_ERRORS.items():
        winners: dict[float, str] = {}
        finite_means = (
            mean
            for mean in mean_errors
            if mean.get(error) is not None and math.isfinite(mean[error])
        )
        for mean in sorted(finite_means, key=itemgetter("epsilon", error)):
            winners.setdefault(mean["epsilon"], mean["algorithm"])
        if winners:
            lines.append(
                f"best {label}: "
                + ", ".join(f"ε={epsilon:g} {name}" for epsilon, name in winners.items())
            )
    for state in ("refused", "failed"):
        points_by_message: dict[tuple[str, str], list[SweepPoint]] = {}
        for point in points:
            if point.state == state:
                points_by_message.setdefault((point.algorithm, point.message), []).append(point)
        for (name, message), same_message in points_by_message.items():
            epsilon_list = ", ".join(
                f"{epsilon:g}" for epsilon in sorted({p.epsilon for p in same_message})
            )
            lines.append(
                f"{state}: {name} at ε={epsilon_list} ({len(same_message)} points): "
                f"{' '.join(message.split())}"
            )
    return lines


def _build_algorithms(text: str, settings: Iterable[str]) -> Json:
    """The chosen algorithms by name, with their own settings."""
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
    """The points as CSV, one line each: numbers as they are, texts in one line and harmless for spreadsheets."""
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


def sweep_budgets(args: Namespace, algorithm_count: int) -> list[Budget]:
    """The budgets that `grid` asks for; InputError for unsupported values, too many runs, or no file to resume."""
    if args.resume and not args.json:
        raise InputError("--resume continues the file that --json names; give one")
    budgets = [
        Budget(epsilon, args.delta) for epsilon in finite_numbers("--epsilons", args.epsilons)
    ]
    check_point_count(algorithm_count * len(budgets) * args.repeat)
    return budgets


def run_missing_points(
    args: Namespace,
    algorithms: Json,
    budgets: Sequence[Budget],
    problem: QueryRelease,
    digest: str,
    run: CaseRunner,
    csv: Callable[[Sequence[SweepPoint]], str],
    command_facts: Json,
    is_valid_error: Callable[[Any], bool] = is_error_value,
) -> list[SweepPoint]:
    """The points of every algorithm at every budget with every seed that `grid` asks for, sorted.

    With --resume those in the file of --json are kept, if it is of the same task; `run` makes the
    others, one by one. The files are kept up to date: --json with the task (public facts, and the
    command's `own`) and the `digest` of the table, --csv as `csv` writes it. `is_valid_error`
    errors of points are those that the command writes.
    """
    planned = plan_cases(algorithms, problem, budgets, range(args.seed, args.seed + args.repeat))
    file_facts = {
        "tags": PROVENANCE_TAGS,
        "task": {
            **sweep_identity(problem),
            "person": args.person,
            "delta": args.delta,
            **command_facts,
        },
        "parameters": {name: parameter_values(algorithm) for name, algorithm in algorithms.items()},
        "table_sha256": digest,
    }
    earlier_points = _points_to_resume(args.json, file_facts, is_valid_error) if args.resume else []
    print_budget_warnings(budgets, problem.n)
    waiting_cases = pending_cases(planned, earlier_points)
    rerun_keys = {case.key for case in waiting_cases}
    points = [point for point in earlier_points if point.key not in rerun_keys]
    write_files = partial(_write_points, points, args, file_facts, csv)
    try:
        _collect_points(points, waiting_cases, write_files, run)
    finally:
        write_files()
    planned_keys = {case.key for case in planned}
    order = {name: i for i, name in enumerate(algorithms)}
    return sorted(
        (p for p in points if p.key in planned_keys),
        key=lambda p: (order[p.algorithm], p.epsilon, p.seed),
    )


def mean_lines(lines: Iterable[Json], *by: str) -> list[Json]:
    """The means of lines that agree in the names `by`, in order of appearance, with the number of lines as "runs".

    Each is of the numbers that are known; None without any.
    """
    groups: dict[tuple, list[Json]] = {}
    for line in lines:
        groups.setdefault(tuple(line[name] for name in by), []).append(line)
    mean_rows = []
    for key, group in groups.items():
        known_values = {
            name: [
                line_in_group[name]
                for line_in_group in group
                if line_in_group.get(name) is not None
            ]
            for name in group[0]
            if name not in by
        }
        mean_rows.append(
            dict(zip(by, key, strict=True))
            | {name: mean_if_complete(v or [None]) for name, v in known_values.items()}
        )
        mean_rows[-1]["runs"] = len(group)
    return mean_rows


def _collect_points(
    points: list[SweepPoint],
    waiting_cases: Sequence[Case],
    write_files: Callable[[], None],
    run: CaseRunner,
) -> None:
    """Add points as they arrive, write them regularly, and print progress."""
    progress, earlier_count, last_written = ProgressLine(), len(points), 0.0
    total = earlier_count + len(waiting_cases)

    def line(elapsed: float) -> str:
        fresh_points = points[earlier_count:]
        finished_keys = {point.key for point in fresh_points}
        cases_ahead = [case for case in waiting_cases if case.key not in finished_keys]
        last_text = "".join(
            f", last {p.algorithm} ε={p.epsilon:g} seed {p.seed}" for p in points[-1:]
        )
        return (
            f"{len(points)} of {total} "
            f"points{last_text}{remaining_time_text(elapsed, fresh_points, cases_ahead)}"
        )

    with closing(run(waiting_cases, lambda *_: progress.show(line))) as new_points:
        for point in new_points:
            points.append(point)
            progress.show(line)
            now = progress.elapsed
            if now - last_written > WRITE_INTERVAL_SECONDS:
                write_files()
                last_written = now
    progress.clear()


def _points_to_resume(
    path: str, expected: Json, is_valid_error: Callable[[Any], bool]
) -> list[SweepPoint]:
    """The points of an earlier file of the same task; none where there is no file.

    Task and parameters are compared by public facts. That the table itself is the same is checked
    by a digest of it, which is a private peek like all the errors in the file.
    """
    if not Path(path).exists():
        return []
    stored = read_json(path)
    remedy = "name another file with --json, or leave out --resume, and it is written over"
    required_types = {"task": dict, "parameters": dict, "points": list}
    if not isinstance(stored, dict) or not all(
        isinstance(stored.get(key), kind) for key, kind in required_types.items()
    ):
        raise InputError(f"{path[:200]}: not a file of points as this version writes it; {remedy}")
    for key, value in expected["task"].items():
        if stored["task"].get(key) != value:
            stored_value = _short_json(stored["task"].get(key))
            raise InputError(
                f"{path[:200]} belongs to another task: {key} is {stored_value} there and "
                f"{_short_json(value)} here"
            )
    if stored.get("table_sha256") != expected["table_sha256"]:
        raise InputError(
            f"{path[:200]} belongs to another table: as many rows, but other values, headings or "
            "people"
        )
    for name, stored_value in stored["parameters"].items():
        # of algorithms that are not asked for now, kept
        expected_value = expected["parameters"].setdefault(name, stored_value)
        if expected_value != stored_value:
            raise InputError(
                f"{path[:200]} holds {name} with {_short_json(stored_value)}; here it has "
                f"{_short_json(expected_value)}"
            )
    try:
        points = [
            SweepPoint.from_json(point_json, is_valid_error) for point_json in stored["points"]
        ]
    except InputError as error:
        raise InputError(f"{path[:200]}: {error}; {remedy}") from None
    if len({point.key for point in points}) < len(points):
        raise InputError(f"{path[:200]}: some point is in it twice; {remedy}")
    return points


def _short_json(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False))


def _write_points(
    points: Sequence[SweepPoint],
    args: Namespace,
    file_facts: Json,
    csv: Callable[[Sequence[SweepPoint]], str],
) -> None:
    """Write all points, sorted, to the files that --json and --csv name; nothing before the first point."""
    sorted_points = sorted(points, key=lambda p: p.key)
    if sorted_points:
        write_json(
            args.json, {**file_facts, "points": [point.to_json() for point in sorted_points]}
        )
    if sorted_points and args.csv:
        write_file(args.csv, csv(sorted_points))
