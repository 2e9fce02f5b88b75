"""Intervals for questions, differences, ratios and odds ratios: for the table, and for the population it comes from.

Everything is linear in noisy tables but ratios. What was not measured together is bounded by what was measured of its
parts, conservatively; where no table says anything of a question, nothing is claimed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from ..errors import InputError
from ..parsing.questions import Question
from ..releases import UnbiasedAnswers
from ..types import Array, Texts, frozen, value_object
from ..workloads.residuals import MOST_WAYS
from .compatible import Band, compatible_bounds
from .known import components, share_of, spread_of, values_of
from .levels import check_level, quantile, sampling_errors, towards_half

KINDS = ("difference", "ratio", "odds")
OPEN = (None, None)  # an interval without ends
NEAR = 4.0  # standard errors from 0 and 1 within which log odds are not taken for normal
MOST_TOGETHER = 1_000_000  # cells of both questions' columns


@value_object
class Interval:
    """An interval for one number: bounds for the table and for the population; None where there are none.

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
    """Unbiased shares (q,) of questions by noisy tables, and their covariances (q, q) from noise and from sampling.

    `missing` names, for each question, columns of which nothing was measured together.
    """

    shares: Array
    noise: Array
    sampling: Array
    missing: Texts


def measured_shares(known: UnbiasedAnswers, questions: Sequence[Question], n: float, level: float) -> MeasuredShares:
    """The unbiased shares of questions by noisy tables, with their covariances from noise and from sampling.

    ⟨g, P_n⟩ = mean(g) + Σ_S ⟨h_S, part_S⟩ has variance Σ_S v_S ‖h_S‖² from the noise, and two of them the covariance
    Σ_S v_S ⟨h_S, h'_S⟩, exactly. A sample of n records adds Var(g)/n, with a share p moved towards ½ by z² records
    (Agresti and Coull), which is at most p(1 − p)/n for values in [0, 1]. Two samples' shares have the covariance
    (⟨gg', P⟩ − pp')/n, where tables know the columns of both together; else it is taken to be the lowest there can be,
    which makes differences wider, never narrower.
    """
    forms, shares, missing = [], [], []
    for question in questions:
        axes, g = values_of(question.workload)
        h = components(axes, g)
        names = known.domain.names
        gone = [" × ".join(names[a] for a in S) for S in h if S not in known.places]
        missing.append(gone[0] if gone else "")
        forms.append(h)
        shares.append(share_of(known, g, h))
    noise = np.array([[spread_of(known, a, b) for b in forms] for a in forms])
    towards, spread = towards_half(shares, n, level), sampling_errors(shares, n, level)
    sampling = np.diag(spread**2)
    for i, j in combinations(range(len(forms)), 2):
        both, most = _together(known, questions[i], questions[j]), spread[i] * spread[j]
        between = -most if both is None else min(max((both - towards[i] * towards[j]) / n, -most), most)
        sampling[i, j] = sampling[j, i] = between
    return MeasuredShares(np.array(shares), noise, sampling, tuple(missing))


def answer(
    known: UnbiasedAnswers, question: Question, n: float, *, estimate: float | None = None, level: float = 0.95
) -> Interval:
    """The interval of one question's share; with Laplace noise quantiles are those of the Laplace distribution.

    What was not measured together has the bounds of `compatible`, and no unbiased share.
    """
    return _answer(known, question, n, estimate, check_level(level))


def _answer(known: UnbiasedAnswers, question: Question, n: float, estimate: float | None, level: float) -> Interval:
    """The interval of one question's share at a level that was checked."""
    found = measured_shares(known, [question], n, level)
    if found.missing[0]:
        bands = compatible_bounds(known, question, n, level)
        if bands is None:
            return _interval(question.text, level, f"cannot be bounded: {_unmeasured(found.missing)}", estimate)
        how = f"conservative: {_unmeasured(found.missing)}, and every table is allowed that agrees with what was; "
        how += "population: sampling of n independent rows added"
        return _interval(question.text, level, how, estimate, None, *bands)
    share, z = float(found.shares[0]), quantile(level, laplace=known.laplace)
    bands = [_inside(_band(share, float(both[0, 0]), z), 0, 1) for both in (found.noise, found.noise + found.sampling)]
    return _interval(question.text, level, _how(known.laplace), estimate, share, *bands)


