"""Reading files: formats, encodings, ragged and empty files, and texts that stay texts."""

import contextlib
import io
import json
import os
import traceback
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import InputError, domain_from_json, domain_to_json, read_json, read_table
from dpcore.core.errors import describe_error_location
from dpcore.data import excel, text_file
from dpcore.data import readers as tables
from dpcore.data.readers import read_matrix
from dpcore.data.text_file import TextRows
from dpcore.schema.cell_text import factorize_texts
from dpcore.schema.text_format import TextFormat
from tests.small_problems import expect_error, integer, parametrize, seeded


def read(content, name="t.csv"):
    return read_table(io.BytesIO(content), name)


def rows_of(frame):
    """The rows of a table, each a list."""
    return frame.to_numpy().tolist()


def test_texts_stay_as_they_were_written():
    frame = read(b'zip,x,y\n007,1.0,NA\n7, a ,"b,""c"""\n,TRUE,\n')
    assert list(frame) == ["zip", "x", "y"]
    assert rows_of(frame) == [["007", "1.0", "NA"], ["7", " a ", 'b,"c"'], ["", "TRUE", ""]]


@parametrize("ending", ["csv", "CSV", "tsv", "txt", "parquet"])
def test_every_format_gives_the_same_table(tmp_path, ending):
    frame = pd.DataFrame({"name": ["Åse", "x"], "n": ["1", "2"]})
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="," if ending.lower() == "csv" else "\t")
    for source in (path, str(path)):
        assert rows_of(read_table(source)) == rows_of(frame)


def test_a_short_row_is_missing_at_its_end_and_a_header_only_table_has_no_rows():
    assert read(b"a,b\n1\n2,3\n")["b"].tolist() == ["", "3"]
    assert read(b"a,b\n").shape == (0, 2)
    assert read(b"a,b").shape == (0, 2)
    for quoted in (b'a\n"x"\n\nz\n', b'a\n"x\ny"\n\nz\n'):
        assert len(guess(quoted)[1]) == 3, (
            "an empty line is a row where there is one column, quotes or not"
        )


@parametrize("end", ["\n", "\r", "\r\n"])
def test_one_stray_byte_changes_one_cell(end):
    whole = end.join(["name,x", "Zürich,1", "Åse,2", ""]).encode() + b"M\xf6ller,\xc3,3"[:-2]
    assert rows_of(read(whole)) == [["Zürich", "1"], ["Åse", "2"], ["M\\xf6ller", "\\xc3"]]
    assert guess(whole)[0].encoding == "windows-1252", "from all rows, while exploring"


def guess(content):
    found = tables.load_table(io.BytesIO(content), "t.csv")
    return found.format, rows_of(found.frame)


@parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_letters_survive_every_usual_encoding_once_it_is_stated(encoding):
    content = "name,x\nJosé,1\nÅse,2\n".encode(encoding)
    stated, seen = guess(content)
    assert [name for name, _ in seen] == ["José", "Åse"]
    found = read_table(io.BytesIO(content), "t.csv", stated)
    assert list(found) == ["name", "x"], "a byte order mark leaves no trace"
    assert rows_of(found) == seen
    assert (stated == TextFormat()) == encoding.startswith("utf-8")
    if encoding == "utf-16":
        with expect_error("it is UTF-16: save it as UTF-8, or say so in the schema"):
            read(content)


def test_cells_hold_line_breaks_only_where_that_is_stated():
    content = b'a,b\n1,"two\nlines"\n3,4\n'
    with expect_error("line 2 has no end; if values hold line breaks, say so in the schema"):
        read(content)
    stated, seen = guess(content)
    assert stated == TextFormat(line_breaks=True)
    assert seen == [["1", "two\nlines"], ["3", "4"]]
    with expect_error("line 2 has no end"):
        guess(b'a,b\n1,"open\n3,4\n')


@parametrize("content", [b"a\n1\n\n2\n", b"a\r\n1\r\n\r\n2", b"\na\n1\n\n2\n"])
def test_an_empty_line_is_a_row_where_there_is_one_column(content):
    assert read(content)["a"].tolist() == ["1", "", "2"]
    two = content.replace(b"a", b"a,b")
    assert rows_of(read(two)) == [["1", ""], ["2", ""]], "and none where there are more"


@parametrize(
    "said",
    [
        [],
        {"lines": 1},
        {"encoding": "no-such"},
        {"delimiter": ", "},
        {"line_breaks": "yes"},
        {"line_breaks": 1},
    ],
)
def test_a_format_that_is_none_is_refused(said):
    with expect_error('"file"'):
        domain_from_json({"columns": {"a": integer(0, 1)}, "file": said})


