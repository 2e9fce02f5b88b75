"""Workloads against matrices built cell by cell: marginals, ranges, prefixes, conjunctions,
half-spaces and unions.

What they cost, what is measured for them, their labels and refusals, and how the command line names
them.
"""

import itertools
import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from dpcore import Explicit, Marginals, TableQueries, Union, read_queries, samples
from dpcore.models.listed_cells import ListedCellsModel
from dpcore.privacy.statistics.query_answers import Answers, SignedErrors, require_known_workload
from dpcore.queries.workload import max_column_distance
from tests.small_problems import (
    all_cells,
    approx,
    binned,
    categorical,
    domain_of,
    equal_columns_domain,
    expect_error,
    histogram,
    integer_domain,
    marginal_matrix,
    parametrize,
    random_rows,
    random_sign_queries,
    seeded,
    time_limit,
)

FOUR = integer_domain(3, 2, 4, 2)
WORKLOADS = {
    "1-way": (FOUR, list("abcd")),
    "3-way": (FOUR, list(itertools.combinations("abcd", 3))),
    "whole": (FOUR, ["dcba"]),
    "mixed": (FOUR, ["ca", "b", "dba", "abcd", "dc"]),
    "sizes of 1": (integer_domain(1, 3, 1, 2), ["a", "cb", "dac"]),
    "one column": (integer_domain(7), ["a"]),
    "long rows": (integer_domain(2, 3, 100), ["a", "c", "ba", "ac"]),  # the other way of summing
}


def test_labels_name_columns_and_values_in_the_order_of_the_domain():
    workload = Marginals(SMALL, [["sex", "age"], ["sex"]])
    labels = [workload.label(j) for j in range(workload.m)]
    assert labels[0] == (("age", "17–24"), ("sex", "f"))
    assert labels[7:9] == [(("age", "(missing)"), ("sex", "m")), (("sex", "f"),)]
    assert len(set(labels)) == workload.m == 10
    assert random_sign_queries(FOUR, 3).label(2) == (("query", "2"),)


def test_a_workload_of_countless_tables_is_refused_before_they_are_listed():
    """Listing (40 choose 20) tables would take days."""
    with time_limit(20), expect_error("137,?846,?528,?820"):
        Marginals.all(equal_columns_domain(40, 2), 20)


SMALL = domain_of(
    {
        "age": binned("integer", 17, 25, 35, 50, missing="category"),
        "sex": categorical("f", "m"),
        "pay": binned("numeric", 0, 1, 4),
        "edu": categorical("low", "mid", "top", ordered=True),
    }
)
BUILD = {
    "ranges": lambda: TableQueries.ranges(SMALL, ["edu", "age"]),
    "prefixes": lambda: TableQueries.prefixes(SMALL, ["age", "pay", "edu"]),
    "conjunctions": lambda: TableQueries.conjunctions(SMALL, 2, 9, seed=3),
    "half-spaces": lambda: TableQueries.half_spaces(SMALL, ["pay", "age"], 12, seed=1),
    "union": lambda: Union(
        [
            TableQueries.ranges(SMALL, ["age"]),
            Marginals(SMALL, [["sex", "age"], ["pay"]]),
            Union(
                [
                    Explicit(SMALL, np.sign(np.linspace(-1, 2, 96)).reshape(2, 48)),
                    Marginals(SMALL, [["age"]]),
                ]
            ),
        ]
    ),
}


def rows_where(tests):
    """One row a test of a cell's codes, in the order of the domain's columns."""
    return np.array([[float(test(cell)) for cell in all_cells(SMALL)] for test in tests])


