"""The measurement of a chosen tree's tables. Sees a Curator, never rows."""

from ....core.types import Array, Axes
from ....models.tree_model import JunctionTreeModel
from ....privacy.accounting import Gaussian, Plan
from ....privacy.curators.table_curator import TableCurator
from ....privacy.noisy_answers import NoisyAnswers
from ....problems import PublicStart
from ....queries import Marginals
from ...noisy_tables import NoisyTables
from .clique_selection import (
    TREE_MEASUREMENT_NAME,
    TreeFindings,
    choose_tree,
    expected_abs_noise,
    tables_inside_cliques,
    weight_tables_by_size,
)

# share of a table's mass that noise may hide for it to be measured beside the pairs that were drawn
MAX_HIDDEN_SHARE = 0.02


def choose_tree_and_measure(
    tables: Marginals,
    n: float,
    plan: Plan,
    curator: TableCurator,
    start: Array | PublicStart | None,
) -> tuple[NoisyTables, JunctionTreeModel]:
    """Return the noisy answers of a chosen tree's tables, and the model on that tree.

    The tree is that of `choose_tree`, of at most plan["cells"] cells. Those of its tables that are
    `tables_worth_measuring` are measured `weight_tables_by_size`; which these are, and how much
    noise each gets, depends on released values only.
    """
    findings = choose_tree(tables, n, plan, curator, start)
    spend = plan.spend_of(TREE_MEASUREMENT_NAME)
    measured_tables = tables_worth_measuring(
        tables_inside_cliques(tables, findings.junction), findings, spend, n
    )
    m = curator.measure(weight_tables_by_size(measured_tables, findings, spend, n), spend)
    findings.noisy_tables.add_all(NoisyAnswers(measured_tables, m.values, m.stddev))
    return findings.noisy_tables, JunctionTreeModel(tables.domain, findings.junction)


def tables_worth_measuring(
    tables: Marginals, findings: TreeFindings, spend: Gaussian, n: float
) -> Marginals:
    """Return the tables worth measuring: the pairs drawn, and others in which noise hides little.

    Those of which it hides the most are left out, one after the other.
    """
    weights = dict(
        zip(tables.axes, weight_tables_by_size(tables, findings, spend, n).weights, strict=True)
    )
    remaining = list(tables.axes)
    total_weight = sum(w * w for w in weights.values())

    def hidden_share(axes: Axes) -> float:
        return findings.hidden_share(
            axes, expected_abs_noise(spend, total_weight / weights[axes] ** 2, n)
        )

    other_tables = set(remaining) - findings.drawn_pairs
    for axes in sorted(other_tables, key=lambda axes: (-hidden_share(axes), axes)):
        if len(remaining) == 1 or hidden_share(axes) <= MAX_HIDDEN_SHARE:
            break
        remaining.remove(axes)
        total_weight -= weights[axes] ** 2
    return Marginals.over_axes(tables.domain, remaining)
