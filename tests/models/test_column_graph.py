"""Triangulations on bit sets against plain ones on sets, which count everything anew at each step."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.models.column_graph import ColumnGraph, columns_in
from dpcore.models.junction_tree import build_junction_tree
from tests.small_problems import seeded

RULES = (
    lambda missing, cells: missing,
    lambda missing, cells: cells,
    lambda missing, cells: (1 + missing) * cells,
)


def plain_graph(column_count, tables):
    """The set of neighbours of each column."""
    pairs = {frozenset(pair) for axes in tables for pair in itertools.combinations(axes, 2)}
    return {a: {b for b in range(column_count) if {a, b} in pairs} for a in range(column_count)}


def plain_counts(shape, graph, a):
    """The pairs of a column's neighbours that are not tied, and the cells over it and them."""
    pairs = itertools.combinations(sorted(graph[a]), 2)
    missing = sum(c not in graph[b] for b, c in pairs)
    return missing, math.prod(shape[b] for b in {a, *graph[a]})


def plain_cliques(shape, tables, rule):
    """The maximal cliques of one order of elimination."""
    graph = plain_graph(len(shape), tables)
    cliques = []
    while graph:
        a = min(graph, key=lambda a: (rule(*plain_counts(shape, graph, a)), a))
        neighbours = graph.pop(a)
        cliques.append({a, *neighbours})
        for b in neighbours:
            graph[b] = (graph[b] | neighbours) - {a, b}
    maximal = [c for c in cliques if not any(c < other for other in cliques)]
    return sorted(tuple(sorted(clique)) for clique in maximal)


def cell_count(shape, cliques):
    return sum(math.prod(shape[a] for a in clique) for clique in cliques)


def random_graph(seed):
    """A shape of up to 12 columns, and tables over them, few or many."""
    rng = seeded(seed)
    column_count = int(rng.integers(1, 13))
    shape = rng.choice([2, 3, 4, 6, 8, 42], size=column_count).tolist()
    tables = []
    for _ in range(int(rng.integers(0, 3 * column_count))):
        size = int(rng.integers(1, min(3, column_count) + 1))
        tables.append(tuple(sorted(rng.choice(column_count, size, replace=False).tolist())))
    return shape, tables


@given(st.integers(0, 2**32))
def test_every_triangulation_is_the_plain_one(seed):
    shape, tables = random_graph(seed)
    triangulations = list(ColumnGraph(shape, tables).triangulations())
    assert len(triangulations) == len(RULES)
    for triangulation, rule in zip(triangulations, RULES, strict=True):
        cliques = sorted(map(columns_in, triangulation.cliques))
        assert cliques == plain_cliques(shape, tables, rule)
        assert triangulation.cells == cell_count(shape, cliques)


@given(st.integers(0, 2**32))
def test_a_further_table_fits_where_the_tree_with_it_does(seed):
    shape, tables = random_graph(seed)
    graph = ColumnGraph(shape, tables)
    before = (graph.neighbours.copy(), graph.missing.copy(), graph.cells.copy())
    rng = seeded(seed)
    axes = tuple(sorted(rng.choice(len(shape), min(3, len(shape)), replace=False).tolist()))
    cells = build_junction_tree(shape, [*tables, axes]).cells
    assert graph.fits_tree_with(axes, cells)
    assert not graph.fits_tree_with(axes, cells - 1)
    assert before == (graph.neighbours, graph.missing, graph.cells), "it is only tried"


@given(st.integers(0, 2**32))
def test_counts_stay_true_while_columns_are_eliminated(seed):
    shape, tables = random_graph(seed)
    graph = ColumnGraph(shape, tables)
    plain = plain_graph(len(shape), tables)
    for a in seeded(seed).permutation(len(shape)).tolist():
        for b in plain:
            assert set(columns_in(graph.neighbours[b])) == plain[b]
            assert (graph.missing[b], graph.cells[b]) == plain_counts(shape, plain, b)
        graph.eliminate(a)
        neighbours = plain.pop(a)
        for b in neighbours:
            plain[b] = (plain[b] | neighbours) - {a, b}


@pytest.mark.parametrize("columns", [(), (0,), (3, 70), (0, 63, 64, 200)])
def test_a_bit_set_holds_columns_of_any_number(columns):
    assert columns_in(sum(1 << a for a in columns)) == columns
