"""Choice of a table: upload, server file or sample; its text format; its schema as a file."""

import json
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import DeletedFile

from dpcore import InputError, read_json
from dpcore.data.readers import readable_table_endings
from dpcore.data.statistics_files.statistics_file import (
    INSTALL_COMMAND,
    is_statistics_reader_installed,
)

from ..components import inline_container
from ..jobs.table_changes import (
    UPLOAD_PROBLEM_KEY,
    cancel_table_jobs,
    draw_upload_progress,
    redo_change,
    show_upload_problem,
    start_schema_change,
    store_schema_problem,
    undo_change,
)
from ..session import (
    Table,
    is_public_host,
    owner,
    server_label,
    session,
    visible_table,
    whole_table,
)
from ..session.current_table import SAMPLES, use_sample
from ..session.session import forget_table
from . import server_tables
from .file_reading import start_reading_upload
from .reading_doubts import FILE_GONE_TEXT

UPLOAD_STORAGE_TEXT = (
    "An upload stays in {here}'s memory for this session. It goes within two minutes after you "
    "close the tab. "
    "Parts of large uploads may pass through a temporary file that no other program sees. What "
    "you type about its "
    "columns is kept in your browser."
)
IN_PARTS_STORAGE_TEXT = (
    "This table stays where it lies on {here}. Its first rows and its counts are kept in memory "
    "for "
    "this session. They go within two minutes after you close the tab."
)


def choose_table() -> Table:
    """Draw the choice of a table and how it was read; return the table in use."""
    st.session_state["sample"] = None if visible_table().uploaded else visible_table().name
    title_by_sample = {name: title for name, (title, _) in SAMPLES.items()}
    with inline_container(key="choose"):
        if not owner.has_samples_only():
            _draw_table_upload()
        with st.popover("Take a sample", type="tertiary"):
            st.selectbox(
                "Sample",
                list(SAMPLES),
                None,
                title_by_sample.get,
                key="sample",
                on_change=_take_sample,
            )
        server_tables.draw_server_tables()
        if visible_table().uploaded:
            st.button("Forget my table", on_click=forget_table, type="tertiary")
        _draw_undo()
    _draw_upload_notes()
    with st.container():  # so that what is below keeps its place
        draw_upload_progress()
        show_upload_problem()
    return visible_table()


def _draw_table_upload() -> None:
    st.file_uploader(
        "Upload a table",
        [ending.removeprefix(".") for ending in readable_table_endings()],
        key="upload",
        on_change=_take_upload,
        help=UPLOAD_STORAGE_TEXT.format(here=server_label()),
        label_visibility="collapsed",
    )


def _draw_upload_notes() -> None:
    """Draw what a person should know before an upload, or why there is none."""
    if owner.has_samples_only():
        st.info(owner.samples_only_text(), icon=":material/info:")
        if owner.is_in_frame() and not owner.is_demo() and st.context.url:
            st.link_button("Open in a window of its own", st.context.url)
        return
    if not is_statistics_reader_installed():
        st.caption(
            "Files of SPSS, Stata and SAS cannot be read yet. Whoever runs the app can add that: "
            f"`{INSTALL_COMMAND}`"
        )
    if is_public_host():
        st.warning(
            "This server can be reached by others, and whoever runs it can see what you upload. "
            "Upload only what "
            "may be shared with them; for private tables run the app on your own machine."
        )


def _draw_undo() -> None:
    """Draw the buttons that take the last change back and make it again, where there is one."""
    history = session().history
    if not history.past and not history.undone:
        return
    for label, icon, states, on_click in (
        ("Undo", ":material/undo:", history.past, undo_change),
        ("Redo", ":material/redo:", history.undone, redo_change),
    ):
        st.button(
            label,
            key=label.lower(),
            icon=icon,
            disabled=not states,
            on_click=on_click,
            type="tertiary",
        )


def _take_sample() -> None:
    if st.session_state["sample"] is not None:
        st.session_state.pop("_lost", None)
        cancel_table_jobs()
        use_sample(st.session_state["sample"])


def _uploaded_file(key: str) -> Any:
    """Return the file in an uploader; None if the server no longer holds it.

    In that case a message is put on the page.
    """
    file = st.session_state[key]
    if isinstance(file, DeletedFile):
        st.session_state[UPLOAD_PROBLEM_KEY] = FILE_GONE_TEXT
        return None
    return file


def _take_upload() -> None:
    """Start reading the file just uploaded.

    Until then, and if it cannot be read, the table is the one that was there.
    """
    file = _uploaded_file("upload")
    if file is not None:
        start_reading_upload(file.name, file, {})


def draw_schema_upload(current: Table) -> None:
    """Draw an uploader for a schema file, where a tab may upload."""
    if owner.has_samples_only():
        return
    key = f"schema-file-{current.version}"
    st.file_uploader("Load (schema.json)", ["json"], key=key, on_change=_take_schema, args=(key,))


def _take_schema(key: str) -> None:
    """Set the table's schema from an uploaded file, whatever was guessed.

    It is a person's own statement.
    """
    file = _uploaded_file(key)
    if file is None:
        return
    try:
        schema = read_json(file, file.name)
    except InputError as error:
        store_schema_problem(whole_table(), str(error))
    else:
        start_schema_change(lambda target, progress: target.set_schema(schema, progress))


def draw_schema_download(current: Table) -> None:
    """Draw a download button for the schema."""
    text = json.dumps(current.schema, indent=2, ensure_ascii=False)
    st.download_button(
        "Save (schema.json)", text, "schema.json", "application/json", on_click="ignore"
    )
