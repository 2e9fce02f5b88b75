"""Junction trees against listed cells: every number that a tree gives is one that brute force gives
too.
"""

import gc
import itertools
import weakref

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from dpcore import Explicit, InputError, Marginals, QueryRelease, TableQueries, domain_from_json
from dpcore.algorithms.query_release.maximum_entropy import first_and_last_of_stages
from dpcore.models.junction_tree import (
    JunctionTree,
    build_junction_tree,
    min_junction_tree_cells,
    table_cell_count,
)
from dpcore.models.listed_cells import ListedCellsModel
from dpcore.models.tree_model import JunctionTreeModel
from tests.small_problems import (
    BUDGET,
    D324,
    approx,
    expect_error,
    ignore_privacy_warnings,
    integer_domain,
    plan_of,
    seeded,
)

SMALL = st.lists(st.integers(1, 4), min_size=2, max_size=5)


def tables(draw, d):
    """Some tables over d columns."""
    every = [axes for ways in (1, 2, 3) for axes in itertools.combinations(range(d), ways)]
    return draw(st.lists(st.sampled_from(every), min_size=1, max_size=6, unique=True))


@st.composite
def models(draw, holes=0):
    """Tables over a domain where up to so many cells are forbidden, a tree over them, and weights w
    (m,), a few −∞.
    """
    shape = draw(SMALL)
    rng = seeded(draw(st.integers(0, 2**32)))
    columns = {"abcdef"[a]: {"kind": "integer", "size": size} for a, size in enumerate(shape)}
    forbidden = tables(draw, len(shape))[: draw(st.integers(0, holes))]
    lacks = [
        {"impossible": {"abcdef"[a]: int(rng.integers(shape[a])) for a in axes}}
        for axes in forbidden
    ]
    try:
        domain = domain_from_json({"columns": columns, "constraints": lacks})
    except InputError:  # no record is left
        reject()
    chosen = tables(draw, len(shape))
    workload = Marginals(domain, [[domain.names[a] for a in axes] for axes in chosen])
    w = rng.normal(size=workload.m) * draw(st.sampled_from([0.1, 3.0, 800.0]))
    w[rng.random(workload.m) < draw(st.sampled_from([0.0, 0.2]))] = -np.inf
    return (
        workload,
        JunctionTreeModel(
            domain, build_junction_tree(domain.shape, [*chosen, *domain.allowed_tables])
        ),
        w,
    )


def every_table(domain):
    names = domain.names
    return Marginals(
        domain,
        [c for ways in range(1, len(names) + 1) for c in itertools.combinations(names, ways)],
    )


@given(SMALL, st.data())
def test_a_junction_tree_covers_its_tables_and_hangs_together(shape, data):
    chosen = tables(data.draw, len(shape))
    tree = build_junction_tree(shape, chosen)
    assert all(tree.clique_containing(axes) is not None for axes in chosen)
    assert set().union(*tree.cliques) == set(range(len(shape)))
    assert tree.parents[0] == -1
    assert all(0 <= parent < i for i, parent in enumerate(tree.parents) if i)
    assert not any(set(a) < set(b) for a in tree.cliques for b in tree.cliques)
    assert tree.cells == sum(table_cell_count(shape, clique) for clique in tree.cliques)
    for column in range(
        len(shape)
    ):  # the cliques of a column make one subtree: all but its top have it in common
        tops = [
            i
            for i, c in enumerate(tree.cliques)
            if column in c and column not in tree.separators[i]
        ]
        assert len(tops) == 1
    assert min_junction_tree_cells(shape, chosen) <= tree.cells, "no tree has fewer"


def test_all_pairs_of_many_columns_are_known_to_fit_no_tree():
    assert min_junction_tree_cells([2] * 300, list(itertools.combinations(range(300), 2))) == 2**300
    assert min_junction_tree_cells([2, 3, 4], [(0, 1), (1, 2)]) == 6


def test_a_cycle_is_triangulated_and_a_domain_in_one_table_is_one_clique():
    ring = build_junction_tree((2, 3, 4, 5), [(0, 1), (1, 2), (2, 3), (3, 0)])
    assert sorted(map(len, ring.cliques)) == [3, 3]
    assert set(ring.separators[1]) == {0, 2}, "the chord with fewer cells"
    assert build_junction_tree((2, 3, 4), [(0, 1, 2)]).cliques == ((0, 1, 2),)
    assert build_junction_tree((2, 3, 4), []).cliques == ((2,), (0,), (1,))


