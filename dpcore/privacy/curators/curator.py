"""The holders of rows: each charges its ledger first and touches its rows after.

There is one for each kind of problem: `table_curator`, `point_curator`, `risk_curator`; and
`column_curator` for columns before there is a schema. A new verb is a privacy review.
"""

from collections import Counter
from typing import Any, ClassVar

from ...core.builtin_values import to_builtin
from ...core.errors import BudgetError, InputError
from ...core.types import Array, Kinds, Rng
from ...data.sources.gathered_counts import GatheredCounts
from ...schema.domain import Countable
from .. import exact_samplers, mechanisms, noise_grid
from ..accounting.budget import Budget
from ..accounting.budget_meter import BudgetMeter, Plan, PlannedEvent, PrivacySpent
from ..accounting.events import (
    Approximate,
    BoundedRange,
    Gaussian,
    Pure,
    Spend,
    SubsampledGaussian,
)
from ..measurement import Measurement, MeasurementRecorder, noise_scale, noise_stddev
from ..noisy_answers import NoisyAnswers
from ..statistics.statistic import Statistic

PLAN_PART_TYPES = (
    Budget,
    PlannedEvent,
    Gaussian,
    BoundedRange,
    Pure,
    Approximate,
    SubsampledGaussian,
)


def require_single_rows(rows: Countable, plan: Plan) -> None:
    """Raise InputError where a plan reads single rows but only counts of tables are known."""
    statistic_types = (
        c.statistic if isinstance(c.statistic, type) else type(c.statistic)
        for c in plan.planned_events
    )
    if isinstance(rows, GatheredCounts) and any(
        issubclass(kind, Statistic) and kind.reads_single_rows for kind in statistic_types
    ):
        rows.refuse_single_rows()


class BudgetedCurator:
    """The base of curators: a budget meter for questions about n rows, and the noise generator.

    Args: `n`, the public number of rows, or of votes; `plan`, what may be charged; `rng`, the
    noise; `group`, how many of the n neighbours may differ in (each sensitivity is that many times
    larger). Selections
    are drawn without rounding, from the bits of `rng`, and with a plan that is `exact`, or promises
    δ = 0, so is noise; `exact_draw_counts` says which laws were drawn so, and how often. Rounded
    noise keeps no promise at δ = 0: last bits that one row's data allow and its neighbour's do not
    have a likelihood ratio without bound, and nothing pays for them.
    """

    __slots__ = ("_exactly", "_group", "_ledger", "_n", "_plan", "_rng")

    def __init__(self, n: int, plan: Plan, rng: Rng, group: int) -> None:
        group = to_builtin(group)
        if not 1 <= group <= n:
            raise InputError(f"group={group} is outside 1..{n}, the number of rows")
        self._plan = plan
        budget, charges = to_builtin((plan.budget, plan.planned_events), PLAN_PART_TYPES)
        self._ledger = BudgetMeter(
            Plan(budget, charges, exact=bool(plan.exact) or budget.delta == 0)
        )
        self._n = n
        self._group = group
        self._rng = rng
        self._exactly: Counter[str] = Counter()

    @property
    def plan(self) -> Plan:
        """The plan as it was given.

        The budget meter holds its own copy of the planned events, made at the start.
        """
        return self._plan

    @property
    def budget_meter(self) -> BudgetMeter:
        """A copy of the ledger as of now; changing the copy gives no budget back."""
        return self._ledger.readonly_copy(self._plan)

    @property
    def spent(self) -> PrivacySpent:
        """The total spent so far, anew at each call: changing it gives no budget back."""
        return self._ledger.spent

    @property
    def exact_draw_counts(self) -> Counter[str]:
        """The number of times that each law was drawn exactly, without rounding."""
        return self._exactly.copy()

    @property
    def _promises_pure_dp(self) -> bool:
        """Whether δ = 0 is promised, so that every answer lies on a public grid, drawn exactly."""
        return self._ledger.plan.budget.delta == 0

    def _validated_spend(self, spend: Any, payable: Kinds) -> Any:
        """Return the spend, rebuilt from plain parts and checked against the payable kinds."""
        if type(spend) not in payable:
            names = " or ".join(kind.__name__ for kind in payable)
            raise BudgetError(f"{type(spend).__name__} does not pay for this; it takes {names}")
        return to_builtin(spend, payable)

    def _add_noise(
        self, values: Array, scale: float, spend: Spend, without_rounding: bool
    ) -> Array:
        """Return the values plus the Gaussian or Laplace noise that a spend pays for.

        The caller has charged for it. Drawn without rounding where `without_rounding`, for values
        that are whole numbers; else in floating point.
        """
        sampler_module = exact_samplers if without_rounding else mechanisms
        is_gaussian = isinstance(spend, Gaussian)
        if without_rounding:
            self._exactly["Gaussian noise" if is_gaussian else "Laplace noise"] += 1
        draw = sampler_module.gaussian if is_gaussian else sampler_module.laplace
        return draw(values, scale, self._rng)


