"""The choice of a problem's model, and of a junction tree's cliques. Sees a Curator, never records."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from itertools import combinations

import numpy as np

from ....core.errors import InputError
from ....core.types import Array, Axes, frozen
from ....models.constraint_tree import tied
from ....models.graphical_model import Graphical
from ....models.junction_tree import JunctionTree, cells, fewest_cells, junction_tree
from ....models.listed_cells import Cells
from ....models.tree_model import Tree
from ....privacy.accounting import Budget, Charge, Choice, Gaussian, Plan, Pure, enlarged, measure_once, select_once
from ....privacy.curators.table_curator import TableCurator
from ....privacy.statistics import SomeAnswers, TableErrors, WeightedTables
from ....problems import MAX_CELLS, PublicStart, QueryRelease
from ....queries import Marginals, Workload
from ....queries.marginals import subsets
from ...pooled_measurements import Pool, columns_read, drawn_even, floored, singles_of
from .maximum_entropy_fit import staged

# Names of charges: for drawing pairs, for the tables of a batch of them, and for the tables that the whole tree holds.
PAIRS, BATCH, TABLES = "pairs", "tables of a batch", "tables"
# Ten batches gave 35 columns a mean L1 1 % lower and 26 redundant ones 2 % higher; at a low ε 15 columns 4 % higher.
BATCHES, LEARNING = 6, 0.2  # batches of draws, and the share of the rest that measures the tables of all batches
PRIOR, ITERATIONS = 0.4, 40  # of the fit between batches: prior's weight in units of n √Σμ², and most iterations
LARGE, SIGNAL, RANGE = 1_000_000, 200, (10_000, 3_000_000)  # cells of a tree: by public sizes, and by n√ρ
MOST_WORK = 2_500_000_000  # tables asked times cells of a tree that is chosen, as each table may be summed out of all
STEPWISE = 10_000, 300_000  # the same where the model is fitted anew after every table
MOST_WEIGHED = 2_000  # tables that are weighed anew in every round, or tried in a tree
NEVER = 100.0  # scales of the noise on scores by which a table without room is behind all others
MOST_ASKED = 50_000_000  # cells of all tables together, which every release must answer
SINGLE_NOISE, SINGLES = 0.1, (0.15, 0.45)  # L1 noise on a column, and the range of the share of ρ that keeps it so low
POWER, LEAST_WEIGHT = 1 / 2, 0.01  # of a table's cells, in its share of μ²; and of tables measured together
CHOOSING = 0.05  # share of ρ for drawing pairs
PICKS, SCORE_NOISE = (1, 6), 0.05  # pairs drawn for each column: as many as keep the noise on their scores so low
HIDDEN = 0.5  # share of what noise will hide of a table that is subtracted from a pair's score
DRAWN = 4.0  # taken off the score of a pair that was drawn, so that it is the least: others are within −0.5..2
CUT = 0.3  # L1 that a pair may lose for its cells, were they all that a tree has
CLEAR = 0.005  # most noise in a count, as `hides`, at which pairs are cut: at 0.009 the mean L1 was 2 % higher
WORTH = 0.02  # of a table's mass, that noise may hide, for it to be measured beside the pairs that were drawn


def model_of(problem: QueryRelease, measured: Workload, most: int | None) -> Tree | None:
    """The model of all cells if they are at most `most` (10⁷ by default), else a small tree; else None.

    None where such a tree would hold more than `most` cells (10⁶ by default): then tables must be chosen. Decided by
    public sizes. Raises InputError where queries are not read off tables: that needs all cells, as a listed start does.
    """
    domain, tables = problem.domain, measured.base
    if tables is None:
        problem.require_enumerable()
    if tables is None or lists(problem, most):
        return Cells(domain)
    max_tree_cells = max(most or LARGE, tied(domain).cells)  # single columns always fit
    if fewest_cells(domain.shape, tables.axes) > max_tree_cells:
        return None
    junction = junction_tree(domain.shape, [*tables.axes, *domain.zeros])
    return Tree(domain, junction) if junction.cells <= max_tree_cells else None


def pairs_of(tables: Marginals) -> Marginals:
    """Every pair of columns that some table reads together."""
    return Marginals.over(tables.domain, sorted({pair for axes in tables.axes for pair in combinations(axes, 2)}))


class Room:
    """The model of the tables measured so far, and the candidates that still fit beside them.

    Any, where all cells are listed (at most `most`, 10⁷ by default). Else those that leave the junction tree over all
    measured tables with at most `most` cells; what had no room once never gets any. By public sizes and by which tables
    were measured, which a plan or a released choice decides.
    """

    def __init__(self, candidates: Marginals, most: int, *, listed: bool) -> None:
        self.domain, self.candidates, self.most = candidates.domain, candidates, most
        self.free = np.ones(len(candidates.tables), dtype=bool)
        self._model: Tree | None = Cells(self.domain) if listed else None

    def model(self, measured: Iterable[Axes]) -> Tree:
        """The model that holds the measured tables, each of which was checked to fit."""
        if isinstance(self._model, Cells):
            return self._model
        required_axes = [*measured, *self.domain.zeros]
        junction = junction_tree(self.domain.shape, required_axes)
        if self._model is None or junction != self._model.junction:
            self._model = Tree(self.domain, junction)
            self.free = room_for(self.candidates, self.free, required_axes, junction, self.most)
        return self._model


def room_for(candidates: Marginals, free: Array, fixed: list[Axes], junction: JunctionTree, most: float) -> Array:
    """Flags (tables,) of the candidates that a tree of at most `most` cells has room for beside the `fixed` tables.

    `junction` is the tree over these. Those that are not `free` are not asked again.
    """
    fits = free.copy()
    fits_by_new_pairs: dict[tuple[Axes, ...], bool] = {}  # by the pairs that a candidate ties anew
    tied_pairs = {pair for axes in fixed for pair in combinations(axes, 2)}
    for i in np.flatnonzero(fits):
        axes = candidates.axes[i]
        new_pairs = tuple(pair for pair in combinations(axes, 2) if pair not in tied_pairs)
        if new_pairs and junction.home(axes) is None:
            if new_pairs not in fits_by_new_pairs:
                table_fits = cells(junction.shape, axes) <= most
                fits_by_new_pairs[new_pairs] = (
                    table_fits and junction_tree(junction.shape, [*fixed, axes]).cells <= most
                )
            fits[i] = fits_by_new_pairs[new_pairs]
    return fits


def cells_of(
    tables: Marginals, n: float, budget: Budget, most: int | None, within: tuple[int, int] = STEPWISE
) -> Choice:
    """How many cells a tree may hold: `most`, or by n√ρ `within` bounds (STEPWISE where that is left out) and by
    how many tables it answers; single columns and constraints always fit. InputError for tables of too many cells.
    """
    if tables.m > MOST_ASKED:
        raise InputError(
            f"the tables asked have {tables.m:,} combinations, more than {MOST_ASKED:,}; ask for smaller ones"
        )
    one_way_cells = tied(tables.domain).cells
    if most:
        return Choice("cells", max(most, one_way_cells), "given, or what single columns take")
    low, high = within
    high = max(low, min(high, MOST_WORK // len(tables.tables)))
    default_cells = round(min(max(SIGNAL * n * math.sqrt(budget.rho), low), high))
    return Choice(
        "cells", max(default_cells, one_way_cells), f"of all cliques together: {SIGNAL} n√ρ, within {low:,}..{high:,}"
    )


def lists(problem: QueryRelease, most: int | None) -> bool:
    """Whether a model lists all cells: at most `most`, 10⁷ by default, of them, or a listed public start.

    Raises InputError where such a start has too many.
    """
    if problem.domain.size <= (most or MAX_CELLS) or isinstance(problem.start, Array):
        problem.require_enumerable()
        return True
    return False


def barring(penalties: Array, weights: Array, free: Array, scale: float) -> Array:
    """Penalties (tables,) for `TableErrors` under which a table that is not free is picked with probability < e^-90.

    Weighted distances are within 0..2 max w, so that one that is not free scores at least NEVER · scale less than any
    other, `scale` being that of the noise on scores; 10^4 tables add up to e^9 times e^-NEVER.
    """
    excluded_score = 2 * weights.max() + (weights * penalties).max() + NEVER * scale
    return np.where(free, penalties, excluded_score / weights)


def chosen_tables(
    tables: Marginals, n: float, budget: Budget, most: int | None
) -> tuple[tuple[Charge, ...], tuple[Choice, ...]]:
    """The charges and choices of `measure_chosen`: 1-way tables, draws of pairs, batches, and the tree's tables.

    They are shares of ρ, and all enlarged together. InputError when δ = 0, which no Gaussian noise can promise.
    """
    if budget.delta == 0:
        raise InputError("delta=0 cannot be promised with Gaussian noise; choose delta > 0, or gem or rap")
    cells = cells_of(tables, n, budget, most, RANGE)
    pair_draws, one_way_share, selection_charges = finding_charges(tables, n, budget)
    remaining_share, batches = 1 - one_way_share - CHOOSING, min(BATCHES, pair_draws)
    charges = (
        *selection_charges,
        Charge("measure", measure_once(budget, remaining_share * LEARNING / batches), batches, WeightedTables, BATCH),
        Charge("measure", measure_once(budget, remaining_share * (1 - LEARNING)), 1, WeightedTables, TABLES),
    )
    spends = enlarged(budget, *((charge.spend, charge.times) for charge in charges))
    charges = tuple(replace(charge, spend=spend) for charge, spend in zip(charges, spends, strict=True))
    return charges, (
        cells,
        *drawing(tables, pair_draws, spends[-1], n),
        Choice(
            "first",
            one_way_share,
            f"share of ρ for 1-way tables: L1 noise of {SINGLE_NOISE:g} on a column, if in range",
        ),
        Choice("choosing", CHOOSING, "share of ρ for drawing pairs"),
    )


def finding_charges(tables: Marginals, n: float, budget: Budget) -> tuple[int, float, tuple[Charge, ...]]:
    """The number of pairs to draw, the share for 1-way tables, and the charges for both.

    T draws have noise of scale 2Δ/(nε₀) = 4/(n √(8 share ρ/T)) on scores. The share keeps the mean L1 noise of 1-way
    tables low, clipped to its range: with s the columns' sizes and S = Σ s^⅔, `single_charges` leave
    Σ E|noise| = √(2/π) S^1.5/(n √(share ρ)).
    """
    column_count, pair_count = len(singles_of(tables).tables), len(pairs_of(tables).tables)
    low_noise_draws = 8 * CHOOSING * budget.rho * (SCORE_NOISE * n / 4) ** 2
    pair_draws = min(round(min(max(low_noise_draws, PICKS[0] * column_count), PICKS[1] * column_count)), pair_count)
    sizes = Counter(tables.domain.shape_of(columns_read(tables)))
    power_sum = sum(count * size ** (2 / 3) for size, count in sizes.items())
    needed_share = 2 / math.pi * power_sum**3 / ((column_count * SINGLE_NOISE * n) ** 2 * budget.rho)
    share = min(max(needed_share, SINGLES[0]), SINGLES[1])
    draw_charge = Charge("select", select_once(budget, CHOOSING / pair_draws), pair_draws, TableErrors, PAIRS)
    return pair_draws, share, (*single_charges(tables, budget, share), draw_charge)


def drawing(tables: Marginals, times: int, rest: Gaussian | Pure, n: float) -> tuple[Choice, Choice]:
    """The choices of how many pairs are drawn, and how much noise hides if all of them are measured with the rest."""
    pair_count = len(pairs_of(tables).tables)
    return (
        Choice(
            "pairs", times, f"of {pair_count}, drawn by how far they seem from independent, beyond what noise will hide"
        ),
        Choice("hides", expected(rest, times, n), "E|noise| in a count of their tables, measured with what is left"),
    )


def expected(spend: Gaussian | Pure, tables: float, n: float) -> float:
    """The expected |noise| in a cell of `tables` tables measured together: √(2/π) σ, or the scale of Laplace
    noise.
    """
    if isinstance(spend, Pure):
        return 2 * tables / (n * spend.epsilon)
    return math.sqrt(2 / math.pi) * math.sqrt(2 * tables) / (n * spend.mu)


def single_charges(tables: Marginals, budget: Budget, share: float) -> tuple[Charge, ...]:
    """The charges for 1-way tables, one for each size, small sizes first: `share` of ρ together, at δ = 0 of ε.

    Σ size · noise is least with μ² ∝ size^⅔, and with ε ∝ √size, as noise is 1/μ or 1/ε.
    """
    sizes = Counter(tables.domain.shape_of(columns_read(tables)))
    weights = {size: size ** (2 / 3 if budget.delta > 0 else 1 / 2) for size in sorted(sizes)}
    total_weight = sum(weights[size] * count for size, count in sizes.items())
    return tuple(
        Charge("measure", measure_once(budget, share * weight / total_weight), sizes[size], SomeAnswers, single(size))
        for size, weight in weights.items()
    )


def single(size: int) -> str:
    """The name of the charge for 1-way tables of columns with `size` values."""
    return f"columns of {size} values"


@frozen
class TreeFindings:
    """The findings from 1-way tables and draws: noisy tables, shares by column, a tree, and the pairs drawn
    into it.
    """

    pool: Pool
    shares: dict[int, Array]
    junction: JunctionTree
    pairs: frozenset[Axes]

    def hidden(self, axes: Axes, noise: float) -> float:
        """The share of a table that E|noise| in a cell hides if columns are independent: Σ min(noise, Π shares).

        The fit knows that cells are not negative, so that noise does not cost more than what stands there.
        """
        return float(np.minimum(reduce(np.multiply.outer, [self.shares[a] for a in axes]), noise).sum())


def choose_tree(
    tables: Marginals, n: float, plan: Plan, curator: TableCurator, start: Array | PublicStart | None = None
) -> TreeFindings:
    """Measure the 1-way tables, choose a tree of at most plan["cells"] cells, and measure its pairs in batches.

    Pairs S of a batch are drawn, one after the other and none twice, by the score

        ‖table_S(P_n) − table_S(D)‖₁ − HIDDEN · what noise will hide of table_S(D),   Δ = 2/n

    (`TableErrors`: D and what is taken off are released, so they do not move). D is the product of the noisy 1-way
    tables, and after every batch the fit to all that was measured, so that nothing is drawn that D says already. A pair
    is tied if the tree stays within the batch's limit, which grows by a constant factor from batch to batch: the first
    pairs would else spend all cells on a few large cliques. The tables of the pairs tied are measured `by_size`; where
    none is, all that were tied before are, or single columns, as the plan has paid for it.
    A plan that pays for no batches draws all pairs against the product, and measures none of them.
    """
    one_way, pairs = singles_of(tables), pairs_of(tables)
    pool, batch_charges = Pool(tables), [charge for charge in plan.charges if charge.name == BATCH]
    batches = batch_charges[0].times if batch_charges else 1
    for axes, table in one_way.slices.items():
        m = curator.measure(SomeAnswers(one_way, table), plan.spend(single(table.stop - table.start)))
        pool.add(axes, m.values, m.stddev)
    shares = {}
    for (a,), noisy_shares in zip(one_way.axes, drawn_even(pool.evidence), strict=True):
        shares[a] = floored(noisy_shares)
        pool.facts[a,] = pool.facts[a,][0], noisy_shares  # not cut off at 0, which the fit does itself
    findings = TreeFindings(pool, shares, tied(tables.domain), frozenset())
    answers = np.concatenate([np.outer(shares[a], shares[b]).ravel() for a, b in pairs.axes])
    table_starts, weights, stage_potentials = [table.start for table in pairs.tables], np.ones(len(pairs.tables)), {}
    junction, tied_pairs = findings.junction, []
    for batch in range(1, batches + 1):
        max_tree_cells = plan["cells"] * (findings.junction.cells / plan["cells"]) ** ((1 - batch / batches) / 2)
        penalties = HIDDEN * np.add.reduceat(np.clip(answers, 0, plan["hides"]), table_starts)
        if len(pairs.tables) <= MOST_WEIGHED:
            penalties[~room_for(pairs, weights > 0, [*junction.cliques], junction, max_tree_cells)] = DRAWN
        penalties[[axes in tied_pairs for axes in pairs.axes]] = DRAWN
        new_pairs = []
        for _ in range(plan["pairs"] * batch // batches - plan["pairs"] * (batch - 1) // batches):
            i = curator.select(TableErrors(pairs, answers, penalties.copy(), weights), plan.spend(PAIRS))
            penalties[i] = DRAWN
            axes, larger_tree = pairs.axes[i], junction
            if junction.home(axes) is None:
                larger_tree = junction_tree(junction.shape, [*junction.cliques, axes])
            if larger_tree.cells <= max_tree_cells and axes not in (*tied_pairs, *new_pairs):
                junction = larger_tree
                new_pairs.append(axes)
        tied_pairs += new_pairs
        if batch_charges:
            spend, measured_tables = (
                plan.spend(BATCH),
                Marginals.over(tables.domain, new_pairs or tied_pairs or one_way.axes),
            )
            m = curator.measure(by_size(measured_tables, findings, spend, n), spend)
            pool.add_all(measured_tables, m.values, m.stddev)
        if batch < batches:
            tree, weight = Tree(tables.domain, junction), PRIOR * math.sqrt(2 * pool.precision)
            *_, (D, _) = staged(pool.evidence, weight, ITERATIONS, tree, start, stage_potentials)
            fitted_model = Graphical(tables.domain, tree.junction, D)
            answers = fitted_model.answers(pairs)
            if plan["hides"] <= CLEAR:
                junction = fitted_model.trimmed(CUT)
                pool.keep(junction)
                tied_pairs = [axes for axes in tied_pairs if axes in pool.facts]
    return TreeFindings(pool, shares, junction, frozenset(tied_pairs))


def measure_chosen(
    tables: Marginals, n: float, plan: Plan, curator: TableCurator, start: Array | PublicStart | None
) -> tuple[Pool, Tree]:
    """The noisy answers of a chosen tree's tables, and the model on that tree, of at most plan["cells"] cells.

    The tree is that of `choose_tree`. Those of its tables that are `worth_measuring` are measured `by_size`; which
    these are, and how much noise each gets, depends on released values only.
    """
    findings, spend = choose_tree(tables, n, plan, curator, start), plan.spend(TABLES)
    measured_tables = worth_measuring(inside_cliques(tables, findings.junction), findings, spend, n)
    noisy = curator.measure(by_size(measured_tables, findings, spend, n), spend)
    findings.pool.add_all(measured_tables, noisy.values, noisy.stddev)
    return findings.pool, Tree(tables.domain, findings.junction)


def by_size(tables: Marginals, found: TreeFindings, spend: Gaussian, n: float) -> WeightedTables:
    """The tables to measure together, weighted so that their total L1 noise is least.

    Table S with noise σ/w_S costs c_S σ/w_S, c_S being the cells in which there is more than noise: those of `hidden`,
    as the fit knows that cells are not negative. Δ₂² = 2 Σ_S w_S² being given, Σ_S c_S/w_S is least at w_S ∝ c_S^⅓. A
    little less is moved, as the fit takes off more of the noise in large tables.
    """
    noise = expected(spend, len(tables.tables), n)
    visible_cells = np.array([found.hidden(axes, noise) for axes in tables.axes])
    return WeightedTables(tables, np.clip((visible_cells / visible_cells.max()) ** (POWER / 2), LEAST_WEIGHT, 1))


def worth_measuring(tables: Marginals, found: TreeFindings, spend: Gaussian, n: float) -> Marginals:
    """The tables worth measuring: the pairs drawn, and other tables in which noise hides little.

    Those of which it hides the most are left out, one after the other.
    """
    weights = dict(zip(tables.axes, by_size(tables, found, spend, n).weights, strict=True))
    remaining, total_weight = list(tables.axes), sum(w * w for w in weights.values())

    def hidden(axes: Axes) -> float:
        return found.hidden(axes, expected(spend, total_weight / weights[axes] ** 2, n))

    for axes in sorted(set(remaining) - found.pairs, key=lambda axes: (-hidden(axes), axes)):
        if len(remaining) == 1 or hidden(axes) <= WORTH:
            break
        remaining.remove(axes)
        total_weight -= weights[axes] ** 2
    return Marginals.over(tables.domain, remaining)


def inside_cliques(tables: Marginals, junction: JunctionTree) -> Marginals:
    """The tables, and subsets of two columns or more, inside a clique; columns in none of these stay alone."""
    clique_tables = {B for axes in tables.axes for B in subsets(axes) if len(B) > 1 and junction.home(B) is not None}
    lone_columns = {*columns_read(tables)} - {a for B in clique_tables for a in B}
    return Marginals.over(
        tables.domain, sorted([*clique_tables, *((a,) for a in lone_columns)], key=lambda B: (len(B), B))
    )
