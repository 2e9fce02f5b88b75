"""A public start, on listed cells and on a tree: what stays empty, and what any number of columns
gains by it.
"""

import itertools

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run, domain_from_json
from dpcore.core.parameters import build_from_texts
from dpcore.evaluation.sweeps.sweep import sweep_identity
from dpcore.models.junction_tree import build_junction_tree
from dpcore.models.listed_cells import ListedCellsModel
from dpcore.models.releases import Histogram, SyntheticRows
from dpcore.models.tree_model import JunctionTreeModel
from dpcore.problems import PublicStart, public_start_from_table
from tests.small_problems import (
    QUERIES,
    approx,
    can_plan,
    equal_columns_domain,
    expect_error,
    final_errors,
    histogram,
    integer_domain,
    parametrize,
    plan_of,
    query_problem,
    run_to_end,
    seeded,
    variants,
)

BUDGET = Budget(1.0, 1e-9)


@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_a_tree_takes_of_a_start_what_its_cliques_hold(seed, support, chordal):
    rng = seeded(seed)
    domain = integer_domain(3, 2, 4, 2)
    tables = [(0, 1), (1, 2), (2, 3)] if chordal else [(0, 1, 2, 3)]
    source = SyntheticRows.from_rows(
        domain, np.column_stack([rng.integers(size, size=6) for size in domain.shape])
    )
    start = PublicStart(domain, source, 6, support)
    tree = JunctionTreeModel(domain, build_junction_tree(domain.shape, tables))
    log_z, beliefs = tree.normalise(tree.public_start_potentials(start))
    assert log_z == approx(0, abs=1e-9), "potentials of a distribution"
    inside = Marginals(domain, [[domain.names[a] for a in axes] for axes in tables])
    assert np.abs(tree.release(beliefs).answers(inside) - start.answers(inside)).max() < 1e-12
    _, D = ListedCellsModel(domain).normalise(
        ListedCellsModel(domain).public_start_potentials(start)
    )
    assert np.abs(D - start.probabilities).max() < 1e-12
    if not chordal:
        assert (
            np.abs(tree.release(beliefs).answers(Marginals(domain, [domain.names])) - D).max()
            < 1e-12
        )


def test_a_table_is_the_same_start_listed_and_not():
    domain = integer_domain(3, 2)
    frame = pd.DataFrame({"a": [0, 0, 2], "b": [1, 1, 0]})
    rows = domain.encode(frame)
    for support in (False, True):
        listed = public_start_from_table(domain, frame, keeps_support=support)
        told = PublicStart(
            domain, SyntheticRows(domain, rows.values, rows.weights), rows.n, support
        )
        assert np.allclose(listed, told.probabilities, atol=1e-15)
        assert np.allclose(QueryRelease(Marginals.all(domain, 1), 9, 1, told).prior, listed)


def test_a_start_of_another_domain_is_refused_and_so_is_one_that_cannot_be():
    a = integer_domain(3, 2)
    b = integer_domain(2, 3)
    flat = PublicStart(b, Histogram(b, np.full(6, 1 / 6)), 9)
    with expect_error("another schema"):
        QueryRelease(Marginals.all(a, 1), 9, 1, flat)
    typed = domain_from_json(
        {
            "columns": {n: {"kind": "integer", "size": 2} for n in "ab"},
            "constraints": [{"order": ["a", "b"]}],
        }
    )
    only = PublicStart(typed, Histogram(typed, np.array([0, 0, 1.0, 0])), 9, keeps_support=True)
    with expect_error("only combinations that the schema's constraints forbid"):
        QueryRelease(Marginals.all(typed, 1), 9, 1, only)


WIDE = equal_columns_domain(12, 6)


def chain(n, seed):
    """Rows of a chain: each column is near the one before it."""
    rng = seeded(seed)
    out = np.empty((n, 12), dtype=np.int64)
    out[:, 0] = rng.integers(6, size=n)
    for i in range(1, 12):
        out[:, i] = np.clip(out[:, i - 1] + rng.choice([-1, 0, 1], size=n, p=[0.2, 0.6, 0.2]), 0, 5)
    return out


def wide(n=500, seed=0, start=None):
    rows = WIDE.group_rows(chain(n, seed))
    return QueryRelease(Marginals(WIDE, itertools.pairwise(WIDE.names)), rows.n, 1, start), rows


def test_a_start_makes_answers_on_a_tree_better_and_an_earlier_release_serves_as_one():
    start = public_start_from_table(WIDE, pd.DataFrame(chain(20_000, 7), columns=WIDE.names))
    assert isinstance(start, PublicStart), "two billion cells are not listed"
    earlier = run_to_end("gaussian_maxent", *wide(20_000, 8), BUDGET).release
    error = {}
    for name, given_ in (
        ("none", None),
        ("table", start),
        ("release", PublicStart(WIDE, earlier, 20_000)),
    ):
        problem, rows = wide(start=given_)
        runs = (
            run_to_end("gaussian_maxent", problem, rows, Budget(0.1, 1e-9), seed=s) for s in (0, 1)
        )
        found = list(runs)
        assert found[0].problem.facts.public_start == (given_ is not None)
        assert found[0].sample(20).shape == (20, 12)
        error[name] = np.mean([final_errors(run).mean_l1 for run in found])
    assert error["table"] < 0.6 * error["none"]
    assert error["release"] < 0.6 * error["none"]


def test_charges_do_not_depend_on_a_start_and_others_say_that_they_cannot_take_it():
    start = public_start_from_table(WIDE, pd.DataFrame(chain(50, 7), columns=WIDE.names))
    plans = [plan_of("gaussian_maxent", wide(start=s)[0], BUDGET) for s in (None, start)]
    assert plans[0].planned_events == plans[1].planned_events
    with expect_error("keeps no histogram and cannot start from a public table"):
        plan_of("rap", wide(start=start)[0], BUDGET)


def test_sweeps_with_another_start_are_other_sweeps():
    starts = [
        public_start_from_table(WIDE, pd.DataFrame(chain(n, 7), columns=WIDE.names))
        for n in (50, 60)
    ]
    digests = {
        sweep_identity(wide(start=s)[0])["start_sha256"]
        for s in (None, starts[0], starts[1], starts[0])
    }
    assert len(digests) == 3


HISTOGRAMS = [name for name, cls in QUERIES.items() if cls.graphical]


@parametrize("budget", [Budget(0.5, 1e-6), Budget(0.5, 0)])
@parametrize("name, settings", [variant for variant in variants() if variant[0] in HISTOGRAMS])
def test_cells_outside_the_support_stay_empty_at_every_step(name, settings, budget):
    if not can_plan(name, settings, "3-way of 4", budget):
        return
    problem, rows = query_problem("3-way of 4")
    start = histogram(problem.domain, rows) * (np.arange(problem.domain.size) % 3 > 0)
    start /= start.sum()
    problem = QueryRelease(problem.workload, problem.n, start=start)
    run = Run(build_from_texts(ALGORITHMS[name], settings), problem, rows, budget)
    for _ in run:
        D = run.release.D
        assert (D[start == 0] == 0).all()
        assert (D >= 0).all()
        assert D.sum() == approx(1, abs=1e-9)
