"""A real release from the command line: what leaves, what is charged, what is refused, what
survives a kill.
"""

import hashlib
import html
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from markupsafe import Markup

from dpcore import (
    Budget,
    InputError,
    Marginals,
    PrivacyUnit,
    Rows,
    domain_from_json,
    read_json,
)
from dpcore.accuracy.meaning_of_epsilon import Promise, guess_tile_texts
from dpcore.cli import main
from dpcore.data.privacy_unit import ROW_COUNT_NOTICE
from dpcore.privacy.accounting import (
    ACCOUNTANT_BY_NAME,
    LifetimeBudget,
    events_from_json,
)
from dpcore.release import preparation, publish
from dpcore.release.evidence import verifier
from dpcore.release.evidence.card import (
    LOOKED_AT_DATA_CAVEAT,
    ONE_SYNTHETIC_ROW_TEXT,
    PEEKED_CAVEAT,
    PEOPLE_ONCE_CAVEAT,
    SYNTHETIC_PEOPLE_TEXT,
    card_page,
)
from dpcore.release.evidence.facts_label import label_svg
from dpcore.release.finished_release import files_in_folder, read_finished_release, read_model
from dpcore.release.ledger import drafts, noise_key
from dpcore.release.ledger.ledger_store import LedgerStore, verify_ledger
from dpcore.release.release_files import _weight_table, neutralize_formulas
from tests.cli.command_files import write_files
from tests.small_problems import (
    NOTHING_PREDICTED,
    QUERIES,
    approx,
    categorical,
    check_command_refused,
    expect_error,
    folder_contents,
    integer,
    parametrize,
    run_command,
    seeded,
    write_json,
)

PLANTED = "planted-8317-secret"
ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"}


@pytest.fixture
def here(here):
    """A folder with a table that carries planted values outside its schema, and in it."""
    frame = pd.read_csv("t.csv", dtype=str, keep_default_na=False)
    frame["name"] = [f"{PLANTED}-{i}" for i in range(len(frame))]
    frame.to_csv("t.csv", index=False)
    return here


def order(
    out="out",
    *extra,
    algorithm="gaussian_maxent",
    epsilon=0.5,
    total=("2", "1e-6"),
    table="t.csv",
    **changes,
):
    """The arguments of a release."""
    options = {
        "schema": "s.json",
        "queries": "marginals:2",
        "delta": "1e-6",
        "ledger": "l.sqlite",
    } | changes
    first = [f"--total-epsilon={total[0]}", f"--total-delta={total[1]}"] if total else []
    pairs = [f"--{name}={value}" for name, value in options.items()]
    fixed = [f"--algorithm={algorithm}", f"--epsilon={epsilon}", f"--out={out}"]
    return ["release", table, *fixed, *first, *pairs, *extra]


def released(*given, **options):
    """A release that is made."""
    return run_command(order(*given, **options))


def release_in(place):
    """The folder of a release that is made in a folder, of the files that are written there."""
    write_files(place)
    with chdir(place):
        released(epsilon=5, total=("40", "1e-6"))
    return place / "out"


def facts(out="out"):
    return read_json(f"{out}/release.json")


def data_set():
    return LedgerStore("l.sqlite").list_datasets()[0]


def releases():
    return data_set().releases


def paid(events, accounting):
    """The accountant of a file's events, by one way of adding up."""
    return accounting.of_events(events_from_json(events))


