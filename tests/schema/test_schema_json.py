"""The schema file: JSON there and back, every malformed schema, and proposals that never tell what
the table holds.
"""

import json
import math
import re

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import Domain, InputError, domain_from_json, domain_to_json
from dpcore.schema.inference.infer_column import infer_guessed_entry
from dpcore.schema.inference.infer_schema import guess_column
from dpcore.schema.inference.proposal import propose_schema
from tests.small_problems import (
    HUGE,
    binned,
    categorical,
    expect_error,
    integer,
    numeric,
    parametrize,
    parametrize_false_true,
)

GOOD = {
    "columns": {
        "age": integer(17, 90, missing="category"),
        "band": binned("integer", 0, 10, 20.5, 30, out_of_range="clip"),
        "share": numeric(-0.1, 0.7, 7),
        "city": categorical("Oslo", "0", 2.5, 1, True, ordered=True),
        "code": {"kind": "integer", "size": 4},
        "day": categorical("Sun", "Mon", read="weekday of y-m-d"),
        "decade": integer(0, 99, bins=10),
    }
}


def test_a_schema_written_and_read_again_is_the_same():
    domain = domain_from_json(GOOD)
    assert domain.shape == (75, 3, 7, 5, 4, 2, 10)
    written = json.loads(json.dumps(domain_to_json(domain)))
    assert domain_from_json(written) == domain
    assert "peeked" not in written
    assert [name for name, spec in written["columns"].items() if "read" in spec] == ["day"]
    peeked = domain_from_json({**GOOD, "peeked": True})
    assert peeked.peeked
    assert domain_from_json(domain_to_json(peeked)) == peeked != domain


def test_policies_default_to_refuse_and_order_follows_the_kind():
    domain = domain_from_json(GOOD)
    assert [c.missing for c in domain.columns[1:]] == ["refuse"] * 6
    assert [c.out_of_range for c in domain.columns if c.name != "band"] == ["refuse"] * 6
    assert [c.ordered for c in domain.columns] == [True, True, True, True, False, False, True]


def test_a_plain_file_of_sizes_means_integer_codes():
    domain = domain_from_json({"age": 100, "columns": 2, "race": 1})
    assert domain.names == ("age", "columns", "race")
    assert domain.shape == (100, 2, 1)
    assert {(c.kind, c.low, c.ordered) for c in domain.columns} == {("integer", 0, False)}


NUMERIC = numeric(0, 1, 3)
MALFORMED = {
    "a list": ([], "the schema must be a JSON object"),
    "no columns": ({"columns": {}}, "no columns"),
    "a bool for a size": ({"a": True}, 'no "columns" object'),
    "size 0": ({"a": 0, "b": 2}, "column 'a': size=0 must be a whole number ≥ 1"),
    "huge size": ({"a": HUGE}, "are more than 1000000"),
    "no name": ({"columns": {"": NUMERIC}}, "a column's name must be a text"),
    "unknown top key": ({"columns": {"a": NUMERIC}, "colour": 1}, "unknown key 'colour'"),
}
BAD_COLUMNS = {
    "not an object": (3, "must be a JSON object, not 3"),
    "unknown key": ({**NUMERIC, "hight": 1}, "unknown key 'hight'; allowed: "),
    "wrong kind": ({"kind": ["numeric"]}, "is not one of categorical"),
    "wrong missing": (
        {**NUMERIC, "missing": "drop"},
        "missing='drop' is not one of refuse, category",
    ),
    "ordered": ({**NUMERIC, "ordered": 1}, "ordered must be true or false, not 1"),
    "null low": (
        numeric(None, 1, 3),
        "low is not given; bounds are public, so a person must fill them in",
    ),
    "low nan": (numeric(math.nan, 1, 3), "low=nan is not a finite number"),
    "high huge": (numeric(0, HUGE, 3), "is not a finite number"),
    "high above 1e15": (numeric(0, 1.1e15, 3), "is not a finite number in -1e15..1e15"),
    "equal": (numeric(1, 1, 3), "low=1 must be below high=1"),
    "bins true": (numeric(0, 1, True), "bins=True is outside 1..1000000; give bins or edges"),
    "too many bins": (numeric(0, 1, 10**7), "is outside 1..1000000"),
    "bins finer than floats": (
        numeric(1, 1.0000000000000004, 9),
        "bins=9 are too many for 1..1",
    ),
    "bin without a whole number": (
        integer(0, 3, bins=9),
        "the bin from 0.333333 to 0.666667 holds no whole number",
    ),
    "fractional low": (integer(0.5, 3), "low=0.5 and high=3 must be whole numbers"),
    "edges fall": (binned("numeric", 1, 3, 2), "edges must be at least two increasing numbers"),
    "edges no list": (
        {"kind": "numeric", "edges": {"0": 1}},
        "edges must be at least two increasing numbers",
    ),
    "edges text": ({"kind": "numeric", "edges": [0, "1"]}, "edges='1' is not a finite number"),
    "edges and bins": (binned("numeric", 0, 1, bins=1), "bins does not go with edges"),
    "size and low": ({"kind": "integer", "size": 3, "low": 0}, "low does not go with size"),
    "size of numeric": (
        {"kind": "numeric", "size": 3},
        "size=3 must be a whole number ≥ 1 of an integer column",
    ),
    "too many cells": (integer(0, 10**9), "1000000001 values are more than 1000000"),
    "no values": ({"kind": "categorical"}, "values are not given; they are public"),
    "values text": (
        {"kind": "categorical", "values": "ab"},
        "values must list the allowed categories, not 'ab'",
    ),
    "nested value": (categorical(["a"]), "['a'] in values is not a text"),
    "missing twice": (
        categorical("(missing)", missing="category"),
        "'(missing)' is in values twice",
    ),
    "1 and text 1": (categorical("1", 1), "the value '1' is in values twice"),
    "clip of categories": (categorical("a", out_of_range="clip"), "has no meaning"),
    "low of categories": (categorical("a", low=0), "low does not go with values"),
}
MALFORMED |= {
    name: ({"columns": {"x": spec}}, f"column 'x': {why}")
    for name, (spec, why) in BAD_COLUMNS.items()
}


