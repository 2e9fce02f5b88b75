"""The settings card of a release: one self-contained page to print, made of public facts only.

All text is escaped and stands in <bdi>, so that a hostile column name neither runs nor reorders the line around it.
"""

import html
import json
from collections.abc import Iterable
from typing import Any

from ..data.privacy_unit import COUNTED, ROW
from ..tags import Tag
from ..theory.meaning import released

STYLE = """
body{font:15px/1.45 system-ui,sans-serif;color:#1b1b1b;background:#fff;max-width:46rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0 0 .3rem}h2{font-size:1.05rem;margin:1.4rem 0 .3rem;border-bottom:1px solid #999}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0}
th{font-weight:600;width:13rem}tr+tr>*{border-top:1px solid #ddd}.odds{font-size:1.1rem;margin:.8rem 0}
.tag{font-size:.75rem;border:1px solid #666;border-radius:.6rem;padding:0 .4rem;margin-left:.4rem;white-space:nowrap}
code{font-size:.8rem;overflow-wrap:anywhere}td{overflow-wrap:anywhere}
@media print{body{margin:0;max-width:none;font-size:11px}h2{break-after:avoid}tr{break-inside:avoid}}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


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
    body = "".join(f"<h2>{_text(head)}</h2><table>{_rows(rows)}</table>" for head, rows in sections)
    tags = "".join(f"<li><b>{_text(tag)}</b>: {_text(tag.meaning)}</li>" for tag in Tag)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>'
        f"<style>{STYLE}</style></head><body><h1>{_text(title)}</h1>"
        f'<p class="odds">{_text(released(facts))}</p>{body}'
        f"<h2>What the tags mean</h2><ul>{tags}</ul></body></html>\n"
    )


def _rows(rows: Iterable[tuple[str, str, Tag]]) -> str:
    return "".join(
        f'<tr><th scope="row">{_text(name)}</th><td>{_text(value)} <span class="tag">{tag}</span></td></tr>'
        for name, value, tag in rows
    )


def _columns(facts: dict[str, Any]) -> list[tuple[str, str, Tag]]:
    """Every column with its allowed values; they are public, or marked where they were read off the records."""
    out = []
    for name, spec in facts["schema"]["columns"].items():
        if "values" in spec:
            allowed = ", ".join(str(v) for v in spec["values"])
        elif "edges" in spec:
            allowed = f"{spec['edges'][0]:g} to {spec['edges'][-1]:g} in {len(spec['edges']) - 1} bins"
        else:
            allowed = f"{spec['low']:g} to {spec['high']:g}, each whole number"
        rules = f"missing: {spec['missing']}; out of range: {spec['out_of_range']}"
        out.append((name, f"{spec['kind']}: {allowed} ({rules})", _origin(facts, name)))
    return out


def _origin(facts: dict[str, Any], column: str = "") -> Tag:
    if facts["schema"].get("peeked"):
        return Tag.PEEK
    measured = facts["schema"].get("measured", [])
    return Tag.PAID if (column in measured if column else measured) else Tag.TYPED


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)


def _text(value: object) -> str:
    return f"<bdi>{html.escape(str(value))}</bdi>"
