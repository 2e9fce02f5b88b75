"""Usefulness of synthetic rows for models, links, tests and a query, against ε.

It is shown beside what real rows give.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import Domain, InputError, Rows
from dpcore.core.provenance import Provenance
from dpcore.evaluation.purposes import TEST_NAMES, Purposes, false_alarm_sentence
from dpcore.evaluation.sweeps.sweep import Case, SweepPoint
from dpcore.evaluation.sweeps.worker_pool import JobSpec, RunResult
from dpcore.queries.questions import parse_question

from ..charts import frontier_charts
from ..components import (
    QUESTION_GRAMMAR_TEXT,
    draw_chart_panel,
    draw_heading,
    hide_in_stakeholder_view,
    inline_container,
    question_placeholder,
)
from ..jobs import CaseRuns, wait_or_draw_progress
from ..session import escape_markdown, persistent_widget_args, printable_text, session
from .sweep_jobs import ALGORITHM_TITLES, Dot, Sweep

LINE_TITLES = {
    "value": "",
    "real": "the real table",
    "sample": "a sample as exact",
    "nothing": "knowing nothing",
}
TEST_PURPOSE = "test a hypothesis"
EXPECTED_TEST_LINE = "right: 5%"
SYNTHETIC_ROWS = "synthetic rows"
# the real table is blue
LINE_ORDER = [
    LINE_TITLES["real"],
    SYNTHETIC_ROWS,
    LINE_TITLES["sample"],
    LINE_TITLES["nothing"],
    *TEST_NAMES,
    EXPECTED_TEST_LINE,
]


@dataclass(eq=False)
class TaskScoreRuns(CaseRuns[Dot]):
    """Runs of one algorithm on three quarters of the rows, with each release's purpose scores.

    A score says how well the release serves a purpose.
    """

    sweep: Sweep | None = None
    make_purposes: Callable[[Rows], Purposes] | None = None

    def start_runs(self, sweep: Sweep, name: str, **purpose_settings: Any) -> None:
        """Run the cases of an algorithm that are missing, at a comparison's budgets and seeds.

        Raises InputError for a comparison whose table serves no purposes.
        """
        reason = refusal_reason(sweep)
        if reason:
            raise InputError(reason)
        if sweep.problem is None or not isinstance(sweep.rows, Rows):
            raise InputError("the comparison is no longer here; run it again")
        key = sweep.requested, *purpose_settings.values()
        make_purposes = partial(Purposes.for_table, sweep.problem.domain, **purpose_settings)
        n = make_purposes(sweep.rows).train.n
        self.cancel()
        if self.requested != key:
            self.close()
        self.requested = key
        self.sweep = sweep
        self.make_purposes = make_purposes
        self.problem = replace(sweep.problem, n=n)
        self.run([case for case in sweep.planned_cases if case.name == name])

    def make_spec(self, case: Case) -> JobSpec:
        """Return the job of one run as in the comparison, on the rows that are not held out."""
        if self.sweep is None:
            raise InputError("the comparison is no longer here; run it again")
        full_table_job = self.sweep.extra_run_job(case.algorithm, case.budget, case.seed)
        return replace(
            full_table_job, problem=self.problem, population=None, purposes=self.make_purposes
        )

    def make_outcome(self, point: SweepPoint, result: RunResult | None) -> Dot:
        """Return the run's point alone, without its result."""
        return Dot(point)

    def score_table(self) -> pd.DataFrame:
        """Return a table with a line for each purpose and run that ended.

        Its columns are purpose, unit, epsilon, value, real, sample, nothing.
        """
        points = [dot.point for dot in self.finished_runs]
        return pd.DataFrame(
            [{"epsilon": p.epsilon, **served} for p in points for served in p.errors.values()]
        )  # type: ignore[dict-item]


def refusal_reason(sweep: Sweep) -> str:
    """Return why a comparison's table serves no purposes; empty where it does."""
    if not isinstance(sweep.rows, Rows):
        return (
            "Purposes need the rows one by one. This table is read in parts, so only counts "
            "are known. Bring a smaller one, such as some of its rows."
        )
    several_rows = sweep.problem is not None and sweep.problem.group > 1
    if several_rows or sweep.rows.votes_per_unit > 1:
        return (
            "Purposes need one row for each person: people are held out one by one. In this "
            "table a person may have several rows. On Data, let each row count, at most 1 of a "
            "person."
        )
    return ""


def draw_refusal(reason: str) -> None:
    """Say why there are no purposes here, and lead to where another table is brought."""
    with inline_container(key="no-purposes"):
        st.info(reason)
        st.page_link("pages/data.py", label="Open Data", icon=":material/table:")


@hide_in_stakeholder_view
def draw_task_scores(sweep: Sweep) -> None:
    """Draw the purpose widgets, a button that starts the runs, and one purpose's curve over ε."""
    if sweep.problem is None:
        return
    draw_heading("What are the synthetic rows good for?", Provenance.REAL_DATA)
    reason = refusal_reason(sweep)
    if reason:
        draw_refusal(reason)
        return
    runs = session().get_or_create("purposes", TaskScoreRuns)
    domain = sweep.problem.domain
    release_column, target_column, group_column, question_column = st.columns(4)
    name = _choose_release(release_column, sweep)
    target, group = _choose_target_and_group(target_column, group_column, sweep, domain)
    text = question_column.text_input(
        "A question",
        key="purposes-question",
        placeholder=question_placeholder(domain),
        help=QUESTION_GRAMMAR_TEXT,
        **persistent_widget_args(),
    )
    try:
        question = parse_question(text, domain) if text.strip() else None
        if st.button(
            "Try the purposes",
            icon=":material/target:",
            help="Each release is made once more, without a quarter of the rows. Models are "
            "tested on that quarter.",
        ):
            runs.start_runs(sweep, name, target=target, group=group, question=question)
    except InputError as error:
        st.error(escape_markdown(error, 400))
        return
    if runs.requested is None or runs.requested[0] != sweep.requested:
        return
    wait_or_draw_progress(runs.group, "purposes", wait_first=False)
    _draw_outcome(runs)


