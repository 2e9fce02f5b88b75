"""MWEM: select, measure, multiply, replay. Sees a Curator, never records."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..params import param
from ..privacy.accounting.budget import Budget
from ..privacy.accounting.calibrations import select_and_measure
from ..privacy.accounting.ledger import Charge, Choice, Plan
from ..privacy.measurement import deviation
from ..privacy.statistics.answers import ONE_TABLE, Sensitivity, SignedErrors, SomeAnswers
from ..privacy.table_curator import TableCurator
from ..problems import QueryRelease
from .base import About, Algorithm, Step, model_cells
from .evidence import tables_read
from .ground import grounded, model_setup
from .past_measurements import balanced_rounds, past_of

SHARES = {"query": 0.25, "marginal": 0.65}  # of the budget that measurements get; all constants fitted on two tables
RULE = {  # T = constant · signal^power, by what is measured and whether δ = 0
    ("query", False): (0.3, 2 / 3), ("marginal", False): (4, 1 / 2),
    ("query", True): (0.2, 1 / 2), ("marginal", True): (1, 1 / 2),
}  # fmt: skip
MOST_ROUNDS, MOST_WORK = 400, {"query": 2 * 10**8, "marginal": 2 * 10**7}  # of the rule: rounds, and rounds times cells


@dataclass(frozen=True, kw_only=True)
class MWEM(Algorithm):
    """Select the worst-answered query, measure it, reweight D multiplicatively until it explains what was measured.

    D_0 uniform or a public start; each round selects a signed query by s · ⟨q_j, P_n − D⟩ (ε₀-bounded-range; Δ =
    max_j (hi_j − lo_j)/n) and measures with Gaussian noise of standard deviation Δ₂/(nμ), so that T rounds cost
    T (ε₀²/8 + μ²/2) in zCDP, less composed optimally; at δ = 0 with Laplace noise, and T (ε₀ + ε₁) in all.

    measure "query": the selected query, Δ₂ = (hi_j − lo_j)/n. Then for every past measurement i, newest first, twice:
        D ∝ D · exp(Δθ_i q_i),  Δθ_i = (a_i − ⟨q_i, D⟩ − wσ_i²θ_i)/(wσ_i² + Var_D(q_i)), at most 1 in size,
    the update of the paper with a Newton step in place of ½, and the replay as coordinate ascent: θ_i sums what
    measurement i has done, and D tends to argmin ½ Σ_i (⟨q_i, D⟩ − a_i)²/σ_i² + w KL(D ‖ D_0). A query measured c
    times counts once, with the mean answer and σ²/c.
    measure "marginal": the whole table that the selected query is read off, Δ₂ = √2/n, and the maximum-entropy fit of
    `gaussian_maxent` to all tables measured so far.

    Where cells cannot be listed, 1-way tables and a tree are found first (`ground`): D_0 is their product, and what is
    selected are cells of the tree's tables.

    output "last": D_T. "average": the mean of D_1 … D_T, as published. Raises InputError for "marginal" where a query
    is not read off a marginal table. Source: Hardt, Ligett, McSherry 2012, Figure 1, with zCDP in place of Σε, and
    fitted shares of the budget in place of halves.
    """

    rounds: int | None = param(
        None, "selections, and as many measurements", symbol="T", low=1, high=100_000, log=True,
        auto="n, m and the budget: where the noise of a round overtakes what another one gains",
    )  # fmt: skip
    measure: str = param(
        "query", "what a round measures: the selected query, or its whole table", choices=("query", "marginal")
    )
    output: str = param("last", "the last distribution, or the average over rounds", choices=("last", "average"))

    cells: int | None = model_cells()

    graphical = True
    about = About(
        title="Multiplicative weights (MWEM)",
        brief="Reweights cells by the worst answer",
        summary="Picks the worst-answered query in each round, measures it with noise, and reweights all cells until "
        "they agree with everything measured so far. It spends its budget only on queries that are still wrong.",
        use_when="only some of many queries matter, δ = 0, or as the classic to compare with; with measure = marginal "
        "when there are too many tables to measure all",
        avoid_when="the workload is a small set of marginals: measuring all of them once is more accurate",
        cost="a pass for the m answers, and two passes over the support of every past query, a round",
        source="Hardt, Ligett, McSherry 2012",
    )

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """T equal selections and measurements with the whole budget; T from n, m and the budget where not given."""
        workload, share = problem.workload, SHARES[self.measure]
        stand = model_setup(problem, budget, self.cells, "mwem")
        best = self._best_rounds(problem, stand.left, stand.cells)
        rounds = Choice("rounds", self.rounds, "given") if self.rounds else best
        select, measure = select_and_measure(stand.left, rounds.value, share)
        T = rounds.value
        charges = (Charge("select", select, T, SignedErrors), Charge("measure", measure, T, SomeAnswers))
        if self.measure == "query":
            widest, what = Sensitivity(workload.width, workload.width), "query"
        else:
            tables_read(workload, "measure=marginal")
            widest, what = ONE_TABLE, "cell of a measured table"
        sigma = deviation(widest, measure, problem.effective_n)
        choices = (
            rounds,
            Choice("measure", self.measure, "given"),
            Choice("output", self.output, "given"),
            Choice("share", share, "of the budget for measurements, the rest for selections: fitted on two tables"),
            Choice("sigma", sigma, f"standard deviation of the noise on every {what}, at the most"),
        )
        return Plan(budget, (*charges, *stand.charges), (*choices, *stand.choices))

    def _best_rounds(self, problem: QueryRelease, budget: Budget, size: int) -> Choice:
        """T where noise overtakes what one more round gains: it grows like √T/(n√ρ), or at δ = 0 like T/(nε).

        The error of what is not yet measured falls like 1/T for queries, and faster for tables, if they are large.
        """
        workload, cells, most = problem.workload, 1.0, problem.workload.m
        if self.measure == "marginal":
            tables = tables_read(workload, "measure=marginal")
            most, cells = 2 * len(tables.tables), tables.m / len(tables.tables)
        most = min(most, MOST_ROUNDS, max(20, MOST_WORK[self.measure] // size))
        return balanced_rounds(problem, budget, RULE[self.measure, budget.delta == 0], most, cells)

    def steps(
        self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: np.random.Generator
    ) -> Iterator[Step]:
        """One selection and one measurement a step."""
        select, spend = plan.spend("select"), plan.spend("measure")
        ground = grounded(problem, plan, curator, self.cells, "mwem")
        workload, reader, past = ground.workload, ground.reader, past_of(self.measure, ground)
        D, total = ground.prior, 0.0
        for t in range(1, plan["rounds"] + 1):
            j = curator.select(SignedErrors(workload, reader.answers(D)), select) % workload.m
            m = curator.measure(past.statistic(j), spend)
            D = past.explain(D, j, m.values, m.stddev)
            total = total + D
            label = ", ".join(f"{column} = {value}" for column, value in workload.label(j))
            yield Step(t, ground.model.release(D if self.output == "last" else total / t), f"worst: {label}")
