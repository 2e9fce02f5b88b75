"""A finished release that a tab opens: where it comes from, and whether it is as it was signed."""

from collections.abc import Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore import InputError
from dpcore.core.job import Job
from dpcore.core.types import value_object
from dpcore.evaluation.project import MAX_PATH_CHARS
from dpcore.release.evidence.verifier import UNCHECKED_CLAIMS
from dpcore.release.received_release import (
    CopyFiles,
    ReceivedRelease,
    copy_folder,
    receive_release,
    unpack_release,
)

from ..jobs import close_job, job_result
from ..released.earlier_releases import EarlierRelease, earlier_releases
from ..session import escape_markdown, is_public_host, owner, printable_text, session
from ..session.release_ledger import find_ledger_path

OPEN_JOB = "opened-release"  # its name in a session
FROM_FILE = "A ZIP file"
FROM_FOLDER = "A folder on this machine"
FROM_LEDGER = "One of yours"
UPLOAD_KEY = "release-upload"
FOLDER_KEY = "released-folder"
MAX_KEY_CHARS = 200
MAX_VERIFICATIONS = 2  # at a time
RELATIVE_FOLDER_TEXT = (
    "a release's folder must be named from its beginning, such as /home/you/first"
)


@value_object
class ReleaseSource:
    """Where a release comes from: what tells it from others, and how its files are copied."""

    identity: tuple[Any, ...]
    copy_files: CopyFiles


def choose_release() -> ReleaseSource | None:
    """Draw the choice of a release, and return it; None where none is chosen."""
    if owner.has_samples_only():
        st.info(owner.samples_only_text(), icon=":material/info:")
        return None
    releases = _own_releases()
    kinds = [FROM_FILE]
    if not is_public_host():
        kinds.append(FROM_FOLDER)
    if releases:
        kinds.append(FROM_LEDGER)
    kind = FROM_FILE
    if len(kinds) > 1:
        kind = st.radio(
            "Where is the release?",
            kinds,
            kinds.index(FROM_LEDGER if releases else FROM_FILE),
            horizontal=True,
            key="release-source",
            persist_state="session",
        )
    if kind == FROM_FOLDER:
        return _choose_folder()
    if kind == FROM_LEDGER:
        return _choose_earlier_release(releases)
    return _choose_file()


def _own_releases() -> Mapping[int, EarlierRelease]:
    """Return the releases beside the ledger that this tab may see."""
    ledger = find_ledger_path()
    return {} if ledger is None else earlier_releases(ledger)


def _choose_file() -> ReleaseSource | None:
    upload = st.file_uploader(
        "A release, packed as one ZIP file",
        "zip",
        key=UPLOAD_KEY,
        on_change=_close_if_empty,
        args=(UPLOAD_KEY,),
        help="As the button All files (ZIP) on Release gives it.",
    )
    if upload is None:
        return None
    archive = BytesIO(upload.getvalue())
    return ReleaseSource(("file", upload.file_id), partial(unpack_release, archive))


def _choose_folder() -> ReleaseSource | None:
    text = st.text_input(
        "The release's folder",
        key=FOLDER_KEY,
        on_change=_close_if_empty,
        args=(FOLDER_KEY,),
        placeholder="Such as /home/you/first",
        max_chars=MAX_PATH_CHARS,
        persist_state="session",
    ).strip()
    if not text:
        return None
    try:
        folder = Path(text).expanduser()
        if not folder.is_absolute():
            raise InputError(RELATIVE_FOLDER_TEXT)
        changed = folder.stat().st_mtime_ns
    except (OSError, ValueError, RuntimeError) as error:
        reason = error if isinstance(error, InputError) else "there is no such folder"
        st.error(f"{escape_markdown(text, 200)}: {escape_markdown(reason, 200)}.")
        return None
    return ReleaseSource(("folder", text, changed), partial(copy_folder, folder))


def _choose_earlier_release(releases: Mapping[int, EarlierRelease]) -> ReleaseSource:
    entry = st.selectbox(
        "Release",
        sorted(releases, reverse=True),
        format_func=lambda number: releases[number].label,
        key="released-entry",
    )
    release = releases[entry]
    return ReleaseSource(
        ("ledger", str(release.folder), release.receipt["hash"]),
        partial(copy_folder, release.folder),
    )


def ask_for_key() -> str:
    """Draw an input for the public key of the release's owner; return it, "" without one."""
    return st.text_input(
        "Its owner's public key (optional)",
        key="released-key",
        max_chars=MAX_KEY_CHARS,
        placeholder="64 characters, from the owner and not from the release",
        persist_state="session",
        help="Without it, you learn that nothing was changed since someone signed, not who.",
    ).strip()


def received_release(source: ReleaseSource | None, key: str) -> ReceivedRelease | None:
    """Return the chosen release as verified, or the open one; None while there is none."""
    if source is None:
        job = session().find_resource(OPEN_JOB)
        return job.result if isinstance(job, Job) else None
    return job_result(
        OPEN_JOB,
        (source.identity, key),
        "release-verification",
        partial(_verify_in_job, source, key),
        "Check it again",
        MAX_VERIFICATIONS,
    )


def _verify_in_job(source: ReleaseSource, key: str, job: Job) -> ReceivedRelease:
    job.report_progress(0.2, "The release is copied and verified")
    return receive_release(source.copy_files, key)


def draw_verdict(received: ReceivedRelease) -> None:
    """Draw whether a release is as it was signed, by whom, and what no check can find out."""
    if not received.is_sound:
        faults = [check for check in received.checks if not check.holds]
        lines = [
            f"- **{escape_markdown(check.name)}**: {escape_markdown(check.finding, 300)}"
            for check in faults
        ]
        st.error(
            "This release is not as it was signed, so it is not opened. Ask its owner for a "
            "whole copy.\n\n" + "\n".join(lines),
            icon=":material/gpp_bad:",
        )
        return
    st.success(f"Verified: all {len(received.checks)} checks hold.", icon=":material/verified:")
    with st.expander("Who signed, and what was checked", icon=":material/fact_check:"):
        st.markdown(
            f"Signed by the key `{received.key}`. Compare it with the one that the owner "
            "publishes elsewhere."
        )
        st.dataframe(
            [
                {"check": check.name, "finding": printable_text(check.finding, 300)}
                for check in received.checks
            ],
            hide_index=True,
        )
        st.caption(f"On the owner's word alone: {UNCHECKED_CLAIMS}.")


def _close_if_empty(key: str) -> None:
    """Let go of the open release where a person has taken back the choice of it."""
    if not st.session_state.get(key):
        close_job(OPEN_JOB)
