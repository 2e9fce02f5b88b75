"""Purposes: models, links, tests and questions of synthetic rows, beside lines that are what they
say.
"""

import sys

import numpy as np
import pandas as pd

from dpcore import Budget, Rows, read_json
from dpcore.evaluation import purposes
from dpcore.evaluation.purposes import Purposes, false_alarm_sentence
from dpcore.queries.questions import parse_question
from tests.small_problems import (
    all_tables,
    approx,
    check_command_refused,
    describe_rows,
    expect_error,
    integer_domain,
    rows_in_cells,
    run_command,
    run_to_end,
    seeded,
    write_json,
)

DOMAIN = integer_domain(2, 3, 2, 4)


def table(n=4000, seed=0):
    """d follows a and b, c is nothing but noise; a is 1 for one row in four."""
    rng = seeded(seed)
    a = (rng.random(n) < 0.25).astype(int)
    b = rng.integers(0, 3, n)
    c = rng.integers(0, 2, n)
    d = np.where(rng.random(n) < 0.8, a + b, rng.integers(0, 4, n))
    return rows_in_cells(DOMAIN, np.ravel_multi_index((a, b, c, d), DOMAIN.shape))


def served(epsilon, **asked):
    mine = Purposes.for_table(DOMAIN, table(), **asked)
    return mine, by_purpose(mine, Budget(epsilon, 1e-6))


def by_purpose(mine, *known):
    """What a run on its training rows serves."""
    run = run_to_end("gaussian_maxent", all_tables(DOMAIN, mine.train.n), mine.train, *known)
    return {found.purpose: found for found in mine.score_tasks(run)}


def test_what_is_held_out_is_a_quarter_and_no_release_sees_it():
    rows = table()
    mine = Purposes.for_table(DOMAIN, rows, target="a")
    assert (mine.test.n, mine.train.n) == (1000, 3000)
    parts = [np.repeat(part.values, part.weights, axis=0) for part in (mine.train, mine.test)]
    assert describe_rows(DOMAIN.group_rows(np.concatenate(parts))) == describe_rows(rows)


def test_models_links_and_questions_stand_between_nothing_and_the_real_rows():
    _, good = served(
        10.0, target="a", group="b", question=parse_question("a = 1 and b = 2", DOMAIN)
    )
    _, poor = served(0.02, target="a", question=parse_question("a = 1 and b = 2", DOMAIN))
    for model in purposes.MODEL_NAMES:
        best = good[f"train a model: {model}"]
        assert (best.unit, best.nothing) == ("AUC", 0.5)
        assert best.real > 0.7
        assert best.nothing + 0.3 < best.value < best.real + 0.02
        assert abs(poor[f"train a model: {model}"].value - 0.5) < best.real - 0.5
        assert f"train a model: {model} (b = 2)" in good
    links = good["find what is linked"]
    assert (links.value, links.real) == (1, 1)
    assert links.nothing == approx(2 / 6)
    answer = good["answer: a = 1 and b = 2"]
    assert answer.nothing == approx(1 / 6)
    assert answer.value == approx(answer.real, abs=0.01)
    assert abs(poor["answer: a = 1 and b = 2"].value - answer.real) > abs(
        answer.value - answer.real
    )


def test_many_values_are_scored_by_accuracy_against_the_commonest():
    mine, found = served(10.0, target="b")
    model = found["train a model: logistic regression"]
    shares = np.bincount(mine.test.values[:, 1], mine.test.weights) / mine.test.n
    assert (model.unit, model.nothing) == ("accuracy", approx(shares.max()))
    assert model.nothing < model.value <= 1


def test_of_a_group_of_nobody_it_says_so():
    rows = table()
    there = rows.values[:, 1] != 2
    mine = Purposes.for_table(
        DOMAIN, Rows(rows.values[there], rows.weights[there]), target="d", group="b"
    )
    found = by_purpose(mine)
    nobody = found["train a model: gradient boosting (b = 2)"]
    assert nobody.unit == "no number: nobody of this group is among the rows held out"
    assert [nobody.value, nobody.real, nobody.nothing] == [None] * 3
    assert found["train a model: gradient boosting (b = 1)"].value > 0


