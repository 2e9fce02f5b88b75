"""Tables of known links, their noisy measurements by a plan's noise, and how often a test of
independence rejects.
"""

import numpy as np

from dpcore.accuracy.intervals.independence_test import run_independence_test
from dpcore.accuracy.intervals.unbiased_tables import pool_tables
from dpcore.privacy.accounting import gdp_mu
from tests.accuracy.intervals.noisy_table import noisy_table
from tests.small_problems import integer_domain, seeded


def margin(k, kind):
    """Shares of k values: even, falling, or half of all in the first."""
    weights = {
        "even": np.ones(k),
        "falling": 0.6 ** np.arange(k),
        "half": np.eye(k)[0] * (k - 1) + np.ones(k),
    }[kind]
    return weights / weights.sum()


def joint(shape, kind, link=0.0):
    """Shares of a table with these margins and Cramér's V = `link`, by a link of signs between
    halves of the values.
    """
    p, q = (margin(k, kind) for k in shape)
    signs = [np.where(np.arange(k) < (k + 1) // 2, 1.0, -1.0) for k in shape]
    u, v = (s - w @ s for s, w in zip(signs, (p, q), strict=True))
    u = u / np.sqrt(p @ u**2)
    v = v / np.sqrt(q @ v**2)
    table = np.outer(p, q) * (1 + link * np.sqrt(min(shape) - 1) * np.outer(u, v))
    assert (table >= 0).all()
    return table


def count_rejections(
    shape, n, epsilon, *, kind="even", link=0.0, tables=1, tree=False, releases=200, seed=0
):
    """How many of `releases` have p ≤ .05: a pair measured once, or in a chain of pairs, each with
    its own noise.
    """
    rng = seeded(seed)
    sigma = np.sqrt(2 * tables) / (n * gdp_mu(epsilon, 1e-9))
    domain = integer_domain(*shape, *shape) if tree else integer_domain(*shape)
    found = 0
    P = joint(shape, kind, link)
    for i in range(releases):
        counts = rng.multinomial(n, P.ravel()).reshape(shape) / n
        measured = [((0, 1), counts)]
        if (
            tree
        ):  # the columns of the pair stand in two more tables, with a copy of the other one each
            beside = [
                np.outer(counts.sum(axis), margin(k, kind))
                for axis, k in ((1, shape[0]), (0, shape[1]))
            ]
            measured += [((0, 2), beside[0]), ((1, 3), beside[1])]
        noisy = [
            noisy_table(domain, axes, table + rng.normal(scale=sigma, size=table.shape), sigma)
            for axes, table in measured
        ]
        found += (
            run_independence_test(
                pool_tables(domain, noisy), domain.names[:2], n, repeats=99, seed=i
            ).p_value
            <= 0.05
        )
    return found
