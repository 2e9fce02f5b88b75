"""What synthetic rows are good for: models, links, tests and a question, against ε, beside what real rows give."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import InputError, Rows
from dpcore.core.provenance import Tag
from dpcore.evaluation.purposes import TESTS, Purposes, alarms_in_words
from dpcore.evaluation.sweeps.sweep import Case, SweepPoint
from dpcore.evaluation.sweeps.worker_pool import JobSpec, Result
from dpcore.queries.questions import understand

from ..charts import frontier_charts
from ..components import GRAMMAR, heading, panel, peek, row
from ..jobs import Several, watch
from ..session import clean, plain, session, shared
from .sweep_jobs import TITLES, Dot, Sweep

LINES = {"value": "", "real": "the real table", "sample": "a sample as exact", "nothing": "knowing nothing"}
TESTING, EXPECTED = "test a hypothesis", "right: 5%"
SYNTHETIC_ROWS = "synthetic rows"
DRAWN = [LINES["real"], SYNTHETIC_ROWS, LINES["sample"], LINES["nothing"], *TESTS, EXPECTED]  # the real table is blue


@dataclass(eq=False)
class Purposed(Several[Dot]):
    """Runs of one algorithm on three quarters of the rows, and how well each release serves every purpose."""

    sweep: Sweep | None = None
    purposes: Callable[[Rows], Purposes] | None = None

    def begin(self, sweep: Sweep, name: str, **asked: Any) -> None:
        """Run what is not there yet of an algorithm, at the budgets and seeds of a comparison, or refuse."""
        reason = refused(sweep)
        if reason:
            raise InputError(reason)
        if sweep.problem is None or not isinstance(sweep.rows, Rows):
            raise InputError("the comparison is no longer here; run it again")
        key = sweep.asked, *asked.values()
        make_purposes = partial(Purposes.of, sweep.problem.domain, **asked)
        n = make_purposes(sweep.rows).train.n
        self.cancel()
        if self.asked != key:
            self.close()
        self.asked, self.sweep, self.purposes = key, sweep, make_purposes
        self.problem = replace(sweep.problem, n=n)
        self.run([case for case in sweep.planned if case.name == name])

    def task_for(self, case: Case) -> JobSpec:
        """One run as in the comparison, of the rows that are not held out."""
        if self.sweep is None:
            raise InputError("the comparison is no longer here; run it again")
        full_table_job = self.sweep.once_more(case.algorithm, case.budget, case.seed)
        return replace(full_table_job, problem=self.problem, population=None, purposes=self.purposes)

    def keep(self, point: SweepPoint, result: Result | None) -> Dot:
        """The point alone."""
        return Dot(point)

    def lines(self) -> pd.DataFrame:
        """A line each purpose and run that ended: purpose, unit, epsilon, value, real, sample, nothing."""
        done = [dot.point for dot in self.shown if dot.point.state == "done"]
        return pd.DataFrame([{"epsilon": p.epsilon, **served} for p in done for served in p.errors.values()])  # type: ignore[dict-item]


def refused(sweep: Sweep) -> str:
    """Return why a comparison's table serves no purposes; empty where it does."""
    if not isinstance(sweep.rows, Rows):
        return "Purposes need the rows one by one. This table is read in parts, so only counts are known."
    if sweep.problem is not None and sweep.problem.group > 1:
        return "Purposes need a table with one row for each person. In this one a person may have several rows."
    return ""


def other_table(why: str) -> None:
    """Say why there are no purposes here, and lead to where another table is brought."""
    with row(key="no-purposes"):
        st.info(f"{why} Bring a table with one row for each person on the Data page, such as one visit of each.")
        st.page_link("pages/data.py", label="Open Data", icon=":material/table:")


