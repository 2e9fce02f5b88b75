"""Points of a grid of experiments: the missing ones are run, and the files kept up to date."""

import json
from argparse import Namespace
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from .. import Budget, InputError, QueryRelease, read_json
from ..algorithms import Algorithm
from ..core.errors import shorten
from ..core.numbers import mean_if_complete
from ..core.parameters import parameter_values
from ..core.provenance import Provenance
from ..core.types import Json, ProgressCallback
from ..evaluation.experiment import PEOPLE, ExperimentGrid, QueryTask
from ..evaluation.sweeps.sweep import (
    Case,
    SweepPoint,
    check_point_count,
    is_error_value,
    pending_cases,
    plan_cases,
    remaining_time_text,
    sweep_identity,
)
from .arguments import finite_numbers
from .output_files import (
    ProgressLine,
    print_budget_warnings,
    write_file,
    write_json,
)
from .table_arguments import task_from_arguments

WRITE_INTERVAL_SECONDS = 2.0  # between two writings of what is done
PROVENANCE_TAGS = {
    "task": Provenance.PUBLIC,
    "parameters": Provenance.PUBLIC,
    "table_sha256": Provenance.REAL_DATA,
    "points": Provenance.REAL_DATA,
}
PointGenerator = Generator[SweepPoint]
CaseRunner = Callable[[Sequence[Case], ProgressCallback], PointGenerator]


@dataclass(frozen=True, kw_only=True)
class SweepFiles:
    """The files of a sweep, None for one that is not asked for: all points as JSON, and as CSV.

    To `resume` is to keep the points that the JSON file has.
    """

    json: str | None
    csv: str | None
    resume: bool


def sweep_files(args: Namespace) -> SweepFiles:
    """Return the files that `grid_arguments` state; InputError where there is none to resume."""
    if args.resume and not args.json:
        raise InputError("--resume continues the file that --json names; give one")
    return SweepFiles(json=args.json, csv=args.csv, resume=args.resume)


def grid_from_arguments(
    args: Namespace, algorithms: Mapping[str, Algorithm], *, require_known: bool = False
) -> ExperimentGrid[QueryTask]:
    """Return the grid that TASK_ARGUMENTS and `grid_arguments` state.

    InputError for unsupported budgets, too many runs, or private parts of a schema of which all is
    `require_known`.
    """
    epsilons = finite_numbers("--epsilons", args.epsilons)
    budgets = tuple(Budget(epsilon, args.delta) for epsilon in epsilons)
    check_point_count(len(algorithms) * len(budgets) * args.repeat)
    return ExperimentGrid(
        task=task_from_arguments(args, require_known=require_known),
        algorithms=algorithms,
        budgets=budgets,
        seed=args.seed,
        repeat=args.repeat,
    )


@dataclass(frozen=True, kw_only=True)
class GridRunner:
    """How the cases of a grid are run on its table.

    Args:
        problem: the problem of all cases.
        digest: a digest of the table, not for publishing.
        run: makes the points of cases, one by one.
        command_facts: public facts about the task that only its command knows.

    """

    problem: QueryRelease
    digest: str
    run: CaseRunner
    command_facts: Json = field(default_factory=dict)


def run_missing_points(
    grid: ExperimentGrid[QueryTask],
    files: SweepFiles,
    runner: GridRunner,
    csv: Callable[[Sequence[SweepPoint]], str],
    is_valid_error: Callable[[Any], bool] = is_error_value,
) -> list[SweepPoint]:
    """Return the points of every algorithm at every budget with every seed of a grid, sorted.

    To resume is to keep those in the JSON file, if it is of the same task; the runner makes the
    others. The files are kept up to date, CSV as `csv` writes it. `is_valid_error` errors of points
    are those that the command writes.
    """
    algorithms = grid.algorithms
    planned = plan_cases(algorithms, runner.problem, grid.budgets, grid.seeds)
    file_facts = _file_facts(grid, runner)
    earlier_points = []
    if files.resume and files.json is not None:
        earlier_points = _points_to_resume(files.json, file_facts, is_valid_error)
    print_budget_warnings(grid.budgets, runner.problem.n)
    waiting_cases = pending_cases(planned, earlier_points)
    rerun_keys = {case.key for case in waiting_cases}
    points = [point for point in earlier_points if point.key not in rerun_keys]
    write_files = partial(_write_points, points, files, file_facts, csv)
    try:
        _collect_points(points, waiting_cases, write_files, runner.run)
    finally:
        write_files()
    planned_keys = {case.key for case in planned}
    order = {name: i for i, name in enumerate(algorithms)}
    return sorted(
        (p for p in points if p.key in planned_keys),
        key=lambda p: (order[p.algorithm], p.epsilon, p.seed),
    )


def _file_facts(grid: ExperimentGrid[QueryTask], runner: GridRunner) -> Json:
    """Return what the JSON file says beside the points: the task, the settings, the table."""
    algorithms = grid.algorithms
    unit = grid.task.unit
    task_facts: Json = {**sweep_identity(runner.problem), "person": unit.person}
    if unit.counts_people:
        task_facts |= {"count": PEOPLE, "row_limit": unit.most_rows}
    if unit.person_columns:
        task_facts["person_columns"] = list(unit.person_columns)
    if unit.time_column is not None:
        task_facts["time_column"] = unit.time_column
    task_facts["delta"] = grid.budgets[0].delta
    return {
        "tags": PROVENANCE_TAGS,
        "task": task_facts | runner.command_facts,
        "parameters": {name: parameter_values(algorithm) for name, algorithm in algorithms.items()},
        "table_sha256": runner.digest,
    }


def mean_lines(lines: Iterable[Json], *by: str) -> list[Json]:
    """Return the means of lines that agree in the names `by`, in order of appearance.

    Each has the number of its lines as "runs". A mean is of the numbers that are known; None
    without any.
    """
    groups: dict[tuple, list[Json]] = {}
    for line in lines:
        groups.setdefault(tuple(line[name] for name in by), []).append(line)
    mean_rows = []
    for key, group in groups.items():
        mean_row = dict(zip(by, key, strict=True))
        for name in group[0]:
            if name not in by:
                values = [line[name] for line in group if line.get(name) is not None]
                mean_row[name] = mean_if_complete(values or [None])
        mean_row["runs"] = len(group)
        mean_rows.append(mean_row)
    return mean_rows


def _collect_points(
    points: list[SweepPoint],
    waiting_cases: Sequence[Case],
    write_files: Callable[[], None],
    run: CaseRunner,
) -> None:
    """Add points as they arrive, write them regularly, and print progress."""
    progress = ProgressLine()
    earlier_count = len(points)
    last_written = 0.0
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
    """Return the points of an earlier file of the same task; none where there is no file.

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
    files: SweepFiles,
    file_facts: Json,
    csv: Callable[[Sequence[SweepPoint]], str],
) -> None:
    """Write all points, sorted, to the files; nothing before the first point."""
    sorted_points = sorted(points, key=lambda p: p.key)
    if sorted_points:
        write_json(
            files.json, {**file_facts, "points": [point.to_json() for point in sorted_points]}
        )
    if sorted_points and files.csv:
        write_file(files.csv, csv(sorted_points))
