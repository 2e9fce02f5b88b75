"""The choice of a junction tree's cliques.

Sees a curator, never rows.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from itertools import combinations

import numpy as np

from ....core.errors import InputError
from ....core.types import Array, Axes, frozen
from ....models.column_graph import ColumnGraph
from ....models.constraint_tree import constraint_junction_tree
from ....models.graphical_model import GraphicalModel
from ....models.junction_tree import (
    JunctionTree,
    build_junction_tree,
)
from ....models.tree_model import JunctionTreeModel
from ....privacy.accounting import (
    Budget,
    Gaussian,
    Plan,
    PlannedEvent,
    Pure,
    Setting,
    enlarge_spends,
    measurement_spend,
    selection_spend,
)
from ....privacy.curators.table_curator import TableCurator
from ....privacy.noisy_answers import NoisyAnswers
from ....privacy.statistics import SomeAnswers, TableErrors, WeightedTables
from ....problems import PublicStart
from ....queries import Marginals
from ....queries.marginals import nonempty_subsets
from ...marginal_shares import (
    floored_distribution,
    one_way_marginals,
    queried_columns,
    shrink_to_uniform,
)
from ...noisy_tables import NoisyTables
from .maximum_entropy_fit import staged_fit
from .model_choice import (
    STEPWISE_TREE_CELLS_RANGE,
    TREE_CELLS_RANGE,
)

# Names of events: for drawing pairs, for the tables of a batch of them, and for the tables that
# the whole tree holds.
PAIR_SELECTION_NAME = "pairs"
BATCH_MEASUREMENT_NAME = "tables of a batch"
TREE_MEASUREMENT_NAME = "tables"
# Ten batches gave 35 columns a mean L1 1 % lower and 26 redundant ones 2 % higher; at a low ε 15
# columns 4 % higher.
MAX_BATCHES = 6  # batches of draws
BATCH_MEASUREMENT_SHARE = 0.2  # share of the rest that measures the tables of all batches
BATCH_PRIOR_WEIGHT = 0.4  # of the fit between batches, in units of n √Σμ²
MAX_BATCH_FIT_ITERATIONS = 40  # of the fit between batches
TREE_CELLS_PER_SIGNAL = 200  # cells of a tree that is chosen by noisy tables, for each n√ρ
# tables asked times cells of a tree that is chosen, as each table may be summed out of all
MAX_TABLE_SUM_WORK = 2_500_000_000
MAX_WEIGHED_TABLES = 2_000  # tables that are weighed anew in every round, or tried in a tree
# scales of the noise on scores by which a table without room is behind all others
EXCLUSION_NOISE_SCALES = 100.0
MAX_QUERIED_CELLS = 50_000_000  # cells of all tables together, which every release must answer
ONE_WAY_L1_TARGET = 0.1  # L1 noise on a column
ONE_WAY_SHARE_RANGE = (0.15, 0.45)  # range of the share of ρ that keeps it so low
TABLE_WEIGHT_POWER = 1 / 2  # power of a table's cells, in its share of μ²
MIN_TABLE_WEIGHT = 0.01  # least weight of tables that are measured together
PAIR_SELECTION_SHARE = 0.05  # share of ρ for drawing pairs
DRAWS_PER_COLUMN_RANGE = (1, 6)  # range of the number of pairs drawn for each column
SCORE_NOISE_TARGET = 0.05  # as many are drawn as keep the noise on their scores so low
# share of what noise will hide of a table that is subtracted from a pair's score
HIDDEN_NOISE_PENALTY = 0.5
# taken off the score of a pair that was drawn, so that it is the least: others are within −0.5..2
DRAWN_PAIR_PENALTY = 4.0
MAX_TRIM_L1_LOSS = 0.3  # L1 that a pair may lose for its cells, were they all that a tree has
# most noise in a count, as `hides`, at which pairs are cut: at 0.009 the mean L1 was 2 % higher
MAX_TRIM_NOISE = 0.005


def column_pairs_in_tables(tables: Marginals) -> Marginals:
    """Return every pair of columns that some table reads together, as tables."""
    return Marginals.over_axes(
        tables.domain, sorted({pair for axes in tables.axes for pair in combinations(axes, 2)})
    )


class CliqueBudget:
    """The model of the tables measured so far, and the candidates that still fit beside them.

    Any, where `full_model` holds all cells. Else those that leave the junction tree over all
    measured tables with at most `max_cells` cells; what had no room once never gets any. By public
    sizes and by which tables were measured, which a plan or a released choice decides.
    """

    def __init__(
        self, candidates: Marginals, max_cells: int, full_model: JunctionTreeModel | None = None
    ) -> None:
        self.domain = candidates.domain
        self.candidates = candidates
        self.most = max_cells
        self.still_fits = np.ones(len(candidates.tables), dtype=bool)
        self._holds_all = full_model is not None
        self._model = full_model

    def model_holding(self, measured_axes: Iterable[Axes]) -> JunctionTreeModel:
        """Return the model that holds the measured tables, each of which was checked to fit."""
        if self._model is not None and self._holds_all:
            return self._model
        required_axes = [*measured_axes, *self.domain.allowed_tables]
        junction = build_junction_tree(self.domain.shape, required_axes)
        if self._model is None or junction != self._model.junction:
            self._model = JunctionTreeModel(self.domain, junction)
            self.still_fits = fitting_candidate_mask(
                self.candidates, self.still_fits, required_axes, junction, self.most
            )
        return self._model


def fitting_candidate_mask(
    candidates: Marginals,
    still_fits: Array,
    required_axes: list[Axes],
    junction: JunctionTree,
    max_cells: float,
) -> Array:
    """Return flags (tables,) of the candidates that still fit a tree beside the required tables.

    The tree has at most `max_cells` cells; `junction` is the tree over `required_axes`. Those that
    are not `still_fits` are not asked again.
    """
    fits = still_fits.copy()
    graph = ColumnGraph(junction.shape, required_axes)
    fits_by_new_pairs: dict[tuple[Axes, ...], bool] = {}  # by the pairs that a candidate ties anew
    for i in np.flatnonzero(fits):
        axes = candidates.axes[i]
        new_pairs = graph.untied_pairs(axes)
        if new_pairs and junction.clique_containing(axes) is None:
            if new_pairs not in fits_by_new_pairs:
                fits_by_new_pairs[new_pairs] = graph.fits_tree_with(axes, max_cells)
            fits[i] = fits_by_new_pairs[new_pairs]
    return fits


def choose_tree_cell_limit(
    tables: Marginals,
    n: float,
    budget: Budget,
    max_cells: int | None,
    allowed_range: tuple[int, int] = STEPWISE_TREE_CELLS_RANGE,
) -> Setting:
    """Return the setting of how many cells a junction tree may hold.

    `max_cells`, or by n√ρ within `allowed_range` (STEPWISE_TREE_CELLS_RANGE where left out) and by
    how many tables it answers; single columns and constraints always fit. InputError for tables of
    too many cells.
    """
    if tables.m > MAX_QUERIED_CELLS:
        raise InputError(
            f"the tables asked have {tables.m:,} combinations, more than {MAX_QUERIED_CELLS:,}; "
            "ask for smaller ones"
        )
    one_way_cells = constraint_junction_tree(tables.domain).cells
    if max_cells:
        return Setting("cells", max(max_cells, one_way_cells), "given, or what single columns take")
    low, high = allowed_range
    high = max(low, min(high, MAX_TABLE_SUM_WORK // len(tables.tables)))
    default_cells = round(min(max(TREE_CELLS_PER_SIGNAL * n * math.sqrt(budget.rho), low), high))
    return Setting(
        "cells",
        max(default_cells, one_way_cells),
        f"of all cliques together: {TREE_CELLS_PER_SIGNAL} n√ρ, within {low:,}..{high:,}",
    )


def exclusion_penalties(
    penalties: Array, weights: Array, still_fits: Array, noise_scale: float
) -> Array:
    """Return the penalties (tables,) for `TableErrors` that exclude tables that do not fit.

    A table that is not `still_fits` is picked with probability < e^-90. Weighted distances are
    within 0..2 max w, so that one that does not fit scores at least `EXCLUSION_NOISE_SCALES` ·
    scale less than any other, `noise_scale` being that of the noise on scores; 10^4 tables add up
    to e^9 times e^-`EXCLUSION_NOISE_SCALES`.
    """
    excluded_score = (
        2 * weights.max() + (weights * penalties).max() + EXCLUSION_NOISE_SCALES * noise_scale
    )
    return np.where(still_fits, penalties, excluded_score / weights)


def plan_table_selection(
    tables: Marginals, n: float, budget: Budget, max_cells: int | None
) -> tuple[tuple[PlannedEvent, ...], tuple[Setting, ...]]:
    """Return the planned events and settings of `choose_tree_and_measure`.

    1-way tables, draws of pairs, batches, and the tree's tables. They are shares of ρ, and all
    enlarged together. InputError when δ = 0, which no Gaussian noise can promise.
    """
    if budget.delta == 0:
        raise InputError(
            "delta=0 cannot be promised with Gaussian noise; choose delta > 0, or gem or rap"
        )
    cells = choose_tree_cell_limit(tables, n, budget, max_cells, TREE_CELLS_RANGE)
    pair_draws, one_way_share, selection_charges = plan_pair_selection(tables, n, budget)
    remaining_share = 1 - one_way_share - PAIR_SELECTION_SHARE
    events = (*selection_charges, *_table_events(budget, remaining_share, pair_draws))
    spends = enlarge_spends(budget, *((event.spend, event.times) for event in events))
    enlarged_events = tuple(
        replace(event, spend=spend) for event, spend in zip(events, spends, strict=True)
    )
    first_why = (
        f"share of ρ for 1-way tables: L1 noise of {ONE_WAY_L1_TARGET:g} on a column, if in range"
    )
    settings = (
        cells,
        *pair_draw_settings(tables, pair_draws, spends[-1], n),
        Setting("first", one_way_share, first_why),
        Setting("choosing", PAIR_SELECTION_SHARE, "share of ρ for drawing pairs"),
    )
    return enlarged_events, settings


def _table_events(budget: Budget, share: float, pair_draws: int) -> tuple[PlannedEvent, ...]:
    """Return the measurements of the batches' tables and the tree's, with a share of the budget."""
    batches = min(MAX_BATCHES, pair_draws)
    batch_spend = measurement_spend(budget, share * BATCH_MEASUREMENT_SHARE / batches)
    tree_spend = measurement_spend(budget, share * (1 - BATCH_MEASUREMENT_SHARE))
    return (
        PlannedEvent("measure", batch_spend, batches, WeightedTables, BATCH_MEASUREMENT_NAME),
        PlannedEvent("measure", tree_spend, 1, WeightedTables, TREE_MEASUREMENT_NAME),
    )


def plan_pair_selection(
    tables: Marginals, n: float, budget: Budget
) -> tuple[int, float, tuple[PlannedEvent, ...]]:
    """Return the number of pairs to draw, the share for 1-way tables, and the planned events.

    The events of both.

    T draws have noise of scale 2Δ/(nε₀) = 4/(n √(8 share ρ/T)) on scores. The share keeps the mean
    L1 noise of 1-way tables low, clipped to its range: with s the columns' sizes and S = Σ s^⅔,
    `one_way_charges` leave Σ E|noise| = √(2/π) S^1.5/(n √(share ρ)).
    """
    column_count = len(one_way_marginals(tables).tables)
    pair_count = len(column_pairs_in_tables(tables).tables)
    low_noise_draws = 8 * PAIR_SELECTION_SHARE * budget.rho * (SCORE_NOISE_TARGET * n / 4) ** 2
    min_draws = DRAWS_PER_COLUMN_RANGE[0] * column_count
    max_draws = DRAWS_PER_COLUMN_RANGE[1] * column_count
    pair_draws = min(round(min(max(low_noise_draws, min_draws), max_draws)), pair_count)
    sizes = Counter(tables.domain.shape_of(queried_columns(tables)))
    power_sum = sum(count * size ** (2 / 3) for size, count in sizes.items())
    needed_share = (
        2 / math.pi * power_sum**3 / ((column_count * ONE_WAY_L1_TARGET * n) ** 2 * budget.rho)
    )
    share = min(max(needed_share, ONE_WAY_SHARE_RANGE[0]), ONE_WAY_SHARE_RANGE[1])
    draw_charge = PlannedEvent(
        "select",
        selection_spend(budget, PAIR_SELECTION_SHARE / pair_draws),
        pair_draws,
        TableErrors,
        PAIR_SELECTION_NAME,
    )
    return pair_draws, share, (*one_way_charges(tables, budget, share), draw_charge)


def pair_draw_settings(
    tables: Marginals, pair_draws: int, remaining_spend: Gaussian | Pure, n: float
) -> tuple[Setting, Setting]:
    """Return the settings of how many pairs are drawn, and how much noise hides.

    The noise if all of them are measured with the rest.
    """
    pair_count = len(column_pairs_in_tables(tables).tables)
    return (
        Setting(
            "pairs",
            pair_draws,
            f"of {pair_count}, drawn by how far they seem from independent, beyond what noise "
            "will hide",
        ),
        Setting(
            "hides",
            expected_abs_noise(remaining_spend, pair_draws, n),
            "E|noise| in a count of their tables, measured with what is left",
        ),
    )


def expected_abs_noise(spend: Gaussian | Pure, table_count: float, n: float) -> float:
    """Return the expected |noise| in a cell of `table_count` tables measured together.

    √(2/π) σ, or the scale of Laplace noise.
    """
    if isinstance(spend, Pure):
        return 2 * table_count / (n * spend.epsilon)
    return math.sqrt(2 / math.pi) * math.sqrt(2 * table_count) / (n * spend.mu)


def one_way_charges(tables: Marginals, budget: Budget, share: float) -> tuple[PlannedEvent, ...]:
    """Return the planned events for 1-way tables, one for each size, small sizes first.

    `share` of ρ together, at δ = 0 of ε.

    Σ size · noise is least with μ² ∝ size^⅔, and with ε ∝ √size, as noise is 1/μ or 1/ε.
    """
    sizes = Counter(tables.domain.shape_of(queried_columns(tables)))
    weights = {size: size ** (2 / 3 if budget.delta > 0 else 1 / 2) for size in sorted(sizes)}
    total_weight = sum(weights[size] * count for size, count in sizes.items())
    return tuple(
        PlannedEvent(
            "measure",
            measurement_spend(budget, share * weight / total_weight),
            sizes[size],
            SomeAnswers,
            one_way_charge_name(size),
        )
        for size, weight in weights.items()
    )


def one_way_charge_name(size: int) -> str:
    """Return the name of the planned event for 1-way tables of columns with `size` values."""
    return f"columns of {size} values"


@frozen
class TreeFindings:
    """The findings from 1-way tables and draws.

    Noisy tables, shares by column, a tree, and the pairs drawn into it.
    """

    noisy_tables: NoisyTables
    shares: dict[int, Array]
    junction: JunctionTree
    drawn_pairs: frozenset[Axes]

    def hidden_share(self, axes: Axes, noise: float) -> float:
        """Return the share of a table that E|noise| in a cell hides if columns are independent.

        Σ min(noise, Π shares). The fit knows that cells are not negative, so that noise does not
        cost more than what stands there.
        """
        return float(
            np.minimum(reduce(np.multiply.outer, [self.shares[a] for a in axes]), noise).sum()
        )


def choose_tree(
    tables: Marginals,
    n: float,
    plan: Plan,
    curator: TableCurator,
    start: Array | PublicStart | None = None,
) -> TreeFindings:
    """Measure the 1-way tables, choose a junction tree, and measure its pairs in batches.

    The tree has at most plan["cells"] cells.

    Pairs S of a batch are drawn, one after the other and none twice, by the score

        ‖table_S(P_n) − table_S(D)‖₁ − h · what noise will hide of table_S(D),   Δ = 2/n

    (h = `HIDDEN_NOISE_PENALTY`; `TableErrors`: D and what is taken off are released, so they do not
    move). D is the product of the noisy 1-way tables, and after every batch the fit to all that was
    measured, so that nothing is drawn that D says already. A pair is tied if the tree stays within
    the batch's limit, which grows by a constant factor from batch to batch: the first pairs would
    else spend all cells on a few large cliques. The tables of the pairs tied are measured
    `weight_tables_by_size`; where none is, all that were tied before are, or single columns, as the
    plan has paid for it. A plan that pays for no batches draws all pairs against the product, and
    measures none of them.
    """
    one_way = one_way_marginals(tables)
    noisy_tables, shares = measure_one_way_tables(one_way, plan, curator)
    search = _TreeSearch(tables, n, plan, start, noisy_tables, shares)
    batch_events = [event for event in plan.planned_events if event.name == BATCH_MEASUREMENT_NAME]
    batches = batch_events[0].times if batch_events else 1
    for batch in range(1, batches + 1):
        new_pairs = search.draw_pairs(batch, batches, curator)
        if batch_events:
            search.measure(new_pairs or search.tied_pairs or one_way.axes, curator)
        if batch < batches:
            search.refit()
    return TreeFindings(noisy_tables, shares, search.junction, frozenset(search.tied_pairs))


def measure_one_way_tables(
    one_way: Marginals, plan: Plan, curator: TableCurator
) -> tuple[NoisyTables, dict[int, Array]]:
    """Measure the 1-way tables; return them, shrunk to uniform, and every column's shares."""
    noisy_tables = NoisyTables(one_way.domain)
    for axes, table in one_way.slices.items():
        name = one_way_charge_name(table.stop - table.start)
        m = curator.measure(SomeAnswers(one_way, table), plan.spend_of(name))
        noisy_tables.add(axes, m.values, m.stddev)
    shares = {}
    shrunken_shares = shrink_to_uniform(noisy_tables.arrays())
    for (a,), noisy_shares in zip(one_way.axes, shrunken_shares, strict=True):
        shares[a] = floored_distribution(noisy_shares)
        # not cut off at 0, which the fit does itself
        noisy_tables.replace_values((a,), noisy_shares)
    return noisy_tables, shares


