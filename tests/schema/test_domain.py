"""Columns and domains: cells and back, bins, missing and out-of-range values, and what bad cells
are told.
"""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import Domain, InputError
from dpcore.schema.column import MISSING_LABEL
from tests.small_problems import (
    all_cells,
    categorical,
    column_from_entry,
    domain_of,
    encode_cells,
    expect_error,
    integer,
    integer_domain,
    numeric,
    parametrize,
    seeded,
)

AGE = column_from_entry(**integer(17, 90))
BANDS = column_from_entry(kind="integer", edges=[17, 25, 65, 90])
HALVES = column_from_entry(kind="integer", edges=[0.5, 1.5, 4.5])
SHARE = column_from_entry(**numeric(0, 1, 4))
NARROW = column_from_entry(**numeric(1e15 - 1, 1e15, 4))  # a bin holds two floats
CITY = column_from_entry(**categorical("Oslo", "Rome", "NA"))
GRADE = column_from_entry(**categorical(1, 2, 3))
YES = column_from_entry(**categorical(True, False))
ODD = column_from_entry(**categorical("1", 2.5, True, "x"))
CODE = column_from_entry(kind="integer", size=4)
KINDS = {
    "age": AGE,
    "bands": BANDS,
    "halves": HALVES,
    "share": SHARE,
    "narrow": NARROW,
    "city": CITY,
}
KINDS |= {"grade": GRADE, "yes": YES, "odd": ODD, "code": CODE}


def with_missing(c):
    return replace(c, missing="category")


@st.composite
def some_cells(draw):
    """A column of any kind, cells of it, and what draws values in them."""
    kind = draw(st.sampled_from(list(KINDS.values())))
    c = with_missing(kind) if draw(st.booleans()) else kind
    cells = draw(st.lists(st.integers(0, c.size - 1), min_size=1, max_size=40))
    return c, np.array(cells), seeded(draw(st.integers(0, 999)))


@settings(max_examples=150)
@given(some_cells())
def test_decoded_and_published_cells_encode_to_the_same_codes(case):
    c, drawn, rng = case
    values = c.decode(drawn, rng)
    assert c.encode(values).tolist() == drawn.tolist()
    assert encode_cells(c, ["" if pd.isna(v) else str(v) for v in values]) == drawn.tolist()
    values = c.decode_rounded(drawn, rng)
    assert c.encode(values).tolist() == drawn.tolist()
    assert values.isna().tolist() == (drawn == c.nonmissing_size).tolist()


@parametrize(
    "c, values, expected",
    [
        (SHARE, [0, 0.25, 0.2499, 0.5, 0.75, 1], [0, 1, 0, 2, 3, 3]),
        (BANDS, [17, 24, 25, 64, 65, 90], [0, 0, 1, 1, 2, 2]),
        (AGE, ["17", " 90 ", "18.0", "2e1"], [0, 73, 1, 3]),
        (GRADE, [1, 1.0, "1", "2"], [0, 0, 0, 1]),
        (YES, [True, False, "True", "False"], [0, 1, 0, 1]),
        (ODD, ["1", 1.0, 2.5, "2.5", "True", "x"], [0, 0, 1, 1, 2, 3]),
        (CITY, ["NA", "Rome"], [2, 1]),
        (CODE, ["003", "3", 3.0], [3, 3, 3]),
        (
            column_from_entry(**categorical("007", "7")),
            ["7", "007"],
            [1, 0],
        ),  # of numbers, a leading zero does not matter
        (column_from_entry(**categorical(True, 1)), [True, 1, 1.0, "1", "True"], [0, 1, 1, 1, 0]),
    ],
)
def test_values_land_in_their_cells(c, values, expected):
    assert encode_cells(c, values) == expected
    assert c.encode(pd.Series(values)).tolist() == expected


@parametrize("c", [*KINDS.values(), column_from_entry(**numeric(1e6, 1e6 + 9, 9))])
def test_every_cell_has_a_label_of_its_own(c):
    assert len(c.labels) == len(set(c.labels)) == c.size
    assert with_missing(c).labels == (*c.labels, MISSING_LABEL)