class Curator(BudgetedCurator):
    """The holder of a problem's rows: it charges a budget meter, then answers with noise.

    Args: `rows`, grouped rows, or counts of their tables; all else as `BudgetedCurator`. A class
    lists in `_statistic_types` the closed set of statistics that it measures, and in
    `_component_types` what those are made of beside numbers and arrays: every statistic is made
    anew of such parts before a row is read, so that no code but the audit's meets a row.
    `finest_grid_step` says on which public grid (`privacy.noise_grid`) answers that are no counts
    were counted; what has no grid gets noise in floating point, in an exact plan too, and is
    refused at δ = 0.

    Where everyone counts once, rows have votes, L of each of the n people, and all is as for n · L
    rows of which neighbours differ in L (b · L for groups of b): so single votes are what moves in
    the sensitivities here, and the noise on a share is that of one row of n. See
    `data.privacy_unit`. `_counts_votes` says that a class has statistics of votes.
    """

    _statistic_types: ClassVar[Kinds] = ()
    _counts_votes: ClassVar[bool] = False
    _component_types: ClassVar[Kinds] = ()
    __slots__ = ("_measured", "_rows", "_step", "_unit")

    def __init__(self, rows: Any, n: int, plan: Plan, rng: Rng, *, group: int = 1) -> None:
        if rows.n != n:
            raise InputError(f"the problem has n={n} rows, the table has {rows.n}")
        require_single_rows(rows, plan)
        votes_per_unit = to_builtin(rows.votes_per_unit)
        if votes_per_unit != 1 and not self._counts_votes:
            raise InputError("people cannot be counted here, only rows; count rows instead")
        super().__init__(n * votes_per_unit, plan, rng, group * votes_per_unit)
        self._rows = rows
        self._unit = self._n / self._group  # sensitivities are those of one row moving in n · P_n
        self._measured = MeasurementRecorder()
        self._step = 1.0

    @property
    def effective_n(self) -> float:
        """The unit n, or n/b for neighbours that differ in b rows; it divides sensitivities."""
        return self._unit

    @property
    def finest_grid_step(self) -> float:
        """The step of the finest grid of answers, released or selected by, that are no counts.

        1 for counts alone.
        """
        return self._step

    @property
    def measured_answers(self) -> list[NoisyAnswers]:
        """The noisy answers released so far with standard errors, by workload, in new arrays."""
        return self._measured.precision_weighted_means()

    def can_afford(self, spend: Spend, times: int = 1) -> bool:
        """Return whether the plan still allows `times` of `spend`.

        Decided from charges, so no row is read.
        """
        return self._ledger.can_charge(spend, times)

    def measure(self, statistic: Statistic, spend: Gaussian | Pure | Approximate) -> Measurement:
        """Return the statistic with noise added, after charging `spend`.

        Raises BudgetError, before reading rows, where the budget does not suffice, and InputError
        at δ = 0 for a statistic without a grid.

        - Gaussian(μ): The noise is N(0, (bΔ₂/(nμ))²), for neighbours that differ in b rows (of one
          person).
        - Pure(ε): The noise is Laplace(bΔ₁/(nε)), for neighbours that differ in b rows (of one
          person).
        - Approximate(ε₀, δ₀): The votes get noise Laplace(bΔ₁/(nε₀)) on positive shares, which are
          released only from the threshold H = (bΔ₁/(nε₀)) log(b/(2δ₀)) + b/n on, for neighbours
          that differ in b rows (the group). A
          share of c ≤ b votes that the neighbour lacks reaches H with probability ½ e^{−(H − c/n)
          nε₀/(bΔ₁)} ≤ δ₀/b, and there are b of them at the most: δ₀. Otherwise all such shares stay
          0 on both sides, and the others differ by bΔ₁/n in sum: ε₀. Source: Vadhan 2017, Theorem
          3.5; Gonzalez et al. 2025, 4.2, where b = 1.
        - Exact: n · value is whole numbers of steps of a public grid (1 for counts). It gets the
          same noise, of scale bΔ₂/μ or bΔ₁/ε, without rounding. Their sum is rounded to a public
          step and divided by n, which is public:
          a function of the noisy answer, so that it keeps the same promise (`exact`).
        """
        statistic_copy, checked_spend = self._checked_copies(
            statistic, self._statistic_types, spend
        )
        if self._promises_pure_dp:
            noise_grid.require_grid(statistic_copy)
        self._ledger.charge("measure", checked_spend)
        statistic_copy, values = self._noisy_values(statistic_copy, checked_spend)
        # With it goes what was asked and paid, as given: what was made of that is held by nobody
        # outside.
        measurement = Measurement(
            values, noise_stddev(statistic_copy, checked_spend, self.effective_n), statistic, spend
        )
        self._measured.add(measurement, statistic_copy)
        return measurement

    def _checked_copies(
        self, statistic: Any, allowed_kinds: Kinds, spend: Any, payable: Kinds | None = None
    ) -> tuple[Any, Any]:
        """Return the statistic and the spend, rebuilt and checked.

        `payable` is the statistic's own list unless given.
        """
        if type(statistic) not in allowed_kinds:
            raise BudgetError(
                f"{type(statistic).__name__} is not a statistic with a derived sensitivity"
            )
        checked_spend = self._validated_spend(spend, payable or type(statistic).payable)
        statistic_copy = self._copy_statistic(statistic)
        statistic_copy.check()
        return statistic_copy, checked_spend

    def _copy_statistic(self, statistic: Any) -> Any:
        """Return the statistic, rebuilt from plain parts that no caller can change afterwards."""
        return to_builtin(statistic, (type(statistic), *self._component_types))

    def _noisy_values(
        self, statistic: Any, spend: Gaussian | Pure | Approximate
    ) -> tuple[Any, Array]:
        """Return the statistic and its values with noise.

        The statistic is on its public grid where it has one. The caller has charged already.
        """
        use_grid = noise_grid.has_grid(statistic)
        if use_grid:
            statistic, step, scaled_values = self._values_on_grid(statistic)
            self._step = min(self._step, step)
            values = scaled_values / step
        else:
            step = float(self._n)
            values = statistic.value(self._rows)
        scale = noise_scale(statistic, spend, step * self.effective_n / self._n)
        noisy = self._add_noise(values, scale, spend, use_grid and self._ledger.plan.exact)
        if isinstance(spend, Approximate):
            threshold = (
                mechanisms.noise_tail_bound(scale, spend.failure / self._group, True)
                + self._group / step
            )
            noisy = mechanisms.apply_threshold(values, noisy, threshold)
        return statistic, statistic.postprocess(noisy * step / self._n)

    def _values_on_grid(self, statistic: Any) -> tuple[Any, float, Array]:
        """Return the statistic on its grid, the grid's step, and n times its value, unrounded.

        n times the value is without rounding error.
        """
        statistic_on_grid, step = statistic.on_grid(self._n)
        return statistic_on_grid, step, statistic_on_grid.value(self._rows.with_undivided_sums)
