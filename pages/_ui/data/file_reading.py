"""Reading of an uploaded file into a table and its first schema, which takes a while."""

from functools import partial
from typing import Any

from dpcore import InputError
from dpcore.core.job import Job
from dpcore.data.readers import MAX_UPLOADED_CELLS, load_table
from dpcore.data.readers import LoadedTable as Read
from dpcore.schema.inference.proposal import propose_schema
from dpcore.schema.text_format import TextFormat

from ..jobs.table_changes import start_table_upload
from ..session import LargeTable, Table

# shares of the work on a file
READ_SHARE = 0.5
INSPECTED_SHARE = 0.9


def start_reading_upload(name: str, file: Any, format: TextFormat | None = None) -> None:
    """Start reading an uploaded file, and stop reading any other one.

    A text is read in the given format, or in a guessed one.
    """
    start_table_upload(partial(_read_upload, name, file, format=format))


def _read_upload(name: str, file: Any, job: Job, format: TextFormat | None = None) -> Table:
    """Return the table in an uploaded file."""
    return table_from_loaded(load_file(name, file, job, format), name, job)


def load_file(name: str, file: Any, job: Job, format: TextFormat | None) -> Read:
    """Return a file's contents, within the size limit of an upload."""
    text = "The file is read"
    job.report_progress(0.0, text)
    return load_table(
        file,
        name,
        MAX_UPLOADED_CELLS,
        format=format,
        progress=lambda done, total: job.report_progress(READ_SHARE * done / total, text),
    )


def table_from_loaded(
    loaded_table: Read, name: str, job: Job, large_table: LargeTable | None = None
) -> Table:
    """Return the table of a loaded file with a guessed schema, whose bounds are empty.

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

    proposal = propose_schema(
        loaded_table.frame, stated=loaded_table.stated_columns, progress=report_inspected
    )
    schema: dict[str, Any] = {"columns": proposal.columns, "peeked": True}
    file_format = loaded_table.format.to_json()
    if file_format:
        schema["file"] = file_format
    return Table(
        name,
        loaded_table.frame,
        schema,
        f"Read as {loaded_table.description}.",
        uploaded=True,
        guesses=proposal.guesses,
        text_format=loaded_table.format,
        doubts=loaded_table.doubts,
        first_lines=loaded_table.preview,
        sha256=loaded_table.sha256,
        large_table=large_table,
        progress=report_checked,
    )
