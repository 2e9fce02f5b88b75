"""Seventh lesson: a hidden number is found by hand from five tables, and what rounding changes."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import streamlit as st
from scipy.sparse import csr_array

from dpcore.evaluation.reconstruction.disclosure_rules import round_to_nearest
from dpcore.evaluation.reconstruction.published_tables import PublishedTables
from dpcore.evaluation.reconstruction.secondary_suppression import hide_single_cells

from .lesson import draw_reminder

TITLE = "Five tables, four companies"
COMPANIES = ("large bakery", "small bakery", "large garage", "small garage")
ILL_PEOPLE = np.array([20, 2, 13, 5])
HIDDEN_COMPANY = 1  # the small bakery
THRESHOLD = 5  # smaller counts are hidden
BASE = 5  # to which counts would be rounded
# Which companies each count of the tables adds up. Owners cross the other two.
TABLES: dict[str, dict[str, tuple[int, ...]]] = {
    "all": {"together": (0, 1, 2, 3)},
    "by trade": {"bakeries": (0, 1), "garages": (2, 3)},
    "by size": {"large": (0, 2), "small": (1, 3)},
    "by owner": {"a family": (0, 3), "a firm": (1, 2)},
    "by company": {name: (number,) for number, name in enumerate(COMPANIES)},
}
HIDDEN_MARK = "•"
REMEMBER = "A hidden number stays hidden only as long as no other table gives it away."


def company_sums() -> tuple[np.ndarray, np.ndarray]:
    """Return which companies each published count adds up (p, 4), and the true counts (p,)."""
    parts = list(chain.from_iterable(counts.values() for counts in TABLES.values()))
    incidence = np.zeros((len(parts), len(COMPANIES)), dtype=np.int64)
    for number, companies in enumerate(parts):
        incidence[number, list(companies)] = 1
    return incidence, incidence @ ILL_PEOPLE


def hidden_counts() -> np.ndarray:
    """Return which counts (p,) are hidden: the small one, and partners in its table."""
    _, counts = company_sums()
    companies = counts[-len(COMPANIES) :].reshape(2, 2)
    is_hidden = hide_single_cells(companies, companies < THRESHOLD)
    return np.append(np.zeros(len(counts) - len(COMPANIES), dtype=bool), is_hidden.ravel())


def suppressed_tables(names: Sequence[str] = tuple(TABLES)) -> PublishedTables:
    """Return the tables of these names with their hidden counts."""
    _, counts = company_sums()
    is_hidden = hidden_counts()
    ranges = np.where(is_hidden, 0, counts), np.where(is_hidden, ILL_PEOPLE.sum(), counts)
    return _published(ranges, names)


def rounded_tables() -> PublishedTables:
    """Return all tables, rounded."""
    _, low, high = round_to_nearest(company_sums()[1], BASE)
    return _published((low, high), tuple(TABLES))


def possible_counts(published: PublishedTables, company: int) -> list[int]:
    """Return every number of ill people that a company may have, by what was published."""
    n = published.n
    first = np.indices((n + 1,) * (len(COMPANIES) - 1)).reshape(len(COMPANIES) - 1, -1)
    last = n - first.sum(axis=0)
    tables = np.vstack([first, last])[:, last >= 0]
    sums = published.incidence @ tables
    is_possible = np.all(
        (published.low[:, None] <= sums) & (sums <= published.high[:, None]), axis=0
    )
    return sorted({int(count) for count in tables[company, is_possible]})


def draw_lesson() -> None:
    """Draw the lesson: the tables, the guess, the way, and what rounding would have changed."""
    with st.expander(f"7. {TITLE}", icon=":material/search:"):
        st.markdown(
            f"Ill people in four companies. Counts below {THRESHOLD} are hidden, and more with "
            "them, so that no row or column of a table gives one away."
        )
        _, counts = company_sums()
        is_hidden = hidden_counts()
        count_texts = [
            HIDDEN_MARK if hidden else str(count)
            for count, hidden in zip(counts, is_hidden, strict=True)
        ]
        st.markdown(_tables_markdown(count_texts))
        st.caption("A family owns the large bakery and the small garage.")
        guess = st.number_input(
            f"How many people of the {COMPANIES[HIDDEN_COMPANY]} are ill?",
            0,
            int(ILL_PEOPLE.sum()),
            None,
            key="hidden-company",
            persist_state="session",
        )
        if guess is None:
            return
        is_right = guess == ILL_PEOPLE[HIDDEN_COMPANY]
        st.markdown(f"**{'Right' if is_right else 'Not quite'}.** {way_text()}")
        _draw_rounding()


def way_text() -> str:
    """Return how the hidden number is found, by hand."""
    large_bakery, small_bakery, large_garage, _ = (int(count) for count in ILL_PEOPLE)
    bakeries = large_bakery + small_bakery
    large = large_bakery + large_garage
    firm = small_bakery + large_garage
    return (
        f"Add bakeries and large companies: {bakeries} + {large} = {bakeries + large}. That is the "
        f"large bakery twice, and what a firm owns: {firm}. So the large bakery has "
        f"({bakeries + large} − {firm}) / 2 = {large_bakery}, and the small one "
        f"{bakeries} − {large_bakery} = {small_bakery}."
    )


def _draw_rounding() -> None:
    """Draw the rounded tables, and what they leave open."""
    rounded, _, _ = round_to_nearest(company_sums()[1], BASE)
    st.markdown(f"Had every count been rounded to {BASE}:")
    st.markdown(_tables_markdown([str(count) for count in rounded]))
    possible = possible_counts(rounded_tables(), HIDDEN_COMPANY)
    st.markdown(
        f"Then the {COMPANIES[HIDDEN_COMPANY]} may have {possible[0]} to {possible[-1]} ill "
        f"people, so {possible[0]} are certain. But every count is off by up to {BASE // 2}."
    )
    draw_reminder(REMEMBER)
    st.page_link(
        "pages/alternatives.py", label="Try it on a table", icon=":material/arrow_forward:"
    )


def _tables_markdown(count_texts: Sequence[str]) -> str:
    """Return the five tables, one a line, with these counts."""
    lines = ["| table | counts |", "|---|---|"]
    position = 0
    for name, counts in TABLES.items():
        texts = []
        for label in counts:
            texts.append(f"{label} **{count_texts[position]}**")
            position += 1
        lines.append(f"| {name} | {' · '.join(texts)} |")
    return "\n".join(lines)


def _published(ranges: tuple[np.ndarray, np.ndarray], names: Sequence[str]) -> PublishedTables:
    """Return the tables of these names as counts with these ranges (p,)."""
    incidence, _ = company_sums()
    is_named = np.concatenate(
        [np.full(len(counts), name in names) for name, counts in TABLES.items()]
    )
    low, high = ranges
    nothing = np.zeros(0)
    return PublishedTables.with_total(
        ILL_PEOPLE,
        csr_array(incidence[is_named]),
        (low[is_named], high[is_named]),
        nothing,
        nothing,
    )
