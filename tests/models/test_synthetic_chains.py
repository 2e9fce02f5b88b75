"""Rows of synthetic people follow each other as those of the table do, where that was measured."""

import itertools

import numpy as np
import pandas as pd

from dpcore import Marginals, PrivacyUnit
from dpcore.models.releases import Histogram, SyntheticRows
from dpcore.models.synthetic_people import sample_people
from dpcore.schema.constraints import OrderedColumns
from dpcore.schema.domain import Domain
from dpcore.schema.schema_json import domain_from_json
from tests.small_problems import approx, categorical, integer, parametrize, seeded

WARDS = ("x", "y", "z")
FOLLOWS = np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.7, 0.1, 0.2]])
SCHEMA = {
    "columns": {
        "ward": categorical(*WARDS, missing="category"),
        "day": integer(0, 9),
        "sex": categorical("f", "m"),
    }
}
PEOPLE = 3000


def unit_of(time):
    return PrivacyUnit(
        "id",
        3,
        counts_people=True,
        row_totals=True,
        person_columns=("sex",),
        succession_columns=("ward",),
        time_column=time,
    )


def stays():
    """Stays of people whose wards are a chain, and women's begin elsewhere than men's."""
    rng = seeded(0)
    rows = []
    for person in range(1500):
        sex = "fm"[person % 2]
        ward = person % 2 if rng.random() < 0.8 else 2
        for row in range(1 + person % 3):
            name = WARDS[ward] if rng.random() < 0.95 else ""
            rows.append((f"p{person}", name, 3 * row + int(rng.integers(3)), sex))
            ward = int(rng.choice(3, p=FOLLOWS[ward]))
    return pd.DataFrame(rows, columns=pd.Index(["id", "ward", "day", "sex"]))


def model_of(unit, domain, frame, kind):
    rows = unit.encode(domain, frame)
    if kind == "rows":
        return SyntheticRows(domain, rows.values, rows.weights)
    cells = np.bincount(domain.cell_numbers(rows.values), rows.weights, domain.size)
    return Histogram(domain, cells / cells.sum())


def answers_of(unit, domain, frame, names):
    rows = unit.encode(domain, frame)
    return Marginals(domain, names).answers_of_rows(rows)


@parametrize("time", ["day", None])
@parametrize("kind", ["histogram", "rows"])
def test_rows_follow_each_other_as_in_the_table(time, kind):
    unit = unit_of(time)
    domain = unit.extend_domain(domain_from_json(SCHEMA))
    table = stays()
    frame = sample_people(model_of(unit, domain, table, kind), unit, PEOPLE, seeded(1))
    people = frame.groupby("id", sort=False)
    assert (people[["sex", "rows"]].nunique() == 1).all(axis=None)
    assert (people.size() == people["rows"].first()).all()
    pair = ("earlier ward", "next ward") if time else ("ward", "another ward")
    tables = [["ward"], ["sex", "ward"], [*pair], ["sex", *pair], ["rows", *pair]]
    expected = answers_of(unit, domain, table, tables)
    own_columns = frame[["id", "ward", "day", "sex"]]
    recounted = answers_of(unit, domain, own_columns, tables)
    assert recounted == approx(expected, abs=0.03), "as the curator would count them"
    as_read = PrivacyUnit("id", 3, counts_people=True)
    assert answers_of(as_read, domain, frame, tables) == approx(expected, abs=0.03)
    if time:
        assert people["day"].is_monotonic_increasing.all()


def test_the_columns_of_pairs_say_a_pair_of_the_same_person():
    for time in ("day", None):
        unit = unit_of(time)
        domain = unit.extend_domain(domain_from_json(SCHEMA))
        model = model_of(unit, domain, stays(), "histogram")
        frame = sample_people(model, unit, 300, seeded(2)).fillna("")
        for _, rows in frame.groupby("id", sort=False):
            wards = rows["ward"].tolist()
            if time:
                allowed = set(itertools.pairwise(wards)) or {(wards[0], "only one row")}
                pairs = set(zip(rows["earlier ward"], rows["next ward"], strict=True))
                assert pairs == allowed, "each pair of this person is there"
            else:
                allowed = set(itertools.permutations(wards, 2)) or {(wards[0], "only one row")}
                assert set(zip(wards, rows["another ward"], strict=True)) <= allowed


def test_times_that_stand_in_a_constraint_stay_in_their_rows():
    unit = unit_of("day")
    schema = {"columns": SCHEMA["columns"] | {"out": integer(0, 9)}}
    domain = unit.extend_domain(domain_from_json(schema))
    domain = Domain(domain.columns, constraints=(OrderedColumns(("day", "out")),))
    table = stays().assign(out=lambda rows: rows["day"])
    frame = sample_people(model_of(unit, domain, table, "rows"), unit, 500, seeded(3))
    assert (frame["day"] <= frame["out"]).all()
    assert (frame.groupby("id").size() <= 3).all()
