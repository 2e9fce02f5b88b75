"""Sources of one query's error, and how often a conclusion turns into its opposite."""

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Budget, Domain, InputError, Marginals, QueryRelease
from dpcore.algorithms import algorithms_for_problem
from dpcore.core.parameters import build_from_texts
from dpcore.core.provenance import Provenance
from dpcore.core.types import frozen
from dpcore.evaluation.error_diagnosis import (
    ErrorWaterfall,
    GroupComparison,
    noiseless_setting,
    split_error_by_source,
)
from dpcore.queries import Workload
from dpcore.queries.questions import exact_question_share, parse_question
from dpcore.schema.column import MISSING_LABEL

from ..charts import frontier_charts
from ..components import (
    QUESTION_GRAMMAR_TEXT,
    draw_chart_panel,
    draw_heading,
    glossary_tooltip,
    hide_in_stakeholder_view,
    question_placeholder,
)
from ..jobs import JobGroup, tab_job_group, wait_or_draw_progress
from ..session import (
    Table,
    escape_markdown,
    format_query_label,
    persistent_widget_args,
    printable_text,
    session,
)
from .sweep_jobs import ALGORITHM_STYLES, ALGORITHM_TITLES, Dot, Sweep

MAX_LISTED_QUERIES = 300
ERROR_PART_TEXTS = {
    "sampling": "sampling: the table instead of its population",
    "binning": "binning: bins instead of values",
    "structure": "structure: what the model cannot hold",
    "model": "model: what the algorithm misses of the rest even without noise",
    "privacy": "privacy: the noise",
}


@frozen
class SelectedQuery:
    """The query of a workload that is looked at: its index, and the query in words.

    `unbinned_answers` are the workload's answers by the table's own values, where they are known.
    """

    workload: Workload
    index: int
    unbinned_answers: np.ndarray | None
    text: str


@hide_in_stakeholder_view
def draw_error_sources(table: Table, sweep: Sweep, selected_dot: Dot | None) -> None:
    """Draw the waterfall of one query's error, for the clicked dot or else the best run."""
    draw_heading(
        "Where does the error come from?", Provenance.REAL_DATA, glossary_tooltip("point", "cell")
    )
    selected_dot = selected_dot or sweep.best_dot
    if selected_dot is None or sweep.problem is None:
        return
    point = selected_dot.point
    st.caption(
        f"For {ALGORITHM_TITLES[point.algorithm]} at ε = {point.epsilon:g}, repeat number "
        f"{point.seed}: the clicked or best run."
    )
    question_text = st.text_input(
        "Question in words (empty: choose one below)",
        key="cause-question",
        placeholder=question_placeholder(sweep.problem.domain),
        help=QUESTION_GRAMMAR_TEXT,
        **persistent_widget_args(),
    )
    try:
        query = _select_query(table, sweep, question_text, selected_dot)
    except InputError as error:
        st.error(escape_markdown(error, 400))
        return
    key = (sweep.requested, point.key, question_text or query.index)
    runs = tab_job_group("waterfall")
    if st.button("Take this error apart", icon=":material/account_tree:"):
        _start_waterfall_runs(runs, key, sweep, selected_dot)
    if runs.requested != key:
        st.caption("Two runs: this one once more, and its twin without noise.")
        return
    if not wait_or_draw_progress(runs, "waterfall") or runs.error or runs.cancelled:
        return
    _draw_waterfall(query, _split_error(query, key, runs, sweep))


def _split_error(
    query: SelectedQuery, key: tuple[Any, ...], runs: JobGroup, sweep: Sweep
) -> ErrorWaterfall:
    """Return the errors of all queries by source, computed once a question and pair of runs."""
    released, noise_free = (result.release for _, result in runs.results)
    return session().memoize(
        "waterfall",
        (key, runs.id, runs.jobs[0]),
        lambda: split_error_by_source(
            query.workload,
            sweep.rows,
            released,
            noise_free,
            sweep.reference,
            query.unbinned_answers,
        ),  # type: ignore[arg-type]
    )


