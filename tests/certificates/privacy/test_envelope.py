"""The logistic envelope: a search for instances that break it, its certificate by quadrature, and draws that end."""

import math

import numpy as np
import pytest

from dpcore.geometry.regions import Ball, Space
from dpcore.learning.losses import Logistic
from dpcore.learning.risks import Risk
from dpcore.privacy.samplers import envelope, proximal
from dpcore.privacy.samplers.shapes import Envelope, Radial
from dpcore.privacy.statistics.targets import Density
from tests.certificates.envelopes import HOSTILE, log_whole, lowest, search, variation

ROOM = 1.001  # for the quadrature


@pytest.mark.parametrize(
    ("kind", "d", "seed", "steps"),
    [(Envelope, 2, 2, 40), (Envelope, 3, 1, 40), (Radial, 1, 0, 20), (Radial, 2, 0, 20), (Radial, 3, 0, 20)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_no_instance_is_found_that_lies_below_its_envelope(kind, d, seed, steps):
    found = search(np.random.default_rng(seed), kind, d, 20, steps)
    assert isinstance(found.over, kind)
    assert found.gap >= 0
    assert found.share < 0.5, "the search found one where the envelope is near"
    if d <= 2 and found.instance.bounded:
        assert variation(found) <= found.instance.error * ROOM
        kappa = math.sqrt(float(((found.instance.A @ np.linalg.inv(found.over.M)) * found.instance.A).sum(1).max()))
        lower = envelope._log_whole(found.instance.density, found.over.at, found.over.M, kappa)
        assert lower <= log_whole(found) + 1e-3


def test_a_hostile_instance_keeps_its_certificate():
    found = lowest(HOSTILE, np.random.default_rng(0))
    assert isinstance(found.over, Envelope)
    assert found.gap >= 0
    assert variation(found) <= HOSTILE.error * ROOM


def classes(A: list, b: list, region: Ball | Space, k: float, mu: float) -> Density:
    return Density(Risk(Logistic(), np.column_stack([A, b]).astype(float), np.ones(len(A))), region, k, mu)


FAR = np.array([100.0, 0.0, 0.0])
AWKWARD = {
    "no record bends": classes([[1, 0, 0]] * 2, [1, 1], Ball(FAR, 5.0), 1e3, 0.0),
    "far out": classes([[1, 0, 0]] * 2, [1, 1], Ball(20 * FAR, 5.0), 1e3, 0.0),
    "far out, wrong side": classes([[1, 0, 0]] * 2, [-1, -1], Ball(FAR, 5.0), 1e3, 0.0),
    "one direction only": classes([[1, 0, 0], [-1, 0, 0]], [1, 1], Ball(np.zeros(3), 20.0), 1e19, 0.0),
    "nearly flat": classes([[1, 0, 0]] * 2, [1, 1], Space(np.zeros(3), 1.0), 1e-3, 1e-7),
    "no features": classes([[0, 0, 0]] * 2, [1, -1], Ball(np.zeros(3), 1.0), 50.0, 0.0),
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_draw_ends_in_an_answer_whatever_the_records(name, monkeypatch):
    """An error would say which of two neighbours it was; where there is no envelope the proximal sampler takes over."""
    density = AWKWARD[name]
    monkeypatch.setattr(proximal, "draw", lambda density, *_: density.centre)  # it takes its time
    for seed in range(3):
        x = envelope.draw_logistic(density, 1e-9, np.random.default_rng(seed))
        assert density.region.contains(x[None])[0]


def test_the_bend_of_a_record_far_out_is_not_rounded_to_nothing():
    t = np.array([-300.0, -40.0, 0.0, 40.0, 300.0])
    bend = Logistic().bend(t, np.ones(5))
    assert bend == pytest.approx(np.exp(-np.abs(t)) / (1 + np.exp(-np.abs(t))) ** 2, rel=1e-12)
