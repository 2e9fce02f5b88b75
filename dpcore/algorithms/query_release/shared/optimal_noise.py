"""The least noise of any unbiased Gaussian release of a workload.

A bound for every unbiased algorithm.

Such a release draws N(0, Σ) on linear functions of the rows and answers linearly, unbiased. All
of it is the information X = AᵀΣ⁻¹A (k, k) about counts. Answers W have total variance tr(W X⁺ Wᵀ),
and the release is μ-GDP with μ² = max (e_z − e_z')ᵀ X (e_z − e_z') over rows that may replace
each other. To minimise one at μ = 1 is convex.
"""

import math
from functools import reduce
from weakref import WeakKeyDictionary

import numpy as np
from scipy.optimize import minimize

from ....core.types import Array, Axes, frozen
from ....privacy.accounting import Budget, gaussian_spend
from ....queries import Explicit, Marginals, Workload
from ....queries.residual_spaces import ResidualSpaces, cached_residual_spaces

# relative distance of the bounds from below and from above at which the search ends
BOUND_TOLERANCE = 1e-9
MAX_SEARCH_STEPS = 200
MAX_GRAM_ROWS = 1000  # largest Gram matrix whose eigenvalues are computed
MAX_EQUAL_LOG_RATIO = 0.05  # difference of logarithms up to which errors are called equal
MIN_PAIR_WEIGHT = 1e-12  # weight of a pair of rows below which it is left out of the search
# as a chart asks again at every ε
_CACHED_VARIANCES: "WeakKeyDictionary[Workload, float | None]" = WeakKeyDictionary()


@frozen
class NoiseOptimum:
    """The least total variance Σ_j Var of n · answers at μ = 1, in counts².

    `information` is t_S of every type.

    No unbiased Gaussian release has less than `lower_bound`. `upper_bound` is that of independent
    noise of variance 1/(t_S k_S) on an orthonormal basis of each residual space, within the table
    of counts on its columns S, of k_S cells; it equals `lower_bound` up to 1e-9 where all pairs can
    be compared.
    """

    spaces: ResidualSpaces
    information: Array
    lower_bound: float
    upper_bound: float


def optimise_noise(tables: Marginals) -> NoiseOptimum:
    """Return the least total variance of all cells of marginal tables, and its noise.

    The noise is the one that reaches it.

    The problem is convex and does not change when the values of a column are permuted, so that
    averaging X over all such permutations loses nothing: X = Σ_S τ_S E_S with the projections E_S
    on residual spaces. With t_S = τ_S/k a pair that agrees on A costs Σ_S t_S b_S(A), b_S(A) = 2
    (d_S − Π_{l∈S} (n_l [l ∈ A] − 1)), and a table M of k_M cells sees (k/k_M) d_S/τ_S of the space
    S ⊆ M: in all Σ_S d_S w_S/t_S, w_S = Σ_{M ⊇ S} 1/k_M. S = ∅ costs nothing, as n is public. For
    any weights λ_A that sum to 1, Σ_S t_S b_S(λ) ≤ 1 for b_S(λ) = Σ_A λ_A b_S(A), and by Cauchy's
    inequality

        Σ_S d_S w_S/t_S ≥ (Σ_S √(d_S w_S b_S(λ)))²,  with equality at t_S = √(d_S w_S/b_S(λ))/Σ.

    The right side is concave in λ, and its largest value is the optimum. Where t breaks max_A ≤ 1
    by a factor 1 + g, t/(1 + g) keeps it, so that the optimum lies between the two, within 1 + g. A
    are added until g ≤ 1e-9. Where they are too many to be compared, a hill is climbed for the
    worst, and max_A is bounded term by term.
    Source: replacement derived here; residual spaces: Xiao, He, Zhang, Kifer 2023; Lebeda, Nikolov,
    Tang 2025.
    """
    spaces = cached_residual_spaces(tables)
    c = spaces.count * spaces.d * spaces.inverse_cells
    if not len(c):
        return NoiseOptimum(spaces, np.zeros(0), 0.0, 0.0)
    all_columns = tuple(len(columns) for columns in spaces.classes)
    active_patterns = [
        all_columns,
        *(tuple(j - (g == i) for g, j in enumerate(all_columns)) for i in range(len(all_columns))),
    ]
    weights = np.full(len(active_patterns), 1 / len(active_patterns))
    for _ in range(MAX_SEARCH_STEPS):
        changes = np.array([spaces.changes_by_type(pattern) for pattern in active_patterns])
        weights, lower_root, t = _balance_weights(c, changes, weights)
        worst_pattern, largest_change = _worst_pattern(
            spaces, t, active_patterns[int(np.argmax(changes @ t))]
        )
        if largest_change <= 1 + BOUND_TOLERANCE or worst_pattern in active_patterns:
            break
        has_weight = weights > MIN_PAIR_WEIGHT
        active_patterns = [
            pattern for pattern, keep in zip(active_patterns, has_weight, strict=True) if keep
        ] + [worst_pattern]
        weights = np.append(0.99 * weights[has_weight], 0.01)
    if spaces.patterns_enumerable:
        slack = max(largest_change, 1.0)
        return NoiseOptimum(spaces, np.asarray(t / slack), lower_root**2, lower_root**2 * slack)
    b = 2 * spaces.count * spaces.change_bounds
    upper_root = float(np.sqrt(c * b).sum())
    return NoiseOptimum(
        spaces, np.array(np.sqrt(c / b) / upper_root, dtype=float), lower_root**2, upper_root**2
    )


