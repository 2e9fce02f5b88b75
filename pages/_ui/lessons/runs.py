"""What the lessons' settings give on their samples: the errors of one run a seed, and the answer that they decide."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Any

from dpcore.algorithms import ALGORITHMS
from dpcore.data.samples import Sample
from dpcore.evaluation.run import Run, compare, pairs_with, subgroups
from dpcore.numbers import points
from dpcore.params import build
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.workloads import Marginals

from ..shell.state import SAMPLES

SEEDS = (0, 1, 2, 3, 4)
FEW = 100  # combinations
EVOLVED = "private_evolution_table"
DELTA = 1e-9  # that of Explore, unless somebody moves it


@dataclass(frozen=True)
class LessonFinding:
    """The place of the right answer, and the runs in a sentence."""

    right: int
    words: str


@dataclass(frozen=True)
class Ran:
    """Errors of one run over all pairs of columns, as shares: of the table, of its population, about groups by age.

    `possible` is the share of released rows whose values stand together in the table, too; known for few combinations.
    """

    typical: float
    worst: float
    population: float
    groups: dict[str, float]
    possible: float = math.nan


class Tries:
    """The runs of a lesson at some seeds, `times` with other settings; `told` hears how many of all are done."""

    def __init__(
        self, settings: dict[str, str], seeds: Sequence[int], told: Callable[[float, str], Any], times: int = 2
    ) -> None:
        self.settings, self.seeds, self._told, self._done, self._times = settings, seeds, told, 0, times

    def at(self, epsilon: float | None = None, **changed: str) -> list[Ran]:
        """One run a seed, with the lesson's ε unless another is given, and its parameters but for those `changed`.

        With another `algorithm` among them, that one's own.
        """
        name = changed.pop("algorithm", self.settings["algorithm"])
        own = {key.split(".")[1]: value for key, value in self.settings.items() if key.startswith(f"{name}.")}
        out = []
        for seed in self.seeds:
            many = self._times * len(self.seeds)
            self._told(min(self._done / many, 1.0), f"{self._done} of {many} runs")
            asked = tuple(sorted((own | changed).items()))
            out.append(_ran(self.settings["sample"], name, asked, epsilon or float(self.settings["epsilon"]), seed))
            self._done += 1
        return out


@lru_cache
def _sample(name: str) -> Sample:
    return SAMPLES[name][1]()


@lru_cache(256)
def _ran(sample: str, algorithm: str, settings: tuple[tuple[str, str], ...], epsilon: float, seed: int) -> Ran:
    """One run on a public sample, as Explore makes it."""
    domain, population = _sample(sample).domain, _sample(sample).population
    rows = domain.encode(_sample(sample).frame)
    method, problem = build(ALGORITHMS[algorithm], dict(settings)), QueryRelease(pairs_with(domain), rows.n)
    run = Run(method, problem, rows, Budget(epsilon, DELTA), seed=seed, population=population).finish()
    last, groups = run.records[-1], {}
    if "Age" in domain.names and run.release is not None:
        found = subgroups(compare(run.release, rows, pairs_with(domain, "Age")), "Age")
        groups = dict(zip(found.labels, found.error.tolist(), strict=True))
    possible = math.nan
    if domain.size <= FEW and run.release is not None:
        whole = compare(run.release, rows, Marginals(domain, [domain.names]))
        possible = float(whole.synthetic[whole.real > 0].sum())
    beside = math.nan if last.population is None else last.population.max_error
    return Ran(last.empirical.mean_error, last.empirical.max_error, beside, groups, possible)


def nearest(ratio: float, marks: Sequence[float]) -> int:
    """The place of the mark that a ratio is nearest to, by its logarithm."""
    return min(range(len(marks)), key=lambda i: abs(math.log(ratio / marks[i])))


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """Decides by how many times larger an error is at the lesson's settings than at `changed` ones, or the inverse.

    The answers stand for the `marks`, the nearest one is right; `words` name both errors and, if they like, the ratio.
    """

    error: str
    changed: Mapping[str, Any]
    marks: Sequence[float]
    words: str
    inverse: bool = False

    def __call__(self, tries: Tries) -> LessonFinding:
        """The answer by the medians over the seeds."""
        both = tries.at(), tries.at(**self.changed)
        here, there = (median(getattr(run, self.error) for run in runs) for runs in both)
        ratio = there / here if self.inverse else here / there
        words = self.words.format(here=points(here), there=points(there), ratio=f"{ratio:.2g}")
        return LessonFinding(nearest(ratio, self.marks), words)


SMALLER_EPSILON = Ratio(
    error="typical", changed={"epsilon": 0.1}, marks=(1, 3, 6, 10), inverse=True,
    words="the typical error is {here} points at ε = 1 and {there} at ε = 0.1, {ratio} times as much",
)  # fmt: skip
FRESH_NOISE = Ratio(
    error="typical", changed={"noise": "reused"}, marks=(0.1, 1, 10),
    words="the typical error is {here} points with fresh noise and {there} with one look",
)  # fmt: skip
PAPER_CONSTANTS = Ratio(
    error="worst", changed={"schedule": "practical"}, marks=(1 / 3, 1, 3),
    words="the largest error is {here} points with textbook settings, {there} with practical ones: {ratio} times less",
)  # fmt: skip


def small_groups(tries: Tries) -> LessonFinding:
    """The disagreement about children, in multiples of that about adults: a tenth, as much, or ten times."""
    runs = tries.at()
    child, adult = (median(run.groups[age] for run in runs) for age in ("Child", "Adult"))
    words = f"the real and the published table disagree by {child:.0%} about children and by {adult:.1%} about adults"
    return LessonFinding(nearest(child / adult, (0.1, 1, 10)), words)


def unseen_rule(tries: Tries) -> LessonFinding:
    """How often rows made from pairs of columns keep a rule that no pair shows: always, mostly, or like a guess."""
    pairs, evolved = (median(run.possible for run in runs) for runs in (tries.at(), tries.at(algorithm=EVOLVED)))
    words = f"the rule holds in {pairs:.0%} of the rows that are made from pairs, and in {evolved:.0%} of evolved rows"
    return LessonFinding(nearest(pairs, (1, 0.75, 0.5)), words)


def sampling(tries: Tries) -> LessonFinding:
    """How the worst error falls from ε = 0.1 to 10: about the table, and about the population it is a sample of."""
    low, high = tries.at(), tries.at(10.0)
    table, people = (
        [median(getattr(run, name) for run in runs) for runs in (low, high)] for name in ("worst", "population")
    )
    words = (
        f"the largest error about the table falls from {points(table[0])} to {points(table[1])} points from ε = 0.1 "
        f"to 10. About the population it goes from {points(people[0])} to {points(people[1])}"
    )
    if people[1] >= people[0]:
        return LessonFinding(2, words)
    return LessonFinding(0 if people[0] / people[1] > table[0] / table[1] / 2 else 1, words)
