"""Which model a problem gets, and which columns a junction tree ties together. Sees a Curator, never records."""

import math
from collections.abc import Iterable
from itertools import combinations

import numpy as np

from ..errors import InputError
from ..models.base import Model
from ..models.cells import Cells
from ..models.junction import Axes, JunctionTree, cells, fewest_cells, junction_tree
from ..models.structural import tied
from ..models.tree import Tree
from ..privacy.accounting.budget import BoundedRange, Budget, Gaussian, Pure
from ..privacy.accounting.calibrations import MARGIN, enlarged
from ..privacy.accounting.ledger import Charge, Choice, Plan
from ..privacy.curator import Curator
from ..privacy.measurement import Measurement
from ..privacy.statistics.answers import Answers
from ..privacy.statistics.scores import TableErrors
from ..problems import MAX_CELLS, QueryRelease
from ..workloads import Marginals, Workload
from ..workloads.marginals import subsets
from ..workloads.union import marginal_tables
from .evidence import Evidence, Pool, shares_of, singles_of

LARGE, SIGNAL, RANGE = 1_000_000, 200, (10_000, 3_000_000)  # cells of a tree: by public sizes, and by n√ρ
STEPWISE = (10_000, 300_000)  # the same where the model is fitted anew after every table
MOST_WEIGHED = 2_000  # tables that are weighed anew in every round
NEVER = 100.0  # scales of the noise on scores by which a table without room is behind all others
MOST_ASKED = 50_000_000  # cells of all tables together, which every release must answer
SINGLE_NOISE, SINGLES = 0.1, (0.05, 0.25)  # L1 noise on a column, and the range of the share of ρ that keeps it so low
CHOOSING = 0.05  # share of ρ for drawing pairs
PICKS, SCORE_NOISE = (1, 6), 0.05  # pairs drawn for each column: as many as keep the noise on their scores so low
DRAWN = 4.0  # taken off the score of a pair that was drawn, so that it is the least: a score is within 0..2


def model_of(problem: QueryRelease, measured: Workload, most: int | None) -> Model | None:
    """All cells where they are at most `most` (10⁷ by default), else a tree over the measured tables, if it is small.

    None where such a tree would hold more than `most` cells (10⁶ by default): then tables must be chosen. Decided by
    public sizes. Raises InputError where queries are not read off tables: that needs all cells, as a listed start does.
    """
    domain, tables = problem.domain, marginal_tables(measured)
    if tables is None:
        problem.require_enumerable()
    if tables is None or lists(problem, most):
        return Cells(domain)
    limit = max(most or LARGE, tied(domain).cells)  # single columns always fit
    if fewest_cells(domain.shape, tables.axes) > limit:
        return None
    junction = junction_tree(domain.shape, [*tables.axes, *domain.zeros])
    return Tree(domain, junction) if junction.cells <= limit else None


def pairs_of(tables: Marginals) -> Marginals:
    """Every pair of columns that some table reads together."""
    return Marginals.over(tables.domain, sorted({pair for axes in tables.axes for pair in combinations(axes, 2)}))


class Room:
    """Which model holds the tables measured so far, and which candidates could be measured beside them.

    Any, where all cells are listed (at most `most`, 10⁷ by default). Else those that leave the junction tree over all
    measured tables with at most `most` cells; what had no room once never gets any. By public sizes and by which tables
    were measured, which a plan or a released choice decides.
    """

    def __init__(self, candidates: Marginals, most: int, *, listed: bool) -> None:
        self.domain, self.candidates, self.most = candidates.domain, candidates, most
        self.free = np.ones(len(candidates.tables), dtype=bool)
        self._model: Model | None = Cells(self.domain) if listed else None

    def model(self, measured: Iterable[Axes]) -> Model:
        """The model that holds these tables, all of which there was room for."""
        if isinstance(self._model, Cells):
            return self._model
        measured = list(measured)
        junction = junction_tree(self.domain.shape, [*measured, *self.domain.zeros])
        if not isinstance(self._model, Tree) or junction != self._model.junction:
            self._model = Tree(self.domain, junction)
            self._look(measured, junction)
        return self._model

    def _look(self, measured: list[Axes], junction: JunctionTree) -> None:
        """Which candidates there still is room for."""
        found: dict[tuple[Axes, ...], bool] = {}  # by the pairs that a candidate ties anew
        fixed = [*measured, *self.domain.zeros]
        joined = {pair for axes in fixed for pair in combinations(axes, 2)}
        for i in np.flatnonzero(self.free):
            axes = self.candidates.axes[i]
            new = tuple(pair for pair in combinations(axes, 2) if pair not in joined)
            if new and junction.home(axes) is None:
                if new not in found:
                    small = cells(self.domain.shape, axes) <= self.most
                    found[new] = small and junction_tree(self.domain.shape, [*fixed, axes]).cells <= self.most
                self.free[i] = found[new]


