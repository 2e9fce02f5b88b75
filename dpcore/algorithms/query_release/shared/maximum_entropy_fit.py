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
    if not (found := tables_of(workload)):
        return [workload]
    tables = found[0].axes
    largest = max(2, max(map(len, tables)) - 1)
    lower = {sub for axes in tables for sub in combinations(axes, min(largest, len(axes)))}
    return [Marginals.over(workload.domain, sorted(lower)), workload]


def product(evidence: Evidence, model: Tree) -> Array:
    """The potentials (size,) of the product of noisy 1-way marginals, floored; uniform in columns without one."""
    found = tables_of(evidence.workload)
    if not found:
        return np.zeros(model.size)
    singles = singles_of(found[0])
    shares = shares_of(summed(evidence, singles))
    return model.reader(singles).adjoint(np.log(np.concatenate(shares)))


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
    for number, workload in enumerate(stages, start=1):
        own, share = summed(evidence, workload), 1 if number == len(stages) else FIRST_STAGE
        if weighed and number < len(stages):
            before = model.reader(workload).answers(model.normalise(theta)[1])
            own = replace(own, sigma=own.sigma / np.sqrt(signals(own, before)))
        phi = begun(own, share * weight, known, number)
        for theta, D in fit(own, share * weight, theta, rounds, model, phi):  # noqa: B007, B020
            yield D, f"fit {number} of {len(stages)}"
        if known is not None and (tables := tables_of(workload)):
            found = (phi / own.sigma / (share * weight))[tables[1]]
            for axes, table in tables[0].slices.items():
                known[number, axes] = found[table]


def signals(evidence: Evidence, before: Array) -> Array:
    """The share (m,) of each table's distance from `before` (m,) that is not noise: 1 − k_S σ_S²/‖y_S − before_S‖².

    Within LITTLE..1; of single columns 1. It follows from released values alone.
    """
    out = np.ones(evidence.workload.m)
    tables: Marginals = evidence.workload  # type: ignore[assignment]
    for axes, table in tables.slices.items():
        if len(axes) > 1:
            noise, distance = ((part[table] ** 2).sum() for part in (evidence.sigma, evidence.y - before))
            out[table] = np.clip(1 - noise / max(distance, noise), LITTLE, 1)
    return out


def begun(evidence: Evidence, weight: float, known: Known | None, stage: int) -> Array:
    """The dual variables φ (m,) at which a fit continues from known potentials; 0 for tables without any."""
    phi = np.zeros(evidence.workload.m)
    if known and (tables := tables_of(evidence.workload)):
        part = phi[tables[1]]
        for axes, table in tables[0].slices.items():
            part[table] = known.get((stage, axes), 0.0)
    return phi * evidence.sigma * weight


def fit(
    evidence: Evidence, weight: float, base: Array, rounds: int, model: Tree, phi: Array | None = None
) -> Iterator[tuple[Array, Array]]:
    """The iterates of argmin_D ½ Σ ((answers(D) − y)/σ)² + weight · KL(D ‖ exp base): potentials, beliefs (size,).

    L-BFGS on the dual f(φ) = weight · log Z(φ) + ½‖φ‖² + φ·y/σ, which is strongly convex, so that every pair of
    differences has positive curvature and backtracking always ends. It begins at `phi` (m,), where it also leaves what
    it found last, or at 0. Source: Nocedal, Wright 2006, Algorithm 7.4.
    """
    reader, target = model.reader(evidence.workload), evidence.y / evidence.sigma

    def evaluate(phi: Array) -> tuple[float, Array, Array, Array]:
        theta = base - reader.adjoint(phi / evidence.sigma) / weight
        log_z, D = model.normalise(theta)
        value = float(weight * log_z + _dot(phi, phi / 2 + target))
        return value, phi + target - reader.answers(D) / evidence.sigma, theta, D

    phi = np.zeros(evidence.workload.m) if phi is None else phi
    value, gradient, *found = evaluate(phi)
    pairs: deque[tuple[Array, Array]] = deque(maxlen=20)
    for _ in range(rounds):
        direction = -_inverse_hessian(pairs, gradient)
        slope, step = _dot(direction, gradient), 1.0
        while True:
            after = evaluate(phi + step * direction)
            if after[0] <= value + 1e-4 * step * slope + 1e-12 * abs(value):
                break
            step /= 2
        pair = step * direction, after[1] - gradient
        if _dot(*pair) > 0:  # else rounding has eaten the curvature
            pairs.append(pair)
        phi += step * direction
        value, gradient, *found = after
        yield found[0], found[1]
        if np.abs(gradient).max() <= SETTLED:
            return


def _inverse_hessian(pairs: deque[tuple[Array, Array]], gradient: Array) -> Array:
    """The L-BFGS approximation of H⁻¹ · gradient from pairs of (step, change of gradient)."""
    out, shares = gradient.copy(), []
    for s, change in reversed(pairs):
        shares.append(_dot(s, out) / _dot(s, change))
        out -= shares[-1] * change
    if pairs:
        s, change = pairs[-1]
        out *= _dot(s, change) / _dot(change, change)
    for (s, change), share in zip(pairs, reversed(shares), strict=True):
        out += (share - _dot(change, out) / _dot(s, change)) * s
    return out


def _dot(one: Array, two: Array) -> float:
    """The inner product of two vectors, by this thread alone, as BLAS threads would wait five times as long."""
    return float(np.einsum("i,i->", one, two))
