"""Measures of the distance between released answers and the truth."""

import numpy as np

from ..accuracy.usefulness import equivalent_sample_share, k_marginal_score
from ..core.types import Array
from ..queries import Workload
from ..queries.single_columns import single_columns_of
from .release_errors import Errors


def compute_errors(
    answers: Array, truth: Array, workload: Workload, n: int | None = None
) -> Errors:
    """Return the errors of `answers` (m,) against `truth` (m,).

    Of n rows where every query counts rows.
    """
    absolute_errors = np.abs(answers - truth)
    mean_error = float(np.mean(absolute_errors))
    mean_square = float(np.mean(absolute_errors**2))
    l1 = _l1_by_table(absolute_errors, workload)
    largest, largest_of_group = _largest_error(answers, truth, workload)
    k_marginal = None
    if l1 is not None and workload.scored_tables is not None:
        k_marginal = k_marginal_score(l1[workload.scored_tables])
    sample_share = None
    if n is not None:
        sample_share = equivalent_sample_share(mean_square * len(absolute_errors), truth, n)
    return Errors(
        misplaced=mean_error if l1 is None else float(l1.mean()) / 2,
        largest=largest,
        largest_of_group=largest_of_group,
        max_error=float(absolute_errors.max()),
        mean_error=mean_error,
        rmse=float(np.sqrt(mean_square)),
        mean_l1=None if l1 is None else float(l1.mean()),
        as_exact_as_sample=sample_share,
        k_marginal=k_marginal,
    )


def _l1_by_table(absolute_errors: Array, workload: Workload) -> Array | None:
    """Return the L1 distance of each asked table (tables,); None if no table is asked."""
    if not workload.tables:
        return None
    # between two tables there may be other answers
    table_ends = [end for table in workload.tables for end in (table.start, table.stop)]
    return np.add.reduceat(np.append(absolute_errors, 0), table_ends)[::2]


def _largest_error(answers: Array, truth: Array, workload: Workload) -> tuple[float, float | None]:
    """Return the largest error of the questions asked and of their tables' single columns.

    Beside it the same as a share of the group that it is about; None where that group is empty.
    """
    columns = single_columns_of(workload)
    largest_errors = []
    for some_answers, some_truth in (
        (answers, truth),
        *(() if columns is None else ((columns.answers(answers), columns.answers(truth)),)),
    ):
        errors = np.abs(some_answers - some_truth)
        j = int(errors.argmax())
        largest_errors.append((float(errors[j]), float(some_truth[j])))
    error, group_share = max(largest_errors)
    return error, error / group_share if group_share > 0 else None
