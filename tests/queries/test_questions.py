"""Questions typed by hand against every cell worked out value by value; refusals name the place; no
text breaks it.
"""

import contextlib
import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpcore import InputError, TableQueries, domain_from_json
from dpcore.queries.questions import parse_question
from tests.small_problems import (
    binned,
    categorical,
    domain_of,
    expect_error,
    integer,
    integer_domain,
    numeric,
    parametrize,
)

DOMAIN = domain_of(
    {
        "age": binned("integer", 17, 25, 35, 55, missing="category"),
        "sex": categorical("Female", "Male", missing="category"),
        "pay": binned("numeric", 0, 20, 50),
        "edu-num": integer(1, 4),
        "income": categorical("low", "mid", "very high", ordered=True),
        "income>50K": {"kind": "integer", "size": 2},
        "marital status": categorical("and", 'a "b"', "10", "<5"),
        "not": categorical(True, 1.5, 2),
    }
)


def parse(text, domain):
    return parse_question(text, domain).workload


# Every value of a cell; bins of `pay` as 100 points each. None is a missing value.
VALUES = {
    "age": [range(17, 25), range(25, 35), range(35, 56), [None]],
    "sex": [["Female"], ["Male"], [None]],
    "pay": [np.arange(0.1, 20, 0.2), np.arange(20.15, 50, 0.3)],
    "edu-num": [[1], [2], [3], [4]],
    "income": [[0], [1], [2]],
    "income>50K": [[0], [1]],
    "marital status": [["and"], ['a "b"'], ["10"], ["<5"]],
    "not": [["True"], ["1.5"], ["2"]],
}


def present(test):
    """A missing value fulfils no comparison."""
    return lambda *values: None not in values and test(*values)


GOOD = [
    ("age > 50", ["age"], present(lambda age: age > 50)),
    ("  age\n<\t30.5 ", ["age"], present(lambda age: age < 30.5)),
    ("NOT age = 40", ["age"], lambda age: age != 40),
    ("age between 20 and 40", ["age"], present(lambda age: 20 <= age <= 40)),
    ("age in (17, 18, 30, 25–34)", ["age"], present(lambda age: age in (17, 18) or 25 <= age < 35)),
    ("age is missing", ["age"], lambda age: age is None),
    ("age > 1e300 or age < -1e300", ["age"], lambda age: False),
    (
        "sex = Female and age > 50",
        ["age", "sex"],
        present(lambda age, sex: sex == "Female" and age > 50),
    ),
    (
        "sex=Female or sex=Male and age>50",
        ["age", "sex"],
        lambda age, sex: sex == "Female" or (sex == "Male" and age is not None and age > 50),
    ),
    (
        "not sex=Female and age>50",
        ["age", "sex"],
        lambda age, sex: sex != "Female" and age is not None and age > 50,
    ),
    (
        "not (sex=Female and age>50)",
        ["age", "sex"],
        lambda age, sex: not (sex == "Female" and (age or 0) > 50),
    ),
    ("pay between 5 and 8 or pay > 26", ["pay"], lambda pay: 5 <= pay <= 8 or pay > 26),
    ('pay = "0 to under 20"', ["pay"], lambda pay: pay < 20),
    ("income>50K>0", ["income>50K"], lambda high: high == 1),
    ("income>=mid", ["income"], lambda income: income >= 1),
    ('income between low and "very high"', ["income"], lambda income: True),
    ('`income`="very high"', ["income"], lambda income: income == 2),
    (
        '`marital status` = "and" or "marital status" = `a "b"`',
        ["marital status"],
        lambda m: m in ("and", 'a "b"'),
    ),
    ('"marital status" = "a ""b"""', ["marital status"], lambda m: m == 'a "b"'),
    ('"marital status" in (10.0, <5)', ["marital status"], lambda m: m in ("10", "<5")),
    ("not `not` in (1.5, 2)", ["not"], lambda n: n == "True"),
]


@parametrize("text, names, test", GOOD)
def test_a_question_counts_the_share_of_each_cell_that_fulfils_it(text, names, test):
    question = parse_question(text, DOMAIN)
    assert question.columns == tuple(names)
    expected = np.zeros([DOMAIN.project([name]).size for name in names])
    for cell in np.ndindex(*expected.shape):
        grid = np.meshgrid(
            *(np.array(VALUES[n][c], dtype=object) for n, c in zip(names, cell, strict=True))
        )
        expected[cell] = np.mean(
            [bool(test(*values)) for values in zip(*(g.ravel() for g in grid), strict=True)]
        )
    assert np.allclose(question.workload.matrix.toarray(), expected.ravel(), atol=1e-12)
    assert question.workload.label(0) == (("question", text.strip()),)
    assert question.workload.width <= 1


@parametrize(
    "text, notes",
    {
        "age > 50": ["age > 50 cuts the bin 35–55: 5 of 21 of it are counted"],
        "age >= 25 and pay < 20": [],
        "pay >= 26": ["pay >= 26 cuts the bin 20 to 50: 80% of it is counted"],
        "age in (18, 25–34)": ["age in (18, 25–34) cuts the bin 17–24: 1 of 8 of it are counted"],
        "not age = 30": ["age = 30 cuts the bin 25–34: 1 of 10 of it are counted"],
        "age > 60": ["no row can fulfil it"],
        "sex = Male or not sex = Male": ["every row fulfils it"],
    }.items(),
)
def test_notes_say_which_bins_are_cut(text, notes):
    assert list(parse_question(text, DOMAIN).notes) == notes


