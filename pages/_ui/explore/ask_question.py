"""A question typed by hand, or two compared: what the runs answer, and what may be said of it from a release alone."""

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Domain, InputError, Marginals, QueryRelease
from dpcore.accuracy.intervals import question_intervals as intervals
from dpcore.accuracy.intervals.cell_intervals import cell_intervals
from dpcore.accuracy.intervals.question_intervals import Interval
from dpcore.evaluation.run import compare
from dpcore.evaluation.sweeps.worker_pool import Result
from dpcore.models.releases import UnbiasedAnswers
from dpcore.queries import Workload
from dpcore.queries.questions import Question, understand
from dpcore.release.release_files import labels, neutral

from ..components import GRAMMAR, heading, peek
from ..jobs.counting_job import have
from ..session import Table, plain, shared, stakeholder
from .run_settings import Chosen

LEVEL = 0.95
KINDS = {"difference": "their difference", "ratio": "their ratio", "odds": "their odds ratio"}
MOST_CELLS = 100_000  # that a download holds
HINT = "for example: sex = Female and age > 50"
MEANING = (
    f"Intervals made so hold the true value in {LEVEL:.0%} of releases, or more where it is said that they are "
    "conservative. They come from the noisy answers and public numbers alone: no row is read for them."
)


def ask(table: Table, chosen: Chosen, runs: list[Result]) -> None:
    """The widgets; the answers beside the real ones; what may be said from the release alone; all cells as a file."""
    heading("Ask a question of your own")
    left_column, middle_column, right_column = st.columns([3, 3, 2])
    text = left_column.text_input("Question", key="question", placeholder=HINT, help=GRAMMAR, **shared())
    help_text = "A second question, to compare the first one with; may stay empty."
    other_text = middle_column.text_input(
        "Compared with", key="question-with", placeholder="nothing", help=help_text, **shared()
    )
    kind = right_column.selectbox("by", list(KINDS), format_func=KINDS.__getitem__, key="compared-by", **shared())
    problem = chosen.problem
    try:
        questions = [understand(t, problem.domain) for t in (text, other_text) if t.strip()] if text.strip() else []
    except InputError as error:
        st.error(plain(error, 400))
        questions = []
    for question in questions:
        answers(table, problem.domain, runs, question)
        interval = bounds(runs[0], problem, [question])
        synthetic_text = (
            f"{plain(question.text, 200)}: **synthetic {interval.estimate or 0:.2%}**. " if stakeholder() else ""
        )
        st.markdown(synthetic_text + in_words(interval))
    if len(questions) > 1:
        interval = bounds(runs[0], problem, questions, kind)
        value = "–" if interval.estimate is None else _number(interval.estimate, kind)
        st.markdown(f"**{KINDS[kind].capitalize()}: {value}.** {in_words(interval, kind)}")
    for note in dict.fromkeys(note for question in questions for note in question.notes):
        st.caption(plain(note, 300))
    _cells(chosen, runs[0])


@peek
def answers(table: Table, domain: Domain, runs: list[Result], question: Question) -> None:
    """One question's real answer, the synthetic one, and how far that varies over the runs."""
    rows = table.rows(domain.names)
    try:
        if not have(table, question.workload, f"question-{hash(question.text)}"):
            return
        comparisons = [compare(result.release, rows, question.workload) for result in runs]
    except InputError as error:  # of a large table, of which only tables are known
        st.error(plain(error, 400))
        return
    synthetic = [float(f.synthetic[0]) for f in comparisons]
    answer = f"**Real {float(comparisons[0].real[0]):.2%}, synthetic {synthetic[0]:.2%}**"
    if len(comparisons) > 1:
        answer += f" (from {min(synthetic):.2%} to {max(synthetic):.2%} over {len(comparisons)} runs with other noise)"
    st.markdown(f"{plain(question.text, 200)}: {answer}, of {rows.n:,} rows. The real answer is not for publishing.")
    if len(comparisons) == 1:
        st.caption("Set Repeats under More to 5 or more, to see how far the synthetic answer varies.")


