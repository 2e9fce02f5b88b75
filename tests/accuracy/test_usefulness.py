"""Usefulness in units: a sample's exactness by simulation, the field's score, and what noise alone
lets answers do.
"""

import re
from dataclasses import replace

import numpy as np

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run, TableQueries
from dpcore.accuracy.intervals.unbiased_tables import unbiased_tables
from dpcore.accuracy.usefulness import (
    equivalent_sample_share,
    k_marginal_score,
    planned_tables,
    promised_error,
    suitable_uses,
)
from dpcore.algorithms.algorithm import make_plan
from dpcore.core.numbers import unit_noun
from dpcore.privacy.accounting import Pure
from dpcore.release.evidence.content_checks import _sentence_of_uses
from tests.small_problems import (
    BUDGET,
    all_tables,
    approx,
    equal_columns_domain,
    integer_domain,
    parametrize,
    plan_of,
    rows_in_cells,
    run_to_end,
    seeded,
)

N = 4000
DOMAIN = integer_domain(3, 4, 2)
PAIRS = Marginals.all(DOMAIN, 2)
CELLS = seeded(3).choice(24, N, p=seeded(1).dirichlet(np.ones(24)))
ROWS = rows_in_cells(DOMAIN, CELLS)
PROBLEM = QueryRelease(PAIRS, N)


@parametrize("share", [0.05, 0.2, 0.53])
def test_a_simple_random_sample_is_as_exact_as_itself(share):
    truth = PAIRS.answers_of_rows(ROWS)
    size = round(share * N)
    samples = seeded(7).multivariate_hypergeometric(np.bincount(CELLS), size, 1000) / size
    squares = [((PAIRS.answers(drawn) - truth) ** 2).sum() for drawn in samples]
    assert equivalent_sample_share(float(np.mean(squares)), truth, N) == approx(share, rel=0.03)


def test_a_run_says_both_and_neither_where_they_mean_nothing():
    made = ALGORITHMS["gaussian_maxent"]()
    run = Run(made, PROBLEM, ROWS, BUDGET).finish()
    errors = run.summarise().query_errors
    real = PAIRS.answers_of_rows(ROWS)
    gaps = run.release.answers(PAIRS) - real
    assert errors.as_exact_as_sample == approx(equivalent_sample_share(float(gaps @ gaps), real, N))
    halves = [np.abs(gaps[table]).sum() / 2 for table in PAIRS.tables]
    assert errors.k_marginal == approx(1000 * (1 - np.mean(halves)))
    triples = Run(made, all_tables(DOMAIN, N, 3), ROWS, BUDGET).finish().summarise()
    assert triples.query_errors.k_marginal is None
    assert triples.query_errors.as_exact_as_sample is not None
    sums = TableQueries(DOMAIN, [("a", [[0.5, 1, 0]])])
    asked = Run(made, QueryRelease(sums, N), ROWS, BUDGET).finish().summarise()
    assert asked.query_errors.as_exact_as_sample is None


def test_the_score_of_many_columns_is_that_of_two_hundred_public_pairs():
    some, wide, other = (equal_columns_domain(d, size) for d, size in ((29, 2), (31, 2), (31, 3)))
    assert len(Marginals.k_marginal_pairs(some).axes) == 406
    assert len(Marginals.k_marginal_pairs(wide).axes) == 200
    assert Marginals.k_marginal_pairs(wide).axes == Marginals.k_marginal_pairs(other).axes, (
        "by a public seed"
    )
    assert Marginals.all(wide, 2).scored_tables is not None
    assert Marginals(DOMAIN, PAIRS.columns[:2]).scored_tables is None
    assert k_marginal_score(np.array([0.0, 2.0])) == 500


