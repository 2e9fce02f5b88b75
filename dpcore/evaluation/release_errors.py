"""The errors of a release, which `metrics` computes, and the scores of purposes: named numbers."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar

from ..core.numbers import mean_if_complete
from ..core.provenance import Provenance
from ..core.types import Json, value_object


class ReleaseErrors:
    """The errors of a release: a dataclass of numbers; a line of progress shows the first."""

    headline_name: ClassVar[str]

    @property
    def headline(self) -> tuple[str, float]:
        """The name and the value of the first number, for a line of progress."""
        return self.headline_name, next(iter(self.to_json().values()))

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as a dictionary, by name."""
        return dict(vars(self))


@value_object
class Errors(ReleaseErrors):
    """The errors of the answers of a release, as shares of the rows.

    `misplaced` is the share of rows in a wrong cell: the mean over the tables asked of half the L1
    distance; without tables the mean error. `largest` is the largest error of the questions asked
    and of their tables' single columns, and `largest_of_group` the same as a share of the group
    that it is about (None for an empty group). `max_error`, `mean_error` and `rmse` are those of
    the questions asked alone, and `mean_l1` is the mean L1 distance of a table, None for a workload
    without tables. `as_exact_as_sample` is a share of the rows (None where not every query counts
    rows, or there are no n rows), and `k_marginal` a score of 1000 at the best (None unless the
    pairs of columns are among the tables).
    """

    headline_name = "share in a wrong cell"
    misplaced: float
    largest: float
    largest_of_group: float | None
    max_error: float
    mean_error: float
    rmse: float
    mean_l1: float | None
    as_exact_as_sample: float | None = None
    k_marginal: float | None = None

    @classmethod
    def mean(cls, errors_of_runs: Sequence["Errors"]) -> "Errors":
        """Return the mean of each error over several runs.

        None for an error that some run does not have.
        """
        means: Json = {
            f.name: mean_if_complete([getattr(run_errors, f.name) for run_errors in errors_of_runs])
            for f in fields(cls)
        }
        return cls(**means)


@value_object
class TaskScore:
    """The score of a purpose on a release (`value`), beside those of what it is compared with.

    `real` is that of the real rows, `sample` that of a sample as exact as the release, and
    `nothing` that of a blind guess.
    """

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
