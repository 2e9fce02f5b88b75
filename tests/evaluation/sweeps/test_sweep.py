"""Sweeps: the numbers of `run`, in this process or by workers; stopped, resumed, refused and broken
ones.
"""

import csv
import io
import json
import os
import signal
from collections import Counter, deque
from contextlib import suppress
from multiprocessing import active_children
from multiprocessing.shared_memory import SharedMemory

import numpy as np
import pytest

import dpcore.evaluation.sweeps.sweep as module
from dpcore import ALGORITHMS, Budget, InputError, Marginals, QueryRelease, Rows, Run, read_json
from dpcore.algorithms import MWEM
from dpcore.cli import main
from dpcore.cli.commands import sweep as command
from dpcore.core.errors import user_message
from dpcore.core.parameters import parameter_values
from dpcore.evaluation.sweeps.sweep import (
    SweepPoint,
    pending_cases,
    plan_cases,
    rows_digest,
    run_sweep,
    sweep_identity,
)
from dpcore.evaluation.sweeps.worker_pool import WorkerPool
from tests.small_problems import (
    QUERIES,
    TASKS,
    all_tables,
    check_command_refused,
    expect_error,
    folder_contents,
    module_fixture,
    parametrize,
    query_problem,
    random_rows,
    run_command,
    write_json,
)

PROBLEM, ROWS = query_problem("2-way")
CHOSEN = {
    "dpfw": ALGORITHMS["dpfw"](rounds=6),
    "gaussian_maxent": ALGORITHMS["gaussian_maxent"](rounds=5),
}
BUDGETS = [Budget(epsilon, 1e-9) for epsilon in (0.3, 1.0, 3.0)]


def plan(algorithms=CHOSEN, budgets=BUDGETS, seeds=(0, 1)):
    return plan_cases(algorithms, PROBLEM, budgets, seeds)


def test_every_point_holds_the_numbers_of_run():
    points = {p.key: p for p in run_sweep(plan(), PROBLEM, ROWS)}
    assert len(points) == 12
    for (name, epsilon, delta, seed), point in points.items():
        run = Run(CHOSEN[name], PROBLEM, ROWS, Budget(epsilon, delta), seed=seed).finish()
        assert point.errors == run.summarise().errors.to_json()
        assert point.spent == run.spent.to_json()
        assert (point.state, point.settings) == ("done", parameter_values(CHOSEN[name]))
        assert point.seconds > 0


@module_fixture
def pool(others):
    pool = WorkerPool(workers=1)
    yield pool
    pool.close()


def test_a_first_point_of_every_algorithm_comes_early_at_the_middle_budget():
    known = {name: cls() for name, cls in QUERIES.items()}
    planned = plan(known)
    first = planned[: len(known)]
    assert {case.name for case in first} == set(known)
    assert {(case.budget.epsilon, case.seed) for case in first} == {(1.0, 0)}
    assert {case.seed for case in planned[: 3 * len(known)]} == {0}
    slow = ALGORITHMS["dpfw"](rounds=1_000_000)
    assert [case.name for case in plan({"slow": slow, **CHOSEN}, BUDGETS[:1], [0])][-1] == "slow"


@parametrize(
    "budgets, seeds",
    [([], [0]), (BUDGETS, []), (BUDGETS, [0, 0]), (BUDGETS * 2, [0]), (BUDGETS, range(200_000))],
)
def test_nothing_to_do_repetitions_and_too_many_points_are_refused(budgets, seeds):
    with expect_error():
        plan(budgets=budgets, seeds=seeds)


@parametrize("where", ["here", "pool"])
def test_a_refusal_is_a_point_and_the_rest_goes_on(pool, where):
    planned = plan(budgets=[Budget(1.0, 0.0)])
    points = list(run_sweep(planned, PROBLEM, ROWS, pool=pool if where == "pool" else None))
    states = Counter((p.algorithm, p.state) for p in points)
    assert states == {("dpfw", "done"): 2, ("gaussian_maxent", "refused"): 2}
    refused = next(p for p in points if p.state == "refused")
    assert "delta=0" in refused.message
    assert (refused.errors, refused.seconds) == ({}, None)
    assert pending_cases(planned, points) == [], "it would be refused again"


