"""A release is charged once, however many attempts it takes until what was drawn has left."""

from pathlib import Path

import pandas as pd
import pytest

from dpcore import InputError
from dpcore.cli import main
from dpcore.publishing import publish, verifier
from tests.cli.files import write_files
from tests.cli.test_release import data_set, order, released, releases
from tests.helpers import QUERIES, categorical, parametrize, refusal, write_json


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


STEPS = ["publish.draft", "publish.draw", "publish.write", "publish.noted", "signing.Key.sign", "publish.complete"]
STOPS = [(OSError("no room"), "no room"), (MemoryError(), "not enough memory")]


@parametrize("step", STEPS)
@parametrize("error, why", STOPS)
def test_a_release_that_could_not_be_written_stays_charged_and_the_same_again_finishes_it(
    here, monkeypatch, step, error, why
):
    with monkeypatch.context() as full:
        full.setattr(f"dpcore.publishing.{step}", fails(error))
        refusal(f"{why}.*; its budget stays used, and its draw is kept; do the same again", order())
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
    assert not [check for check in verifier.checks(Path("elsewhere"), ledger=Path("l.sqlite")) if not check[0]]
    assert not list(here.glob("l.sqlite-noise-*")), "nobody can repeat the draw"
    released("another")
    assert len(releases()) == 2


@parametrize("algorithm", QUERIES)
def test_another_attempt_draws_the_very_same(here, monkeypatch, algorithm):
    """Also in another process, where sets of texts are in another order."""
    kept, write = {}, publish.write

    def keep(made, ready, reservation, drawn, **more):
        kept["first"] = drawn
        raise OSError("no room")

    with monkeypatch.context() as full:
        full.setattr(publish, "write", keep)
        refusal("no room", order(algorithm=algorithm))

    def compare(made, ready, reservation, drawn, **more):
        kept["again"] = drawn
        return write(made, ready, reservation, drawn, **more)

    monkeypatch.setattr(publish, "write", compare)
    released(algorithm=algorithm)
    first, again = kept["first"], kept["again"]
    assert len(first.measurements) == len(again.measurements)
    for one, other in zip(first.measurements, again.measurements, strict=True):
        assert (one.answers == other.answers).all()
    assert first.rows is None or first.rows.equals(again.rows)
    assert len(releases()) == 1


@parametrize(
    "changes",
    [
        {"epsilon": 0.4}, {"queries": "marginals:1"}, {"columns": "age,sex"}, {"algorithm": "mwem"},
        {"dataset": "other", "total": None},
    ],
)  # fmt: skip
def test_anything_else_is_another_release_with_noise_of_its_own(monkeypatch, changes):
    with monkeypatch.context() as full:
        full.setattr(publish, "write", fails(OSError("no room")))
        refusal("no room", order())
    if "dataset" in changes:
        refusal("use that name", order("b", **changes))
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
        full.setattr(publish, "write", fails(OSError("no room")))
        frame.assign(code=["1.5", "1.50"] * 100).to_csv("t.csv", index=False)
        refusal("no room", order(queries="marginals:1"))
    frame.assign(code=["1.5", "1.5"] * 100).to_csv("t.csv", index=False)
    released(queries="marginals:1")
    assert [r["state"] for r in releases()] == ["reserved, never finished", "released"]


@parametrize("step", ["publish.draw", "publish.write"])
def test_an_error_that_every_attempt_would_end_with_marks_it_as_failed(here, monkeypatch, step):
    with monkeypatch.context() as broken:
        broken.setattr(f"dpcore.publishing.{step}", fails(InputError("broken on purpose")))
        refusal("broken on purpose; its budget stays used", order())
    assert [entry["state"] for entry in releases()] == ["failed"]
    assert not Path("out").exists()
    assert not list(here.glob("l.sqlite-noise-*"))


@parametrize("error, code", [(KeyError("secret"), 70), (ArithmeticError("x"), 2), (KeyboardInterrupt(), 130)])
def test_every_end_after_the_charge_says_that_the_budget_stays_used(monkeypatch, capsys, error, code):
    monkeypatch.setattr(publish, "write", fails(error))
    assert main(order()) == code
    assert "its budget stays used" in capsys.readouterr().err
