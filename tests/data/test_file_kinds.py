"""A file of another kind than its name says: called by its name, before anything of it is guessed."""

import bz2
import codecs
import gzip
import io
import lzma
import sqlite3
import zipfile

import numpy as np
import pandas as pd
import pytest

from dpcore import InputError, read_json
from dpcore.data import text_file
from dpcore.data.file_kinds import AMBIGUOUS_SIGNATURES, KIND_BY_SIGNATURE
from dpcore.data.readers import load_table, read_matrix
from dpcore.data.sources.open_source import source_at
from tests.small_problems import parametrize, run_command

FRAME = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
TEXT = FRAME.to_csv(index=False)
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\6\0\0\0\x1f\x15\xc4\x89"
NAMES = ("t.csv", "t.tsv", "t.txt", "t.xlsx", "t.parquet")


def written(write):
    """The bytes that a function writes to an open file."""
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def archive(*members):
    """A ZIP archive of empty files."""

    def write(file):
        with zipfile.ZipFile(file, "w") as packed:
            for member in members:
                packed.writestr(member, "")

    return written(write)


def database():
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (a)")
        return connection.serialize()


KINDS = {
    "a PNG picture": PNG,
    "a JPEG picture": b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    "a GIF picture": b"GIF89a\1\0\1\0\x80\0\0",
    "a BMP picture": b"BM\x46\0\0\0\0\0\0\0",
    "a picture, sound or film (RIFF)": b"RIFF\x24\0\0\0WEBPVP8 ",
    "a film or picture (MP4)": b"\0\0\0\x18ftypmp42\0\0\0\0",
    "a PDF document": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj",
    "a gzip archive": gzip.compress(TEXT.encode()),
    "a bzip2 archive": bz2.compress(TEXT.encode()),
    "an xz archive": lzma.compress(TEXT.encode()),
    "an SQLite database": database(),
    "an Arrow (Feather) file": written(FRAME.to_feather),
    "a NumPy array": written(lambda file: np.save(file, np.eye(2))),
    "a web page (HTML)": b"\xef\xbb\xbf\n  <!DOCTYPE html>\n<html><body>a,b</body></html>",
    "an XML document": b'<?xml version="1.0"?>\n<a>1</a>\n',
    "a program": b"\x7fELF\2\1\1\0\0\0",
    "an old or password-protected Office file": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0",
    "a Word document": archive("[Content_Types].xml", "word/document.xml"),
    "UTF-32 text": TEXT.encode("utf-32"),
    "UTF-16 text without a byte order mark": TEXT.encode("utf-16-le"),
    "a Parquet file": written(FRAME.to_parquet),
    "an Excel file": written(lambda file: FRAME.to_excel(file, index=False)),
    "a ZIP archive": archive("table.csv"),
}
RIGHT = {("a Parquet file", ".parquet"), ("an Excel file", ".xlsx"), ("a ZIP archive", ".xlsx")}


@parametrize("name", NAMES)
@parametrize("kind", KINDS)
def test_a_file_of_another_kind_is_named_and_nothing_of_it_is_guessed(
    tmp_path, monkeypatch, kind, name
):
    if any(kind == right and name.endswith(ending) for right, ending in RIGHT):
        return
    monkeypatch.setattr(text_file, "count_cells", lambda *_: pytest.fail("a delimiter was guessed"))
    (tmp_path / name).write_bytes(KINDS[kind])
    ways = [lambda: load_table(tmp_path / name), lambda: load_table(io.BytesIO(KINDS[kind]), name)]
    if not name.endswith(".xlsx"):
        ways.append(lambda: source_at(tmp_path / name).columns)
    for way in ways:
        with pytest.raises(InputError) as caught:
            way()
        said = str(caught.value)
        assert f": this is {kind}, not a table; " in said
        assert "\n" not in said


@parametrize("kind", ["a PNG picture", "an Excel file", "a Parquet file"])
def test_a_schema_and_a_matrix_of_another_kind_are_named_too(tmp_path, kind):
    (tmp_path / "f").write_bytes(KINDS[kind])
    for way, wanted in ((read_json, "a JSON file"), (read_matrix, r"a matrix of numbers \(.npy\)")):
        with pytest.raises(InputError, match=f"this is {kind}, not {wanted}"):
            way(tmp_path / "f")


def test_the_command_line_says_the_same(tmp_path, capsys):
    (tmp_path / "t.csv").write_bytes(PNG)
    run_command(["schema", str(tmp_path / "t.csv")], code=2)
    assert (
        "t.csv: this is a PNG picture, not a table; bring the table as CSV"
        in capsys.readouterr().err
    )


LETTERS = [s.decode() for s in AMBIGUOUS_SIGNATURES] + [
    "PK",
    "<b>",
    "%",
    "II*",
    "ftyp",
    "Rar!",
    "html",
    "{x",
    "Zürich",
]


@parametrize("letters", LETTERS)
@parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "windows-1252"])
def test_a_table_is_read_whatever_letters_its_header_begins_with(letters, encoding):
    if not letters.isascii() and encoding == "utf-8-sig":
        return
    frame = load_table(io.BytesIO(f"{letters},b\n1,2\n".encode(encoding)), "t.csv").frame
    assert list(frame) == [letters, "b"]


@parametrize("row", [b"\0\1\2", b"<html>", PNG, b"PK\3\4xl/", codecs.BOM_UTF16_LE, b"%PDF-"])
@parametrize("letters", [*AMBIGUOUS_SIGNATURES, b"a"])
def test_what_a_row_holds_decides_nothing(letters, row):
    whole = letters + b",b\n" + row.replace(b"\n", b"").replace(b"\r", b"") + b",2\n"
    assert len(load_table(io.BytesIO(whole), "t.csv").frame) == 1


def test_no_text_begins_like_a_sure_signature():
    for signature in KIND_BY_SIGNATURE:
        assert not signature.isalnum(), "letters alone may be a column's name"
