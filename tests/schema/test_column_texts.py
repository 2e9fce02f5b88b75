"""Raw cells: what each says depends on that cell only, and a column that refuses nothing reads it
so too.
"""

import math

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from dpcore import domain_from_json, domain_to_json
from dpcore.schema.cell_text import NumberText
from dpcore.schema.column import OTHER_LABEL
from dpcore.schema.column_readings import (
    AMOUNT_WITH_COMMA,
    ANY_CASE,
    AS_WRITTEN,
    DATE_AND_TIME,
    READINGS,
    parse_cell_number,
    reads_categories,
    whole_date_of_reading,
)
from dpcore.schema.column_texts import ColumnTexts
from dpcore.schema.partial_schema import UnknownColumn
from tests.small_problems import (
    approx,
    categorical,
    column_from_entry,
    domain_of,
    encode_cells,
    expect_error,
    integer,
    numeric,
    parametrize,
)

SAID = {
    "17": 17,
    " 17.0 ": 17,
    "1,5": math.nan,
    "1.5": 1.5,
    "-3e2": -300,
    "1,2,3": math.nan,
    "1_000": math.nan,
    "nan": math.nan,
    "inf": math.nan,
    "1e999": math.nan,
    "": math.nan,
    "x": math.nan,
    "True": math.nan,
    "0x10": math.nan,
}


@parametrize("text, number", SAID.items())
def test_a_text_says_one_number_or_none(text, number):
    assert parse_cell_number(text) == approx(number, nan_ok=True)


def test_a_reading_comes_first():
    assert parse_cell_number(NumberText("1.234"), AMOUNT_WITH_COMMA) == 1.234, (
        "a number that is no text is that number"
    )


TOLERANT = {
    "number": numeric(0, 9, 3, missing="category", out_of_range="clip"),
    "whole": integer(0, 9, missing="category", out_of_range="clip"),
    "word": categorical("a", "1", OTHER_LABEL, missing="other", out_of_range="other"),
}
for name in ("number", "whole"):
    TOLERANT[name]["unreadable"] = "missing"
ANYTHING = st.one_of(
    st.text(max_size=8),
    st.floats(),
    st.integers(),
    st.booleans(),
    st.none(),
    st.lists(st.integers(), max_size=2),
)


def bounded_as_read(entry, read):
    """An entry of numbers read so; of dates, between days."""
    whole_date = whole_date_of_reading(read)
    if not whole_date:
        return entry | {"read": read}
    kind = "numeric" if whole_date == DATE_AND_TIME else "integer"
    days = {"kind": kind, "low": "2020-01-01", "high": "2020-12-31", "bins": "months"}
    return entry | days | {"read": read}


@parametrize("read", [r for r in READINGS if r != ANY_CASE])
@given(cells=st.lists(ANYTHING, min_size=2, max_size=6))
def test_a_column_that_refuses_nothing_refuses_nothing_and_reads_each_cell_by_itself(read, cells):
    spec = {
        name: entry if reads_categories(read) else bounded_as_read(entry, read)
        for name, entry in TOLERANT.items()
    }
    spec["word"] = TOLERANT["word"] | ({"read": read} if reads_categories(read) else {})
    for each in domain_of(spec).columns:
        together = encode_cells(each, cells)
        assert 0 <= min(together) <= max(together) < each.size
        assert together == [encode_cells(each, [cell])[0] for cell in cells]
        if each.kind != "categorical":
            numbers = each.read_numbers(pd.Series(cells, dtype=object))
            assert np.isfinite(numbers[np.array(together) != each.nonmissing_size]).all()


def test_a_huge_whole_number_is_read_as_missing():
    assert encode_cells(column_from_entry(**TOLERANT["number"]), [10**5000, 3]) == [3, 1]
    assert ColumnTexts.from_series(pd.Series([10**5000, 3], dtype=object)).missing_count == 1


SAME = (("b", ("1", "B")), (OTHER_LABEL, ("z",)), ("NA", ("none",)))
WORDS = st.sampled_from(["b", "1", "B", "z", "NA", "none", "-9", " -9.0", "9", "x", None])


@parametrize("read", [AS_WRITTEN, ANY_CASE, "first character"])
@parametrize("same, codes", [((), ()), (SAME, (-9, "x"))])
@given(cells=st.lists(st.one_of(ANYTHING, WORDS), min_size=1, max_size=8))
def test_counting_agrees_with_encoding(same, codes, read, cells):
    found = ColumnTexts.from_series(pd.Series(cells, dtype=object), read, same, codes)
    unknown = UnknownColumn("x", "categorical", read, same=same, missing_codes=codes)
    x = unknown.column_of_values((*found.category_counts,), missing=True)
    codes = np.bincount(encode_cells(x, cells), minlength=x.size)
    assert codes[: len(found.category_counts)].tolist() == list(found.category_counts.values())
    assert codes[-1] == found.missing_count
    assert found.n == len(cells) == found.kind_counts.sum()


def test_a_code_is_a_number_or_a_text_and_a_stated_value_is_no_code():
    cells = pd.Series(["-9", "-9,00", "x", "7", "NA", "none", None])
    found = ColumnTexts.from_series(cells, AMOUNT_WITH_COMMA, (), (-9, "x", 7))
    assert np.isnan(found.numbers).all()
    found = ColumnTexts.from_series(cells, AS_WRITTEN, (("NA", ("none",)),), ("x", "7"))
    assert found.category_counts == {"-9": 1, "-9,00": 1, "NA": 2}, "Namibia, as it is stated"
    assert found.missing_count == 3


@parametrize("read", [AS_WRITTEN, AMOUNT_WITH_COMMA, "year of y-m-d"])
@given(cells=st.lists(st.one_of(ANYTHING, WORDS), min_size=1, max_size=8))
def test_numbers_are_those_of_the_column_that_is_measured(read, cells):
    codes = (-9, "9", "x")
    found = ColumnTexts.from_series(pd.Series(cells, dtype=object), read, (), codes)
    unknown = UnknownColumn("x", "numeric", read, missing_codes=codes)
    numbers = unknown.column_of_bins([-1e14, 1e14]).read_numbers(pd.Series(found.texts))
    assert np.clip(found.numbers, -1e14, 1e14).tolist() == approx(numbers.tolist(), nan_ok=True)
    assert not {-9.0, 9.0}.intersection(found.numbers)


def test_a_tolerant_schema_survives_its_file():
    domain = domain_of(TOLERANT)
    assert domain_from_json(domain_to_json(domain)) == domain


@parametrize(
    "spec, why",
    [
        (categorical("a", out_of_range="other"), "needs the category"),
        (categorical("a", missing="other"), "needs the category"),
        (integer(0, 1, missing="other"), "no meaning for numbers"),
        (integer(0, 1, unreadable="missing"), 'missing "category"'),
        (categorical("a", missing="category", unreadable="missing"), "numbers"),
    ],
)
def test_half_a_policy_is_refused(spec, why):
    with expect_error(why):
        domain_of({"a": spec})