@parametrize("schema, message", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_schema_is_refused_with_column_key_and_value(schema, message):
    with expect_error(re.escape(message).replace(r":\ ", ":.*", 1)):
        domain_from_json(schema)


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([HUGE, -HUGE])
    | st.floats()
    | st.text(max_size=3)
)
JSON = st.recursive(
    LEAVES,
    lambda s: st.lists(s, max_size=3) | st.dictionaries(st.text(max_size=3), s, max_size=3),
    max_leaves=6,
)
SPEC = st.fixed_dictionaries(
    {"kind": st.sampled_from(["categorical", "numeric", "integer"])},
    optional={
        "values": st.lists(LEAVES, max_size=3),
        **dict.fromkeys(("low", "high", "bins", "size"), LEAVES | st.integers(-3, 30)),
        "edges": st.lists(LEAVES | st.integers(-3, 30), max_size=3) | JSON,
        **dict.fromkeys(
            ("ordered", "missing", "out_of_range"), LEAVES | st.sampled_from(["category", "clip"])
        ),
    },
)
SCHEMAS = JSON | st.fixed_dictionaries(
    {"columns": JSON | st.dictionaries(st.text(max_size=2), SPEC, max_size=2)}
)


@settings(max_examples=200)
@given(schema=SCHEMAS)
def test_any_json_is_a_domain_or_an_input_error(schema):
    try:
        domain = domain_from_json(schema)
    except InputError:
        return
    assert isinstance(domain, Domain)
    assert domain_from_json(domain_to_json(domain)) == domain
    assert all(len(c.labels) == c.size and c.allowed_text for c in domain.columns if c.size < 1000)


SECRETS = pd.DataFrame(
    {
        "city": ["Zzyzx", "Llanfair", "NA", "Zzyzx"],
        "age": [987654321, 123456789, 123456789, 555555555],
        "rate": [0.4142135623, 0.7320508075, 0.2360679774, None],
        "flag": [True, False, True, True],
        "mixed": ["1", "Qwertz", " 77777 ", ""],
    }
)
TEXTS = SECRETS.astype(object).map(lambda v: "" if pd.isna(v) else str(v))


@parametrize("frame", [SECRETS, TEXTS], ids=["typed", "texts"])
def test_a_proposal_tells_nothing_of_the_cells(frame):
    proposed = propose_schema(frame).to_json()
    written = json.dumps(proposed)
    for secret in (
        "Zzyzx",
        "Llanfair",
        "Qwertz",
        "987654321",
        "123456789",
        "555555555",
        "0.4142",
        "0.236",
        "77777",
    ):
        assert secret not in written
    assert "peeked" not in proposed
    kinds = [proposed["columns"][name]["kind"] for name in frame]
    assert kinds == ["categorical", "integer", "numeric", "categorical", "categorical"]
    for spec in proposed["columns"].values():
        assert all(spec.get(key) is None for key in ("values", "low", "high", "edges", "size"))
    assert proposed == propose_schema(frame.iloc[::-1]).to_json()
    with expect_error("column 'city': values are not given; they are public"):
        domain_from_json(proposed)