def by_hand(name):
    """The (m, k) matrix without the code under test."""
    axis = {"age": (0, 3), "pay": (2, 2), "edu": (3, 3)}  # position, cells without the missing one

    def intervals(columns, *, prefix):
        return rows_where(
            [
                lambda cell, i=axis[c][0], a=a, b=b: a <= cell[i] <= b
                for c in columns
                for a in range(1 if prefix else axis[c][1])
                for b in range(a, axis[c][1])
            ]
        )

    match name:
        case "ranges":
            return intervals(["edu", "age"], prefix=False)
        case "prefixes":
            return intervals(["age", "pay", "edu"], prefix=True)
        case "conjunctions":  # read off the labels
            texts = [c.labels for c in SMALL.columns]
            labels = [BUILD[name]().label(j) for j in range(9)]
            sets = [
                {SMALL.names.index(c): value.split(" or ") for c, value in label}
                for label in labels
            ]
            return rows_where(
                [
                    lambda z, s=s: all(texts[i][z[i]] in values for i, values in s.items())
                    for s in sets
                ]
            )
        case "half-spaces":
            rng = seeded(1)
            a = rng.normal(size=(12, 2))
            a /= np.linalg.norm(a, axis=1)[:, None]
            b = (a * rng.random((12, 2))).sum(axis=1)
            pay, age = (
                [0.5 / 4, 2.5 / 4],
                [(20.5 - 17) / 33, (29.5 - 17) / 33, (42.5 - 17) / 33, math.nan],
            )
            return rows_where(
                [
                    lambda z, s=s, t=t: s[0] * pay[z[2]] + s[1] * age[z[0]] >= t
                    for s, t in zip(a, b, strict=True)
                ]
            )
        case _:
            explicit = np.sign(np.linspace(-1, 2, 96)).reshape(2, 48)
            tables = (
                marginal_matrix(SMALL, [["sex", "age"], ["pay"]]),
                explicit,
                marginal_matrix(SMALL, [["age"]]),
            )
            return np.concatenate([intervals(["age"], prefix=False), *tables])


@pytest.fixture(params=[*BUILD, *WORKLOADS, "explicit"])
def case(request):
    """A workload with its matrix."""
    if request.param in BUILD:
        return BUILD[request.param](), by_hand(request.param)
    if request.param == "explicit":
        A = seeded(1).uniform(-1, 1, (11, FOUR.size))
        return Explicit(FOUR, A), A
    domain, columns = WORKLOADS[request.param]
    return Marginals(domain, columns), marginal_matrix(domain, columns)


def moves(A):
    """The largest ℓ1 and ℓ2 distances of two columns: what replacing one record does to n ·
    answers.
    """
    gaps = [x - y for x, y in itertools.combinations(A.T, 2)]
    return max(np.abs(g).sum() for g in gaps), max(np.linalg.norm(g) for g in gaps)


def covered(workload, A):
    l1, l2 = moves(A)
    return Answers(workload).l1 >= l1 * (1 - 1e-12) and Answers(workload).l2 >= l2 * (1 - 1e-12)


