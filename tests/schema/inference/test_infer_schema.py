"""What columns seem to be, and round bounds: sensible on messy kinds, total on any cells, and never
quoting one.
"""

import time

import numpy as np
import pandas as pd
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpcore import InputError, read_table, source_at
from dpcore.schema.column_readings import AMOUNT_WITH_COMMA, AMOUNT_WITH_POINT, ANY_CASE
from dpcore.schema.inference.column_guess import EXCLUSION_REASONS
from dpcore.schema.inference.identifiers import header_names_one_person
from dpcore.schema.inference.infer_column import infer_column_from_data, infer_guessed_entry
from dpcore.schema.inference.infer_schema import MAX_CATEGORIES, guess_column
from dpcore.schema.inference.missing_codes import find_missing_codes
from dpcore.schema.inference.proposal import has_crowded_bin, propose_schema, reading_notes
from dpcore.schema.inference.rounded_bounds import (
    MAX_BIN_SHARE,
    ROWS_PER_OUTLIER,
    max_bin_share,
    round_bounds,
)
from dpcore.schema.inference.scales import order_on_scale
from tests.small_problems import (
    column_from_entry,
    domain_of,
    expect_error,
    integer,
    parametrize,
    parametrize_false_true,
    seeded,
)

N = 200
SPELLINGS = ["yes", "Yes", " yes ", "no", "NO"]
CATEGORIES = ("categorical", "", "")
WHOLE = ("integer", "", "")
PERSON = ("text", "", "person")
BIRTH = ("date", "", "birth")
KINDS = {
    "id": (lambda i: f"p{i:04d}", ("categorical", "", "id")),
    "salary": (lambda i: 20_000 + i * 7919 % 9973, WHOLE),
    "when": (lambda i: f"2020-{1 + i % 12:02d}-{1 + i % 28:02d}", ("date", "", "")),
    "typed": (lambda i: pd.Timestamp("2020-01-01") + pd.Timedelta(i, "D"), ("date", "", "")),
    "born": (lambda i: f"{1 + i % 28}/{1 + i % 12}/19{60 + i % 40}", BIRTH),
    "price": (lambda i: f"{i},{i % 10}0", ("numeric", AMOUNT_WITH_COMMA, "")),
    "paid": (lambda i: f"${i % 70:,}.50", ("numeric", AMOUNT_WITH_POINT, "")),
    "rate": (lambda i: f"{i % 30}%", ("integer", AMOUNT_WITH_POINT, "")),
    "answer": (lambda i: SPELLINGS[i % 5], CATEGORIES),
    "note": (lambda i: f"patient {i} came back with a letter of the doctor", ("text", "", "text")),
    "always": (lambda _: "x", ("categorical", "", "constant")),
    "nothing": (lambda i: ["NA", "", "?", None][i % 4], ("categorical", "", "empty")),
    "rarely": (lambda i: ["x", ""][i % 2], CATEGORIES),
    "floats": (lambda i: f"{i % 19}.0", WHOLE),
    "answers": (lambda i: i % 5 + 1, CATEGORIES),
    "codes": (lambda i: [1, 2, 3, -9, 99][i % 5], CATEGORIES),
    "zip code": (lambda i: f"{i % 40:05d}", CATEGORIES),
    "flag": (lambda i: i % 2 == 0, CATEGORIES),
    "": (lambda i: i, ("text", "", "unnamed")),
    "Full Name": (lambda i: f"Ann Lee{i % 60}", PERSON),
    "customerPhone_no": (lambda i: 5_550_000 + i % 50, PERSON),
    "contact": (lambda i: f"a{i % 9}@example.org", PERSON),
    "phone": (lambda i: ["Yes", "No"][i % 2], CATEGORIES),
    "phone calls": (lambda i: i % 50, WHOLE),
    "Имя": (lambda i: f"Анна{i % 60}", PERSON),
    "numéro de sécurité sociale": (lambda i: 1_690_000_000_000 + i % 90, PERSON),
    "Geburtsdatum": (lambda i: f"{1 + i % 28}.{1 + i % 12}.1960", BIRTH),
    "spoke with": (
        lambda i: f"{'AEIOU'[i % 5]}nn{'abcdefghij'[i // 20]} {'BCDF'[i % 4]}ee",
        PERSON,
    ),
    "reached": (lambda i: f"+49 30 {i:03d}-{i * 7919 % 9973:04d}", PERSON),
    "place": (lambda i: f"{i} Long Street", PERSON),
    "reg": (lambda i: f"{i:03d}.{i:03d}.{i:03d}-{i % 90 + 10}", PERSON),
    "visit": (lambda i: f"New York {i % 50}", CATEGORIES),
    "patient id": (lambda i: i % 60 * 17, ("integer", "", "id")),
    "PLZ": (lambda i: f"{i * 523 % 99999:05d}", ("categorical", "", "code")),
    "ICD-10": (lambda i: f"{'AEIOU'[i % 5]}{i % 30:02d}.{i % 9}", CATEGORIES),
    "cause": (lambda i: f"{'AEIOU'[i % 5]}{i // 5 % 35:02d}.{i % 7}", ("categorical", "", "code")),
    "years": (lambda i: "unknown" if i % 50 == 0 else i % 90, WHOLE),
    "visits": (lambda i: "none" if i % 50 == 0 else i % 30, WHOLE),
    "rooms": (lambda i: "unknown" if i % 50 == 0 else i % 12, CATEGORIES),
    "topped": (lambda i: "60+" if i % 9 == 0 else i % 60, ("integer", AMOUNT_WITH_POINT, "")),
    "balance": (lambda i: f"({i % 70:,}.50)", ("numeric", AMOUNT_WITH_POINT, "")),
    "(263.96)": (lambda i: f"({i + 200}.96)", ("numeric", AMOUNT_WITH_POINT, "")),
    "compact": (lambda i: 20000101 + 10000 * (i % 9) + i % 28, ("date", "", "")),
    "named": (lambda i: f"{1 + i % 28}-Apr-20{10 + i % 9}", ("date", "", "")),
    "some days": (lambda i: "unknown" if i % 50 == 0 else f"201{i % 9}-02-03", ("date", "", "")),
    "either": (lambda i: f"{1 + i % 12}/{1 + i % 11}/2020", ("date", "", "date")),
    "fips": (lambda i: f"{6000 + i % 15:05d}", CATEGORIES),
    "digits": (
        lambda i: "".join(chr(0x660 + int(d)) for d in str(i % 60)),
        ("integer", AMOUNT_WITH_POINT, ""),
    ),
    "counter": (lambda i: i + 1, ("integer", "", "row")),
    "n_bids": (lambda i: i % 60, WHOLE),
    "number in thousands": (lambda i: 37_000 + i * 7919 % 9973, WHOLE),
    "rank": (lambda i: 1 + i * 77 % N, WHOLE),
    "model year": (lambda i: i + 1, WHOLE),
    "years in order": (lambda i: 1801 + i, WHOLE),
    "three decimals": (lambda i: i % 3 / 2, CATEGORIES),
    "subjid": (lambda i: i % 60, ("integer", "", "id")),
    "pedigree": (lambda i: f"PED{i % 60:03d}", ("categorical", "", "id")),
    "days since diagnosis": (lambda i: i % 60, WHOLE),
    "rate of diagnosis": (lambda i: i % 60 / 7, ("numeric", "", "")),
    "home phone": (lambda i: i % 60 / 8, ("numeric", "", "")),
    "mean of two": (
        lambda i: 2.25 if i == 9 else i % 3,
        ("numeric", "", ""),
    ),
    "album": (lambda i: "007" if i == 9 else f"Songs {i % 120}", ("text", "", "text")),
    "tectonic setting": (lambda i: f"{i % 3} {'a plate below another ' * 3}", CATEGORIES),
    "one long note": (lambda i: "" if i else "a" * 60, ("text", "", "text")),
    "anything": (
        lambda i: f"thing {chr(97 + i % 26)}{chr(97 + i // 26)} x",
        ("categorical", "", "distinct"),
    ),
}


