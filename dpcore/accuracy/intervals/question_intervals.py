"""Intervals for questions, differences, ratios and odds ratios: for the table, and for the population it comes from.

Everything is linear in noisy tables but ratios. What was not measured together is bounded by what was measured of its
parts, conservatively; where no table says anything of a question, nothing is claimed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.errors import InputError
from ...core.types import Array, Texts, frozen, value_object
from ...models.releases import UnbiasedAnswers
from ...queries.questions import Question
from ...queries.residual_spaces import MOST_WAYS
from .confidence_levels import check_level, quantile, sampling_errors
from .consistent_bounds import Band, compatible_bounds
from .pair_intervals import Ends, PairedShares, odds_of_bands, population_ends, quantiles, ratio_of_bands, table_ends
from .unbiased_tables import components, share_of, spread_of, values_of

KINDS = ("difference", "ratio", "odds")
HalfBand = tuple[float | None, float | None]
OPEN: HalfBand = (None, None)  # an interval without ends
MOST_TOGETHER = 1_000_000  # cells of both questions' columns


@value_object
class Interval:
    """An interval for one number: bounds for the table and for the population; None where there are none.

    A lower bound without an upper one says "this or more", as for a ratio to a share that may be 0.
    `estimate` is what the release answers, `unbiased` what the noisy tables alone say; `how` in words, or why not.
    """

    question: str
    estimate: float | None
    unbiased: float | None
    low: float | None
    high: float | None
    population_low: float | None
    population_high: float | None
    level: float
    how: str


@frozen
class MeasuredShares:
    """Unbiased shares (q,) of questions by noisy tables, and the covariances (q, q) of their noise.

    `forms` are the questions' components; `missing` names, for each, columns of which nothing was measured together.
    """

    shares: Array
    noise: Array
    forms: tuple[dict[Any, Array], ...]
    missing: Texts


def measured_shares(known: UnbiasedAnswers, questions: Sequence[Question]) -> MeasuredShares:
    """The unbiased shares of questions by noisy tables, with the covariances of their noise.

    ⟨g, P_n⟩ = mean(g) + Σ_S ⟨h_S, part_S⟩ has variance Σ_S v_S ‖h_S‖² from the noise, and two of them the covariance
    Σ_S v_S ⟨h_S, h'_S⟩, exactly.
    """
    components_by_question, shares, unmeasured_columns = [], [], []
    for question in questions:
        axes, g = values_of(question.workload)
        h = components(axes, g)
        names = known.domain.names
        unmeasured_sets = [" × ".join(names[a] for a in S) for S in h if S not in known.places]
        unmeasured_columns.append(unmeasured_sets[0] if unmeasured_sets else "")
        components_by_question.append(h)
        shares.append(share_of(known, g, h))
    return MeasuredShares(
        np.array(shares),
        _noise(known, components_by_question),
        tuple(components_by_question),
        tuple(unmeasured_columns),
    )


def _noise(known: UnbiasedAnswers, forms: Sequence[dict[Any, Array]]) -> Array:
    """The covariances (q, q) of the noise of answers given by their components."""
    return np.array([[spread_of(known, a, b) for b in forms] for a in forms])


def _paired(known: UnbiasedAnswers, measured: MeasuredShares, first: Question, second: Question) -> PairedShares:
    """Two measured questions with their joint share, where tables know the columns of both together."""
    p, q = measured.shares
    joint = _together(known, first, second)
    if joint is None:
        return PairedShares(p, q, None, measured.noise)
    both, form = joint
    return PairedShares(p, q, np.asarray(both), _noise(known, [*measured.forms, form]))


def answer(
    known: UnbiasedAnswers, question: Question, n: float, *, estimate: float | None = None, level: float = 0.95
) -> Interval:
    """The interval of one question's share; with Laplace noise quantiles are those of the Laplace distribution.

    What was not measured together has the bounds of `compatible`, and no unbiased share.
    """
    return _answer(known, question, n, estimate, check_level(level))


def _answer(known: UnbiasedAnswers, question: Question, n: float, estimate: float | None, level: float) -> Interval:
    """The interval of one question's share at a level that was checked."""
    measured = measured_shares(known, [question])
    if measured.missing[0]:
        bands = compatible_bounds(known, question, n, level)
        if bands is None:
            return _interval(question.text, level, f"cannot be bounded: {_unmeasured(measured.missing)}", estimate)
        how = f"conservative: {_unmeasured(measured.missing)}, and every table is allowed that agrees with what was; "
        how += "population: sampling of n independent rows added"
        return _interval(question.text, level, how, estimate, None, *bands)
    share, z = float(measured.shares[0]), quantile(level, laplace=known.laplace)
    noise = float(measured.noise[0, 0])
    sampling = float(sampling_errors(share, n, level)) ** 2
    bands = [_inside(_band(share, variance, z), 0, 1) for variance in (noise, noise + sampling)]
    return _interval(question.text, level, _how(known.laplace), estimate, share, *bands)


