"""The files of one release as a page holds them: bytes by name, never made again."""

import io
import json
import re
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.accuracy.meaning_of_epsilon import Promise, guess_tile
from dpcore.core.numbers import noun
from dpcore.core.provenance import Tag
from dpcore.data.privacy_unit import ROW
from dpcore.release import tiles as tiled
from dpcore.release.evidence.card import SEVERAL

from ..components import heading, show_tiles
from ..session import plain

WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))  # by name
FIRST = ("card.html", "synthetic.csv")  # each has a button of its own, all others one list
PUBLISH = "**After signing, you may publish everything.**"
PROMISED = (
    "- **Card**, signed by whoever answers for the data\n"
    "- **Invented rows** and noisy answers\n"
    "- **Proof** that anyone can recheck\n\n" + PUBLISH
)
MEASURED = "- **Schema**, as measured by this release; later releases use it as public\n"


def archive(files: dict[str, bytes]) -> bytes:
    """All files in one ZIP."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for name, content in files.items():
            zip_file.writestr(name, content)
    return buffer.getvalue()


def download_all(files: Callable[[], dict[str, bytes]], called: str, **more: Any) -> None:
    """Draw the button that hands over all files of a release in one ZIP, which is `called` after it."""
    name = re.sub(r"[^\w]+", "-", called).strip("-") or "release"
    st.download_button(
        "All files (ZIP)", lambda: archive(files()), f"{name}.zip", "application/zip",
        icon=":material/folder_zip:", on_click="ignore", **more,
    )  # fmt: skip


def outputs(files: dict[str, bytes]) -> None:
    """What was released, what it means and what it cost, and all downloads; none of them runs anything again."""
    facts = json.loads(files["release.json"])
    dataset, number = facts["dataset"], len(json.loads(files["account.json"])["releases"])
    heading(f"Release {number} of {plain(dataset['name'])}", Tag.PAID)
    promise, utility, protection = Promise.of_release(facts), facts["utility"], facts["protects"]
    unit = noun(protection["rows_per_person"])
    tiles = tiled.foretold(utility["noise"], utility["as_exact_as_sample"], protection["records"], unit)
    tiles.append(guess_tile(promise.guess()))
    show_tiles(tiles, utility["sentence"])
    st.markdown(f"**{plain(promise.suspicion_words, 500)}**")
    if protection["unit"] == ROW:
        st.caption(SEVERAL)
    if facts["measured"]:
        st.markdown("**What was measured of the schema, protected:**")
        lines = [f"- **{plain(m['column'])}**: {plain(m['found'], 500)}." for m in facts["measured"]]
        st.markdown("\n".join(lines))
    st.markdown(PUBLISH)
    with st.container(horizontal=True):
        download_all(lambda: files, f"{dataset['name']}, release {number}", key="release-zip", type="primary")
        for name in FIRST:
            if name in files:
                _download(files, name)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        others = [name for name in files if name not in FIRST]
        name = st.selectbox("Other files", others, format_func=lambda name: WORDS.get(name, name), key="release-file")
        _download(files, name, "Download this file")
    st.caption(
        "This release is in the budget record, and a copy of all files lies beside it. "
        "Downloading again uses no budget.",
        help=plain(f"Noise: {facts['made_by']['noise']}.", 400),
    )


def _download(files: dict[str, bytes], name: str, label: str = "") -> None:
    """A button for one file, named by its words unless `label` is given."""
    st.download_button(label or WORDS[name], files[name], name, on_click="ignore", key=f"release-{label or name}")