def cells_of(name):
    """A column of that kind."""
    cell, _ = KINDS[name]
    return pd.Series([cell(i) for i in range(N)])


@parametrize("name", KINDS)
@parametrize_false_true("texts")
def test_a_column_is_what_it_seems_and_set_aside_with_a_reason(name, texts):
    series, (_, expected) = cells_of(name), KINDS[name]
    if texts:
        series = series.map(lambda v: v if v is None else str(v)).astype("str")
    found = guess_column(name, series)
    assert (found.kind, found.read, found.exclusion) == expected
    assert (found.exclusion_reason == "") == (found.exclusion == "")
    assert found.exclusion_reason in ("", *EXCLUSION_REASONS.values())
    assert guess_column(name, series[::-1]) == found, "the order of rows says nothing"


def test_a_long_text_is_looked_at_once_for_an_address():
    assert guess_column("to", pd.Series(["a@b.c", f"a@{'.' * 1_000_000} x"])).exclusion != "person"


def test_spellings_and_orders_of_days_are_offered():
    offers = {
        name: guess_column(name, cells_of(name)).other_readings
        for name in ("answer", "when", "born")
    }
    assert offers["answer"] == (ANY_CASE,)
    assert offers["when"] == (
        "month of y-m-d",
        "weekday of y-m-d",
        "date of y-m-d",
    ), "in one year"
    times = guess_column("t", pd.Series(["2020-05-04 10:00", "2020-05-18 11:00"]))
    assert times.other_readings == ("hour of y-m-d", "date and time of y-m-d"), (
        "on a weekday of a month"
    )
    assert offers["born"][0] == "year of d/m/y"
    both = guess_column("d", pd.Series(["1/2/2020", "3/4/2022"])).other_readings
    assert (both[0], both[-1]) == ("year of d/m/y", "date of m/d/y"), "a person must say which"
    american = guess_column("d", pd.Series(["1/22/2020", "3/4/2021"])).other_readings
    assert american[0] == "year of m/d/y"
    assert len(american) == 4


