"""The line that tells an error, and numbers read from texts."""

import re

from hypothesis import given
from hypothesis import strategies as st

from dpcore.core.errors import (
    MAX_MESSAGE_CHARS,
    MAX_QUOTED_CHARS,
    describe_error_location,
    format_one_line,
)
from dpcore.core.numbers import parse_number
from tests.small_problems import expect_error, parametrize


@given(
    st.text(max_size=50)
    | st.sampled_from(["'", '"', "\n", "\x1b[2J", "\u202e", "\udcff"]).map(lambda t: t * 3000)
)
def test_a_message_is_one_line_of_bounded_length_whatever_it_quotes(text):
    for message in (text, f"column {text!r}: bad", f"{text}: {text!r} and {text}"):
        line = format_one_line(message)
        assert line.isprintable()
        assert len(line) <= MAX_MESSAGE_CHARS
        line.encode()


def test_a_value_is_cut_and_what_stands_around_it_is_not():
    long = "y z " * 100_000
    for quote in ("'", '"'):
        line = format_one_line(f"column {quote}{long}{quote} in row 7 is outside 1..3; set it")
        assert line.startswith(f"column {quote}y z y z ")
        assert line.endswith(f"…{quote} in row 7 is outside 1..3; set it")
        assert len(line) == len("column  in row 7 is outside 1..3; set it") + MAX_QUOTED_CHARS + 2
    assert (
        format_one_line("z" * 5000 + ".csv: there is no such file")
        == "z" * (MAX_QUOTED_CHARS - 1) + "… there is no such file"
    )
    assert (
        format_one_line("a column's name 'b' and a person's")
        == "a column's name 'b' and a person's"
    )
    assert format_one_line("two\n\tlines \x07") == "two lines \\u0007"
    assert len(format_one_line("some words " * 1000)) <= MAX_MESSAGE_CHARS


def test_the_place_of_an_error_is_told_without_its_words():
    with expect_error() as caught:
        parse_number("secret", "n", float)
    assert describe_error_location(caught.value).startswith("InputError in numbers.py, line ")
    assert describe_error_location(KeyError("secret")) == "KeyError"


@parametrize(
    "text, kind, message",
    [
        ("x", float, "n='x' is not a finite number in 0..5"),
        ("nan", float, "is not a finite number"),
        ("1e400", float, "is not a finite number"),
        ("1.5", int, "n='1.5' is not a whole number in 0..5"),
        ("9" * 5000, int, "n='" + "9" * 40 + "' is not a whole number"),
        ("6", int, "n=6 is outside 0..5"),
        ("-1e-300", float, "n=-1e-300 is outside 0..5"),
    ],
)
def test_a_number_is_read_in_its_range_or_refused_with_it(text, kind, message):
    with expect_error(re.escape(message)):
        parse_number(text, "n", kind, 0, 5)


def test_numbers_at_both_ends_of_a_range_are_read():
    assert [parse_number(text, "n", float, 0, 5) for text in ("0", "5", " 1e-320 ")] == [
        0,
        5,
        1e-320,
    ]
    assert parse_number("-7", "n", int) == -7