def test_cells_lie_with_the_largest_column_innermost_and_a_lone_clique_keeps_its_order():
    tree = build_junction_tree((4, 3, 2), [(0, 1), (1, 2)])
    tables = [
        seeded(i).random([tree.shape[a] for a in clique]) for i, clique in enumerate(tree.cliques)
    ]
    vector = tree.vector_of(tables)
    assert tree.memory_orders == ((1, 0), (2, 1))
    assert np.array_equal(vector, np.concatenate([table.T.ravel() for table in tables]))
    assert all(np.array_equal(*pair) for pair in zip(tree.tables(vector), tables, strict=True))
    assert build_junction_tree((4, 3, 2), [(0, 1, 2)]).memory_orders == ((0, 1, 2),)


@given(models(), st.integers(0, 99))
def test_reweighting_clique_by_clique_is_reweighting_all_cells(found, seed):
    """A tour lets every query's cells be multiplied where it stands, and leaves all cliques in
    tune.
    """
    workload, tree, w = found
    rng = seeded(seed)
    w = np.where(np.isinf(w), 0.0, np.clip(w, -3, 3))
    theta = tree.reader(workload).adjoint(w)
    listed = ListedCellsModel(workload.domain)
    chosen = rng.choice(workload.m, size=min(4, workload.m), replace=False)
    factors = {int(j): float(rng.normal()) for j in chosen}
    _, D = listed.normalise(workload.adjoint(w))
    _, beliefs = tree.normalise(theta)
    places = {j: tree.query_support(workload, j) for j in factors}
    order = []
    for part, table in tree.visit_cliques(beliefs, {at.clique_number for at in places.values()}):
        order.append(part)
        for j, at in places.items():
            if at.clique_number == part:
                view = table.transpose(at.axis_order)
                before = view[at.cells].sum() / table.sum()
                assert before == approx(workload.answers(D)[j], abs=1e-10), (
                    "in tune when it is visited"
                )
                view[at.cells] *= np.exp(factors[j] * at.q)
                listed.add_query(
                    expected := np.zeros(workload.domain.size), workload, j, factors[j]
                )
                D = D * np.exp(expected)
                D /= D.sum()
                tree.add_query(theta, workload, j, factors[j])
    assert sorted(order) == sorted({at.clique_number for at in places.values()})
    beliefs *= len(tree.cliques) / beliefs.sum()
    assert np.abs(tree.reader(workload).answers(beliefs) - workload.answers(D)).max() < 1e-10
    assert np.abs(tree.normalise(theta)[1] - beliefs).max() < 1e-10, "and what added queries say"


def test_sixteen_columns_of_forty_two_values_neither_overflow_nor_underflow():
    domain = integer_domain(*[42] * 16)
    chain = [(a, a + 1) for a in range(15)]
    tree = JunctionTreeModel(domain, build_junction_tree(domain.shape, chain))
    workload = Marginals(domain, [[domain.names[a] for a in pair] for pair in chain])
    # Each column is all but the same as the one before it, by e^2000 to one.
    w = np.concatenate([np.where(np.eye(42), 1000.0, -1000.0).ravel() for _ in chain])
    log_z, beliefs = tree.normalise(tree.reader(workload).adjoint(w))
    assert log_z == approx(15_000 + np.log(42))
    pair = tree.release(beliefs).table((0, 15))
    assert np.allclose(pair, np.eye(42) / 42)


def test_a_tree_keeps_no_workload_alive():
    tree = JunctionTreeModel(D324, build_junction_tree(D324.shape, [(0, 2)]))
    asked = []
    for make in (lambda: TableQueries.ranges(D324, "ac"), lambda: Marginals(D324, ["a"])):
        workload = make()
        tree.reader(workload)
        asked.append(weakref.ref(workload))
        del workload
    gc.collect()
    assert [one() for one in asked] == [None, None]
    assert len(tree._reader_cache) == 0


