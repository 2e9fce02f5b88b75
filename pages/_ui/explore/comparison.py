"""Real beside synthetic: by query, column, pair of columns and group. All a private peek."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pyarrow as pa
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import Domain, InputError, Marginals
from dpcore.core.numbers import format_percentage_points
from dpcore.core.provenance import Provenance
from dpcore.evaluation.run import Comparison, compare_with_rows, pairs_with_column, subgroup_errors
from dpcore.schema.column import OTHER_LABEL

from ..charts import explore_charts as charts
from ..charts import figure_frame
from ..components import (
    CHART_CONFIG,
    draw_chart_panel,
    draw_heading,
    glossary_tooltip,
    hide_in_stakeholder_view,
)
from ..overview.question_sentences import CONFIDENCE_LEVEL
from ..session import distinct_labels, escape_markdown, persistent_widget_args, printable_text
from . import ask_question
from .layout import ChartContent, chart_part
from .outcome import RunResults, mean_error_by_column

WORST_OPTION = ""  # no name of a column
CHOOSER_WIDTH = 230  # pixels of a widget beside a question
INTERVALS_TEXT = (
    f"{CONFIDENCE_LEVEL:.0%} intervals for this table, from the "
    "release alone; the population's are below."
)
WHISKERS_TEXT = f"Whiskers: {INTERVALS_TEXT}"


@chart_part("queries", "workload", "point")
def draw_queries(
    run_results: RunResults, _: DeltaGenerator, details: DeltaGenerator
) -> ChartContent:
    """Draw every query's error, worst first, linked to its columns; return the chart's content.

    The content is its sentence, its numbers and a note.
    """
    names = run_results.settings.problem.domain.names
    column_labels = {None: "all questions"} | {
        name: f"about {text}" for name, text in distinct_labels(names).items()
    }
    selected_column = details.selectbox(
        "Mark questions about",
        list(column_labels),
        format_func=column_labels.get,
        key=f"about-{hash(names)}",
        persist_state="session",
    )
    content = run_results.memoize(
        "queries", selected_column, lambda: _queries_content(run_results, selected_column)
    )
    event = st.plotly_chart(
        content.figure,
        key="queries",
        alt=content.summary,
        config=CHART_CONFIG,
        on_select="rerun",
        selection_mode=("box",),
    )
    brushed = event["selection"]["points"] if event else []  # type: ignore[index]
    if brushed:
        positions = [point["point_index"] for point in brushed]
        errors_by_column, marked_text = _errors_of_marked(run_results, positions)
    else:
        errors_by_column, marked_text = run_results.memoize(
            "marked questions",
            selected_column,
            lambda: _errors_of_marked(run_results, _rows_about(run_results, selected_column)),
        )
    details.dataframe(errors_by_column, hide_index=True)
    return replace(content, summary=marked_text) if marked_text else content


def _rows_about(run_results: RunResults, column: str | None) -> list[int]:
    """Return the positions of the worst questions about a column; none without a column."""
    columns = run_results.worst_questions["column"]
    return [i for i, involved in enumerate(columns) if column in involved]


def _queries_content(run_results: RunResults, column: str | None) -> ChartContent:
    """Return the chart of all questions, those about a column marked, and what it says of all."""
    table = run_results.worst_questions
    error_text = format_percentage_points(float(np.quantile(run_results.comparison.gaps, 0.9)))
    figure = charts.query_error_chart(
        table,
        run_results.n,
        run_results.unit_name,
        run_results.run_errors,
        _rows_about(run_results, column),
    )
    return ChartContent(
        figure=figure,
        summary=f"9 of 10 answers are within {error_text} points",
        frame=table.drop(columns="column"),
        note="Mark some questions: drag over the dots, or choose a column.",
    )


def _errors_of_marked(run_results: RunResults, positions: Collection[int]) -> tuple[pa.Table, str]:
    """Return the mean error by column of the marked questions, all if none is, and a sentence.

    The sentence is on the marked questions: "" if none is.
    """
    table = run_results.worst_questions
    if not positions:
        return pa.Table.from_pandas(mean_error_by_column(table)), ""
    rows = table.iloc[sorted({i for i in positions if i < len(table)})]
    errors_by_column = mean_error_by_column(rows)
    worst_text = run_results.format_difference(errors_by_column["error"].iloc[0])
    return pa.Table.from_pandas(errors_by_column), (
        f"{len(rows):,} marked questions\nThose about "
        f"{printable_text(errors_by_column['column'].iloc[0])} are off most, "
        f"{worst_text} on average."
    )


@st.fragment
@hide_in_stakeholder_view
def draw_groups(run_results: RunResults) -> None:
    """Draw the error among the members of each value of a column, in the values' order."""
    draw_heading(
        "Who gets the least accurate results?",
        Provenance.REAL_DATA,
        glossary_tooltip("disagreement"),
    )
    domain = run_results.settings.problem.domain
    column = st.selectbox(
        "Groups by",
        informative_columns_first(domain),
        format_func=distinct_labels(domain.names).get,
        key=f"groups-{hash(domain.names)}",
        width=360,
        **persistent_widget_args(),
    )
    try:
        content = run_results.memoize(
            "groups", column, lambda: _groups_content(run_results, column)
        )
    except InputError as error:  # of a large table, of which only tables are known
        st.caption(escape_markdown(error, 400))
        return
    draw_chart_panel(content.figure, content.summary, content.frame, "groups")


