"""Which model a problem gets, and which columns a junction tree ties together. Sees a Curator, never records."""

import math
from itertools import combinations

import numpy as np

from ..errors import InputError
from ..models.base import Model
from ..models.cells import Cells
from ..models.junction import JunctionTree, fewest_cells, junction_tree
from ..models.structural import tied
from ..models.tree import Tree
from ..privacy.accounting.budget import BoundedRange, Budget, Gaussian
from ..privacy.accounting.calibrations import MARGIN, enlarged
from ..privacy.accounting.ledger import Charge, Choice, Plan
from ..privacy.curator import Curator
from ..privacy.statistics.answers import Answers
from ..privacy.statistics.scores import TableErrors
from ..problems import MAX_CELLS, QueryRelease
from ..workloads import Marginals, Workload
from ..workloads.marginals import subsets
from ..workloads.union import marginal_tables
from .evidence import Evidence, Pool, shares_of, singles_of

LARGE, SIGNAL, RANGE = 1_000_000, 200, (10_000, 3_000_000)  # cells of a tree: by public sizes, and by n√ρ
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
    if domain.size <= (most or MAX_CELLS) or isinstance(problem.start, np.ndarray) or tables is None:
        problem.require_enumerable()
        return Cells(domain)
    limit = max(most or LARGE, tied(domain).cells)  # single columns always fit
    if fewest_cells(domain.shape, tables.axes) > limit:
        return None
    junction = junction_tree(domain.shape, [*tables.axes, *domain.zeros])
    return Tree(domain, junction) if junction.cells <= limit else None


def pairs_of(tables: Marginals) -> Marginals:
    """Every pair of columns that some table reads together."""
    return Marginals.over(tables.domain, sorted({pair for axes in tables.axes for pair in combinations(axes, 2)}))


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
    singles, pairs = singles_of(tables), pairs_of(tables)
    columns, rho = len(singles.tables), budget.rho * MARGIN
    signal = n * math.sqrt(budget.rho)
    # T draws have noise of scale 2Δ/(nε₀) = 4/(n √(8 share ρ/T)) on scores of tables.
    clear = 8 * CHOOSING * (SCORE_NOISE * signal / 4) ** 2
    times = min(round(min(max(clear, PICKS[0] * columns), PICKS[1] * columns)), len(pairs.tables))
    share = min(max(2 / math.pi * singles.m**2 / (columns * (SINGLE_NOISE * signal) ** 2), SINGLES[0]), SINGLES[1])
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


def measure_chosen(tables: Marginals, plan: Plan, curator: Curator) -> tuple[Evidence, Tree]:
    """Noisy answers of the tables that a tree holds, and the model on that tree, of at most plan["cells"] cells.

    The 1-way tables are measured; then pairs S of columns are drawn, one after the other and none twice, by the score
    ‖table_S(P_n) − product of its noisy 1-way tables‖₁, Δ = 2/n (`TableErrors`: the product is released, so it does not
    move). A pair is tied if the tree stays within its limit with it. All tables inside a clique, that are asked or part
    of one that is, are then measured together, Δ₂ = √(2 · tables)/n. Which these are depends on released values only.
    """
    domain, singles, pairs = tables.domain, singles_of(tables), pairs_of(tables)
    first, draw, rest = (charge.spend for charge in plan.charges)
    alone = curator.measure(Answers(singles), first)  # type: ignore[arg-type]
    shares = {a: part for (a,), part in zip(singles.axes, shares_of(singles, alone.values), strict=True)}
    independent = np.concatenate([np.outer(shares[a], shares[b]).ravel() for a, b in pairs.axes])
    junction = tied(domain)
    drawn, weights = np.zeros(len(pairs.tables)), np.ones(len(pairs.tables))
    for _ in range(plan["pairs"]):
        score = TableErrors(pairs, independent, drawn.copy(), weights)
        i = curator.select(score, draw)  # type: ignore[arg-type]
        drawn[i] = DRAWN
        if junction.home(pairs.axes[i]) is None:
            larger = junction_tree(domain.shape, [*junction.cliques, pairs.axes[i]])
            junction = larger if larger.cells <= plan["cells"] else junction
    measured = held(tables, junction)
    noisy = curator.measure(Answers(measured), rest)  # type: ignore[arg-type]
    found = Pool(domain)
    found.add_all(singles, alone.values, alone.stddev)
    found.add_all(measured, noisy.values, noisy.stddev)
    return found.evidence, Tree(domain, junction)


def held(tables: Marginals, junction: JunctionTree) -> Marginals:
    """Of tables and their subsets of two columns or more those inside a clique, and what columns that leaves alone."""
    inside = {B for axes in tables.axes for B in subsets(axes) if len(B) > 1 and junction.home(B) is not None}
    alone = {a for axes in tables.axes for a in axes} - {a for B in inside for a in B}
    return Marginals.over(tables.domain, sorted([*inside, *((a,) for a in alone)], key=lambda B: (len(B), B)))
