"""The predicted error of answers, for algorithms that measure the answers themselves.

It is known before any row is read.
"""

from collections.abc import Callable

from ..algorithms.algorithm import Algorithm, make_plan
from ..privacy.accounting import Budget
from ..problems import QueryRelease


def predicted_noise_stddev(
    algorithm: Algorithm, problem: QueryRelease, budget: Budget
) -> float | None:
    """Return the standard deviation of the independent Gaussian noise on every answer.

    It is from public numbers. None if an algorithm has no `answer_noise` to say so: it measures
    something else, or what it measures depends on the rows. Raises what `make_plan` raises.
    """
    plan = make_plan(algorithm, problem, budget)
    answer_noise: Callable[..., float | None] | None = getattr(algorithm, "answer_noise", None)
    return None if answer_noise is None else answer_noise(problem, plan)
