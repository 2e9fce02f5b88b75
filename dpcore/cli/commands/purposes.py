"""Find out what synthetic rows are good for, at several ε: models, links, tests (uses real data:
for exploring).

A quarter of the rows is held out before anything is released; models are tested on it (extra
"models"). Beside each number are the real table's, that of a sample as exact as the release, and
what knowing nothing gives. Files are kept up to date, so that an interrupted run goes on with
--resume. For what TABLE and --queries may be, see: python -m dpcore run --help

Two examples:
  python -m dpcore purposes people.csv --schema s.json --queries marginals:2 --algorithm aim --target income
  python -m dpcore purposes people.csv --schema s.json --queries marginals:2 --algorithm aim --epsilons 1 --json o.json
"""

from argparse import Namespace
from collections.abc import Iterable
from functools import partial
from operator import itemgetter
from typing import Any

import pandas as pd

from ... import InputError, QueryRelease, Rows, Run
from ...core.numbers import format_short_number
from ...core.types import Json, ProgressCallback
from ...evaluation.experiment import QueryTask
from ...evaluation.purposes import TEST_NAMES, Purposes, false_alarm_sentence
from ...evaluation.sweeps.sweep import (
    Case,
    SweepPoint,
    is_error_value,
    rows_digest,
    run_case_with,
    steps_between_comparisons,
)
from ...queries.questions import parse_question
from ...release.release_files import neutralize_formulas
from ..arguments import algorithm_arguments, argument, grid_arguments
from ..output_files import check_writable
from ..sweep_points import (
    GridRunner,
    PointGenerator,
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

REFERENCE_FIELDS = ("real", "sample", "nothing")
CSV_FIELDS = ("purpose", "epsilon", "seed", "value", "unit", *REFERENCE_FIELDS)

ARGUMENTS = (
    *TASK_ARGUMENTS,
    *algorithm_arguments(QueryRelease),
    argument("--target", "COLUMN", "train models that predict this column"),
    argument("--group", "COLUMN", "say how well the target is predicted in each group"),
    argument("--ask", "QUESTION", "a question of your own, such as 'age > 50'"),
    *grid_arguments(3),
)


def execute(args: Namespace) -> None:
    """Check everything, run point by point, keep the files up to date, and print the means."""
    check_writable(args.json, args.csv)
    files = sweep_files(args)
    algorithm = build_algorithm(args.algorithm, args.set, QueryRelease)
    grid = grid_from_arguments(args, {args.algorithm: algorithm}, require_known=True)
    task = grid.task
    whole_problem, read_rows = read_problem_and_rows(task, load_workload(task))
    rows = _require_single_rows(task, read_rows)
    question = None if args.ask is None else parse_question(args.ask, whole_problem.domain)
    purposes = Purposes.for_table(
        whole_problem.domain, rows, target=args.target, group=args.group, question=question
    )
    problem = QueryRelease(
        whole_problem.workload, purposes.train.n, whole_problem.group, whole_problem.start
    )
    runner = GridRunner(
        problem=problem,
        digest=rows_digest(rows),
        run=partial(_score_cases, purposes, problem),
        command_facts={
            "algorithm": args.algorithm,
            "target": args.target,
            "group": args.group,
            "ask": args.ask,
        },
    )
    points = run_missing_points(grid, files, runner, scores_csv, _is_score)
    print(
        f"n={problem.n} held_out={purposes.test.n} algorithm={args.algorithm} "
        f"delta={format_short_number(args.delta)}"
    )
    print("\n".join(report_lines(points)))


def _require_single_rows(task: QueryTask, rows: Any) -> Rows:
    """Return the rows; InputError if they cannot be held out one by one, each another person."""
    if not isinstance(rows, Rows):
        raise InputError(f"{task.table}: rows are held out one by one; read the table whole")
    if task.unit.counts_people or task.unit.most_rows > 1:
        raise InputError(
            f"{task.table}: people are held out one by one, and here a person may have several "
            "rows; keep one row of each by --count rows --most-rows 1"
        )
    return rows


def _score_cases(
    purposes: Purposes,
    problem: QueryRelease,
    waiting_cases: Iterable[Case],
    progress: ProgressCallback,
) -> PointGenerator:
    """Yield the point of each case as it is run here.

    With the scores of the purposes in place of errors.
    """
    for case in waiting_cases:
        make_run = partial(
            Run,
            case.algorithm,
            problem,
            purposes.train,
            case.budget,
            seed=case.seed,
            every=steps_between_comparisons,
        )
        yield run_case_with(
            case, make_run, progress, partial(purposes.summarise, progress=progress)
        )


def score_entries(points: Iterable[SweepPoint]) -> list[Json]:
    """Return one entry for each purpose of each finished point, in the order of ε and seed."""
    finished_points = sorted(
        (p for p in points if p.state == "done"), key=lambda p: (p.epsilon, p.seed)
    )
    return [
        {**task_score, "epsilon": p.epsilon, "seed": p.seed}  # type: ignore[dict-item]
        for p in finished_points
        for task_score in p.errors.values()
    ]


def report_lines(points: list[SweepPoint]) -> list[str]:
    """Return the lines of a report: mean scores over seeds of each purpose at each ε.

    Also false alarms, refusals and failures.
    """
    mean_scores = mean_lines(score_entries(points), "purpose", "unit", "epsilon")
    out = []
    if mean_scores:
        labelled_scores = [
            (f"{mean_score['purpose']} ({mean_score['unit']})", mean_score["epsilon"], mean_score)
            for mean_score in mean_scores
        ]
        out.append(
            "compared with the real table (uses real data: do not publish), means over seeds:"
        )
        out.append(f"{'ε':>7} {format_columns(('value', *REFERENCE_FIELDS), 9)}  purpose")
        for purpose, epsilon, one in sorted(labelled_scores, key=itemgetter(0, 1)):
            out.append(
                f"{epsilon:>7g} "
                f"{format_columns((one[name] for name in ('value', *REFERENCE_FIELDS)), 9)}  "
                f"{purpose}"
            )
        for epsilon in sorted({one["epsilon"] for one in mean_scores}):
            values_by_purpose = {
                one["purpose"]: one["value"] for one in mean_scores if one["epsilon"] == epsilon
            }
            tests = (values_by_purpose.get(f"test a hypothesis: {name}") for name in TEST_NAMES)
            out.append(f"ε={epsilon:g}: {false_alarm_sentence(*tests)}")
    return out + [
        f"{p.state}: ε={p.epsilon:g} seed {p.seed}: {p.message}"
        for p in points
        if p.state != "done"
    ]


def _is_score(value: Any) -> bool:
    """Return whether a value of a file is the score of a purpose."""
    if not isinstance(value, dict) or set(value) != {"purpose", "value", "unit", *REFERENCE_FIELDS}:
        return False
    texts = (value["purpose"], value["unit"])
    numbers = (value[name] for name in ("value", *REFERENCE_FIELDS))
    return all(isinstance(text, str) for text in texts) and all(map(is_error_value, numbers))


def scores_csv(points: Iterable[SweepPoint]) -> str:
    """Return the scores of all points as CSV, one line each, harmless for spreadsheets."""
    return neutralize_formulas(
        pd.DataFrame(score_entries(points), columns=pd.Index(CSV_FIELDS))
    ).to_csv(index=False)
