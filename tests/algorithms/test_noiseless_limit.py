"""Without privacy noise the algorithms are the methods they claim to be: naive twins, scipy's
optimum, the formulas.
"""

import math
from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar

from dpcore import ALGORITHMS, Budget, Explicit, Marginals
from dpcore.algorithms.query_release.shared import step_schedules
from dpcore.algorithms.query_release.shared.maximum_entropy_fit import (
    fit_maximum_entropy,
    fit_stages,
    product_potentials,
)
from dpcore.models.listed_cells import ListedCellsModel
from dpcore.privacy.noisy_answers import NoisyAnswers
from tests.replay import exact_run
from tests.small_problems import (
    approx,
    ignore_privacy_warnings,
    integer_domain,
    marginal_matrix,
    minimise_distribution,
    parametrize,
    query_matrix,
    query_problem,
    run_to_end,
    seeded,
    softmax,
    time_limit,
)

MANY = ("2-way", "mixed")
LIMITS = [
    ("gaussian_maxent", {"alpha": 0.05, "rounds": 500}, ("2-way", "explicit", "two records"), 0.01),
    ("mwem", {"measure": "marginal", "rounds": 6}, MANY, 0.01),
    ("pep", {"rounds": 80, "slack": 0.01}, ("mixed", "explicit"), 0.01),
    ("pmw", {"updates": 150, "threshold": 0.003}, MANY, 0.01),
    ("pmw", {"updates": 12, "measure": "marginal", "threshold": 0.003}, MANY, 0.01),
    ("aim", {"rounds": 20}, ("mixed", "ranges", "two records"), 0.01),
    ("dualquery", {"rounds": 200, "samples": 100}, ("2-way",), 0.02),
    ("dqrs", {"rounds": 200, "samples": 100}, ("2-way",), 0.02),
    ("fem", {"rounds": 300}, ("2-way",), 0.04),
    ("sepfem", {"rounds": 300}, ("2-way",), 0.04),
    ("gem", {"rounds": 9, "updates": 60}, ("mixed", "explicit"), 0.02),
    ("rap", {"rounds": 3, "queries": 6, "updates": 60}, ("ranges", "explicit"), 0.02),
    ("private_evolution_table", {}, ("2-way",), 0.05),
]


@ignore_privacy_warnings
@parametrize("name, settings, wheres, near", LIMITS)
def test_they_tend_to_the_truth(name, settings, wheres, near):
    few, *many = (
        run_to_end(name, *query_problem(where), Budget(epsilon, 1e-6), **settings)
        .convergence[-1]
        .empirical.max_error
        for where, epsilon in ((wheres[0], 0.1), *((where, 1e7) for where in wheres))
    )
    assert max(many) < near < few, many


def both_ways(where, seed=0, **settings):
    """What dpfw was asked and its steps without noise, the matrix, and a naive D_0 … D_T for given
    γ_t.

    The naive q is rebuilt from its weights over signed queries at every step.
    """
    problem, rows = query_problem(where)
    _, curator, steps = exact_run(ALGORITHMS["dpfw"](**settings), problem, rows, seed=seed)
    A = query_matrix(problem.workload)
    truth = curator.truth
    (m, k), signed = A.shape, np.vstack([A, -A])

    def naive(gammas):
        weights = np.zeros(2 * m)
        D = [np.full(k, 1 / k)]
        for gamma in gammas:
            best = np.argmax(np.concatenate([truth - A @ D[-1], A @ D[-1] - truth]))
            weights *= 1 - gamma
            weights[best] += gamma
            D.append(softmax(weights @ signed / settings["alpha"]))
        return np.array(D)

    return curator.asked, [step.release.D for step in steps], A, naive


@parametrize("rounds", [1, 2, 7, 60])
@parametrize("where", ["2-way", "mixed", "explicit"])
def test_practical_dpfw_is_the_naive_iteration_and_releases_the_mean_of_the_second_half(
    where, rounds
):
    asked, released, A, naive = both_ways(where, rounds=rounds, alpha=0.05)
    D = naive(2 / (t + 2) for t in range(rounds))
    assert np.allclose([score.answers for _, score, _ in asked], D[:-1] @ A.T, atol=1e-10)
    for t, found in enumerate(released, start=1):
        half = [d for s, d in enumerate(D) if rounds / 2 < s <= t] or [D[t]]
        assert np.allclose(found, np.mean(half, axis=0), atol=1e-10)


