"""The fields that the JSON files of a release may hold, each with its kind and range.

`verify.py` holds a copy of this. The lists are closed: a field that stands in none of them is
refused, as is one that is missing. A new field is added here, to `RELEASE_CHECK`, `ACCOUNT_CHECK`
or `SIGNATURE_CHECK`, and nowhere else; where it is a number, `verifier` recomputes it too.
"""

import json
import math
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from .origin_words import SOURCES
from .recount import ACCOUNTINGS, EVENT_SIZES, MAX_EVENT_TIMES, OPTIMAL, WrongError, require

MAX_NUMBER_DIGITS = 4000  # of a number in a file
MAX_TEXT_CHARS = 1_000_000  # characters of a text: a category, a reason, a setting
MAX_SHORT_TEXT_CHARS = 200  # characters of a name or a version
MAX_COLUMNS = 5000
MAX_LIST_ITEMS = 1_000_000  # of a list
MAX_RELEASES = 100_000  # rows of an account
MIN_EPSILON = 1e-6
MAX_EPSILON = 1e9
MIN_DELTA = 1e-100
MAX_DELTA = 0.5
MAX_EVENT_SIZE = 1e18  # of what an event costs
MAX_COUNT = 10**18
MAX_ODDS = 1.1e304  # e^700, where it is cut off
HASH_PATTERN = re.compile(r"[0-9a-f]{64}")
LEDGER_ID_PATTERN = re.compile(r"[0-9a-f]{16}")
DAY_PATTERN = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?")  # of a column of dates
TIME_PATTERN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")

ValueCheck = Callable[
    [Any, str], None
]  # raises WrongError for a value that it refuses; the text says where it stands


def strict_json(content: bytes, name: str) -> Any:
    """Return what a JSON file says; WrongError for what two readers may read differently.

    That is: text that is not UTF-8, NaN and infinities, numbers beyond the range of floats or of
    very many digits, and a key that stands twice in one object.
    """

    def parse_float(text: str) -> float:
        value = float(text)
        require(math.isfinite(value), f"{name}: {text[:40]} is no number that can be read")
        return value

    def parse_int(text: str) -> int:
        require(
            len(text) <= MAX_NUMBER_DIGITS,
            f"{name}: a number has more than {MAX_NUMBER_DIGITS} digits",
        )
        return int(text)

    def unique_keys(pairs: list) -> dict:
        parsed = dict(pairs)
        require(len(parsed) == len(pairs), f"{name}: one object has a key twice")
        return parsed

    def refuse_constant(text: str) -> None:
        raise WrongError(f"{name}: {text} is no number")

    try:
        return json.loads(
            content.decode("utf-8"),
            parse_float=parse_float,
            parse_int=parse_int,
            parse_constant=refuse_constant,
            object_pairs_hook=unique_keys,
        )
    except (ValueError, RecursionError) as error:
        raise WrongError(f"{name}: {type(error).__name__}: {error}") from None


def raise_wrong_value(value: Any, field_path: str, expected: str) -> None:
    """Raise WrongError for a value that is not what is expected where it stands."""
    raise WrongError(f"{field_path} = {repr(value)[:60]} is not {expected}")


def text_check(
    max_chars: int = MAX_SHORT_TEXT_CHARS, pattern: re.Pattern | None = None
) -> ValueCheck:
    """Return the check of a text: Unicode, not too long, and of this pattern."""

    def check(value: Any, field_path: str) -> None:
        if type(value) is not str or len(value) > max_chars:
            raise_wrong_value(value, field_path, f"a text of at most {max_chars} characters")
        if any("\ud800" <= c <= "\udfff" for c in value):
            raise_wrong_value(value, field_path, "Unicode text")
        if pattern is not None and not pattern.fullmatch(value):
            raise_wrong_value(value, field_path, "of the form that it has in every release")

    return check


def number_check(
    low: float, high: float, *, exclude_low: bool = False, exclude_high: bool = False
) -> ValueCheck:
    """Return the check that a value is a number from low to high.

    `exclude_low` and `exclude_high` leave out the ends themselves.
    """

    def check(value: Any, field_path: str) -> None:
        is_inside = type(value) in (int, float) and low <= value <= high
        if not is_inside or (exclude_low and value == low) or (exclude_high and value == high):
            raise_wrong_value(value, field_path, f"a number from {low:g} to {high:g}")

    return check


def whole_number_check(low: int, high: int = MAX_COUNT) -> ValueCheck:
    """Return the check of a whole number from low to high."""

    def check(value: Any, field_path: str) -> None:
        if type(value) is not int or not low <= value <= high:
            raise_wrong_value(value, field_path, f"a whole number from {low} to {high}")

    return check


