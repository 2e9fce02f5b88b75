"""The command learn: its JSON, its table, its errors."""

import pytest

from dpcore import domain_to_json, read_json
from dpcore.cli import main
from tests.helpers import one_line_of_error, parametrize, write_json
from tests.risk_tasks import DOMAIN, table

KEYS = {
    "n", "d", "G", "R", "s", "k", "mu", "tau", "stages", "risk_bound", "excess_risk", "parameter", "spent", "seconds",
}  # fmt: skip


@pytest.fixture
def learn(tmp_path, monkeypatch):
    """Run `learn` on a small table; its exit code and what it wrote."""
    monkeypatch.chdir(tmp_path)
    table(80).to_csv("t.csv", index=False)
    write_json(tmp_path / "s.json", domain_to_json(DOMAIN))

    def run(*extra, task="quantile:y:0.5"):
        code = main(["learn", "t.csv", "--schema", "s.json", "--task", task, "--epsilon", "1", *extra])
        written = tmp_path / "o.json"
        return code, read_json(written) if written.exists() else None

    return run


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
def test_json_has_the_documented_keys(learn, capsys, task, extra):
    code, out = learn("--json", "o.json", *extra.split(), task=task)
    assert code == 0
    assert set(out) >= KEYS
    assert (out["n"], out["d"]) == (80, len(out["parameter"]))
    assert out["excess_risk"] > -1e-6
    printed = capsys.readouterr().out
    assert "uses real data" in printed
    assert all(name in printed for name in out["names"])


def test_a_guarantee_by_privacy_loss_distributions_is_reported(learn, capsys):
    """It has neither a ρ nor a μ."""
    code, out = learn("--json", "o.json", "--algorithm", "dp_sgd", "--set", "rounds=3", task="mean:x,y")
    assert code == 0
    assert (out["spent"]["rho"], out["spent"]["accounting"]) == (None, "privacy loss distributions")
    assert "delta=1e-6 (privacy loss distributions)" in capsys.readouterr().out


@parametrize(
    "extra, message",
    [
        ("--radius 1e-11", "the radii served for these bounds"),
        ("--task huber:y:x:1e-320", "it is served in 1e-12..1e+15"),
        ("--algorithm dpfw", "'dpfw' solves another kind of problem"),
    ],
)
def test_bad_input_is_one_line(learn, capsys, extra, message):
    assert learn(*extra.split())[0] == 2
    one_line_of_error(capsys, message)
