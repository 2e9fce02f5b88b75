"""What a run showed: the verdict, how far the noise moves it, and how it settled."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import ALGORITHMS, InputError
from dpcore.accuracy.error_rates import ERROR_RATES
from dpcore.accuracy.meaning_of_epsilon import guess_tile_texts
from dpcore.accuracy.raw_noise import plain_noise_max_error
from dpcore.algorithms.query_release.shared.optimal_noise import compare_with_bound
from dpcore.core.numbers import (
    format_count,
    format_percentage_points,
    format_points_and_count,
    format_short_number,
    unit_noun,
)
from dpcore.core.types import by_name
from dpcore.evaluation.run import Comparison, compare_with_rows
from dpcore.evaluation.sweeps.worker_pool import RunResult
from dpcore.queries import Workload
from dpcore.queries.workload import table_columns
from dpcore.release import tiles as tiled
from dpcore.schema.domain import Countable

from ..charts import explore_charts as charts
from ..components import (
    CHART_CONFIG,
    glossary_tooltip,
    hide_in_stakeholder_view,
    largest_error_name,
    show_tiles,
)
from ..components.result_panels import convergence_table
from ..session import Table, format_query_label, session
from ..session.session import Memos, memoize_in
from .explore_run import RunWithReplays
from .keep_run import PinnedRun, least_unbiased_rmse, pinned_run_of
from .layout import ChartContent, chart_part
from .run_settings import CURVE_AXES, RunSettings
from .useful_changes import draw_useful_changes, uses_sentence

STAGE_PATTERN = re.compile(r"fit (\d+) of (\d+)")
MAX_LISTED_QUESTIONS = 1000  # questions that are put into words
T = TypeVar("T")


@by_name
class RunResults:
    """A run, its replays with other noise, and what they are compared with.

    Every part of the screen draws from it. `compare` compares the first run with the rows; `pinned`
    is the run A, if there is one. `memos` hold what the parts have worked out.
    """

    table: Table
    settings: RunSettings
    result: RunResult
    replays: list[RunResult]
    compare: Callable[[], Comparison]
    pinned: PinnedRun | None
    memos: dict[str, Memos]

    def memoize(self, part: str, choice: Any, compute: Callable[[], T]) -> T:
        """Return `compute()`, done once for a part of the screen and a choice there.

        All tabs that show this run of a public sample may share the value: nobody changes it.
        """
        seeds = [run.summary.seed for run in self.runs]
        return memoize_in(self.memos, part, (choice, seeds), compute)

    @property
    def comparison(self) -> Comparison:
        """The first run beside the rows."""
        return self.compare()

    @property
    def n(self) -> int:
        """Number of records."""
        return self.settings.problem.n

    @property
    def rows(self) -> Countable:
        """The rows, in the columns that were asked about."""
        return self.table.encoded_rows(self.settings.problem.domain.names)

    @property
    def unit_name(self) -> str:
        """What a record stands for."""
        return unit_noun(self.table.unit.group)

    @property
    def runs(self) -> list[RunResult]:
        """The first run and its replays."""
        return [self.result, *self.replays]

    @cached_property
    def run_answers(self) -> np.ndarray:
        """The answers of every run to the questions asked, (runs, m)."""
        return self.answers(self.comparison.workload)

    @cached_property
    def run_errors(self) -> np.ndarray:
        """The error of every run's answers, in shares (runs, m)."""
        return np.abs(self.run_answers - self.comparison.real)

    @cached_property
    def curve(self) -> pd.DataFrame:
        """The convergence records of every run."""
        return convergence_table(self.runs)

    def answers(self, workload: Workload) -> np.ndarray:
        """Return the answers of every run to a workload, (runs, m)."""
        return np.stack([run.release.answers(workload) for run in self.runs])

    @cached_property
    def worst_questions(self) -> pd.DataFrame:
        """Table of the worst queries, worst first: columns, answers and errors.

        With replays it has the range of their errors over the runs.
        """
        comparison = self.comparison
        worst = comparison.worst(MAX_LISTED_QUESTIONS)
        labels = [comparison.workload.label(int(j)) for j in worst]
        table = pd.DataFrame(
            {
                "question": [format_query_label(label) for label in labels],
                "real": comparison.real[worst],
                "synthetic": comparison.synthetic[worst],
                "error": comparison.gaps[worst],
                "column": [sorted({column for column, _ in label}) for label in labels],
            }
        )
        if self.replays:
            gaps = self.run_errors[:, worst]
            table = table.assign(low=gaps.min(axis=0), high=gaps.max(axis=0))
        return table

    def format_difference(self, probability: float) -> str:
        """Return a difference of shares in percentage points and in people."""
        return format_points_and_count(probability, self.n, self.unit_name)

    def format_worst_error(self, comparison: Comparison) -> str:
        """Return by how many people the worst answer is too high or too low."""
        gap = (comparison.synthetic - comparison.real)[comparison.worst(1)].item()
        return (
            f"{format_count(abs(gap), self.n, self.unit_name)} too {'many' if gap > 0 else 'few'}"
        )


