"""Everyone counts once: the rows of a person share one vote, and no neighbour moves more than that.

Neighbours are enumerated: one person's rows are replaced by any others, of any number.
"""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import Budget, Marginals, PrivacyUnit, QueryRelease, TableQueries, limit_rows
from dpcore.data.sources.gathered_counts import GatheredCounts, gather
from dpcore.data.sources.limited_rows_source import limit_source
from dpcore.privacy.accounting import BoundedRange, Gaussian, Plan, Pure
from dpcore.privacy.curators.risk_curator import RiskCurator
from dpcore.privacy.statistics import (
    Answers,
    CellAnswers,
    CodeVotes,
    Residuals,
    SignedErrors,
    TableErrors,
    WeightedTables,
)
from dpcore.queries.residual_spaces import cached_residual_spaces
from tests.privacy.enumerated_neighbours import curator_of, largest_move, mechanism_arguments
from tests.small_problems import (
    InParts,
    approx,
    describe_rows,
    expect_error,
    flip_law,
    integer_domain,
    module_fixture,
    parametrize,
    parametrize_false_true,
    seeded,
    softmax,
)

DOMAIN = integer_domain(2, 2)
CELLS = list(itertools.product(range(2), range(2)))
ONE_WAY = Marginals.all(DOMAIN, 1)
TABLES = Marginals(DOMAIN, ["a", "b", "ab"])
UNIT = PrivacyUnit("id", 3, counts_people=True)
PERSON = st.lists(st.sampled_from(CELLS), min_size=1, max_size=6)


def table(people):
    """A table of people by their rows, those of all people mixed."""
    rows = [(i, *row) for i, rows in enumerate(people) for row in rows]
    frame = pd.DataFrame(rows, columns=pd.Index(["id", "a", "b"]))
    return frame.sample(frac=1, random_state=0)


def shares_by_definition(frame, axes):
    """t_S(c) = (1/N) Σ_i (1/k_i) #{kept rows of i in c}, in fractions."""
    kept = limit_rows(frame, "id", UNIT.most_rows, DOMAIN.names)
    people = frame["id"].nunique()
    shares = dict.fromkeys(itertools.product(*(range(2) for _ in axes)), Fraction())
    for _, rows in kept.groupby("id"):
        for row in rows[[DOMAIN.names[a] for a in axes]].to_numpy().tolist():
            shares[tuple(row)] += Fraction(1, len(rows) * people)
    return list(shares.values())


@module_fixture
def neighbours():
    """The votes of all tables in which the first of two people has other rows: 1 to 4 of them."""
    others = [
        rows for k in range(1, 5) for rows in itertools.combinations_with_replacement(CELLS, k)
    ]
    return [UNIT.encode(DOMAIN, table([rows, [CELLS[0], CELLS[3]]])) for rows in others]


@settings(max_examples=20)
@given(st.lists(PERSON, min_size=2, max_size=6), PERSON)
def test_votes_are_those_of_the_definition_and_a_person_moves_two_at_most(people, instead):
    frame = table(people)
    rows = UNIT.encode(DOMAIN, frame)
    assert (rows.n, rows.votes_per_unit, rows.weights.sum()) == (len(people), 6, 6 * len(people))
    other = UNIT.encode(DOMAIN, table([instead, *people[1:]]))
    for axes in TABLES.axes:
        votes = rows.count(axes, DOMAIN.shape_of(axes))
        expected = [share * rows.vote_count for share in shares_by_definition(frame, axes)]
        assert votes.tolist() == expected, "whole numbers, and exactly these"
        moved = (votes - other.count(axes, DOMAIN.shape_of(axes))) / rows.votes_per_unit
        assert np.abs(moved).sum() <= 2 + 1e-12
        assert np.linalg.norm(moved) <= np.sqrt(2) + 1e-12


@settings(max_examples=8)
@given(st.lists(PERSON, min_size=2, max_size=6), st.integers(1, 5))
def test_votes_are_the_same_part_by_part(people, rows_of_part):
    frame = table(people).sort_values("id", ignore_index=True)
    source = limit_source(InParts(frame, rows=rows_of_part), UNIT, DOMAIN.names)
    gathered = gather(source, DOMAIN, [])
    expected = UNIT.encode(DOMAIN, frame)
    assert describe_rows(gathered) == describe_rows(expected)
    assert (gathered.n, gathered.votes_per_unit) == (expected.n, 6)
    tally = source.count(DOMAIN, TABLES.axes)
    counts = GatheredCounts(DOMAIN, len(people), {(0,): tally.tables[0,]}, source, votes_per_unit=6)
    assert counts.n == expected.n
    assert TABLES.answers_of_rows(counts) == approx(TABLES.answers_of_rows(expected))
    listed = counts.list_rows(["b", "a"])
    assert (listed.n, listed.votes_per_unit) == (expected.n, 6)


