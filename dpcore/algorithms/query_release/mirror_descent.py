"""DPAM: accelerated mirror descent on the smoothed primal of query release.

Sees a Curator, never records.

With A_t = Σ_{τ≤t} η_τ and D_1 uniform, for t = 1..T
    D_md  = (A_{t-1} D_ag + η_t D_t)/A_t
    q*    = argmax_{q ∈ ±Q} ⟨q, P_n + ξ_t − D_md⟩
    q̄_t   = (A_{t-1} q̄_{t-1} + η_t q*)/A_t,   D_{t+1} = softmax(q̄_t/α)
    D_ag  = (A_{t-1} D_ag + η_t D_{t+1})/A_t, released.

noise "fresh": new ξ_t ~ N(0, σ²) on all cells each round, as printed. "subspace": the same, with
the smaller Δ₂ of what the queries can see (`CellAnswers`). T Gaussian releases of μ/√T each are
exactly one of μ. "reused": y is measured once with the whole budget, and the rest is
post-processing: argmax becomes the soft-max of temperature τ over all signed queries, which smooths
max_q as ξ does; τ falls to twice the noise, and each η_t is the largest found that keeps the proof
of acceleration going (`_accelerated_descent`). Where cells cannot be listed, 1-way tables and a
tree are found first (`state`): D_0 is their product, and the tree's tables are measured, with α as
there are fewer of them; noise on cells is refused there.

Corrections of the paper: the gradient is −q*, the step's divergence is that of αH (so that q̄ is
the whole state), exact calibration instead of 4√(T log(1/δ))/(nε), and log^{1/4}(1/δ) in α*.
"""

import math
from collections.abc import Iterator

import numpy as np

from ...core.errors import InputError
from ...core.parameters import parameter_field
from ...core.types import Array, Rng, by_name
from ...privacy.accounting import (
    Budget,
    Gaussian,
    Plan,
    PlannedEvent,
    Setting,
    gaussian_spend,
    measurement_spend,
)
from ...privacy.curators.table_curator import TableCurator
from ...privacy.measurement import noise_scale
from ...privacy.statistics import Answers, CellAnswers
from ...problems import MAX_ENUMERABLE_CELLS, QueryRelease, query_text
from ...queries import Explicit, Marginals, Workload
from ..algorithm import Algorithm, Step, Steps, model_cells_param
from ..marginal_shares import require_marginals
from ..noisy_tables import MIN_STDDEV
from .shared import step_schedules
from .shared.initial_model import ModelSetup, ModelState, initial_model, plan_model_setup
from .shared.maximum_entropy_fit import inner_product
from .shared.workload_width import gaussian_width_bound

MIN_ALPHA = 1e-7
MAX_ALPHA = 10.0
# weight of H beside the log-likelihood of the noise, in units of nμ; fitted on two public tables
ENTROPY_WEIGHT = 0.1
# last temperature of the soft-max, in standard deviations of the noise
LAST_TEMPERATURE_FACTOR = 2.0
ANNEALED_ROUNDS_SHARE = 0.7  # share of the rounds in which the temperature falls
MAX_THETA = 0.5  # bound of the step θ = η_t/A_t
THETA_GROWTH = 1.3  # its growth from step to step
# the noise on cells is taken where it promises less than this share of the variance
MAX_SUBSPACE_VARIANCE_RATIO = 0.5