def test_chi_square_on_synthetic_rows_alarms_and_ours_does_not():
    alarms = [[], []]
    for seed in range(8):
        served = by_purpose(Purposes.for_table(DOMAIN, table(seed=seed)), Budget(0.1, 1e-9), seed)
        for name, one in zip(purposes.TEST_NAMES, alarms, strict=True):
            found = served[f"test a hypothesis: {name}"]
            assert (found.real, found.unit) == (0.05, "false alarms")
            one.append(found.value)
    assert np.mean(alarms[0]) > 0.3
    assert np.mean(alarms[1]) < 0.15
    words = (
        "Tests on these synthetic rows would find a link that is not there in 38 of 100 "
        "cases; with our test in 5."
    )
    assert false_alarm_sentence(0.38, 0.05) == words


def test_what_cannot_be_asked_is_one_sentence(monkeypatch):
    constant = Rows(np.array([[0, 0, 0, 0], [0, 1, 0, 0]]), np.array([200, 200]))
    rare = Rows(np.array([[0, 0, 0, 0], [1, 1, 0, 0]]), np.array([399, 1]))
    for rows, asked, words in (
        (rare, {"target": "a"}, "the target 'a' has a value that is too rare"),
        (constant, {"target": "a"}, "the target 'a' has one value only"),
        (table(), {"target": "nose"}, "there is no column 'nose'"),
        (table(), {"group": "a"}, "name the target too"),
        (constant, {"target": "b", "group": "a"}, "the group 'a' has one value only"),
        (table(100), {"target": "a"}, "25 rows can be held out and 50 are needed"),
        (constant, {}, "links need two columns with two values each"),
    ):
        with expect_error(words):
            Purposes.for_table(DOMAIN, rows, **asked)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with expect_error("needs scikit-learn"):
        Purposes.for_table(DOMAIN, table(), target="a")
    assert Purposes.for_table(DOMAIN, table()).target is None


def test_the_command_writes_points_resumes_them_and_refuses_anothers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = table(800)
    values = np.repeat(rows.values, rows.weights, axis=0)
    pd.DataFrame(values, columns=list("abcd")).to_csv("t.csv", index=False)
    write_json("s.json", {"a": 2, "b": 3, "c": 2, "d": 4})
    asked = [
        "purposes",
        "t.csv",
        "--schema=s.json",
        "--queries=marginals:2",
        "--algorithm=gaussian_maxent",
    ]
    asked += ["--epsilons=1", "--repeat=1", "--json=p.json", "--csv=p.csv", "--target=a"]
    out = run_command(asked)
    first = read_json("p.json")
    assert "n=600 held_out=200" in out
    assert "Tests on these synthetic rows" in out
    ((point,), scores) = first["points"], first["points"][0]["errors"]
    assert (point["epsilon"], point["seed"], first["task"]["target"]) == (1, 0, "a")
    assert all(
        {"purpose", "value", "unit", "real", "sample", "nothing"} == set(one)
        for one in scores.values()
    )
    monkeypatch.setattr("dpcore.cli.commands.purposes.run_case_with", None)
    again = [*asked, "--resume"]
    run_command(again)  # nothing is run again
    assert read_json("p.json") == first
    assert list(pd.read_csv("p.csv")["purpose"]) == list(scores)
    check_command_refused('target is "a" there and "b" here', again, "--target=b")
    (name, score), *_ = scores.items()
    odd = [{name: 0.5}, {name: score | {"value": "abc"}}, {name: score | {"unit": 3}}]
    wrong = [([point | {"errors": errors}], "is not a point of a sweep") for errors in odd]
    for points, words in (*wrong, ([point, point], "p.json: some point is in it twice")):
        write_json("p.json", first | {"points": points})
        check_command_refused(words, again)


def test_the_command_holds_out_people_of_whom_one_row_each_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = table(800)
    values = np.repeat(rows.values, rows.weights, axis=0)
    frame = pd.DataFrame(values, columns=list("abcd"))
    frame.assign(id=np.arange(800) // 2).to_csv("t.csv", index=False)
    write_json("s.json", {"a": 2, "b": 3, "c": 2, "d": 4})
    asked = ["purposes", "t.csv", "--schema=s.json", "--queries=marginals:1", "--person=id"]
    asked += ["--algorithm=gaussian_maxent", "--epsilons=1", "--repeat=1"]
    assert "n=300 held_out=100" in run_command([*asked, "--count=rows", "--most-rows=1"])
    words = "keep one row of each by --count rows --most-rows 1"
    for unit in ([], ["--count=rows", "--most-rows=2"]):
        check_command_refused(words, [*asked, *unit])
