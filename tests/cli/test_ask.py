"""Questions to a real release, and beside a run: intervals from its files alone."""

import html
import json
import shutil
import subprocess
import sys
from functools import partial

import pandas as pd

from dpcore import read_json
from dpcore.release.evidence.card import PAIRS_CAVEAT, SYNTHETIC_CHAINS_TEXT
from tests.cli.command_files import run_arguments
from tests.cli.test_release import released
from tests.small_problems import (
    approx,
    categorical,
    check_command_refused,
    integer,
    parametrize,
    run_command,
    write_json,
)

rich = partial(released, epsilon=5, total=("40", "1e-6"))  # so that no interval is cut at 0


def asked(*extra):
    return json.loads(run_command("ask out", *extra, "--json"))


def test_answers_of_tables_that_were_chosen_by_earlier_answers_are_nearly_exact():
    rich(algorithm="aim")
    assert asked("sex = m")[0]["how"].startswith(
        "nearly exact, as tables were chosen: linear in noisy tables"
    )
    what = [
        "--schema=s.json",
        "--queries=marginals:2",
        "--epsilon=5",
        "--delta=1e-6",
        "--ask=sex = m",
        "--json=r.json",
    ]
    for name, words in (("aim", "nearly exact, as "), ("gaussian_maxent", "exact: ")):
        run_command("run t.csv", f"--algorithm={name}", *what)
        assert read_json("r.json")["answers"][0]["how"].startswith(words)


@parametrize("algorithm", ["gaussian_maxent", "residual"])
def test_a_release_answers_with_intervals_without_its_table(here, algorithm):
    rich(algorithm=algorithm)
    (here / "t.csv").unlink()
    wide, narrow = (asked("sex = m and age > 21", "--level", level)[0] for level in ("0.99", "0.5"))
    for found in (wide, narrow):
        assert found["how"].startswith("exact: linear in noisy tables")
        assert (
            0
            <= found["population_low"]
            <= found["low"]
            <= found["high"]
            <= found["population_high"]
            <= 1
        )
        assert found["low"] <= found["unbiased"] <= found["high"]
    assert wide["high"] - wide["low"] > 2 * (narrow["high"] - narrow["low"])
    assert wide["estimate"] == narrow["estimate"]
    both = asked("sex = m", "age > 21", "--compare", "difference")
    assert len(both) == 1
    assert both[0]["low"] < both[0]["unbiased"] < both[0]["high"]


def test_a_release_without_failure_is_asked_with_the_quantiles_of_laplace_noise():
    released(algorithm="aim", epsilon=5, delta=0, total=("40", "0"))
    assert "Laplace noise" in asked("sex = m")[0]["how"]


def test_what_was_not_measured_is_bounded_by_its_parts_or_said_not_to_be():
    rich(queries='marginals:[["age"],["sex"]]')
    both, other, none = asked("sex = m and age > 21", "sex = m and edu = x and edu = y", "edu = x")
    assert both["how"].startswith("conservative: nothing was measured about age × sex together")
    assert other["high"] == approx(0, abs=1e-9), "no row can fulfil it"
    assert none["low"] is None
    first, second = run_command("ask out", "sex = m", "edu = x").splitlines()
    assert first.startswith("sex = m: ")
    assert "population" in first
    assert "cannot be bounded" in second


def test_a_link_is_tested_from_the_files_alone(here):
    rich(queries='marginals:[["age","sex"],["edu"]]')
    (here / "t.csv").unlink()
    found = asked("--linked", "age", "sex")
    assert found["columns"] == ["age", "sex"]
    assert found["repeats"] == 999
    assert 0 < found["p_value"] <= 1
    assert found["statistic"] > 0
    (tested,) = pd.read_csv("out/links.csv").to_dict("records")
    assert [tested["column"], tested["other_column"]] == found["columns"], (
        "no other pair was measured"
    )
    assert [tested[name] for name in ("p_value", "statistic")] == approx(
        [found["p_value"], found["statistic"]]
    )
    assert tested["in_words"] == found["words"]
    unknown = asked("--linked", "edu", "sex")
    assert unknown["p_value"] is None
    assert "nothing was measured about edu × sex together" in unknown["words"]
    assert f"p = {found['p_value']:.3g}" in run_command("ask out --linked age sex")
    for wrong in (
        ["--linked", "age", "age"],
        ["--linked", "age", "nose"],
        ["sex = m", "--linked", "age", "sex"],
        [],
    ):
        check_command_refused("", "ask out", *wrong)


