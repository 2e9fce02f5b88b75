"""Plan of an algorithm on this table, and its cost by each accountant.

From public numbers only.
"""

import math
from typing import Any

import numpy as np
import streamlit as st

from dpcore import ALGORITHMS, Budget, InputError, QueryRelease
from dpcore.accuracy import accountant_comparison
from dpcore.accuracy.meaning_of_epsilon import Promise
from dpcore.accuracy.promise_with_schema import promise_of_split
from dpcore.algorithms import Algorithm
from dpcore.algorithms.algorithm import make_plan
from dpcore.algorithms.schema_measurement.measure_columns import plan_measurement
from dpcore.algorithms.schema_measurement.split_budget import fit_split, split_for_schema
from dpcore.core.parameters import build_from_texts
from dpcore.core.types import frozen
from dpcore.privacy.accounting import guarantee
from dpcore.problems import ColumnMeasurement
from dpcore.release.evidence.proof import Proof, derive_proof

from ..components import parameter_widgets, question_choice, warn_if_schema_incomplete
from ..jobs.counting_job import ensure_rows_counted
from ..session import Table, escape_markdown, is_stakeholder_view, selected_share, session

CURVE_DELTAS = np.concatenate(
    [np.logspace(-12, -2, 24, endpoint=False), np.logspace(-2, math.log10(0.95), 30)]
)


@frozen
class PlannedRelease:
    """Planned release: its events, its proof and promise, and its privacy loss on demand.

    What the events `charges` cost together, the ε at `deltas` by accountant and the best pairs, is
    worked out once somebody asks.
    """

    name: str
    charges: tuple
    deltas: np.ndarray
    proof: Proof
    promise: Promise

    def epsilon_curves_by_accountant(self, times: int) -> dict[str, np.ndarray]:
        """Return ε at the `deltas` by accountant, for the composition of `times` runs."""
        cache_key = (repr(self.charges), tuple(self.deltas), times, self.promise.delta)
        return session().memoize(
            "curves",
            cache_key,
            lambda: accountant_comparison.epsilon_curves(
                self.charges, self.deltas, times, self.promise.delta
            ),
        )

    def pairs(self, times: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (ε, δ) pairs that the composition of `times` runs satisfies."""
        failure = math.fsum(c.times * c.spend.failure for c in self.charges) * times
        return accountant_comparison.epsilon_delta_pairs(
            self.epsilon_curves_by_accountant(times), self.deltas, failure
        )

    def trade_off(self, alarms: np.ndarray, times: int) -> np.ndarray:
        """Return an attacker's least miss rate at each false-alarm rate in `alarms`.

        It is that of `times` runs together; exact for Gaussian noise.
        """
        mu = accountant_comparison.gaussian_mu(self.charges, times)
        if mu is None:
            return guarantee.type_2_error_bound(alarms, *self.pairs(times))
        return guarantee.gaussian_trade_off(alarms, mu)


def plan_release(
    table: Table, budget: Budget, times: int, settings_container: Any
) -> PlannedRelease | None:
    """Draw the choice of algorithm and queries; return their planned release, or None.

    The widgets are in `settings_container`; the plan is as Explore would run it.
    """
    if table.schema_uses_real_data and is_stakeholder_view():
        settings_container.info(
            "This schema was filled in from the data without protection, so this view shows no "
            "plan."
        )
        return None
    error_container = st.container()
    domain = table.domain
    if domain is None and table.partial_schema is not None:
        domain = table.partial_schema.placeholder
    with settings_container:
        name = parameter_widgets.algorithm_selectbox()
        if domain is None and warn_if_schema_incomplete(table, "see its plan here"):
            return None
        if not ensure_rows_counted(table):
            return None
        try:
            workload, _ = question_choice.choose_workload(table, domain, may_pair=True)
            problem = QueryRelease(workload, table.n, table.unit.group)
            algorithm = build_from_texts(
                ALGORITHMS[name], parameter_widgets.setting_widgets(name, problem, budget)
            )
            charges, privacy_proof, promise = _charges_proof_and_promise(
                table, name, algorithm, problem, budget
            )
        except InputError as error:
            error_container.error(escape_markdown(error, 400))
            return None
    total_delta = Promise(budget.epsilon, budget.delta, releases=times).total_delta
    deltas = np.unique([*CURVE_DELTAS, *(d for d in (budget.delta, total_delta) if d)])
    return PlannedRelease(ALGORITHMS[name].about.title, charges, deltas, privacy_proof, promise)


def _charges_proof_and_promise(
    table: Table, name: str, algorithm: Algorithm, problem: QueryRelease, budget: Budget
) -> tuple[tuple, Proof, Promise]:
    """Return all planned events, the proof of the promise, and the promise.

    The schema's events come first where it is measured.
    """
    if table.partial_schema is None:
        mechanism_plan = make_plan(algorithm, problem, budget)
        return (
            mechanism_plan.planned_events,
            derive_proof(
                name, algorithm, mechanism_plan, problem, shared_rows=table.unit.shared_rows
            ),
            Promise.of_plan(mechanism_plan, adaptive=algorithm.adaptive),
        )
    budget_share = selected_share() if table.trial is None else table.trial.budget_share
    columns = table.partial_schema.unknown_columns
    split = split_for_schema(columns, budget_share, problem.n, problem.group, budget)
    split, mechanism_plan = fit_split(algorithm, problem, split, exact=False)
    schema_problem = ColumnMeasurement(columns, problem.n, problem.group)
    schema_plan = plan_measurement(schema_problem, split, exact=False)
    composed_plan = schema_plan.then(mechanism_plan, budget, adaptive=algorithm.adaptive)
    privacy_proof = derive_proof(
        name, algorithm, mechanism_plan, problem, composed_plan, shared_rows=table.unit.shared_rows
    )
    return (
        (*schema_plan.planned_events, *mechanism_plan.planned_events),
        privacy_proof,
        promise_of_split(split),
    )
