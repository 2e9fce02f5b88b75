"""Real beside synthetic: by question, by column, by pair of columns and by group. All of it is a private peek."""

from itertools import combinations

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.data.column import OTHER
from dpcore.data.domain import Domain
from dpcore.errors import InputError
from dpcore.evaluation.run import Comparison, compare, pairs_with, subgroups
from dpcore.tags import Tag
from dpcore.workloads import Marginals

from ..charts import base
from ..charts import screen as charts
from ..shell.frame import heading, peek
from ..shell.results import QUIET, panel
from ..shell.state import shared
from ..shell.text import clean, distinct, plain, question
from ..shell.words import meaning
from . import ask
from .outcome import Shown
from .screen import chart, draw, numbers

CHOOSER = 190  # pixels of a widget beside a question
MARKER = 150  # of the one beside the longest question
FAINT = 0.05  # of the largest share: a difference below it has hardly a colour
LISTED = 1000  # queries that are put into words
INTERVALS = f"{ask.LEVEL:.0%} intervals for this table, from the release alone; the population's are below."
WHISKERS = f"Whiskers: {INTERVALS}"


def listed(shown: Shown, most: int = LISTED) -> tuple[pd.DataFrame, list[list[str]]]:
    """The worst questions, worst first, with the range of their errors over the runs; and the columns of each."""
    both = shown.both
    worst = both.worst(most)
    labels = [both.workload.label(int(j)) for j in worst]
    table = pd.DataFrame(
        {
            "question": [question(label) for label in labels],
            "real": both.real[worst], "synthetic": both.synthetic[worst], "error": both.gaps[worst],
        }
    )  # fmt: skip
    if shown.replays:
        gaps = np.abs(shown.worlds[:, worst] - both.real[worst])
        table = table.assign(low=gaps.min(axis=0), high=gaps.max(axis=0))
    return table, [sorted({column for column, _ in label}) for label in labels]


@chart("queries", "Which questions are answered worst?", "workload", "point")
def queries(shown: Shown, head: DeltaGenerator) -> None:
    """Every question's error, worst first, linked to the columns it involves."""
    table, columns = listed(shown)
    tenth, half = (shown.words(float(np.quantile(shown.both.gaps, q))) for q in (0.9, 0.5))
    summary = f"One in ten is off by over {tenth.partition(' ≈')[0]}."
    names = shown.chosen.problem.domain.names
    marks = {None: "all questions"} | {name: f"about {text}" for name, text in distinct(names).items()}
    about = head.selectbox(
        "Mark questions about", list(marks), width=MARKER, format_func=marks.get, key=f"about-{hash(names)}",
        label_visibility="collapsed", persist_state="session",
    )  # fmt: skip
    chosen = [i for i, involved in enumerate(columns) if about in involved]
    left, right = st.columns([3, 2])
    worlds = np.abs(shown.worlds - shown.both.real) if shown.replays else None
    figure = charts.questions(table, shown.n, shown.noun, chosen, worlds)
    event = left.plotly_chart(
        figure, key="queries", alt=summary, config=QUIET, on_select="rerun", selection_mode=("box",)
    )
    points = event["selection"]["points"] if event else []  # type: ignore[index]
    marked = [p["point_index"] for p in points] or chosen
    rows = pd.DataFrame({"column": columns, "error": table["error"]})
    rows = rows.iloc[sorted({i for i in marked if i < len(rows)})] if marked else rows
    each = rows.explode("column").groupby("column")["error"].agg(["mean", "size"])
    each = each.reset_index().set_axis(["column", "error", "questions"], axis=1)
    each = each.sort_values("error", ascending=False, ignore_index=True)
    what = f"{len(rows):,} marked questions" if marked else "All questions shown"
    worst = shown.words(each["error"].iloc[0])
    words = f"{what}: those about {clean(each['column'].iloc[0])} are off most, {worst} on average."
    right.plotly_chart(charts.columns(each), key="columns", alt=words, config=QUIET)
    more = f"Half of them are off by more than {half}. Mark some: drag over the dots, or choose a column."
    numbers(head, words if marked else summary, table, "queries", more)


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
        both = compare(shown.result.release, shown.table.rows(domain.names), pairs_with(domain, column))
    except InputError as error:  # of a large table, of which only tables are known
        st.caption(plain(error, 400))
        return
    found = subgroups(both, column)
    frame = pd.DataFrame({"group": found.labels, "share": found.share, "error": found.error})
    frame = frame[frame["share"] > 0].reset_index(drop=True)
    small, large = (
        f"of {clean(row['group'])} {row['error']:.1%} ({shown.n * row['share'] * row['error']:,.0f} of "
        f"{shown.n * row['share']:,.0f} {shown.noun})"
        for _, row in frame.loc[[frame["share"].idxmin(), frame["share"].idxmax()]].iterrows()
    )
    summary = f"Smallest and largest group, counted at a wrong value: {small}, {large}."
    panel(base.groups(frame, column), summary, frame, "groups")


