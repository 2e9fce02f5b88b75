"""The settings card of a release: one self-contained page to print, made of public facts only."""

import json
from collections.abc import Iterable
from typing import Any

from ..data.privacy_unit import COUNTED, ROW
from ..tags import Tag
from ..theory.meaning import Promise
from .printing import page, text


def card(facts: dict[str, Any]) -> str:
    """The page (HTML) for the facts of a release as release.json holds them."""
    promise, protects, made = facts["promise"], facts["protects"], facts["made_by"]
    dataset = facts["dataset"]
    named = {c["name"]: c for c in facts["plan"]["choices"]}
    total, spent = dataset["total"], dataset["spent"]
    accounting = f"{promise['accounting']}: costs {promise['cost']}"
    limit = [("Their number", COUNTED, Tag.PUBLIC)] if protects["unit"] != ROW else []
    sections = [
        (
            "Promise",
            [
                ("Protected", protects["unit"], Tag.PUBLIC),
                ("Neighbours", protects["neighbours"], Tag.PUBLIC),
                ("ε", f"{promise['epsilon']:g}", Tag.TYPED),
                ("δ", f"{promise['delta']:g}", Tag.TYPED),
                ("Added up by", accounting, Tag.PUBLIC),
                ("All releases so far", f"ε = {spent['epsilon']:.4g} at δ = {spent['delta']:g}", Tag.PUBLIC),
                ("Allowed in all", f"ε = {total['epsilon']:g} at δ = {total['delta']:g}", Tag.TYPED),
            ],
        ),
        (
            "How it was made",
            [
                ("Algorithm", f"{made['algorithm']} ({made['source']})", Tag.PUBLIC),
                *((c["name"], f"{_shown(c['value'])} ({c['why']})", Tag.PUBLIC) for c in named.values()),
                ("Noise", made["noise"], Tag.PUBLIC),
                ("Asked", "; ".join(facts["queries"]["asked"]) + f" ({facts['queries']['count']} answers)", Tag.TYPED),
                ("Records", f"{protects['records']:,}", Tag.PUBLIC),
                *limit,
                ("Released", ", ".join(facts["files"]), Tag.PAID),
            ],
        ),
        ("Columns and their bounds", [("Where bounds come from", facts["bounds"], _origin(facts)), *_columns(facts)]),
        (
            "Identity",
            [
                ("Data set", f"{dataset['name']}, version {dataset['version']}", Tag.TYPED),
                ("Entry in the ledger", f"{facts['ledger']['entry']} of {facts['ledger']['id']}", Tag.PUBLIC),
                ("Entry's hash", facts["ledger"]["hash"], Tag.PUBLIC),
                ("Schema's SHA-256", facts["schema_sha256"], Tag.PUBLIC),
                *((f"SHA-256 of {name}", digest, Tag.PUBLIC) for name, digest in facts["files"].items()),
                ("Software", ", ".join(f"{k} {v}" for k, v in facts["versions"].items()), Tag.PUBLIC),
                ("Time", facts["time"], Tag.PUBLIC),
            ],
        ),
    ]
    if facts["reason"]:
        sections[0][1].append(("Reason given for releasing after a private peek", facts["reason"], Tag.TYPED))
    title = f"Settings of a private release: {dataset['name']}"
    body = "".join(f"<h2>{text(head)}</h2><table>{_rows(rows)}</table>" for head, rows in sections)
    tags = "".join(f"<li><b>{text(tag)}</b>: {text(tag.meaning)}</li>" for tag in Tag)
    first = f'<p class="odds">{text(Promise.of_release(facts).words)}</p><p>{text(facts["utility"]["sentence"])}</p>'
    return page(title, f"{first}{body}<h2>What the tags mean</h2><ul>{tags}</ul>")


def _rows(rows: Iterable[tuple[str, str, Tag]]) -> str:
    return "".join(
        f'<tr><th scope="row">{text(name)}</th><td>{text(value)} <span class="tag">{tag}</span></td></tr>'
        for name, value, tag in rows
    )


def _columns(facts: dict[str, Any]) -> list[tuple[str, str, Tag]]:
    """Every column with its allowed values; they are public, or marked where they were read off the records."""
    out, found = [], {m["column"]: f"; found: {m['found']}" for m in facts["measured"]}
    for name, spec in facts["schema"]["columns"].items():
        if "values" in spec:
            allowed = ", ".join(str(v) for v in spec["values"])
        elif "edges" in spec:
            allowed = f"{spec['edges'][0]:g} to {spec['edges'][-1]:g} in {len(spec['edges']) - 1} bins"
        else:
            allowed = f"{spec['low']:g} to {spec['high']:g}, each whole number"
        rules = f"missing: {spec['missing']}; out of range: {spec['out_of_range']}"
        out.append((name, f"{spec['kind']}: {allowed} ({rules}){found.get(name, '')}", _origin(facts, name)))
    return out


def _origin(facts: dict[str, Any], column: str = "") -> Tag:
    if facts["schema"].get("peeked"):
        return Tag.PEEK
    measured = facts["schema"].get("measured", [])
    return Tag.PAID if (column in measured if column else measured) else Tag.TYPED


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)