def room_of(problem: QueryRelease, tables: Marginals, budget: Budget, most: int | None, who: str) -> Choice:
    """How many cells a model of tables chosen one by one may hold; InputError where that is out of reach."""
    if lists(problem, most):
        return Choice("cells", problem.domain.size, "all there are")
    if len(tables.tables) > MOST_WEIGHED:
        raise InputError(
            f"{who} weighs {len(tables.tables):,} tables in every round, more than {MOST_WEIGHED:,} on a tree; "
            "choose gaussian_maxent, or fewer columns"
        )
    return cells_of(problem, tables, budget, most)


def cells_of(problem: QueryRelease, tables: Marginals, budget: Budget, most: int | None) -> Choice:
    """How many cells a tree may hold that is passed in every round; InputError for tables of too many cells."""
    if tables.m > MOST_ASKED:
        raise InputError(f"the tables asked have {tables.m:,} cells, more than {MOST_ASKED:,}; ask for smaller ones")
    alone = tied(problem.domain).cells  # single columns always fit, and constraints
    if most:
        return Choice("cells", max(most, alone), "given, or what single columns take")
    low, high = STEPWISE
    best = round(min(max(SIGNAL * problem.effective_n * math.sqrt(budget.rho), low), high))
    return Choice("cells", max(best, alone), f"of all cliques together: {SIGNAL} n√ρ, within {low:,}..{high:,}")


def lists(problem: QueryRelease, most: int | None) -> bool:
    """Whether all cells are listed: at most `most`, 10⁷ by default, of them, or a listed public start.

    Raises InputError where such a start has too many.
    """
    if problem.domain.size <= (most or MAX_CELLS) or isinstance(problem.start, np.ndarray):
        problem.require_enumerable()
        return True
    return False


def barring(penalties: np.ndarray, weights: np.ndarray, free: np.ndarray, scale: float) -> np.ndarray:
    """Penalties (tables,) for `TableErrors` under which a table that is not free is picked with probability < e^-90.

    Weighted distances are within 0..2 max w, so that one that is not free scores at least NEVER · scale less than any
    other, `scale` being that of the noise on scores; 10^4 tables add up to e^9 times e^-NEVER.
    """
    lowest = 2 * weights.max() + (weights * penalties).max() + NEVER * scale
    return np.where(free, penalties, lowest / weights)


def chosen_tables(
    tables: Marginals, n: float, budget: Budget, most: int | None
) -> tuple[tuple[Charge, ...], tuple[Choice, ...]]:
    """Charges and choices of `measure_chosen`: 1-way tables, draws of pairs, and one measurement of what a tree holds.

    They are shares of ρ, and all three enlarged together. InputError when δ = 0, which no Gaussian noise can promise.
    """
    if budget.delta == 0:
        raise InputError("delta=0 cannot be promised with Gaussian noise; choose delta > 0, or gem or rap")
    if tables.m > MOST_ASKED:
        raise InputError(f"the tables asked have {tables.m:,} cells, more than {MOST_ASKED:,}; ask for smaller ones")
    singles, pairs, rho, signal = singles_of(tables), pairs_of(tables), budget.rho * MARGIN, n * math.sqrt(budget.rho)
    times, share = draws_of(tables, n, budget), single_share(tables, n, budget)
    first, rest = (Gaussian(math.sqrt(2 * part * rho)) for part in (share, 1 - share - CHOOSING))
    draw = BoundedRange(math.sqrt(8 * CHOOSING * rho / times))
    first, draw, rest = enlarged(budget, (first, 1), (draw, times), (rest, 1))
    spends = (
        Charge("measure", first, statistic=Answers(singles)),
        Charge("select", draw, times, statistic=TableErrors),
        Charge("measure", rest, statistic=Answers),
    )
    why = f"of all cliques together: {SIGNAL} n√ρ, within {RANGE[0]:,}..{RANGE[1]:,}"
    rule = most or round(min(max(SIGNAL * signal, RANGE[0]), RANGE[1]))
    if (least := tied(tables.domain).cells) > rule:
        rule, why = least, "as many as single columns and the tables of the schema's constraints have"
    elif most:
        why = "given"
    return spends, (
        Choice("cells", rule, why),
        Choice(
            "pairs", times, f"of {len(pairs.tables)}, drawn by how far they seem from independent, while draws tell"
        ),
        Choice("first", share, f"share of ρ for 1-way tables: L1 noise of {SINGLE_NOISE:g} on a column, if in range"),
        Choice("choosing", CHOOSING, "share of ρ for drawing pairs"),
    )


