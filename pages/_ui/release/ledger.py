"""The release ledger on a page: what it holds, whether it is sound, and what was kept beside it."""

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import streamlit as st

from dpcore.errors import InputError
from dpcore.numbers import brief
from dpcore.publishing.ledger_store import DataSet, verify
from dpcore.tags import Tag

from ..shell.frame import heading, tag
from ..shell.ledger import words
from ..shell.text import clean
from .files import archive


def view(ledger: Path, sets: Sequence[DataSet]) -> None:
    """Data sets, releases, the check of every entry."""
    heading("What was ever released, and what is left", Tag.PUBLIC)
    if not sets:
        st.caption("The ledger holds no release yet.")
        return
    st.dataframe(pd.DataFrame([_dataset(d) for d in sets]), hide_index=True)
    lines = [_release(d, release) for d in sets for release in d.releases]
    st.dataframe(pd.DataFrame(lines).sort_values("ledger entry", ascending=False), hide_index=True)
    st.caption(
        "The ledger numbers every line it keeps, data sets and versions too, so a first release may be entry 3. "
        "“All releases” adds up all uses so far by the data set's one accounting, at its total δ. A release "
        "that failed, or whose process died, has used its budget. Times are UTC."
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Verify the ledger", icon=":material/fact_check:"):
            _verify(ledger)
    _kept(ledger)


def _dataset(found: DataSet) -> dict[str, object]:
    budget = found.lifetime.budget
    return {
        "data set": clean(found.name), "protects each": clean(found.unit), "ε in all": budget.epsilon,
        "used ε": round(found.spent, 6), "left ε (one release)": round(found.left, 6), "δ": f"{budget.delta:g}",
        "added up by": str(found.lifetime.accounting), "versions": len(found.versions),
        "releases": len(found.releases),
    }  # fmt: skip


def _release(found: DataSet, release: dict) -> dict[str, object]:
    return {
        "ledger entry": release["seq"], "data set": clean(found.name), "version": release["version"],
        "time": release["time"], "algorithm": release["algorithm"], "ε": release["epsilon"],
        "δ": f"{release['delta']:g}", "ρ": f"{release['rho']:.4g}",
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
    there = {}
    for claim in sorted(folder_for(ledger).glob("*/release.json")):
        try:
            facts = json.loads(claim.read_text(encoding="utf-8"))
            there[int(facts["ledger"]["entry"])] = claim.parent, facts["ledger"]
        except (OSError, ValueError, TypeError, KeyError):
            continue  # not one of ours
    if not there:
        return
    heading("Take an earlier release along again", Tag.PAID)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        number = st.selectbox("Ledger entry", sorted(there, reverse=True), key="release-again", width=160)
        folder, receipt = there[number]
        try:
            held = not verify(ledger, receipt)
        except InputError:
            held = False
        st.download_button(
            "All files (ZIP)", lambda: archive(_read(folder)), f"release-{number}.zip", "application/zip",
            icon=":material/folder_zip:", on_click="ignore", disabled=not held, key="again-zip",
        )  # fmt: skip
    st.caption("The ledger holds it." if held else "This ledger does not hold that release.")


def _read(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def folder_for(ledger: Path) -> Path:
    """Where releases are kept beside their ledger."""
    return ledger.parent / f"{ledger.stem}-releases"


def headline(found: DataSet) -> None:
    """What is left of a known data set, in a line."""
    budget = found.lifetime.budget
    with st.container(horizontal=True, vertical_alignment="center"):
        tag(Tag.PUBLIC)
        st.markdown(
            f"**Left: one release of ε = {found.left:.4g}** at δ = {brief(budget.delta)}; {found.spent:.4g} of "
            f"{budget.epsilon:g} is used by {len(found.releases)} release{'s' * (len(found.releases) != 1)}."
        )