def _draw_waterfall(query: SelectedQuery, error_waterfall: ErrorWaterfall) -> None:
    """Draw one query's error as a sum of its parts, and say what the parts mean."""
    parts = {name: float(part[query.index]) for name, part in error_waterfall.parts.items()}
    released_share = float(error_waterfall.released[query.index])
    true_share = float(error_waterfall.reference[query.index])
    total = released_share - true_share
    frame = pd.DataFrame(
        {
            "part": [*(ERROR_PART_TEXTS[n] for n in parts), "all together"],
            "share": [*parts.values(), total],
        }
    )
    largest = max(parts, key=lambda name: abs(parts[name]))
    summary = (
        f"“{printable_text(query.text, 120)}”: true {true_share:.2%}, "
        f"synthetic {released_share:.2%}. The largest part, "
        f"{100 * parts[largest]:+.2g} points, is {ERROR_PART_TEXTS[largest]}."
    )
    figure = frontier_charts.error_waterfall(
        {name: 100 * value for name, value in parts.items()}, 100 * total, "points"
    )
    draw_chart_panel(figure, summary, frame, "waterfall")
    if "structure" in parts:
        st.caption(
            "Structure: links between columns that the release's tree leaves out, and rows that "
            "constraints call impossible. The best distribution that the model could hold has "
            "this error without any noise."
        )
    if "sampling" not in parts:
        st.caption(
            "The population of this table is not known, so the table itself counts as the truth "
            "here."
        )


def _select_query(
    table: Table, sweep: Sweep, question_text: str, selected_dot: Dot
) -> SelectedQuery:
    """Return the query of the question in words, or of the choice that this draws."""
    problem = sweep.problem
    if problem is None or selected_dot.answers is None or sweep.real_answers is None:
        raise InputError("this run has no answers to take apart")
    if question_text.strip():
        parsed_question = parse_question(question_text, problem.domain)
        # a drawn table has cells, and no values of its own; of a large one no values are known
        is_without_values = table.large_table is not None or problem.n != table.n
        unbinned_answers = None
        if not is_without_values:
            limited_frame = table.unit.bound_contributions(table.frame, problem.domain.names)
            votes = None
            if table.unit.counts_people:
                votes = table.unit.votes_of_rows(limited_frame)
                limited_frame = table.unit.with_rows_column(limited_frame, votes)
            share = exact_question_share(question_text, problem.domain, limited_frame, votes)
            unbinned_answers = np.array([share])
        return SelectedQuery(parsed_question.workload, 0, unbinned_answers, parsed_question.text)
    worst_queries = np.argsort(-np.abs(selected_dot.answers - sweep.real_answers), kind="stable")[
        :MAX_LISTED_QUERIES
    ].tolist()
    query_by_text = {
        f"{printable_text(format_query_label(problem.workload.label(j)), 120)}": j
        for j in worst_queries
    }
    label = st.selectbox(
        "Question, the worst answered first",
        list(query_by_text),
        key=f"cause-{sweep.group.id}-{selected_dot.point.key}",
        **persistent_widget_args(),
    )
    return SelectedQuery(problem.workload, query_by_text[label], None, label)


def _start_waterfall_runs(runs: JobGroup, key: Any, sweep: Sweep, selected_dot: Dot) -> None:
    """Start both runs in the pool."""
    point = selected_dot.point
    algorithm = build_from_texts(algorithms_for_problem(QueryRelease)[point.algorithm], {})
    budget = Budget(point.epsilon, point.delta)
    runs.start(key, ())
    for algorithm_and_budget in (
        (algorithm, budget),
        noiseless_setting(algorithm, sweep.problem, budget),
    ):  # type: ignore[arg-type]
        runs.submit(None, sweep.extra_run_job(*algorithm_and_budget, point.seed))