def compare_questions(
    known: UnbiasedAnswers, first: Question, second: Question, n: float, kind: str, *,
    estimate: tuple[float, float] | None = None, level: float = 0.95,
) -> Interval:  # fmt: skip
    """The interval of a difference, a ratio or an odds ratio of two questions' shares.

    Difference: normal, exact. Ratio a/b: Fieller's set {r: (a − rb)² ≤ z² Var(a − rb)}, exact for normal noise; where b
    is not told apart from 0 it has no end, and that is said. Odds ratio: normal in the logarithm by the delta method
    where both shares are far from 0 and 1; else from both shares' own intervals at half the error each, conservative,
    and so are all three where one of the questions was not measured itself.
    """
    if kind not in KINDS:
        raise InputError(f"compare={kind!r} is none of {', '.join(KINDS)}")
    text = f"{kind} of ({first.text}) and ({second.text})"
    found = measured_shares(known, [first, second], n, check_level(level))
    value = None if estimate is None else _compared(kind, *estimate)
    if any(found.missing):
        unbiased, (how, bands) = None, _from_parts(known, (first, second), n, kind, level)
    else:
        a, b = (float(share) for share in found.shares)
        unbiased, how, bands = _compared(kind, a, b), _how(known.laplace), []
        z = quantile(level, laplace=known.laplace)
        for covariance in (found.noise, found.noise + found.sampling):
            if kind == "difference":
                band = _band(a - b, covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1], z)
                bands.append(_inside(band, -1, 1))
            elif kind == "ratio":
                bands.append(_fieller(a, b, covariance, z))
            else:
                band, careful = _odds(a, b, covariance, z, quantile((1 + level) / 2, laplace=known.laplace))
                bands.append(band)
                how += "; conservative: near 0 or 1" if careful and "conservative: near" not in how else ""
    if bands[0] is None:
        how, bands = f"cannot be bounded: noise does not tell ({second.text}) apart from 0", []
    elif bands[1] is None:
        how += "; not bounded for the population, where it may be 0"
    return _interval(text, level, how, value, unbiased, *bands)


def _from_parts(
    known: UnbiasedAnswers, asked: Sequence[Question], n: float, kind: str, level: float
) -> tuple[str, list[Any]]:
    """How two questions are compared by their own intervals, and the bands of table and population, None where
    unbounded: each interval at half the error, so at least the stated level.
    """
    each = [_answer(known, question, n, None, (1 + level) / 2) for question in asked]
    unknown = next((one for one in each if one.low is None), None)
    if unknown:
        return unknown.how, [OPEN, OPEN]
    a, b = ((one.low, one.high) for one in each)
    people = ((one.population_low, one.population_high) for one in each)
    bands = [_apart(kind, *both) for both in ((a, b), tuple(people))]  # type: ignore[arg-type]
    return next(one.how for one in each if one.unbiased is None), bands


def independent(protects: Mapping[str, Any]) -> float:
    """The effective number of records for a population under the privacy unit: n/b for people with up to b rows.

    b rows of one person may all say the same, and a share's variance is then up to b times that of n records.
    """
    return protects["records"] / protects["rows_per_person"]


def _together(known: UnbiasedAnswers, first: Question, second: Question) -> float | None:
    """The mean ⟨gg', P_n⟩ of a product of two questions by the noisy tables; None where they do not determine it."""
    (a, g), (b, h) = values_of(first.workload), values_of(second.workload)
    axes = tuple(sorted({*a, *b}))
    shape = known.domain.shape_of(axes)
    if len(axes) > MOST_WAYS or math.prod(shape) > MOST_TOGETHER:
        return None
    sizes = [[n if axis in own else 1 for axis, n in zip(axes, shape, strict=True)] for own in (a, b)]
    both = np.broadcast_to(g.reshape(sizes[0]) * h.reshape(sizes[1]), shape)
    parts = components(axes, both)
    if not all(S in known.places for S in parts):
        return None
    return share_of(known, both, parts)


