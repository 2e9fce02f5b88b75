"""Votes: who votes for whom, by brute force, and their privacy by enumeration of all neighbours."""

import itertools
import math

import numpy as np
from scipy.stats import laplace

from dpcore import Budget, Rows
from dpcore.privacy.accounting import Approximate, Gaussian, Pure, equal_threshold_spend
from dpcore.privacy.accounting.budget_meter import BudgetMeter
from dpcore.privacy.curators.point_curator import PointCurator
from dpcore.privacy.curators.table_curator import TableCurator
from dpcore.privacy.statistics import CodeVotes, Votes
from tests.privacy.enumerated_neighbours import largest_move, mechanism_arguments, plan_of
from tests.small_problems import (
    approx,
    expect_budget_error,
    expect_error,
    hockey_stick,
    parametrize,
    seeded,
)

PLACES = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])  # where private points may be
CANDIDATES = np.array([[0.1, 0.0], [0.9, 0.1], [0.1, 1.8], [5.0, 5.0]])


def rows_at(places, data):
    return Rows(places[list(data)], np.ones(len(data), int))


def brute(distances, weights):
    """Shares of the votes for the first of the nearest candidates, from all distances (r, v)."""
    return np.bincount(distances.argmin(axis=1), weights, distances.shape[1]) / weights.sum()


@parametrize("seed", range(6))
@parametrize("d", [1, 2, 5])
def test_every_point_votes_for_its_nearest_candidate_the_first_of_several(d, seed):
    rng = seeded(seed)
    lattice = rng.integers(0, 4, (60, d)) / 2.0  # many ties, many candidates twice
    V = np.concatenate([lattice, rng.random((5, d))])[: 65 if seed else 1]
    X, weights = np.unique(rng.integers(0, 7, (80, d)) / 4.0, axis=0, return_counts=True)
    distances = ((X[:, None] - V) ** 2).sum(axis=2)
    assert Votes(V).value(Rows(X, weights)) == approx(brute(distances, weights), abs=1e-15)


def test_more_ties_than_are_looked_for_at_once():
    corners = np.array(list(itertools.product([0.0, 1.0], repeat=5)))
    for shift in range(0, 32, 5):
        votes = Votes(np.roll(corners, shift, axis=0)).value(rows_at(np.full((1, 5), 0.5), [0]))
        assert votes.tolist() == [1.0] + [0.0] * 31


@parametrize("block", [20_000_000, 50])
def test_rows_vote_by_the_sum_of_distances_over_columns(block, monkeypatch):
    monkeypatch.setattr("dpcore.privacy.statistics.votes.MAX_BLOCK_ENTRIES", block)
    rng = seeded(0)
    bins = (np.array([0, 1, 2, 2]), np.array([0, 0, 1, 1, 2, 3]), np.arange(3))
    positions = (None, np.array([3, 5, 9, 20]), None)
    V = np.column_stack([rng.integers(0, k, 40) for k in (3, 4, 3)])
    codes_ = np.column_stack([rng.integers(0, k, 200) for k in (4, 6, 3)])
    values, weights = np.unique(codes_, axis=0, return_counts=True)
    X = np.column_stack([b[values[:, i]] for i, b in enumerate(bins)])
    different = 8 * ((X[:, None, 0] != V[:, 0]) + (X[:, None, 2] != V[:, 2]).astype(int))
    distances = different + np.abs(positions[1][X[:, 1]][:, None] - positions[1][V[:, 1]])
    statistic = CodeVotes(V, bins, positions, 8)
    statistic.check()
    assert statistic.value(Rows(values, weights)) == approx(brute(distances, weights), abs=1e-15)


def one_column(code=0, bins=(3,), positions=None, scale=8):
    """Votes for one row of one column."""
    return CodeVotes(np.array([[code]]), (np.arange(*bins),), (positions,), scale)


@parametrize(
    "statistic",
    [
        Votes(np.zeros((0, 2))),
        Votes(np.array([[0.0, np.nan]])),
        Votes(np.full((2, 2), 1e200)),
        one_column(0.5),
        one_column(bins=(-1, 2)),
        one_column(3),
        one_column(positions=np.array([0.0, 1.0, 2.0])),
        one_column(positions=np.array([0, 2, 1])),
        one_column(bins=(2,), positions=np.array([0, 2**22])),
        one_column(scale=0),
    ],
)
def test_candidates_that_cannot_be_voted_for_are_refused(statistic):
    with expect_error():
        statistic.check()