def choice_check(*allowed: Any) -> ValueCheck:
    """Return the check of a value that is one of these, of the same type."""

    def check(value: Any, field_path: str) -> None:
        if not any(type(value) is type(other) and value == other for other in allowed):
            raise_wrong_value(value, field_path, f"one of {', '.join(map(repr, allowed))}")

    return check


def list_check(
    item_check: ValueCheck, min_count: int = 0, max_count: int = MAX_LIST_ITEMS
) -> ValueCheck:
    """Return the check of a list of values that all pass one check."""

    def check(value: Any, field_path: str) -> None:
        if type(value) is not list or not min_count <= len(value) <= max_count:
            raise_wrong_value(value, field_path, f"a list of {min_count} to {max_count}")
        for index, item in enumerate(value):
            item_check(item, f"{field_path}[{index}]")

    return check


def object_check(
    required: dict[str, ValueCheck], optional: dict[str, ValueCheck] | None = None
) -> ValueCheck:
    """Return the check of an object with exactly these fields, of which some may be missing."""
    field_checks = required | (optional or {})

    def check(value: Any, field_path: str) -> None:
        if type(value) is not dict:
            raise_wrong_value(value, field_path, "an object")
        missing = [name for name in required if name not in value]
        require(not missing, f"{field_path}: the field {', '.join(missing)[:100]} is missing")
        unknown = [name for name in value if name not in field_checks]
        unknown_field_hint = (
            "this copy of verify.py does not know it; a newer program may have written it"
        )
        require(
            not unknown, f"{field_path}: the field {', '.join(unknown)[:100]}: {unknown_field_hint}"
        )
        for name, item in value.items():
            field_checks[name](item, f"{field_path}.{name}")

    return check


def mapping_check(value_check: ValueCheck, max_count: int = MAX_COLUMNS) -> ValueCheck:
    """Return the check of an object whose names are free, and whose values all pass one check."""

    def check(value: Any, field_path: str) -> None:
        if type(value) is not dict or len(value) > max_count:
            raise_wrong_value(value, field_path, f"an object of at most {max_count} names")
        for name, item in value.items():
            text_check(MAX_TEXT_CHARS)(name, field_path)
            value_check(item, f"{field_path}.{name[:40]}")

    return check


def any_check(*alternatives: ValueCheck) -> ValueCheck:
    """Return the check of a value that passes one of these checks at least."""

    def check(value: Any, field_path: str) -> None:
        reasons = []
        for alternative in alternatives:
            try:
                alternative(value, field_path)
                return
            except WrongError as error:
                reasons.append(str(error))
        raise WrongError("; ".join(reasons))

    return check


def check_time(value: Any, field_path: str) -> None:
    """Raise WrongError unless the value is a time in UTC, to the second."""
    text_check(pattern=TIME_PATTERN)(value, field_path)
    try:
        datetime.fromisoformat(value)
    except ValueError:
        raise_wrong_value(value, field_path, "a time")


def check_event(value: Any, field_path: str) -> None:
    """Raise WrongError unless the value is an event of a known kind that costs something."""
    if type(value) is not dict or value.get("kind") not in EVENT_SIZES:
        raise_wrong_value(value, field_path, f"an event of the kind {', '.join(EVENT_SIZES)}")
    is_sampler_error = value["kind"] == "Drawn"
    size_check = (
        number_check(0, 1, exclude_high=True)
        if is_sampler_error
        else number_check(0, MAX_EVENT_SIZE, exclude_low=True)
    )
    field_checks = {
        "kind": text_check(),
        EVENT_SIZES[value["kind"]]: size_check,
        "times": whole_number_check(1, MAX_EVENT_TIMES),
    }
    if not is_sampler_error:
        field_checks["failure"] = number_check(0, 1, exclude_high=True)
    object_check(field_checks)(value, field_path)


def check_events(value: Any, field_path: str) -> None:
    """Raise WrongError unless the value is a list of events that pays for the data.

    At least one event pays for a use of the data.
    """
    list_check(check_event, min_count=1)(value, field_path)
    has_cost = any(item["kind"] != "Drawn" for item in value)
    require(has_cost, f"{field_path}: nothing pays for the use of the data")


def check_null(value: Any, field_path: str) -> None:
    """Raise WrongError unless the value is null."""
    if value is not None:
        raise_wrong_value(value, field_path, "null")


def check_any_json(value: Any, field_path: str) -> None:
    """Raise WrongError for an invalid text in any JSON value.

    What it says is the owner's word.
    """
    if type(value) is dict:
        mapping_check(check_any_json, MAX_LIST_ITEMS)(value, field_path)
    elif type(value) is list:
        list_check(check_any_json)(value, field_path)
    elif type(value) is str:
        text_check(MAX_TEXT_CHARS)(value, field_path)


