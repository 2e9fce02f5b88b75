"""Transcripts judged by their exact likelihood ratio: sharp on Gaussian noise and selections, and
wrong noise seen.
"""

import json
import math
from dataclasses import replace

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from dpcore import Budget
from dpcore.evaluation.audit import transcript_test as module
from dpcore.evaluation.audit.distinguishing_game import curator_of_public_table
from dpcore.evaluation.audit.output_likelihoods import (
    CuratorCall,
    gaussian_log_ratio,
    most_telling_outcomes,
    selection_probabilities,
)
from dpcore.evaluation.audit.transcript_test import (
    MIN_PROVEN_SHARES,
    _AllMeasurementsTest,
    _record_script,
    _rows_from_counts,
    _SelectionTest,
    audit_transcripts,
    promised_hit_rates,
)
from dpcore.privacy import mechanisms
from dpcore.privacy.accounting import BoundedRange, Gaussian, Pure
from dpcore.privacy.statistics import AbsoluteErrors, CellAnswers, SignedErrors
from tests.certificates.evaluation.test_audit import quick
from tests.small_problems import (
    QUERIES,
    approx,
    expect_error,
    parametrize,
    parametrize_false_true,
    seeded,
)

WIDE = Budget(6, 0.01)  # few transcripts show much of a large promise


def judged(*args, **named):
    """The evidence of an algorithm of which there is some."""
    found = audit_transcripts(*args, **named)
    assert found is not None
    return found


def script_of(name, budget=WIDE, n=8):
    return _record_script(quick(name), budget, n, seeded(0))


@parametrize("name", QUERIES)
def test_the_worst_tables_use_all_of_a_gaussian_promise_and_some_show_half_of_a_selection_s(name):
    """The pair that is found attains the sensitivity, so that nothing is lost but by chance."""
    script = script_of(name)
    noise = script.plan.spend_types == {Gaussian}
    assert noise or name not in ("gaussian_maxent", "dpam", "residual", "private_evolution_table")
    found = (
        [_AllMeasurementsTest(script)]
        if noise
        else [_SelectionTest(script_of(name, n=n), 60_000) for n in (8, 80)]
    )
    assert all(one.achievable <= one.promised * (1 + 1e-9) for one in found)
    if noise:
        assert found[0].achievable >= 0.97 * found[0].promised
    else:
        assert (
            max(one.provable_epsilon / one.promised for one in found)
            >= MIN_PROVEN_SHARES["selection"]
        )


def test_nine_tenths_of_a_large_mu_are_seen_in_few_transcripts():
    found = judged(quick("gaussian_maxent"), WIDE)
    assert found.kind == "noise"
    assert found.transcripts < 10_000
    assert found.low >= 0.9 * found.promised
    assert found.high is not None
    assert found.low <= found.promised <= found.high
    assert found.shown
    assert found.kept
    json.dumps(found.to_json(), allow_nan=False)
    inner = (found.false_alarms > 0.05) & (found.hits < 0.95)
    seen = ndtri(found.hits[inner]) - ndtri(found.false_alarms[inner])
    assert np.abs(seen - found.promised).max() < 0.25, (
        "the measured curve is the promised one, all along"
    )


def test_half_of_a_selection_s_epsilon_is_seen():
    found = judged(quick("dpfw"), Budget(2, 0))
    assert found.kind == "selection"
    assert found.low >= 0.5 * found.promised
    assert found.shown
    assert found.kept
    assert found.high is None


@parametrize("factor, enough", [(0.9, 6000), (0.5, 1000), (1.5, 2000)])
def test_less_noise_than_stated_is_seen_and_more_shows_less(monkeypatch, factor, enough):
    """Planted in what the Curator draws: nothing of the score knows of it."""
    honest = mechanisms.gaussian
    monkeypatch.setattr(
        mechanisms, "gaussian", lambda values, sigma, rng: honest(values, factor * sigma, rng)
    )
    found = judged(quick("gaussian_maxent"), WIDE, transcripts=enough)
    assert found.kept == (factor > 1) == (found.low < found.promised)
    if factor > 1:
        assert not found.shown
        assert found.high is not None
        assert found.high < found.promised


def test_half_the_sensitivity_of_a_selection_is_seen():
    assert not judged(quick("dpfw"), Budget(3, 0.01), transcripts=6000, bug="half-sensitivity").kept


