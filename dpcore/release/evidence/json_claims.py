"""The fields that the JSON files of a release may hold, each with its kind and range; `verify.py` holds a copy of this.

The lists are closed: a field that stands in none of them is refused, as is one that is missing. A new field is added
here, to RELEASE, ACCOUNT or SIGNATURE, and nowhere else; where it is a number, `verifier` recomputes it too.
"""

import json
import math
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from .origin_words import SOURCES
from .recount import ACCOUNTINGS, EVENT_SIZES, MAX_TIMES, OPTIMAL, WrongError, need

MAX_DIGITS = 4000  # of a number in a file
MAX_TEXT = 1_000_000  # characters of a text: a category, a reason, a setting
MAX_SHORT = 200  # characters of a name or a version
MAX_COLUMNS = 5000
MAX_ITEMS = 1_000_000  # of a list
MAX_RELEASES = 100_000  # rows of an account
MIN_EPSILON, MAX_EPSILON = 1e-6, 1e9
MIN_DELTA, MAX_DELTA = 1e-100, 0.5
MAX_SIZE = 1e18  # of what an event costs
MAX_COUNT = 10**18
MAX_ODDS = 1.1e304  # e^700, where it is cut off
HASH = re.compile(r"[0-9a-f]{64}")
LEDGER = re.compile(r"[0-9a-f]{16}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")

Check = Callable[[Any, str], None]  # raises WrongError for a value that it refuses; the text says where it stands


def strict_json(content: bytes, name: str) -> Any:
    """Return what a JSON file says; WrongError for what two readers may read differently.

    That is: text that is not UTF-8, NaN and infinities, numbers beyond the range of floats or of very many digits, and
    a key that stands twice in one object.
    """

    def number(text: str) -> float:
        value = float(text)
        need(math.isfinite(value), f"{name}: {text[:40]} is no number that can be read")
        return value

    def whole(text: str) -> int:
        need(len(text) <= MAX_DIGITS, f"{name}: a number has more than {MAX_DIGITS} digits")
        return int(text)

    def unique(pairs: list) -> dict:
        parsed = dict(pairs)
        need(len(parsed) == len(pairs), f"{name}: one object has a key twice")
        return parsed

    def constant(text: str) -> None:
        raise WrongError(f"{name}: {text} is no number")

    try:
        return json.loads(
            content.decode("utf-8"),
            parse_float=number,
            parse_int=whole,
            parse_constant=constant,
            object_pairs_hook=unique,
        )
    except (ValueError, RecursionError) as error:
        raise WrongError(f"{name}: {type(error).__name__}: {error}") from None


def refuse(value: Any, where: str, expected: str) -> None:
    """Raise WrongError for a value that is not what is expected where it stands."""
    raise WrongError(f"{where} = {repr(value)[:60]} is not {expected}")


def text(longest: int = MAX_SHORT, pattern: re.Pattern | None = None) -> Check:
    """Return the check of a text: Unicode, not too long, and of this pattern."""

    def check(value: Any, where: str) -> None:
        if type(value) is not str or len(value) > longest:
            refuse(value, where, f"a text of at most {longest} characters")
        if any("\ud800" <= c <= "\udfff" for c in value):
            refuse(value, where, "Unicode text")
        if pattern is not None and not pattern.fullmatch(value):
            refuse(value, where, "of the form that it has in every release")

    return check


def number(low: float, high: float, *, above: bool = False, below: bool = False) -> Check:
    """Return the check of a number from low to high; `above` and `below` leave out the ends themselves."""

    def check(value: Any, where: str) -> None:
        is_inside = type(value) in (int, float) and low <= value <= high
        if not is_inside or (above and value == low) or (below and value == high):
            refuse(value, where, f"a number from {low:g} to {high:g}")

    return check


def whole(low: int, high: int = MAX_COUNT) -> Check:
    """Return the check of a whole number from low to high."""

    def check(value: Any, where: str) -> None:
        if type(value) is not int or not low <= value <= high:
            refuse(value, where, f"a whole number from {low} to {high}")

    return check


def choice(*allowed: Any) -> Check:
    """Return the check of a value that is one of these, of the same type."""

    def check(value: Any, where: str) -> None:
        if not any(type(value) is type(other) and value == other for other in allowed):
            refuse(value, where, f"one of {', '.join(map(repr, allowed))}")

    return check


