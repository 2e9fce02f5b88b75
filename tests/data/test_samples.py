"""The samples are what their sources say."""

from pathlib import Path

import numpy as np

from dpcore import domain_from_json, read_json, read_table, samples
from tests.small_problems import approx, expect_error, parametrize

ASSETS = Path(__file__).parents[2] / "assets"


def test_census_rows_follow_the_stated_population():
    sample = samples.census(200_000, seed=1)
    assert sample.population.sum() == approx(1)
    rows = sample.domain.encode(sample.frame)
    counts = np.bincount(
        sample.domain.cell_numbers(rows.values), rows.weights, minlength=sample.domain.size
    )
    expected = 200_000 * sample.population
    common = expected > 5
    chi_square = ((counts - expected)[common] ** 2 / expected[common]).sum()
    assert abs(chi_square - common.sum()) < 5 * np.sqrt(2 * common.sum())


def test_census_is_seeded_and_checks_n():
    first, again, other = (samples.census(100, seed=seed).frame for seed in (2, 2, 3))
    assert first.equals(again)
    assert not first.equals(other)
    with expect_error("n=1 is outside"):
        samples.census(1)


@parametrize("name", ["berkeley", "titanic"])
def test_the_files_in_assets_are_the_samples(name):
    sample = getattr(samples, name)()
    assert read_table(ASSETS / f"{name}.csv").equals(sample.frame.astype("str"))
    assert domain_from_json(read_json(ASSETS / f"{name}.json")) == sample.domain