@parametrize("name", ["gaussian_maxent", "residual"])
def test_a_plan_promises_the_noise_that_comes(name):
    """Variances before the run are those after it, and 19 of 20 answers keep what is promised."""
    algorithm = ALGORITHMS[name]()
    before = planned_tables(PROBLEM, make_plan(algorithm, PROBLEM, BUDGET))
    assert before is not None
    run = Run(algorithm, PROBLEM, ROWS, BUDGET).finish()
    after = unbiased_tables(run.release, run.measured, DOMAIN)
    assert {S: v for S, v in before.variance.items()} == approx(after.variance)
    truth = PAIRS.answers_of_rows(ROWS)
    promised = promised_error(before, PAIRS)
    within = []
    for seed in range(60):
        run = Run(algorithm, PROBLEM, ROWS, BUDGET, seed=seed).finish()
        answers = unbiased_tables(run.release, run.measured, DOMAIN).answers(PAIRS)
        within.append(np.abs(answers - truth) <= promised)
    kept = np.mean(within, axis=0)
    assert kept.min() > 0.85
    # of the answers with the most noise 95 %, and of no answer fewer
    assert kept[before.standard_errors(PAIRS).argmax()] == approx(0.95, abs=0.07)


def test_uses_follow_from_half_widths():
    """Half-widths of cells from the normal quantile and the plan's noise on raw tables, computed by
    hand.
    """
    single = all_tables(DOMAIN, N, 1)
    plan = plan_of("gaussian_maxent", single, BUDGET)
    before = planned_tables(single, plan)
    worst = 1.959964 * max(before.standard_error((a,)) for a in range(3))
    exact = suitable_uses(before, N, tolerance=worst * 1.01)
    rough = suitable_uses(before, N, tolerance=worst * 0.5)
    assert exact.good_for[0].startswith("shares by one column")
    assert rough.not_for[0].startswith("shares by one column")
    assert exact.smallest_group == approx(10 * worst * N, abs=1)
    assert not any("two columns" in words for words in (*exact.good_for, *exact.not_for)), (
        "no pair is measured"
    )
    assert planned_tables(
        single, replace(plan, planned_events=(replace(plan.planned_events[0], spend=Pure(1.0)),))
    ).laplace
    both = suitable_uses(
        planned_tables(PROBLEM, plan_of("gaussian_maxent", PROBLEM, Budget(50.0, 1e-6))), N
    )
    assert both.sentence.startswith("Good for: shares by one or two columns within 1 point")
    assert "Not for: groups under" in both.sentence


@parametrize(
    "epsilon, rows_per_person, wanted",
    [
        (50.0, 1, r"Good for: shares by .* within 1 point\. Not for: groups under [\d,]+ people\."),
        (50.0, 3, r"Good for: shares by .* within 1 point\. Not for: groups under [\d,]+ rows\."),
        (0.001, 1, r"Too few people for these questions: shares by .* and groups of any size\."),
        (0.001, 3, r"Too few rows for these questions: shares by .* and groups of any size\."),
    ],
)
def test_uses_name_people_or_rows_and_never_only_what_is_not_good(epsilon, rows_per_person, wanted):
    planned = planned_tables(PROBLEM, plan_of("gaussian_maxent", PROBLEM, Budget(epsilon, 1e-6)))
    uses = suitable_uses(planned, N, rows_per_person)
    assert re.fullmatch(wanted, uses.sentence)
    assert uses.is_table_too_small == (epsilon < 1)
    said_by_verifier = _sentence_of_uses(
        list(uses.good_for), list(uses.not_for), unit_noun(rows_per_person)
    )
    assert uses.sentence == said_by_verifier


def test_nothing_is_known_of_an_algorithm_that_decides_on_the_way():
    assert planned_tables(PROBLEM, plan_of("mwem", PROBLEM, BUDGET)) is None
    assert promised_error(None, PAIRS) is None
    assert "not known" in suitable_uses(None, N).sentence
    for delta in (0, 1e-6):
        run = run_to_end("mwem", PROBLEM, ROWS, Budget(1.0, delta))
        assert unbiased_tables(run.release, run.measured, DOMAIN).laplace is (delta == 0)


@parametrize("epsilon", [1e-4, 1e-2, 1.0])
def test_no_promised_error_of_a_share_exceeds_all_rows(epsilon):
    problem = all_tables(DOMAIN, 20)
    plan = make_plan(ALGORITHMS["gaussian_maxent"](), problem, Budget(epsilon, 1e-9))
    promised = promised_error(planned_tables(problem, plan), problem.workload)
    assert 0 < promised <= 1
