"""Hostile command lines: two hundred, or as many as the environment variable CASES says, from the
seed SEED.
"""

import os

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.certificates.fuzz import judge
from tests.certificates.fuzz.strategies import cases

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")


@seed(int(os.environ.get("SEED", "0")))
@settings(
    max_examples=int(os.environ.get("CASES", "200")),
    derandomize=False,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(case=cases())
def test_a_hostile_command_line_ends_as_documented(case):
    assert judge.describe_failure(case) == ""