@parametrize("algorithm", QUERIES)
def test_a_release_holds_no_record_and_its_claim_can_be_recomputed(here, algorithm):
    run_command(order(algorithm=algorithm, epsilon=2))  # one release may use the whole budget
    names = {path.name for path in Path("out").iterdir()}
    assert {Path(name).suffix for name in names} <= {*drafts.RELEASE_FILE_ENDINGS}, (
        "else a draft with it is never removed"
    )
    assert names >= {
        "synthetic.csv",
        "synthetic.parquet",
        "answers.csv",
        "card.html",
        "release.json",
    }
    for path in Path("out").iterdir():
        assert PLANTED.encode() not in path.read_bytes()
        assert b"extra" not in path.read_bytes(), "no column outside the schema"
        assert str(here).encode() not in path.read_bytes()
        assert path.stat().st_mtime == pd.Timestamp(facts()["time"]).timestamp(), (
            "how long it took is not told"
        )
    assert Path("out").stat().st_mtime == pd.Timestamp(facts()["time"]).timestamp()
    claim = facts()
    assert claim["bounds"] == "entered by a person"
    assert not [
        check for check in verifier.run_checks(Path("out"), ledger=Path("l.sqlite")) if not check[0]
    ]
    assert claim["made_by"]["noise"].startswith("exact ")
    assert "floating" not in claim["made_by"]["noise"]
    rows = pd.read_csv("out/synthetic.csv", keep_default_na=False)
    assert list(rows) == ["age", "sex", "pay", "edu"]
    assert len(rows) == len(pd.read_parquet("out/synthetic.parquet")) == 200
    state = releases()[0]
    account = read_json("out/account.json")
    assert claim["time"] == account["releases"][-1]["time"] == state["time"], (
        "how long it took is not told"
    )
    assert len(re.findall(r"\d\d:\d\d:\d\d", Path("out/release.json").read_text())) == 1
    noted = json.loads(state["states"][0]["note"])
    signed = hashlib.sha256(Path("out/signature.json").read_bytes()).hexdigest()
    assert (state["state"], noted) == ("released", claim["files"] | {"signature.json": signed})
    run_command(order("b", algorithm=algorithm, epsilon=1), code=3)


def test_noisy_answers_have_the_standard_errors_of_their_noise():
    released(epsilon=1)
    answers = pd.read_csv("out/answers.csv")
    weights = pd.read_parquet("out/weights.parquet")
    sigma = next(c["value"] for c in facts()["plan"]["choices"] if c["name"] == "sigma")
    assert answers.standard_error.to_numpy() == approx(np.full(len(answers), sigma))
    assert answers.answer.sum() == approx(6)
    assert weights.weight.sum() == approx(1)
    assert len(weights) == 5 * 2 * 3 * 3
    assert (answers["low"] <= answers["high"]).all()
    assert (answers["population_low"] <= answers["low"]).all()
    assert answers["low"].between(0, 1).all()


def test_weights_get_a_name_that_no_column_has():
    domain = domain_from_json({"weight": 2, "weight (of the release)": 1})
    assert (
        list(_weight_table(domain, np.full(2, 0.5))).count(
            "weight (of the release) (of the release)"
        )
        == 1
    )


def test_queries_measured_now_and_then_show_the_rest_empty():
    released("out", "--set=rounds=3", algorithm="mwem")
    answers = pd.read_csv("out/answers.csv")
    assert 1 <= answers.noisy_answer.notna().sum() <= 3
    assert (answers.noisy_answer.notna() == answers.standard_error.notna()).all()


def test_noise_is_never_the_same_and_cannot_be_seeded():
    released("a")
    released("b")
    noisy = [pd.read_csv(f"{out}/answers.csv").noisy_answer for out in "ab"]
    assert (noisy[0] != noisy[1]).mean() > 0.5, "whole noise may agree by chance"
    before = folder_contents("a")
    run_command(order("a"), code=2)  # nor drawn again into its folder
    assert folder_contents("a") == before
    assert len(releases()) == 2
    check_command_refused("--seed", order("c", "--seed=1"))


def test_no_truth_is_computed(monkeypatch):
    """But in the simulation, whose tables are nobody's and to which no row is given."""
    monkeypatch.setattr(publish, "predict_from_release", lambda *_: NOTHING_PREDICTED)
    for name in ("truth.QueryTruth.__init__", "metrics.compute_errors"):
        monkeypatch.setattr(f"dpcore.evaluation.{name}", lambda *_: pytest.fail("not protected"))
    released()


