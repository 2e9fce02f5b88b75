"""Two rows of one person: tables of pairs, by their definition, and no neighbour moves more."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import Marginals, PrivacyUnit, domain_from_json, limit_rows
from dpcore.data.privacy_unit import hash_rows
from dpcore.data.row_pairs import ONLY_ONE_ROW, is_pair_column
from dpcore.data.sources.limited_rows_source import limit_source
from dpcore.privacy.accounting import Gaussian, Pure
from dpcore.privacy.statistics import Answers
from dpcore.queries import Workload
from dpcore.queries.parse_queries import read_queries
from tests.privacy.enumerated_neighbours import largest_move, mechanism_arguments
from tests.small_problems import InParts, approx, expect_error, parametrize

WARDS = ("A", "B")
DAYS = (1, 2, 30)
SCHEMA = {
    "columns": {
        "ward": {"kind": "categorical", "values": [*WARDS], "missing": "category"},
        "day": {"kind": "integer", "edges": [1, 20, 41]},
        "sex": {"kind": "categorical", "values": ["F", "M"]},
    }
}
ROWS_DOMAIN = domain_from_json(SCHEMA)
ROWS = list(itertools.product((*WARDS, ""), DAYS, ("F", "M")))
MOST_ROWS = 4
PERSON = st.lists(st.sampled_from(ROWS), min_size=1, max_size=6)
PEOPLE = st.lists(PERSON, min_size=2, max_size=5)


def unit_of(time=None):
    return PrivacyUnit(
        "id", MOST_ROWS, counts_people=True, succession_columns=("ward",), time_column=time
    )


def table(people):
    """A table of people by their rows, those of all people mixed."""
    rows = [(f"p{i}", *row) for i, rows in enumerate(people) for row in rows]
    frame = pd.DataFrame(rows, columns=pd.Index(["id", *ROWS_DOMAIN.names]))
    return frame.sample(frac=1, random_state=1, ignore_index=True)


def label(ward):
    return ward or "(missing)"


def shares_by_definition(frame, time):
    """The shares of the cells (first ward, second ward), in fractions, person by person."""
    shares = dict[tuple, Fraction]()
    kept = limit_rows(frame, "id", MOST_ROWS, ROWS_DOMAIN.names)
    hashes = hash_rows(kept, "id", ROWS_DOMAIN.names)
    people = kept["id"].unique()
    for person in people:
        positions = np.flatnonzero(kept["id"] == person)
        day = kept["day"].to_numpy()
        in_order = sorted(positions, key=lambda i: (day[i], hashes[i]))
        wards = [label(kept["ward"].iloc[i]) for i in in_order]
        pairs = list(itertools.pairwise(wards) if time else itertools.permutations(wards, 2))
        pairs = pairs or [(wards[0], ONLY_ONE_ROW)]
        for pair in pairs:
            shares[pair] = shares.get(pair, 0) + Fraction(1, len(pairs) * len(people))
    return shares


def pair_votes(rows, domain, time):
    names = ("earlier ward", "next ward") if time else ("ward", "another ward")
    axes = domain.axes(names)
    votes = rows.count(axes, domain.shape_of(axes))
    cells = itertools.product(*(domain.columns[a].labels for a in axes))
    return dict(zip(cells, votes, strict=True))


@parametrize("time", [None, "day"])
@settings(max_examples=20)
@given(PEOPLE, PERSON)
def test_pairs_are_those_of_the_definition_and_a_person_moves_two_at_most(time, people, instead):
    unit = unit_of(time)
    domain = unit.extend_domain(ROWS_DOMAIN)
    frame = table(people)
    rows = unit.encode(domain, frame)
    assert (rows.n, rows.votes_per_unit, rows.weights.sum()) == (len(people), 12, 12 * len(people))
    votes = pair_votes(rows, domain, time)
    expected = shares_by_definition(frame, time)
    assert {cell: v for cell, v in votes.items() if v} == {
        cell: share * rows.vote_count for cell, share in expected.items()
    }, "whole numbers, and exactly these"
    alone = PrivacyUnit("id", MOST_ROWS, counts_people=True).encode(ROWS_DOMAIN, frame)
    for axes in ([0], [0, 1, 2]):
        shape = domain.shape_of(axes)
        assert rows.count(axes, shape).tolist() == alone.count(axes, shape).tolist()
    other = unit.encode(domain, table([instead, *people[1:]]))
    for size in (1, 2, len(domain.names)):
        for axes in itertools.combinations(range(len(domain.names)), size):
            shape = domain.shape_of(axes)
            moved = (rows.count(axes, shape) - other.count(axes, shape)) / rows.votes_per_unit
            assert np.abs(moved).sum() <= 2 + 1e-12
            assert np.linalg.norm(moved) <= np.sqrt(2) + 1e-12


@parametrize("time", [None, "day"])
def test_noise_covers_a_person_replaced_by_any_other_of_any_number_of_rows(asked, time):
    unit = unit_of(time)
    domain = unit.extend_domain(ROWS_DOMAIN)
    workload = successions(domain)
    fixed = [("A", 1, "F"), ("B", 2, "F"), ("B", 30, "F")]
    choices = [(ward, day, "F") for ward, day in itertools.product(WARDS, (1, 2))]
    others = [
        rows for k in range(1, 6) for rows in itertools.combinations_with_replacement(choices, k)
    ]
    neighbours = [unit.encode(domain, table([rows, fixed])) for rows in others]
    for spend, order in ((Gaussian(0.7), 2), (Pure(0.7), 1)):
        seen = [
            mechanism_arguments(asked, "measure", Answers(workload), spend, rows, exact=True)
            for rows in neighbours
        ]
        largest, scale = largest_move(seen, order)
        assert largest <= 0.7 * scale * (1 + 1e-9)
        assert largest == approx(0.7 * scale, rel=1e-5), "no noise is wasted"
        assert all((values == np.rint(values)).all() for values, _ in seen), "whole steps"


def successions(domain) -> Workload:
    return read_queries(["successions:ward"], domain)[0]


def test_the_order_of_a_persons_rows_is_that_of_the_time_and_of_nothing_in_the_file():
    """Time is exact within a bin; what others say, and how the file is sorted, change nothing."""
    domain = unit_of("day").extend_domain(ROWS_DOMAIN)
    mine = [("A", 2, "F"), ("B", 1, "F"), ("A", 30, "F")]
    others = [[("B", 30, "M")], [("A", 1, "M"), ("A", 1, "M"), ("B", 1, "M")]]
    for other in others:
        frame = table([mine, other])
        for seed in range(3):
            mixed = frame.sample(frac=1, random_state=seed)
            votes = pair_votes(unit_of("day").encode(domain, mixed), domain, "day")
            expected = pair_votes(unit_of("day").encode(domain, frame), domain, "day")
            assert votes == expected
            assert votes["B", "A"] >= 6
            assert votes["A", "A"] >= 6


def test_a_column_of_pairs_is_known_by_its_cell_for_people_with_one_row():
    domain = unit_of("day").extend_domain(ROWS_DOMAIN)
    names = [name for name in domain.names if is_pair_column(domain, name)]
    assert names == ["earlier ward", "next ward"]
    assert domain.column("next ward").labels == ("A", "B", ONLY_ONE_ROW, "(missing)")
    assert successions(domain).tables == Marginals(domain, [names]).tables
    domain = unit_of().extend_domain(ROWS_DOMAIN)
    assert successions(domain).tables == Marginals(domain, [["ward", "another ward"]]).tables


def test_successions_say_what_they_lack():
    with expect_error("successions of 'ward' are not there: they need people who count once"):
        successions(ROWS_DOMAIN)
    with expect_error("keep at least 2 rows of each"):
        PrivacyUnit("id", 1, counts_people=True, succession_columns=("ward",))
    with expect_error("successions are of two rows of a person who counts once"):
        PrivacyUnit("id", 3, succession_columns=("ward",))
    for more in ({"succession_columns": ("ward ",)}, {"time_column": "ward"}):
        options = {"succession_columns": ("sex",)} | more
        with expect_error("belongs to the person, so that it is the same in all rows"):
            PrivacyUnit("id", 3, counts_people=True, person_columns=("ward",), **options)
    with expect_error("ask for these too, or name no such column"):
        PrivacyUnit("id", 3, counts_people=True, time_column="day")
    with expect_error("column 'sex' has no order in time"):
        unit_of("sex").extend_domain(ROWS_DOMAIN)
    with expect_error("a column 'earlier ward' of its own"):
        unit_of("day").extend_domain(unit_of("day").extend_domain(ROWS_DOMAIN))
    own = {"columns": {"ward": {"kind": "categorical", "values": ["A", ONLY_ONE_ROW]}}}
    with expect_error("has a value 'only one row', which successions need"):
        unit_of().extend_domain(domain_from_json(own))
    with expect_error("pairs of a person's rows are made in memory alone"):
        limit_source(InParts(table([ROWS, ROWS]), rows=9), unit_of(), ROWS_DOMAIN.names)