def test_the_bound_holds_with_the_stated_confidence():
    test = _AllMeasurementsTest(script_of("gaussian_maxent"))
    rng = seeded(0)
    mu = 0.8
    missed = 0
    for _ in range(2000):
        scores = rng.normal(-mu / 2, 1, 100), rng.normal(mu / 2, 1, 110)
        missed += test.bounds(*scores, 0.99)[0] > mu
    assert missed <= binom.ppf(0.999, 2000, 0.01)
    assert missed > 0, "and is not far below"


@parametrize("mu", [0.3, 1.0, 2.5])
def test_no_test_guesses_right_more_often_than_the_bound_supposes(mu):
    q = np.linspace(1e-6, 1 - 1e-6, 20_001)
    assert ((promised_hit_rates("noise", mu, q) + 1 - q) / 2).max() == approx(
        ndtr(mu / 2), abs=1e-6
    )


@parametrize_false_true("subspace")
def test_a_gaussian_score_is_the_log_likelihood_ratio(subspace):
    """Its law on the two tables is N(∓μ²/2, μ²), which is what a ratio's must be."""
    script = script_of("gaussian_maxent")
    rng = seeded(0)
    asked = CuratorCall(
        "measure", CellAnswers(script.problem.workload, subspace), script.plan.spend_of("measure")
    )
    tables = [_rows_from_counts(np.array(counts)) for counts in ([2, 2, 2, 2], [3, 2, 2, 1])]
    w, c, moved = gaussian_log_ratio(asked, *tables)
    for rows, sign in zip(tables, (-1, 1), strict=True):
        curators = [
            curator_of_public_table(rows, script.problem, script.plan, rng) for _ in range(800)
        ]
        scores = (
            np.array([curator.measure(asked.statistic, asked.spend).values for curator in curators])
            @ w
            - c
        )
        assert scores.mean() == approx(sign * moved / 2, abs=5 * math.sqrt(moved / 800))
        assert scores.var() == approx(moved, rel=0.25)


@parametrize(
    "spend, verb",
    [(BoundedRange(1.5), "select"), (Pure(1.5), "select"), (Pure(1.5), "above_threshold")],
)
def test_selections_have_the_stated_law(spend, verb):
    """Outcomes of the real Curator on a lopsided table."""
    script = script_of("mwem", Budget(2, 0))
    rng = seeded(0)
    plan = replace(
        script.plan, planned_events=(replace(script.plan.planned_events[0], spend=spend),)
    )
    workload = script.problem.workload
    rows = _rows_from_counts(np.array([5, 1, 1, 1]))
    question = (
        SignedErrors(workload, np.full(4, 0.5))
        if verb == "select"
        else AbsoluteErrors(workload, np.arange(4), np.full(4, 0.5), 0.2)
    )
    law = selection_probabilities(CuratorCall(verb, question, spend), rows)
    drawn = [
        getattr(curator_of_public_table(rows, script.problem, plan, rng), verb)(question, spend)
        for _ in range(3000)
    ]
    seen = np.bincount([len(law) - 1 if d is None else d for d in drawn], minlength=len(law)) / 3000
    assert law.sum() == approx(1)
    assert seen == approx(law, abs=4.5 * math.sqrt(0.25 / 3000))
    assert np.ptp(law) > 0.05, "an even law would show nothing"


def test_the_outcomes_that_tell_most_are_neither_all_nor_too_rare():
    p = np.array([0.5, 0.4, 0.0999, 0.0001])
    q = np.array([0.6, 0.37, 0.03, 1e-6])
    few, many = (most_telling_outcomes(p, q, trials, 2.6) for trials in (2000, 10**9))
    assert few[1].tolist() == [False, False, True, True]
    assert many[1].tolist() == [False, False, False, True]
    assert few[0] < math.log(0.1 / 0.030001)
    assert many[0] > few[0]


@parametrize("given", [{"transcripts": 999}, {"transcripts": 10**8}, {"bug": "off-by-one"}])
def test_what_cannot_be_played_is_refused(given):
    with expect_error(next(iter(given))):
        judged(quick("dpfw"), WIDE, **given)


def test_plans_that_are_neither_are_not_judged(monkeypatch):
    monkeypatch.setattr(module._CallScript, "selections", [])
    assert audit_transcripts(quick("dpfw"), WIDE) is None
