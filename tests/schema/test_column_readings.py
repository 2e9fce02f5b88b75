"""Cells read one by one: dates, amounts and spellings; what is not understood stays as it was."""

import math
from datetime import date, datetime

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from dpcore.schema.cell_text import MISSING_TEXTS
from dpcore.schema.column_readings import (
    AMOUNT_WITH_COMMA,
    AMOUNT_WITH_POINT,
    ANY_CASE,
    WEEKDAYS,
    category_of_cell,
    parse_cell_number,
)
from dpcore.schema.date_texts import parse_date
from tests.small_problems import (
    approx,
    categorical,
    column_from_entry,
    encode_cells,
    expect_error,
    integer,
    numeric,
    parametrize,
)

AMOUNTS = {
    AMOUNT_WITH_POINT: {
        "€ 1,234.50": 1234.5,
        "12%": 12.0,
        "-$3": -3.0,
        "$-3.5": -3.5,
        "7 kr": 7.0,
        ".5": 0.5,
        "1 234": 1234.0,
    }
    | {"\u22123": -3.0, "1e3": 1000.0, "USD 1,000,000": 1e6},
    AMOUNT_WITH_COMMA: {
        "1.234,50 €": 1234.5,
        "12,5 %": 12.5,
        "-3,5": -3.5,
        "1.234": 1234.0,
        "12.5": 12.5,
        "0.123": 0.123,
    },
}
NO_AMOUNTS = [
    "",
    "abc",
    "12a",
    "1,2,3",
    "€",
    "%",
    "--3",
    "1.2.3",
    "12,34.5",
    "NaN",
    "inf",
    "1_000",
    "$1" + "0" * 400,
]


@parametrize("how, text", [(how, text) for how, known in AMOUNTS.items() for text in known])
def test_amounts_are_read_without_their_signs(how, text):
    assert parse_cell_number(text, how) == AMOUNTS[how][text]


@parametrize("text", NO_AMOUNTS)
def test_what_is_no_amount_is_no_number(text):
    assert math.isnan(parse_cell_number(text, AMOUNT_WITH_POINT))


@parametrize("how", AMOUNTS)
def test_a_long_text_is_read_without_trying_every_way_to_part_its_spaces(how):
    """Which would take years."""
    assert math.isnan(parse_cell_number(f"-{' ' * 100_000}x", how))


TIMES = [
    ("", math.nan),
    ("T10:30", 10),
    (" 12:05 am", 0),
    (" 3:00 p.m.", 15),
    ("T23:59", 23),
    (" 24:00", math.nan),
]


@given(
    st.dates(date(1969, 1, 1), date(2068, 12, 31)),
    st.sampled_from("-/."),
    st.booleans(),
    st.sampled_from(TIMES),
)
def test_a_day_written_in_an_order_is_read_in_it(day, between, short, timed):
    year = f"{day.year % 100:02d}" if short else str(day.year)
    after, hour = timed
    parts = {"d/m/y": (day.day, day.month, year), "m/d/y": (day.month, day.day, year)}
    for order, written in parts.items():
        assert parse_date(between.join(map(str, written)) + after, order) == day
        assert parse_date(day.isoformat() + after, order) == day, (
            "four digits first say so themselves"
        )
        assert (
            category_of_cell(between.join(map(str, written)), f"weekday of {order}")
            == WEEKDAYS[day.weekday()]
        )
        assert parse_cell_number(between.join(map(str, written)), f"month of {order}") == day.month
        assert parse_cell_number(day.isoformat() + after, f"hour of {order}") == approx(
            hour, nan_ok=True
        )
    assert parse_date(between.join(map(str, parts["d/m/y"])), "y-m-d") is None


@parametrize(
    "text", ["31/02/2020", "2020-13-01", "1/2", "2020", "1.2-2020", "aa/bb/cccc", "", "0000-01-01"]
)
def test_what_is_no_day_stays_as_it_was(text):
    for how in ("year of y-m-d", "month of d/m/y"):
        assert parse_cell_number(text, how) == approx(parse_cell_number(text), nan_ok=True)
    assert category_of_cell(text, "weekday of m/d/y") == text


CUT = {
    "07743": "07",
    " 07749 ": "07",
    "7.0": "7",
    "2.55": "2",
    "A B": "A",
    "x": "x",
    "N/A": "N/A",
    "": "",
}


@parametrize("text", CUT)
def test_the_first_characters_of_a_code_are_a_category_and_a_word_for_missing_stays_one(text):
    assert category_of_cell(text.strip(), "first 2 characters") == CUT[text]
    codes = column_from_entry(
        **categorical("07", "7", "2", "A", "x", read="first 2 characters", missing="category")
    )
    assert encode_cells(codes, [text]) == [
        codes.labels.index(CUT[text]) if CUT[text] in codes.labels else 5
    ]


def test_a_column_reads_its_cells_before_it_counts_them():
    years = column_from_entry(
        **integer(2019, 2021, read="year of d/m/y", missing="category", out_of_range="clip")
    )
    cells = ["1.2.2019", "2021-03-04", "n/a", "5/6/30", "2020"]
    assert encode_cells(years, cells) == [0, 2, 3, 2, 1]
    assert encode_cells(years, [datetime(2019, 5, 1), date(2020, 1, 1)]) == [0, 1]
    assert years.encode(pd.to_datetime(pd.Series(["2019-01-01", None]))).tolist() == [0, 3]
    assert years.read_numbers(pd.Series(cells[:2])).tolist() == [2019, 2021]
    with expect_error(r"'soon' in row 2 is not a number in 2019\.\.2021"):
        encode_cells(years, ["1.2.2019", "soon"])
    answer = column_from_entry(
        **categorical("Yes", "2020-01-01", read=ANY_CASE, missing="category")
    )
    cells = ["yes", " YES ", "2020-01-01\u00a000:00:00", "n/a", "NA", None]
    assert encode_cells(answer, cells) == [0, 0, 1, 2, 2, 2]
    assert encode_cells(
        column_from_entry(**numeric(0, 10, 2, read=AMOUNT_WITH_COMMA)), ["7,50 €", "€ 1"]
    ) == [1, 0]


@parametrize("text", sorted(MISSING_TEXTS))
def test_every_spelling_of_missing_is_missing_unless_it_is_a_listed_value(text):
    assert encode_cells(
        column_from_entry(**integer(1, 2, missing="category")), ["1", f" {text} "]
    ) == [0, 2]
    for read in ("", ANY_CASE):
        assert encode_cells(
            column_from_entry(**categorical("a", missing="category", read=read)), ["a", text]
        ) == [
            0,
            1,
        ]
    if text:
        assert encode_cells(column_from_entry(**categorical("a", text)), [text, "a"]) == [1, 0]


BAD = {
    "unknown": (integer(0, 1, read="decade"), "read='decade' is not one of"),
    "kind": (categorical("a", read=AMOUNT_WITH_POINT), "does not go with a categorical column"),
    "spelling": (integer(0, 1, read=ANY_CASE), "does not go with a integer column"),
    "one value": (categorical("Yes", "yes ", read=ANY_CASE), "'yes' is in values twice"),
}


@parametrize("spec, message", BAD.values(), ids=BAD)
def test_a_reading_that_does_not_fit_is_refused(spec, message):
    with expect_error(message):
        column_from_entry(**spec)
