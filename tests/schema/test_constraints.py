"""Public constraints: JSON there and back, what they forbid, every malformed one, and rows that
keep them.
"""

import itertools
import json

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from dpcore import domain_from_json, domain_to_json
from dpcore.schema.constraints import OrderedColumns, find_possible_row, put_rows_in_order
from tests.small_problems import (
    HUGE,
    all_cells,
    binned,
    categorical,
    domain_of,
    expect_error,
    integer,
    numeric,
    parametrize,
    random_rows,
    seeded,
)

COLUMNS = {
    "age": binned("integer", 0, 15, 30, 99),
    "start": integer(2000, 2004),
    "end": integer(2000, 2004, missing="category"),
    "pay": binned("numeric", 0, 10, 20.5, 40),
    "rent": numeric(0, 30, 3),
    "city": categorical("Oslo", "Bergen", "Voss", 7, missing="category"),
    "county": categorical("Oslo", "Vestland", "Troms", missing="category"),
    "married": categorical("no", "yes"),
}
CHILD = {"impossible": {"age": {"to": 14}, "married": "yes"}}
PLACE = {
    "within": ["city", "county"],
    "which": {"Oslo": "Oslo", "Bergen": ["Vestland"], "Voss": ["Vestland", "Troms"]},
}
TIME = {"order": ["start", "end"]}
MONEY = {"order": ["rent", "pay"]}


def schema(*constraints, columns=COLUMNS):
    return {"columns": columns, "constraints": list(constraints)}


ALL = domain_from_json(schema(CHILD, PLACE, TIME, MONEY))


def test_what_constraints_forbid():
    zeros = {tuple(ALL.names[a] for a in axes): table for axes, table in ALL.allowed_tables.items()}
    assert set(zeros) == {("age", "married"), ("city", "county"), ("start", "end"), ("pay", "rent")}
    assert zeros["age", "married"].tolist() == [[True, False], [True, True], [True, True]]
    assert ALL.constraints[2].description == "start ≤ end"
    assert zeros["start", "end"].tolist() == [
        [e == 5 or s <= e for e in range(6)] for s in range(5)
    ]
    oslo, bergen, voss, seven, missing = zeros["city", "county"].tolist()
    assert oslo == [True, False, False, True], "what is missing may stand with anything"
    assert (bergen, voss) == ([False, True, False, True], [False, True, True, True])
    assert seven == missing == [True] * 4, "what is not listed too"
    # pay [0, 10) [10, 20.5) [20.5, 40] beside rent [0, 10) [10, 20) [20, 30]: rent ≤ pay
    assert zeros["pay", "rent"].tolist() == [
        [True, False, False],
        [True, True, True],
        [True, True, True],
    ]


def test_constraints_survive_writing_and_projection():
    written = json.loads(json.dumps(domain_to_json(ALL)))
    again = domain_from_json(written)
    assert again == ALL
    assert domain_to_json(again) == written
    assert written["constraints"][0] == {
        "impossible": {"age": [{"from": 0, "to": 14}], "married": ["yes"]}
    }
    plain = domain_of(COLUMNS)
    assert "constraints" not in domain_to_json(plain)
    assert plain != ALL
    assert ALL.project(["end", "start", "city"]).constraints == (OrderedColumns(("start", "end")),)
    three = domain_from_json(schema({"order": ["age", "start", "end"]}))
    assert three.project(["end", "start"]).constraints == (OrderedColumns(("start", "end")),)
    assert not ALL.project(["city", "married"]).allowed_tables


def test_projected_axes_follow_the_projected_order():
    assert ALL.project(["married", "age"]).allowed_tables[0, 1].tolist() == [
        [True] * 3,
        [False, True, True],
    ]
    with_same = domain_from_json(schema(TIME, {"impossible": {"start": 2000, "end": None}}))
    ((axes, table),) = with_same.allowed_tables.items()
    assert axes == (1, 2)
    assert not table[0, 5], "tables over the same columns are one"
    assert not table[1, 0]
    assert table[1, 5]