@parametrize("alpha", [0.001, 0.05, 3.0])
@parametrize("where", ["2-way", "explicit"])
def test_paper_dpfw_is_the_naive_iteration_and_releases_one_iterate(where, alpha):
    places = []
    gamma = min(1, 2 * math.sqrt(alpha / (40 * 2)))
    for seed in range(20):
        _, released, _, naive = both_ways(where, seed, rounds=40, alpha=alpha, schedule="paper")
        D = naive([gamma] * 40)
        assert np.allclose(released[:-1], D[1:-1], atol=1e-9)
        gaps = np.abs(D[:-1] - released[-1]).max(axis=1)
        assert gaps.min() < 1e-9
        places.append(int(gaps.argmin()))
    assert len(set(places)) > 10 or alpha == 3.0
    assert min(places) < 10
    if alpha < 1:
        assert max(places) > 29


def primal_optimum(A, y, sigma, base, weight):
    """argmin over distributions of ½ Σ((A D − y)/σ)² + weight · KL(D ‖ base) by SLSQP."""

    def objective(D):
        D = np.maximum(D, 1e-300)
        gaps = (A @ D - y) / sigma
        value = gaps @ gaps / 2 + weight * (D @ np.log(D / base))
        return value / weight, (A.T @ (gaps / sigma) + weight * (np.log(D / base) + 1)) / weight

    return minimise_distribution(objective, base)


@parametrize("seed", range(2))
@parametrize("weight", [0.5, 1000.0])
@parametrize("kind", ["2-way", "mixed", "explicit"])
def test_the_fit_reaches_the_optimum_that_scipy_finds(kind, weight, seed):
    domain = integer_domain(2, 3, 2)
    rng = seeded(seed)
    columns = {"2-way": ["ab", "ac", "bc"], "mixed": ["abc", "b"]}.get(kind, [])
    A = marginal_matrix(domain, columns) if columns else rng.choice([-1.0, 1.0], (6, 12))
    workload = Marginals(domain, columns) if columns else Explicit(domain, A)
    sigma = rng.uniform(0.02, 0.1, len(A))
    y = A @ rng.dirichlet(np.ones(12)) + sigma * rng.normal(size=len(A))
    base = rng.dirichlet(np.full(12, 3.0))
    expected = primal_optimum(A, y, sigma, base, weight)
    given = NoisyAnswers(workload, y, sigma), weight, np.log(base), 400, ListedCellsModel(domain)
    *_, (_, stopped) = fit_maximum_entropy(*given)
    assert np.abs(A @ (stopped - expected)).max() < 2e-3 * sigma.max(), "where it stops by itself"
    *_, (theta, settled) = fit_maximum_entropy(*given, converged_gradient=1e-7)
    assert np.abs(softmax(theta) - settled).max() < 1e-15
    assert np.abs(settled - expected).max() < 1e-5


@parametrize("sigma", [1e-9, 10])
@parametrize("weight", [1e-3, 1e8])
def test_the_fit_ends_where_floating_point_allows_no_further_decrease(weight, sigma):
    workload = Marginals.all(integer_domain(2, 3, 2), 2)
    rng = seeded(0)
    y = workload.answers(rng.dirichlet(np.ones(12))) + sigma * rng.normal(size=workload.m)
    noisy_answers = NoisyAnswers(workload, y, np.full(workload.m, sigma))
    with time_limit(60):
        iterates = list(
            fit_maximum_entropy(
                noisy_answers,
                weight,
                np.log(rng.dirichlet(np.ones(12))),
                600,
                ListedCellsModel(workload.domain),
                converged_gradient=-1,
            )
        )
    assert np.isfinite(iterates).all()


