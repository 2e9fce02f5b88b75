"""One noisy table of a domain, as a measurement that intervals are computed from."""

import numpy as np

from dpcore import Marginals
from dpcore.privacy.noisy_answers import NoisyAnswers


def noisy_table(domain, axes, values, stddev):
    """Return the table over these columns with these cells and the same noise on each."""
    tables = Marginals.over_axes(domain, [axes])
    cells = np.asarray(values, dtype=float).ravel()
    return NoisyAnswers(tables, cells, np.full(tables.m, stddev))