def _groups_content(run_results: RunResults, column: str) -> ChartContent:
    comparison = compare_with_rows(
        run_results.result.release,
        run_results.rows,
        pairs_with_column(run_results.settings.problem.domain, column),
    )
    group_errors = subgroup_errors(comparison, column)
    frame = pd.DataFrame(
        {"group": group_errors.labels, "share": group_errors.share, "error": group_errors.error}
    )
    frame = frame[frame["share"] > 0].reset_index(drop=True)
    small, large = (
        f"of {printable_text(row['group'])} {row['error']:.1%} "
        f"({run_results.n * row['share'] * row['error']:,.0f} of "
        f"{run_results.n * row['share']:,.0f} {run_results.unit_name})"
        for _, row in frame.loc[[frame["share"].idxmin(), frame["share"].idxmax()]].iterrows()
    )
    return ChartContent(
        figure=figure_frame.group_error_chart(frame, column),
        summary=f"Smallest and largest group, counted at a wrong value: {small}, {large}.",
        frame=frame,
        note="",
    )


def informative_columns_first(domain: Domain) -> list[str]:
    """Return the column names, with those that have no listed values last.

    Of the latter only the values that are not listed are known.
    """
    return sorted(
        domain.names,
        key=lambda name: set(domain.columns[domain.names.index(name)].labels) <= {OTHER_LABEL},
    )


def _select_option(
    container: DeltaGenerator, label: str, options: Collection[str], worst_label: str
) -> str:
    """Ask for one of what is offered, of which the first is called as the `worst` of now."""
    return container.selectbox(
        label,
        list(options),
        format_func=lambda choice: worst_label if choice == WORST_OPTION else choice,
        width=CHOOSER_WIDTH,
        key=f"{label}-{hash(tuple(options))}",
        label_visibility="collapsed",
        **persistent_widget_args(),
    )


def add_ranges(
    run_results: RunResults,
    frame: pd.DataFrame,
    tables: Marginals,
    comparison: Comparison,
    bounded_text: str,
    unbounded_text: str,
) -> tuple[pd.DataFrame, str]:
    """Return the cells with their ranges and release-only intervals, and a note on both.

    A range is over the repeats, an interval from the release alone.
    """
    note = ""
    if run_results.replays:
        run_answers = run_results.answers(tables)
        frame = frame.assign(low=run_answers.min(axis=0), high=run_answers.max(axis=0))
        max_errors = np.abs(run_answers - comparison.real).max(axis=1)
        note = (
            f"In {len(run_answers)} repeats with fresh noise: "
            f"{run_results.format_difference(max_errors.min())} to "
            f"{run_results.format_difference(max_errors.max())}. "
        )
    bounds = ask_question.cell_bounds(run_results.result, tables, run_results.settings)
    if not np.isfinite(bounds["low"]).any():
        return frame, note + unbounded_text
    names = {"unbiased": "unbiased", "low": "table from", "high": "table to"}
    names |= {"population_low": "population from", "population_high": "population to"}
    return frame.assign(
        **{names[name]: values for name, values in bounds.items()}
    ), note + bounded_text


@chart_part("marginal", "marginal", "point")
def draw_marginal(
    run_results: RunResults, chooser_container: DeltaGenerator, _: DeltaGenerator
) -> ChartContent:
    """Draw one column's real and synthetic shares; return the chart's content.

    The chart shows how far other noise moves the synthetic shares.
    """
    domain = run_results.settings.problem.domain
    display_names = distinct_labels(domain.names)
    by_column = _comparison_by_column(run_results)
    max_gaps = [by_column.gaps[cells].max() for cells in by_column.workload.tables]
    worst_column = domain.names[int(np.argmax(max_gaps))]
    options = {WORST_OPTION: worst_column} | {
        display_names[name]: name for name in informative_columns_first(domain)
    }
    column = options[
        _select_option(
            chooser_container, "Column", options, f"worst: {display_names[worst_column]}"
        )
    ]
    content = run_results.memoize(
        "marginal", column, lambda: _marginal_content(run_results, column)
    )
    st.plotly_chart(content.figure, key="marginal", alt=content.summary, config=CHART_CONFIG)
    return content


def _comparison_by_column(run_results: RunResults) -> Comparison:
    """Return the shares of all values of every column, real beside synthetic."""
    singles = Marginals.all(run_results.settings.problem.domain, 1)
    return run_results.memoize(
        "columns",
        None,
        lambda: compare_with_rows(run_results.result.release, run_results.rows, singles),
    )


