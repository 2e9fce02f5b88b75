"""FEM and sepFEM: select the worst-answered query, answer with follow-the-perturbed-leader.

Sees a Curator.

Round t draws s rows x = argmax_x Σ_{τ<t} s_τ q_τ(x) + scale · Σ_i E_{i,x_i}, with fresh standard
exponential E_{i,v} for every column i and value v: follow-the-perturbed-leader on one-hot
coordinates, all public. Then one signed query is selected by s · (⟨q, P_n⟩ − answer of the rows),
ε₀-bounded-range with Δ = max_j (hi_j − lo_j)/n, so T rounds cost T ε₀²/8 in zCDP, less composed
optimally, or T ε₀ in pure DP. Released is the union of rows.

judged "recent": errors are those of all rows so far, the older the less (a round counts 1 − 10/T as
much as the next one), which takes the noise of s random rows out of the selection; "round": of this
round's rows, as published. An oracle that runs out of time costs accuracy, not privacy.
"""

import math

import numpy as np

from ...core.errors import InputError
from ...core.parameters import parameter_field
from ...core.types import Rng, by_name
from ...models.releases import SyntheticRows
from ...privacy.accounting import Budget, Plan, PlannedEvent, equal_selection_spend
from ...privacy.curators.table_curator import TableCurator
from ...privacy.statistics import SignedErrors
from ...problems import QueryRelease, query_text
from ...queries import Marginals, Union, Workload
from ..algorithm import Algorithm, Step, Steps
from .shared.best_response import BestResponseOracle, QuerySums, response_seconds
from .shared.select_and_measure import balanced_rounds

# T = constant · signal^power, by whether δ = 0; fitted on two tables
ROUND_RULES = {
    False: (4.0, 1 / 2),
    True: (0.18, 1 / 2),
}
# limits of the rule
MIN_DEFAULT_ROUNDS = 10
MAX_DEFAULT_ROUNDS = 400
DEFAULT_ROWS_PER_ROUND = 20  # where cells are listed
MAX_PROGRAMS_PER_RUN = 900  # rows a run where cells are not listed, each an integer program
SCORE_SCALE_DIVISOR = 7.0  # scale of the random scores = √T/SCORE_SCALE_DIVISOR
RECENT_WEIGHT_ROUNDS = 10.0  # recent rows: a tenth of the rounds


