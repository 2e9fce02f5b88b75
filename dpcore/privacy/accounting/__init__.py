"""The promise, the cost of each touch, and the sum of costs: the names most used elsewhere.

Others are taken from their own modules.
"""

from .accountants import (
    ACCOUNTANT_BY_CODE,
    ACCOUNTANT_BY_NAME,
    ACCOUNTANTS,
    Accountant,
    AdditiveAccountant,
    GdpAccountant,
    LossDistributionAccountant,
    OptimalAccountant,
    PureAccountant,
    ZcdpAccountant,
    tightest_accountant,
)
from .budget import MAX_DELTA, MAX_EPSILON, MIN_DELTA, MIN_EPSILON, Budget
from .budget_meter import (
    ComposedPlan,
    Plan,
    PlannedEvent,
    PrivacySpent,
    Setting,
    additive_accounting,
    events_of_plan,
    failure_delta,
    worst_case_events,
)
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
from .data_set_total import LifetimeBudget, TotalCost
from .events import (
    Approximate,
    BoundedRange,
    Concentrated,
    Drawn,
    EventCounts,
    Events,
    Filtered,
    Gaussian,
    NoiseSpend,
    PrivacyEvent,
    Pure,
    Spend,
    SubsampledGaussian,
    events_from_json,
    events_to_json,
)
from .guarantee import budget_warnings, worst_privacy_profile
