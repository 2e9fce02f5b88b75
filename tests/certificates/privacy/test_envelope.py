"""The logistic envelope: many instances that do not break it, and draws that end."""

import numpy as np
import pytest

from dpcore.privacy.samplers import envelope, proximal
from dpcore.privacy.samplers.shapes import GaussianEnvelope, RadialEnvelope
from dpcore.privacy.statistics import Density
from dpcore.problems.losses import Logistic
from dpcore.problems.regions import Ball, Space
from dpcore.problems.risks import Risk
from tests.certificates.privacy.envelope_instances import HOSTILE, draw, lowest
from tests.small_problems import parametrize, seeded


@parametrize("d", [1, 2, 3])
def test_no_envelope_of_random_instances_lies_above_the_potential(d):
    rng = seeded(d)
    kinds = set()
    for _ in range(300):
        found = lowest(draw(rng, d), rng)
        kinds.add(type(found.over))
        assert found.gap >= 0
    assert kinds == {GaussianEnvelope, RadialEnvelope}


def test_a_hostile_instance_keeps_its_certificate():
    found = lowest(HOSTILE, seeded(0))
    assert isinstance(found.over, GaussianEnvelope)
    assert found.gap >= 0


def classes(A, b, region, k, mu):
    return Density(
        Risk(Logistic(), np.column_stack([A, b]).astype(float), np.ones(len(A))), region, k, mu
    )


FAR = np.array([100.0, 0.0, 0.0])
AWKWARD = {
    "no record bends": classes([[1, 0, 0]] * 2, [1, 1], Ball(FAR, 5.0), 1e3, 0.0),
    "far out": classes([[1, 0, 0]] * 2, [1, 1], Ball(20 * FAR, 5.0), 1e3, 0.0),
    "far out, wrong side": classes([[1, 0, 0]] * 2, [-1, -1], Ball(FAR, 5.0), 1e3, 0.0),
    "one direction only": classes(
        [[1, 0, 0], [-1, 0, 0]], [1, 1], Ball(np.zeros(3), 20.0), 1e19, 0.0
    ),
    "nearly flat": classes([[1, 0, 0]] * 2, [1, 1], Space(np.zeros(3), 1.0), 1e-3, 1e-7),
    "no features": classes([[0, 0, 0]] * 2, [1, -1], Ball(np.zeros(3), 1.0), 50.0, 0.0),
}


@parametrize("name", AWKWARD)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_draw_ends_in_an_answer_whatever_the_records(name, monkeypatch):
    """An error would say which of two neighbours it was; where there is no envelope the proximal
    sampler takes over.
    """
    density = AWKWARD[name]
    monkeypatch.setattr(proximal, "draw", lambda density, *_: density.centre)  # it takes its time
    for seed in range(3):
        assert density.region.contains(envelope.draw_logistic(density, 1e-9, seeded(seed))[None])[0]


def test_the_bend_of_a_record_far_out_is_not_rounded_to_nothing():
    t = np.array([-300.0, -40.0, 0.0, 40.0, 300.0])
    bend = Logistic().second_derivative(t, np.ones(5))
    assert bend == pytest.approx(np.exp(-np.abs(t)) / (1 + np.exp(-np.abs(t))) ** 2, rel=1e-12)
