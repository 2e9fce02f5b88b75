"""Questions typed on a page, and what may be said of their answers from a release alone."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dpcore import Domain, InputError
from dpcore.accuracy.intervals.question_intervals import (
    Interval,
    comparison_interval,
    mark_as_adaptive,
    noise_deviation,
    question_interval,
    row_total_interval,
    row_total_scale,
)
from dpcore.core.numbers import format_count
from dpcore.models.releases import UnbiasedAnswers
from dpcore.queries.questions import Question, parse_question

from ..components import QUESTION_GRAMMAR_TEXT, question_placeholder
from ..session import escape_markdown

CONFIDENCE_LEVEL = 0.95
COMPARISON_KINDS = {
    "difference": "their difference",
    "ratio": "their ratio",
    "odds": "their odds ratio",
}
INTERVAL_MEANING = (
    f"Intervals made so hold the true value in {CONFIDENCE_LEVEL:.0%} of releases, or more where "
    "it is said that they are "
    "conservative. They come from the noisy answers and public numbers alone: no row is read for "
    "them."
)


def ask_for_questions(
    domain: Domain, *, key: str, other_key: str, kind_key: str, **widget_args: Any
) -> tuple[list[Question], str]:
    """Draw the inputs for a question and one to compare it with; return both and the comparison.

    Args:
        domain: What can be asked about.
        key: Of the input for the first question.
        other_key: Of the input for the second.
        kind_key: Of the choice of how they are compared.
        widget_args: Further arguments of all three.

    """
    left_column, middle_column, right_column = st.columns([3, 3, 2])
    text = left_column.text_input(
        "Question",
        key=key,
        placeholder=question_placeholder(domain),
        help=QUESTION_GRAMMAR_TEXT,
        **widget_args,
    )
    other_text = middle_column.text_input(
        "Compared with",
        key=other_key,
        placeholder="nothing",
        help="A second question, to compare the first one with; may stay empty.",
        **widget_args,
    )
    kind = right_column.selectbox(
        "by",
        list(COMPARISON_KINDS),
        format_func=COMPARISON_KINDS.__getitem__,
        key=kind_key,
        **widget_args,
    )
    texts = [t for t in (text or "", other_text or "") if t.strip()]
    if not (text or "").strip():
        texts = []
    try:
        return [parse_question(t, domain) for t in texts], kind
    except InputError as error:
        st.error(escape_markdown(error, 400))
        return [], kind


def draw_notes(questions: list[Question]) -> None:
    """Draw how the questions were read, where that may surprise."""
    for note in dict.fromkeys(note for question in questions for note in question.notes):
        st.caption(escape_markdown(note, 300))


def interval_of_questions(
    unbiased_answers: UnbiasedAnswers,
    questions: Sequence[Question],
    estimates: Sequence[float | None],
    n: float,
    kind: str | None = None,
) -> Interval:
    """Return the confidence interval of one question, or of two compared.

    Args:
        unbiased_answers: What the release says without bias.
        questions: One question, or two.
        estimates: The release's answer to each, None for one that it does not answer.
        n: How many rows are independent.
        kind: How two questions are compared; None for one.

    """
    if kind is None:
        return question_interval(
            unbiased_answers, questions[0], n, estimate=estimates[0], level=CONFIDENCE_LEVEL
        )
    pair = None
    if estimates[0] is not None and estimates[1] is not None:
        pair = (estimates[0], estimates[1])
    return comparison_interval(
        unbiased_answers,
        questions[0],
        questions[1],
        n,
        kind,
        estimate=pair,
        level=CONFIDENCE_LEVEL,
    )


def row_total_text(
    unbiased_answers: UnbiasedAnswers,
    question: Question,
    total: Question,
    people: int,
    estimate: float | None,
    *,
    is_adaptive: bool,
) -> str:
    """Return in words how many rows of people fulfil a question, and within which bounds.

    Args:
        unbiased_answers: What the release says without bias.
        question: The question about people.
        total: Its `row_total_question`.
        people: How many people there are.
        estimate: The release's answer to `total`, as a share; None where it has none.
        is_adaptive: Whether earlier answers decided what was measured later.

    """
    interval = row_total_interval(
        unbiased_answers, total, people, estimate=estimate, level=CONFIDENCE_LEVEL
    )
    if is_adaptive:
        interval = mark_as_adaptive(interval)
    if interval.low is None or interval.high is None:
        return interval_sentence(interval)
    caution_text = " (conservative)" if "conservative" in interval.how else ""
    text = (
        f"From the release alone, at {interval.level:.0%}{caution_text}: "
        f"in this table {interval.low:,.0f} to {interval.high:,.0f} rows."
    )
    people_noise = noise_deviation(unbiased_answers, question)
    rows_noise = noise_deviation(unbiased_answers, total)
    if people_noise is None or rows_noise is None:
        return text
    scale = row_total_scale(unbiased_answers.domain, people)
    return (
        f"{text} Noise (standard deviation): {format_count(people_noise, people, 'people')}, "
        f"{format_count(rows_noise, scale, 'rows')}."
    )


def comparison_sentence(interval: Interval, kind: str) -> str:
    """Return in words how two questions' answers compare, and within which bounds."""
    value = "–" if interval.estimate is None else _format_value(interval.estimate, kind)
    return (
        f"**{COMPARISON_KINDS[kind].capitalize()}: {value}.** {interval_sentence(interval, kind)}"
    )


def interval_sentence(interval: Interval, kind: str | None = None) -> str:
    """Return a confidence interval in words: for the table, its population, and the basis."""
    if interval.low is None:
        reason = interval.how.removeprefix("cannot be bounded: ")
        return f"How far off that may be cannot be bounded: {escape_markdown(reason, 300)}."
    table_text = f"in this table {_format_range(interval.low, interval.high, kind)}"
    population_text = (
        "; for the population it was drawn from no bound, as the second share may be 0 there"
    )
    if kind == "odds":
        population_text = (
            "; for the population it was drawn from no bound, as a share may be 0 or 1 there"
        )
    if interval.population_low is not None:
        range_text = _format_range(interval.population_low, interval.population_high, kind)
        population_text = f", in the population it was drawn from {range_text}"
    caution_text = ""
    if "conservative" in interval.how:
        reason = (
            interval.how.partition("; population")[0]
            if interval.unbiased is None
            else "conservative"
        )
        caution_text = f" ({escape_markdown(reason, 300)})"
    unbounded_reason = interval.how.partition("; no upper bound")[2]
    reason = (
        f" There is no upper bound{escape_markdown(unbounded_reason, 300)}."
        if unbounded_reason
        else ""
    )
    return (
        f"From the release alone, at {interval.level:.0%}{caution_text}: "
        f"{table_text}{population_text}.{reason}"
    )


def _format_range(low: float, high: float | None, kind: str | None) -> str:
    """Return a range in words; without an upper end it is "so much or more"."""
    if high is None:
        return f"{_format_value(low, kind)} or more"
    return f"{_format_value(low, kind)} to {_format_value(high, kind)}"


def _format_value(value: float, kind: str | None) -> str:
    if kind is None:
        return f"{value:.2%}"
    return f"{100 * value:.2f} points" if kind == "difference" else f"{value:.3g}"
