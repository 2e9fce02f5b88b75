"""The share of its promise that an algorithm really uses, by the sharpest test on small tables.

A transcript is all that leaves the Curator: more than a release shows, and what the plan's price is for. The questions
of one run on a public table are put again to new Curators of one of two neighbouring tables, by a coin; the score of
what they answer is the exact log-likelihood ratio under the stated noise. Nothing of the test is chosen by what was
seen, so every transcript counts towards the bound.
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
from ...core.types import Array, Json, Rng, Watch, frozen, unwatched
from ...privacy.accounting import Budget, Gaussian, Plan, guarantee
from ...problems import QueryRelease
from ...schema.domain import Rows
from .distinguishing_game import (
    BUGS,
    CONFIDENCE,
    Audit,
    check_bug,
    curve,
    hand_over,
    hit_rates,
    proportion,
    two_questions,
)
from .output_likelihoods import SELECTING, Asked, gaussian_score, selection_law, telling_outcomes

TRANSCRIPTS = 60_000  # most transcripts of both tables together
FEWEST, MOST = 1000, 10_000_000
TRUST = 0.99  # confidence of what counts as shown; a promise is called broken at the game's CONFIDENCE
SHARES = {"noise": 0.9, "selection": 0.5, "failure": 0.5}  # share of the promise that has to be shown
SIZES = (8, 80)  # records: a selection among few is all noise, among many all signal
PARTS = 8  # parts into which a tried table is divided; cells get whole parts
SPARE = 2.5  # standard deviations by which a bound may be unlucky and still show its share


@frozen
class AuditResult:
    """The evidence of transcripts on a promise: on μ where all noise is Gaussian, else on one selection's ε₀.

    Of a schema that is measured: of the μ of its counts, and of the δ₀ of values above a threshold.

    `there` is the largest loss that the stated laws allow on these two tables; `low` ≤ what is true with 99%
    confidence, whatever the mechanism; `high` is the same from above, if the noise is Gaussian (else none).
    `sure_low` is `low` with 99.9%. `false_alarms`, `hits`: the trade-off curve that was measured; `limit`, the
    promised one.
    """

    algorithm: str
    budget: Budget
    kind: str
    bug: str
    transcripts: int
    records: int
    promised: float
    there: float
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
        return self.low >= SHARES[self.kind] * self.promised

    def to_json(self) -> Json:
        """The result as a dictionary, without the curves."""
        names = ("kind", "transcripts", "records", "promised", "there", "low", "high", "kept", "shown")
        return {name: getattr(self, name) for name in names} | {"confidence": TRUST}


@frozen
class Judged:
    """The evidence on an algorithm's promise from its releases and, where available, from its transcripts."""

    found: Audit
    evidence: AuditResult | None

    @property
    def kept(self) -> bool:
        """Whether both kinds of evidence are consistent with the promise."""
        return self.found.kept and (self.evidence is None or self.evidence.kept)


def trade_off(kind: str, size: float, false_alarms: Array) -> Array:
    """The largest hit rates of μ-GDP, ε-DP or (0, δ)-DP tests at given false alarm rates."""
    if kind == "noise":
        return 1 - guarantee.gaussian_trade_off(false_alarms, size)
    promise = (0.0, size) if kind == "failure" else (size, 0.0)
    return 1 - guarantee.trade_off(false_alarms, *promise)


def transcribe(
    algorithm: Algorithm,
    budget: Budget,
    *,
    transcripts: int = TRANSCRIPTS,
    bug: str = "none",
    seed: int = 0,
    progress: Watch = unwatched,
) -> AuditResult | None:
    """The evidence from as many transcripts as the test needs, `transcripts` at the most.

    None where neither all is Gaussian noise nor anything is selected. Raises what the plan raises, and InputError for a
    number of transcripts outside 1,000..10,000,000.
    """
    check_asked(transcripts, bug)
    rng = np.random.default_rng(seed)
    scripts = [_script(algorithm, budget, n, rng) for n in SIZES]
    if scripts[0].plan.kinds == {Gaussian}:
        test: _AllNoise | _Selection = _AllNoise(scripts[0])
    elif all(script.selections for script in scripts):
        selection_tests = [_Selection(script, transcripts) for script in scripts]
        test = min(selection_tests, key=lambda candidate: (candidate.needed, -candidate.visible))
    else:
        return None

    def ask(table: Rows) -> Any:
        curator = hand_over(table, test.problem, test.plan, rng, bug != BUGS[0])
        return test.score([getattr(curator, a.verb)(a.question, a.spend, *a.more) for a in test.asked])

    return judged(test, ask, registered_name(algorithm), budget, transcripts, bug, rng, progress)


