"""Bounds on unmeasured answers, over all tables that agree with the measured ones."""

import math
from collections.abc import Iterator
from functools import reduce
from itertools import combinations, product

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from ...core.types import Array, Axes
from ...models.releases import UnbiasedAnswers
from ...queries.questions import Question
from ...queries.residual_spaces import MAX_DECOMPOSED_COLUMNS
from .confidence_levels import sampling_standard_errors, two_sided_quantile
from .unbiased_tables import axes_and_values, noise_covariance, query_components, unbiased_share

# size limits of a linear program
MAX_PROGRAM_CELLS = 4096
MAX_PROGRAM_CONSTRAINTS = 500
TRIVIAL_BOUND_MARGIN = 1e-6  # a bound nearer to 0 or 1 is no information

Band = tuple[float, float]


def compatible_bounds(
    unbiased_answers: UnbiasedAnswers, question: Question, n: float, level: float
) -> tuple[Band, Band] | None:
    """Return bands of a question's share, in the table and in the population.

    None if no known table bounds it. Values of a column that the question treats alike are one, so
    that few cells x ≥ 0, Σx = 1, are left. Of them the noisy tables on some of the question's
    columns say F shares; all F are within z standard errors at once, with z at 1 − (1 − level)/F
    (Bonferroni). The ends are the least and the largest answer of all x that agree: conservative,
    and wide where columns that were not measured together may be tied in any way (Fréchet's bounds
    without noise).
    """
    axes, g = axes_and_values(question.workload)
    class_of_value, g = _merge_equal_values(axes, g)
    if math.prod(g.shape) > MAX_PROGRAM_CELLS:
        return None
    constraints = list(_measured_constraints(unbiased_answers, class_of_value, g.shape))
    if not 0 < len(constraints) <= MAX_PROGRAM_CONSTRAINTS:
        return None
    A = csr_array(np.array([cells for cells, _, _ in constraints], dtype=float))
    shares = np.array([share for _, share, _ in constraints])
    noise_errors = np.array([error for _, _, error in constraints])
    constraint_level = 1 - (1 - level) / len(constraints)
    z = two_sided_quantile(constraint_level, laplace=unbiased_answers.laplace)
    bands = []
    for errors in (
        noise_errors,
        np.hypot(noise_errors, sampling_standard_errors(shares, n, constraint_level)),
    ):
        low, high = _solve_for_bounds(A, shares, z * errors, g.ravel())
        if low <= TRIVIAL_BOUND_MARGIN and high >= 1 - TRIVIAL_BOUND_MARGIN:
            return None
        bands.append((low, high))
    return bands[0], bands[1]


def _merge_equal_values(axes: Axes, g: Array) -> tuple[dict[int, Array], Array]:
    """Return the class of each value in each column that matters, and the question on classes.

    The class for which the question is answered lowest comes first: statements leave it out.
    """
    class_of_value = {}
    for position, axis in enumerate(axes):
        answers_by_value = np.moveaxis(g, position, 0).reshape(g.shape[position], -1)
        distinct_answers, row_of_value = np.unique(answers_by_value, axis=0, return_inverse=True)
        order = np.argsort(distinct_answers.sum(axis=1), kind="stable")
        g = np.moveaxis(
            distinct_answers[order].reshape(-1, *np.delete(g.shape, position)), 0, position
        )
        class_of_value[axis] = np.argsort(order)[row_of_value.ravel()]
    relevant_positions = [i for i, size in enumerate(g.shape) if size > 1]
    return {axes[i]: class_of_value[axes[i]] for i in relevant_positions}, g.reshape(
        [g.shape[i] for i in relevant_positions]
    )


def _measured_constraints(
    unbiased_answers: UnbiasedAnswers, class_of_value: dict[int, Array], shape: tuple[int, ...]
) -> Iterator[tuple[Array, float, float]]:
    """Yield the known sums of classes: cells, their share, and its standard error from noise.

    The cells are in one line.
    """
    axes = tuple(class_of_value)
    for size in range(1, min(len(axes), MAX_DECOMPOSED_COLUMNS) + 1):
        for positions in combinations(range(len(axes)), size):
            T = tuple(axes[i] for i in positions)
            for classes in product(*(range(1, shape[i]) for i in positions)):
                masks = [
                    class_of_value[axes[i]] == c for i, c in zip(positions, classes, strict=True)
                ]
                f = reduce(np.multiply.outer, masks).astype(float)
                parts = query_components(T, f)
                if not all(S in unbiased_answers.part_slices for S in parts):
                    break  # nor are the other classes of these columns
                class_by_position = dict(zip(positions, classes, strict=True))
                cells = np.zeros(shape, dtype=bool)
                cells[tuple(class_by_position.get(i, slice(None)) for i in range(len(axes)))] = True
                yield (
                    cells.ravel(),
                    unbiased_share(unbiased_answers, f, parts),
                    math.sqrt(noise_covariance(unbiased_answers, parts, parts)),
                )


def _solve_for_bounds(A: csr_array, shares: Array, tolerances: Array, g: Array) -> Band:
    """Return the least and largest ⟨g, x⟩ of distributions x with bounded |Ax − shares|.

    The bound is t · tolerances; t ≥ 1 is the least feasible one.
    """
    two_sided_matrix = vstack([A, -A])
    centres = np.concatenate([shares, -shares])
    widths = np.concatenate([tolerances, tolerances])
    ones = np.ones((1, len(g)))
    solutions = [
        linprog(sign * g, two_sided_matrix, centres + widths, ones, [1.0]) for sign in (1, -1)
    ]
    if any(solution.status for solution in solutions):
        relaxed_matrix = csr_array(np.column_stack([two_sided_matrix.toarray(), -widths]))
        t = linprog(
            np.append(0 * g, 1.0), relaxed_matrix, centres, np.append(ones, [[0.0]], axis=1), [1.0]
        ).x[-1]
        # the solver's rounding must not leave none
        relaxed_limits = centres + widths * t * (1 + 1e-9) + 1e-9
        solutions = [
            linprog(sign * g, two_sided_matrix, relaxed_limits, ones, [1.0]) for sign in (1, -1)
        ]
    low = float(solutions[0].fun)
    high = -float(solutions[1].fun)
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