def telling(domain: Domain) -> list[str]:
    """The names of columns, those last of which only the values that are not listed are known."""
    return sorted(domain.names, key=lambda name: set(domain.columns[domain.names.index(name)].labels) <= {OTHER})


def ranged(
    shown: Shown, frame: pd.DataFrame, tables: Marginals, both: Comparison, bounded: str, unbounded: str
) -> tuple[pd.DataFrame, str]:
    """The frame with each cell's range over the repeats and what the release alone says of it; and both in words."""
    more = ""
    if shown.replays:
        worlds = shown.answers(tables)
        frame = frame.assign(low=worlds.min(axis=0), high=worlds.max(axis=0))
        ends = np.abs(worlds - both.real).max(axis=1)
        more = f"In {len(worlds)} repeats with fresh noise: {shown.words(ends.min())} to {shown.words(ends.max())}. "
    found = ask.bounds_of_cells(shown.result, tables, shown.chosen)
    if not np.isfinite(found["low"]).any():
        return frame, more + unbounded
    names = {"unbiased": "unbiased", "low": "table from", "high": "table to"}
    names |= {"population_low": "population from", "population_high": "population to"}
    return frame.assign(**{names[name]: values for name, values in found.items()}), more + bounded


@chart("marginal", "How far off is a column?", "marginal", "point")
def marginals(shown: Shown, head: DeltaGenerator) -> None:
    """One column real beside synthetic, with how far other noise moves the synthetic one."""
    domain = shown.chosen.problem.domain
    names, rows = domain.names, shown.table.rows(domain.names)
    column = head.selectbox(
        "Column",
        telling(domain),
        width=CHOOSER,
        format_func=distinct(names).get,
        key=f"column-{hash(names)}",
        label_visibility="collapsed",
        **shared(),
    )
    single = Marginals(domain, [[column]])
    pair, labels = compare(shown.result.release, rows, single), domain.columns[names.index(column)].labels
    frame = pd.DataFrame({"value": labels, "real": pair.real, "synthetic": pair.synthetic})
    words = f"Of {clean(column)}: off most at {clean(labels[int(pair.worst(1)[0])])}, {shown.words(pair.gaps.max())}."
    if shown.pinned is not None:
        frame["pinned A"] = shown.pinned[0].release.answers(single)
    frame, more = ranged(
        shown, frame, single, pair, WHISKERS, "Nothing was measured about it that intervals could rest on."
    )
    draw(head, charts.marginal(frame, column, shown.n, shown.noun), words, frame, "marginal", more)


@chart("pair", "And two together?", "marginal", "cell", "point")
def pair(shown: Shown, head: DeltaGenerator) -> None:
    """Two columns as heat maps: real, synthetic, and the difference."""
    domain = shown.chosen.problem.domain
    names = domain.names
    if len(names) < 2:
        st.caption("Choose a second column to see two of them together.")
        return
    pairs = {" × ".join(map(distinct(names).get, pair)): pair for pair in combinations(telling(domain), 2)}
    asked = head.selectbox(
        "Two columns", list(pairs), width=CHOOSER, key=f"pair-{hash(names)}", label_visibility="collapsed", **shared()
    )
    chosen = sorted(pairs[asked], key=names.index)  # as answers lie
    first, second = (domain.columns[names.index(name)] for name in chosen)
    two = Marginals(domain, [chosen])
    both = compare(shown.result.release, shown.table.rows(names), two)
    real, synthetic = (answers.reshape(first.size, second.size) for answers in (both.real, both.synthetic))
    index = pd.DataFrame([(a, b) for a in first.labels for b in second.labels], columns=pd.Index(["first", "second"]))
    frame = index.assign(real=both.real, synthetic=both.synthetic)
    where = " and ".join(map(clean, index.iloc[int(both.worst(1)[0])]))
    words = f"Of {asked}: off most at {where}, {shown.words(both.gaps.max())}."
    if both.gaps.max() < FAINT * both.real.max():
        words = f"{words[:-1]}: too little to see."
    no = "No intervals: nothing was measured about both together."
    frame, more = ranged(shown, frame, two, both, INTERVALS, no)
    axes, labels = tuple(chosen), (first.labels, second.labels)
    if sum(map(len, first.labels)) < sum(map(len, second.labels)):  # what is long has room at the side
        real, synthetic, axes, labels = real.T, synthetic.T, axes[::-1], labels[::-1]
    figure = charts.pair(real, synthetic, axes, labels)
    draw(head, figure, words, frame, "pair", more)
