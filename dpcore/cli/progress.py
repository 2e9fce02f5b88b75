"""Going through a run with progress on stderr, and its report on stdout: shared by `run`, `evolve` and `learn`."""

import warnings
from argparse import Namespace
from collections.abc import Callable, Sequence

from ..core.errors import PrivacyWarning
from ..core.numbers import brief, mean_of_all
from ..core.types import Json
from ..evaluation.run import Record, Run
from .output_files import Progress, tell, write, write_json
from .table_arguments import columns, shown


def each_run(chosen: Namespace, make: Callable[[int], Run], summary: Callable[[Run], Json]) -> list[Json]:
    """The summaries of one run for each seed that RUNS ask for, also written to --json.

    The first run also writes --synthetic, where that is asked for; warnings about its budget go to stderr.
    """
    runs: list[Json] = []
    for seed in range(chosen.seed, chosen.seed + (chosen.repeat or 1)):
        with warnings.catch_warnings(record=True) as caught_warnings:
            warnings.simplefilter("always", PrivacyWarning)
            run = make(seed)
        for caution in caught_warnings if not runs else []:
            tell("warning", caution.message)
        follow(run)
        if not runs and vars(chosen).get("synthetic"):
            write(chosen.synthetic, run.sample(chosen.rows).to_csv(index=False))
        runs.append(summary(run))
    write_json(chosen.json, runs if chosen.repeat else runs[0])
    return runs


def follow(run: Run) -> None:
    """Finish a run while printing its round, error and time left."""
    rounds, progress = run.plan["rounds"], Progress()
    for point in run:
        progress.say(lambda elapsed, now=point: _line(run, now, elapsed / max(now.t, 1) * max(rounds - now.t, 0)))
    progress.clear()


def _line(run: Run, record: Record, left: float) -> str:
    name, value = record.empirical.headline
    return f"seed {run.seed}: round {record.t}/{run.plan['rounds']}, {name} {value:.4g}, {left:.0f} s left"


def spending(spent: Json) -> str:
    """The budget spent, from its JSON, in one line."""
    parameter_text = next((f" {name}={spent[name]:.6g}" for name in ("mu", "rho") if spent.get(name) is not None), "")
    return f"used: epsilon={spent['epsilon']:.6g} delta={brief(spent['delta'])}{parameter_text} ({spent['accounting']})"


def report(runs: list[Json], about: str, said: str, names: Sequence[str]) -> None:
    """Print runs of one algorithm: its settings, `about` the data, the spent budget, then `said` over a table.

    It shows each run's final errors of these `names`, and its seconds; the last line has their means, where every run
    has the number.
    """
    first = runs[0]
    lines = [{name: run["final"][name] for name in names} | {"seconds": run["seconds"]} for run in runs]
    print(
        f"{first['algorithm']}: " + ", ".join(f"{name}={shown(value)}" for name, value in first["parameters"].items())
    )
    print(about)
    print(spending(first["spent"]))
    print("the noise follows from the seed, and can be taken off again: do not publish what a run releases")
    print(f"{said} (uses real data – do not publish):")
    print(f"  seed {columns(lines[0])}")
    for run, line in zip(runs, lines, strict=True):
        print(f"{run['seed']:>6} {columns(line.values())}")
    if len(runs) > 1:
        by_name = zip(*(line.values() for line in lines), strict=True)
        print(f"  mean {columns(map(mean_of_all, by_name))}")
