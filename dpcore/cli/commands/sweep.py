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
from ...algorithms import solving
from ...core.errors import shortened
from ...core.numbers import brief, mean_of_all
from ...core.parameters import parameter_values
from ...core.provenance import Tag
from ...core.types import Json, Tick
from ...data.sources.gathered_counts import Counts
from ...data.sources.parquet_source import ParquetSource
from ...data.sources.source import Source
from ...evaluation.sweeps.dask_cluster import OnCluster, connect, sweep_on
from ...evaluation.sweeps.sweep import (
    Case,
    SweepPoint,
    cases,
    check_count,
    identity,
    is_error,
    rows_digest,
    run_made,
    seldom,
    still_to_run,
    sweep,
    time_left,
)
from ...evaluation.sweeps.worker_pool import WorkerPool
from ...queries.parse_queries import split_names
from ...release.release_files import neutral
from ...schema.partial_schema import open_schema_to_json
from ..arguments import argument, grid, reals, settings, whole_number
from ..measured_runs import Measured
from ..output_files import Progress, check_writable, tell, warn, write, write_json
from ..table_arguments import TASK, asked, choose, columns, read_task

MOST_JOBS = 64
WRITE_SECONDS = 2.0  # between two writings of what is done
TAGS = {"task": Tag.PUBLIC, "parameters": Tag.PUBLIC, "table_sha256": Tag.PEEK, "points": Tag.PEEK}
ERRORS = {"max_error": "max error", "mean_l1": "mean L1"}  # that are printed

Points = Generator[SweepPoint]
Runner = Callable[[Sequence[Case], Tick], Points]

CLUSTER = "run on a Dask cluster, tls://HOST:PORT or tcp://127.0.0.1:PORT, instead"
ARGUMENTS = (
    *TASK,
    ("--algorithms", {"metavar": "a,b,c", "help": "some of %(default)s", "default": ",".join(solving(QueryRelease))}),
    settings("NAME.PARAM", "one of the algorithms"),
    *grid(5),
    argument("--jobs", "J", "runs at the same time", type=whole_number(1, MOST_JOBS), default=1),
    argument("--scheduler", "ADDRESS", CLUSTER),
    argument("--tls-ca", "FILE", "the authority's certificate, for tls://"),
    argument("--tls-cert", "FILE", "the own certificate, for tls://"),
    argument("--tls-key", "FILE", "the own key, for tls://"),
)


def execute(chosen: Namespace) -> None:
    """Check the arguments, run every algorithm at every ε with every seed, and print the means over seeds."""
    check_writable(chosen.json, chosen.csv)
    algorithms = _algorithms(chosen.algorithms, chosen.set)
    budgets = budgets_of(chosen, len(algorithms))
    own = {"ca": chosen.tls_ca, "cert": chosen.tls_cert, "key": chosen.tls_key}
    with closing(connect(chosen.scheduler, **own)) if chosen.scheduler else nullcontext() as client:
        _execute(chosen, budgets, algorithms, client)


def _execute(chosen: Namespace, budgets: list[Budget], algorithms: Json, client: Any) -> None:
    """Read the table, run the missing points here or on a cluster, and print the means."""
    schema, workload = asked(chosen)
    if schema:
        if chosen.jobs > 1 or chosen.scheduler:  # other processes would have to read raw cells
            raise InputError(
                "--jobs and --scheduler need a schema that is known; points that measure their own run here"
            )
        measured = Measured(chosen, schema, workload)
        problem, digest, run = measured.placeholder, measured.digest, partial(_each, measured)
        own = {
            "open": open_schema_to_json(schema)["columns"],
            "schema_share": chosen.schema_share,
            "asked": chosen.queries,  # what they ask of a measured column is not in the workload yet
        }
        about = (
            f"n={problem.n} delta={brief(chosen.delta)}; schema measured anew for every ε and seed, in the same budget"
        )
    else:
        problem, rows = read_task(chosen, workload, partial(_spread, client, chosen.scheduler))
        digest, own, run = rows_digest(rows), {}, partial(_known, chosen, client, problem, rows)
        about = (
            f"n={problem.n} combinations={problem.domain.size} queries={problem.workload.m} delta={brief(chosen.delta)}"
        )
    done = points_of(chosen, algorithms, budgets, problem, digest, run, as_csv, own)
    print(about)
    print("\n".join(report(done)))


def _known(
    chosen: Namespace, client: Any, problem: QueryRelease, rows: Rows | Counts,
    waiting: Sequence[Case], watch: Tick,
) -> Points:  # fmt: skip
    """The points of a known schema, run on a cluster, by several processes, or in this one."""
    if chosen.scheduler:
        tell("note", _shipped(rows, problem, chosen.scheduler))
        yield from sweep_on(client, waiting, problem, rows, watch=watch)
        return
    pool = WorkerPool(workers=min(chosen.jobs, len(waiting))) if chosen.jobs > 1 and waiting else None
    with closing(pool) if pool else nullcontext():
        yield from sweep(waiting, problem, rows, pool=pool, watch=watch)


