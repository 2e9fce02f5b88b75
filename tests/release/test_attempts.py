"""A release is charged once, however many attempts it takes until what was drawn has left."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore import InputError
from dpcore.cli import main
from dpcore.release import publish
from dpcore.release.evidence import verifier
from tests.cli.command_files import write_files
from tests.cli.test_release import ENVIRONMENT, data_set, order, released, releases
from tests.small_problems import (
    QUERIES,
    approx,
    categorical,
    check_command_refused,
    parametrize,
    write_json,
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with a table and its schema."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fails(error):
    """A function that raises an error whatever it is given."""

    def fail(*_args, **_options):
        raise error

    return fail


STEPS = ["publish.open_draft", "publish.draw_release"]
STEPS += ["publish.write_release_files", "publish.finished_release_note"]
STEPS += ["ledger.signing.SigningKey.sign", "publish.move_draft_into_place"]
STOPS = [OSError("no room"), MemoryError()]


@parametrize("step", STEPS)
@parametrize("error", STOPS)
def test_a_release_that_could_not_be_written_stays_charged_and_the_same_again_finishes_it(
    here, monkeypatch, step, error
):
    with monkeypatch.context() as full:
        full.setattr(f"dpcore.release.{step}", fails(error))
        check_command_refused(
            "its budget stays used, and its draw is kept; do the same again", order()
        )
    (charged,) = releases()
    assert charged["state"] == "reserved, never finished"
    assert data_set().spent > 0.49
    assert not Path("out").exists()
    assert [p.name for p in here.iterdir() if p.name.startswith(".")] == []
    assert len(list(here.glob("l.sqlite-noise-*"))) == 1
    released("elsewhere")  # what differs is where it is written, which no budget counts
    (made,) = releases()
    assert made["state"] == "released"
    assert made["seq"] == charged["seq"]
    assert not [
        check
        for check in verifier.run_checks(Path("elsewhere"), ledger=Path("l.sqlite"))
        if not check[0]
    ]
    assert not list(here.glob("l.sqlite-noise-*")), "nobody can repeat the draw"
    released("another")
    assert len(releases()) == 2


PATHS = {"PYTHONPATH": ENVIRONMENT["PYTHONPATH"]}
FIRST = """
import sys
import numpy as np
from dpcore.cli import main
from dpcore.release import publish

def stop(made, ready, reservation, drawn, predicted, **more):
    rows = [] if drawn.rows is None else [drawn.rows.to_csv(index=False)]
    answers = drawn.release.answers(ready.problem.workload)
    np.savez("drawn.npz", *[m.values for m in drawn.measurements], answers=answers, rows=np.array(rows))
    raise OSError("no room")

publish.write_release_files = stop
sys.exit(main(sys.argv[1:]))
"""


@parametrize("algorithm", QUERIES)
def test_another_attempt_draws_the_very_same_in_another_process(here, monkeypatch, algorithm):
    """Where sets of texts are in another order; with as many threads, as plans follow from sums in
    their order.
    """
    command = [sys.executable, "-c", FIRST, *order(algorithm=algorithm)]
    done = subprocess.run(
        command, env=os.environ | {**PATHS, "PYTHONHASHSEED": "7"}, capture_output=True, timeout=120
    )
    assert done.returncode == 2, done.stderr
    drawings = []
    write = publish.write_release_files

    def keep(made, ready, reservation, drawn, predicted, **more):
        drawings.append((drawn, drawn.release.answers(ready.problem.workload)))
        return write(made, ready, reservation, drawn, predicted, **more)

    monkeypatch.setattr(publish, "write_release_files", keep)
    released(algorithm=algorithm)
    ((drawn, answers),), first = drawings, np.load("drawn.npz")
    assert len(first.files) == len(drawn.measurements) + 2
    for i, measured in enumerate(drawn.measurements):
        assert np.array_equal(first[f"arr_{i}"], measured.values, equal_nan=True)
    rows = [] if drawn.rows is None else [drawn.rows.to_csv(index=False)]
    assert first["answers"] == approx(answers, abs=1e-12), (
        "to the rounding of what follows the draw"
    )
    assert first["rows"].tolist() == rows
    assert len(releases()) == 1


@parametrize(
    "changes",
    [
        {"epsilon": 0.4},
        {"queries": "marginals:1"},
        {"columns": "age,sex"},
        {"algorithm": "mwem"},
        {"dataset": "other", "total": None},
    ],
)
def test_anything_else_is_another_release_with_noise_of_its_own(monkeypatch, changes):
    with monkeypatch.context() as full:
        full.setattr(publish, "write_release_files", fails(OSError("no room")))
        check_command_refused("no room", order())
    if "dataset" in changes:
        assert main(order("b", **changes)) == 2, "a table has one name"
        return
    released("b", **changes)
    assert [r["state"] for r in releases()] == ["reserved, never finished", "released"]
    released("a")
    assert [r["state"] for r in releases()] == ["released", "released"]


def test_rows_that_only_look_alike_are_another_table(monkeypatch):
    """The ledger knows a table by what its numbers are; a category is known by its signs."""
    frame = pd.read_csv("t.csv", dtype=str, keep_default_na=False)
    write_json("s.json", {"columns": {"code": categorical("1.5", "1.50")}})
    with monkeypatch.context() as full:
        full.setattr(publish, "write_release_files", fails(OSError("no room")))
        frame.assign(code=["1.5", "1.50"] * 100).to_csv("t.csv", index=False)
        check_command_refused("no room", order(queries="marginals:1"))
    frame.assign(code=["1.5", "1.5"] * 100).to_csv("t.csv", index=False)
    released(queries="marginals:1")
    assert [r["state"] for r in releases()] == ["reserved, never finished", "released"]


@parametrize("step", ["publish.draw_release", "publish.write_release_files"])
def test_an_error_that_every_attempt_would_end_with_marks_it_as_failed(here, monkeypatch, step):
    with monkeypatch.context() as broken:
        broken.setattr(f"dpcore.release.{step}", fails(InputError("broken on purpose")))
        check_command_refused("broken on purpose; its budget stays used", order())
    assert [entry["state"] for entry in releases()] == ["failed"]
    assert data_set().spent > 0.49
    assert not Path("out").exists()
    assert not list(here.glob("l.sqlite-noise-*"))


@parametrize(
    "error, code", [(KeyError("secret"), 70), (ArithmeticError("x"), 2), (KeyboardInterrupt(), 130)]
)
def test_every_end_after_the_charge_says_that_the_budget_stays_used(
    monkeypatch, capsys, error, code
):
    monkeypatch.setattr(publish, "write_release_files", fails(error))
    assert main(order()) == code
    assert "its budget stays used" in capsys.readouterr().err
