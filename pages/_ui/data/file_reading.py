"""What takes a while on this page: reading a file, of which the table and its first schema are made."""

from functools import partial
from typing import Any

from dpcore import InputError
from dpcore.data.readers import UPLOADED, read
from dpcore.data.readers import LoadedTable as Read
from dpcore.schema.inference.infer_schema import guess_columns
from dpcore.schema.text_format import TextFormat

from ..jobs import Work
from ..jobs.table_changes import arrive
from ..session import Large, Table

READ, LOOKED_AT = 0.5, 0.9  # shares of the work on a file


def bring(name: str, file: Any, format: TextFormat | None = None) -> None:
    """Begin to read an uploaded file, a text in a known or guessed format, and no longer another one."""
    arrive(partial(_read, name, file, format=format))


def _read(name: str, file: Any, work: Work, format: TextFormat | None = None) -> Table:
    """Return the table in an uploaded file."""
    return made_of(loaded(name, file, work, format), name, work)


def loaded(name: str, file: Any, work: Work, format: TextFormat | None) -> Read:
    """What is in a file, within what an upload may be."""
    text = "The file is read"
    work.tell(0.0, text)
    return read(file, name, UPLOADED, format=format, told=lambda share: work.tell(READ * share, text))


def made_of(reading: Read, name: str, work: Work, large: Large | None = None) -> Table:
    """The table of what was read, of a `large` one its first rows; bounds are for a person to fill in.

    What its columns seem to be is guessed from the records, so its schema begins as a private peek. Raises InputError
    for a table without rows: nothing can be said of it, and it must not take the place of another one.
    """
    if reading.frame.empty:
        raise InputError(f"{name} has names of columns and no rows: bring a file that has rows, too")
    column_count = len(reading.frame.columns)

    def looked(at: int) -> None:
        work.tell(READ + (LOOKED_AT - READ) * at / column_count, f"Column {at + 1:,} of {column_count:,} is looked at")

    def checked(share: float, words: str) -> None:
        work.tell(LOOKED_AT + (1 - LOOKED_AT) * share, words)

    guesses = {guess.name: guess for guess in guess_columns(reading.frame, looked)}
    columns = {name: guess.entry for name, guess in guesses.items() if not guess.aside}
    schema = {"columns": columns, "peeked": True} | (
        {"file": file_format} if (file_format := reading.format.to_json()) else {}
    )
    return Table(
        name, reading.frame, schema, f"Read as {reading.how}.", uploaded=True, guesses=guesses, format=reading.format,
        sha256=reading.sha256, large=large, told=checked,
    )  # fmt: skip