def test_a_part_of_days_that_shows_something_comes_first():
    days = pd.Series([f"2020-{1 + i % 12:02d}-03" for i in range(N)] + ["2021-01-03"])
    guess = guess_column("day", days)
    assert guess.other_readings == (
        "month of y-m-d",
        "weekday of y-m-d",
        "year of y-m-d",
        "date of y-m-d",
    )
    either = days.map(lambda day: f"{day[5:7]}/02/{day[:4]}")
    assert guess_column("day", either).other_readings[0] == "year of d/m/y", "of both orders"


@parametrize("name, rows", [("row", 5), ("town", 10)])
def test_names_of_few_rows_are_not_listed(name, rows):
    towns = pd.Series([f"{'ABCDEFGHIJ'[i]}town" for i in range(rows)])
    assert guess_column(name, towns).exclusion == "distinct"
    assert guess_column(name, pd.concat([towns, towns])).exclusion == ""


SCALES = {
    "months": ["Jan", "Feb", "Apr", "Dec"],
    "days": ["mon", "Tue", "Sun"],
    "levels": ["Low", "Medium", "HIGH"],
    "answers": ["Strongly disagree", "disagree", "Neutral", "strongly_agree"],
    "ranges": ["<5", "5-9", "10-14", "65+"],
    "classes": ["1st class", "2nd class", "10th class"],
    "decimals": [".5", "1.25", "2"],
}


@parametrize("name", SCALES)
def test_values_on_a_scale_are_in_its_order(name):
    values = SCALES[name]
    entry = propose_schema(pd.DataFrame({"x": values[::-1] * 10}), peek=True).columns["x"]
    assert entry == {"kind": "categorical", "ordered": True, "values": values}


