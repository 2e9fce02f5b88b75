"""The command that attacks tables published without noise: its file, its words, its refusals."""

from dpcore import read_json
from dpcore.cli import build_parser
from dpcore.cli.commands.reconstruct import rule_from_arguments
from tests.small_problems import check_command_refused, parametrize, run_command

BASE = "reconstruct c.csv --schema c.json --queries marginals:2"
KEYS = ("proved_share", "undecided_share", "guessed_share", "baseline_share", "seconds")


def test_exact_tables_of_all_columns_prove_every_row(capsys):
    run_command(f"{BASE} --rounding 1 --json out.json")
    out = read_json("out.json")
    assert set(KEYS) <= set(out)
    assert (out["proved_share"], out["undecided_share"], out["guessed_share"]) == (1, 0, 1)
    assert (out["n"], out["rows_not_attacked"], out["sample_share"]) == (100, 0, None)
    assert out["private_at_equal_error"] is None
    assert out["tag"] == "uses real data – do not publish"
    printed = capsys.readouterr().out
    assert "1.000 proved to be in the table" in printed
    assert "uses real data" in printed


def test_a_group_and_a_part_of_it_are_attacked_and_the_rest_is_said(capsys):
    run_command(f"{BASE} --rounding 5 --block b=1 --people 20 --json out.json")
    out = read_json("out.json")
    assert (out["n"], out["rows_not_attacked"]) == (20, 80)
    assert 0 < out["sample_share"] <= 1
    assert out["private_at_equal_error"]["epsilon"] > 0
    printed = capsys.readouterr().out
    assert "not attacked: the other 80 rows" in printed
    assert "has the error of ε = " in printed


@parametrize(
    "flags, name",
    [
        ("--rounding 1", "exact tables"),
        ("--rounding 3 --at-random", "rounded to 3 at random"),
        ("--suppress 5 --secondary", "below 5 hidden, and partners"),
        ("--suppress 8 --rounding 5", "up to 7 hidden, rounded to 5"),
        ("--swap 0.05", "5% of rows swapped"),
    ],
)
def test_flags_state_a_rule(flags, name):
    assert rule_from_arguments(build_parser().parse_args(f"{BASE} {flags}".split())).name == name


@parametrize(
    "flags, words",
    [
        ("", "--rounding, --suppress or --swap"),
        ("--swap 0.1 --rounding 5", "--swap"),
        ("--rounding 5 --secondary", "--secondary"),
        ("--swap 2", "swap=2"),
        ("--rounding 0", "--rounding"),
        ("--rounding 5 --block b", "COLUMN=VALUE"),
        ("--rounding 5 --block b=7", "no value"),
        ("--suppress 5 --at-random", "--at-random"),
    ],
)
def test_what_is_no_rule_and_no_group_is_refused(flags, words):
    check_command_refused(words, f"{BASE} {flags}")
