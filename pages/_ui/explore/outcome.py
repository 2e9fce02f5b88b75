"""What a run showed: the verdict, how far the noise moves it, and how it settled."""

import re
from contextlib import suppress
from functools import cached_property

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import InputError
from dpcore.accuracy.error_rates import RATES
from dpcore.accuracy.meaning_of_epsilon import guess_tile
from dpcore.accuracy.raw_noise import plain_noise
from dpcore.accuracy.usefulness import foreseen, uses
from dpcore.algorithms.algorithm import make_plan
from dpcore.algorithms.query_release.shared.optimal_noise import against_line
from dpcore.core.numbers import amount, brief, counted, noun, points
from dpcore.core.types import by_name
from dpcore.evaluation.run import Comparison
from dpcore.evaluation.sweeps.worker_pool import Result
from dpcore.queries import Workload
from dpcore.release import tiles as tiled

from ..charts import explore_charts as charts
from ..components import QUIET, meaning, peek, show_tiles
from ..components.result_panels import curves
from ..session import Table, distinct, question, session
from .keep_run import least_error
from .layout import Told, chart
from .run_settings import AGAINST, Chosen

STAGE = re.compile(r"fit (\d+) of (\d+)")
LISTED = 1000  # questions that are put into words


@by_name
class Shown:
    """A run, its replays with other noise, and what they are compared with: what every part of the screen draws from.

    `both` compares the first run with the records; `pinned` is the run A and its curve.
    """

    table: Table
    chosen: Chosen
    result: Result
    replays: list[Result]
    both: Comparison
    pinned: tuple[Result, pd.DataFrame] | None

    @property
    def n(self) -> int:
        """Number of records."""
        return self.chosen.problem.n

    @property
    def noun(self) -> str:
        """What a record stands for."""
        return noun(self.table.unit.most_rows)

    @property
    def runs(self) -> list[Result]:
        """The first run and its replays."""
        return [self.result, *self.replays]

    @cached_property
    def worlds(self) -> np.ndarray:
        """The answers of every run to the questions asked, (runs, m)."""
        return self.answers(self.both.workload)

    @cached_property
    def gaps(self) -> np.ndarray:
        """The error of every run's answers, in shares (runs, m)."""
        return np.abs(self.worlds - self.both.real)

    @cached_property
    def curve(self) -> pd.DataFrame:
        """The convergence records of every run."""
        return curves(self.runs)

    def answers(self, workload: Workload) -> np.ndarray:
        """The answers of every run to a workload, (runs, m)."""
        return np.stack([run.release.answers(workload) for run in self.runs])

    @cached_property
    def listed(self) -> pd.DataFrame:
        """The worst questions, worst first: their columns, and the range of their errors over the runs."""
        comparison = self.both
        worst = comparison.worst(LISTED)
        labels = [comparison.workload.label(int(j)) for j in worst]
        table = pd.DataFrame(
            {
                "question": [question(label) for label in labels],
                "real": comparison.real[worst],
                "synthetic": comparison.synthetic[worst],
                "error": comparison.gaps[worst],
                "column": [sorted({column for column, _ in label}) for label in labels],
            }
        )
        if self.replays:
            gaps = self.gaps[:, worst]
            table = table.assign(low=gaps.min(axis=0), high=gaps.max(axis=0))
        return table

    def words(self, probability: float) -> str:
        """A difference in points and people."""
        return amount(probability, self.n, self.noun)

    def off(self, both: Comparison) -> str:
        """By how many people the answer that is off most is too high or too low."""
        gap = (both.synthetic - both.real)[both.worst(1)].item()
        return f"{counted(abs(gap), self.n, self.noun)} too {'many' if gap > 0 else 'few'}"


