"""Numbers drawn within bins: along a curve where neighbouring bins are alike, else evenly."""

import doctest

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from dpcore.schema import bin_curve
from dpcore.schema.bin_curve import fit_bin_curve
from dpcore.schema.column import Column
from dpcore.schema.domain import Domain
from tests.small_problems import parametrize, seeded

ROWS = 20_000
AGE_EDGES = (0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0)


def ages():
    """Whole ages of a population that thins out."""
    return np.minimum(seeded(1).gamma(4, 10, ROWS).astype(int), 99)


def weekly_hours():
    """Hours a week, 40 of them for every second person."""
    rng = seeded(2)
    return np.where(rng.random(ROWS) < 0.5, 40, rng.integers(1, 99, ROWS))


def incomes():
    """Incomes in uneven bins."""
    return np.minimum(seeded(3).lognormal(7, 1, ROWS), 49_999.0)


AGES = Column(name="age", kind="integer", edges=AGE_EDGES)
HOURS = Column(name="hours", kind="integer", edges=tuple(np.arange(0.0, 105, 5)))
INCOMES = Column(
    name="income",
    kind="numeric",
    edges=(0.0, 200.0, 500.0, 1e3, 2e3, 3e3, 5e3, 1e4, 2e4, 5e4),
)


def distances(column, numbers):
    """The W1 distance of decoded numbers to the real ones: with the curve, and even."""
    codes = np.searchsorted(column.edges, numbers, side="right") - 1
    curve = column.fit_bin_curve(codes)
    return tuple(
        wasserstein_distance(numbers, column.decode_rounded(codes, seeded(0), used).to_numpy(float))
        for used in (curve, None)
    )


@parametrize(("column", "numbers"), [(AGES, ages()), (INCOMES, incomes())])
def test_numbers_along_the_curve_are_nearer_to_real_ones(column, numbers):
    along_curve, even = distances(column, numbers)
    assert along_curve < 0.69 * even


def test_a_spike_is_drawn_no_worse_than_evenly():
    along_curve, even = distances(HOURS, weekly_hours())
    assert along_curve <= even


@parametrize("column", [AGES, HOURS, INCOMES])
@parametrize("seed", range(5))
def test_every_number_stays_in_its_bin(column, seed):
    rng = seeded(seed)
    counts = rng.geometric(0.01, len(column.edges) - 1) * rng.integers(0, 2, len(column.edges) - 1)
    codes = np.repeat(np.arange(len(counts)), counts)
    smooth_counts = 1 + np.arange(len(counts)) ** 2
    curve = fit_bin_curve(np.array(column.edges), smooth_counts)
    assert curve is not None
    numbers = column.decode_rounded(codes, rng, curve).to_numpy(float)
    assert (np.searchsorted(column.edges, numbers, side="right") - 1 == codes).all()


@parametrize("counts", [[5, 5, 5, 5, 5, 5], [0, 0, 0, 0], [3, 9, 3], [0, 0, 7, 0, 0, 0]])
def test_what_a_curve_says_no_better_is_drawn_evenly(counts):
    assert fit_bin_curve(np.arange(len(counts) + 1.0), np.array(counts)) is None


def test_synthetic_rows_use_the_curve_of_their_own_counts():
    numbers = ages()
    codes = (np.searchsorted(AGE_EDGES, numbers, side="right") - 1)[:, None]
    frame = Domain((AGES,)).decode_rounded(codes, seeded(0))
    assert wasserstein_distance(numbers, frame["age"]) == pytest.approx(distances(AGES, numbers)[0])


def test_the_example_of_the_module_runs():
    results = doctest.testmod(bin_curve)
    assert results.attempted
    assert not results.failed
