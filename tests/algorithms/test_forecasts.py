"""Forecasts before a run: in words, larger for more, and a refusal of what this machine cannot hold."""

import math

import pytest

from dpcore.algorithms import ALGORITHMS, forecasts
from dpcore.algorithms.base import forecast
from dpcore.data.schema import domain_from_json
from dpcore.errors import InputError
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.workloads import Marginals
from tests.helpers import codes

BUDGET, METHOD = Budget(1.0, 1e-9), ALGORITHMS["gaussian_maxent"]()


def pairs(domain) -> QueryRelease:
    return QueryRelease(Marginals.all(domain, 2), 5000)


def test_a_forecast_grows_with_the_cells_and_is_said_in_words():
    few, many = forecast(METHOD, pairs(codes(3, 3, 3)), BUDGET), forecast(METHOD, pairs(codes(*[10] * 6)), BUDGET)
    assert few[0] < many[0]
    assert many[1] == pytest.approx(8 * (40 * 10**6 + 12 * 15 * 100))
    assert forecasts.words(*many) == f"about {many[0]:.0f} s and 305 MiB of memory"
    assert forecasts.words(0.2, 2**20) == "under 1 s and 1 MiB of memory"
    assert forecasts.words(600, 3 * 2**30) == "about 10 min and 3 GiB of memory"


def test_answers_count_where_no_cells_are_listed():
    tables = Marginals.all(domain_from_json({f"c{i}": 10 for i in range(30)}), 3)
    size = forecast(ALGORITHMS["residual"](), QueryRelease(tables, 5000), BUDGET)[1]
    assert size == 8 * 12 * tables.m


def test_a_tree_that_is_chosen_takes_longer_with_more_tables_to_score_and_more_pairs_to_try():
    wide = domain_from_json({f"c{i}": 10 for i in range(30)})
    two, three = (forecast(METHOD, QueryRelease(Marginals.all(wide, ways), 5000), BUDGET)[0] for ways in (2, 3))
    tables, answers = math.comb(30, 3) - math.comb(30, 2), 1000 * math.comb(30, 3) - 100 * math.comb(30, 2)
    cells = METHOD.plan(pairs(wide), BUDGET)["cells"]
    assert three - two == pytest.approx(1e-8 * 5000 * tables + 8e-12 * cells * answers)
    plan = METHOD.plan(QueryRelease(Marginals.all(wide, 3), 10**6), BUDGET)
    assert plan["cells"] == 2_500_000_000 // math.comb(30, 3), "the more tables there are the fewer cells"


def test_what_the_machine_cannot_hold_is_refused_beforehand_with_both_numbers(monkeypatch):
    wide = pairs(domain_from_json({f"c{i}": 10 for i in range(30)}))
    seconds, size = forecasts.affordable(METHOD, wide, BUDGET)
    assert seconds > 0
    monkeypatch.setattr(forecasts, "machine_memory", lambda: size / 0.8 + 1)
    assert forecasts.affordable(METHOD, wide, BUDGET) == (seconds, size)
    monkeypatch.setattr(forecasts, "machine_memory", lambda: float(2**21))
    with pytest.raises(InputError, match=r"would take about .*iB of memory, and a run may take 2 MiB of"):
        forecasts.affordable(METHOD, wide, BUDGET)


def test_this_machine_has_some_memory():
    assert forecasts.machine_memory() > 2**26
