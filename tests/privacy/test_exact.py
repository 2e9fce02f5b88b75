"""Whole noise on counts: what it costs by enumeration, that it is drawn so, that no release gets it for too little."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpcore.algorithms import ALGORITHMS
from dpcore.algorithms.base import make_plan
from dpcore.cli import main
from dpcore.errors import BudgetError, InputError
from dpcore.privacy import exact, mechanisms
from dpcore.privacy.accounting import conversions
from dpcore.privacy.accounting.budget import Accounting, BoundedRange, Budget, Gaussian
from dpcore.privacy.accounting.ledger import Charge, Plan
from dpcore.privacy.accounting.lifetime import Concentrated, Lifetime, planned, reserved
from dpcore.privacy.grid import gridded, whole
from dpcore.privacy.statistics.answers import CellAnswers, SomeAnswers
from dpcore.privacy.table_curator import TableCurator
from dpcore.publishing import publish
from dpcore.publishing.ledger_store import Store, verify
from dpcore.publishing.request import ReleaseRequest, prepare
from dpcore.workloads import Explicit, Marginals
from tests.helpers import codes, hockey_stick

BUDGET = Budget(1.0, 1e-6)


def law(scale: float, shift: int = 0) -> np.ndarray:
    """P(x) ∝ exp(−(x − shift)²/(2 scale²)) on whole numbers, far beyond where it matters."""
    x = np.arange(-600, 601)
    p = np.exp(-((x - shift) ** 2) / (2 * scale**2))
    return p / p.sum()


@pytest.fixture
def library(monkeypatch):
    """In the library's place: rounded noise, and a list of (counts, scale) that were asked for."""
    asked, rng = [], np.random.default_rng(0)

    def draw(counts, scale):
        asked.append((np.array(counts), scale))
        return counts + np.rint(scale * rng.standard_normal(counts.shape))

    monkeypatch.setattr(exact, "version", lambda: "9.9")
    monkeypatch.setattr(exact, "gaussian", draw)
    monkeypatch.setattr(exact, "laplace", draw)
    return asked


# What it costs


