"""Groups of many points, and bounds on W1 of the points from a transport between groups."""

import numpy as np
from scipy.spatial.distance import cdist

from ..core.types import Array, frozen

DISTANCES_PER_BLOCK = 4_000_000  # distances computed at once
# largest number of point pairs of two groups whose mean distance is computed, not bounded
MAX_EXACT_PAIRS = 2_000


@frozen
class PointGroups:
    """Groups of points: centres of mass (g, d), masses (g,), members and sizes (g,).

    `group_of_point` (r,): each point's group. `mean_distance` (g,): the mean distance of a group's
    points to its centre.
    """

    centres: Array
    mass: Array
    group_of_point: Array
    size: Array
    mean_distance: Array


def group_points(X: Array, a: Array, max_groups: int) -> PointGroups:
    """Return groups of points by the cells of a grid, at most `max_groups` occupied ones.

    Few points stay single.
    """
    group_of_point = np.arange(len(X))
    if len(X) > 2.5 * max_groups:
        low = X.min(axis=0)
        span = float(np.ptp(X, axis=0).max())
        coarse = 0.5  # cells a side: one cell in all
        fine = 4 * max_groups ** (1 / X.shape[1])
        for _ in range(12):
            middle = (coarse + fine) / 2
            keys = np.minimum((X - low) / span * middle, middle).astype(np.int64)
            cell_numbers = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
            if cell_numbers.max() < max_groups:
                coarse = middle
                group_of_point = cell_numbers
            else:
                fine = middle
        group_of_point = (
            group_of_point if group_of_point.max() < max_groups else np.zeros(len(X), dtype=int)
        )
    mass = np.bincount(group_of_point, a)
    size = np.bincount(group_of_point)
    centres = np.column_stack([np.bincount(group_of_point, a * x) / mass for x in X.T])
    return PointGroups(
        centres,
        mass,
        group_of_point,
        size,
        np.bincount(group_of_point, a * np.linalg.norm(X - centres[group_of_point], axis=1)) / mass,
    )


def bound_w1_by_groups(
    X: Array,
    a: Array,
    source_groups: PointGroups,
    Y: Array,
    b: Array,
    target_groups: PointGroups,
    arcs: Array,
    arc_masses: Array,
    v: Array,
) -> tuple[float, float]:
    """Return a lower and an upper bound on W1 between points, from flows between their groups.

    The flows are masses `arc_masses` on arcs i · q + j. At most: every point of a group ships to
    those of another in proportion to their weights. At least: Σ a f(X) − Σ b f(Y) with f(z) = min_j
    |z − centre_j| − v_j, v (q,) the duals of the flows: 1-Lipschitz whatever they are.
    """
    i, j = np.divmod(arcs, len(target_groups.mass))
    arc_costs = (
        np.linalg.norm(source_groups.centres[i] - target_groups.centres[j], axis=1)
        + source_groups.mean_distance[i]
        + target_groups.mean_distance[j]
    )
    exact_arcs = np.flatnonzero(source_groups.size[i] * target_groups.size[j] <= MAX_EXACT_PAIRS)
    gi = i[exact_arcs]
    gj = j[exact_arcs]
    count = source_groups.size[gi] * target_groups.size[gj]
    arc = np.repeat(np.arange(len(exact_arcs)), count)
    k = np.arange(len(arc)) - np.repeat(np.cumsum(count) - count, count)
    width = target_groups.size[gj][arc]
    x = np.argsort(source_groups.group_of_point, kind="stable")
    y = np.argsort(target_groups.group_of_point, kind="stable")
    x = x[(np.cumsum(source_groups.size) - source_groups.size)[gi][arc] + k // width]
    y = y[(np.cumsum(target_groups.size) - target_groups.size)[gj][arc] + k % width]
    shares = a[x] / source_groups.mass[gi][arc] * b[y] / target_groups.mass[gj][arc]
    arc_costs[exact_arcs] = np.bincount(
        arc, shares * np.linalg.norm(X[x] - Y[y], axis=1), len(exact_arcs)
    )
    upper_bound = float(arc_masses @ arc_costs)
    lower_bound = float(
        a @ _lower_potential(X, target_groups.centres, v)
        - b @ _lower_potential(Y, target_groups.centres, v)
    )
    return min(lower_bound, upper_bound), upper_bound


def _lower_potential(Z: Array, centres: Array, v: Array) -> Array:
    """Return min_j |z − centre_j| − v_j at every point z of Z (r,)."""
    step = max(1, DISTANCES_PER_BLOCK // len(centres))
    return np.concatenate(
        [(cdist(Z[s : s + step], centres) - v).min(axis=1) for s in range(0, len(Z), step)]
    )
