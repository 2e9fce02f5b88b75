"""The protocol of the statistics that a curator measures."""

from typing import Any

from ...core.types import Array
from ..accounting.events import Gaussian, Pure


class Statistic:
    """The protocol of a statistic: its sensitivity, its computation, and what is released.

    Sensitivities are those of n times the value when one row is replaced; the curator divides by n.
    A new statistic is one file, which derives its sensitivities and says on which grid its values
    lie, its test, and its name in the list of what a curator measures. What is said here holds
    where a statistic does not say otherwise.
    """

    value: Any  # (rows): its value on the rows, before noise is added
    l1: Any  # Δ₁ for one row
    l2: Any  # Δ₂ for one row
    norms: Any = (
        1.0  # what the noise's deviation is multiplied by on what leaves: a number, or (m,)
    )
    gridded: Any = True  # whether exact noise can replace its noise; for a class, in most cases
    answered_slice: Any = (
        None  # which answers of its workload the values are; None: they are none of them
    )
    shares_noise = False  # whether several tables of its workload see the same noise
    payable = (Gaussian, Pure)
    reads_single_rows = (
        False  # whether it reads the rows themselves, which counts of tables do not hold
    )
    takes_answers = False  # whether `value` takes all answers of its workload (m,) and not the rows

    def check(self) -> None:
        """Raise InputError for parameters whose sensitivity is not derived."""

    def postprocess(self, noisy: Array) -> Array:
        """Return the released value: a public function of the noisy one."""
        return noisy

    def on_grid(self, n: int) -> tuple[Any, float]:
        """Return the statistic, rounded where necessary, and the public step of its grid.

        n times its value is a multiple of the step.
        """
        return self, 1.0
