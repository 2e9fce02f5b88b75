"""DPFW: Frank-Wolfe on the entropy-regularised dual of query release.

Sees a Curator, never records.

Queries are answered from D = softmax(q/α). The dual point q ∈ conv(Q ∪ −Q) starts at 0, the uniform
distribution (from a public start D_0, D ∝ D_0 exp(q/α)). Each round selects a signed query by s ·
⟨q_j, P_n − D⟩, of sensitivity Δ = max_j (hi_j − lo_j)/n, with the exponential mechanism:
ε₀-bounded-range, so T rounds cost T ε₀²/8 in zCDP, less composed optimally; at δ = 0 with
permute-and-flip, T ε₀ in pure DP. Nothing else touches records.

Where cells cannot be listed, 1-way tables and a tree are found first (`state`): D_0 is their
product, and what is selected are cells of the tree's tables.
"""

import math

import numpy as np

from ...core.parameters import parameter_field
from ...core.types import Rng, by_name
from ...privacy.accounting import Budget, Plan, PlannedEvent, Setting
from ...privacy.curators.table_curator import TableCurator
from ...privacy.statistics import SignedErrors
from ...problems import QueryRelease, query_text
from ..algorithm import Algorithm, Step, Steps, model_cells_param
from .shared import step_schedules
from .shared.initial_model import initial_model, plan_model_setup

# limits of the default rule
MIN_DEFAULT_ROUNDS = 12
MAX_DEFAULT_ROUNDS = 3000


