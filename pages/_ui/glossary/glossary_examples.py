"""A number for each word of the glossary whose example is computed: by runs, plans and promises."""

import numpy as np
import streamlit as st

from dpcore import ALGORITHMS, Budget, QueryRelease
from dpcore.accuracy.meaning_of_epsilon import (
    Promise,
    describe_delta,
    format_rare_chance,
    format_times_in_100,
)
from dpcore.algorithms.algorithm import make_plan
from dpcore.evaluation.run import pairs_with_column
from dpcore.privacy.accounting import LifetimeBudget, gdp_mu
from dpcore.release.ledger.gauge import fitting_release_count

from ..components import format_setting, parameter_widgets
from ..lessons import patient_counts
from ..lessons.dragged_answers import EPSILON_STOPS
from ..lessons.lesson import DELTA, LESSONS
from ..lessons.lesson_answers import format_in_unit
from ..session import sample_table

EXAMPLE_EPSILON = 1.0


def lesson_medians(lesson: str, epsilon: float) -> list[str]:
    """Return how many people the bars of a lesson are in the median of its repeats."""
    return [
        format_in_unit(value, "people")
        for value in np.median(LESSONS[lesson].values[:, EPSILON_STOPS.index(epsilon)], axis=0)
    ]


@st.cache_data(show_spinner=False)
def example_sentences() -> dict[str, str]:
    """Return a sentence with a number for each word whose example is not a fact of the samples."""
    census = sample_table("census")
    problem = QueryRelease(pairs_with_column(census.domain), census.n)
    algorithm = ALGORITHMS["gaussian_maxent"]()
    promises = {
        epsilon: Promise.of_plan(
            make_plan(algorithm, problem, Budget(epsilon, DELTA)), adaptive=algorithm.adaptive
        )
        for epsilon in (0.1, EXAMPLE_EPSILON, 10.0)
    }
    guess_texts = ", ".join(
        f"{format_times_in_100(p.max_guess_probability()).split()[0]} at ε = {format_setting(e)}"
        for e, p in promises.items()
    )
    events = promises[EXAMPLE_EPSILON].events
    lifetime = LifetimeBudget.from_first_release(parameter_widgets.DEFAULT_TOTAL_BUDGET, events)
    exact, _ = patient_counts.EXACT_COUNTS
    noisy, _ = patient_counts.noisy_counts()
    mean_error = lesson_medians("epsilon", EXAMPLE_EPSILON)[0]
    sampling_errors = lesson_medians("population", 10.0)
    release_count = fitting_release_count(lifetime.capacity, lifetime.composed_cost(events))
    epsilon_text = f"ε = {format_setting(EXAMPLE_EPSILON)}"
    return {
        "ε": f"Right guesses of 100, by someone who knows everyone else: at most {guess_texts}. "
        "A coin: 50. "
        "With Gaussian noise, as on Explore.",
        "δ": f"At δ = {describe_delta(DELTA)} a suspicion may rise further than promised "
        f"{format_rare_chance(Promise(EXAMPLE_EPSILON, DELTA).failure_probability)}.",
        "composition": f"{release_count} releases of {epsilon_text} fit into a "
        "whole budget of "
        f"{format_setting(parameter_widgets.DEFAULT_TOTAL_BUDGET.epsilon)}, as Release begins: "
        "they add up slowly.",
        "disagreement": f"Titanic at ε = 0.3: {LESSONS['small-groups'].find_answer().sentence}.",
        "α": f"α = {format_setting(algorithm.alpha)}, unless you choose.",
        "frontier": f"Census: off by {lesson_medians('epsilon', 0.1)[0]} at ε = 0.1, by "
        f"{mean_error} at {epsilon_text}.",
        "noise": f"At {epsilon_text} a count moves by about "
        f"{1 / gdp_mu(EXAMPLE_EPSILON, DELTA):.0f} people: {exact} become "
        f"{noisy}.",
        "release": f"For example {noisy} patients, not the exact {exact}.",
        "sampling floor": f"Census at ε = 10: off by {sampling_errors[0]} from the table, by "
        f"{sampling_errors[1]} "
        "from the population.",
        "synthetic table": f"At {epsilon_text} the answers of the census' copy are off by "
        f"{mean_error}.",
        "trial": f"Known noise of {noisy - exact:+d}, taken off {noisy}, is {exact} again.",
    }