def test_what_is_paid_for_is_written_where_its_errors_cannot_be_predicted(monkeypatch):
    def refuse(*_):
        raise InputError("too large to simulate")

    monkeypatch.setattr(publish, "predict_from_release", refuse)
    released()
    assert facts()["utility"]["predicted"] is None
    assert "predicted" not in Path("out/card.html").read_text()
    checks = verifier.run_checks(Path("out"), ledger=Path("l.sqlite"))
    assert all(is_right for is_right, *_ in checks)


def test_other_columns_are_of_the_same_data_set_and_other_rows_a_new_version():
    released("a", dataset="people")
    check_command_refused(
        "use that name, not 't'", order("b")
    )  # found by its rows, it would tell if one has changed
    released("b", columns="age,sex", total=None, dataset="people")
    pd.read_csv("t.csv", dtype=str, keep_default_na=False)[1:].to_csv("t.csv", index=False)
    run_command(order("c", dataset="people"), code=2)
    released("c", "--new-version", dataset="people")
    assert facts("c")["dataset"]["version"] == 2


@parametrize(
    "extra, changes, told",
    [
        ((), {"total": None}, "--total-epsilon"),
        (("--total-epsilon=3",), {"total": None}, "go together"),
        (("--person=nobody",), {}, "nobody"),
        ((), {"out": "no/where/out"}, "cannot be made"),
        ((), {"out": "t.csv"}, "not empty"),
        ((), {"ledger": "t.csv"}, "ledger"),
        ((), {"dataset": ""}, "name"),
    ],
)
def test_bad_orders_are_one_line_and_charge_nothing(extra, changes, told):
    changes = dict(changes)
    check_command_refused(told, order(changes.pop("out", "out"), *extra, **changes))
    assert not Path("out").exists()
    assert not Path("l.sqlite").exists() or LedgerStore("l.sqlite").list_datasets() == []


def test_a_folder_that_no_draft_can_replace_is_refused_before_the_charge(monkeypatch):
    Path("empty").mkdir()
    Path("link").symlink_to("empty")
    check_command_refused("is a link", order("link"))
    assert not Path("l.sqlite").exists()
    monkeypatch.chdir("empty")
    with expect_error("where the program runs"):
        drafts.check_release_folder(Path())


def test_a_peeked_schema_needs_a_reason_that_is_kept():
    write_json("p.json", read_json("s.json") | {"peeked": True})
    check_command_refused("reason", order(schema="p.json"))
    run_command(order("out", "--reason", "   ", schema="p.json"), code=2)
    released("out", "--reason", "the <registry> publishes them", schema="p.json")
    assert facts()["bounds"] == "filled in from the data, not protected"
    assert releases()[0]["reason"] == "the <registry> publishes them"
    page = Path("out/card.html").read_text()
    assert "the &lt;registry&gt; publishes them" in page
    assert PEEKED_CAVEAT in html.unescape(page)
    assert LOOKED_AT_DATA_CAVEAT in html.unescape(page)


def test_showing_and_verifying():
    released("a")
    Path("other.json").write_text('{"ledger": {"id": "x", "entry": 3, "hash": "y"}}')

    def told(*given, code=0):
        return run_command("ledger", *given, "--ledger=l.sqlite", code=code)

    assert "'t' protects each row" in told("show")
    assert json.loads(told("show", "--json"))[0]["spent"]["epsilon"] == approx(0.5)
    told("verify", "--receipt=a/release.json")
    assert json.loads(told("verify", "--receipt=other.json", "--json", code=1))["sound"] is False
    told("verify", "--receipt=s.json", code=2)


# What leaves, to hostile readers


def test_hostile_names_stay_text_on_the_card_and_in_spreadsheets(hostile):
    frame, schema = hostile
    frame = frame.assign(**{"=1+1": ["=cmd()" if i % 2 else "@x" for i in range(len(frame))]})
    schema["columns"]["=1+1"] = categorical("=cmd()", "@x")
    frame.to_csv("t.csv", index=False)
    write_json("s.json", schema)
    released("out", "--neutralize", queries="marginals:1", dataset="<script>alert(1)</script>")
    page = Path("out/card.html").read_text()
    assert "<script" not in page
    assert "<img" not in page
    assert html.escape("<img src=x onerror=alert(1)>") in page
    assert "default-src 'none'" in page
    rows = pd.read_csv("out/synthetic.csv", dtype=str)
    assert "'=1+1" in rows.columns
    assert set(rows["'=1+1"]) <= {"'=cmd()", "'@x"}
    assert "=1+1" in pd.read_parquet("out/synthetic.parquet").columns
    assert (
        not pd.read_csv("out/answers.csv", dtype=str)["query"]
        .str.startswith(("=", "+", "-", "@"))
        .any()
    )


