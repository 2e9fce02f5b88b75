"""GEM and RAP: the fit's gradient and optimum, what a round settles, many columns, and single
columns' share.
"""

import numpy as np

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, TableQueries, Union
from dpcore.algorithms.query_release.gem_and_rap import fit_targets
from dpcore.models.product_mixture import GeneratorNetwork, MixtureFit, NoisyTarget, RelaxedRows
from dpcore.privacy.accounting import Gaussian
from dpcore.privacy.measurement import Measurement
from dpcore.privacy.statistics import Answers, SomeAnswers
from dpcore.queries.product_answers import ProductAnswers
from tests.replay import exact_run
from tests.small_problems import (
    BUDGET,
    D324,
    all_tables,
    approx,
    expect_error,
    integer_domain,
    parametrize,
    plan_of,
    query_problem,
    random_rows,
    random_sign_queries,
    seeded,
)

BOTH = parametrize("name", ["gem", "rap"])
MAKERS = parametrize("make", [GeneratorNetwork, RelaxedRows])
WORKLOADS = {
    "tables": Marginals.all(D324, 2),
    "signs": random_sign_queries(D324, 4),
    "union": Union(
        [Marginals.all(D324, 1), random_sign_queries(D324, 2), TableQueries.ranges(D324, "c")]
    ),
}


def fitted(workload, make):
    rng = seeded(0)
    base = np.concatenate([np.log(rng.dirichlet(np.ones(size))) for size in workload.domain.shape])
    some = np.sort(rng.permutation(workload.m)[: -(-workload.m // 2)])
    targets = [
        NoisyTarget(
            ProductAnswers(workload, js), rng.normal(size=len(js)), rng.uniform(1, 9, len(js))
        )
        for js in (some, np.arange(1))
    ]
    return MixtureFit(workload, make(base, 3, rng), base), targets


@MAKERS
@parametrize("where", WORKLOADS)
def test_the_gradient_of_every_parameter_is_that_of_the_objective(where, make):
    fit, targets = fitted(WORKLOADS[where], make)
    value, g = fit.objective(targets, 2.5)
    gradients = fit.logits.backward(g)
    direct = (
        sum(t.precision @ (t.products.answers(fit.p, fit.weights) - t.y) ** 2 for t in targets) / 2
    )
    prior = (fit.p * np.log(fit.p / np.exp(fit.base))).sum() / 3
    assert value == approx(direct + 2.5 * prior)
    rng = seeded(1)
    for parameter, gradient in zip(fit.logits.parameters, gradients, strict=True):
        assert parameter.shape == gradient.shape
        for _ in range(5):
            way = rng.normal(size=parameter.shape)
            before = parameter.copy()
            sides = []
            for step in (1e-5, -1e-5):
                parameter[...] = before + step * way
                fit._recompute_distributions()
                sides.append(fit.objective(targets, 2.5)[0])
            parameter[...] = before
            assert (sides[0] - sides[1]) / 2e-5 == approx(
                (way * gradient).sum(), rel=1e-6, abs=1e-6
            )


def test_what_is_measured_again_counts_as_its_average_by_precision():
    workload = WORKLOADS["tables"]
    assert fit_targets([]) == []
    first, second = (SomeAnswers(workload, table) for table in workload.tables[:2])
    spend = Gaussian(1.0)
    noisy = [
        Measurement(np.full(12, 5.0), 1.0, second, spend),
        Measurement(np.full(6, 1.0), 0.5, first, spend),
        Measurement(np.full(6, 3.0), 0.25, first, spend),
    ]
    (target,) = fit_targets(noisy)
    average = NoisyTarget(
        ProductAnswers(workload, np.arange(18)),
        np.repeat([2.6, 5.0], [6, 12]),
        np.repeat([20.0, 1], [6, 12]),
    )
    p = np.concatenate([seeded(size).dirichlet(np.ones(size), size=2).T for size in D324.shape])
    pulls = [
        own.products.gradient(
            p, np.full(2, 0.5), own.precision * (own.products.answers(p, np.full(2, 0.5)) - own.y)
        )
        for own in (target, average)
    ]
    assert pulls[0] == approx(pulls[1])


@parametrize("where", ["2-way", "explicit", "ranges", "union"])
def test_what_was_measured_in_a_round_counts_as_answered_by_it(where):
    algorithm = ALGORITHMS["rap"](rounds=1, queries=4, updates=1)
    plan, curator, _ = exact_run(algorithm, *query_problem(where), Budget(1e6, 1e-6))
    truth = curator.truth
    seen = [score.answers for verb, score, _ in curator.asked if verb == "select"]
    assert len(seen) == plan["queries"] > 1
    known = [int(np.isclose(answers, truth, atol=1e-12).sum()) for answers in seen]
    assert known == sorted(set(known)), "each measurement settles more answers"
    for before, after in zip(seen, seen[1:], strict=False):
        changed = before != after
        assert after[changed] == approx(truth[changed])
    if plan["measure"] == "query":
        worst = [int(np.argmax(np.abs(truth - answers))) for answers in seen]
        assert len(set(worst)) == len(worst), "no query is chosen twice in a round"


def test_a_matrix_over_too_many_cells_is_refused_before_anything_is_spent(monkeypatch):
    monkeypatch.setattr("dpcore.queries.product_answers.MAX_JOINT_CELLS", 23)
    for workload in (WORKLOADS["signs"], WORKLOADS["union"]):
        with expect_error("ask for marginals, or choose fewer columns"):
            plan_of("gem", QueryRelease(workload, 50), BUDGET)


@BOTH
def test_columns_nobody_asks_about_are_neither_measured_nor_invented(name):
    problem = QueryRelease(Marginals(D324, ["ac"]), 500)
    _, curator, _ = exact_run(
        ALGORITHMS[name](rounds=2, updates=5), problem, random_rows(D324, 500)
    )
    assert curator.asked[0][1].workload.columns == (("a",), ("c",))


@parametrize("delta", [1e-9, 0])
def test_single_columns_get_enough_of_the_budget_for_little_noise(delta):
    """The mean L1 noise on a column, at the share the plan chose, is what the rule promises within
    its bounds.
    """
    domain = integer_domain(40, 30, 50)
    problem = all_tables(domain, 20_000)
    sizes = []
    for epsilon in (0.01, 0.5, 50):
        plan = plan_of("gem", problem, Budget(epsilon, delta))
        spend = plan.planned_events[2].spend
        singles = Answers(Marginals.all(domain, 1))
        if isinstance(spend, Gaussian):
            mean = np.sqrt(2 / np.pi) * singles.l2 / (20_000 * spend.mu)
        else:
            mean = singles.l1 / (20_000 * spend.epsilon)
        sizes.append((plan["first"], 40 * mean))
    assert [share for share, _ in sizes][::2] == [0.4, 0.1]
    assert 0.1 < sizes[1][0] < 0.4
    assert 0.09 < sizes[1][1] <= 0.1 * (1 + 1e-6), (
        "optimal composition leaves a little less noise than zCDP"
    )
