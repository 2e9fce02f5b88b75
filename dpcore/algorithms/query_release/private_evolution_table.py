"""Private Evolution on a table with mixed columns, without a foundation model.

Sees a Curator, never records.

All d 1-way marginals together with `share` of μ² (Δ₂ = √(2d)/n), projected on distributions.
Columns of numbers in `bin_of_code` quantile bins of those; `samples` rows S from the product. T
times: V = S and two variations of each row, each column drawn anew from its marginal with
probability 0.4 falling to 0.08, one column at least; real rows vote for the nearest of V (Hamming
distance for categories, differences of quantiles for numbers; Δ₂ = √2/n); ℓ2 projection on
distributions; systematic resampling. Released at each step: n rows from V with these weights, whose
columns are moved to the noisy marginals by maximal coupling (categories) or a quantile map
(numbers).

Noisy marginals are first drawn towards uniform by as much as noise makes them uneven (`shares_of`),
so that a small budget does not end in one cell.
"""

import numpy as np

from ...core.parameters import parameter_field, parameter_values
from ...core.types import Array, Rng, by_name
from ...models.releases import SyntheticRows, sample_systematically, sample_within_states
from ...privacy.accounting import Budget, Plan, PlannedEvent, Setting, gaussian_spend
from ...privacy.curators.table_curator import TableCurator
from ...privacy.measurement import noise_stddev
from ...privacy.noisy_answers import NoisyAnswers
from ...privacy.statistics import Answers, CodeVotes
from ...problems import QueryRelease
from ...queries import Marginals
from ..algorithm import Algorithm, Step, Steps
from ..marginal_shares import one_way_shares, project_onto_simplex
from ..noisy_tables import MIN_STDDEV

# distance of two different categories; two numbers are at most twice that apart
CATEGORY_DISTANCE = 1024
VARIATIONS_PER_ROW = 2  # variations of every row in each round
# probability that a variation changes a column, in the first and in the last round
FIRST_CHANGE_PROBABILITY = 0.4
LAST_CHANGE_PROBABILITY = 0.08
# codes from which on a column of codes is taken to be a binned number, unless the schema says
# otherwise
MAX_UNORDERED_CODES = 50
MAX_RELEASED_ROWS = 200_000  # released; more would only make them slower to use
SECONDS_PER_COMPARISON = 1e-9  # of a row with a sample, for each column


@by_name
class PrivateEvolutionTable(Algorithm):
    """Private Evolution on a table: synthetic rows that evolve by the votes of the real rows.

    They start from noisy 1-way marginals and are fitted to these at the end; the module's docstring
    has the steps. A column has an order if the schema says so; one of more than 50 integer codes is
    taken to have one. A wrong guess costs accuracy, never privacy. Raises InputError at δ = 0.
    Source: after Swanberg et al. 2025 and Gonzalez, Fanti, Ramdas 2025; the recipe and its
    settings, which were fitted on one table (UCI Adult), are ours.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(PrivateEvolutionTable(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    rounds: int = parameter_field(
        6, "rounds of variation and voting", symbol="T", low=1, high=100, also="steps"
    )
    samples: int = parameter_field(
        800, "rows kept a round", symbol="n_s", low=10, high=20_000, log=True
    )
    bins: int = parameter_field(4, "quantile bins of every column of numbers", low=2, high=32)
    share: float = parameter_field(
        0.5, "of the budget's μ² for the 1-way marginals", low=0.05, high=0.95
    )

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """Return a plan: `share` of μ² for the marginals, the rest in equal parts for T votes."""
        T = self.rounds
        marginals_spend = gaussian_spend(budget, self.share)
        votes_spend = gaussian_spend(budget, (1 - self.share) / T)
        n = problem.effective_n
        d = len(problem.domain.columns)
        names = ("rounds", "samples", "bins", "share")
        why = "standard deviation of the noise on every"
        choices = (
            *(
                Setting(name, parameter_values(self)[name], "given; fitted on Adult")
                for name in names
            ),
            Setting(
                "sigma_marginals",
                noise_stddev(Answers(_one_way_tables(problem)), marginals_spend, n),
                f"{why} of {d} marginals",
            ),
            Setting("sigma", noise_stddev(CodeVotes, votes_spend, n), f"{why} share of the votes"),
        )
        marginals_charge = PlannedEvent(
            "measure", marginals_spend, 1, Answers(_one_way_tables(problem)), "columns"
        )
        return Plan(
            budget,
            (marginals_charge, PlannedEvent("measure", votes_spend, T, CodeVotes, "votes")),
            choices,
        )

    def run_seconds(self, problem: QueryRelease, plan: Plan) -> float:
        """Return the predicted seconds of a run: all distances of rows to samples, each round."""
        row_count = min(problem.n, problem.domain.size)
        distances = plan["rounds"] * plan["samples"] * row_count
        return SECONDS_PER_COMPARISON * distances * len(problem.domain.shape)

    def steps(self, problem: QueryRelease, plan: Plan, curator: TableCurator, rng: Rng) -> Steps:
        """Yield steps of one vote each; the first one measures the marginals too."""
        one_way = _one_way_tables(problem)
        T = plan["rounds"]
        votes_spend = plan.spend_of("votes")
        noisy = curator.measure(Answers(one_way), plan.spend_of("columns"))
        stddev = np.full(one_way.m, noisy.stddev)
        shares = one_way_shares(NoisyAnswers(one_way, noisy.values, stddev))
        columns = [
            _BinnedColumn(code_shares, self.bins, *_order_and_value_count(problem, i))
            for i, code_shares in enumerate(shares)
        ]
        row_count = min(problem.n, MAX_RELEASED_ROWS)
        S = np.column_stack([rng.choice(len(c.P), self.samples, p=c.P) for c in columns])
        for t in range(1, T + 1):
            V = self._vary_rows(
                S,
                columns,
                FIRST_CHANGE_PROBABILITY
                * (LAST_CHANGE_PROBABILITY / FIRST_CHANGE_PROBABILITY) ** ((t - 1) / max(T - 1, 1)),
                rng,
            )
            statistic = CodeVotes(
                V,
                tuple(c.bin_of_code for c in columns),
                tuple(c.bin_positions for c in columns),
                CATEGORY_DISTANCE,
            )
            weights = project_onto_simplex(curator.measure(statistic, votes_spend).values)
            S = V[sample_systematically(weights, self.samples, rng)]
            synthetic_rows = V[sample_systematically(weights, row_count, rng)]
            codes = np.column_stack(
                [
                    c.refine_to_codes(c.match_marginal(synthetic_rows[:, i], rng), rng)
                    for i, c in enumerate(columns)
                ]
            )
            note = f"{np.count_nonzero(weights):,} of {len(V):,} candidates left"
            yield Step(t, SyntheticRows.from_rows(problem.domain, codes), note)

    @staticmethod
    def _vary_rows(
        S: Array, columns: list["_BinnedColumn"], change_probability: float, rng: Rng
    ) -> Array:
        """Return distinct rows (v, d): S, and variations of each of its rows."""
        r, d = S.shape
        blocks = [S]
        for _ in range(VARIATIONS_PER_ROW):
            replacements = np.column_stack([rng.choice(len(c.P), r, p=c.P) for c in columns])
            changed = rng.random((r, d)) < change_probability
            changed[np.arange(r), rng.integers(0, d, r)] = True
            blocks.append(np.where(changed, replacements, S))
        V = np.concatenate(blocks)
        return V[np.sort(np.unique(V, axis=0, return_index=True)[1])]


def _one_way_tables(problem: QueryRelease) -> Marginals:
    """Return all 1-way marginals of the problem's domain."""
    return Marginals.all(problem.domain, 1)


