"""What a data set's releases cost together, release by release: sums that are exact however many there are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..privacy.accounting.lifetime import Event, Lifetime

Events = Sequence[tuple[Event, int]]


@dataclass(frozen=True)
class Total:
    """The additive costs of events, and their failures: each an exact sum, held as floats that do not overlap.

    A cost is read off correctly rounded, so that it is the very one of `Lifetime.cost` of all the events at once;
    adding a release takes as long after ten thousand others as after none.
    """

    costs: tuple[float, ...] = ()
    failures: tuple[float, ...] = ()

    def plus(self, lifetime: Lifetime, events: Events) -> "Total":
        """With these events too. Raises ValueError for an event that would give something back."""
        costs, failures = self.costs, self.failures
        for event, times in events:
            cost, failure = lifetime.cost([(event, times)]), times * event.failure
            if not (times >= 0 and cost >= 0 and 0 <= failure < math.inf):
                raise ValueError(f"an event of cost {cost:g} and failure {failure:g}, {times} times")
            costs, failures = _exactly(costs, cost), _exactly(failures, failure)
        return Total(costs, failures)

    def cost(self, lifetime: Lifetime) -> float:
        """Σμ², Σρ or Σε; ∞ where failures go beyond what the lifetime keeps for them."""
        return math.fsum(self.costs) if math.fsum(self.failures) <= lifetime.failure else math.inf

    def epsilon(self, lifetime: Lifetime) -> float:
        """The ε of all of it at the lifetime's δ, rounded up."""
        return lifetime.epsilon(self.cost(lifetime))

    def left(self, lifetime: Lifetime) -> float:
        """The ε of the largest single further release."""
        return lifetime.epsilon(max(lifetime.capacity - self.cost(lifetime), 0.0))


def _exactly(parts: tuple[float, ...], x: float) -> tuple[float, ...]:
    """The sum of floats that do not overlap, smallest first, and of one more, as such floats again.

    Source: Shewchuk 1997, Theorem 10: a rounded sum and its rounding error are together the exact sum.
    """
    out = []
    for y in parts:
        large, small = (x, y) if abs(x) >= abs(y) else (y, x)
        x = large + small
        error = small - (x - large)
        if math.isinf(x):
            return (math.inf,)
        if error:
            out.append(error)
    return (*out, x)
