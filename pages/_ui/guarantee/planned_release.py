"""Plan an algorithm on this table and price the plan by each accountant, from public numbers only."""

import math
from typing import Any

import numpy as np
import streamlit as st

from dpcore import ALGORITHMS, Budget, InputError, QueryRelease
from dpcore.accuracy import accountant_comparison
from dpcore.accuracy.meaning_of_epsilon import Promise
from dpcore.accuracy.promise_with_schema import promise_of_division
from dpcore.algorithms import Algorithm
from dpcore.algorithms.algorithm import make_plan
from dpcore.algorithms.schema_measurement.measurement_plan import plan_schema, share_of
from dpcore.core.parameters import build
from dpcore.core.types import frozen
from dpcore.privacy.accounting import guarantee
from dpcore.release.evidence.proof import Proof, proof

from ..components import parameter_widgets, question_choice, unfinished
from ..jobs.counting_job import ready
from ..session import Table, chosen_part, plain, session, stakeholder

DELTAS = np.concatenate([np.logspace(-12, -2, 24, endpoint=False), np.logspace(-2, math.log10(0.95), 30)])


@frozen
class Planned:
    """A plan's charges and, once somebody asks, what they cost together: ε at `deltas` by accountant, best pairs."""

    name: str
    charges: tuple
    deltas: np.ndarray
    proof: Proof
    promise: Promise

    def curves(self, times: int) -> dict[str, np.ndarray]:
        """ε at the `deltas` by accountant, of so many runs."""
        cache_key = (repr(self.charges), tuple(self.deltas), times, self.promise.delta)
        return session().memo(
            "curves",
            cache_key,
            lambda: accountant_comparison.curves(self.charges, self.deltas, times, self.promise.delta),
        )

    def pairs(self, times: int) -> tuple[np.ndarray, np.ndarray]:
        """(ε, δ) pairs that so many runs together satisfy."""
        failure = math.fsum(c.times * c.spend.failure for c in self.charges) * times
        return accountant_comparison.pairs(self.curves(times), self.deltas, failure)

    def trade_off(self, alarms: np.ndarray, times: int) -> np.ndarray:
        """The least share missed at each share of false alarms, of `times` runs; exact for Gaussian noise."""
        mu = accountant_comparison.gaussian_mu(self.charges, times)
        if mu is None:
            return guarantee.trade_off(alarms, *self.pairs(times))
        return guarantee.gaussian_trade_off(alarms, mu)


def plan(table: Table, budget: Budget, times: int, place: Any) -> Planned | None:
    """The plan of the algorithm chosen in `place` for the chosen questions, as Explore would run it; None if none."""
    if table.peeked and stakeholder():
        place.info("This schema was filled in from the data without protection, so this view shows no plan.")
        return None
    error_container, domain = st.container(), table.domain
    if domain is None and table.opening is not None:
        domain = table.opening.placeholder
    with place:
        name = parameter_widgets.algorithm()
        if domain is None and unfinished(table, "see its plan here"):
            return None
        if not ready(table):
            return None
        try:
            workload, _ = question_choice.choose(table, domain)
            problem = QueryRelease(workload, table.n, table.unit.most_rows)
            algorithm = build(ALGORITHMS[name], parameter_widgets.settings(name, problem, budget))
            charges, privacy_proof, promise = _made(table, name, algorithm, problem, budget)
        except InputError as error:
            error_container.error(plain(error, 400))
            return None
    total_delta = Promise(budget.epsilon, budget.delta, releases=times).total_delta
    deltas = np.unique([*DELTAS, *(d for d in (budget.delta, total_delta) if d)])
    return Planned(ALGORITHMS[name].about.title, charges, deltas, privacy_proof, promise)


def _made(
    table: Table, name: str, algorithm: Algorithm, problem: QueryRelease, budget: Budget
) -> tuple[tuple, Proof, Promise]:
    """All charges, why they keep the promise, and it; the schema's come first where it is measured."""
    if table.opening is None:
        mechanism_plan = make_plan(algorithm, problem, budget)
        return (
            mechanism_plan.charges,
            proof(name, algorithm, mechanism_plan, problem),
            Promise.of_plan(mechanism_plan, adaptive=algorithm.adaptive),
        )
    budget_share = chosen_part() if table.trial is None else table.trial.part
    share, columns = share_of(table.opening.open, budget_share, problem.n, problem.group, budget), table.opening.open
    division, mechanism_plan = share.planned(algorithm, problem, budget, exact=False)
    schema_plan = plan_schema(columns, problem.n, problem.group, division, exact=False)
    privacy_proof = proof(name, algorithm, mechanism_plan, problem, (schema_plan.plan, division))
    return (*schema_plan.plan.charges, *mechanism_plan.charges), privacy_proof, promise_of_division(division)
