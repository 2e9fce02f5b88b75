"""Measures of the distance between released answers and the truth."""

import numpy as np

from ..accuracy.usefulness import equivalent_sample_share, k_marginal_score
from ..core.types import Array
from ..queries import Workload
from .release_errors import Errors


def compute_errors(
    answers: Array, truth: Array, workload: Workload, n: int | None = None
) -> Errors:
    """Return the errors of `answers` (m,) against `truth` (m,).

    Of n rows where every query counts rows.
    """
    absolute_errors = np.abs(answers - truth)
    # between two tables there may be other answers
    table_ends = [end for t in workload.tables for end in (t.start, t.stop)]
    l1 = (
        np.add.reduceat(np.append(absolute_errors, 0), table_ends)[::2] if workload.tables else None
    )
    mean_square = float(np.mean(absolute_errors**2))
    return Errors(
        float(absolute_errors.max()),
        float(absolute_errors.mean()),
        float(np.sqrt(mean_square)),
        None if l1 is None else float(l1.mean()),
        None
        if n is None
        else equivalent_sample_share(mean_square * len(absolute_errors), truth, n),
        None
        if l1 is None or workload.scored_tables is None
        else k_marginal_score(l1[workload.scored_tables]),
    )