def items(each: Check, least: int = 0, most: int = MAX_ITEMS) -> Check:
    """Return the check of a list of values that all pass one check."""

    def check(value: Any, where: str) -> None:
        if type(value) is not list or not least <= len(value) <= most:
            refuse(value, where, f"a list of {least} to {most}")
        for index, item in enumerate(value):
            each(item, f"{where}[{index}]")

    return check


def fields(required: dict[str, Check], optional: dict[str, Check] | None = None) -> Check:
    """Return the check of an object with exactly these fields, of which some may be missing."""
    field_checks = required | (optional or {})

    def check(value: Any, where: str) -> None:
        if type(value) is not dict:
            refuse(value, where, "an object")
        missing = [name for name in required if name not in value]
        need(not missing, f"{where}: the field {', '.join(missing)[:100]} is missing")
        unknown = [name for name in value if name not in field_checks]
        unknown_field_hint = "this copy of verify.py does not know it; a newer program may have written it"
        need(not unknown, f"{where}: the field {', '.join(unknown)[:100]}: {unknown_field_hint}")
        for name, item in value.items():
            field_checks[name](item, f"{where}.{name}")

    return check


def named(each: Check, most: int = MAX_COLUMNS) -> Check:
    """Return the check of an object whose names are free, and whose values all pass one check."""

    def check(value: Any, where: str) -> None:
        if type(value) is not dict or len(value) > most:
            refuse(value, where, f"an object of at most {most} names")
        for name, item in value.items():
            text(MAX_TEXT)(name, where)
            each(item, f"{where}.{name[:40]}")

    return check


def either(*checks: Check) -> Check:
    """Return the check of a value that passes one of these checks at least."""

    def check(value: Any, where: str) -> None:
        reasons = []
        for alternative in checks:
            try:
                alternative(value, where)
                return
            except WrongError as error:
                reasons.append(str(error))
        raise WrongError("; ".join(reasons))

    return check


def moment(value: Any, where: str) -> None:
    """Raise WrongError unless the value is a time in UTC, to the second."""
    text(pattern=TIME)(value, where)
    try:
        datetime.fromisoformat(value)
    except ValueError:
        refuse(value, where, "a time")


def event(value: Any, where: str) -> None:
    """Raise WrongError unless the value is an event of a known kind that costs something."""
    if type(value) is not dict or value.get("kind") not in EVENT_SIZES:
        refuse(value, where, f"an event of the kind {', '.join(EVENT_SIZES)}")
    is_sampler_error = value["kind"] == "Drawn"
    size_check = number(0, 1, below=True) if is_sampler_error else number(0, MAX_SIZE, above=True)
    field_checks = {"kind": text(), EVENT_SIZES[value["kind"]]: size_check, "times": whole(1, MAX_TIMES)}
    if not is_sampler_error:
        field_checks["failure"] = number(0, 1, below=True)
    fields(field_checks)(value, where)


def events(value: Any, where: str) -> None:
    """Raise WrongError unless the value is a list of events of which one at least pays for a use of the data."""
    items(event, least=1)(value, where)
    has_cost = any(item["kind"] != "Drawn" for item in value)
    need(has_cost, f"{where}: nothing pays for the use of the data")


def nothing(value: Any, where: str) -> None:
    """Raise WrongError unless the value is null."""
    if value is not None:
        refuse(value, where, "null")


def anything(value: Any, where: str) -> None:
    """Raise WrongError for a text that is none, in any JSON value; what it says is the owner's word."""
    if type(value) is dict:
        named(anything, MAX_ITEMS)(value, where)
    elif type(value) is list:
        items(anything)(value, where)
    elif type(value) is str:
        text(MAX_TEXT)(value, where)


