"""Reading a comparison: frontier, regret and the search for the smallest ε."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from dpcore.evaluation.sweeps.frontier import (
    EpsilonBisection,
    regret_table,
    step_frontier,
    summarise_by_epsilon,
)
from tests.small_problems import approx, expect_error, parametrize

DOTS = pd.DataFrame(
    [
        ("a", 0.1, 0, 0.5, 1),
        ("a", 0.1, 1, 0.3, 3),
        ("a", 0.1, 2, 0.4, 2),
        ("a", 1.0, 0, 0.1, 2),
        ("b", 0.1, 0, 0.2, 9),
        ("b", 1.0, 0, 0.2, 9),
        ("b", 3.0, 0, 0.15, 9),
        ("c", 3.0, 0, None, 1),
    ],
    columns=["algorithm", "epsilon", "seed", "error", "seconds"],
).assign(memory=[5e6, 7e6, 6e6, 9e6, 1e6, 1e6, 2e6, None])


def test_middles_are_medians_with_their_range():
    found = summarise_by_epsilon(DOTS).set_index(["algorithm", "epsilon"])
    assert found.loc[("a", 0.1)].tolist() == [0.4, 0.3, 0.5, 2, 6e6, 3]
    assert ("c", 3.0) not in found.index


def test_the_frontier_steps_down_and_remembers_a_smaller_budget():
    frontier = step_frontier(summarise_by_epsilon(DOTS))
    assert frontier["epsilon"].tolist() == [0.1, 1.0, 3.0]
    assert frontier["error"].tolist() == [0.2, 0.1, 0.1], (
        "at ε = 3 the run at ε = 1 is still the best"
    )
    assert frontier["algorithm"].tolist() == list("baa")


def test_regret_is_a_ratio_to_the_best_at_the_same_budget():
    table = regret_table(summarise_by_epsilon(DOTS))
    assert table.loc["a", 0.1] == approx(2)
    assert table.loc["b", 0.1] == 1
    assert table.loc["b", 1.0] == approx(2)
    assert table.loc["b", 3.0] == 1
    assert table.index.tolist() == ["b", "a"], "geometric means 2^(1/3) and 2^(1/2)"
    assert table["seconds"].tolist() == [9, 2]
    assert table["memory"].tolist() == [2e6, 9e6]
    none = regret_table(summarise_by_epsilon(DOTS.replace({"error": {0.1: 0.0}})))
    assert none[1.0].to_dict() == {"a": 1, "b": float("inf")}, "an error of 0 has no regret"


def searched(grid, good):
    search = EpsilonBisection(grid, 20, 0.95)
    looked = 0
    while asked := search.next_epsilon_and_seeds():
        epsilon, seeds = asked
        for seed in seeds:
            looked += 1
            search.record_outcome(epsilon, good(epsilon, seed))
            if (
                search.next_epsilon_and_seeds() is None
                or search.next_epsilon_and_seeds()[0] != epsilon
            ):
                break
    return search.smallest_epsilon, looked


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30, unique=True), st.floats(0.001, 200))
def test_the_search_finds_the_first_budget_that_is_good_enough(grid, threshold):
    grid = sorted(grid)
    found, looked = searched(grid, lambda epsilon, _: epsilon >= threshold)
    assert found == next((e for e in grid if e >= threshold), None)
    assert looked <= 20 * (len(grid).bit_length())


@parametrize("bad, found", [(0, (1.0, 19)), (1, (1.0, 20)), (2, (None, 2))])
def test_one_bad_run_in_twenty_is_allowed_and_no_more_are_made_than_it_takes_to_know(bad, found):
    assert searched([1.0], lambda _, seed: seed >= bad) == found


def test_late_answers_of_a_settled_budget_are_ignored():
    search = EpsilonBisection([0.1, 1.0], runs=1, share=1)
    epsilon, _ = search.next_epsilon_and_seeds()
    search.record_outcome(epsilon, False)
    search.record_outcome(epsilon, True)
    assert search.is_done
    assert search.smallest_epsilon is None


@parametrize("grid", [[], [1, 1], [2, 1]])
def test_a_grid_rises(grid):
    with expect_error("must rise"):
        EpsilonBisection(grid)
