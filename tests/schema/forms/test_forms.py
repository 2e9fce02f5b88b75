"""Dates and numbers are written back in the form that a schema states, and are read as the same.

Nothing but the schema says how a cell is read or written.
"""

import json
import pickle

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import InputError
from dpcore.queries.questions import exact_question_share, parse_question
from dpcore.schema.forms.calendar_numbers import SECONDS_PER_DAY, moment_text, snap_edges
from dpcore.schema.forms.date_form import parse_date_form
from dpcore.schema.forms.month_names import LANGUAGES
from dpcore.schema.forms.number_form import parse_number_form
from dpcore.schema.partial_schema import partial_schema_from_json, partial_schema_to_json
from dpcore.schema.schema_json import domain_from_json, domain_to_json
from tests.small_problems import (
    categorical,
    column_from_entry,
    domain_of,
    encode_cells,
    expect_error,
    numeric,
    parametrize,
    seeded,
)

TOLERANT = {"missing": "category", "out_of_range": "clip", "unreadable": "missing"}
DAYS = {"kind": "integer", "low": "2019-01-01", "high": "2021-12-31", "bins": "quarters"}
TIMES = {"kind": "numeric", "low": "2019-01-01", "high": "2019-03-01", "bins": "weeks"}
# how a date may be written, with an order in which it is read
DATE_FORMS = {
    "YYYY-MM-DD": "y-m-d",
    "YYYYMMDD": "y-m-d",
    "YYYY/M/D": "y-m-d",
    "DD.MM.YYYY": "d/m/y",
    "D.M.YY": "d/m/y",
    "DD/MM/YYYY": "d/m/y",
    "M/D/YY": "m/d/y",
    "MM-DD-YYYY": "m/d/y",
    "Mon D, YYYY": "y-m-d",
    "Month D, YYYY": "m/d/y",
    "DD-MON-YY": "d/m/y",
    "D de month[es] de YYYY": "y-m-d",
    "D. Mon. YYYY": "d/m/y",
    "YYYY-MON-DD": "y-m-d",
} | {f"D Month[{language}] YYYY": "y-m-d" for language in LANGUAGES}
TIME_FORMS = ("", "hh:mm:ss", "hh:mm", "h:mm AM", "hh:mm:ss am")
NUMBER_READINGS = {
    "": ("1000", "1000.0", "1000.00", "1000.##", "1000.0# kg", "-1000.0", "kg 1000"),
    "amount, decimal point": (
        *("1,000.00", "$1,000.00", "($1,000.00)", "1000.00-", "€ -1,000.0", "1 000.#", "1000%"),
        *("1000 %", "CHF 1'000.00", "1,000.00 mg/dL", "(1,000)", "\u22121000.0", "1000 kr."),
    ),
    "amount, decimal comma": ("1.000,00", "€ 1.000,00", "1 000,0 kr", "1\u00a0000,## €", "1000,0"),
}
COLUMNS = {
    f"{form} as {order}": DAYS | {"read": f"date of {order}", "form": form}
    for form, order in DATE_FORMS.items()
}
COLUMNS |= {
    f"{form} {time}": TIMES
    | {"read": f"date and time of {order}", "form": f"{form} {time}".strip()}
    for form, order in (("YYYY-MM-DD", "y-m-d"), ("D.M.YY", "d/m/y"), ("Mon D, YYYY", "m/d/y"))
    for time in TIME_FORMS
}
COLUMNS |= {
    f"{form} of {kind}": {"kind": kind, "edges": edges, "read": read, "form": form}
    for read, forms in NUMBER_READINGS.items()
    for form in forms
    for kind, edges in (
        ("numeric", [-12000, -3, 0, 1, 7, 999, 1250, 123456]),
        ("integer", [-12000, -3, 0, 1, 7, 999, 1250, 123456]),
    )
}
COLUMNS |= {
    "fine bins": numeric(0, 1, 7, form="1000.000"),
    "uneven bins": {"kind": "numeric", "edges": [0.05, 0.31, 0.41, 1.77], "form": "1000.0"},
    "a day each": {"kind": "integer", "low": "2019-12-25", "high": "2020-01-07"}
    | {"read": "date of y-m-d"},
    "last day alone": {"kind": "integer", "edges": ["2019-12-25", "2020-01-07", "2020-01-07"]}
    | {"read": "date of d/m/y"},
    "cut evenly": DAYS | {"bins": 7, "read": "date of m/d/y"},
    "hours": {"kind": "numeric", "edges": ["2020-02-28T22:00", "2020-02-29T00:30", "2020-03-01"]}
    | {"read": "date and time of d/m/y", "form": "DD.MM.YYYY hh:mm"},
}


