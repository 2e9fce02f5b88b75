"""Maximum-entropy fits to noisy answers, shared by all that measure tables.

Sees noisy answers, never rows.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from ....core.types import Array, Axes
from ....models.tree_model import JunctionTreeModel
from ....privacy.noisy_answers import NoisyAnswers
from ....problems import PublicStart
from ....queries import Marginals, Workload
from ....queries.marginals import marginals_and_slice
from ...marginal_shares import one_way_marginals, one_way_shares

FIRST_STAGE_PRIOR_SHARE = 0.6  # its weight of the prior, as a share of the last one's
MIN_SIGNAL_SHARE = 0.02  # least weight of a table that seems to be noise alone
StagePotentials = dict[tuple[int, Axes], Array]  # potentials by stage and table, to go on from
# gradient, in standard deviations of the noise, below which a fit is at its optimum
CONVERGED_GRADIENT = 1e-3
LARGE_MODEL_CELLS = 300_000  # cells of a model from which a fit may end a little earlier


def fit_stages(workload: Workload) -> list[Workload]:
    """Return the workloads to fit one after the other, smaller tables first.

    Of pairs at least.
    """
    tables_and_slice = marginals_and_slice(workload)
    if not tables_and_slice:
        return [workload]
    table_axes = tables_and_slice[0].axes
    max_lower_axes = max(2, max(map(len, table_axes)) - 1)
    lower_axes = {
        subset
        for axes in table_axes
        for subset in combinations(axes, min(max_lower_axes, len(axes)))
    }
    return [Marginals.over_axes(workload.domain, sorted(lower_axes)), workload]


def product_potentials(noisy_answers: NoisyAnswers, model: JunctionTreeModel) -> Array:
    """Return the potentials (size,) of the product of noisy 1-way marginals, floored.

    Uniform in columns without one.
    """
    tables_and_slice = marginals_and_slice(noisy_answers.workload)
    if not tables_and_slice:
        return np.zeros(model.size)
    one_way = one_way_marginals(tables_and_slice[0])
    shares = one_way_shares(noisy_answers.marginalise(one_way))
    return model.reader(one_way).adjoint(np.log(np.concatenate(shares)))


def staged_fit(
    noisy_answers: NoisyAnswers,
    prior_weight: float,
    max_iterations: int,
    model: JunctionTreeModel,
    start: Array | PublicStart | None = None,
    stage_potentials: StagePotentials | None = None,
    *,
    weigh_by_signal: bool = False,
    is_preconditioned: bool = False,
    converged_gradient: float = CONVERGED_GRADIENT,
) -> Iterator[tuple[Array, str]]:
    """Yield the beliefs (size,) after each iteration of the fit, and the stage in words.

    At most `max_iterations` a stage. Tables with one column less (pairs at least) are fitted first,
    with FIRST_STAGE_PRIOR_SHARE of the weight; what they say is the prior of the fit to all. Before
    that it is the potentials `start`, or the product of the noisy 1-way marginals.
    `stage_potentials` is what an earlier fit to fewer tables found: this one goes on from there,
    and leaves there what it finds. With `weigh_by_signal` the first stage weighs tables by their
    `signal_shares`. Not where tables were drawn for what they tell. `is_preconditioned` and
    `converged_gradient`, below which a stage ends, are those of `fit_maximum_entropy`.
    """
    if isinstance(start, PublicStart):
        start = model.public_start_potentials(start)
    theta = product_potentials(noisy_answers, model) if start is None else start
    stages = fit_stages(noisy_answers.workload)
    for stage_number, workload in enumerate(stages, start=1):
        stage_answers = noisy_answers.marginalise(workload)
        weight_share = 1 if stage_number == len(stages) else FIRST_STAGE_PRIOR_SHARE
        if weigh_by_signal and stage_number < len(stages):
            answers_before = model.reader(workload).answers(model.normalise(theta)[1])
            stage_answers = replace(
                stage_answers,
                stddev=stage_answers.stddev / np.sqrt(signal_shares(stage_answers, answers_before)),
            )
        phi = warm_start(stage_answers, weight_share * prior_weight, stage_potentials, stage_number)
        solutions = fit_maximum_entropy(
            stage_answers,
            weight_share * prior_weight,
            theta,
            max_iterations,
            model,
            phi,
            is_preconditioned=is_preconditioned,
            converged_gradient=converged_gradient,
        )
        for solution in solutions:
            theta, D = solution
            yield D, f"fit {stage_number} of {len(stages)}"
        tables_and_slice = marginals_and_slice(workload)
        if stage_potentials is not None and tables_and_slice:
            tables, tables_slice = tables_and_slice
            dual_potentials = phi / stage_answers.stddev / (weight_share * prior_weight)
            for axes, table in tables.slices.items():
                stage_potentials[stage_number, axes] = dual_potentials[tables_slice][table]


def signal_shares(noisy_answers: NoisyAnswers, answers_before: Array) -> Array:
    """Return the share (m,) of each table's distance from `answers_before` that is not noise.

    1 − k_S σ_S²/‖y_S − before_S‖², within MIN_SIGNAL_SHARE..1; of single columns 1.
    `answers_before` is (m,). It follows from released values alone.
    """
    shares = np.ones(noisy_answers.workload.m)
    tables: Marginals = noisy_answers.workload  # type: ignore[assignment]
    for axes, table in tables.slices.items():
        if len(axes) > 1:
            noise = (noisy_answers.stddev[table] ** 2).sum()
            distance = ((noisy_answers.values[table] - answers_before[table]) ** 2).sum()
            shares[table] = np.clip(1 - noise / max(distance, noise), MIN_SIGNAL_SHARE, 1)
    return shares


def warm_start(
    noisy_answers: NoisyAnswers,
    prior_weight: float,
    stage_potentials: StagePotentials | None,
    stage: int,
) -> Array:
    """Return the dual variables φ (m,) at which a fit continues from known potentials.

    0 for tables without any.
    """
    phi = np.zeros(noisy_answers.workload.m)
    tables_and_slice = marginals_and_slice(noisy_answers.workload)
    if stage_potentials and tables_and_slice:
        tables, tables_slice = tables_and_slice
        table_duals = phi[tables_slice]
        for axes, table in tables.slices.items():
            table_duals[table] = stage_potentials.get((stage, axes), 0.0)
    return phi * noisy_answers.stddev * prior_weight


def fit_maximum_entropy(
    noisy_answers: NoisyAnswers,
    prior_weight: float,
    base_potentials: Array,
    max_iterations: int,
    model: JunctionTreeModel,
    phi: Array | None = None,
    *,
    is_preconditioned: bool = False,
    converged_gradient: float = CONVERGED_GRADIENT,
) -> Iterator[tuple[Array, Array]]:
    """Yield the iterates of the maximum-entropy fit: potentials and beliefs (size,).

    argmin_D ½ Σ ((answers(D) − y)/σ)² + weight · KL(D ‖ exp base), weight = `prior_weight`.

    L-BFGS on the dual f(φ) = weight · log Z(φ) + ½‖φ‖² + φ·y/σ, which is strongly convex, so that
    every pair of differences has positive curvature and backtracking always ends. It begins at
    `phi` (m,), where it also leaves what it found last, or at 0, and ends where no entry of the
    gradient, in standard deviations of the noise, is over `converged_gradient`.
    With `is_preconditioned` it starts from the diagonal of the Hessian at `phi`,
    1 + p(1 − p)/(weight σ²) for an answer p: a few iterations then come nearer, many take as long.
    Source: Nocedal, Wright 2006, Algorithm 7.4.
    """
    reader = model.reader(noisy_answers.workload)
    scaled_answers = noisy_answers.values / noisy_answers.stddev

    def evaluate(phi: Array) -> tuple[float, Array, Array, Array]:
        theta = reader.adjoint(phi / noisy_answers.stddev)
        theta /= -prior_weight
        theta += base_potentials
        log_z, D = model.normalise(theta)
        value = float(prior_weight * log_z + inner_product(phi, phi / 2 + scaled_answers))
        return value, phi + scaled_answers - reader.answers(D) / noisy_answers.stddev, theta, D

    phi = np.zeros(noisy_answers.workload.m) if phi is None else phi
    value, gradient, *potentials_and_beliefs = evaluate(phi)
    inverse_diagonal: Array | float = 1.0
    if is_preconditioned:
        p = np.clip(reader.answers(potentials_and_beliefs[1]), 0.0, 1.0)
        inverse_diagonal = 1 / (1 + p * (1 - p) / (prior_weight * noisy_answers.stddev**2))
    curvature_pairs: deque[tuple[Array, Array]] = deque(maxlen=20)
    for _ in range(max_iterations):
        direction = -_apply_inverse_hessian(curvature_pairs, gradient, inverse_diagonal)
        slope = inner_product(direction, gradient)
        step = 1.0
        while True:
            candidate = evaluate(phi + step * direction)
            if candidate[0] <= value + 1e-4 * step * slope + 1e-12 * abs(value):
                break
            step /= 2
        curvature_pair = step * direction, candidate[1] - gradient
        if inner_product(*curvature_pair) > 0:  # else rounding has eaten the curvature
            curvature_pairs.append(curvature_pair)
        phi += step * direction
        value, gradient, *potentials_and_beliefs = candidate
        yield potentials_and_beliefs[0], potentials_and_beliefs[1]
        if np.abs(gradient).max() <= converged_gradient:
            return


def _apply_inverse_hessian(
    pairs: deque[tuple[Array, Array]], gradient: Array, inverse_diagonal: Array | float
) -> Array:
    """Return the L-BFGS approximation of H⁻¹ · gradient.

    From pairs of (step, change of gradient), and from what the diagonal of H⁻¹ is proportional to.
    """
    out = gradient.copy()
    coefficients = []
    for s, gradient_change in reversed(pairs):
        coefficients.append(inner_product(s, out) / inner_product(s, gradient_change))
        out -= coefficients[-1] * gradient_change
    if pairs:
        s, gradient_change = pairs[-1]
        scaled_change = inverse_diagonal * gradient_change
        out *= inner_product(s, gradient_change) / inner_product(gradient_change, scaled_change)
    out *= inverse_diagonal
    for (s, gradient_change), coefficient in zip(pairs, reversed(coefficients), strict=True):
        out += (
            coefficient - inner_product(gradient_change, out) / inner_product(s, gradient_change)
        ) * s
    return out


def inner_product(first: Array, second: Array) -> float:
    """Return the inner product of two vectors, by this thread alone.

    BLAS threads would wait five times as long.
    """
    return float(np.einsum("i,i->", first, second))