def least_total_variance(workload: Workload) -> float | None:
    """Return the total variance below which no unbiased Gaussian release goes, in counts².

    That of n · answers at μ = 1.

    Attained for marginal tables whose patterns can be listed (`optimise_noise`); for other queries,
    a matrix W on cells or on tables, the SVD bound. None where its Gram matrix is too large.

    With λ even over all pairs of the k cells, Σ λ (e_z − e_z')(e_z − e_z')ᵀ = (2/(k − 1)) C, C = I
    − J/k. All X allowed have tr(CX) ≤ (k − 1)/2, so that by Cauchy's inequality tr(W X⁺ Wᵀ) ≥ (2/(k
    − 1)) ‖WC‖², ‖·‖ the sum of singular values. Source: Li, Miklau 2013, for added rows; C and
    the pairs derived here.
    """
    if workload not in _CACHED_VARIANCES:
        _CACHED_VARIANCES[workload] = (
            optimise_noise(workload).lower_bound
            if isinstance(workload, Marginals)
            else _svd_bound(workload)
        )
    return _CACHED_VARIANCES[workload]


def least_rmse(workload: Workload, budget: Budget, n: float) -> float | None:
    """Return the smallest RMSE, as shares, of any unbiased Gaussian release.

    √(least variance/m)/(nμ).

    `n` is n/b where b records may be replaced. None where no Gaussian noise keeps the promise (δ =
    0), and where the bound is not computed. A fit that borrows strength is biased, and may be below
    it.
    """
    if budget.delta == 0:
        return None
    variance = least_total_variance(workload)
    if variance is None:
        return None
    return math.sqrt(variance / workload.m) / (n * gaussian_spend(budget).mu)


def compare_with_bound(rmse: float, bound: float) -> str:
    """Return a sentence that compares an RMSE with the least of any unbiased Gaussian release.

    RMSE: root mean square error.
    """
    if min(rmse, bound) <= 0:
        return (
            "nothing is uncertain here"
            if rmse <= bound
            else "no noise is needed here, and there is an error"
        )
    ratio = rmse / bound
    if abs(math.log(ratio)) < MAX_EQUAL_LOG_RATIO:
        return "as little as any unbiased method could have"
    if ratio < 1:
        return (
            f"{_format_ratio(1 / ratio)} × below what any unbiased method could do, because "
            "answers support each other"
        )
    return f"{_format_ratio(ratio)} × above the least that an unbiased method could have"


def _format_ratio(ratio: float) -> str:
    """Return a ratio in words: of two digits, or as a whole number from 10 on."""
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"


