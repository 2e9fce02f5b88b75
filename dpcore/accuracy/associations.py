"""How strongly two columns are linked: Cramér's V of a table, and its interval from noise alone.

V² = φ²/(min(k, l) − 1), where φ² = Σ (p_ab − p_a p_b)²/(p_a p_b) over the cells of a table of
shares: 0 where the columns are independent, 1 where one decides the other (Cramér 1946,
Mathematical Methods of Statistics, §21.9).
"""

import math

import numpy as np

from ..core.types import Array, Axes, frozen
from ..models.releases import UnbiasedAnswers
from ..queries import Marginals
from .intervals.confidence_levels import check_level, two_sided_quantile

STRONG_LINK = 0.3  # V from which two columns are strongly linked, as Cohen's "medium" at 2 × 2
WEAK_LINK = 0.1  # V up to which a link is weak, his "small"
MIN_KEPT_SHARE = 2 / 3  # of a strong link's V that a release shows of it at least, to have kept it


@frozen
class Association:
    """Cramér's V of two columns by noisy tables, with confidence bounds for the table."""

    value: float
    low: float
    high: float


def cramers_v(table: Array) -> float:
    """Return Cramér's V of a table (k, l) of shares; 0 where a column has one value only.

    Negative shares, which noise makes, count as 0.
    """
    table = np.maximum(table, 0.0)
    total = table.sum()
    occupied = (table.sum(axis=1) > 0, table.sum(axis=0) > 0)
    smaller = min(occupied[0].sum(), occupied[1].sum())
    if total <= 0 or smaller < 2:
        return 0.0
    p = table[np.ix_(*occupied)] / total
    expected = np.outer(p.sum(axis=1), p.sum(axis=0))
    phi_squared = float((p**2 / expected).sum()) - 1
    return math.sqrt(min(max(phi_squared / (smaller - 1), 0.0), 1.0))


def association_interval(
    unbiased_answers: UnbiasedAnswers, pair: Axes, *, level: float = 0.95
) -> Association | None:
    """Return Cramér's V of two columns with bounds for the table, from noisy answers alone.

    The noise adds E to R = (p_ab − p_a p_b)/√(p_a p_b), so that ‖R + E‖² is too large by tr Σ on
    average, Σ being the covariance of E, and has the variance 4 RᵀΣR + 2 tr Σ². What is left after
    tr Σ is taken off, ± z standard errors, bounds φ². RᵀΣR is read off R + E, which makes it
    larger, so that the bounds are cautious. The margins that divide are those of the noisy tables;
    none is taken for smaller than its standard error.

    Args:
        unbiased_answers: Noisy tables, combined without bias.
        pair: Two columns, in rising order.
        level: Of confidence.

    Returns:
        None where the two were not measured together, or one has one value only.

    """
    shape = unbiased_answers.domain.shape_of(pair)
    singles = [(axis,) for axis in pair]
    if min(shape) < 2 or not {pair, *singles} <= unbiased_answers.part_slices.keys():
        return None
    table = unbiased_answers.table(pair)
    noisy_margins = table.sum(axis=1), table.sum(axis=0)
    margin_errors = [unbiased_answers.standard_error(axes) for axes in singles]
    margins = [
        np.maximum(margin, max(error, 1e-9))
        for margin, error in zip(noisy_margins, margin_errors, strict=True)
    ]
    weights = [1 / np.sqrt(margin) for margin in margins]
    weighted = (table - np.outer(*noisy_margins)) * np.outer(*weights)
    variance = _interaction_variance(unbiased_answers, pair, margins)
    projections = [np.eye(k) - 1 / k for k in shape]
    factors = [w[:, None] * P * w for w, P in zip(weights, projections, strict=True)]
    trace = variance * np.trace(factors[0]) * np.trace(factors[1])
    squared_trace = variance**2 * (factors[0] ** 2).sum() * (factors[1] ** 2).sum()
    linear = variance * float((weighted * (factors[0] @ weighted @ factors[1])).sum())
    z = two_sided_quantile(check_level(level), laplace=unbiased_answers.laplace)
    half_width = z * math.sqrt(4 * linear + 2 * squared_trace)
    phi_squared = float((weighted**2).sum()) - trace
    present_counts = [  # of values that some rows have, as far as the noisy margins show
        int((margin > 3 * error).sum())
        for margin, error in zip(noisy_margins, margin_errors, strict=True)
    ]
    degrees = max(min(present_counts) - 1, 1)
    value, low, high = (
        math.sqrt(min(max(end / degrees, 0.0), 1.0))
        for end in (phi_squared, phi_squared - half_width, phi_squared + half_width)
    )
    return Association(value, low, high)


def _interaction_variance(
    unbiased_answers: UnbiasedAnswers, pair: Axes, margins: list[Array]
) -> float:
    """Return the variance of the noise on p_ab − p_a p_b, in the part of both columns.

    The margins' noise is multiplied by the other margin.
    """
    v_a, v_b = (unbiased_answers.variance[(axis,)] for axis in pair)
    length_a, length_b = (float(margin @ margin) / len(margin) for margin in margins)
    return unbiased_answers.variance[pair] + v_a * length_b + v_b * length_a + v_a * v_b


def associations_of(answers: Array, tables: Marginals) -> Array:
    """Return Cramér's V of every table of two columns (pairs,), off the answers of all tables."""
    return np.array([cramers_v(answers[table].reshape(shape)) for _, shape, table in tables.layout])


@frozen
class LinkLosses:
    """Which strong links a release keeps: the numbers of pairs, in the order of their strength."""

    strong: Array
    lost: Array
    new: Array


def compare_links(reference: Array, released: Array) -> LinkLosses:
    """Return which strong links of a reference a release loses, and which it invents.

    Args:
        reference: Cramér's V of each pair of columns (pairs,); NaN where it is not known.
        released: The release's (pairs,).

    """
    order = np.argsort(-np.nan_to_num(reference), kind="stable")
    strong = order[reference[order] >= STRONG_LINK]
    lost = strong[released[strong] < MIN_KEPT_SHARE * reference[strong]]
    new = np.flatnonzero((released >= STRONG_LINK) & (reference < WEAK_LINK))
    return LinkLosses(strong, lost, new)


def links_sentence(losses: LinkLosses, pair_names: list[str]) -> str:
    """Return in a sentence how many strong links are kept, and which are lost or new."""
    strong_count = len(losses.strong)
    if not strong_count:
        text = "No two columns are strongly linked"
    elif not len(losses.lost):
        text = "The one strong link is kept"
        if strong_count > 1:
            text = f"All {strong_count} strong links are kept"
    else:
        text = f"{strong_count - len(losses.lost)} of {strong_count} strong links are kept"
        text += f"; {_listed(losses.lost, pair_names)} lost"
    if len(losses.new):
        text += f"; {_listed(losses.new, pair_names)} new"
    return text


def _listed(pairs: Array, pair_names: list[str]) -> str:
    """Return the first pair's name with its verb, and how many more there are."""
    if len(pairs) == 1:
        return f"{pair_names[pairs[0]]} is"
    return f"{pair_names[pairs[0]]} and {len(pairs) - 1} more are"
