"""Rows of people who stand together are limited part by part as in memory; others are refused."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import PrivacyUnit, gather, limit_rows
from dpcore.data.sources.limited_rows_source import LimitedRowsSource, limit_source
from tests.small_problems import (
    InParts,
    describe_rows,
    expect_error,
    integer_domain,
    parametrize,
    seeded,
)

DOMAIN = integer_domain(4, 3)


@settings(max_examples=15)
@given(
    people=st.lists(st.integers(1, 7), min_size=2, max_size=12),
    rows=st.integers(1, 9),
    most=st.integers(1, 4),
    seed=st.integers(0, 9),
    nobody=st.booleans(),
)
def test_the_rows_kept_are_those_in_memory_wherever_chunks_begin(people, rows, most, seed, nobody):
    rng = seeded(seed)
    n = sum(people)
    who = np.repeat(np.arange(len(people)).astype(str), people).astype(object)
    if nobody:
        who[-people[-1] :] = rng.choice(["", " ", "NA", "?"], people[-1])
    frame = pd.DataFrame(
        {"id": who, "a": rng.integers(0, 4, n), "b": rng.integers(0, 3, n), "more": rng.random(n)}
    )
    source = LimitedRowsSource(InParts(frame, rows=rows), PrivacyUnit("id", most), DOMAIN.names)
    here = DOMAIN.encode(limit_rows(frame, "id", most, DOMAIN.names))
    assert describe_rows(gather(source, DOMAIN, [])) == describe_rows(here)
    assert source.fingerprint(b"k") == InParts(frame).fingerprint(b"k")


@parametrize("rows", [1, 2, 100])
@parametrize("who", [list("xyx"), ["17", "x", "17.0"], ["", "x", "NA"], list("xyzwy")])
def test_people_whose_rows_stand_apart_are_refused(rows, who):
    source = LimitedRowsSource(
        InParts(pd.DataFrame({"id": who, "a": 0, "b": 0}), rows=rows),
        PrivacyUnit("id", 2),
        DOMAIN.names,
    )
    with expect_error("the rows of some value of 'id' are far apart"):
        gather(source, DOMAIN, [])


def test_a_person_without_end_a_missing_column_and_a_database_are_refused(monkeypatch):
    monkeypatch.setattr("dpcore.data.sources.limited_rows_source.MAX_ROWS_PER_PERSON", 3)
    frame = pd.DataFrame({"id": "x", "a": [0] * 9, "b": 0})
    with expect_error("more than 3 rows name one person"):
        gather(
            LimitedRowsSource(InParts(frame, rows=2), PrivacyUnit("id", 2), DOMAIN.names),
            DOMAIN,
            [],
        )
    with expect_error("has no column 'who'"):
        gather(LimitedRowsSource(InParts(frame), PrivacyUnit("who", 2), DOMAIN.names), DOMAIN, [])
    database = type("Other", (), {"name": "a database"})()
    with expect_error("limited in files and in memory only, not in a database"):
        limit_source(database, PrivacyUnit("id", 2), DOMAIN.names)
    assert limit_source(database, PrivacyUnit(None, 2), DOMAIN.names) is database