def _marginal_content(run_results: RunResults, column: str) -> ChartContent:
    domain = run_results.settings.problem.domain
    single = Marginals(domain, [[column]])
    labels = domain.columns[domain.names.index(column)].labels
    by_column = _comparison_by_column(run_results)
    column_slice = by_column.workload.tables[domain.names.index(column)]
    comparison = replace(
        by_column,
        workload=single,
        real=by_column.real[column_slice],
        synthetic=by_column.synthetic[column_slice],
    )
    frame = pd.DataFrame(
        {"value": labels, "real": comparison.real, "synthetic": comparison.synthetic}
    )
    summary = (
        f"“{printable_text(labels[int(comparison.worst(1)[0])])}”: "
        f"{run_results.format_worst_error(comparison)}"
    )
    if comparison.gaps.max() > run_results.comparison.errors.largest:
        summary += "\nErrors of several answers add up here."
    if run_results.pinned is not None:
        frame["pinned A"] = run_results.pinned.result.release.answers(single)
    frame, note = add_ranges(
        run_results,
        frame,
        single,
        comparison,
        WHISKERS_TEXT,
        "Nothing was measured about it that intervals could rest on.",
    )
    figure = charts.marginal_chart(frame, column, run_results.n, run_results.unit_name)
    return ChartContent(figure=figure, summary=summary, frame=frame, note=note)


@chart_part("pair", "marginal", "cell", "point")
def draw_pair(
    run_results: RunResults, chooser_container: DeltaGenerator, _: DeltaGenerator
) -> ChartContent:
    """Draw two columns as heat maps, real and synthetic minus real; return the chart's content."""
    domain = run_results.settings.problem.domain
    names = domain.names
    if len(names) < 2:
        raise InputError("Choose a second column to see two of them together.")
    pair_names = _choose_pair(run_results, chooser_container)
    content = run_results.memoize(
        "pair", pair_names, lambda: _pair_content(run_results, pair_names)
    )
    st.plotly_chart(content.figure, key="pair", alt=content.summary, config=CHART_CONFIG)
    return content


def _pair_content(run_results: RunResults, pair_names: list[str]) -> ChartContent:
    domain = run_results.settings.problem.domain
    first, second = (domain.columns[domain.names.index(name)] for name in pair_names)
    pair_workload = Marginals(domain, [pair_names])
    comparison = compare_with_rows(run_results.result.release, run_results.rows, pair_workload)
    index = pd.DataFrame(
        [(a, b) for a in first.labels for b in second.labels], columns=pd.Index(["first", "second"])
    )
    frame = index.assign(real=comparison.real, synthetic=comparison.synthetic)
    summary = (
        f"“{', '.join(map(printable_text, index.iloc[int(comparison.worst(1)[0])]))}”: "
        f"{run_results.format_worst_error(comparison)}"
    )
    frame, note = add_ranges(
        run_results,
        frame,
        pair_workload,
        comparison,
        INTERVALS_TEXT,
        "Nothing was measured about both together.",
    )
    figure = _two_way_figure(comparison, pair_names, first.labels, second.labels)
    return ChartContent(figure=figure, summary=summary, frame=frame, note=note)


def _choose_pair(run_results: RunResults, chooser_container: DeltaGenerator) -> list[str]:
    """Draw the list of column pairs and return the chosen pair's names, in the domain's order.

    The pair of the largest error comes first.
    """
    domain = run_results.settings.problem.domain
    display_names = distinct_labels(domain.names)
    ordered_names = informative_columns_first(domain)
    # of the question with the largest error; of a weighted sum it is in words
    worst_columns = run_results.memoize(
        "worst questions", None, lambda: run_results.worst_questions["column"].iloc[0]
    )
    worst_pair = sorted(ordered_names, key=lambda name: name not in worst_columns)[:2]
    options = {WORST_OPTION: worst_pair} | {
        " × ".join(map(display_names.get, pair)): pair for pair in combinations(ordered_names, 2)
    }
    worst_label = f"worst: {' × '.join(map(display_names.get, worst_pair))}"
    option = _select_option(chooser_container, "Two columns", options, worst_label)
    return sorted(options[option], key=domain.names.index)


def _two_way_figure(
    comparison: Comparison,
    pair_names: Sequence[str],
    row_labels: Sequence[str],
    column_labels: Sequence[str],
) -> go.Figure:
    """Return the two maps, turned where needed so that long labels have room at the side."""
    shape = len(row_labels), len(column_labels)
    real = np.asarray(comparison.real).reshape(shape)
    synthetic = np.asarray(comparison.synthetic).reshape(shape)
    row_name, column_name = pair_names
    if sum(map(len, row_labels)) < sum(map(len, column_labels)):
        return charts.two_way_maps(
            real.T, synthetic.T, (column_name, row_name), (column_labels, row_labels)
        )
    return charts.two_way_maps(
        real, synthetic, (row_name, column_name), (row_labels, column_labels)
    )
