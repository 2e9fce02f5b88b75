"""The share of its promise that measuring a schema really uses, on a worst pair of public tables.

A record of the first table says −10⁶ and nothing, of the second 10⁶ and "a": it changes power of
two, branch of the tree and category at once. Where "a" stands as often as values get no noise, or
once more, all of δ₀ is used.
"""

import math
from functools import partial

import numpy as np
from scipy.special import ndtr, ndtri

from ...algorithms.schema_measurement.measure_columns import plan_measurement
from ...algorithms.schema_measurement.split_budget import SplitBudget
from ...core.errors import InputError
from ...core.types import Array, ignore_progress
from ...privacy.accounting import Budget, Plan
from ...privacy.curators.column_curator import ColumnCurator, threshold_parameters
from ...privacy.measurement import noise_scale
from ...privacy.statistics.column_statistics import FANOUT, Magnitudes, TreeCounts
from ...problems import ColumnMeasurement
from ...schema.column_texts import ColumnTexts
from ...schema.partial_schema import UnknownColumn
from .distinguishing_game import PLANTED_BUGS, hit_rate_bounds
from .output_likelihoods import log_ratio_of_means
from .transcript_test import (
    EVIDENCE_CONFIDENCE,
    MAX_TRANSCRIPTS,
    MIN_PROVEN_SHARES,
    SPARE_STDDEVS,
    AuditResult,
    GaussianNoiseTest,
    check_transcript_request,
    run_transcript_test,
)

SCHEMA_AUDIT_NAME = "schema"
FAR_VALUE = 1e6
FREQUENT_TEXT = "a"
SURE_STDDEVS = 12.0  # standard deviations above the threshold
AUDITED_COLUMNS = (
    UnknownColumn(name="number", kind="numeric"),
    UnknownColumn(name="text", kind="categorical"),
)


def audit_schema_transcripts(
    budget: Budget, *, transcripts: int, bug: str = "none", seed: int = 0
) -> tuple[AuditResult, AuditResult]:
    """Return the evidence on μ and on δ₀ of a schema measured with the whole budget.

    It comes from transcripts of a number and a category column. Raises InputError at δ = 0, where
    no category can be measured, and for transcripts outside 1,000..10,000,000.
    """
    check_transcript_request(transcripts, bug)
    if budget.delta == 0:
        raise InputError(
            "delta=0: a schema's transcripts are judged with categories, which need delta > 0"
        )
    rng = np.random.default_rng(seed)
    split = SplitBudget(budget, 1.0, first_can_fail=True)
    # the number of rows changes no planned event
    plan = plan_measurement(ColumnMeasurement(AUDITED_COLUMNS, 1), split, exact=False)

    def score_transcript(
        test: _SchemaCountsTest | _ThresholdTest, table: tuple[ColumnTexts, ColumnTexts]
    ) -> float:
        curator = ColumnCurator(table, test.n, plan, rng)
        if bug != PLANTED_BUGS[0]:
            object.__setattr__(curator, "_group", 0.5)
        return test.score(curator)

    def run_test(test: _SchemaCountsTest | _ThresholdTest) -> AuditResult:
        return run_transcript_test(
            test,
            partial(score_transcript, test),
            SCHEMA_AUDIT_NAME,
            budget,
            transcripts,
            bug,
            rng,
            ignore_progress,
        )

    counts_test = _SchemaCountsTest(plan)
    threshold_test = _ThresholdTest(plan)
    counts_result = run_test(counts_test)
    return counts_result, run_test(threshold_test)


class _SchemaCountsTest(GaussianNoiseTest):
    """The test on all counts of a number and a category column, with a category that surely passes.

    It occurs often enough for that.
    """

    def __init__(self, plan: Plan) -> None:
        values = plan["categories"]
        scale, _, threshold = threshold_parameters(values, 1)
        self.plan = plan
        half = math.ceil(threshold + SURE_STDDEVS * scale)
        self.n = 2 * half
        self.tables = [
            (
                ColumnTexts(
                    (f"{-FAR_VALUE:g}", f"{FAR_VALUE:g}"), np.array([half - x, half + x]), 0
                ),
                ColumnTexts((FREQUENT_TEXT,), np.array([half + x]), half - x),
            )
            for x in (0, 1)
        ]
        coarse_tree = TreeCounts(np.linspace(-2 * FAR_VALUE, 2 * FAR_VALUE, FANOUT**2))
        tree = TreeCounts(np.linspace(-2 * FAR_VALUE, 2 * FAR_VALUE, FANOUT**3))
        self.measurements = [
            (Magnitudes(), plan["range"]),
            (coarse_tree, plan["first_look"]),
            (tree, plan["tree"]),
        ]
        self.log_ratio_parts = []
        for statistic, spend in self.measurements:
            a, b = [statistic.counts(number).astype(float) for number, _ in self.tables]
            self.log_ratio_parts.append(
                log_ratio_of_means(a, b, (b - a) / noise_scale(statistic, spend, 1.0) ** 2)
            )
        a = np.array([half, half])
        b = np.array([half + 1, half - 1])
        self.log_ratio_parts.append(log_ratio_of_means(a, b, (b - a) / scale**2))
        spends = [spend for _, spend in self.measurements] + [values]
        self.promised = math.sqrt(sum(spend.mu**2 for spend in spends))

    def score(self, curator: ColumnCurator) -> float:
        """Return the exact log-likelihood ratio of one transcript."""
        noisy_counts = [
            curator.count(0, statistic, spend).values for statistic, spend in self.measurements
        ]  # type: ignore[arg-type]
        frequent_values = curator.frequent(1, self.plan["categories"])
        noisy_counts.append(np.array([*frequent_values.counts, frequent_values.missing]))
        return self.log_ratio(noisy_counts)


class _ThresholdTest:
    """The test whether a category passes the threshold, on tables that differ by one row of it.

    On the first table no noise is drawn for it, so that how often it passes on the second is what
    δ₀ allows.
    """

    kind = "failure"

    def __init__(self, plan: Plan) -> None:
        values = plan["categories"]
        scale, low, threshold = threshold_parameters(values, 1)
        self.plan = plan
        self.n = low + 1
        self.promised = values.failure
        self.achievable = float(ndtr(-(threshold - low - 1) / scale))
        none = ColumnTexts((), np.zeros(0, dtype=np.int64), self.n)
        self.tables = [
            (none, ColumnTexts((FREQUENT_TEXT,), np.array([low + x]), 1 - x)) for x in (0, 1)
        ]

    @property
    def needed_transcripts(self) -> int:
        """The number of transcripts for SHARES of δ₀, half of them of the second table."""
        margin = self.achievable - MIN_PROVEN_SHARES[self.kind] * self.promised
        return (
            math.ceil(
                min(
                    2
                    * self.achievable
                    * ((ndtri(EVIDENCE_CONFIDENCE) + SPARE_STDDEVS) / margin) ** 2,
                    MAX_TRANSCRIPTS,
                )
            )
            if margin > 0
            else MAX_TRANSCRIPTS
        )

    def score(self, curator: ColumnCurator) -> float:
        """Return whether the category passed the threshold in a transcript, as 0 or 1."""
        return float(len(curator.frequent(1, self.plan["categories"]).texts))

    def bounds(self, first: Array, second: Array, confidence: float) -> tuple[float, float | None]:
        """Return a lower bound on δ₀, and None, as there is no upper one.

        δ₀ is P(passes) on the second table minus that on the first.
        """
        p, q = hit_rate_bounds((first.sum(), second.sum()), (len(first), len(second)), confidence)
        return float(max(p - q, 0.0) if first.any() else p), None
