"""The release ledger on a page: where it lies, what it holds, whether it is sound, and what was kept beside it."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import streamlit as st

from dpcore.errors import InputError
from dpcore.publishing.ledger_store import DataSet, Store, verify
from dpcore.tags import Tag

from ..shell import owner
from ..shell.frame import heading, tag
from ..shell.state import public_host
from ..shell.text import clean, plain
from .files import archive

VARIABLE = "DPCORE_LEDGER"
FILE = "ledger.sqlite"
OFF = (
    "Releases are off on this server: others can reach it, and no ledger with a key is set up. Its owner can name one "
    f"in the environment variable {VARIABLE} and its key, at least {owner.SHORTEST} characters, in {owner.KEY}; or you "
    "can release on your own machine, here or by `python -m dpcore release`."
)


def where() -> Path | None:
    """The ledger's path, or None with the reason said on the page."""
    configured = os.environ.get(VARIABLE, "").strip()
    if off():
        st.warning(OFF, icon=":material/block:")
        return None
    if not owner.opens():
        return None
    if configured:
        st.caption("Ledger: the one that this server's owner has set up.")
        return Path(configured)
    typed = st.text_input(
        "Folder of the ledger, on this machine", key="ledger-folder", placeholder="/home/you/releases", max_chars=1000,
        help=f"The file {FILE} in it is made at the first release, and every release is written beside it.",
        persist_state="session",
    )  # fmt: skip
    if not typed.strip():
        st.info(
            "Every real release is charged in a ledger, for ever. Name a folder on this machine that is there for "
            f"good; the ledger is the file {FILE} in it. Use the same one for all releases of a table."
        )
        return None
    try:
        folder = Path(typed.strip()).expanduser()
        there = folder.is_dir()
    except (OSError, ValueError, RuntimeError):
        folder, there = Path(), False
    if not there:
        st.error(f"There is no folder {plain(typed.strip(), 200)} on this machine.")
        return None
    return folder / FILE


def off() -> bool:
    """Whether nobody can release here: others reach this server, and there is no ledger, or no key that guards it."""
    return owner.asked_for() and not (os.environ.get(VARIABLE, "").strip() and owner.key())


def words(error: object, ledger: Path) -> str:
    """A message for the page; on a public host it does not tell where things lie on the server."""
    text = str(error)
    return plain(text.replace(str(ledger.absolute().parent), "…") if public_host() else text, 500)


def known(ledger: Path) -> list[DataSet]:
    """The data sets of the ledger, none where it is not made yet. Raises InputError for a file that is no ledger."""
    if not os.path.lexists(ledger) and ledger.parent.is_dir():
        return []
    return Store(ledger).show()


def view(ledger: Path, sets: Sequence[DataSet]) -> None:
    """Data sets, releases, the check of every entry."""
    heading("What was ever released, and what is left", Tag.PUBLIC)
    if not sets:
        st.caption("The ledger holds no release yet.")
        return
    st.dataframe(pd.DataFrame([_dataset(d) for d in sets]), hide_index=True)
    lines = [_release(d, release) for d in sets for release in d.releases]
    st.dataframe(pd.DataFrame(lines).sort_values("release", ascending=False), hide_index=True)
    st.caption(
        "“All releases” adds up everything charged so far by the data set's one accounting, at its total δ. A release "
        "that failed, or whose process died, stays charged. Times are UTC."
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Verify the ledger", icon=":material/fact_check:"):
            _verify(ledger)
    _kept(ledger)


def _dataset(found: DataSet) -> dict[str, object]:
    budget = found.lifetime.budget
    return {
        "data set": clean(found.name), "protects each": clean(found.unit), "ε in all": budget.epsilon,
        "spent ε": round(found.spent, 6), "left ε (one release)": round(found.left, 6), "δ": f"{budget.delta:g}",
        "added up by": str(found.lifetime.accounting), "versions": len(found.versions),
        "releases": len(found.releases),
    }  # fmt: skip


def _release(found: DataSet, release: dict) -> dict[str, object]:
    return {
        "release": release["seq"], "data set": clean(found.name), "version": release["version"],
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
        number = st.selectbox("Release", sorted(there, reverse=True), key="release-again", width=160)
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
            f"**Left: one release of ε = {found.left:.4g}** at δ = {budget.delta:g}; {found.spent:.4g} of "
            f"{budget.epsilon:g} is spent by {len(found.releases)} release{'s' * (len(found.releases) != 1)}."
        )
