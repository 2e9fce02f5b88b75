"""Forecasts before a run: in words, larger for more, and a refusal of what this machine cannot
hold.
"""

from dpcore import ALGORITHMS, Budget, QueryRelease
from dpcore.accuracy import work_forecast
from dpcore.algorithms import algorithms_for_problem
from dpcore.algorithms.algorithm import forecast_seconds_and_bytes, make_plan
from dpcore.core.errors import InputError
from dpcore.core.run_memory import MEMORY_VARIABLE
from dpcore.queries.parse_queries import read_queries
from tests.small_problems import (
    all_tables,
    approx,
    equal_columns_domain,
    expect_error,
    integer_domain,
    parametrize,
)

WIDE = equal_columns_domain(30, 10)
BUDGET = Budget(1.0, 1e-9)
METHOD = ALGORITHMS["gaussian_maxent"]()


def pairs(domain):
    return all_tables(domain, 5000)


def test_a_forecast_grows_with_the_cells_and_is_said_in_words():
    few = forecast_seconds_and_bytes(METHOD, pairs(integer_domain(3, 3, 3)), BUDGET)
    million = integer_domain(*[10] * 6)
    many = forecast_seconds_and_bytes(METHOD, all_tables(million, 10**6, 3), BUDGET)
    assert few[0] < forecast_seconds_and_bytes(METHOD, pairs(million), BUDGET)[0] < many[0]
    assert many[1] == approx(8 * (40 * 10**6 + 12 * 20 * 1000))
    assert (
        work_forecast.describe_forecast(*many)
        == f"about {many[0]:.0f} s and 307 MiB of memory beside the program's own"
    )
    assert (
        work_forecast.describe_forecast(0.2, 2**20)
        == "under 1 s and 1 MiB of memory beside the program's own"
    )
    assert (
        work_forecast.describe_forecast(600, 3 * 2**30)
        == "about 10 min and 3 GiB of memory beside the program's own"
    )


def test_answers_count_where_no_cells_are_listed_and_a_tree_takes_longer_with_more_tables():
    two, three = (all_tables(WIDE, 10**6, ways) for ways in (2, 3))
    assert (
        forecast_seconds_and_bytes(ALGORITHMS["residual"](), three, BUDGET)[1]
        == 8 * 12 * three.workload.m
    )
    assert (
        forecast_seconds_and_bytes(METHOD, two, BUDGET)[0]
        < forecast_seconds_and_bytes(METHOD, three, BUDGET)[0]
    )
    aim = ALGORITHMS["aim"]
    assert (
        forecast_seconds_and_bytes(aim(rounds=9), two, BUDGET)[0]
        < forecast_seconds_and_bytes(aim(), two, BUDGET)[0]
        < forecast_seconds_and_bytes(aim(), three, BUDGET)[0]
    )
    assert METHOD.plan(two, BUDGET)["cells"] > METHOD.plan(three, BUDGET)["cells"], (
        "the more tables the fewer cells"
    )


def test_a_fit_in_groups_of_columns_takes_a_fraction_of_the_time_and_memory():
    million = integer_domain(*[10] * 6)
    grouped = forecast_seconds_and_bytes(METHOD, all_tables(million, 5000, 2), BUDGET)
    listed = forecast_seconds_and_bytes(METHOD, all_tables(million, 5000, 3), BUDGET)
    assert 3 * grouped[0] < listed[0]
    assert 3 * grouped[1] < listed[1]


def test_a_listing_is_taken_where_it_is_short_or_hardly_longer_than_a_tree():
    """Pairs of these cells are fitted in groups, within half a second; triples take a second."""
    domain = integer_domain(*[12] * 6)
    few_rows = all_tables(domain, 500, 3)
    more_rows = all_tables(domain, 6000, 3)
    size = domain.size
    assert METHOD.plan(few_rows, BUDGET)["cells"] == size, "few rows end a fit early"
    assert METHOD.plan(more_rows, BUDGET)["cells"] < size
    assert METHOD.plan(all_tables(domain, 6000, 2), BUDGET)["cells"] == size
    assert METHOD.plan(all_tables(domain, 10**6, 3), BUDGET)["cells"] == size, (
        "a tree would have as many"
    )
    given = ALGORITHMS["gaussian_maxent"](cells=size)
    assert given.plan(more_rows, BUDGET)["cells"] == size, "whoever says how many gets them"


@parametrize("name", [*algorithms_for_problem(QueryRelease)])
def test_every_algorithm_forecasts_more_seconds_for_more_rows_and_larger_tables(name):
    algorithm = ALGORITHMS[name]()
    small = forecast_seconds_and_bytes(algorithm, all_tables(integer_domain(3, 3, 3), 500), BUDGET)
    large = forecast_seconds_and_bytes(algorithm, all_tables(WIDE, 50_000, 2), BUDGET)
    assert 0 < small[0] < large[0] < 1000


def test_what_the_machine_cannot_hold_is_refused_beforehand_with_both_numbers(monkeypatch):
    wide = pairs(WIDE)
    seconds, size = work_forecast.forecast_affordable_run(METHOD, wide, BUDGET)
    assert seconds > 0
    monkeypatch.setattr(work_forecast, "machine_memory_bytes", lambda: size / 0.8 + 1)
    assert work_forecast.forecast_affordable_run(METHOD, wide, BUDGET) == (seconds, size)
    monkeypatch.setattr(work_forecast, "machine_memory_bytes", lambda: float(2**21))
    with expect_error(r"would take about .*iB of memory, and a run may take 2 MiB of"):
        work_forecast.forecast_affordable_run(METHOD, wide, BUDGET)
    monkeypatch.undo()
    monkeypatch.setenv(MEMORY_VARIABLE, "3")
    with expect_error("a run may take 3 MiB of"):
        work_forecast.forecast_affordable_run(METHOD, wide, BUDGET)


def test_this_machine_has_some_memory():
    assert work_forecast.machine_memory_bytes() > 2**26


QUERIES = ("marginals:1", "marginals:2", "ranges:a", "prefixes:a", "conjunctions:2:5")


@parametrize("queries", QUERIES)
@parametrize("name", algorithms_for_problem(QueryRelease))
def test_every_run_that_can_be_planned_has_a_forecast(name, queries):
    workload, _ = read_queries([queries], integer_domain(4, 2, 3))
    problem = QueryRelease(workload, 1000)
    try:
        make_plan(ALGORITHMS[name](), problem, BUDGET)
    except InputError:
        return
    seconds, size_bytes = forecast_seconds_and_bytes(ALGORITHMS[name](), problem, BUDGET)
    assert 0 < seconds < 3600
    assert 0 < size_bytes < 1e9
