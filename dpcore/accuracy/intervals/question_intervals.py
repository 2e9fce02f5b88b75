"""Confidence intervals for questions, differences, ratios and odds ratios of shares.

They are for the table, and for the population that it comes from. Everything is linear in noisy
tables but ratios. What was not measured together is bounded by what was measured of its parts,
conservatively; where no table says anything of a question, nothing is claimed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.errors import InputError
from ...core.types import Array, Texts, frozen, value_object
from ...data.privacy_unit import ROWS_COLUMN
from ...data.row_pairs import is_pair_column
from ...models.releases import UnbiasedAnswers
from ...queries import TableQueries
from ...queries.questions import Question
from ...queries.residual_spaces import MAX_DECOMPOSED_COLUMNS
from ...schema.domain import Domain
from .confidence_levels import check_level, sampling_standard_errors, two_sided_quantile
from .consistent_bounds import Band, compatible_bounds
from .pair_intervals import (
    Ends,
    PairedShares,
    odds_of_bands,
    population_ends,
    quantiles,
    ratio_of_bands,
    table_ends,
)
from .unbiased_tables import axes_and_values, noise_covariance, query_components, unbiased_share

COMPARISON_KINDS = ("difference", "ratio", "odds")
HalfBand = tuple[float | None, float | None]
NO_BOUNDS: HalfBand = (None, None)  # an interval without ends
MAX_JOINT_CELLS = 1_000_000  # cells of both questions' columns


@value_object
class Interval:
    """The confidence interval of one number, with bounds for the table and for the population.

    Bounds are None where there are none. A lower bound without an upper one says "this or more", as
    for a ratio to a share that may be 0. `estimate` is what the release answers, `unbiased` what
    the noisy tables alone say; `how` in words how the interval was found, or why not.
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

    `components_by_question` are the questions' components; `unmeasured_columns` names, for each,
    columns of which nothing was measured together.
    """

    shares: Array
    noise_covariances: Array
    forms: tuple[dict[Any, Array], ...]
    unmeasured_columns: Texts


def measured_shares(
    unbiased_answers: UnbiasedAnswers, questions: Sequence[Question]
) -> MeasuredShares:
    """Return the unbiased shares of questions by noisy tables, with their noise covariances.

    ⟨g, P_n⟩ = mean(g) + Σ_S ⟨h_S, part_S⟩ has variance Σ_S v_S ‖h_S‖² from the noise, and two of
    them the covariance Σ_S v_S ⟨h_S, h'_S⟩, exactly.
    """
    components_by_question = []
    shares = []
    unmeasured_columns = []
    for question in questions:
        axes, g = axes_and_values(question.workload)
        h = query_components(axes, g)
        names = unbiased_answers.domain.names
        unmeasured_sets = [
            " × ".join(names[a] for a in S) for S in h if S not in unbiased_answers.part_slices
        ]
        unmeasured_columns.append(unmeasured_sets[0] if unmeasured_sets else "")
        components_by_question.append(h)
        shares.append(unbiased_share(unbiased_answers, g, h))
    return MeasuredShares(
        np.array(shares),
        _noise(unbiased_answers, components_by_question),
        tuple(components_by_question),
        tuple(unmeasured_columns),
    )


def _noise(known: UnbiasedAnswers, forms: Sequence[dict[Any, Array]]) -> Array:
    """Return the noise covariances (q, q) of answers given by their components."""
    return np.array([[noise_covariance(known, a, b) for b in forms] for a in forms])


def _paired(
    known: UnbiasedAnswers, measured: MeasuredShares, first: Question, second: Question
) -> PairedShares:
    """Return the shares of two measured questions, with their joint share where known.

    It is known where tables know the columns of both together.
    """
    p, q = measured.shares
    joint = _joint_share(known, first, second)
    if joint is None:
        return PairedShares(p, q, None, measured.noise_covariances)
    both, form = joint
    return PairedShares(p, q, np.asarray(both), _noise(known, [*measured.forms, form]))


def question_interval(
    unbiased_answers: UnbiasedAnswers,
    question: Question,
    n: float,
    *,
    estimate: float | None = None,
    level: float = 0.95,
) -> Interval:
    """Return the confidence interval of one question's share.

    With Laplace noise quantiles are those of the Laplace distribution. What was not measured
    together has the bounds of `compatible_bounds`, and no unbiased share.
    """
    return _question_interval(unbiased_answers, question, n, estimate, check_level(level))


def _question_interval(
    unbiased_answers: UnbiasedAnswers,
    question: Question,
    n: float,
    estimate: float | None,
    level: float,
) -> Interval:
    """Return the interval of one question's share at a level that was checked."""
    measured = measured_shares(unbiased_answers, [question])
    if measured.unmeasured_columns[0]:
        bands = compatible_bounds(unbiased_answers, question, n, level)
        if bands is None:
            return _unbounded_interval(question, level, measured, estimate)
        how = (
            f"conservative: {_unmeasured_clause(measured.unmeasured_columns)}, and every table "
            "is allowed that agrees with what was; "
        )
        how += "population: sampling of n independent rows added"
        return _build_interval(question.text, level, how, estimate, None, *bands)
    share = float(measured.shares[0])
    z = two_sided_quantile(level, laplace=unbiased_answers.laplace)
    noise = float(measured.noise_covariances[0, 0])
    sampling = float(sampling_standard_errors(share, n, level)) ** 2
    bands = [
        _clip_band(_symmetric_band(share, variance, z), 0, 1)
        for variance in (noise, noise + sampling)
    ]
    return _build_interval(
        question.text, level, _method_text(unbiased_answers.laplace), estimate, share, *bands
    )


