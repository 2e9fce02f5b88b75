"""The released values of a measured statistic and the size of their noise, computed here alone.

Only public numbers come here: noisy values, sensitivities and prices.
"""

from typing import Any

import numpy as np

from ..core.types import Array, frozen
from ..queries import Workload
from .accounting.events import Gaussian, Pure, SubsampledGaussian
from .noisy_answers import NoisyAnswers

MIN_STDDEV = 1e-150  # standard deviation where nothing moves, so that it can be divided by


def noise_scale(
    statistic: Any, spend: Gaussian | Pure | SubsampledGaussian, scale_divisor: float
) -> float:
    """Return the scale of the noise that `spend` pays for on a statistic.

    Δ₂/(unit μ) of Gaussian noise, Δ₁/(unit ε) of Laplace noise, unit = `scale_divisor`. For a sum
    over a sample, clipped at C and divided by rate · unit, it is zC/(rate unit), of Gaussian noise.

    `scale_divisor` is n/b for shares of n rows and neighbours that differ in b of them
    (`Curator.effective_n`); for n · value in steps of a grid it is step/b. Before it is
    known which statistic will be measured, a plan names its class or a `Sensitivity`.
    """
    if isinstance(spend, SubsampledGaussian):
        return spend.noise_multiplier * statistic.clip / (spend.rate * scale_divisor)
    return (
        statistic.l2 / (scale_divisor * spend.mu)
        if isinstance(spend, Gaussian)
        else statistic.l1 / (scale_divisor * spend.epsilon)
    )


def noise_stddev(
    statistic: Any, spend: Gaussian | Pure | SubsampledGaussian, scale_divisor: float
) -> Any:
    """Return the standard deviation of the noise on the released values.

    One for all, or an array (m,) where they differ. It is the scale for Gaussian noise and √2 times
    it for Laplace noise (before any threshold); times ‖q_j‖ where noise is drawn on cells and query
    j sees it.
    """
    return noise_scale(statistic, spend, scale_divisor) * spend.stddev_per_scale * statistic.norms


@frozen
class Measurement:
    """A statistic as it was requested, its noisy `values`, and their noise's standard deviation.

    `stddev` is one number, or (m,) where values differ; 0 where no row moves them. What sampling
    adds is not in it.
    """

    values: Array
    stddev: Any
    statistic: Any
    spend: Gaussian | Pure | SubsampledGaussian


class MeasurementRecorder:
    """The measurements of every workload; repeated ones are averaged by their precision."""

    def __init__(self) -> None:
        self._weighted_sums: dict[
            int, tuple[Workload, Array, Array]
        ] = {}  # Σ precision · answer, Σ precision
        self._shared_noise_ids: set[int] = set()
        self._laplace_noise_ids: set[int] = set()

    def add(self, measurement: Measurement, statistic_copy: Any) -> None:
        """Add one measurement of a workload's answers.

        `statistic_copy` is the statistic that no caller can change. It says how many answers there
        are and which ones these are; the workload that was asked about is kept by name.
        """
        answer_slice = statistic_copy.answered_slice
        if answer_slice is None:
            return
        workload = measurement.statistic.workload
        m = statistic_copy.workload.m
        initial_sums = (workload, np.zeros(m), np.zeros(m))
        _, weighted_sum, precision = self._weighted_sums.setdefault(id(workload), initial_sums)
        weight = np.maximum(measurement.stddev, MIN_STDDEV) ** -2.0
        weighted_sum[answer_slice] += weight * measurement.values
        precision[answer_slice] += weight
        if statistic_copy.shares_noise:
            self._shared_noise_ids.add(id(workload))
        if isinstance(measurement.spend, Pure):
            self._laplace_noise_ids.add(id(workload))

    def precision_weighted_means(self) -> list[NoisyAnswers]:
        """Return the precision-weighted answers measured so far, in new arrays."""
        means = []
        for workload, weighted_sum, precision in self._weighted_sums.values():
            with np.errstate(divide="ignore", invalid="ignore"):
                is_measured = precision > 0
                mean = np.where(is_measured, weighted_sum / precision, np.nan)
                error = np.where(is_measured, precision**-0.5, np.nan)
            workload_id = id(workload)
            means.append(
                NoisyAnswers(
                    workload,
                    mean,
                    error,
                    workload_id in self._shared_noise_ids,
                    workload_id in self._laplace_noise_ids,
                )
            )
        return means
