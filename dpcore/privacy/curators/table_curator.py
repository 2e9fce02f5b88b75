"""The curator of tables: it measures answers of workloads, and selects and draws queries."""

from dataclasses import fields, replace
from typing import Any, Final

import numpy as np

from ...core.builtin_values import to_builtin
from ...core.errors import BudgetError
from ...core.numbers import ROUNDING_SLACK
from ...core.types import Array, Kinds, Rng
from ...queries import Workload, defensive_copy, defensive_domain_copy
from ...schema.domain import Countable, Domain
from .. import exact_samplers, mechanisms, noise_grid
from ..accounting.budget_meter import Plan
from ..accounting.events import BoundedRange, Pure
from ..statistics.query_answers import (
    Answers,
    CellAnswers,
    SignedErrors,
    SomeAnswers,
    WeightedTables,
)
from ..statistics.query_draws import AcceptProbabilities
from ..statistics.residual_answers import Residuals
from ..statistics.selection_scores import AbsoluteErrors, TableErrors, sparse_vector_laplace_scales
from ..statistics.votes import CodeVotes
from .curator import Curator

SELECTION_SCORES: Final = (SignedErrors, TableErrors)
STREAMED_SCORES: Final = (AbsoluteErrors,)
SPARSE_VECTOR_STEP: Final = (
    2.0**-20
)  # of a row: the step to which errors are rounded in the sparse vector


