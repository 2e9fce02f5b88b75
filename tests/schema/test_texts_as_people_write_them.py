"""Numbers, days, names and values as people write them, each stated in the schema.

A reading depends on one cell and the schema: whatever another row says, it is the same.
"""

import json
import math
import unicodedata

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import InputError
from dpcore.schema.cell_text import MISSING_TEXTS
from dpcore.schema.column_readings import (
    AMOUNT_WITH_COMMA,
    AMOUNT_WITH_POINT,
    DATE_AND_TIME,
    DATE_READINGS,
    READINGS,
    WEEKDAYS,
    parse_cell_number,
    reads_categories,
    whole_date_of_reading,
)
from dpcore.schema.column_texts import ColumnTexts
from dpcore.schema.date_texts import DATE_ORDERS, parse_date
from dpcore.schema.partial_schema import partial_schema_from_json
from dpcore.schema.schema_json import domain_from_json, domain_to_json
from tests.small_problems import (
    categorical,
    column_from_entry,
    domain_of,
    encode_cells,
    expect_error,
    integer,
    parametrize,
)

NUMBERS = {
    AMOUNT_WITH_POINT: {
        "(1,234.50)": -1234.5,
        "$(12)": -12.0,
        "($1,234)": -1234.0,
        "1,234.50-": -1234.5,
        "<0.5": 0.5,
        "≥ 90": 90.0,
        ">=3": 3.0,
        "90+": 90.0,
        "٣": 3.0,
        "١٬٢٣٤٫٥": 1234.5,
        "１２．５": 12.5,
        "－３": -3.0,
        "(-3)": math.nan,
        "()": math.nan,
        "+": math.nan,
        "<": math.nan,
        "((3))": math.nan,
    },
    AMOUNT_WITH_COMMA: {"(1.234,50)": -1234.5, "<0,5": 0.5, "١٫٥": 1.5},
}
DAYS = {
    "20030411": {"y-m-d": (2003, 4, 11)},
    "20031341": {},
    "11-Apr-2003": dict.fromkeys(DATE_ORDERS, (2003, 4, 11)),
    "April 11, 2003": dict.fromkeys(DATE_ORDERS, (2003, 4, 11)),
    "11 avril 2003": dict.fromkeys(DATE_ORDERS, (2003, 4, 11)),
    "1er févr. 2003": dict.fromkeys(DATE_ORDERS, (2003, 2, 1)),
    "11. März 2003": dict.fromkeys(DATE_ORDERS, (2003, 3, 11)),
    "11 de abril de 2003": dict.fromkeys(DATE_ORDERS, (2003, 4, 11)),
    "11 апреля 2003": dict.fromkeys(DATE_ORDERS, (2003, 4, 11)),
    "2003-APR-11": dict.fromkeys(DATE_ORDERS, (2003, 4, 11)),
    "11-APR-03": dict.fromkeys(("d/m/y", "m/d/y"), (2003, 4, 11)),
    "٢٠٠٣-٠٤-١١": dict.fromkeys(DATE_ORDERS, (2003, 4, 11)),
    "11 foo 2003": {},
    "31-Feb-2003": {},
    "unknown": {},
}
TOLERANT = {"missing": "category", "out_of_range": "clip", "unreadable": "missing"}


@parametrize("how, text", [(how, text) for how, known in NUMBERS.items() for text in known])
def test_a_number_is_read_as_people_write_it(how, text):
    number = parse_cell_number(text, how)
    assert number == NUMBERS[how][text] or math.isnan(number) and math.isnan(NUMBERS[how][text])


@parametrize("text", DAYS)
def test_a_day_is_read_as_people_write_it(text):
    found = {order: parse_date(text, order) for order in DATE_ORDERS}
    assert {order: (d.year, d.month, d.day) for order, d in found.items() if d} == DAYS[text]


def test_eight_digits_of_a_numeric_file_are_the_day_that_they_are_in_a_text():
    years = column_from_entry(**integer(2000, 2010, read="year of y-m-d"))
    assert years.encode(pd.Series([20030411, 20051231])).tolist() == [3, 5]
    assert encode_cells(years, ["20030411", 20051231, 20051231.0, "2004"]) == [3, 5, 5, 4]


@parametrize(
    "low, high, year",
    [(1930, 2005, 1955), (1990, 2030, 2055), (2000, 2060, 2055), (1850, 1890, 1855)],
)
def test_two_digits_of_a_year_mean_the_century_of_the_stated_range(low, high, year):
    column = column_from_entry(**integer(low, high, read="year of d/m/y") | TOLERANT)
    assert column.first_year <= year < column.first_year + 100
    assert encode_cells(column, ["02/02/55"]) == [min(max(year, low), high) - low]