def test_a_person_of_many_rows_has_one_vote_too():
    """Of the first person three rows are kept, of the second two, of the third one."""
    frame = table([[CELLS[0]] * 4 + [CELLS[3]] * 3, [CELLS[0], CELLS[1]], [CELLS[2]]])
    votes = UNIT.encode(DOMAIN, frame).count((0, 1), DOMAIN.shape)
    assert votes.sum() == 18
    assert votes[1:3].tolist() == [3, 6]
    assert votes[0] + votes[3] == 9
    assert votes[3] in (0, 2, 4, 6)


@parametrize("rows_of_part", [1, 4, 100])
def test_the_rows_of_a_person_are_those_that_are_kept(rows_of_part):
    """A column says how many, and row totals follow from it: N Σ k t(k, c)."""
    unit = PrivacyUnit("id", 3, counts_people=True, row_totals=True)
    domain = unit.extend_domain(DOMAIN)
    assert domain.names == ("a", "b", "rows")
    frame = table([[CELLS[0]] * 9, [CELLS[1], CELLS[2]], [CELLS[3]], [CELLS[3]] * 3])
    frame = frame.sort_values("id", ignore_index=True)
    rows = unit.encode(domain, frame)
    assert rows.count((2,), (3,)).tolist() == [6, 6, 12], "6 votes of each of four people"
    gathered = gather(
        limit_source(InParts(frame, rows=rows_of_part), unit, domain.names), domain, []
    )
    assert describe_rows(gathered) == describe_rows(rows)
    votes = rows.count((0, 1, 2), domain.shape).reshape(4, 3)
    totals = votes @ np.arange(1, 4) / unit.votes_per_unit
    kept = limit_rows(frame, "id", 3, DOMAIN.names)
    assert totals.tolist() == [((kept[["a", "b"]] == [*cell]).all(axis=1)).sum() for cell in CELLS]


PERSONAL = PrivacyUnit("id", 3, counts_people=True, person_columns=("a",))


@settings(max_examples=15)
@given(st.lists(PERSON, min_size=2, max_size=6), PERSON, st.integers(1, 5))
def test_a_persons_column_says_what_the_first_row_of_that_person_says(people, instead, part):
    """Whatever other people say: replacing one leaves the rows of all others as they are."""
    frame = table(people).sort_values("id", ignore_index=True)
    first = limit_rows(frame, "id", 1, DOMAIN.names).set_index("id")["a"]
    kept = PERSONAL.bound_contributions(frame, DOMAIN.names)
    assert kept["a"].tolist() == first[kept["id"]].tolist()
    plain = limit_rows(frame, "id", 3, DOMAIN.names)
    assert kept.drop(columns="a").equals(plain.drop(columns="a"))
    neighbour = PERSONAL.bound_contributions(table([instead, *people[1:]]), DOMAIN.names)

    def others(rows):
        lines = rows[rows["id"] > 0].to_numpy().tolist()
        return sorted(lines)

    assert others(neighbour) == others(kept)
    rows = PERSONAL.encode(DOMAIN, frame)
    source = limit_source(InParts(frame, rows=part), PERSONAL, DOMAIN.names)
    assert describe_rows(gather(source, DOMAIN, [])) == describe_rows(rows)
    assert rows.count((0,), (2,)).tolist() == [6 * (first == value).sum() for value in (0, 1)]


def test_a_persons_column_is_never_that_of_another_person():
    frame = table([[(0, 0), (0, 1)], [(1, 0), (1, 1), (1, 1)], [(0, 1)], [(1, 0)]])
    kept = PERSONAL.bound_contributions(frame, DOMAIN.names)
    assert kept["a"].tolist() == (kept["id"] % 2).tolist()


def test_a_persons_columns_are_columns_and_people_are_counted():
    with expect_error("columns belong to a person only where people are counted"):
        PrivacyUnit("id", 3, person_columns=("a",))
    unit = PrivacyUnit("id", 3, counts_people=True, person_columns=("sex",))
    frame = table([CELLS, CELLS]).sort_values("id", ignore_index=True)
    with expect_error("the table has no column 'sex' that belongs to a person; it has id, a, b"):
        unit.encode(DOMAIN, frame)
    with expect_error("the table has no column 'sex' that belongs to a person"):
        gather(limit_source(InParts(frame, rows=2), unit, DOMAIN.names), DOMAIN, [])


def test_a_table_with_a_column_called_rows_has_no_totals_of_rows_beside_it():
    unit = PrivacyUnit("id", 3, counts_people=True, row_totals=True)
    frame = table([CELLS, CELLS])
    with expect_error("a column 'rows' of its own"):
        unit.encode(unit.extend_domain(DOMAIN), frame.rename(columns={"a": "rows "}).assign(a=0))
    with expect_error("a column 'rows' of its own"):
        unit.extend_domain(unit.extend_domain(DOMAIN))
    with expect_error("only where people are counted"):
        PrivacyUnit("id", 3, row_totals=True)


def statistics():
    sizes = cached_residual_spaces(TABLES).cells
    return {
        "counts": Answers(TABLES),
        "pairs": Answers(Marginals.all(DOMAIN, 2)),
        "queries": Answers(TableQueries.conjunctions(DOMAIN, 1, 3, seed=1)),
        "cells": CellAnswers(ONE_WAY, subspace=False),
        "weighted": WeightedTables(TABLES, np.array([1.0, 0.5, 0.3])),
        "residuals": Residuals(TABLES, 0.5 / sizes),
    }