@by_name
class FEM(Algorithm):
    """The algorithm FEM: select the worst-answered query, answer with rows of perturbed scores.

    judged "recent": errors are those of all rows so far, the older the less; "round": of this
    round's rows, as published. output "tail": the rows of the last three quarters of the rounds;
    "all": of every round, as published. The module's docstring has the draws and what a round
    costs.
    Source: Vietri, Tian, Bun, Steinke, Wu 2020, FEM, with bounded range in place of their
    composition.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(FEM(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    rounds: int | None = parameter_field(
        None,
        "number of selections",
        symbol="T",
        low=1,
        high=20_000,
        log=True,
        auto="n and the budget: selection noise grows with √T, the leader's regret falls with it",
    )
    samples: int | None = parameter_field(
        None,
        "rows a round",
        symbol="s",
        low=1,
        high=1000,
        log=True,
        auto="20 where combinations can be listed, 900/T where every row is an integer program",
    )
    scale: float | None = parameter_field(
        None,
        "mean of the random scores: large explores, small follows the selections",
        low=1e-3,
        high=1e3,
        log=True,
        auto="√T/7, as regret asks for √T",
    )
    judged: str = parameter_field(
        "recent",
        "whose errors are selected by: of recent rows, or this round's",
        choices=("recent", "round"),
    )
    output: str = parameter_field(
        "tail",
        "rows released: of the last three quarters of rounds, or of all",
        choices=("tail", "all"),
    )
    seconds: float = parameter_field(
        0.25, "time limit of one best response, in seconds", low=1e-6, high=3600, log=True
    )

    score_distribution = "exponential"

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """Return a plan of T equal selections.

        T, s and the scale from n, k and the budget unless given.
        """
        enumerates_cells = BestResponseOracle(self._selection_workload(problem)).enumerates_cells
        default = balanced_rounds(
            problem, budget, ROUND_RULES[budget.delta == 0], MAX_DEFAULT_ROUNDS, MIN_DEFAULT_ROUNDS
        )
        rounds = self.choose_default("rounds", default.value, default.why)
        why = (
            "combinations are listed"
            if enumerates_cells
            else f"every row is an integer program, {MAX_PROGRAMS_PER_RUN} a run or fewer"
        )
        samples = self.choose_default(
            "samples",
            DEFAULT_ROWS_PER_ROUND
            if enumerates_cells
            else max(1, MAX_PROGRAMS_PER_RUN // rounds.value),
            why,
        )
        scale = self.choose_default(
            "scale", math.sqrt(rounds.value) / SCORE_SCALE_DIVISOR, "√T/7: as regret asks for √T"
        )
        charge = PlannedEvent(
            "select", equal_selection_spend(budget, rounds.value), rounds.value, SignedErrors
        )
        return Plan(
            budget,
            (charge,),
            (rounds, samples, scale, *self.as_settings("judged", "output", "seconds")),
        )

    def run_seconds(self, problem: QueryRelease, plan: Plan) -> float:
        """Return the predicted seconds of a run: those of all best responses."""
        workload = self._selection_workload(problem)
        return plan["rounds"] * response_seconds(workload, plan["samples"], self.seconds)

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Yield steps of s rows and one selection each."""
        workload = self._selection_workload(problem)
        T = plan["rounds"]
        s = plan["samples"]
        oracle = BestResponseOracle(workload, self.seconds)
        spend = plan.spend_of("select")
        score_count = sum(problem.domain.shape)
        weights = np.zeros(workload.m)
        recent_answers = np.zeros(workload.m)
        rows = []
        new_round_weight = 1.0 if self.judged == "round" else min(RECENT_WEIGHT_ROUNDS / T, 0.5)
        for t in range(1, T + 1):
            scores = (
                rng.standard_exponential((s, score_count))
                if self.score_distribution == "exponential"
                else rng.laplace(size=(s, score_count))
            )
            responses = oracle.argmax(weights, rng, plan["scale"] * scores)
            rows.append(responses.codes)
            query_sums = QuerySums(workload)
            query_sums.add_rows(responses.codes)
            recent_answers = recent_answers + (1.0 if t == 1 else new_round_weight) * (
                query_sums.sums / s - recent_answers
            )
            index = curator.select(SignedErrors(workload, recent_answers), spend)
            j = index % workload.m
            sign = 1 if index < workload.m else -1
            weights[j] += sign
            released_rows = rows if self.output == "all" else rows[t // 4 :]
            note = f"{'more' if sign > 0 else 'less'} " + query_text(workload, j)
            if responses.timed_out_count:
                note += f"; time limit reached for {responses.timed_out_count} of {s} rows"
            yield Step(
                t, SyntheticRows.from_rows(problem.domain, np.concatenate(released_rows)), note
            )

    def _selection_workload(self, problem: QueryRelease) -> Workload:
        """Return the workload that selections are made from."""
        return problem.workload


@by_name
class SepFEM(FEM):
    """FEM with Laplace scores on the queries of a separator set, which tells any two cells apart.

    On a product of columns the indicators 1[x_i = v] are one, so the scores act on one-hot
    coordinates as in FEM, with scale · Laplace(1) in place of exponential ones. The separators
    belong to Q: those that the workload lacks are added to what is selected from, as a public
    matter. Raises InputError for queries given as a matrix, which say nothing of columns.
    Source: Vietri, Tian, Bun, Steinke, Wu 2020, sepFEM.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(SepFEM(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    score_distribution = "laplace"

    def _selection_workload(self, problem: QueryRelease) -> Workload:
        """Return the workload with the 1-way tables that it lacks.

        Raises InputError for a query matrix.
        """
        workload = problem.workload
        if workload.base is None:
            raise InputError(
                "sepfem needs queries on columns that tell any two combinations apart; a query "
                "matrix has none"
            )
        present_axes = {
            axes for part, _ in workload.parts if isinstance(part, Marginals) for axes in part.axes
        }
        missing = [
            [name] for i, name in enumerate(workload.domain.names) if (i,) not in present_axes
        ]
        return Union([workload, Marginals(workload.domain, missing)]) if missing else workload