def test_a_point_that_breaks_is_recorded_without_the_words_of_the_bug(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("the record of Ada")

    monkeypatch.setattr(MWEM, "steps", broken)
    planned = plan({**CHOSEN, "mwem": MWEM()}, seeds=[0])
    points = list(run_sweep(planned, PROBLEM, ROWS))
    assert Counter((p.algorithm, p.state) for p in points)["mwem", "failed"] == 3
    assert sum(p.state == "done" for p in points) == 6
    failed = next(p for p in points if p.state == "failed")
    assert failed.message == user_message(ZeroDivisionError())
    assert "Ada" not in json.dumps(failed.to_json())
    assert {c.name for c in pending_cases(planned, points)} == {"mwem"}, "tried again"


def test_an_interrupt_inside_a_run_is_no_point():
    points = []

    def progress(*_):
        if len(points) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deque(map(points.append, run_sweep(plan(), PROBLEM, ROWS, progress=progress)))
    assert len(points) == 3
    assert all(p.state == "done" for p in points)


def test_closing_cancels_the_jobs_and_frees_the_table(pool, monkeypatch):
    submitted = []
    real = WorkerPool.submit
    monkeypatch.setattr(
        WorkerPool, "submit", lambda self, *a: submitted.append(real(self, *a)) or submitted[-1]
    )
    endless = {"dpfw": ALGORITHMS["dpfw"](rounds=1_000_000)}
    generator = run_sweep(
        [*plan(seeds=[0])[:1], *plan(endless, seeds=[0])], PROBLEM, ROWS, pool=pool
    )
    assert next(generator).state == "done"
    generator.close()
    assert all(job.wait(90) for job in submitted)
    assert not [job for job in submitted[1:] if job.state == "done"]
    with pytest.raises(FileNotFoundError):
        SharedMemory(submitted[0].task.block.name)


def test_a_dead_worker_loses_one_point(pool, others):
    waiting = [
        *plan({"endless": ALGORITHMS["dpfw"](rounds=1_000_000)}, BUDGETS[:1], [0]),
        *plan(seeds=[0]),
    ]
    killed = []

    def progress(*_):
        if not killed:
            killed.extend(worker.pid for worker in set(active_children()) - others)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    points = list(run_sweep(waiting, PROBLEM, ROWS, pool=pool, progress=progress))
    assert Counter(p.state for p in points) == {"done": 6, "failed": 1}
    assert "ended unexpectedly" in next(p for p in points if p.state == "failed").message


def test_points_survive_json_and_nothing_else_is_a_point():
    for found in run_sweep(plan(seeds=[0]), PROBLEM, ROWS):
        assert SweepPoint.from_json(json.loads(json.dumps(found.to_json()))) == found
    good = found.to_json()
    odd = ({"state": "odd"}, {"seed": "0"}, {"more": 1}, {"errors": 3}, {"errors": {"a": "x"}})
    for bad in (None, {}, *(good | change for change in odd)):
        with expect_error():
            SweepPoint.from_json(bad)
    for altered in (good | {key: odd} for key in good for odd in ({}, {"max_error": "x"}, -1)):
        with suppress(InputError):  # or used as it says
            SweepPoint.from_json(altered)


def point(name, epsilon, seed, state="done", **known):
    known = {"settings": {}, "delta": 0.0, "message": ""} | known
    return SweepPoint(algorithm=name, epsilon=epsilon, seed=seed, state=state, **known)


def test_means_and_winners():
    done = [("b", 1.0, 0, 0.2), ("b", 1.0, 1, 0.4), ("a", 1.0, 0, 0.25), ("a", 0.1, 0, 0.5)]
    points = [
        point(*key, errors={"largest": error, "misplaced": None}, seconds=2.0)
        for *key, error in done
    ]
    lines = command.report_lines([*points, point("a", 0.1, 1, "failed", message="broke")])[2:]
    cells = [["b", "1", "2", "0.3"], ["a", "1", "1", "0.25"], ["a", "0.1", "1", "0.5"]]
    assert [line.split() for line in lines[:3]] == [
        [*line[:-1], "-", line[-1], "2"] for line in cells
    ]
    assert lines[3:] == ["best largest: ε=0.1 a, ε=1 a", "failed: a at ε=0.1 (1 points): broke"]


def test_tasks_are_told_apart_by_public_facts_and_tables_by_a_digest():
    ours = sweep_identity(PROBLEM)
    assert ours == sweep_identity(all_tables(PROBLEM.domain, PROBLEM.n))
    domain = PROBLEM.domain
    start = np.full(domain.size, 1 / domain.size)
    others = [
        QueryRelease(PROBLEM.workload, PROBLEM.n + 1),
        QueryRelease(PROBLEM.workload, PROBLEM.n, 2),
        QueryRelease(PROBLEM.workload, PROBLEM.n, 1, start),
        QueryRelease(Marginals(domain, ["ab", "ac"]), PROBLEM.n),
        *(QueryRelease(w(d), PROBLEM.n) for name, (d, _, w) in TASKS.items() if name != "2-way"),
    ]
    assert len({json.dumps(sweep_identity(other)) for other in [PROBLEM, *others]}) == 1 + len(
        others
    )
    mixed = Rows(ROWS.values[::-1].copy(), ROWS.weights[::-1].copy())
    assert rows_digest(ROWS) == rows_digest(
        domain.group_rows(np.repeat(mixed.values, mixed.weights, axis=0))
    )
    assert rows_digest(ROWS) != rows_digest(random_rows(domain, PROBLEM.n, seed=1))


# the command


GOOD = {
    "--schema": "c.json",
    "--queries": "marginals:2",
    "--algorithms": "dpfw,mwem",
    "--epsilons": "0.3,1",
    "--repeat": "2",
    "--delta": "1e-6",
    "--json": "out.json",
}
FAST = ["dpfw.rounds=4", "mwem.rounds=3"]


def arguments(table="c.csv", extra=(), **changes):
    settings = GOOD | {f"--{name.replace('_', '-')}": value for name, value in changes.items()}
    fast = [
        f"--set={s}" for s in FAST if s.partition(".")[0] in settings["--algorithms"].split(",")
    ]
    return [
        "sweep",
        table,
        *(f"{k}={v}" for k, v in settings.items() if v is not None),
        *fast,
        *extra,
    ]


def kept(path="out.json"):
    """The points of a file, but for clock and memory."""
    points = map(SweepPoint.from_json, read_json(path)["points"])
    return {
        p.key: {k: v for k, v in p.to_json().items() if k not in ("seconds", "memory")}
        for p in points
    }


def test_the_command_writes_points_and_prints_means(here, capsys):
    told = run_command(arguments(extra=["--csv", "out.csv"]))
    file = read_json("out.json")
    asked = [(p["algorithm"], p["epsilon"], p["seed"]) for p in file["points"]]
    assert asked == [(a, e, s) for a in ("dpfw", "mwem") for e in (0.3, 1) for s in (0, 1)]
    assert file["task"]["n"] == 100
    assert (
        file["tags"]["points"] == file["tags"]["table_sha256"] == "uses real data – do not publish"
    )
    assert "uses real data" in told
    assert capsys.readouterr().err == ""
    mean = np.mean(
        [
            p["errors"]["misplaced"]
            for p in file["points"]
            if (p["algorithm"], p["epsilon"]) == ("mwem", 1)
        ]
    )
    (line,) = (line for line in told.splitlines() if line.split()[:2] == ["mwem", "1"])
    assert f"{mean:.4g}" in line.split()
    assert "best largest: ε=0.3 " in told
    with open("out.csv", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [float(r["max_error"]) for r in rows] == [
        p["errors"]["max_error"] for p in file["points"]
    ]
    asked = (
        "--queries=marginals:2 --algorithm=mwem --epsilon=1 --delta=1e-6 --seed=1 --set=rounds=3"
    )
    run_command(f"run c.csv --schema=c.json {asked} --json=run.json")
    assert read_json("run.json")["final"] == file["points"][-1]["errors"]


def ran(monkeypatch):
    """The runs that are made from now on, as a growing list."""
    out = []

    def counted(algorithm, problem, rows, budget, **known):
        out.append((type(algorithm).__name__.lower(), budget.epsilon, known["seed"]))
        return Run(algorithm, problem, rows, budget, **known)

    monkeypatch.setattr(module, "Run", counted)
    return out


def test_an_interrupted_sweep_keeps_what_is_done_and_resumes_with_the_rest(here, monkeypatch):
    """And its points are those of two jobs without an interrupt."""

    def interrupted(*args, **known):
        for i, point in enumerate(run_sweep(*args, **known)):
            if i == 3:
                raise KeyboardInterrupt
            yield point

    with monkeypatch.context() as patch:
        patch.setattr(command, "run_sweep", interrupted)
        assert main(arguments(extra=["--csv", "out.csv"])) == 130
    file = read_json("out.json")
    broken, *first = file["points"]
    assert len((here / "out.csv").read_text().splitlines()) == 1 + len(file["points"]) == 4
    assert not [*here.glob("*.part")]
    broken |= {"state": "failed", "errors": {}, "spent": {}, "seconds": None}
    write_json("out.json", file)
    made = ran(monkeypatch)
    run_command(arguments(extra=["--resume"]))
    assert len(made) == 6, "what failed is tried again"
    points = read_json("out.json")["points"]
    assert len(points) == 8
    assert {json.dumps(p) for p in first} <= {json.dumps(p) for p in points}, (
        "bit for bit, seconds too"
    )
    run_command(arguments(json="once.json", jobs="2"))
    assert kept() == kept("once.json")
    made.clear()
    run_command(arguments(extra=["--resume"], epsilons="0.3,1,2", algorithms="dpfw"))
    assert made == [("dpfw", 2.0, 0), ("dpfw", 2.0, 1)], "more of the same task may be asked for"


def test_a_file_of_another_task_is_refused_and_left_alone(here):
    text = (here / "c.csv").read_text().splitlines()
    (here / "other.csv").write_text("\n".join([text[0], *text[2:], text[2]]))
    (here / "longer.csv").write_text("\n".join([*text, *text[1:]]))
    run_command(arguments())
    before = (here / "out.json").read_bytes()
    for changes, extra, part in (
        ({"delta": "1e-7"}, [], "delta is 1e-06 there and 1e-07 here"),
        ({"queries": "marginals:1"}, [], "queries is 6 there and 5 here"),
        ({"columns": "b,a"}, [], "columns is"),
        ({"table": "other.csv"}, [], "another table"),
        ({"table": "longer.csv"}, [], "n is 100 there and 200 here"),
        ({}, ["--set", "dpfw.alpha=0.5"], "holds dpfw with"),
        ({"person": "a", "most_rows": "60"}, ["--count", "rows"], "rows_per_person"),
    ):
        check_command_refused(part, arguments(extra=["--resume", *extra], **changes))
        assert (here / "out.json").read_bytes() == before


def test_a_spreadsheet_sees_no_formula():
    texts = ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "a\n=b", "plain"]
    points = [point("dpfw", 1.0, 0, "failed", message=text) for text in texts]
    rows = list(csv.DictReader(io.StringIO(command.points_csv(points))))
    assert [row["message"] for row in rows] == [
        "'=1+1",
        "'+1",
        "'-1",
        "'@x",
        "'=1",
        "'=1",
        "a =b",
        "plain",
    ]
    (row,) = csv.DictReader(
        io.StringIO(command.points_csv([point("dpfw", 1.0, 0, "done", errors={"gap": -0.5})]))
    )
    assert row["gap"] == "-0.5", "a number stays one"


WRONG = {
    "epsilons": ("", "1,", "0", "nan", "1,1", "1;2"),
    "algorithms": ("", "nosuch", "dpfw,mwem,dpfw", "dpfw,,mwem"),
    "set": (
        "rounds=3",
        "dpfw.rounds",
        "dpfw.rounds=0",
        "dpam.rounds=3",
        "dpfw.speed=1",
        "dpfw=3",
        ".rounds=1",
    ),
    "jobs": ("0", "1000"),
    "json": ("no/such/out.json", ""),
    "csv": ("no/such/out.csv", ""),
}
BAD = {
    f"{name} {v!r}": arguments(extra=[f"--{name}={v}"])
    for name, values in WRONG.items()
    for v in values
}
BAD |= {
    "no table": ["sweep"],
    "resume what": arguments(json=None, extra=["--resume"]),
    **{
        f"resume {name}": arguments(json=name, extra=["--resume"])
        for name in ("c.csv", "array.json")
    },
    "no such table": arguments("no.csv"),
}


@parametrize("given", BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_exit_code_2_before_any_work(here, monkeypatch, given):
    monkeypatch.setattr(module, "Run", lambda *a, **k: pytest.fail("work was done"))
    before = folder_contents(here)
    check_command_refused("", given)
    assert folder_contents(here) == before


def test_too_many_points_are_refused_before_the_table_is_read(here):
    check_command_refused("points is outside 1..100,000", arguments("no.csv", repeat="100000"))


def test_a_full_disk_and_a_device_are_handled(here):
    check_command_refused("/dev/full", arguments(json="/dev/full"))
    run_command(arguments(json="/dev/null", algorithms="dpfw", repeat="1"))
    with open("/dev/null", "rb") as device:
        assert device.read() == b"", "still a device"
