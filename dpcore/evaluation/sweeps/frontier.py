"""Summarise a comparison: the frontier, each algorithm's regret, the smallest sufficient ε.

Tables in, tables out; imports errors. These summaries are peeks at real data wherever their errors
are.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from ...core.errors import InputError

DEFAULT_RUNS_PER_EPSILON = 20  # how many runs an ε is judged by
DEFAULT_GOOD_SHARE = 0.95  # share of them that must be good enough


def summarise_by_epsilon(runs: pd.DataFrame) -> pd.DataFrame:
    """Return median, lowest and highest error over seeds, by algorithm and ε.

    With median seconds and memory. `runs` has algorithm, epsilon, seed, error, seconds, memory;
    errors that are missing are left out.
    """
    groups = runs.dropna(subset=["error"]).groupby(["algorithm", "epsilon"], sort=True)
    summary = groups.agg(
        error=("error", "median"),
        low=("error", "min"),
        high=("error", "max"),
        seconds=("seconds", "median"),
        memory=("memory", "median"),
        runs=("seed", "nunique"),
    )
    return summary.reset_index()


def step_frontier(medians: pd.DataFrame) -> pd.DataFrame:
    """Return at each ε the smallest error of any algorithm at that ε or less, and its name.

    Steps and not a convex hull: nobody achieves the points between, while a smaller budget is
    always allowed.
    """
    best = medians.sort_values(["epsilon", "error"]).drop_duplicates("epsilon")
    best_errors = best["error"].cummin()
    best_algorithms = best["algorithm"].where(best["error"] == best_errors).ffill()
    return pd.DataFrame(
        {"epsilon": best["epsilon"], "error": best_errors, "algorithm": best_algorithms}
    ).reset_index(drop=True)


def regret_table(medians: pd.DataFrame) -> pd.DataFrame:
    """Return the ratio of each algorithm's error to the best median at the same ε.

    A line for each algorithm and a column for each ε; also seconds and memory. The best algorithm
    has 1; the lines are sorted by the geometric mean over ε.
    """
    best_errors = medians.groupby("epsilon")["error"].transform("min")
    ratio = (medians["error"] / best_errors).where(medians["error"] > 0, 1.0)
    table = medians.assign(ratio=ratio).pivot(index="algorithm", columns="epsilon", values="ratio")
    order = (
        table.pow(1 / table.notna().sum(axis=1), axis=0)
        .prod(axis=1)
        .sort_values(kind="stable")
        .index
    )
    costs = medians.groupby("algorithm").agg(
        seconds=("seconds", "median"), memory=("memory", "max")
    )
    return table.loc[order].join(costs)


@dataclass
class EpsilonBisection:
    """A bisection for the smallest ε at which `share` of `runs` runs are good enough.

    It runs nothing itself: `next_epsilon_and_seeds()` says which ε to try next, with which seeds,
    or None when done; `record_outcome` takes the result of one of them. An ε is given up as soon as
    too many of its runs were bad. Noise shrinks as ε grows, so errors are taken to fall with ε (the
    bisection looks at ⌈log2⌉ of the grid's budgets). `smallest_epsilon`: the answer, or None for
    "not at this n".
    """

    grid: Sequence[float]
    runs: int = DEFAULT_RUNS_PER_EPSILON
    share: float = DEFAULT_GOOD_SHARE
    good_counts: Counter[float] = field(default_factory=Counter)
    bad_counts: Counter[float] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if not self.grid or list(self.grid) != sorted(set(self.grid)):
            raise InputError("the budgets to search must rise, and there must be at least one")
        if self.runs < 1 or not 0 < self.share <= 1:
            raise InputError(f"{self.share:g} of {self.runs} runs is nothing that could be reached")
        # the answer's position is in low..high; where it is len(grid), there is none
        self._low = 0
        self._high = len(self.grid)
        self.allowed_bad_runs = int(self.runs * (1 - self.share) + 1e-9)

    def next_epsilon_and_seeds(self) -> tuple[float, range] | None:
        """Return the next ε and the seeds still needed for it; None when the answer is known."""
        if self.is_done:
            return None
        epsilon = self.grid[self._middle_index]
        return epsilon, range(self.good_counts[epsilon] + self.bad_counts[epsilon], self.runs)

    def record_outcome(self, epsilon: float, is_good: bool) -> None:
        """Record whether one more run at `epsilon` was good enough.

        Ignored once that ε is decided.
        """
        if self.is_done or epsilon != self.grid[self._middle_index]:
            return
        (self.good_counts if is_good else self.bad_counts)[epsilon] += 1
        if self.bad_counts[epsilon] > self.allowed_bad_runs:
            self._low = self._middle_index + 1
        elif self.good_counts[epsilon] >= self.runs - self.allowed_bad_runs:
            self._high = self._middle_index

    @property
    def is_done(self) -> bool:
        """Whether the answer is known."""
        return self._low >= self._high

    @property
    def smallest_epsilon(self) -> float | None:
        """The smallest ε that is good enough; None while unknown, or when no ε is."""
        return self.grid[self._low] if self.is_done and self._low < len(self.grid) else None

    @property
    def _middle_index(self) -> int:
        return (self._low + self._high) // 2