def draws_of(tables: Marginals, n: float, budget: Budget) -> int:
    """How many pairs are drawn: T draws have noise of scale 2Δ/(nε₀) = 4/(n √(8 share ρ/T)) on scores of tables."""
    columns, pairs = len(singles_of(tables).tables), len(pairs_of(tables).tables)
    clear = 8 * CHOOSING * budget.rho * (SCORE_NOISE * n / 4) ** 2
    return min(round(min(max(clear, PICKS[0] * columns), PICKS[1] * columns)), pairs)


def single_share(tables: Marginals, n: float, budget: Budget) -> float:
    """Share of ρ for 1-way tables that keeps the L1 noise on a column low, if it is in range."""
    singles = singles_of(tables)
    needed = 2 / math.pi * singles.m**2 / (len(singles.tables) * (SINGLE_NOISE * n) ** 2 * budget.rho)
    return min(max(needed, SINGLES[0]), SINGLES[1])


def choose_tree(
    tables: Marginals, plan: Plan, curator: Curator, first: Gaussian | Pure, draw: BoundedRange | Pure
) -> tuple[Marginals, Measurement, JunctionTree]:
    """The 1-way tables, their noisy answers, and a tree of at most plan["cells"] cells over pairs of columns.

    Pairs S are drawn, one after the other and none twice, by the score ‖table_S(P_n) − product of its noisy 1-way
    tables‖₁, Δ = 2/n (`TableErrors`: the product is released, so it does not move). A pair is tied if the tree stays
    within its limit with it.
    """
    shape, singles, pairs = tables.domain.shape, singles_of(tables), pairs_of(tables)
    alone = curator.measure(Answers(singles), first)
    junction = tied(tables.domain)
    shares = {a: part for (a,), part in zip(singles.axes, shares_of(singles, alone.values), strict=True)}
    independent = np.concatenate([np.outer(shares[a], shares[b]).ravel() for a, b in pairs.axes])
    drawn, weights = np.zeros(len(pairs.tables)), np.ones(len(pairs.tables))
    for _ in range(plan["pairs"]):
        i = curator.select(TableErrors(pairs, independent, drawn.copy(), weights), draw)
        drawn[i] = DRAWN
        if junction.home(pairs.axes[i]) is None:
            larger = junction_tree(shape, [*junction.cliques, pairs.axes[i]])
            junction = larger if larger.cells <= plan["cells"] else junction
    return singles, alone, junction


def measure_chosen(tables: Marginals, plan: Plan, curator: Curator) -> tuple[Evidence, Tree]:
    """Noisy answers of the tables that a tree holds, and the model on that tree, of at most plan["cells"] cells.

    The tree is that of `choose_tree`. All tables inside a clique, that are asked or part of one that is, are measured
    together, Δ₂ = √(2 · tables)/n. Which these are depends on released values only.
    """
    first, draw, rest = (charge.spend for charge in plan.charges)
    singles, alone, junction = choose_tree(tables, plan, curator, first, draw)  # type: ignore[arg-type]
    measured = held(tables, junction)
    noisy = curator.measure(Answers(measured), rest)  # type: ignore[arg-type]
    found = Pool(tables)
    found.add_all(singles, alone.values, alone.stddev)
    found.add_all(measured, noisy.values, noisy.stddev)
    return found.evidence, Tree(tables.domain, junction)


def held(tables: Marginals, junction: JunctionTree) -> Marginals:
    """Of tables and their subsets of two columns or more those inside a clique, and what columns that leaves alone."""
    inside = {B for axes in tables.axes for B in subsets(axes) if len(B) > 1 and junction.home(B) is not None}
    alone = {a for axes in tables.axes for a in axes} - {a for B in inside for a in B}
    return Marginals.over(tables.domain, sorted([*inside, *((a,) for a in alone)], key=lambda B: (len(B), B)))
