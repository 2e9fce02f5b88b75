"""The one privacy promise of a planned algorithm, with the share that measures its schema.

Pages, reports, cards and commands say it of the same plan.
"""

from typing import Any

from ..algorithms.algorithm import Algorithm, make_plan
from ..algorithms.schema_measurement.split_budget import SplitBudget, fit_split
from ..privacy.accounting import Budget
from .meaning_of_epsilon import Promise


def promise_of(
    algorithm: Algorithm, problem: Any, budget: Budget, split: SplitBudget | None = None
) -> Promise:
    """Return the promise of all that an algorithm may spend of a budget, from public numbers.

    Args:
        algorithm: The algorithm with its settings.
        problem: What it solves: the questions, and the number of rows.
        budget: The whole budget.
        split: How that budget is split with a schema that is measured first; None for a schema
            that is known.

    Raises:
        InputError: The algorithm cannot serve this problem.
        BudgetError: The budget is too small for it.

    """
    if split is None:
        plan = make_plan(algorithm, problem, budget)
        return Promise.of_plan(plan, adaptive=algorithm.adaptive)
    fitting_split, _ = fit_split(algorithm, problem, split, exact=False)
    return promise_of_split(fitting_split)


def promise_of_split(split: SplitBudget) -> Promise:
    """Return the promise of a budget split between the measured schema and an algorithm."""
    return Promise(split.budget.epsilon, split.budget.delta, split.reserved_events)
