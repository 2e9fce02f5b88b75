"""Laws of samplers that only many points or many draws show; tests/privacy/test_samplers.py holds
the rest.
"""

import math

import numpy as np

from dpcore.privacy.samplers import envelope, proximal
from dpcore.privacy.samplers.shapes import GaussianEnvelope
from dpcore.privacy.statistics import Density
from dpcore.problems.losses import Logistic, hinge_loss
from dpcore.problems.risks import Risk
from tests.privacy.test_samplers import PLANES, disc, flat, follows
from tests.small_problems import approx, parametrize, seeded


def rare():
    """Records of a few rare categories, whose risk is far from a quadratic."""
    rng = seeded(3)
    A = np.eye(6)[rng.choice(6, 2000, p=[0.5, 0.3, 0.15, 0.03, 0.015, 0.005])] * rng.uniform(
        0.3, 1, (2000, 1)
    )
    return Risk(
        Logistic(), np.column_stack([A, np.where(rng.random(2000) < 0.8, 1, -1)]), np.ones(2000)
    )


def test_the_fourth_moment_is_bounded_in_every_direction():
    risk = rare()
    x = np.full(6, 0.3)
    M = np.diag([9.0, 4, 2, 1, 1, 0.5])
    M += 0.2
    c = 50 * risk.w * risk.loss.second_derivative(risk.A @ x, risk.b)
    M += (risk.A.T * c) @ risk.A
    V = np.concatenate([np.eye(6), seeded(0).standard_normal((5000, 6))])
    V /= np.sqrt(((V @ M) * V).sum(1))[:, None]
    largest = (c @ (risk.A @ V.T) ** 4).max()
    assert largest <= envelope.quartic_form_bound(risk, x, 50.0, M) < 8 * largest


@parametrize("name", ["logistic", "on the boundary"])
def test_the_masses_of_both_shapes_are_what_they_say(name):
    over = envelope.logistic_envelope(PLANES[name])
    rng = seeded(0)
    X = (
        np.stack(np.meshgrid(*[np.linspace(-1.5, 1.5, 600)] * 2), -1).reshape(-1, 2)
        * over.draw(500, rng).std()
        * 6
    )
    inside = over.q @ X.T >= over.floor if isinstance(over, GaussianEnvelope) else slice(None)
    area = (X[1, 0] - X[0, 0]) ** 2
    assert np.exp(-over.bound(X[inside])).sum() * area == approx(math.exp(over.log_mass), rel=0.03)


@parametrize("mu", [0.5, 0.0])
def test_hopeless_proposals_give_way_to_the_proximal_sampler_with_the_same_law(mu, monkeypatch):
    density = flat(Logistic(), disc(1.5), mu, 12.0)
    counted = []
    slow = proximal.draw
    monkeypatch.setattr(proximal, "draw", lambda *args: counted.append(1) or slow(*args))
    monkeypatch.setattr(envelope, "rejection_sample", lambda *args: np.zeros((0, 2)))
    rng = seeded(0)
    draws = np.array([envelope.draw_logistic(density, 5e-2, rng) for _ in range(150)])
    assert len(counted) == 150
    assert follows(draws, density)
    assert not follows(draws * 0.7, density)


def test_the_proximal_sampler_does_not_stall_where_the_optimum_is_on_the_boundary():
    density = flat(hinge_loss(), disc(0.3), 0.5, 2e3)
    eta = proximal.rounds_and_step(hinge_loss(), density.region, 0.5, 2e3, 1e-2)[1]
    rng = seeded(0)
    draws = np.array(
        [proximal.run_chain(density, 20, eta, rng) for _ in range(100)]
    )  # it is quick to fall to the sphere
    assert follows(draws, density)


def test_the_proximal_sampler_mixes_within_its_certificate():
    region = disc(2.0)
    density = Density(PLANES["logistic"].risk, region, 40.0, 0.5)
    T, eta = proximal.rounds_and_step(Logistic(), region, 0.5, 40.0, 1e-3)
    assert 5 < T < 200
    assert proximal.rounds_and_step(Logistic(), region, 0.5, 40.0, 1e-6)[0] > T
    rng = seeded(0)
    assert follows(
        np.array([proximal.run_chain(density, T, eta, rng) for _ in range(300)]), density
    )
    few = np.array([proximal.run_chain(density, 1, eta / 30, rng) for _ in range(300)])
    assert not follows(few, density), "too short a chain is seen"
