"""The release ledger on a page: what it holds, whether it is sound, and what was kept beside it."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import streamlit as st

from dpcore import InputError
from dpcore.core.numbers import brief
from dpcore.core.provenance import Tag
from dpcore.release.ledger.ledger_store import DataSet, verify

from ..components import heading
from ..session import clean
from ..session.release_ledger import words
from .downloads import download_all


def view(ledger: Path | None, sets: Sequence[DataSet]) -> None:
    """Data sets, releases, the check of every entry, and files of earlier releases; nothing before the first one."""
    if ledger is None or not sets:
        return
    _kept(ledger)
    with st.expander("Budget record: all releases, and what is left", icon=":material/history:"):
        st.dataframe([_dataset(d) for d in sets], hide_index=True)
        latest = sorted(
            ((r["seq"], d, r) for d in sets for r in d.releases),
            key=lambda numbered_release: numbered_release[0],
            reverse=True,
        )
        st.dataframe([_release(d, release) for _, d, release in latest], hide_index=True)
        st.caption(
            "Releases are counted for each data set. “All releases” adds up all so far, at the data set's δ. What "
            "failed after its budget was used stays used. Times are UTC."
        )
        if st.button("Verify the budget record", icon=":material/fact_check:"):
            _verify(ledger)


def _dataset(found: DataSet) -> dict[str, object]:
    budget = found.lifetime.budget
    used = f"{100 * found.lifetime.share(found.spent):.3g}%"
    return {
        "data set": clean(found.name), "protects each": clean(found.unit), "used": used, "ε in all": budget.epsilon,
        "ε used": round(found.spent, 6), "ε left for one release": round(found.left, 6), "δ": brief(budget.delta),
        "added up by": str(found.lifetime.accounting),
    }  # fmt: skip


def _release(found: DataSet, release: dict) -> dict[str, object]:
    return {
        "data set": clean(found.name), "release": release["number"], "version": release["version"],
        "time": release["time"], "algorithm": release["algorithm"], "ε": release["epsilon"],
        "δ": brief(release["delta"]), "ρ": f"{release['rho']:.4g}",
        "all releases ε": round(release["total_epsilon"], 6),
        "state": release["state"], "reason": clean(release["reason"], 200),
    }  # fmt: skip


def _verify(ledger: Path) -> None:
    try:
        problems = verify(ledger)
    except InputError as error:
        problems = [str(error)]
    if problems:
        st.error("Not sound: " + words("; ".join(problems[:10]), ledger))
    else:
        st.success("Sound: every row, total and trigger is as it was written.", icon=":material/verified:")


def _kept(ledger: Path) -> None:
    """Releases whose files are still beside the ledger, to take along again; that never spends."""
    release_by_entry = {}
    for claim in sorted(folder_for(ledger).glob("*/release.json")):
        try:
            facts = json.loads(claim.read_text(encoding="utf-8"))
            account = json.loads((claim.parent / "account.json").read_text(encoding="utf-8"))
            label = f"{clean(facts['dataset']['name'])}, release {len(account['releases'])}"
            release_by_entry[int(facts["ledger"]["entry"])] = claim.parent, facts["ledger"], label
        except (OSError, ValueError, TypeError, KeyError):
            continue  # not one of ours
    if not release_by_entry:
        return
    heading("Download an earlier release again", Tag.PAID)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        entry = st.selectbox(
            "Release",
            sorted(release_by_entry, reverse=True),
            format_func=lambda n: release_by_entry[n][2],
            key="release-again",
            width=300,
        )
        folder, receipt, title = release_by_entry[entry]
        try:
            is_recorded = not verify(ledger, receipt)
        except InputError:
            is_recorded = False
        download_all(partial(contents, folder), title, key="again-zip", disabled=not is_recorded)
    st.caption("This release is in the budget record." if is_recorded else "This release is not in this budget record.")


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder: their bytes by name."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def folder_for(ledger: Path) -> Path:
    """Where releases are kept beside their ledger."""
    return ledger.parent / f"{ledger.stem}-releases"
