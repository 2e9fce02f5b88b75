"""A provisional fit on the tree of an earlier run, for whoever explores.

Sees a curator, never rows.

A run spends most of its time on the search for a tree, and on a fit that begins with nothing. While
a person moves ε, the last run's tree and potentials are near those to come. A provisional release
made from them says within seconds about what the run will find. It is shown until the run has ended
and never released: a run itself begins with nothing, so that it depends on its seed alone.
"""

import math

from ....core.types import Array, Axes, frozen
from ....models.junction_tree import JunctionTree
from ....models.tree_model import JunctionTreeModel
from ....privacy.accounting import Plan
from ....privacy.curators.table_curator import TableCurator
from ....privacy.noisy_answers import NoisyAnswers
from ....problems import PublicStart
from ....queries import Marginals
from ...marginal_shares import one_way_marginals
from ...noisy_tables import NoisyTables
from .clique_selection import (
    BATCH_MEASUREMENT_NAME,
    TREE_MEASUREMENT_NAME,
    TreeFindings,
    measure_one_way_tables,
    tables_inside_cliques,
    weight_tables_by_size,
)
from .maximum_entropy_fit import StagePotentials, staged_fit
from .tree_measurement import tables_worth_measuring

# iterations of each stage, which go on from the earlier run's potentials, times cells of the tree:
# of 2.7 million cells twelve took 2 s; on a tree of 1.4 million, eight left a fourth more rows in a
# wrong cell than the run that followed, and eighteen as many
MAX_CELL_ITERATIONS = 35_000_000
ITERATIONS_RANGE = (8, 30)
# cells of the earlier tree over those that the plan allows, which are fewer at a smaller ε
MAX_EARLIER_CELLS_RATIO = 4
PROVISIONAL_CONVERGED_GRADIENT = 0.5  # in standard deviations of the noise


@frozen
class TreeFit:
    """A run's junction tree, and the potentials of its tables by stage: of noisy answers alone."""

    junction: JunctionTree
    potentials: StagePotentials

    @property
    def pairs(self) -> list[Axes]:
        """The pairs of columns that the run measured, in order."""
        return sorted({axes for _, axes in self.potentials if len(axes) == 2})


def measure_earlier_tree(
    tables: Marginals, n: float, plan: Plan, curator: TableCurator, earlier: TreeFit
) -> NoisyTables:
    """Return the noisy answers of an earlier run's tables, with the noise that the plan has.

    The pairs that the earlier run chose are measured in the plan's batches, in the place of those
    that would be drawn; what the draws would cost is left.
    """
    noisy_tables, shares = measure_one_way_tables(one_way_marginals(tables), plan, curator)
    pairs = earlier.pairs
    findings = TreeFindings(noisy_tables, shares, earlier.junction, frozenset(pairs))
    tree_tables = tables_inside_cliques(tables, earlier.junction)
    batches = [event for event in plan.planned_events if event.name == BATCH_MEASUREMENT_NAME]
    parts = []
    for event in batches:
        parts += [(event.spend, pairs[i :: event.times] or pairs) for i in range(event.times)]
    spend = plan.spend_of(TREE_MEASUREMENT_NAME)
    parts.append((spend, tables_worth_measuring(tree_tables, findings, spend, n).axes))
    for part_spend, axes in parts:
        part = Marginals.over_axes(tables.domain, axes)
        m = curator.measure(weight_tables_by_size(part, findings, part_spend, n), part_spend)
        noisy_tables.add_all(NoisyAnswers(part, m.values, m.stddev))
    return noisy_tables


def provisional_iterations(cells: int) -> int:
    """Return the iterations of each stage on a tree of so many cells."""
    low, high = ITERATIONS_RANGE
    return max(low, min(high, MAX_CELL_ITERATIONS // cells))


def provisional_fit(
    noisy_tables: NoisyTables,
    model: JunctionTreeModel,
    alpha: float,
    earlier: TreeFit,
    start: Array | PublicStart | None,
) -> Array:
    """Return the beliefs (size,) of a short fit that goes on from an earlier run's potentials."""
    *_, (beliefs, _) = staged_fit(
        noisy_tables.arrays(),
        alpha * math.sqrt(2 * noisy_tables.precision),
        provisional_iterations(model.size),
        model,
        start,
        dict(earlier.potentials),
        is_preconditioned=True,
        converged_gradient=PROVISIONAL_CONVERGED_GRADIENT,
    )
    return beliefs
