"""Comparison of algorithms in the shared pool: its runs, their outcomes, how it is resumed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import ALGORITHMS, Budget, InputError, Marginals, QueryRelease, Rows
from dpcore.algorithms import Algorithm, algorithms_for_problem
from dpcore.algorithms.schema_measurement.split_budget import SplitBudget
from dpcore.core.types import Texts, frozen
from dpcore.evaluation.experiment import ExperimentGrid, QueryTask
from dpcore.evaluation.run import pairs_with_column
from dpcore.evaluation.sweeps.frontier import summarise_by_epsilon
from dpcore.evaluation.sweeps.sweep import Case, SweepPoint, plan_cases
from dpcore.evaluation.sweeps.worker_pool import JobSpec, RunResult

from ..charts.frontier_charts import series_styles
from ..jobs import CaseRuns
from ..jobs.public_runs import problem_digest
from ..session import Table, algorithm_nickname, session
from ..session.schema_share import SchemaTrial
from .accuracy_goal import AccuracyGoal

ALGORITHM_TITLES = {name: algorithm_nickname(cls.about.title) for name, cls in ALGORITHMS.items()}
# The colour, mark and dash of each algorithm, on every chart and in every report.
ALGORITHM_STYLES = series_styles(list(algorithms_for_problem(QueryRelease)))
# answers of one run on all pairs that are kept beside those of its questions
MAX_PAIR_ANSWERS = 200_000

TABLE_ITSELF = "the table itself"  # the choice of rows that draws none


@dataclass(frozen=True, kw_only=True)
class ComparedTask:
    """What makes runs comparable: the task, δ, and the rows that they are compared with.

    `table_rows` are the rows of the table's `version`, of which `row_choice` says how many are
    drawn; `question_kinds` are the queries of the task in words.
    """

    task: QueryTask
    table: Table
    version: str
    table_rows: Any
    row_choice: str
    question_kinds: Texts
    delta: float

    def is_about(self, table: Table) -> bool:
        """Return whether it is about this table with this schema."""
        return self.table is table and self.version == table.version


@frozen
class Dot:
    """Run on the frontier chart: its sweep point, its answers (m,), those on all pairs of columns.

    None for answers that are not known or too many to keep.
    """

    point: SweepPoint
    answers: np.ndarray | None = None
    pair_answers: np.ndarray | None = None


@dataclass(eq=False)
class Sweep(CaseRuns[Dot]):
    """Runs of one problem on one table that a browser tab compares.

    The population stands beside the table if there is one.
    """

    pair_workload: Marginals | None = None
    real_answers: np.ndarray | None = None  # the answers of the table's rows (m,)
    real_pair_answers: np.ndarray | None = None
    # Kept here and not in the session: a report is written when nobody's page is drawn.
    baselines: dict[str, Any] | None = None
    promised_epsilon: float | None = None  # the smallest that promises what is needed
    # that measured the schema, in which case the algorithms have the rest of each budget
    trial: SchemaTrial | None = None
    grid: ExperimentGrid[QueryTask] | None = None  # the runs that were planned last
    # what all tabs found, for a public sample
    shared_dots: dict[Any, Dot] = field(default_factory=dict)

    def start(
        self,
        compared: ComparedTask,
        make_problem: Callable[[], tuple[QueryRelease, Rows, np.ndarray | None]],
        grid: ExperimentGrid[QueryTask],
        trial: SchemaTrial | None = None,
        run_seconds: Mapping[tuple[str, Budget], float] | None = None,
    ) -> None:
        """Start the missing runs; keep dots of the same problem and drop those of another.

        `run_seconds` are the seconds of a run, by its algorithm's name and budget.
        """
        self.cancel()
        if self.requested != compared:
            self.close()
            self.problem, self.rows, self.reference = make_problem()
            self.requested = compared
            self.trial = trial
            pairs = pairs_with_column(self.problem.domain)
            self.pair_workload = pairs if pairs.m <= MAX_PAIR_ANSWERS else None
            self.real_answers = self.problem.workload.answers_of_rows(self.rows)
            self.real_pair_answers = (
                None
                if self.pair_workload is None
                else self.pair_workload.answers_of_rows(self.rows)
            )
            public = trial is None and not compared.table.uploaded
            self.shared_dots = {}
            if public:
                self.shared_dots = _shared_dots(problem_digest(self.problem, self.rows))
            self.outcomes = self.shared_dots.copy()
        self.grid = grid
        self.predicted_seconds = dict(run_seconds or {})
        self.run(plan_cases(grid.algorithms, self.problem, grid.budgets, grid.seeds))

    def make_spec(self, case: Case) -> JobSpec:
        """Return the job of one run, with what the schema leaves of its budget."""
        return replace(super().make_spec(case), split=self.split_budget(case.budget))

    def split_budget(self, budget: Budget) -> SplitBudget | None:
        """Return how a budget is split with the schema; None where the schema is not measured."""
        return None if self.trial is None else self.trial.split_budget(budget)

    def extra_run_job(self, algorithm: Algorithm, budget: Budget, seed: int) -> JobSpec:
        """Return the pool job for one more run of the same problem."""
        if self.problem is None:
            raise InputError("the table of this comparison is no longer here; run it again")
        return self.make_spec(Case(name="", algorithm=algorithm, budget=budget, seed=seed))

    def make_outcome(self, point: SweepPoint, result: RunResult | None) -> Dot:
        """Return the dot of a point, with its answers if the run ended."""
        if result is None or self.problem is None:
            return Dot(point)
        release = result.release
        pairs = None if self.pair_workload is None else release.answers(self.pair_workload)
        dot = Dot(point, release.answers(self.problem.workload), pairs)
        self.shared_dots[point.key] = dot
        return dot

    def close(self) -> None:
        """Cancel the runs and release all data, also the baselines."""
        super().close()
        self.shared_dots = {}
        self.baselines = None
        self.trial = None
        self.grid = None

    def error_of_need(self, goal: AccuracyGoal, answers: np.ndarray | None) -> float | None:
        """Return the largest error of the needed answers of a run; None if it is not known."""
        if self.problem is None or self.real_answers is None or answers is None:
            return None
        return goal.largest_error(answers, self.real_answers, self.problem.workload)

    @property
    def is_of_whole_table(self) -> bool:
        """Whether the runs are on the table's own rows, and not on some drawn from it."""
        return self.requested is not None and self.requested.row_choice == TABLE_ITSELF

    @property
    def is_provisional(self) -> bool:
        """Whether a planned run is unfinished or has not begun, so that the best may change."""
        return len(self.planned_outcomes) < len(self.planned_cases)

    def _runs_at(self, algorithm: str, epsilon: float) -> list[Dot]:
        """Return the finished runs of one setting."""
        return [
            dot
            for dot in self.finished_runs
            if (dot.point.algorithm, dot.point.epsilon) == (algorithm, epsilon)
        ]

    def median_error(self, error_name: str, algorithm: str, epsilon: float) -> float | None:
        """Return the median over repeats of the named error at one setting; None without runs."""
        errors = [dot.point.errors[error_name] for dot in self._runs_at(algorithm, epsilon)]
        return None if not errors or None in errors else float(np.median(errors))

    def middle_run(self, algorithm: str, epsilon: float) -> Dot | None:
        """Return the run of a setting whose largest error is the median; None without runs."""
        runs = sorted(
            self._runs_at(algorithm, epsilon), key=lambda dot: dot.point.errors["largest"] or 0.0
        )
        return runs[(len(runs) - 1) // 2] if runs else None

    @property
    def best_dot(self) -> Dot | None:
        """The run with the smallest largest error at the promised ε, else at the largest."""
        epsilon = max(
            (dot.point.epsilon for dot in self.finished_runs),
            key=lambda e: (e == self.promised_epsilon, e),
            default=0.0,
        )
        candidates = (dot for dot in self.finished_runs if dot.point.epsilon == epsilon)
        return min(candidates, key=lambda dot: dot.point.errors["largest"] or 0, default=None)

    @property
    def question_kinds(self) -> str:
        """The kinds of its questions in words."""
        return " and ".join(self.requested.question_kinds)

    def error_table(self, error_of_dot: Callable[[Dot], float | None]) -> pd.DataFrame:
        """Return a table of the finished runs with the error that `error_of_dot` gives for each.

        Its columns are algorithm, epsilon, seed, error, seconds, memory.
        """
        columns = ["algorithm", "epsilon", "seed", "error", "seconds", "memory"]
        lines = [
            (
                d.point.algorithm,
                d.point.epsilon,
                d.point.seed,
                error_of_dot(d),
                d.point.seconds,
                d.point.memory,
            )
            for d in self.finished_runs
        ]
        return pd.DataFrame(lines, columns=pd.Index(columns))

    def median_errors(self, error_name: str) -> pd.DataFrame:
        """Return the median over repeats of the named error, by algorithm and ε."""
        return summarise_by_epsilon(self.error_table(lambda dot: dot.point.errors.get(error_name)))


@st.cache_resource(show_spinner=False, max_entries=8)
def _shared_dots(digest: str) -> dict[Any, Dot]:
    """Return the server-wide dots of one problem on a public sample, by their keys.

    They are the runs that any tab of this server has made.
    """
    return {}


def current_sweep() -> Sweep:
    """Return the comparison of the calling tab."""
    return session().get_or_create("sweep", Sweep)
