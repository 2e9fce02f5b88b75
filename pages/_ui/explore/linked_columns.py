"""Which columns a release ties together: from the released model alone, so it is no peek."""

from itertools import combinations
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import QueryRelease
from dpcore.accuracy.intervals import independence_test as links
from dpcore.core.provenance import Provenance
from dpcore.evaluation.sweeps.worker_pool import RunResult
from dpcore.models.graphical_model import GraphicalModel
from dpcore.models.junction_tree import table_cell_count
from dpcore.models.releases import Release

from ..charts.clique_chart import clique_square
from ..components import draw_chart_panel, draw_heading
from ..session import distinct_labels, escape_markdown, persistent_widget_args, printable_text
from .run_settings import RunSettings


def draw_linked_columns(result: RunResult, run_settings: RunSettings) -> None:
    """Draw the square of linked columns, and an independence test of two chosen columns.

    The test says whether the release shows a link between them.
    """
    _draw_cliques(result.release, result.summary.parameters)
    _draw_independence_test(result, run_settings.problem)


def _draw_cliques(release: Release | None, parameters: dict[str, Any]) -> None:
    """Draw the square of linked columns and a table of the junction tree's cliques.

    A text says so where the run keeps no tree, as where all cells are listed instead.
    """
    if not isinstance(release, GraphicalModel):
        st.caption(
            "This run keeps no tree: it lists all combinations, or makes rows or mixtures. With "
            "more combinations "
            "than can be listed, an algorithm keeps only some columns linked, and this shows which."
        )
        return
    pairs_use_budget = "pairs" in parameters
    draw_heading("Which columns are linked?", None if pairs_use_budget else Provenance.PUBLIC)
    summary, frame, ties = describe_cliques(release)
    draw_chart_panel(clique_square(release.domain.names, ties), summary, frame, "ties")
    origin = (
        "The pairs were drawn with a small share of the budget"
        if pairs_use_budget
        else "The questions asked decide them"
    )
    st.caption(
        f"{origin}, with public sizes. Columns without a filled square are linked only through "
        "those in between. "
        "The release cannot show any other link between them."
    )


def _draw_independence_test(result: RunResult, problem: QueryRelease) -> None:
    """Draw a choice of two columns, and whether the release shows a link between them.

    Nothing is read for it.
    """
    draw_heading("Are two columns linked?")
    names = problem.domain.names
    column_names = [
        widget_column.selectbox(
            f"{word} column",
            names,
            at,
            format_func=distinct_labels(names).get,
            key=f"linked-{at}",
            **persistent_widget_args(),
        )
        for at, (widget_column, word) in enumerate(
            zip(st.columns(2), ("First", "Second"), strict=True)
        )
        if at < len(names)
    ]
    if result.unbiased_answers is None or len(set(column_names)) < 2:
        st.caption("Choose two different columns.")
        return
    test_result = links.run_independence_test(
        result.unbiased_answers, column_names, problem.effective_n
    )
    st.markdown(escape_markdown(test_result.words, 400))


def describe_cliques(
    release: GraphicalModel,
) -> tuple[str, pd.DataFrame, dict[tuple[int, int], str]]:
    """Return a sentence on the cliques, a table of them, and each linked pair's clique.

    The table has the largest clique first.
    """
    tree = release.junction
    names = [printable_text(name, 40) for name in release.domain.names]
    order = sorted(tree.cliques, key=lambda clique: -table_cell_count(tree.shape, clique))
    clique_texts = {clique: " × ".join(names[a] for a in clique) for clique in order}
    ties = {
        pair: clique_texts[clique] for clique in reversed(order) for pair in combinations(clique, 2)
    }
    lines = [
        {
            "linked columns": clique_texts[clique],
            "combinations": table_cell_count(tree.shape, clique),
        }
        for clique in order
    ]
    largest_clique = order[0]
    d = len(names)
    summary = (
        f"{len(ties):,} of {d * (d - 1) // 2:,} pairs of columns are linked, in {len(order)} "
        "groups with "
        f"{tree.cells:,} combinations together. The largest has "
        f"{table_cell_count(tree.shape, largest_clique):,}: "
        f"{clique_texts[largest_clique]}."
    )
    return summary, pd.DataFrame(lines), ties
