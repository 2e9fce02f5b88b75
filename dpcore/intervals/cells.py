"""Intervals for all cells of tables at once."""

import numpy as np

from ..releases import UnbiasedAnswers
from ..workloads import Marginals
from .questions import check_level, quantile


def cell_intervals(
    known: UnbiasedAnswers, tables: Marginals, n: float, *, level: float = 0.95, laplace: bool = False
) -> dict[str, np.ndarray]:
    """`low`, `high`, `population_low`, `population_high` (m,) of all cells, by name; NaN where nothing bounds them.

    As `questions.answer` of every cell: shares ± z standard errors, with what sampling n records adds, within [0, 1].
    """
    z, z_normal = quantile(check_level(level), laplace=laplace), quantile(level)
    shares, errors = known.answers(tables), known.standard_errors(tables)
    moved = (np.clip(shares, 0, 1) * n + z_normal**2 / 2) / (n + z_normal**2)
    both = np.sqrt(errors**2 + moved * (1 - moved) / n)
    gone = np.where(np.isfinite(errors), 0.0, np.nan)
    bounds = {"low": shares - z * errors, "high": shares + z * errors}
    bounds |= {"population_low": shares - z * both, "population_high": shares + z * both}
    return {name: np.clip(values, 0, 1) + gone for name, values in bounds.items()}
