"""Real beside synthetic: by question, by column, by pair of columns and by group. All of it is a private peek."""

from collections.abc import Collection
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import Domain, InputError, Marginals
from dpcore.core.numbers import points
from dpcore.core.provenance import Tag
from dpcore.evaluation.run import Comparison, compare, pairs_with, subgroups
from dpcore.schema.column import OTHER

from ..charts import explore_charts as charts
from ..charts import figure_frame
from ..components import QUIET, heading, meaning, panel, peek
from ..session import clean, distinct, plain, shared
from . import ask_question
from .layout import Told, chart
from .outcome import Shown, by_column

WORST = ""  # no name of a column
CHOOSER = 230  # pixels of a widget beside a question
INTERVALS = f"{ask_question.LEVEL:.0%} intervals for this table, from the release alone; the population's are below."
WHISKERS = f"Whiskers: {INTERVALS}"


@chart("queries", "workload", "point")
def queries(shown: Shown, _: DeltaGenerator, details: DeltaGenerator) -> Told:
    """Every question's error, worst first, linked to the columns it involves."""
    table, columns = shown.listed, shown.listed["column"]
    error_text = points(float(np.quantile(shown.both.gaps, 0.9)))
    summary = f"9 of 10 answers are within {error_text} points"
    names = shown.chosen.problem.domain.names
    column_labels = {None: "all questions"} | {name: f"about {text}" for name, text in distinct(names).items()}
    selected_column = details.selectbox(
        "Mark questions about",
        list(column_labels),
        format_func=column_labels.get,
        key=f"about-{hash(names)}",
        persist_state="session",
    )
    column_rows = [i for i, involved in enumerate(columns) if selected_column in involved]
    figure = charts.questions(table, shown.n, shown.noun, shown.gaps, column_rows)
    event = st.plotly_chart(
        figure, key="queries", alt=summary, config=QUIET, on_select="rerun", selection_mode=("box",)
    )
    brushed = event["selection"]["points"] if event else []  # type: ignore[index]
    marked = [p["point_index"] for p in brushed] or column_rows
    rows = table.iloc[sorted({i for i in marked if i < len(table)})] if marked else table
    errors_by_column = by_column(rows)
    if marked:
        worst_text = shown.words(errors_by_column["error"].iloc[0])
        summary = (
            f"{len(rows):,} marked questions\nThose about {clean(errors_by_column['column'].iloc[0])} are off most, "
        )
        summary += f"{worst_text} on average."
    details.dataframe(errors_by_column, hide_index=True)
    return summary, table.drop(columns="column"), "Mark some questions: drag over the dots, or choose a column."


@st.fragment
@peek
def groups(shown: Shown) -> None:
    """Error among the members of each value of a column, in their natural order."""
    heading("Who gets the least accurate results?", Tag.PEEK, meaning("disagreement"))
    domain = shown.chosen.problem.domain
    column = st.selectbox(
        "Groups by",
        telling(domain),
        format_func=distinct(domain.names).get,
        key=f"groups-{hash(domain.names)}",
        width=360,
        **shared(),
    )
    try:
        comparison = compare(shown.result.release, shown.table.rows(domain.names), pairs_with(domain, column))
    except InputError as error:  # of a large table, of which only tables are known
        st.caption(plain(error, 400))
        return
    group_errors = subgroups(comparison, column)
    frame = pd.DataFrame({"group": group_errors.labels, "share": group_errors.share, "error": group_errors.error})
    frame = frame[frame["share"] > 0].reset_index(drop=True)
    small, large = (
        f"of {clean(row['group'])} {row['error']:.1%} ({shown.n * row['share'] * row['error']:,.0f} of "
        f"{shown.n * row['share']:,.0f} {shown.noun})"
        for _, row in frame.loc[[frame["share"].idxmin(), frame["share"].idxmax()]].iterrows()
    )
    summary = f"Smallest and largest group, counted at a wrong value: {small}, {large}."
    panel(figure_frame.groups(frame, column), summary, frame, "groups")


def telling(domain: Domain) -> list[str]:
    """The names of columns, those last of which only the values that are not listed are known."""
    return sorted(domain.names, key=lambda name: set(domain.columns[domain.names.index(name)].labels) <= {OTHER})


def _chosen(place: DeltaGenerator, label: str, offered: Collection[str], worst: str) -> str:
    """Ask for one of what is offered, of which the first is called as the `worst` of now."""
    return place.selectbox(
        label, list(offered), format_func=lambda choice: worst if choice == WORST else choice, width=CHOOSER,
        key=f"{label}-{hash(tuple(offered))}", label_visibility="collapsed", **shared(),
    )  # fmt: skip


