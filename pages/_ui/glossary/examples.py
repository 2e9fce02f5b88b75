"""A number for each word of the glossary whose example is computed: by runs, plans and promises."""

import math

import numpy as np
import streamlit as st

from dpcore import ALGORITHMS, Budget, QueryRelease
from dpcore.algorithms.base import make_plan
from dpcore.evaluation.run import pairs_with
from dpcore.privacy.accounting import gdp_epsilon, gdp_mu
from dpcore.theory.meaning import Promise, delta_words, one_in, times_in_100

from ..lessons import patient
from ..lessons.answers import said
from ..lessons.lesson import DELTA, LESSONS
from ..lessons.moving import STOPS
from ..shell import number, sample_table

EPSILON = 1.0
TOGETHER = 4  # releases


def medians(lesson: str) -> dict[float, list[float]]:
    """Return what the bars of a lesson are in the median of its repeats, by ε."""
    return dict(zip(STOPS, np.median(LESSONS[lesson].values, axis=0).tolist(), strict=True))


@st.cache_data(show_spinner=False)
def examples() -> dict[str, str]:
    """Return a sentence with a number for each word whose example is not a fact of the samples."""
    census = sample_table("census")
    questions, rows = pairs_with(census.domain), census.n
    algorithm, budget = ALGORITHMS["gaussian_maxent"](), Budget(EPSILON, DELTA)
    promise = Promise.of_plan(make_plan(algorithm, QueryRelease(questions, rows), budget), adaptive=algorithm.adaptive)
    alone = Promise(EPSILON, DELTA)  # of any algorithm
    mu = gdp_mu(EPSILON, DELTA)
    together = gdp_epsilon(math.sqrt(TOGETHER) * mu, DELTA)
    (exact, _), (noisy, _) = patient.EXACT, patient.published()
    typical, sampled = medians("epsilon"), medians("population")
    at = f"ε = {number(EPSILON)}"
    return {
        "ε": f"With Gaussian noise at {at} someone who knows everyone else guesses right at most "
        f"{times_in_100(promise.guess())} (a coin: 50).",
        "δ": f"At δ = {delta_words(DELTA)} a suspicion may rise further than promised {one_in(alone.failure)}.",
        "composition": f"{TOGETHER} releases of Gaussian noise at {at} use ε = {together:.3g} in all.",
        "disagreement": f"Titanic at ε = 0.3: {LESSONS['small-groups'].found().words}.",
        "α": f"α = {number(algorithm.alpha)}, unless you choose.",
        "frontier": f"Census: off by {said(typical[0.1][0], 'people')} at ε = 0.1, by {said(typical[1.0][0], 'people')} at ε = 1.",
        "noise": f"At {at} a count moves by about {1 / mu:.0f} people: {exact} patients become {noisy}.",
        "release": f"For example {noisy} patients, not the exact {exact}.",
        "sampling floor": f"Census at ε = 10: off by {said(sampled[10.0][0], 'people')} from the table, by "
        f"{said(sampled[10.0][1], 'people')} from the population.",
        "synthetic table": f"At {at} the answers of the census' copy are off by {said(typical[EPSILON][0], 'people')}.",
        "trial": f"Known noise of {noisy - exact:+d}, taken off {noisy}, is {exact} again.",
    }