def _order_and_value_count(problem: QueryRelease, i: int) -> tuple[bool, int]:
    """Return whether the codes of column i are ordered, and how many codes are values.

    Missing values do not count.
    """
    column = problem.domain.columns[i]
    ordered = column.ordered or (column.kind == "integer" and column.size > MAX_UNORDERED_CODES)
    return ordered, column.nonmissing_size


class _BinnedColumn:
    """A column in bins, with their noisy marginal.

    `P` (k,) is the marginal, `bin_of_code` (size,) the bin of each code, `bin_positions` (k,) their
    positions, None for categories.

    Bins of an ordered column hold nearly equal mass; a code for missing values has its own, the
    last.
    """

    def __init__(self, code_shares: Array, max_bins: int, ordered: bool, present: int) -> None:
        self.fine = code_shares
        self.bin_positions = None
        self.bin_of_code = np.arange(len(code_shares))
        if ordered and present > max_bins:
            self.bin_of_code[:present] = _quantile_bins(code_shares[:present], max_bins)
            self.bin_of_code[present:] = self.bin_of_code[present - 1] + 1
        self.P = np.bincount(self.bin_of_code, code_shares)
        if ordered:
            self.bin_positions = np.rint(
                2 * CATEGORY_DISTANCE * (np.cumsum(self.P) - self.P / 2)
            ).astype(np.int64)

    def match_marginal(self, column: Array, rng: Rng) -> Array:
        """Return the bins (m,) of a column, changed as little as possible to have the shares P."""
        m = len(column)
        k = len(self.P)
        target_counts = np.bincount(sample_systematically(self.P, m, rng), minlength=k)
        order = np.lexsort((rng.random(m), column))
        matched = column.copy()
        if self.bin_positions is not None:
            matched[order] = np.repeat(np.arange(k), target_counts)
            return matched
        surplus = np.bincount(column, minlength=k) - target_counts
        sorted_bins = column[order]
        moved_rows = order[
            np.arange(m) - np.searchsorted(sorted_bins, sorted_bins) < surplus[sorted_bins]
        ]
        matched[moved_rows] = rng.permutation(np.repeat(np.arange(k), np.maximum(-surplus, 0)))
        return matched

    def refine_to_codes(self, column: Array, rng: Rng) -> Array:
        """Return the codes (m,) for bins (m,).

        With the shares of the fine marginal within each bin.
        """
        if len(self.P) == len(self.fine):
            return column
        is_inside = self.bin_of_code == np.arange(len(self.P))[:, None]
        weights = np.where(is_inside, np.maximum(self.fine, MIN_STDDEV), 0.0)
        return sample_within_states(weights, column, rng)


def _quantile_bins(P: Array, max_bins: int) -> Array:
    """Return the bins (k,) of neighbouring codes with nearly equal mass, at most `max_bins`."""
    bin_of_code = np.zeros(len(P), dtype=np.int64)
    bin_number = 0
    mass = 0.0
    remaining_mass = float(P.sum())
    for code, share in enumerate(P):
        bin_of_code[code] = bin_number
        mass += share
        if (
            bin_number < max_bins - 1
            and code < len(P) - 1
            and mass >= remaining_mass / (max_bins - bin_number)
        ):
            remaining_mass = remaining_mass - mass
            mass = 0.0
            bin_number = bin_number + 1
    return bin_of_code
