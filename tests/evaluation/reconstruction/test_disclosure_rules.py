"""What each rule publishes, and that its ranges are what a reader can conclude: no wider, no
narrower.
"""

import numpy as np
import pytest

from dpcore import InputError, Marginals, TableQueries, Union, domain_from_json
from dpcore.evaluation.reconstruction.asked_tables import (
    AskedTables,
    draw_block,
    rows_of_group,
)
from dpcore.evaluation.reconstruction.disclosure_rules import (
    CoarserTables,
    FewerTables,
    Rounding,
    Suppression,
    SuppressionAndRounding,
    Swapping,
    round_to_nearest,
)
from dpcore.evaluation.reconstruction.secondary_suppression import hide_single_cells
from dpcore.schema.domain import Rows
from tests.small_problems import approx, parametrize, seeded

DOMAIN = domain_from_json({"a": 4, "b": 3, "c": 2})
RULES = (
    Rounding(1),
    Rounding(5),
    Rounding(10),
    Rounding(3, at_random=True),
    Suppression(5),
    Suppression(5, secondary=True),
    SuppressionAndRounding(),
    FewerTables(),
    CoarserTables(),
)


def asked_tables(n=60, ways=2, seed=0):
    codes = seeded(seed).binomial([3, 2, 1], 0.4, (n, 3))
    return AskedTables.of(Marginals.all(DOMAIN, ways), DOMAIN.group_rows(codes))


@parametrize("base", [1, 3, 5, 10])
def test_a_rounded_count_has_the_range_of_all_counts_that_are_rounded_so(base):
    counts = np.arange(60)
    rounded, low, high = round_to_nearest(counts, base)
    assert np.abs(rounded - counts).max() <= base / 2
    for value in np.unique(rounded[: 60 - base]):
        same = counts[rounded == value]
        assert (same.min(), same.max()) == (low[same[0]], high[same[0]])


@parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_real_table_agrees_with_what_is_published(rule):
    for seed in range(5):
        asked = asked_tables(seed=seed)
        published = rule.publish(asked, seeded(seed))
        assert published.is_consistent(asked.counts)
        assert published.answers.shape == published.is_lost.shape == (asked.tables.m,)
        assert published.n == asked.n


def test_rounding_at_random_keeps_the_mean_and_multiples():
    asked = asked_tables()
    means = np.mean([Rounding(5, True).publish(asked, seeded(i)).answers for i in range(400)], 0)
    counts = asked.table_counts
    assert np.abs(means * asked.n - counts).max() < 0.6
    is_multiple = counts % 5 == 0
    one = Rounding(5, True).publish(asked, seeded(9)).answers * asked.n
    assert one[is_multiple] == approx(counts[is_multiple])


def test_suppression_hides_small_counts_and_shows_zeros():
    asked = asked_tables()
    published = Suppression(5).publish(asked, seeded(0))
    counts = asked.table_counts
    hidden = (counts > 0) & (counts < 5)
    assert hidden.any()
    assert published.is_lost.tolist() == hidden.tolist()
    assert published.low[:-1][hidden].tolist() == [1] * hidden.sum()
    assert published.high[:-1][hidden].tolist() == [4] * hidden.sum()
    assert published.high[:-1][~hidden].tolist() == counts[~hidden].tolist()
    for _, _, table in asked.tables.layout:
        assert published.answers[table].sum() == approx(1)


