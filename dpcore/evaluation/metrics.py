"""Measures of the distance between released answers and the truth."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from ..accuracy.usefulness import equivalent_sample_share, k_marginal_score
from ..core.numbers import mean_if_complete
from ..core.provenance import Provenance
from ..core.types import Array, Json, value_object
from ..queries import Workload


class ReleaseErrors:
    """The errors of a release: a dataclass of named numbers, the first of which a line of progress shows."""

    headline_name: ClassVar[str]

    @property
    def headline(self) -> tuple[str, float]:
        """The name and the value of the first number, for a line of progress."""
        return self.headline_name, next(iter(self.to_json().values()))

    def to_json(self) -> dict[str, Any]:
        """The numbers as a dictionary, by name."""
        return dict(vars(self))


@value_object
class Errors(ReleaseErrors):
    """The errors of all workload cells: largest, mean, root mean square; `mean_l1` is the mean L1 distance of a table.

    `mean_l1` is None for a workload without tables. `as_exact_as_sample` is a share of the rows
    (None where not every query counts rows, or there are no n rows), and `k_marginal` a score of
    1000 at the best (None unless the pairs of columns are among the tables).
    """

    headline_name = "max error"
    max_error: float
    mean_error: float
    rmse: float
    mean_l1: float | None
    as_exact_as_sample: float | None = None
    k_marginal: float | None = None

    @classmethod
    def mean(cls, errors_of_runs: Sequence["Errors"]) -> "Errors":
        """The mean of each error over several runs; None for one that some run does not have."""
        means: Json = {
            f.name: mean_if_complete([getattr(run_errors, f.name) for run_errors in errors_of_runs])
            for f in fields(cls)
        }
        return cls(**means)


@value_object
class TaskScore:
    """The score of one purpose on the release (`released_share`), the real rows, an equally exact sample, and a blind guess."""

    purpose: str
    value: float | None
    unit: str
    real: float | None
    sample: float | None
    nothing: float | None
    tag = Provenance.REAL_DATA

    def to_json(self) -> Json:
        """Return the score as a dictionary, by name."""
        return dict(vars(self))


def compute_errors(
    answers: Array, truth: Array, workload: Workload, n: int | None = None
) -> Errors:
    """The errors of `answers` (m,) against `truth` (m,), of n rows where every query counts rows."""
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
