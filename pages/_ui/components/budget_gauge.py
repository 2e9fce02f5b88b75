"""The budget of a data set in the head of a page, as shares that add up."""

import streamlit as st

from dpcore import InputError
from dpcore.accuracy.meaning_of_epsilon import delta_words
from dpcore.privacy.accounting import Lifetime
from dpcore.privacy.accounting.data_set_total import Events
from dpcore.release.data_set import DataSet
from dpcore.release.ledger.gauge import gauge

from ..session import release_ledger as shared_ledger
from ..session.inert_text import plain
from ..session.session import session
from ..session.table import Table


def of_table(table: Table) -> None:
    """Draw what is used and left of the table's data set; nothing where no ledger that can be read knows it."""
    name = shared_ledger.dataset_name(table)
    if (data_set := shared_ledger.dataset_of(_sets(), name)) is not None:
        draw(name, data_set.lifetime, data_set.spent)


def draw(name: str, lifetime: Lifetime, spent: float | None, now: Events = ()) -> str:
    """Draw the shares used by releases whose total is `spent` (ε), None if not known, and by the events `now`.

    Returns the share of `now` in words.
    """
    picture, caption, new_share_text = gauge(
        None if spent is None else lifetime.share(spent), lifetime.cost(now) / lifetime.capacity
    )
    total_budget = lifetime.budget
    used_text = "not known yet" if spent is None else f"ε = {spent:.3g}"
    help_text = (
        f"All releases of “{name}” together: at most ε = {total_budget.epsilon:g} at δ = "
        f"{delta_words(total_budget.delta)}. Used: "
        f"{used_text}. ε does not add up, so these are shares of what does ({lifetime.accounting})."
    )
    with st.container(key="gauge", width="content", gap=None):
        st.html(picture)
        st.caption(caption, help=plain(help_text, 600))
    return new_share_text


def _sets() -> list[DataSet]:
    """The data sets of the ledger that is named; none, in silence, where there is none that can be read."""
    try:
        ledger = shared_ledger.named()
        if ledger is None:
            return []
        file_stat = ledger.stat()
        return session().memo(
            "budgets", (ledger, file_stat.st_mtime_ns, file_stat.st_size), lambda: shared_ledger.known(ledger)
        )
    except (InputError, OSError):  # Release says what is wrong with it
        return []
