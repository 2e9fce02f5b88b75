"""Typed question, or two compared: the runs' answers and a release's confidence intervals."""

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Domain, InputError, Marginals, QueryRelease
from dpcore.accuracy.intervals.cell_intervals import cell_intervals
from dpcore.accuracy.intervals.question_intervals import (
    Interval,
    row_total_question,
    row_total_scale,
)
from dpcore.core.numbers import format_count, unit_noun
from dpcore.evaluation.run import compare_with_rows
from dpcore.evaluation.sweeps.worker_pool import RunResult
from dpcore.models.releases import UnbiasedAnswers
from dpcore.queries import Workload
from dpcore.queries.questions import Question
from dpcore.release.release_files import neutralize_formulas, query_labels

from ..components import draw_heading, hide_in_stakeholder_view
from ..jobs.counting_job import ensure_workload_counted
from ..overview.question_sentences import (
    CONFIDENCE_LEVEL,
    INTERVAL_MEANING,
    ask_for_questions,
    comparison_sentence,
    draw_notes,
    interval_of_questions,
    interval_sentence,
    row_total_text,
)
from ..session import Table, escape_markdown, is_stakeholder_view, persistent_widget_args
from .run_settings import RunSettings

MAX_DOWNLOAD_CELLS = 100_000  # that a download holds


def draw_questions(table: Table, run_settings: RunSettings, runs: list[RunResult]) -> None:
    """Draw the question widgets, the answers beside the real ones, and intervals.

    The intervals are what may be said from the release alone; all cells can be downloaded as a
    file.
    """
    draw_heading("Ask a question of your own")
    problem = run_settings.problem
    questions, kind = ask_for_questions(
        problem.domain,
        key="question",
        other_key="question-with",
        kind_key="compared-by",
        **persistent_widget_args(),
    )
    for question in questions:
        draw_answers(table, problem.domain, runs, question)
        interval = question_interval(runs[0], problem, [question])
        synthetic_text = (
            f"{escape_markdown(question.text, 200)}: **synthetic {interval.estimate or 0:.2%}**. "
            if is_stakeholder_view()
            else ""
        )
        st.markdown(synthetic_text + interval_sentence(interval))
        if table.unit.row_totals:
            _draw_row_total(table, run_settings, runs, question)
    if len(questions) > 1:
        st.markdown(comparison_sentence(question_interval(runs[0], problem, questions, kind), kind))
    draw_notes(questions)
    _draw_cell_download(run_settings, runs[0])


@hide_in_stakeholder_view
def draw_answers(table: Table, domain: Domain, runs: list[RunResult], question: Question) -> None:
    """Draw one question's real and synthetic answer, and the latter's range over the runs."""
    rows = table.encoded_rows(domain.names)
    try:
        if not ensure_workload_counted(table, question.workload, f"question-{hash(question.text)}"):
            return
        comparisons = [
            compare_with_rows(result.release, rows, question.workload) for result in runs
        ]
    except InputError as error:  # of a large table, of which only tables are known
        st.error(escape_markdown(error, 400))
        return
    synthetic = [float(f.synthetic[0]) for f in comparisons]
    answer = f"**Real {float(comparisons[0].real[0]):.2%}, synthetic {synthetic[0]:.2%}**"
    if len(comparisons) > 1:
        answer += (
            f" (from {min(synthetic):.2%} to {max(synthetic):.2%} over {len(comparisons)} "
            "runs with other noise)"
        )
    noun = unit_noun(table.unit.group)
    st.markdown(
        f"{escape_markdown(question.text, 200)}: {answer}, of {rows.n:,} {noun}. The real answer "
        "is not for publishing."
    )
    if len(comparisons) == 1:
        st.caption(
            "Set Repeats under More to 5 or more, to see how far the synthetic answer varies."
        )


def _draw_row_total(
    table: Table, run_settings: RunSettings, runs: list[RunResult], question: Question
) -> None:
    """Draw how many rows of people fulfil a question, beside the real number, with its interval."""
    problem = run_settings.problem
    total = row_total_question(question, problem.domain)
    _draw_real_row_total(table, runs[0], question, total)
    estimate = float(runs[0].release.answers(total.workload)[0])
    synthetic_text = ""
    if is_stakeholder_view():
        number = estimate * row_total_scale(problem.domain, problem.n)
        synthetic_text = f"How many of their rows: **synthetic {number:,.0f}**. "
    bounds_text = row_total_text(
        require_unbiased_answers(runs[0]),
        question,
        total,
        problem.n,
        estimate,
        is_adaptive=run_settings.experiment.algorithm.adaptive,
    )
    st.markdown(synthetic_text + bounds_text)