def test_labels_say_what_a_cell_holds():
    assert BANDS.labels == ("17–24", "25–64", "65–90")
    assert HALVES.labels == ("1", "2–4")
    assert SHARE.labels == (
        "0 to under 0.25",
        "0.25 to under 0.5",
        "0.5 to under 0.75",
        "0.75 to 1",
    )
    assert SHARE.label_of_range(1, 2) == "0.25 to under 0.75"
    assert SHARE.code_by_label["[0.75, 1]"] == SHARE.code_by_label["0.75 to 1"] == 3, (
        "files that were written so are still read"
    )
    assert (AGE.labels[0], AGE.labels[-1]) == ("17", "90")
    assert GRADE.labels == ("1", "2", "3")


def test_whole_numbers_are_written_back_as_whole_numbers():
    rng = seeded(0)
    for c in (AGE, BANDS, HALVES, GRADE, CODE):
        assert c.decode(np.zeros(3, int), rng).dtype.kind == "i"
        there = with_missing(c).decode(np.array([0, c.size, 0]), rng)
        assert there.dtype == "Int64"
        assert there.isna().tolist() == [False, True, False]
    drawn = HALVES.decode(np.repeat([0, 1], 500), rng)
    assert set(drawn[:500]) == {1}
    assert set(drawn[500:]) == {2, 3, 4}


def test_numbers_are_uniform_within_their_bin():
    drawn = SHARE.decode(np.full(4000, 2), seeded(0))
    assert 0.5 <= drawn.min() < 0.501
    assert 0.749 < drawn.max() < 0.75
    assert abs(drawn.mean() - 0.625) < 0.005


@parametrize(
    "edges, decimals",
    [
        ([0, 20, 35, 42, 50, 80], 1),
        ([0, 2e5, 9e5], 0),
        ([0.125, 5, 50], 3),
        ([0, 0.03, 0.06], 3),
        ([0, 1 / 3, 1], None),
    ],
)
def test_numbers_are_published_with_as_many_digits_as_their_bin_is_worth(edges, decimals):
    c = column_from_entry(kind="numeric", edges=edges)
    codes = np.repeat(np.arange(c.size), 2000)
    values = c.decode_rounded(codes, seeded(0))
    assert c.decimal_places == decimals
    if decimals is None:
        assert values.tolist() == c.decode(codes, seeded(0)).tolist()
    else:
        assert max(len(f"{v!r}".rstrip("0").split(".")[1]) for v in values) <= decimals
        drawn = c.decode(codes, seeded(0))
        assert (values <= drawn + 1e-12).all()
        assert (drawn - values < 1.01 * 10.0**-decimals).all()


@parametrize("missing", ["", "NA", "nan", "NULL", None, math.nan, pd.NA])
@parametrize("c", [AGE, SHARE, GRADE, CODE])
def test_missing_is_refused_or_a_cell_of_its_own(c, missing):
    values = [missing, c.low or 1, missing]
    with expect_error(
        r"^column 'x': .* in row 1 is missing \(2 of 3 rows like it\); set missing \"category\""
    ):
        encode_cells(c, values)
    assert encode_cells(with_missing(c), values)[::2] == [c.size, c.size]


@parametrize("c", [AGE, BANDS, SHARE, CODE])
def test_out_of_range_is_refused_or_clipped(c):
    values = pd.Series([c.low, c.low - 1, c.high, c.high + 1])
    told = (
        f"in row 2 is outside {c.low:g}..{c.high:g} (2 of 4 rows like it); widen it or set "
        'out_of_range "clip"'
    )
    with expect_error(re.escape(told)):
        c.encode(values)
    assert replace(c, out_of_range="clip").encode(values).tolist() == [0, 0, c.size - 1, c.size - 1]


@parametrize(
    "c, bad, why",
    [
        (CITY, "Paris", "is not one of the allowed values 'Oslo', 'Rome', 'NA'"),
        (column_from_entry(**categorical("7")), "007", "is not one of the allowed values '7'"),
        (AGE, "x", "is not a number in 17..90"),
        (AGE, "1_8", "is not a number"),
        (AGE, math.inf, "is not a number in 17..90"),
        (AGE, 17.5, "is not a whole number in 17..90"),
        (CODE, 10**30, "is outside 0..3"),
        (SHARE, 1.0000001, "is outside 0..1"),
    ],
)
@parametrize("policy", ["refuse", "category"])
def test_a_bad_cell_is_named_with_column_row_and_count(c, bad, why, policy):
    good = c.values[0] if c.values else c.low
    c = with_missing(c) if policy == "category" else c
    with expect_error(
        "^" + re.escape(f"column 'x': {bad!r} in row 2 {why}") + r".*\(2 of 4 rows like it\)"
    ):
        encode_cells(c, [good, bad, good, bad])


