"""Synthetic people: the model's shares among people, as many rows as `rows` says, alike in nothing
but the person's columns.
"""

import numpy as np
import pandas as pd

from dpcore import Marginals, PrivacyUnit
from dpcore.models.graphical_model import GraphicalModel
from dpcore.models.junction_tree import build_junction_tree
from dpcore.models.releases import (
    Histogram,
    ProductMixture,
    ReleasedParameter,
    SyntheticRows,
    UnbiasedAnswers,
)
from dpcore.models.synthetic_people import sample_people, sample_table
from dpcore.models.tree_model import JunctionTreeModel
from dpcore.schema.constraints import OrderedColumns
from dpcore.schema.domain import Domain
from dpcore.schema.schema_json import domain_from_json
from tests.small_problems import all_cells, approx, expect_error, parametrize, seeded

UNIT = PrivacyUnit("id", 3, counts_people=True, row_totals=True, person_columns=("sex",))
PUBLIC = {"low": 0, "high": 1, "kind": "integer"}
DOMAIN = UNIT.extend_domain(
    domain_from_json({"columns": {"ward": PUBLIC | {"high": 3}, "sex": PUBLIC, "sick": PUBLIC}})
)
CELLS = all_cells(DOMAIN)
PEOPLE = 3000


def tree_model():
    """Wards hang on `rows` and on the sex, and sickness on the ward: no clique has all of them."""
    tables = [(0, 1), (0, 3), (0, 2)]
    model = JunctionTreeModel(DOMAIN, build_junction_tree(DOMAIN.shape, tables))
    _, beliefs = model.normalise(1.5 * seeded(3).normal(size=model.size))
    return GraphicalModel(DOMAIN, model.junction, beliefs)


def mixture():
    blocks = [seeded(a).dirichlet(np.ones(n), size=3) for a, n in enumerate(DOMAIN.shape)]
    return ProductMixture(DOMAIN, np.hstack(blocks), np.array([0.5, 0.3, 0.2]))


MODELS = {
    "tree": tree_model(),
    "histogram": Histogram(DOMAIN, seeded(1).dirichlet(np.ones(DOMAIN.size))),
    "rows": SyntheticRows.from_rows(DOMAIN, CELLS[seeded(2).integers(DOMAIN.size, size=80)]),
    "mixture": mixture(),
    "fit of unbiased answers": UnbiasedAnswers(
        DOMAIN, (), np.zeros(0), np.zeros(0), fit=tree_model
    ),
}


@parametrize("name", MODELS)
def test_people_and_their_rows_are_those_of_the_model(name):
    model = MODELS[name]
    frame = sample_people(model, UNIT, PEOPLE, seeded(0))
    assert list(frame) == ["id", "ward", "sex", "sick", "rows"]
    ids = frame["id"].unique()
    assert list(ids) == [f"synthetic-{i + 1}" for i in range(PEOPLE)], "invented, one after another"
    people = frame.groupby("id", sort=False)
    assert (people[["sex", "rows"]].nunique() == 1).all(axis=None)
    assert (people.size() == people["rows"].first()).all(), "as many rows as it says"
    answering = model.fitted() if isinstance(model, UnbiasedAnswers) else model
    heads = Marginals(DOMAIN, [["sex", "rows"]])
    of_people = DOMAIN.group_rows(DOMAIN.encode_cells(people.first()))
    drawn = SyntheticRows(DOMAIN, of_people.values, of_people.weights)
    assert drawn.answers(heads) == approx(answering.answers(heads), abs=0.02)
    votes = PrivacyUnit("id", 3, counts_people=True).encode(DOMAIN, frame)
    assert votes.n == PEOPLE
    shares = SyntheticRows(DOMAIN, votes.values, votes.weights)
    for width in (1, 2):
        tables = Marginals.all(DOMAIN, width)
        assert shares.answers(tables) == approx(answering.answers(tables), abs=0.02)


