"""The public halves of a task: what is asked, of which domain, over how many records. Imports errors to releases."""

from dataclasses import dataclass

from .domain import Domain
from .errors import InputError
from .workloads import Workload

MAX_CELLS = 10_000_000


@dataclass(frozen=True, eq=False)
class QueryRelease:
    """Answer every query of a workload over n records. n is public, as neighbours replace one record.

    With `group` b > 1 neighbours replace up to b records (all of one person, who has b at the most): every sensitivity
    is b times that of one record, by the triangle inequality along b single replacements.
    """

    workload: Workload
    n: int
    group: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.group <= self.n:
            raise InputError(f"group={self.group} is outside 1..{self.n}, the number of records")

    @property
    def effective_n(self) -> float:
        """n/b: one neighbour moves P_n by (e_z − e_z')/effective_n, b such differences at the most."""
        return self.n / self.group

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
