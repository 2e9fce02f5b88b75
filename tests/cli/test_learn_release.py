"""The release of what is learned: what leaves, what it costs, and what is refused before that."""

import re
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import chdir
from pathlib import Path

import pytest

from dpcore import ALGORITHMS, Budget, PrivacyUnit, domain_to_json, read_json
from dpcore.cli import main
from dpcore.privacy.curators.risk_curator import RiskCurator
from dpcore.release import publish
from dpcore.release.evidence import verifier
from dpcore.release.ledger.ledger_store import LedgerStore
from dpcore.release.ledger.signing import load_signing_key
from dpcore.release.preparation import prepare_learning
from dpcore.release.request import LearningRequest
from tests.risk_problems import DOMAIN, learning_table
from tests.small_problems import (
    approx,
    check_command_refused,
    domain_of,
    expect_error,
    integer,
    module_fixture,
    numeric,
    parametrize,
    run_command,
    write_json,
)

MEDIAN = ("quantile:y:0.5", "rank_exponential")
PREDICTION = ("logistic:label:x", "exponential")


@pytest.fixture(autouse=True)
def here(here):
    """The working folder, in which a small table lies, each row with a person's name."""
    table = learning_table(400)
    table.assign(who=[f"planted-{i // 2}" for i in range(400)]).to_csv("t.csv", index=False)
    write_json("s.json", domain_to_json(DOMAIN))


def order(task, algorithm="rank_exponential", *extra, out="out", epsilon=0.5, delta=0.0):
    """The arguments of a release of what is learned."""
    options = {"task": task, "algorithm": algorithm, "epsilon": epsilon, "delta": delta, "out": out}
    options |= {"schema": "s.json", "ledger": "l.sqlite"}
    options |= {"total-epsilon": 4, "total-delta": 1e-6}
    return ["learn-release", "t.csv", *[f"--{k}={v}" for k, v in options.items()], *extra]


def faults(out="out"):
    """The checks of a release that do not hold."""
    checks = verifier.run_checks(Path(out), ledger=Path("l.sqlite"))
    return {name: finding for holds, name, finding in checks if not holds}


@parametrize(
    "task, algorithm, delta, extra, truth",
    [
        (*MEDIAN, 0, (), {"y": 5}),
        ("quantile:y:0.9", "rank_exponential", 1e-7, ("--person=who", "--most-rows=2"), {"y": 8}),
        ("absolute:y", "exponential", 0, (), {"y": 5}),
        ("mean:x,y", "exponential", 0, (), {"x": 0, "y": 5}),
        (*PREDICTION, 0, (), {"x": 0, "(intercept)": 0}),
    ],
)
def test_what_is_learned_leaves_charged_proved_and_verified(task, algorithm, delta, extra, truth):
    printed = run_command(order(task, algorithm, *extra, epsilon=1, delta=delta))
    assert not faults()
    facts = read_json("out/release.json")
    learned = {n["name"]: n["value"] for n in facts["learned"]["answers"]}
    assert learned.keys() == truth.keys()
    assert all(f"learned {name}: {value:.6g}" in printed for name, value in learned.items())
    room = 10 if facts["learned"]["use"] else 3
    assert [*learned.values()] == approx([*truth.values()], abs=room), "near the table, or in K"
    group = 2 if extra else 1
    assert (facts["protects"]["records"], facts["protects"]["rows_per_person"]) == (400, group)
    (spent,) = facts["promise"]["charges"]
    assert (spent["kind"], spent["times"]) == ("BoundedRange", 1)
    assert spent["epsilon"] >= 1 - 1e-9 if delta else spent["epsilon"] == approx(1)
    assert "exact exponential mechanism on a public grid" in facts["made_by"]["noise"]
    (data_set,) = LedgerStore("l.sqlite").list_datasets()
    assert [r["state"] for r in data_set.releases] == ["released"]
    assert data_set.spent == facts["dataset"]["spent"]["epsilon"] > 0
    assert not any(b"planted" in path.read_bytes() for path in Path("out").iterdir())
    assert set(facts["schema"]["columns"]) < {"x", "y", "label"}, "the task's columns alone"
    proof = Path("out/proof.html").read_text()
    assert ("Rows are first moved to the steps of a public grid" in proof) == (
        algorithm == "rank_exponential"
    )