def bound_number(bound: Any) -> float:
    """Return a bound of a column as a number: of a day or time, in days; WrongError for none."""
    if type(bound) is not str:
        return bound
    try:
        return (datetime.fromisoformat(bound) - datetime(1970, 1, 1)).total_seconds() / 86_400
    except ValueError:
        raise WrongError(f"{bound[:40]!r} is no day") from None


HASH_CHECK = text_check(pattern=HASH_PATTERN)
FLAG_CHECK = choice_check(True, False)
LONG_TEXT_CHECK = text_check(MAX_TEXT_CHARS)
EPSILON_CHECK = number_check(MIN_EPSILON, MAX_EPSILON)
SPENT_EPSILON_CHECK = number_check(0, MAX_EPSILON, exclude_low=True)
DELTA_CHECK = any_check(choice_check(0, 0.0), number_check(MIN_DELTA, MAX_DELTA))
SHARE_CHECK = number_check(0, 1)
SHARE_RANGE_CHECK = list_check(SHARE_CHECK, min_count=2, max_count=2)
VALUE_CHECK = any_check(number_check(-math.inf, math.inf), FLAG_CHECK, LONG_TEXT_CHECK)
SETTING_CHECK = any_check(number_check(-1e300, 1e300), FLAG_CHECK, LONG_TEXT_CHECK)
BOUND_CHECK = any_check(number_check(-1e15, 1e15), text_check(pattern=DAY_PATTERN))
ACCOUNTING_CHECK = choice_check(*ACCOUNTINGS)
COLUMN_CHECK = object_check(
    {
        "kind": choice_check("categorical", "numeric", "integer"),
        "ordered": FLAG_CHECK,
        "missing": text_check(),
        "out_of_range": text_check(),
    },
    {
        "values": list_check(VALUE_CHECK, min_count=1),
        "edges": list_check(BOUND_CHECK, min_count=2),
        "low": BOUND_CHECK,
        "high": BOUND_CHECK,
        "read": text_check(),
        "unreadable": text_check(),
        "missing_codes": list_check(VALUE_CHECK, min_count=1),
        "same": mapping_check(list_check(LONG_TEXT_CHECK), MAX_LIST_ITEMS),
        "form": text_check(),
        "first_year": whole_number_check(1, 9900),
    },
)
SCHEMA_CHECK = object_check(
    {"columns": mapping_check(COLUMN_CHECK)},
    {
        "constraints": list_check(check_any_json),
        "peeked": choice_check(True),
        "file": mapping_check(VALUE_CHECK, max_count=20),
        "measured": list_check(LONG_TEXT_CHECK, min_count=1, max_count=MAX_COLUMNS),
    },
)
PUBLIC_START_CHECK = object_check(
    {
        "name": text_check(),
        "rows": whole_number_check(1),
        "sha256": any_check(choice_check(""), HASH_CHECK),
        "fingerprint": text_check(),
    }
)
LEARNED_NUMBER_CHECK = number_check(-1e300, 1e300)
LEARNED_CHECK = object_check(
    {
        "task": LONG_TEXT_CHECK,
        "radius": any_check(check_null, number_check(0, 1e300, exclude_low=True)),
        "use": LONG_TEXT_CHECK,
        "answers": list_check(
            object_check(
                {
                    "name": LONG_TEXT_CHECK,
                    "value": LEARNED_NUMBER_CHECK,
                    "low": LEARNED_NUMBER_CHECK,
                    "high": LEARNED_NUMBER_CHECK,
                }
            ),
            min_count=1,
            max_count=MAX_COLUMNS,
        ),
    }
)
ORIGIN_CHECK = object_check(
    {
        "column": LONG_TEXT_CHECK,
        "source": choice_check(*SOURCES),
        "entry": any_check(check_null, whole_number_check(1)),
    }
)
RELEASE_CHECK = object_check(
    {
        "format": choice_check(1),
        "time": check_time,
        "dataset": object_check(
            {
                "name": text_check(),
                "version": whole_number_check(1),
                "total": object_check({"epsilon": EPSILON_CHECK, "delta": DELTA_CHECK}),
                "spent": object_check({"epsilon": SPENT_EPSILON_CHECK, "delta": DELTA_CHECK}),
                "accounting": ACCOUNTING_CHECK,
                "failure": number_check(0, MAX_DELTA),
            }
        ),
        "ledger": object_check(
            {
                "id": text_check(pattern=LEDGER_ID_PATTERN),
                "entry": whole_number_check(1),
                "hash": HASH_CHECK,
                "link": HASH_CHECK,
            }
        ),
        "protects": object_check(
            {
                "unit": LONG_TEXT_CHECK,
                "neighbours": LONG_TEXT_CHECK,
                "records": whole_number_check(2),
                "rows_per_person": whole_number_check(1),
            },
            {
                "count": choice_check("people"),
                "row_limit": whole_number_check(1),
                "row_totals": choice_check(True),
                "person_columns": list_check(text_check(), 1),
                "successions": list_check(text_check(), 1),
                "time_column": text_check(),
            },
        ),
        "promise": object_check(
            {
                "epsilon": EPSILON_CHECK,
                "delta": DELTA_CHECK,
                "accounting": choice_check(*ACCOUNTINGS, OPTIMAL),
                "cost": text_check(),
                "charges": check_events,
                "reserved": check_events,
                "means": object_check(
                    {
                        "guess": number_check(0.5, 1),
                        "odds": number_check(1, MAX_ODDS),
                        "except": number_check(0, 1, exclude_high=True),
                    }
                ),
            }
        ),
        "plan": object_check(
            {
                "choices": list_check(
                    object_check(
                        {"name": text_check(), "value": SETTING_CHECK, "why": LONG_TEXT_CHECK}
                    )
                )
            }
        ),
        "made_by": object_check(
            {
                "algorithm": text_check(),
                "source": LONG_TEXT_CHECK,
                "adaptive": FLAG_CHECK,
                "public_start": FLAG_CHECK,
                "start": any_check(check_null, PUBLIC_START_CHECK),
                "noise": LONG_TEXT_CHECK,
            }
        ),
        "queries": object_check(
            {"asked": list_check(LONG_TEXT_CHECK, min_count=1), "count": whole_number_check(1)}
        ),
        "schema": SCHEMA_CHECK,
        "schema_sha256": HASH_CHECK,
        "bounds": LONG_TEXT_CHECK,
        "provenance": list_check(ORIGIN_CHECK, min_count=1, max_count=MAX_COLUMNS),
        "measured": list_check(
            object_check(
                {
                    "column": LONG_TEXT_CHECK,
                    "found": LONG_TEXT_CHECK,
                    "nothing": FLAG_CHECK,
                    "tag": text_check(),
                }
            ),
            max_count=MAX_COLUMNS,
        ),
        "reason": LONG_TEXT_CHECK,
        "versions": mapping_check(text_check(), max_count=20),
        "files": mapping_check(HASH_CHECK, max_count=20),
        "errors": any_check(
            check_null,
            object_check(
                {
                    "answers": whole_number_check(1),
                    "measured": whole_number_check(1),
                    "least": number_check(0, MAX_EVENT_SIZE),
                    "most": number_check(0, MAX_EVENT_SIZE),
                }
            ),
        ),
        "utility": object_check(
            {
                "good_for": list_check(LONG_TEXT_CHECK),
                "not_for": list_check(LONG_TEXT_CHECK),
                "tolerance": SHARE_CHECK,
                "smallest_group": any_check(check_null, whole_number_check(0)),
                "sentence": LONG_TEXT_CHECK,
                "promised": any_check(check_null, SHARE_CHECK),
                "predicted": any_check(
                    check_null,
                    object_check(
                        {
                            "misplaced": SHARE_RANGE_CHECK,
                            "largest": SHARE_RANGE_CHECK,
                            "as_exact_as_sample": any_check(check_null, SHARE_CHECK),
                            "repeats": whole_number_check(1),
                            "basis": choice_check("public", "release"),
                            "table_columns": any_check(
                                check_null,
                                list_check(whole_number_check(1), min_count=2, max_count=2),
                            ),
                        }
                    ),
                ),
            }
        ),
    },
    {
        "learned": LEARNED_CHECK,  # of numbers that were learned, in place of queries
        "synthetic_people": object_check(
            {"count": whole_number_check(1), "column": LONG_TEXT_CHECK}
        ),
    },
)
ACCOUNT_CHECK = object_check(
    {
        "opened": object_check(
            {
                "ledger": text_check(pattern=LEDGER_ID_PATTERN),
                "epsilon": EPSILON_CHECK,
                "delta": DELTA_CHECK,
                "accounting": ACCOUNTING_CHECK,
                "failure": number_check(0, MAX_DELTA),
                "link": HASH_CHECK,
            }
        ),
        "releases": list_check(
            object_check(
                {
                    "entry": whole_number_check(1),
                    "hash": HASH_CHECK,
                    "time": check_time,
                    "epsilon": EPSILON_CHECK,
                    "delta": DELTA_CHECK,
                    "events": check_events,
                    "total_epsilon": SPENT_EPSILON_CHECK,
                    "link": HASH_CHECK,
                }
            ),
            min_count=1,
            max_count=MAX_RELEASES,
        ),
    }
)
SIGNATURE_CHECK = object_check(
    {
        "files": mapping_check(HASH_CHECK, max_count=20),
        "format": choice_check(1),
        "key": HASH_CHECK,
        "signature": text_check(pattern=re.compile(r"[0-9a-f]{128}")),
    }
)
