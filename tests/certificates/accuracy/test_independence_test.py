"""The test of independence is right 95 of 100 times where nothing is linked, finds links, and
errors break it.
"""

from itertools import product

from tests.accuracy.intervals.linked_tables import count_rejections
from tests.small_problems import parametrize

RELEASES = 100
# of 100: a test that rejects 5% is above it in 1 of 10,000 cells, one that rejects 20% in nine of
# ten
MOST = 14
CELLS = list(product((2000, 20_000), (0.1, 1.0), (False, True), ("even", "falling", "half")))
HARDEST = [(2000, 0.1, "falling"), (2000, 0.1, "even"), (2000, 1.0, "half"), (20_000, 0.1, "half")]


@parametrize("shape", [(2, 2), (4, 7), (16, 16)])
def test_it_finds_links_that_are_not_there_in_five_of_a_hundred(shape):
    counts = {
        cell: count_rejections(
            shape, cell[0], cell[1], tree=cell[2], kind=cell[3], releases=RELEASES, seed=i
        )
        for i, cell in enumerate(CELLS)
    }
    assert 0.03 <= sum(counts.values()) / (RELEASES * len(CELLS)) <= 0.07, counts
    assert max(counts.values()) <= MOST, counts


@parametrize("n, epsilon, kind", HARDEST)
def test_where_noise_hides_the_margins_it_is_right_too(n, epsilon, kind):
    assert (
        0.03
        <= count_rejections((16, 16), n, epsilon, kind=kind, releases=1000, seed=100) / 1000
        <= 0.07
    )


@parametrize("shape", [(2, 2), (9, 7), (16, 16)])
def test_it_finds_a_link_of_a_tenth(shape):
    assert (
        count_rejections(shape, 20_000, 1.0, link=0.1, tables=15, releases=RELEASES)
        >= 0.9 * RELEASES
    )
