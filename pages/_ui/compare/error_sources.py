"""Where the error of one question comes from, and how often a conclusion turns into its opposite."""

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Budget, Domain, InputError, Marginals, QueryRelease
from dpcore.algorithms import solving
from dpcore.core.parameters import build
from dpcore.core.provenance import Tag
from dpcore.evaluation.error_diagnosis import Conclusion, noiseless, waterfall
from dpcore.queries import Workload
from dpcore.queries.questions import unbinned, understand
from dpcore.schema.column import MISSING_LABEL

from ..charts import frontier_charts
from ..components import GRAMMAR, heading, meaning, panel, peek
from ..jobs import Runs, tab_runs, watch
from ..session import Table, clean, plain, question, session, shared
from .sweep_jobs import TITLES, Dot, Sweep

MOST_LISTED = 300
PARTS = {
    "sampling": "sampling: the table instead of its population",
    "binning": "binning: bins instead of values",
    "structure": "structure: what the model cannot hold",
    "model": "model: what the algorithm misses of the rest even without noise",
    "privacy": "privacy: the noise",
}


@peek
def taken_apart(table: Table, sweep: Sweep, chosen: Dot | None) -> None:
    """The waterfall of one question's error, for the clicked dot or the best run."""
    heading("Where does the error come from?", Tag.PEEK, meaning("point", "cell"))
    chosen = chosen or sweep.best
    if chosen is None or sweep.problem is None:
        return
    point = chosen.point
    st.caption(
        f"For {TITLES[point.algorithm]} at ε = {point.epsilon:g}, repeat number {point.seed}: the clicked or best run."
    )
    question_text = st.text_input(
        "Question in words (empty: choose one below)", key="cause-question", placeholder="age > 50", help=GRAMMAR,
        **shared(),
    )  # fmt: skip
    try:
        workload, query_index, unbinned_answers, label = _asked(table, sweep, question_text, chosen)
    except InputError as error:
        st.error(plain(error, 400))
        return
    key, runs = (sweep.asked, point.key, question_text or query_index), tab_runs("waterfall")
    if st.button("Take this error apart", icon=":material/account_tree:"):
        _measure(runs, key, sweep, chosen)
    if runs.asked != key:
        st.caption("Two runs: this one once more, and its twin without noise.")
        return
    if not watch(runs, "waterfall") or runs.error or runs.cancelled:
        return
    released, noise_free = (result.release for _, result in runs.results)
    error_waterfall = session().memo(
        "waterfall", (key, runs.id, runs.jobs[0][1]),
        lambda: waterfall(workload, sweep.rows, released, noise_free, sweep.beside, unbinned_answers),  # type: ignore[arg-type]
    )  # fmt: skip
    parts = {name: float(part[query_index]) for name, part in error_waterfall.parts.items()}
    total = float(error_waterfall.released[query_index] - error_waterfall.reference[query_index])
    frame = pd.DataFrame({"part": [*(PARTS[n] for n in parts), "all together"], "share": [*parts.values(), total]})
    largest = max(parts, key=lambda name: abs(parts[name]))
    summary = (
        f"“{clean(label, 120)}”: true {error_waterfall.reference[query_index]:.2%}, synthetic "
        f"{error_waterfall.released[query_index]:.2%}. The largest part, "
        f"{100 * parts[largest]:+.2g} points, is {PARTS[largest]}."
    )
    figure = frontier_charts.waterfall({name: 100 * value for name, value in parts.items()}, 100 * total, "points")
    panel(figure, summary, frame, "waterfall")
    if "structure" in parts:
        st.caption(
            "Structure: links between columns that the release's tree leaves out, and rows that constraints call "
            "impossible. The best distribution that the model could hold has this error without any noise."
        )
    if "sampling" not in parts:
        st.caption("The population of this table is not known, so the table itself counts as the truth here.")


def _asked(table: Table, sweep: Sweep, text: str, chosen: Dot) -> tuple[Workload, int, np.ndarray | None, str]:
    """The workload asked, which of its queries, its answers by the table's own values, and the query in words."""
    problem = sweep.problem
    if problem is None or chosen.answers is None or sweep.real is None:
        raise InputError("this run has no answers to take apart")
    if text.strip():
        parsed_question = understand(text, problem.domain)
        # a drawn table has cells, and no values of its own; of a large one no values are known
        is_without_values = table.large is not None or problem.n != table.n
        limited_frame = None if is_without_values else table.unit.limited(table.frame, problem.domain.names)
        unbinned_answers = None if limited_frame is None else np.array([unbinned(text, problem.domain, limited_frame)])
        return parsed_question.workload, 0, unbinned_answers, parsed_question.text
    worst_queries = np.argsort(-np.abs(chosen.answers - sweep.real), kind="stable")[:MOST_LISTED].tolist()
    query_by_text = {f"{clean(question(problem.workload.label(j)), 120)}": j for j in worst_queries}
    label = st.selectbox(
        "Question, the worst answered first",
        list(query_by_text),
        key=f"cause-{sweep.id}-{chosen.point.key}",
        **shared(),
    )
    return problem.workload, query_by_text[label], None, label