@parametrize("name", MODELS)
def test_rows_of_one_person_are_alike_only_through_the_persons_columns(name):
    """Two rows of people with the same sex and `rows` go together as two of their rows at random."""
    frame = sample_people(MODELS[name], UNIT, 4 * PEOPLE, seeded(1))
    tested = 0
    for (_, count), rows in frame.groupby(["sex", "rows"]):
        wards = rows["ward"].to_numpy().reshape(-1, count)
        if count == 1 or len(wards) < 500:
            continue
        tested += 1
        for other in range(1, count):
            pairs = np.zeros((4, 4))
            np.add.at(pairs, (wards[:, 0], wards[:, other]), 1 / len(wards))
            independent = np.outer(pairs.sum(axis=1), pairs.sum(axis=0))
            assert np.abs(pairs - independent).sum() < 4 / np.sqrt(len(wards))
    assert tested


def test_a_person_of_one_row_each_is_a_row_as_ever():
    unit = PrivacyUnit("id", 1, counts_people=True, row_totals=True)
    domain = unit.extend_domain(domain_from_json({"columns": {"a": PUBLIC}}))
    frame = sample_people(Histogram(domain, np.array([0.25, 0.75])), unit, 8, seeded(0))
    assert frame["a"].sum() == 6
    assert (len(frame), set(frame["rows"])) == (8, {1})


def test_without_totals_of_rows_there_is_one_row_a_person():
    unit = PrivacyUnit("id", 3, counts_people=True, person_columns=("sex",))
    frame = sample_table(MODELS["tree"], unit, 50, seeded(0))
    assert list(frame) == list(DOMAIN.names)
    assert len(frame) == 50


def test_the_invented_column_is_none_of_the_schema():
    unit = PrivacyUnit("ward", 3, counts_people=True, row_totals=True)
    frame = sample_people(MODELS["tree"], unit, 20, seeded(0))
    assert list(frame)[:2] == ["ward (invented)", "ward"]


def test_what_draws_no_rows_draws_no_people():
    parameter = ReleasedParameter(("a",), np.zeros(1))
    with expect_error("draws no synthetic people"):
        sample_people(parameter, UNIT, 3, seeded(0))
    with expect_error("no distribution"):
        sample_people(UnbiasedAnswers(DOMAIN, (), np.zeros(0), np.zeros(0)), UNIT, 3, seeded(0))


def stays_domain(order):
    """Stays of people, with numbers in wide cells whose order along a row is told."""
    wide = {"kind": "numeric", "low": 0, "high": 10, "bins": 2, "out_of_range": "clip"}
    columns = {"born": wide, "in": wide, "out": wide | {"missing": "category"}}
    domain = UNIT.extend_domain(domain_from_json({"columns": columns}))
    return Domain(domain.columns, constraints=(OrderedColumns(order),))


@parametrize("order", [("born", "in", "out"), ("in", "out", "born"), ("in", "born", "out")])
@parametrize("name", ["mixture", "histogram"])
def test_a_persons_number_is_one_and_in_order_with_each_row(name, order):
    domain = stays_domain(order)
    unit = PrivacyUnit("id", 3, counts_people=True, row_totals=True, person_columns=("born",))
    if name == "histogram":
        possible = domain.possible_rows_mask(all_cells(domain))
        model = Histogram(domain, possible / possible.sum())
    else:  # knows nothing of the order: impossible rows are drawn again
        blocks = [np.full((1, n), 1 / n) for n in domain.shape]
        model = ProductMixture(domain, np.hstack(blocks), np.ones(1))
    frame = sample_people(model, unit, 400, seeded(0))
    assert domain.possible_rows_mask(domain.encode_cells(frame)).all()
    people = frame.groupby("id", sort=False)
    assert (people["born"].nunique() == 1).all()
    assert (people.size() == people["rows"].first()).all()
    numbers = frame[[*order]].to_numpy(dtype=float, na_value=np.nan)
    steps = pd.DataFrame(numbers).ffill(axis=1).diff(axis=1)
    assert not (steps < 0).any(axis=None)
    second = frame.groupby("id").cumcount() == 1
    cells = domain.cell_numbers(domain.encode_cells(frame))
    is_same = cells[np.flatnonzero(second)] == cells[np.flatnonzero(second) - 1]
    # of rows drawn evenly among the possible cells of their person two in seven are the same
    assert is_same.mean() < (0.6 if order[1] == "born" else 0.4)
    different = people["in"].nunique().mean() / people.size().mean()
    assert different > (0.8 if order[1] == "born" else 0.97), "rows are no copies of the first"
