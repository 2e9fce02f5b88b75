"""The share of its promise that an algorithm really uses, by the sharpest test on small tables.

A transcript is all that leaves the Curator: more than a release shows, and what the plan's price is
for. The questions of one run on a public table are put again to new Curators of one of two
neighbouring tables, by a coin; the score of what they answer is the exact log-likelihood ratio
under the stated noise. Nothing of the test is chosen by what was seen, so every transcript counts
towards the bound.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import combinations, permutations
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from ...algorithms import Algorithm, registered_name
from ...algorithms.algorithm import make_plan
from ...core.errors import InputError
from ...core.types import Array, Json, ProgressCallback, Rng, frozen, ignore_progress
from ...data.privacy_unit import PrivacyUnit
from ...privacy.accounting import Budget, Gaussian, GdpAccountant, Plan, guarantee
from ...problems import QueryRelease
from ...schema.domain import Rows
from .distinguishing_game import (
    CONFIDENCE,
    PLANTED_BUGS,
    GameResult,
    check_bug,
    curator_of_public_table,
    hit_rate_bounds,
    proportion_bounds,
    trade_off_curve,
    two_question_problem,
)
from .output_likelihoods import (
    SELECTION_VERBS,
    CuratorCall,
    gaussian_log_ratio,
    most_telling_outcomes,
    selection_probabilities,
)

DEFAULT_TRANSCRIPTS = 60_000  # most transcripts of both tables together
MIN_TRANSCRIPTS = 1000
MAX_TRANSCRIPTS = 10_000_000
# confidence of what counts as shown; a promise is called broken at the game's CONFIDENCE
EVIDENCE_CONFIDENCE = 0.99
# share of the promise that has to be shown
MIN_PROVEN_SHARES = {"noise": 0.9, "selection": 0.5, "failure": 0.5}
# rows of a table: a selection among few is all noise, among many all signal
TABLE_ROW_COUNTS = (8, 80)
TABLE_PARTS = 8  # parts into which a tried table is divided; cells get whole parts
SPARE_STDDEVS = 2.5  # standard deviations by which a bound may be unlucky and still show its share


@frozen
class AuditResult:
    """The evidence of transcripts on a promise: bounds on a μ, on one selection's ε₀, or on a δ₀.

    On μ where all noise is Gaussian, else on one selection's ε₀. Of a schema that is measured: of
    the μ of its counts, and of the δ₀ of values above a threshold.

    `achievable` is the largest loss that the stated laws allow on these two tables; `low` ≤ the
    true loss with 99% confidence, whatever the mechanism; `high` is the same from above, if the
    noise is Gaussian (else none). `sure_low` is `low` with 99.9%. `false_alarms`, `hits`: the
    trade-off curve that was measured; `limit`, the promised one.
    """

    algorithm: str
    budget: Budget
    kind: str
    bug: str
    transcripts: int
    records: int
    promised: float
    achievable: float
    low: float
    sure_low: float
    high: float | None
    false_alarms: Array
    hits: Array
    limit: Array

    @property
    def kept(self) -> bool:
        """Whether the transcripts are consistent with the promise."""
        return self.sure_low <= self.promised

    @property
    def shown(self) -> bool:
        """Whether the transcripts showed the share of the promise that such a plan can show."""
        return self.low >= MIN_PROVEN_SHARES[self.kind] * self.promised

    def to_json(self) -> Json:
        """Return the result as a dictionary, without the curves."""
        names = (
            "kind",
            "transcripts",
            "records",
            "promised",
            "low",
            "high",
            "kept",
            "shown",
        )
        evidence_json = {name: getattr(self, name) for name in names}
        return evidence_json | {"there": self.achievable, "confidence": EVIDENCE_CONFIDENCE}


@frozen
class AuditVerdict:
    """The evidence on an algorithm's promise from its releases and, if any, its transcripts."""

    game: GameResult
    evidence: AuditResult | None

    @property
    def is_consistent(self) -> bool:
        """Whether both kinds of evidence are consistent with the promise."""
        return self.game.kept and (self.evidence is None or self.evidence.kept)


def promised_hit_rates(kind: str, promised: float, false_alarms: Array) -> Array:
    """Return the largest hit rates of μ-GDP, ε-DP or (0, δ)-DP tests at given false alarm rates."""
    if kind == "noise":
        return 1 - guarantee.gaussian_trade_off(false_alarms, promised)
    promise = (0.0, promised) if kind == "failure" else (promised, 0.0)
    return 1 - guarantee.type_2_error_bound(false_alarms, *promise)


