"""Choose a table, uploaded, on this server or a sample; read it again in another way; take and hand out its schema."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import DeletedFile

from dpcore import InputError, read_json
from dpcore.schema.text_format import DELIMITERS, ENCODINGS

from ..components import row
from ..jobs.table_changes import UNREAD, arriving, attempt, drop, refuse, say_unread
from ..session import Table, clean, here, plain, public_host, table, whole_table
from ..session.current_table import SAMPLES, show, use_sample
from ..session.session import forget
from . import server_tables
from .file_reading import bring

GONE = "The file is no longer at hand. Choose it again."
WHERE = (
    "An upload stays in {here}'s memory for this session. It goes within two minutes after you close the tab. "
    "Parts of large uploads may pass through a temporary file that no other program sees. What you type about its "
    "columns is kept in your browser."
)
WHERE_IN_PARTS = (
    "This table stays where it lies on {here}. Its first rows and its counts are kept in memory for "
    "this session. They go within two minutes after you close the tab."
)
WRITTEN = "_constraints-written"  # what the table said when it was written into the field, and into which
LINES = {False: "Read each line as a row", True: "Allow line breaks inside values"}
WAYS = (
    ("encoding", "Read as {}", ENCODINGS),
    ("delimiter", "Separate by {}", DELIMITERS),
    ("line_breaks", "{}", LINES),
)
EXAMPLE = '[{"order": ["first_year", "last_year"]}, {"impossible": {"age": {"to": 14}, "married": "yes"}}]'
CONSTRAINTS = (
    'What everybody knows: {"order": ["start", "end"]}, numbers that never fall; {"impossible": {"age": {"to": 14}, '
    '"married": "yes"}}, values that never occur together; {"within": ["city", "county"], "which": {"Lyon": "Rhône"}}. '
    "No synthetic row breaks one. A real row that does is counted as it is."
)


def choose_table() -> Table:
    """Where the table comes from, and how it was read."""
    st.session_state["sample"] = None if table().uploaded else table().name
    title_by_sample = {name: title for name, (title, _) in SAMPLES.items()}
    with row(key="choose"):
        st.file_uploader(
            "Upload a table", ["csv", "tsv", "txt", "xlsx", "parquet"], key="upload", on_change=_take_upload,
            help=WHERE.format(here=here()), label_visibility="collapsed",
        )  # fmt: skip
        with st.popover("Take a sample", type="tertiary"):
            st.selectbox("Sample", list(SAMPLES), None, title_by_sample.get, key="sample", on_change=_take_sample)
        server_tables.offer()
        if table().uploaded:
            st.button("Forget my table", on_click=forget, type="tertiary")
    if public_host():
        st.warning(
            "This server can be reached by others, and whoever runs it can see what you upload. Upload only what "
            "may be shared with them; for private tables run the app on your own machine."
        )
    with st.container():  # so that what is below keeps its place
        arriving()
        say_unread()
    return table()


def _take_sample() -> None:
    if st.session_state["sample"] is not None:
        st.session_state.pop("_lost", None)
        drop()
        use_sample(st.session_state["sample"])


def ways_to_read(current: Table) -> None:
    """Other ways to read a text file, one click each."""
    st.caption("If that is wrong, one click reads the file again. Its columns are then guessed anew.")
    with st.container(horizontal=True):
        for name, label, text_by_value in WAYS:
            for value in (value for value in text_by_value if value != getattr(current.format, name)):
                button_text = label.format(text_by_value[value])
                st.button(button_text, key=f"again-{button_text}", on_click=_again, args=(name, value))


def _again(name: str, value: Any) -> None:
    """Read the text file of the table in use once more, with another entry in what is known of its format."""
    current, uploaded = whole_table(), st.session_state.get("upload")
    format, keys = replace(current.format, **{name: value}), (server_tables.PATH, server_tables.CHOSEN)
    matching_keys = [key for key in keys if Path(st.session_state.get(key) or "").name == current.name]
    if getattr(uploaded, "name", None) == current.name:
        bring(uploaded.name, uploaded, format)
    elif matching_keys:
        server_tables.take(matching_keys[0], format)
    else:
        st.session_state[UNREAD] = GONE


def _given(key: str) -> Any:
    """Return the file in an uploader; None, with a message on the page, where the server no longer holds it."""
    file = st.session_state[key]
    if isinstance(file, DeletedFile):
        st.session_state[UNREAD] = GONE
        return None
    return file


def _take_upload() -> None:
    """Read the file just uploaded; until then, and if it cannot be read, the table is the one that was there."""
    file = _given("upload")
    if file is not None:
        bring(file.name, file)


def upload_schema(current: Table) -> None:
    """A schema from a file."""
    key = f"schema-file-{current.version}"
    st.file_uploader("Load (schema.json)", ["json"], key=key, on_change=_take_schema, args=(key,))


def _take_schema(key: str) -> None:
    """A schema from a file: a person's own statement, whatever was guessed."""
    file = _given(key)
    if file is None:
        return
    try:
        schema = read_json(file, file.name)
    except InputError as error:
        refuse(whole_table(), str(error))
    else:
        attempt(lambda target, progress: target.set_schema(schema, progress))


def download_schema(current: Table) -> None:
    """The schema as a file."""
    text = json.dumps(current.schema, indent=2, ensure_ascii=False)
    st.download_button("Save (schema.json)", text, "schema.json", "application/json", on_click="ignore")


def impossible(current: Table) -> None:
    """What cannot occur together, as a JSON list."""
    key = f"constraints-{current.identity}"
    if key not in st.session_state or st.session_state.get(WRITTEN) != (key, current.constraints):
        show(key, _listed(current.constraints))  # not what was refused: a person goes on from there
        st.session_state[WRITTEN] = key, current.constraints
    st.text_area(
        "Impossible combinations: constraints, as a JSON list", height="content",
        key=key, placeholder=EXAMPLE, help=CONSTRAINTS, on_change=_constrain, args=(key,),
    )  # fmt: skip
    if current.domain is not None and current.domain.constraints:
        constraints_text = clean("; ".join(c.words for c in current.domain.constraints))
        st.caption(plain(f"Impossible combinations: {constraints_text}.", 400))


def _constrain(key: str) -> None:
    try:
        constraints = json.loads(st.session_state[key] or "[]")
    except (json.JSONDecodeError, RecursionError) as error:
        refuse(whole_table(), f"the constraints are no JSON list: {getattr(error, 'msg', 'too deep')}")
    else:
        attempt(lambda target, _: target.constrain(constraints))


def _listed(constraints: list[Any]) -> str:
    """One constraint a line."""
    lines = (json.dumps(constraint, ensure_ascii=False) for constraint in constraints)
    return "[" + ",\n ".join(lines) + "]" if constraints else ""
