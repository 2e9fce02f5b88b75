"""Groups of many points, and bounds on W1 of the points from a transport between groups."""

import numpy as np
from scipy.spatial.distance import cdist

from ..core.types import Array, frozen

BLOCK = 4_000_000  # distances computed at once
PAIRS = 2_000  # largest number of point pairs of two groups whose mean distance is computed, not bounded


@frozen
class Groups:
    """Groups of points: centres of mass (g, d), masses (g,), each point's group `place` (r,), and sizes (g,).

    `spread` (g,): the mean distance of a group's points to its centre.
    """

    centres: Array
    mass: Array
    place: Array
    size: Array
    spread: Array


def grouped(X: Array, a: Array, large: int) -> Groups:
    """The groups of points by the cells of a grid with at most `large` occupied cells; single points if few."""
    group_of_point = np.arange(len(X))
    if len(X) > 2.5 * large:
        low, span = X.min(axis=0), float(np.ptp(X, axis=0).max())
        coarse, fine = 0.5, 4 * large ** (1 / X.shape[1])  # cells a side: the first is one cell in all
        for _ in range(12):
            middle = (coarse + fine) / 2
            keys = np.minimum((X - low) / span * middle, middle).astype(np.int64)
            cell_numbers = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
            is_small_enough = cell_numbers.max() < large
            coarse, fine, group_of_point = (
                (middle, fine, cell_numbers) if is_small_enough else (coarse, middle, group_of_point)
            )
        group_of_point = group_of_point if group_of_point.max() < large else np.zeros(len(X), dtype=int)
    mass, size = np.bincount(group_of_point, a), np.bincount(group_of_point)
    centres = np.column_stack([np.bincount(group_of_point, a * x) / mass for x in X.T])
    return Groups(
        centres,
        mass,
        group_of_point,
        size,
        np.bincount(group_of_point, a * np.linalg.norm(X - centres[group_of_point], axis=1)) / mass,
    )


def between(
    X: Array, a: Array, from_: Groups, Y: Array, b: Array, to: Groups,
    arcs: Array, moved: Array, v: Array,
) -> tuple[float, float]:  # fmt: skip
    """A lower and an upper bound on W1 between points, from masses `moved` on arcs i · q + j between their groups.

    At most: every point of a group ships to those of another in proportion to their weights. At least: Σ a f(X) −
    Σ b f(Y) with f(z) = min_j |z − centre_j| − v_j, v (q,) the duals of the flows: 1-Lipschitz whatever they are.
    """
    i, j = np.divmod(arcs, len(to.mass))
    arc_costs = np.linalg.norm(from_.centres[i] - to.centres[j], axis=1) + from_.spread[i] + to.spread[j]
    exact_arcs = np.flatnonzero(from_.size[i] * to.size[j] <= PAIRS)
    gi, gj = i[exact_arcs], j[exact_arcs]
    count = from_.size[gi] * to.size[gj]
    arc = np.repeat(np.arange(len(exact_arcs)), count)
    k, width = np.arange(len(arc)) - np.repeat(np.cumsum(count) - count, count), to.size[gj][arc]
    x, y = (np.argsort(g.place, kind="stable") for g in (from_, to))
    x = x[(np.cumsum(from_.size) - from_.size)[gi][arc] + k // width]
    y = y[(np.cumsum(to.size) - to.size)[gj][arc] + k % width]
    shares = a[x] / from_.mass[gi][arc] * b[y] / to.mass[gj][arc]
    arc_costs[exact_arcs] = np.bincount(arc, shares * np.linalg.norm(X[x] - Y[y], axis=1), len(exact_arcs))
    upper_bound = float(moved @ arc_costs)
    lower_bound = float(a @ _lower(X, to.centres, v) - b @ _lower(Y, to.centres, v))
    return min(lower_bound, upper_bound), upper_bound


def _lower(Z: Array, centres: Array, v: Array) -> Array:
    """The function min_j |z − centre_j| − v_j at every point of Z (r,)."""
    step = max(1, BLOCK // len(centres))
    return np.concatenate([(cdist(Z[s : s + step], centres) - v).min(axis=1) for s in range(0, len(Z), step)])