class TableCurator(Curator):
    """The holder of a table's rows; with a `domain`, it refuses workloads of any other domain.

    All is counted on twins of workloads that nobody outside holds.
    """

    _counts_votes = True
    _statistic_types = (Answers, SomeAnswers, CellAnswers, WeightedTables, Residuals, CodeVotes)
    __slots__ = ("_counts", "_domain", "_threshold")

    def __init__(
        self,
        rows: Countable,
        n: int,
        plan: Plan,
        rng: Rng,
        *,
        group: int = 1,
        domain: Domain | None = None,
    ) -> None:
        super().__init__(rows, n, plan, rng, group=group)
        self._domain = None if domain is None else defensive_domain_copy(domain)
        self._counts: dict[Workload, tuple[Workload, Array, float]] = {}  # by the defensive copy
        self._threshold: tuple[Pure, float, float] | None = (
            None  # paid and not used up: spend, Δ, its noise
        )

    def select(self, score: SignedErrors | TableErrors, spend: BoundedRange | Pure) -> int:
        """Return the index of a nearly largest score, privately selected.

        Chosen with noise of scale 2bΔ/(nε₀), for neighbours that differ in b rows of one person.

        - Pure(ε₀): Permute-and-flip, which is ε₀-DP.
        - BoundedRange(ε₀): The exponential mechanism.

        Raises BudgetError, before any row is read, when the plan does not allow the charge.
        """
        paid, scores, scale = self._charge_and_score(
            "select", score, SELECTION_SCORES, spend, (BoundedRange, Pure)
        )
        if isinstance(paid, BoundedRange):
            return int(self._draw_indices(scores, scale, 1)[0])
        self._exactly["permute-and-flip"] += 1
        return mechanisms.permute_and_flip(scores, scale, self._rng)

    def draw_queries(self, score: SignedErrors, spend: BoundedRange, times: int = 1) -> Array:
        """Return independent signed queries (times,), each drawn by the exponential mechanism.

        Each has probability ∝ exp(η · score), η = n ε₀/(2bΔ).

        Neighbours differ in b rows (of one person). Each is a draw of the exponential mechanism,
        ε₀-bounded-range as derived above, and has a cost of its own: they are independent given the
        public sums, so ρ = times · ε₀²/8. Raises BudgetError, before any row is read, when the plan
        does not allow all the charges.
        """
        times = to_builtin(times)
        _, scores, scale = self._charge_and_score(
            "draw_queries", score, (SignedErrors,), spend, (BoundedRange,), times
        )
        return self._draw_indices(scores, scale, times)

    def keep_draws(self, score: AcceptProbabilities, spend: BoundedRange) -> Array:
        """Return bits (s,), one for each drawn query: True to keep it, with its probability.

        The probability is that of `AcceptProbabilities`.

        The bits are released. Each is B-bounded-range and has a cost of its own. Raises
        BudgetError, before any row is read, when the plan does not allow all of them, or when
        `spend` is below B for this number of rows.
        """
        score, spend = self._checked_copies(score, (AcceptProbabilities,), spend, (BoundedRange,))
        minimum_epsilon = score.minimum_epsilon(self.effective_n)
        if spend.epsilon < minimum_epsilon:
            raise BudgetError(
                f"keep_draws needs ε₀={minimum_epsilon:.6g} a bit, ε₀={spend.epsilon:.6g} is paid"
            )
        rounding_share = score.rounding_share(self._n)  # which raises before the charge
        self._ledger.charge("keep_draws", spend, len(score.signed_queries))
        self._exactly["coins"] += len(score.signed_queries)
        workload, counts, _ = self._true_counts(score.workload)
        return mechanisms.flip_log_coins(
            score.with_smaller_eta(workload, rounding_share).value(counts / self._n), self._rng
        )

    def above_threshold(self, errors: AbsoluteErrors, spend: Pure) -> int | None:
        """Return the index of the batch's first query with an error above the level, else None.

        By sparse vector.

        One noisy threshold, ν ~ Laplace(bΔ/(nε₁)), serves any number of queries, each with noise
        Laplace(2bΔ/(nε₂)), for neighbours that differ in b rows (of one person), up to and with the
        first one above (`mechanisms.first_above`); ε₀ = ε₁ + ε₂ is divided between both. While none
        is, the threshold stays in here for the next batch, whose queries, answers and level may
        depend on what was released before; after one is, the next call costs anew. Nothing else may
        be asked while it is in use, so that uses compose one after the other. Raises BudgetError,
        before any row is read, when the plan does not allow the charge, or the threshold in use was
        paid for by another spend or sensitivity.
        """
        errors, spend = self._checked_copies(errors, STREAMED_SCORES, spend, (Pure,))
        known = self._threshold
        if known is None:
            self._ledger.charge("above_threshold", spend)
        elif known[:2] != (spend, errors.sensitivity):
            raise BudgetError(
                f"the threshold in use was planned for {known[0]} at sensitivity {known[1]:g}"
            )
        values, threshold_scale, error_scale = self._errors_in_grid_steps(errors, spend)
        draw = exact_samplers.laplace if self._ledger.plan.exact else mechanisms.laplace
        if known is None:
            if draw is exact_samplers.laplace:
                self._exactly["sparse vector"] += 1
            threshold = float(draw(np.zeros(1), threshold_scale, self._rng)[0])
            known = (spend, errors.sensitivity, threshold)
            self._threshold = known
        first_index = mechanisms.first_above(draw(values, error_scale, self._rng), known[2])
        if first_index is not None:
            self._threshold = None
        return first_index

    def _charge_and_score(
        self,
        verb: str,
        score: Any,
        allowed_kinds: Kinds,
        spend: Any,
        payable: Kinds,
        times: int = 1,
    ) -> tuple[Any, Array, float]:
        """Return the spend, charged before any row is read, the scores, and the scale of a draw.

        The scores are those of exact counts, the scale is 2Δ/(unit ε₀). What rounding adds to a
        score, e at the most and from public numbers, adds 2e to Δ.
        """
        score, paid = self._checked_copies(score, allowed_kinds, spend, payable)
        self._ledger.charge(verb, paid, times)
        workload, counts, _ = self._true_counts(score.workload)
        count_scores, rounding_bound = score.in_counts(workload, self._n)
        delta = (
            (count_scores.sensitivity + 2 * rounding_bound) * ROUNDING_SLACK
            if count_scores.sensitivity > 0
            else 0.0
        )
        return (
            paid,
            count_scores.value(counts),
            2 * delta / (self.effective_n / self._n * paid.epsilon),
        )

    def _draw_indices(self, scores: Array, scale: float, times: int) -> Array:
        """Return indices (times,) drawn by the exponential mechanism."""
        self._exactly["exponential mechanism"] += times
        return mechanisms.exponential(scores, scale, times, self._rng)

    def _errors_in_grid_steps(
        self, errors: AbsoluteErrors, spend: Pure
    ) -> tuple[Array, float, float]:
        """Return the errors in steps of a public grid, as exact counts, and both noise scales.

        The scales are in steps too. Rounding to the nearest step moves each error by half of it at
        most, so that between neighbours they move by at most one step more.
        """
        workload, counts, _ = self._true_counts(errors.workload)
        n = self._n
        count_errors, rounding_bound = errors.in_counts(workload, n)
        delta = (
            count_errors.sensitivity + 2 * rounding_bound + SPARSE_VECTOR_STEP
        ) * ROUNDING_SLACK
        threshold_scale, error_scale = sparse_vector_laplace_scales(
            delta * n / self.effective_n, spend.epsilon
        )
        return (
            np.rint(count_errors.value(counts) / SPARSE_VECTOR_STEP),
            threshold_scale / SPARSE_VECTOR_STEP,
            error_scale / SPARSE_VECTOR_STEP,
        )

    def _values_on_grid(self, statistic: Any) -> tuple[Any, float, Array]:
        if not statistic.takes_answers:
            return super()._values_on_grid(statistic)
        workload, counts, step = self._true_counts(statistic.workload)
        statistic_on_grid = replace(statistic, workload=workload)
        return statistic_on_grid, step, statistic_on_grid.value(counts)

    def _true_counts(self, workload_copy: Workload) -> tuple[Workload, Array, float]:
        """Return a workload on its grid, its exact n · ⟨q_j, P_n⟩, and the grid's step.

        Each workload is computed once.
        """
        if workload_copy not in self._counts:
            gridded_workload, step = noise_grid.workload_on_grid(workload_copy, self._n)
            self._step = min(self._step, step)
            self._counts[workload_copy] = (
                gridded_workload,
                gridded_workload.answers_of_rows(self._rows.with_undivided_sums),
                step,
            )
        return self._counts[workload_copy]

    def _copy_statistic(self, statistic: Any) -> Any:
        if self._threshold and type(statistic) not in STREAMED_SCORES:
            raise BudgetError(
                "a threshold is in use: nothing else may be asked before a query is above it"
            )
        field_values = {f.name: vars(statistic)[f.name] for f in fields(statistic)}
        if "workload" not in field_values:
            return super()._copy_statistic(statistic)
        twin = defensive_copy(field_values.pop("workload"), self._domain)
        return type(statistic)(
            workload=twin, **{name: to_builtin(part) for name, part in field_values.items()}
        )