@parametrize("values", [["M", "S"], ["Low", "Lyon"], ["5-9", "6"], ["May"]])
def test_other_words_have_no_order(values):
    assert order_on_scale(values) == []


def test_spellings_that_are_read_alike_become_the_most_frequent_one():
    cells = pd.Series(["yes", "Yes", "Yes", " yes ", "yes", "yes", "NO", "no"])
    assert infer_column_from_data("x", cells, "categorical", ANY_CASE) == {
        "kind": "categorical",
        "read": ANY_CASE,
        "values": ["NO", "yes"],
    }
    assert infer_column_from_data("x", cells, "categorical")["values"] == ["NO", "no", "Yes", "yes"]


def test_values_stand_in_their_natural_order():
    cells = pd.Series(["10", "2", "unknown", "0", "1", "-1", "b10", "b2", "1.5", "B1", "٣"])
    assert infer_column_from_data("x", cells, "categorical")["values"] == [
        "-1",
        "0",
        "1",
        "1.5",
        "2",
        "10",
        "B1",
        "b2",
        "b10",
        "unknown",
        "٣",
    ]


def test_a_few_words_beside_many_numbers_count_as_missing():
    years = cells_of("years")
    guess = guess_column("years", years)
    assert guess.unreadable
    assert guess.initial_entry == {
        "kind": "integer",
        "unreadable": "missing",
        "missing": "category",
    }
    days = guess_column("some days", cells_of("some days"))
    assert days.initial_entry == {
        "kind": "integer",
        "read": "date of y-m-d",
        "form": "YYYY-MM-DD",
        "unreadable": "missing",
        "missing": "category",
    }
    found = infer_column_from_data("years", years, guess.kind, unreadable=True)
    assert (found["low"], found["high"], found["unreadable"], found["missing"]) == (
        0,
        90,
        "missing",
        "category",
    )
    assert not guess_column("visits", cells_of("visits")).unreadable, (
        "a word for missing needs nothing"
    )
    with expect_error("not all numbers"):
        infer_column_from_data("years", years, guess.kind)


def test_codes_are_offered_by_their_first_characters():
    offers = {
        name: guess_column(name, cells_of(name)) for name in ("PLZ", "cause", "zip code", "rooms")
    }
    assert offers["PLZ"].other_readings == ("first 2 characters", "first character")
    assert offers["cause"].initial_entry == {
        "kind": "categorical",
        "read": offers["cause"].other_readings[0],
    }
    assert offers["zip code"].other_readings[-1] == "first 4 characters"
    assert offers["rooms"].other_readings == ()
    assert infer_column_from_data(
        "PLZ", pd.Series(["07743", "07749", "10115", "NA"]), "categorical", "first 2 characters"
    ) == {
        "kind": "categorical",
        "read": "first 2 characters",
        "values": ["07", "10"],
        "missing": "category",
    }


def test_parts_of_the_calendar_are_not_read_off():
    cells = pd.Series(["2020-06-30", "2020-07-01"])
    assert infer_column_from_data("x", cells, "date", "month of y-m-d") == integer(
        1, 12, read="month of y-m-d"
    )
    assert infer_column_from_data("x", cells, "date", "weekday of y-m-d")["values"][0] == "Mon"
    years = infer_column_from_data(
        "x", pd.Series(["1.2.1999", "n/a", "2004-02-03"]), "integer", "year of d/m/y"
    )
    assert (years["low"], years["high"], years["missing"]) == (1999, 2004, "category")


@parametrize(
    "cells, kind, message",
    [
        (
            [f"v{i}" for i in range(MAX_CATEGORIES + 1)],
            "categorical",
            "201 different values are more than 200",
        ),
        (["", "NA"], "categorical", "no value that could be read off"),
        (["a", "1"], "integer", "not all numbers"),
        (["1e300"], "numeric", "not all numbers up to"),
    ],
)
def test_what_gives_no_cells_is_refused(cells, kind, message):
    with expect_error(f"column 'x': .*{message}"):
        infer_column_from_data("x", pd.Series(cells), kind)


