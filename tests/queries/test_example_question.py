"""The example of a question is about the columns of a table, and can be asked of it."""

import pytest

from dpcore import domain_from_json
from dpcore.queries.example_question import example_question
from dpcore.queries.questions import parse_question


def categories(*values):
    return {"kind": "categorical", "values": list(values)}


NUMBERS = {"kind": "integer", "low": 0, "high": 90}
HOSTILE = '"><img src=x onerror=alert(1)> **b** $y$'


@pytest.mark.parametrize(
    "columns, wanted",
    [
        ({"age": NUMBERS, "sex": categories("Female", "Male")}, "sex = Female and age >= 45"),
        ({"age": NUMBERS}, "age >= 45"),
        ({"one": categories("x")}, "one = x"),
        ({"or": categories("and", "b")}, '"or" = "and"'),
        ({"a": categories("b", "c"), "a = b": categories("d", "e")}, '"a" = b'),
        ({'say "hi"': categories('q"x', "z")}, '"say ""hi""" = "q""x"'),
        ({"x": {"kind": "numeric", "low": -1, "high": 2, "bins": 3}}, "x >= 0"),
        ({HOSTILE: categories(HOSTILE, "b")}, None),
        ({"n": categories("1", "2")}, 'n = "1"'),
    ],
)
def test_the_example_names_the_tables_columns_and_can_be_asked(columns, wanted):
    domain = domain_from_json({"columns": columns})
    text = example_question(domain)
    assert wanted is None or text == wanted
    question = parse_question(text, domain)
    assert set(question.columns) <= set(columns)
    assert question.columns
