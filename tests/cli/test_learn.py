"""The command learn: its JSON, its table, its errors."""

import pytest

from dpcore import domain_to_json, read_json
from tests.risk_problems import DOMAIN, learning_table
from tests.small_problems import check_command_refused, parametrize, run_command, write_json

KEYS = {
    "n",
    "d",
    "G",
    "R",
    "s",
    "k",
    "mu",
    "tau",
    "stages",
    "risk_bound",
    "excess_risk",
    "parameter",
    "spent",
    "seconds",
}


ASKED = "learn t.csv --schema=s.json --task=quantile:y:0.5 --epsilon=1 --json=o.json"


@pytest.fixture(autouse=True)
def here(here):
    """The working folder, in which a small table lies."""
    learning_table(80).to_csv("t.csv", index=False)
    write_json("s.json", domain_to_json(DOMAIN))


@parametrize(
    "task, extra",
    [
        ("quantile:y:0.5", "--delta 1e-6"),
        ("logistic:label:x,group", "--set stages=2"),
        ("hinge:label:x", "--radius 3"),
        ("absolute:y:x", "--set calibration=sco"),
        ("huber:y:x", "--region box"),
        ("mean:x,y", ""),
        ("quantile:y:0.5", "--algorithm noisy_gd --set rounds=30"),
        ("quantile:y:0.5", "--algorithm rank_exponential --delta 0"),
    ],
)
def test_json_has_the_documented_keys(task, extra):
    printed = run_command(f"{ASKED} --task={task} {extra}")
    out = read_json("o.json")
    assert set(out) >= KEYS
    assert (out["n"], out["d"]) == (80, len(out["parameter"]))
    assert out["excess_risk"] > -1e-6
    assert "uses real data" in printed
    assert all(name in printed for name in out["names"])


def test_a_guarantee_by_privacy_loss_distributions_is_reported():
    """It has neither a ρ nor a μ."""
    printed = run_command(f"{ASKED} --task=mean:x,y --algorithm=dp_sgd --set=rounds=3")
    spent = read_json("o.json")["spent"]
    assert (spent["rho"], spent["accounting"]) == (None, "privacy loss distributions")
    assert "delta=1e-6 (privacy loss distributions)" in printed


@parametrize(
    "extra, message",
    [
        ("--radius 1e-11", "the radii served for these bounds"),
        ("--task huber:y:x:1e-320", "it is served in 1e-12..1e+15"),
        ("--algorithm dpfw", "'dpfw' solves another kind of problem"),
    ],
)
def test_bad_input_is_one_line(extra, message):
    check_command_refused(message, f"{ASKED} {extra}")
