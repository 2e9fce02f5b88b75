"""List the algorithms, what they are for and their parameters.

Two examples:
  python -m dpcore algorithms
  python -m dpcore algorithms --markdown
"""

import json
from argparse import Namespace
from dataclasses import asdict
from typing import Any

from ... import ALGORITHMS
from ...core.parameters import Param, declared_parameters
from ...core.types import Json
from ..arguments import flag

ARGUMENTS = ()
EITHER = (flag("--markdown", "a Markdown table"), flag("--json", "everything, machine-readable"))


def execute(args: Namespace) -> None:
    """Print the list of algorithms."""
    if args.json:
        print(
            json.dumps({name: _algorithm_facts(cls) for name, cls in ALGORITHMS.items()}, indent=2)
        )
    elif args.markdown:
        print(markdown_table())
    else:
        for name, cls in ALGORITHMS.items():
            print(f"{name}: {cls.about.summary}")
            for p in declared_parameters(cls):
                print(f"    {p.name} = {_default_text(p)}  ({p.allowed_values_text}) {p.doc}")


def markdown_table() -> str:
    """Return the algorithms as a Markdown table."""
    lines = [
        "| name | what it does | use it when | not when | parameters | source |",
        "|---|---|---|---|---|---|",
    ]
    for name, cls in ALGORITHMS.items():
        about = cls.about
        settings = "; ".join(
            f"`{p.name}` = {_default_text(p)} ({p.allowed_values_text})"
            for p in declared_parameters(cls)
        ).replace("|", "or")
        cells = (about.summary, about.use_when, about.avoid_when, settings, about.source)
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _default_text(p: Param) -> str:
    return "auto" if p.default is None else str(p.default)


def _algorithm_facts(cls: Any) -> Json:
    parameter_facts = [
        {
            "name": p.name,
            "type": p.kind.__name__,
            "default": p.default,
            "range": p.allowed_values_text,
            "doc": p.doc,
            "auto": p.auto,
        }
        for p in declared_parameters(cls)
    ]
    return {
        "problem": cls.problem.__name__,
        "enumerates": cls.enumerates,
        **asdict(cls.about),
        "parameters": parameter_facts,
    }