def view_of_runs(
    table: Table, settings: RunSettings, started_run: RunWithReplays, result: RunResult
) -> Callable[[list[RunResult]], RunResults]:
    """Return a function that puts the first run's result beside replays, all that came back."""
    workload = settings.problem.workload
    rows = table.encoded_rows(settings.problem.domain.names)
    compare = cache(partial(compare_with_rows, result.release, rows, workload))
    pinned = pinned_run_of(table)
    memos: dict[str, Memos] = {}
    if started_run.public_key is not None and pinned is None:
        experiment = settings.experiment
        # keys are compared from left to right: what differs most comes first
        key = (experiment.budget, started_run.public_key, experiment.task)
        memos = session().memoize_public("charts", key, dict)

    def view(replays: list[RunResult]) -> RunResults:
        return RunResults(
            table=table,
            settings=settings,
            result=result,
            replays=replays,
            compare=compare,
            pinned=pinned,
            memos=memos,
        )

    return view


def mean_error_by_column(questions: pd.DataFrame) -> pd.DataFrame:
    """Return the mean error and the number of queries by column, the worst column first.

    A query counts for every column it is about.
    """
    errors = questions.explode("column").groupby("column")["error"].agg(["mean", "size"])
    errors = errors.reset_index().set_axis(["column", "error", "questions"], axis=1)
    return errors.sort_values("error", ascending=False, ignore_index=True)


