"""The kind of a file by the bytes that it begins with, whatever its name says.

Only the first line counts, as it holds a text's header: whether a table is read must not depend on
what a row says.
"""

import codecs
from typing import BinaryIO

from ..core.errors import InputError
from ..core.types import value_object

MAX_START_BYTES = 4096  # bytes that are looked at
UTF_32_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
CONTROL_BYTES = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1a\x1b")  # which no text holds
BRING_TABLE = "bring the table as CSV, TSV, Excel (.xlsx) or Parquet"
UNPACK_ARCHIVE = "unpack it, and bring the table that is in it"
SAVE_AS_CSV = "open it in the program that wrote it, and save the table as CSV"
SAVE_AS_UTF_8 = "save it as UTF-8"


@value_object
class FileKind:
    """A kind of file in words, what to do about it, and the right endings of its name."""

    description: str
    advice: str = BRING_TABLE
    endings: tuple[str, ...] = ()


def _table_kind(description: str, *endings: str) -> FileKind:
    """Return a kind of file that is read as a table where its name has one of these endings."""
    advice = f"if it is the table, let its name end in {endings[0]}"
    return FileKind(description, advice, endings)


PNG = FileKind("a PNG picture")
JPEG = FileKind("a JPEG picture")
GIF = FileKind("a GIF picture")
PARQUET = _table_kind("a Parquet file", ".parquet")
ZIP = FileKind(
    "a ZIP archive", UNPACK_ARCHIVE, (".xlsx",)
)  # whether it is a workbook, its reader says
EXCEL = _table_kind("an Excel file", ".xlsx")
WORD = FileKind("a Word document")
OPEN_DOCUMENT = FileKind("an OpenDocument file", SAVE_AS_CSV)
OLD_OFFICE = FileKind("an old or password-protected Office file", SAVE_AS_CSV)
HTML = FileKind("a web page (HTML)")
XML = FileKind("an XML document")
UTF_32_TEXT = FileKind("UTF-32 text", SAVE_AS_UTF_8)
UTF_16_TEXT = FileKind("UTF-16 text without a byte order mark", SAVE_AS_UTF_8)
PROGRAM = FileKind("a program")
SPSS = _table_kind("an SPSS file", ".sav", ".zsav")
SAS_START = b"\0" * 12 + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf"

KIND_BY_SIGNATURE = {  # bytes that no text begins with
    b"\x89PNG\r\n\x1a\n": PNG,
    b"\xff\xd8\xff": JPEG,
    b"II*\0": FileKind("a TIFF picture"),
    b"MM\0*": FileKind("a TIFF picture"),
    b"%PDF-": FileKind("a PDF document"),
    b"\x1f\x8b": FileKind("a gzip archive", UNPACK_ARCHIVE),
    b"BZh91AY&SY": FileKind("a bzip2 archive", UNPACK_ARCHIVE),
    b"\xfd7zXZ\0": FileKind("an xz archive", UNPACK_ARCHIVE),
    b"\x28\xb5\x2f\xfd": FileKind("a Zstandard archive", UNPACK_ARCHIVE),
    b"7z\xbc\xaf\x27\x1c": FileKind("a 7-Zip archive", UNPACK_ARCHIVE),
    b"Rar!\x1a\x07": FileKind("a RAR archive", UNPACK_ARCHIVE),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": OLD_OFFICE,
    b"SQLite format 3\0": FileKind("an SQLite database", SAVE_AS_CSV),
    b"\x89HDF\r\n\x1a\n": FileKind("an HDF5 file", SAVE_AS_CSV),
    b"\x93NUMPY": FileKind("a NumPy array", endings=(".npy",)),
    b"ARROW1\0\0": FileKind("an Arrow (Feather) file", SAVE_AS_CSV),
    b"$FL2@(#)": SPSS,
    b"$FL3@(#)": SPSS,
    b"<stata_dta>": _table_kind("a Stata file", ".dta"),
    SAS_START: _table_kind("a SAS file", ".sas7bdat"),
    b"HEADER RECORD*******LIB": _table_kind("a SAS transport file", ".xpt"),
    b"{\\rtf": FileKind("a rich text document (RTF)"),
    b"\x7fELF": PROGRAM,
    b"\xcf\xfa\xed\xfe": PROGRAM,
}
# letters that a column's name may begin with: a byte that no text holds must follow
AMBIGUOUS_SIGNATURES = {
    b"GIF87a": GIF,
    b"GIF89a": GIF,
    b"BM": FileKind("a BMP picture"),
    b"RIFF": FileKind("a picture, sound or film (RIFF)"),
    b"OggS": FileKind("a sound (Ogg)"),
    b"ID3": FileKind("a sound (MP3)"),
    b"PAR1": PARQUET,
    b"MZ": PROGRAM,
}
KIND_BY_MARKUP = {
    b"<!doctype html": HTML,
    b"<html": HTML,
    b"<head>": HTML,
    b"<table": HTML,
    b"<?xml": XML,
}
KIND_BY_ARCHIVE_MEMBER = {  # names within an archive
    b"xl/": EXCEL,
    b"word/": WORD,
    b"mimetypeapplication/vnd.oasis.opendocument": OPEN_DOCUMENT,
    b"ppt/": FileKind("a PowerPoint presentation"),
    b"docProps/": _table_kind("an Office file", ".xlsx"),
}


