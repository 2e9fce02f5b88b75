"""Private releases of the same tables: their error by ε, and how often a guess can be right.

The errors are measured on the real rows, as those of every rule beside them: not for publishing.
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...accuracy.meaning_of_epsilon import Promise
from ...algorithms import ALGORITHMS
from ...algorithms.algorithm import make_plan
from ...core.errors import PrivacyWarning
from ...core.types import ProgressCallback, by_name, ignore_progress
from ...privacy.accounting import Budget
from ...problems import QueryRelease
from ...schema.domain import Rows
from ..run import FINAL_STEP_ONLY, Run
from .asked_tables import AskedTables
from .rule_costs import RuleCosts, measure_costs

ALGORITHM_NAMES = ("gaussian_maxent", "residual")  # the best of them at each ε is shown
CURVE_EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
CURVE_SEEDS = (0, 1, 2)


@by_name
class PrivatePoint:
    """A private release at one ε: its algorithm, its costs, and the bound on any guess.

    The costs are the mean over repeats with fresh noise; `groups` are those of the first repeat.
    """

    algorithm: str
    epsilon: float
    costs: RuleCosts
    max_guess: float


@by_name
class PrivateCounterpart:
    """A private release with the mean error of a rule: its ε, and the bound on any guess."""

    epsilon: float
    max_guess: float


def private_curve(
    asked_tables: AskedTables,
    rows: Rows,
    delta: float,
    epsilons: Sequence[float] = CURVE_EPSILONS,
    progress: ProgressCallback = ignore_progress,
) -> tuple[PrivatePoint, ...]:
    """Return the best private release at each ε, by the mean share of rows in a wrong cell."""
    points = []
    for number, epsilon in enumerate(sorted(epsilons)):
        progress(number, len(epsilons))
        budget = Budget(epsilon, delta)
        candidates = []
        for name in ALGORITHM_NAMES:
            costs = [_release_costs(asked_tables, rows, name, budget, seed) for seed in CURVE_SEEDS]
            candidates.append(
                PrivatePoint(
                    algorithm=name,
                    epsilon=epsilon,
                    costs=_mean_costs(costs),
                    max_guess=guess_bound(asked_tables.problem, name, budget),
                )
            )
        points.append(min(candidates, key=lambda point: point.costs.misplaced))
    return tuple(points)


def guess_bound(problem: QueryRelease, algorithm: str, budget: Budget) -> float:
    """Return the highest chance of a right guess between two tables that differ in one row."""
    method = ALGORITHMS[algorithm]()
    plan = make_plan(method, problem, budget)
    return Promise.of_plan(plan, adaptive=method.adaptive).max_guess_probability()


def epsilon_of_equal_error(curve: Sequence[PrivatePoint], misplaced: float) -> float | None:
    """Return the ε at which a private release has this share of rows in a wrong cell.

    Between two points of the curve the logarithms are taken to be on a line. None outside the
    curve: no ε on it is that exact, or that far off.
    """
    for before, after in zip(curve[:-1], curve[1:], strict=True):
        high = before.costs.misplaced
        low = after.costs.misplaced
        if low <= misplaced <= high and misplaced > 0 and high > low > 0:
            share = math.log(high / misplaced) / math.log(high / low)
            return before.epsilon * (after.epsilon / before.epsilon) ** share
    return None


def private_counterpart(
    asked_tables: AskedTables, curve: Sequence[PrivatePoint], misplaced: float, delta: float
) -> PrivateCounterpart | None:
    """Return the private release of equal mean error; None where the curve has none.

    The algorithm is that of the curve's next point.
    """
    epsilon = epsilon_of_equal_error(curve, misplaced)
    if epsilon is None:
        return None
    algorithm = next(point.algorithm for point in curve if point.epsilon >= epsilon)
    max_guess = guess_bound(asked_tables.problem, algorithm, Budget(epsilon, delta))
    return PrivateCounterpart(epsilon=epsilon, max_guess=max_guess)


def _release_costs(
    asked_tables: AskedTables,
    rows: Rows,
    name: str,
    budget: Budget,
    seed: int,
) -> RuleCosts:
    """Return the costs of one private release."""
    with warnings.catch_warnings():  # a large ε is there to be compared with, not to be released
        warnings.simplefilter("ignore", PrivacyWarning)
        run = Run(
            ALGORITHMS[name](),
            asked_tables.problem,
            rows,
            budget,
            seed=seed,
            every=FINAL_STEP_ONLY,
        )
    run.finish()
    release: Any = run.release
    answers = release.answers(asked_tables.tables)
    return measure_costs(asked_tables, answers, np.zeros(len(answers), dtype=bool))


def _mean_costs(costs: Sequence[RuleCosts]) -> RuleCosts:
    """Return the mean of several releases' costs, with the groups of the first."""
    return RuleCosts(
        misplaced=float(np.mean([cost.misplaced for cost in costs])),
        largest=float(np.mean([cost.largest for cost in costs])),
        lost_share=0.0,
        flipped_share=float(np.mean([cost.flipped_share for cost in costs])),
        vanished_share=float(np.mean([cost.vanished_share for cost in costs])),
        groups=costs[0].groups,
    )