def test_answers_adjoint_and_single_queries_follow_the_matrix(case):
    workload, A = case
    rng = seeded(0)
    k = A.shape[1]
    D = rng.normal(size=k)
    w = rng.normal(size=len(A))
    kept = D.copy(), w.copy()
    assert workload.m == len(A)
    assert np.allclose(workload.answers(D), A @ D, atol=1e-12)
    assert np.allclose(workload.adjoint(w), w @ A, atol=1e-12)
    workload.answers(D)[:] = 7
    workload.adjoint(w)[:] = 7
    assert np.array_equal(kept[0], D)
    assert np.array_equal(kept[1], w)
    rows = random_rows(workload.domain, 97)
    assert np.allclose(
        workload.answers_of_rows(rows), A @ histogram(workload.domain, rows), atol=1e-14
    )
    for j in range(0, workload.m, 1 + k // 100):
        q = np.arange(float(k))
        ListedCellsModel(workload.domain).add_query(q, workload, j, -2.5)
        assert np.allclose(q, np.arange(k) - 2.5 * A[j])
    assert np.array_equal(pickle.loads(pickle.dumps(workload)).answers(D), workload.answers(D))


def test_widths_and_tables_follow_the_matrix(case):
    workload, A = case
    assert (
        workload.width
        == SignedErrors(workload, np.zeros(len(A))).sensitivity
        == approx(np.ptp(A, axis=1).max())
    )
    for table in workload.tables:
        assert (A[table].sum(axis=0) == 1).all()
    counted = sum(table.stop - table.start for table in workload.tables)
    assert counted == (14 if workload.m == 22 else workload.m * isinstance(workload, Marginals)), (
        "14 of the union's 22"
    )


@given(st.data())
def test_sensitivities_of_random_table_queries_cover_every_pair(data):
    domain = integer_domain(*data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    every = [
        c for w in range(1, len(domain.names) + 1) for c in itertools.combinations(domain.names, w)
    ]
    rng = seeded(data.draw(st.integers(0, 99)))
    chosen = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=4))
    parts = [
        (c[::-1], rng.integers(-1, 2, (2, math.prod(domain.project(c).shape)))) for c in chosen
    ]
    workload = TableQueries(domain, parts)
    A = np.array([workload.answers(e) for e in np.eye(domain.size)]).T
    if domain.size > 1:
        assert covered(workload, A)
        assert covered(
            Union([workload, TableQueries(domain, parts[:1])]), np.concatenate([A, A[:2]])
        )
    assert np.allclose(workload.adjoint(np.ones(workload.m)), A.sum(axis=0))


@parametrize("norm", [1, 2])
def test_many_columns_get_a_safe_bound(norm, monkeypatch):
    A = seeded(0).uniform(-1, 1, (3, 400))
    exact = np.linalg.norm(A[:, :, None] - A[:, None, :], ord=norm, axis=0).max()
    assert max_column_distance(A, norm) == approx(exact)
    for limit in ("MAX_EXACT_COLUMNS", "MAX_BLOCK_ENTRIES"):
        monkeypatch.setattr(f"dpcore.queries.workload.{limit}", 7)
        for matrix in (A, csr_array(A)):
            assert exact <= max_column_distance(matrix, norm) <= 2 * exact


def test_a_union_with_a_workload_of_unknown_sensitivity_is_refused():
    class Better(Marginals):
        pass

    with expect_error("Better is not a set of questions whose sensitivity is known"):
        require_known_workload(Union([Better.all(SMALL, 1), Marginals.all(SMALL, 2)]))


@parametrize(
    "name, labels",
    [
        (
            "ranges",
            {
                0: (("edu", "low"),),
                1: (("edu", "low to mid"),),
                7: (("age", "17–34"),),
                11: (("age", "35–50"),),
            },
        ),
        (
            "prefixes",
            {3: (("pay", "0 to under 1"),), 4: (("pay", "0 to 4"),), 2: (("age", "17–50"),)},
        ),
        (
            "union",
            {0: (("age", "17–24"),), 6: (("age", "17–24"), ("sex", "f")), 17: (("query", "1"),)},
        ),
    ],
)
def test_labels_are_words(name, labels):
    workload = BUILD[name]()
    assert {j: workload.label(j) for j in labels} == labels


def test_long_labels_are_cut_and_half_spaces_name_their_direction():
    wide = TableQueries.conjunctions_of(integer_domain(9, 2), [{"b": [1], "a": [0, 2, 3, 4, 5, 6]}])
    assert wide.label(0) == (("a", "0 or 2 or 3 or 4 or 5 or … (6 in all)"), ("b", "1"))
    ((direction, bound),) = BUILD["half-spaces"]().label(0)
    assert "·pay" in direction
    assert "·age (each scaled to 0..1)" in direction
    assert bound.startswith("at least ")