def _band(middle: float, variance: float, z: float) -> Band:
    """The ends of the interval of z standard errors about `middle`, for noise of this variance."""
    half = z * math.sqrt(max(variance, 0.0))
    return middle - half, middle + half


def _inside(band: Band, low: float, high: float) -> Band:
    """The part of a band between possible ends; the nearest possible end where there is no such part."""
    return min(max(band[0], low), high), min(max(band[1], low), high)


def _fieller(a: float, b: float, covariance: Array, z: float) -> Band | None:
    """The confidence set {r ≥ 0: (a − rb)² ≤ z² (V_aa − 2 r V_ab + r² V_bb)} of a ratio; None without an upper end."""
    A = b * b - z * z * covariance[1, 1]
    B = a * b - z * z * covariance[0, 1]
    C = a * a - z * z * covariance[0, 0]
    if A <= 0 or b <= 0:
        return None
    root = math.sqrt(max(B * B - A * C, 0.0))
    return max((B - root) / A, 0.0), max((B + root) / A, 0.0)


def _odds(a: float, b: float, covariance: Array, z: float, wider: float) -> tuple[Band | None, bool]:
    """The band of the odds ratio, and whether it came from the two shares' own bands; None without an upper end.

    `wider` is the number of standard errors at half the error each.
    """
    errors = np.sqrt(np.maximum(np.diag(covariance), 0))
    if all(NEAR * e < min(p, 1 - p) for p, e in zip((a, b), errors, strict=True)):
        slope = np.array([1 / (a * (1 - a)), -1 / (b * (1 - b))])
        low, high = _band(_log_odds(a) - _log_odds(b), float(slope @ covariance @ slope), z)
        return (math.exp(low), math.exp(high)), False
    own = [_inside(_band(p, float(e**2), wider), 0, 1) for p, e in zip((a, b), errors, strict=True)]
    return _apart("odds", *own), True


def _apart(kind: str, a: Band, b: Band) -> Band | None:
    """The range of a comparison of two shares, each anywhere in its band; None without an upper end."""
    (a_low, a_high), (b_low, b_high) = a, b
    if kind == "difference":
        return a_low - b_high, a_high - b_low
    if b_low <= 0 or (kind == "odds" and a_high >= 1):
        return None
    if kind == "ratio":
        return a_low / b_high, a_high / b_low
    low = 0.0 if b_high >= 1 or a_low <= 0 else math.exp(_log_odds(a_low) - _log_odds(b_high))
    high = 0.0 if a_high <= 0 else math.exp(_log_odds(a_high) - _log_odds(b_low))
    return low, high


def _log_odds(p: float) -> float:
    """The log odds log(p/(1 − p)) of a share."""
    return math.log(p / (1 - p))


def _compared(kind: str, a: float, b: float) -> float | None:
    """The difference, ratio or odds ratio of two shares; None where it has no value."""
    if kind == "difference":
        return a - b
    if kind == "ratio":
        return a / b if b > 0 else None
    return math.exp(_log_odds(a) - _log_odds(b)) if 0 < a < 1 and 0 < b < 1 else None


def adaptively(found: Interval) -> Interval:
    """An interval marked as adaptive: earlier answers chose its tables, so repeats are only nearly unbiased."""
    return replace(found, how=found.how.replace("exact: linear", "nearly exact, as tables were chosen: linear", 1))


def _how(laplace: bool) -> str:
    """The words that say how an interval was found, where all of it was measured."""
    words = "exact: linear in noisy tables" if not laplace else "conservative: linear in tables with Laplace noise"
    return words + "; population: sampling of n independent rows added"


def _interval(
    text: str, level: float, how: str, estimate: float | None = None, unbiased: float | None = None,
    table: Band | None = None, people: Band | None = None,
) -> Interval:  # fmt: skip
    """The interval with the bands of the table and of the population, which has no ends without them."""
    return Interval(text, estimate, unbiased, *(table or OPEN), *(people or OPEN), level, how)


def _unmeasured(missing: Sequence[str]) -> str:
    """A clause that names the first columns of which nothing was measured."""
    what = next(words for words in missing if words)
    return f"nothing was measured about {what}" + (" together" if " × " in what else "")