WRONG = {
    "no list": ({"order": []}, "constraints must be a list of"),
    "a text": (["x"], "constraint 1: 'x' is none of"),
    "empty": ([{}], "is none of"),
    "another key": ([TIME, TIME | {"x": 1}], "constraint 2: 'x' does not go with 'order'"),
    "an unknown column": (
        [{"order": ["start", "stop"]}],
        "no column 'stop'; the columns are age, start",
    ),
    "a column twice": (
        [{"order": ["start", "start"]}],
        "order must list 2 to 20 different columns",
    ),
    "categories have no order": (
        [{"order": ["start", "city"]}],
        "column 'city' holds categories; only numbers",
    ),
    "a value": (
        [{"impossible": {"city": "Rome"}}],
        "column 'city': 'Rome' is none of its values 'Oslo', 'Bergen'",
    ),
    "a cut cell": (
        [{"impossible": {"age": {"to": 13}}}],
        "column 'age': no whole value or bin lies in -inf..13",
    ),
    "a number in a bin": (
        [{"impossible": {"age": 20}}],
        "column 'age': 20 is none of its values 0–14, 15–29, 30–99;",
    ),
    "a huge number": ([{"impossible": {"start": HUGE}}], "is none of its values 2000..2004"),
    "an object": (
        [{"impossible": {"city": {"to": 2}}}],
        "column 'city': holds categories: list them",
    ),
    "no range": ([{"impossible": {"age": {}}}], "a range is"),
    "a nested list": (
        [{"impossible": {"city": [["Oslo"]]}}],
        "column 'city': ['Oslo'] names none of its values",
    ),
    "no values": ([{"impossible": {"city": []}}], "column 'city': an empty list"),
    "nothing impossible": ([{"impossible": {}}], "impossible must name columns"),
    "no missing cell": (
        [{"impossible": {"married": None}}],
        "column 'married': null names missing values",
    ),
    "nowhere": ([{"within": ["city", "county"]}], "which must say where values lie"),
    "a value twice": (
        [PLACE | {"which": {"7": "Oslo", " 7": "Troms"}}],
        "column 'city': ' 7' is in which twice",
    ),
    "nobody is left together": (
        [{"impossible": {"married": "no", "age": {"from": 0}}}, {"impossible": {"married": "yes"}}],
        "allow no row at all",
    ),
    "too many": ([TIME] * 201, "201 constraints, at most 200"),
}


@parametrize("name", WRONG)
def test_a_wrong_constraint_is_refused_with_its_column_value_and_range(name):
    given_, words = WRONG[name]
    with expect_error() as told:
        domain_from_json({"columns": COLUMNS, "constraints": given_})
    assert words in str(told.value)
    assert len(str(told.value)) < 500


def test_a_table_too_large_to_hold_is_refused():
    columns = {name: {"kind": "integer", "size": 1001} for name in "ab"}
    with expect_error("1,002,001 combinations, more than 1,000,000; give a, b fewer"):
        domain_from_json(schema({"order": ["a", "b"]}, columns=columns))


@st.composite
def forbidden(draw):
    """A few columns and tables over some of them, with holes."""
    shape = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    rng = seeded(draw(st.integers(0, 2**32)))
    every = [axes for ways in (1, 2, 3) for axes in itertools.combinations(range(len(shape)), ways)]
    chosen = draw(st.lists(st.sampled_from(every), max_size=5, unique=True))
    share = draw(st.sampled_from([0.3, 0.6, 0.9]))
    return shape, {axes: rng.random([shape[a] for a in axes]) < share for axes in chosen}


