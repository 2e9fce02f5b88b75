"""All that is wrong with a column at once, and repairs that mend it without undoing what was typed."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from dpcore import InputError
from dpcore.schema.column_readings import ANY_CASE, COMMA
from dpcore.schema.inference import repairs
from dpcore.schema.inference.repairs import (
    ADD,
    ASIDE,
    CLIP,
    FIXES,
    GUESS,
    MISSING,
    ONE,
    OWN,
    READ,
    WORDS,
    mended,
    problems,
    words_missing,
)
from tests.small_problems import categorical, column, integer, parametrize, refused

TEXTS = pd.Series(["yes", "Yes", " yes ", "no", "NA"])
NUMBERS = pd.Series(["1", "2", "", "70"])
WRONG = {
    "nothing said": ({"kind": "integer"}, NUMBERS, [(READ, ASIDE)], ["low is not given"]),
    "no values": ({"kind": "categorical", "values": None}, TEXTS, [(READ, ASIDE)], ["values are not given"]),
    "no kind": ({}, TEXTS, [(GUESS, ASIDE)], ["kind=None"]),
    "no entry": (3, TEXTS, [(GUESS, ASIDE)], ["must be a JSON object"]),
    "bounds": (integer(3, 1), NUMBERS, [(READ, ASIDE)], ["low=3 must be below high=1"]),
    "missing and outside": (
        integer(1, 9), NUMBERS, [(CLIP, ASIDE), (MISSING, ASIDE)],
        ["'70' in row 4 is outside 1..9", "1 of 4 values are missing"],
    ),
    "spellings": (
        categorical("yes", "no", missing="category"), TEXTS, [(ONE, ADD, ASIDE)],
        ["'Yes' in row 2 is not one of the allowed values"],
    ),
    "other values": (categorical("yes", missing="category"), TEXTS, [(ADD, ASIDE)], ["Yes"]),
    "no number": (integer(1, 9), TEXTS, [(GUESS, WORDS, ASIDE)],
        ["is not a number"]),
}  # fmt: skip


@parametrize("entry, cells, fixes, words", WRONG.values(), ids=WRONG)
def test_all_that_is_wrong_is_said_at_once_and_each_repair_mends_it(entry, cells, fixes, words):
    found = problems("x", cells, entry)
    assert [problem.fixes for problem in found] == fixes
    assert all(word in problem.what for problem, word in zip(found, words, strict=True))
    for problem in found:
        for fix in problem.fixes:
            after = mended("x", cells, entry, fix)
            assert (after is None) == (fix == ASIDE)
            left = problems("x", cells, after) if after is not None else ()
            assert problem not in left
            assert len(left) < len(found)
    while found and entry is not None:
        entry = mended("x", cells, entry, found[0].fixes[0])
        found = problems("x", cells, entry)
    assert column(**entry).encode(cells).shape == cells.shape


def test_only_what_nobody_said_is_read_off():
    entry = integer(-3, None, missing="category")
    read = mended("x", NUMBERS, entry, READ)
    assert (read["low"], read["missing"]) == (-3, "category")
    assert read["high"] >= 2
    assert mended("x", pd.Series(["5", "6"]), entry, READ)["missing"] == "category", "a policy that was typed stays"
    assert mended("x", pd.Series(["1,5", "2"]), {"kind": "numeric", "read": COMMA}, READ)["read"] == COMMA
    entry = categorical("none of them", "no", missing="category")
    assert mended("x", TEXTS, entry, ADD)["values"] == ["none of them", "no", "Yes", "yes"]
    assert mended("x", TEXTS, entry, ONE) == {
        "kind": "categorical", "read": ANY_CASE, "values": ["no", "yes"], "missing": "category",
    }  # fmt: skip


def test_a_word_that_counts_as_missing_becomes_a_value_of_its_own():
    cells = pd.Series(["gold", "none", "NA", "", "-", "gold", "none"])
    entry = categorical("gold", missing="category")
    assert words_missing("x", cells, entry) == {"none": 2, "NA": 1}
    own = mended("x", cells, entry, OWN)
    assert own == entry | {"values": ["gold", "none", "NA"]}
    assert words_missing("x", cells, own) == {}
    ages = pd.Series(["41", "unknown", "7", "none"])
    entry = integer(0, 99)
    counted = mended("x", ages, entry, WORDS)
    assert words_missing("x", ages, counted) == {"unknown": 1, "none": 1}
    assert problems("x", ages, counted) == ()
    read, numbers = {"kind": "integer", "missing": "category"}, pd.Series(["41", "7"])
    assert mended("x", ages, read | {"unreadable": "missing"}, READ) == mended("x", numbers, read, READ) | {
        "unreadable": "missing"
    }


def test_repairs_that_read_the_records_are_known_as_such():
    for fix in FIXES:
        kept = mended("x", pd.Series(["zebra", "Zebra"]), categorical("yes"), fix)
        assert ("zebra" in str(kept).lower()) <= (fix in repairs.PEEKS)


@parametrize("cells", [pd.Series(["2020-01-02", "2021-03-04"]), pd.Series([f"w{i}" for i in range(300)])])
def test_what_seems_to_be_no_column_to_count_is_not_taken_for_one(cells):
    with refused("column 'x': .*; leave it out"):
        mended("x", cells, integer(0, 1), GUESS)


ENTRY = st.fixed_dictionaries(
    {"kind": st.sampled_from(["categorical", "integer", "numeric", "date", None])},
    optional={
        "values": st.none() | st.lists(st.sampled_from(["a", "A", "1", 2]), max_size=3),
        "low": st.none() | st.integers(-2, 5), "high": st.none() | st.integers(-2, 5), "bins": st.integers(0, 3),
        "missing": st.sampled_from(["refuse", "category"]), "out_of_range": st.sampled_from(["refuse", "clip"]),
        "read": st.sampled_from(["", ANY_CASE, COMMA, "year of d/m/y", "?"]),
    },
)  # fmt: skip


@given(ENTRY, st.lists(st.sampled_from(["a", "A ", "1", "2.5", "", "NA", "1/2/2020", "€ 3"]), min_size=1, max_size=8))
def test_any_entry_is_fine_or_has_problems_with_repairs(entry, cells):
    series = pd.Series(cells, dtype="str")
    found = problems("x", series, entry)
    if not found:
        assert len(column(**entry).encode(series)) == len(cells)
    for problem in found:
        assert set(problem.fixes) <= set(FIXES)
        assert problem.fixes[-1] == ASIDE
        for fix in problem.fixes:
            try:
                after = mended("x", series, entry, fix)
            except InputError:
                continue
            assert after is None or isinstance(after, dict)