def by_column(listed: pd.DataFrame) -> pd.DataFrame:
    """The mean error of questions, and how many there are, by the columns they are about; the worst first."""
    errors = listed.explode("column").groupby("column")["error"].agg(["mean", "size"])
    errors = errors.reset_index().set_axis(["column", "error", "questions"], axis=1)
    return errors.sort_values("error", ascending=False, ignore_index=True)


@peek
def verdict(shown: Shown) -> tuple[DeltaGenerator, DeltaGenerator]:
    """The tiles of the first run; returns the places beside its sentence and of the largest error."""
    summary = shown.result.summary
    tiles = [
        tiled.error("Typical error", shown.both.gaps.mean(), shown.n, shown.noun),
        largest(shown),
        *tiled.exactness(summary["final"]["as_exact_as_sample"], shown.n, shown.noun),
        guess_tile(summary["promise"]["guess"]),
    ]
    info_container, tile_containers = show_tiles(tiles, _uses(shown.chosen))
    return info_container, tile_containers[1]


def largest(shown: Shown) -> tiled.Tile:
    """The tile of the largest error: where it is, and how large it becomes in the repeats that are there."""
    comparison, display_names = shown.both, distinct(shown.chosen.problem.domain.names)
    label = comparison.workload.label(int(comparison.worst(1)[0]))
    question_text = question(tuple((display_names.get(column, column), value) for column, value in label))
    largest_text = counted(shown.gaps.max(), shown.n, shown.noun)
    repeats_text = f", in {len(shown.runs)} repeats up to {largest_text}" if shown.replays else ""
    return tiled.error(f"Largest error, at {question_text}", comparison.gaps.max(), shown.n, shown.noun, repeats_text)


def _uses(chosen: Chosen) -> str:
    """What the release is good for, from the noise of its plan alone."""
    problem, algorithm, budget, schema_share = chosen.problem, chosen.algorithm, chosen.budget, chosen.schema

    def found() -> str:
        if schema_share is None:
            plan = make_plan(algorithm, problem, budget)
        else:
            plan = schema_share.planned(algorithm, problem, budget, exact=False)[1]
        return uses(foreseen(problem, plan), problem.n).sentence

    key = (problem.domain, tuple(chosen.texts), problem.effective_n, algorithm, budget, schema_share)
    return session().memo("uses", key, found)


@peek
def spread(shown: Shown) -> None:
    """How far the noise moves the verdict, what was spent, and by which accounting: behind one button."""
    summary, runs = shown.result.summary, len(shown.runs)
    spread_text = ""
    if shown.replays:
        typical, worst = shown.gaps.mean(axis=1), shown.gaps.max(axis=1)
        spread_text = (
            f"In {runs} repeats with fresh noise: typical error {points(typical.min())} to {points(typical.max())} "
            f"points, largest {points(worst.min())} to {points(worst.max())}. "
        )
    privacy_spent = summary["spent"]
    accounting = privacy_spent["accounting"]
    if shown.chosen.schema is not None:  # what the schema costs is not the run's to say
        privacy_spent, accounting = summary, "the schema and the algorithm together, at the most"
    label = f"{runs} repeats" if shown.replays else "About these numbers"
    with st.popover(label, type="tertiary", icon=":material/info:"):
        st.caption(
            f"{spread_text}{_against(shown)}{summary['queries']:,} questions, {summary['cells']:,} combinations, "
            f"{shown.n:,} rows. Used: ε = {privacy_spent['epsilon']:.4g} at δ = {brief(privacy_spent['delta'])}, by "
            f"{accounting}. "
            f"Protected: {shown.table.unit.words}.",
            help=meaning("point", "cell", "workload"),
        )


def _against(shown: Shown) -> str:
    """How the root mean square error stands to the least of any unbiased Gaussian release, if that is known."""
    least = least_error(shown.chosen)
    if not least:
        return ""
    rmse = shown.both.errors.rmse
    return f"Root mean square error {points(rmse)} points, {against_line(rmse, least)}. "


