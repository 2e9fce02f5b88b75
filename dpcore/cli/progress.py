"""Go through a run with progress on stderr and report it on stdout.

Shared by `run`, `evolve` and `learn`.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ..core.errors import PrivacyWarning
from ..core.numbers import format_short_number, mean_if_complete
from ..core.types import Json
from ..data.privacy_unit import PrivacyUnit
from ..evaluation.run import Run
from ..evaluation.run_summary import ConvergencePoint, RunSummary
from ..privacy.accounting import PrivacySpent
from .output_files import ProgressLine, print_message, write_file, write_json
from .table_arguments import format_columns, format_value


class RunReport(Protocol):
    """A report of a finished run: its summary, and what a command adds to it in `to_json`."""

    @property
    def summary(self) -> RunSummary:
        """The summary of the run."""
        ...

    def to_json(self) -> Json:
        """Return the report as a dictionary, as --json writes it."""
        ...


Report = TypeVar("Report", bound=RunReport)


@dataclass(frozen=True, kw_only=True)
class RunFiles:
    """The files that runs write, None for one that is not asked for.

    Args:
        summaries: JSON with the summaries of all runs.
        as_list: whether that is a list even of a single run.
        synthetic: CSV with synthetic rows of the first run.
        rows: how many; None for as many as the table has.
        unit: that was counted, rows or people.

    """

    summaries: str | None
    as_list: bool
    synthetic: str | None = None
    rows: int | None = None
    unit: PrivacyUnit = PrivacyUnit()


def run_for_each_seed(
    seeds: Iterable[int],
    make_run: Callable[[int], Run],
    make_report: Callable[[Run], Report],
    files: RunFiles,
) -> list[Report]:
    """Return the reports of one run for each seed, and write the files.

    Warnings about the budget of the first run go to stderr.
    """
    reports: list[Report] = []
    for seed in seeds:
        with warnings.catch_warnings(record=True) as caught_warnings:
            warnings.simplefilter("always", PrivacyWarning)
            run = make_run(seed)
        for caution in caught_warnings if not reports else []:
            print_message("warning", caution.message)
        run_with_progress(run)
        if not reports and files.synthetic:
            write_file(files.synthetic, run.sample(files.rows, files.unit).to_csv(index=False))
        reports.append(make_report(run))
    documents = [report.to_json() for report in reports]
    write_json(files.summaries, documents if files.as_list else documents[0])
    return reports


def run_with_progress(run: Run) -> None:
    """Finish a run while printing its round, error and time left."""
    rounds = run.plan["rounds"]
    progress = ProgressLine()
    for point in run:
        progress.show(
            lambda elapsed, now=point: _progress_text(
                run, now, elapsed / max(now.t, 1) * max(rounds - now.t, 0)
            )
        )
    progress.clear()


def _progress_text(run: Run, point: ConvergencePoint, seconds_left: float) -> str:
    name, value = point.empirical.headline
    return (
        f"seed {run.seed}: round {point.t}/{run.plan['rounds']}, {name} {value:.4g}, "
        f"{seconds_left:.0f} s left"
    )


def spent_budget_text(spent: PrivacySpent) -> str:
    """Return the budget spent in one line."""
    parameter_text = ""
    if spent.mu is not None:
        parameter_text = f" mu={spent.mu:.6g}"
    elif spent.rho is not None:
        parameter_text = f" rho={spent.rho:.6g}"
    return (
        f"used: epsilon={spent.epsilon:.6g} "
        f"delta={format_short_number(spent.delta)}{parameter_text} ({spent.accounting.name})"
    )


def print_report(
    runs: Sequence[RunSummary], data_summary: str, heading: str, error_names: Sequence[str]
) -> None:
    """Print a report on runs of one algorithm: settings, data, spent budget and errors.

    `data_summary` describes the data, `heading` stands over the table. It shows each run's final
    errors of these `error_names`, and its seconds; the last line has their means, where every run
    has the number.
    """
    first = runs[0]
    lines = []
    for run in runs:
        errors = run.errors.to_json()
        lines.append({name: errors[name] for name in error_names} | {"seconds": run.seconds})
    print(
        f"{first.algorithm}: "
        + ", ".join(f"{name}={format_value(value)}" for name, value in first.parameters.items())
    )
    print(data_summary)
    print(spent_budget_text(first.spent))
    print(
        "the noise follows from the seed, and can be taken off again: do not publish what a run "
        "releases"
    )
    print(f"{heading} (uses real data – do not publish):")
    print(f"  seed {format_columns(lines[0])}")
    for run, line in zip(runs, lines, strict=True):
        print(f"{run.seed:>6} {format_columns(line.values())}")
    if len(runs) > 1:
        by_name = zip(*(line.values() for line in lines), strict=True)
        print(f"  mean {format_columns(map(mean_if_complete, by_name))}")
