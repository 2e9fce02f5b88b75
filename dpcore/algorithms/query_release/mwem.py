"""MWEM: select, measure, multiply, replay. Sees a Curator, never records.

D_0 uniform or a public start; each round selects a signed query by s · ⟨q_j, P_n − D⟩
(ε₀-bounded-range; Δ = max_j (hi_j − lo_j)/n) and measures with Gaussian noise of standard deviation
Δ₂/(nμ), so that T rounds cost T (ε₀²/8 + μ²/2) in zCDP, less composed optimally; at δ = 0 with
Laplace noise, and T (ε₀ + ε₁) in all.

measure "query": the selected query, Δ₂ = (hi_j − lo_j)/n. Then for every past measurement i,
newest first, twice:
    D ∝ D · exp(Δθ_i q_i),  Δθ_i = (a_i − ⟨q_i, D⟩ − wσ_i²θ_i)/(wσ_i² + Var_D(q_i)), at most 1
    in size,
the update of the paper with a Newton step in place of ½, and the replay as coordinate ascent:
θ_i sums what measurement i has done, and D tends to argmin ½ Σ_i (⟨q_i, D⟩ − a_i)²/σ_i² + w
KL(D ‖ D_0). A query measured c times counts once, with the mean answer and σ²/c. measure
"marginal": the whole table that the selected query is read off, Δ₂ = √2/n, and the
maximum-entropy fit of `gaussian_maxent` to all tables measured so far.

Where cells cannot be listed, 1-way tables and a tree are found first (`ground`): D_0 is their
product, and what is selected are cells of the tree's tables.
"""

from ...core.parameters import parameter_field
from ...core.types import by_name
from ...privacy.accounting import Setting
from .shared.select_and_measure import RoundRules, SelectAndMeasure

# share of the budget for measurements; all constants fitted on two tables
MEASUREMENT_SHARES = {
    "query": 0.25,
    "marginal": 0.65,
}
ROUND_RULES: RoundRules = {  # T = constant · signal^power, by what is measured and whether δ = 0
    ("query", False): (0.3, 2 / 3),
    ("marginal", False): (4, 1 / 2),
    ("query", True): (0.2, 1 / 2),
    ("marginal", True): (1, 1 / 2),
}
MAX_WORK = {"query": 2 * 10**8, "marginal": 2 * 10**7}  # limit of the rule: rounds times cells


@by_name
class MWEM(SelectAndMeasure):
    """The algorithm MWEM: select the worst-answered query, measure it, and reweight D by it.

    T rounds cost T (ε₀²/8 + μ²/2) in zCDP, less composed optimally; the module's docstring has the
    noise and the update. measure "query": the selected query; "marginal": its whole table. output
    "last": D_T; "average": the mean of D_1 … D_T, as published. Raises InputError for "marginal"
    where a query is not read off a marginal table.
    Source: Hardt, Ligett, McSherry 2012, Figure 1, with zCDP in place of Σε, and fitted shares of
    the budget in place of halves.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(MWEM(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    measure: str = parameter_field(
        "query",
        "what a round measures: the selected query, or its whole table",
        choices=("query", "marginal"),
    )
    output: str = parameter_field(
        "last", "the last distribution, or the average over rounds", choices=("last", "average")
    )

    algorithm_name = "mwem"
    measurement_shares = MEASUREMENT_SHARES
    round_rules = ROUND_RULES
    max_work = MAX_WORK

    def extra_settings(self, sigma: float) -> tuple[Setting, ...]:  # noqa: ARG002 - for others
        """Return the settings of what is measured, and of what is released."""
        return self.as_settings("measure", "output")
