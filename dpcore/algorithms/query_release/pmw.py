"""PMW: queries arrive in order, only badly answered ones cost. Sees a Curator, never records.

Query j arrives; the sparse vector asks whether |⟨q_j, P_n⟩ − ⟨q_j, D⟩| is above a level, with noise
Lap(Δ/(nε₁)) on the level, kept until the next "above", and Lap(2Δ/(nε₂)) on each error, Δ = max_j
(hi_j − lo_j), ε₁ + ε₂ = ε₀ and ε₁ : ε₂ = 1 : 2^⅔. While it is not, the answer ⟨q_j, D⟩ is free.
Where it is, the query (or its whole table) is measured, D is reweighted until it explains all
measurements as `mwem` does, and answers the query anew. After U updates the rest is unchecked.

A threshold is paid for when it is drawn, ε₀-DP in all up to its "above": U of them and U
measurements cost U randomised responses of ε₀ and one Gaussian release of μ√U, composed optimally;
at δ = 0, with Laplace noise of ε', U (ε₀ + ε'). Fewer updates cost less: the plan is an upper
bound. With several passes the same queries arrive again, at levels that fall geometrically from 0.3
to `threshold`, so that the largest errors are mended first. A step releases D; what was said to the
free queries before it are the answers of the step before. Where cells cannot be listed, 1-way
tables and a tree are found first (`state`): D_0 is their product, and the queries that arrive are
cells of the tree's tables.
"""

import math

import numpy as np

from ...core.parameters import parameter_field
from ...core.types import Array, Rng, by_name
from ...privacy.accounting import (
    Budget,
    Plan,
    PlannedEvent,
    Pure,
    Setting,
    select_and_measure_spends,
)
from ...privacy.curators.table_curator import TableCurator
from ...privacy.statistics import AbsoluteErrors, SomeAnswers, sparse_vector_laplace_scales
from ...problems import QueryRelease, query_text
from ..algorithm import Algorithm, Step, Steps, model_cells_param
from .shared.initial_model import initial_model, plan_model_setup
from .shared.select_and_measure import (
    RoundRules,
    balanced_rounds_by_measure,
    new_measurement_history,
    statistic_for_query,
)

# share of the budget for measurements; all constants fitted on two tables
MEASUREMENT_SHARES = {
    "query": 0.15,
    "marginal": 0.5,
}
UPDATE_RULES: RoundRules = {  # U = constant · signal^power, by what is measured and whether δ = 0
    ("query", False): (0.2, 2 / 3),
    ("marginal", False): (2, 1 / 2),
    ("query", True): (0.1, 1 / 2),
    ("marginal", True): (0.5, 1 / 2),
}
# limits of the rule for updates
MIN_DEFAULT_UPDATES = 3
MAX_DEFAULT_UPDATES = 400
FIRST_PASS_LEVEL = 0.3  # level of the first of several passes
# level of the last pass, in units of log(m passes) times the noise of a comparison
LAST_PASS_LEVEL_FACTOR = 0.25


