"""What accompanies a release: the public registry's entry, valid by its own schema, and a review
from facts alone.
"""

import re
from functools import cache
from html import unescape
from pathlib import Path

import jsonschema
import yaml

from dpcore import read_json
from dpcore.release.evidence import registry
from dpcore.release.evidence.review import review_page
from tests.cli.command_files import write_files
from tests.cli.test_release import order
from tests.small_problems import QUERIES, module_fixture, parametrize, run_command, write_json

SCHEMA = yaml.safe_load((Path(__file__).parent / "registry-schema.yaml").read_text())
FREE = {"data_curators", "intended_use", "data_product_region", "actors", "justification"}


def release(place, out, *more):
    """The facts and the registry's entry of a release, and its folder."""
    paths = {
        "schema": place / "s.json",
        "ledger": place / "l.sqlite",
        "table": str(place / "t.csv"),
    }
    run_command(order(place / out, "--rows=9", *more, epsilon=0.3, queries="marginals:1", **paths))
    text = (place / out / "registry.yaml").read_text()
    return read_json(place / out / "release.json"), yaml.safe_load(text), place / out


@module_fixture
def made(tmp_path_factory):
    """The release of an algorithm, which is made once."""

    @cache
    def of(algorithm):
        place = tmp_path_factory.mktemp(algorithm)
        write_files(place)
        return release(place, "a", f"--algorithm={algorithm}")

    return of


def tiers(schema, path=()):
    """(path, tier) of every field that names one."""
    for name, part in schema.get("properties", {}).items():
        yield from ([((*path, name), part["tier"])] if type(part.get("tier")) is int else [])
        yield from tiers(part, (*path, name))


def unwritten(record, *path):
    """The paths of the fields that people still have to write."""
    if isinstance(record, dict):
        return [found for name, part in record.items() for found in unwritten(part, *path, name)]
    return [".".join(path)] if "To be written by the curator:" in str(record) else []


@parametrize("algorithm", QUERIES)
def test_every_algorithm_s_entry_is_valid_by_the_official_schema(made, algorithm):
    facts, entry, _ = made(algorithm)
    jsonschema.validate(entry, SCHEMA, format_checker=jsonschema.FormatChecker())
    assert (entry["tier"], entry["status"]) == (3, "Draft")
    assert entry == yaml.safe_load(registry.registry_entry(facts, 1))


def test_all_that_tiers_1_to_3_ask_for_is_answered_and_people_write_free_text_only(made):
    facts, entry, folder = made("mwem")
    details = {
        "model_name_details",
        "data_source_type_details",
        "access_type_details",
        "data_product_sector",
    }
    for path, tier in tiers(SCHEMA):
        if path[-1] not in details and (tier in (2, 3) or path[:2] == ("deployment", "basic")):
            found = entry
            for name in path:
                found = found[name]
            assert found not in ("", None, []), path
    head = (folder / "registry.yaml").read_text().split("url_slug")[0]
    assert unwritten(entry) == re.findall("^#   (.*)$", head, re.MULTILINE)
    assert {path.split(".")[-1] for path in unwritten(entry)} == FREE
    loss = entry["deployment"]["privacy_loss"]["privacy_parameters"]
    assert (loss["epsilon"], loss["delta"]) == (
        facts["promise"]["epsilon"],
        facts["promise"]["delta"],
    )
    assert facts["promise"]["cost"] == f"ρ={loss['rho']:.6g}"


def test_a_pure_release_and_a_second_one_say_so(here):
    first, second = (
        release(here, o, "--algorithm=dpfw", "--delta=0", "--total-delta=0")[1] for o in "ab"
    )
    assert first["deployment"]["dp_variant"]["variant_name"] == "Pure DP"
    kinds = [e["deployment"]["deployment_model"]["release_type"] for e in (first, second)]
    assert kinds == ["One release", "Many releases"]


def test_hostile_names_are_text_in_yaml_and_in_the_markdown_that_the_registry_makes_of_it(here):
    name = "a: [b](http://x) $x$ *y* # 'z' \"q\" \\n é😀 !!python/object"
    _, entry, _ = release(here, "a", "--algorithm=dpfw", f"--dataset={name}")
    jsonschema.validate(entry, SCHEMA)
    title = entry["deployment"]["basic"]["name"]
    assert "\\[b\\]\\(http://x\\) \\$x\\$ \\*y\\* \\#" in title
    assert "é😀" in title
    assert entry["url_slug"].startswith("a-b-http-x-x-y-z-q-n")


# The review

ROW = (
    r'(?s)<tr><th scope="row"><bdi>(.*?)</bdi></th>\n<td><bdi>(.*?)</bdi> <span '
    r'class="tag"><bdi>(.*?)</bdi>'
)


def review(facts):
    """The sentence that answers each question, and the kind of evidence that it rests on."""
    return {
        unescape(q): (unescape(words), kind)
        for q, words, kind in re.findall(ROW, review_page(facts, 1))
    }


@parametrize("algorithm", QUERIES)
def test_nothing_stays_unanswered(made, algorithm):
    facts, _, folder = made(algorithm)
    answers = review(facts)
    assert len(answers) == 16
    assert {kind for _, kind in answers.values()} >= {"proved", "declared", "not covered"}
    for question, (sentence, _) in answers.items():
        assert question.endswith("?")
        assert len(sentence) > 40
        assert "None" not in sentence
    written = (folder / "review.html").read_text()
    assert written == review_page(facts, 1)
    assert written.count('<tr><th scope="row">') == len(answers)
    card = (folder / "card.html").read_text()
    assert ("One chosen answer" in card) is (facts["utility"]["promised"] is not None)
    useful, kind = answers["How useful is it?"]
    known = facts["errors"] or facts["utility"]["good_for"] or facts["utility"]["not_for"]
    assert kind == ("measured" if known else "not covered")
    assert facts["utility"]["sentence"] in useful
    assert ("as exact as a sample" in useful) is (
        facts["utility"]["predicted"]["as_exact_as_sample"] is not None
    )


def test_a_peek_and_floating_point_are_not_covered_and_hostile_words_stay_text(here, made):
    write_json("s.json", read_json("s.json") | {"peeked": True})
    reason = "--reason=<script>alert(1)</script>"
    facts = release(here, "a", "--algorithm=gaussian_maxent", "--noise=float", reason)[0]
    for told, expected in ((facts, "not covered"), (made("gaussian_maxent")[0], "declared")):
        found = review(told)
        for question in ("Where do bounds", "Did anyone look", "Can rounding"):
            assert (
                next(kind for q, (_, kind) in found.items() if q.startswith(question)) == expected
            )
    assert "<script" not in review_page(facts, 1)
    assert "default-src 'none'" in review_page(facts, 1)


def test_what_is_proved_is_what_the_verifier_checks(made):
    facts = made("dpfw")[0]
    proved = {
        question: words for question, (words, kind) in review(facts).items() if kind == "proved"
    }
    assert len(proved) == 4
    assert "ε = 0.3 at δ = 1e-6" in proved["How large are ε and δ?"]
    assert f"Line {facts['ledger']['entry']} of ledger {facts['ledger']['id']}" in " ".join(
        proved.values()
    )
