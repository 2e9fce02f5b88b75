"""The card of a release: a first page for a board, and a second with all settings; made of public facts only."""

import json
from collections.abc import Iterable
from typing import Any

from ..data.privacy_unit import COUNTED, ROW
from ..numbers import brief, noun
from ..parsing.queries import in_words
from ..privacy.accounting.budget import Accounting, Budget
from ..privacy.accounting.lifetime import Lifetime, events_from_json
from ..theory.meaning import Promise
from .gauge import gauge
from .printing import Facts, page, text
from .tiles import foretold, guess

OTHERS = "What is true of a large group can be learned, also about people who are not in the table."
OUTSIDE = "Releases of the same people that are not in this budget record, here or elsewhere, are not counted."
SEVERAL = "A person with several rows is protected for each row, not for all of them together."
UNCOVERED = "What they reveal about people is outside the promise."
PEEKED = f"Ranges or values of columns were filled in from the data without protection. {UNCOVERED}"
LOOKED = "Someone looked at the data before choosing what to release. What the choice itself reveals is not covered."
FLOATING = "Noise was drawn with floating-point numbers. What their last digits reveal is outside the promise."
STARTED = "It began at a table that its maker calls public. What that table shows about people is not covered."
SIGNED = ("Name", "Role", "Date and signature")


def card(facts: Facts) -> str:
    """A release's card as an HTML page, from the facts in release.json."""
    protects, dataset, means = facts["protects"], facts["dataset"], Promise.of_release(facts)
    asked = "; ".join(map(in_words, facts["queries"]["asked"]))
    board = [
        ("What was released", f"Synthetic rows, and {facts['queries']['count']:,} answers: {asked}."),
        ("About whom", f"{protects['records']:,} rows. Protected: {protects['unit']}."),
        ("Ranges and values", _origin(facts)),
        *([("Reason for releasing after a look at the data", facts["reason"])] if facts["reason"] else []),
    ]
    lines = "".join(f"<li>{text(line)}</li>" for line in _not_covered(facts))
    signed = _rows((name, "") for name in SIGNED)
    return page(
        f"Private release: {dataset['name']}",
        f'<div class="tiles">{_tiles(facts, means)}</div><p>{text(facts["utility"]["sentence"])}</p>'
        f'<p class="odds">{text(means.words)}</p><table>{_rows(board)}</table><h2>Privacy budget</h2>{_gauge(facts)}'
        f"<h2>What the promise does not cover</h2><ul>{lines}</ul>"
        f"<h2>Who signs</h2><p>With this signature, all files of this folder may be published.</p>"
        f'<table class="sign">{signed}</table>{_settings(facts)}',
    )


def _tiles(facts: Facts, means: Promise) -> str:
    """The first page's tiles: the accuracy of the release and the chance of a right guess, by public numbers."""
    useful, protects = facts["utility"], facts["protects"]
    tiles = foretold(
        useful["noise"], useful["as_exact_as_sample"], protects["records"], noun(protects["rows_per_person"])
    )
    tiles.append(guess(means.guess(), facts["promise"]["epsilon"]))
    return "".join(f"<div>{text(head)}<b>{text(value)}</b>{text(beside)}</div>" for head, value, beside in tiles)


def _gauge(facts: Facts) -> str:
    """A bar of the data set's budget: shares used before, used by this release, and left."""
    kept, total = facts["dataset"], facts["dataset"]["total"]
    lifetime = Lifetime(Budget(**total), Accounting(kept["accounting"]), kept["failure"])
    now = lifetime.cost(events_from_json(facts["promise"]["reserved"])) / lifetime.capacity
    picture, words = gauge(max(lifetime.share(kept["spent"]["epsilon"]) - now, 0.0), now)
    return f"{picture}<p>{words}</p>"


def _not_covered(facts: Facts) -> list[str]:
    said = [
        (True, OTHERS),
        (True, OUTSIDE),
        (facts["protects"]["unit"] == ROW, SEVERAL),
        (facts["protects"]["unit"] != ROW, COUNTED),
        (facts["schema"].get("peeked"), PEEKED),
        (facts["reason"], LOOKED),
        ("floating" in facts["made_by"]["noise"], FLOATING),
        (facts["made_by"]["public_start"], STARTED),
    ]
    return [words for holds, words in said if holds]


def _origin(facts: Facts) -> str:
    """A sentence on the source of columns' ranges and values: the data, a protected release or a person."""
    if facts["schema"].get("peeked"):
        return "Filled in from the data, not protected."
    measured = facts["schema"].get("measured", [])
    entered = [name for name in facts["schema"]["columns"] if name not in measured]
    said = [
        f"{words}: {', '.join(names)}."
        for words, names in (("Measured from the data, protected", measured), ("Entered by a person", entered))
        if names
    ]
    return " ".join(said)


def _settings(facts: Facts) -> str:
    """The second page: parameters, columns, hashes and versions."""
    promise, protects, made, dataset = facts["promise"], facts["protects"], facts["made_by"], facts["dataset"]
    sections = [
        (
            "Promise",
            [
                ("Neighbours", protects["neighbours"]),
                ("ε", f"{promise['epsilon']:g}"),
                ("δ", brief(promise["delta"])),
                ("Added up by", f"{promise['accounting']}: costs {promise['cost']}"),
                (
                    "All releases together",
                    f"ε = {dataset['spent']['epsilon']:.4g} of {dataset['total']['epsilon']:g} at δ = "
                    f"{brief(dataset['total']['delta'])}",
                ),
            ],
        ),
        (
            "How it was made",
            [
                ("Algorithm", f"{made['algorithm']} ({made['source']})"),
                *((c["name"], f"{_shown(c['value'])} ({c['why']})") for c in facts["plan"]["choices"]),
                ("Noise", made["noise"]),
            ],
        ),
        ("Columns", _columns(facts)),
        (
            "Identity",
            [
                ("Data set", f"{dataset['name']}, version {dataset['version']}"),
                ("Entry in the ledger", f"{facts['ledger']['entry']} of {facts['ledger']['id']}"),
                ("Entry's hash", facts["ledger"]["hash"]),
                ("Schema's SHA-256", facts["schema_sha256"]),
                *((f"SHA-256 of {name}", digest) for name, digest in facts["files"].items()),
                ("Software", ", ".join(f"{k} {v}" for k, v in facts["versions"].items())),
                ("Time", facts["time"]),
            ],
        ),
    ]
    body = "".join(f"<h3>{text(head)}</h3><table>{_rows(rows)}</table>" for head, rows in sections)
    return f'<section class="next"><h2>Settings, for experts</h2>{body}</section>'


def _rows(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(f'<tr><th scope="row">{text(name)}</th><td>{text(value)}</td></tr>' for name, value in rows)


def _columns(facts: Facts) -> list[tuple[str, str]]:
    """The table of all columns: their allowed values and, if measured with this release, the values found."""
    out, found = [], {m["column"]: f"; found: {m['found']}" for m in facts["measured"]}
    for name, spec in facts["schema"]["columns"].items():
        if "values" in spec:
            allowed = ", ".join(str(v) for v in spec["values"])
        elif "edges" in spec:
            allowed = f"{spec['edges'][0]:g} to {spec['edges'][-1]:g} in {len(spec['edges']) - 1} bins"
        else:
            allowed = f"{spec['low']:g} to {spec['high']:g}, each whole number"
        rules = f"missing: {spec['missing']}; out of range: {spec['out_of_range']}"
        out.append((name, f"{spec['kind']}: {allowed} ({rules}){found.get(name, '')}"))
    return out


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)
