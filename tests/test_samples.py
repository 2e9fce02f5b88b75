"""The samples are what their sources say."""

import numpy as np
import pytest

from dpcore import samples
from dpcore.errors import InputError


def test_berkeley_has_the_published_totals():
    frame = samples.berkeley().frame
    assert len(frame) == 4526
    admitted = frame[frame["Admission"] == "Admitted"].groupby("Gender").size()
    assert admitted.to_dict() == {"Female": 557, "Male": 1198}
    assert (frame["Gender"] == "Female").sum() == 1835
    assert frame.groupby("Department").size().to_dict() == {"A": 933, "B": 585, "C": 918, "D": 792, "E": 584, "F": 714}


def test_census_rows_follow_the_stated_population():
    sample = samples.census(200_000, seed=1)
    assert sample.population.sum() == pytest.approx(1)
    rows = sample.domain.encode(sample.frame)
    counts = np.bincount(sample.domain.index(rows.values), rows.weights, minlength=sample.domain.size)
    expected = 200_000 * sample.population
    common = expected > 5
    chi_square = ((counts - expected)[common] ** 2 / expected[common]).sum()
    assert abs(chi_square - common.sum()) < 5 * np.sqrt(2 * common.sum())


def test_census_is_seeded_and_checks_n():
    assert samples.census(100, seed=2).frame.equals(samples.census(100, seed=2).frame)
    assert not samples.census(100, seed=2).frame.equals(samples.census(100, seed=3).frame)
    with pytest.raises(InputError, match="n=1 is outside"):
        samples.census(1)


def test_marginal_of_the_population_matches_direct_sums():
    sample = samples.census(10)
    P = sample.population.reshape(sample.domain.shape)
    expected = P.sum(axis=(2, 3, 4, 5, 6)).T.ravel()
    assert np.allclose(sample.domain.marginal(sample.population, ["sex", "age"]), expected)