@by_name
class PMW(Algorithm):
    """The algorithm PMW: answer queries from D as they arrive, and measure where D seems wrong.

    A sparse vector finds it, and at most U updates are paid for; fewer cost less, so the plan is an
    upper bound. The module's docstring has the noise and its cost. Raises InputError for "marginal"
    where a query is not read off a marginal table.
    Source: Hardt, Rothblum 2010, with the replay of Hardt, Ligett, McSherry 2012 and a threshold
    per update from Dwork, Roth 2014, section 4.2.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(PMW(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    updates: int | None = parameter_field(
        None,
        "updates at the most, each uses budget",
        symbol="U",
        low=1,
        high=100_000,
        log=True,
        auto="n, m and the budget: where the noise of an update overtakes what another one gains",
    )
    passes: int = parameter_field(
        10, "how often the queries are asked, the level falling from pass to pass", low=1, high=100
    )
    threshold: float | None = parameter_field(
        None,
        "level of the last pass: an error above it costs an update",
        low=1e-6,
        high=1.0,
        log=True,
        auto="the noise on an error, and how many errors are compared",
    )
    order: str = parameter_field(
        "workload", "the order in which queries arrive", choices=("workload", "random")
    )
    measure: str = parameter_field(
        "query",
        "what an update measures: the query, or its whole table",
        choices=("query", "marginal"),
    )

    cells: int | None = model_cells_param()

    graphical = True
    evaluations_per_round = 1.4
    adaptive = True

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """Return a plan of U thresholds and as many measurements.

        U and the last level follow unless given.
        """
        workload = problem.workload
        n = problem.effective_n
        setup = plan_model_setup(problem, budget, self.cells, "pmw")
        default = balanced_rounds_by_measure(
            problem,
            setup.remaining_budget,
            UPDATE_RULES,
            self.measure,
            MAX_DEFAULT_UPDATES,
            MIN_DEFAULT_UPDATES,
        )
        share = MEASUREMENT_SHARES[self.measure]
        U = self.choose_default("updates", default.value, default.why)
        comparison_spend, measurement_spend = select_and_measure_spends(
            setup.remaining_budget, U.value, share, kind=Pure
        )
        noise = math.hypot(
            *sparse_vector_laplace_scales(workload.width / n, comparison_spend.epsilon)
        )
        charges = (
            PlannedEvent("above_threshold", comparison_spend, U.value, AbsoluteErrors),
            PlannedEvent("measure", measurement_spend, U.value, SomeAnswers),
        )
        choices = (
            Setting(
                "rounds", U.value + self.passes, "a step for every update and every end of a pass"
            ),
            U,
            self._last_level_setting(workload.m, noise),
            *self.as_settings("passes", "order", "measure"),
            Setting(
                "share",
                share,
                "of the budget for measurements, the rest for thresholds: fitted on two tables",
            ),
        )
        return Plan(budget, (*charges, *setup.planned_events), (*choices, *setup.settings))

    def _last_level_setting(self, m: int, noise: float) -> Setting:
        """Return the setting of the last pass's error level, from a comparison's noise."""
        level = LAST_PASS_LEVEL_FACTOR * math.log(m * self.passes + 1) * noise
        why = (
            f"{LAST_PASS_LEVEL_FACTOR:g} log(m passes) times the noise of a comparison, "
            f"{noise:.3g}: few are above by chance"
        )
        return self.choose_default("threshold", min(max(level, 1e-6), 1.0), why)

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Yield steps that each process the stream up to the next update, or a pass's end."""
        remaining_updates = plan["updates"]
        comparison_spend = plan.spend_of("above_threshold")
        measurement_spend = plan.spend_of("measure")
        state = initial_model(problem, plan, curator, self.cells)
        workload = state.workload
        reader = state.reader
        history = new_measurement_history(self.measure, state)
        D = state.prior
        order = rng.permutation(workload.m) if self.order == "random" else np.arange(workload.m)
        answers = reader.answers(D)
        t = 0
        for pass_number, level in enumerate(pass_levels(plan["threshold"], self.passes), start=1):
            queue = order
            while len(queue):
                position = curator.above_threshold(
                    AbsoluteErrors(workload, queue, answers[queue], level), comparison_spend
                )
                free_count = len(queue) if position is None else position
                queue = queue[free_count:]
                note = f"{free_count} free, then none above until the end of pass {pass_number}"
                if position is not None:
                    j = int(queue[0])
                    queue = queue[1:]
                    remaining_updates -= 1
                    m = curator.measure(
                        statistic_for_query(workload, self.measure, j), measurement_spend
                    )
                    D = history.refit(D, j, m.values, m.stddev)
                    answers = reader.answers(D)
                    note = f"{free_count} free, then update on: {query_text(workload, j)}"
                    if not remaining_updates:
                        note += f"; the last one, {len(queue)} unchecked"
                    elif not len(queue):
                        note += f", the end of pass {pass_number}"
                t += 1
                yield Step(t, state.model.release(D), note)
                if not remaining_updates:
                    return


def pass_levels(last_level: float, passes: int) -> Array:
    """Return the error level of each pass, falling geometrically to the last one."""
    return (
        np.geomspace(max(FIRST_PASS_LEVEL, last_level), last_level, passes)
        if passes > 1
        else np.array([last_level])
    )
