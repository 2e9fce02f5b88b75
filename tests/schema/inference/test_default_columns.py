"""The columns a page opens with: from sizes alone, within the cells, never none."""

import math
from dataclasses import replace
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from dpcore import domain_from_json, samples
from dpcore.problems import require_enumerable
from dpcore.schema.inference.default_columns import (
    MAX_COLUMN_SIZE,
    MAX_COLUMNS,
    MAX_PAIR_CELLS,
    MAX_PAIRED_COLUMNS,
    choose_default_columns,
    choose_paired_columns,
)
from tests.small_problems import expect_error, parametrize


def domain(sizes):
    return domain_from_json({f"c{i}": size for i, size in enumerate(sizes)})


@given(
    st.lists(st.integers(1, 2 * MAX_COLUMN_SIZE), min_size=1, max_size=40), st.integers(1, 10**6)
)
def test_what_is_chosen_fits_and_nothing_more_would(sizes, cells):
    whole = domain(sizes)
    names = choose_default_columns(whole, cells)
    assert names == tuple(n for n in whole.names if n in names)
    usable = [f"c{i}" for i, size in enumerate(sizes) if 1 < size <= min(MAX_COLUMN_SIZE, cells)]
    if not usable:
        assert len(names) == 1
        return
    chosen = whole.project(names)
    assert chosen.size <= cells
    assert 1 <= len(names) <= MAX_COLUMNS
    assert all(1 < size <= MAX_COLUMN_SIZE for size in chosen.shape)
    if len(names) < MAX_COLUMNS:
        left = [whole.project([name]).size for name in usable if name not in names]
        assert all(chosen.size * size > cells for size in left)


@parametrize(
    "sizes, wanted",
    [
        ([8] * 12, 12),
        ([100] * 40, 6),
        ([2] * 200, MAX_PAIRED_COLUMNS),
        ([1, 5000, 30, 30], 2),
        ([5000], 1),
    ],
)
def test_pages_begin_with_all_columns_whose_pairs_are_within_a_public_limit(sizes, wanted):
    whole = domain(sizes)
    names = choose_paired_columns(whole)
    assert len(names) == wanted
    assert names == tuple(n for n in whole.names if n in names)
    shape = whole.project(names).shape
    assert sum(a * b for a, b in combinations(shape, 2)) <= MAX_PAIR_CELLS
    assert set(choose_default_columns(whole, 100_000)) <= set(names)


def test_a_column_that_crowds_out_the_others_is_passed_over():
    assert choose_default_columns(domain([1, 5000, 3000]), 10) == ("c2",)
    assert len(choose_default_columns(domain([2] * 200), 100_000)) == MAX_COLUMNS


def test_a_column_that_names_people_is_not_chosen_before_a_person_does():
    whole = domain_from_json({"Full Name": 8, "phone": 2, "job": 8, "E-Mail": 90, "born": 60})
    assert choose_default_columns(whole, 100_000) == ("Full Name", "phone", "job")
    assert choose_default_columns(replace(whole, measured=("Full Name", "job")), 100_000) == (
        "phone",
        "job",
    )
    assert choose_default_columns(whole.project(["E-Mail"]), 100_000) == ("E-Mail",)
    assert choose_paired_columns(whole) == ("Full Name", "phone", "job")


@parametrize("sample", [samples.census, samples.berkeley, samples.titanic])
def test_samples_open_with_all_their_columns(sample):
    whole = sample().domain
    assert math.prod(whole.shape) <= 100_000
    assert choose_default_columns(whole, 100_000) == whole.names


@parametrize("columns", [40, 4000])
def test_a_domain_of_many_columns_is_refused_in_words_and_pairs_are_listed(columns):
    whole = domain([10] * columns)
    with expect_error(rf"about 10\^{columns} combinations \({columns} columns\) are more than"):
        require_enumerable(whole)