def test_names_steer_no_terminal(capsys):
    """Whatever columns, categories and folders are called, each line that is printed is one, of
    printable letters.
    """
    name = "a\x1b[2J\x9b\u202e"
    value = "x\x1b]0;\x07\u2066\nsound: x"
    out = "o\x1b[2J\nnote: o"
    pd.DataFrame({name: [value, "y"] * 100, "n": range(200)}).to_parquet("t.parquet")
    write_json("s.json", {"columns": {name: categorical(value, "y"), "n": integer(0, 199)}})
    question = f"{name} = y"
    run_command("schema t.parquet --peek")
    printed = capsys.readouterr()
    assert json.loads(printed.out)["columns"][name]["values"] == [value, "y"]
    released(out, table="t.parquet", queries="marginals:1")
    run = [
        "--schema=s.json",
        "--queries=marginals:1",
        "--algorithm=gaussian_maxent",
        "--epsilon=1",
        "--delta=1e-6",
    ]
    run_command("run t.parquet", *run, f"--ask={question}")
    run_command("ask", out, question)
    assert main(["ask", out, f"{name} = {value}"]) in (0, 2)
    run_command("run t.parquet", *run, f"--ask={name} = {value}!", code=2)
    run_command(order(out, table="t.parquet", queries=out), code=2)
    after = capsys.readouterr()
    lines = (printed.out + printed.err + after.out + after.err).split("\n")
    assert not [line for line in lines if not line.isprintable()]
    assert not [line for line in lines if line.startswith(("sound", "note: o"))]


def test_numbers_are_never_neutralised():
    out = neutralize_formulas(pd.DataFrame({"-x": [-1.5, 2.0], "y": ["-1", "a"], "z": [None, "+"]}))
    assert list(out) == ["'-x", "y", "z"]
    assert out["'-x"].tolist() == [-1.5, 2.0]
    assert out.y.tolist() == ["'-1", "a"]
    assert out.z.iloc[1] == "'+"


def test_mixed_values_can_be_stored():
    pd.DataFrame({"a": ["1", "x", "true"] * 20}).to_csv("t.csv", index=False)
    Path("s.json").write_text(
        '{"columns": {"a": {"kind": "categorical", "values": [1, "x", "true"]}}}'
    )
    released(queries="marginals:1")
    assert set(pd.read_parquet("out/synthetic.parquet").a) <= {"1", "x", "true"}


def test_the_card_is_made_of_facts_alone():
    released()
    said = Path("out/card.html").read_text()
    label = label_svg(facts(), 1)
    pictures = Markup(re.search(r"<svg.*</svg>", said.replace(label, ""), re.DOTALL)[0])
    assert card_page(facts(), 1, pictures=pictures, label=label) == said
    assert pictures.count("<rect") == pictures.count("<title>"), "every bar has a label"
    means = Promise.of_release(facts())
    shown = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", said)).split())
    assert " ".join(guess_tile_texts(means.max_guess_probability())) in shown
    assert means.suspicion_sentence in shown
    assert ROW_COUNT_NOTICE not in html.unescape(said)
    assert PEEKED_CAVEAT not in said
    assert "for publishing" not in said
    used = re.search(r"Used before (\d+)% · this release (\d+)% · left (\d+)%", said)
    assert used
    kept = facts()["dataset"]
    lifetime = LifetimeBudget(
        Budget(**kept["total"]), ACCOUNTANT_BY_NAME[kept["accounting"]], kept["failure"]
    )
    now = (
        100
        * lifetime.composed_cost(events_from_json(facts()["promise"]["reserved"]))
        / lifetime.capacity
    )
    assert [*map(int, used.groups())] == [0, math.ceil(now), 100 - math.ceil(now)]
    assert lifetime.used_capacity_share(kept["spent"]["epsilon"]) == approx(now / 100)
    assert 0 < lifetime.used_capacity_share(1e-9) < 1e-6, "also of less than may be promised"