def _measure(mine: Runs, key: Any, sweep: Sweep, chosen: Dot) -> None:
    """Start both runs in the pool."""
    point = chosen.point
    algorithm = build(solving(QueryRelease)[point.algorithm], {})
    budget = Budget(point.epsilon, point.delta)
    mine.start(key, ())
    for algorithm_and_budget in ((algorithm, budget), noiseless(algorithm, sweep.problem, budget)):  # type: ignore[arg-type]
        mine.submit(None, sweep.once_more(*algorithm_and_budget, point.seed))


@peek
def conclusions(sweep: Sweep) -> None:
    """In how many runs the synthetic table says the opposite of the real one, against ε."""
    heading("Would you still conclude the same?", Tag.PEEK)
    if sweep.pairs is None or sweep.real_pairs is None or len(sweep.pairs.domain.names) < 2:
        st.caption("This needs two columns, and few enough combinations to keep all pairs.")
        return
    conclusion = _conclusion(sweep.pairs.domain, sweep.id)
    if conclusion is None:
        return
    domain, answer_slice = sweep.pairs.domain, _place(sweep.pairs, conclusion)
    real_difference = conclusion.difference(domain, sweep.real_pairs[answer_slice])
    if math.isnan(real_difference):
        st.caption("One of these groups is empty.")
        return
    lines = []
    for d in (d for d in sweep.shown if d.pairs is not None):
        difference = conclusion.difference(domain, d.pairs[answer_slice])  # type: ignore[index]
        lines.append((d.point.algorithm, d.point.epsilon, not difference * real_difference > 0))
    frame = pd.DataFrame(lines, columns=pd.Index(["algorithm", "epsilon", "flipped"]))
    flips = frame.groupby(["algorithm", "epsilon"])["flipped"]
    table = flips.agg(middle="mean", low="mean", high="mean", opposite="sum", runs="count").reset_index()
    table["line"] = table["algorithm"].map(TITLES)
    direction = "more" if real_difference > 0 else "less"
    summary = (
        f"Really, {clean(conclusion.value)} is {direction} frequent among {clean(conclusion.first)} than among "
        f"{clean(conclusion.second)} "
        f"(by {100 * abs(real_difference):.2g} points). The synthetic table says otherwise in "
        f"{int(frame['flipped'].sum())} of "
        f"{len(frame)} runs."
    )
    line_styles = frontier_charts.look([TITLES[name] for name in solving(QueryRelease)])
    figure = frontier_charts.over_epsilon(table, line_styles, "runs that say the opposite")
    figure.update_yaxes(tickformat=".0%", range=[-0.03, 1.03])
    panel(figure, summary, table[["line", "epsilon", "opposite", "runs"]], "flips")


def _conclusion(domain: Domain, key: str) -> Conclusion | None:
    """The widgets of a comparison between two groups."""
    names = [c.name for c in domain.columns if c.size > 1]
    if len(names) < 2:
        st.caption("This needs two columns with more than one value.")
        return None
    widget_columns = iter(st.columns(5))

    def choose(label: str, options: list[str], of: str, first: int = 0) -> str:
        return next(widget_columns).selectbox(
            label, options, first, format_func=clean, key=f"flip-{label}-{key}-{of}", **shared()
        )

    outcome = choose("Compare how often", names, "")
    labels = _named(domain, outcome)
    value = choose("is", labels, outcome, max(len(labels) - 1 - (labels[-1] == MISSING_LABEL), 0))
    group = choose("by", [name for name in names if name != outcome], outcome)
    labels = _named(domain, group)
    first = choose("among", labels, group)
    second = choose("and", [label for label in labels if label != first], group)
    return Conclusion(group, first, second, outcome, value)


def _named(domain: Domain, name: str) -> list[str]:
    """The labels of a column, the one of missing cells last."""
    return sorted(domain.columns[domain.names.index(name)].labels, key=MISSING_LABEL.__eq__)


def _place(pairs: Marginals, asked: Conclusion) -> slice:
    """Where the answers of a conclusion's table stand among those of all pairs."""
    axes = tuple(sorted(pairs.domain.axes([asked.group, asked.outcome])))
    return pairs.tables[pairs.axes.index(axes)]