def check_asked(transcripts: int, bug: str) -> None:
    """Raise InputError for a number of transcripts that is not served, and for a bug that cannot be planted."""
    if not FEWEST <= transcripts <= MOST:
        raise InputError(f"transcripts={transcripts} is outside {FEWEST}..{MOST}")
    check_bug(bug)


def judged(
    test: Any, ask: Callable[[Any], Any], name: str, budget: Budget, transcripts: int, bug: str,
    rng: Rng, progress: Watch,
) -> AuditResult:  # fmt: skip
    """The result of a test on as many transcripts as it needs, `transcripts` at the most.

    `ask` hands one of the test's two tables to a new Curator, and scores what it answers; a coin says which table. The
    test says what is promised and there, of which kind, and bounds it from two lots of scores.
    """
    count = min(transcripts, max(FEWEST, test.needed))
    coins = rng.random(count) < 0.5
    score_list = []
    for i, coin in enumerate(coins):
        score_list.append(ask(test.tables[int(coin)]))
        if (i + 1) % 50 == 0:
            progress((i + 1) / count)
    scores = np.array(score_list, dtype=float).reshape(count, -1)
    first, second = scores[~coins].ravel(), scores[coins].ravel()
    _, false_alarms, hits = curve(first, second)
    low, high = test.bounds(first, second, TRUST)
    return AuditResult(
        algorithm=name,
        budget=budget,
        kind=test.kind,
        bug=bug,
        transcripts=count,
        records=test.n,
        promised=test.promised,
        there=test.there,
        low=low,
        sure_low=test.bounds(first, second, CONFIDENCE)[0],
        high=high,
        false_alarms=false_alarms,
        hits=hits,
        limit=trade_off(test.kind, test.promised, false_alarms),
    )


@frozen
class _Script:
    """The questions of one run on an even table, in order, and its plan."""

    problem: QueryRelease
    plan: Plan
    asked: list[Asked]

    @property
    def selections(self) -> list[Asked]:
        return [a for a in self.asked if a.verb in SELECTING]


@frozen
class _Recorder:
    """A curator that records the questions it is asked."""

    curator: Any
    asked: list[Asked]

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.curator, name)
        if name not in ("measure", *SELECTING):
            return attribute

        def ask(question: Any, spend: Any, *more: Any) -> Any:
            self.asked.append(Asked(name, question, spend, more))
            return attribute(question, spend, *more)

        return ask