@hide_in_stakeholder_view
def draw_verdict(run_results: RunResults) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Draw the tiles of the first run; return the containers of its sentence and largest error.

    The first container is the place beside the sentence.
    """
    tiles = run_results.memoize("tiles", None, lambda: _verdict_tiles(run_results))
    info_container, tile_containers = show_tiles(tiles, uses_sentence(run_results.settings))
    draw_useful_changes(
        run_results.table,
        run_results.settings,
        info_container,
        may_change_schema=run_results.table.trial is None,
    )
    return info_container, tile_containers[1]


def _verdict_tiles(run_results: RunResults) -> list[tiled.Tile]:
    summary = run_results.result.summary
    return [
        tiled.measured_error_tile(
            summary.query_errors.misplaced,
            table_columns(run_results.settings.problem.workload),
            run_results.n,
            run_results.unit_name,
        ),
        _largest_error_tile(run_results),
        *tiled.sample_size_tile(
            summary.query_errors.as_exact_as_sample,
            run_results.n,
            run_results.unit_name,
            "measured",
        ),
        guess_tile_texts(summary.promise.max_guess_probability()),
    ]


def largest_error_tile(run_results: RunResults) -> tiled.Tile:
    """Return the tile of the largest error: where it is, and its size over the repeats."""
    return run_results.memoize("largest error", None, lambda: _largest_error_tile(run_results))


def _largest_error_tile(run_results: RunResults) -> tiled.Tile:
    errors = run_results.comparison.errors
    largest_of_runs = max(run.summary.query_errors.largest for run in run_results.runs)
    largest_text = format_count(largest_of_runs, run_results.n, "").rstrip()
    repeats_text = (
        f", worst of {len(run_results.runs)}: {largest_text}" if run_results.replays else ""
    )
    return tiled.largest_error_tile(
        largest_error_name(run_results.comparison),
        errors.largest,
        errors.largest_of_group,
        run_results.n,
        run_results.unit_name,
        repeats_text,
    )


@hide_in_stakeholder_view
def draw_noise_spread(run_results: RunResults) -> None:
    """Draw a button that shows the spread by noise, the privacy spent and the accounting."""
    runs = len(run_results.runs)
    label = f"{runs} repeats" if run_results.replays else "About these numbers"
    with st.popover(label, type="tertiary", icon=":material/info:"):
        st.caption(
            run_results.memoize("noise", None, lambda: _noise_text(run_results))
            + f"Protected: {run_results.table.unit.description}.",
            help=glossary_tooltip("point", "cell", "workload"),
        )


def _noise_text(run_results: RunResults) -> str:
    summary = run_results.result.summary
    runs = len(run_results.runs)
    spread_text = ""
    if run_results.replays:
        errors = [run.summary.query_errors for run in run_results.runs]
        misplaced = [e.misplaced for e in errors]
        largest = [e.largest for e in errors]
        spread_text = (
            f"In {runs} repeats with fresh noise, measured: "
            f"{tiled.format_share_of_rows((min(misplaced), max(misplaced)))} "
            f"{run_results.unit_name} in a wrong cell, largest error "
            f"{format_percentage_points(min(largest))} to "
            f"{format_percentage_points(max(largest))} points. "
        )
    epsilon = summary.spent.epsilon
    delta = summary.spent.delta
    accounting = summary.spent.accounting.name
    if run_results.settings.split is not None:  # what the schema costs is not the run's to say
        epsilon = summary.budget.epsilon
        delta = summary.budget.delta
        accounting = "the schema and the algorithm together, at the most"
    return (
        f"{spread_text}{_unbiased_limit_sentence(run_results)}{summary.problem.queries:,} "
        f"questions, {summary.problem.cells:,} combinations, "
        f"{run_results.n:,} {run_results.unit_name}. Used: ε = {epsilon:.4g} at δ = "
        f"{format_short_number(delta)}, by {accounting}. "
    )


def _unbiased_limit_sentence(run_results: RunResults) -> str:
    """Return a sentence comparing the root mean square error with the least unbiased one.

    The least is that of any unbiased Gaussian release; it is named if known.
    """
    least = least_unbiased_rmse(run_results.settings)
    if not least:
        return ""
    rmse = run_results.comparison.errors.rmse
    return (
        f"Root mean square error {format_percentage_points(rmse)} points, "
        f"{compare_with_bound(rmse, least)}. "
    )


def convergence_verdict(run_curve: pd.DataFrame) -> str:
    """Return whether a run's largest error still fell at the end of its steps, in words.

    It did if it fell by more than a tenth over the last quarter of the steps.
    """
    last_point = run_curve.iloc[-1]
    last_quarter = run_curve[run_curve["t"] >= 0.75 * last_point["t"]]
    if len(last_quarter) < 2:
        return f"Done after {int(last_point['t']):,} steps"
    if last_quarter["largest"].iloc[0] - last_point["largest"] <= 0.1 * last_point["largest"]:
        return "The error stopped falling: waiting does not help"
    return "The error is still falling: more steps may help"


@chart_part("convergence", "point", "sampling floor", "seed")
def draw_convergence(
    run_results: RunResults, _: DeltaGenerator, details: DeltaGenerator
) -> ChartContent:
    """Draw the error against rounds or the budget spent; return the chart's content.

    The chart has the range over replays, raw noise, and a pinned run behind.
    """
    axis_label = details.segmented_control(
        "Draw against",
        CURVE_AXES,
        default=CURVE_AXES[0],
        required=True,
        key="against",
        bind="query-params",
    )
    content = run_results.memoize(
        "convergence", axis_label, lambda: _convergence_content(run_results, axis_label)
    )
    st.plotly_chart(content.figure, key="convergence", alt=content.summary, config=CHART_CONFIG)
    return content


def _convergence_content(run_results: RunResults, axis_label: str) -> ChartContent:
    frame = run_results.curve
    first_curve = frame[frame["seed"] == frame["seed"].iloc[0]]
    raw_noise = _raw_noise_error(run_results)
    stages = _find_stages(run_results.result, first_curve)
    x = "epsilon_spent" if axis_label == "ε used" else "t"
    summary = convergence_verdict(first_curve)
    if raw_noise is not None:
        summary += (
            "\nNoise alone, nothing fitted: largest error "
            f"{format_percentage_points(raw_noise)} points."
        )
    note = _convergence_note(run_results, first_curve, [text for _, text in stages])
    frame = _with_proved_error(run_results, frame, x)
    has_width = first_curve[x].nunique() > 1
    figure = charts.convergence_chart(
        frame,
        x,
        axis_label,
        run_results.n,
        run_results.unit_name,
        raw_noise=raw_noise,
        stages=[float(first_curve[x].iloc[i]) for i, _ in stages] if has_width else [],
        pinned=run_results.pinned.curve if run_results.pinned else None,
    )
    return ChartContent(figure=figure, summary=summary, frame=frame, note=note)


def _convergence_note(
    run_results: RunResults, first_curve: pd.DataFrame, stage_texts: Sequence[str]
) -> str:
    """Return what else is to be known: stages, bands, the theorem, and the population's error."""
    frame = run_results.curve
    note = "".join(f"{charts.STAGE_TEXT}: {text} " for text in stage_texts) + "Bands: all repeats. "
    error_rate = ERROR_RATES.get(run_results.result.summary.algorithm)
    if frame["epsilon_spent"].nunique() == 1:
        note += "The whole budget is used before the first step. "
    elif error_rate:
        bound = ALGORITHMS[run_results.result.summary.algorithm].about.bound
        note += (
            f"Its theorem ({bound}): a whole run with twice the budget has "
            f"{2**error_rate.epsilon_power:.0%} of the largest error. "
        )
    if "population_largest" in frame:
        population_error = first_curve.iloc[-1]["population_largest"]
        note += (
            "Against the population the largest error is "
            f"{format_percentage_points(population_error)} points."
        )
    return note