BULKS = {
    "ages": seeded(0).integers(17, 91, 999),
    "years": seeded(1).integers(1987, 2024, 999),
    "shares": seeded(2).random(999),
    "far from 0": 1e6 + seeded(3).random(999),
    "few": np.arange(1, 7),
}
FAR = [
    [],
    [10.0**9],
    [-(10.0**9)],
    [10.0**9, -(10.0**9)],
    [10.0**9, 10.0**6],
    [10.0**12, -(10.0**3)],
]


def bounded(numbers, **options):
    values, counts = np.unique(np.asarray(numbers, dtype=float), return_counts=True)
    return round_bounds(values, counts, **options)


CASES = [
    (name, far) for name in BULKS for far in FAR if name != "few" or len(far) < 2
]  # two of eight are not few


@parametrize("name, outliers", CASES)
def test_an_outlier_does_not_swallow_a_column(name, outliers):
    bulk = BULKS[name]
    whole = name in ("ages", "years", "few")
    found = bounded([*bulk, *outliers], whole=whole)
    assert found == bounded(bulk, whole=whole)
    width = bulk.max() - bulk.min()
    assert "edges" not in found, "they are even"
    assert found["low"] <= bulk.min() + width / 4
    assert found["high"] >= bulk.max() - width / 4
    assert found["high"] - found["low"] <= 1.5 * max(width, 1)
    assert found["out_of_range"] == "clip"


