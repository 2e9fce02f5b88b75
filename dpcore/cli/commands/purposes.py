"""Find out what synthetic rows are good for, at several ε: models, links, tests (uses real data: for exploring).

A quarter of the rows is held out before anything is released; models are tested on it (extra "models"). Beside each
number are the real table's, that of a sample as exact as the release, and what knowing nothing gives. Files are kept
up to date, so that an interrupted run goes on with --resume. For what TABLE and --queries may be, see:
python -m dpcore run --help

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
from ...core.numbers import brief
from ...core.types import Json, Tick
from ...evaluation.purposes import TESTS, Purposes, alarms_in_words
from ...evaluation.sweeps.sweep import Case, SweepPoint, is_error, rows_digest, run_made, seldom
from ...queries.questions import understand
from ...release.release_files import neutral
from ..arguments import algorithm, argument, grid
from ..output_files import check_writable
from ..table_arguments import TASK, asked, choose, columns, read_task
from .sweep import Points, budgets_of, means, points_of

LINES = ("real", "sample", "nothing")
FIELDS = ("purpose", "epsilon", "seed", "value", "unit", *LINES)

ARGUMENTS = (
    *TASK,
    *algorithm(QueryRelease),
    argument("--target", "COLUMN", "train models that predict this column"),
    argument("--group", "COLUMN", "say how well the target is predicted in each group"),
    argument("--ask", "QUESTION", "a question of your own, such as 'age > 50'"),
    *grid(3),
)


def execute(chosen: Namespace) -> None:
    """Check everything first, then run point by point, keep the files up to date, and print the means."""
    check_writable(chosen.json, chosen.csv)
    budgets = budgets_of(chosen, 1)
    algorithm = choose(chosen.algorithm, chosen.set, QueryRelease)
    _, workload = asked(chosen, known=True)
    whole_problem, rows = read_task(chosen, workload)
    if not isinstance(rows, Rows) or chosen.person:
        raise InputError(f"{chosen.table}: rows are held out one by one; read the table whole, and protect rows")
    question = None if chosen.ask is None else understand(chosen.ask, whole_problem.domain)
    purposes = Purposes.of(whole_problem.domain, rows, target=chosen.target, group=chosen.group, question=question)
    problem = QueryRelease(whole_problem.workload, purposes.train.n, whole_problem.group, whole_problem.start)
    task_facts = {name: vars(chosen)[name] for name in ("algorithm", "target", "group", "ask")}
    run, digest = partial(_each, purposes, problem), rows_digest(rows)
    points = points_of(
        chosen, {chosen.algorithm: algorithm}, budgets, problem, digest, run, as_csv, task_facts, _is_score
    )
    print(f"n={problem.n} held_out={purposes.test.n} algorithm={chosen.algorithm} delta={brief(chosen.delta)}")
    print("\n".join(report(points)))


def _each(purposes: Purposes, problem: QueryRelease, waiting: Iterable[Case], watch: Tick) -> Points:
    """The point of each case as it is run here, with the scores of the purposes in place of errors."""
    for case in waiting:
        make_run = partial(Run, case.algorithm, problem, purposes.train, case.budget, seed=case.seed, every=seldom)
        yield run_made(case, make_run, watch, partial(purposes.summary, watch=watch))


def entries(points: Iterable[SweepPoint]) -> list[Json]:
    """One entry for each purpose of each point that is done, in the order of ε and seed."""
    finished_points = sorted((p for p in points if p.state == "done"), key=lambda p: (p.epsilon, p.seed))
    return [
        {**task_score, "epsilon": p.epsilon, "seed": p.seed}  # type: ignore[dict-item]
        for p in finished_points
        for task_score in p.errors.values()
    ]


def report(points: list[SweepPoint]) -> list[str]:
    """The lines of a report: means over seeds of each purpose at each ε, false alarms, refusals and failures."""
    mean_scores, out = means(entries(points), "purpose", "unit", "epsilon"), []
    if mean_scores:
        labelled_scores = [
            (f"{mean_score['purpose']} ({mean_score['unit']})", mean_score["epsilon"], mean_score)
            for mean_score in mean_scores
        ]
        out.append("compared with the real table (uses real data: do not publish), means over seeds:")
        out.append(f"{'ε':>7} {columns(('value', *LINES), 9)}  purpose")
        for purpose, epsilon, one in sorted(labelled_scores, key=itemgetter(0, 1)):
            out.append(f"{epsilon:>7g} {columns((one[name] for name in ('value', *LINES)), 9)}  {purpose}")
        for epsilon in sorted({one["epsilon"] for one in mean_scores}):
            values_by_purpose = {one["purpose"]: one["value"] for one in mean_scores if one["epsilon"] == epsilon}
            tests = (values_by_purpose.get(f"test a hypothesis: {name}") for name in TESTS)
            out.append(f"ε={epsilon:g}: {alarms_in_words(*tests)}")
    return out + [f"{p.state}: ε={p.epsilon:g} seed {p.seed}: {p.message}" for p in points if p.state != "done"]


def _is_score(value: Any) -> bool:
    """Whether a value of a file is the score of a purpose."""
    if not isinstance(value, dict) or set(value) != {"purpose", "value", "unit", *LINES}:
        return False
    texts, numbers = (value["purpose"], value["unit"]), (value[name] for name in ("value", *LINES))
    return all(isinstance(text, str) for text in texts) and all(map(is_error, numbers))


def as_csv(points: Iterable[SweepPoint]) -> str:
    """The scores of all points as CSV, one line each, harmless for spreadsheets."""
    return neutral(pd.DataFrame(entries(points), columns=pd.Index(FIELDS))).to_csv(index=False)
