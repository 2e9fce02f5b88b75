"""The curator of a risk: it measures gradients and minimisers, and draws parameters."""

from dataclasses import replace
from typing import Final

from ...core.builtin_values import to_builtin
from ...core.errors import InputError
from ...core.types import Array
from ...problems.losses import Logistic, PiecewiseLinear, SquaredDistance
from ...problems.regions import Ball, Box, Space
from .. import mechanisms
from ..accounting.events import Approximate, BoundedRange, Gaussian, SubsampledGaussian
from ..measurement import Measurement, noise_stddev
from ..samplers import SAMPLERS, objective
from ..statistics.density_targets import (
    PerturbedRisk,
    PlainRisk,
    RankError,
    RegularisedRisk,
    Target,
)
from ..statistics.gradients import MeanGradient, RegularisedMinimiser
from .curator import Curator

DRAWABLE_LAWS: Final = (RegularisedRisk, PlainRisk, RankError, PerturbedRisk)


class RiskCurator(Curator):
    """The holder of the rows over which a risk is the mean loss."""

    _statistic_types = (MeanGradient, RegularisedMinimiser)
    _component_types = (Ball, Box, Space, PiecewiseLinear, Logistic, SquaredDistance)
    __slots__ = ()

    def measure_sample(self, statistic: MeanGradient, spend: SubsampledGaussian) -> Measurement:
        """Return the noisy clipped sum (d,) over a Poisson sample of the rows, over rate · n.

        The noise is N(0, (zC)²). Every row is in the sample with probability `rate`, independently;
        the expected size is public, the true one is not. Raises InputError for groups, and
        BudgetError before any row is read.
        """
        statistic_copy, paid = self._checked_copies(
            statistic, (MeanGradient,), spend, (SubsampledGaussian,)
        )
        if self.effective_n != self._n:
            raise InputError(
                "samples of rows are priced for single rows only; rows of one person cannot be "
                "protected"
            )
        self._ledger.charge("measure", paid)
        counts = self._rng.binomial(self._rows.weights, paid.rate)
        total = statistic_copy.clipped_sum(self._rows.values, counts)
        noisy = mechanisms.gaussian(total, paid.noise_multiplier * statistic_copy.clip, self._rng)
        values = noisy / (paid.rate * self._n)
        return Measurement(values, noise_stddev(statistic_copy, paid, self._n), statistic, spend)

    def draw_parameter(
        self, target: Target, sampler: str, spend: Gaussian | BoundedRange | Approximate
    ) -> Array:
        """Return a parameter (d,) drawn from the target's law by a sampler.

        The error of the sampler (one of `samplers.SAMPLERS`), in total variation, is part of δ; at
        δ = 0 the sampler draws on a public grid, without rounding. The time taken depends on the
        rows. Raises InputError and BudgetError before any row is read.
        """
        law, paid = self._checked_copies(target, DRAWABLE_LAWS, spend)
        if isinstance(law, PerturbedRisk):
            lam, sigma = law.calibrate(self._n, self.effective_n, paid)
            self._ledger.charge("draw", paid)
            return objective.draw_perturbed_minimiser(law, self._rows, lam, sigma, paid, self._rng)
        sampler = to_builtin(sampler)
        if sampler not in SAMPLERS:
            raise InputError(
                f"there is no sampler {sampler!r}; the samplers are {', '.join(SAMPLERS)}"
            )
        error = self._ledger.plan.budget.sampler_error(paid.failure)
        k = law.k(self.effective_n, paid)
        sampler_spec = SAMPLERS[sampler]
        if self._promises_pure_dp and not sampler_spec.is_on_public_grid:
            raise InputError(
                f"delta=0: the sampler {sampler} draws in floating point; take the sampler grid "
                "or rank"
            )
        sampler_spec.require_supported(law, k, error, self._n)
        self._ledger.charge("draw", paid)
        if sampler_spec.rounding_share is not None:
            self._exactly["exponential mechanism"] += 1
        density = law.density(self._rows, self.effective_n, paid)
        density = replace(density, k=density.k * sampler_spec.share_after_rounding(law, k, self._n))
        return sampler_spec.draw(density, error, self._rng)
