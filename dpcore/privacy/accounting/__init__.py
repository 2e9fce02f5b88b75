"""The promise, the cost of each touch, and the sum of costs: the names most used elsewhere.

Others are taken from their own modules.
"""

from .budget import (
    LARGEST,
    LARGEST_DELTA,
    SMALLEST,
    SMALLEST_DELTA,
    Accounting,
    Approximate,
    BoundedRange,
    Budget,
    Gaussian,
    NoiseSpend,
    Pure,
    Spend,
    Spent,
    SubsampledGaussian,
    Sums,
)
from .budget_meter import Charge, Choice, Plan
from .calibrations import (
    MARGIN,
    enlarged,
    equal_draws,
    equal_selections,
    equal_thresholded,
    gaussian_share,
    measure_once,
    noise_share,
    regularised_stages,
    sampled_steps,
    select_and_measure,
    select_once,
)
from .conversions import gdp_epsilon, gdp_log_delta, gdp_mu, root, zcdp_epsilon
from .data_set_total import (
    Concentrated,
    Drawn,
    Event,
    Events,
    Filtered,
    Lifetime,
    Listed,
    Total,
    events_from_json,
    events_to_json,
    gaussian_cost,
    planned,
    reserved,
)
from .guarantee import cautions, worst_profile