def _with_proved_error(run_results: RunResults, frame: pd.DataFrame, x: str) -> pd.DataFrame:
    """Return the curve with the error that a theorem proves, against the ε used, where one does.

    A theorem says nothing of a step; it holds up to a constant, which each run's end gives.
    """
    error_rate = ERROR_RATES.get(run_results.result.summary.algorithm)
    if not error_rate or x == "t" or frame["epsilon_spent"].nunique() == 1:
        return frame
    ends = frame.groupby("seed")[["largest", x]].transform("last")
    share_of_end = frame[x].where(frame[x] > 0) / ends[x]
    return frame.assign(proved=ends["largest"] * share_of_end**error_rate.epsilon_power)


def _raw_noise_error(run_results: RunResults) -> float | None:
    """Return the largest error of noisy answers at this budget, without a fitted model.

    From public numbers only; None where it is not known.
    """
    problem = run_results.settings.problem
    experiment = run_results.settings.experiment
    budget = experiment.budget

    def compute() -> float | None:
        with suppress(InputError):
            return plain_noise_max_error(problem.workload, budget, problem.effective_n)

    key = (problem.domain, experiment.task.queries, problem.effective_n, budget)
    return session().memoize_public("raw-noise", key, compute)


def _find_stages(result: RunResult, run_curve: pd.DataFrame) -> list[tuple[int, str]]:
    """Return the convergence point where each new stage begins, and a text on it."""
    stages = []
    previous_name = ""
    for i, record in enumerate(result.summary.convergence):
        note = STAGE_PATTERN.match(record.note)
        name = note[0] if note else ""
        if i and name != previous_name:
            spent = run_curve["epsilon_spent"].iloc[i] - run_curve["epsilon_spent"].iloc[i - 1]
            stage_text = (
                f"At step {int(run_curve['t'].iloc[i])}. Errors may jump before they settle."
            )
            stage_text += f" It costs ε = {spent:.2g} more." if spent else " It uses no budget."
            stages.append((i, stage_text))
        previous_name = name
    return stages