@parametrize(
    "entry, cells, codes",
    [
        (integer(1920, 2030, read="year of d/m/y"), ["1/2/24", "1/2/26"], [104, 6]),
        (
            integer(1920, 2030, read="year of d/m/y", first_year=1930),
            ["1/2/26", "1/2/30"],
            [106, 10],
        ),
        (categorical(*WEEKDAYS, read="weekday of d/m/y"), ["2/1/55"], [5]),
        (categorical(*WEEKDAYS, read="weekday of d/m/y", first_year=1900), ["2/1/55"], [6]),
        (categorical(*WEEKDAYS, read="weekday of d/m/y", first_year=1950), ["3/1/55"], [0]),
        (integer(1, 12, read="month of d/m/y", first_year=1950), ["29/2/00"], [1]),
    ],
)
def test_the_century_of_two_digits_is_stated_or_that_of_the_range(entry, cells, codes):
    column = column_from_entry(**entry)
    assert encode_cells(column, cells) == codes
    again = domain_from_json(domain_to_json(domain_from_json({"columns": {"a": entry}})))
    assert encode_cells(again.columns[0], cells) == codes


@parametrize(
    "entry, message",
    [
        (integer(1920, 2030, read="year of d/m/y", first_year="1930"), "is not a whole number in"),
        (integer(1920, 2030, first_year=1930), "it goes with dates alone"),
    ],
)
def test_a_century_that_is_stated_wrongly_is_refused(entry, message):
    with expect_error(message):
        column_from_entry(**entry)


def test_a_range_that_is_measured_states_the_century_by_which_it_was():
    schema = {"columns": {"a": {"kind": "integer", "bounds": "private", "read": "year of d/m/y"}}}
    unknown = partial_schema_from_json(schema).unknown_columns[0]
    measured = unknown.column_of_bins([1975.0, 2000.0, 2031.0, 2070.0])
    texts = ColumnTexts.from_series(pd.Series(["1/2/60", "1/2/75"]), unknown.read)
    assert texts.numbers.tolist() == [2060, 1975]
    assert encode_cells(measured, ["1/2/60", "1/2/75"]) == [2, 0]


@parametrize("text", ["#DIV/0!", "#N/A", "#VALUE!"])
def test_the_errors_of_a_spreadsheet_are_missing(text):
    assert text in MISSING_TEXTS
    assert encode_cells(column_from_entry(**integer(0, 1, missing="category")), ["1", text]) == [
        1,
        2,
    ]


def test_letters_with_accents_are_the_same_however_they_are_composed():
    composed = unicodedata.normalize("NFC", "Orléans")
    split = unicodedata.normalize("NFD", composed)
    for value in (composed, split):
        column = column_from_entry(**categorical(value, "Paris"))
        assert encode_cells(column, [composed, split, f" {split} "]) == [0, 0, 0]
    with expect_error("twice"):
        column_from_entry(**categorical(composed, split))
    domain = domain_of({composed: integer(0, 1)})
    assert domain.column_positions(["a", f" {split} "]) == [1]
    assert domain.axes([split]) == (0,)
    with expect_error("2 columns called"):
        domain_of({"a": integer(0, 1)}).column_positions([" a", "a "])
    assert domain_of({"a": integer(0, 1)}).column_positions(["a ", "a"]) == [1]


def test_other_spellings_are_the_value_that_the_schema_says():
    entry = categorical("Female", "Male", same={"Male": ["M", "m", "homme"], "Female": ["F"]})
    column = column_from_entry(**entry)
    assert encode_cells(column, ["Male", "M", " m ", "homme", "F", "Female"]) == [1, 1, 1, 1, 0, 0]
    with expect_error("'f' in row 1 is not one of the allowed values"):
        encode_cells(column, ["f"])
    domain = domain_of({"sex": entry})
    assert domain_from_json(json.loads(json.dumps(domain_to_json(domain)))) == domain
    any_case = column_from_entry(**categorical("Yes", "No", same={"Yes": ["Y"]}, read="any case"))
    assert encode_cells(any_case, ["y", "YES", "no"]) == [0, 0, 1]