@by_name
class DPAM(Algorithm):
    """The algorithm DPAM: accelerated mirror descent on max_q ⟨q, y − D⟩ + α H(D), y noisy answers.

    H is the negative entropy. noise "fresh": new noise on all cells each round, as printed;
    "subspace": the same, as small as the queries allow; "reused" (default): y is measured once. The
    module's docstring has the steps. Raises InputError at δ = 0.
    Source: Micali, Lezane, Betken 2025, Algorithm 2, corrected as the module says. Reuse and
    subspace are this project's.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(DPAM(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    noise: str = parameter_field(
        "reused",
        "noise drawn once, or anew each round, on the queries' subspace or on all combinations",
        choices=("reused", "subspace", "fresh"),
    )
    rounds: int | None = parameter_field(
        None,
        "steps of the descent",
        symbol="T",
        low=1,
        high=100_000,
        log=True,
        auto="n, k, m and the budget: until it has settled (reused), or T* of the theory times a "
        "constant",
    )
    alpha: float | None = parameter_field(
        None,
        "smoothness: small follows the noisy answers closely, large stays near uniform",
        symbol="α",
        low=MIN_ALPHA,
        high=MAX_ALPHA,
        log=True,
        auto="Δ₂/m: the prior weighs alike at every ε (reused), or the rounds: step and entropy "
        "error balanced",
    )

    cells: int | None = model_cells_param()

    graphical = True
    evaluations_per_round = 1.7

    @property
    def _max_cells(self) -> int | None:
        """The cells given; else, where noise is drawn on all of them, all that can be listed."""
        return self.cells if self.noise == "reused" else self.cells or MAX_ENUMERABLE_CELLS

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """Return a plan of one Gaussian measurement, or of T equal ones.

        T and α follow unless given.
        """
        full_spend = gaussian_spend(budget)
        setup = plan_model_setup(problem, budget, self._max_cells, "dpam")
        if self.noise != "reused" and not setup.lists_all_cells:
            raise InputError(
                f"noise={self.noise} is drawn on all combinations, which cannot be listed; "
                "choose noise=reused"
            )
        if not setup.lists_all_cells:
            spend = (
                measurement_spend(setup.remaining_budget, 1.0)
                if setup.planned_events
                else full_spend
            )
            return self._plan_reused(problem, budget, spend, (), setup)  # type: ignore[arg-type]
        n = problem.effective_n
        k = problem.domain.size
        cell_answers = CellAnswers(problem.workload, subspace=self.noise == "subspace")
        width = gaussian_width_bound(cell_answers.norms)
        alpha_star = step_schedules.mirror_descent_alpha(
            n=n, k=k, epsilon=budget.epsilon, delta=budget.delta, gaussian_width=width
        )
        why = "α* of Theorem 5, corrected, with a bound on w(Q), to compare with"
        alpha_star_settings = (Setting("alpha_star", _clip_alpha(alpha_star), why),)
        if self.noise == "reused":
            return self._plan_reused(problem, budget, full_spend, alpha_star_settings, setup)
        return self._plan_fresh(problem, budget, cell_answers, alpha_star_settings, setup)

    def _plan_fresh(
        self,
        problem: QueryRelease,
        budget: Budget,
        cell_answers: CellAnswers,
        alpha_star_settings: tuple[Setting, ...],
        setup: ModelSetup,
    ) -> Plan:
        """Return the plan of T equal measurements of all cells; T and α follow unless given."""
        n = problem.effective_n
        k = problem.domain.size
        full_spend = gaussian_spend(budget)
        width = gaussian_width_bound(cell_answers.norms)
        optimal_rounds = step_schedules.mirror_descent_rounds(
            n=n, k=k, mu=full_spend.mu, l2=cell_answers.l2, gaussian_width=width
        )
        why = (
            f"a fifth of T* = {optimal_rounds:.3g} of Theorem 5 with exact calibration, kept "
            "in 10..1000"
        )
        rounds = self.choose_default("rounds", round(min(max(optimal_rounds / 5, 10), 1000)), why)
        balanced_alpha = 0.3 / math.sqrt(
            max(min(rounds.value, optimal_rounds / 5), MIN_STDDEV) * math.log(max(k, 2))
        )
        alpha = self.choose_default(
            "alpha",
            _clip_alpha(balanced_alpha),
            "0.3/√(T log k), with T no more than a fifth of T*",
        )
        spend = gaussian_spend(budget, 1 / rounds.value)
        why = f"noise on every combination, anew each round; bΔ₂/(nμ), Δ₂ = {cell_answers.l2:.4g}"
        sigma = Setting("sigma", noise_scale(cell_answers, spend, n), why)
        charge = PlannedEvent("measure", spend, rounds.value, cell_answers)
        noise = self.as_settings("noise")
        settings = (rounds, alpha, *alpha_star_settings, *noise, sigma, *setup.settings)
        return Plan(budget, (charge,), settings)

    def _plan_reused(
        self,
        problem: QueryRelease,
        budget: Budget,
        spend: Gaussian,
        alpha_star_settings: tuple[Setting, ...],
        setup: ModelSetup,
    ) -> Plan:
        """Return the plan for one reused measurement: α from its noise, T from both.

        Where a tree is found first, it is an upper bound.
        """
        queried_workload = (
            require_marginals(problem.workload, "dpam")
            if setup.planned_events
            else problem.workload
        )
        statistic, statistic_kind, why = _choose_statistic(queried_workload.measured_workload)
        sigma = noise_scale(statistic, spend, problem.effective_n)
        default_alpha, tau = _alpha_and_temperature(statistic, spend, problem)
        reason = (
            f"{ENTROPY_WEIGHT / LAST_TEMPERATURE_FACTOR:g} Δ₂/m: αH weighs "
            f"{ENTROPY_WEIGHT:g} nμ beside the likelihood of the noise, at every ε"
        )
        alpha = self.choose_default("alpha", default_alpha, reason)
        T = round(min(max(4 * (alpha.value * tau) ** -0.25, 50), 1000))
        noun = "cell" if statistic_kind == "subspace" else "answer"
        temperature_why = (
            "twice the noise of an answer: below that the maximum would only follow noise"
        )
        choices = (
            self.choose_default(
                "rounds", T, "4/(ατ)^¼, where the descent has settled, kept in 50..1000"
            ),
            alpha,
            *alpha_star_settings,
            *self.as_settings("noise"),
            Setting("measured", statistic_kind, why),
            Setting("sigma", sigma, f"noise on every {noun}, bΔ₂/(nμ)"),
            Setting("temperature", tau, temperature_why),
        )
        charge = PlannedEvent(
            "measure", spend, statistic=Answers if setup.planned_events else statistic
        )
        return Plan(budget, (charge, *setup.planned_events), (*choices, *setup.settings))

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Yield steps of one round each; with reused noise the first one uses the whole budget."""
        state = initial_model(problem, plan, curator, self._max_cells)
        spend = plan.spend_of("measure")
        if self.noise == "reused":
            statistic, _, _ = _choose_statistic(state.workload.measured_workload)
            y = curator.measure(statistic, spend).values
            default_alpha, tau = _alpha_and_temperature(statistic, spend, problem)
            iterates = _accelerated_descent(
                state, statistic.workload, y, self.alpha or default_alpha, tau, plan["rounds"]
            )
            for t, (D_ag, temperature) in enumerate(iterates, start=1):
                yield Step(t, state.model.release(D_ag), f"smoothed at {temperature:.2g}")
        else:
            yield from self._fresh_noise_steps(state, plan, curator)

    def _fresh_noise_steps(self, state: ModelState, plan: Plan, curator: TableCurator) -> Steps:
        """Yield the iterates of Algorithm 2 with new noise each round.

        The printed steps η_t = t + √(4/(ασ)) + 1.
        """
        workload = state.workload
        alpha = plan["alpha"]
        statistic = CellAnswers(workload, subspace=self.noise == "subspace")
        offset = math.sqrt(4 / (alpha * max(plan["sigma"], MIN_STDDEV))) + 1
        D = state.prior
        D_ag = D
        q_bar = np.zeros_like(D)
        A = 0.0
        for t in range(1, plan["rounds"] + 1):
            A += t + offset
            theta = (t + offset) / A
            D_md = (1 - theta) * D_ag + theta * D
            noisy_answers = curator.measure(statistic, plan.spend_of("measure")).values
            errors = noisy_answers - workload.answers(D_md)
            j = int(np.abs(errors).argmax())
            q_bar *= 1 - theta
            state.model.add_query(q_bar, workload, j, theta * float(np.sign(errors[j])))
            _, D = state.normalise(q_bar, 1 / alpha)
            D_ag = (1 - theta) * D_ag + theta * D
            note = f"{'more' if errors[j] > 0 else 'less'} {query_text(workload, j)}"
            yield Step(t, state.model.release(D_ag), note)


