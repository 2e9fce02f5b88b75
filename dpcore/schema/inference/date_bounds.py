"""Round bounds and natural bins for days and times that were read off the rows: a private peek."""

from functools import partial

import numpy as np

from ...core.types import Array, Json
from ..forms.calendar_numbers import (
    STEP_BY_WORD,
    CalendarStep,
    calendar_edges,
    calendar_steps,
    day_text,
    moment_text,
    roundest_start,
)
from .rounded_bounds import MAX_UNBINNED_WIDTH, better_edges, bounds_without_outliers

MAX_CALENDAR_BINS = 13  # of one step: the months of a year, and one more


def round_date_bounds(numbers: Array, counts: Array, per_day: int) -> Json:
    """Return round bounds and bins, as days, for days or times (r,) that occur `counts` (r,) times.

    Bins are years, months, weeks … of which there are not many, or follow the quantiles where many
    rows would share one of those; their edges then begin such spans. A few days get a cell each.
    Outliers are counted in the outermost bins, as those of numbers are.

    Args:
        numbers: the days' numbers, or the times' in seconds.
        counts: how often each occurs.
        per_day: how many numbers a day has.

    """
    low, high = bounds_without_outliers(numbers, counts)
    clip_policy = {"out_of_range": "clip"}
    text_of_number = day_text if per_day == 1 else moment_text
    if per_day == 1 and high - low < MAX_UNBINNED_WIDTH:
        return {"low": day_text(low), "high": day_text(high)} | clip_policy
    step, bounds = _finest_step(low, high, per_day)
    even_edges = calendar_edges(step, *bounds, per_day)
    clipped = np.clip(numbers, low, high)
    round_between = partial(roundest_start, per_day=per_day)
    edges = better_edges(clipped, counts, np.array(even_edges), round_between) or even_edges
    word = next((word for word, other in STEP_BY_WORD.items() if other == step), "")
    if word and edges == even_edges:
        ends = {"low": text_of_number(bounds[0]), "high": text_of_number(bounds[1])}
        return ends | {"bins": word} | clip_policy
    return {"edges": [*map(text_of_number, edges)]} | clip_policy


def _finest_step(low: float, high: float, per_day: int) -> tuple[CalendarStep, tuple[float, float]]:
    """Return the shortest step that makes few bins of low..high, and bounds that are its ends.

    Ends of several years are those of one year, so that no day is long after the last one. The
    last bound of days is a last day; that of times begins the next step.
    """
    steps = calendar_steps(per_day)
    step = steps[0]
    for shorter in steps:
        if len(shorter.starts(low, high, per_day)) >= MAX_CALENDAR_BINS:
            break
        step = shorter
    year = STEP_BY_WORD["years"]
    end_step = year if steps.index(step) < steps.index(year) else step
    length = end_step.max_length(per_day) + 1 + per_day
    first = end_step.starts(low - length, low, per_day)[-1]
    after_last = end_step.starts(high, high + length, per_day)[0]
    return step, (first, after_last - 1 if per_day == 1 else after_last)
