"""Make a release's entry for the public registry of deployments, tier 3.

Facts are filled in, free text is left to people. The registry is opendp/deployments-registry-data;
its schema is in the tests.
"""

import json
import re

from ...core.numbers import format_short_number
from ...core.types import Json
from .printing import TEMPLATES, render_template

MAX_NAMED_CHARGES = 8  # of charges that are named
_MARKDOWN_CHARS = re.compile(
    r"([\\`*_{}\[\]()#+!$<>|~])"
)  # the registry renders texts as markdown with formulas


def registry_entry(facts: Json, releases: int) -> str:
    """Return the registry entry (YAML) for the facts of a release.

    The release is the last of `releases` of its data set.
    """
    charges = [c for c in facts["promise"]["charges"] if c["kind"] != "Drawn"]
    charge_texts = ", ".join(
        f"{c['times']} × {_charge_text(c)}" for c in charges[:MAX_NAMED_CHARGES]
    )
    more_text = (
        f" and {len(charges) - MAX_NAMED_CHARGES} kinds more"
        if len(charges) > MAX_NAMED_CHARGES
        else ""
    )
    slug = re.sub(r"[^a-z0-9]+", "-", facts["dataset"]["name"].lower()).strip("-")[:80] or "release"
    values = facts | {
        "releases": releases,
        "charges": charge_texts + more_text,
        "slug": slug,
        "brief": format_short_number,
    }
    return render_template(TEMPLATES / "registry.yaml", _quote_for_yaml, values)


def _quote_for_yaml(value: object) -> str:
    """Return a number as YAML writes it, or a person's text safe between YAML quotes.

    The text is one line, without markdown or formulas.
    """
    if isinstance(value, float):
        return re.sub(r"^(-?\d+)e", r"\1.0e", repr(value))  # YAML would read 1e-06 as text
    line = "".join(c if c.isprintable() else "\ufffd" for c in str(value))
    return json.dumps(_MARKDOWN_CHARS.sub(r"\\\1", line), ensure_ascii=False)[1:-1]


def _charge_text(charge: Json) -> str:
    """Return a charge with its parameters, in words."""
    parameters = ", ".join(
        f"{k} = {v:.4g}"
        for k, v in charge.items()
        if k not in ("kind", "times") and (v or k != "failure")
    )
    return f"{charge['kind']}({parameters})"
