"""All that is wrong with a column at once, and repairs that mend it without undoing what was typed."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from dpcore import InputError
from dpcore.schema.column_readings import AMOUNT_WITH_COMMA, ANY_CASE
from dpcore.schema.inference import repairs
from dpcore.schema.inference.repairs import (
    ADD_VALUES,
    CLIP_OUTSIDE,
    FILL_IN,
    FIX_LABELS,
    KEEP_MISSING,
    LEAVE_OUT,
    MERGE_SPELLINGS,
    USE_GUESS,
    WORDS_AS_MISSING,
    WORDS_AS_VALUES,
    find_column_problems,
    missing_word_counts,
    repair_column,
)
from tests.small_problems import categorical, column_from_entry, expect_error, integer, parametrize

TEXTS = pd.Series(["yes", "Yes", " yes ", "no", "NA"])
NUMBERS = pd.Series(["1", "2", "", "70"])
WRONG = {
    "nothing said": ({"kind": "integer"}, NUMBERS, [(FILL_IN, LEAVE_OUT)], ["low is not given"]),
    "no values": (
        {"kind": "categorical", "values": None},
        TEXTS,
        [(FILL_IN, LEAVE_OUT)],
        ["values are not given"],
    ),
    "no kind": ({}, TEXTS, [(USE_GUESS, LEAVE_OUT)], ["kind=None"]),
    "no entry": (3, TEXTS, [(USE_GUESS, LEAVE_OUT)], ["must be a JSON object"]),
    "bounds": (integer(3, 1), NUMBERS, [(FILL_IN, LEAVE_OUT)], ["low=3 must be below high=1"]),
    "missing and outside": (
        integer(1, 9),
        NUMBERS,
        [(CLIP_OUTSIDE, LEAVE_OUT), (KEEP_MISSING, LEAVE_OUT)],
        ["'70' in row 4 is outside 1..9", "1 of 4 values are missing"],
    ),
    "spellings": (
        categorical("yes", "no", missing="category"),
        TEXTS,
        [(MERGE_SPELLINGS, ADD_VALUES, LEAVE_OUT)],
        ["'Yes' in row 2 is not one of the allowed values"],
    ),
    "other values": (
        categorical("yes", missing="category"),
        TEXTS,
        [(ADD_VALUES, LEAVE_OUT)],
        ["Yes"],
    ),
    "no number": (
        integer(1, 9),
        TEXTS,
        [(USE_GUESS, WORDS_AS_MISSING, LEAVE_OUT)],
        ["is not a number"],
    ),
}


@parametrize("entry, cells, fixes, words", WRONG.values(), ids=WRONG)
def test_all_that_is_wrong_is_said_at_once_and_each_repair_mends_it(entry, cells, fixes, words):
    found = find_column_problems("x", cells, entry)
    assert [problem.fixes for problem in found] == fixes
    assert all(word in problem.message for problem, word in zip(found, words, strict=True))
    for problem in found:
        for fix in problem.fixes:
            after = repair_column("x", cells, entry, fix)
            assert (after is None) == (fix == LEAVE_OUT)
            left = find_column_problems("x", cells, after) if after is not None else ()
            assert problem not in left
            assert len(left) < len(found)
    while found and entry is not None:
        entry = repair_column("x", cells, entry, found[0].fixes[0])
        found = find_column_problems("x", cells, entry)
    assert column_from_entry(**entry).encode(cells).shape == cells.shape


def test_only_what_nobody_said_is_read_off():
    entry = integer(-3, None, missing="category")
    read = repair_column("x", NUMBERS, entry, FILL_IN)
    assert (read["low"], read["missing"]) == (-3, "category")
    assert read["high"] >= 2
    assert repair_column("x", pd.Series(["5", "6"]), entry, FILL_IN)["missing"] == "category", (
        "a policy that was typed stays"
    )
    assert (
        repair_column(
            "x", pd.Series(["1,5", "2"]), {"kind": "numeric", "read": AMOUNT_WITH_COMMA}, FILL_IN
        )["read"]
        == AMOUNT_WITH_COMMA
    )
    entry = categorical("none of them", "no", missing="category")
    assert repair_column("x", TEXTS, entry, ADD_VALUES)["values"] == [
        "none of them",
        "no",
        "Yes",
        "yes",
    ]
    assert repair_column("x", TEXTS, entry, MERGE_SPELLINGS) == {
        "kind": "categorical",
        "read": ANY_CASE,
        "values": ["no", "yes"],
        "missing": "category",
    }


def test_a_word_that_counts_as_missing_becomes_a_value_of_its_own():
    cells = pd.Series(["gold", "none", "NA", "", "-", "gold", "none"])
    entry = categorical("gold", missing="category")
    assert missing_word_counts("x", cells, entry) == {"none": 2, "NA": 1}
    own = repair_column("x", cells, entry, WORDS_AS_VALUES)
    assert own == entry | {"values": ["gold", "none", "NA"]}
    assert missing_word_counts("x", cells, own) == {}
    ages = pd.Series(["41", "unknown", "7", "none"])
    entry = integer(0, 99)
    counted = repair_column("x", ages, entry, WORDS_AS_MISSING)
    assert missing_word_counts("x", ages, counted) == {"unknown": 1, "none": 1}
    assert find_column_problems("x", ages, counted) == ()
    read = {"kind": "integer", "missing": "category"}
    numbers = pd.Series(["41", "7"])
    assert repair_column("x", ages, read | {"unreadable": "missing"}, FILL_IN) == repair_column(
        "x", numbers, read, FILL_IN
    ) | {"unreadable": "missing"}


def test_repairs_that_read_the_records_are_known_as_such():
    for fix in FIX_LABELS:
        kept = repair_column("x", pd.Series(["zebra", "Zebra"]), categorical("yes"), fix)
        assert ("zebra" in str(kept).lower()) <= (fix in repairs.PEEKING_FIXES)


@parametrize(
    "cells", [pd.Series(["1/2/2020", "3/4/2020"]), pd.Series([f"w{i}" for i in range(300)])]
)
def test_what_seems_to_be_no_column_to_count_is_not_taken_for_one(cells):
    with expect_error("column 'x': .*; leave it out"):
        repair_column("x", cells, integer(0, 1), USE_GUESS)


ENTRY = st.fixed_dictionaries(
    {"kind": st.sampled_from(["categorical", "integer", "numeric", "date", None])},
    optional={
        "values": st.none() | st.lists(st.sampled_from(["a", "A", "1", 2]), max_size=3),
        "low": st.none() | st.integers(-2, 5),
        "high": st.none() | st.integers(-2, 5),
        "bins": st.integers(0, 3),
        "missing": st.sampled_from(["refuse", "category"]),
        "out_of_range": st.sampled_from(["refuse", "clip"]),
        "read": st.sampled_from(["", ANY_CASE, AMOUNT_WITH_COMMA, "year of d/m/y", "?"]),
    },
)


@given(
    ENTRY,
    st.lists(
        st.sampled_from(["a", "A ", "1", "2.5", "", "NA", "1/2/2020", "€ 3"]),
        min_size=1,
        max_size=8,
    ),
)
def test_any_entry_is_fine_or_has_problems_with_repairs(entry, cells):
    series = pd.Series(cells, dtype="str")
    found = find_column_problems("x", series, entry)
    if not found:
        assert len(column_from_entry(**entry).encode(series)) == len(cells)
    for problem in found:
        assert set(problem.fixes) <= set(FIX_LABELS)
        assert problem.fixes[-1] == LEAVE_OUT
        for fix in problem.fixes:
            try:
                after = repair_column("x", series, entry, fix)
            except InputError:
                continue
            assert after is None or isinstance(after, dict)
