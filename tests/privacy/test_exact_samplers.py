"""Noise without rounding: its law, its rounding to a public grid, and that a release draws and pays
for it.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from dpcore import ALGORITHMS, Budget, Explicit, Marginals
from dpcore.algorithms.algorithm import make_plan
from dpcore.privacy import exact_samplers, mechanisms
from dpcore.privacy.accounting import GdpAccountant
from dpcore.privacy.accounting.budget_meter import events_of_plan
from dpcore.privacy.noise_grid import answers_are_whole, has_grid
from dpcore.privacy.statistics import CellAnswers
from dpcore.release import draw, publish
from dpcore.release.ledger.noise_key import create_key
from dpcore.release.preparation import prepare_release
from dpcore.release.request import ReleaseRequest
from tests.cli.test_release import facts, order
from tests.privacy.enumerated_neighbours import ChosenWords
from tests.small_problems import (
    NOTHING_PREDICTED,
    approx,
    expect_error,
    integer_domain,
    parametrize,
    run_command,
    seeded,
)

BUDGET = Budget(1.0, 1e-6)


# Its law


@parametrize(
    "draw, law", [(exact_samplers.gaussian, stats.norm), (exact_samplers.laplace, stats.laplace)]
)
def test_what_floating_point_does_not_settle_has_the_same_law(draw, law, monkeypatch):
    """With no trust in floating point at all, every acceptance is settled with fractions."""
    monkeypatch.setattr(exact_samplers, "ACCEPTANCE_RELATIVE_ERROR", 1.0)
    calls = []
    settle = exact_samplers._decide_sample
    monkeypatch.setattr(
        exact_samplers, "_decide_sample", lambda *given: calls.append(0) or settle(*given)
    )
    noise = draw(np.zeros(1500), 1.0, seeded(2))
    assert len(calls) > 1500
    assert stats.kstest(noise, law().cdf).pvalue > 1e-3


@parametrize("late, accepted", [(0, True), (2**20, False)])
def test_an_acceptance_is_settled_by_all_bits_of_both_uniforms(late, accepted):
    """x = 2^-53 − 2^-104 and U = 1 − 2^-53 + late · 2^-117: U < exp(−x) or not, as bits say that
    come late.
    """
    found = exact_samplers._decide_sample(
        0, 0, 2**53 - 1, 2**39, 2**20, ChosenWords(0, [2**51 - 1, late, *[0] * 9]), lambda _k, x: x
    )
    assert (found is not None) == accepted


@parametrize("draw", [exact_samplers.gaussian, exact_samplers.laplace])
def test_each_sum_is_rounded_to_the_nearest_step(draw, monkeypatch):
    """With the same bits, a count that is larger by one is larger by one once rounded, and by half
    a step nowhere.
    """
    scale = 2.0**33
    step = 2.0**13
    counts = np.arange(0.0, 3 * step, 101)
    noisy = np.array([draw(np.array([c]), scale, seeded(3))[0] for c in counts])
    assert set(np.diff(noisy)) == {0.0, step}
    assert (noisy / step == np.rint(noisy / step)).all(), "on the public grid"
    gaps = noisy - counts
    assert gaps.max() - gaps.min() == approx(step, abs=101), "as far up as down"
    rests = []
    monkeypatch.setattr(
        exact_samplers,
        "_draw_noise_steps",
        lambda rest, *_: rests.append(rest / 2**exact_samplers.OFFSET_BITS) or np.zeros(len(rest)),
    )
    draw(np.array([0.0, step / 4, step]), scale, seeded(3))
    assert rests[0].tolist() == [0.5, 0.75, 0.5], (
        "what is rounded down is half a step larger, so not down in the mean"
    )


def test_nothing_is_drawn_where_no_row_moves_and_no_scale_is_too_large():
    rng = seeded(0)
    assert exact_samplers.gaussian(np.array([3.0]), 0.0, rng).tolist() == [3.0]
    assert exact_samplers.laplace(np.array([1e19, -1e300, 7.0]), 0.001, rng)[:2].tolist() == [
        2.0**53,
        -(2.0**53),
    ]
    for scale in (1e30, math.nan, -1.0):
        with expect_error("scale"):
            exact_samplers.gaussian(np.array([3.0]), scale, rng)


@parametrize("budget", [BUDGET, Budget(0.01, 0.01), Budget(8, 1e-3)])
def test_an_exact_plan_is_the_plan_of_an_exploration(budget):
    ready = prepared(budget=budget)
    assert ready.plan.exact
    assert isinstance(ready.plan.accountant, GdpAccountant)
    explored = make_plan(ready.request.algorithm, ready.problem, budget)
    assert ready.plan.planned_events == explored.planned_events
    assert ready.events == events_of_plan(explored)


# What is drawn


def prepared(algorithm="gaussian_maxent", budget=BUDGET, noise="auto", parameters=None, **given):
    frame = pd.DataFrame({"a": np.arange(40) % 2, "b": np.arange(40) % 3})
    fields = {
        "workload": Marginals.all(integer_domain(2, 3), 1),
        "query_texts": ["marginals:1"],
    } | given
    request = ReleaseRequest(
        frame=frame,
        algorithm=ALGORITHMS[algorithm](**parameters or {}),
        budget=budget,
        noise=noise,
        **fields,
    )
    return prepare_release(request)


def test_what_is_no_count_is_never_rounded_nor_called_exact():
    domain = integer_domain(2, 3)
    shares = Explicit(domain, np.linspace(0, 1, 12).reshape(2, 6))
    assert not answers_are_whole(shares)
    assert answers_are_whole(Explicit(domain, np.eye(6)))
    assert not has_grid(CellAnswers(Marginals.all(domain, 1), subspace=True)), (
        "exact noise is not round"
    )
    assert prepared(workload=shares).plan.exact, "but on a grid"
    assert prepared("dpfw", noise="exact").plan.exact
    subspace = {"noise": "subspace"}
    assert not prepared("dpam", parameters=subspace).plan.exact
    with expect_error("measures a subspace here"):
        prepared("dpam", noise="exact", parameters=subspace)
    with expect_error("noise='seeded'"):
        prepared(noise="seeded")


@parametrize("name", ["mwem", "dpfw", "pep", "aim"])
def test_noise_in_floating_point_cannot_be_asked_for_at_delta_0(name):
    with expect_error("noise=float at delta=0"):
        prepared(name, Budget(1, 0), noise="float")
    assert not prepared(name, noise="float").plan.exact


# A release


def test_a_release_names_its_noise(here):
    said = run_command(order("a", "--noise=exact"))
    for where in (said, Path("a/card.html").read_text(), facts("a")["made_by"]["noise"]):
        assert "exact Gaussian noise on counts" in where


def test_a_release_at_delta_0_draws_nothing_in_floating_point(here, monkeypatch):
    """With the real cipher, also into a data set that GDP adds up; but in the simulation, whose
    tables are nobody's.
    """
    monkeypatch.setattr(publish, "predict_from_release", lambda *_: NOTHING_PREDICTED)
    run_command(order("a", "--noise=float"))
    for name in ("gaussian", "laplace", "exponential"):
        monkeypatch.setattr(mechanisms, name, None)
    monkeypatch.setattr(np.random, "default_rng", None)
    for name, law in (("mwem", "Laplace noise"), ("dpfw", "permute-and-flip")):
        run_command(
            order(name, "--set=rounds=5", algorithm=name, epsilon=0.1, delta="0", total=None)
        )
        claim = facts(name)
        assert claim["made_by"]["noise"].startswith(f"exact {law}")
        assert "floating" not in claim["made_by"]["noise"]
        assert {event["kind"] for event in claim["promise"]["charges"]} == {"Pure"}, (
            "permute-and-flip too"
        )
    answers = pd.read_csv("mwem/answers.csv").noisy_answer.dropna().to_numpy() * 200
    assert len(answers)


def test_queries_that_are_no_counts_are_released_on_a_public_grid_and_it_is_said(tmp_path):
    shares = Explicit(integer_domain(2, 3), seeded(0).uniform(-1, 1, (4, 6)))
    ready = prepared("mwem", Budget(1, 0), workload=shares, parameters={"rounds": 5})
    with create_key(tmp_path / "l.sqlite", b"") as key:
        noise = draw.draw_release(ready, key).noise
    assert "multiples of 2^-32, a public grid" in noise
    assert "floating" not in noise
