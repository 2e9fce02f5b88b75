"""Budget: the promise, where neighbours replace one row everywhere."""

import math
from dataclasses import field

from ...core.errors import InputError
from ...core.types import value_object
from . import conversions

# Budgets that are served. Beyond them nothing is promised that anybody wants (ε), whole records may
# be given away (δ),
# or roots are searched for where floating point gives out; inside, every conversion is tested.
# ε
MIN_EPSILON = 1e-6
MAX_EPSILON = 1e9
# δ where it is not 0
MIN_DELTA = 1e-100
MAX_DELTA = 0.5
ALLOWED_BUDGETS = (
    f"epsilon from {MIN_EPSILON:g} to {MAX_EPSILON:g}, delta 0 or from "
    f"{MIN_DELTA:g} to {MAX_DELTA:g}"
)


@value_object
class Budget:
    """The promise (ε, δ): replacing one row changes no event's probability by more than e^ε and δ.

    `additive` asks for spends that keep it when they are added up, as they are for a data set over
    all its releases: plans of several kinds are then calibrated by zCDP and not by optimal
    composition.

    >>> Budget(epsilon=1.0, delta=1e-9)
    Budget(epsilon=1.0, delta=1e-09)
    """

    epsilon: float
    delta: float
    additive: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
                raise InputError(f"{name}={str(value)[:40]} is not a number")
        if not MIN_EPSILON <= self.epsilon <= MAX_EPSILON:
            raise InputError(
                f"epsilon={str(self.epsilon)[:40]} is not served; served are {ALLOWED_BUDGETS}"
            )
        if self.delta != 0 and not MIN_DELTA <= self.delta <= MAX_DELTA:
            raise InputError(
                f"delta={str(self.delta)[:40]} is not served; served are {ALLOWED_BUDGETS}"
            )

    @property
    def rho(self) -> float:
        """The largest ρ whose ρ-zCDP keeps this promise; for δ = 0 the ε²/2 that ε-DP implies."""
        return (
            conversions.zcdp_rho(self.epsilon, self.delta)
            if self.delta > 0
            else self.epsilon**2 / 2
        )

    def sampler_error(self, failure: float) -> float:
        """Return the total variation distance τ that a sampler may err by at a δ of `failure`.

        τ = failure/(1 + e^ε), on any data.

        P(E) ≤ P*(E) + τ ≤ e^ε Q*(E) + δ₀ + τ ≤ e^ε Q(E) + δ₀ + (1 + e^ε)τ for the laws P, Q of
        neighbouring data.
        """
        return failure / (1 + math.exp(self.epsilon)) if self.epsilon < 700 else 0.0
