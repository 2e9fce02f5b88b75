"""The budget of a data set in the head of a page, as shares that add up."""

import streamlit as st

from dpcore import InputError
from dpcore.accuracy.meaning_of_epsilon import describe_delta
from dpcore.privacy.accounting import Events, LifetimeBudget
from dpcore.release.data_set import DataSet
from dpcore.release.ledger.gauge import budget_gauge

from ..session import release_ledger as shared_ledger
from ..session.inert_text import escape_markdown
from ..session.session import session
from ..session.table import Table


def draw_table_gauge(table: Table) -> None:
    """Draw the used and the remaining budget of the table's data set.

    Nothing is drawn where no readable ledger knows it.
    """
    data_set = known_data_set(table)
    if data_set is not None:
        draw_gauge(data_set.name, data_set.lifetime, data_set.spent)


def known_data_set(table: Table) -> DataSet | None:
    """Return the table's data set in the named ledger; None where no readable one knows it."""
    name = shared_ledger.data_set_name(table)
    return shared_ledger.find_data_set(_readable_data_sets(), name)


def draw_gauge(
    name: str, lifetime: LifetimeBudget, spent: float | None, new_events: Events = ()
) -> str:
    """Draw the budget shares used so far and by `new_events`; return the latter in words.

    `spent` is the ε of all releases so far, None if not known.
    """
    picture, caption, new_share_text = budget_gauge(
        None if spent is None else lifetime.used_capacity_share(spent),
        lifetime.composed_cost(new_events) / lifetime.capacity,
    )
    total_budget = lifetime.budget
    used_text = "not known yet" if spent is None else f"ε = {spent:.3g}"
    help_text = (
        f"All releases of “{name}” together: at most ε = {total_budget.epsilon:g} at δ = "
        f"{describe_delta(total_budget.delta)}. Used: "
        f"{used_text}. ε does not add up, so these are shares of what does "
        f"({lifetime.accounting.name})."
    )
    with st.container(key="gauge", width="content", gap=None):
        st.html(picture)
        st.caption(caption, help=escape_markdown(help_text, 600))
    return new_share_text


def _readable_data_sets() -> list[DataSet]:
    """Return the data sets of the named ledger; none, without a message, if it is unreadable."""
    try:
        ledger = shared_ledger.find_ledger_path()
        if ledger is None:
            return []
        file_stat = ledger.stat()
        return session().memoize(
            "budgets",
            (ledger, file_stat.st_mtime_ns, file_stat.st_size),
            lambda: shared_ledger.load_data_sets(ledger),
        )
    except (InputError, OSError):  # Release says what is wrong with it
        return []