def _unbounded_interval(
    question: Question, level: float, measured: MeasuredShares, estimate: float | None
) -> Interval:
    """Return the interval without ends of a question of whose columns not all were measured."""
    how = f"cannot be bounded: {_unmeasured_clause(measured.unmeasured_columns)}"
    return _build_interval(question.text, level, how, estimate)


def noise_deviation(unbiased_answers: UnbiasedAnswers, question: Question) -> float | None:
    """Return the standard deviation of the noise in a question's unbiased share.

    It is √(Σ_S v_S ‖h_S‖²), see `measured_shares`; None where not all of the question was measured.
    """
    measured = measured_shares(unbiased_answers, [question])
    if measured.unmeasured_columns[0]:
        return None
    return math.sqrt(float(measured.noise_covariances[0, 0]))


def row_total_question(question: Question, domain: Domain) -> Question:
    """Return the query Σ_k (k/s) t(k, c) over the cells c of a question, for people who count once.

    Times N s, for N people with up to s rows, it is the number of their kept rows that fulfil the
    question: see `data.privacy_unit`. Raises InputError for a domain without the column `rows`,
    and for a question about two rows of a person, which have other weights.
    """
    axes, values = axes_and_values(question.workload)
    for a in axes:
        if is_pair_column(domain, domain.names[a]):
            raise InputError(
                f"column {domain.names[a]!r} is about two rows of a person: ask it of people, "
                "without a number of rows"
            )
    (rows_axis,) = domain.axes([ROWS_COLUMN])
    most_rows = domain.shape[rows_axis]
    row_shares = np.arange(1, most_rows + 1) / most_rows
    total_axes = tuple(sorted({*axes, rows_axis}))
    shape = domain.shape_of(total_axes)
    values = values.reshape([domain.shape[a] if a in axes else 1 for a in total_axes])
    row_shares = row_shares.reshape([-1 if a == rows_axis else 1 for a in total_axes])
    names = tuple(domain.names[a] for a in total_axes)
    weighted = np.broadcast_to(values * row_shares, shape).reshape(1, -1)
    text = f"number of rows with {question.text}"
    query = TableQueries(domain, [(names, weighted)], [(("question", text),)])
    return Question(text, names, query, question.notes)


def row_total_scale(domain: Domain, people: int) -> int:
    """Return N s, the rows that a share of 1 of a `row_total_question` stands for."""
    return people * _most_rows(domain)


def _most_rows(domain: Domain) -> int:
    """Return s, up to how many rows of a person count."""
    (rows_axis,) = domain.axes([ROWS_COLUMN])
    return domain.shape[rows_axis]


