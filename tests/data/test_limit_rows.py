"""The rows of one person at most: what is kept of anybody follows from that person's rows alone."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from dpcore import domain_from_json, limit_rows
from dpcore.data.cell_hashes import hash_cells, hash_person_ids
from dpcore.data.privacy_unit import PrivacyUnit
from dpcore.data.sources.limited_rows_source import LimitedRowsSource
from dpcore.data.sources.parquet_source import ParquetSource
from tests.small_problems import expect_error, parametrize, seeded

COLUMNS = ["who", "x", "y"]
CELLS = st.sampled_from(
    ["17", "17.0", " 17", "a", "A", "a ", "", "NA", "1,5", "1.5", "é", "-0", "0"]
)
ROW = st.tuples(CELLS, CELLS)
PEOPLE = st.dictionaries(
    st.sampled_from(["ann", "bob", "7", "8", "eve"]), st.lists(ROW, max_size=6), max_size=5
)


def table(people):
    rows = [(name, *row) for name, theirs in people.items() for row in theirs]
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS), dtype=object)


def kept(frame, most):
    """What is left of everybody, in no order."""
    out = {}
    for name, *row in limit_rows(frame, "who", most)[COLUMNS].to_numpy(dtype=object):
        out.setdefault(str(name).strip(), []).append(tuple(str(cell).strip() for cell in row))
    return {name: sorted(rows) for name, rows in out.items()}


def without(rows, *names):
    return {name: theirs for name, theirs in rows.items() if name not in names}


@given(PEOPLE, st.integers(1, 3), st.lists(ROW, max_size=6), st.randoms())
def test_what_is_kept_of_a_person_follows_from_that_persons_rows(people, most, instead, random):
    whole = kept(table(people), most)
    assert {name: len(rows) for name, rows in whole.items()} == {
        name: min(most, len(rows)) for name, rows in people.items() if rows
    }
    rest = without(people, "ann")
    for neighbour in (
        {**rest, "ann": instead},
        {"ann": instead, **rest},
        {**rest, "zed": people.get("ann", [])},
        rest,
    ):
        assert without(kept(table(neighbour), most), "ann", "zed") == without(whole, "ann")
    frame = table(people)
    places = list(range(len(frame)))
    random.shuffle(places)
    assert kept(frame.iloc[places, ::-1], most) == whole, "neither rows nor columns have an order"
    frame["who"] = [name + " " * random.randrange(3) for name in frame["who"]]
    again = kept(frame, most)
    assert {name: len(rows) for name, rows in again.items()} == {
        name: len(rows) for name, rows in whole.items()
    }


def test_persons_who_are_written_differently_are_different_persons():
    """Through a float 1,000 consecutive numbers of 18 digits were 63 persons, and such hexadecimal
    codes were two.
    """
    for many in (range(10**17, 10**17 + 1000), [f"00{i:02d}e{i % 900 + 100}" for i in range(1000)]):
        texts = pd.Series(list(map(str, many)))
        assert len(np.unique(hash_person_ids(texts))) == texts.nunique()
    assert (
        len(np.unique(hash_person_ids(pd.Series([2**53, 2**53 + 1, 2**63 - 1], dtype="int64"))))
        == 3
    )
    assert len(np.unique(hash_person_ids(pd.Series(["7", "007", "7,0", "7e0"])))) == 4


def test_only_the_named_columns_choose():
    frame = pd.DataFrame(
        {"who": ["a"] * 30, "x": range(30), "free text": [f"é {i}" for i in range(30)]}
    )
    changed = frame.assign(**{"free text": "other"})
    assert (
        limit_rows(frame, "who", 3, ["x", "gone"])["x"].tolist()
        == limit_rows(changed, "who", 3, ["x"])["x"].tolist()
    )
    assert limit_rows(frame, "who", 3)["x"].tolist() != limit_rows(changed, "who", 3)["x"].tolist()
    assert domain_from_json({"x": 30}).encode(limit_rows(frame, "who", 3, ["x"])).n == 3


@parametrize(
    "cells",
    [
        ["A", "A ", " A", "A\t"],
        ["17", "17.0", " 17 ", "17.", "17.000"],
        [17, 17.0, "17", np.int64(17), np.float32(17), "17.0"],
        [
            123456789012345678,
            "123456789012345678",
            " 123456789012345678.0",
            np.uint64(123456789012345678),
        ],
        [0.0, -0.0, "0", "-0"],
    ],
)
def test_a_person_is_one_however_it_is_written(cells):
    for order in (cells, cells[::-1]):
        frame = pd.DataFrame({"who": pd.Series(order, dtype=object), "x": range(len(order))})
        assert len(limit_rows(frame, "who", 1)) == 1


@parametrize("dtype", ["int64", "float64", "Int64", "str", "object", "category", "int32", "uint64"])
def test_the_type_of_a_column_does_not_matter(dtype):
    rng = seeded(0)
    plain = pd.DataFrame({"who": rng.integers(0, 50, 400), "x": rng.integers(0, 9, 400)})
    plain["row"] = plain.index
    typed = plain.astype({"who": dtype, "x": dtype})
    assert (
        limit_rows(typed, "who", 2)["row"].tolist() == limit_rows(plain, "who", 2)["row"].tolist()
    )


def test_rows_without_a_person_are_one_persons():
    missing = ["", " ", "NA", "nan", "null", None, np.nan, pd.NA, pd.NaT]
    left = limit_rows(
        pd.DataFrame({"who": pd.Series([*missing, "a"], dtype=object), "x": range(10)}), "who", 2
    )
    assert len(left) == 3
    assert "a" in left["who"].tolist()
    assert (
        len(limit_rows(pd.DataFrame({"who": [1.0, np.nan, np.nan, 2.0], "x": range(4)}), "who", 1))
        == 3
    )


def test_equal_rows_count_as_often_as_they_stand():
    frame = pd.DataFrame({"who": np.repeat(np.arange(2000), 10), "x": np.tile([0] * 9 + [1], 2000)})
    assert 140 < limit_rows(frame, "who", 1)["x"].sum() < 260, (
        "one row in ten is kept, 200 with a deviation of 13"
    )


def test_the_seed_draws_anew_and_the_table_keeps_its_order():
    frame = pd.DataFrame({"who": [0] * 100, "x": range(100)}, index=[7] * 100)
    draws = {tuple(limit_rows(frame, "who", 5, seed=seed)["x"]) for seed in range(20)}
    assert len(draws) == 20
    assert all(list(draw) == sorted(draw) for draw in draws)
    assert limit_rows(frame, "who", 100)["x"].tolist() == list(range(100))
    assert limit_rows(frame.iloc[:0], "who", 1).empty


def test_hostile_cells_are_limited_too():
    cells = [
        "\ud800",
        "x" * 10_000,
        [1, 2],
        {"a": 1},
        np.arange(3),
        b"\xff",
        True,
        "True",
        1,
        10**400,
        1j,
        "1e999",
    ]
    frame = pd.DataFrame(dict.fromkeys(["who", "x"], pd.Series(cells * 2, dtype=object)))
    left = limit_rows(frame, "who", 1)
    assert 10 <= len(left) <= 12, (
        "True and its text are one, and a number of too many digits names nobody"
    )
    assert (hash_cells(frame["who"])[:12] == hash_cells(frame["who"])[12:]).all()


def test_a_column_that_is_not_there_is_named():
    with expect_error("no column 'id' that identifies a person; it has who, x, y"):
        limit_rows(table({}), "id", 1)


@parametrize("heading", [" café ", "cafe\u0301", "café"])
@parametrize("person", ["café", "cafe\u0301 "])
def test_the_persons_column_is_named_in_nfc_and_trimmed(heading, person, tmp_path):
    frame = pd.DataFrame({heading: ["a", "a", "b"], " x": [1, 2, 3]})
    plain = frame.set_axis(["café", "x"], axis=1)
    expected = limit_rows(plain, "café", 1, ["x"]).to_numpy().tolist()
    assert limit_rows(frame, person, 1, ["x"]).to_numpy().tolist() == expected
    assert PrivacyUnit(person).ledger_noun == PrivacyUnit("café").ledger_noun
    frame.to_parquet(tmp_path / "t.parquet")
    source = LimitedRowsSource(
        ParquetSource(tmp_path / "t.parquet"), PrivacyUnit(person, 1), (" x",)
    )
    chunks = [chunk.cells(" x").tolist() for chunk in source.chunks([" x"])]
    assert sum(map(len, chunks)) == 2


def test_two_columns_that_are_called_alike_name_no_person():
    frame = pd.DataFrame([["a", "b"]], columns=pd.Index(["who ", " who"]))
    with expect_error("more than one column 'who' that identifies a person"):
        limit_rows(frame, "who", 1)
