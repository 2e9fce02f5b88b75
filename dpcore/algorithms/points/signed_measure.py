"""The Private Signed Measure Mechanism: count on a grid, add noise, project.

Sees a Curator, never records.

About m cells with centres V; m_i = share of points nearest to V_i, plus N(0, 2/(nμ)²) with the
whole budget, or Laplace noise of scale 2/(nε) at δ = 0; μ' = argmin D_BL(m, ·) over the
distributions on V. Algorithm 5 prints the variance log(1/δ)/ε² on counts, which is not (ε,
δ)-differentially private: 2/μ² is what is needed.
"""

import numpy as np

from ...core.errors import InputError
from ...core.parameters import parameter_field
from ...core.types import Array, Rng, by_name
from ...models.releases import ReleasedPoints
from ...privacy.accounting import Budget, Plan, PlannedEvent, Setting, noise_spend
from ...privacy.curators.point_curator import PointCurator
from ...privacy.measurement import noise_stddev
from ...privacy.statistics import Votes
from ...problems import PointRelease
from ...problems.regions import BoundedRegion
from ..algorithm import Algorithm, Step, Steps
from . import evolution_bounds as theory
from .evolution_steps import distribution_from_shares

MAX_DEFAULT_CELLS = 8_000  # limit of the rule: beyond it the projection takes long
# divisor of the theorem's number of cells, by dimension: it balances bounds, and 8 times fewer are
# better for d = 1
CELL_DIVISOR_BY_DIMENSION = {1: 8}


@by_name
class PSMM(Algorithm):
    """The Private Signed Measure Mechanism: noisy counts on a grid, and the nearest distribution.

    cells m = nε/√log(1/δ) (nε at δ = 0), an eighth of that for d = 1, at most 8,000, unless given.
    Raises InputError for a grid of more than 5,000,000 cells around the region.
    Source: He, Vershynin, Zhu 2023 (δ = 0); Gonzalez, Fanti, Ramdas 2025, Algorithm 5 (δ > 0).

    >>> ball, x = Ball(np.zeros(2), 1.0), np.linspace(0, 0.5, 300)
    >>> rows = read_point_rows(ball, ["x", "y"], pd.DataFrame({"x": x, "y": 0.2}))
    >>> problem = PointRelease(ball, rows.n, ("x", "y"))
    >>> Run(PSMM(), problem, rows, Budget(1.0, 1e-6)).finish().sample(10).shape
    (10, 2)
    """

    cells: int | None = parameter_field(
        None,
        "boxes of the grid, about",
        symbol="m",
        low=1,
        high=100_000,
        log=True,
        auto="nε/√log(1/δ): Theorem H.1",
    )
    post: str = parameter_field(
        "bounded-lipschitz",
        "how noisy counts become a distribution",
        choices=("bounded-lipschitz", "simplex", "truncate"),
    )

    problem = PointRelease

    def plan(self, problem: PointRelease, budget: Budget) -> Plan:
        """Return a plan of one release of counts with the whole budget."""
        n = problem.effective_n
        d = problem.d
        spend = noise_spend(budget)
        why = "b√2/(nμ)" if budget.delta > 0 else "√2 · 2b/(nε)"
        sigma = noise_stddev(Votes, spend, n)
        default_cells = theory.partition_cell_count(
            n=n, epsilon=budget.epsilon, delta=budget.delta
        ) / CELL_DIVISOR_BY_DIMENSION.get(d, 1)
        rule = "nε/√log(1/δ) (nε at δ = 0), an eighth of it for d = 1, at most 8,000"
        choices = (
            Setting("rounds", 1, "one release"),
            self.choose_default(
                "cells", round(min(max(default_cells, 1), MAX_DEFAULT_CELLS)), rule
            ),
            *self.as_settings("post"),
            Setting("sigma", sigma, f"standard deviation of the noise on every share, {why}"),
        )
        return Plan(budget, (PlannedEvent("measure", spend, statistic=Votes),), choices)

    def steps(self, problem: PointRelease, plan: Plan, curator: PointCurator, rng: Rng) -> Steps:
        """Yield one step with the projected counts."""
        V = box_centres(problem.region, plan["cells"])
        m = curator.measure(Votes(V), plan.spend_of("measure")).values
        weights = distribution_from_shares(m, self.post, V, problem.diameter, 0.0)
        note = f"{len(V):,} boxes"
        if not weights.any():
            weights = np.full(len(V), 1 / len(V))
            note = f"{note}, no count was left: uniform on all of them"
        yield Step(1, ReleasedPoints(V, weights, problem.names), note)


MAX_BOX_CELLS = 5_000_000  # cells of the box around a region


def box_centres(region: BoundedRegion, cells: int) -> Array:
    """Return the centres (v, d) of the nearly equal boxes of a grid inside the region.

    There are about `cells` of them. A box around a ball is taken with as many more cells as it is
    larger than what is kept of them.
    """
    low, high = region.corners
    sides = high - low
    grid_cells = float(cells)
    best_centres = np.zeros((0, region.d))
    for _ in range(8):
        if grid_cells > MAX_BOX_CELLS:
            break
        width = (np.prod(sides) / grid_cells) ** (1 / region.d)
        counts = np.maximum(1, np.rint(sides / width)).astype(int)
        if np.prod(counts, dtype=float) > MAX_BOX_CELLS:
            break
        axes = [
            a + (np.arange(k) + 0.5) * (side / k)
            for a, side, k in zip(low, sides, counts, strict=True)
        ]
        V = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, region.d)
        V = V[np.all(np.isclose(region.project(V), V, atol=1e-12 * region.diameter), axis=1)]
        if abs(len(V) - cells) < abs(len(best_centres) - cells) or not len(best_centres):
            best_centres = V
        grid_cells *= max(cells / max(len(V), 1), 1.0 if len(V) else 2.0)
        if len(V) >= 0.95 * cells:
            break
    if not len(best_centres):
        raise InputError(
            f"cells={cells} is too few for a grid in {region}; more, or another algorithm, are "
            "needed"
        )
    return best_centres