def test_random_conjunctions_are_public_and_never_trivial():
    domain = integer_domain(2, 3, 1, 5)
    first, again, other = (TableQueries.conjunctions(domain, 2, 60, seed=s) for s in (0, 0, 1))
    assert (first.matrix != again.matrix).nnz == 0
    assert [first.label(j) for j in range(60)] != [other.label(j) for j in range(60)]
    assert len({frozenset(c for c, _ in first.label(j)) for j in range(60)}) == 6
    for j in range(60):
        for column, value in first.label(j):
            size = domain.project([column]).size
            assert 1 <= len(value.split(" or ")) <= max(size - 1, 1)


@parametrize(
    "build, message",
    [
        (
            lambda: Marginals.all(FOUR, 0),
            "marginals over 0 columns: outside 1..4, the number of columns",
        ),
        (lambda: Marginals(FOUR, []), "the questions have no marginals"),
        (lambda: Marginals(FOUR, ["aa"]), "must name at least one column, and each only once"),
        (lambda: Marginals(FOUR, ["ab", "ba"]), "is asked twice"),
        (lambda: Marginals(FOUR, ["az"]), "there is no column 'z'; the columns are a, b, c, d"),
        (
            lambda: Explicit(FOUR, np.ones(48)),
            "the query matrix has shape (48,); it must be (m, 48) with m ≥ 1",
        ),
        (
            lambda: Explicit(FOUR, np.full((2, 48), [[1], [-1.5]])),
            "the query matrix holds -1.5 in row 1",
        ),
        (
            lambda: Explicit(FOUR, np.full((1, 48), np.nan)),
            "the query matrix holds nan in row 0, outside -1..1",
        ),
        (
            lambda: TableQueries.ranges(SMALL, ["sex"]),
            "column 'sex' has no order; ranges need numbers",
        ),
        (lambda: TableQueries.ranges(integer_domain(200), "a"), "20,100 ranges: outside 1..20,000"),
        (
            lambda: TableQueries.prefixes(integer_domain(5000), "a"),
            "5,000 prefixes read 12,502,500 combinations in all",
        ),
        (
            lambda: TableQueries.conjunctions(SMALL, 5, 3),
            "conjunctions over 5 columns: outside 1..4",
        ),
        (
            lambda: TableQueries.conjunctions_of(SMALL, [{"sex": [2]}]),
            "a set of 'sex' must hold some of its values 0..1",
        ),
        (lambda: TableQueries.conjunctions_of(SMALL, [{}]), "must name at least one column"),
        (
            lambda: TableQueries.half_spaces(SMALL, ["sex"], 3),
            "column 'sex' holds categories, not numbers",
        ),
        (
            lambda: TableQueries.half_spaces(integer_domain(5000, 5000), "ab", 3),
            "75,000,000 combinations in all",
        ),
        (
            lambda: TableQueries(SMALL, [(["sex"], np.ones(2))]),
            "the queries on sex have shape (2,); it must be (m, 2)",
        ),
        (
            lambda: TableQueries(SMALL, [(["sex"], [[1.5, 0]])]),
            "a query on sex holds 1.5, outside -1..1",
        ),
        (
            lambda: TableQueries(SMALL, [(["sex"], np.eye(2))], [(("a", "b"),)]),
            "1 labels are given for 2 queries",
        ),
        (lambda: Union([]), "the union holds no questions"),
        (
            lambda: Union([Marginals.all(SMALL, 1), Marginals.all(integer_domain(2), 1)]),
            "must be about one domain",
        ),
    ],
)
def test_a_workload_that_makes_no_sense_is_refused(build, message):
    with expect_error(re.escape(message)):
        build()


@parametrize("name", ["ranges", "conjunctions", "half-spaces", "marginals"])
def test_the_variance_of_answers_from_tables_is_that_of_least_squares(name):
    """All tables of two columns, whose shared 1-way sums are estimated from all of them."""
    asked = Marginals(SMALL, [["age", "sex"], ["edu"]]) if name == "marginals" else BUILD[name]()
    measured = Marginals.all(SMALL, 2)
    M = marginal_matrix(SMALL, measured.columns)
    A = np.array([asked.answers(e) for e in np.eye(48)]).T
    known = np.eye(48) - 1 / 48  # the total is known
    covariance = 2 * len(measured.tables) * np.linalg.pinv(known @ M.T @ M @ known, rcond=1e-10)
    assert measured.variance(asked.component_squares) == approx(
        np.trace(A @ known @ covariance @ known @ A.T)
    )
    assert Marginals(SMALL, [["sex", "pay"]]).variance(asked.component_squares) == math.inf


