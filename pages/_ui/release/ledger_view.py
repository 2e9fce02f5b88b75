"""The release ledger on a page: what it holds, whether it is sound, and what was kept beside it."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import streamlit as st

from dpcore import InputError
from dpcore.core.numbers import format_short_number
from dpcore.core.provenance import Provenance
from dpcore.release.ledger.ledger_store import DataSet, verify_ledger

from ..components import draw_heading
from ..released.downloads import draw_download_all
from ..released.earlier_releases import earlier_releases, read_folder_files
from ..session import printable_text
from ..session.release_ledger import format_ledger_error


def draw_ledger(ledger: Path | None, data_sets: Sequence[DataSet]) -> None:
    """Draw the ledger's data sets and releases, its verification, and earlier releases' files.

    Nothing is drawn before the first release.
    """
    if ledger is None or not data_sets:
        return
    _draw_earlier_releases(ledger)
    with st.expander("Budget record: all releases, and what is left", icon=":material/history:"):
        st.dataframe([_data_set_row(d) for d in data_sets], hide_index=True)
        latest = sorted(
            ((r["seq"], d, r) for d in data_sets for r in d.releases),
            key=lambda numbered_release: numbered_release[0],
            reverse=True,
        )
        st.dataframe([_release_row(d, release) for _, d, release in latest], hide_index=True)
        st.caption(
            "Releases are counted for each data set. “All releases” adds up all so far, at the "
            "data set's δ. What "
            "failed after its budget was used stays used. Times are UTC."
        )
        if st.button("Verify the budget record", icon=":material/fact_check:"):
            _show_verification(ledger)


def _data_set_row(data_set: DataSet) -> dict[str, object]:
    budget = data_set.lifetime.budget
    used = f"{100 * data_set.lifetime.used_capacity_share(data_set.spent):.3g}%"
    return {
        "data set": printable_text(data_set.name),
        "protects each": printable_text(data_set.unit),
        "used": used,
        "ε in all": budget.epsilon,
        "ε used": round(data_set.spent, 6),
        "ε left for one release": round(data_set.remaining, 6),
        "δ": format_short_number(budget.delta),
        "added up by": data_set.lifetime.accounting.name,
    }


def _release_row(data_set: DataSet, release: dict) -> dict[str, object]:
    return {
        "data set": printable_text(data_set.name),
        "release": release["number"],
        "version": release["version"],
        "time": release["time"],
        "algorithm": release["algorithm"],
        "ε": release["epsilon"],
        "δ": format_short_number(release["delta"]),
        "ρ": f"{release['rho']:.4g}",
        "all releases ε": round(release["total_epsilon"], 6),
        "state": release["state"],
        "reason": printable_text(release["reason"], 200),
    }


def _show_verification(ledger: Path) -> None:
    try:
        problems = verify_ledger(ledger)
    except InputError as error:
        problems = [str(error)]
    if problems:
        st.error("Not sound: " + format_ledger_error("; ".join(problems[:10]), ledger))
    else:
        st.success(
            "Sound: every row, total and trigger is as it was written.", icon=":material/verified:"
        )


def _draw_earlier_releases(ledger: Path) -> None:
    """Draw downloads of earlier releases whose files are still beside the ledger.

    Downloading never spends.
    """
    release_by_entry = earlier_releases(ledger)
    if not release_by_entry:
        return
    draw_heading("Download an earlier release again", Provenance.RELEASED)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        entry = st.selectbox(
            "Release",
            sorted(release_by_entry, reverse=True),
            format_func=lambda n: release_by_entry[n].label,
            key="release-again",
            width=300,
        )
        release = release_by_entry[entry]
        try:
            is_recorded = not verify_ledger(ledger, release.receipt)
        except InputError:
            is_recorded = False
        draw_download_all(
            partial(read_folder_files, release.folder),
            release.label,
            key="again-zip",
            disabled=not is_recorded,
        )
        st.page_link("pages/ask.py", label="Ask it", icon=":material/question_answer:")
    st.caption(
        "This release is in the budget record."
        if is_recorded
        else "This release is not in this budget record."
    )
