"""Parameters: bounds, choices, texts and messages, and the same properties for every registered
algorithm.
"""

import math
import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore import ALGORITHMS, RiskMinimisation
from dpcore.core.parameters import (
    build_from_texts,
    check_parameters,
    declared_parameters,
    parameter_field,
)
from tests.small_problems import HUGE, expect_error, parametrize


@dataclass(frozen=True, kw_only=True)
class Example:
    rounds: int = parameter_field(10, "how often", low=1, high=200, symbol="T")
    alpha: float | None = parameter_field(None, "weight", low=0.5, high=2, log=True, auto="n")
    mode: str = parameter_field("last", "what leaves", choices=("last", "average"))
    strict: bool = parameter_field(False, "no mercy")
    internal: int = 3

    def __post_init__(self):
        check_parameters(self)


DECLARED = [(cls, p) for cls in (Example, *ALGORITHMS.values()) for p in declared_parameters(cls)]
NUMBERS = [
    pytest.param(cls, p, id=f"{cls.__name__}.{p.name}") for cls, p in DECLARED if p.low is not None
]
CHOICES = [pytest.param(cls, p, id=f"{cls.__name__}.{p.name}") for cls, p in DECLARED if p.choices]


def test_build_reads_texts():
    settings = {"rounds": "200", "alpha": "auto", "mode": "average", "strict": "TRUE"}
    assert build_from_texts(Example, settings) == Example(rounds=200, mode="average", strict=True)


@parametrize(
    "name, text, message",
    [
        ("rounds", "0", "rounds=0 is outside 1..200"),
        ("rounds", "1" + "0" * 400, "is not a whole number in 1..200"),
        ("rounds", "1.5", "rounds='1.5' is not a whole number in 1..200"),
        ("rounds", "", "rounds='' is not a whole number"),
        ("alpha", "nan", "alpha='nan' is not a finite number in 0.5..2"),
        ("mode", "first", "mode=first is outside last | average"),
        ("strict", "yes", "strict=yes is not a bool"),
        (
            "speed",
            "1",
            "there is no parameter 'speed' here; the parameters are rounds, alpha, mode, strict",
        ),
        ("internal", "1", "there is no parameter 'internal'"),
    ],
)
def test_bad_texts_are_refused_with_name_value_and_limit(name, text, message):
    with expect_error(re.escape(message)):
        build_from_texts(Example, {name: text})


@parametrize("cls, p", NUMBERS)
@given(data=st.data())
def test_numbers_inside_the_range_are_accepted(cls, p, data):
    whole = p.kind is int
    value = data.draw(st.integers(int(p.low), int(p.high)) if whole else st.floats(p.low, p.high))
    assert getattr(cls(**{p.name: value}), p.name) == value
    assert getattr(build_from_texts(cls, {p.name: repr(value)}), p.name) == value


@parametrize("cls, p", NUMBERS)
@given(data=st.data())
def test_numbers_outside_the_range_are_refused(cls, p, data):
    if p.kind is int:
        outside = st.integers(max_value=int(p.low) - 1) | st.integers(min_value=int(p.high) + 1)
    else:
        outside = st.floats(max_value=p.low, exclude_max=True) | st.floats(
            min_value=p.high, exclude_min=True
        )
    with expect_error(f"{p.name}=.* is outside " + re.escape(f"{p.low:g}..{p.high:g}")):
        cls(**{p.name: data.draw(outside)})


@parametrize("cls, p", NUMBERS)
@parametrize(
    "value", [math.nan, math.inf, -math.inf, True, False, "1", pytest.param(HUGE, id="huge")]
)
def test_no_number_is_refused(cls, p, value):
    with expect_error():
        cls(**{p.name: value})


@parametrize("cls, p", CHOICES)
@given(text=st.text())
def test_only_the_choices_are_accepted(cls, p, text):
    for choice in p.choices:
        assert getattr(build_from_texts(cls, {p.name: choice}), p.name) == choice
    if text not in p.choices:
        with expect_error():
            build_from_texts(cls, {p.name: text})


@parametrize("cls", ALGORITHMS.values())
def test_registered_algorithms_declare_everything_a_page_needs(cls):
    assert declared_parameters(cls) or cls.problem is RiskMinimisation, (
        "a draw of ranks has nothing to choose"
    )
    for p in declared_parameters(cls):
        assert p.doc
        assert p.auto if p.default is None else not p.auto
        assert p.choices or p.kind is bool or p.low < p.high
        p.check_value(p.default)
    assert cls() == build_from_texts(cls, {})
