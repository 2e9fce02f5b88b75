"""The papers' schedules and bounds as functions of public numbers, corrected; one file a subject."""

from .rates import (
    ROWS,
    Rate,
    Setting,
    dpam_empirical,
    dpfw_empirical,
)
from .schedules import (
    D_INF,
    frank_wolfe_alpha,
    frank_wolfe_rounds,
    frank_wolfe_step,
    mirror_descent_alpha,
    mirror_descent_rounds,
    sampling_bound,
    selection_noise,
)
from .width import gaussian_width, gaussian_width_bound

__all__ = [
    "D_INF",
    "ROWS",
    "Rate",
    "Setting",
    "dpam_empirical",
    "dpfw_empirical",
    "frank_wolfe_alpha",
    "frank_wolfe_rounds",
    "frank_wolfe_step",
    "gaussian_width",
    "gaussian_width_bound",
    "mirror_descent_alpha",
    "mirror_descent_rounds",
    "sampling_bound",
    "selection_noise",
]
