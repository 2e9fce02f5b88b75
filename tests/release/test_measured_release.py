"""A release whose schema was measured with it: its evidence speaks of the schema's charges as of
all others.
"""

import math
import re

import numpy as np
import pandas as pd

from dpcore import BudgetError, domain_from_json, domain_to_json, read_json
from dpcore.privacy.accounting import Plan, PureAccountant, ZcdpAccountant
from dpcore.release import preparation
from dpcore.release.evidence import verifier
from dpcore.release.ledger.ledger_store import LedgerStore
from dpcore.schema.partial_schema import partial_schema_from_json
from tests.cli.command_files import people_table
from tests.cli.test_release import facts, order, paid
from tests.release.evidence.test_registry_and_review import review
from tests.small_problems import (
    approx,
    categorical,
    check_command_refused,
    expect_error,
    module_fixture,
    parametrize,
    private,
    run_command,
    write_json,
)

PAY = "pay_*a*<i>"  # a hostile name
OPEN = {
    "columns": {
        "job": private("categorical"),
        "sex": categorical("f", "m"),
        "old": categorical("no", "yes"),
        PAY: private("numeric", bins=4),
    },
    "constraints": [{"impossible": {"sex": "f", "old": "yes"}}],
}
CASES = {  # what is paid with, by what, and what the options are
    "whole": ("gaussian_maxent", "1e-6", []),
    "adaptive": ("mwem", "1e-6", []),
    "float": ("gaussian_maxent", "1e-6", ["--noise=float"]),
    "adaptive_float": ("mwem", "1e-6", ["--noise=float"]),
    "pure": ("mwem", "0", []),
}


@module_fixture
def place(tmp_path_factory):
    """A table, an open schema and one without open categories."""
    here = tmp_path_factory.mktemp("measured")
    frame = people_table(2000).rename(columns={"pay": PAY, "age": "old"})
    frame.assign(old=np.where(frame["old"] > "50", "yes", "no")).to_csv(here / "t.csv", index=False)
    write_json(here / "s.json", OPEN)
    numbers = {name: spec for name, spec in OPEN["columns"].items() if name != "job"}
    write_json(here / "numbers.json", {"columns": numbers})
    return here


def release(place, out, algorithm, delta, *more, ledger="", schema=""):
    schema = schema or ("s.json" if float(delta) else "numbers.json")
    paths = {
        "schema": place / schema,
        "ledger": place / f"{ledger or out}.sqlite",
        "table": str(place / "t.csv"),
    }
    budget = {"epsilon": 2, "delta": delta, "total": (9, delta)}
    return order(place / out, "--rows=300", *more, algorithm=algorithm, **budget, **paths)


@module_fixture
def made(place):
    """The folder with one release of every case."""
    for out, (algorithm, delta, more) in CASES.items():
        run_command(release(place, out, algorithm, delta, *more))
    return place


@parametrize("out", CASES)
def test_it_verifies(made, out):
    found = verifier.run_checks(made / out, ledger=made / f"{out}.sqlite")
    assert not [words for holds, name, words in found if not holds]
    assert {"charges", "reserved", "total", "ledger"} <= {name for _, name, _ in found}
    assert "schema.json" in read_json(made / out / "signature.json")["files"]


@parametrize("out", CASES)
def test_its_proof_names_the_charges_of_the_schema_and_adds_up_both(made, out):
    page = (made / out / "proof.html").read_text()
    heads = re.findall(r"<h2><bdi>(\d.*?)</h2>", page)
    expected = [
        ("Counts of numbers by sign", PAY),
        ("Counts on all levels of a tree", PAY),
        ("Counts on all levels of a tree", PAY),
    ]
    expected = expected if out == "pure" else [("The count of each category", "job"), *expected]
    assert len(heads) > len(expected), "the algorithm's own come after"
    for head, (statistic, column) in zip(heads, expected, strict=False):
        assert statistic in head
        assert f" of column <bdi>{column.replace('<i>', '&lt;i&gt;')}</bdi>, for the schema" in head
    assert not any("for the schema" in head for head in heads[len(expected) :])
    assert "NoneType" not in page
    assert "<i>" not in page
    promise = facts(made / out)["promise"]
    symbol = "ε" if out == "pure" else "ρ"
    adds = [
        float(x)
        for x in re.findall(
            rf"Cost</bdi></th><td>.*?Σ {symbol} = ([\d.e-]+)", page.replace("\n", "")
        )
    ]
    (total,) = re.findall(rf'class="odds">.*?Σ {symbol} = ([\d.e-]+)', page)
    (epsilon,) = re.findall(r"that is ε = ([\d.]+) ≤ 2", page)
    accounting = PureAccountant if out == "pure" else ZcdpAccountant
    here = paid(promise["charges"], accounting).cost
    ever = paid(promise["reserved"], accounting).cost
    assert len(adds) == len(heads)
    assert math.fsum(adds) == approx(here, rel=1e-4)
    assert here * (1 - 1e-5) <= float(total) <= ever * (1 + 1e-5)
    assert 1.9 < float(epsilon) <= 2
    if not out.startswith("adaptive"):
        assert float(total) == approx(here, rel=1e-5)