class _TreeSearch:
    """The search for a tree: the pairs tied so far, what was measured of them, and D's answers."""

    def __init__(
        self,
        tables: Marginals,
        n: float,
        plan: Plan,
        start: Array | PublicStart | None,
        noisy_tables: NoisyTables,
        shares: dict[int, Array],
    ) -> None:
        self.domain = tables.domain
        self.n = n
        self.plan = plan
        self.start = start
        self.noisy_tables = noisy_tables
        self.junction = constraint_junction_tree(tables.domain)
        self.findings = TreeFindings(noisy_tables, shares, self.junction, frozenset())
        self.pairs = column_pairs_in_tables(tables)
        self.weights = np.ones(len(self.pairs.tables))
        self.answers = np.concatenate(
            [np.outer(shares[a], shares[b]).ravel() for a, b in self.pairs.axes]
        )
        self.tied_pairs: list[Axes] = []
        self.stage_potentials = {}

    def draw_pairs(self, batch: int, batches: int, curator: TableCurator) -> list[Axes]:
        """Draw a batch of pairs, and tie those that keep the tree within the batch's limit."""
        cells = self.plan["cells"]
        growth = (1 - batch / batches) / 2
        max_tree_cells = cells * (self.findings.junction.cells / cells) ** growth
        penalties = self._pair_penalties(max_tree_cells)
        draws = self.plan["pairs"]
        new_pairs: list[Axes] = []
        for _ in range(draws * batch // batches - draws * (batch - 1) // batches):
            score = TableErrors(self.pairs, self.answers, penalties.copy(), self.weights)
            i = curator.select(score, self.plan.spend_of(PAIR_SELECTION_NAME))
            penalties[i] = DRAWN_PAIR_PENALTY
            axes = self.pairs.axes[i]
            larger_tree = self.junction
            if larger_tree.clique_containing(axes) is None:
                larger_tree = build_junction_tree(larger_tree.shape, [*larger_tree.cliques, axes])
            is_new = axes not in (*self.tied_pairs, *new_pairs)
            if larger_tree.cells <= max_tree_cells and is_new:
                self.junction = larger_tree
                new_pairs.append(axes)
        self.tied_pairs += new_pairs
        return new_pairs

    def _pair_penalties(self, max_tree_cells: float) -> Array:
        """Return what is taken off every pair's score: what noise will hide, or that it is out."""
        visible_answers = np.clip(self.answers, 0, self.plan["hides"])
        table_starts = [table.start for table in self.pairs.tables]
        penalties = HIDDEN_NOISE_PENALTY * np.add.reduceat(visible_answers, table_starts)
        if len(self.pairs.tables) <= MAX_WEIGHED_TABLES:
            fits = fitting_candidate_mask(
                self.pairs,
                self.weights > 0,
                [*self.junction.cliques],
                self.junction,
                max_tree_cells,
            )
            penalties[~fits] = DRAWN_PAIR_PENALTY
        penalties[[axes in self.tied_pairs for axes in self.pairs.axes]] = DRAWN_PAIR_PENALTY
        return penalties

    def measure(self, all_axes: Iterable[Axes], curator: TableCurator) -> None:
        """Measure tables with the budget of one batch."""
        spend = self.plan.spend_of(BATCH_MEASUREMENT_NAME)
        tables = Marginals.over_axes(self.domain, all_axes)
        statistic = weight_tables_by_size(tables, self.findings, spend, self.n)
        m = curator.measure(statistic, spend)
        self.noisy_tables.add_all(NoisyAnswers(tables, m.values, m.stddev))

    def refit(self) -> None:
        """Fit D to all that was measured; drop tied pairs that are weak, where noise is small."""
        tree = JunctionTreeModel(self.domain, self.junction)
        weight = BATCH_PRIOR_WEIGHT * math.sqrt(2 * self.noisy_tables.precision)
        *_, (D, _) = staged_fit(
            self.noisy_tables.arrays(),
            weight,
            MAX_BATCH_FIT_ITERATIONS,
            tree,
            self.start,
            self.stage_potentials,
        )
        fitted_model = GraphicalModel(self.domain, tree.junction, D)
        self.answers = fitted_model.answers(self.pairs)
        if self.plan["hides"] <= MAX_TRIM_NOISE:
            self.junction = fitted_model.without_weak_pairs(MAX_TRIM_L1_LOSS)
            self.noisy_tables.restrict(
                [S for S in self.noisy_tables if self.junction.clique_containing(S) is not None]
            )
            self.tied_pairs = [axes for axes in self.tied_pairs if axes in self.noisy_tables]


def weight_tables_by_size(
    tables: Marginals, findings: TreeFindings, spend: Gaussian, n: float
) -> WeightedTables:
    """Return the tables to measure together, weighted for the least total L1 noise.

    Table S with noise σ/w_S costs c_S σ/w_S, c_S being the cells in which there is more than noise:
    those of `hidden_share`, as the fit knows that cells are not negative. Δ₂² = 2 Σ_S w_S² being
    given, Σ_S c_S/w_S is least at w_S ∝ c_S^⅓. A little less is moved, as the fit takes off more of
    the noise in large tables.
    """
    noise = expected_abs_noise(spend, len(tables.tables), n)
    visible_cells = np.array([findings.hidden_share(axes, noise) for axes in tables.axes])
    return WeightedTables(
        tables,
        np.clip(
            (visible_cells / visible_cells.max()) ** (TABLE_WEIGHT_POWER / 2), MIN_TABLE_WEIGHT, 1
        ),
    )


def tables_inside_cliques(tables: Marginals, junction: JunctionTree) -> Marginals:
    """Return the tables, and subsets of two columns or more, inside a clique.

    Columns in none of these stay alone.
    """
    clique_tables = {
        B
        for axes in tables.axes
        for B in nonempty_subsets(axes)
        if len(B) > 1 and junction.clique_containing(B) is not None
    }
    lone_columns = {*queried_columns(tables)} - {a for B in clique_tables for a in B}
    return Marginals.over_axes(
        tables.domain,
        sorted([*clique_tables, *((a,) for a in lone_columns)], key=lambda B: (len(B), B)),
    )