def row_total_interval(
    unbiased_answers: UnbiasedAnswers,
    question: Question,
    people: int,
    *,
    estimate: float | None = None,
    level: float = 0.95,
) -> Interval:
    """Return the interval of a number of rows, by a `row_total_question`.

    The number is N s times the query's share for `people` N with up to s rows, and so is its noise:
    with independent noise σ in the cells (k, c) of one table, N σ √(Σ k²) over the cells that the
    question asks for. Noise in other tables adds as in `measured_shares`. Nothing is said of a
    population, of which people were sampled, and not rows. `estimate` is the query's share as the
    release answers it.
    """
    scale = row_total_scale(unbiased_answers.domain, people)
    check_level(level)
    measured = measured_shares(unbiased_answers, [question])
    number = None if estimate is None else scale * estimate
    if measured.unmeasured_columns[0]:
        return _unbounded_interval(question, level, measured, number)
    z = two_sided_quantile(level, laplace=unbiased_answers.laplace)
    variance = float(measured.noise_covariances[0, 0]) * scale**2
    total = float(measured.shares[0]) * scale
    band = _clip_band(_symmetric_band(total, variance, z), 0, scale)
    kind = "conservative" if unbiased_answers.laplace else "exact"
    most_rows = _most_rows(unbiased_answers.domain)
    how = f"{kind}: linear in noisy tables of {people:,} people, by their rows, {most_rows} at most"
    return _build_interval(question.text, level, how, number, total, band)


def comparison_interval(
    unbiased_answers: UnbiasedAnswers,
    first: Question,
    second: Question,
    n: float,
    kind: str,
    *,
    estimate: tuple[float, float] | None = None,
    level: float = 0.95,
) -> Interval:
    """Return the interval of a difference, a ratio or an odds ratio of two questions' shares.

    The questions may overlap. How it is found, and how well it covers, says `pair_intervals`. If
    one of the questions was not measured itself, it comes from both questions' own intervals at
    half the error each, and is conservative. A ratio or an odds ratio without an upper bound has a
    lower one alone, or none; `how` says so. `n` is the number of independent rows
    (`independent_row_count`), and `estimate` both shares as the release answers them. Raises
    InputError for another kind of comparison, or a level outside the range.
    """
    if kind not in COMPARISON_KINDS:
        raise InputError(f"compare={kind!r} is none of {', '.join(COMPARISON_KINDS)}")
    text = f"{kind} of ({first.text}) and ({second.text})"
    measured = measured_shares(unbiased_answers, [first, second])
    check_level(level)
    compared_estimate = None if estimate is None else _compare_shares(kind, *estimate)
    unbiased = None
    if any(measured.unmeasured_columns):
        how, bands = _compare_by_own_intervals(unbiased_answers, (first, second), n, kind, level)
    else:
        unbiased = _compare_shares(kind, *map(float, measured.shares))
        how = _method_text(unbiased_answers.laplace)
        pair = _paired(unbiased_answers, measured, first, second)
        z = quantiles(level, laplace=unbiased_answers.laplace)
        bands = [table_ends(pair, kind, z), population_ends(pair, kind, n, z)]
    if not bands:
        return _build_interval(text, level, how, compared_estimate)
    edge = f"({second.text}) apart from 0"
    if kind == "odds":
        edge += f", or ({first.text}) apart from 1"
    how, table, people = _said(how, edge, *((float(low), float(high)) for low, high in bands))
    return _build_interval(text, level, how, compared_estimate, unbiased, table, people)


def _said(how: str, edge: str, table: Band, people: Band) -> tuple[str, HalfBand, HalfBand]:
    """Return how an interval was found, and its bands, with infinite ends as None.

    The words name every infinite end. `edge` names the shares that make a comparison infinite.
    """
    table_ends = _finite(table)
    people_ends = _finite(people)
    if table_ends == NO_BOUNDS:
        return f"cannot be bounded: noise does not tell {edge}", NO_BOUNDS, NO_BOUNDS
    if table_ends[1] is None:
        how += f"; no upper bound: noise does not tell {edge}"
    elif people_ends[1] is None:
        how += f"; no upper bound for the population: the release does not tell {edge} there"
    return how, table_ends, people_ends


def _finite(band: Band) -> HalfBand:
    """Return a band with None for an infinite end.

    Both are None if nothing is said of numbers ≥ 0.
    """
    low, high = band
    if math.isfinite(high):
        return low, high
    return (low, None) if 0 < low < math.inf else NO_BOUNDS


def _compare_by_own_intervals(
    unbiased_answers: UnbiasedAnswers,
    questions: Sequence[Question],
    n: float,
    kind: str,
    level: float,
) -> tuple[str, list[Ends]]:
    """Return a method in words and bands of a comparison, from two questions' own intervals.

    The bands are of table and population; none if unbounded. Each interval has half the error, so
    that both hold with at least the stated level.
    """
    intervals = [
        _question_interval(unbiased_answers, question, n, None, (1 + level) / 2)
        for question in questions
    ]
    unbounded = next((interval for interval in intervals if interval.low is None), None)
    if unbounded:
        return unbounded.how, []
    tables = [(one.low, one.high) for one in intervals]
    population_bands = [(one.population_low, one.population_high) for one in intervals]
    bands = [_compare_bands(kind, *band_pair) for band_pair in (tables, population_bands)]
    return next(one.how for one in intervals if one.unbiased is None), bands