@parametrize("name", COLUMNS)
def test_what_is_written_is_read_as_the_same(name):
    domain = domain_of({"x": COLUMNS[name] | {"missing": "category"}})
    assert domain_from_json(json.loads(json.dumps(domain_to_json(domain)))) == domain
    (column,) = domain.columns
    codes = np.resize(np.arange(column.size), 4 * column.size + 30)
    frame = domain.decode_rounded(codes.reshape(-1, 1), seeded(0))
    written = frame["x"].tolist()
    assert [text for text, code in zip(written, codes, strict=True) if text is None] == [
        None for code in codes if code == column.nonmissing_size
    ]
    if column.form or column.is_date:
        assert {type(text) for text in written} == {str, type(None)}
    again = pd.read_csv(pd.io.common.StringIO(frame.to_csv(index=False)), dtype=str)
    for cells in (frame["x"], again["x"]):
        assert column.encode(cells).tolist() == codes.tolist()


@parametrize(
    "form, number, text",
    [
        ("DD.MM.YYYY", 18_321, "29.02.2020"),
        ("M/D/YY", 18_321, "2/29/20"),
        ("D. Month[de] YYYY", 59, "1. März 1970"),
        ("DD-MON-YY", 59, "01-MAR-70"),
        ("D de month[pt] de YYYY", -1, "31 de dezembro de 1969"),
        ("YYYYMMDD", -719_162, "00010101"),
    ],
)
def test_a_day_is_written_by_its_letters(form, number, text):
    assert parse_date_form(form, SECONDS_PER_DAY).write(number) == text


@parametrize(
    "form, text",
    [
        ("YYYY-MM-DDThh:mm:ssZ", "2020-02-29T00:05:09Z"),
        ("M/D/YYYY h:mm AM", "2/29/2020 12:05 AM"),
        ("DD.MM.YY hh:mm", "29.02.20 00:05"),
    ],
)
def test_a_time_is_written_by_its_letters(form, text):
    assert parse_date_form(form, 1).write(18_321 * SECONDS_PER_DAY + 309) == text


@parametrize(
    "form, texts",
    {
        "1000": ("1234567", "-5"),
        "€ 1.000,00": ("€ 1.234.567,00", "-€ 5,00"),
        "(1,000.0)": ("1,234,567.0", "(5.0)"),
        "1000.##- kg": ("1234567 kg", "5- kg"),
        "€ -1 000": ("€ 1 234 567", "€ -5"),
    }.items(),
)
def test_a_number_is_written_as_the_form_writes_1000(form, texts):
    written = parse_number_form(form)
    assert (written.write(1_234_567), written.write(-5)) == texts
    assert written.write(-0.0001).strip("€ kg").startswith(("0", "-0.0"[1:]))


BAD = [
    ({"form": 5}, "form must be a text"),
    ({"form": "YYYY-MM"}, "it has no day"),
    ({"form": "YYYY-MM-DD DD"}, "the day is there twice"),
    ({"form": "YYYY-MM-DD xx"}, "'xx' is no part of a date"),
    ({"form": "D Month[xx] YYYY"}, "'xx' is none of the languages"),
    ({"form": "MM/DD/YYYY"}, "writes 2019-.* does not read as that"),
    ({"form": "DD/MM/YY", "low": "1819-01-01"}, "writes 1819-01-01 as '01/01/19'"),
    ({"low": 3}, "low=3 is not written as 2020-12-31"),
    ({"low": "2019"}, "low='2019' is not written as 2020-12-31"),
    ({"low": "2019-02-30"}, "is not written as 2020-12-31"),
    ({"low": "2022-01-01"}, "low=2022-01-01 must be below high=2021-12-31"),
    ({"bins": "decades"}, "or bins that are years, quarters, months, weeks, days"),
    ({"kind": "numeric"}, "goes with an integer column"),
    ({"read": "date and time of d/m/y"}, "goes with an numeric column"),
]


@parametrize("entry, message", BAD)
def test_a_date_that_contradicts_itself_is_refused(entry, message):
    with expect_error(f"column 'x': .*{message}"):
        column_from_entry(**DAYS | {"read": "date of d/m/y"} | entry)


