"""Changes of one column's entry: merged values, codes beside numbers, combinations from lists."""

from itertools import permutations

import pandas as pd
import pytest

from dpcore import InputError, domain_from_json
from dpcore.schema.editing import code_values, constraint_choices, merged_values
from dpcore.schema.inference import repairs
from dpcore.schema.inference.merges import suggest_merges_of_column
from tests.small_problems import categorical, integer, numeric, parametrize

SEX = categorical("F", "Female", "M", "Male", "m")


def column(entry, name="a"):
    return domain_from_json({"columns": {name: entry}}).columns[0]


def codes_of(entry, *texts):
    return column(entry).encode(pd.Series([*texts], dtype=object)).tolist()


MERGED = {
    "two texts": ([("Male", ["M", "m"])], ["F", "Female", "Male"], {"Male": ["M", "m"]}),
    "twice": (
        [("Male", ["M"]), ("Male", ["m"])],
        ["F", "Female", "Male"],
        {"Male": ["M", "m"]},
    ),
    "a name that was merged": (
        [("M", ["m"]), ("Male", ["M"])],
        ["F", "Female", "Male"],
        {"Male": ["m", "M"]},
    ),
    "from one to another": (
        [("Female", ["M"]), ("Male", ["M"])],
        ["F", "Female", "Male", "m"],
        {"Male": ["M"]},
    ),
    "a value that was not listed": (
        [("man", ["M", "m", "Male"])],
        ["F", "Female", "man"],
        {"man": ["M", "m", "Male"]},
    ),
}


@parametrize("name", MERGED)
def test_merged_values_are_one_and_can_be_taken_apart(name):
    merges, values, same = MERGED[name]
    entry = SEX
    for value, texts in merges:
        entry = merged_values.merge_values(entry, value, texts)
    assert (entry["values"], entry["same"]) == (values, same)
    (value,) = same
    assert len({*codes_of(entry, value, *same[value])}) == 1
    apart = merged_values.split_value(entry, value)
    assert "same" not in apart
    assert set(apart["values"]) == {*SEX["values"], value}
    column(apart)


def test_merged_values_of_any_spelling_are_merged_as_well():
    entry = merged_values.merge_values(categorical("Ja", "yes", read="any case"), "yes", ["JA"])
    assert entry["values"] == ["yes"]
    assert len({*codes_of(entry, "ja", "YES")}) == 1


def test_typed_values_count_more_than_what_was_merged_before():
    entry = {**categorical("M", "F"), "same": {"F": ["f", "M"], "X": ["x"]}, "missing_codes": ["M"]}
    assert merged_values.without_contradictions(entry) == {
        **categorical("M", "F"),
        "same": {"F": ["f"]},
    }


def test_values_filled_in_from_the_data_leave_merged_ones_out():
    cells = pd.Series(["M", "m", "Male", "F"] * 5)
    entry = {"kind": "categorical", "same": {"Male": ["M", "m"]}}
    filled_in = repairs.repair_column("a", cells, entry, repairs.FILL_IN)
    assert filled_in == entry | {"values": ["F", "Male"]}
    entry = {**categorical("Male"), "same": {"Male": ["M", "m"]}}
    added = repairs.repair_column("a", cells, entry, repairs.ADD_VALUES)
    assert added == entry | {"values": ["Male", "F"]}


def test_suggestions_name_listed_values_and_leave_out_what_is_merged_or_missing():
    cells = pd.Series(["M", "M", "Male", "f", "Female", "NA", "-9"])
    suggested = suggest_merges_of_column
    assert suggested(categorical("Male", "Female"), cells) == {"Male": ["M"], "Female": ["f"]}
    merged = {**categorical("Male", "Female"), "same": {"Male": ["M"]}}
    assert suggested(merged, cells) == {"Female": ["f"]}
    everything = categorical("Male", "Female", "(other)", out_of_range="other")
    assert suggested(everything, cells) == {}, "what is not listed is one value already"
    for other in ({"kind": "integer"}, {"kind": "categorical"}, {"values": [[1]]}):
        assert suggested(other, cells) == {}


RANGES = {
    "bins": integer(0, 90, bins=9),
    "a cell each": integer(0, 20),
    "edges": {"kind": "integer", "edges": [0, 18, 65, 90]},
    "real": numeric(0, 1, bins=10),
    "real edges": {"kind": "numeric", "edges": [0, 2.5, 60.25]},
}
CODES = ([-9], [99], [-1], [91], [-9, 99], [-9, -8], [97, 98, 99], [97, 99], [-3, -1, 999])