def _choose_release(container: DeltaGenerator, sweep: Sweep) -> str:
    """Draw the list of compared algorithms; return the name of the one whose release is tried."""
    return container.selectbox(
        "Release by",
        list(dict.fromkeys(case.name for case in sweep.planned_cases)),
        format_func=ALGORITHM_TITLES.__getitem__,
        key="purposes-by",
        **persistent_widget_args(),
    )


def _choose_target_and_group(
    target_container: DeltaGenerator,
    group_container: DeltaGenerator,
    sweep: Sweep,
    domain: Domain,
) -> tuple[str | None, str | None]:
    """Draw what is predicted, a column of two values at first, and in groups by what."""
    options = ["", *domain.names]
    binary_columns = (i for i, column in enumerate(domain.columns, 1) if column.size == 2)
    target = target_container.selectbox(
        "Predict",
        options,
        next(binary_columns, 0),
        format_func=_column_label,
        key=f"target-{sweep.group.id}",
        **persistent_widget_args(),
    )
    group = group_container.selectbox(
        "in groups by",
        options,
        format_func=_column_label,
        key=f"among-{sweep.group.id}",
        **persistent_widget_args(),
    )
    return target or None, group or None


def _draw_outcome(runs: TaskScoreRuns) -> None:
    """Draw the reasons of what failed, and the curve of one purpose."""
    messages = [dot.point.message for dot in runs.planned_outcomes if dot.point.state != "done"]
    for message in dict.fromkeys(messages):
        st.error(escape_markdown(message, 400))
    scores = runs.score_table()
    if len(scores):
        _draw_purpose_curve(scores)


def _draw_purpose_curve(scores: pd.DataFrame) -> None:
    """Draw the curve of one purpose with its sentence; both tests share one chart."""
    kinds = list(
        dict.fromkeys(TEST_PURPOSE if p.startswith(TEST_PURPOSE) else p for p in scores["purpose"])
    )
    kind = st.selectbox(
        "Purpose", kinds, format_func=printable_text, key="purpose", persist_state="session"
    )
    purpose_scores = (
        scores[scores["purpose"].str.startswith(TEST_PURPOSE)]
        if kind == TEST_PURPOSE
        else scores[scores["purpose"] == kind]
    )
    unit = str(purpose_scores["unit"].iloc[0])
    curve_parts = []
    for purpose, test_scores in purpose_scores.groupby("purpose", sort=False):
        title = (
            str(purpose).removeprefix(f"{TEST_PURPOSE}: ")
            if kind == TEST_PURPOSE
            else SYNTHETIC_ROWS
        )
        curve_parts.append(_summarise_by_epsilon(test_scores, "value", title))
    reference_lines = {
        line: _summarise_by_epsilon(purpose_scores, line, title)
        for line, title in LINE_TITLES.items()
        if title
    }
    if kind == TEST_PURPOSE:  # where all three are 5%
        reference_lines = {"real": reference_lines["real"].assign(line=EXPECTED_TEST_LINE)}
    lines = pd.concat([*curve_parts, *reference_lines.values()]).dropna()
    if not len(lines):
        st.caption(escape_markdown(f"This has no number in any run ({unit}).", 400))
        return
    line_styles = frontier_charts.series_styles(LINE_ORDER)
    draw_chart_panel(
        frontier_charts.epsilon_band_chart(lines, line_styles, unit),
        _curve_summary(purpose_scores, kind, unit),
        lines,
        "purpose-curve",
    )


def _summarise_by_epsilon(scores: pd.DataFrame, column: str, title: str) -> pd.DataFrame:
    """Return the mean and the range over runs of one column at each ε."""
    numbers = scores.assign(**{column: pd.to_numeric(scores[column])})
    grouped = numbers.groupby("epsilon")[column]
    return grouped.agg(middle="mean", low="min", high="max").reset_index().assign(line=title)


def _curve_summary(scores: pd.DataFrame, kind: str, unit: str) -> str:
    """Return a sentence on the curve at its largest ε; for tests, at its smallest.

    At the smallest ε false alarms are most frequent.
    """
    epsilon = scores["epsilon"].min() if kind == TEST_PURPOSE else scores["epsilon"].max()
    scores_at_epsilon = scores[scores["epsilon"] == epsilon]
    if kind == TEST_PURPOSE:
        means = (
            scores_at_epsilon[scores_at_epsilon["purpose"] == f"{TEST_PURPOSE}: {name}"]["value"]
            .astype(float)
            .mean()
            for name in TEST_NAMES
        )
        return (
            f"At ε = {epsilon:g}: "
            f"{false_alarm_sentence(*(None if pd.isna(m) else m for m in means))}"
        )
    means = {
        title: pd.to_numeric(scores_at_epsilon[field]).mean()
        for field, title in LINE_TITLES.items()
    }
    phrases = (
        f"{title or 'synthetic rows'} {mean:.3g}"
        for title, mean in means.items()
        if not pd.isna(mean)
    )
    return f"At ε = {epsilon:g}, {unit}: {', '.join(phrases)}."


def _column_label(name: str) -> str:
    return printable_text(name) or "nothing"