def _alpha_and_temperature(
    statistic: Answers | CellAnswers, spend: Gaussian, problem: QueryRelease
) -> tuple[float, float]:
    """Return the regularisation α and the last temperature.

    From the measured statistic and its noise.
    """
    # The root mean square of the answers' noise, as a multiple of 1/(nμ).
    noise_rms = statistic.l2 * float(np.sqrt(np.mean(statistic.norms**2)))
    tau = max(LAST_TEMPERATURE_FACTOR * noise_rms / (problem.effective_n * spend.mu), MIN_STDDEV)
    alpha = ENTROPY_WEIGHT / LAST_TEMPERATURE_FACTOR * noise_rms / statistic.workload.m
    return _clip_alpha(alpha), tau


def _clip_alpha(alpha: float) -> float:
    """Return the regularisation α, kept in the range of its parameter."""
    return min(max(alpha, MIN_ALPHA), MAX_ALPHA)


def _choose_statistic(workload: Workload) -> tuple[Answers | CellAnswers, str, str]:
    """Return the kind of statistic to measure once, and why.

    Answers, or for an explicit matrix the cells it sees.

    Compared by the total variance of the answers after least squares, in units of 1/(nμ)²: Δ₂²
    rank(A) when answers are measured, Δ₂² ‖A‖²_F when the subspace is. For t marginal tables the
    first is 2t rank, and the second is not less by more than 2t: its Δ₂² is at least the mean over
    pairs of cells, 2(rank − 1)/(k − 1), and ‖A‖²_F = tk. Where the two are near, answers did
    better, as a prior removes noise from weak directions: all 3-way tables of Adult-6 and of the
    census sample, ε = 1, best α of each: max error .0016 and .0048 from tables, .0035 and .0078
    from cells.
    """
    answers = Answers(workload)
    kind = "tables" if isinstance(workload, Marginals) else "answers"
    if not isinstance(workload, Explicit):
        return (
            answers,
            kind,
            "once, with the whole budget: noise on all combinations has no smaller variance on "
            "marginal tables",
        )
    cell_answers = CellAnswers(workload, subspace=True)
    answers_variance = answers.l2**2 * cell_answers.rank
    cells_variance = cell_answers.l2**2 * float((cell_answers.norms**2).sum())
    why = (
        f"total variance after least squares: answers {answers_variance:.3g}, combinations seen "
        "by the queries "
        f"{cells_variance:.3g}/(nμ)²"
    )
    if cells_variance < MAX_SUBSPACE_VARIANCE_RATIO * answers_variance:
        return cell_answers, "subspace", why
    return answers, kind, why


