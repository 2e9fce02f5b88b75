"""Maximum-entropy fits to noisy answers, shared by all that measure tables. Sees noisy answers, never records."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from ....core.types import Array, Axes
from ....models.tree_model import Tree
from ....problems import PublicStart
from ....queries import Marginals, Workload
from ...pooled_measurements import Evidence, shares_of, singles_of, summed, tables_of

FIRST_STAGE = 0.6  # its weight of the prior, as a share of the last one's
LITTLE = 0.02  # least weight of a table that seems to be noise alone
Known = dict[tuple[int, Axes], Array]  # potentials by stage and table, to go on from
SETTLED = 1e-3  # gradient, in standard deviations of the noise, below which a fit is at its optimum


def stages_of(workload: Workload) -> list[Workload]:
    """The workloads to fit one after the other, smaller tables (of pairs at least) first."""
    if not (tables_and_slice := tables_of(workload)):
        return [workload]
    table_axes = tables_and_slice[0].axes
    max_lower_axes = max(2, max(map(len, table_axes)) - 1)
    lower_axes = {subset for axes in table_axes for subset in combinations(axes, min(max_lower_axes, len(axes)))}
    return [Marginals.over(workload.domain, sorted(lower_axes)), workload]


def product(evidence: Evidence, model: Tree) -> Array:
    """The potentials (size,) of the product of noisy 1-way marginals, floored; uniform in columns without one."""
    tables_and_slice = tables_of(evidence.workload)
    if not tables_and_slice:
        return np.zeros(model.size)
    one_way = singles_of(tables_and_slice[0])
    shares = shares_of(summed(evidence, one_way))
    return model.reader(one_way).adjoint(np.log(np.concatenate(shares)))


def staged(
    evidence: Evidence,
    weight: float,
    rounds: int,
    model: Tree,
    start: Array | PublicStart | None = None,
    known: Known | None = None,
    *,
    weighed: bool = False,
) -> Iterator[tuple[Array, str]]:
    """The beliefs (size,) after each iteration of the fit, at most `rounds` a stage, and the stage in words.

    Tables with one column less (pairs at least) are fitted first, with FIRST_STAGE of the weight; what they say is the
    prior of the fit to all. Before that it is the potentials `start`, or the product of the noisy 1-way marginals.
    `known` is what an earlier fit to fewer tables found: this one goes on from there, and leaves there what it finds.
    With `weighed` the first stage weighs tables by their `signals`. Not where tables were drawn for what they tell.
    """
    if isinstance(start, PublicStart):
        start = model.potentials(start)
    theta = product(evidence, model) if start is None else start
    stages = stages_of(evidence.workload)
    for stage_number, workload in enumerate(stages, start=1):
        stage_evidence, weight_share = summed(evidence, workload), 1 if stage_number == len(stages) else FIRST_STAGE
        if weighed and stage_number < len(stages):
            answers_before = model.reader(workload).answers(model.normalise(theta)[1])
            stage_evidence = replace(
                stage_evidence, sigma=stage_evidence.sigma / np.sqrt(signals(stage_evidence, answers_before))
            )
        phi = begun(stage_evidence, weight_share * weight, known, stage_number)
        for theta, D in fit(stage_evidence, weight_share * weight, theta, rounds, model, phi):  # noqa: B007, B020
            yield D, f"fit {stage_number} of {len(stages)}"
        if known is not None and (tables_and_slice := tables_of(workload)):
            dual_potentials = (phi / stage_evidence.sigma / (weight_share * weight))[tables_and_slice[1]]
            for axes, table in tables_and_slice[0].slices.items():
                known[stage_number, axes] = dual_potentials[table]


def signals(evidence: Evidence, before: Array) -> Array:
    """The share (m,) of each table's distance from `before` (m,) that is not noise: 1 − k_S σ_S²/‖y_S − before_S‖².

    Within LITTLE..1; of single columns 1. It follows from released values alone.
    """
    shares = np.ones(evidence.workload.m)
    tables: Marginals = evidence.workload  # type: ignore[assignment]
    for axes, table in tables.slices.items():
        if len(axes) > 1:
            noise, distance = ((part[table] ** 2).sum() for part in (evidence.sigma, evidence.y - before))
            shares[table] = np.clip(1 - noise / max(distance, noise), LITTLE, 1)
    return shares


def begun(evidence: Evidence, weight: float, known: Known | None, stage: int) -> Array:
    """The dual variables φ (m,) at which a fit continues from known potentials; 0 for tables without any."""
    phi = np.zeros(evidence.workload.m)
    if known and (tables_and_slice := tables_of(evidence.workload)):
        table_duals = phi[tables_and_slice[1]]
        for axes, table in tables_and_slice[0].slices.items():
            table_duals[table] = known.get((stage, axes), 0.0)
    return phi * evidence.sigma * weight


def fit(
    evidence: Evidence, weight: float, base: Array, rounds: int, model: Tree, phi: Array | None = None
) -> Iterator[tuple[Array, Array]]:
    """The iterates of argmin_D ½ Σ ((answers(D) − y)/σ)² + weight · KL(D ‖ exp base): potentials, beliefs (size,).

    L-BFGS on the dual f(φ) = weight · log Z(φ) + ½‖φ‖² + φ·y/σ, which is strongly convex, so that every pair of
    differences has positive curvature and backtracking always ends. It begins at `phi` (m,), where it also leaves what
    it found last, or at 0. Source: Nocedal, Wright 2006, Algorithm 7.4.
    """
    reader, scaled_answers = model.reader(evidence.workload), evidence.y / evidence.sigma

    def evaluate(phi: Array) -> tuple[float, Array, Array, Array]:
        theta = base - reader.adjoint(phi / evidence.sigma) / weight
        log_z, D = model.normalise(theta)
        value = float(weight * log_z + _dot(phi, phi / 2 + scaled_answers))
        return value, phi + scaled_answers - reader.answers(D) / evidence.sigma, theta, D

    phi = np.zeros(evidence.workload.m) if phi is None else phi
    value, gradient, *potentials_and_beliefs = evaluate(phi)
    curvature_pairs: deque[tuple[Array, Array]] = deque(maxlen=20)
    for _ in range(rounds):
        direction = -_inverse_hessian(curvature_pairs, gradient)
        slope, step = _dot(direction, gradient), 1.0
        while True:
            candidate = evaluate(phi + step * direction)
            if candidate[0] <= value + 1e-4 * step * slope + 1e-12 * abs(value):
                break
            step /= 2
        curvature_pair = step * direction, candidate[1] - gradient
        if _dot(*curvature_pair) > 0:  # else rounding has eaten the curvature
            curvature_pairs.append(curvature_pair)
        phi += step * direction
        value, gradient, *potentials_and_beliefs = candidate
        yield potentials_and_beliefs[0], potentials_and_beliefs[1]
        if np.abs(gradient).max() <= SETTLED:
            return


def _inverse_hessian(pairs: deque[tuple[Array, Array]], gradient: Array) -> Array:
    """The L-BFGS approximation of H⁻¹ · gradient from pairs of (step, change of gradient)."""
    out, coefficients = gradient.copy(), []
    for s, gradient_change in reversed(pairs):
        coefficients.append(_dot(s, out) / _dot(s, gradient_change))
        out -= coefficients[-1] * gradient_change
    if pairs:
        s, gradient_change = pairs[-1]
        out *= _dot(s, gradient_change) / _dot(gradient_change, gradient_change)
    for (s, gradient_change), coefficient in zip(pairs, reversed(coefficients), strict=True):
        out += (coefficient - _dot(gradient_change, out) / _dot(s, gradient_change)) * s
    return out


def _dot(one: Array, two: Array) -> float:
    """The inner product of two vectors, by this thread alone, as BLAS threads would wait five times as long."""
    return float(np.einsum("i,i->", one, two))