JUNK = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.complex_numbers()
)
JUNK |= st.lists(st.integers(), max_size=2) | st.datetimes() | st.decimals(allow_nan=False)


@parametrize("c", KINDS.values(), ids=KINDS)
@given(values=st.lists(JUNK, min_size=1, max_size=4))
def test_any_cell_is_encoded_or_refused(c, values):
    try:
        found = encode_cells(with_missing(c), values)
    except InputError:
        return
    assert 0 <= min(found) <= max(found) <= c.size


PAIR = domain_of({"a": integer(0, 2), "b": integer(0, 1)})


@parametrize(
    "frame, message",
    [
        (pd.DataFrame({"a": [], "b": []}), "the table has no rows; at least 2 are needed"),
        (pd.DataFrame({"a": [1], "b": [1]}), "the table has 1 row; at least 2 are needed"),
        (pd.DataFrame({"a": [1, 2]}), "the table has no column 'b'; its columns are a"),
        (pd.DataFrame([[1, 1, 1]] * 2, columns=list("aba")), "the table has 2 columns called 'a'"),
        (
            pd.DataFrame({"a": [1, 3], "b": [0, 0]}),
            "column 'a': 3 in row 2 is outside 0..2 (1 of 2 rows like it)",
        ),
    ],
)
def test_a_bad_table_is_refused_with_a_reason(frame, message):
    with expect_error(re.escape(message)):
        PAIR.encode(frame)


def test_a_table_becomes_grouped_codes_and_other_columns_are_ignored():
    frame = pd.DataFrame(
        {"z": ["?"] * 5, "b": [1, 0, 1, 1, 0], "a": [2, 0, 2, 1, 0]}, index=[9, 9, 8, 7, 6]
    )
    rows = PAIR.encode(frame)
    assert rows.n == 5
    counted = {
        tuple(v): w for v, w in zip(rows.values.tolist(), rows.weights.tolist(), strict=True)
    }
    assert counted == {(0, 0): 2, (1, 1): 1, (2, 1): 2}
    assert rows.values.flags.f_contiguous, "a column lies together"


def test_a_domain_too_large_to_number_is_still_encoded():
    huge = integer_domain(*[100_000] * 14)
    assert huge.size == 10**70
    rows = huge.encode(pd.DataFrame({name: [7, 99_999, 7] for name in huge.names}))
    assert (rows.values.tolist(), rows.weights.tolist()) == ([[7] * 14, [99_999] * 14], [2, 1])
    assert rows.values.flags.f_contiguous


def test_a_domain_needs_columns_and_each_once():
    with expect_error("no columns"):
        Domain(())
    with expect_error("column 'a' is in the schema twice"):
        Domain((PAIR.columns[0],) * 2)


def test_projection_keeps_the_order_asked_for_and_names_what_is_not_there():
    assert PAIR.project(["b", "a"]).names == ("b", "a")
    with expect_error("there is no column 'c'; the columns are a, b"):
        PAIR.project(["a", "c"])


def test_a_distribution_is_summed_down_to_columns_in_any_order():
    domain = integer_domain(2, 3, 4)
    D = seeded(0).dirichlet(np.ones(24))
    for names in (["c", "a"], ["b"], list("abc"), list("cba")):
        axes = [domain.names.index(name) for name in names]
        expected = np.zeros([domain.shape[a] for a in axes])
        for cell, mass in zip(all_cells(domain), D, strict=True):
            expected[tuple(cell[axes])] += mass
        assert np.allclose(domain.marginal(D, names), expected.ravel(), atol=1e-15)


def test_whole_numbers_beyond_small_codes_are_drawn():
    drawn = column_from_entry(**integer(10**12, 10**12 + 3)).decode(
        np.array([0, 3], dtype=np.int32), seeded(0)
    )
    assert drawn.tolist() == [10**12, 10**12 + 3]
