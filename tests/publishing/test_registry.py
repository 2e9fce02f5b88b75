"""The entry for the public registry: valid by its own schema, tier 3, facts from the release, free text for people."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from dpcore.cli import main
from dpcore.publishing import registry
from tests.cli.files import write_files
from tests.helpers import QUERIES

SCHEMA = yaml.safe_load((Path(__file__).parent / "registry-schema.yaml").read_text(encoding="utf-8"))
FREE = {"data_curators", "intended_use", "data_product_region", "actors", "justification"}


def release(place: Path, out: str, *more: str) -> tuple[dict, dict]:
    """The facts and the registry's entry of a release."""
    order = [f"--schema={place / 's.json'}", "--queries=marginals:1", f"--ledger={place / 'l.sqlite'}", "--rows=9"]
    order += [f"--out={place / out}", "--delta=1e-6", "--epsilon=.3", *more]
    assert main(["release", str(place / "t.csv"), *order]) == 0
    text = (place / out / "registry.yaml").read_text(encoding="utf-8")
    return json.loads((place / out / "release.json").read_text(encoding="utf-8")), yaml.safe_load(text)


def tiers(schema: dict, path: tuple[str, ...] = ()):
    """(path, tier) of every field that names one."""
    for name, part in schema.get("properties", {}).items():
        yield from ([((*path, name), part["tier"])] if type(part.get("tier")) is int else [])
        yield from tiers(part, (*path, name))


FIRST = ("--total-epsilon=2", "--total-delta=1e-6")


@pytest.mark.parametrize("algorithm", QUERIES)
def test_every_algorithm_s_entry_is_valid_by_the_official_schema(tmp_path, algorithm):
    write_files(tmp_path)
    facts, entry = release(tmp_path, "a", f"--algorithm={algorithm}", *FIRST)
    jsonschema.validate(entry, SCHEMA, format_checker=jsonschema.FormatChecker())
    assert (entry["tier"], entry["status"]) == (3, "Draft")
    assert entry == registry.entry(facts, 1)


def test_all_that_tiers_1_to_3_ask_for_is_answered_and_people_write_free_text_only(tmp_path):
    write_files(tmp_path)
    facts, entry = release(tmp_path, "a", "--algorithm=mwem", *FIRST)
    details = {"model_name_details", "data_source_type_details", "access_type_details", "data_product_sector"}
    for path, tier in tiers(SCHEMA):
        if path[-1] not in details and (tier in (2, 3) or path[:2] == ("deployment", "basic")):
            found = entry
            for name in path:
                found = found[name]
            assert found not in ("", None, []), path
    assert {path.split(".")[-1] for path in registry.unwritten_fields(entry)} == FREE
    text = (tmp_path / "a" / "registry.yaml").read_text(encoding="utf-8")
    assert all(path in text.split("url_slug")[0] for path in registry.unwritten_fields(entry))
    loss = entry["deployment"]["privacy_loss"]["privacy_parameters"]
    assert (loss["epsilon"], loss["delta"]) == (facts["promise"]["epsilon"], facts["promise"]["delta"])
    assert facts["promise"]["cost"] == f"ρ={loss['rho']:.6g}"


def test_a_pure_release_and_a_second_one_say_so(tmp_path):
    write_files(tmp_path)
    _, first = release(tmp_path, "a", "--algorithm=dpfw", "--delta=0", "--total-epsilon=2", "--total-delta=0")
    _, second = release(tmp_path, "b", "--algorithm=dpfw", "--delta=0")
    assert first["deployment"]["dp_variant"]["variant_name"] == "Pure DP"
    kinds = [e["deployment"]["deployment_model"]["release_type"] for e in (first, second)]
    assert kinds == ["One release", "Many releases"]


def test_hostile_names_are_text_in_yaml_and_in_the_markdown_that_the_registry_makes_of_it(tmp_path):
    write_files(tmp_path)
    name = "a: [b](http://x) $x$ *y* # 'z' \"q\" \\n é😀 !!python/object"
    _, entry = release(tmp_path, "a", "--algorithm=dpfw", f"--dataset={name}", *FIRST)
    jsonschema.validate(entry, SCHEMA)
    title = entry["deployment"]["basic"]["name"]
    assert "\\[b\\]\\(http://x\\) \\$x\\$ \\*y\\* \\#" in title
    assert "é😀" in title
    assert entry["url_slug"].startswith("a-b-http-x-x-y-z-q-n")


def test_the_schema_refuses_what_is_wrong():
    """Test the tester."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"url_slug": "x", "status": "Draft", "tier": 4, "deployment": {}}, SCHEMA)
