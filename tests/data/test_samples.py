"""The samples are what their sources say."""

from pathlib import Path

import numpy as np
import pytest

from dpcore import domain_from_json, read_json, read_table, samples
from tests.helpers import refused

ASSETS = Path(__file__).parents[2] / "assets"


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
    with refused("n=1 is outside"):
        samples.census(1)


def test_titanic_has_the_published_totals():
    frame = samples.titanic().frame
    assert len(frame) == 2201
    assert frame.groupby("Class").size().to_dict() == {"1st": 325, "2nd": 285, "3rd": 706, "Crew": 885}
    assert frame.groupby("Survived").size().to_dict() == {"No": 1490, "Yes": 711}
    assert (frame["Age"] == "Child").sum() == 109
    assert (frame["Sex"] == "Female").sum() == 470


@pytest.mark.parametrize("name", ["berkeley", "titanic"])
def test_the_files_in_assets_are_the_samples(name):
    sample = getattr(samples, name)()
    assert read_table(ASSETS / f"{name}.csv").equals(sample.frame.astype("str"))
    assert domain_from_json(read_json(ASSETS / f"{name}.json")) == sample.domain