def test_a_second_look_is_combined_with_the_first():
    """Spend in steps: all pairs roughly, then one table again; both are in one ledger, and the
    answer is sharper.
    """
    rich()
    released("more", epsilon=10, total=None, queries='marginals:[["age","sex"]]')
    text = "sex = m and age > 21"
    alone = asked(text)[0]
    apart = asked("sex = m and edu = x")[0]
    both, other = asked(text, "sex = m and edu = x", "--with", "more")
    assert both["high"] - both["low"] < 0.7 * (alone["high"] - alone["low"])
    assert both["estimate"] == approx(both["unbiased"])
    assert apart["high"] - apart["low"] >= other["high"] - other["low"], (
        "sex itself was measured again"
    )
    assert asked("sex = m and edu = x and age = 20", "--with", "more")[0]["estimate"] is None


@parametrize("first", ["marginals:2", 'marginals:[["age"],["sex"]]'])
def test_what_to_measure_next_is_worked_out_and_holds(first):
    """One more release as it says; both together are then as sharp as was asked, and not sharper
    than they must be.
    """
    released(epsilon=5, queries=first, total=("400", "1e-6"))
    text = "sex = m and age > 21"
    (one,) = asked(text, "--within", "0.02")
    more = one["next"]
    assert more["queries"] == 'marginals:[["age","sex"]]'
    released("more", epsilon=more["epsilon"], total=None, queries=more["queries"])
    (both,) = asked(text, "--with", "more", "--within", "0.02")
    assert (both["high"] - both["low"]) / 2 == approx(0.02, rel=0.01)
    (again,) = asked(text, "--with", "more", "--within", "0.021")
    assert again["next"]["epsilon"] == 0
    words = run_command("ask out", text, "--within=0.02").splitlines()[1]
    assert '--queries \'marginals:[["age","sex"]]\' --epsilon' in words
    assert "then ask both together by --with" in words
    assert float(words.split("--epsilon ")[1].split()[0]) == approx(more["epsilon"], abs=1.1e-3)


def test_only_different_releases_of_one_data_set_are_combined(here):
    released()
    released("again", epsilon=0.3, total=None)
    shutil.copytree("out", "copy")
    copied, told = (here / name / "release.json" for name in ("copy", "again"))
    facts, first = (read_json(path) for path in (told, copied))
    write_json(copied, first | {"ledger": facts["ledger"] | {"entry": 99}})
    other_name = {"dataset": facts["dataset"] | {"name": "another"}}
    other_people = {"protects": facts["protects"] | {"records": 199}}
    for other, change, words in (
        ("out", {}, "is the same release as out, and counts once"),
        ("copy", {}, "is the same release as out, and counts once"),
        ("again", other_name, "is of data set name 'another'"),
        ("again", other_people, "protects other people than out"),
    ):
        write_json(told, facts | change)
        check_command_refused(words, "ask out", "sex = m", "--with", other)


def test_bad_questions_are_one_line():
    released()
    for asked in (
        "--compare=ratio",
        "--compare=sum",
        "--level=1.5",
        "--within=0.6",
        "--within=nan",
        "nonsense =",
    ):
        check_command_refused("within" if "within" in asked else "", "ask out", "sex = m", asked)