OWN = {
    "secrets": SECRETS,
    "texts": TEXTS,
    "padded missing": pd.DataFrame({"work": ["a", "NA ", " "], "x": ["1", " NA", "3"]}),
    "infinite": pd.DataFrame({"x": [1.0, math.inf]}),
    "large numbers": pd.DataFrame({"account": [10**16, 10**16 + 5, 3]}),
    "nullable": pd.DataFrame(
        {"x": pd.array([1, None, 3], dtype="Int64"), "y": pd.Categorical(["a", None, "b"])}
    ),
}


@parametrize("frame", OWN.values(), ids=OWN)
def test_a_peeked_schema_is_marked_and_encodes_its_own_table(frame):
    proposed = json.loads(json.dumps(propose_schema(frame, peek=True).to_json()))
    domain = domain_from_json(proposed)
    assert proposed["peeked"] is domain.peeked is True
    assert domain.encode(frame).n == len(frame)


@parametrize_false_true("peek")
def test_free_text_is_left_out_and_a_day_is_itself(peek):
    texts = [f"story {i} of more than forty characters, unlike all others" for i in range(40)]
    days = pd.to_datetime(["2020-01-01", "2021-06-30"] * 20)
    proposal = propose_schema(pd.DataFrame({"x": texts, "day": days}), peek=peek)
    assert set(proposal.columns) == {"day"}
    assert proposal.columns["day"]["read"] == "date of y-m-d"
    assert proposal.columns["day"]["form"] == "YYYY-MM-DD"
    assert list(proposal.names_by_reason.values()) == [["x"]]
    for kind in ("date", "text"):
        with expect_error("column 'x': .*leave the column out"):
            domain_from_json({"columns": {"x": {"kind": kind}}})


MESSY = pd.DataFrame(
    {
        "price": ["$1,200", "$900", "$17"] * 10,
        "born": ["2001-02-03", "1999-12-31", "1980-06-01"] * 10,
        "Sex": list("fmf") * 10,
        "zip": [501, 502, 501] * 10,
        "income": [12.5, 80.25, 41.0] * 10,
        "person_id": range(30),
        "nothing": ["NA", "", "NA"] * 10,
    }
)


def test_what_is_proposed_and_read_off_for_the_command_line_is_what_the_pages_guess_and_read_off():
    plain, proposed = (propose_schema(MESSY, peek=peek) for peek in (False, True))
    assert plain.guesses == proposed.guesses
    assert plain.guesses == {name: guess_column(name, cells) for name, cells in MESSY.items()}
    used = [name for name, guess in plain.guesses.items() if not guess.exclusion]
    assert list(plain.columns) == list(proposed.columns) == used
    assert set(MESSY) - set(used) == {"born", "person_id", "nothing"}
    for name in used:
        guess = plain.guesses[name]
        assert plain.columns[name] == guess.initial_entry
        assert proposed.columns[name] == infer_guessed_entry(guess, MESSY[name])
    domain = domain_from_json(proposed.to_json())
    assert domain.encode(MESSY).n == len(MESSY)


def test_peeking_writes_no_name_of_a_person_nor_too_many_values_into_the_schema():
    texts = [f"P{i}" for i in range(600)]
    frame = pd.DataFrame({"name": texts, "id": texts, "sex": ["f", "m"] * 300})
    found = propose_schema(frame, peek=True)
    assert found.columns == {"sex": categorical("f", "m")}
    assert sorted(sum(found.names_by_reason.values(), [])) == ["id", "name"]


@parametrize("frame", [pd.DataFrame({"a": []}), pd.DataFrame()])
@parametrize_false_true("peek")
def test_a_table_without_rows_gets_no_proposal(frame, peek):
    with expect_error("no rows"):
        propose_schema(frame, peek=peek)
    empty = propose_schema(pd.DataFrame({"a": [None, None]}), peek=peek)
    assert empty.columns == {}
    assert empty.names_by_reason == {"no value in any row": ["a"]}
