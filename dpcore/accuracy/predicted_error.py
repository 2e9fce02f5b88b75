"""The error of answers before any row is read, for algorithms that measure the answers themselves."""

from collections.abc import Callable

from ..algorithms.algorithm import Algorithm, make_plan
from ..privacy.accounting import Budget
from ..problems import QueryRelease


def predicted_noise_stddev(
    algorithm: Algorithm, problem: QueryRelease, budget: Budget
) -> float | None:
    """The standard deviation of the independent Gaussian noise on every answer, from public numbers.

    None where an algorithm has no `answer_noise` to say so: it measures something else, or what it
    measures depends on the records. Raises what `make_plan` raises.
    """
    plan = make_plan(algorithm, problem, budget)
    answer_noise: Callable[..., float | None] | None = getattr(algorithm, "answer_noise", None)
    return None if answer_noise is None else answer_noise(problem, plan)
