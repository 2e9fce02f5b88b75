"""What measuring will hide is known before, from the number of rows and the budget alone."""

import pandas as pd

from dpcore import Budget
from dpcore.algorithms.schema_measurement.hidden_rows import HiddenRows, predict_hidden_rows
from dpcore.algorithms.schema_measurement.measure_columns import plan_measurement
from dpcore.algorithms.schema_measurement.split_budget import SplitBudget
from dpcore.privacy.curators.column_curator import ColumnCurator
from dpcore.problems import ColumnMeasurement
from dpcore.schema.column_texts import ColumnTexts
from dpcore.schema.partial_schema import UnknownColumn
from tests.small_problems import approx, parametrize, seeded

VALUES = UnknownColumn("job", "categorical")
NUMBERS = UnknownColumn("pay", "numeric")


def planned(columns, n, epsilon, delta=1e-9, group=1, names=()):
    problem = ColumnMeasurement(columns, n, group, names)
    can_fail = delta > 0 and problem.may_have_categories
    split = SplitBudget(Budget(epsilon, delta), 0.5, first_can_fail=can_fail)
    return problem, plan_measurement(problem, split, exact=False)


@parametrize("group", [1, 3])
def test_the_threshold_that_is_said_is_the_one_that_hides(group):
    problem, plan = planned((VALUES,), 5000, 0.5, group=group)
    said = predict_hidden_rows(problem, plan)
    cells = [ColumnTexts.from_series(pd.Series(["a"] * 5000))]
    curator = ColumnCurator(cells, 5000, plan, seeded(0), group=group)
    assert said.value_rows == approx(curator.frequent(0, plan["categories"]).threshold)
    assert said.text == f"values under {said.value_rows:,.0f} of 5,000 rows will be hidden"
    assert said.number_rows == 0


@parametrize("delta, names", [(1e-9, ()), (0.0, ()), (1e-9, ("a", "b")), (0.0, ("a", "b"))])
def test_it_falls_with_rows_and_budget_and_says_nearly_all_where_it_is(delta, names):
    columns = () if names else (VALUES, NUMBERS)[delta == 0 :]
    said = {
        (n, epsilon): predict_hidden_rows(*planned(columns, n, epsilon, delta, names=names))
        for n in (100, 5000, 10**6)
        for epsilon in (0.1, 1.0)
    }
    assert said[100, 0.1].hides_nearly_all
    assert "may be hidden: 100 rows are too few" in said[100, 0.1].text
    assert not said[10**6, 0.1].hides_nearly_all
    for n in (5000, 10**6):
        assert said[n, 1.0].number_rows < said[n, 0.1].number_rows
        assert (said[n, 0.1].value_rows > 0) == (delta > 0), "without delta they are left out"


def test_nearly_all_is_more_than_a_tenth_of_the_rows():
    assert not HiddenRows(n=5000, value_rows=500).hides_nearly_all
    assert HiddenRows(n=5000, value_rows=501).hides_nearly_all
    assert HiddenRows(n=5000, number_rows=501).hides_nearly_all
    text = HiddenRows(n=5000, value_rows=2144, number_rows=6000).text
    assert "values under 2,144 of 5,000 rows will be hidden, and all ranges of numbers" in text
