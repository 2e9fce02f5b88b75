"""Rows whose columns are given in part: every model draws the others from its own distribution."""

import numpy as np

from dpcore.models.graphical_model import GraphicalModel
from dpcore.models.junction_tree import build_junction_tree
from dpcore.models.releases import (
    Histogram,
    ProductMixture,
    RowModel,
    SyntheticRows,
    sample_within_groups,
)
from dpcore.models.tree_model import JunctionTreeModel
from tests.small_problems import all_cells, approx, integer_domain, parametrize, seeded

DOMAIN = integer_domain(2, 3, 2, 2, 7)
CELLS = all_cells(DOMAIN)


def tree_of(*tables, seed=5):
    """A distribution on the junction tree of these tables, and none of its ties is weak."""
    model = JunctionTreeModel(DOMAIN, build_junction_tree(DOMAIN.shape, tables))
    _, beliefs = model.normalise(2 * seeded(seed).normal(size=model.size))
    return GraphicalModel(DOMAIN, model.junction, beliefs)


def cell_shares(model):
    """The distribution of a model over all cells of the domain."""
    if isinstance(model, Histogram):
        return model.D
    if isinstance(model, SyntheticRows):
        return np.bincount(DOMAIN.cell_numbers(model.codes), model.counts, DOMAIN.size) / sum(
            model.counts
        )
    if isinstance(model, GraphicalModel):
        return model.table(tuple(range(5))).ravel()
    starts = np.cumsum([0, *DOMAIN.shape[:-1]])
    products = model.probabilities[:, CELLS + starts].prod(axis=2)
    return model.weights @ products


def column_blocks():
    draws = [seeded(a).dirichlet(np.ones(size), size=4) for a, size in enumerate(DOMAIN.shape)]
    return np.hstack(draws)


MODELS = {
    "histogram": Histogram(DOMAIN, seeded(1).dirichlet(np.ones(DOMAIN.size))),
    "rows": SyntheticRows.from_rows(DOMAIN, CELLS[seeded(2).integers(DOMAIN.size, size=90)]),
    "mixture": ProductMixture(DOMAIN, column_blocks(), np.array([0.4, 0.3, 0.2, 0.1])),
    "chain": tree_of((0, 1), (1, 2), (2, 3), (3, 4)),
    "star": tree_of((0, 2), (1, 2), (2, 3, 4)),
    "separators in another order": tree_of((2, 4), (0, 1, 2), (0, 2, 3), seed=8),
    "forest": tree_of((0, 1), (2, 3), (4,)),
    "one clique": tree_of((0, 1, 2, 3, 4)),
    "cycle": tree_of((0, 1), (1, 2), (2, 3), (3, 4), (0, 4)),
}
GIVEN = [(), (0,), (4,), (0, 4), (1, 3), (0, 2, 4), (0, 1, 2, 3, 4)]


@parametrize("given", GIVEN)
@parametrize("name", MODELS)
def test_columns_are_drawn_from_the_conditional_distribution(name, given, monkeypatch):
    monkeypatch.setattr("dpcore.models.conditional_rows.MAX_GIVEN_CELLS", 40)
    monkeypatch.setattr("dpcore.models.releases.MAX_GIVEN_CELLS", 7)
    model = MODELS[name]
    assert isinstance(model, RowModel)
    shares = cell_shares(model).reshape(DOMAIN.shape)
    others = tuple(a for a in range(5) if a not in given)
    marginal = shares.sum(axis=others, keepdims=True)
    possible = np.argwhere(marginal.reshape([DOMAIN.shape[a] for a in given]) > 0)
    rows_each = 40_000 // len(possible)
    codes = np.zeros((rows_each * len(possible), 5), dtype=np.int64)
    codes[:, given] = np.repeat(possible, rows_each, axis=0)
    rng = seeded(3)
    order = rng.permutation(len(codes))
    drawn = model.complete_codes(codes[order], given, rng)
    assert (drawn[:, given] == codes[order][:, given]).all()
    expected = np.divide(shares, marginal, out=np.zeros_like(shares), where=marginal > 0)
    counts = np.bincount(DOMAIN.cell_numbers(drawn), minlength=DOMAIN.size) / rows_each
    assert counts == approx(expected.ravel(), abs=0.05)
    # independent draws would leave about 0.8 √(168/40,000) = 0.05 of each given row's shares
    assert np.abs(counts - expected.ravel()).sum() / len(possible) < 0.07


@parametrize("name", MODELS)
def test_a_single_row_is_drawn_so_too(name):
    """Given the ends, the middle of one row has its conditional distribution over many draws."""
    model = MODELS[name]
    shares = cell_shares(model).reshape(DOMAIN.shape)
    head = np.unravel_index(shares.sum(axis=(1, 2, 3)).argmax(), (2, 7))
    rng = seeded(4)
    given = np.zeros((1, 5), dtype=np.int64)
    given[0, [0, 4]] = head
    middles = [model.complete_codes(given, (0, 4), rng)[0, 1:4] for _ in range(600)]
    counts = np.zeros((3, 2, 2))
    np.add.at(counts, tuple(np.array(middles).T), 1 / len(middles))
    expected = shares[head[0], ..., head[1]]
    assert counts == approx(expected / expected.sum(), abs=0.09)


def test_a_group_shares_its_rows_in_proportion_to_within_one():
    weights = np.array([3, 0, 1, 5, 2, 0])
    group = np.array([7, 7, 2, 7, 2, 9])
    drawn = sample_within_groups(weights, group, np.repeat([7, 2, 7], [9, 3, 7]), seeded(0))
    counts = np.bincount(drawn, minlength=6)
    assert counts.tolist() == [6, 0, 1, 10, 2, 0]
    assert group[drawn].tolist() == [7] * 9 + [2] * 3 + [7] * 7


def test_what_no_row_agrees_with_stays_as_it_is():
    model = SyntheticRows.from_rows(DOMAIN, CELLS[:3])
    stranger = np.array([[1, 2, 1, 1, 2], [0, 0, 0, 0, 0]])
    completed = model.complete_codes(stranger, (0, 1), seeded(0))
    assert completed[0].tolist() == stranger[0].tolist()
    assert completed[1].tolist() in CELLS[:3].tolist()
