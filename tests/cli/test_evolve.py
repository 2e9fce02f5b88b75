"""The command `evolve`: its JSON, its repeats, and one clear line for everything that is wrong."""

from pathlib import Path

import pandas as pd
import pytest

from dpcore import read_json
from tests.point_problems import quarter_disc_points
from tests.small_problems import check_command_refused, parametrize, run_command

CHOSEN = "--algorithm=private_evolution --epsilon=1 --delta=1e-4"
GOOD = f"--ball=1 {CHOSEN}"


@pytest.fixture(autouse=True)
def here(here):
    X = quarter_disc_points(200)
    pd.DataFrame(X, columns=["x", "y"]).to_csv("p.csv", index=False)
    Path("same.csv").write_text("x,y\n" + "0.2,0.1\n" * 30)


def test_a_run_is_told_with_the_papers_letters():
    settings = "--set=post=truncate --set=sampling=iid --set=release=last --set=steps=14"
    asked = f"evolve p.csv {GOOD} {settings} --json=o.json".split()
    run_command(asked, "--repeat=1", "--every=1")
    assert [r["t"] for r in read_json("o.json")[0]["records"]] == list(range(1, 15))
    said = run_command(asked, "--synthetic=s.csv", "--rows=33")
    told = read_json("o.json")
    assert (told["n"], told["d"], told["T"], told["levels"]) == (200, 2, 14, 2)
    assert told["n_s"] == told["parameters"]["samples"]
    assert told["sigma"] == told["parameters"]["sigma"] > 0
    assert [r["t"] for r in told["records"]] == [14]
    assert 0 < told["final"]["w1"] < 1
    assert len(pd.read_csv("s.csv")) == 33
    assert f"{told['final']['w1']:.4g}" in said


@parametrize(
    "arguments",
    [
        f"p.csv {GOOD} --set=steps=0",
        f"same.csv {GOOD}",
        f"p.csv {GOOD} --set=post=laplace",
        "p.csv --low=0 --high=1,1 --algorithm=psmm --epsilon=1 --delta=0",
        "p.csv --low=-1,0 --high=1,2 --algorithm=psmm --epsilon=1 --delta=1e-4",
    ],
)
def test_what_is_unusual_is_served(arguments):
    run_command("evolve", *arguments.split())


@parametrize(
    "arguments, message",
    [
        (f"p.csv {CHOSEN}", "--ball R, or --low L and --high H"),
        (f"p.csv {CHOSEN} --low=0 --high=a", "--high='a' is not a finite number"),
        (
            f"p.csv {GOOD} --algorithm=psmm --preset=algorithm-2",
            "--preset algorithm-2 is one of private_evolution",
        ),
    ],
)
def test_bad_input_ends_with_one_clear_line(arguments, message):
    check_command_refused(message, "evolve", *arguments.split())
