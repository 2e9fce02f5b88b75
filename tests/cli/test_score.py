"""Scoring any tool's table: the numbers of a run for its own rows, and clear refusals."""

import pandas as pd

from dpcore import read_json
from tests.small_problems import approx, check_command_refused, parametrize, run_command


def scored(real, synthetic):
    run_command(f"score {real} {synthetic} --schema c.json --queries marginals:2 --json score.json")
    return read_json("score.json")


def test_a_table_scores_perfectly_against_itself_and_shuffled(capsys):
    pd.read_csv("c.csv").sample(frac=1, random_state=1)[["b", "a"]].to_csv("again.csv", index=False)
    out = scored("c.csv", "again.csv")
    useful = {"as_exact_as_sample": 1, "k_marginal": 1000}
    assert out["final"] == {"max_error": 0, "mean_error": 0, "rmse": 0, "mean_l1": 0} | useful
    assert {name: out[name] for name in useful} == useful
    assert set(out["baselines"]) == {"uniform", "independent", "resampling"}
    assert out["baselines"]["uniform"]["max_error"] > 0
    assert out["tag"] == "uses real data – do not publish"
    assert "uses real data" in capsys.readouterr().out


def test_the_score_is_the_largest_and_mean_difference_of_shares():
    real = pd.read_csv("c.csv")
    synthetic = pd.DataFrame({"a": [0, 1, 2, 2], "b": [1, 1, 0, 0]})
    synthetic.to_csv("other.csv", index=False)
    gaps = (
        synthetic.value_counts(normalize=True)
        .sub(real.value_counts(normalize=True), fill_value=0)
        .abs()
    )
    out = scored("c.csv", "other.csv")
    assert (out["n"], out["synthetic_rows"]) == (100, 4)
    assert out["final"]["max_error"] == approx(gaps.max())
    assert out["final"]["mean_l1"] == approx(gaps.sum())
    worst = out["worst"][0]
    assert abs(worst["real"] - worst["synthetic"]) == approx(gaps.max())
    assert [abs(w["real"] - w["synthetic"]) for w in out["worst"]] == approx(
        sorted(gaps, reverse=True)
    )


@parametrize(
    "synthetic, message", [("over.csv", "'3' in row 2 is outside 0..2"), ("one.csv", "1 row")]
)
def test_a_table_that_does_not_fit_the_schema_is_refused(synthetic, message):
    check_command_refused(message, f"score c.csv {synthetic} --schema c.json --queries marginals:2")
