"""Transport against full linear programs and closed forms."""

import numpy as np
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from dpcore.problems import point_grouping as point_groups
from dpcore.problems import transport
from dpcore.problems.transport import project_bounded_lipschitz, w1_distance
from tests.small_problems import approx, expect_error, parametrize, seeded

CORNERS = np.array([[0, 0], [1, 0], [0, 1], [0.5, 0.5]])


def projection_program(V, m, D):
    """min over distributions μ of sup {f·(m − μ)}: transport of all to all, creation and
    destruction at D.
    """
    k = len(m)
    flows = np.zeros((k, k * k))
    for i in range(k):
        for j in range(k):
            flows[i, i * k + j] += 1
            flows[j, i * k + j] -= 1
    one = np.eye(k)
    balance = np.hstack([flows, one, one, -one])  # what leaves, μ, destroyed, created
    total = np.concatenate([np.zeros(k * k), np.ones(k), np.zeros(2 * k)])
    costs = np.concatenate([cdist(V, V).ravel(), np.zeros(k), np.full(2 * k, D)])
    found = linprog(costs, A_eq=np.vstack([balance, total]), b_eq=np.append(m, 1.0), method="highs")
    return found.fun


def distance_program(V, m, D):
    """sup {f·m: |f| ≤ D, f 1-Lipschitz}."""
    k = len(m)
    pairs = [(i, j) for i in range(k) for j in range(k) if i != j]
    rules = np.zeros((len(pairs), k))
    for row, (i, j) in enumerate(pairs):
        rules[row, i] = 1
        rules[row, j] = -1
    bounds = cdist(V, V)[tuple(np.array(pairs).T)]
    return -linprog(-m, A_ub=rules, b_ub=bounds, bounds=(-D, D), method="highs").fun


def transport_program(X, a, Y, b):
    p = len(X)
    q = len(Y)
    rows = np.vstack([np.kron(np.eye(p), np.ones(q)), np.kron(np.ones(p), np.eye(q))])
    return linprog(cdist(X, Y).ravel(), A_eq=rows, b_eq=np.concatenate([a, b]), method="highs").fun


def signed(kind, k, rng):
    scale = {"little": 0.1, "much": 1.0, "no": 0.0}[kind.split()[0]]
    return rng.dirichlet(np.ones(k)) * (1.6 if "heavy" in kind else 1.0) + scale * rng.normal(
        size=k
    ) / np.sqrt(k)


@parametrize("kind", ["little noise", "much noise", "no noise", "much noise, heavy"])
@parametrize("d", [1, 2, 3])
@parametrize("seed", [0, 1])
def test_the_projection_is_the_full_program(d, kind, seed, monkeypatch):
    rng = seeded(seed)
    V = rng.random((14, d))
    m = signed(kind, 14, rng)
    D = np.sqrt(d)
    found = project_bounded_lipschitz(V, m, D)
    assert found.weights.min() >= 0
    assert found.weights.sum() == approx(1, abs=1e-12)
    assert found.value == approx(projection_program(V, m, D), abs=1e-9)
    assert distance_program(V, m - found.weights, D) == approx(found.value, abs=1e-9), (
        "μ attains it"
    )
    monkeypatch.setattr(transport, "MAX_DENSE_ARCS", 0)
    monkeypatch.setattr(transport, "NEAREST_ARCS_PER_POINT", 1)
    assert project_bounded_lipschitz(V, m, D).value == approx(found.value, abs=1e-9), (
        "few arcs and pricing"
    )


def test_a_large_projection_says_how_far_it_may_be_from_the_optimum(monkeypatch):
    rng = seeded(0)
    V = rng.random((600, 2))
    m = rng.dirichlet(np.ones(600)) + 0.01 * rng.normal(size=600)
    exact = project_bounded_lipschitz(V, m, 2.0)
    monkeypatch.setattr(transport, "MAX_TIGHT_ARCS", 0)
    monkeypatch.setattr(transport, "LOOSE_RELATIVE_ERROR", 0.2)
    monkeypatch.setattr(transport, "NEAREST_ARCS_PER_POINT", 2)
    rough = project_bounded_lipschitz(V, m, 2.0)
    assert exact.error <= 1e-9 < rough.error
    assert exact.value <= rough.value <= exact.value + rough.error + 1e-12


