"""What a finished release shows: all columns, groups, links and questions, from its files alone."""

import json
from collections.abc import Mapping
from io import BytesIO

import streamlit as st

from dpcore import InputError
from dpcore.accuracy.intervals.question_intervals import (
    Interval,
    independent_row_count,
    mark_as_adaptive,
    row_total_question,
    row_total_scale,
)
from dpcore.core.numbers import unit_noun
from dpcore.core.types import frozen
from dpcore.data.input_files import FileSource
from dpcore.models.releases import Release
from dpcore.queries.questions import Question
from dpcore.release.evidence.facts_label import label_svg
from dpcore.release.evidence.review import board_page
from dpcore.release.finished_release import (
    FACTS_FILE,
    FinishedRelease,
    estimate_answer,
    read_finished_release,
    read_synthetic_rows,
    read_weights,
)

from ..components import draw_heading, draw_tabs
from ..overview import question_sentences
from ..overview.all_columns import FREE_TEXT, PanelSource, draw_panels
from ..overview.associations import draw_associations
from ..session import escape_markdown, session
from .downloads import release_number
from .successions import draw_successions

COLUMNS_TAB = "All columns"
ASSOCIATIONS_TAB = "Associations"
QUESTIONS_TAB = "Ask"
LABEL_TAB = "Facts label"
SUCCESSIONS_TAB = "What follows what"
LABEL_WIDTH = 360  # pixels


@frozen
class ReleasedViews:
    """What a page shows of a finished release: the release, its model, and its panels."""

    release: FinishedRelease
    model: Release | None
    panels: PanelSource


def draw_released_views(files: Mapping[str, bytes], first_tab: str = COLUMNS_TAB) -> None:
    """Draw a release's columns with the group that is clicked, its links, questions and label."""
    views = released_views(files)
    draw_by_tab = {
        COLUMNS_TAB: lambda: _draw_columns(views.panels),
        ASSOCIATIONS_TAB: lambda: draw_associations(views.panels),
        QUESTIONS_TAB: lambda: _draw_questions(views),
        LABEL_TAB: lambda: _draw_label(files),
    }
    if "successions" in views.release.facts["protects"]:
        draw_by_tab[SUCCESSIONS_TAB] = lambda: _draw_successions(views)
    order = [first_tab, *(tab for tab in draw_by_tab if tab != first_tab)]
    draw_tabs("released", {tab: draw_by_tab[tab] for tab in order})


@st.fragment
def _draw_columns(source: PanelSource) -> None:
    """Draw all columns: only they are drawn anew at a click."""
    draw_panels(source)


def _draw_successions(views: ReleasedViews) -> None:
    """Draw what follows what in two rows of a person."""
    release = views.release
    draw_successions(
        release.domain,
        release.facts["protects"],
        lambda question: released_interval(views, [question]),
    )


def _draw_questions(views: ReleasedViews) -> None:
    """Draw the inputs for questions, and the release's answers with their intervals."""
    draw_heading("Ask a question of your own")
    questions, kind = question_sentences.ask_for_questions(
        views.release.domain,
        key="released-question",
        other_key="released-question-with",
        kind_key="released-compared-by",
        persist_state="session",
    )
    try:
        for question in questions:
            interval = released_interval(views, [question])
            answer = "unknown" if interval.estimate is None else f"{interval.estimate:.2%}"
            panels = views.panels
            st.markdown(
                f"{escape_markdown(question.text, 200)}: **{answer}** of {panels.n:,} "
                f"{panels.unit}. {question_sentences.interval_sentence(interval)}"
            )
            if views.release.facts["protects"].get("row_totals"):
                st.markdown(_row_total_sentence(views, question))
        if len(questions) > 1:
            interval = released_interval(views, questions, kind)
            st.markdown(question_sentences.comparison_sentence(interval, kind))
    except InputError as error:
        st.error(escape_markdown(error, 400))
    question_sentences.draw_notes(questions)
    st.caption(f"{FREE_TEXT} {question_sentences.INTERVAL_MEANING}")


def _draw_label(files: Mapping[str, bytes]) -> None:
    """Draw the facts label, and offer it and what a board will ask as files."""
    facts = json.loads(files[FACTS_FILE])
    number = release_number(files)
    label = str(label_svg(facts, number))
    st.image(label, width=LABEL_WIDTH)
    with st.container(horizontal=True):
        st.download_button(
            "Facts label (SVG)", label, "label.svg", "image/svg+xml", on_click="ignore"
        )
        st.download_button(
            "What the board will ask (HTML)",
            board_page(facts, number),
            "board.html",
            "text/html",
            on_click="ignore",
        )


def released_interval(
    views: ReleasedViews, questions: list[Question], kind: str | None = None
) -> Interval:
    """Return the interval of a question, or of two compared: that of the `ask` command."""
    release = views.release
    unbiased_answers = release.unbiased_answers
    n = independent_row_count(release.facts["protects"])
    estimates = [estimate_answer(views.model, unbiased_answers, q) for q in questions]
    interval = question_sentences.interval_of_questions(
        unbiased_answers, questions, estimates, n, kind
    )
    return mark_as_adaptive(interval) if release.is_adaptive else interval


def _row_total_sentence(views: ReleasedViews, question: Question) -> str:
    """Return in words how many rows of people fulfil a question: that of `ask --count rows`."""
    release = views.release
    people = release.facts["protects"]["records"]
    total = row_total_question(question, release.domain)
    estimate = estimate_answer(views.model, release.unbiased_answers, total)
    answer = "unknown"
    if estimate is not None:
        answer = f"{estimate * row_total_scale(release.domain, people):,.0f}"
    bounds_text = question_sentences.row_total_text(
        release.unbiased_answers,
        question,
        total,
        people,
        estimate,
        is_adaptive=release.is_adaptive,
    )
    return f"How many of their rows: **{answer}**. {bounds_text}"


def released_views(files: Mapping[str, bytes]) -> ReleasedViews:
    """Return what the files of a release show; they are read once."""
    return session().memoize("released", files[FACTS_FILE], lambda: _read_release(files))


def _read_release(files: Mapping[str, bytes]) -> ReleasedViews:
    sources: dict[str, FileSource] = {name: BytesIO(content) for name, content in files.items()}
    release = read_finished_release(sources, "")
    facts = release.facts
    domain = release.domain
    protection = facts["protects"]
    rows = read_synthetic_rows(sources, release)
    panels = PanelSource(
        key=f"released-{facts['ledger']['hash'][:12]}",
        domain=domain,
        release=release.unbiased_answers if rows is None else rows,
        unbiased_answers=release.unbiased_answers,
        n=protection["records"],
        unit=unit_noun(protection["rows_per_person"]),
        rows=None,
        with_sidebar=False,
        epsilon=facts["promise"]["epsilon"],
    )
    return ReleasedViews(release, read_weights(sources, release) or rows, panels)