def test_smaller_tables_are_summed_out_of_noisy_ones_by_precision():
    domain = integer_domain(2, 3, 4)
    workload = Marginals.all(domain, 2)
    y = seeded(0).normal(size=workload.m)
    noisy_pairs = NoisyAnswers(workload, y, np.full(workload.m, 0.3))
    out = noisy_pairs.marginalise(Marginals(domain, ["a"]))
    ab, ac = (
        y[t].reshape(s) for t, s in zip(workload.tables[:2], workload.shapes[:2], strict=True)
    )
    variances = [3 * 0.09, 4 * 0.09]
    expected = (ab.sum(axis=1) / variances[0] + ac.sum(axis=1) / variances[1]) / sum(
        1 / v for v in variances
    )
    assert np.allclose(out.values, expected)
    assert np.allclose(out.stddev, (1 / sum(1 / v for v in variances)) ** 0.5)


def test_the_base_is_the_product_of_noisy_shares_and_uniform_where_nothing_is_known():
    domain = integer_domain(2, 3, 2)
    workload = Marginals(domain, ["a", "b"])
    kept = 0.95 / 1.02 / 4  # nearest to 1/4 (1 − 0.01/0.125), where Stein's estimate is least
    noisy = [0.5 - kept, 0.5 + kept], np.array([1e-4, 0.5, 0.5]) / 1.0001, [0.5, 0.5]
    y = np.array([0.25, 0.75, -0.1, 0.5, 0.5])
    base = product_potentials(NoisyAnswers(workload, y, np.full(5, 0.1)), ListedCellsModel(domain))
    assert np.allclose(softmax(base), np.einsum("a,b,c->abc", *noisy).ravel())
    large = product_potentials(
        NoisyAnswers(workload, 1e3 * y, np.full(5, 1e3)), ListedCellsModel(domain)
    )
    assert np.allclose(softmax(large), 1 / 12, rtol=0.01), (
        "no cell gets all where noise is larger than all there is"
    )
    explicit = Explicit(domain, np.ones((1, 12)))
    assert np.allclose(
        softmax(
            product_potentials(
                NoisyAnswers(explicit, np.ones(1), np.ones(1)), ListedCellsModel(domain)
            )
        ),
        1 / 12,
    )
    assert fit_stages(explicit) == [explicit]
    assert [
        len(stage.tables) for stage in fit_stages(Marginals.all(integer_domain(2, 2, 2, 2), 3))
    ] == [
        6,
        4,
    ]


PUBLIC = [
    {"n": n, "m": m, "width": w, "rho": rho}
    for n in (100, 10**5)
    for m, w in ((5, 1), (4000, 2))
    for rho in (0.01, 1)
]


def gap(T, alpha, gamma, *, n, m, width, rho):
    """The bound that theory's formulas minimise, with D_∞ = 2: optimisation error, step error,
    selection noise.
    """
    beta = 2 * width / n / math.sqrt(8 * rho / T)
    return 2 * 2 / (gamma * T) + gamma * 4 / (2 * alpha) + beta * math.log(2 * m)


@parametrize("public", PUBLIC)
def test_schedules_minimise_their_bound(public):
    loss = step_schedules.selection_loss(**public)
    for alpha in (1e-4, 0.01, 1):
        for T in (10, 1000):
            gap_of_step = partial(gap, T, alpha, **public)
            best = minimize_scalar(lambda g, f=gap_of_step: f(math.exp(g)), bounds=(-20, 5)).x
            assert step_schedules.frank_wolfe_step(rounds=T, alpha=alpha) == approx(
                min(1, math.exp(best)), rel=1e-3
            )

        def over_rounds(t):
            return gap(math.exp(t), alpha, 2 * math.sqrt(alpha / (math.exp(t) * 2)), **public)  # noqa: B023

        best = math.exp(minimize_scalar(over_rounds, bounds=(-10, 40), options={"xatol": 1e-9}).x)
        assert (
            abs(step_schedules.frank_wolfe_rounds(loss=loss, alpha=alpha) - max(1, best))
            <= 0.5 + 1e-4 * best
        )

    def over_alpha(log_alpha, k=20_000):
        alpha = math.exp(log_alpha)
        u = public["width"] / public["n"] * math.log(2 * public["m"]) / math.sqrt(public["rho"])
        return 4 * math.sqrt(u) * alpha**-0.25 + alpha * math.log(k)

    best = math.exp(minimize_scalar(over_alpha, bounds=(-30, 10), options={"xatol": 1e-9}).x)
    assert step_schedules.frank_wolfe_alpha(loss=loss, k=20_000) == approx(best, rel=1e-4)
