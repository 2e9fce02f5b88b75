"""What a rule reveals beside the proofs, what it costs, and the private release beside it."""

import json

import numpy as np

from dpcore import Budget, Marginals, QueryRelease, domain_from_json, samples
from dpcore.accuracy.meaning_of_epsilon import format_times_in_100
from dpcore.evaluation.error_diagnosis import GroupComparison
from dpcore.evaluation.reconstruction.asked_tables import AskedTables, counts_of_rows, draw_block
from dpcore.evaluation.reconstruction.best_guesses import (
    disclosed_share,
    guess_from_single_columns,
    guess_table,
    overlap_share,
    round_to_total,
)
from dpcore.evaluation.reconstruction.disclosure_rules import (
    FewerTables,
    Rounding,
    Suppression,
    Swapping,
)
from dpcore.evaluation.reconstruction.private_releases import (
    PrivatePoint,
    epsilon_of_equal_error,
    guess_bound,
    private_counterpart,
    private_curve,
)
from dpcore.evaluation.reconstruction.rule_costs import (
    changed_conclusions,
    measure_costs,
    pair_comparison,
)
from dpcore.evaluation.reconstruction.rule_outcomes import (
    RuleOutcome,
    attack_rule,
    attack_rules,
    comparison_sentences,
)
from dpcore.schema.domain import Rows
from tests.small_problems import approx, seeded

SAMPLE = samples.titanic()
BLOCK, OTHER = draw_block(SAMPLE.domain.encode(SAMPLE.frame), 60, 0)
ASKED = AskedTables.of(Marginals.all(SAMPLE.domain, 2), BLOCK)


def test_exact_tables_prove_guess_and_cost_what_they_do():
    other = counts_of_rows(SAMPLE.domain, OTHER)
    outcome = attack_rule(ASKED, Rounding(1), seed=0, max_seconds=30, other_counts=other)
    assert outcome.proved_share > 0.5
    assert outcome.undecided_share == 0
    assert outcome.guessed_share >= outcome.proved_share
    assert 0 < outcome.baseline_share < 1
    assert outcome.sample_share == approx(np.minimum(other, ASKED.counts).sum() / 60)
    costs = outcome.costs
    assert (costs.misplaced, costs.largest, costs.lost_share, costs.flipped_share) == (0, 0, 0, 0)
    assert all(group.error == 0 for group in costs.groups)
    assert [group.rows for group in costs.groups] == sorted(g.rows for g in costs.groups)
    assert RuleOutcome.from_json(json.loads(json.dumps(outcome.to_json()))) == outcome


def test_a_guess_has_the_published_tables_and_a_baseline_the_single_columns():
    published = Rounding(1).publish(ASKED, seeded(0))
    assert published.is_consistent(guess_table(published, 30))
    answers = ASKED.table_counts / ASKED.n
    baseline = guess_from_single_columns(ASKED, answers)
    assert baseline.sum() == ASKED.n
    assert overlap_share(ASKED.counts, ASKED.counts) == 1
    # without time it is the nearest whole table
    assert guess_table(published, 0).sum() == ASKED.n
    assert round_to_total(np.array([1.0, 1.0, 2.0]), 3).tolist() == [1, 1, 1]


def test_rows_swapped_leave_a_combination_at_most_and_so_prove_less():
    exact = attack_rule(ASKED, Rounding(1), seed=0, max_seconds=30)
    swapped = attack_rule(ASKED, Swapping(0.05), seed=0, max_seconds=30)
    assert swapped.proved_share < exact.proved_share
    assert swapped.disclosed_share == 0
    for seed in range(3):  # what is proved is true, whoever was swapped
        published = Swapping(0.1).publish(ASKED, seeded(seed))
        assert np.all(published.behind - published.swapped_rows <= ASKED.counts)


def test_a_value_that_everyone_of_a_group_has_is_disclosed():
    domain = domain_from_json({"ward": 3, "ill": 2, "age": 2})
    rows = Rows(
        np.array([[0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 0], [2, 0, 1]]), np.array([3, 2, 1, 1, 3])
    )
    asked = AskedTables.of(Marginals(domain, [["ward", "ill"]]), rows)
    exact = Rounding(1).publish(asked, seeded(0))
    # all of wards 0 and 2
    assert disclosed_share(asked, exact) == approx(0.8)
    assert disclosed_share(asked, Suppression(5).publish(asked, seeded(0))) == approx(0.8)
    assert disclosed_share(asked, Rounding(5).publish(asked, seeded(0))) == 0
    assert disclosed_share(asked, Swapping(0.2).publish(asked, seeded(0))) == 0


