"""A number for each word of the glossary whose example is computed: by runs, plans and promises."""

import numpy as np
import streamlit as st

from dpcore import ALGORITHMS, Budget, QueryRelease
from dpcore.accuracy.meaning_of_epsilon import Promise, delta_words, one_in, times_in_100
from dpcore.algorithms.algorithm import make_plan
from dpcore.evaluation.run import pairs_with
from dpcore.privacy.accounting import Lifetime, gdp_mu
from dpcore.release.ledger.gauge import how_many

from ..components import number, parameter_widgets
from ..lessons import patient_counts
from ..lessons.dragged_answers import STOPS
from ..lessons.lesson import DELTA, LESSONS
from ..lessons.lesson_answers import in_unit
from ..session import sample_table

EPSILON = 1.0


def medians(lesson: str, epsilon: float) -> list[str]:
    """Return how many people the bars of a lesson are in the median of its repeats."""
    return [in_unit(value, "people") for value in np.median(LESSONS[lesson].values[:, STOPS.index(epsilon)], axis=0)]


@st.cache_data(show_spinner=False)
def examples() -> dict[str, str]:
    """Return a sentence with a number for each word whose example is not a fact of the samples."""
    census = sample_table("census")
    problem, algorithm = QueryRelease(pairs_with(census.domain), census.n), ALGORITHMS["gaussian_maxent"]()
    promises = {
        epsilon: Promise.of_plan(make_plan(algorithm, problem, Budget(epsilon, DELTA)), adaptive=algorithm.adaptive)
        for epsilon in (0.1, EPSILON, 10.0)
    }
    guess_texts = ", ".join(f"{times_in_100(p.guess()).split()[0]} at ε = {number(e)}" for e, p in promises.items())
    events = promises[EPSILON].events
    lifetime = Lifetime.fixed_by(parameter_widgets.WHOLE, events)
    (exact, _), (noisy, _) = patient_counts.EXACT, patient_counts.published()
    typical, sampling_errors = medians("epsilon", EPSILON)[0], medians("population", 10.0)
    epsilon_text = f"ε = {number(EPSILON)}"
    return {
        "ε": f"Right guesses of 100, by someone who knows everyone else: at most {guess_texts}. A coin: 50. "
        "With Gaussian noise, as on Explore.",
        "δ": f"At δ = {delta_words(DELTA)} a suspicion may rise further than promised "
        f"{one_in(Promise(EPSILON, DELTA).failure)}.",
        "composition": f"{how_many(lifetime.capacity, lifetime.cost(events))} releases of {epsilon_text} fit into a "
        "whole budget of "
        f"{number(parameter_widgets.WHOLE.epsilon)}, as Release begins: they add up slowly.",
        "disagreement": f"Titanic at ε = 0.3: {LESSONS['small-groups'].found().words}.",
        "α": f"α = {number(algorithm.alpha)}, unless you choose.",
        "frontier": f"Census: off by {medians('epsilon', 0.1)[0]} at ε = 0.1, by {typical} at {epsilon_text}.",
        "noise": f"At {epsilon_text} a count moves by about {1 / gdp_mu(EPSILON, DELTA):.0f} people: {exact} become "
        f"{noisy}.",
        "release": f"For example {noisy} patients, not the exact {exact}.",
        "sampling floor": f"Census at ε = 10: off by {sampling_errors[0]} from the table, by {sampling_errors[1]} "
        "from the population.",
        "synthetic table": f"At {epsilon_text} the answers of the census' copy are off by {typical}.",
        "trial": f"Known noise of {noisy - exact:+d}, taken off {noisy}, is {exact} again.",
    }
