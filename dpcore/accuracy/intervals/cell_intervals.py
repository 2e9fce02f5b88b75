"""Intervals for all cells of tables at once."""

import numpy as np

from ...core.types import Array
from ...models.releases import UnbiasedAnswers
from ...queries import Marginals
from .confidence_levels import check_level, sampling_standard_errors, two_sided_quantile


def cell_intervals(
    unbiased_answers: UnbiasedAnswers, tables: Marginals, n: float, *, level: float = 0.95
) -> dict[str, Array]:
    """Return confidence bounds (m,) of all cells of tables; NaN for unmeasured tables.

    They are `low`, `high`, `population_low`, `population_high`. As `question_interval` of every
    cell: shares ± z standard errors, with what sampling n rows adds, within [0, 1].
    """
    z = two_sided_quantile(check_level(level), laplace=unbiased_answers.laplace)
    shares = unbiased_answers.answers(tables)
    errors = unbiased_answers.standard_errors(tables)
    total_errors = np.hypot(errors, sampling_standard_errors(shares, n, level))
    nan_where_unmeasured = np.where(np.isfinite(errors), 0.0, np.nan)
    bounds = {"low": shares - z * errors, "high": shares + z * errors}
    bounds |= {
        "population_low": shares - z * total_errors,
        "population_high": shares + z * total_errors,
    }
    return {name: np.clip(values, 0, 1) + nan_where_unmeasured for name, values in bounds.items()}