@hide_in_stakeholder_view
def _draw_real_row_total(
    table: Table, result: RunResult, question: Question, total: Question
) -> None:
    """Draw the real number of rows that fulfil a question, the synthetic one, and both errors."""
    domain = total.workload.domain
    rows = table.encoded_rows(domain.names)
    try:
        if not ensure_workload_counted(table, total.workload, f"rows-{hash(total.text)}"):
            return
        in_rows = compare_with_rows(result.release, rows, total.workload)
        in_people = compare_with_rows(result.release, rows, question.workload)
    except InputError as error:  # of a large table, of which only tables are known
        st.error(escape_markdown(error, 400))
        return
    scale = row_total_scale(domain, rows.n)
    real = float(in_rows.real[0]) * scale
    synthetic = float(in_rows.synthetic[0]) * scale
    st.markdown(
        f"How many of their rows: **real {real:,.0f}, synthetic {synthetic:,.0f}**. Measured "
        f"error: {format_count(float(in_people.gaps[0]), rows.n, 'people')}, "
        f"{format_count(float(in_rows.gaps[0]), scale, 'rows')}. The real number is not for "
        "publishing."
    )


def question_interval(
    result: RunResult, problem: QueryRelease, questions: list[Question], kind: str | None = None
) -> Interval:
    """Return the confidence interval of one question, or of two compared, from a run's release.

    For the population a person's rows count as one: no more than `effective_n` rows are
    independent.
    """
    unbiased_answers = require_unbiased_answers(result)
    estimates = [float(result.release.answers(question.workload)[0]) for question in questions]
    return interval_of_questions(unbiased_answers, questions, estimates, problem.effective_n, kind)


def _draw_cell_download(run_settings: RunSettings, result: RunResult) -> None:
    """Draw a download of all cells of the asked marginals with intervals, and an explanation."""
    tables = _marginals_in(run_settings.problem.workload)
    st.caption(INTERVAL_MEANING)
    if tables is None:
        return
    if tables.m > MAX_DOWNLOAD_CELLS:
        st.caption(
            f"{tables.m:,} combinations are more than the {MAX_DOWNLOAD_CELLS:,} of this page. A "
            "real release writes all."
        )
        return
    st.download_button(
        "All combinations with intervals (CSV)",
        lambda: cells_csv(result, tables, run_settings),
        "cells.csv",
        "text/csv",
        key="cells",
        on_click="ignore",
        icon=":material/download:",
    )


def cells_csv(result: RunResult, tables: Marginals, run_settings: RunSettings) -> str:
    """Return every cell with the release's answer and its interval as CSV.

    An interval is empty where nothing bounds the cell.
    """
    frame = pd.DataFrame({"query": query_labels(tables), "answer": result.release.answers(tables)})
    return neutralize_formulas(frame.assign(**cell_bounds(result, tables, run_settings))).to_csv(
        index=False
    )


def cell_bounds(
    result: RunResult, tables: Marginals, run_settings: RunSettings
) -> dict[str, np.ndarray]:
    """Return unbiased answers for all cells from the noisy marginals, and interval ends.

    They are NaN where no noisy marginal says anything of a cell.
    """
    unbiased_answers = require_unbiased_answers(result)
    interval_ends = cell_intervals(
        unbiased_answers, tables, run_settings.problem.effective_n, level=CONFIDENCE_LEVEL
    )
    return {
        "unbiased": np.where(
            np.isnan(interval_ends["low"]), np.nan, unbiased_answers.answers(tables)
        ),
        **interval_ends,
    }


def require_unbiased_answers(result: RunResult) -> UnbiasedAnswers:
    """Return the unbiased answers of a run's noisy marginals; raise ValueError without any."""
    if result.unbiased_answers is None:
        raise ValueError("this run was not asked for what its noisy tables say")
    return result.unbiased_answers


def _marginals_in(workload: Workload) -> Marginals | None:
    """Return the marginals among the queries of a workload; None if there are none."""
    columns = [names for w, _ in workload.parts if isinstance(w, Marginals) for names in w.columns]
    return Marginals(workload.domain, list(dict.fromkeys(map(tuple, columns)))) if columns else None