def independent_row_count(protection_facts: Mapping[str, Any]) -> float:
    """Return the effective number of rows for a population under the privacy unit.

    This is n/b for people with up to b rows: b rows of one person may all say the same, and a
    share's variance is then up to b times that of n rows.
    """
    return protection_facts["records"] / protection_facts["rows_per_person"]


def _joint_share(
    unbiased_answers: UnbiasedAnswers, first: Question, second: Question
) -> tuple[float, dict[Any, Array]] | None:
    """Return the share ⟨gg', P_n⟩ of a product of two questions, and its components.

    The share is a mean by the noisy tables; None if the tables do not determine it.
    """
    a, g = axes_and_values(first.workload)
    b, h = axes_and_values(second.workload)
    axes = tuple(sorted({*a, *b}))
    shape = unbiased_answers.domain.shape_of(axes)
    if len(axes) > MAX_DECOMPOSED_COLUMNS or math.prod(shape) > MAX_JOINT_CELLS:
        return None
    broadcast_shapes = [
        [n if axis in question_axes else 1 for axis, n in zip(axes, shape, strict=True)]
        for question_axes in (a, b)
    ]
    product_values = np.broadcast_to(
        g.reshape(broadcast_shapes[0]) * h.reshape(broadcast_shapes[1]), shape
    )
    parts = query_components(axes, product_values)
    if not all(S in unbiased_answers.part_slices for S in parts):
        return None
    return unbiased_share(unbiased_answers, product_values, parts), parts


def _symmetric_band(centre: float, variance: float, z: float) -> Band:
    """Return the ends of the interval of z standard errors about `centre`.

    The noise has this variance.
    """
    half_width = z * math.sqrt(max(variance, 0.0))
    return centre - half_width, centre + half_width


def _clip_band(band: Band, low: float, high: float) -> Band:
    """Return the part of a band between the possible ends `low` and `high`.

    It is the nearest possible end if there is no such part.
    """
    return min(max(band[0], low), high), min(max(band[1], low), high)


def _compare_bands(kind: str, a: Any, b: Any) -> Ends:
    """Return the range of a comparison of two shares, each anywhere in its band.

    Infinite where nothing bounds it.
    """
    if kind == "difference":
        return np.subtract(a[0], b[1]), np.subtract(a[1], b[0])
    return ratio_of_bands(a, b) if kind == "ratio" else odds_of_bands(a, b)


def _compare_shares(kind: str, a: float, b: float) -> float | None:
    """Return the difference, ratio or odds ratio of two shares.

    None if it has no finite value.
    """
    if kind == "difference":
        return a - b
    if kind == "ratio":
        found = a / b if b > 0 else math.inf
    else:
        found = a * (1 - b) / (b * (1 - a)) if 0 < a < 1 and 0 < b < 1 else math.inf
    return found if math.isfinite(found) else None


def mark_as_adaptive(interval: Interval) -> Interval:
    """Return the interval marked as adaptive, as earlier answers chose its tables.

    So repeats are only nearly unbiased.
    """
    return replace(
        interval,
        how=interval.how.replace("exact: linear", "nearly exact, as tables were chosen: linear", 1),
    )


def _method_text(laplace: bool) -> str:
    """Return the words that say how an interval was found if all of it was measured."""
    text = (
        "exact: linear in noisy tables"
        if not laplace
        else "conservative: linear in tables with Laplace noise"
    )
    return text + "; population: sampling of n independent rows added"


def _build_interval(
    text: str,
    level: float,
    how: str,
    estimate: float | None = None,
    unbiased: float | None = None,
    table: HalfBand = NO_BOUNDS,
    population: HalfBand = NO_BOUNDS,
) -> Interval:
    """Return the interval with the bands of the table and of the population.

    It has no ends without them.
    """
    return Interval(text, estimate, unbiased, *table, *population, level, how)


def _unmeasured_clause(unmeasured_columns: Sequence[str]) -> str:
    """Return a clause that names the first columns without any measurement."""
    columns_text = next(columns for columns in unmeasured_columns if columns)
    return f"nothing was measured about {columns_text}" + (
        " together" if " × " in columns_text else ""
    )
