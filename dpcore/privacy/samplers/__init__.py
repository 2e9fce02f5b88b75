"""The closed set of samplers, chosen by name: they see rows, and only their last state leaves.

Each says for which targets it serves (`unsupported_reason`, from public facts), whether it is exact
up to rounding, and, where it is not, when its certificate is out of reach (`too_long_reason`). The
error it may make is handed to it, as it was paid for; one that is not exact, or not certain to end,
is refused where nothing was. Every refusal follows from public numbers and comes before the charge;
after it a draw always ends in an answer, as an error would depend on the rows. Running times depend
on the rows: who can time a draw learns something that no budget covers.

At δ = 0 only samplers on a public grid serve, `rank` and `grid`: the last digits of a number that
was computed from rows in floating point tell some data sets from their neighbours for certain.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ...core.errors import InputError
from ...core.types import Array, Rng, value_object
from ..statistics.density_targets import Density, Target
from . import alternating, envelope, lattice, line, plane, proximal, rank_quantile

MAX_ROUNDING_SHARE = 0.1  # share of ε that may pay for rounding


def _never_too_long(*_: object) -> None:
    """Return None: no draw takes too long."""


@value_object
class Sampler:
    """A way to draw from a density, described in the file it comes from."""

    draw: Callable[[Density, float, Rng], Array]
    unsupported_reason: Callable[[Target], str | None]
    inexactness: str = ""  # why it is not exact up to rounding, or may end in one that is not
    too_long_reason: Callable[..., str | None] = _never_too_long
    rounding_share: Callable[..., float] | None = (
        None  # the share of k that pays for rounding, where draws are on a public grid
    )

    @property
    def is_on_public_grid(self) -> bool:
        """Whether draws lie on a public grid, each without rounding."""
        return self.rounding_share is not None

    def require_supported(self, target: Target, k: float, error: float, n: int) -> None:
        """Raise InputError, from public numbers, where this sampler does not serve."""
        reason = (
            self.unsupported_reason(target)
            or self.unpaid_error_reason(error)
            or self.too_long_reason(target, k, error, n)
        )
        if reason:
            raise InputError(reason)
        self.share_after_rounding(target, k, n)

    def share_after_rounding(self, target: Target, k: float, n: int) -> float:
        """Return the share of k to draw by, beside the share that rounding takes.

        InputError where rounding takes more than MAX_ROUNDING_SHARE.
        """
        share = 0.0 if self.rounding_share is None else self.rounding_share(target, k, n)
        if share > MAX_ROUNDING_SHARE:
            raise InputError(
                f"rounding would take {share:.2g} of epsilon for n={n:,} rows, at most "
                f"{MAX_ROUNDING_SHARE:g} is allowed; "
                "take fewer rows, or choose delta > 0"
            )
        return 1 - share

    def unpaid_error_reason(self, error: float) -> str | None:
        """Return the reason why the sampler needs a paid error that it has not; else None.

        The error is a total variation that was paid for.
        """
        return (
            f"{self.inexactness}: theta must be above 0, and delta too"
            if self.inexactness and error <= 0
            else None
        )


# What is put in here would be shown the rows.
SAMPLERS: Mapping[str, Sampler] = MappingProxyType(
    {
        "rank": Sampler(
            rank_quantile.draw,
            rank_quantile.unsupported_reason,
            rounding_share=rank_quantile.rounding_share,
        ),
        "grid": Sampler(
            lattice.draw,
            lattice.unsupported_reason,
            too_long_reason=lattice.too_long_reason,
            rounding_share=lattice.rounding_share,
        ),
        "line": Sampler(line.draw, line.unsupported_reason),
        "gaussian": Sampler(
            envelope.draw_for_squared_distance, envelope.gaussian_unsupported_reason
        ),
        "logistic": Sampler(
            envelope.draw_logistic,
            envelope.logistic_unsupported_reason,
            "the sampler logistic may end in proximal, which mixes within τ",
        ),
        "plane": Sampler(
            plane.draw, plane.unsupported_reason, too_long_reason=plane.too_long_reason
        ),
        "proximal": Sampler(
            proximal.draw,
            proximal.unsupported_reason,
            "the sampler proximal mixes within τ, never exactly",
            proximal.too_long_reason,
        ),
        "alternating": Sampler(
            alternating.draw,
            alternating.unsupported_reason,
            "the sampler alternating mixes and clips within τ, never exactly",
            alternating.too_long_reason,
        ),
    }
)
AUTOMATIC_SAMPLERS = ("line", "gaussian", "logistic", "plane", "proximal")


def choose_sampler(target: Target, error: float) -> str:
    """Return the name of the first sampler that can draw from a target at a paid error.

    `error` is a total variation; the choice is made by public facts. Raises InputError with every
    reason where none does.
    """
    reasons = []
    for name in AUTOMATIC_SAMPLERS:
        reason = SAMPLERS[name].unsupported_reason(target) or SAMPLERS[name].unpaid_error_reason(
            error
        )
        if (reason) is None:
            return name
        reasons.append(reason)
    raise InputError("no sampler serves here: " + "; ".join(reasons))
