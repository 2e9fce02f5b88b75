"""The format of a text file, as a schema states it."""

from ..core.types import Json, by_name

DELIMITER_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
ENCODING_NAMES = {"utf-8": "UTF-8", "windows-1252": "Windows-1252", "utf-16": "UTF-16"}


@by_name
class TextFormat:
    r"""The format of a text file as a schema states it, so that nothing is inferred from its rows.

    Without a `delimiter` it is the one that the header shows, as names of columns are public. A
    cell that is not in the `encoding` says its bytes, `Z\xfcrich`, and no other cell is read
    differently. A line is a row, unless cells in quotes may hold `line_breaks`: then one quote
    changes which rows follow it.
    """

    delimiter: str = ""
    encoding: str = "utf-8"
    line_breaks: bool = False

    @property
    def description(self) -> str:
        """The format in words."""
        separator = f", separated by {DELIMITER_NAMES[self.delimiter]}" if self.delimiter else ""
        line_breaks = ", with line breaks inside values" if self.line_breaks else ""
        return ENCODING_NAMES[self.encoding] + separator + line_breaks

    def to_json(self) -> Json:
        """Return the entry "file" of a schema: only the settings that differ from the default."""
        return {
            name: value for name, value in vars(self).items() if value != getattr(TextFormat, name)
        }


DEFAULT_TEXT_FORMAT = (
    TextFormat()
)  # what a text file is read by where its schema says nothing of it