@parametrize(
    "entry, message",
    [
        (categorical("a", same={"b": ["c"]}), "'b' in same is none of the values"),
        (categorical("a", "b", same={"a": ["b"]}), "'b' in same is read as 'a', and it is also"),
        (categorical("a", "b", same={"a": ["c"], "b": ["c"]}), "'c' in same is read as 'b'"),
        (categorical("a", same=["c"]), "same must be a JSON object"),
        (categorical("a", same={"a": "c"}), "same must be a JSON object"),
        (integer(0, 1, same={"1": ["c"]}), '"same" goes with categories alone'),
        (integer(0, 1, missing_codes=[-9]), "missing_codes count as missing, which is refused"),
        (integer(0, 1, missing_codes=-9, missing="category"), "must be a list of numbers"),
        (integer(0, 1, missing_codes=[True], missing="category"), "must be a list of numbers"),
        (categorical("9", missing_codes=[9], missing="category"), "in values and in missing_codes"),
    ],
)
def test_what_contradicts_itself_is_refused(entry, message):
    with expect_error(f"column 'x': .*{message}"):
        column_from_entry(**entry)


def test_codes_for_missing_values_are_missing_whatever_type_a_cell_has():
    entry = integer(0, 120, bins=12, missing="category", missing_codes=[-9, 99, "refused"])
    column = column_from_entry(**entry)
    cells = ["-9", "99.0", 99, -9.0, "refused", "98", None]
    assert encode_cells(column, cells) == [12, 12, 12, 12, 12, 9, 12]
    assert column.encode(pd.Series([-9, 99, 98])).tolist() == [12, 12, 9]
    assert column.encode(pd.Series([-9.0, np.nan, 98])).tolist() == [12, 12, 9]
    domain = domain_of({"x": entry})
    assert domain_from_json(json.loads(json.dumps(domain_to_json(domain)))) == domain
    codes = column_from_entry(**categorical("1", "2", missing="category", missing_codes=[9]))
    assert encode_cells(codes, ["1", "9", 9.0]) == [0, 2, 2]


def test_a_word_beside_weekdays_may_count_as_missing():
    entry = {"kind": "categorical", "values": ["Mon", "Tue"], "read": "weekday of y-m-d"}
    column = column_from_entry(**entry, missing="category", unreadable="missing")
    assert encode_cells(column, ["2026-11-30", "unknown", ""]) == [0, 2, 2]
    with expect_error("unreadable"):
        column_from_entry(**categorical("a", missing="category", unreadable="missing"))


def column_read(reading):
    """A column with this reading that refuses nothing, with codes and other spellings."""
    more = {"missing": "category", "missing_codes": [-9, "refused"], "read": reading}
    if reads_categories(reading):
        more |= {"missing": "other", "out_of_range": "other", "same": {"Male": ["M", "é", "Mon"]}}
        return column_from_entry(**categorical("Male", "20", "(other)", **more))
    whole_date = whole_date_of_reading(reading)
    if whole_date:
        kind = "numeric" if whole_date == DATE_AND_TIME else "integer"
        days = {"kind": kind, "low": "1930-01-01", "high": "2005-12-31", "bins": 5}
        return column_from_entry(**days | TOLERANT | more)
    low, high = (1930, 2005) if reading in DATE_READINGS else (-10, 90)
    return column_from_entry(**integer(low, high, bins=5) | TOLERANT | more)


CELLS = st.sampled_from(
    [text for known in NUMBERS.values() for text in known]
    + [*DAYS, "02/02/55", "-9", "refused", "M", "e\u0301", "Male ", "", "NA", "#DIV/0!", "007"]
) | st.text(max_size=5)


@parametrize("reading", READINGS)
@given(rows=st.lists(CELLS, min_size=2, max_size=6), other=CELLS, data=st.data())
@settings(max_examples=20)
def test_another_row_changes_no_reading(reading, rows, other, data):
    column = column_read(reading)
    place = data.draw(st.integers(0, len(rows) - 1))
    changed = [*rows[:place], other, *rows[place + 1 :]]
    codes = [encode_cells(column, cells) for cells in (rows, changed)]
    assert np.delete(codes[0], place).tolist() == np.delete(codes[1], place).tolist()
    assert codes[0] == [encode_cells(column, [cell])[0] for cell in rows]


def test_a_long_text_is_read_at_once():
    for text in ("(" * 10**5, "1 " * 10**5, "A" * 10**5, "<" * 10**5, "1-" * 10**5, "é " * 10**5):
        for reading in (AMOUNT_WITH_POINT, "year of d/m/y"):
            parse_cell_number(text, reading)


def test_a_schema_without_the_new_statements_stays_as_it_was():
    entry = integer(0, 9, missing="category")
    written = domain_to_json(domain_of({"x": entry}))["columns"]["x"]
    assert set(written) == {"kind", "low", "high", "ordered", "missing", "out_of_range"}
    with expect_error("unknown key", InputError):
        column_from_entry(**entry, merge={})