@parametrize("name", RANGES)
def test_codes_beside_numbers_have_their_own_values_and_go_back(name):
    ordinary = RANGES[name]
    for codes in CODES:
        missing = ordinary | {"missing": "category", "missing_codes": codes}
        for order in permutations(codes):
            entry = missing
            for code in order:
                entry = code_values.give_own_value(entry, code, codes)
                assert code in code_values.own_codes_of(entry, codes)
            assert "missing_codes" not in entry
            own = codes_of(entry, "1", *map(str, codes))
            assert len({*own}) == 1 + len(codes), "no other number is in the bin of a code"
            assert codes_of(entry, "1")[0] in (own[0], *range(own[0]))
            for code in reversed(order):
                entry = code_values.count_as_missing(entry, code, codes)
                column(entry)
            back = {key: part for key, part in entry.items() if key != "missing_codes"}
            assert back == {**ordinary, "missing": "category"}, (codes, order)
            assert set(entry["missing_codes"]) == set(codes)


@parametrize("name", RANGES)
def test_the_last_usual_number_stays_in_its_bin(name):
    ordinary = RANGES[name] | {"missing": "category", "missing_codes": [999]}
    last = column(ordinary).high
    codes = column(code_values.give_own_value(ordinary, 999)).encode(pd.Series([str(last), "500"]))
    assert codes[0] == column(ordinary).encode(pd.Series([str(last)]))[0]
    assert codes[1] == codes[0] + 1, "between the usual numbers and the code there is a bin"


def test_a_code_within_the_range_has_a_bin_of_its_own_there():
    for entry in (integer(0, 120, bins=12), numeric(0, 120, bins=12), integer(0, 120)):
        missing = entry | {"missing": "category", "missing_codes": [99]}
        own = code_values.give_own_value(missing, 99)
        assert len({*codes_of(own, "98", "99", "100")}) == 3
        assert code_values.own_codes_of(own, [99]) == [99]
        column(code_values.drop_code(own, 99, [99]))


def test_codes_of_categories_are_values_or_missing():
    entry = categorical("1", "2", "9")
    missing = code_values.count_as_missing(entry, "9")
    assert (missing["values"], missing["missing_codes"]) == (["1", "2"], ["9"])
    assert codes_of(missing, "9") == [2]
    back = code_values.give_own_value(missing, "9")
    assert back == entry | {"missing": "category"}


def test_what_is_no_code_is_said():
    with pytest.raises(InputError, match="no number"):
        code_values.give_own_value(integer(0, 9), "refused")
    with pytest.raises(InputError, match="range first"):
        code_values.give_own_value({"kind": "integer", "missing_codes": [9]}, 9)
    with pytest.raises(InputError, match="a code is"):
        code_values.parse_code(integer(0, 9), " ")
    assert code_values.parse_code(integer(0, 9), "−9") == -9
    assert code_values.parse_code(integer(0, 9), " refused ") == "refused"
    assert code_values.parse_code(categorical("a"), "9") == "9"


AGE = column(integer(0, 100, bins=10, missing="category"), "age")
CITY = column(categorical("Lyon", "Nice", "Lille"), "city")
COUNTY = column(categorical("Rhône", "Nord", "Var"), "county")


def test_a_combination_from_lists_is_a_constraint_that_the_schema_takes():
    ages = constraint_choices.codes_of_choice(AGE, "0–9", "10–19")
    assert constraint_choices.codes_of_choice(AGE, "(missing)", "0–9") == [10]
    never = constraint_choices.impossible_combination([AGE, CITY], [ages, [0, 2]])
    assert never == {"impossible": {"age": {"from": 0, "to": 19}, "city": ["Lyon", "Lille"]}}
    within = constraint_choices.allowed_combination([CITY, COUNTY], [[0], [0]], [never])
    within = constraint_choices.allowed_combination([CITY, COUNTY], [[2], [1, 2]], within)
    assert within[1]["which"] == {"Lyon": "Rhône", "Lille": ["Nord", "Var"]}
    columns = {
        "age": integer(0, 100, bins=10, missing="category"),
        "city": categorical("Lyon", "Nice", "Lille"),
        "county": categorical("Rhône", "Nord", "Var"),
    }
    assert len(domain_from_json({"columns": columns, "constraints": within}).constraints) == 2
    with pytest.raises(InputError, match="two different"):
        constraint_choices.impossible_combination([AGE, AGE], [ages, ages])
    with pytest.raises(InputError, match="at least one"):
        constraint_choices.impossible_combination([AGE, CITY], [ages, []])
    with pytest.raises(InputError, match="anything"):
        constraint_choices.allowed_combination([AGE, CITY], [[10], [0]], [])


def test_every_constraint_has_words():
    for constraint, words in (
        (
            {"impossible": {"age": [{"from": 18}, None], "sex": ["M", "F"]}},
            "never together: age from 18, missing and sex M, F",
        ),
        ({"order": ["first", "last"]}, "never falls: first ≤ last"),
        (
            {"within": ["city", "county"], "which": {"Lyon": ["Rhône"]}},
            "only together, city and county: Lyon with Rhône",
        ),
        ([1], "[1]"),
    ):
        assert constraint_choices.constraint_in_words(constraint) == words
