"""The test of independence, in small: certificates hold its calibration, here is what it says and
when.
"""

from dataclasses import replace

from dpcore import Budget, Marginals, QueryRelease
from dpcore.accuracy.intervals.independence_test import run_independence_test
from dpcore.accuracy.intervals.unbiased_tables import unbiased_tables
from tests.accuracy.intervals.linked_tables import count_rejections, joint
from tests.small_problems import (
    approx,
    expect_error,
    integer_domain,
    module_fixture,
    parametrize_false_true,
    rows_in_cells,
    run_to_end,
    seeded,
)

DOMAIN = integer_domain(3, 4, 1, 2)


@module_fixture
def told():
    """What a real run's noisy tables say, a and b being linked and nothing else."""
    rng = seeded(0)
    n = 20_000
    cells = rng.choice(12, n, p=joint((3, 4), "falling", 0.1).ravel()) * 2 + rng.integers(0, 2, n)
    problem = QueryRelease(Marginals(DOMAIN, ["ab", "bd", "ac"]), n)
    run = run_to_end("gaussian_maxent", problem, rows_in_cells(DOMAIN, cells), Budget(1.0, 1e-9))
    return unbiased_tables(run.release, run.measured, DOMAIN)


def test_a_link_is_found_and_none_invented(told):
    found, none = (run_independence_test(told, pair, 20_000) for pair in (("a", "b"), ("d", "b")))
    assert found.p_value == 0.001
    assert (
        found.words
        == "The release shows a link between a and b: chance alone does as much in 1 of 1,000 "
        "cases."
    )
    assert none.p_value > 0.05
    assert "shows no link between d and b" in none.words
    assert run_independence_test(told, ("b", "a"), 20_000).statistic == approx(found.statistic)
    assert run_independence_test(replace(told, laplace=True), ("a", "b"), 20_000).p_value <= 0.01


def test_where_nothing_was_measured_it_says_so(told):
    for pair, why in (
        (("a", "d"), "nothing was measured about a × d together"),
        (("a", "c"), "'c' has one value only"),
    ):
        found = run_independence_test(told, pair, 20_000)
        assert (found.p_value, found.statistic, found.repeats) == (None, None, 0)
        assert why in found.words
    for wrong in (("a", "a"), ("a",), ("a", "z")):
        with expect_error():
            run_independence_test(told, wrong, 20_000)


@parametrize_false_true("tree")
def test_it_is_right_about_ninety_five_of_a_hundred_times(tree):
    """40 of 800 are expected; beyond these ends once in 10⁴ tests of a test that rejects 5%."""
    found = sum(
        count_rejections((3, 4), n, epsilon, tree=tree, kind="half", seed=i)
        for i, (n, epsilon) in enumerate(((2000, 0.1), (2000, 1), (20_000, 0.1), (20_000, 1)))
    )
    assert 18 <= found <= 66