def test_the_card_of_people_says_what_their_number_tells():
    released("out", "--person=name", "--most-rows=2", "--count=rows")
    said = Path("out/card.html").read_text()
    assert ROW_COUNT_NOTICE in html.unescape(said)
    assert PEOPLE_ONCE_CAVEAT not in said
    assert "about one person rises to" in said
    run_command(order("b"), code=2)  # rows are another promise
    told = facts()["protects"]
    assert "have as many rows after that choice" in told["neighbours"]
    assert "at most 2, chosen by a public hash of that person" in told["unit"]


@parametrize("epsilon, delta", [(1, "1e-9"), (1, "0")])
def test_everyone_counts_once_where_a_person_is_named(epsilon, delta):
    """The number of people is told, that of rows nowhere; old releases count rows and verify."""
    rng = seeded(3)
    who = np.repeat(np.arange(77), rng.integers(1, 20, 77))
    rows = len(who)
    columns = {"name": who, "a": rng.integers(0, 3, rows), "b": rng.integers(0, 2, rows)}
    pd.DataFrame(columns).to_csv("t.csv", index=False)
    write_json("s.json", {"columns": {"a": integer(0, 2), "b": integer(0, 1)}})
    given = {"epsilon": epsilon, "delta": delta, "algorithm": "mwem", "queries": "marginals:2"}
    given |= {"total": ("9", delta)}
    more = ("--person-columns=b", "--row-totals")
    run_command(order("people", "--person=name", "--most-rows=4", *more, **given))
    run_command(order("rows", "--person=name", "--most-rows=4", "--count=rows", **given))
    shutil.copy("people/verify.py", "verify.py")
    for folder in ("people", "rows"):
        args = [sys.executable, "-I", "verify.py", folder]
        found = subprocess.run(args, capture_output=True, text=True, check=True).stdout
        assert "sound" in found
        assert ("77 synthetic people" in found) == (folder == "people")
    claim = read_json("people/release.json")["protects"]
    assert {name: claim[name] for name in ("records", "rows_per_person", "count", "row_limit")} == {
        "records": 77,
        "rows_per_person": 1,
        "count": "people",
        "row_limit": 4,
    }
    assert (claim["row_totals"], claim["person_columns"]) == (True, ["b"])
    assert claim["unit"] == PrivacyUnit("name", 4, counts_people=True).protected_text
    assert claim["neighbours"].endswith("as many people; n is public, the number of rows is not")
    assert "count" not in read_json("rows/release.json")["protects"], "as releases ever were"
    kept = int(np.minimum(np.bincount(who), 4).sum())
    for file in [*Path("people").glob("*.[hjy]*"), Path("people/answers.csv")]:
        text = html.unescape(file.read_text())
        for number in (rows, kept):
            assert not re.search(rf"(?<![\w.]){number}(?![\w.])", text), file
    assert PEOPLE_ONCE_CAVEAT in html.unescape(Path("people/card.html").read_text())
    rows = pd.read_csv("people/synthetic.csv")
    people = rows.groupby("name", sort=False)
    assert rows["name"].unique().tolist() == [f"synthetic-{i + 1}" for i in range(77)]
    assert (people.size() == people["rows"].first()).all()
    assert (people["b"].nunique() == 1).all()
    sentence = SYNTHETIC_PEOPLE_TEXT.format(77, "name", "b, rows")
    for page in ("card", "board"):
        assert sentence in html.unescape(Path(f"people/{page}.html").read_text())
    assert "everyone counts once: b = 1" in Path("people/proof.html").read_text()
    assert "77 people" in Path("people/registry.yaml").read_text()
    assert "in a table of 77 people" in Path("people/review.html").read_text()