@by_name
class DPFW(Algorithm):
    """The algorithm DPFW: select the worst-answered query, add a little of it to the potential.

    schedule "practical": γ_t = 2/(t + 2), released is the mean of the second half of the D_t.
    "paper": constant γ and T of Algorithm 1 as corrected in `theory.schedules`, released is one D_t
    drawn uniformly. Raises InputError for a parameter out of range.
    Source: Micali, Lezane, Betken 2025, Algorithm 1, corrected: Gumbel noise 2Δ/ε₀ instead of
    Laplace Δ/ε₀ (only 2ε₀-DP for a set closed under negation), γ ≤ 1, an accountant, not their
    composition.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(DPFW(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    schedule: str = parameter_field(
        "practical", "step sizes, rounds and output", choices=("practical", "paper")
    )
    rounds: int | None = parameter_field(
        None,
        "number of selections",
        symbol="T",
        low=1,
        high=1_000_000,
        log=True,
        auto="n, k, m and the budget: where selection noise, growing with √T, overtakes the "
        "optimisation error",
    )
    alpha: float | None = parameter_field(
        None,
        "smoothness: small follows the selections closely, large stays near uniform",
        symbol="α",
        low=1e-5,
        high=10,
        log=True,
        auto="n, k, m and the budget: step and entropy error balanced at these rounds",
    )

    cells: int | None = model_cells_param()

    graphical = True

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """Return a plan of T equal selections that use the whole budget, and α.

        T and α from public numbers unless given.
        """
        setup = plan_model_setup(problem, budget, self.cells, "dpfw")
        remaining_budget = setup.remaining_budget
        choices = (
            self._paper_settings(problem, remaining_budget)
            if self.schedule == "paper"
            else self._practical_settings(problem, remaining_budget)
        )
        rounds = choices[0].value
        charge = PlannedEvent("select", setup.selection_spend(rounds), rounds, SignedErrors)
        alpha_star = Setting(
            "alpha_star",
            _alpha_star(problem, remaining_budget),
            "α* of eq. (8), corrected, to compare with",
        )
        return Plan(
            budget,
            (charge, *setup.planned_events),
            (*choices, alpha_star, *self.as_settings("schedule"), *setup.settings),
        )

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Yield steps of one selection each; the last one releases the output of the schedule."""
        T = plan["rounds"]
        alpha = plan["alpha"]
        spend = plan.spend_of("select")
        state = initial_model(problem, plan, curator, self.cells)
        workload = state.workload
        reader = state.reader
        is_paper = self.schedule == "paper"
        # which iterate D_0 … D_{T-1} the paper's output is
        output_round = int(rng.integers(T)) if is_paper else T
        D = state.prior
        output = D
        total = D
        averaged_count = 0
        # q = scale · u, so that a step touches the support of one query only
        u = np.zeros_like(D)
        scale = 1.0
        for t in range(T):
            if t == output_round:
                output = D
            index = curator.select(SignedErrors(workload, reader.answers(D)), spend)
            j = index % workload.m
            s = 1 if index < workload.m else -1
            gamma = (
                step_schedules.frank_wolfe_step(rounds=T, alpha=alpha) if is_paper else 2 / (t + 2)
            )
            scale *= 1 - gamma
            if scale < 1e-100:
                u = u * scale
                scale = 1.0
            state.model.add_query(u, workload, j, gamma * s / scale)
            _, D = state.normalise(u, scale / alpha)
            if not is_paper:
                averaged_count += t + 1 > T / 2
                total = total + D if averaged_count > 1 else D
                output = total / averaged_count if averaged_count > 1 else D
            released = D if is_paper and t + 1 < T else output
            note = f"{'more' if s > 0 else 'less'} {query_text(workload, j)}"
            yield Step(t + 1, state.model.release(released), note)

    def _practical_settings(self, problem: QueryRelease, budget: Budget) -> tuple[Setting, Setting]:
        """Return the practical T* = √(log k)/u and α = ½ √(T*/log k)/T.

        T* is its Σε twin at δ = 0.

        The shapes minimise a/√T + b√T (a/√T + bT for δ = 0) and 1/(αT) + α log k; the constants 1
        and ½ were fitted on four public tables.
        """
        log_k = math.log(max(problem.domain.size, 2))
        if budget.delta > 0:
            optimal_rounds = math.sqrt(log_k) / _selection_loss(problem, budget)
        else:  # ε₀ = ε/T: selection noise 2ΔT log(2m)/ε, against u√(T/2) above
            noise = (
                problem.width
                / problem.effective_n
                * math.log(2 * problem.workload.m)
                / budget.epsilon
            )
            optimal_rounds = (math.sqrt(log_k) / (4 * math.sqrt(2) * noise)) ** (2 / 3)
        limits = f"{MIN_DEFAULT_ROUNDS}..{MAX_DEFAULT_ROUNDS}"
        why = (
            f"selection noise overtakes the optimisation error at T = {optimal_rounds:.3g}, "
            f"kept in {limits}"
        )
        rounds = self.choose_default(
            "rounds", round(min(max(optimal_rounds, MIN_DEFAULT_ROUNDS), MAX_DEFAULT_ROUNDS)), why
        )
        alpha = 0.5 * math.sqrt(max(optimal_rounds, MIN_DEFAULT_ROUNDS) / log_k) / rounds.value
        why = "½ √(T*/log k)/T: step size and entropy error balanced at these rounds"
        return rounds, self.choose_default("alpha", min(max(alpha, 1e-5), 10.0), why)

    def _paper_settings(self, problem: QueryRelease, budget: Budget) -> tuple[Setting, Setting]:
        """Return the α* and T of Algorithm 1 as corrected; at δ = 0, ρ is pure DP's ε²/2."""
        alpha = self.choose_default(
            "alpha", _alpha_star(problem, budget), "α* of eq. (8), corrected"
        )
        T = min(
            step_schedules.frank_wolfe_rounds(
                loss=_selection_loss(problem, budget), alpha=alpha.value
            ),
            1_000_000,
        )
        return self.choose_default("rounds", T, "T of Algorithm 1, corrected"), alpha


def _selection_loss(problem: QueryRelease, budget: Budget) -> float:
    """Return the loss u of selections that share ρ, by which the schedules go.

    See `step_schedules.selection_loss`.
    """
    n = problem.effective_n
    m = problem.workload.m
    return step_schedules.selection_loss(n=n, m=m, width=problem.width, rho=budget.rho)


def _alpha_star(problem: QueryRelease, budget: Budget) -> float:
    """Return the regularisation α* of eq. (8), corrected, kept within 1e-5..10."""
    alpha = step_schedules.frank_wolfe_alpha(
        loss=_selection_loss(problem, budget), k=problem.domain.size
    )
    return min(max(alpha, 1e-5), 10.0)
