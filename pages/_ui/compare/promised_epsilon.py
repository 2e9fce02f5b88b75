"""Smallest ε whose noise alone promises a wanted accuracy, from public numbers."""

from collections.abc import Mapping
from functools import partial

from dpcore import Budget, InputError, QueryRelease
from dpcore.accuracy.noise_levels import probability_all_within, tolerance_for_probability
from dpcore.accuracy.predicted_error import predicted_noise_stddev
from dpcore.algorithms import algorithms_for_problem
from dpcore.core.parameters import build_from_texts
from dpcore.core.types import by_name

from ..components import parameter_widgets
from ..session import session
from .accuracy_goal import AccuracyGoal


@by_name
class PromisedEpsilon:
    """Smallest ε of the sliders at which an algorithm's noise alone meets an accuracy goal.

    `epsilon` is None where no ε does. `chance` and `sigma`, the standard deviation of the noise,
    are those at ε, or at the largest ε there is; `error_by_epsilon` is how far off the answers are
    at each ε of the sliders, in the share of releases that is needed. All of it holds whatever the
    table is.
    """

    algorithm_name: str
    epsilon: float | None
    chance: float
    sigma: float
    error_by_epsilon: dict[float, float]


# by algorithm, its noise on an answer at each ε of the sliders
NoiseByAlgorithm = dict[str, dict[float, float]]


def promised_epsilon(
    problem: QueryRelease, goal: AccuracyGoal, delta: float
) -> PromisedEpsilon | None:
    """Return the smallest ε that promises the goal; None where no noise is known beforehand.

    No row is read.
    """
    needed = goal.needed_slice(problem.workload)
    if needed is None:
        return None
    noise_levels = session().memoize(
        "public-noise",
        (problem.workload, problem.effective_n, delta),
        partial(public_noise_levels, problem, delta),
    )
    return best_promise(noise_levels, needed.stop - needed.start, goal.tolerance, goal.share)


def public_noise_levels(problem: QueryRelease, delta: float) -> NoiseByAlgorithm:
    """Return each algorithm's noise standard deviation by ε, where it is publicly known.

    No row is read.
    """
    noise_levels = {}
    for name, cls in algorithms_for_problem(QueryRelease).items():
        if not hasattr(cls, "answer_noise"):
            continue
        try:
            sigmas = {
                e: predicted_noise_stddev(build_from_texts(cls, {}), problem, Budget(e, delta))
                for e in parameter_widgets.EPSILON_OPTIONS
            }
        except InputError:  # it cannot serve this problem, or this δ
            continue
        if None not in sigmas.values():
            noise_levels[name] = sigmas
    return noise_levels


def best_promise(
    noise_levels: NoiseByAlgorithm, answers: int, tolerance: float, share: float
) -> PromisedEpsilon | None:
    """Return the promise of the algorithm that needs the smallest ε; None without any.

    There is none where no noise is known.
    """
    promises = [
        _promise_of_algorithm(name, sigmas, answers, tolerance, share)
        for name, sigmas in noise_levels.items()
    ]
    return min(promises, key=lambda p: (p.epsilon is None, p.epsilon or -p.chance), default=None)


def _promise_of_algorithm(
    name: str, sigmas: Mapping[float, float], answers: int, tolerance: float, share: float
) -> PromisedEpsilon:
    chances = {
        epsilon: probability_all_within(tolerance, sigma, answers)
        for epsilon, sigma in sigmas.items()
    }
    sufficient_epsilon = next(
        (epsilon for epsilon, chance in chances.items() if chance >= share), None
    )
    reported_epsilon = sufficient_epsilon or parameter_widgets.EPSILON_OPTIONS[-1]
    error_by_epsilon = {
        epsilon: tolerance_for_probability(share, sigma, answers)
        for epsilon, sigma in sigmas.items()
    }
    return PromisedEpsilon(
        algorithm_name=name,
        epsilon=sufficient_epsilon,
        chance=chances[reported_epsilon],
        sigma=sigmas[reported_epsilon],
        error_by_epsilon=error_by_epsilon,
    )