def test_a_format_is_part_of_the_schema_file():
    columns = {"a": integer(0, 1)}
    for said in ({}, {"delimiter": ";"}, {"encoding": "windows-1252", "line_breaks": True}):
        domain = domain_from_json({"columns": columns, "file": said})
        assert (
            domain_to_json(domain).get("file", {}) == said == domain.project(["a"]).file.to_json()
        )


def test_numeric_looking_headers_are_names():
    assert list(read(b"1,1.0,x\n1,2,3\n")) == ["1", "1.0", "x"]


@parametrize(
    "content, name, message",
    [
        (b"", "t.csv", "the file is empty"),
        (b"PAR1 this is not one", "t.parquet", "not readable as parquet"),
        (b"a,b\n1,2,3\n", "t.csv", "t.csv: line 2 has 3 values, the header has 2"),
        (b'a,b\n1,"2\n3,4\n', "t.csv", "a value in quotes that begins in line 2 has no end"),
        (b"a\0,b\n1,2\n", "t.csv", "not a text file"),
        (b"a,b\n1,2\n", "t.xlsx", "not readable as xlsx"),
        (
            b"PK\3\4 this is not one",
            "t.xlsx",
            "not readable as xlsx: it is damaged, or a file of another kind",
        ),
        (b"a,b,a\n1,2,3\n", "t.csv", "column 'a' is in the header twice"),
        (b"a,b\n1,2\n", "t.ods", "the ending '.ods' is not one of .csv, .tsv"),
    ],
)
def test_an_unreadable_file_is_refused_in_one_line(content, name, message):
    with expect_error() as caught:
        read(content, name)
    assert str(caught.value).startswith(f"{name}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with expect_error("a folder, not a file"):
        read_table(tmp_path / "folder.csv")


@parametrize("name", ["t.csv", "t.tsv", "t.xlsx", "t.parquet"])
def test_only_regular_files_are_opened(tmp_path, name):
    """A pipe would wait for a writer for ever, a device may have no end."""
    os.mkfifo(tmp_path / name)
    for reads in (read_table, read_json, read_matrix):
        with expect_error(r"a pipe, not a file"):
            reads(tmp_path / name)
        with expect_error("no such file"):
            reads(tmp_path / "no" / name)
        with expect_error("name too long"):
            reads(str(tmp_path / ("z" * 300 + name)))
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with expect_error("a device, not a file"):
        read_table(tmp_path / name)


@parametrize("name", ["t.csv", "t.xlsx", "t.parquet"])
def test_a_size_is_bounded_before_anything_is_read(tmp_path, name, monkeypatch):
    with (tmp_path / name).open("wb") as file:
        file.truncate(30_000_000_000)  # no byte of it is on the disk
    with expect_error("holds 30,000,000,000 bytes, at most"):
        read_table(tmp_path / name)
    monkeypatch.setattr(tables, "MAX_TEXT_BYTES", 7)
    with expect_error("holds 8 bytes, at most 7"):
        read(b"a,b\n1,2\n")


def test_a_time_that_no_calendar_has_in_its_zone_is_said_in_utc_and_refuses_no_other(tmp_path):
    times = {"us": [0, 2**62], "ns": [0, 2**63 - 1]}
    columns = {
        unit: pa.array(some, pa.timestamp(unit, "Europe/Zurich")) for unit, some in times.items()
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    found = {
        unit: factorize_texts(cells)[1]
        for unit, cells in read_table(tmp_path / "t.parquet").items()
    }
    assert found == {
        "us": ["1970-01-01 01:00:00+01:00", "148108-07-06 14:00:27.387904+00:00"],
        "ns": ["1970-01-01 01:00:00+01:00", "2262-04-11 23:47:16.854775807+00:00"],
    }


def test_a_value_of_a_parquet_file_that_python_does_not_have_refuses_no_other(tmp_path):
    columns = {
        "time": pa.array([0, 86399999999999, 86400000000000], pa.int64()).view(pa.time64("ns")),
        "list": pa.array([[0], [2**62] * 2 + [0] * 99, None], pa.list_(pa.timestamp("us"))),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    found = {
        name: factorize_texts(cells) for name, cells in read_table(tmp_path / "t.parquet").items()
    }
    assert found["time"][1] == ["00:00:00", "23:59:59.999999"]
    assert found["list"][1][0] == "[datetime.datetime(1970, 1, 1, 0, 0)]"
    assert found["list"][1][1].count(f"<value out of range: {2**62}>,") == 2
    assert found["list"][1][1].count("1970-01-01 00:00:00.000000") == 99
    assert [codes.tolist() for codes, _ in found.values()] == [[0, 1, -1]] * 2


@parametrize(
    "content, message",
    [
        (b"", "not readable as JSON: Expecting value in line 1, column 1"),
        (b'{\n"a": }', "not readable as JSON: Expecting value in line 2, column 6"),
        (b"\xe9", "not UTF-8 text"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a": ' + b"1" * 5000 + b"}", "holds a number of 5,000 digits, at most 300 are read"),
        (b'[{"a": -' + b"9" * 301 + b"}]", "holds a number of 302 digits"),
        (b'{"a": ["\\ud83d"]}', "holds half a character"),
        (b'{"\\uDFFFx": 1}', "holds half a character"),
    ],
    ids=[
        "empty",
        "cut",
        "latin-1",
        "deep",
        "endless number",
        "negative",
        "half a text",
        "half a name",
    ],
)
def test_a_bad_json_file_is_refused(content, message):
    with expect_error(rf"^s\.json: .*{message}"):
        read_json(io.BytesIO(content), "s.json")


def test_json_is_read_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "s.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"é": [1]}).encode())
    assert read_json(path) == read_json(str(path)) == {"é": [1]}
    for missing in (tmp_path, tmp_path / "no.json"):
        with expect_error(str(missing)):
            read_json(missing)


# Files that were made to break a reader


def small(ending):
    content = io.BytesIO()
    frame = pd.DataFrame({"a": ["x", "y"], "b": [1.5, None]})
    if ending == "xlsx":
        frame.to_excel(content, index=False)
    else:
        frame.to_parquet(content)
    return content.getvalue()


@settings(max_examples=150)
@given(
    content=st.binary(max_size=200)
    | st.text('a1,;"\n\r\t .-€\0\ufeff', max_size=60).map(str.encode),
    tab=st.booleans(),
)
def test_any_bytes_are_a_table_or_refused(content, tab):
    with contextlib.suppress(InputError):
        assert (
            not read_table(io.BytesIO(content), "t.tsv" if tab else "t.csv")
            .columns.duplicated()
            .any()
        )


@parametrize("ending", ["xlsx", "parquet"])
def test_a_damaged_file_is_a_table_or_refused(ending):
    whole = small(ending)
    rng = seeded(0)
    for _ in range(40):
        damaged = np.frombuffer(whole, np.uint8).copy()
        places = rng.integers(0, len(damaged), 3)
        damaged[places] = rng.integers(0, 256, 3)
        content = damaged.tobytes()[
            : len(damaged) if rng.random() < 0.7 else int(rng.integers(0, len(damaged)))
        ]
        with contextlib.suppress(InputError):
            read_table(io.BytesIO(content), f"t.{ending}")


def repacked(change):
    """An Excel file with other parts in it, all its checksums right."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(small("xlsx"))) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, change.get(name, old.read(name)))
    return out.getvalue()


@parametrize(
    "sheet",
    [b"", b"<a>", b"<worksheet/>", b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY y 'z'>]><x>&y;"],
)
def test_a_sheet_of_broken_xml_is_refused(sheet):
    with expect_error(r"t\.xlsx: "):
        read(repacked({"xl/worksheets/sheet1.xml": sheet}), "t.xlsx")


def test_a_small_file_that_unpacks_to_a_large_one_is_refused_before_it_is_unpacked(monkeypatch):
    monkeypatch.setattr(excel, "MAX_UNPACKED_BYTES", 10_000_000)
    bomb = repacked({"xl/worksheets/sheet1.xml": bytes(10_000_001)})
    assert len(bomb) < 20_000
    with expect_error("unpacks to"):
        read(bomb, "t.xlsx")
    many = io.BytesIO()
    pd.DataFrame({"a": np.zeros(2_000_000, np.int8)}).to_parquet(many)
    assert len(many.getvalue()) < 10_000
    monkeypatch.setattr(tables.ParquetFile, "read", lambda _: pytest.fail("unpacked"))
    with expect_error("holds 2,000,000 values, at most 1,000,000"):
        tables.load_table(many, "t.parquet", 1_000_000)


def sheet(rows, **parts):
    """An Excel file with these rows."""
    inside = f'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{rows}</sheetData></worksheet>'
    return repacked({"xl/worksheets/sheet1.xml": inside.encode(), **parts})


@parametrize(
    "rows, message",
    [
        (
            '<row r="1"><c r="A1"><v>1</v></c></row><row r="100000"><c '
            'r="XFD100000"><v>1</v></c></row>',
            "spans",
        ),
        (
            '<row r="2000000000"><c r="A2000000000"><v>1</v></c></row>',
            "row 2,000,000,000 is outside 1..1,048,576",
        ),
        (
            "".join(f'<row r="{i}"><c r="XFD{i}"><v>1</v></c></row>' for i in range(1, 20_001)),
            "spans 1,221 rows",
        ),
        ('<row r="1"><c r="ZZZ1"><v>1</v></c></row>', "beyond 16,384"),
        ("<row>" + "<c/>" * 16_385 + "</row>", "beyond 16,384"),
        ('<row r="-1"/>', "'-1' is not the number of a row"),
        ('<row r="2"><c><v>1</v></c></row><row r="3"/><row r="2"/>', "row 2 comes after row 3"),
        ('<row><c r="?"/></row>', "'?' is not the place of a value"),
    ],
)
def test_a_sheet_that_claims_more_cells_than_it_holds_is_refused_as_it_comes(rows, message):
    tracemalloc.start()
    with expect_error(r"^t\.xlsx: ") as caught:
        read(sheet(rows), "t.xlsx")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message in str(caught.value)
    assert peak < 400_000_000


def test_a_cell_that_contradicts_its_kind_is_missing_and_refuses_no_other():
    wrong = ('t="d"', 't="s"', 't="b"', 't="n"', 's="no"')
    rows = [
        "<c><v>17</v></c>",
        *(f"<c {kind}><v>x</v></c>" for kind in wrong),
        '<c t="s"><v>7</v></c>',
    ]
    assert (
        read(sheet("".join(f"<row>{row}</row>" for row in rows)), "t.xlsx")["17"].tolist()
        == [None] * 6
    )


def test_a_sheet_is_read_as_openpyxl_writes_it():
    """Whole numbers, dates, errors, empty cells, texts of several runs: as pandas read them."""
    day = pd.Timestamp("2020-01-02 03:04:05")
    cells = [
        [1, 2.5, 10**20, "x", "007", True, day, None],
        [-3, 1e-9, 0, " y ", "é&<", False, None, "z"],
    ]
    out = io.BytesIO()
    pd.DataFrame(cells, columns=list("abcdefgh"), dtype=object).to_excel(out, index=False)
    expected = pd.read_excel(
        io.BytesIO(out.getvalue()),
        header=None,
        engine="openpyxl",
        dtype=object,
        keep_default_na=False,
    )
    found = read(out.getvalue(), "t.xlsx")
    assert rows_of(found) == rows_of(expected.iloc[1:])
    assert [[type(v) for v in row] for row in found.to_numpy()] == [
        [type(v) for v in row] for row in expected.iloc[1:].to_numpy()
    ]
    runs = "<is><r><t>a</t></r><rPh><t>!</t></rPh><r><t>b</t></r></is>"
    first = f'<row r="1"><c r="B1" t="inlineStr">{runs}</c><c t="str"><v>c</v></c></row>'
    gaps = read(sheet(first + '<row r="3"><c r="A3" t="e"><v>#N/A</v></c></row>'), "t.xlsx")
    assert list(gaps) == ["row", "ab", "c"]
    assert rows_of(gaps) == [[""] * 3, [None, "", ""]], "a row that holds nothing is one"


def test_long_cells_are_read_and_endless_headers_are_not():
    long = "y" * 200_000
    assert read(f"a,b\n{long},2\n".encode())["a"].tolist() == [long]
    assert read(f'a;b\n"{long}";2\n'.encode()).columns.tolist() == ["a", "b"]
    for content in (b"z" * 2_000_000, b"zz\x00" * 2_000_000):
        with expect_error("its header does not end within 1,000,000 characters"):
            read(content)
    for start in (
        read,
        lambda zeros: tables.load_table(io.BytesIO(zeros), "t.csv", format=TextFormat()),
    ):
        with expect_error("not a text file"):
            start(b"\0" + b"z" * 2_000_000)
    with expect_error("has 30,001 columns, at most 20,000"):
        read(b"," * 30_000 + b"\n")
    with expect_error("its rows are much shorter than its header: "):
        read(",".join(map(str, range(10_000))).encode() + b"\n1" * 10_000)


@parametrize(
    "old, new",
    [
        (b"(2, 3)", b"(3000000000, 1)"),
        (b"(2, 3)", b"(-2, -3)"),
        (b"(2, 3)", b"(True, 6)"),
        (b"(2, 3)", b"(2, 3"),
        (b"<f8", b"|O8"),
        (b"NUMPY\1", b"NUMPY\7"),
    ],
)
def test_a_matrix_whose_header_lies_is_refused(old, new):
    out = io.BytesIO()
    np.save(out, np.arange(6.0).reshape(2, 3))
    assert read_matrix(io.BytesIO(out.getvalue())).tolist() == [[0, 1, 2], [3, 4, 5]]
    pad = b" " * (len(new) - len(old))  # a header keeps its length
    changed = out.getvalue().replace(old, new, 1).replace(b", }" + pad, b", }", 1)
    assert changed != out.getvalue()
    with expect_error():
        read_matrix(io.BytesIO(changed))


PLANTED = "PLANTED7f3a91"
BROKEN = {
    "short.csv": f"a,b\n1,{PLANTED}\n1,2,{PLANTED}\n".encode(),
    "open.csv": f'a,b\n1,"{PLANTED}\n'.encode(),
    "zero.tsv": f"a\tb\0\n{PLANTED}\t\n".encode(),
    "cut.xlsx": repacked(
        {"xl/worksheets/sheet1.xml": f"<worksheet><c t='str'><v>{PLANTED}".encode()}
    ),
    "cut.parquet": small("parquet")[:-5] + PLANTED.encode(),
    "cut.json": f'{{"a": "{PLANTED}"'.encode(),
    "latin.json": f'{{"a": "{PLANTED}\xe9"}}'.encode("latin-1"),
    "number.json": f'{{"{PLANTED}": {"9" * 5000}}}'.encode(),
    "text.npy": f"\x93NUMPY\1\0v\0{PLANTED}".encode("latin-1"),
}


@parametrize("name", BROKEN)
def test_a_traceback_of_a_broken_file_carries_no_cell(tmp_path, name):
    """The reader's own error may quote a cell: it is not chained, so what is logged of it is the
    message at most.
    """
    (tmp_path / name).write_bytes(BROKEN[name])
    reads = {"json": read_json, "npy": read_matrix}.get(name.rpartition(".")[2], read_table)
    with expect_error() as caught:
        reads(tmp_path / name)
    logged = "".join(traceback.format_exception(caught.value))
    assert PLANTED not in logged.replace(str(caught.value), "")
    assert "During handling" not in logged
    assert "direct cause" not in logged
    assert PLANTED not in describe_error_location(caught.value)


@parametrize("ending", ["csv", "xlsx"])
def test_a_long_reading_says_how_far_it_is_and_can_be_ended(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(text_file, "READ_SIZE", 1 << 17)
    frame = pd.DataFrame({"a": range(10_000), "b": "x" * 60})
    path = tmp_path / f"t.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_excel(path, index=False)
    told = []
    table = tables.load_table(path, progress=lambda done, size: told.append(done / size))
    assert len(table.frame) == 10_000
    assert len(told) >= 3
    assert told == sorted(set(told))
    assert 0 <= told[0] < 0.4
    assert 0.6 < told[-1] <= 1

    def ended(*_):
        raise RuntimeError("enough")

    with expect_error("not readable"):
        tables.load_table(path, progress=ended)


@settings(max_examples=300)
@given(
    st.integers(1, 3),
    st.sampled_from(",;\t|"),
    st.lists(
        st.lists(st.text("aß1 \t'\\#\"\r\n\x0b\x1a\x85\u2028\ufeff\x00", max_size=3)), max_size=6
    ),
)
def test_plain_lines_are_read_as_pandas_reads_them(width, delimiter, lines):
    header = delimiter.join(f"c{i}" for i in range(width))
    text = "\n".join([header, *map(delimiter.join, lines)])
    read = []
    for parse in (TextRows._parse_plain_lines, lambda _self, _text: None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(TextRows, "_parse_plain_lines", parse)
            try:
                rows = TextRows.from_file(
                    io.BytesIO(text.encode()), TextFormat(delimiter=delimiter), ".csv"
                )
                read.append(pd.concat(rows, ignore_index=True) if lines else None)
            except (InputError, ValueError) as error:
                read.append(str(error))
    if isinstance(read[1], pd.DataFrame):
        pd.testing.assert_frame_equal(*read)
    else:
        assert read[0] == read[1]


def test_lines_without_quotes_are_read_by_arrow(monkeypatch):
    monkeypatch.setattr(text_file, "_parse_csv", None)  # which no such line needs
    rows = TextRows(("a", "b"), TextFormat(delimiter=","), "a,b", iter(["1,x\n,é\n"]), 2)
    (frame,) = rows
    assert frame.to_dict("list") == {"a": ["1", ""], "b": ["x", "é"]}
    assert {dtype.name for dtype in frame.dtypes} == {"str"}
