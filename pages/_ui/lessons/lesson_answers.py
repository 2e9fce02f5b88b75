"""How a lesson's right answer follows from what was measured."""

import math
from collections.abc import Mapping, Sequence

from dpcore.core.numbers import format_count
from dpcore.core.types import value_object

BarPosition = tuple[float, int]  # of a bar: its ε, and its place among the bars
# what each bar of a lesson is in the median of its repeats, by ε
Medians = Mapping[float, Sequence[float]]


@value_object
class LessonFinding:
    """The place of the right answer, and what was found in a sentence."""

    right_answer_index: int
    sentence: str


def nearest_mark_index(ratio: float, marks: Sequence[float]) -> int:
    """Return the place of the mark that a ratio is nearest to, by its logarithm."""
    return min(range(len(marks)), key=lambda i: abs(math.log(ratio / marks[i])))


def format_in_unit(value: float, unit: str) -> str:
    """Return what a bar is in words, rounded alike wherever it is said."""
    return f"{value:.1%}" if unit == "%" else format_count(value, 1, unit)


def decide_by_ratio(
    medians: Medians,
    known_bar: BarPosition,
    hidden_bar: BarPosition,
    marks: Sequence[float],
    sentence_template: str,
    unit: str,
) -> LessonFinding:
    """Return how many times larger the hidden bar is than the known one; the nearest mark wins.

    `words` name both values in their unit, and if they like how many times the larger one is the
    smaller.
    """
    known_value, hidden_value = (
        medians[epsilon][bar_index] for epsilon, bar_index in (known_bar, hidden_bar)
    )
    times = hidden_value / known_value
    template_values = {
        "known": format_in_unit(known_value, unit),
        "hidden": format_in_unit(hidden_value, unit),
        "ratio": f"{max(times, 1 / times):.2g}",
    }
    return LessonFinding(
        nearest_mark_index(times, marks), sentence_template.format(**template_values)
    )


def decide_sampling_lesson(medians: Medians) -> LessonFinding:
    """Return how the largest error falls from ε = 0.1 to 10: for the table and its population."""
    table, people = zip(medians[0.1], medians[10.0], strict=True)
    sentence = (
        f"the largest error about these people falls from {table[0]:.0f} to {table[1]:.0f} "
        "people from ε = 0.1 "
        f"to 10. About everybody it goes from {people[0]:.0f} to {people[1]:.0f}"
    )
    if people[1] >= people[0]:
        return LessonFinding(2, sentence)
    return LessonFinding(0 if people[0] / people[1] > table[0] / table[1] / 2 else 1, sentence)


def decide_rule_lesson(medians: Medians) -> LessonFinding:
    """Return how often synthetic rows from pairs of columns keep a rule that no pair shows.

    The answers are always, mostly or in half.
    """
    pairs, evolved = medians[10.0]
    sentence = (
        f"the third column is right in {pairs:.1%} of rows made from pairs, in "
        f"{evolved:.1%} of compared rows"
    )
    return LessonFinding(nearest_mark_index(pairs, (1, 0.75, 0.5)), sentence)
