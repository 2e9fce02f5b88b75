"""A test of whether two columns are linked, from a release alone.

It is post-processing, so it costs nothing.
"""

from collections.abc import Sequence

import numpy as np

from ...algorithms.marginal_shares import project_onto_simplex
from ...core.errors import InputError
from ...core.numbers import bisect_interval
from ...core.types import Array, Axes, Rng, Texts, value_object
from ...models.releases import UnbiasedAnswers
from ...queries.residual_spaces import subtract_axis_means

SIMULATED_TABLES = 999
SIGNIFICANCE_LEVEL = 0.05
NUMBERS_PER_BATCH = 2_000_000  # numbers drawn at once
BISECTION_HALVINGS = 40


@value_object
class IndependenceTest:
    """The result of an independence test on two columns.

    It is the chance of a `statistic` as large without a link, or why that is unknown.
    """

    columns: tuple[str, str]
    p_value: float | None
    statistic: float | None
    repeats: int
    words: str


def run_independence_test(
    unbiased_answers: UnbiasedAnswers,
    columns: Sequence[str],
    n: float,
    *,
    repeats: int = SIMULATED_TABLES,
    seed: int = 0,
) -> IndependenceTest:
    """Test whether two columns are independent in the population of n rows, by noisy tables.

    The statistic is X = ‖table − product of its margins‖₂, which by parts is ‖part_ab − part_a
    part_bᵀ‖₂. Its law under independence comes from `repeats` tables of n rows, drawn from
    independent columns and given fresh noise of the same variances; p = (1 + #{X* as far above
    chance as X})/(repeats + 1), with chance as `_statistic_and_excess` says. The columns drawn from
    have the released margins, shrunk until they are as long (‖part‖²) as these are without their
    noise: margins with noise on noise would be too uneven, and the test would find too little. If
    some noise is Laplace noise, fresh noise is. Raises InputError for columns that are not two of
    the domain's.
    """
    names = tuple(columns)
    domain = unbiased_answers.domain
    if len(names) != 2 or names[0] == names[1]:
        raise InputError("a link is between two different columns; name two")
    axes = domain.axes(names)
    constant_column = next(
        (name for name, axis in zip(names, axes, strict=True) if domain.shape[axis] < 2), None
    )
    pair = (min(axes), max(axes))
    if constant_column is not None or pair not in unbiased_answers.part_slices:
        reason = f"nothing was measured about {' × '.join(names)} together"
        reason = reason if constant_column is None else f"{constant_column!r} has one value only"
        return IndependenceTest(
            names, None, None, 0, f"Whether they are linked cannot be said: {reason}."
        )
    parts, variances = _pair_parts(unbiased_answers, pair)
    row_count = max(round(n), 1)
    shape = domain.shape_of(pair)
    X, excess = _statistic_and_excess(parts, variances, row_count)
    margins = [_shrink_margin(part[0], v) for part, v in zip(parts[:2], variances[:2], strict=True)]
    p = np.outer(*margins).ravel()
    rng = np.random.default_rng(seed)
    exceedances = 0
    batch_size = max(NUMBERS_PER_BATCH // p.size, 1)
    for start in range(0, repeats, batch_size):
        count = min(batch_size, repeats - start)
        T = rng.multinomial(row_count, p, size=count).reshape(count, *shape) / row_count
        noisy_parts = []
        for x, v in zip((T.sum(axis=2), T.sum(axis=1), T), variances, strict=True):
            noisy = x + _draw_noise(x.shape, v, unbiased_answers.laplace, rng)
            noisy_parts.append(subtract_axis_means(noisy, first_axis=1))
        _, simulated_excess = _statistic_and_excess(noisy_parts, variances, row_count)
        exceedances += int((simulated_excess >= excess).sum())
    p_value = (1 + exceedances) / (repeats + 1)
    return IndependenceTest(names, p_value, float(X[0]), repeats, _result_sentence(names, p_value))


def _pair_parts(unbiased_answers: UnbiasedAnswers, pair: Axes) -> tuple[list[Array], list[float]]:
    """Return the parts of a pair's margins and of the pair itself, and their noise variances.

    The parts are (1, k_a), (1, k_b) and (1, k_a, k_b).
    """
    column_sets = ((pair[0],), (pair[1],), pair)
    parts = [
        unbiased_answers.parts[unbiased_answers.part_slices[S]].reshape(
            1, *unbiased_answers.domain.shape_of(S)
        )
        for S in column_sets
    ]
    return parts, [unbiased_answers.variance[S] for S in column_sets]


def _statistic_and_excess(
    parts: Sequence[Array], variances: Sequence[float], n: int
) -> tuple[Array, Array]:
    """Return the statistic X (r,) of many tables, and X² beyond chance (r,).

    The parts are (r, k_a), (r, k_b), (r, k_a, k_b). Chance is the mean of X² under independence: (1
    − ‖p‖²)(1 − ‖q‖²)/n by drawing n rows, and noise of the variances v_ab on the pair, and v_a, v_b
    on the margins that are multiplied. The lengths in it are those of each table's own margins
    without noise, so that how well lengths are known does not matter.
    """
    a, b, pair_parts = parts
    v_a, v_b, v_ab = variances
    k_a = a.shape[1]
    k_b = b.shape[1]
    squared_length_a = _squared_lengths(a, v_a)
    squared_length_b = _squared_lengths(b, v_b)
    X = np.sqrt(((pair_parts - a[:, :, None] * b[:, None, :]) ** 2).sum(axis=(1, 2)))
    mean_by_chance = (1 - 1 / k_a - squared_length_a) * (1 - 1 / k_b - squared_length_b) / n
    mean_by_chance += (
        (k_a - 1) * (k_b - 1) * (v_ab + v_a * v_b)
        + (k_a - 1) * v_a * squared_length_b
        + (k_b - 1) * v_b * squared_length_a
    )
    return X, X**2 - mean_by_chance


def _squared_lengths(parts: Array, variance: float) -> Array:
    """Return unbiased estimates (r,) of the squared lengths of margins' parts (r, k).

    The lengths are those without noise.
    """
    return (parts**2).sum(axis=1) - (parts.shape[1] - 1) * variance


def _draw_noise(shape: tuple[int, ...], variance: float, laplace: bool, rng: Rng) -> Array:
    """Draw fresh Gaussian or Laplace noise of this variance, in this shape."""
    scale = np.sqrt(variance)
    return (
        rng.laplace(scale=scale / np.sqrt(2), size=shape)
        if laplace
        else rng.normal(scale=scale, size=shape)
    )


def _shrink_margin(part: Array, variance: float) -> Array:
    """Return a margin shrunk to its length without noise.

    It is the distribution nearest to 1/k + c part, by bisection.
    """
    k = len(part)
    squared_length = _squared_lengths(part[None], variance)[0]

    def margin_at(c: float) -> Array:
        return project_onto_simplex(1 / k + c * part)

    def is_too_short(c: float) -> bool:
        p = margin_at(c)
        return bool(p @ p - 1 / k < squared_length)

    _, scale = bisect_interval(is_too_short, 0.0, float(squared_length > 0), BISECTION_HALVINGS)
    p = margin_at(scale)
    return p / p.sum()


def _result_sentence(names: Texts, p: float) -> str:
    """Return the result of a test in a sentence."""
    frequency_text = f"{1000 * p:.0f} of 1,000" if p < 0.1 else f"{100 * p:.0f} of 100"
    finding = "shows a link" if p < SIGNIFICANCE_LEVEL else "shows no link"
    return (
        f"The release {finding} between {names[0]} and {names[1]}: chance alone does as much "
        f"in {frequency_text} cases."
    )