def test_nothing_positive_leaves_the_uniform_distribution():
    found = project_bounded_lipschitz(CORNERS, np.array([-0.1, 0.0, -0.2, 0.0]), 2.0)
    assert found.weights == approx(0.25)
    assert found.value == approx(2 * 1.3)


@parametrize("d", [1, 2, 3])
@parametrize("far", [0.0, 3.0])
def test_w1_is_the_full_program(d, far, monkeypatch):
    rng = seeded(d)
    X = rng.random((13, d))
    Y = rng.random((9, d)) + far
    a = rng.dirichlet(np.ones(13))
    b = rng.dirichlet(np.ones(9))
    expected = transport_program(X, a, Y, b)
    assert w1_distance(X, a, Y, b).value == approx(expected, abs=1e-9)
    assert w1_distance(Y, 7 * b, X, 3 * a).value == approx(expected, abs=1e-9)
    assert w1_distance(X, a, np.repeat(X, 2, axis=0), np.repeat(a, 2)).value == approx(0, abs=1e-12)
    assert w1_distance(X[:1], a[:1], Y, b).value == approx(b @ cdist(Y, X[:1])[:, 0], abs=1e-12)
    monkeypatch.setattr(transport, "MAX_DENSE_ARCS", 0)
    monkeypatch.setattr(transport, "ARCS_PER_POINT", 1)
    found = w1_distance(X, a, Y, b)
    assert found.value == approx(expected, abs=1e-9), "few arcs and pricing"
    assert found.error <= 1e-9


@parametrize("pairs", [2_000, 0], ids=["means of pairs", "bounds of them"])
@parametrize("far", [0.0, 0.5])
def test_groups_bound_the_distance_of_their_points(pairs, far, monkeypatch):
    monkeypatch.setattr(point_groups, "MAX_EXACT_PAIRS", pairs)
    rng = seeded(0)
    X = rng.random((400, 2))
    Y = rng.random((150, 2)) ** 2 + far
    a = rng.random(400)
    exact = w1_distance(X, a, Y, np.ones(150))
    rough = w1_distance(X, a, Y, np.ones(150), max_groups=60)
    assert exact.error < 1e-9 < rough.error < (0.03 if pairs else 0.06)
    assert abs(rough.value - exact.value) <= rough.error + 1e-9
    groups = point_groups.group_points(
        X, a, 60
    )  # at distance 0 from its own groups, but not its points from these
    found = w1_distance(X, a, groups.centres, groups.mass, max_groups=60)
    assert found.value + found.error >= w1_distance(X, a, groups.centres, groups.mass).value > 0.01


def test_groups_hold_all_mass_and_are_not_too_many():
    rng = seeded(0)
    for X in (
        rng.random((500, 3)),
        np.concatenate([rng.random((400, 2)) * 1e-9, [[1.0, 1.0]]]),
        rng.random((300, 40)),
    ):
        a = rng.dirichlet(np.ones(len(X)))
        groups = point_groups.group_points(X, a, 50)
        assert 1 <= len(groups.mass) <= 50
        assert groups.mass.sum() == approx(1, abs=1e-12)
        assert groups.size.sum() == len(X)
        assert groups.mass @ groups.centres == approx(a @ X, abs=1e-12)


@parametrize("weights", [[0.0, 0.0], [1.0, -0.1], [np.nan, 1.0]])
def test_weights_that_are_none_are_refused(weights):
    with expect_error("weights of points must be non-negative"):
        w1_distance(CORNERS[:2], np.array(weights), CORNERS, np.ones(4))