def test_a_run_answers_questions_beside_the_truth():
    extra = ["--json", "out.json", "--repeat", "2", "--ask", "sex = m", "--ask", "age > 21"]
    said = run_command(
        run_arguments(
            "t.csv",
            schema="s.json",
            queries="marginals:2",
            algorithm="gaussian_maxent",
            extra=extra,
        )
    )
    runs = read_json("out.json")
    for run in runs:
        assert [found["question"] for found in run["answers"]] == ["sex = m", "age > 21"]
        assert run["tags"]["answers"] == "uses real data – do not publish"
        assert abs(run["answers"][0]["estimate"] - run["answers"][0]["real"]) < 0.3
    assert runs[0]["answers"][0]["real"] == runs[1]["answers"][0]["real"]
    assert "sex = m: " in said
    run_command(run_arguments("t.csv", schema="s.json", extra=["--ask", "nobody = 3"]), code=2)


def test_successions_are_asked_cell_by_cell_of_people_who_count_once(here):
    """What the release says of two rows of a person is, with little noise, what the table says."""
    stays = [(person, ward) for person in range(60) for ward in "xyx"[: 1 + person % 3]]
    frame = pd.DataFrame(stays, columns=pd.Index(["id", "ward"]))
    frame["day"] = range(len(stays))
    frame.sample(frac=1, random_state=0).to_csv("t.csv", index=False)
    columns = {"ward": categorical("x", "y"), "day": integer(0, 200)}
    write_json("s.json", {"columns": columns})
    people = ("--person=id", "--most-rows=3", "--time-column=day", "--row-totals")
    rich(here / "out", *people, queries="successions:ward", algorithm="residual")
    shutil.copy("out/verify.py", "verify.py")
    verify = [sys.executable, "-I", "verify.py", "out"]
    assert "sound" in subprocess.run(verify, capture_output=True, text=True, check=True).stdout
    card = html.unescape((here / "out/card.html").read_text())
    assert SYNTHETIC_CHAINS_TEXT.format("ward") in card
    assert PAIRS_CAVEAT.format("earlier … and next …") in card
    claim = read_json("out/release.json")["protects"]
    assert (claim["successions"], claim["time_column"]) == (["ward"], "day")
    found = {answer["question"]: answer for answer in asked("successions:ward")}
    shares = {("x", "x"): 0, ("x", "y"): 1 / 2, ("x", "only one row"): 1 / 3}
    shares |= {("y", "x"): 1 / 6, ("y", "y"): 0, ("y", "only one row"): 0}
    assert list(found) == [f'"earlier ward" = "{a}" and "next ward" = "{b}"' for a, b in shares]
    for answer, share in zip(found.values(), shares.values(), strict=True):
        assert answer["how"].startswith("exact: linear in noisy tables")
        assert answer["low"] - 0.02 <= share <= answer["high"] + 0.02
        assert answer["high"] - answer["low"] < 0.1
    check_command_refused("successions of 'day' are not there", "ask out successions:day")
    of_two_rows = "is about two rows of a person: ask it of people"
    check_command_refused(of_two_rows, "ask out successions:ward", "--count=rows")
    of_rows = "run t.csv --schema=s.json --algorithm=mwem --epsilon=1 --delta=0"
    needs_people = "they need people who count once"
    check_command_refused(needs_people, of_rows, "--queries=successions:ward")


def test_a_run_answers_of_people_and_then_of_their_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = [f"{i},{i % 2}\n" * (1 + i % 3) for i in range(300)]
    (tmp_path / "t.csv").write_text("id,a\n" + "".join(people))
    write_json("s.json", {"a": 2})
    unit = ["--person=id", "--most-rows=3", "--row-totals", "--epsilon=9", "--ask=a = 1"]
    asked = ["--schema=s.json", "--queries=marginals:2", "--algorithm=gaussian_maxent", *unit]
    run_command("run t.csv", *asked, "--json=r.json")
    of_people, of_rows = read_json("r.json")["answers"]
    assert (of_people["question"], of_people["real"]) == ("a = 1", approx(0.5))
    assert (of_rows["question"], of_rows["real"]) == ("number of rows with a = 1", approx(300))
    assert of_people["low"] < 0.5 < of_people["high"]
    assert of_rows["low"] < 300 < of_rows["high"]
