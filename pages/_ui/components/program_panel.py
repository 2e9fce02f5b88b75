"""The code behind what a page shows: a command, a script and a notebook, and their files."""

import json

import streamlit as st

from dpcore.evaluation.experiment import SCHEMA_FILE
from dpcore.evaluation.programs.program import Program

from ..session.table import Table

PANEL_KEY = "code"  # of the panel that is open or not, on the page that is drawn
SCRIPT_HEIGHT = 320  # pixels
FILES_TEXT = (
    "The code reads the table in the folder in which it runs; the command also needs "
    f"{SCHEMA_FILE}."
)
COMMAND_ONLY_TEXT = (
    "There is a command only: the script would need the table in memory, with all of its "
    "columns decided."
)


def draw_program(program: Program, table: Table) -> None:
    """Draw an expander with a program about a table, and its files.

    It is written only while the expander is open.
    """
    expander = st.expander("Show code", icon=":material/code:", key=PANEL_KEY, on_change="rerun")
    if not expander.open:
        return
    has_code = bool(program.cells) and table.trial is None and table.large_table is None
    with expander:
        st.code(program.to_command(), language="bash", wrap_lines=True)
        if has_code:
            st.code(program.to_python(), language="python", height=SCRIPT_HEIGHT)
        else:
            st.caption(COMMAND_ONLY_TEXT)
        st.caption(FILES_TEXT)
        with st.container(horizontal=True):
            if has_code:
                _draw_download("Python script", program.to_python(), "explore.py", "text/x-python")
                _draw_download(
                    "Notebook", program.to_notebook(), "explore.ipynb", "application/x-ipynb+json"
                )
            schema_text = json.dumps(table.schema, indent=2, ensure_ascii=False)
            _draw_download("Schema", schema_text, SCHEMA_FILE, "application/json")
            if not table.uploaded:
                st.download_button(
                    "Table",
                    lambda: table.frame.to_csv(index=False),
                    table_file_name(table),
                    "text/csv",
                    on_click="ignore",
                    icon=":material/download:",
                )


def table_file_name(table: Table) -> str:
    """Return the name of a table's file, beside which its code runs."""
    return table.name if table.uploaded else f"{table.name}.csv"


def _draw_download(label: str, text: str, file_name: str, file_type: str) -> None:
    """Draw the button that downloads a text."""
    st.download_button(
        label, text, file_name, file_type, on_click="ignore", icon=":material/download:"
    )