def audit_transcripts(
    algorithm: Algorithm,
    budget: Budget,
    *,
    transcripts: int = DEFAULT_TRANSCRIPTS,
    bug: str = "none",
    seed: int = 0,
    shared_rows: int | None = None,
    progress: ProgressCallback = ignore_progress,
) -> AuditResult | None:
    """Return the evidence on the promise of `algorithm` from at most `transcripts` transcripts.

    As many as the test needs. With `shared_rows` the tables are of people, whose rows, up to so
    many, share one vote. None where neither all is Gaussian noise nor anything is selected.
    Raises what the plan raises, and InputError for a number of transcripts outside
    1,000..10,000,000.
    """
    check_transcript_request(transcripts, bug)
    rng = np.random.default_rng(seed)
    votes_per_unit = 1
    if shared_rows is not None:
        unit = PrivacyUnit("person", shared_rows, counts_people=True)
        votes_per_unit = unit.votes_per_unit
    scripts = [_record_script(algorithm, budget, n, rng, votes_per_unit) for n in TABLE_ROW_COUNTS]
    if scripts[0].plan.spend_types == {Gaussian}:
        test: _AllMeasurementsTest | _SelectionTest = _AllMeasurementsTest(scripts[0])
    elif all(script.selections for script in scripts):
        selection_tests = [_SelectionTest(script, transcripts) for script in scripts]
        test = min(
            selection_tests,
            key=lambda candidate: (candidate.needed_transcripts, -candidate.provable_epsilon),
        )
    else:
        return None

    def score_transcript(table: Rows) -> Any:
        curator = curator_of_public_table(
            table, test.problem, test.plan, rng, bug != PLANTED_BUGS[0]
        )
        return test.score(
            [getattr(curator, a.verb)(a.statistic, a.spend, *a.arguments) for a in test.calls]
        )

    return run_transcript_test(
        test, score_transcript, registered_name(algorithm), budget, transcripts, bug, rng, progress
    )


def check_transcript_request(transcripts: int, bug: str) -> None:
    """Raise InputError for too few or too many transcripts, or a bug that cannot be planted."""
    if not MIN_TRANSCRIPTS <= transcripts <= MAX_TRANSCRIPTS:
        raise InputError(
            f"transcripts={transcripts} is outside {MIN_TRANSCRIPTS}..{MAX_TRANSCRIPTS}"
        )
    check_bug(bug)


def run_transcript_test(
    test: Any,
    score_transcript: Callable[[Any], Any],
    name: str,
    budget: Budget,
    transcripts: int,
    bug: str,
    rng: Rng,
    progress: ProgressCallback,
) -> AuditResult:
    """Run a test on as many transcripts as it needs, at most `transcripts`; return the result.

    `score_transcript` hands one of the test's two tables to a new curator and scores what it
    answers; a coin says which table. The test says what is promised and achievable, of which kind,
    and bounds it from two lots of scores.
    """
    count = min(transcripts, max(MIN_TRANSCRIPTS, test.needed_transcripts))
    coins = rng.random(count) < 0.5
    score_list = []
    for i, coin in enumerate(coins):
        score_list.append(score_transcript(test.tables[int(coin)]))
        if (i + 1) % 50 == 0:
            progress(i + 1, count)
    scores = np.array(score_list, dtype=float).reshape(count, -1)
    first = scores[~coins].ravel()
    second = scores[coins].ravel()
    _, false_alarms, hits = trade_off_curve(first, second)
    low, high = test.bounds(first, second, EVIDENCE_CONFIDENCE)
    return AuditResult(
        algorithm=name,
        budget=budget,
        kind=test.kind,
        bug=bug,
        transcripts=count,
        records=test.n,
        promised=test.promised,
        achievable=test.achievable,
        low=low,
        sure_low=test.bounds(first, second, CONFIDENCE)[0],
        high=high,
        false_alarms=false_alarms,
        hits=hits,
        limit=promised_hit_rates(test.kind, test.promised, false_alarms),
    )


@frozen
class _CallScript:
    """The questions of one run on an even table, in order, and its plan."""

    problem: QueryRelease
    plan: Plan
    calls: list[CuratorCall]
    votes_per_unit: int

    @property
    def selections(self) -> list[CuratorCall]:
        return [a for a in self.calls if a.verb in SELECTION_VERBS]