def _script(algorithm: Algorithm, budget: Budget, n: int, rng: Rng) -> _Script:
    problem, calls = two_questions(n), []
    plan = make_plan(algorithm, problem, budget)
    even_table = _table(np.full(4, n // 4))
    recorder: Any = _Recorder(hand_over(even_table, problem, plan, rng), calls)
    for _ in algorithm.steps(problem, plan, recorder, rng):
        pass
    return _Script(problem, plan, calls)


CELLS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


def _table(counts: Array) -> Rows:
    return Rows(CELLS[counts > 0], counts[counts > 0])


def _pairs(n: int) -> Iterator[tuple[Array, Array]]:
    """Pairs of counts of neighbouring tables: the first in whole eighths, the second with one record moved."""
    for bars in combinations(range(PARTS + 3), 3):
        counts = np.diff([-1, *bars, PARTS + 3]) - 1
        first = counts * (n // PARTS)
        for second in _moved(first):
            yield first, second


def _moved(counts: Array) -> Iterator[Array]:
    """The counts of every table that differs in one record, from any cell that has one to any other."""
    for z, w in permutations(range(4), 2):
        if counts[z]:
            yield counts - np.eye(4, dtype=int)[z] + np.eye(4, dtype=int)[w]


class Noise:
    """The test on questions answered with Gaussian noise, which guesses the table by the ratio's sign.

    A fair coin says which table a transcript is of, so right guesses are binomial, and under μ-GDP their rate is at
    most max_q ½(Φ(Φ⁻¹(q) + μ) + 1 − q) = Φ(μ/2). A Clopper–Pearson bound a of the rate gives μ ≥ 2Φ⁻¹(a).
    """

    kind = "noise"
    n: int
    promised: float
    parts: list[tuple[Array, float, float]]  # the `gaussian_score` of each question

    @property
    def there(self) -> float:
        """The μ of all questions together."""
        return math.sqrt(max(sum(moved for _, _, moved in self.parts), 0.0))

    def log_ratio(self, told: Iterable[Array]) -> float:
        """The exact log-likelihood ratio of a transcript, from the noisy values of each question."""
        return math.fsum(float(w @ y) - c for (w, c, _), y in zip(self.parts, told, strict=True))

    @property
    def needed(self) -> int:
        """The number of transcripts for SHARES of the promise, with SPARE standard deviations added."""
        margin = self.there - SHARES["noise"] * self.promised
        if margin <= 0:
            return MOST
        a = ndtr(self.there / 2)
        slope = 2 * math.sqrt(a * (1 - a)) * math.sqrt(2 * math.pi) * math.exp(self.there**2 / 8)
        return math.ceil(min(((ndtri(TRUST) + SPARE) * slope / margin) ** 2, MOST))

    def bounds(self, first: Array, second: Array, trust: float) -> tuple[float, float | None]:
        """The bounds on μ, each with probability `trust`; the upper one is valid if the noise is Gaussian."""
        right_count, count = (first < 0).sum() + (second >= 0).sum(), len(first) + len(second)
        low, high = (max(2 * ndtri(rate), 0.0) for rate in proportion(right_count, count, 1 - trust))
        return float(low), float(min(high, 1e6))


class _AllNoise(Noise):
    """The test on all questions of a plan that only adds Gaussian noise."""

    def __init__(self, script: _Script) -> None:
        self.problem, self.plan, self.n = script.problem, script.plan, script.problem.n
        self.asked = [a for a in script.asked if a.verb == "measure"]
        self.promised = math.sqrt(self.plan.sums.mu_squared)
        # What moves need not depend on the other records, but may: votes and the like.
        even_counts = np.full(4, self.n // 4)
        pairs = [(_table(even_counts), _table(second)) for second in _moved(even_counts)]
        squared_mus = np.array([sum(gaussian_score(a, *pair)[2] for a in self.asked) for pair in pairs])
        best = int(np.argmax(squared_mus >= squared_mus.max() * (1 - 1e-9)))  # the first of those that move as much
        self.tables = pairs[best]
        self.parts = [gaussian_score(a, *self.tables) for a in self.asked]

    def score(self, answers: list[Any]) -> float:
        return self.log_ratio(answer.values for answer in answers)


class _Selection:
    """The test on the first selection of a script, with an outcome set chosen beforehand by the stated laws.

    ε₀ ≥ log(p/q) for its chances on the two tables, from Clopper–Pearson bounds of both that hold together. Several
    draws from the same scores, each of ε₀, are as many trials.
    """

    kind = "selection"

    def __init__(self, script: _Script, transcripts: int) -> None:
        self.problem, self.plan, self.n = script.problem, script.plan, script.problem.n
        call = script.selections[0]
        self.asked, self.promised = [call], call.spend.epsilon
        draw_count = int(call.more[0]) if call.more else 1
        z = ndtri(1 - (1 - TRUST) / 2) + SPARE / math.sqrt(2)  # luck of two rates that err apart
        law = cache(lambda *counts: selection_law(call, _table(np.array(counts))))
        pairs = [ordered_pair for pair in _pairs(self.n) for ordered_pair in (pair, pair[::-1])]
        self.needed = min(FEWEST, transcripts)
        while True:  # as few transcripts as show the share on some pair of tables
            candidates = [
                telling_outcomes(law(*second), law(*first), draw_count * self.needed / 2, z) for first, second in pairs
            ]
            best = max(range(len(pairs)), key=lambda i: candidates[i][0])
            self.visible, self._chosen = candidates[best]
            if self.visible >= SHARES["selection"] * self.promised or self.needed >= transcripts:
                break
            self.needed = min(2 * self.needed, transcripts)
        q, p = (float(np.clip(law(*counts)[self._chosen].sum(), 1e-300, 1.0)) for counts in pairs[best])
        self.tables, self.there = [_table(counts) for counts in pairs[best]], math.log(p / q)

    def score(self, answers: list[Any]) -> Array:
        (answer,) = answers
        return self._chosen[np.atleast_1d(-1 if answer is None else answer)].astype(float)

    def bounds(self, first: Array, second: Array, trust: float) -> tuple[float, float | None]:
        p, q = hit_rates((first.sum(), second.sum()), (len(first), len(second)), trust)
        return max(math.log(p / q), 0.0) if p else 0.0, None
