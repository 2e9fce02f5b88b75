"""The public halves of a task: what is asked, of which domain, over how many records. Imports errors to releases."""

from dataclasses import dataclass

from .domain import Domain
from .errors import InputError
from .workloads import Workload

MAX_CELLS = 10_000_000


@dataclass(frozen=True, eq=False)
class QueryRelease:
    """Answer every query of a workload over n records. n is public, as neighbours replace one record."""

    workload: Workload
    n: int

    @property
    def domain(self) -> Domain:
        """The domain the workload speaks of."""
        return self.workload.domain

    def require_enumerable(self) -> None:
        """Raise InputError, before any memory is taken, when the cells cannot be enumerated."""
        k = self.domain.size
        if k > MAX_CELLS:
            sizes = " × ".join(str(s) for s in self.domain.shape)
            raise InputError(
                f"{k:,} cells ({sizes}) are more than the {MAX_CELLS:,} this algorithm can enumerate"
                f" ({k * 8 / 2**30:.3g} GiB an array); choose fewer columns or coarser bins"
            )