@parametrize(
    "entry, message",
    [
        (numeric(0, 9, 3, form="12"), "'12' does not write 1000"),
        (numeric(0, 9, 3, form="1000 kg 5"), "does not write 1000"),
        (numeric(0, 9, 3, form="(1000"), "has other signs"),
        (numeric(0, 9, 3, form="1000.0000000000"), "has 10 digits"),
        (numeric(0, 9, 3, form="1,000,0"), "one sign for thousands and decimals"),
        (numeric(0, 9, 3, form="1.000,0"), "which read='' does not read as that"),
        (numeric(0, 1, 4, form="1000"), "can write no number of the bin 0.25 to under 0.5"),
        (numeric(0, 1e14, 4, form="1000.00"), "too many digits for numbers of this size"),
        (categorical("a", form="1000"), "form goes with numbers and dates"),
    ],
)
def test_a_form_of_numbers_that_does_not_fit_is_refused(entry, message):
    with expect_error(f"column 'x': .*{message}"):
        column_from_entry(**entry)


CELLS = st.sampled_from(
    [
        "29.02.2020",
        "2/29/20",
        "31.12.2021",
        "20200229",
        "kg",
        "5",
        "kg5",
        "5kg",
        "kg5kg",
        "(5)",
        "-5",
        "-€5",
        "1.234,5",
        "25:00",
        "2020-02-29T25:00",
        "2020-02-29T11:59PM",
        "unknown",
        "Mär",
        "1.Mär.2020",
    ]
    + [
        "",
        "NA",
        "5 kg",
        "€ 5",
        "2020-02-29 10:00",
        "Feb 29, 2020 13:00 PM",
        "12/31/1999 1:00 AM",
        "\x00",
    ]
) | st.text(max_size=6)


@parametrize("name", list(COLUMNS)[::5])
@given(rows=st.lists(CELLS, min_size=2, max_size=6), other=CELLS, data=st.data())
@settings(max_examples=10)
def test_another_row_changes_nothing_of_how_a_cell_is_read(name, rows, other, data):
    column = column_from_entry(**COLUMNS[name] | TOLERANT)
    place = data.draw(st.integers(0, len(rows) - 1))
    changed = [*rows[:place], other, *rows[place + 1 :]]
    codes = [encode_cells(column, cells) for cells in (rows, changed)]
    assert np.delete(codes[0], place).tolist() == np.delete(codes[1], place).tolist()
    assert codes[0] == [encode_cells(column, [cell])[0] for cell in rows]


def test_a_number_is_no_day_and_a_day_has_its_first_second():
    days = column_from_entry(**DAYS | TOLERANT | {"read": "date of d/m/y"})
    assert encode_cells(days, ["17", 17_900, "1.1.2019", "2021-12-31", "1.1.2030"]) == [
        *(12, 12, 0, 11, 11)
    ]
    times = column_from_entry(**TIMES | TOLERANT | {"read": "date and time of d/m/y"})
    numbers = times.read_numbers(pd.Series(["1.1.2019", "1.1.2019 00:00:07.9", "2.1.2019 1:00 PM"]))
    assert (numbers - numbers[0]).tolist() == [0, 7, SECONDS_PER_DAY + 13 * 3600]
    assert encode_cells(times, ["1.1.2019 24:00"]) == [times.nonmissing_size]


def test_the_bins_of_days_are_called_by_years_months_or_days():
    def labels(**entry):
        return column_from_entry(**DAYS | {"read": "date of y-m-d"} | entry).labels

    assert labels(bins="years") == ("2019", "2020", "2021")
    assert labels()[:2] == ("2019-01–2019-03", "2019-04–2019-06")
    assert labels(bins="months")[-1] == "2021-12"
    assert labels(bins="weeks", high="2019-01-14") == (
        "2019-01-01–2019-01-06",
        "2019-01-07–2019-01-13",
        "2019-01-14",
    )
    times = column_from_entry(**TIMES | {"read": "date and time of y-m-d"})
    assert times.labels[:1] == ("2019-01-01 to under 2019-01-07",)
    assert times.label_of_range(0, 1) == "2019-01-01 to under 2019-01-14"