def test_the_same_task_again_draws_anew_and_a_stopped_release_is_drawn_once(monkeypatch):
    drawn = []
    write = publish.write_learning_files

    def keep(folder, ready, reservation, parameter, noise, **more):
        drawn.append(parameter.x[0])
        if len(drawn) == 1:
            raise OSError("no room")
        return write(folder, ready, reservation, parameter, noise, **more)

    monkeypatch.setattr(publish, "write_learning_files", keep)
    check_command_refused("its budget stays used, and its draw is kept", order(*MEDIAN))
    run_command(order(*MEDIAN, out="a"))
    run_command(order(*MEDIAN, out="b"))
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(LedgerStore("l.sqlite").list_datasets()[0].releases) == 2
    assert not faults("a")


def test_the_budget_of_the_data_set_is_not_exceeded():
    run_command(order(*MEDIAN, out="a", epsilon=1))
    assert main(order(*MEDIAN, out="b", epsilon=3.9)) == 3
    assert not Path("b").exists()
    assert len(LedgerStore("l.sqlite").list_datasets()[0].releases) == 1


@parametrize(
    "task, algorithm, delta, message",
    [
        ("quantile:y:0.5", "noisy_gd", 1e-7, "noisy_gd rounds its noise; a release draws"),
        ("quantile:y:0.5", "regularized_exponential", 1e-7, "rounds its noise"),
        ("mean:x,y", "dp_sgd", 1e-7, "rounds its noise"),
        ("mean:x", "exponential", 1e-7, "rounds its noise"),
        ("logistic:label:x,y", "exponential", 0, "at most 2 coefficients"),
        ("mean:x,y", "rank_exponential", 0, "for a quantile of one column"),
        ("quantile:label:0.5", "rank_exponential", 0, "holds categories, not numbers"),
        ("quantile:z:0.5", "rank_exponential", 0, "there is no column 'z'"),
    ],
)
def test_a_refusal_comes_before_the_ledger_is_made(task, algorithm, delta, message):
    check_command_refused(message, order(task, algorithm, delta=delta))
    assert not Path("l.sqlite").exists()
    assert not Path("out").exists()


def request(task, domain=DOMAIN, table=None, algorithm="exponential", **more):
    """A request for what is learned from a table in memory."""
    options = {"budget": Budget(1.0, 0.0), "dataset": "t", "total": Budget(4.0, 1e-6)} | more
    frame = learning_table(40) if table is None else table
    learner = ALGORITHMS[algorithm]()
    return LearningRequest(frame=frame, schema=domain, task=task, algorithm=learner, **options)


@parametrize(
    "changes, task",
    [
        ({"label": "yes"}, "logistic:label:x"),
        ({"x": 1.0}, "logistic:label:x"),
        ({"y": 3.0}, "quantile:y:0.5"),
        ({"x": 1.0, "y": 0.0}, "mean:x,y"),
    ],
)
def test_rows_that_teach_nothing_are_learned_from_like_any_others(changes, task):
    """Or else a refusal would tell what all rows but one have in common."""
    table = learning_table(40).assign(**changes)
    ready = prepare_learning(request(task, table=table))
    usual = prepare_learning(request(task))
    assert (ready.plan.settings, ready.events) == (usual.plan.settings, usual.events)
    assert ready.problem.region.radius == usual.problem.region.radius


@parametrize(
    "column, message",
    [
        (numeric(0, 10, 5, missing="category"), "may have missing values, which are no numbers"),
        (integer("2020-01-01", "2020-12-31", read="date of y-m-d"), "holds dates"),
        (integer(3, 3), "is constant: its public bounds are both 3"),
    ],
)
def test_what_the_schema_leaves_open_is_refused_whatever_rows_say(column, message):
    domain = domain_of({"y": column})
    with expect_error(message):
        request("quantile:y:0.5", domain, learning_table(40))


def test_a_row_that_the_schema_refuses_is_refused_and_one_that_it_clips_is_not():
    table = learning_table(40).assign(y="11")
    with expect_error("is outside 0..10"):
        prepare_learning(request("quantile:y:0.5", table=table))
    clipped = domain_of({"y": numeric(0, 10, 5, out_of_range="clip")})
    ready = prepare_learning(request("quantile:y:0.5", clipped, table))
    assert ready.rows.values.tolist() == [[10.0]]


