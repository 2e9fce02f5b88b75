"""What is proved is the least number of rows over all tables, found by listing them; certificates
check by substitution, and wrong ones do not.
"""

from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcore import Marginals, domain_from_json
from dpcore.evaluation.reconstruction import row_proofs
from dpcore.evaluation.reconstruction.asked_tables import AskedTables
from dpcore.evaluation.reconstruction.certificates import (
    BoundProof,
    CaseProof,
    is_certificate_valid,
)
from dpcore.evaluation.reconstruction.disclosure_rules import (
    CoarserTables,
    FewerTables,
    Rounding,
    Suppression,
    SuppressionAndRounding,
)
from dpcore.evaluation.reconstruction.published_tables import PublishedTables
from dpcore.evaluation.reconstruction.row_proofs import prove_rows
from dpcore.schema.domain import Rows
from tests.small_problems import parametrize, seeded

DOMAIN = domain_from_json({"a": 2, "b": 2, "c": 3})
N = 6
RULES = (
    Rounding(1),
    Rounding(3),
    Rounding(2, at_random=True),
    Suppression(3),
    Suppression(2, secondary=True),
    SuppressionAndRounding(1, 3),
    FewerTables(),
    CoarserTables(),
)


@cache
def all_tables():
    """Every table of N rows, one a line."""
    chosen = combinations_with_replacement(range(DOMAIN.size), N)
    return np.array([np.bincount(cells, minlength=DOMAIN.size) for cells in chosen])


def asked_tables(seed, ways=2):
    """The tables of two columns of N random rows, many of which are alike."""
    cells = seeded(seed).integers(0, [2, 2, 2], (N, 3))
    return AskedTables.of(Marginals.all(DOMAIN, ways), DOMAIN.group_rows(cells))


def consistent_tables(published):
    """All tables that could be behind what was published."""
    sums = all_tables() @ published.incidence.T.toarray()
    inside = np.all((published.low <= sums) & (sums <= published.high), axis=1)
    return all_tables()[inside]


@parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_rows_proved_are_those_of_every_table_that_agrees(rule):
    proved_rows = 0
    for seed in range(6):
        asked = asked_tables(seed)
        published = rule.publish(asked, seeded(seed))
        assert published.is_consistent(asked.counts)
        proofs = prove_rows(published, max_seconds=30)
        least = consistent_tables(published).min(axis=0)
        assert proofs.proved.tolist() == least.tolist()
        assert proofs.possible.tolist() == least.tolist()
        assert all(is_certificate_valid(published, one) for one in proofs.certificates)
        assert {one.cell for one in proofs.certificates} == set(np.flatnonzero(least))
        proved_rows += least.sum()
    assert bool(proved_rows) == (rule != CoarserTables())  # too coarse for so few rows


def test_a_certificate_for_one_row_more_or_with_other_multipliers_is_refused():
    published = Rounding(1).publish(asked_tables(0), seeded(0))
    certificates = prove_rows(published, max_seconds=30).certificates
    assert certificates
    for certificate in certificates:
        assert not is_certificate_valid(
            published, replace(certificate, count=certificate.count + 1)
        )
        nothing = BoundProof(np.zeros_like(published.low))
        assert not is_certificate_valid(published, replace(certificate, proof=nothing))
        empty_cell = int(np.flatnonzero(published.behind == 0)[0])
        assert not is_certificate_valid(published, replace(certificate, cell=empty_cell))


def test_a_bound_that_a_solver_gets_wrong_proves_nothing(monkeypatch):
    """A linear program that claims one row more than there is, and one that claims all of them."""
    published = Rounding(1).publish(asked_tables(1), seeded(0))
    least = consistent_tables(published).min(axis=0)
    solve = row_proofs.linprog
    for excess in (1, N):

        def lie(*arguments, excess=excess, **options):
            result = solve(*arguments, **options)
            result.fun += excess
            return result

        monkeypatch.setattr(row_proofs, "linprog", lie)
        proofs = prove_rows(published, max_seconds=5)
        assert np.all(proofs.proved <= least)
        assert np.all(proofs.possible >= least)


def test_a_table_that_a_solver_makes_up_is_not_taken_for_one_that_agrees(monkeypatch):
    published = Rounding(1).publish(asked_tables(1), seeded(0))
    least = consistent_tables(published).min(axis=0)
    solve = row_proofs.milp

    def lie(*arguments, **options):
        result = solve(*arguments, **options)
        result.x = np.zeros_like(result.x)
        return result

    monkeypatch.setattr(row_proofs, "milp", lie)
    assert np.all(prove_rows(published, max_seconds=5).possible >= least)


def two_triangles():
    """Three rows, of which at most one is in each edge of two triangles: so one is outside both.

    A linear program puts half a row in each corner and none outside.
    """
    edges = [(1, 2), (2, 3), (1, 3), (4, 5), (5, 6), (4, 6)]
    incidence = np.zeros((len(edges), 7), dtype=np.int64)
    for number, edge in enumerate(edges):
        incidence[number, list(edge)] = 1
    behind = np.array([1, 1, 0, 0, 1, 0, 0])
    ranges = np.zeros(len(edges), dtype=np.int64), np.ones(len(edges), dtype=np.int64)
    nothing = np.zeros(0)
    return PublishedTables.with_total(behind, csr_array(incidence), ranges, nothing, nothing)


def test_a_row_that_one_bound_does_not_prove_is_proved_by_cases():
    published = two_triangles()
    proofs = prove_rows(published, max_seconds=30)
    assert proofs.proved.tolist() == [1, 0, 0, 0, 0, 0, 0]
    (certificate,) = proofs.certificates
    assert isinstance(certificate.proof, CaseProof)
    for half in (certificate.proof.at_most, certificate.proof.above):
        assert is_certificate_valid(published, certificate)
        assert not is_certificate_valid(published, replace(certificate, proof=half))
    gap = replace(certificate.proof, above=certificate.proof.at_most)
    assert not is_certificate_valid(published, replace(certificate, proof=gap))


def test_what_the_time_does_not_suffice_for_is_undecided():
    asked = asked_tables(0)
    proofs = prove_rows(Rounding(1).publish(asked, seeded(0)), max_seconds=0)
    assert proofs.proved.sum() == 0
    assert proofs.possible.tolist() == asked.counts.tolist()


def test_progress_may_end_an_attack():
    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prove_rows(Rounding(1).publish(asked_tables(0), seeded(0)), 30, stop)


def test_rows_of_one_combination_are_proved_one_by_one():
    rows = Rows(np.array([[0, 0, 0], [1, 1, 2]]), np.array([4, 2]))
    asked = AskedTables.of(Marginals.all(DOMAIN, 2), rows)
    proofs = prove_rows(Rounding(1).publish(asked, seeded(0)), 30)
    assert proofs.proved.sum() == 6