@hide_in_stakeholder_view
def draw_conclusions(sweep: Sweep) -> None:
    """Draw the share of runs whose synthetic table reverses a conclusion, against ε."""
    draw_heading("Would you still conclude the same?", Provenance.REAL_DATA)
    if (
        sweep.pair_workload is None
        or sweep.real_pair_answers is None
        or len(sweep.pair_workload.domain.names) < 2
    ):
        st.caption("This needs two columns, and few enough combinations to keep all pairs.")
        return
    conclusion = _choose_conclusion(sweep.pair_workload.domain, sweep.group.id)
    if conclusion is None:
        return
    domain = sweep.pair_workload.domain
    answer_slice = _answer_slice(sweep.pair_workload, conclusion)
    real_difference = conclusion.share_difference(domain, sweep.real_pair_answers[answer_slice])
    if math.isnan(real_difference):
        st.caption("One of these groups is empty.")
        return
    lines = []
    for dot in sweep.planned_outcomes:
        if dot.pair_answers is None:
            continue
        difference = conclusion.share_difference(domain, dot.pair_answers[answer_slice])
        is_flipped = not difference * real_difference > 0
        lines.append((dot.point.algorithm, dot.point.epsilon, is_flipped))
    frame = pd.DataFrame(lines, columns=pd.Index(["algorithm", "epsilon", "flipped"]))
    flips = frame.groupby(["algorithm", "epsilon"])["flipped"]
    table = flips.agg(
        middle="mean", low="mean", high="mean", opposite="sum", runs="count"
    ).reset_index()
    table["line"] = table["algorithm"].map(ALGORITHM_TITLES)
    direction = "more" if real_difference > 0 else "less"
    summary = (
        f"Really, {printable_text(conclusion.value)} is {direction} frequent among "
        f"{printable_text(conclusion.first)} than among "
        f"{printable_text(conclusion.second)} "
        f"(by {100 * abs(real_difference):.2g} points). The synthetic table says otherwise in "
        f"{int(frame['flipped'].sum())} of "
        f"{len(frame)} runs."
    )
    line_styles = {ALGORITHM_TITLES[name]: style for name, style in ALGORITHM_STYLES.items()}
    figure = frontier_charts.epsilon_band_chart(table, line_styles, "runs that say the opposite")
    figure.update_yaxes(tickformat=".0%", range=[-0.03, 1.03])
    draw_chart_panel(figure, summary, table[["line", "epsilon", "opposite", "runs"]], "flips")


def _choose_conclusion(domain: Domain, key: str) -> GroupComparison | None:
    """Draw the widgets for a comparison of two groups; return it, or None without two columns."""
    names = [c.name for c in domain.columns if c.size > 1]
    if len(names) < 2:
        st.caption("This needs two columns with more than one value.")
        return None
    widget_columns = iter(st.columns(5))

    def choose_option(
        label: str, options: list[str], key_suffix: str, default_index: int = 0
    ) -> str:
        return next(widget_columns).selectbox(
            label,
            options,
            default_index,
            format_func=printable_text,
            key=f"flip-{label}-{key}-{key_suffix}",
            **persistent_widget_args(),
        )

    outcome = choose_option("Compare how often", names, "")
    labels = _labels_missing_last(domain, outcome)
    value = choose_option(
        "is", labels, outcome, max(len(labels) - 1 - (labels[-1] == MISSING_LABEL), 0)
    )
    group = choose_option("by", [name for name in names if name != outcome], outcome)
    labels = _labels_missing_last(domain, group)
    first = choose_option("among", labels, group)
    second = choose_option("and", [label for label in labels if label != first], group)
    return GroupComparison(group, first, second, outcome, value)


def _labels_missing_last(domain: Domain, column_name: str) -> list[str]:
    """Return the labels of a column, with the label of missing values last."""
    return sorted(domain.columns[domain.names.index(column_name)].labels, key=MISSING_LABEL.__eq__)


def _answer_slice(pairs: Marginals, conclusion: GroupComparison) -> slice:
    """Return the slice of all pairs' answers that belongs to a conclusion's 2-way marginal."""
    axes = tuple(sorted(pairs.domain.axes([conclusion.group, conclusion.outcome])))
    return pairs.tables[pairs.axes.index(axes)]
