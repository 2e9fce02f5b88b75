"""Summaries of a comparison: the frontier, each choice's loss against it, and the smallest sufficient ε.

Tables in, tables out; imports errors. What they hold are private peeks wherever their errors are.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from ...core.errors import InputError

RUNS, SHARE = 20, 0.95  # how many runs an ε is judged by, and how many of them must be good enough


def middles(dots: pd.DataFrame) -> pd.DataFrame:
    """The median, lowest and highest error over seeds, and median seconds and memory, by algorithm and ε.

    `dots` has algorithm, epsilon, seed, error, seconds, memory; errors that are missing are left out.
    """
    groups = dots.dropna(subset=["error"]).groupby(["algorithm", "epsilon"], sort=True)
    summary = groups.agg(
        error=("error", "median"), low=("error", "min"), high=("error", "max"), seconds=("seconds", "median"),
        memory=("memory", "median"), runs=("seed", "nunique"),
    )  # fmt: skip
    return summary.reset_index()


def step_frontier(middle: pd.DataFrame) -> pd.DataFrame:
    """The step frontier: at each ε the smallest error of any algorithm at that ε or less, and its name.

    Steps and not a convex hull: nobody achieves the points between, while a smaller budget is always allowed.
    """
    best = middle.sort_values(["epsilon", "error"]).drop_duplicates("epsilon")
    best_errors = best["error"].cummin()
    best_algorithms = best["algorithm"].where(best["error"] == best_errors).ffill()
    return pd.DataFrame({"epsilon": best["epsilon"], "error": best_errors, "algorithm": best_algorithms}).reset_index(
        drop=True
    )


def regret(middle: pd.DataFrame) -> pd.DataFrame:
    """The ratio of each algorithm's error to the best median at the same ε, a column for each; seconds, memory.

    The best algorithm has 1; the lines are sorted by the geometric mean over ε.
    """
    best_errors = middle.groupby("epsilon")["error"].transform("min")
    ratio = (middle["error"] / best_errors).where(middle["error"] > 0, 1.0)
    table = middle.assign(ratio=ratio).pivot(index="algorithm", columns="epsilon", values="ratio")
    order = table.pow(1 / table.notna().sum(axis=1), axis=0).prod(axis=1).sort_values(kind="stable").index
    costs = middle.groupby("algorithm").agg(seconds=("seconds", "median"), memory=("memory", "max"))
    return table.loc[order].join(costs)


@dataclass
class Search:
    """A bisection for the smallest ε at which `share` of `runs` runs are good enough; it runs nothing itself.

    `ask()` says which ε to try next, with which seeds, or None when done; `tell` takes what became of one of them. An ε
    is given up as soon as too many of its runs were bad. Noise shrinks as ε grows, so errors are taken to fall with ε
    (the bisection looks at ⌈log2⌉ of the grid's budgets). `found`: the answer, or None for "not at this n".
    """

    grid: Sequence[float]
    runs: int = RUNS
    share: float = SHARE
    good: Counter[float] = field(default_factory=Counter)
    bad: Counter[float] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if not self.grid or list(self.grid) != sorted(set(self.grid)):
            raise InputError("the budgets to search must rise, and there must be at least one")
        if self.runs < 1 or not 0 < self.share <= 1:
            raise InputError(f"{self.share:g} of {self.runs} runs is nothing that could be reached")
        self._low, self._high = 0, len(self.grid)  # the answer's place is in low..high; high: none
        self.allowed = int(self.runs * (1 - self.share) + 1e-9)

    def ask(self) -> tuple[float, range] | None:
        """The next ε and the seeds still needed for it; None when the answer is known."""
        if self.done:
            return None
        epsilon = self.grid[self._middle]
        return epsilon, range(self.good[epsilon] + self.bad[epsilon], self.runs)

    def tell(self, epsilon: float, good: bool) -> None:
        """Record whether one more run at `epsilon` was good enough; ignored once that ε is decided."""
        if self.done or epsilon != self.grid[self._middle]:
            return
        (self.good if good else self.bad)[epsilon] += 1
        if self.bad[epsilon] > self.allowed:
            self._low = self._middle + 1
        elif self.good[epsilon] >= self.runs - self.allowed:
            self._high = self._middle

    @property
    def done(self) -> bool:
        """Whether the answer is known."""
        return self._low >= self._high

    @property
    def found(self) -> float | None:
        """The smallest ε that is good enough; None while unknown, or when no ε is."""
        return self.grid[self._low] if self.done and self._low < len(self.grid) else None

    @property
    def _middle(self) -> int:
        return (self._low + self._high) // 2