@parametrize_false_true("exact")
@parametrize("name", statistics())
def test_noise_covers_a_person_replaced_by_any_other(asked, neighbours, name, exact):
    statistic = statistics()[name]
    for spend, order in ((Gaussian(0.7), 2), (Pure(0.7), 1)):
        seen = [
            mechanism_arguments(asked, "measure", statistic, spend, rows, exact=exact)
            for rows in neighbours
        ]
        largest, scale = largest_move(seen, order)
        assert largest <= 0.7 * scale * (1 + 1e-9)
        if name in ("counts", "pairs"):
            assert largest == approx(0.7 * scale, rel=1e-5), "no noise is wasted"
        assert largest >= 0.35 * scale * (1 - 1e-5), "half the noise would be caught"
        if exact:
            assert all((values == np.rint(values)).all() for values, _ in seen), "whole steps"


@parametrize("most_rows", [1, 2, 7, 12])
def test_the_noise_is_that_of_one_row_each_whatever_the_limit(most_rows):
    unit = PrivacyUnit("id", most_rows, counts_people=True)
    rows = unit.encode(DOMAIN, table([[cell] * 12 for cell in CELLS]))
    m = len(TABLES.tables)
    for exact in (False, True):
        curator = curator_of(rows, Gaussian(2.0), exact=exact)
        measurement = curator.measure(Answers(TABLES), Gaussian(2.0))
        assert curator.effective_n == rows.n == 4
        assert measurement.stddev == approx(np.sqrt(2 * m) / (4 * 2.0), rel=1e-6)
        measurement = curator_of(rows, Pure(2.0), exact=exact).measure(Answers(TABLES), Pure(2.0))
        assert measurement.stddev == approx(np.sqrt(2) * 2 * m / (4 * 2.0), rel=1e-6)


SCORES = {
    "signed": SignedErrors(TABLES, seeded(1).normal(size=TABLES.m)),
    "tables": TableErrors(
        TABLES, TABLES.answers(np.eye(4)[0]), np.zeros(3), np.array([1.0, 0.5, 0.75])
    ),
}


@parametrize_false_true("exact")
@parametrize("name, spend", [*itertools.product(SCORES, [BoundedRange(0.8), Pure(0.8)])])
def test_selections_hide_a_person(asked, neighbours, name, spend, exact):
    laws = []
    for rows in neighbours:
        values, scale = mechanism_arguments(asked, "select", SCORES[name], spend, rows, exact=exact)
        is_pure = isinstance(spend, Pure)
        laws.append(np.log(flip_law(values, scale) if is_pure else softmax(values / scale)))
    ratios = [x - y for x, y in itertools.permutations(laws, 2)]
    assert np.abs(ratios).max() <= 0.8 * (1 + 1e-9)
    assert np.abs(ratios).max() >= 0.2, "the selection does depend on the rows"


def test_people_of_limited_rows_are_needed_and_no_more_than_are_counted_exactly(monkeypatch):
    for most_rows in (0, 13):
        with expect_error(f"{most_rows} rows cannot share one person's vote, 1 to 12 can"):
            PrivacyUnit("id", most_rows, counts_people=True)
    with expect_error("only where a column identifies a person"):
        PrivacyUnit(None, 2, counts_people=True)
    alone = table([CELLS])
    with expect_error("has 1 person; at least 2 are needed"):
        UNIT.encode(DOMAIN, alone)
    with expect_error("has 1 person; at least 2 are needed"):
        gather(limit_source(InParts(alone, rows=2), UNIT, DOMAIN.names), DOMAIN, [])
    monkeypatch.setattr("dpcore.data.privacy_unit.MAX_VOTES", 17)
    three = table([CELLS, CELLS, CELLS])
    with expect_error("3 people whose rows, up to 3, share one vote are more than the 2"):
        UNIT.encode(DOMAIN, three)
    in_parts = InParts(three.sort_values("id", ignore_index=True), rows=1)
    with expect_error("share one vote are more than the 2"):
        gather(limit_source(in_parts, UNIT, DOMAIN.names), DOMAIN, [])


def test_a_curator_without_statistics_of_votes_refuses_people(neighbours):
    with expect_error("people cannot be counted here"):
        RiskCurator(neighbours[0], 2, Plan(Budget(1, 0), ()), seeded(0))


def test_code_votes_keep_the_promise_of_one_person(asked, neighbours):
    statistic = CodeVotes(np.array(CELLS), (np.arange(2),) * 2, (None, None), 1)
    seen = [
        mechanism_arguments(asked, "measure", statistic, Gaussian(0.7), rows) for rows in neighbours
    ]
    largest, scale = largest_move([pair[:2] for pair in seen], 2)
    assert largest == approx(0.7 * scale, rel=1e-5)


def test_a_problem_of_people_has_as_many_as_there_are(neighbours):
    problem = QueryRelease(TABLES, neighbours[0].n, UNIT.group)
    assert (problem.n, problem.group, problem.effective_n) == (2, 1, 2)
