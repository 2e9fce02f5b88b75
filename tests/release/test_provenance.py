"""That a column was measured with protection is believed of the ledger, never of what a schema says
of itself.
"""

import copy
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore import domain_from_json
from dpcore.release.evidence.origin_words import STATED_TEXT, describe_bounds
from dpcore.release.provenance import (
    column_digest,
    column_origins,
    measured_columns_note,
    measuring_entries,
)
from tests.cli.command_files import OPEN, people_table
from tests.cli.test_release import facts, order
from tests.release.evidence.test_registry_and_review import review
from tests.small_problems import categorical, integer, numeric, parametrize, run_command, write_json

SPECS = {
    "a": [categorical("x", "y"), categorical("x", "y", "z"), categorical("y", "x")],
    "b": [integer(0, 9), integer(0, 8), integer(0, 9, missing="category")],
    "c": [numeric(0, 1, 4), numeric(0, 1, 5), numeric(0, 1, 4, out_of_range="clip")],
}


def domain_with(choice, claimed):
    columns = {name: SPECS[name][place] for name, place in choice.items()}
    return domain_from_json({"columns": columns, "measured": sorted(claimed)})


CHOICES = st.fixed_dictionaries({name: st.integers(0, 2) for name in SPECS})
NAMES = st.sets(st.sampled_from([*SPECS]))


@given(CHOICES, CHOICES, NAMES, NAMES, NAMES)
def test_protected_is_said_of_what_this_release_or_the_ledger_measured_exactly_so(
    then, now, kept, claimed, here
):
    earlier = domain_with(then, kept)
    domain = domain_with(now, claimed | here)
    entries = measuring_entries(
        [(3, measured_columns_note(earlier, kept)), (5, measured_columns_note(earlier, kept))]
    )
    found = {origin.column: origin for origin in column_origins(domain, here, entries)}
    for name in SPECS:
        source = found[name].source
        entry = found[name].entry
        known = name in claimed and name in kept and then[name] == now[name]
        expected = "this release" if name in here else "earlier release" if known else None
        assert (source if expected else None) == expected
        assert entry == (3 if expected == "earlier release" else None)
        assert expected or source == ("author" if name in claimed else "person")
    words = describe_bounds([origin.to_json() for origin in found.values()])
    assert ("protected" in words) == any(
        o.source in ("this release", "earlier release") for o in found.values()
    )
    assert (STATED_TEXT in words) == any(o.source == "author" for o in found.values())


def test_a_digest_is_of_the_name_too():
    one = domain_from_json({"columns": {"a": integer(0, 9), "b": integer(0, 9)}})
    assert column_digest(one, "a") != column_digest(one, "b")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A table, and a schema of which some is to be measured."""
    monkeypatch.chdir(tmp_path)
    people_table().to_csv("t.csv", index=False)
    people_table(2900).to_csv("other.csv", index=False)
    write_json("s.json", OPEN)
    return tmp_path


def made(out, schema, *more, **changes):
    """The facts of a release, and all that its documents say."""
    options = {"epsilon": 1, "delta": "1e-6", "total": ("20", "1e-6")} | changes
    run_command(order(out, *more, schema=schema, **options))
    documents = ("card.html", "review.html", "registry.yaml", "release.json")
    texts = (Path(out, name).read_text() for name in documents)
    return facts(out), " ".join(re.sub("</?bdi>", "", " ".join(texts)).split())


def test_a_claim_of_this_ledger_names_the_entry_and_one_typed_by_hand_does_not(here):
    first, _ = made("first", "s.json")
    entry = first["ledger"]["entry"]
    own = json.loads(Path("first/schema.json").read_text())
    told, words = made("second", "first/schema.json", total=None)
    assert {o["column"]: (o["source"], o["entry"]) for o in told["provenance"]} == {
        "job": ("earlier release", entry),
        "pay": ("earlier release", entry),
        "age": ("earlier release", entry),
        "sex": ("person", None),
    }
    assert f"by entry {entry} of the ledger: " in words
    typed = copy.deepcopy(own)
    typed["columns"]["job"]["values"].insert(0, "pilot")
    typed["measured"] = [*own["columns"]]
    write_json("typed.json", typed)
    told, words = made("third", "typed.json", total=None)
    sources = {o["column"]: o["source"] for o in told["provenance"]}
    assert sources == {
        "job": "author",
        "sex": "author",
        "pay": "earlier release",
        "age": "earlier release",
    }
    assert sorted(told["schema"]["measured"]) == ["age", "pay"]
    assert "Stated by the schema's author, not by this ledger" in words.replace("&#39;", "'")
    assert "as public knowledge" not in review(told)["Where do bounds and categories come from?"][0]


@parametrize("how", ["another ledger", "another data set"])
def test_a_claim_of_another_ledger_or_data_set_is_its_authors(here, how):
    made("first", "s.json")
    changes = {"ledger": "m.sqlite"} if how == "another ledger" else {"table": "other.csv"}
    told, _ = made("second", "first/schema.json", **changes)
    assert {o["source"] for o in told["provenance"]} == {"author", "person"}
    assert "protected" not in told["bounds"]
    assert "measured" not in told["schema"]


def test_a_schema_that_was_measured_alone_is_known_to_the_ledger(here):
    given = (
        "schema t.csv --private --epsilon=4 --delta=1e-6 --ledger=l.sqlite "
        "--total-epsilon=20 --total-delta=1e-6"
    )
    Path("alone.json").write_text(run_command(given))
    told, _ = made("out", "alone.json", total=None)
    assert {o["source"] for o in told["provenance"]} == {"earlier release"}
    assert told["schema"]["measured"] == list(told["schema"]["columns"])


def test_nothing_is_said_of_what_a_person_typed(here):
    told, words = made("out", "s.json")
    typed = {"columns": {"sex": OPEN["columns"]["sex"]}, "measured": ["sex"]}
    write_json("typed.json", typed)
    claimed, more = made("claimed", "typed.json", total=None, queries="marginals:1")
    assert "protected" not in claimed["bounds"]
    assert "This ledger does not know of it" in more
    assert "This ledger does not know of it" not in words
    assert told["bounds"].startswith("measured from the data, protected, with this release")