def _accelerated_descent(
    state: ModelState, workload: Workload, y: Array, alpha: float, tau: float, rounds: int
) -> Iterator[tuple[Array, float]]:
    """Yield the iterates (D_ag (size,), temperature) for min_D Φ(D) + α KL(D ‖ D_0).

    D_0 is the start of the model. Φ(D) = τ log mean_{j,s} exp(s(y_j − ⟨q_j, D⟩)/τ).

    The step θ_t = η_t/A_t grows until it violates A_t [Φ(D_ag') − Φ(D_md) − ⟨∇Φ(D_md), D_ag' −
    D_md⟩] ≤ α A_{t-1} KL(D_{t+1} ‖ D_t), which is all that the potential argument asks of η_t:
    while it holds, the gap falls like 1/A_t. The temperature starts where D_2 is nearly uniform,
    and falls geometrically; Φ rises meanwhile.
    """
    reader = state.model.reader(workload)
    q_bar = np.zeros(state.model.size)
    theta = 1.0
    log_Z, D = state.normalise(q_bar)
    D_ag = D
    a = reader.answers(D)  # answers of D_t
    a_ag = a  # answers of D_ag
    start_temperature = max(tau, float(np.abs(reader.adjoint(y - a)).max()) / (workload.m * alpha))
    for t in range(1, rounds + 1):
        annealed_share = (t - 1) / (ANNEALED_ROUNDS_SHARE * rounds)
        temperature = max(tau, start_temperature * (tau / start_temperature) ** annealed_share)
        theta = 1.0 if t == 1 else min(THETA_GROWTH * theta, MAX_THETA)
        while True:
            a_md = (1 - theta) * a_ag + theta * a
            phi_before, gradient = _soft_max(y - a_md, temperature)
            q_next = (1 - theta) * q_bar + theta * reader.adjoint(gradient)
            log_Z_next, D_next = state.normalise(q_next / alpha)
            a_next = reader.answers(D_next)
            a_ag_next = (1 - theta) * a_ag + theta * a_next
            phi_after, _ = _soft_max(y - a_ag_next, temperature)
            divergence = inner_product(D_next, q_next - q_bar) / alpha - (log_Z_next - log_Z)
            curvature = phi_after - phi_before + inner_product(gradient, a_ag_next - a_md)
            rounding = 1e-13 * (temperature + alpha)
            is_small = curvature <= alpha * (1 - theta) * divergence + rounding
            if t == 1 or is_small or theta < 1e-9:
                break
            theta /= 2
        q_bar = q_next
        D = D_next
        log_Z = log_Z_next
        a = a_next
        a_ag = a_ag_next
        D_ag = (1 - theta) * D_ag + theta * D
        yield D_ag, temperature


def _soft_max(errors: Array, tau: float) -> tuple[float, Array]:
    """Return the soft maximum of errors e (m,), and its gradient in e (m,).

    τ log mean_{j,s} exp(s e_j/τ).
    """
    scaled = np.abs(errors) / tau
    max_scaled = float(scaled.max())
    positive = np.exp(scaled - max_scaled)
    negative = np.exp(-scaled - max_scaled)
    total = float(positive.sum() + negative.sum())
    value = tau * (max_scaled + math.log(total / (2 * len(errors))))
    gradient = np.sign(errors) * (positive - negative) / total
    return value, gradient
