"""Real beside synthetic: by question, by subgroup, by column and by pair of columns. All of it is a private peek."""

from itertools import combinations

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.data.domain import Domain
from dpcore.evaluation.run import Comparison, compare, pairs_with, subgroups
from dpcore.experiments.pool import Result
from dpcore.tags import Tag
from dpcore.workloads import Marginals

from ..charts import base as charts
from ..charts import linked
from ..shell.frame import heading, peek
from ..shell.results import QUIET, below, panel
from ..shell.state import shared
from ..shell.table import Table
from ..shell.text import clean, points, question

LISTED = 1000  # queries that are put into words


@peek
def queries(real: Comparison) -> None:
    """Every query's error sorted, linked to the columns it involves, and the worst ten in words."""
    heading("Which questions are answered worst?", Tag.PEEK)
    worst = real.worst(LISTED)
    labels = [real.workload.label(int(j)) for j in worst]
    words = [question(label) for label in labels]
    shown = {"question": words, "real": real.real[worst], "synthetic": real.synthetic[worst], "error": real.gaps[worst]}
    table = pd.DataFrame(shown)
    left, right = st.columns([3, 2])
    with left:
        columns = [sorted({clean(column) for column, _ in label}) for label in labels]
        tenth, half = (points(float(np.quantile(real.gaps, q))) for q in (0.9, 0.5))
        summary = f"One question in ten is off by more than {tenth} points; half of them by more than {half}."
        st.altair_chart(linked.queries(table, columns), key="queries", alt=summary)
        below(summary + " Drag over the dots to see which columns they involve.", table, "queries")
    with right:
        st.markdown("**The ten worst, in words**")
        shares = st.column_config.NumberColumn(format="percent")
        config = {"real": shares, "synthetic": shares, "error": shares}
        st.dataframe(table.head(10), hide_index=True, column_config=config)


@peek
def groups(table: Table, result: Result, domain: Domain) -> None:
    """Error among the members of each value of a column, small groups first."""
    heading("Which groups pay most?", Tag.PEEK)
    column = st.selectbox("Groups by", domain.names, format_func=clean, key=f"groups-{hash(domain.names)}", **shared())
    both = compare(result.release, table.rows(domain.names), pairs_with(domain, column))
    found = subgroups(both, column)
    frame = pd.DataFrame({"group": found.labels, "share": found.share, "error": found.error})
    frame = frame[frame["share"] > 0].sort_values("share", ignore_index=True)
    small, large = frame.iloc[0], frame.iloc[-1]
    summary = (
        f"Of what is said about {clean(small['group'])} ({small['share']:.2%} of records), {small['error']:.2%} is "
        f"misplaced; about {clean(large['group'])} ({large['share']:.1%}), {large['error']:.2%}."
    )
    panel(charts.groups(frame, column), summary, frame, "groups")


@peek
def marginals(table: Table, result: Result, domain: Domain, pinned: Result | None) -> None:
    """One column real beside synthetic, and two columns as heat maps on one scale."""
    names, rows = domain.names, table.rows(domain.names)
    heading("How do real and synthetic compare?", Tag.PEEK)
    column = st.selectbox("Column", names, format_func=clean, key=f"column-{hash(names)}", **shared())
    single = Marginals(domain, [[column]])
    pair = compare(result.release, rows, single)
    labels = domain.columns[names.index(column)].labels
    frame = pd.DataFrame({"value": labels, "real": pair.real, "synthetic": pair.synthetic})
    if pinned is not None:
        frame["pinned A"] = pinned.release.answers(single)
    most, where = points(float(pair.gaps.max())), clean(labels[int(pair.worst(1)[0])])
    summary = f"{clean(column)}: the largest difference is {most} points, at {where}."
    panel(charts.bars(frame, column), summary, frame, "marginal")
    if len(names) > 1:
        _pair(table, result, domain)


def _pair(table: Table, result: Result, domain: Domain) -> None:
    names = domain.names
    pairs = {" × ".join(map(clean, pair)): pair for pair in combinations(names, 2)}
    chosen = pairs[st.selectbox("Two columns", list(pairs), key=f"pair-{hash(names)}", **shared())]
    both = compare(result.release, table.rows(names), Marginals(domain, [chosen]))
    first, second = (domain.columns[names.index(name)] for name in chosen)
    real, synthetic = (answers.reshape(first.size, second.size) for answers in (both.real, both.synthetic))
    limit, gap = float(max(real.max(), synthetic.max())), float(both.gaps.max()) or 1.0
    shown = (("real", real, limit), ("synthetic", synthetic, limit), ("synthetic − real", synthetic - real, gap))
    for (title, values, top), place in zip(shown, st.columns(3), strict=True):
        figure = charts.heat_map(values, title, chosen, (first.labels, second.labels), top, signed="−" in title)
        alt = f"Heat map, {title}: {' × '.join(map(clean, chosen))}"
        place.plotly_chart(figure, key=f"heat-{title}", alt=alt, config=QUIET)
    index = pd.DataFrame([(a, b) for a in first.labels for b in second.labels], columns=pd.Index(["first", "second"]))
    summary = f"The largest difference in this table is {points(gap)} points."
    below(summary, index.assign(real=both.real, synthetic=both.synthetic), "pair")