def detect_file_kind(start: bytes, encoding: str = "") -> FileKind | None:
    """Return the kind of a file that begins with `start`; None for text, and for what is not known.

    Args:
        start: The first bytes, `MAX_START_BYTES` of them or all there are.
        encoding: That of the text as a schema states it; empty where none does.

    """
    for detect in (_kind_by_signature, _kind_by_archive_member, _kind_by_markup):
        kind = detect(start)
        if kind is not None:
            return kind
    if start.startswith(UTF_32_MARKS):
        return UTF_32_TEXT
    if encoding != "utf-16" and _is_unmarked_utf_16(start):
        return UTF_16_TEXT
    return None


def check_file_kind(
    file: BinaryIO, ending: str, expected: str = "a table", encoding: str = ""
) -> None:
    """Raise InputError if an open file is of another kind than its name's ending says.

    The file is left at its start.

    Args:
        file: The file, open for reading.
        ending: What its name ends in, such as ".csv".
        expected: What it should be, in words.
        encoding: As in `detect_file_kind`.

    Raises:
        InputError: The file's first bytes are those of another kind, which the message names.

    """
    file.seek(0)
    kind = detect_file_kind(file.read(MAX_START_BYTES), encoding)
    file.seek(0)
    if kind is None or ending in kind.endings:
        return
    advice = kind.advice if expected == "a table" else f"bring {expected}"
    raise InputError(f"this is {kind.description}, not {expected}; {advice}")


def _kind_by_signature(start: bytes) -> FileKind | None:
    """Return the kind whose signature the file begins with."""
    for signature, kind in KIND_BY_SIGNATURE.items():
        if start.startswith(signature):
            return kind
    line = _first_line(start)
    for letters, kind in AMBIGUOUS_SIGNATURES.items():
        if start.startswith(letters) and not CONTROL_BYTES.isdisjoint(line):
            return kind
    if start[:3] == b"\0\0\0" and start[4:8] == b"ftyp":
        return FileKind("a film or picture (MP4)")
    return None


def _kind_by_archive_member(start: bytes) -> FileKind | None:
    """Return the kind of an archive by the names of its members.

    They stand in the archive as they are.
    """
    if not start.startswith((b"PK\3\4", b"PK\5\6")):
        return None
    return next((kind for member, kind in KIND_BY_ARCHIVE_MEMBER.items() if member in start), ZIP)


def _kind_by_markup(start: bytes) -> FileKind | None:
    """Return the kind of a page or document that is text itself."""
    text = start.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    line = _first_line(text).lstrip().lower()
    return next((kind for tag, kind in KIND_BY_MARKUP.items() if line.startswith(tag)), None)


def _is_unmarked_utf_16(start: bytes) -> bool:
    """Return whether every other byte of the first line is zero, and no other."""
    line = start.split(b"\n", 1)[0].rstrip(b"\0\r")
    even = line[::2]
    odd = line[1::2]
    if not even or not odd:
        return False
    return (all(even) and not any(odd)) or (all(odd) and not any(even))


def _first_line(start: bytes) -> bytes:
    """Return the bytes before the first end of a line."""
    return start.splitlines()[0] if start else start