def test_conclusions_turn_and_vanish_as_each_of_them_does():
    answers = Rounding(5).publish(ASKED, seeded(0)).answers
    real = ASKED.table_counts / ASKED.n
    pairs = pair_comparison(ASKED, real, answers)
    turned = vanished = total = 0
    domain = SAMPLE.domain
    for axes, _, table in pairs.workload.layout:
        for group, outcome in ((axes[0], axes[1]), (axes[1], axes[0])):
            column, other = domain.columns[group], domain.columns[outcome]
            for first in column.labels:
                for second in column.labels:
                    for value in other.labels:
                        claim = GroupComparison(column.name, first, second, other.name, value)
                        before = claim.share_difference(domain, pairs.real[table])
                        after = np.nan_to_num(claim.share_difference(domain, answers[table]))
                        if abs(np.nan_to_num(before)) > 1e-9:
                            total += 1
                            turned += before * after < -1e-12
                            vanished += abs(after) <= 1e-9
    assert changed_conclusions(pairs) == approx((turned / total, vanished / total))
    assert turned


def test_costs_count_lost_cells_among_those_with_rows():
    published = Suppression(5).publish(ASKED, seeded(0))
    costs = measure_costs(ASKED, published.answers, published.is_lost)
    counts = ASKED.table_counts
    assert costs.lost_share == approx(np.mean(counts[counts > 0] < 5))
    single = AskedTables.of(Marginals.all(SAMPLE.domain, 1), BLOCK)
    answers = single.table_counts / single.n
    assert measure_costs(single, answers, np.zeros(len(answers), dtype=bool)).groups == ()


def points(*pairs):
    costs = measure_costs(ASKED, ASKED.table_counts / ASKED.n, np.zeros(ASKED.tables.m, dtype=bool))
    return [
        PrivatePoint(
            algorithm="gaussian_maxent",
            epsilon=epsilon,
            costs=type(costs)(**vars(costs) | {"misplaced": misplaced}),
            max_guess=0.5,
        )
        for epsilon, misplaced in pairs
    ]


def test_the_epsilon_of_equal_error_lies_between_those_of_the_curve():
    curve = points((0.1, 0.4), (1.0, 0.4), (10.0, 0.04))
    assert epsilon_of_equal_error(curve, 0.04) == approx(10)
    assert epsilon_of_equal_error(curve, 0.4 / np.sqrt(10)) == approx(np.sqrt(10))
    for none in (0.0, 0.03, 0.5):
        assert epsilon_of_equal_error(curve, none) is None
        assert private_counterpart(ASKED, curve, none, 1e-9) is None


def test_a_private_counterpart_has_the_guess_of_its_epsilon_and_the_sentence_says_so():
    curve = private_curve(ASKED, BLOCK, 1e-9, epsilons=(1.0, 10.0, 100.0))
    errors = [point.costs.misplaced for point in curve]
    assert errors == sorted(errors, reverse=True)
    outcomes = attack_rules(ASKED, [Rounding(5), FewerTables()], seed=0, max_seconds=30)
    counterpart = private_counterpart(ASKED, curve, outcomes[0].costs.misplaced, 1e-9)
    budget = Budget(counterpart.epsilon, 1e-9)
    bound = guess_bound(QueryRelease(ASKED.tables, 60), "gaussian_maxent", budget)
    assert counterpart.max_guess == approx(bound)
    text = comparison_sentences(outcomes[0], 60, "people", counterpart)
    proved = round(60 * outcomes[0].proved_share)
    assert text == (
        f"“Rounded to 5” has the error of ε = {counterpart.epsilon:.2g}. It proves {proved} of 60 "
        f"people of these tables; the noise lets a guess be right at most "
        f"{format_times_in_100(bound)}."
    )
    assert "No private release" in comparison_sentences(outcomes[1], 60, "people", None)


def test_a_private_release_protects_all_rows_of_a_person():
    """Three rows each: three times the noise for the same bound on a guess."""
    persons = AskedTables.of(ASKED.tables, BLOCK, rows_per_person=3)
    assert persons.problem.group == 3
    (single,) = private_curve(ASKED, BLOCK, 1e-9, epsilons=(10.0,))
    (protected,) = private_curve(persons, BLOCK, 1e-9, epsilons=(10.0,))
    assert protected.max_guess == approx(single.max_guess)
    assert protected.costs.misplaced > 1.5 * single.costs.misplaced