def _balance_weights(
    c: Array, changes: Array, initial_weights: Array
) -> tuple[Array, float, Array]:
    """Return the λ that maximises Σ_S √(c_S (λ changes)_S), that sum z, and t = √(c/b)/z.

    Over the simplex.
    """

    def root_sum(weights: Array) -> tuple[float, Array]:
        b = np.maximum(weights @ changes, 1e-300)
        return float(np.sqrt(c * b).sum()), np.sqrt(c / b)

    def negative_log(weights: Array) -> tuple[float, Array]:
        total, slope = root_sum(weights)
        return -math.log(total), -(changes @ slope) / (2 * total)

    solution = minimize(
        negative_log,
        initial_weights,
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * len(initial_weights),
        constraints=[
            {"type": "eq", "fun": lambda x: x.sum() - 1, "jac": lambda x: np.ones(len(x))}
        ],
        options={"ftol": 1e-15, "maxiter": 500},
    )
    weights = np.maximum(solution.x, 0)
    weights /= weights.sum()
    root_total, slope = root_sum(weights)
    return weights, root_total, slope / root_total


def _worst_pattern(spaces: ResidualSpaces, t: Array, start: Axes) -> tuple[Axes, float]:
    """Return the type of pair with the largest change, and that change.

    A local maximum where types cannot be listed.
    """
    if spaces.patterns_enumerable:
        changes = spaces.changes_by_pattern(t)
        return tuple(int(j) for j in np.unravel_index(changes.argmax(), changes.shape)), float(
            changes.max()
        )
    current = start
    largest_change = float(spaces.changes_by_type(start) @ t)
    while True:
        neighbours = [
            (*current[:g], j, *current[g + 1 :])
            for g, columns in enumerate(spaces.classes)
            for j in (current[g] - 1, current[g] + 1)
            if 0 <= j <= len(columns)
        ]
        values = [float(spaces.changes_by_type(pattern) @ t) for pattern in neighbours]
        best_index = int(np.argmax(values))
        if values[best_index] <= largest_change * (1 + 1e-12):
            return current, largest_change
        current = neighbours[best_index]
        largest_change = values[best_index]


def _svd_bound(workload: Workload) -> float | None:
    """Return the lower bound (2/(k − 1)) ‖WC‖².

    None where no matrix is small enough for its singular values.
    """
    gram = _gram_matrix(workload)
    k = workload.domain.size
    if gram is None:
        return None
    values = np.maximum(np.linalg.eigvalsh(gram), 0)
    return 0.0 if k == 1 else 2 * (k / (k - 1)) * float(np.sqrt(values).sum()) ** 2


def _gram_matrix(workload: Workload) -> Array | None:
    """Return the Gram matrix (1/k) W C Wᵀ, or a smaller one with the same nonzero eigenvalues.

    None where it is too large.
    """
    if isinstance(workload, Explicit):
        W = workload.matrix - workload.matrix.mean(axis=1, keepdims=True)
        return (
            None
            if min(W.shape) > MAX_GRAM_ROWS
            else (W @ W.T if len(W) <= W.shape[1] else W.T @ W) / W.shape[1]
        )
    if workload.base is None:
        return (
            None
            if max(workload.m, workload.domain.size) > MAX_GRAM_ROWS
            else _gram_matrix(_as_query_matrix(workload))
        )
    if workload.base.m > MAX_GRAM_ROWS:
        return None
    overlaps = _cell_overlaps(workload.base)
    matrix = workload.matrix
    if workload.m <= MAX_GRAM_ROWS:
        return np.asarray(matrix @ (matrix @ overlaps).T)
    values, vectors = np.linalg.eigh(overlaps)
    root = vectors * np.sqrt(np.maximum(values, 0))
    return root.T @ (matrix.T @ (matrix @ root))


def _as_query_matrix(workload: Workload) -> Explicit:
    """Return the workload's queries as a matrix over all cells."""
    return Explicit(
        workload.domain,
        np.array([workload.adjoint(unit_vector) for unit_vector in np.eye(workload.m)]),
    )


def _cell_overlaps(tables: Marginals) -> Array:
    """Return the matrix (1/k) Q C Qᵀ of all cells' indicators Q.

    Shares of the domain common to two cells, centred.
    """
    shape = tables.domain.shape
    # which values of a column each cell takes: all, where it has none
    value_indicators = [np.ones((tables.m, n)) for n in shape]
    for axes, sizes, table in tables.layout:
        for axis, code in zip(
            axes, np.unravel_index(np.arange(math.prod(sizes)), sizes), strict=True
        ):
            value_indicators[axis][table] = np.eye(shape[axis])[code]
    overlaps = reduce(
        np.multiply, [values @ values.T / values.shape[1] for values in value_indicators]
    )
    diagonal = np.diag(overlaps)
    return overlaps - diagonal[:, None] * diagonal