def stopped(own: pd.DataFrame) -> str:
    """Say of one run whether its largest error fell by more than a tenth over the last quarter of its steps."""
    last_point = own.iloc[-1]
    last_quarter = own[own["t"] >= 0.75 * last_point["t"]]
    if len(last_quarter) < 2:
        return f"Done after {int(last_point['t']):,} steps"
    if last_quarter["max_error"].iloc[0] - last_point["max_error"] <= 0.1 * last_point["max_error"]:
        return "The error stopped falling: waiting does not help"
    return "The error is still falling: more steps may help"


@chart("convergence", "point", "sampling floor", "seed")
def convergence(shown: Shown, _: DeltaGenerator, details: DeltaGenerator) -> Told:
    """Error against rounds or against the budget spent, the range over replays, raw noise, a pinned run behind."""
    frame = shown.curve
    first_curve = frame[frame["seed"] == frame["seed"].iloc[0]]
    raw_noise, stages, last_point = _raw_noise(shown), _stages(shown.result, first_curve), first_curve.iloc[-1]
    axis_label = details.segmented_control(
        "Draw against", AGAINST, default=AGAINST[0], required=True, key="against", bind="query-params"
    )
    x = "epsilon_spent" if axis_label == "ε used" else "t"
    summary = stopped(first_curve)
    note = "".join(f"{charts.STAGE}: {stage_text} " for _, stage_text in stages) + "Bands: all repeats. "
    if raw_noise is not None:
        summary += f"\nNoise alone on every answer, nothing fitted: largest error {points(raw_noise)} points."
    if frame["epsilon_spent"].nunique() == 1:
        note += "The whole budget is used before the first step. "
    elif error_rate := RATES.get(shown.result.summary["algorithm"]):
        note += f"Its theorem: a whole run with twice the budget has {2**error_rate.power:.0%} of the largest error. "
        if x != "t":  # a theorem says nothing of a step; it holds up to a constant, which each run's end gives
            ends = frame.groupby("seed")[["max_error", x]].transform("last")
            frame = frame.assign(
                proved=ends["max_error"] * (frame[x].where(frame[x] > 0) / ends[x]) ** error_rate.power
            )
    if "population_max_error" in frame:
        note += f"Against the population the largest error is {points(last_point['population_max_error'])} points."
    stage_positions = [float(first_curve[x].iloc[i]) for i, _ in stages] if first_curve[x].nunique() > 1 else []
    pinned_curve = shown.pinned[1] if shown.pinned else None
    figure = charts.convergence_chart(
        frame, x, axis_label, shown.n, shown.noun, raw_noise=raw_noise, stages=stage_positions, pinned=pinned_curve
    )
    st.plotly_chart(figure, key="convergence", alt=summary, config=QUIET)
    return summary, frame, note


def _raw_noise(shown: Shown) -> float | None:
    """The largest error of noise on every answer for this budget, nothing fitted; public numbers only."""
    problem, budget = shown.chosen.problem, shown.chosen.budget

    def found() -> float | None:
        with suppress(InputError):
            return plain_noise(problem.workload, budget, problem.effective_n)

    key = (problem.domain, tuple(shown.chosen.texts), problem.effective_n, budget)
    return session().memo("raw-noise", key, found)


def _stages(result: Result, own: pd.DataFrame) -> list[tuple[int, str]]:
    """Where a new stage begins: the number of the record, and what happens there in words."""
    stages, previous_name = [], ""
    for i, record in enumerate(result.records):
        note = STAGE.match(record.note)
        name = note[0] if note else ""
        if i and name != previous_name:
            spent = own["epsilon_spent"].iloc[i] - own["epsilon_spent"].iloc[i - 1]
            stage_text = f"At step {int(own['t'].iloc[i])}. Errors may jump before they settle."
            stage_text += f" It costs ε = {spent:.2g} more." if spent else " It uses no budget."
            stages.append((i, stage_text))
        previous_name = name
    return stages