@peek
def served(sweep: Sweep) -> None:
    """The widgets, a button that runs what is asked, and a curve of one purpose over ε."""
    if sweep.problem is None:
        return
    heading("What are the synthetic rows good for?", Tag.PEEK)
    reason = refused(sweep)
    if reason:
        other_table(reason)
        return
    jobs, names = session().own("purposes", Purposed), list(dict.fromkeys(case.name for case in sweep.planned))
    domain = sweep.problem.domain
    widget_columns = iter(st.columns(4))
    name = next(widget_columns).selectbox(
        "Release by", names, format_func=TITLES.__getitem__, key="purposes-by", **shared()
    )
    binary_column_index = next((i for i, column in enumerate(domain.columns, 1) if column.size == 2), 0)
    targets = ["", *domain.names]
    target = next(widget_columns).selectbox(
        "Predict", targets, binary_column_index, format_func=_named, key=f"target-{sweep.id}", **shared()
    )
    group = next(widget_columns).selectbox(
        "in groups by", targets, format_func=_named, key=f"among-{sweep.id}", **shared()
    )
    text = next(widget_columns).text_input(
        "A question", key="purposes-question", placeholder="age > 50", help=GRAMMAR, **shared()
    )
    try:
        question = understand(text, domain) if text.strip() else None
        if st.button(
            "Try the purposes",
            icon=":material/target:",
            help="Each release is made once more, without a quarter of the rows. Models are tested on that quarter.",
        ):
            jobs.begin(sweep, name, target=target or None, group=group or None, question=question)
    except InputError as error:
        st.error(plain(error, 400))
        return
    if jobs.asked is None or jobs.asked[0] != sweep.asked:
        return
    watch(jobs, "purposes")
    for message in dict.fromkeys(dot.point.message for dot in jobs.shown if dot.point.state != "done"):
        st.error(plain(message, 400))
    scores = jobs.lines()
    if len(scores):
        _draw(scores)


def _draw(found: pd.DataFrame) -> None:
    """The curve of one purpose, both tests in one, with its sentence."""
    kinds = list(dict.fromkeys(TESTING if p.startswith(TESTING) else p for p in found["purpose"]))
    kind = st.selectbox("Purpose", kinds, format_func=clean, key="purpose", persist_state="session")
    purpose_scores = (
        found[found["purpose"].str.startswith(TESTING)] if kind == TESTING else found[found["purpose"] == kind]
    )
    unit, curve_parts = str(purpose_scores["unit"].iloc[0]), []
    for purpose, test_scores in purpose_scores.groupby("purpose", sort=False):
        title = str(purpose).removeprefix(f"{TESTING}: ") if kind == TESTING else SYNTHETIC_ROWS
        curve_parts.append(_over(test_scores, "value", title))
    reference_lines = {line: _over(purpose_scores, line, title) for line, title in LINES.items() if title}
    if kind == TESTING:  # where all three are 5%
        reference_lines = {"real": reference_lines["real"].assign(line=EXPECTED)}
    lines = pd.concat([*curve_parts, *reference_lines.values()]).dropna()
    if not len(lines):
        st.caption(plain(f"This has no number in any run ({unit}).", 400))
        return
    line_styles = frontier_charts.look(DRAWN)
    panel(
        frontier_charts.over_epsilon(lines, line_styles, unit),
        _summary(purpose_scores, kind, unit),
        lines,
        "purpose-curve",
    )


def _over(some: pd.DataFrame, field: str, title: str) -> pd.DataFrame:
    """Mean and range over runs of one number at each ε."""
    numbers = some.assign(**{field: pd.to_numeric(some[field])})
    grouped = numbers.groupby("epsilon")[field]
    return grouped.agg(middle="mean", low="min", high="max").reset_index().assign(line=title)


def _summary(own: pd.DataFrame, kind: str, unit: str) -> str:
    """What the curve says at one ε: of tests the smallest, where alarms are most often false; else the largest."""
    epsilon = own["epsilon"].min() if kind == TESTING else own["epsilon"].max()
    scores_at_epsilon = own[own["epsilon"] == epsilon]
    if kind == TESTING:
        means = (
            scores_at_epsilon[scores_at_epsilon["purpose"] == f"{TESTING}: {name}"]["value"].astype(float).mean()
            for name in TESTS
        )
        return f"At ε = {epsilon:g}: {alarms_in_words(*(None if pd.isna(m) else m for m in means))}"
    phrases = (
        f"{title or 'synthetic rows'} {m:.3g}"
        for field, title in LINES.items()
        if not pd.isna(m := pd.to_numeric(scores_at_epsilon[field]).mean())
    )
    return f"At ε = {epsilon:g}, {unit}: {', '.join(phrases)}."


def _named(name: str) -> str:
    return clean(name) or "nothing"