def compare_questions(
    known: UnbiasedAnswers, first: Question, second: Question, n: float, kind: str, *,
    estimate: tuple[float, float] | None = None, level: float = 0.95,
) -> Interval:  # fmt: skip
    """The interval of a difference, a ratio or an odds ratio of two questions' shares, which may overlap.

    How it is found, and how well it covers, says `pairs`. Where one of the questions was not measured itself, it comes
    from both questions' own intervals at half the error each, and is conservative. A ratio or an odds ratio without an
    upper bound has a lower one alone, or none; `how` says so. `n` is the number of independent rows (`independent`),
    and `estimate` both shares as the release answers them. Raises InputError for another kind of comparison, or a
    level outside the range.
    """
    if kind not in KINDS:
        raise InputError(f"compare={kind!r} is none of {', '.join(KINDS)}")
    text = f"{kind} of ({first.text}) and ({second.text})"
    measured = measured_shares(known, [first, second])
    check_level(level)
    compared_estimate = None if estimate is None else _compared(kind, *estimate)
    unbiased = None
    if any(measured.missing):
        how, bands = _from_parts(known, (first, second), n, kind, level)
    else:
        unbiased, how = _compared(kind, *map(float, measured.shares)), _how(known.laplace)
        pair, z = _paired(known, measured, first, second), quantiles(level, laplace=known.laplace)
        bands = [table_ends(pair, kind, z), population_ends(pair, kind, n, z)]
    if not bands:
        return _interval(text, level, how, compared_estimate)
    edge = f"({second.text}) apart from 0"
    if kind == "odds":
        edge += f", or ({first.text}) apart from 1"
    how, table, people = _said(how, edge, *((float(low), float(high)) for low, high in bands))
    return _interval(text, level, how, compared_estimate, unbiased, table, people)


def _said(how: str, edge: str, table: Band, people: Band) -> tuple[str, HalfBand, HalfBand]:
    """How an interval was found, and its bands, with every infinite end as None and in words.

    `edge` names the shares that make a comparison infinite.
    """
    table_ends, people_ends = _finite(table), _finite(people)
    if table_ends == OPEN:
        return f"cannot be bounded: noise does not tell {edge}", OPEN, OPEN
    if table_ends[1] is None:
        how += f"; no upper bound: noise does not tell {edge}"
    elif people_ends[1] is None:
        how += f"; no upper bound for the population: the release does not tell {edge} there"
    return how, table_ends, people_ends


def _finite(band: Band) -> HalfBand:
    """A band with None for an infinite end; without both where nothing is said of numbers ≥ 0."""
    low, high = band
    if math.isfinite(high):
        return low, high
    return (low, None) if 0 < low < math.inf else OPEN