def test_many_cut_bins_are_counted_not_listed():
    decades = domain_of({"x": {"kind": "integer", "edges": list(range(0, 101, 10))}})
    notes = parse_question("x in (5, 15, 25, 35, 45, 55, 65)", decades).notes
    assert len(notes) == 6
    assert notes[-1].endswith("cuts 2 more bins")


BAD = [
    ("", 1, "a column name (age, sex, pay, edu-num, income, …), found the end"),
    ('"age > 5', 1, "a column name"),
    ("marital status = 10", 1, "a column name"),
    ("age", 4, "=, !=, <, <=, >, >=, `between`, `in` or `is missing`, found the end"),
    ("age not = 5", 9, "`between` or `in` after `not`, found '= 5'"),
    ("age >", 6, "a value, found the end"),
    ("age > x", 7, "a number to compare column 'age' with"),
    ("age > 1_0", 7, "a number"),
    ("age in (17, 60)", 13, "a whole number in 17..55, found '60"),
    ("pay = 3", 7, "`between`, or the label of a bin such as '0 to under 20', not one number"),
    ("sex > Female", 7, "=, != or `in`, as column 'sex' has no order"),
    ("sex = female", 7, "one of the values 'Female', 'Male' of column 'sex', found 'female'"),
    ('sex = "(missing)"', 7, "one of the values"),
    ("pay is missing", 1, "a column that has missing values by its schema"),
    ("age is 5", 8, "`missing` or `not missing`"),
    ("age between 5", 14, "`and` with the upper bound"),
    ("age between 40 and 30", 12, "the lower bound before the upper one"),
    ("age in (20", 11, "`)`, found the end"),
    ("(age > 5", 9, "`)`, found the end"),
    ("age > 5)", 8, "`and`, `or` or the end, found ')'"),
    ("age > 5 or or sex = Male", 12, "a column name"),
    ("(" * 51 + "age > 5" + ")" * 51, 52, "no more than 50 parentheses inside each other"),
]


@parametrize("text, at, expected", BAD, ids=[text[:30] or "empty" for text, *_ in BAD])
def test_a_bad_question_is_refused_with_the_place_and_what_was_expected(text, at, expected):
    with expect_error(f"^question, character {at}: expected .*{re.escape(expected)}"):
        parse(text, DOMAIN)


def test_long_texts_and_large_tables_are_refused_and_long_chains_are_not():
    with expect_error("at most 2,000 characters"):
        parse("age > 20 or " * 200 + "age > 20", DOMAIN)
    with expect_error("at most 2,000 characters"):
        parse(None, DOMAIN)
    with expect_error("the columns 'a', 'b', 'c' have 1,030,301 combinations together, more than"):
        parse("a = 1 or b = 1 or c = 1", integer_domain(101, 101, 101))
    cut = domain_of({c: numeric(0, 1, 1000) for c in "ab"})
    with expect_error("1,001,000 combinations together, more than 1,000,000, once bins are cut"):
        parse("a > 0.00005 and b > 0.5", cut)
    assert parse("a = 7 and b != 3", integer_domain(1000, 1000)).m == 1
    assert parse(" or ".join(["age > 20"] * 150), DOMAIN).m == 1
    assert parse("not " * 490 + "age > 20", DOMAIN).m == 1


def test_the_longest_column_name_wins_and_words_are_not_cut():
    domain = domain_from_json(
        {name: 2 for name in ("a", "a-b", "a>1", "a_c", "and", "not-x", "nota")}
    )
    named = {
        "a=1": "a",
        "a-b=1": "a-b",
        "a>1=1": "a>1",
        "a > 0": "a",
        "a>10": "a",
        "a_c = 1": "a_c",
        '"and"=1': "and",
        "not-x = 1": "not-x",
        "not not-x = 1": "not-x",
        "nota=1": "nota",
        "not a=1": "a",
    }
    assert {text: parse_question(text, domain).columns for text in named} == {
        t: (c,) for t, c in named.items()
    }


@given(st.text(max_size=60))
def test_any_text_is_a_question_or_refused(text):
    with contextlib.suppress(InputError):
        assert isinstance(parse(text, DOMAIN), TableQueries)


WORDS = [
    "age",
    "sex",
    "pay",
    "edu-num",
    "income",
    "income>50K",
    "`income`",
    '"not"',
    "30",
    "17",
    "low",
    "Female",
    "and",
    "or",
    "not",
    "(",
    ")",
    ",",
    "=",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "between",
    "in",
    "is",
    "missing",
    '"',
    "25–34",
]
COMPARISON = st.sampled_from(
    ["age > 30", "sex = Male", "pay<7", "age is missing", "income in (low, mid)", "edu-num!=2"]
)


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_any_pieces_in_any_order_are_a_question_or_refused(pieces):
    with contextlib.suppress(InputError):
        values = parse(" ".join(pieces), DOMAIN).matrix.data
        assert ((values > 0) & (values <= 1)).all()


def nested(inner):
    pairs = st.tuples(inner, st.sampled_from(["and", "or"]), inner)
    return st.one_of(inner.map("not ({})".format), pairs.map(lambda parts: f"({' '.join(parts)})"))


@given(st.recursive(COMPARISON, nested, max_leaves=6))
def test_not_in_front_is_the_complement(text):
    one = parse_question(text, DOMAIN)
    other = parse_question(f"not ({text})", DOMAIN)
    assert one.columns == other.columns
    assert np.allclose(one.workload.matrix.toarray() + other.workload.matrix.toarray(), 1)
