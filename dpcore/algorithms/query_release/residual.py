"""Unbiased, consistent answers to all tables at once, with the least noise.

Sees a Curator, never records.

The only touch of records is one Gaussian release of `Residuals` (Δ₂ derived there) with σ =
Δ₂/(nμ), exactly μ-GDP. The weights come from `theory.optimal_noise`: no other unbiased Gaussian
release of these tables has a smaller total variance. A table is the sum of its parts, so that
tables agree on what they share, and cells have exact variances and covariances, whatever the number
of columns: nothing is fitted, and nothing is held but the tables.

    y       = r_S ⊗(n_l I − J) table_S + N(0, σ²), for all sets S inside some table
    part_S  = ⊗(I − J/n_l) y_S/(r_S k_S)                    the noise outside of the space is
    taken off table_M = 1/k_M + Σ_{S ⊆ M} part_S, spread evenly over the other columns of M

Cells may be below 0: that is what unbiased means. With fit = nonnegative a maximum-entropy
distribution is fitted to the tables asked for, as far as one can be held; it is biased, and better
where the noise is large.
"""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from ...core.errors import InputError
from ...core.parameters import parameter_field
from ...core.types import Rng, by_name
from ...models.releases import Release, UnbiasedAnswers
from ...models.tree_model import JunctionTreeModel
from ...privacy.accounting import Budget, Plan, PlannedEvent, Setting, gaussian_spend
from ...privacy.curators.table_curator import TableCurator
from ...privacy.measurement import Measurement, noise_stddev
from ...privacy.noise_grid import grid_step, round_weights_to_grid
from ...privacy.noisy_answers import NoisyAnswers
from ...privacy.statistics import Residuals
from ...problems import MAX_ENUMERABLE_CELLS, QueryRelease
from ...queries import Marginals
from ...queries.residual_spaces import cached_residual_spaces, subtract_axis_means
from ..algorithm import Algorithm, Step, Steps
from ..marginal_shares import require_marginals
from ..noisy_tables import MIN_STDDEV
from .shared.maximum_entropy_fit import staged_fit
from .shared.model_choice import (
    find_public_model,
)
from .shared.optimal_noise import optimise_noise

# iterations and prior of a non-negative fit, as in gaussian_maxent
FIT_ITERATIONS = 200
FIT_PRIOR_WEIGHT = 0.8


@by_name
class Residual(Algorithm):
    """Unbiased answers to all tables: Gaussian noise on the part of a table beyond its margins.

    Noise is split so that the answers' error is least; the module's docstring has the
    reconstruction. With fit = nonnegative a maximum-entropy distribution is fitted, biased, and
    better where the noise is large. Raises InputError at δ = 0 and for queries that are not read
    off tables.
    Source: Xiao, He, Zhang, Kifer 2023 (ResidualPlanner, added records); the split under replaced
    records is derived in `optimum`.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(Residual(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    fit: str = parameter_field(
        "none",
        "what is released: the unbiased answers themselves, or a non-negative fit to them, which "
        "is biased",
        choices=("none", "nonnegative"),
    )

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """Return a plan of one Gaussian measurement with the whole budget."""
        tables = require_marginals(problem.workload, "residual")
        spend = gaussian_spend(budget)
        spaces = cached_residual_spaces(tables)
        noise_optimum = optimise_noise(tables)
        # √(t_S k_S) is what a part is multiplied by
        part_weights = np.sqrt(noise_optimum.information * spaces.cells)
        weights = round_weights_to_grid(
            part_weights / (part_weights.max(initial=0.0) or 1.0) / spaces.cells,
            grid_step(problem.n),
        )
        statistic = Residuals(tables, np.minimum(weights, 1 / spaces.cells))
        if self.fit == "nonnegative":
            require_fit_model(problem, tables)  # or it is refused, before anything is charged
        rmse = math.sqrt(noise_optimum.upper_bound / tables.m) / (problem.effective_n * spend.mu)
        choices = (
            Setting(
                "rounds",
                1 + (self.fit != "none"),
                "all is measured at once, and then fitted where that is asked",
            ),
            Setting(
                "fit",
                self.fit,
                "counts below 0 stay" if self.fit == "none" else "no count below 0, hence biased",
            ),
            Setting(
                "spaces",
                int(spaces.count.sum()),
                "tables and their margins, each apart from what it sums up",
            ),
            Setting(
                "sigma",
                noise_stddev(statistic, spend, problem.effective_n),
                "noise on the weighted parts, bΔ₂/(nμ)",
            ),
            Setting("rmse", rmse, "of all counts of the tables, exactly"),
        )
        return Plan(budget, (PlannedEvent("measure", spend, statistic=statistic),), choices)

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Yield one step with the answers, and if asked, a second one with the fit to them."""
        statistic = plan.planned_event("measure").statistic
        spend = plan.spend_of("measure")
        measurement = curator.measure(statistic, spend)
        answers = to_unbiased_answers(measurement)
        fit = partial(
            fit_nonnegative,
            problem,
            statistic.workload,
            answers,
            FIT_PRIOR_WEIGHT * spend.mu * problem.effective_n,
        )
        answers = replace(answers, fit=fit)
        yield Step(1, answers, "unbiased answers")
        if self.fit == "nonnegative":
            yield Step(2, fit(), "a non-negative fit to them")


def to_unbiased_answers(measurement: Measurement) -> UnbiasedAnswers:
    """Return the parts of all tables from a measurement of `Residuals`, noisy values (Σ k_S,)."""
    statistic = measurement.statistic
    values = measurement.values
    domain = statistic.workload.domain
    parts = [np.zeros(0)]
    variances = []
    start = 0
    set_types = cached_residual_spaces(statistic.workload).type_of
    for S, set_type in set_types.items():
        sizes = domain.shape_of(S)
        end = start + math.prod(sizes)
        factor = float(statistic.weights[set_type]) * math.prod(sizes)
        parts.append(subtract_axis_means(values[start:end].reshape(sizes) / factor).ravel())
        variances.append((measurement.stddev / factor) ** 2)
        start = end
    return UnbiasedAnswers(
        domain, tuple(set_types), np.concatenate(parts), np.array(variances), None
    )


def fit_nonnegative(
    problem: QueryRelease, tables: Marginals, answers: UnbiasedAnswers, weight: float
) -> Release:
    """Return the maximum-entropy fit to unbiased answers: no cell is below 0.

    It is biased. Raises InputError where too large.
    """
    model = require_fit_model(problem, tables)
    standard_errors = np.maximum(answers.standard_errors(tables), MIN_STDDEV)
    noisy_answers = NoisyAnswers(tables, answers.answers(tables), standard_errors)
    *_, (D, _) = staged_fit(noisy_answers, weight, FIT_ITERATIONS, model)
    return model.release(D)


def require_fit_model(problem: QueryRelease, tables: Marginals) -> JunctionTreeModel:
    """Return the model that a fit is stored in.

    Raises InputError where cells are too many and no tree over all tables is small.
    """
    model = find_public_model(problem, tables, MAX_ENUMERABLE_CELLS)
    if model is None:
        raise InputError(
            "these tables fit no distribution that could be held; their unbiased answers need none"
        )
    return model