def bounds(result: Result, problem: QueryRelease, asked: list[Question], kind: str | None = None) -> Interval:
    """The interval of one question, or of two compared, from what a run released.

    For the population a person's rows count as one: no more than `effective_n` records are independent.
    """
    unbiased_answers = evidence(result)
    estimates = [float(result.release.answers(question.workload)[0]) for question in asked]
    if kind is None:
        return intervals.answer(unbiased_answers, asked[0], problem.effective_n, estimate=estimates[0], level=LEVEL)
    estimate_pair = (estimates[0], estimates[1])
    n = problem.effective_n
    return intervals.compare_questions(
        unbiased_answers, asked[0], asked[1], n, kind, estimate=estimate_pair, level=LEVEL
    )


def in_words(found: Interval, kind: str | None = None) -> str:
    """An interval for whoever reads the answer: the table, the people behind it, and on what that rests."""
    if found.low is None:
        reason = found.how.removeprefix("cannot be bounded: ")
        return f"How far off that may be cannot be bounded: {plain(reason, 300)}."
    table_text = f"in this table {_span(found.low, found.high, kind)}"
    population_text = "; for the population it was drawn from no bound, as the second share may be 0 there"
    if kind == "odds":
        population_text = "; for the population it was drawn from no bound, as a share may be 0 or 1 there"
    if found.population_low is not None:
        range_text = _span(found.population_low, found.population_high, kind)
        population_text = f", in the population it was drawn from {range_text}"
    caution_text = ""
    if "conservative" in found.how:
        reason = found.how.partition("; population")[0] if found.unbiased is None else "conservative"
        caution_text = f" ({plain(reason, 300)})"
    unbounded_reason = found.how.partition("; no upper bound")[2]
    reason = f" There is no upper bound{plain(unbounded_reason, 300)}." if unbounded_reason else ""
    return f"From the release alone, at {found.level:.0%}{caution_text}: {table_text}{population_text}.{reason}"


def _span(low: float, high: float | None, kind: str | None) -> str:
    """Two ends in words; one without an upper end is so much or more."""
    if high is None:
        return f"{_number(low, kind)} or more"
    return f"{_number(low, kind)} to {_number(high, kind)}"


def _number(value: float, kind: str | None) -> str:
    if kind is None:
        return f"{value:.2%}"
    return f"{100 * value:.2f} points" if kind == "difference" else f"{value:.3g}"


def _cells(chosen: Chosen, result: Result) -> None:
    """All cells of the tables that are asked, with intervals, as a file; what intervals mean."""
    tables = _tables(chosen.problem.workload)
    st.caption(MEANING)
    if tables is None:
        return
    if tables.m > MOST_CELLS:
        st.caption(
            f"{tables.m:,} combinations are more than the {MOST_CELLS:,} of this page. A real release writes all."
        )
        return
    st.download_button(
        "All combinations with intervals (CSV)", lambda: cells(result, tables, chosen), "cells.csv", "text/csv",
        key="cells", on_click="ignore", icon=":material/download:",
    )  # fmt: skip


def cells(result: Result, tables: Marginals, chosen: Chosen) -> str:
    """Every cell with the release's answer and its interval, as CSV; empty where nothing bounds it."""
    frame = pd.DataFrame({"query": labels(tables), "answer": result.release.answers(tables)})
    return neutral(frame.assign(**bounds_of_cells(result, tables, chosen))).to_csv(index=False)


def bounds_of_cells(result: Result, tables: Marginals, chosen: Chosen) -> dict[str, np.ndarray]:
    """What noisy tables say of all cells without bias, and the ends of their intervals; NaN where nothing does."""
    unbiased_answers = evidence(result)
    interval_ends = cell_intervals(unbiased_answers, tables, chosen.problem.effective_n, level=LEVEL)
    return {
        "unbiased": np.where(np.isnan(interval_ends["low"]), np.nan, unbiased_answers.answers(tables)),
        **interval_ends,
    }


def evidence(result: Result) -> UnbiasedAnswers:
    """What a run's noisy tables say."""
    if result.known is None:
        raise ValueError("this run was not asked for what its noisy tables say")
    return result.known


def _tables(workload: Workload) -> Marginals | None:
    """The tables among the questions; None for none."""
    columns = [names for w, _ in workload.members if isinstance(w, Marginals) for names in w.columns]
    return Marginals(workload.domain, list(dict.fromkeys(map(tuple, columns)))) if columns else None