def _from_parts(
    known: UnbiasedAnswers, asked: Sequence[Question], n: float, kind: str, level: float
) -> tuple[str, list[Ends]]:
    """How two questions are compared by their own intervals, and the bands of table and population; none if unbounded.

    Each interval has half the error, so that both hold with at least the stated level.
    """
    intervals = [_answer(known, question, n, None, (1 + level) / 2) for question in asked]
    unbounded = next((interval for interval in intervals if interval.low is None), None)
    if unbounded:
        return unbounded.how, []
    tables = [(one.low, one.high) for one in intervals]
    population_bands = [(one.population_low, one.population_high) for one in intervals]
    bands = [_apart(kind, *band_pair) for band_pair in (tables, population_bands)]
    return next(one.how for one in intervals if one.unbiased is None), bands


def independent(protects: Mapping[str, Any]) -> float:
    """The effective number of records for a population under the privacy unit: n/b for people with up to b rows.

    b rows of one person may all say the same, and a share's variance is then up to b times that of n records.
    """
    return protects["records"] / protects["rows_per_person"]


def _together(known: UnbiasedAnswers, first: Question, second: Question) -> tuple[float, dict[Any, Array]] | None:
    """The mean ⟨gg', P_n⟩ of a product of two questions by the noisy tables, and its components.

    None where the tables do not determine it.
    """
    (a, g), (b, h) = values_of(first.workload), values_of(second.workload)
    axes = tuple(sorted({*a, *b}))
    shape = known.domain.shape_of(axes)
    if len(axes) > MOST_WAYS or math.prod(shape) > MOST_TOGETHER:
        return None
    broadcast_shapes = [
        [n if axis in question_axes else 1 for axis, n in zip(axes, shape, strict=True)] for question_axes in (a, b)
    ]
    product_values = np.broadcast_to(g.reshape(broadcast_shapes[0]) * h.reshape(broadcast_shapes[1]), shape)
    parts = components(axes, product_values)
    if not all(S in known.places for S in parts):
        return None
    return share_of(known, product_values, parts), parts


def _band(middle: float, variance: float, z: float) -> Band:
    """The ends of the interval of z standard errors about `middle`, for noise of this variance."""
    half_width = z * math.sqrt(max(variance, 0.0))
    return middle - half_width, middle + half_width


def _inside(band: Band, low: float, high: float) -> Band:
    """The part of a band between possible ends; the nearest possible end where there is no such part."""
    return min(max(band[0], low), high), min(max(band[1], low), high)


def _apart(kind: str, a: Any, b: Any) -> Ends:
    """The range of a comparison of two shares, each anywhere in its band; infinite where nothing bounds it."""
    if kind == "difference":
        return np.subtract(a[0], b[1]), np.subtract(a[1], b[0])
    return ratio_of_bands(a, b) if kind == "ratio" else odds_of_bands(a, b)


def _compared(kind: str, a: float, b: float) -> float | None:
    """The difference, ratio or odds ratio of two shares; None where it has no finite value."""
    if kind == "difference":
        return a - b
    if kind == "ratio":
        found = a / b if b > 0 else math.inf
    else:
        found = a * (1 - b) / (b * (1 - a)) if 0 < a < 1 and 0 < b < 1 else math.inf
    return found if math.isfinite(found) else None


def adaptively(found: Interval) -> Interval:
    """An interval marked as adaptive: earlier answers chose its tables, so repeats are only nearly unbiased."""
    return replace(found, how=found.how.replace("exact: linear", "nearly exact, as tables were chosen: linear", 1))


def _how(laplace: bool) -> str:
    """The words that say how an interval was found, where all of it was measured."""
    text = "exact: linear in noisy tables" if not laplace else "conservative: linear in tables with Laplace noise"
    return text + "; population: sampling of n independent rows added"


def _interval(
    text: str, level: float, how: str, estimate: float | None = None, unbiased: float | None = None,
    table: HalfBand = OPEN, people: HalfBand = OPEN,
) -> Interval:  # fmt: skip
    """The interval with the bands of the table and of the population, which has no ends without them."""
    return Interval(text, estimate, unbiased, *table, *people, level, how)


def _unmeasured(missing: Sequence[str]) -> str:
    """A clause that names the first columns of which nothing was measured."""
    columns_text = next(columns for columns in missing if columns)
    return f"nothing was measured about {columns_text}" + (" together" if " × " in columns_text else "")
