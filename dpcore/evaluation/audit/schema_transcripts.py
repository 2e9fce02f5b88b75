"""The share of its promise that measuring a schema really uses, on a worst pair of public tables.

A record of the first table says −10⁶ and nothing, of the second 10⁶ and "a": it changes power of two, branch of the
tree and category at once. Where "a" stands as often as values get no noise, or once more, all of δ₀ is used.
"""

import math
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from ...algorithms.schema_measurement.measurement_plan import SchemaPlan, divide, plan_schema
from ...core.errors import InputError
from ...core.types import Array, unwatched
from ...privacy.accounting import Budget
from ...privacy.curators.column_curator import ColumnCurator, passing
from ...privacy.measurement import noise_scale
from ...privacy.statistics.column_statistics import FANOUT, Magnitudes, TreeCounts
from ...schema.column_texts import RawCells
from ...schema.partial_schema import OpenColumn
from .distinguishing_game import BUGS, hit_rates
from .output_likelihoods import ratio
from .transcript_test import MOST, SHARES, SPARE, TRUST, AuditResult, Noise, check_asked, judged

NAME = "schema"
FAR, OFTEN, SURE = 1e6, "a", 12.0  # standard deviations above the threshold
COLUMNS = (OpenColumn(name="number", kind="numeric"), OpenColumn(name="text", kind="categorical"))


def transcribe_schema(
    budget: Budget, *, transcripts: int, bug: str = "none", seed: int = 0
) -> tuple[AuditResult, AuditResult]:
    """The evidence on μ and δ₀ from a number and a category column measured with the whole budget.

    Raises InputError at δ = 0, where no category can be measured, and for transcripts outside 1,000..10,000,000.
    """
    check_asked(transcripts, bug)
    if budget.delta == 0:
        raise InputError("delta=0: a schema's transcripts are judged with categories, which need delta > 0")
    rng = np.random.default_rng(seed)
    division = divide(budget, 1.0, categories=True)
    plan = plan_schema(COLUMNS, 1, 1, division, exact=False)  # the number of rows changes no charge

    def seen(test: _Counted | _Passed, table: tuple[RawCells, RawCells]) -> float:
        curator = ColumnCurator(table, test.n, plan.plan, rng)
        if bug != BUGS[0]:
            object.__setattr__(curator, "_group", 0.5)
        return test.score(curator)

    counts_result, threshold_result = (
        judged(test, partial(seen, test), NAME, budget, transcripts, bug, rng, unwatched)
        for test in (_Counted(plan), _Passed(plan))
    )
    return counts_result, threshold_result


class _Counted(Noise):
    """The test on all counts of both columns, in which the category occurs often enough to pass surely."""

    def __init__(self, plan: SchemaPlan) -> None:
        values: Any = plan.values
        scale, _, threshold = passing(values, 1)
        self.plan, half = plan, math.ceil(threshold + SURE * scale)
        self.n = 2 * half
        self.tables = [
            (
                RawCells((f"{-FAR:g}", f"{FAR:g}"), np.array([half - x, half + x]), 0),
                RawCells((OFTEN,), np.array([half + x]), half - x),
            )
            for x in (0, 1)
        ]
        coarse_tree, tree = (TreeCounts(np.linspace(-2 * FAR, 2 * FAR, FANOUT**levels)) for levels in (2, 3))
        self.asked = [(Magnitudes(), plan.bounds), (coarse_tree, plan.look), (tree, plan.tree)]
        self.parts = []
        for statistic, spend in self.asked:
            a, b = (statistic.counts(number).astype(float) for number, _ in self.tables)
            self.parts.append(ratio(a, b, (b - a) / noise_scale(statistic, spend, 1.0) ** 2))
        a, b = np.array([half, half]), np.array([half + 1, half - 1])
        self.parts.append(ratio(a, b, (b - a) / scale**2))
        spends = [spend for _, spend in self.asked] + [values]
        self.promised = math.sqrt(sum(spend.mu**2 for spend in spends))

    def score(self, curator: ColumnCurator) -> float:
        """The exact log-likelihood ratio of one transcript."""
        noisy_counts = [curator.count(0, statistic, spend).values for statistic, spend in self.asked]  # type: ignore[arg-type]
        frequent_values = curator.frequent(1, self.plan.values)  # type: ignore[arg-type]
        noisy_counts.append(np.array([*frequent_values.counts, frequent_values.missing]))
        return self.log_ratio(noisy_counts)


class _Passed:
    """The test of whether a category passes the threshold, on tables where it has one row more or less.

    On the first table no noise is drawn for it, so that how often it passes on the second is what δ₀ allows.
    """

    kind = "failure"

    def __init__(self, plan: SchemaPlan) -> None:
        values: Any = plan.values
        scale, low, threshold = passing(values, 1)
        self.plan, self.n, self.promised = plan, low + 1, values.failure
        self.there = float(ndtr(-(threshold - low - 1) / scale))
        none = RawCells((), np.zeros(0, dtype=np.int64), self.n)
        self.tables = [(none, RawCells((OFTEN,), np.array([low + x]), 1 - x)) for x in (0, 1)]

    @property
    def needed(self) -> int:
        """The number of transcripts for SHARES of δ₀, half of them of the second table."""
        margin = self.there - SHARES[self.kind] * self.promised
        return math.ceil(min(2 * self.there * ((ndtri(TRUST) + SPARE) / margin) ** 2, MOST)) if margin > 0 else MOST

    def score(self, curator: ColumnCurator) -> float:
        """Whether the category passed in a transcript."""
        return float(len(curator.frequent(1, self.plan.values).texts))  # type: ignore[arg-type]

    def bounds(self, first: Array, second: Array, trust: float) -> tuple[float, float | None]:
        """A lower bound on δ₀, P(passes) on the second table minus that on the first; there is no upper one."""
        p, q = hit_rates((first.sum(), second.sum()), (len(first), len(second)), trust)
        return float(max(p - q, 0.0) if first.any() else p), None