QUESTIONS = {
    "day >= 2020": 2 / 3,
    "day < 2019-04": 1 / 3,
    "day <= 2019-03": 1 / 3,
    "day between 2019-02 and 2020-12-30": 2 / 3,
    "day = 2019-02-03": 1 / 3,
    "day = 2019": 1 / 3,
    "day in (2019-01–2019-03, 2021)": 2 / 3,
    "time > 2019-01-13": 1 / 3,
    "time < 2019-01-14": 2 / 3,
    "time between 2019-01-07 and 2019-01-13": 1 / 3,
}


@parametrize("text", QUESTIONS)
def test_a_question_may_name_days_months_and_years(text):
    domain = domain_of(
        {
            "day": DAYS | {"read": "date of d/m/y"},
            "time": TIMES | {"read": "date and time of d/m/y"},
        }
    )
    frame = pd.DataFrame(
        {
            "day": ["3.2.2019", "5.5.2020", "31.12.2021"],
            "time": ["1.1.2019 23:00", "13.1.2019 23:59", "14.1.2019"],
        }
    )
    assert exact_question_share(text, domain, frame) == QUESTIONS[text]
    assert parse_question(text, domain).columns == (text.split()[0],)


@parametrize("text", ["day = 5", "day >= soon", "day = 2019-13", "time = 2019-01-03"])
def test_a_question_about_dates_says_what_it_expects(text):
    domain = domain_of(
        {
            "day": DAYS | {"read": "date of d/m/y"},
            "time": TIMES | {"read": "date and time of d/m/y"},
        }
    )
    with expect_error("expected (a day, month or year|`between`)"):
        parse_question(text, domain)


def test_constraints_name_days_and_no_synthetic_row_breaks_them():
    day = DAYS | {"read": "date of d/m/y", "form": "DD.MM.YYYY"}
    schema = {
        "columns": {"came": day, "left": day, "sex": categorical("F", "M")},
        "constraints": [
            {"order": ["came", "left"]},
            {"impossible": {"came": {"from": "2021-07"}, "sex": ["F"]}},
            {"impossible": {"left": ["2019-01–2019-03", {"to": "2019-06-30"}], "sex": ["M"]}},
        ],
    }
    domain = domain_from_json(schema)
    assert domain_from_json(json.loads(json.dumps(domain_to_json(domain)))) == domain
    rng = seeded(1)
    codes = np.column_stack([rng.integers(0, size, 300) for size in domain.shape])
    frame = domain.decode_rounded(codes, rng)
    came, left = (pd.to_datetime(frame[name], format="%d.%m.%Y") for name in ("came", "left"))
    assert (came <= left).all()
    assert not ((came >= "2021-07-01") & (frame["sex"] == "F")).any()
    assert not ((left <= "2019-06-30") & (frame["sex"] == "M")).any()
    for item in ({"from": 2021}, {"to": "soon"}, {"from": "2030"}, "2018"):
        schema["constraints"] = [{"impossible": {"came": item, "sex": ["F"]}}]
        with expect_error("column 'came'"):
            domain_from_json(schema)


def test_days_follow_the_curve_through_the_counts():
    column = column_from_entry(**DAYS | {"read": "date of y-m-d"})
    counts = [10, 40, 160, 640, 900, 640, 160, 40, 10, 5, 2, 1]
    codes = np.repeat(np.arange(12), counts)
    frame = domain_of({"x": DAYS | {"read": "date of y-m-d"}}).decode_rounded(
        codes.reshape(-1, 1), seeded(0)
    )
    in_third = pd.to_datetime(frame["x"][codes == 2])
    assert column.fit_bin_curve(codes) is not None
    assert (in_third > "2019-08-15").mean() > 0.55, "towards the fuller neighbour"


CODES = {
    "leading zeros": (categorical("01234", "00007"), ["00007", "01234", "00007"]),
    "TRUE": (categorical("TRUE", "FALSE"), ["TRUE", "FALSE"]),
    "True": (categorical("True", "False"), ["True", "False"]),
    "true": (categorical("true", "false", read="any case"), ["TRUE", "false"]),
    "0 and 1": (categorical("0", "1"), ["1", "0"]),
    "typed": (categorical(True, False), [True, False]),
    "same": (categorical("Male", "F", same={"Male": ["M", "m"]}), ["M", "Male", "F"]),
    "words": (categorical("none", "a", missing="category"), ["none", "a", "NA"]),
}