def _each(measured: Measured, waiting: Iterable[Case], watch: Tick) -> Points:
    """The point of each case, run in this process, with the numbers of `run`."""
    for case in waiting:
        yield run_made(case, partial(measured.run, case.algorithm, case.budget, case.seed, every=seldom), watch)


def _spread(client: Any, address: str | None, source: Source) -> Source:
    """The counter of a source: a cluster's workers, if they can read it in shares."""
    if client is None or not isinstance(source, ParquetSource):
        return source
    tell("note", f"the workers of {address} read {source.name} themselves: path and schema are sent to them")
    return OnCluster(replace(source, path=source.path.absolute()), client)


def _shipped(rows: Rows | Counts, problem: QueryRelease, address: str) -> str:
    """A description of the data that leaves this machine."""
    columns = ", ".join(problem.domain.names)
    if isinstance(rows, Counts):
        what = f"counts of {len(rows.tables):,} tables of the columns {columns}"
    else:
        what = f"{len(rows.weights):,} distinct rows of the columns {columns}, with their counts"
    return f"{what}, are sent to {address}; whoever runs that cluster can see them"


def report(points: Sequence[SweepPoint]) -> list[str]:
    """The lines of a report: means over seeds, the best algorithm at every ε, refusals and failures."""
    done = (
        {**p.errors, "algorithm": p.algorithm, "epsilon": p.epsilon, "seconds": p.seconds or 0.0}
        for p in points
        if p.state == "done"
    )
    found, out = means(done, "algorithm", "epsilon"), []
    if found:
        width = max(len(mean["algorithm"]) for mean in found)
        out.append("errors against the real table (uses real data – do not publish), means over seeds:")
        out.append(f"{'algorithm':>{width}} {'ε':>7} {'runs':>5} {columns(ERRORS.values())} {'seconds':>9}")
        for mean in found:
            cells = columns(mean.get(name) for name in ERRORS)
            begin = f"{mean['algorithm']:>{width}} {mean['epsilon']:>7g} {mean['runs']:>5}"
            out.append(f"{begin} {cells} {mean['seconds']:>9.3g}")
    for error, words in ERRORS.items():
        winners: dict[float, str] = {}
        known = (mean for mean in found if mean.get(error) is not None and math.isfinite(mean[error]))
        for mean in sorted(known, key=itemgetter("epsilon", error)):
            winners.setdefault(mean["epsilon"], mean["algorithm"])
        if winners:
            out.append(f"best {words}: " + ", ".join(f"ε={epsilon:g} {name}" for epsilon, name in winners.items()))
    for state in ("refused", "failed"):
        told: dict[tuple[str, str], list[SweepPoint]] = {}
        for point in points:
            if point.state == state:
                told.setdefault((point.algorithm, point.message), []).append(point)
        for (name, message), some in told.items():
            where = ", ".join(f"{epsilon:g}" for epsilon in sorted({p.epsilon for p in some}))
            out.append(f"{state}: {name} at ε={where} ({len(some)} points): {' '.join(message.split())}")
    return out


def _algorithms(text: str, settings: Iterable[str]) -> Json:
    """The chosen algorithms by name, with their own settings."""
    names, own = split_names(text), {}
    for name in names:
        if name in own:
            raise InputError(f"--algorithms names {name!r} twice")
        own[name] = []
    for given in settings:
        name, dot, rest = given.partition(".")
        if not dot or "=" in name:
            raise InputError(f"--set {given[:80]!r} is not NAME.PARAM=VALUE")
        if name not in own:
            raise InputError(f"--set {given[:80]!r}: {name!r} is not among the algorithms, {', '.join(own)}")
        own[name].append(rest)
    return {name: choose(name, texts, QueryRelease) for name, texts in own.items()}


def as_csv(points: Sequence[SweepPoint]) -> str:
    """The points as CSV, one line each: numbers as they are, texts in one line and harmless for spreadsheets."""
    errors = list(dict.fromkeys(name for point in points for name in point.errors))
    lines = []
    for p in points:
        settings = " ".join(f"{name}={value}" for name, value in p.settings.items() if value is not None)
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
    return neutral(pd.DataFrame(lines)).to_csv(index=False)


def budgets_of(chosen: Namespace, algorithms: int) -> list[Budget]:
    """The budgets that `grid` asks for; InputError for unsupported values, too many runs, or no file to resume."""
    if chosen.resume and not chosen.json:
        raise InputError("--resume continues the file that --json names; give one")
    budgets = [Budget(epsilon, chosen.delta) for epsilon in reals("--epsilons", chosen.epsilons)]
    check_count(algorithms * len(budgets) * chosen.repeat)
    return budgets


