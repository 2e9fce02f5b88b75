"""What the schema's constraints forbid has no mass in any model, and no row of any algorithm has
it.
"""

from dataclasses import fields

import numpy as np
from hypothesis import assume, given

from dpcore import Marginals, Run, domain_from_json
from dpcore.algorithms.algorithm import (
    CONSTRAINTS_IN_MODEL_NOTE,
    CONSTRAINTS_IN_ROWS_NOTE,
    make_plan,
)
from dpcore.core.parameters import build_from_texts
from dpcore.models.constraint_tree import constraint_junction_tree
from dpcore.models.junction_tree import build_junction_tree
from dpcore.models.listed_cells import ListedCellsModel
from dpcore.models.tree_model import JunctionTreeModel
from tests.models.test_junction_tree import every_table, models
from tests.small_problems import (
    BUDGET,
    QUERIES,
    all_cells,
    all_tables,
    approx,
    categorical,
    domain_of,
    expect_error,
    few_rounds,
    integer,
    parametrize,
    random_rows,
    seeded,
)


@given(models(holes=5))
def test_listed_cells_and_a_tree_give_what_is_forbidden_no_mass_and_else_the_same(found):
    workload, tree, w = found
    domain = workload.domain
    theta = workload.adjoint(w)
    possible = domain.possible_rows_mask(all_cells(domain))
    assume(theta[possible].max() > -np.inf)
    log_z, D = ListedCellsModel(domain).normalise(theta)
    weights = np.exp(np.where(possible, theta, -np.inf) - theta[possible].max())
    assert np.abs(D - weights / weights.sum()).max() < 1e-12
    assert (D[~possible] == 0).all()
    own, beliefs = tree.normalise(tree.reader(workload).adjoint(w))
    assert own == approx(log_z, abs=1e-9, rel=1e-12)
    assert np.abs(tree.reader(workload).answers(beliefs) - workload.answers(D)).max() < 1e-10
    every = every_table(domain)
    assert np.abs(tree.release(beliefs).answers(every) - every.answers(D)).max() < 1e-10
    assert domain.possible_rows_mask(tree.release(beliefs).sample_codes(50, seeded(0))).all()


def test_a_tree_without_a_clique_for_a_constraint_gets_one():
    domain = domain_from_json(
        {
            "columns": {n: {"kind": "integer", "size": 3} for n in "abc"},
            "constraints": [{"order": ["a", "c"]}],
        }
    )
    tree = JunctionTreeModel(domain, build_junction_tree(domain.shape, [(0, 1)]))
    assert tree.junction.clique_containing((0, 2)) is not None
    assert tree.junction.clique_containing((0, 1)) is not None
    _, beliefs = tree.normalise(np.zeros(tree.size))
    assert np.array_equal(tree.release(beliefs).table((0, 2)) > 0, np.triu(np.ones((3, 3))) > 0)
    assert constraint_junction_tree(domain).clique_containing((0, 2)) is not None


def test_constraints_that_tie_too_much_together_are_refused_before_anything_is_held():
    columns = {f"c{i}": {"kind": "integer", "size": 40} for i in range(20)}
    domain = domain_from_json({"columns": columns, "constraints": [{"order": list(columns)}]})
    with expect_error(
        "tie columns together over at least 10\\^32 combinations, more than the 10,000,000"
    ):
        constraint_junction_tree(domain)
    problem = all_tables(domain, 1000)
    with expect_error("tie columns together"):
        make_plan(QUERIES["gaussian_maxent"](), problem, BUDGET)


TYPED = {
    "columns": {
        "start": integer(0, 3),
        "end": integer(0, 3),
        "job": categorical("a", "b", "c"),
        "site": categorical("x", "y"),
    },
    "constraints": [
        {"order": ["start", "end"]},
        {"within": ["job", "site"], "which": {"a": "x", "b": "y"}},
        {"impossible": {"start": 3, "job": "c", "site": "y"}},
    ],
}
DOMAIN = domain_from_json(TYPED)
FREE = domain_of(TYPED["columns"])
ALLOWED = DOMAIN.possible_rows_mask(all_cells(DOMAIN))


def algorithms():
    """Every algorithm for queries, once on listed cells and once on a tree where it takes one, at δ
    that it takes.
    """
    for name, cls in QUERIES.items():
        for measure in (
            ("query", "marginal") if "measure" in {f.name for f in fields(cls)} else ("",)
        ):
            base = few_rounds(name) | ({"measure": measure} if measure else {})
            yield name, base
            if cls.graphical:
                yield name, base | {"cells": "40"}


@parametrize("name, settings", list(algorithms()))
def test_no_row_of_any_algorithm_breaks_a_constraint_that_records_break(name, settings):
    rows = random_rows(DOMAIN, 400, seed=1)
    assert not DOMAIN.possible_rows_mask(rows.values).all()
    algorithm = build_from_texts(QUERIES[name], settings)
    run = Run(algorithm, all_tables(DOMAIN, rows.n), rows, BUDGET).finish()
    assert DOMAIN.possible_rows_mask(DOMAIN.encode(run.sample(500)).values).all()
    choice = next(c for c in run.plan.settings if c.name == "constraints")
    held = algorithm.enumerates or algorithm.graphical
    assert choice.why == (CONSTRAINTS_IN_MODEL_NOTE if held else CONSTRAINTS_IN_ROWS_NOTE)
    assert str(choice.value).startswith("3, kept by ")
    if held:
        answers = run.release.answers(Marginals(DOMAIN, [DOMAIN.names]))
        assert np.abs(answers[~ALLOWED]).max() < 1e-12
        assert answers.sum() == approx(1, abs=1e-9)


def test_a_plan_without_constraints_says_nothing_of_them_and_charges_do_not_depend_on_them():
    for name, settings in algorithms():
        plans = [
            make_plan(build_from_texts(QUERIES[name], settings), all_tables(d, 400), BUDGET)
            for d in (FREE, DOMAIN)
        ]
        assert plans[0].planned_events == plans[1].planned_events, name
        assert [c for c in plans[1].settings if c.name != "constraints"] == list(
            plans[0].settings
        ) or "cells" in settings