def test_bounds_are_round_and_tell_little_of_the_extremes():
    assert bounded(BULKS["years"], whole=True) == {
        "low": 1987,
        "high": 2023,
        "out_of_range": "clip",
    }, "years"
    assert bounded(BULKS["ages"], whole=True)["bins"] == 8
    assert bounded(BULKS["shares"], whole=False)["bins"] == 10, "tenths"
    assert bounded([0.1234, 0.4567, 0.9871], whole=False)["high"] == 1.0
    assert bounded([3, 5], whole=True) == {"low": 3, "high": 5, "out_of_range": "clip"}
    spread = bounded(np.exp(seeded(0).normal(10, 1.5, 5000)), whole=False)
    digits = [f"{edge:e}".split("e")[0].rstrip("0.") for edge in spread["edges"][1:]]
    assert max(len(text.replace(".", "")) for text in digits) <= 2, "edges that a person writes"
    assert column_from_entry(kind="numeric", **bounded([1e15 - 0.125, 1e15], whole=False))
    frequent = [0.0] * 10 + [1000.0] * (10 // ROWS_PER_OUTLIER + 5)
    assert bounded(frequent, whole=True)["high"] >= 1000, "many rows are no outlier"


def test_few_rows_get_few_bins_with_some_rows_in_each():
    numbers = np.round(np.exp(seeded(3).normal(3, 1, 30)), 2)
    edges = bounded(numbers, whole=False)["edges"]
    assert len(edges) <= 7
    assert np.histogram(numbers, edges)[0].min() >= 3


SKEWED = {
    "incomes": (np.round(np.exp(seeded(4).normal(10, 1.5, 999))), True),
    "gains": (np.append(np.zeros(900), seeded(5).integers(114, 99_999, 99)), True),
    "hours": (np.append(np.full(470, 40), seeded(6).integers(1, 99, 530)), True),
    "one value": (np.append(np.full(800, 40), seeded(6).integers(1, 99, 200)), True),
    "narrow": (np.append(seeded(7).normal(5, 0.01, 900), seeded(7).random(99) * 1000), False),
    "both ways": (seeded(8).standard_t(1, 999), False),
    "zeros": (np.append(np.zeros(990), seeded(9).random(9)), False),
    "powers": (2.0 ** np.arange(50), False),
}


@parametrize("name", SKEWED)
def test_no_bin_holds_most_rows_unless_one_value_does(name):
    numbers, whole = SKEWED[name]
    entry = {"kind": "integer" if whole else "numeric"} | bounded(numbers, whole=whole)
    column = column_from_entry(**entry)
    values, counts = np.unique(numbers, return_counts=True)
    share = max_bin_share(values, counts, np.array(column.edges))
    heaviest = counts.max() / counts.sum()
    assert share <= max(MAX_BIN_SHARE, heaviest + 0.05)
    assert has_crowded_bin("x", pd.Series(numbers), entry) == (share > MAX_BIN_SHARE)
    assert len(column.edges) <= 40
    for edge in entry.get("edges", ()):
        digits = f"{abs(edge):.12e}".split("e")[0].replace(".", "").rstrip("0")
        assert len(digits) <= 4, "round"


CODED = {
    "ages with codes": ([*range(17, 80)] * 2 + [99] * 20 + [-9] * 10, (-9, 99)),
    "an old person": ([*range(17, 91)] * 2 + [99], ()),
    "hours up to 99": ([*range(1, 100)] * 3, ()),
    "a run of codes": ([*range(60)] * 3 + [97] * 5 + [98] * 5 + [99] * 9, (97, 98, 99)),
    "the least whole number": ([*range(90, 120)] * 3 + [-2147483648], (-2147483648,)),
    "temperatures": ([*range(-20, 40)] * 3, ()),
    "temperatures with a code": ([*range(-20, 40)] * 3 + [-999] * 4, (-999,)),
    "heights": ([150.5 + i / 4 for i in range(120)] + [999.0], (999,)),
    "nothing else": ([-9, 99], ()),
    "the least of all": ([9, *range(10, 46)] * 2, ()),
    "one far answer": ([*range(1, 17)] * 3 + [95], ()),
    "a scale of both signs": ([*range(-4, 5)] * 5, ()),
    "decimals from -1 on": ([i / 2 for i in range(60)] + [-1], ()),
    "decimals with a code": ([i / 2 for i in range(60)] + [-9] * 3, (-9,)),
    "four rows": ([2, 3, 4, 9], ()),
    "one 9": ([*range(6)] * 9 + [9], ()),
    "refused beside unknown": ([*range(60)] * 3 + [77] * 20 + [88] * 9, (77, 88)),
}


@parametrize("name", CODED)
def test_codes_for_missing_values_are_split_off_and_said(name):
    numbers, codes = CODED[name]
    values, counts = np.unique(np.asarray(numbers, dtype=float), return_counts=True)
    assert find_missing_codes(values, counts) == codes
    if not codes:
        return
    cells = pd.Series(numbers).map(lambda v: f"{v:g}" if abs(v) < 1e6 else str(v))
    guess = guess_column("x", cells)
    assert guess.missing_codes == codes
    entry = infer_guessed_entry(guess, cells)
    assert (entry["missing_codes"], entry["missing"]) == ([*codes], "category")
    column = column_from_entry(**entry)
    is_code = np.isin(numbers, codes)
    assert (column.encode(cells) == column.nonmissing_size).tolist() == is_code.tolist()
    assert f"{codes[0]:g} " in reading_notes(guess, cells)[0].replace(",", " ")


def test_a_range_ends_at_its_limits_and_says_so():
    cells = pd.Series([str(i % 90) for i in range(300)] + ["90+"] * 20)
    guess = guess_column("age", cells)
    entry = infer_guessed_entry(guess, cells)
    column = column_from_entry(**entry)
    assert column.high == 90
    assert column.encode(cells)[-1] == column.nonmissing_size - 1
    assert "'90+' and the like" in " ".join(reading_notes(guess, cells))


def test_two_digits_of_a_year_are_guessed_to_be_past():
    cells = pd.Series([f"{1 + i % 28:02d}/03/{(38 + i % 62) % 100:02d}" for i in range(200)])
    entry = infer_column_from_data("day", cells, "integer", "year of d/m/y")
    assert (entry["low"], entry["high"]) == (1930, 2000)
    column = column_from_entry(**entry)
    assert column.read_numbers(cells).min() == 1938


@parametrize("name", KINDS)
def test_what_is_proposed_encodes_its_own_table(name):
    frame = pd.DataFrame({"other": ["a", "b"] * (N // 2), name: cells_of(name)})
    proposal = propose_schema(frame, peek=True)
    used = [n for n, guess in proposal.guesses.items() if not guess.exclusion]
    assert list(proposal.columns) == used
    domain = domain_of(proposal.columns)
    assert domain.encode(frame).n == N


CELL = (
    st.none()
    | st.text(max_size=4)
    | st.sampled_from(["1", "2.5", "$3", "1,5", "NA", "2020-01-02", "3/4/2021"])
)
CELL |= st.integers() | st.floats() | st.booleans() | st.dates()


@example([0.0, 5e-324], "x", False)
@example([1e15 - 0.125, 1e15], "x", False)
@example([1.8, 1.8], "x", False)
@settings(max_examples=100)
@given(st.lists(CELL, max_size=25), st.text(max_size=5), st.booleans())
def test_any_column_gets_a_guess_and_bounds_or_a_reason(cells, name, texts):
    series = pd.Series(cells, dtype=object)
    if texts:
        series = series.map(lambda v: v if v is None else str(v)).astype("str")
    guess = guess_column(name, series)
    if guess.exclusion or not len(cells):
        return
    try:
        spec = infer_guessed_entry(guess, series)
    except InputError as error:
        assert "different values" in str(error)  # noqa: PT017
        return
    assert len(column_from_entry(**spec).encode(series)) == len(cells)


@parametrize("text", ["A" * 10**5 + "!", "1" * 10**5, "(" * 10**5, "a.b" * 10**5 + "@"])
def test_no_text_takes_long_to_recognise(text):
    start = time.process_time()
    guess_column("who", pd.Series([f"{i}{text}{i}" for i in range(30)]))
    assert time.process_time() - start < 20, (
        "seconds; a form that looks back at every character takes hours"
    )


def test_a_guess_quotes_no_cell_and_counts_none():
    secrets = [f"zebra-{i:03d}" for i in range(N)]
    frame = pd.DataFrame(
        {"a": secrets, "b": ["4711", "4712"] * (N // 2), "c": ["Quagga", "quagga"] * (N // 2)}
    )
    guesses = propose_schema(frame).guesses.values()
    told = " ".join(f"{guess} {guess.exclusion_reason}" for guess in guesses)
    for secret in ("zebra", "4711", "uagga", str(N)):
        assert secret not in told


@parametrize("name", ["patient_id", "MRN", "visit_id", "Case No"])
def test_a_header_names_one_person_and_not_what_a_person_may_have_several_of(name):
    assert header_names_one_person(name) == (name in ("patient_id", "MRN"))


def test_ordered_categories_of_parquet_keep_their_order(tmp_path):
    texts = ["cold", "hot", "warm", "cold"] * 10
    levels = pd.Categorical(texts, ["cold", "warm", "hot", "none"], ordered=True)
    frame = pd.DataFrame({"level": levels, "plain": pd.Categorical(texts)})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=7)
    table = read_table(tmp_path / "t.parquet")
    assert table["level"].tolist() == texts
    columns = propose_schema(table, peek=True).columns
    assert columns["level"]["values"] == ["cold", "warm", "hot"]
    assert columns["level"]["ordered"] is True
    assert columns["plain"] == {"kind": "categorical", "values": ["cold", "hot", "warm"]}
    domain = domain_of(columns)
    assert domain.encode(table).n == source_at(tmp_path / "t.parquet").count(domain, [(0,)]).n
