"""Changes that help a table that is too small: each makes an answer good by the plan's noise."""

import pytest

from dpcore import ALGORITHMS, Budget, QueryRelease, domain_from_json, domain_to_json, read_queries
from dpcore.accuracy.useful_changes import UsefulChanges

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)
COLUMNS = {
    "sex": {"kind": "categorical", "values": ["f", "m"]},
    "age": {"kind": "integer", "low": 0, "high": 99},
    "hours": {"kind": "integer", "low": 0, "high": 40},
    "income": {"kind": "numeric", "low": 0, "high": 60, "bins": 15},
    "married": {"kind": "categorical", "values": ["y", "n"]},
}
ORDERED = {"columns": COLUMNS, "constraints": [{"order": ["age", "hours"]}]}


def search(n, queries, schema=None, name="gaussian_maxent"):
    domain = domain_from_json({"columns": COLUMNS} if schema is None else schema)
    workload, _ = read_queries(queries, domain)
    return UsefulChanges(ALGORITHMS[name](), QueryRelease(workload, n, 1), queries), domain


@pytest.mark.parametrize(
    "n, queries, epsilon, kinds",
    [
        (4000, ["marginals:2"], 1.0, {"columns", "bins", "epsilon"}),
        (8000, ["marginals:2"], 0.5, {"columns", "bins", "epsilon"}),
        (2500, ["marginals:1"], 0.5, {"columns", "epsilon"}),
        (1500, ["marginals:2"], 0.5, {"epsilon"}),
    ],
)
def test_each_change_helps_and_a_smaller_one_does_not(n, queries, epsilon, kinds):
    changes, domain = search(n, queries)
    budget = Budget(epsilon, 1e-9)
    assert not changes.is_useful(domain, budget)
    larger = [e for e in EPSILONS if e > epsilon]
    enough = changes.find_epsilon(budget.delta, larger)
    assert changes.is_useful(domain, Budget(enough, budget.delta))
    assert not any(changes.is_useful(domain, Budget(e, budget.delta)) for e in larger if e < enough)
    found = {"epsilon"}
    columns = changes.find_columns(budget)
    if columns is not None:
        found.add("columns")
        assert changes.is_useful(domain.project(columns), budget)
        assert list(columns) == [name for name in domain.names if name in columns]
        assert "age" not in columns, "a column with many values is left out first"
    coarser = changes.find_coarser_columns(budget)
    if coarser is not None:
        found.add("bins")
        schema = domain_to_json(domain)
        schema["columns"] = schema["columns"] | coarser
        joined = domain_from_json(schema)
        assert changes.is_useful(joined, budget)
        ends = [(column.low, column.high) for column in domain.columns]
        assert [(column.low, column.high) for column in joined.columns] == ends
    assert found == kinds


def test_bins_that_impossible_combinations_speak_of_stay():
    changes, _ = search(4000, ["marginals:2"], schema=ORDERED)
    assert changes.find_coarser_columns(Budget(1.0, 1e-9)) is None


def test_what_does_not_help_is_not_offered():
    changes, _ = search(20, ["marginals:2"])
    budget = Budget(0.01, 1e-9)
    assert changes.find_columns(budget) is None
    assert changes.find_coarser_columns(budget) is None
    assert changes.find_epsilon(budget.delta, (0.02, 0.03)) is None


def test_what_is_not_known_of_an_algorithm_is_not_promised_of_a_change():
    changes, _ = search(2000, ["marginals:1"], name="mwem")
    assert changes.find_columns(Budget(1.0, 1e-9)) is None
    assert changes.find_epsilon(1e-9, EPSILONS) is None