@given(forbidden())
def test_a_record_is_found_exactly_where_there_is_one(found):
    shape, zeros = found
    every = itertools.product(*map(range, shape))
    there = any(
        all(table[tuple(cell[a] for a in axes)] for axes, table in zeros.items()) for cell in every
    )
    one = find_possible_row(shape, zeros)
    assert (one is not None) == there
    if one is not None:
        assert all(table[tuple(one[a] for a in axes)] for axes, table in zeros.items())
        assert set(one) == {a for axes in zeros for a in axes}


SMALL = domain_from_json(
    schema(CHILD, PLACE, columns={n: COLUMNS[n] for n in ("age", "city", "county", "married")})
)


def test_listed_cells_and_rows_agree_on_what_can_be():
    possible = SMALL.possible_cells
    assert possible is not None
    assert possible.tolist() == SMALL.possible_rows_mask(all_cells(SMALL)).tolist()
    assert possible.sum() == 75, "of 120: of 6 ages and marriages 5, of 20 places 15"


def test_records_are_counted_where_they_stand_whatever_they_break():
    frame = pd.DataFrame(
        {
            "age": [3, 40, 50],
            "city": ["Oslo", "Oslo", "7"],
            "county": ["Troms", "Oslo", ""],
            "married": ["yes", "no", "yes"],
        }
    )
    rows = SMALL.encode(frame)
    as_ever = domain_of({n: COLUMNS[n] for n in SMALL.names}).encode(frame)
    assert np.array_equal(rows.values, as_ever.values)
    assert np.array_equal(rows.weights, as_ever.weights)
    assert [count for _, count in SMALL.count_violations(rows)] == [1, 1]


@given(st.integers(0, 2**32))
def test_no_synthetic_row_breaks_a_constraint(seed):
    codes = random_rows(SMALL, 200, seed).values
    frame = SMALL.decode_rounded(codes, seeded(seed))
    assert SMALL.possible_rows_mask(rows := SMALL.encode(frame).values).all(), rows
    fine = SMALL.possible_rows_mask(codes)
    assert np.array_equal(
        SMALL.encode(frame.iloc[np.flatnonzero(fine)]).values, np.unique(codes[fine], axis=0)
    )


BINNED = domain_from_json(
    schema(
        {"order": list("abc")},
        columns={
            "a": binned("numeric", 0, 50, 100, missing="category"),
            "b": integer(0, 99, bins=4, missing="category"),
            "c": numeric(0, 100, 10, missing="category"),
        },
    )
)


@given(st.integers(0, 2**32))
def test_numbers_within_bins_are_drawn_in_order_and_stay_in_their_cells(seed):
    rng = seeded(seed)
    every = all_cells(BINNED)[BINNED.possible_rows_mask(all_cells(BINNED))]
    codes = every[rng.integers(len(every), size=300)]
    frame = BINNED.decode_rounded(codes, rng)
    values = frame.astype(float).to_numpy()
    for i, j in itertools.combinations(range(3), 2):
        both = ~np.isnan(values[:, i]) & ~np.isnan(values[:, j])
        assert (values[both, i] <= values[both, j]).all()
    assert np.array_equal(np.column_stack([c.encode(frame[c.name]) for c in BINNED.columns]), codes)
    assert frame["b"].dtype == "Int64"


def test_what_no_drawing_puts_in_order_takes_the_number_beside_it():
    values = np.array([[9.0, 1.0, 5.0], [9.0, np.nan, 2.0], [1.0, 2.0, 3.0]])
    out, changed = put_rows_in_order(
        values, np.array([[0.0, 0.0, 0.0]] * 3), lambda chosen: values[chosen]
    )
    assert changed.tolist() == [True, True, False]
    assert np.array_equal(out, [[1, 1, 5], [2, np.nan, 2], [1, 2, 3]], equal_nan=True)
    out, _ = put_rows_in_order(
        np.array([[9.0, 1.0]]), np.array([[4.0, 0.0]]), lambda _: np.array([[9.0, 1.0]])
    )
    assert out.tolist() == [[4, 4]]
