"""The shape of a table's file, as a schema states it."""

import codecs
from functools import cache

from ..core.types import Json, by_name

DELIMITER_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# those that a page offers; a schema may name any other one that Python has
ENCODING_NAMES = {"utf-8": "UTF-8", "windows-1252": "Windows-1252", "utf-16": "UTF-16"}
FIRST_LINE = "first"  # the names are in the first line that is not empty
ROW_NUMBER_NAME = "row"  # of a first column without a name, as those that count rows have none
NO_HEADER = "none"  # no line holds the names: they are c1, c2, …
SPACES_AS_WRITTEN = ""
SPACES_AFTER_DELIMITER = "after"  # those after a delimiter are not part of a value, nor of a quote
SPACES_BETWEEN_COLUMNS = "between"  # runs of spaces separate the columns
# encodings of several bytes a letter in which an end of a line ends every letter before it
MULTIBYTE_ENCODINGS = (
    "utf-8",
    "utf-8-sig",
    "big5",
    "big5hkscs",
    "cp932",
    "cp949",
    "cp950",
    "gb2312",
    "gbk",
    "shift_jis",
)


@by_name
class TextFormat:
    r"""The shape of a table's file as a schema states it: nothing is inferred from its rows.

    Of a text: without a `delimiter` it is the one that the header shows, as names of columns are
    public, and a comma where there are none. A cell that is not in the `encoding` says its bytes,
    `Z\xfcrich`, and no other cell is read differently. A line is a row, unless cells in quotes may
    hold `line_breaks`: then one quote changes which rows follow it. `spaces` says what a space
    beside a delimiter is.

    Of a text and a sheet: `header` is the number of the line that holds the names, `FIRST_LINE` or
    `NO_HEADER`; then `width` is the number of columns. Of names in several lines it is the last one
    of these `header_lines`, and the name of a group of columns stands before each of theirs. The
    lines above them, and the last `skip_end` ones, are no rows. `sheet` is the name of an Excel
    file's sheet, the first one if it is empty.
    """

    delimiter: str = ""
    encoding: str = "utf-8"
    line_breaks: bool = False
    header: int | str = FIRST_LINE
    header_lines: int = 1
    width: int = 0
    skip_end: int = 0
    spaces: str = SPACES_AS_WRITTEN
    sheet: str = ""

    @property
    def description(self) -> str:
        """The format of a text in words."""
        separator = f", separated by {DELIMITER_NAMES[self.delimiter]}" if self.delimiter else ""
        if self.spaces == SPACES_BETWEEN_COLUMNS:
            separator = ", separated by spaces"
        line_breaks = ", with line breaks inside values" if self.line_breaks else ""
        encoding = ENCODING_NAMES.get(self.encoding, self.encoding)
        return encoding + separator + line_breaks + self.line_description

    @property
    def line_description(self) -> str:
        """The lines that are rows in words; empty where these are all below the first one."""
        parts = ""
        if self.header == NO_HEADER:
            parts += ", without names of columns"
        elif self.header_lines > 1:
            parts += f", names in lines {self.first_header_line} to {self.header}"
        elif self.header != FIRST_LINE:
            parts += f", names in line {self.header}"
        if self.skip_end == 1:
            parts += ", without the last line"
        elif self.skip_end:
            parts += f", without the last {self.skip_end} lines"
        return parts

    @property
    def first_header_line(self) -> int:
        """The number of the first line that holds names, where the last one is stated."""
        return int(self.header) - self.header_lines + 1

    def to_json(self) -> Json:
        """Return the entry "file" of a schema: only the settings that differ from the default."""
        return {
            name: value for name, value in vars(self).items() if value != getattr(TextFormat, name)
        }


DEFAULT_TEXT_FORMAT = (
    TextFormat()
)  # what a text file is read by where its schema says nothing of it


def encoding_name(name: str) -> str:
    """Return the one name of a text encoding that Python has under many; empty if it has none."""
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        return ""
    if not getattr(info, "_is_text_encoding", False) or info.incrementaldecoder is None:
        return ""
    for usual_name in ENCODING_NAMES:
        if codecs.lookup(usual_name).name == info.name:
            return usual_name
    return info.name


@cache
def keeps_lines_apart(encoding: str) -> bool:
    """Return whether no byte of a line can change how another line is read in an encoding.

    So it is if every byte is a letter by itself; of encodings of more bytes a letter, known ones
    are.
    """
    if encoding in MULTIBYTE_ENCODINGS:
        return True
    letters = [bytes([byte]).decode(encoding, "backslashreplace") for byte in range(256)]
    if not all(letters):
        return False
    return all(
        bytes([first, second]).decode(encoding, "backslashreplace")
        == letters[first] + letters[second]
        for first in range(256)
        for second in range(256)
    )
