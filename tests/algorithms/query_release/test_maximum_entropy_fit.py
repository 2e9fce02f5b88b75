"""The stages of a fit: how much each table tells beyond noise, and when a stage ends."""

import numpy as np
import pandas as pd

from dpcore import ALGORITHMS, Budget, Marginals, Run
from dpcore.algorithms.query_release.shared import maximum_entropy_fit
from dpcore.data import samples
from dpcore.models.listed_cells import ListedCellsModel
from dpcore.privacy.noisy_answers import NoisyAnswers
from tests.small_problems import all_tables, approx, final_errors, integer_domain, seeded


def test_a_tables_signal_is_the_share_of_its_distance_that_is_not_noise():
    tables = Marginals.over_axes(samples.census(100).domain, [(0,), (0, 1), (0, 2), (1, 2)])
    size = [table.stop - table.start for table in tables.tables]
    distance = np.repeat([0.0, 0.2, 0.05, 1.0], size)  # in a cell: noise alone makes 0.1
    found = maximum_entropy_fit.signal_shares(
        NoisyAnswers(tables, distance, np.full(tables.m, 0.1)), np.zeros(tables.m)
    )
    assert found == approx(np.repeat([1.0, 0.75, maximum_entropy_fit.MIN_SIGNAL_SHARE, 0.99], size))


def test_weighing_tables_by_their_signal_takes_off_noise(monkeypatch):
    sample = samples.census(5000)
    rows = sample.domain.encode(sample.frame)
    problem = all_tables(sample.domain, rows.n, 3)

    def error() -> float:
        runs = [
            Run(ALGORITHMS["gaussian_maxent"](), problem, rows, Budget(0.3, 1e-6), seed=seed)
            for seed in range(6)
        ]
        return float(np.mean([final_errors(run.finish()).mean_l1 for run in runs]))

    weighed = error()
    monkeypatch.setattr(
        maximum_entropy_fit, "MIN_SIGNAL_SHARE", 1.0
    )  # every table has the whole weight
    assert weighed < 0.99 * error()


def test_a_fit_ends_where_its_gradient_is_small_as_near_the_optimum_as_that_says():
    domain = samples.census(100).domain
    tables = Marginals.all(domain, 2)
    noisy_answers = NoisyAnswers(tables, seeded(0).random(tables.m) / 50, np.full(tables.m, 0.01))
    model = ListedCellsModel(domain)

    def fit(converged_gradient):
        iterates = maximum_entropy_fit.fit_maximum_entropy(
            noisy_answers,
            10.0,
            np.zeros(model.size),
            500,
            model,
            converged_gradient=converged_gradient,
        )
        answers = [tables.answers(D) for _, D in iterates]
        return len(answers), answers[-1]

    optimum = fit(1e-6)[1]
    iterations = []
    for converged_gradient in (1.0, 0.05, 1e-3):
        count, answers = fit(converged_gradient)
        iterations.append(count)
        distance = np.linalg.norm((answers - optimum) / 0.01)
        assert distance <= 2 * converged_gradient * np.sqrt(tables.m), "f is 1-strongly convex"
    assert iterations == sorted(set(iterations)), "a smaller one takes longer"


def test_a_preconditioned_fit_has_the_same_optimum_and_is_near_it_soon_after_another_noise():
    domain = integer_domain(60, 12, 3)
    levels = seeded(3).gamma(0.3, size=5000)
    columns = {column.name: (levels * 9).astype(int) % column.size for column in domain.columns}
    rows = domain.encode(pd.DataFrame(columns))
    tables = Marginals.all(domain, 2)
    real = tables.answers_of_rows(rows)
    model = ListedCellsModel(domain)

    def fit(seed, phi, iterations, is_preconditioned=False):
        noise = seeded(seed).normal(scale=1e-3, size=tables.m)
        *_, (_, D) = maximum_entropy_fit.fit_maximum_entropy(
            NoisyAnswers(tables, real + noise, np.full(tables.m, 1e-3)),
            500.0,
            np.zeros(model.size),
            iterations,
            model,
            phi,
            is_preconditioned=is_preconditioned,
            converged_gradient=1e-6,
        )
        return tables.answers(D)

    phi = np.zeros(tables.m)
    fit(0, phi, 1000)
    optimum = fit(1, phi.copy(), 1000)
    assert fit(1, phi.copy(), 1000, is_preconditioned=True) == approx(optimum, abs=1e-7)
    nearer = np.abs(fit(1, phi.copy(), 6, is_preconditioned=True) - optimum).sum()
    farther = np.abs(fit(1, phi.copy(), 6) - optimum).sum()
    assert nearer < 0.3 * farther