@parametrize("name", CODES)
def test_a_category_is_written_by_its_public_value(name):
    entry, cells = CODES[name]
    column = column_from_entry(**entry)
    codes = np.array(encode_cells(column, cells))
    frame = domain_of({"x": entry}).decode_rounded(codes.reshape(-1, 1), seeded(0))
    values = [*entry["values"], None]
    written = [None if pd.isna(value) else value for value in frame["x"]]
    assert written == [values[code] for code in codes]
    text = frame.to_csv(index=False)
    again = pd.read_csv(pd.io.common.StringIO(text), dtype=str, keep_default_na=False)
    assert encode_cells(column, again["x"].tolist()) == codes.tolist()
    assert set(text.split()[1:]) <= {*map(str, entry["values"]), '""'}


PRIVATE = {
    "day": {"kind": "integer", "bounds": "private", "read": "date of d/m/y", "form": "D.M.YYYY"},
    "time": {"kind": "numeric", "bounds": "private", "read": "date and time of y-m-d"},
    "weight": {"kind": "numeric", "bounds": "private", "form": "1000.0 kg"},
}


def test_what_is_measured_keeps_its_form_and_reads_without_its_unit():
    schema = partial_schema_from_json({"columns": PRIVATE})
    assert partial_schema_from_json(partial_schema_to_json(schema)) == schema
    frame = pd.DataFrame(
        {"day": ["1.2.2020", "x"], "time": ["2020-01-01", ""], "weight": ["5.5 kg", "7"]}
    )
    weight = schema.unknown_column_texts(frame)[2]
    assert weight.numbers.tolist() == [5.5, 7]
    day, time, weight = schema.unknown_columns
    measured = [
        day.column_of_integers(18_000, 18_003),
        replace_name(day.column_of_bins([17_000.0, 2**22]), "far"),
        replace_name(time.column_of_bins([0.25, 1e9, 1e9 + 0.5]), "time"),
        replace_name(weight.column_of_bins([0.0, 0.5, 9.0]), "weight"),
        replace_name(weight.column_of_bins([0.0, 0.25, 0.27, 9.0]), "fine"),
    ]
    assert [column.form for column in measured] == ["D.M.YYYY", "D.M.YYYY", "", "1000.0 kg", ""]
    for column in measured:
        written = domain_to_json(type(DOMAIN)((column,)))
        assert domain_from_json(json.loads(json.dumps(written))).columns == (column,)


def test_measured_edges_of_days_are_round_and_cut_nothing_off():
    def edges(numbers, per_day=1):
        return [
            *map(moment_text, np.array(snap_edges(numbers, per_day)) * SECONDS_PER_DAY / per_day)
        ]

    assert edges([17_973.0, 18_095, 18_216, 18_338]) == [
        *("2019-03-01", "2019-07-01", "2019-12-01", "2020-03-31")
    ]
    assert edges([18_000.0, 18_003, 18_003.5])[-2:] == ["2019-04-17", "2019-04-17T12:00"]
    seconds = [18_000.4 * SECONDS_PER_DAY, 18_007.1 * SECONDS_PER_DAY, 18_019.9 * SECONDS_PER_DAY]
    assert edges(seconds, SECONDS_PER_DAY) == ["2019-04-14", "2019-04-22", "2019-05-06"]
    numbers = np.cumsum(seeded(2).uniform(1, 90, 400)) - 9_000
    snapped = np.array(snap_edges(numbers.tolist(), SECONDS_PER_DAY))
    assert (np.diff(snapped) > 0).all()
    assert snapped[0] <= numbers[0]
    assert snapped[-1] >= numbers[-1]


DOMAIN = domain_of({"x": categorical("a")})


def replace_name(column, name):
    return column.__class__(**{**vars_of(column), "name": name})


def vars_of(column):
    return {field: getattr(column, field) for field in column.__dataclass_fields__}


def test_hostile_forms_are_refused_at_once():
    for form in ("1000" + "x" * 10**5, "Y" * 10**5, "[" * 10**5, "((((1000", "1000\ud800"):
        for entry in (DAYS | {"read": "date of d/m/y"}, numeric(0, 9, 3)):
            with expect_error("column 'x'", InputError):
                column_from_entry(**entry | {"form": form})


def test_a_form_that_was_used_can_be_sent_to_a_worker():
    """A lambda in it stopped every run of a table with dates."""
    form = parse_date_form("D. Mon YYYY h:mm AM", 1)
    written = form.write(0)
    assert pickle.loads(pickle.dumps(form)).write(0) == written