def ranged(
    shown: Shown, frame: pd.DataFrame, tables: Marginals, both: Comparison, bounded: str, unbounded: str
) -> tuple[pd.DataFrame, str]:
    """The frame with each cell's range over the repeats and what the release alone says of it; and both in words."""
    note = ""
    if shown.replays:
        run_answers = shown.answers(tables)
        frame = frame.assign(low=run_answers.min(axis=0), high=run_answers.max(axis=0))
        max_errors = np.abs(run_answers - both.real).max(axis=1)
        note = (
            f"In {len(run_answers)} repeats with fresh noise: {shown.words(max_errors.min())} to "
            f"{shown.words(max_errors.max())}. "
        )
    bounds = ask_question.bounds_of_cells(shown.result, tables, shown.chosen)
    if not np.isfinite(bounds["low"]).any():
        return frame, note + unbounded
    names = {"unbiased": "unbiased", "low": "table from", "high": "table to"}
    names |= {"population_low": "population from", "population_high": "population to"}
    return frame.assign(**{names[name]: values for name, values in bounds.items()}), note + bounded


@chart("marginal", "marginal", "point")
def marginals(shown: Shown, place: DeltaGenerator, _: DeltaGenerator) -> Told:
    """One column real beside synthetic, with how far other noise moves the synthetic one."""
    domain = shown.chosen.problem.domain
    names, rows, display_names = domain.names, shown.table.rows(domain.names), distinct(domain.names)
    singles = Marginals.all(domain, 1)
    comparison, column_slices = (
        compare(shown.result.release, rows, singles),
        dict(zip(names, singles.tables, strict=True)),
    )
    worst_column = max(names, key=lambda name: comparison.gaps[column_slices[name]].max())
    options = {WORST: worst_column} | {display_names[name]: name for name in telling(domain)}
    column = options[_chosen(place, "Column", options, f"worst: {display_names[worst_column]}")]
    single, labels = Marginals(domain, [[column]]), domain.columns[names.index(column)].labels
    column_slice = column_slices[column]
    column_comparison = replace(
        comparison, workload=single, real=comparison.real[column_slice], synthetic=comparison.synthetic[column_slice]
    )
    frame = pd.DataFrame({"value": labels, "real": column_comparison.real, "synthetic": column_comparison.synthetic})
    summary = f"“{clean(labels[int(column_comparison.worst(1)[0])])}”: {shown.off(column_comparison)}"
    summary += "\nErrors of several answers add up here." * bool(column_comparison.gaps.max() > shown.both.gaps.max())
    if shown.pinned is not None:
        frame["pinned A"] = shown.pinned[0].release.answers(single)
    frame, note = ranged(
        shown, frame, single, column_comparison, WHISKERS, "Nothing was measured about it that intervals could rest on."
    )
    figure = charts.marginal(frame, column, shown.n, shown.noun)
    st.plotly_chart(figure, key="marginal", alt=summary, config=QUIET)
    return summary, frame, note


@chart("pair", "marginal", "cell", "point")
def pair(shown: Shown, place: DeltaGenerator, _: DeltaGenerator) -> Told:
    """Two columns as heat maps: real, and how far the synthetic table is from it."""
    domain = shown.chosen.problem.domain
    names, display_names = domain.names, distinct(domain.names)
    if len(names) < 2:
        raise InputError("Choose a second column to see two of them together.")
    # of the question with the largest error; of a weighted sum it is in words
    worst_columns = shown.listed["column"].iloc[0]
    options = {WORST: sorted(telling(domain), key=lambda name: name not in worst_columns)[:2]}
    options |= {" × ".join(map(display_names.get, two)): two for two in combinations(telling(domain), 2)}
    worst_label = f"worst: {' × '.join(map(display_names.get, options[WORST]))}"
    pair_names = sorted(options[_chosen(place, "Two columns", options, worst_label)], key=names.index)  # as answers lie
    first, second = (domain.columns[names.index(name)] for name in pair_names)
    two = Marginals(domain, [pair_names])
    comparison = compare(shown.result.release, shown.table.rows(names), two)
    real, synthetic = (answers.reshape(first.size, second.size) for answers in (comparison.real, comparison.synthetic))
    index = pd.DataFrame([(a, b) for a in first.labels for b in second.labels], columns=pd.Index(["first", "second"]))
    frame = index.assign(real=comparison.real, synthetic=comparison.synthetic)
    summary = f"“{', '.join(map(clean, index.iloc[int(comparison.worst(1)[0])]))}”: {shown.off(comparison)}"
    frame, note = ranged(shown, frame, two, comparison, INTERVALS, "Nothing was measured about both together.")
    axes, labels = tuple(pair_names), (first.labels, second.labels)
    if sum(map(len, first.labels)) < sum(map(len, second.labels)):  # what is long has room at the side
        real, synthetic, axes, labels = real.T, synthetic.T, axes[::-1], labels[::-1]
    st.plotly_chart(charts.pair(real, synthetic, axes, labels), key="pair", alt=summary, config=QUIET)
    return summary, frame, note