def test_synthetic_people_answer_as_votes_and_as_many_as_asked_for():
    """Without weights `ask` reads the synthetic people's votes, of which each has one."""
    who = np.repeat(np.arange(60), [1, 2, 3] * 20)
    a = (who % 3 > 0).astype(int)  # of a person with one row 0, else 1
    pd.DataFrame({"=name": who, "a": a, "b": 0}).to_csv("t.csv", index=False)
    write_json("s.json", {"columns": {"a": integer(0, 1), "b": integer(0, 1)}})
    given = {"epsilon": 500, "delta": "1e-9", "total": ("999", "1e-9"), "algorithm": "residual"}
    counting = ("--person==name", "--most-rows=3")
    run_command(order("all", *counting, "--row-totals", "--rows=90", "--neutralize", **given))
    rows = pd.read_csv("all/synthetic.csv")
    assert rows["'=name"].nunique() == 90
    assert list(pd.read_parquet("all/synthetic.parquet"))[0] == "=name"
    assert all(holds for holds, _, _ in verifier.run_checks(Path("all")))
    files = files_in_folder(Path("all"))
    model = read_model(files, read_finished_release(files, "all"))
    share = model.answers(Marginals(model.domain, ["a"]))[0]
    assert share == approx(1 / 3, abs=0.02), "of people; of rows it is a sixth"
    run_command(order("one", *counting, "--rows=9", **given))
    assert len(pd.read_csv("one/synthetic.csv")) == 9
    assert "synthetic_people" not in facts("one")
    assert ONE_SYNTHETIC_ROW_TEXT in html.unescape(Path("one/card.html").read_text())
    assert all(holds for holds, _, _ in verifier.run_checks(Path("one")))


def test_a_persons_column_is_told_by_the_name_that_the_schema_gives_it():
    frame = pd.DataFrame({"name": [1, 1, 2, 3], "é": [0, 1, 1, 0], "b": [0, 0, 1, 1]})
    frame.to_csv("t.csv", index=False)
    write_json("s.json", {"columns": {"é": integer(0, 1), "b": integer(0, 1)}})
    released("people", "--person=name", "--most-rows=2", "--person-columns=e\u0301")
    assert facts("people")["protects"]["person_columns"] == ["é"]


# Kills


def ended():
    """How a process of its own ended that made a release."""
    pid = os.fork()
    if pid == 0:
        main(order("dead"))
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def shown(capsys):
    """What showing the ledger says beside what it shows."""
    capsys.readouterr()
    run_command("ledger show --ledger=l.sqlite")
    return capsys.readouterr().err