@given(models(), st.integers(0, 99))
def test_rows_stand_as_often_as_the_model_says(found, seed):
    workload, tree, w = found
    theta = tree.reader(workload).adjoint(np.where(np.isinf(w), -np.inf, np.clip(w, -3, 3)))
    if workload.adjoint(w).max() == -np.inf:
        return
    release = tree.release(tree.normalise(theta)[1])
    n = 2000
    rows = workload.domain.group_rows(release.sample_codes(n, seeded(seed)))
    whole = Marginals(
        workload.domain, [[workload.domain.names[a] for a in tree.junction.cliques[0]]]
    )
    gaps = np.abs(whole.answers_of_rows(rows) - release.answers(whole))
    assert gaps.max() <= 1 / n + 1e-9, "the first clique by systematic sampling"
    every = every_table(workload.domain)
    exact = release.answers(every)
    own = every.answers_of_rows(rows)
    assert (own[exact == 0] == 0).all(), "what cannot be is not drawn"
    assert np.abs(own - exact).max() < 0.05
    assert len(release.sample(7, seeded(0))) == 7


@pytest.mark.parametrize("states, most", [(2, 0.5), (40, 0.65), (400, 0.85)])
def test_rows_alike_in_the_largest_column_share_what_is_drawn_after_it_and_nothing_else_is_tied(
    states, most
):
    junction = JunctionTree((states, 100, 5, 5), ((0, 1), (0, 2), (0, 3)), (-1, 0, 0))
    tree = JunctionTreeModel(integer_domain(*junction.shape), junction)
    release = tree.release(tree.normalise(seeded(0).normal(size=tree.size))[1])
    pairs = Marginals(tree.domain, ["bc", "bd", "cd"])
    exact = release.answers(pairs)
    gaps = np.abs(
        pairs.answers_of_rows(tree.domain.group_rows(release.sample_codes(4000, seeded(0)))) - exact
    )
    gaps /= np.sqrt(exact * (1 - exact) / 4000)  # of independent draws, 0.8 on average
    spread, too, apart = (gaps[table].mean() for table in pairs.tables)
    assert max(spread, too) < most
    assert apart < 0.95


def test_first_and_last_of_every_stage_are_shown():
    told = [(np.array([i]), note) for i, note in enumerate("aaabcc")]
    assert [(int(D[0]), note) for D, note in first_and_last_of_stages(iter(told))] == [
        (0, "a"),
        (2, "a"),
        (3, "b"),
        (4, "c"),
        (5, "c"),
    ]
    assert list(first_and_last_of_stages(iter([]))) == []


@ignore_privacy_warnings
def test_named_tables_that_a_tree_holds_are_measured_once_with_the_whole_budget():
    problem = QueryRelease(Marginals(integer_domain(*[4] * 16), ["ab", "bc", "op"]), 500)
    plan = plan_of("gaussian_maxent", problem, BUDGET)
    small = QueryRelease(Marginals(integer_domain(4, 4, 4, 4, 4), ["ab", "bc", "de"]), 500)
    assert plan.planned_events == plan_of("gaussian_maxent", small, BUDGET).planned_events


def test_queries_on_tables_are_answered_in_whichever_clique_they_lie_and_a_matrix_is_refused():
    domain = integer_domain(2, 3, 4)
    rng = seeded(0)
    tree = JunctionTreeModel(domain, build_junction_tree(domain.shape, [(0, 1), (1, 2)]))
    asked = TableQueries(
        domain,
        [(names, rng.choice([0.0, 0.5, -1.0], (4, k))) for names, k in (("ab", 6), ("bc", 12))],
    )
    w = rng.normal(size=asked.m)
    homes = set()
    _, beliefs = tree.normalise(tree.reader(asked).adjoint(w))
    _, D = ListedCellsModel(domain).normalise(asked.adjoint(w))
    answers = tree.reader(asked).answers(beliefs)
    assert answers == approx(asked.answers(D), abs=1e-12)
    assert tree.release(beliefs).answers(asked) == approx(answers, abs=1e-12)
    for j in range(asked.m):
        at = tree.query_support(asked, j)
        own = np.zeros(tree.size)
        homes.add(at.clique_number)
        assert (
            tree.junction.table(beliefs, at.clique_number).transpose(at.axis_order)[at.cells] * at.q
        ).sum() == approx(answers[j])
        tree.add_query(own, asked, j, 2.0)
        assert np.array_equal(own, tree.reader(asked).adjoint(2.0 * (np.arange(asked.m) == j)))
    assert homes == {0, 1}
    with expect_error("explicit matrix"):
        tree.reader(Explicit(domain, np.ones((1, 24))))
    with expect_error("no clique of the model holds a × c"):
        tree.reader(Marginals(domain, ["ac"]))