def test_small_counts_become_zero_before_the_others_are_rounded():
    asked = asked_tables()
    published = SuppressionAndRounding(7, 5).publish(asked, seeded(0))
    counts = asked.table_counts
    for count, low, high, answer in zip(
        counts, published.low, published.high, published.answers, strict=False
    ):
        shown = 0 if count <= 7 else 5 * ((2 * count + 5) // 10)
        assert round(answer * asked.n) == shown
        assert (low, high) == ((0, 7) if count <= 7 else (max(8, shown - 2), shown + 2))


def test_a_partner_is_hidden_wherever_a_cell_is_hidden_alone():
    counts = np.array([[2, 20, 30], [40, 50, 60], [70, 80, 0]])
    hidden = hide_single_cells(counts, counts == 2)
    assert hidden.tolist() == [[True, True, False], [True, True, False], [False] * 3]
    alone = np.array([[3, 0, 0]])
    assert hide_single_cells(alone, alone == 3).tolist() == [[True, False, False]]


@parametrize("seed", range(4))
def test_no_cell_stays_hidden_alone_where_it_could_have_a_partner(seed):
    counts = seeded(seed).poisson(6, (4, 3, 3))
    hidden = hide_single_cells(counts, (counts > 0) & (counts < 4))
    assert np.all(hidden[(counts > 0) & (counts < 4)])
    for axis in range(3):
        free = (~hidden & (counts > 0)).any(axis)
        assert not np.any((hidden.sum(axis) == 1) & free)


@parametrize("share", [0.05, 0.5, 1.0])
def test_swapping_moves_so_many_rows_at_most_and_keeps_all_other_columns(share):
    asked = asked_tables()
    published = Swapping(share, "b").publish(asked, seeded(0))
    moved = np.abs(published.behind - asked.counts).sum() // 2
    assert 0 < moved <= published.swapped_rows <= share * asked.n + 1
    assert published.is_consistent(published.behind)
    shape = DOMAIN.shape
    before = asked.counts.reshape(shape)
    after = published.behind.reshape(shape)
    assert after.sum(axis=1).tolist() == before.sum(axis=1).tolist()
    assert after.sum(axis=(0, 2)).tolist() == before.sum(axis=(0, 2)).tolist()


def test_smaller_tables_are_exact_and_those_asked_are_lost():
    asked = asked_tables(ways=3)
    published = FewerTables().publish(asked, seeded(0))
    assert published.is_lost.all()
    pairs = Marginals.all(DOMAIN, 2)
    counts = AskedTables.of(pairs, Rows(DOMAIN.codes_of_cells(np.arange(24)), asked.counts))
    assert sorted(published.low[:-1].tolist()) == sorted(counts.table_counts.tolist())
    # what readers make of them has the published pairs
    assert published.incidence[:-1] @ (published.answers * asked.n) == approx(
        published.low[:-1], abs=0.05
    )
    with pytest.raises(InputError, match="no smaller"):
        FewerTables().publish(asked_tables(ways=1), seeded(0))


def test_joined_values_are_exact_together_and_alike_alone():
    asked = asked_tables(ways=1)
    published = CoarserTables().publish(asked, seeded(0))
    counts = asked.table_counts
    a = counts[:4]
    assert published.low[:2].tolist() == [a[0] + a[1], a[2] + a[3]]
    assert (published.answers * asked.n)[:2] == approx([(a[0] + a[1]) / 2] * 2)
    assert published.is_lost.tolist() == [True] * 4 + [True, True, False] + [False] * 2


@parametrize(
    "make",
    [
        lambda: Rounding(0),
        lambda: Rounding(1001),
        lambda: Suppression(1),
        lambda: Swapping(0.0),
        lambda: Swapping(1.5),
    ],
)
def test_a_rule_that_is_none_is_refused(make):
    with pytest.raises(InputError):
        make()


def test_only_tables_of_few_rows_and_combinations_are_attacked():
    rows = Rows(np.array([[0, 0, 0]]), np.array([30_000]))
    with pytest.raises(InputError, match="choose a group"):
        AskedTables.of(Marginals.all(DOMAIN, 2), rows)
    with pytest.raises(InputError, match="whole tables"):
        AskedTables.of(TableQueries.conjunctions(DOMAIN, 2, 3), rows)
    wide = domain_from_json({"a": 1000, "b": 1000})
    with pytest.raises(InputError, match="choose fewer columns"):
        AskedTables.of(Marginals.all(wide, 1), Rows(np.array([[0, 0]]), np.array([3])))
    both = Union([Marginals.all(DOMAIN, 1), Marginals.all(DOMAIN, 2)])
    asked = AskedTables.of(both, Rows(np.array([[0, 0, 0]]), np.array([3])))
    assert asked.tables.m == both.m


def test_a_block_is_a_group_or_rows_at_random_with_another_sample_beside():
    rows = Rows(np.array([[0, 0, 0], [1, 0, 1]]), np.array([40, 60]))
    group = rows_of_group(DOMAIN, rows, "c", "1")
    assert group.values.tolist() == [[1, 0, 1]]
    with pytest.raises(InputError, match="has no value"):
        rows_of_group(DOMAIN, rows, "c", "7")
    with pytest.raises(InputError, match="choose another value"):
        rows_of_group(DOMAIN, rows, "b", "2")
    block, other = draw_block(rows, 30, 0)
    assert (block.n, other.n) == (30, 30)
    assert draw_block(rows, 70, 0)[1] is None
    assert draw_block(rows, 100, 0) == (rows, None)