HEX = text(pattern=HASH)
FLAG = choice(True, False)
WORDS = text(MAX_TEXT)
EPSILON = number(MIN_EPSILON, MAX_EPSILON)
SPENT = number(0, MAX_EPSILON, above=True)
DELTA = either(choice(0, 0.0), number(MIN_DELTA, MAX_DELTA))
SHARE = number(0, 1)
VALUE = either(number(-math.inf, math.inf), FLAG, WORDS)
SETTING = either(number(-1e300, 1e300), FLAG, WORDS)
BOUND = number(-1e15, 1e15)
LIFETIME = choice(*ACCOUNTINGS)
COLUMN = fields(
    {
        "kind": choice("categorical", "numeric", "integer"),
        "ordered": FLAG,
        "missing": text(),
        "out_of_range": text(),
    },
    {
        "values": items(VALUE, least=1),
        "edges": items(BOUND, least=2),
        "low": BOUND,
        "high": BOUND,
        "read": text(),
        "unreadable": text(),
    },
)
SCHEMA = fields(
    {"columns": named(COLUMN)},
    {
        "constraints": items(anything),
        "peeked": choice(True),
        "file": named(VALUE, most=20),
        "measured": items(WORDS, least=1, most=MAX_COLUMNS),
    },
)
START = fields({"name": text(), "rows": whole(1), "sha256": either(choice(""), HEX), "fingerprint": text()})
ORIGIN = fields({"column": WORDS, "source": choice(*SOURCES), "entry": either(nothing, whole(1))})
RELEASE = fields(
    {
        "format": choice(1),
        "time": moment,
        "dataset": fields(
            {
                "name": text(),
                "version": whole(1),
                "total": fields({"epsilon": EPSILON, "delta": DELTA}),
                "spent": fields({"epsilon": SPENT, "delta": DELTA}),
                "accounting": LIFETIME,
                "failure": number(0, MAX_DELTA),
            }
        ),
        "ledger": fields({"id": text(pattern=LEDGER), "entry": whole(1), "hash": HEX, "link": HEX}),
        "protects": fields({"unit": WORDS, "neighbours": WORDS, "records": whole(2), "rows_per_person": whole(1)}),
        "promise": fields(
            {
                "epsilon": EPSILON,
                "delta": DELTA,
                "accounting": choice(*ACCOUNTINGS, OPTIMAL),
                "cost": text(),
                "charges": events,
                "reserved": events,
                "means": fields(
                    {"guess": number(0.5, 1), "odds": number(1, MAX_ODDS), "except": number(0, 1, below=True)}
                ),
            }
        ),
        "plan": fields({"choices": items(fields({"name": text(), "value": SETTING, "why": WORDS}))}),
        "made_by": fields(
            {
                "algorithm": text(),
                "source": WORDS,
                "adaptive": FLAG,
                "public_start": FLAG,
                "start": either(nothing, START),
                "noise": WORDS,
            }
        ),
        "queries": fields({"asked": items(WORDS, least=1), "count": whole(1)}),
        "schema": SCHEMA,
        "schema_sha256": HEX,
        "bounds": WORDS,
        "provenance": items(ORIGIN, least=1, most=MAX_COLUMNS),
        "measured": items(fields({"column": WORDS, "found": WORDS, "nothing": FLAG, "tag": text()}), most=MAX_COLUMNS),
        "reason": WORDS,
        "versions": named(text(), most=20),
        "files": named(HEX, most=20),
        "errors": either(
            nothing,
            fields(
                {
                    "answers": whole(1),
                    "measured": whole(1),
                    "least": number(0, MAX_SIZE),
                    "most": number(0, MAX_SIZE),
                }
            ),
        ),
        "utility": fields(
            {
                "good_for": items(WORDS),
                "not_for": items(WORDS),
                "tolerance": SHARE,
                "smallest_group": either(nothing, whole(0)),
                "sentence": WORDS,
                "as_exact_as_sample": either(nothing, SHARE),
                "noise": either(nothing, items(number(0, MAX_SIZE), least=2, most=2)),
            }
        ),
    }
)
ACCOUNT = fields(
    {
        "opened": fields(
            {
                "ledger": text(pattern=LEDGER),
                "epsilon": EPSILON,
                "delta": DELTA,
                "accounting": LIFETIME,
                "failure": number(0, MAX_DELTA),
                "link": HEX,
            }
        ),
        "releases": items(
            fields(
                {
                    "entry": whole(1),
                    "hash": HEX,
                    "time": moment,
                    "epsilon": EPSILON,
                    "delta": DELTA,
                    "events": events,
                    "total_epsilon": SPENT,
                    "link": HEX,
                }
            ),
            least=1,
            most=MAX_RELEASES,
        ),
    }
)
SIGNATURE = fields(
    {
        "files": named(HEX, most=20),
        "format": choice(1),
        "key": HEX,
        "signature": text(pattern=re.compile(r"[0-9a-f]{128}")),
    }
)