@parametrize("out", CASES)
def test_review_and_registry_say_where_its_bounds_come_from(made, out):
    told = facts(made / out)
    answers = review(told)
    bounds, kind = answers["Where do bounds and categories come from?"]
    assert kind == "declared"
    names = PAY if out == "pure" else f"job, {PAY}"
    assert (
        f"measured from the data, protected, with this release: {names}; others entered by a person"
        in bounds
    )
    assert "among the uses" in bounds
    assert "everybody" not in bounds
    registry = " ".join((made / out / "registry.yaml").read_text().split())
    assert (
        "a schema whose bounds were measured from the data, protected, with this release"
        in registry
    )
    assert "but for what was measured privately: the bounds or values of" in registry
    assert ("failure = " in registry) == (out != "pure"), "the part of delta that a schema may take"
    assert PAY not in registry.replace(" ", ""), "a name is no markdown"
    assert "pay\\\\_\\\\*a\\\\*\\\\<i\\\\>" in registry
    noise = told["made_by"]["noise"]
    assert ("floating-point" in noise) == out.endswith("float")
    assert "; that of the schema: " in noise
    _, kind = answers["Can rounding leak information (floating point)?"]
    assert kind == ("not covered" if out.endswith("float") else "declared")


def test_a_constraint_of_public_columns_is_kept_and_one_of_an_open_column_refused(made):
    told = facts(made / "whole")["schema"]
    assert told["constraints"] == [{"impossible": {"sex": ["f"], "old": ["yes"]}}]
    assert told["measured"] == ["job", PAY]
    rows = pd.read_csv(made / "whole" / "synthetic.csv")
    assert ("f", "yes") not in set(zip(rows["sex"], rows["old"], strict=True))
    domain = domain_from_json(told)
    assert domain_to_json(domain) == told
    part = domain.project([PAY, "sex", "old"])
    assert (part.measured, len(part.constraints)) == ((PAY,), 1)
    assert partial_schema_from_json(OPEN).project(["job", "sex"]).placeholder.constraints == ()
    for spec in (
        {"impossible": {"job": "clerk", "sex": "f"}},
        {"order": [PAY, "sex"]},
        {"within": ["sex", "job"], "which": {"f": "clerk"}},
    ):
        with expect_error(r"constraint 1: column '(job|pay.*)' is to be measured"):
            partial_schema_from_json(OPEN | {"constraints": [spec]})
    for wrong in ("x", [1], [{"order": 7}], [{"within": {}}]):
        with expect_error("constraint"):
            partial_schema_from_json(OPEN | {"constraints": wrong})


def test_what_an_earlier_release_measured_is_said_beside_what_this_one_did(made):
    earlier = facts(made / "whole")
    entry = earlier["ledger"]["entry"]
    schema = earlier["schema"]
    schema["columns"][PAY] = OPEN["columns"][PAY]
    write_json(made / "half.json", schema)
    run_command(
        release(made, "half", "gaussian_maxent", "1e-6", ledger="whole", schema="half.json")
    )
    told = facts(made / "half")
    assert told["schema"]["measured"] == ["job", PAY]
    assert [found["column"] for found in told["measured"]] == [PAY]
    assert told["bounds"].split("; ") == [
        f"measured from the data, protected, with this release: {PAY}",
        f"measured from the data, protected, with an earlier release, entry {entry} of the "
        "ledger: job",
        "others entered by a person",
    ]
    assert all(holds for holds, _, _ in verifier.run_checks(made / "half", earlier=made / "whole"))


@parametrize("name", ["forecast_affordable_run", "plan_second", "then"])
def test_a_schema_that_no_release_follows_is_written_and_stays_charged(
    place, tmp_path, monkeypatch, name
):
    owner = Plan if name == "then" else preparation
    real = getattr(owner, name)
    seen = []

    def broken(*given, **more):
        if name != "forecast_affordable_run" or seen:  # which is asked of the placeholder first
            raise BudgetError("too much")
        seen.append(name)
        return real(*given, **more)

    monkeypatch.setattr(owner, name, broken)
    ledger = str(tmp_path / "l")
    check_command_refused(
        "too much; its budget stays used; the schema that was measured is in "
        f"broken_{name}/schema.json",
        release(place, f"broken_{name}", "gaussian_maxent", "1e-6", ledger=ledger),
        notes=1,
    )
    assert [path.name for path in (place / f"broken_{name}").iterdir()] == ["schema.json"]
    assert domain_from_json(read_json(place / f"broken_{name}" / "schema.json")).measured == (
        "job",
        PAY,
    )
    (data,) = LedgerStore(f"{ledger}.sqlite").list_datasets()
    assert [entry["state"] for entry in data.releases] == ["failed"]


def test_a_run_answers_questions_of_the_schema_that_it_found(place, tmp_path):
    order = [
        "run",
        str(place / "t.csv"),
        f"--schema={place / 's.json'}",
        "--queries=marginals:2",
        "--epsilon=2",
    ]
    order += ["--algorithm=gaussian_maxent", "--delta=1e-6", f"--json={tmp_path / 'r.json'}"]
    said = run_command(order, "--ask=job = nurse")
    run = read_json(tmp_path / "r.json")
    assert run["answers"][0]["real"] == approx(0.5, abs=0.05)
    assert run["line"]["ratio"] > 1
    assert (
        "least root mean square error of any unbiased Gaussian release, had the schema been known"
        in said
    )
    check_command_refused("astronaut", order, "--ask=job = astronaut", notes=1)