@parametrize(
    "place, said, left",
    [
        ("publish.draw_release", "stopped before it was written", ()),
        ("release_files.registry.registry_entry", "stopped before it was written", ()),
        ("ledger.ledger_store.LedgerStore.add_note", "stopped after it was written", ("dead",)),
    ],
)
def test_the_next_command_says_what_a_killed_release_left_and_tidies_up(
    here, monkeypatch, capsys, place, said, left
):
    with monkeypatch.context() as child:
        child.setattr(f"dpcore.release.{place}", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        assert ended() == -signal.SIGKILL
    assert verify_ledger("l.sqlite") == []
    (killed,) = releases()
    assert killed["state"] == "reserved, never finished"
    assert killed["total_epsilon"] > 0.4, "charged before anything is drawn"
    (draft,) = [p for p in here.iterdir() if p.name.startswith(".dead-")] or [None]
    assert (draft is None) == bool(left)
    (key,) = noise_key.key_names(here / "l.sqlite")
    with noise_key.hold_key(here / "l.sqlite", key) as held:  # by a process that lives
        assert held.name == key
        assert said not in shown(capsys)
        assert draft is None or draft.exists()
    assert f"release 1 of 't' was {said}" in shown(capsys)
    (killed,) = releases()
    assert killed["state"] == ("released" if left else "reserved, never finished")
    assert killed["total_epsilon"] > 0.4, "its budget stays used"
    assert sorted(p.name for p in here.iterdir() if "dead" in p.name) == list(left)
    assert (said in shown(capsys)) is not bool(left)
    released("alive" if left else "dead")
    assert len(releases()) == 1 + len(left)
    assert noise_key.key_names(here / "l.sqlite") == []
    if left:
        shutil.copy("dead/verify.py", "mine.py")
        assert (
            subprocess.run([sys.executable, "mine.py", "dead", "--ledger=l.sqlite"]).returncode == 0
        )


def test_a_killed_release_is_noted_once_by_whoever_tidies_first(monkeypatch):
    with monkeypatch.context() as child:
        child.setattr(LedgerStore, "add_note", lambda *_: os._exit(9))
        assert ended() == 9
    kept = drafts.hold_key

    def later(*given):  # another command tidies in between
        monkeypatch.setattr(drafts, "hold_key", kept)
        assert drafts.tidy_stopped_releases(Path("l.sqlite"))
        return kept(*given)

    monkeypatch.setattr(drafts, "hold_key", later)
    assert not drafts.tidy_stopped_releases(Path("l.sqlite"))
    assert len(releases()[0]["states"]) == 1


def test_what_is_no_draft_of_a_release_is_not_removed(here, monkeypatch):
    other = here / "papers"
    other.mkdir()
    (other / "thesis.csv").touch()
    settings = {"folder": str(here / "dead"), "draft": str(other)}  # as if that were the draft
    monkeypatch.setattr(
        preparation.PreparedRelease,
        "reserve",
        lambda self, store, signed_by, **_: store.reserve(
            self.request, self.events, settings=settings
        ),
    )
    monkeypatch.setattr(publish, "draw_release", lambda *_: os._exit(9))
    assert ended() == 9
    run_command("ledger show --ledger=l.sqlite")
    assert (other / "thesis.csv").exists()


def test_a_full_disk_leaves_no_ledger_that_is_refused_for_good():
    Path("l.sqlite").touch()
    check_command_refused("may be deleted", ["ledger", "show", "--ledger=l.sqlite"])
    check_command_refused("a new ledger", order(total=None))
    released()
    Path("l.sqlite").write_bytes(b"")
    check_command_refused("bring back a copy", order("b"))


def test_the_private_table_is_no_public_start_and_the_card_names_a_public_one():
    Path("same.csv").symlink_to("t.csv")
    for start in ("./t.csv", "same.csv"):
        check_command_refused(
            "the public start holds the private table",
            order("a", f"--start={start}", algorithm="mwem"),
        )
    assert not Path("l.sqlite").exists()
    pd.read_csv("t.csv", dtype=str).iloc[:3].assign(name="else").to_csv("public.csv", index=False)
    for start in ([], ["--start=public.csv"]):
        released(f"b{len(start)}", *start, algorithm="mwem")
        said = Path(f"b{len(start)}/card.html").read_text()
        assert ("a table that its maker calls public" in said) is bool(start)


def test_answers_that_no_distribution_holds_are_released_without_rows():
    names = [f"c{i}" for i in range(12)]
    rows = seeded(0).integers(0, 9, (200, 12))
    pd.DataFrame(rows, columns=pd.Index(names)).to_csv("t.csv", index=False)
    write_json("s.json", dict.fromkeys(names, 9))
    released(algorithm="residual")
    files = {path.name for path in Path("out").iterdir()}
    evidence = {
        "account.json",
        "board.html",
        "label.svg",
        "proof.html",
        "registry.yaml",
        "review.html",
        "signature.json",
        "verify.py",
    }
    assert files == evidence | {
        "answers.csv",
        "links.csv",
        "tables.npz",
        "card.html",
        "release.json",
    }
    assert "Synthetic rows, and" not in Path("out/card.html").read_text()
    table = pd.read_csv("out/answers.csv")
    real = Marginals.all(domain_from_json(dict.fromkeys(names, 9)), 2).answers_of_rows(
        Rows(rows, np.ones(200))
    )
    gaps = (table["answer"] - real) / table["standard_error"]
    assert gaps.std() == approx(1, abs=0.05)
    assert facts()["made_by"]["noise"].startswith("exact Gaussian noise")
