"""A release as an entry of the public registry of deployments, tier 3: facts filled in, free text left to people.

The registry is opendp/deployments-registry-data; its schema is in the tests. The text is YAML of one kind only:
indented keys, and values as JSON writes them, which YAML reads alike.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from ..numbers import brief
from ..types import Json

LEFT = "To be written by the curator:"  # begins every field that no fact can fill
_MARKS = re.compile(r"([\\`*_{}\[\]()#+!$<>|~])")  # the registry renders texts as markdown with formulas


def entry(facts: Json, releases: int) -> Json:
    """The registry's record for the facts of a release, which is the last of `releases` of its data set."""
    promise, protects, made, dataset = (facts[name] for name in ("promise", "protects", "made_by", "dataset"))
    name, many = _said(dataset["name"]), releases > 1
    spent, total = dataset["spent"], dataset["total"]
    parameters = {"epsilon": promise["epsilon"], "delta": promise["delta"]}
    charges = [c for c in promise["charges"] if c["kind"] != "Drawn"]
    if promise["cost"].startswith("ρ="):
        parameters["rho"] = float(promise["cost"].removeprefix("ρ="))
    kinds = ", ".join(f"{c['times']} × {_parameters(c)}" for c in charges[:8])
    more = f" and {len(charges) - 8} kinds more" if len(charges) > 8 else ""
    return {
        "url_slug": f"{_slug(dataset['name'])}-{facts['time'][:4]}-{facts['ledger']['entry']}",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": f"Synthetic rows and answers about {name}",
                "data_curators": [f"{LEFT} who publishes this"],
                "intended_use": f"{LEFT} what it is for, and what it is not for",
                "data_product_type": "Synthetic data",
                "data_product_region": f"{LEFT} the region that the data describe, or whose laws apply",
                "description": (
                    f"Synthetic rows, and answers to {facts['queries']['count']:,} statistical queries about "
                    f"{protects['records']:,} rows, made by {made['algorithm']} in one private run."
                ),
                "publication_date": facts["time"][:10],
            },
            "dp_variant": {
                "variant_name": "Pure DP" if promise["delta"] == 0 else "Approximate DP",
                "data_domain": (
                    f"All tables of {protects['records']:,} rows over {len(facts['schema']['columns'])} columns of "
                    f"a schema whose bounds were {_said(facts['bounds'])} (SHA-256 {facts['schema_sha256']})."
                ),
                "unprotected_quantities": (
                    f"The number of rows, {protects['records']:,}, and the schema" + _unprotected(facts["schema"])
                ),
            },
            "privacy_loss": {
                "privacy_unit": _said(protects["unit"]),
                "privacy_unit_details": _said(
                    f"{protects['neighbours']}. At most {protects['rows_per_person']} rows belong to one."
                ),
                "privacy_parameters": parameters,
                "privacy_parameters_details": (
                    f"This release. All {releases} about the data set together: ε = {spent['epsilon']:.6g} of "
                    f"{total['epsilon']:g} at δ = {brief(total['delta'])}."
                ),
            },
            "deployment_model": {
                "model_name": "Central",
                "actors": f"{LEFT} who holds the data, who runs the software, who receives the release",
                "release_type": "Many releases" if many else "One release",
                "release_type_details": (
                    f"Release {releases} about this data set, version {dataset['version']} of it; a ledger adds all of "
                    f"them up, and refuses what would exceed ε = {total['epsilon']:g}."
                ),
                "data_source_type": "Dynamic" if dataset["version"] > 1 else "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": (
                    "Answers and synthetic rows are computed from noisy measurements only, which are as private as "
                    "these; nothing is compared with the data after the noise was drawn."
                ),
                "composition": _said(
                    f"Within the release: {promise['accounting']} of {kinds}{more}. Between releases: "
                    f"{dataset['accounting']}, fully adaptive, with a capacity that was fixed at first use."
                ),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": _said(
                    (f"Someone looked at the data first: {facts['reason']}. " if facts["reason"] else "")
                    + "Parameters: "
                    + "; ".join(f"{c['name']} = {c['value']} ({c['why']})" for c in facts["plan"]["choices"])
                ),
                "mechanisms": _said(
                    f"{made['algorithm']} ({made['source']}). Noise: {made['noise']}. Software: "
                    + ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
                    + ". Running time is not protected."
                ),
                "justification": f"{LEFT} why this unit, this ε and this algorithm",
            },
        },
    }


def _unprotected(schema: Json) -> str:
    """The end of the sentence about the schema: which parts came from the records, and which were protected."""
    if schema.get("peeked"):
        return ", whose bounds were filled in from the data."
    if measured := schema.get("measured"):
        return f", but for what was measured privately: the bounds or values of {_said(', '.join(measured))}."
    return "."


def unwritten_fields(record: Any) -> list[str]:
    """The paths of the fields that people still have to write."""
    return [".".join(path) for path, text in _texts(record) if text.startswith(LEFT)]


def in_yaml(record: Json) -> str:
    """The registry's record as YAML text."""
    head = (
        "# An entry for the public registry of deployments (opendp/deployments-registry-data), tier 3. People write:\n"
    )
    return head + "".join(f"#   {path}\n" for path in unwritten_fields(record)) + "".join(_lines(record, 0))


def _lines(value: Any, depth: int) -> Iterator[str]:
    for name, part in value.items():
        indent = "  " * depth
        if isinstance(part, dict):
            yield f"{indent}{name}:\n"
            yield from _lines(part, depth + 1)
        else:
            yield f"{indent}{name}: {_scalar(part)}\n"


def _scalar(value: Any) -> str:
    """A scalar as JSON writes it, except numbers like 1e-06, which YAML would read as text."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("e", ".0e") if isinstance(value, float) and "e" in text and "." not in text else text


def _texts(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _texts(part, (*path, name))
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part, path)
    elif isinstance(value, str):
        yield path, value


def _parameters(charge: Json) -> str:
    told = ", ".join(
        f"{k} = {v:.4g}" for k, v in charge.items() if k not in ("kind", "times") and (v or k != "failure")
    )
    return f"{charge['kind']}({told})"


def _said(text: object) -> str:
    """A person's text made safe to show: without markdown or formulas, as one printable line."""
    line = "".join(c if c.isprintable() else "\ufffd" for c in str(text))
    return _MARKS.sub(r"\\\1", line)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:80] or "release"
