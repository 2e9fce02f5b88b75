"""Noisy tables combined without bias into parts with independent noise.

The parts determine any answer.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from ...core.errors import InputError
from ...core.types import Array, Axes
from ...models.releases import Release, UnbiasedAnswers
from ...privacy.measurement import MIN_STDDEV
from ...privacy.noisy_answers import NoisyAnswers
from ...queries import TableQueries
from ...queries.marginals import nonempty_subsets
from ...queries.residual_spaces import MAX_DECOMPOSED_COLUMNS, residual_parts, subtract_axis_means
from ...schema.domain import Domain, sum_to_axes


def unbiased_tables(
    release: Release, measured: Sequence[NoisyAnswers], domain: Domain
) -> UnbiasedAnswers:
    """Return the unbiased noisy tables of a release and of the measurements published with it."""
    if isinstance(release, UnbiasedAnswers):
        return release
    independent = [m for m in measured if not m.shares_noise]
    shared = [[m] for m in measured if m.shares_noise]
    return combine_releases([pool_tables(domain, group) for group in (independent, *shared)])


def pool_tables(domain: Domain, measured: Sequence[NoisyAnswers]) -> UnbiasedAnswers:
    """Return the exact least-squares combination of noisy tables.

    It is exact, as different column sets' parts have independent noise. A table on M with
    independent noise of variance σ² on its k_M cells, summed out to the columns S ⊆ M, has noise of
    variance σ² k_M/k_S on the k_S cells, and so on every orthonormal basis of the part of S. The
    parts of S that all tables M ⊇ S say are averaged by precision. No other linear unbiased
    estimate has a smaller variance, since the parts are orthogonal and noise is equal on all cells
    of a table.

    With shared noise on all k cells of the domain, of variance σ², a table on M has σ² k/k_M: every
    M ⊇ S says the same part, of variance σ² k/k_S, so that only the first is read.

    Args:
        domain: The domain of all tables.
        measured: Noisy answers with independent noise; or alone, those whose tables share noise.
            Queries that are no tables are left out, and tables with an unmeasured cell.

    """
    precision: defaultdict[Axes, float] = defaultdict(float)
    sums: dict[Axes, Array] = {}
    for noisy_answers in measured:
        for axes, table in noisy_answers.measured_tables():
            if len(axes) > MAX_DECOMPOSED_COLUMNS:
                continue
            values = np.asarray(noisy_answers.values[table], dtype=float)
            cells = values.reshape(domain.shape_of(axes))
            error = float(noisy_answers.stddev[table].max())
            varying_axes = tuple(a for a in axes if domain.shape[a] > 1)
            for S in nonempty_subsets(varying_axes, MAX_DECOMPOSED_COLUMNS):
                if noisy_answers.shares_noise and S in sums:
                    continue
                part = subtract_axis_means(sum_to_axes(cells, axes, S))
                weight = part.size / (max(error, MIN_STDDEV) ** 2 * cells.size)
                sums[S] = sums.get(S, 0.0) + weight * part.ravel()
                precision[S] += weight
    parts = [sums[S] / precision[S] for S in sums]
    variances = np.array([1 / precision[S] for S in sums])
    laplace = any(noisy_answers.has_laplace_noise for noisy_answers in measured)
    return UnbiasedAnswers(
        domain, tuple(sums), np.concatenate([np.zeros(0), *parts]), variances, laplace=laplace
    )


def combine_releases(releases: Sequence[UnbiasedAnswers]) -> UnbiasedAnswers:
    """Return the combination of several releases of the same rows.

    Every part is averaged by precision. Their noise is independent, so that this is `pool_tables`
    of all their tables: two draws with μ₁ and μ₂ are worth one with √(μ₁² + μ₂²), which is what
    both together cost. Nothing is spent. Raises InputError for others.
    """
    domain = releases[0].domain
    if any(release.domain != domain for release in releases):
        raise InputError("releases are combined only where their schemas are the same")
    spaces = tuple(dict.fromkeys(S for one in releases for S in one.column_sets))
    parts = []
    variances = []
    for S in spaces:
        releases_with_part = [one for one in releases if S in one.part_slices]
        weights = np.array([1 / max(one.variance[S], MIN_STDDEV**2) for one in releases_with_part])
        parts.append(
            np.average(
                [one.parts[one.part_slices[S]] for one in releases_with_part],
                axis=0,
                weights=weights,
            )
        )
        variances.append(1 / weights.sum())
    laplace = any(one.laplace for one in releases)
    return UnbiasedAnswers(
        domain, spaces, np.concatenate([np.zeros(0), *parts]), np.array(variances), laplace=laplace
    )


def query_components(axes: Axes, g: Array) -> dict[Axes, Array]:
    """Return the nonzero parts h_S of a query on the tables of column sets S ⊆ axes, ≠ ∅.

    ⟨g, table⟩ = mean(g) + Σ_S ⟨h_S, part_S⟩.
    """
    rounding_threshold = 1e-12 * float(np.abs(g).max(initial=0.0))
    return {
        S: h.ravel()
        for S, h in residual_parts(axes, g, max_axes=len(axes))
        if np.abs(h).max() > rounding_threshold
    }


def unbiased_share(
    unbiased_answers: UnbiasedAnswers, g: Array, parts: Mapping[Axes, Array]
) -> float:
    """Return the share of a query as noisy tables know it.

    The query has values `g` and the `query_components` `parts`; unmeasured ones add 0.
    """
    measured_terms = (
        float(h @ unbiased_answers.parts[unbiased_answers.part_slices[S]])
        for S, h in parts.items()
        if S in unbiased_answers.part_slices
    )
    return float(g.sum() / math.prod(g.shape)) + sum(measured_terms)


def noise_covariance(
    unbiased_answers: UnbiasedAnswers, first_components: dict, second_components: dict
) -> float:
    """Return the covariance Σ_S v_S ⟨a_S, b_S⟩ of two answers, from noise alone.

    The answers are given by their `query_components`.
    """
    return sum(
        unbiased_answers.variance[S] * float(first_components[S] @ second_components[S])
        for S in first_components
        if S in second_components and S in unbiased_answers.part_slices
    )


def axes_and_values(query: TableQueries) -> tuple[Axes, Array]:
    """Return the columns (axes) and values (of their sizes) of a workload of one query.

    The query is on one table.
    """
    (axes,) = query.base.axes
    (shape,) = query.base.shapes
    return axes, np.asarray(query.matrix.toarray()).reshape(shape)
