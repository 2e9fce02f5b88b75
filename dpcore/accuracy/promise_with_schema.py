"""The one privacy promise of a planned algorithm, with the share that measures its schema.

Pages, reports, cards and commands say it of the same plan.
"""

from typing import Any

from ..algorithms.algorithm import Algorithm, make_plan
from ..algorithms.schema_measurement.measurement_plan import BudgetDivision, SchemaShare
from ..privacy.accounting import Budget
from .meaning_of_epsilon import Promise


def promise_of(
    algorithm: Algorithm, problem: Any, budget: Budget, schema: SchemaShare | None = None
) -> Promise:
    """Return the promise of all that an algorithm may spend of a budget, from public numbers.

    Args:
        algorithm: The algorithm with its settings.
        problem: What it solves: the questions, and the number of rows.
        budget: The whole budget.
        schema: The share of the budget that measures the schema first; None for a schema that is
            known.

    Raises:
        InputError: The algorithm cannot serve this problem.
        BudgetError: The budget is too small for it.

    """
    if schema is None:
        plan = make_plan(algorithm, problem, budget)
        return Promise.of_plan(plan, adaptive=algorithm.adaptive)
    division, _ = schema.divide_and_plan(algorithm, problem, budget, exact=False)
    return promise_of_division(division)


def promise_of_division(division: BudgetDivision) -> Promise:
    """Return the promise of a budget divided between the measured schema and an algorithm."""
    return Promise(division.budget.epsilon, division.budget.delta, division.reserved_events)
