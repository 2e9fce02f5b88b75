"""The curator of tables: it measures answers of workloads, and selects and draws queries."""

from dataclasses import fields, replace
from typing import Any, Final

import numpy as np

from ..data.domain import Countable, Domain
from ..data.plain import plain
from ..errors import BudgetError, InputError
from ..numbers import ROOM
from ..types import Array, Rng
from ..workloads import Workload, sealed, sealed_domain
from . import exact, grid, mechanisms
from .accounting.budget import BoundedRange, Pure
from .accounting.ledger import Plan
from .curator import Curator
from .statistics.answers import EPS, Answers, CellAnswers, SignedErrors, SomeAnswers, WeightedTables
from .statistics.query_draws import AcceptProbabilities
from .statistics.residuals import Residuals
from .statistics.scores import AbsoluteErrors, TableErrors, sparse_scales
from .statistics.votes import CodeVotes

SCORED: Final = (SignedErrors, TableErrors)
STREAMED: Final = (AbsoluteErrors,)
FINE: Final = 2.0**-20  # of a row: the step to which errors are rounded in the sparse vector
MOST_BLURRED: Final = 64.0  # largest |answer| and level together in the sparse vector, both as shares


class TableCurator(Curator):
    """The holder of a table's rows; with a `domain`, it refuses workloads of any other domain.

    All is counted on twins of workloads that nobody outside holds.
    """

    _measures = (Answers, SomeAnswers, CellAnswers, WeightedTables, Residuals, CodeVotes)
    __slots__ = ("_answers", "_counts", "_domain", "_grids", "_threshold", "_twins")

    def __init__(
        self, rows: Countable, n: int, plan: Plan, rng: Rng, *, group: int = 1,
        domain: Domain | None = None,
    ) -> None:  # fmt: skip
        super().__init__(rows, n, plan, rng, group=group)
        self._domain = None if domain is None else sealed_domain(domain)
        self._twins: dict[int, tuple[Workload, Workload]] = {}  # by the id of the workload, which is kept for that
        self._answers: dict[int, tuple[Workload, Array]] = {}
        self._counts: dict[int, tuple[Workload, Array]] = {}
        self._grids: dict[int, tuple[Workload, Workload, float]] = {}
        self._threshold: tuple[Pure, float, float] | None = None  # paid and not used up: spend, Δ, its noise

    def select(self, score: SignedErrors | TableErrors, spend: BoundedRange | Pure) -> int:
        """The index of a nearly largest score, chosen with noise of scale 2Δ/(nε₀).

        - Pure(ε₀): Permute-and-flip, which is ε₀-DP.
        - BoundedRange(ε₀): The exponential mechanism.

        Raises BudgetError, before any row is read, when the plan does not allow the charge.
        """
        return int(self._select("select", score, SCORED, spend, (BoundedRange, Pure), 1)[0])

    def draw_queries(self, score: SignedErrors, spend: BoundedRange, times: int = 1) -> Array:
        """Independent signed queries (times,), each with probability ∝ exp(η · score), η = n ε₀/(2Δ).

        Each is a draw of the exponential mechanism, ε₀-bounded-range as derived above, and has a cost of its own: they
        are independent given the public sums, so ρ = times · ε₀²/8. Raises BudgetError, before any row is read, when
        the plan does not allow all the charges.
        """
        return self._select("draw_queries", score, (SignedErrors,), spend, (BoundedRange,), plain(times))

    def keep_draws(self, score: AcceptProbabilities, spend: BoundedRange) -> Array:
        """Bits (s,), one for each drawn query: True, with the probability above, to keep it.

        The bits are released. Each is B-bounded-range and has a cost of its own. Raises BudgetError, before any
        row is read, when the plan does not allow all of them, or when `spend` is below B for this number of rows.
        """
        score, spend = self._check(score, (AcceptProbabilities,), spend, (BoundedRange,))
        if spend.epsilon < (needs := score.needs(self.unit)):
            raise BudgetError(f"keep_draws needs ε₀={needs:.6g} a bit, ε₀={spend.epsilon:.6g} is paid")
        self._ledger.charge("keep_draws", spend, len(score.drawn))
        if not self._ledger.plan.exact:
            return mechanisms.coins(score.value(self._true_answers(score.workload)), self._rng)
        self._note("coins", len(score.drawn))
        workload, counts = self._true_counts(score.workload)
        return mechanisms.coins(score.rounded(workload, self._n).value(counts / self._n), self._rng)

    def above_threshold(self, errors: AbsoluteErrors, spend: Pure) -> int | None:
        """The index in a batch of the first query whose error exceeds the level, by sparse vector; else None.

        One noisy threshold, ν ~ Laplace(Δ/(nε₁)), serves any number of queries, each with noise Laplace(2Δ/(nε₂)), up
        to and with the first one above (`mechanisms.first_above`); ε₀ = ε₁ + ε₂ is divided between both. While none
        is, the threshold stays in here for the next batch, whose queries, answers and level may depend on what was
        released before; after one is, the next call costs anew. Nothing else may be asked while it is in use, so that
        uses compose one after the other. Raises BudgetError, before any row is read, when the plan does not allow the
        charge, or the threshold in use was paid for by another spend or sensitivity.
        """
        errors, spend = self._check(errors, STREAMED, spend, (Pure,))
        known = self._threshold
        if known is None:
            self._ledger.charge("above_threshold", spend)
        elif known[:2] != (spend, errors.sensitivity):
            raise BudgetError(f"the threshold in use was planned for {known[0]} at sensitivity {known[1]:g}")
        if self._ledger.plan.exact:
            values, blur, scale = self._blurred(errors, spend)
            draw = exact.laplace
        else:
            values = errors.value(self._true_answers(errors.workload))
            blur, scale = sparse_scales(errors.sensitivity / self.unit, spend.epsilon)
            draw = mechanisms.laplace
        if known is None:
            self._note("sparse vector")
            known = self._threshold = (spend, errors.sensitivity, float(draw(np.zeros(1), blur, self._rng)[0]))
        place = mechanisms.first_above(draw(values, scale, self._rng), known[2])
        if place is not None:
            self._threshold = None
        return place

    def _select(
        self, verb: str, score: Any, known: tuple[type, ...], spend: Any, payable: tuple[type, ...], times: int
    ) -> Array:
        """The indices (times,) of independent selections by a score, each charged before any row is read."""
        score, spend = self._check(score, known, spend, payable)
        self._ledger.charge(verb, spend, times)
        scores, delta, unit = self._scores(score)
        scale = 2 * delta / (unit * spend.epsilon)
        if isinstance(spend, Pure):
            self._note("permute-and-flip", times)
            return np.array([mechanisms.permute_and_flip(scores, scale, self._rng) for _ in range(times)])
        self._note("exponential mechanism", times)
        exactly = self._ledger.plan.exact
        draw = mechanisms.exponential_exactly if exactly else mechanisms.exponential
        return draw(scores, scale, times, self._rng)

    def _scores(self, score: Any) -> tuple[Array, float, float]:
        """The scores, Δ and the unit n or n/b; in an exact plan, the scores are exact counts with room for rounding.

        What rounding adds to a score, e at the most and from public numbers, adds 2e to Δ.
        """
        if not self._ledger.plan.exact:
            return score.value(self._true_answers(score.workload)), score.sensitivity, self.unit
        workload, counts = self._true_counts(score.workload)
        whole, room = score.in_counts(workload, self._n)
        delta = (whole.sensitivity + 2 * room) * ROOM if whole.sensitivity > 0 else 0.0
        return whole.value(counts, self._n), delta, self.unit / self._n

    def _blurred(self, errors: AbsoluteErrors, spend: Pure) -> tuple[Array, float, float]:
        """The errors as exact counts in steps of a public grid, and both noise scales in steps.

        Rounding to the nearest step moves each error by half of it at most, so that between neighbours they move by at
        most one step more.
        """
        workload, counts = self._true_counts(errors.workload)
        n = self._n
        whole, room = errors.in_counts(workload, n)
        if room > (most := MOST_BLURRED * EPS * n):
            raise InputError(f"answers or the level of a batch are above {MOST_BLURRED:g}, too large for exact noise")
        delta = (whole.sensitivity + 2 * most + FINE) * ROOM
        blur, scale = sparse_scales(delta * n / self.unit, spend.epsilon)
        return np.rint(whole.value(counts, n) / FINE), blur / FINE, scale / FINE

    def _value(self, statistic: Any) -> Array:
        if not statistic.of_answers:
            return super()._value(statistic)
        return statistic.value(self._true_answers(statistic.workload))

    def _on_grid(self, statistic: Any) -> tuple[Any, float, Array]:
        if not statistic.of_answers:
            return super()._on_grid(statistic)
        workload, counts = self._true_counts(statistic.workload)
        own = replace(statistic, workload=workload)
        return own, self._grids[id(statistic.workload)][2], own.value(counts)

    def _true_counts(self, workload: Workload) -> tuple[Workload, Array]:
        """A workload with its entries on the grid, and its n · ⟨q_j, P_n⟩ without error; once per workload."""
        if id(workload) not in self._grids:
            self._grids[id(workload)] = (workload, *grid.workload_on_grid(workload, self._n))
        _, own, step = self._grids[id(workload)]
        self._step = min(self._step, step)
        if id(own) not in self._counts:
            self._counts[id(own)] = (own, own.answers_of_rows(self._rows.counted))
        return own, self._counts[id(own)][1]

    def _true_answers(self, workload: Workload) -> Array:
        """The answers ⟨q_j, P_n⟩, counted once per workload, which is kept alive so that its id stays unique."""
        if id(workload) not in self._answers:
            self._answers[id(workload)] = (workload, workload.answers_of_rows(self._rows))
        return self._answers[id(workload)][1]

    def _check(
        self, question: Any, known: tuple[type, ...], spend: Any, payable: tuple[type, ...] | None = None
    ) -> tuple[Any, Any]:
        if self._threshold and known is not STREAMED:
            raise BudgetError("a threshold is in use: nothing else may be asked before a query is above it")
        return super()._check(question, known, spend, payable)

    def _own(self, question: Any) -> Any:
        parts = {f.name: vars(question)[f.name] for f in fields(question)}
        if "workload" not in parts:
            return super()._own(question)
        twin = self._twin(parts.pop("workload"))
        return type(question)(workload=twin, **{name: plain(part) for name, part in parts.items()})

    def _twin(self, workload: Workload) -> Workload:
        """The workload's private copy, on which all counting is done; no caller holds it."""
        if id(workload) not in self._twins:
            self._twins[id(workload)] = (workload, sealed(workload, self._domain))
        return self._twins[id(workload)][1]
