"""The closed set of samplers, chosen by name: they see rows, and only their last state leaves.

Each says for which targets it serves (`refuses`, from public facts), whether it is exact up to rounding, and, where it
is not, when its certificate is out of reach (`too_long`). The error it may make is handed to it, as it was paid for;
one that is not exact, or not certain to end, is refused where nothing was. Every refusal follows from public numbers
and comes before the charge; after it a draw always ends in an answer, as an error would depend on the rows. Running
times depend on the rows: who can time a draw learns something that no budget covers.

At δ = 0 only samplers on a public grid serve, `rank` and `grid`: the last digits of a number that was computed from
rows in floating point tell some data sets from their neighbours for certain.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ...core.errors import InputError
from ...core.types import Array, Rng, value_object
from ..statistics.density_targets import Density, Target
from . import alternating, envelope, lattice, line, plane, proximal, rank_quantile

MOST_LOST = 0.1  # share of ε that may pay for rounding


@value_object
class Sampler:
    """A way to draw from a density, described in the file it comes from."""

    draw: Callable[[Density, float, Rng], Array]
    refuses: Callable[[Target], str | None]
    inexact: str = ""  # why it is not exact up to rounding, or may end in one that is not
    too_long: Callable[..., str | None] = lambda *_: None
    lost: Callable[..., float] | None = None  # the share of k that pays for rounding, where draws are on a public grid

    def check(self, target: Target, k: float, error: float, n: int) -> None:
        """Raise InputError, from public numbers, where this sampler does not serve."""
        if reason := self.refuses(target) or self.unpaid(error) or self.too_long(target, k, error, n):
            raise InputError(reason)
        self.kept(target, k, n)

    def kept(self, target: Target, k: float, n: int) -> float:
        """The share of k to draw by, beside what rounding takes; InputError where that is more than MOST_LOST."""
        share = 0.0 if self.lost is None else self.lost(target, k, n)
        if share > MOST_LOST:
            raise InputError(
                f"rounding would take {share:.2g} of epsilon for n={n:,} rows, at most {MOST_LOST:g} is allowed; "
                "take fewer rows, or choose delta > 0"
            )
        return 1 - share

    def unpaid(self, error: float) -> str | None:
        """The reason why the sampler needs a total variation that was paid for; None when it does not or has one."""
        return f"{self.inexact}: theta must be above 0, and delta too" if self.inexact and error <= 0 else None


# What is put in here would be shown the records.
SAMPLERS: Mapping[str, Sampler] = MappingProxyType(
    {
        "rank": Sampler(rank_quantile.draw, rank_quantile.refuses, lost=rank_quantile.lost),
        "grid": Sampler(lattice.draw, lattice.refuses, too_long=lattice.too_long, lost=lattice.lost),
        "line": Sampler(line.draw, line.refuses),
        "gaussian": Sampler(envelope.draw_gaussian, envelope.refuses_gaussian),
        "logistic": Sampler(
            envelope.draw_logistic,
            envelope.refuses_logistic,
            "the sampler logistic may end in proximal, which mixes within τ",
        ),
        "plane": Sampler(plane.draw, plane.refuses, too_long=plane.too_long),
        "proximal": Sampler(
            proximal.draw, proximal.refuses, "the sampler proximal mixes within τ, never exactly", proximal.too_long
        ),  # fmt: skip
        "alternating": Sampler(
            alternating.draw,
            alternating.refuses,
            "the sampler alternating mixes and clips within τ, never exactly",
            alternating.too_long,
        ),
    }
)
AUTOMATIC = ("line", "gaussian", "logistic", "plane", "proximal")


def choose(target: Target, error: float) -> str:
    """The first sampler that can draw from a target at a paid total variation of `error`, by public facts.

    Raises InputError with every reason where none does.
    """
    reasons = []
    for name in AUTOMATIC:
        if (reason := SAMPLERS[name].refuses(target) or SAMPLERS[name].unpaid(error)) is None:
            return name
        reasons.append(reason)
    raise InputError("no sampler serves here: " + "; ".join(reasons))