def test_people_who_share_a_vote_are_refused():
    unit = PrivacyUnit(person="who", most_rows=2, counts_people=True)
    with expect_error("learning counts rows, not people who share a vote"):
        request("quantile:y:0.5", unit=unit)


def test_nothing_leaves_that_was_drawn_with_rounding(monkeypatch):
    """Whatever the plan says: the curator counts what it drew on a public grid."""
    monkeypatch.setattr(RiskCurator, "exact_draw_counts", Counter())
    check_command_refused("drawn in floating point; nothing leaves", order(*MEDIAN, delta=1e-7))
    assert not Path("out").exists()
    (data_set,) = LedgerStore("l.sqlite").list_datasets()
    assert [r["state"] for r in data_set.releases] == ["failed"], "charged all the same"


def first_number(facts):
    return facts["learned"]["answers"][0]


FORGERIES = {
    "another value": lambda facts: first_number(facts).update(value=5.5),
    "a value outside its range": lambda facts: first_number(facts).update(high=-1.0),
    "a wider range than the schema's": lambda facts: first_number(facts).update(high=99.0),
    "a number of no column": lambda facts: first_number(facts).update(name="x"),
    "a number more": lambda facts: facts["learned"]["answers"].append(first_number(facts)),
    "another task": lambda facts: facts["learned"].update(task="quantile:y:0.6"),
    "rounded noise": lambda facts: facts["made_by"].update(noise="floating-point noise"),
    "a promised error": lambda facts: facts["utility"].update(promised=0.01),
    "a good use": lambda facts: facts["utility"].update(good_for=["all"]),
}


@module_fixture
def made(tmp_path_factory):
    """A folder with a release of a median and its ledger."""
    place = tmp_path_factory.mktemp("learned")
    with chdir(place):
        learning_table(400).to_csv("t.csv", index=False)
        write_json("s.json", domain_to_json(DOMAIN))
        run_command(order(*MEDIAN))
    return place


def forged_faults(made, folder, change_folder):
    """What is found where the owner changes a copy of a release and signs it again."""
    shutil.copytree(made / "out", folder)
    change_folder(folder)
    load_signing_key(made / "l.sqlite").sign(folder)
    return {name for holds, name, _ in verifier.run_checks(folder) if not holds}


@parametrize("change", FORGERIES.values(), ids=[*FORGERIES])
def test_a_claim_that_contradicts_the_numbers_is_found_though_its_owner_signed(made, change):
    def forge(folder):
        facts = read_json(folder / "release.json")
        change(facts)
        write_json(folder / "release.json", facts)

    assert forged_faults(made, Path("b"), lambda folder: None) == set()
    assert "answers" in forged_faults(made, Path("c"), forge)


def test_a_card_with_another_number_or_rows_beside_it_are_found(made):
    def forge_card(folder):
        card = (folder / "card.html").read_text()
        (folder / "card.html").write_text(re.sub(r"(Learned number.*?</bdi>: )", r"\g<1>9", card))

    def add_rows(folder):
        facts = read_json(folder / "release.json")
        (folder / "synthetic.csv").write_text("y\n5\n")
        facts["files"]["synthetic.csv"] = verifier.digest(folder / "synthetic.csv")
        write_json(folder / "release.json", facts)

    assert forged_faults(made, Path("b"), forge_card) == {"documents"}
    assert "answers" in forged_faults(made, Path("c"), add_rows)


def test_the_verifier_in_the_folder_needs_nothing_of_this_program(made):
    program = Path("verify.py")
    shutil.copy(made / "out" / "verify.py", program)
    command = [sys.executable, "-I", program, made / "out", "--ledger", made / "l.sqlite"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok   answers: 1 learned number(s), within their public range" in done.stdout


def test_a_release_of_what_is_learned_answers_no_question(made):
    (number,) = read_json(made / "out" / "release.json")["learned"]["answers"]
    message = f"holds what was learned, y = {number['value']:.6g}; it answers no questions"
    check_command_refused(message, ["ask", str(made / "out"), "y > 3"])
