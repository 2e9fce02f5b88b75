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
        both = self.both
        worst = both.worst(LISTED)
        labels = [both.workload.label(int(j)) for j in worst]
        table = pd.DataFrame(
            {
                "question": [question(label) for label in labels],
                "real": both.real[worst], "synthetic": both.synthetic[worst], "error": both.gaps[worst],
                "column": [sorted({column for column, _ in label}) for label in labels],
            }
        )  # fmt: skip
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
    each = listed.explode("column").groupby("column")["error"].agg(["mean", "size"])
    each = each.reset_index().set_axis(["column", "error", "questions"], axis=1)
    return each.sort_values("error", ascending=False, ignore_index=True)


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
    beside, places = show_tiles(tiles, _uses(shown.chosen))
    return beside, places[1]


def largest(shown: Shown) -> tiled.Tile:
    """The tile of the largest error: where it is, and how large it becomes in the repeats that are there."""
    both, told = shown.both, distinct(shown.chosen.problem.domain.names)
    label = both.workload.label(int(both.worst(1)[0]))
    place = question(tuple((told.get(column, column), value) for column, value in label))
    most = counted(shown.gaps.max(), shown.n, shown.noun)
    more = f", in {len(shown.runs)} repeats up to {most}" if shown.replays else ""
    return tiled.error(f"Largest error, at {place}", both.gaps.max(), shown.n, shown.noun, more)


def _uses(chosen: Chosen) -> str:
    """What the release is good for, from the noise of its plan alone."""
    problem, algorithm, budget, share = chosen.problem, chosen.algorithm, chosen.budget, chosen.schema

    def found() -> str:
        if share is None:
            plan = make_plan(algorithm, problem, budget)
        else:
            plan = share.planned(algorithm, problem, budget, exact=False)[1]
        return uses(foreseen(problem, plan), problem.n).sentence

    key = (problem.domain, tuple(chosen.texts), problem.effective_n, algorithm, budget, share)
    return session().memo("uses", key, found)


@peek
def spread(shown: Shown) -> None:
    """How far the noise moves the verdict, what was spent, and by which accounting: behind one button."""
    summary, runs = shown.result.summary, len(shown.runs)
    moved = ""
    if shown.replays:
        typical, worst = shown.gaps.mean(axis=1), shown.gaps.max(axis=1)
        moved = (
            f"In {runs} repeats with fresh noise: typical error {points(typical.min())} to {points(typical.max())} "
            f"points, largest {points(worst.min())} to {points(worst.max())}. "
        )
    used = summary["spent"]
    by = used["accounting"]
    if shown.chosen.schema is not None:  # what the schema costs is not the run's to say
        used, by = summary, "the schema and the algorithm together, at the most"
    label = f"{runs} repeats" if shown.replays else "About these numbers"
    with st.popover(label, type="tertiary", icon=":material/info:"):
        st.caption(
            f"{moved}{_against(shown)}{summary['queries']:,} questions, {summary['cells']:,} combinations, "
            f"{shown.n:,} rows. Used: ε = {used['epsilon']:.4g} at δ = {brief(used['delta'])}, by {by}. "
            f"Protected: {shown.table.unit.words}.",
            help=meaning("point", "cell", "workload"),
        )


def _against(shown: Shown) -> str:
    """How the root mean square error stands to the least of any unbiased Gaussian release, if that is known."""
    least = least_error(shown.chosen)
    if not least:
        return ""
    found = shown.both.errors.rmse
    return f"Root mean square error {points(found)} points, {against_line(found, least)}. "


def stopped(own: pd.DataFrame) -> str:
    """Say of one run whether its largest error fell by more than a tenth over the last quarter of its steps."""
    final = own.iloc[-1]
    late = own[own["t"] >= 0.75 * final["t"]]
    if len(late) < 2:
        return f"Done after {int(final['t']):,} steps"
    if late["max_error"].iloc[0] - final["max_error"] <= 0.1 * final["max_error"]:
        return "The error stopped falling: waiting does not help"
    return "The error is still falling: more steps may help"


@chart("convergence", "point", "sampling floor", "seed")
def convergence(shown: Shown, _: DeltaGenerator, details: DeltaGenerator) -> Told:
    """Error against rounds or against the budget spent, the range over replays, raw noise, a pinned run behind."""
    frame = shown.curve
    own = frame[frame["seed"] == frame["seed"].iloc[0]]
    raw, stages, end = _raw_noise(shown), _stages(shown.result, own), own.iloc[-1]
    against = details.segmented_control(
        "Draw against", AGAINST, default=AGAINST[0], required=True, key="against", bind="query-params"
    )
    x = "epsilon_spent" if against == "ε used" else "t"
    summary = stopped(own)
    more = "".join(f"{charts.STAGE}: {words} " for _, words in stages) + "Bands: all repeats. "
    if raw is not None:
        summary += f"\nNoise alone on every answer, nothing fitted: largest error {points(raw)} points."
    if frame["epsilon_spent"].nunique() == 1:
        more += "The whole budget is used before the first step. "
    elif row := RATES.get(shown.result.summary["algorithm"]):
        more += f"Its theorem: a whole run with twice the budget has {2**row.power:.0%} of the largest error. "
        if x != "t":  # a theorem says nothing of a step; it holds up to a constant, which each run's end gives
            ends = frame.groupby("seed")[["max_error", x]].transform("last")
            frame = frame.assign(proved=ends["max_error"] * (frame[x].where(frame[x] > 0) / ends[x]) ** row.power)
    if "population_max_error" in frame:
        more += f"Against the population the largest error is {points(end['population_max_error'])} points."
    marks = [float(own[x].iloc[i]) for i, _ in stages] if own[x].nunique() > 1 else []
    pinned = shown.pinned[1] if shown.pinned else None
    figure = charts.convergence_chart(
        frame, x, against, shown.n, shown.noun, raw_noise=raw, stages=marks, pinned=pinned
    )
    st.plotly_chart(figure, key="convergence", alt=summary, config=QUIET)
    return summary, frame, more


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
    found, before = [], ""
    for i, record in enumerate(result.records):
        note = STAGE.match(record.note)
        name = note[0] if note else ""
        if i and name != before:
            spent = own["epsilon_spent"].iloc[i] - own["epsilon_spent"].iloc[i - 1]
            words = f"At step {int(own['t'].iloc[i])}. Errors may jump before they settle."
            words += f" It costs ε = {spent:.2g} more." if spent else " It uses no budget."
            found.append((i, words))
        before = name
    return found
