"""How a lesson's right answer follows from what was measured."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpcore.numbers import points

Medians = Mapping[float, Sequence[float]]  # what each bar of a lesson is in the median of its repeats, by ε


@dataclass(frozen=True)
class LessonFinding:
    """The place of the right answer, and what was found in a sentence."""

    right: int
    words: str


def nearest(ratio: float, marks: Sequence[float]) -> int:
    """Return the place of the mark that a ratio is nearest to, by its logarithm."""
    return min(range(len(marks)), key=lambda i: abs(math.log(ratio / marks[i])))


def ratio(
    one: tuple[float, int], other: tuple[float, int], marks: Sequence[float], words: str, shown: Callable[[float], Any]
) -> Callable[[Medians], LessonFinding]:
    """Return a rule: how many times larger `one` bar is than the `other`, each by ε and place; the nearest mark wins.

    `words` name both values as they are `shown`, and if they like their ratio.
    """

    def decide(medians: Medians) -> LessonFinding:
        here, there = (medians[epsilon][place] for epsilon, place in (one, other))
        said = words.format(here=shown(here), there=shown(there), ratio=f"{here / there:.2g}")
        return LessonFinding(nearest(here / there, marks), said)

    return decide


def sampling(medians: Medians) -> LessonFinding:
    """Return how the largest error falls from ε = 0.1 to 10: about the table, and about its population."""
    table, people = zip(medians[0.1], medians[10.0], strict=True)
    words = (
        f"the largest error about these people falls from {points(table[0])} to {points(table[1])} points from ε = 0.1 "
        f"to 10. About everybody it goes from {points(people[0])} to {points(people[1])}"
    )
    if people[1] >= people[0]:
        return LessonFinding(2, words)
    return LessonFinding(0 if people[0] / people[1] > table[0] / table[1] / 2 else 1, words)


def rule(medians: Medians) -> LessonFinding:
    """Return how often rows made from pairs of columns keep a rule that no pair shows: always, mostly or in half."""
    pairs, evolved = medians[10.0]
    words = f"the rule holds in {pairs:.1%} of the rows made from pairs, and in {evolved:.1%} of those chosen by votes"
    return LessonFinding(nearest(pairs, (1, 0.75, 0.5)), words)
