"""The distinguishing game: an algorithm's leakage about one record, measured beside its promise.

Two neighbouring public tables, many runs on each, and a test that sees released objects only.
Whatever it finds is a lower bound on ε. The tables are made here, and so is the bug that the game
must catch: half the sensitivity. Neither is within reach of a run or a release.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import beta

from ...algorithms import Algorithm, registered_name
from ...algorithms.algorithm import make_plan
from ...core.errors import InputError
from ...core.parameters import declared_parameters
from ...core.types import Array, Json, ProgressCallback, Rng, frozen, ignore_progress
from ...data.privacy_unit import PrivacyUnit
from ...privacy.accounting import (
    Accountant,
    AdditiveAccountant,
    Budget,
    GdpAccountant,
    Plan,
    PureAccountant,
    guarantee,
)
from ...privacy.curators.curator import Curator
from ...privacy.curators.curator_of_problem import make_curator
from ...problems import QueryRelease
from ...queries import Marginals
from ...schema.domain import Column, Domain, Rows

# runs on each of the two tables
DEFAULT_RUNS_PER_TABLE = 4000
MAX_RUNS_PER_TABLE = 1_000_000
# a few rows show selections best, many show measurements; a pilot decides
TABLE_ROW_COUNTS = (10, 1000)
PILOT_RUNS = 300
CONFIDENCE = 0.999
OBSERVED_STEPS = 8  # steps of a run that the test sees
PLANTED_BUGS = ("none", "half-sensitivity")
# of the rows of the game's tables, in two yes/no columns
GAME_VALUES = np.array([[0, 1], [1, 0], [1, 1]])
# orders of the Rényi divergences that bound ρ from below
RENYI_ORDERS = (1.0, 1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


@frozen
class GameResult:
    """The result of the game. `promised` is the plan's own ε at δ, at most the budget's.

    `epsilon_low`: with confidence 99.9% the true ε at δ is at least this, whatever the mechanism.
    `accounted_low`: so is the ε that the plan's accounting would have to state, from a lower bound
    on its additive cost: sharper at small δ. `false_alarms` and `hits` are the empirical trade-off
    curve of the test, on runs that did not shape it, over its falling `thresholds`; `limit` is the
    largest hit rate that the promised (ε, δ) allows at each. `line` parts the runs that did shape
    it: the mean of the thresholds that do so at least half as well as the best, which alone is
    noisy.
    """

    algorithm: str
    budget: Budget
    accounting: type[Accountant]
    bug: str
    runs: int
    records: int
    promised: float
    epsilon_low: float
    accounted_low: float
    line: float
    thresholds: Array
    false_alarms: Array
    hits: Array
    limit: Array

    @property
    def kept(self) -> bool:
        """Whether both lower bounds stay within the promise."""
        return max(self.epsilon_low, self.accounted_low) <= self.promised

    def to_json(self) -> Json:
        """Return the result as a dictionary, with the curve at about a hundred points."""
        indices = np.unique(np.linspace(0, len(self.hits) - 1, 101).astype(int))
        curve = {
            name: getattr(self, name)[indices].tolist()
            for name in ("false_alarms", "hits", "limit")
        }
        facts = (
            "algorithm",
            "bug",
            "runs",
            "records",
            "promised",
            "epsilon_low",
            "accounted_low",
            "kept",
        )
        return {name: getattr(self, name) for name in facts} | {
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "accounting": self.accounting.name,
            "confidence": CONFIDENCE,
            "curve": curve,
        }


def check_bug(bug: str) -> None:
    """Raise InputError for a bug that cannot be planted."""
    if bug not in PLANTED_BUGS:
        raise InputError(f"bug={bug!r} is not one of {', '.join(PLANTED_BUGS)}")


def play_distinguishing_game(
    algorithm: Algorithm,
    budget: Budget,
    *,
    runs: int = DEFAULT_RUNS_PER_TABLE,
    bug: str = "none",
    seed: int = 0,
    shared_rows: int | None = None,
    progress: ProgressCallback = ignore_progress,
) -> GameResult:
    """Play the game `runs` times on each of two neighbouring tables and return the result.

    Half of the runs shape the test, the other half are judged by it. `progress` is told the share
    of the games that are played, now and then; what it raises ends the audit.

    `bug` "half-sensitivity" halves all noise and every selection's scale, as a wrong sensitivity
    would. With `shared_rows` the tables are of people, whose rows, up to so many, share one vote;
    what differs is all rows of one person, and how many these are. Raises what the algorithm's plan
    raises, and InputError for a number of runs outside 20..1,000,000.
    Source: Jagielski, Ullman, Oprea 2020 (Clopper–Pearson bound); Nasr et al. 2023 (bound by the
    accounting's cost).
    """
    if not 20 <= runs <= MAX_RUNS_PER_TABLE:
        raise InputError(f"runs={runs} is outside 20..{MAX_RUNS_PER_TABLE}")
    check_bug(bug)
    rng = np.random.default_rng(seed)
    games = [
        _Game(algorithm, budget, n, bug == "half-sensitivity", rng, shared_rows)
        for n in TABLE_ROW_COUNTS
    ]
    game = max(games, key=lambda g: g.pilot_advantage(max(10, min(PILOT_RUNS, runs // 10))))
    game.progress = progress
    game.total_runs = 2 * runs
    game.finished_runs = 0
    shaping_scores, judging_scores = _play_both_halves(game, runs)
    return _judge_game(game, algorithm, budget, bug, runs, shaping_scores, judging_scores)


def _play_both_halves(game: "_Game", runs: int) -> tuple[list[Array], list[Array]]:
    """Play the runs; return the scores of those that shape the test, and of those it judges."""
    shaping_features = game.play(runs - runs // 2)
    score_runs = _RunScorer(*shaping_features)
    shaping_scores = [score_runs(x) for x in shaping_features]
    judging_scores = [score_runs(x) for x in game.play(runs // 2)]
    return shaping_scores, judging_scores


def _judge_game(
    game: "_Game",
    algorithm: Algorithm,
    budget: Budget,
    bug: str,
    runs: int,
    shaping_scores: list[Array],
    judging_scores: list[Array],
) -> GameResult:
    """Return the result of a game that was played."""
    plan = game.plan
    failure = plan.accountant.failure
    delta = budget.delta
    epsilon_low = _lower_bound(
        shaping_scores, judging_scores, lambda p, q: _direct_epsilon_bound(p, q, delta)
    )
    least_cost = _lower_bound(
        shaping_scores,
        judging_scores,
        lambda p, q: _least_additive_cost(p - failure, q, type(plan.accountant)),
    )
    thresholds, false_alarms, hits = trade_off_curve(*judging_scores)
    shaping_thresholds, shaping_false_alarms, shaping_hits = trade_off_curve(*shaping_scores)
    advantages = shaping_hits - shaping_false_alarms
    promised = plan.accountant.epsilon(delta)
    return GameResult(
        algorithm=registered_name(algorithm),
        budget=budget,
        accounting=type(plan.accountant),
        bug=bug,
        runs=runs,
        records=game.problem.n,
        promised=promised,
        epsilon_low=epsilon_low,
        accounted_low=_epsilon_of_additive_cost(least_cost, plan),
        line=float(shaping_thresholds[advantages >= advantages.max() / 2].mean()),
        thresholds=thresholds,
        false_alarms=false_alarms,
        hits=hits,
        limit=1 - guarantee.type_2_error_bound(false_alarms, promised, delta),
    )


def two_question_problem(n: int) -> QueryRelease:
    """Return the game's problem: two yes/no queries about n rows, each counted on its own."""
    domain = Domain(
        tuple(Column(name=c, kind="categorical", values=("no", "yes")) for c in ("first", "second"))
    )
    return QueryRelease(Marginals.all(domain, 1), n)


def curator_of_public_table(
    rows: Rows, problem: QueryRelease, plan: Plan, rng: Rng, bug: bool = False
) -> Curator:
    """Make a new curator of a public table, as in runs and releases.

    The planted `bug` halves every sensitivity.
    """
    curator = make_curator(problem, rows, plan, rng)
    if bug:
        object.__setattr__(curator, "_unit", 2 * curator.effective_n)
    return curator


class _Game:
    """The game on two tables of n rows with two yes/no columns that differ in one row.

    80% of the answers in each column are yes; one row says (yes, no) in the first table and (no,
    yes) in the other.

    That row moves every answer, and by as much as one row can. So far from even that selections
    know the sign of an error, the two columns tie on the first table, where a selection tells most.
    With `shared_rows` all this is of n people, see `_tables_of_people`.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        budget: Budget,
        n: int,
        bug: bool,
        rng: Rng,
        shared_rows: int | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.bug = bug
        self.rng = rng
        self.progress: ProgressCallback = ignore_progress
        self.total_runs = 1
        self.finished_runs = 0
        self.problem = two_question_problem(n)
        self.plan = make_plan(algorithm, self.problem, budget)
        fifth = n // 5
        counts_of_tables = [np.array([fifth + x, fifth - x, n - 2 * fifth]) for x in (0, 1)]
        if shared_rows is None:
            self.tables = [Rows(GAME_VALUES, counts) for counts in counts_of_tables]
        else:
            domain = self.problem.domain
            self.tables = _tables_of_people(domain, counts_of_tables, shared_rows)

    def play(self, runs: int) -> list[Array]:
        """Return the features released by each run, (runs, features), for both tables."""
        return [
            np.array([self._released_features(rows) for _ in range(runs)]) for rows in self.tables
        ]

    def pilot_advantage(self, runs: int) -> float:
        """Return a rough estimate of how far the two tables can be distinguished."""
        features = self.play(runs)
        _, q, p = trade_off_curve(*map(_RunScorer(*features), features))
        return float(np.abs(p - q).max())

    def _released_features(self, rows: Rows) -> Array:
        self.finished_runs += 1
        if self.finished_runs % 50 == 0:
            self.progress(self.finished_runs, self.total_runs)
        curator = curator_of_public_table(rows, self.problem, self.plan, self.rng, self.bug)
        answers = [
            step.release.answers(self.problem.workload)
            for step in self.algorithm.steps(self.problem, self.plan, curator, self.rng)
        ]
        observed_steps = np.linspace(0, len(answers) - 1, OBSERVED_STEPS).round().astype(int)
        return np.concatenate([answers[i] for i in observed_steps])


def _tables_of_people(domain: Domain, counts_of_tables: list[Array], most_rows: int) -> list[Rows]:
    """Return the game's two tables of people with up to `most_rows` rows each, who count once.

    The rows of a person say the same, so the votes are those of one row of each. Person i has
    1 + i mod `most_rows` rows; the one who differs has a single row in the first table, and the
    most rows in the second.
    """
    unit = PrivacyUnit("person", most_rows, counts_people=True)
    tables = []
    for counts, row_count in zip(counts_of_tables, (1, most_rows), strict=True):
        values = np.repeat(GAME_VALUES, counts, axis=0)
        rows_of_person = 1 + np.arange(len(values)) % most_rows
        rows_of_person[counts_of_tables[0][0]] = row_count
        texts = np.array(["no", "yes"])[np.repeat(values, rows_of_person, axis=0)]
        frame = pd.DataFrame(texts, columns=pd.Index(domain.names))
        people = np.repeat(np.arange(len(values)), rows_of_person)
        tables.append(unit.encode(domain, frame.assign(person=people)))
    return tables


class _RunScorer:
    """A function that scores runs, higher for the second table, learnt from runs on both tables.

    Runs are (runs, features) for each table. Counted log odds where releases take few values, else
    Fisher's linear discriminant.
    """

    def __init__(self, first: Array, second: Array) -> None:
        all_features = np.concatenate([first, second]).round(9)
        self.values, value_numbers = np.unique(all_features, axis=0, return_inverse=True)
        self.has_few_values = len(self.values) <= len(all_features) / 20
        if self.has_few_values:
            counts = [
                np.bincount(p, minlength=len(self.values))
                for p in np.split(value_numbers.ravel(), [len(first)])
            ]
            self.log_odds = np.log((counts[1] + 1) / (counts[0] + 1))
            self.log_odds_by_value = {
                value.tobytes(): odds
                for value, odds in zip(self.values + 0.0, self.log_odds, strict=True)
            }
            return
        covariance = np.cov(first.T) + np.cov(second.T)
        ridge = 1e-6 * max(float(np.trace(covariance)) / len(covariance), 1e-300)
        self.w = np.linalg.solve(
            covariance + ridge * np.eye(len(covariance)), second.mean(axis=0) - first.mean(axis=0)
        )

    def __call__(self, features: Array) -> Array:
        if self.has_few_values:
            return np.array(
                [
                    self.log_odds_by_value.get(value.tobytes(), 0.0)
                    for value in features.round(9) + 0.0
                ]
            )
        return features @ self.w


def trade_off_curve(first: Array, second: Array) -> tuple[Array, Array, Array]:
    """Return falling score thresholds with the false alarm and hit rate of each.

    A score of at least the threshold speaks for the second table: `first` gives the false alarms,
    `second` the hits.
    """
    thresholds = np.unique(np.concatenate([first, second]))[::-1]
    return (
        thresholds,
        count_at_least(first, thresholds) / max(len(first), 1),
        count_at_least(second, thresholds) / max(len(second), 1),
    )


def count_at_least(scores: Array, thresholds: Array) -> Array:
    """Return the number of scores that are at least each threshold."""
    return len(scores) - np.searchsorted(np.sort(scores), thresholds, side="left")


def proportion_bounds(hits: Any, n: int, alpha: float) -> tuple[Any, Any]:
    """Return a lower and an upper bound on a probability with `hits` successes in n trials.

    Each is wrong with probability `alpha`.
    Source: Clopper, Pearson 1934.
    """
    hits = np.asarray(hits)
    low = np.where(hits > 0, beta.ppf(alpha, np.maximum(hits, 1), n - hits + 1), 0.0)
    return low, np.where(hits < n, beta.ppf(1 - alpha, hits + 1, np.maximum(n - hits, 1)), 1.0)


def hit_rate_bounds(
    hits: Sequence[Any], run_counts: Sequence[int], confidence: float
) -> tuple[Any, Any]:
    """Return a lower bound on the second table's hit rate and an upper one on the first's.

    Both hold jointly with probability `confidence`.
    """
    alpha = (1 - confidence) / 2
    return proportion_bounds(hits[1], run_counts[1], alpha)[0], proportion_bounds(
        hits[0], run_counts[0], alpha
    )[1]


def _hit_rate_bounds_at(
    scores: list[Array], thresholds: Array, swapped: bool
) -> tuple[Array, Array]:
    """Return a lower bound on the hit rate p and an upper one on the false alarm rate q.

    Both hold jointly at CONFIDENCE. Swapped: a score below the threshold speaks for the first
    table.
    """
    counts = [count_at_least(s, thresholds) for s in scores]
    if swapped:
        counts = [len(s) - c for s, c in zip(scores, counts, strict=True)][::-1]
    return hit_rate_bounds(counts, [len(s) for s in scores], CONFIDENCE)


def _lower_bound(shaping_scores: list[Array], judging_scores: list[Array], bound: Any) -> float:
    """Return a bound on the judging scores, at the threshold that is best for the shaping ones."""
    threshold, swapped = _best_threshold(shaping_scores, bound)
    return float(bound(*_hit_rate_bounds_at(judging_scores, np.array([threshold]), swapped))[0])


def _best_threshold(scores: list[Array], bound: Any) -> tuple[float, bool]:
    """Return the threshold with the largest lower bound, and whether its direction is swapped."""
    thresholds = np.unique(np.quantile(np.concatenate(scores), np.linspace(0.01, 0.99, 401)))
    candidates = [
        (bound(*_hit_rate_bounds_at(scores, thresholds, swapped)), swapped)
        for swapped in (False, True)
    ]
    values, swapped = max(candidates, key=lambda pair: pair[0].max())
    return float(thresholds[values.argmax()]), swapped


def _direct_epsilon_bound(p: Array, q: Array, delta: float) -> Array:
    """Return the lower bound ε ≥ log((p − δ)/q)."""
    return np.log(np.maximum((p - delta) / q, 1.0))


def _least_additive_cost(p: Array, q: Array, accounting: type[Accountant]) -> Array:
    """Return the least additive cost that allows a hit rate p at a false alarm rate q.

    It is μ², ρ or ε; 0 where p ≤ q. μ ≥ Φ⁻¹(p) − Φ⁻¹(q); ρ ≥ D_a(Bernoulli(p) ‖ Bernoulli(q))/a for
    every order a; ε ≥ log(p/q).
    """
    is_informative = p > q
    p = np.where(is_informative, p, 0.5)
    q = np.where(is_informative, q, 0.5)
    if accounting is GdpAccountant:
        return np.maximum(ndtri(p) - ndtri(q), 0.0) ** 2
    if accounting is PureAccountant:
        return np.log(p / q)
    divergences = []
    for a in RENYI_ORDERS:
        if a == 1:
            divergences.append(p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)))
        else:
            terms = a * np.log(p) + (1 - a) * np.log(q), a * np.log1p(-p) + (1 - a) * np.log1p(-q)
            divergences.append(np.logaddexp(*terms) / (a - 1) / a)
    return np.max(divergences, axis=0)


def _epsilon_of_additive_cost(cost: float, plan: Plan) -> float:
    """Return the ε at δ that the plan's accounting gives for an additive cost."""
    accountant = plan.accountant
    if cost <= 0 or not isinstance(accountant, AdditiveAccountant):
        # others count releases; a test bounds no such number, and the direct bound is left
        return 0.0
    return accountant.epsilon_of_cost(cost, plan.budget.delta - accountant.failure)


def with_fewest_rounds(algorithm: Any, fixed_names: Iterable[str] = ()) -> Any:
    """Return the algorithm with its parameter `rounds` at the least allowed value.

    The game needs many short runs. An algorithm whose `fixed_names` include `rounds` stays as it
    is.
    """
    rounds = [
        p
        for p in declared_parameters(type(algorithm))
        if p.name == "rounds" and p.name not in set(fixed_names)
    ]
    return replace(algorithm, **{p.name: max(1, int(p.low or 0)) for p in rounds})
