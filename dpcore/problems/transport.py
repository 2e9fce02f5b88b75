"""Optimal transport of points: the distance W1, and the bounded-Lipschitz projection.

All of it is one linear program, least-cost shipping from sources to sinks, which HiGHS solves on
few arcs at a time: those to near neighbours, then those whose reduced cost says that they pay. The
dual values of the last solve bound the optimum from below, so what is returned comes with its
error.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from ..core.errors import InputError
from ..core.types import Array, frozen, value_object
from .point_grouping import bound_w1_by_groups, group_points

MAX_DENSE_ARCS = 20_000  # up to this number of arcs, the first solve contains all of them
NEAREST_ARCS_PER_POINT = 16  # arcs of every point at first
# arcs of every point, or group of points, at first, by entropic transport
ARCS_PER_POINT = 4
ARCS_PER_GROUP = 16
TEMPERATURE_HALVINGS = 9
SCALINGS_PER_TEMPERATURE = 15
MIN_POSITIVE = 1e-300
MAX_NEW_ARCS_PER_SINK = 12  # arcs to a sink, at the most, that a round of pricing adds
MAX_TIGHT_ARCS = 1_000_000
# relative error at which a solve with more arcs may stop, which is then returned
LOOSE_RELATIVE_ERROR = 1e-3
GROUP_RELATIVE_ERROR = 2e-2  # that relative error for groups, whose own error is larger
# relative error at which pricing stops; feasibility tolerances of the solver, the least it takes
TIGHT_RELATIVE_ERROR = 1e-10
DISTANCES_PER_BLOCK = 4_000_000  # distances computed at once
MAX_W1_GROUPS = (
    800  # groups that `w1_distance` makes of the points of a distribution that has many more
)


@value_object
class Distance:
    """A distance, and an upper bound on its error.

    The error is 0, but for rounding, if the distance was computed exactly.
    """

    value: float
    error: float


@frozen
class Projection:
    """The nearest distribution `weights` (m,) to a signed measure, and its distance.

    `value`: the bounded-Lipschitz distance. `error`: by how much `value` may exceed the smallest
    one; 0 but for rounding if it was computed exactly.
    """

    weights: Array
    value: float
    error: float = 0.0


def w1_distance(
    X: Array, a: Array, Y: Array, b: Array, *, max_groups: int = MAX_W1_GROUPS
) -> Distance:
    """Return the W1 distance between the distributions Σ a_i δ(X_i) and Σ b_j δ(Y_j).

    X (r, d), Y (s, d); the weights are normalised. d = 1: the closed form. Else up to 2.5 ·
    `max_groups` points on a side as they are; more of them are grouped by the cells of a grid,
    `max_groups` at most. What the groups ship tells W1 of the points themselves from above and from
    below: the value is the middle, the error half of what is between. Raises InputError for weights
    that are negative or all 0.
    """
    X, a = _normalised_distribution(X, a)
    Y, b = _normalised_distribution(Y, b)
    if X.shape[1] == 1:
        from scipy.stats import (
            wasserstein_distance,
        )  # here, as it takes longer to load than all of this package

        return Distance(float(wasserstein_distance(X[:, 0], Y[:, 0], a, b)), 0.0)
    if len(X) == 1 or len(Y) == 1:
        return Distance(float(a @ cdist(X, Y) @ b), 0.0)
    source_groups = group_points(X, a, max_groups)
    target_groups = group_points(Y, b, max_groups)
    is_ungrouped = len(source_groups.mass) == len(a) and len(target_groups.mass) == len(b)
    sides = (source_groups.centres, source_groups.mass, target_groups.centres, target_groups.mass)
    arcs = _low_cost_arcs(*sides, ARCS_PER_POINT if is_ungrouped else ARCS_PER_GROUP)
    relative_error = None if is_ungrouped else GROUP_RELATIVE_ERROR
    flows = _solve_transport(*sides, arcs=arcs, relative_error=relative_error)
    if is_ungrouped:
        return Distance(flows.cost, flows.excess_cost_bound)
    lower_bound, upper_bound = bound_w1_by_groups(
        X, a, source_groups, Y, b, target_groups, flows.arcs, flows.arc_masses, flows.v
    )
    return Distance((lower_bound + upper_bound) / 2, (upper_bound - lower_bound) / 2)


def project_bounded_lipschitz(V: Array, m: Array, D: float) -> Projection:
    """Return the distribution μ on V (k, d) with the least D_BL(m, μ) to a signed measure m.

    m is (k,), of diameter ≤ D. D_BL(m, μ) = sup {Σ f_i (m_i − μ_i): |f| ≤ D, f 1-Lipschitz}. With P
    and N the positive and the negative mass of m and M = P − N, every distance is at most 2D, so a
    surplus or lack of mass costs D|M − 1| whatever is done, and the rest is shipping: the negative
    part is filled from the positive one at cost ρ, or at no cost from a dustbin of mass (1 − M)₊,
    and what is left of the positive part, max(M, 1) less what the dustbin gave, is μ once
    normalised. P ≤ 1: nothing is shipped, μ = m₊/P. No positive part: μ is uniform. d = 1: arcs
    between neighbours on the line. The minimiser is not unique, the value is.
    Source: He, Vershynin, Zhu 2023, Algorithm 2, as a flow.
    """
    positive = np.flatnonzero(m > 0)
    negative = np.flatnonzero(m < 0)
    P = float(m[positive].sum())
    M = float(m.sum())
    if P == 0:
        return Projection(np.full(len(m), 1 / len(m)), D * abs(M - 1))
    remaining_mass = np.maximum(m, 0.0)
    cost = 0.0
    error = 0.0
    if P > 1 and len(negative):
        X = V[positive]
        a = m[positive]
        Y = V[negative]
        b = -m[negative]
        dustbin_mass = max(1 - M, 0.0)
        is_line = V.shape[1] == 1
        flows = (
            _solve_transport_on_line(X[:, 0], a, Y[:, 0], b, dustbin_mass)
            if is_line
            else _solve_transport(X, a, Y, b, arcs=_nearest_arcs(X, Y), dustbin_mass=dustbin_mass)
        )
        remaining_mass[positive] = np.maximum(a - flows.shipped_mass, 0.0)
        cost = flows.cost
        error = flows.excess_cost_bound
    return Projection(remaining_mass / remaining_mass.sum(), D * abs(M - 1) + cost, error)


@frozen
class _TransportPlan:
    """A transport: the mass shipped from each source (p,), its cost, and a bound on excess cost.

    `arcs` i · q + j and the `arc_masses` on them, where positive; `v` (q,) the duals of the sinks.
    """

    shipped_mass: Array
    cost: float
    excess_cost_bound: float
    arcs: Array
    arc_masses: Array
    v: Array


def _solve_transport(
    X: Array,
    a: Array,
    Y: Array,
    b: Array,
    *,
    arcs: Array,
    dustbin_mass: float | None = None,
    relative_error: float | None = None,
) -> _TransportPlan:
    """Return the cheapest transport from sources a (p,) at X to sinks b (q,) at Y.

    It uses `arcs` i · q + j first, then all. `relative_error`: the relative error to stop at, by
    default as tight as rounding allows, looser for very many arcs.

    With `dustbin_mass` there is one more source of that mass, and one more sink that takes what is
    left, all at no cost. Duals u, v with u_i + v_j ≤ c_ij on all arcs give the lower bound Σ a u +
    Σ b v; v, lowered until that holds, is one whatever arcs were solved.
    """
    p = len(X)
    q = len(Y)
    has_dustbin = dustbin_mass is not None
    source_masses = a
    sink_masses = b
    if dustbin_mass is not None:
        source_masses = np.append(a, dustbin_mass)
        sink_masses = np.append(b, a.sum() + dustbin_mass - b.sum())
    mass_unit = source_masses.sum() / len(source_masses)
    lower_bound = -np.inf
    if relative_error is None:
        relative_error = TIGHT_RELATIVE_ERROR if p * q <= MAX_TIGHT_ARCS else LOOSE_RELATIVE_ERROR
    arcs = np.union1d(arcs, _feasible_arcs(X, a, Y, b))
    while True:
        i, j = np.divmod(arcs, q)
        c = np.linalg.norm(X[i] - Y[j], axis=1)
        scale = float(c.mean()) or 1.0
        x, u, v = _solve_flow_program(
            p, q, i, j, c / scale, source_masses / mass_unit, sink_masses / mass_unit, has_dustbin
        )
        cost = float(c @ x) * mass_unit
        u = u * scale
        v = v * scale
        sink_prices, new_arcs = _price_sinks(X, Y, u[:p], v[:q], scale * TIGHT_RELATIVE_ERROR)
        lower_bound = max(
            lower_bound,
            float(
                a @ u[:p] + b @ sink_prices + (source_masses[p:] @ u[p:] + sink_masses[q:] @ v[q:])
            ),
        )
        new_arcs = np.setdiff1d(new_arcs, arcs, assume_unique=True)
        if not len(new_arcs) or cost - lower_bound <= relative_error * cost:
            is_used = x > 0
            shipped = np.bincount(i, x, p) * mass_unit
            mass = x[is_used] * mass_unit
            return _TransportPlan(
                shipped, cost, max(cost - lower_bound, 0.0), arcs[is_used], mass, v[:q]
            )
        arcs = np.concatenate([arcs, new_arcs])


def _solve_flow_program(
    p: int, q: int, i: Array, j: Array, c: Array, a: Array, b: Array, has_dustbin: bool
) -> tuple[Array, Array, Array]:
    """Return the flows on arcs (i, j) and the duals, by linear programming.

    `has_dustbin` adds arcs at no cost for a dustbin.
    """
    count = len(i)
    if has_dustbin:
        i = np.concatenate([i, np.arange(p + 1), np.full(q, p)])
        j = np.concatenate([j, np.full(p + 1, q), np.arange(q)])
    columns = np.arange(len(i))
    rows = np.concatenate([i, len(a) + j])
    balance = sp.csr_matrix(
        (np.ones(2 * len(i)), (rows, np.tile(columns, 2))), shape=(len(a) + len(b), len(i))
    )
    x, duals = _solve_linear_program(
        np.append(c, np.zeros(len(i) - count)), balance, np.concatenate([a, b])
    )
    return x[:count], duals[: len(a)], duals[len(a) :]


def _solve_linear_program(costs: Array, matrix: Any, right_side: Array) -> tuple[Array, Array]:
    """Return the minimiser x ≥ 0 of costs · x subject to matrix x = right_side, and the duals."""
    solution: Any = linprog(
        costs,
        A_eq=matrix,
        b_eq=right_side,
        method="highs-ds",
        options={
            "presolve": False,
            "primal_feasibility_tolerance": TIGHT_RELATIVE_ERROR,
            "dual_feasibility_tolerance": TIGHT_RELATIVE_ERROR,
        },
    )
    if solution.status != 0:
        raise InputError(
            f"a transport with {len(right_side)} points could not be solved: {solution.message}"
        )
    return solution.x, solution.eqlin.marginals


def _feasible_arcs(X: Array, a: Array, Y: Array, b: Array) -> Array:
    """Return the p + q arcs of a feasible transport.

    Both sides are sorted by a coordinate and filled one by one.
    """
    axis = int(np.ptp(X, axis=0).argmax())
    sources = np.argsort(X[:, axis])
    sinks = np.argsort(Y[:, axis])
    source_ends = np.cumsum(a[sources])
    sink_ends = np.cumsum(b[sinks])
    cuts = np.concatenate([[0.0], source_ends[:-1], sink_ends[:-1]])
    i = np.minimum(np.searchsorted(source_ends, cuts, side="right"), len(a) - 1)
    j = np.minimum(np.searchsorted(sink_ends, cuts, side="right"), len(b) - 1)
    return np.unique(sources[i] * len(b) + sinks[j])


def _nearest_arcs(X: Array, Y: Array) -> Array:
    """Return the arcs i · q + j from every source to its nearest sinks, and back.

    All arcs if there are few.
    """
    p = len(X)
    q = len(Y)
    if p * q <= MAX_DENSE_ARCS:
        return np.arange(p * q)
    sinks_per_source = min(NEAREST_ARCS_PER_POINT, q)
    sources_per_sink = min(NEAREST_ARCS_PER_POINT, p)
    j = KDTree(Y).query(X, sinks_per_source)[1].reshape(p, sinks_per_source)
    return _arcs_both_ways(j, KDTree(X).query(Y, sources_per_sink)[1].reshape(q, sources_per_sink))


def _low_cost_arcs(X: Array, a: Array, Y: Array, b: Array, arcs_per_point: int) -> Array:
    """Return `arcs_per_point` arcs of small reduced cost for each point.

    Reduced costs are by entropic potentials at falling temperatures. All arcs, if there are few.
    Near neighbours would not do: between two distributions that lie apart, mass goes far.
    Source: Cuturi 2013, with the potentials absorbed into the kernel at each temperature
    (Schmitzer 2019).
    """
    p = len(X)
    q = len(Y)
    if p * q <= MAX_DENSE_ARCS // 4:
        return np.arange(p * q)
    C = cdist(X, Y)
    u = np.zeros(p)
    v = np.zeros(q)
    mean_cost = float(C.mean())
    for temperature in mean_cost * 0.5 ** np.arange(2, 2 + TEMPERATURE_HALVINGS):
        u = (C - v).min(axis=1)  # so that no row of the kernel vanishes
        kernel = np.exp((u[:, None] + v - C) / temperature)
        row_scaling = np.ones(p)
        column_scaling = np.ones(q)
        for _ in range(SCALINGS_PER_TEMPERATURE):
            column_scaling = b / np.maximum(row_scaling @ kernel, MIN_POSITIVE)
            row_scaling = a / np.maximum(kernel @ column_scaling, MIN_POSITIVE)
        v = v + temperature * np.log(np.maximum(column_scaling, MIN_POSITIVE))
    reduced = C - v
    sinks_per_source = min(arcs_per_point, q)
    j = np.argpartition(reduced, sinks_per_source - 1, axis=1)[:, :sinks_per_source]
    reduced -= reduced.min(axis=1)[:, None]
    sources_per_sink = min(arcs_per_point, p)
    return _arcs_both_ways(
        j, np.argpartition(reduced, sources_per_sink - 1, axis=0)[:sources_per_sink].T
    )


def _arcs_both_ways(j: Array, i: Array) -> Array:
    """Return the arcs from every source to its sinks, and to every sink from its sources.

    The sinks are j (p, t), the sources are i (q, s), an arc is i · q + j.
    """
    p = len(j)
    q = len(i)
    return np.unique(
        np.concatenate(
            [(np.arange(p)[:, None] * q + j).ravel(), (i * q + np.arange(q)[:, None]).ravel()]
        )
    )


def _price_sinks(X: Array, Y: Array, u: Array, v: Array, slack: float) -> tuple[Array, Array]:
    """Return the prices min(v_j, min_i c_ij − u_i) (q,) of sinks, and arcs that lower them.

    The arcs are, for some sinks, those that lower the price most.
    """
    q = len(Y)
    prices = v.copy()
    new_arcs = []
    step = max(1, DISTANCES_PER_BLOCK // len(X))
    for start in range(0, q, step):
        block = slice(start, start + step)
        reduced = cdist(Y[block], X) - u - v[block, None]
        prices[block] += np.minimum(reduced.min(axis=1), 0.0)
        j, i = np.nonzero(reduced < -slack)
        if len(j):
            order = np.lexsort((reduced[j, i], j))
            j = j[order]
            i = i[order]
            rank = np.arange(len(j)) - np.searchsorted(j, j)  # among the arcs of its sink
            new_arcs.append((i * q + start + j)[rank < MAX_NEW_ARCS_PER_SINK])
    return prices, np.concatenate(new_arcs) if new_arcs else np.zeros(0, dtype=int)


def _solve_transport_on_line(
    X: Array, a: Array, Y: Array, b: Array, dustbin_mass: float
) -> _TransportPlan:
    """Return the cheapest transport on the real line, as `_solve_transport`.

    Mass moves between neighbours on 2(p + q) arcs.
    """
    p = len(X)
    k = len(X) + len(Y)
    order = np.argsort(np.concatenate([X, Y]), kind="stable")
    gaps = np.diff(np.concatenate([X, Y])[order])
    mass_unit = b.sum() / len(b)
    scale = float(gaps.mean()) or 1.0
    # Variables: rightward (k − 1,), leftward (k − 1,), left over at every place (k,), and of the
    # dustbin.
    outflow = sp.eye_array(k, k - 1) - sp.eye_array(
        k, k - 1, k=-1
    )  # what leaves each place to the right
    surplus_sign = np.where(
        order < p, 1.0, -1.0
    )  # what a source keeps, what the dustbin gives a sink
    balance = sp.block_array(
        [
            [outflow, -outflow, sp.diags_array(surplus_sign), None],
            [None, None, (surplus_sign < 0)[None].astype(float), [[1.0]]],
        ]
    )
    costs = np.concatenate([gaps, gaps, np.zeros(k + 1)]) / scale
    x, _ = _solve_linear_program(
        costs, balance.tocsr(), np.append(np.concatenate([a, -b])[order], dustbin_mass) / mass_unit
    )
    remaining_mass = np.empty(k)
    remaining_mass[order] = x[2 * (k - 1) : -1] * mass_unit
    return _TransportPlan(
        a - remaining_mass[:p], float(costs @ x) * mass_unit * scale, 0.0, *[np.zeros(0)] * 3
    )


def _normalised_distribution(X: Array, a: Array) -> tuple[Array, Array]:
    """Return the distinct points of positive weight, and their weights, which sum to 1."""
    a = np.asarray(a, dtype=float)
    if not (a >= 0).all() or not 0 < a.sum() < np.inf:
        raise InputError("the weights of points must be non-negative, finite and not all 0")
    points, point_numbers = np.unique(X[a > 0], axis=0, return_inverse=True)
    return points, np.bincount(point_numbers.ravel(), a[a > 0]) / a.sum()
