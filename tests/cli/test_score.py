"""Scoring any tool's table: the numbers of a run for its own rows, and clear refusals."""

from pathlib import Path

import pandas as pd

from dpcore import read_json
from tests.small_problems import (
    approx,
    categorical,
    check_command_refused,
    integer,
    parametrize,
    run_command,
    write_json,
)


def scored(real, synthetic):
    run_command(f"score {real} {synthetic} --schema c.json --queries marginals:2 --json score.json")
    return read_json("score.json")


def test_a_table_scores_perfectly_against_itself_and_shuffled(capsys):
    pd.read_csv("c.csv").sample(frac=1, random_state=1)[["b", "a"]].to_csv("again.csv", index=False)
    out = scored("c.csv", "again.csv")
    useful = {"as_exact_as_sample": 1, "k_marginal": 1000}
    names = (
        "misplaced",
        "largest",
        "largest_of_group",
        "max_error",
        "mean_error",
        "rmse",
        "mean_l1",
    )
    assert out["final"] == dict.fromkeys(names, 0) | useful
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
    assert out["final"]["misplaced"] == approx(gaps.sum() / 2)
    column_gaps = [
        (synthetic[name].value_counts(normalize=True) - real[name].value_counts(normalize=True))
        .abs()
        .max()
        for name in ("a", "b")
    ]
    assert out["final"]["largest"] == approx(max(gaps.max(), *column_gaps))
    worst = out["worst"][0]
    assert abs(worst["real"] - worst["synthetic"]) == approx(gaps.max())
    assert [abs(w["real"] - w["synthetic"]) for w in out["worst"]] == approx(
        sorted(gaps, reverse=True)
    )


def test_a_table_of_one_row_is_refused():
    check_command_refused("1 row", "score c.csv one.csv --schema c.json --queries marginals:2")


FOREIGN = {"columns": {"smoker": categorical("FALSE", "TRUE"), "age": integer(10, 90, bins=8)}}


@parametrize(
    "text, invalid, dropped",
    [
        ("smoker,age\nFalse,70.185\nTrue,64.8\n", {"smoker": 2, "age": 2}, 0),
        ("smoker,age\nFALSE,70\nTRUE,200\n", {"age": 1}, 0),
        ("smoker,age\nFALSE,70\nmaybe,20\nTRUE,\n", {"smoker": 1, "age": 1}, 2),
        ("age ,smoker\n70,TRUE\n20,FALSE\n", {}, 0),
    ],
)
def test_what_another_tool_wrote_is_counted_as_not_valid(capsys, text, invalid, dropped):
    write_json("foreign.json", FOREIGN)
    real = pd.DataFrame({"smoker": ["TRUE", "FALSE"] * 9, "age": [20, 70, 85] * 6})
    real.to_csv("real.csv", index=False)
    Path("other.csv").write_text(text)
    command = "score real.csv other.csv --schema foreign.json --queries marginals:2"
    run_command(f"{command} --json score.json")
    out = read_json("score.json")
    assert (out["not_valid"], out["rows_left_out"]) == (invalid, dropped)
    said = capsys.readouterr().out
    rows = text.count("\n") - 1
    for name, count in invalid.items():
        assert f"{name!r} not valid: {count} of {rows}" in said
    assert out["synthetic_rows"] == rows - dropped


def test_a_table_without_any_value_of_the_schema_is_refused():
    write_json("foreign.json", FOREIGN)
    pd.DataFrame({"smoker": ["TRUE", "FALSE"], "age": [20, 70]}).to_csv("real.csv", index=False)
    Path("other.csv").write_text("smoker,age\nx,1\ny,2\n")
    check_command_refused(
        "no row with values of the schema (of 2 rows not valid: 'smoker': 2, 'age': 2",
        "score real.csv other.csv --schema foreign.json --queries marginals:2",
    )
