"""Reading of an uploaded file into a table and its first schema, which takes a while."""

from functools import partial
from typing import Any

from dpcore import InputError
from dpcore.core.job import Job
from dpcore.core.types import Json
from dpcore.data.readers import MAX_UPLOADED_CELLS, load_table
from dpcore.data.readers import LoadedTable as Read
from dpcore.schema.cell_text import factorize_frame
from dpcore.schema.inference.proposal import propose_schema

from ..jobs.table_changes import start_table_upload
from ..session import LargeTable, Table, capitalize_first

# shares of the work on a file
READ_SHARE = 0.5
INSPECTED_SHARE = 0.9


def start_reading_upload(name: str, file: Any, stated: Json) -> None:
    """Start reading an uploaded file, and stop reading any other one.

    What is not `stated` of its shape, in the form of a schema's "file", is guessed.
    """
    start_table_upload(partial(_read_upload, name, file, stated))


def _read_upload(name: str, file: Any, stated: Json, job: Job) -> Table:
    """Return the table in an uploaded file."""
    return table_from_loaded(load_file(name, file, stated, job), name, stated, job)


def load_file(name: str, file: Any, stated: Json, job: Job) -> Read:
    """Return a file's contents, within the size limit of an upload."""
    text = "The file is read"
    job.report_progress(0.0, text)
    return load_table(
        file,
        name,
        MAX_UPLOADED_CELLS,
        stated=stated,
        progress=lambda done, total: job.report_progress(READ_SHARE * done / total, text),
    )


def table_from_loaded(
    loaded_table: Read,
    name: str,
    stated: Json,
    job: Job,
    large_table: LargeTable | None = None,
) -> Table:
    """Return the table of a loaded file with a guessed schema, whose bounds are empty.

    What a person has `stated` of the file's shape is kept for the next time that it is read.
    Of a `large_table` only the first rows were loaded; bounds are for a person to fill in. What its
    columns seem to be is guessed from the rows, so its schema begins as a private peek. Raises
    InputError for a table without rows: nothing can be said of it, and it must not take the place
    of
    another one.
    """
    if loaded_table.frame.empty:
        raise InputError(
            f"{name} has names of columns and no rows: bring a file that has rows, too"
        )

    def report_inspected(position: int, column_count: int) -> None:
        job.report_progress(
            READ_SHARE + (INSPECTED_SHARE - READ_SHARE) * position / column_count,
            f"Column {position + 1:,} of {column_count:,} is looked at",
        )

    def report_checked(share: float, text: str) -> None:
        job.report_progress(INSPECTED_SHARE + (1 - INSPECTED_SHARE) * share, text)

    factorized_frame = factorize_frame(loaded_table.frame)
    proposal = propose_schema(
        factorized_frame, stated=loaded_table.stated_columns, progress=report_inspected
    )
    schema: dict[str, Any] = {"columns": proposal.columns, "peeked": True}
    file_format = loaded_table.format.to_json()
    if file_format:
        schema["file"] = file_format
    return Table(
        name,
        loaded_table.frame,
        schema,
        f"Read as {loaded_table.description}.{_notes(loaded_table)}",
        uploaded=True,
        guesses=proposal.guesses,
        text_format=loaded_table.format,
        doubts=loaded_table.doubts,
        first_lines=loaded_table.preview,
        last_lines=loaded_table.left_out,
        stated_format=stated,
        sha256=loaded_table.sha256,
        large_table=large_table,
        factorized_frame=factorized_frame,
        progress=report_checked,
    )


def _notes(loaded_table: Read) -> str:
    """Return what was assumed of a file and cannot be read otherwise, as sentences."""
    texts = [doubt.text for doubt in loaded_table.doubts if not doubt.statement]
    return "".join(f" {capitalize_first(text)}." for text in texts)
