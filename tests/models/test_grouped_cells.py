"""All cells held as three factors: the same distribution as an array of them, in less work."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given

from dpcore import Marginals
from dpcore.algorithms.query_release import maximum_entropy
from dpcore.models import grouped_cells
from dpcore.models.grouped_cells import GroupedCellsModel, column_groups, grouped_model
from dpcore.models.listed_cells import ListedCellsModel
from tests.models.test_junction_tree import models
from tests.small_problems import (
    all_cells,
    all_tables,
    approx,
    integer_domain,
    random_rows,
    run_to_end,
    seeded,
)


@given(models(holes=5))
def test_grouped_cells_are_the_listed_ones(found):
    workload, _, w = found
    domain = workload.domain
    groups = column_groups(domain.shape, [*workload.axes, *domain.allowed_tables])
    assume(groups is not None)
    possible = domain.possible_rows_mask(all_cells(domain))
    assume(workload.adjoint(w)[possible].max() > -np.inf)
    listed = ListedCellsModel(domain)
    log_z, D = listed.normalise(workload.adjoint(w))
    model = GroupedCellsModel(domain, groups)
    reader = model.reader(workload)
    grouped_log_z, beliefs = model.normalise(reader.adjoint(w))
    assert grouped_log_z == approx(log_z, abs=1e-9, rel=1e-12)
    assert np.abs(reader.answers(beliefs) - workload.answers(D)).max() < 1e-10
    assert np.abs(model.release(beliefs).D - D).max() < 1e-10


@pytest.mark.parametrize("scale", [1, 30, 1000, 1e5])
def test_potentials_however_large_lose_no_cell_that_matters(scale):
    """No combination has the maxima of all three factors: scaled by these, all would underflow."""
    domain = integer_domain(3, 4, 3)
    pairs = Marginals.all(domain, 2)
    w = scale * seeded(0).normal(size=pairs.m)
    model = GroupedCellsModel(domain, column_groups(domain.shape, pairs.axes))
    log_z, beliefs = model.normalise(model.reader(pairs).adjoint(w))
    listed_log_z, D = ListedCellsModel(domain).normalise(pairs.adjoint(w))
    assert log_z == approx(listed_log_z)
    assert np.abs(model.reader(pairs).answers(beliefs) - pairs.answers(D)).max() < 1e-9


def test_groups_have_about_as_many_cells_and_a_table_over_all_three_has_no_groups():
    shape = (6, 9, 8, 60, 11, 11, 3)
    pairs = [*itertools.combinations(range(7), 2)]
    groups = column_groups(shape, pairs)
    assert sorted(a for group in groups for a in group) == [*range(7)]
    assert [np.prod([shape[a] for a in group]) for group in groups] == [360, 99, 264]
    across = tuple(sorted(group[0] for group in groups))
    assert column_groups(shape, [*pairs, across]) is None
    assert column_groups(shape, [*pairs, groups[2]]) == groups, "a triple within a group"


def test_few_cells_and_other_queries_are_not_grouped():
    pairs = Marginals.all(integer_domain(50, 50, 50), 2)
    assert isinstance(grouped_model(pairs.domain, pairs), GroupedCellsModel)
    assert grouped_model(pairs.domain, Marginals.all(pairs.domain, 3)) is None
    few = Marginals.all(integer_domain(5, 5, 5), 2)
    assert grouped_model(few.domain, few) is None


def test_a_fit_in_groups_releases_what_a_fit_to_listed_cells_does(monkeypatch):
    domain = integer_domain(6, 3, 5, 4)
    problem = all_tables(domain, 500)
    rows = random_rows(domain, 500)
    listed = run_to_end("gaussian_maxent", problem, rows)
    monkeypatch.setattr(grouped_cells, "MIN_GROUPED_CELLS", 1)
    cells_of_steps = []
    release = GroupedCellsModel.release

    def note_release(model, beliefs):
        cells_of_steps.append(model.domain.size)
        return release(model, beliefs)

    monkeypatch.setattr(GroupedCellsModel, "release", note_release)
    grouped = run_to_end("gaussian_maxent", problem, rows)
    assert np.abs(grouped.release.D - listed.release.D).max() < 1e-6
    assert cells_of_steps == [domain.size] * 4, "the first and the last of both stages"
    plan = maximum_entropy.GaussianMaxEnt().plan(problem, grouped.plan.budget)
    assert plan["cells"] == domain.size
    assert plan["rounds"] == 4
