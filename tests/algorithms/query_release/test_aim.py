"""AIM: candidates and weights by brute force, the arithmetic of its adaptive charges, and its
noiseless limit.
"""

import math

import numpy as np

from dpcore import Marginals, domain_from_json
from dpcore.algorithms.noisy_tables import NoisyTables
from dpcore.algorithms.query_release.aim import (
    MEASUREMENT_SHARE,
    candidate_tables,
    coverage_weights,
)
from dpcore.algorithms.query_release.shared.clique_selection import (
    MAX_WEIGHED_TABLES,
    CliqueBudget,
    exclusion_penalties,
)
from dpcore.privacy.accounting import BoundedRange, Gaussian, Pure
from dpcore.privacy.measurement import noise_stddev
from dpcore.privacy.statistics import ONE_TABLE_SENSITIVITY
from tests.small_problems import (
    BUDGET,
    BUDGETS,
    all_tables,
    approx,
    ignore_privacy_warnings,
    integer_domain,
    parametrize,
    plan_of,
    query_problem,
    run_to_end,
)


def cost(spend, pure):
    return spend.pure_epsilon if pure else spend.rho


def test_of_very_many_tables_the_small_ones_are_candidates_and_every_column_alone():
    shape = [3, *[2] * 24, 9]
    domain = domain_from_json({f"c{i}": size for i, size in enumerate(shape)})
    found = candidate_tables(Marginals.all(domain, 3)).axes
    assert len(found) == MAX_WEIGHED_TABLES
    assert {axes for axes in found if len(axes) == 1} == {(i,) for i in range(26)}
    assert max(math.prod(shape[a] for a in axes) for axes in found[26:]) == 8, (
        "of 2,024 tables of eight some"
    )
    assert found == candidate_tables(Marginals.all(domain, 3)).axes, (
        "the same ones whenever they are drawn"
    )
    assert max(axes[0] for axes in found) > 15, "not the first ones"
    assert plan_of("aim", all_tables(domain, 100, 3), BUDGET)["cells"] > 0


def test_candidates_are_all_tables_inside_those_asked_and_weights_say_how_much_of_these_they_cover():
    asked = Marginals(integer_domain(2, 3, 2, 4), ["abc", "d", "bd"])
    weights = dict(
        zip(
            candidate_tables(asked).axes,
            coverage_weights(candidate_tables(asked), asked),
            strict=True,
        )
    )
    covered = {
        (0,): 1,
        (1,): 2,
        (2,): 1,
        (3,): 2,
        (0, 1): 3,
        (0, 2): 2,
        (1, 2): 3,
        (1, 3): 4,
        (0, 1, 2): 4,
    }
    assert weights == {axes: columns / 4 for axes, columns in covered.items()}


@ignore_privacy_warnings
@parametrize("budget", BUDGETS)
def test_rounds_are_equal_or_enlarged_and_the_last_takes_what_is_left(budget):
    run = run_to_end("aim", *query_problem("3-way of 4"), budget)
    pure = budget.delta == 0
    events = run.events
    first = events[:4]
    rounds = [events[i : i + 2] for i in range(4, len(events), 2)]
    assert all(what == "measure" and spend == first[0][1] for what, spend in first)
    assert cost(first[0][1], pure) == approx(MEASUREMENT_SHARE * run.plan["first"])
    costs = []
    for (chosen, select), (asked, measure) in rounds:
        assert (chosen, asked) == ("select", "measure")
        assert (type(select), type(measure)) == ((Pure, Pure) if pure else (BoundedRange, Gaussian))
        costs.append(cost(select, pure) + cost(measure, pure))
        assert cost(measure, pure) == approx(MEASUREMENT_SHARE * costs[-1])
    factor = 2 if pure else 4
    growth = np.array(costs[1:-1]) / costs[:-2]
    assert all(g == approx(1) or g == approx(factor) for g in growth)
    whole = budget.epsilon if pure else budget.rho
    assert whole * (1 - 1e-8) <= sum(costs) + 4 * cost(first[0][1], pure) <= whole
    assert costs[-1] < 2 * costs[-2] * factor
    assert run.spent.epsilon <= budget.epsilon


def test_a_table_measured_twice_counts_once_with_its_mean_by_precision():
    tables = Marginals.all(integer_domain(2, 2), 1)
    past = NoisyTables(tables.domain)
    weak = Gaussian(0.1)
    strong = Gaussian(0.3)
    past.add((0,), np.array([1.0, 0.0]), 0.1)
    past.add((1,), np.array([0.4, 0.6]), noise_stddev(ONE_TABLE_SENSITIVITY, weak, 100))
    past.add((1,), np.array([0.6, 0.4]), noise_stddev(ONE_TABLE_SENSITIVITY, strong, 100))
    precision = (0.1**2 + 0.3**2) * 100**2 / 2
    noisy_answers = past.arrays()
    assert past.precision == approx(precision + 100)
    assert noisy_answers.workload.axes == tables.axes
    assert noisy_answers.values == approx([1, 0, 0.58, 0.42])
    assert noisy_answers.stddev == approx([0.1, 0.1, precision**-0.5, precision**-0.5])


def test_a_table_without_room_scores_behind_all_others_whatever_the_records_say():
    weights = np.array([0.2, 1.0, 0.5])
    penalties = np.array([3.0, 0.0, 1.0])
    free = np.array([True, False, True])
    scale = 0.01
    barred = exclusion_penalties(penalties, weights, free, scale)
    assert np.array_equal(barred[free], penalties[free])
    worst_free = (weights * (0 - barred))[free].min()
    best_barred = (weights * (2 - barred))[~free].max()
    assert worst_free - best_barred >= 100 * scale


def test_tables_have_room_while_their_tree_stays_small():
    candidates = candidate_tables(Marginals.all(integer_domain(4, 4, 4, 4), 2))
    room = CliqueBudget(candidates, 32)
    room.model_holding([(0, 1), (2, 3)])
    assert room.still_fits.tolist() == [
        axes in {(0,), (1,), (2,), (3,), (0, 1), (2, 3)} for axes in candidates.axes
    ]
    wider = CliqueBudget(candidates, 48)
    assert wider.model_holding([(0, 1), (2, 3)]).size == 32
    assert wider.still_fits.all(), "a third pair joins two trees to one"
    wider.model_holding([(0, 1), (1, 2), (2, 3)])
    assert not wider.still_fits[candidates.axes.index((0, 2))], "it would close a ring"