@pytest.mark.parametrize("scale", [0.3, 0.7, 2.0, 9.0])
def test_discrete_noise_is_concentrated_as_charged(scale):
    P, Q = law(scale), law(scale, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        L = np.where(P > 0, np.log(P) - np.log(Q), 0)
    for order in (1.01, 2, 5, 30):
        with np.errstate(over="ignore", invalid="ignore"):
            moment = np.nansum(np.where(P > 0, P * np.exp((order - 1) * L), 0))
        if np.isfinite(moment):
            assert np.log(moment) / (order - 1) <= order / (2 * scale**2) * (1 + 1e-9)


def test_it_is_not_gaussian_dp_so_that_gdp_would_promise_too_much():
    scale = 0.5
    promised = lambda epsilon: math.exp(conversions.gdp_log_delta(epsilon, 1 / scale))  # noqa: E731
    assert max(hockey_stick(law(scale), law(scale, 1), e) - promised(e) for e in np.linspace(0, 6, 61)) > 0.01


@pytest.mark.parametrize("budget", [BUDGET, Budget(0.01, 0.01), Budget(8, 1e-3)])
def test_a_plan_keeps_its_promise_by_enumeration(library, budget):
    ready = prepared(budget=budget)
    (mu,) = (c.spend.mu for c in ready.plan.charges)
    assert ready.plan.exact
    assert ready.plan.accounting is Accounting.ZCDP
    assert ready.events == ((Concentrated(mu**2 / 2), 1),)
    assert conversions.zcdp_epsilon(mu**2 / 2, budget.delta) <= budget.epsilon
    assert conversions.zcdp_epsilon(mu**2 / 2 * 1.001, budget.delta) > budget.epsilon, "and uses it up"
    with pytest.raises(BudgetError):
        replace(make_plan(ready.request.algorithm, ready.problem, budget), exact=True)
    scale = math.sqrt(2) / mu
    if scale < 60:  # a record leaves one cell for another: two coordinates, each by one
        there, gone = law(scale), law(scale, 1)
        P, Q = np.outer(there, gone).ravel(), np.outer(gone, there).ravel()
        assert hockey_stick(P, Q, budget.epsilon) <= budget.delta


def test_only_rho_is_known_of_it_and_an_adaptive_plan_is_charged_so():
    spends = (Charge("select", BoundedRange(0.1), 3), Charge("measure", Gaussian(0.1)))
    plan = Plan(BUDGET, spends, exact=True)
    assert planned(plan) == ((BoundedRange(0.1), 3), (Concentrated(0.1**2 / 2), 1))
    ((whole, _),) = reserved(plan, True)
    assert type(whole) is Concentrated
    assert Lifetime.fixed_by(Budget(3, 1e-5), planned(plan)).accounting is Accounting.ZCDP
    assert Lifetime(Budget(3, 1e-5), Accounting.GDP, 0.0).cost(planned(plan)) == math.inf


# What is drawn


def frame_of(rows: int = 40) -> pd.DataFrame:
    return pd.DataFrame({"a": [i % 2 for i in range(rows)], "b": [i % 3 for i in range(rows)]})


def prepared(algorithm="gaussian_maxent", budget=BUDGET, noise="auto", parameters=None, **given):
    domain = codes(2, 3)
    frame = frame_of().set_axis(list(domain.names), axis=1)
    fields = {"workload": Marginals.all(domain, 1), "asked": ["marginals:1"]} | given
    fixed = fields.pop("fixed", None)
    request = ReleaseRequest(
        frame=frame, algorithm=ALGORITHMS[algorithm](**parameters or {}), budget=budget, noise=noise, **fields
    )
    return prepare(request, fixed=fixed)


def test_what_is_no_count_is_never_rounded_nor_called_exact(library):
    domain = codes(2, 3)
    shares = Explicit(domain, np.linspace(0, 1, 12).reshape(2, 6))
    assert not whole(shares)
    assert whole(Explicit(domain, np.eye(6)))
    assert not gridded(CellAnswers(Marginals.all(domain, 1), subspace=True)), "whole noise is not round"
    assert prepared(workload=shares).plan.exact, "but on a grid"
    assert prepared("dpfw", noise="exact").plan.exact
    assert not prepared("dpam", noise="auto", parameters={"noise": "subspace"}).plan.exact
    with pytest.raises(InputError, match="measures a subspace here"):
        prepared("dpam", noise="exact", parameters={"noise": "subspace"})
    with pytest.raises(InputError, match="noise='seeded'"):
        prepared(noise="seeded")


def test_auto_follows_what_adds_up_the_data_set(library):
    assert not prepared(fixed=Accounting.GDP).plan.exact
    assert prepared(fixed=Accounting.ZCDP).plan.exact
    assert not prepared(noise="float").plan.exact
    for fixed in (None, Accounting.GDP, Accounting.ZCDP, Accounting.PURE):
        for name in ("mwem", "dpfw"):
            assert prepared(name, Budget(1, 0), fixed=fixed).plan.exact, "only Gaussian noise is not Gaussian DP then"


def test_counts_that_no_float_tells_apart_are_one_count(library):
    drawn = exact.laplace(np.array([1e19, -1e300, 7.0]), 0.01)
    assert drawn.tolist() == [2.0**53, -(2.0**53), 7.0]


@pytest.mark.parametrize("name", ["mwem", "dpfw", "pep", "aim"])
def test_noise_in_floating_point_cannot_be_asked_for_at_delta_0(name):
    with pytest.raises(InputError, match="noise=float at delta=0"):
        prepared(name, Budget(1, 0), noise="float")
    assert not prepared(name, noise="float").plan.exact


# A release


def release(out, noise, *, total=True, epsilon=0.5):
    first = ["--total-epsilon=3", "--total-delta=1e-5"] if total else []
    what = f"--schema s.json --queries marginals:2 --algorithm gaussian_maxent --epsilon {epsilon} --delta 1e-6".split()
    return main(["release", "t.csv", *what, "--ledger=l", f"--out={out}", f"--noise={noise}", *first])


def test_a_release_is_charged_before_it_draws_and_names_its_noise(library, here, monkeypatch, capsys):
    assert release("a", "exact") == 0
    claim = json.loads((here / "a" / "release.json").read_text())
    assert claim["made_by"]["noise"].startswith("exact discrete Gaussian noise on counts")
    assert "floating" not in claim["made_by"]["noise"]
    assert claim["promise"]["accounting"] == "zero-concentrated DP"
    assert [event["kind"] for event in claim["promise"]["charges"]] == ["Concentrated"]
    assert conversions.zcdp_epsilon(claim["promise"]["charges"][0]["rho"], 1e-6) <= 0.5
    assert "exact discrete Gaussian" in (here / "a" / "card.html").read_text()
    assert "exact discrete Gaussian" in capsys.readouterr().out
    answers = pd.read_csv("a/answers.csv")
    counts = answers.noisy_answer.to_numpy() * 200
    assert counts == pytest.approx(np.rint(counts))

    def charged(counts, scale):
        assert len(Store("l").show()[0].releases) == 2
        raise MemoryError

    monkeypatch.setattr(exact, "gaussian", charged)
    assert release("b", "exact", total=False) == 2, "not enough memory; 70 would be the assertion above"
    assert Store("l").show()[0].releases[-1]["state"] == "failed"
    assert verify("l") == []


def test_a_data_set_that_gdp_adds_up_takes_no_discrete_noise(library, here, capsys):
    assert release("a", "float") == 0
    assert release("b", "exact", total=False) == 3
    assert "noise=float" in capsys.readouterr().err
    assert release("c", "auto", total=False) == 0
    assert "floating-point" in json.loads((here / "c" / "release.json").read_text())["made_by"]["noise"]
    assert len(Store("l").show()[0].releases) == 2


def test_a_release_at_delta_0_draws_nothing_in_floating_point(here, monkeypatch):
    """With the real library and cipher, also into a data set that GDP adds up."""
    assert release("a", "float") == 0
    for name in ("gaussian", "laplace", "exponential", "categorical"):
        monkeypatch.setattr(mechanisms, name, None)
    monkeypatch.setattr(np.random, "default_rng", None)
    what = ["--schema", "s.json", "--queries", "marginals:1", "--epsilon", "0.1", "--delta", "0", "--ledger=l"]
    for name, law in (("mwem", "discrete Laplace"), ("dpfw", "permute-and-flip")):
        assert main(["release", "t.csv", *what, f"--algorithm={name}", f"--out={name}", "--set", "rounds=5"]) == 0
        claim = json.loads((here / name / "release.json").read_text())
        assert claim["made_by"]["noise"].startswith(f"exact {law}")
        assert "floating" not in claim["made_by"]["noise"]
        assert {event["kind"] for event in claim["promise"]["charges"]} == {"Pure"}, "permute-and-flip too"
    answers = pd.read_csv("mwem/answers.csv").noisy_answer.dropna().to_numpy() * 200
    assert len(answers)


def test_queries_that_are_no_counts_are_released_on_a_public_grid_and_it_is_said():
    shares = Explicit(codes(2, 3), np.random.default_rng(0).uniform(-1, 1, (4, 6)))
    ready = prepared("mwem", Budget(1, 0), workload=shares, parameters={"rounds": 5})
    *_, noise = publish._draw(ready, None)
    assert "multiples of 2^-32, a public grid" in noise
    assert "floating" not in noise
    curator = TableCurator(ready.rows, 40, ready.plan, np.random.default_rng(0))
    statistic = SomeAnswers(shares, slice(1, 2))
    drawn = [float(curator.measure(statistic, ready.plan.spend("measure")).values[0]) for _ in range(5)]
    steps = np.array(drawn) * 40 * 2**32
    assert steps == pytest.approx(np.rint(steps), abs=0.01)
    assert len(set(drawn)) == 5


# The library


def test_the_library_draws_that_law_and_prices_it_alike():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    scale, size = 1.3, 20_000
    space = dp.vector_domain(dp.atom_domain(T="i64"))
    made = dp.m.make_gaussian(space, dp.l2_distance(T=float), scale)
    assert made.map(math.sqrt(2)) == pytest.approx(2 / (2 * scale**2))
    for draw, p in ((exact.gaussian, law(scale)), (exact.laplace, np.exp(-np.abs(np.arange(-600, 601)) / scale))):
        noisy = draw(np.full(size, 7.0), scale)
        assert (noisy == np.rint(noisy)).all()
        found = np.bincount((noisy - 7 + 600).astype(int), minlength=1201) / size
        p = p / p.sum()
        assert np.abs(found - p).max() <= 7 * math.sqrt(0.25 / size)
    assert exact.gaussian(np.array([3.0]), 0.0).tolist() == [3.0]
    with pytest.raises(InputError, match="scale"):
        exact.gaussian(np.array([3.0]), 1e30)
