"""Texts as they would be, had their file been read in another encoding.

So a table is known by either reading.
"""

import re
from contextlib import suppress

import pandas as pd

UTF_8 = "utf-8"
WINDOWS_1252 = "windows-1252"
MISREADINGS = (
    (UTF_8, WINDOWS_1252),
    (WINDOWS_1252, UTF_8),
)  # the encoding that a text was read by, and the one to read it by instead
Misreading = tuple[str, str]
ESCAPED_BYTE_PATTERN = re.compile(
    rb"\\x([89a-f][0-9a-f])"
)  # a byte that the encoding does not have, as `text_file` writes it


def misread_text(text: str, misreading: Misreading) -> str:
    r"""Return the text that the same bytes are in another encoding.

    It is the text itself if the first encoding cannot write it. A byte that an encoding does not
    have is the text `\xfc` in a cell. A file that holds these four signs themselves is taken for
    one with the byte: then only its bytes, and its cells as read, are known again.
    """
    if _is_encoding_independent(text):
        return text
    encoding, other_encoding = misreading
    try:
        content = text.encode(encoding)
    except UnicodeEncodeError:
        return text
    content = ESCAPED_BYTE_PATTERN.sub(lambda byte: bytes([int(byte[1], 16)]), content)
    return content.decode(other_encoding, "backslashreplace")


def misread_cells(cells: pd.Series) -> dict[Misreading, pd.Series]:
    """Return a column's cells in each of MISREADINGS in which they say something else.

    Only texts are changed.
    """
    if cells.dtype.kind in "iufbM":
        return {}
    values = cells.astype(object).tolist()
    with suppress(TypeError):  # not all of them are texts
        if _is_encoding_independent("".join(values)):
            return {}
    distinct_texts = {
        value for value in map(_text_or_empty, values) if not _is_encoding_independent(value)
    }
    misread_columns = {}
    for misreading in MISREADINGS:
        misread_texts = {text: misread_text(text, misreading) for text in distinct_texts}
        if any(text != other for text, other in misread_texts.items()):
            misread_columns[misreading] = pd.Series(
                [misread_texts.get(_text_or_empty(value), value) for value in values], dtype=object
            )
    return misread_columns


def _is_encoding_independent(text: str) -> bool:
    """Return whether a text is the same in every encoding."""
    return text.isascii() and "\\x" not in text


def _text_or_empty(value: object) -> str:
    """Return a cell's text; empty for a cell that is no text, as a list may be."""
    return value if isinstance(value, str) else ""