@frozen
class _RecordingCurator:
    """A curator that records the questions it is asked."""

    curator: Any
    calls: list[CuratorCall]

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.curator, name)
        if name not in ("measure", *SELECTION_VERBS):
            return attribute

        def record_call(statistic: Any, spend: Any, *arguments: Any) -> Any:
            self.calls.append(CuratorCall(name, statistic, spend, arguments))
            return attribute(statistic, spend, *arguments)

        return record_call


def _record_script(
    algorithm: Algorithm, budget: Budget, n: int, rng: Rng, votes_per_unit: int = 1
) -> _CallScript:
    problem = two_question_problem(n)
    calls = []
    plan = make_plan(algorithm, problem, budget)
    even_table = _rows_from_counts(np.full(4, n // 4), votes_per_unit)
    recorder: Any = _RecordingCurator(
        curator_of_public_table(even_table, problem, plan, rng), calls
    )
    for _ in algorithm.steps(problem, plan, recorder, rng):
        pass
    return _CallScript(problem, plan, calls, votes_per_unit)


TABLE_CELLS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


def _rows_from_counts(counts: Array, votes_per_unit: int = 1) -> Rows:
    """Return the rows of so many people in each cell, or of single rows, of one vote each."""
    has_rows = counts > 0
    weights = counts[has_rows] * votes_per_unit
    return Rows(TABLE_CELLS[has_rows], weights, votes_per_unit=votes_per_unit)


def _neighbouring_counts(n: int) -> Iterator[tuple[Array, Array]]:
    """Yield the cell counts (4,) of pairs of neighbouring tables of n rows.

    The first in whole eighths, the second with one row moved.
    """
    for bars in combinations(range(TABLE_PARTS + 3), 3):
        counts = np.diff([-1, *bars, TABLE_PARTS + 3]) - 1
        first = counts * (n // TABLE_PARTS)
        for second in _counts_with_one_row_moved(first):
            yield first, second


def _counts_with_one_row_moved(counts: Array) -> Iterator[Array]:
    """Yield the cell counts (4,) of every table that differs in one row.

    The row moves from any cell that has one to any other.
    """
    for z, w in permutations(range(4), 2):
        if counts[z]:
            yield counts - np.eye(4, dtype=int)[z] + np.eye(4, dtype=int)[w]


class GaussianNoiseTest:
    """The test on statistics measured with Gaussian noise: guesses the table by the ratio's sign.

    A fair coin says from which table a transcript is, so right guesses are binomial, and under
    μ-GDP their rate is at most max_q ½(Φ(Φ⁻¹(q) + μ) + 1 − q) = Φ(μ/2). A Clopper–Pearson bound a
    of the rate gives μ ≥ 2Φ⁻¹(a).
    """

    kind = "noise"
    n: int
    promised: float
    log_ratio_parts: list[tuple[Array, float, float]]  # the `gaussian_log_ratio` of each call

    @property
    def achievable(self) -> float:
        """The μ of all questions together."""
        return math.sqrt(max(sum(moved for _, _, moved in self.log_ratio_parts), 0.0))

    def log_ratio(self, noisy_values: Iterable[Array]) -> float:
        """Return a transcript's exact log-likelihood ratio, from the noisy values of each call."""
        return math.fsum(
            float(w @ y) - c
            for (w, c, _), y in zip(self.log_ratio_parts, noisy_values, strict=True)
        )

    @property
    def needed_transcripts(self) -> int:
        """The number of transcripts that show the required share of the promised μ.

        The share is that of MIN_PROVEN_SHARES, with SPARE_STDDEVS standard deviations added.
        """
        margin = self.achievable - MIN_PROVEN_SHARES["noise"] * self.promised
        if margin <= 0:
            return MAX_TRANSCRIPTS
        a = ndtr(self.achievable / 2)
        slope = (
            2 * math.sqrt(a * (1 - a)) * math.sqrt(2 * math.pi) * math.exp(self.achievable**2 / 8)
        )
        return math.ceil(
            min(
                ((ndtri(EVIDENCE_CONFIDENCE) + SPARE_STDDEVS) * slope / margin) ** 2,
                MAX_TRANSCRIPTS,
            )
        )

    def bounds(self, first: Array, second: Array, confidence: float) -> tuple[float, float | None]:
        """Return a lower and an upper bound on μ, each with probability `confidence`.

        The upper one is valid if the noise is Gaussian.
        """
        right_count = (first < 0).sum() + (second >= 0).sum()
        count = len(first) + len(second)
        low_rate, high_rate = proportion_bounds(right_count, count, 1 - confidence)
        low = max(2 * ndtri(low_rate), 0.0)
        high = max(2 * ndtri(high_rate), 0.0)
        return float(low), float(min(high, 1e6))


class _AllMeasurementsTest(GaussianNoiseTest):
    """The test on all questions of a plan that only adds Gaussian noise."""

    def __init__(self, script: _CallScript) -> None:
        self.problem = script.problem
        self.plan = script.plan
        self.n = script.problem.n
        self.calls = [a for a in script.calls if a.verb == "measure"]
        self.promised = GdpAccountant(self.plan.accountant.event_counts).mu
        # What moves need not depend on the other rows, but may: votes and the like.
        even_counts = np.full(4, self.n // 4)
        pairs = [
            (
                _rows_from_counts(even_counts, script.votes_per_unit),
                _rows_from_counts(second, script.votes_per_unit),
            )
            for second in _counts_with_one_row_moved(even_counts)
        ]
        squared_mus = np.array(
            [sum(gaussian_log_ratio(a, *pair)[2] for a in self.calls) for pair in pairs]
        )
        # the first of those that move as much
        best = int(np.argmax(squared_mus >= squared_mus.max() * (1 - 1e-9)))
        self.tables = pairs[best]
        self.log_ratio_parts = [gaussian_log_ratio(a, *self.tables) for a in self.calls]

    def score(self, answers: list[Any]) -> float:
        return self.log_ratio(answer.values for answer in answers)


class _SelectionTest:
    """The test on a script's first selection, with an outcome set fixed before by the stated laws.

    ε₀ ≥ log(p/q) for its probabilities on the two tables, from Clopper–Pearson bounds of both that
    hold together. Several draws from the same scores, each of ε₀, are as many trials.
    """

    kind = "selection"

    def __init__(self, script: _CallScript, transcripts: int) -> None:
        self.problem = script.problem
        self.plan = script.plan
        self.n = script.problem.n
        call = script.selections[0]
        self.calls = [call]
        self.promised = call.spend.epsilon
        draw_count = int(call.arguments[0]) if call.arguments else 1
        # luck of two rates that err apart
        z = ndtri(1 - (1 - EVIDENCE_CONFIDENCE) / 2) + SPARE_STDDEVS / math.sqrt(2)
        law = cache(
            lambda *counts: selection_probabilities(
                call, _rows_from_counts(np.array(counts), script.votes_per_unit)
            )
        )
        pairs = [
            ordered_pair
            for pair in _neighbouring_counts(self.n)
            for ordered_pair in (pair, pair[::-1])
        ]
        self.needed_transcripts = min(MIN_TRANSCRIPTS, transcripts)
        while True:  # as few transcripts as show the share on some pair of tables
            candidates = [
                most_telling_outcomes(
                    law(*second), law(*first), draw_count * self.needed_transcripts / 2, z
                )
                for first, second in pairs
            ]
            best = max(range(len(pairs)), key=lambda i: candidates[i][0])
            self.provable_epsilon, self._outcome_mask = candidates[best]
            if (
                self.provable_epsilon >= MIN_PROVEN_SHARES["selection"] * self.promised
                or self.needed_transcripts >= transcripts
            ):
                break
            self.needed_transcripts = min(2 * self.needed_transcripts, transcripts)
        chances = [law(*counts)[self._outcome_mask].sum() for counts in pairs[best]]
        q, p = np.clip(chances, 1e-300, 1.0).tolist()
        self.tables = [_rows_from_counts(counts, script.votes_per_unit) for counts in pairs[best]]
        self.achievable = math.log(p / q)

    def score(self, answers: list[Any]) -> Array:
        (answer,) = answers
        return self._outcome_mask[np.atleast_1d(-1 if answer is None else answer)].astype(float)

    def bounds(self, first: Array, second: Array, confidence: float) -> tuple[float, float | None]:
        p, q = hit_rate_bounds((first.sum(), second.sum()), (len(first), len(second)), confidence)
        return max(math.log(p / q), 0.0) if p else 0.0, None
