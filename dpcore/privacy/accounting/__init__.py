"""The promise, the cost of each touch, and the sum of costs: the names most used elsewhere.

Others are taken from their own modules.
"""

from .budget import (
    MAX_DELTA,
    MAX_EPSILON,
    MIN_DELTA,
    MIN_EPSILON,
    Approximate,
    BoundedRange,
    Budget,
    ComposedCost,
    CompositionRule,
    Gaussian,
    NoiseSpend,
    PrivacySpent,
    Pure,
    Spend,
    SubsampledGaussian,
)
from .budget_meter import Plan, PlannedEvent, Setting
from .calibrations import (
    ROUNDING_MARGIN,
    enlarge_spends,
    equal_draw_spend,
    equal_selection_spend,
    equal_threshold_spend,
    gaussian_spend,
    measurement_spend,
    noise_spend,
    regularised_draw_spend,
    sampled_sum_spend,
    select_and_measure_spends,
    selection_spend,
)
from .conversions import find_root, gdp_epsilon, gdp_log_delta, gdp_mu, zcdp_epsilon
from .data_set_total import (
    Concentrated,
    Drawn,
    Event,
    EventCounts,
    Events,
    Filtered,
    LifetimeBudget,
    TotalCost,
    events_from_json,
    events_of_plan,
    events_to_json,
    gaussian_cost,
    worst_case_events,
)
from .guarantee import budget_warnings, worst_privacy_profile