def points_of(
    chosen: Namespace, algorithms: Json, budgets: Sequence[Budget], problem: QueryRelease, digest: str,
    run: Runner, csv: Callable[[Sequence[SweepPoint]], str], own: Json,
    sound: Callable[[Any], bool] = is_error,
) -> list[SweepPoint]:  # fmt: skip
    """The points of every algorithm at every budget with every seed that `grid` asks for, sorted.

    With --resume those in the file of --json are kept, if it is of the same task; `run` makes the others, one by one.
    The files are kept up to date: --json with the task (public facts, and the command's `own`) and the `digest` of the
    table, --csv as `csv` writes it. `sound` errors of points are those that the command writes.
    """
    planned = cases(algorithms, problem, budgets, range(chosen.seed, chosen.seed + chosen.repeat))
    file = {
        "tags": TAGS,
        "task": {**identity(problem), "person": chosen.person, "delta": chosen.delta, **own},
        "parameters": {name: parameter_values(algorithm) for name, algorithm in algorithms.items()},
        "table_sha256": digest,
    }
    before = _resumed(chosen.json, file, sound) if chosen.resume else []
    warn(budgets, problem.n)
    waiting = still_to_run(planned, before)
    redone = {case.key for case in waiting}
    points = [point for point in before if point.key not in redone]
    keep = partial(_write, points, chosen, file, csv)
    try:
        _collect(points, waiting, keep, run)
    finally:
        keep()
    asked = {case.key for case in planned}
    order = {name: i for i, name in enumerate(algorithms)}
    return sorted((p for p in points if p.key in asked), key=lambda p: (order[p.algorithm], p.epsilon, p.seed))


def means(lines: Iterable[Json], *by: str) -> list[Json]:
    """The means of lines that agree in the names `by`, in order of appearance, with the number of lines as "runs".

    Each is of the numbers that are known; None without any.
    """
    together: dict[tuple, list[Json]] = {}
    for line in lines:
        together.setdefault(tuple(line[name] for name in by), []).append(line)
    out = []
    for key, some in together.items():
        known = {name: [one[name] for one in some if one.get(name) is not None] for name in some[0] if name not in by}
        out.append(dict(zip(by, key, strict=True)) | {name: mean_of_all(v or [None]) for name, v in known.items()})
        out[-1]["runs"] = len(some)
    return out


def _collect(
    points: list[SweepPoint],
    waiting: Sequence[Case],
    keep: Callable[[], None],
    run: Runner,
) -> None:
    """Add points as they arrive, write them regularly, and print progress."""
    progress, before, written = Progress(), len(points), 0.0
    total = before + len(waiting)

    def line(elapsed: float) -> str:
        fresh = points[before:]
        known = {point.key for point in fresh}
        ahead = [case for case in waiting if case.key not in known]
        last = "".join(f", last {p.algorithm} ε={p.epsilon:g} seed {p.seed}" for p in points[-1:])
        return f"{len(points)} of {total} points{last}{time_left(elapsed, fresh, ahead)}"

    with closing(run(waiting, lambda: progress.say(line))) as found:
        for point in found:
            points.append(point)
            progress.say(line)
            if (now := progress.elapsed) - written > WRITE_SECONDS:
                keep()
                written = now
    progress.clear()


def _resumed(path: str, ours: Json, sound: Callable[[Any], bool]) -> list[SweepPoint]:
    """The points of an earlier file of the same task; none where there is no file.

    Task and parameters are compared by public facts. That the table itself is the same is checked by a digest of it,
    which is a private peek like all the errors in the file.
    """
    if not Path(path).exists():
        return []
    theirs, remedy = read_json(path), "name another file with --json, or leave out --resume, and it is written over"
    kinds = {"task": dict, "parameters": dict, "points": list}
    if not isinstance(theirs, dict) or not all(isinstance(theirs.get(key), kind) for key, kind in kinds.items()):
        raise InputError(f"{path[:200]}: not a file of points as this version writes it; {remedy}")
    for key, value in ours["task"].items():
        if theirs["task"].get(key) != value:
            there = _short(theirs["task"].get(key))
            raise InputError(f"{path[:200]} belongs to another task: {key} is {there} there and {_short(value)} here")
    if theirs.get("table_sha256") != ours["table_sha256"]:
        raise InputError(f"{path[:200]} belongs to another table: as many rows, but other values, headings or people")
    for name, there in theirs["parameters"].items():
        here = ours["parameters"].setdefault(name, there)  # of algorithms that are not asked for now, kept
        if here != there:
            raise InputError(f"{path[:200]} holds {name} with {_short(there)}; here it has {_short(here)}")
    try:
        points = [SweepPoint.from_json(told, sound) for told in theirs["points"]]
    except InputError as error:
        raise InputError(f"{path[:200]}: {error}; {remedy}") from None
    if len({point.key for point in points}) < len(points):
        raise InputError(f"{path[:200]}: some point is in it twice; {remedy}")
    return points


def _short(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False))


def _write(
    points: Sequence[SweepPoint], chosen: Namespace, file: Json, csv: Callable[[Sequence[SweepPoint]], str]
) -> None:
    """Write all points, sorted, to the files that --json and --csv name; nothing before the first point."""
    ordered = sorted(points, key=lambda p: p.key)
    if ordered:
        write_json(chosen.json, {**file, "points": [point.to_json() for point in ordered]})
    if ordered and chosen.csv:
        write(chosen.csv, csv(ordered))
