"""How strongly all pairs of columns are linked: real beside synthetic, or as released."""

from itertools import combinations

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import InputError, Marginals
from dpcore.accuracy import associations
from dpcore.accuracy.associations import Association, association_interval
from dpcore.core.types import by_name
from dpcore.evaluation.run import compare_with_rows

from ..charts import association_maps
from ..components import draw_downloadable_chart, draw_heading, inline_container
from ..session import escape_markdown, printable_text, session
from .all_columns import PanelSource

MAX_PAIR_CELLS = 4_000_000  # cells of all pairs of columns together
EXPLANATION = (
    f"Cramér's V: 0 is no link, 1 is one column deciding the other. Strong: from "
    f"{associations.STRONG_LINK}. Faded: under {associations.WEAK_LINK}. Framed: lost."
)
RELEASED_TEXT = "It uses no budget: the released answers are compared with the synthetic rows."


@by_name
class PairLinks:
    """The links of all pairs of columns: by the reference, and by the release (pairs,).

    The reference is the real rows, else the released answers, NaN where those say nothing of a
    pair. `bounds` are those answers' for each pair, None where there are none.
    """

    pairs: list[tuple[int, int]]
    reference: np.ndarray
    released: np.ndarray
    bounds: list[Association | None]


def draw_associations(source: PanelSource) -> None:
    """Draw the maps of all pairs of columns, and the sentence on what is kept and lost."""
    if len(source.domain.names) < 2:
        st.caption("Choose a second column to see links.")
        return
    try:
        links = session().memoize(
            "associations", (source.release, source.rows), lambda: _pair_links(source)
        )
    except InputError as error:  # of a large table, of which only tables are known
        st.caption(escape_markdown(error, 400))
        return
    names = [printable_text(name, 40) for name in source.domain.names]
    pair_names = [f"{names[a]} × {names[b]}" for a, b in links.pairs]
    losses = associations.compare_links(links.reference, links.released)
    sentence = associations.links_sentence(losses, pair_names)
    draw_heading(escape_markdown(sentence, 400))
    key = f"links-{source.key}"
    with inline_container(key=f"{key}-line"):
        st.caption(EXPLANATION + (f" {RELEASED_TEXT}" if source.rows is None else ""))
        with st.popover("Show as table", type="tertiary", icon=":material/table:"):
            draw_downloadable_chart(
                _numbers_table(source, links), key, sentence, epsilon=source.epsilon
            )
    frame = association_maps.maps_frame(
        source.domain.names,
        links.pairs,
        {_reference_name(source): links.reference, "synthetic": links.released},
        [_pair_text(source, links, at, name) for at, name in enumerate(pair_names)],
        set(losses.lost.tolist()),
    )
    st.vega_lite_chart(frame, association_maps.maps_spec(), key=key, alt=sentence)


def _reference_name(source: PanelSource) -> str:
    return "released answers" if source.rows is None else "real"


def _pair_links(source: PanelSource) -> PairLinks:
    """Return the links of all pairs; InputError where their tables are too large or unknown."""
    domain = source.domain
    pairs = list(combinations(range(len(domain.names)), 2))
    tables = Marginals.all(domain, 2)
    if tables.m > MAX_PAIR_CELLS:
        raise InputError(
            f"all pairs of columns have {tables.m:,} combinations, at most {MAX_PAIR_CELLS:,} are "
            "compared; choose fewer columns"
        )
    bounds: list[Association | None] = [None] * len(pairs)
    if source.unbiased_answers is not None:
        bounds = [association_interval(source.unbiased_answers, pair) for pair in pairs]
    if source.rows is None:
        released = associations.associations_of(source.release.answers(tables), tables)
        reference = np.array([np.nan if bound is None else bound.value for bound in bounds])
    else:
        comparison = compare_with_rows(source.release, source.rows, tables)
        released = associations.associations_of(comparison.synthetic, tables)
        reference = associations.associations_of(comparison.real, tables)
    return PairLinks(pairs=pairs, reference=reference, released=released, bounds=bounds)


def _pair_text(source: PanelSource, links: PairLinks, at: int, pair_name: str) -> str:
    """Return what is said of one pair: its links, and the interval from the release alone."""
    text = f"{pair_name}: "
    if not np.isnan(links.reference[at]):
        text += f"{_reference_name(source)} {links.reference[at]:.2f}, "
    text += f"synthetic {links.released[at]:.2f}"
    bound = links.bounds[at]
    if bound is None:
        return f"{text} (not measured together)"
    return f"{text} (95%: {bound.low:.2f} to {bound.high:.2f})"


def _numbers_table(source: PanelSource, links: PairLinks) -> pd.DataFrame:
    """Return every pair's links and interval, the strongest first."""
    names = source.domain.names
    frame = pd.DataFrame(
        {
            "column": [names[a] for a, _ in links.pairs],
            "other column": [names[b] for _, b in links.pairs],
            _reference_name(source): links.reference,
            "synthetic": links.released,
            "from": [np.nan if bound is None else bound.low for bound in links.bounds],
            "to": [np.nan if bound is None else bound.high for bound in links.bounds],
        }
    )
    return frame.sort_values(_reference_name(source), ascending=False, ignore_index=True)
