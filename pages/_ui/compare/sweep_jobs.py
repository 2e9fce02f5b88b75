"""A comparison of algorithms in the shared pool: its runs, what they became, and how it is taken up again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import ALGORITHMS, Budget, InputError, Marginals, QueryRelease, Rows
from dpcore.algorithms import Algorithm
from dpcore.core.types import frozen
from dpcore.evaluation.run import pairs_with
from dpcore.evaluation.sweeps.frontier import middles
from dpcore.evaluation.sweeps.sweep import Case, SweepPoint, cases, identity, rows_digest
from dpcore.evaluation.sweeps.worker_pool import JobSpec, Result

from ..jobs import Several
from ..session import nickname, session
from ..session.schema_share import Trial

TITLES = {name: nickname(cls.about.title) for name, cls in ALGORITHMS.items()}
MOST_KEPT = 200_000  # answers of one run on all pairs that are kept beside those of its questions


@frozen
class Dot:
    """One run on the chart: its point, its answers (m,), and its answers on all pairs of columns."""

    point: SweepPoint
    answers: np.ndarray | None = None
    pairs: np.ndarray | None = None


@dataclass(eq=False)
class Sweep(Several[Dot]):
    """What a browser tab compares: the runs of one problem on one table, beside the population if there is one."""

    pairs: Marginals | None = None
    real: np.ndarray | None = None  # the records' answers (m,)
    real_pairs: np.ndarray | None = None
    # Kept here and not in the session: a report is written when nobody's page is drawn.
    baselines: dict[str, Any] | None = None
    advised: float | None = None  # the ε that the page speaks of
    trial: Trial | None = None  # that measured the schema, in which case the algorithms have the rest of each budget
    known: dict[Any, Dot] = field(default_factory=dict)  # what all tabs found, for a public sample

    def start(
        self,
        asked: Any,
        make: Callable[[], tuple[QueryRelease, Rows, np.ndarray | None]],
        algorithms: Mapping[str, Algorithm],
        budgets: list[Budget],
        seeds: range,
        trial: Trial | None = None,
        foreseen: Mapping[tuple[str, Budget], float] | None = None,
    ) -> None:
        """Run what is not there yet; dots of another problem are dropped, those of the same are kept.

        `foreseen` are the seconds of a run, by its algorithm's name and budget.
        """
        self.cancel()
        if self.asked != asked:
            self.close()
            self.problem, self.rows, self.beside = make()
            self.asked, self.trial = asked, trial
            pairs = pairs_with(self.problem.domain)
            self.pairs = pairs if pairs.m <= MOST_KEPT else None
            self.real = self.problem.workload.answers_of_rows(self.rows)
            self.real_pairs = None if self.pairs is None else self.pairs.answers_of_rows(self.rows)
            public = trial is None and not asked[0].uploaded
            self.known = _known(f"{identity(self.problem)}{rows_digest(self.rows)}") if public else {}
            self.found = self.known.copy()
        self.foreseen = dict(foreseen or {})
        self.run(cases(algorithms, self.problem, budgets, seeds))

    def task_for(self, case: Case) -> JobSpec:
        """One run, with what the schema leaves of its budget."""
        schema = None if self.trial is None else self.trial.share(case.budget)
        return replace(super().task_for(case), schema=schema)

    def once_more(self, algorithm: Algorithm, budget: Budget, seed: int) -> JobSpec:
        """One more run of the same problem, as the pool takes it."""
        if self.problem is None:
            raise InputError("the table of this comparison is no longer here; run it again")
        return self.task_for(Case(name="", algorithm=algorithm, budget=budget, seed=seed))

    def keep(self, point: SweepPoint, result: Result | None) -> Dot:
        """A dot: with the answers of a run that ended."""
        if result is None or self.problem is None:
            return Dot(point)
        release = result.release
        pairs = None if self.pairs is None else release.answers(self.pairs)
        self.known[point.key] = dot = Dot(point, release.answers(self.problem.workload), pairs)
        return dot

    def close(self) -> None:
        """Also let go of the baselines."""
        super().close()
        self.known = {}
        self.baselines = self.trial = None

    @property
    def best(self) -> Dot | None:
        """The run with the smallest largest error at the ε that is advised, else at the largest."""
        done = [d for d in self.shown if d.point.state == "done"]
        epsilon = max((d.point.epsilon for d in done), key=lambda e: (e == self.advised, e), default=0.0)
        candidates = (d for d in done if d.point.epsilon == epsilon)
        return min(candidates, key=lambda d: d.point.errors["max_error"] or 0, default=None)

    @property
    def kinds(self) -> str:
        """The kinds of its questions in words."""
        return " and ".join(self.asked[2])

    def table(self, value: Callable[[Dot], float | None]) -> pd.DataFrame:
        """The finished runs as lines: algorithm, epsilon, seed, error (what `value` says of a dot), seconds, memory."""
        done = [dot for dot in self.shown if dot.point.state == "done"]
        columns = ["algorithm", "epsilon", "seed", "error", "seconds", "memory"]
        lines = [
            (d.point.algorithm, d.point.epsilon, d.point.seed, value(d), d.point.seconds, d.point.memory) for d in done
        ]
        return pd.DataFrame(lines, columns=pd.Index(columns))

    def middles(self, name: str) -> pd.DataFrame:
        """The middle of the repeats' errors of that name, by algorithm and ε."""
        return middles(self.table(lambda dot: dot.point.errors.get(name)))


@st.cache_resource(show_spinner=False, max_entries=8)
def _known(problem: str) -> dict[Any, Dot]:
    """The runs of one problem on a public sample that any tab of this server has made, by their keys."""
    return {}


def current() -> Sweep:
    """The comparison of the calling tab."""
    return session().own("sweep", Sweep)
