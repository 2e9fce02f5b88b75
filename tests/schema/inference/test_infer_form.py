"""Forms, bounds and bins that are proposed for dates and numbers, and what a schema makes of them."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.schema.amount_texts import has_limit_sign
from dpcore.schema.column_texts import ColumnTexts, text_shapes
from dpcore.schema.forms.calendar_numbers import SECONDS_PER_DAY
from dpcore.schema.forms.date_form import parse_date_form
from dpcore.schema.forms.number_form import parse_number_form
from dpcore.schema.inference import infer_form
from dpcore.schema.inference.date_bounds import round_date_bounds
from dpcore.schema.inference.infer_form import (
    NUMBER_PATTERN,
    find_unit,
    infer_number_form,
)
from dpcore.schema.inference.infer_schema import guess_column
from dpcore.schema.inference.proposal import propose_schema
from dpcore.schema.inference.repairs import FILL_IN, repair_column
from dpcore.schema.schema_json import domain_from_json
from tests.small_problems import parametrize, seeded

N = 200
MONDAY = 17_896  # 31 December 2018


def days(width):
    """Days from then on, as many different ones as there are."""
    return [MONDAY + 1 + i * width // N for i in range(N)]


def written(form, numbers=None):
    return [parse_date_form(form, SECONDS_PER_DAY).write(d) for d in numbers or days(1500)]


def times(form):
    return [
        parse_date_form(form, 1).write((MONDAY + i) * SECONDS_PER_DAY + i * 3_777 % SECONDS_PER_DAY)
        for i in range(N)
    ]


def numbers(form, low=-3000, high=9000):
    values = np.round(seeded(3).uniform(low, high, N), 2)
    return [parse_number_form(form).write(value) for value in values]


COLUMNS = {
    "YYYY-MM-DD": ("date of y-m-d", written("YYYY-MM-DD")),
    "DD.MM.YYYY": ("date of d/m/y", written("DD.MM.YYYY")),
    "D.M.YYYY": ("date of d/m/y", written("D.M.YYYY")),
    "M/D/YY": ("date of m/d/y", written("M/D/YY")),
    "YYYYMMDD": ("date of y-m-d", written("YYYYMMDD")),
    "Mon D, YYYY": ("date of y-m-d", written("Mon D, YYYY")),
    "Month D, YYYY": ("date of y-m-d", written("Month D, YYYY")),
    "DD-MON-YY": ("date of d/m/y", written("DD-MON-YY")),
    "D. Month[de] YYYY": ("date of y-m-d", written("D. Month[de] YYYY")),
    "D de month[es] de YYYY": ("date of y-m-d", written("D de month[es] de YYYY")),
    "YYYY-MM-DDThh:mm:ss": ("date and time of y-m-d", times("YYYY-MM-DDThh:mm:ss")),
    "DD.MM.YYYY hh:mm": ("date and time of d/m/y", times("DD.MM.YYYY hh:mm")),
    "M/D/YYYY h:mm AM": ("date and time of m/d/y", times("M/D/YYYY h:mm AM")),
    "Mon D, YYYY hh:mm": ("date and time of y-m-d", times("Mon D, YYYY hh:mm")),
    "€ 1.000,00": ("amount, decimal comma", numbers("€ 1.000,00")),
    "1 000,0 kr": ("amount, decimal comma", numbers("1 000,0 kr")),
    "$1,000.00": ("amount, decimal point", numbers("$1,000.00")),
    "($1,000.00)": ("amount, decimal point", numbers("($1,000.00)")),
    "1000.00-": ("amount, decimal point", numbers("1000.00-")),
    "1000 %": ("amount, decimal point", numbers("1000 %", 0)),
    "1000 kg": (None, numbers("1000 kg", 0)),
    "1000.0 mmHg": (None, numbers("1000.0 mmHg", 0)),
    "1,000 visits": ("amount, decimal point", numbers("1,000 visits", 0)),
    "1000.##": (None, numbers("1000.##", 0)),
    "1000.00": (None, numbers("1000.00", 0)),
}


@parametrize("form", COLUMNS)
def test_a_column_comes_back_as_it_came(form):
    read, cells = COLUMNS[form]
    frame = pd.DataFrame({"x": cells})
    proposal = propose_schema(frame, peek=True)
    entry = proposal.columns["x"]
    assert (entry.get("read"), entry["form"]) == (read, form)
    assert guess_column("x", frame["x"][::-1]) == proposal.guesses["x"], "whatever the order"
    domain = domain_from_json(proposal.to_json())
    codes = domain.columns[0].encode(frame["x"])
    synthetic = domain.decode_rounded(codes.reshape(-1, 1), seeded(0))
    assert domain.columns[0].encode(synthetic["x"]).tolist() == codes.tolist()
    signs = {"".join(filter(lambda c: not c.isalnum(), text)) for text in cells}
    assert {"".join(filter(lambda c: not c.isalnum(), t)) for t in synthetic["x"]} <= signs


def test_whole_numbers_as_digits_have_no_form_nor_have_digits_of_a_computer():
    frame = pd.DataFrame({"age": range(20, 90), "x": seeded(1).normal(0, 1, 70)})
    proposal = propose_schema(frame, peek=True)
    assert not any("form" in entry for entry in proposal.columns.values())
    typed = pd.DataFrame({"x": np.round(seeded(1).uniform(0, 9, 70), 1)})
    assert propose_schema(typed, peek=True).columns["x"]["form"].startswith("1000.")


BOUNDS = {
    "few days": ([*range(MONDAY, MONDAY + 9)], ("2018-12-31", "2019-01-08", None)),
    "weeks": ([*range(MONDAY, MONDAY + 60)], ("2018-12-31", "2019-03-03", "weeks")),
    "months": ([*range(MONDAY + 1, MONDAY + 366)], ("2019-01-01", "2019-12-31", "months")),
    "years": ([*range(MONDAY - 3000, MONDAY)], ("2010-01-01", "2018-12-31", "years")),
}


@parametrize("name", BOUNDS)
def test_bins_of_days_are_spans_that_a_person_would_name(name):
    numbers, (low, high, bins) = BOUNDS[name]
    found = round_date_bounds(np.array(numbers, float), np.ones(len(numbers)), 1)
    assert (found["low"], found["high"], found.get("bins")) == (low, high, bins)


def test_where_most_days_are_late_the_bins_follow_their_quantiles():
    numbers = np.unique(np.floor(MONDAY - seeded(0).exponential(300, 3000)))
    counts = np.exp((numbers - MONDAY) / 300) * 100
    edges = round_date_bounds(numbers, counts, 1)["edges"]
    assert [edge for edge in edges if edge.endswith("-01-01")]
    column = domain_from_json(
        {"columns": {"x": {"kind": "integer", "read": "date of y-m-d", "edges": edges}}}
    ).columns[0]
    shares = np.bincount(column._codes_of_numbers(numbers, np.isnan(numbers)), counts)
    assert shares.max() < 0.3 * counts.sum()


def test_hours_of_one_day_get_hours():
    seconds = MONDAY * SECONDS_PER_DAY + np.arange(0, SECONDS_PER_DAY, 60.0)
    found = round_date_bounds(seconds, np.ones(len(seconds)), SECONDS_PER_DAY)
    assert found["edges"][1:3] == ["2018-12-31T03:00", "2018-12-31T06:00"]


def test_two_digits_of_a_year_and_a_word_beside_days_are_understood():
    frame = pd.DataFrame({"x": [*written("D.M.YY", [*range(-9000, 9000, 100)]), *["unknown"] * 9]})
    proposal = propose_schema(frame, peek=True)
    entry = proposal.columns["x"]
    assert (entry["form"], entry["unreadable"], entry["missing"]) == (
        "D.M.YY",
        "missing",
        "category",
    )
    column = domain_from_json(proposal.to_json()).columns[0]
    assert np.ptp(column.encode(frame["x"])) == column.size - 1


def test_where_day_and_month_may_be_exchanged_the_date_is_not_taken():
    guess = guess_column("x", pd.Series(["1/2/2020", "3/4/2021", "5/6/2022"] * 9))
    assert guess.initial_entry["read"] == "year of d/m/y"
    assert guess.whole_date == ""
    named = guess_column("x", pd.Series(["1-Feb-20", "3-Apr-21", "5-Jun-22"] * 9))
    assert named.whole_date == "date of d/m/y", "the order makes no difference"


def test_days_of_one_year_are_months_until_the_rows_may_be_looked_at():
    guess = guess_column("x", pd.Series(written("DD.MM.YYYY", days(300))))
    assert guess.initial_entry == {
        "kind": "integer",
        "low": 1,
        "high": 12,
        "read": "month of d/m/y",
    }
    assert guess.entry_from_rows["form"] == "DD.MM.YYYY"


def test_days_that_a_file_has_as_days_are_written_as_days():
    frame = pd.DataFrame({"x": pd.to_datetime(days(1500), unit="D")})
    assert propose_schema(frame, peek=True).columns["x"]["form"] == "YYYY-MM-DD"


def test_a_repair_fills_in_the_form_and_keeps_one_that_was_stated():
    cells = pd.Series(written("DD.MM.YYYY"))
    entry = {"kind": "integer", "read": "date of d/m/y"}
    assert repair_column("x", cells, entry, FILL_IN)["form"] == "DD.MM.YYYY"
    stated = repair_column("x", cells, entry | {"form": "D/M/YY"}, FILL_IN)
    assert stated["form"] == "D/M/YY"


UNITS = {
    "5 kg": "1000 kg",
    "5kg": "1000kg",
    "Rs. 5": "Rs. 1000",
    "Q5": "",
    "5 Long Street": "",
    "A-5": "",
    "5:30": "",
    "v5.1": "",
}


@parametrize("text", UNITS)
def test_one_unit_beside_all_numbers_is_a_unit_and_a_code_is_none(text):
    texts = [text.replace("5", str(i)) for i in range(10, 40)]
    assert find_unit(texts) == UNITS[text]
    assert find_unit([*texts, "7 g", "8 lb"]) == "", "of several none"


def test_the_digits_of_most_negative_numbers_say_how_minus_is_written():
    texts = ("(5.00)", "(6.10)", "-3.00", "1,234.50", "7.00")
    column_texts = ColumnTexts(texts, np.ones(5, int), 0, "amount, decimal point")
    assert infer_number_form(column_texts) == "(1,000.00)"


@settings(max_examples=200)
@given(st.text("0379.,' -+()<>≤€$kg%٣²\u00a0\n", max_size=9))
def test_a_texts_shape_is_a_number_where_the_text_is(text):
    shape = text_shapes([text])[0]
    assert has_limit_sign(shape) == has_limit_sign(text)
    match = NUMBER_PATTERN.fullmatch(text)
    shape_match = NUMBER_PATTERN.fullmatch(shape)
    assert (match is None) == (shape_match is None)
    if match and shape_match:
        assert [match.span(part) for part in ("before", "body", "after")] == [
            shape_match.span(part) for part in ("before", "body", "after")
        ]
        assert (match["before"], match["after"]) == (shape_match["before"], shape_match["after"])


def test_a_million_numbers_are_looked_at_by_their_few_shapes(monkeypatch):
    looked_at = []
    monkeypatch.setattr(
        infer_form, "has_limit_sign", lambda text: bool(looked_at.append(text)) or False
    )
    texts = tuple(f"{i / 100:.2f}" for i in range(100_000))
    column_texts = ColumnTexts(texts, np.ones(len(texts), int), 0, "as written")
    assert infer_number_form(column_texts) == "1000.00"
    assert looked_at == ["0.00", "00.00", "000.00"]