def test_what_is_measured_is_chosen_by_public_variances():
    census = samples.census(100).domain
    ranges = TableQueries.ranges(census, ["age", "hours"])
    spaces = TableQueries.half_spaces(integer_domain(40, 40), "ab", 50)
    assert ranges.measured_workload is ranges.base
    assert spaces.measured_workload is spaces
    assert random_sign_queries(SMALL, 2).measured_workload.m == 2
    both = Union([Marginals.all(census, 2), ranges]).measured_workload
    assert isinstance(both, Marginals)
    assert set(both.axes) == set(Marginals.all(census, 2).axes), (
        "ranges follow from six tables that hold their column"
    )
    apart = Union(
        [
            Marginals(integer_domain(40, 40), ["ab"]),
            TableQueries.ranges(integer_domain(40, 40), "a"),
        ]
    ).measured_workload
    assert set(apart.axes) == {(0, 1), (0,)}, (
        "summing 40 cells for each of 820 ranges is worse than one more table"
    )
    mixed = Union(
        [
            spaces,
            Marginals(integer_domain(40, 40), ["a"]),
            TableQueries.ranges(integer_domain(40, 40), "a"),
        ]
    ).measured_workload
    assert [type(w) for w, _ in mixed.parts] == [Marginals, TableQueries]
    assert mixed.parts[0][0].axes == ((0,),)


@parametrize(
    "build, kept",
    [
        (lambda A: Explicit(SMALL, A), lambda workload: workload.matrix),
        (lambda A: TableQueries(SMALL, [(SMALL.names, A)]), lambda workload: workload.matrix.data),
    ],
)
def test_the_coefficients_cannot_be_changed_afterwards(build, kept):
    A = np.full((2, 48), 0.5)
    workload = build(A)
    A *= 0
    A[:, 0] = 1
    assert workload.answers(np.full(48, 1 / 48)) == approx([0.5, 0.5])
    with pytest.raises(ValueError, match="read-only"):
        kept(workload)[0] = 9


@parametrize(
    "text, m",
    {
        "ranges:age": 6,
        "ranges:age,pay": 9,
        "prefixes:edu": 3,
        'prefixes:"edu",pay': 5,
        "conjunctions:3:7": 7,
        "halfspaces:age,pay:5": 5,
        "question:sex = f and age > 20": 1,
        "marginals:2": 8 + 8 + 12 + 4 + 6 + 6,
    }.items(),
)
def test_the_command_line_names_every_workload(text, m):
    assert read_queries([text], SMALL)[0].m == m


def test_queries_given_several_times_are_one_union_with_notes():
    workload, notes = read_queries(["prefixes:age", "question:age > 20", "marginals:1"], SMALL)
    assert (workload.m, len(workload.tables)) == (3 + 1 + 11, 4)
    assert notes == ["age > 20 cuts the bin 17–24: 4 of 8 of it are counted"]
    assert isinstance(read_queries(["marginals:1"], SMALL)[0], Marginals)


@parametrize(
    "text",
    [
        *(
            "ranges",
            "ranges:",
            "ranges:sex",
            "ranges:a,",
            "conjunctions:2:x",
            "conjunctions:9:9",
            "halfspaces:age",
        ),
        *(
            "conjunctions:2:" + "9" * 30,
            "halfspaces:sex:3",
            "halfspaces::3",
            "question:sex",
            "unions:1",
        ),
    ],
)
def test_the_command_line_refuses_what_it_does_not_understand(text):
    with expect_error():
        read_queries([text], SMALL)