def ask_votes(asked, statistic, spend, data, places=PLACES, **options):
    kind = PointCurator if isinstance(statistic, Votes) else TableCurator
    return mechanism_arguments(
        asked, "measure", statistic, spend, rows_at(places, data), kind=kind, **options
    )


ROWS = np.array([[0, 0], [1, 2], [1, 1]])
ROW_VOTES = CodeVotes(
    np.array([[0, 0], [1, 2], [0, 1]]), (np.arange(2), np.arange(3)), (None, np.array([0, 4, 9])), 8
)


@parametrize(
    "statistic, places", [(Votes(CANDIDATES), PLACES), (ROW_VOTES, ROWS)], ids=["points", "rows"]
)
@parametrize("spend, order", [(Gaussian(0.7), 2), (Pure(0.7), 1)])
@parametrize("n", [2, 3])
def test_noise_on_votes_matches_the_largest_change_between_neighbours(
    asked, statistic, places, spend, order, n
):
    """One point or row after the other beside the same others."""
    seen = [ask_votes(asked, statistic, spend, (*[0] * (n - 1), last), places) for last in range(3)]
    largest, scale = largest_move(seen, order)
    assert scale * 0.7 == approx(largest, rel=1e-12)


def law(share, scale, edges):
    """The probability that a share leaves as 0, or between two edges above the threshold."""
    if share == 0:
        return np.append(1.0, np.zeros(len(edges)))
    above = laplace.sf(edges - share, scale=scale)
    return np.append(1 - above[0], -np.diff(above, append=0))


@parametrize("spend", [Approximate(1.0, 0.01), Approximate(0.2, 1e-4), Approximate(2.0, 0.4)])
@parametrize("group", [1, 2])
def test_thresholded_laplace_noise_keeps_its_promise(asked, spend, group):
    n = 4
    sets = list(itertools.combinations_with_replacement(range(3), n))
    seen = {}
    for data in sets:
        values, height = ask_votes(asked, Votes(CANDIDATES), spend, data, group=group)
        seen[data] = values, (asked.pop()[1], height)
    ((scale, height),) = {noise for _, noise in seen.values()}
    edges = np.union1d(
        height + np.linspace(0, 1.2 * n, 25), [k for k in range(n + 1) if k > height]
    )
    edges = edges[edges >= height]
    laws = {k: law(k, scale, edges) for k in range(n + 1)}

    def outcome(data):
        out = np.ones(1)
        for votes in seen[data][0][:3]:
            out = np.outer(out, laws[round(votes)]).ravel()
        return out

    worst = 0.0
    for x, y in itertools.permutations(sets, 2):
        moved = n - sum(min(x.count(i), y.count(i)) for i in range(3))
        if moved <= group:
            worst = max(worst, hockey_stick(outcome(x), outcome(y), spend.epsilon))
    assert worst <= spend.failure * (1 + 1e-9)
    if group == 1:
        assert worst >= spend.failure * (1 - 1e-4), "no noise is wasted"
        needed = 2 * math.log(1 / (2 * spend.failure)) / spend.epsilon + 1
        assert height == approx(needed, rel=1e-5)


@parametrize("times", [1, 14, 200])
def test_equal_thresholded_releases_use_the_budget_and_not_more(times):
    budget = Budget(1, 1e-4)
    spend = equal_threshold_spend(budget, times)
    ledger = BudgetMeter(plan_of(budget, (spend, times)))
    for _ in range(times):
        ledger.charge("measure", spend)
    assert 0.99 < ledger.spent.epsilon <= 1
    assert ledger.spent.delta == (1e-4 if times > 1 else spend.failure), (
        "a single release composes with nothing"
    )
    with expect_budget_error():
        ledger.charge("measure", spend)
    with expect_budget_error():
        plan_of(budget, (Approximate(spend.epsilon * 1.001, spend.failure), times))
