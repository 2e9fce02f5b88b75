"""The files of one release as a page holds them: bytes by name, never made again."""

import io
import json
import re
import tomllib
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.accuracy.meaning_of_epsilon import Promise, guess_tile_texts
from dpcore.core.numbers import unit_noun
from dpcore.core.provenance import Provenance
from dpcore.data.privacy_unit import ROW_UNIT
from dpcore.release import tiles as tiled
from dpcore.release.evidence.card import SEVERAL_ROWS_CAVEAT

from ..components import draw_heading, show_tiles
from ..session import escape_markdown

# by name
FILE_LABELS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
BUTTON_FILES = ("card.html", "synthetic.csv")  # each has a button of its own, all others one list
PUBLISH_TEXT = "**After signing, you may publish everything.**"
OUTPUTS_TEXT = (
    "- **Card**, signed by whoever answers for the data\n"
    "- **Invented rows** and noisy answers\n"
    "- **Proof** anyone can recheck\n\n" + PUBLISH_TEXT
)
SCHEMA_OUTPUT_TEXT = "- **Schema**, as measured by this release; later releases use it as public\n"


def zip_files(files: dict[str, bytes]) -> bytes:
    """Return one ZIP archive of all files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for name, content in files.items():
            zip_file.writestr(name, content)
    return buffer.getvalue()


def draw_download_all(
    load_files: Callable[[], dict[str, bytes]], title: str, **button_args: Any
) -> None:
    """Draw a download button for all files of a release in one ZIP, named after `title`."""
    name = re.sub(r"[^\w]+", "-", title).strip("-") or "release"
    st.download_button(
        "All files (ZIP)",
        lambda: zip_files(load_files()),
        f"{name}.zip",
        "application/zip",
        icon=":material/folder_zip:",
        on_click="ignore",
        **button_args,
    )


def draw_release_outputs(files: dict[str, bytes]) -> None:
    """Draw what was released, what it means and cost, and all downloads.

    None of them runs anything again.
    """
    draw_release_summary(files)
    st.markdown(PUBLISH_TEXT)
    draw_release_downloads(files)
    noise = json.loads(files["release.json"])["made_by"]["noise"]
    st.caption(
        "This release is in the budget record, and a copy of all files lies beside it. "
        "Downloading again uses no budget.",
        help=escape_markdown(f"Noise: {noise}.", 400),
    )


def release_number(files: Mapping[str, bytes]) -> int:
    """Return which of its data set's releases this one is; the first is 1."""
    return len(json.loads(files["account.json"])["releases"])


def release_title(files: Mapping[str, bytes]) -> str:
    """Return the name of a release's data set and its number, as plain text."""
    name = json.loads(files["release.json"])["dataset"]["name"]
    return f"{name}, release {release_number(files)}"


def draw_release_summary(files: dict[str, bytes]) -> None:
    """Draw what was released, how exact it is, and what it means for a person."""
    facts = json.loads(files["release.json"])
    name = escape_markdown(facts["dataset"]["name"])
    draw_heading(f"Release {release_number(files)} of {name}", Provenance.RELEASED)
    promise = Promise.of_release(facts)
    utility = facts["utility"]
    protection = facts["protects"]
    unit = unit_noun(protection["rows_per_person"])
    tiles = tiled.all_predicted_tiles(utility["predicted"], protection["records"], unit)
    tiles += tiled.promised_error_tile(utility["promised"], protection["records"], unit)
    tiles.append(guess_tile_texts(promise.max_guess_probability()))
    show_tiles(tiles, utility["sentence"])
    st.markdown(f"**{escape_markdown(promise.suspicion_sentence, 500)}**")
    if protection["unit"] == ROW_UNIT:
        st.caption(SEVERAL_ROWS_CAVEAT)
    if facts["measured"]:
        st.markdown("**What was measured of the schema, protected:**")
        lines = [
            f"- **{escape_markdown(m['column'])}**: {escape_markdown(m['found'], 500)}."
            for m in facts["measured"]
        ]
        st.markdown("\n".join(lines))


def draw_release_downloads(files: dict[str, bytes]) -> None:
    """Draw buttons for all files in one ZIP, for the usual ones, and for any other."""
    with st.container(horizontal=True):
        draw_download_all(lambda: files, release_title(files), key="release-zip", type="primary")
        for name in BUTTON_FILES:
            if name in files:
                _draw_download(files, name)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        others = [name for name in files if name not in BUTTON_FILES]
        name = st.selectbox(
            "Other files",
            others,
            format_func=lambda name: FILE_LABELS.get(name, name),
            key="release-file",
        )
        _draw_download(files, name, "Download this file")


def _draw_download(files: dict[str, bytes], name: str, label: str = "") -> None:
    """Draw a download button for one file, with a usual label unless `label` is given."""
    st.download_button(
        label or FILE_LABELS[name],
        files[name],
        name,
        on_click="ignore",
        key=f"release-{label or name}",
    )
