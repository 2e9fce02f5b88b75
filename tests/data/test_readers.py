"""Reading files: formats, encodings, ragged and empty files, and texts that stay texts."""

import contextlib
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.data import readers as tables
from dpcore.data.readers import read_json, read_table
from dpcore.data.samples import CENSUS_SCHEMA, census
from dpcore.errors import InputError


def read(content: bytes, name: str = "t.csv") -> pd.DataFrame:
    return read_table(io.BytesIO(content), name)


def test_texts_stay_as_they_were_written():
    frame = read(b'zip,x,y\n007,1.0,NA\n7, a ,"b,""c"""\n,TRUE,\n')
    assert frame.columns.tolist() == ["zip", "x", "y"]
    assert frame.to_numpy().tolist() == [["007", "1.0", "NA"], ["7", " a ", 'b,"c"'], ["", "TRUE", ""]]


@pytest.mark.parametrize("ending", ["csv", "CSV", "tsv", "txt", "parquet"])
def test_every_format_gives_the_same_table(tmp_path, ending):
    frame = pd.DataFrame({"name": ["Åse", "x"], "n": ["1", "2"]})
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="," if ending.lower() == "csv" else "\t")
    for source in (path, str(path)):
        assert read_table(source).to_numpy().tolist() == frame.to_numpy().tolist()
    with path.open("rb") as stream:
        assert read_table(stream, path.name).columns.tolist() == ["name", "n"]


def test_a_byte_order_mark_and_windows_lines_leave_no_trace():
    frame = read("\ufeffa,b\r\n1,é\r\n2,x\r\n".encode())
    assert frame.columns.tolist() == ["a", "b"]
    assert frame.to_numpy().tolist() == [["1", "é"], ["2", "x"]]


def test_a_short_row_is_missing_at_its_end_and_a_header_only_table_has_no_rows():
    frame = read(b"a,b\n1\n2,3\n")
    assert frame["b"].tolist() == ["", "3"]
    assert read(b"a,b\n").shape == (0, 2)
    assert read(b"a,b").shape == (0, 2)


def test_an_empty_cell_in_a_table_of_one_column_is_a_row():
    assert read(pd.DataFrame({"a": ["1", "", "2"]}).to_csv(index=False).encode())["a"].tolist() == ["1", "", "2"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_letters_survive_every_usual_encoding(encoding):
    assert read("name,x\nJosé,1\nÅse,2\n".encode(encoding))["name"].tolist() == ["José", "Åse"]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(separator):
    text = "a,b,c\n1,x,3\n4,,6\n".replace(",", separator)
    assert read(text.encode()).to_numpy().tolist() == [["1", "x", "3"], ["4", "", "6"]]


def test_decimal_commas_are_numbers_only_where_every_cell_is_one():
    frame = read(b"a;b;c\n1,5;1,5;1\n-2,25;x;2\n;3;3\n")
    assert frame.to_numpy().tolist() == [["1.5", "1,5", "1"], ["-2.25", "x", "2"], ["", "3", "3"]]
    assert read(b'a,b\n"1,5",2\n"2,5",3\n')["a"].tolist() == ["1,5", "2,5"], "a comma file means texts"


def test_numeric_looking_headers_are_names():
    assert read(b"1,1.0,x\n1,2,3\n").columns.tolist() == ["1", "1.0", "x"]


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "t.csv", "the file is empty"),
        (b"\n\n", "t.csv", "the file is empty"),
        (b"", "t.parquet", "not readable as parquet"),
        (b"PAR1 this is not one", "t.parquet", "not readable as parquet"),
        (b"a,b\n1,2,3\n", "t.csv", "not readable as csv: Error tokenizing data. C error: Expected 2 fields in line 2"),
        (b'a,b\n1,"2\n3,4\n', "t.csv", "not readable as csv"),
        (b"a,b\n1,\0\n", "t.csv", "not a text file"),
        (b"a,b\n1,2\n", "t.xlsx", "not readable as xlsx"),
        (b"PK\3\4 this is not one", "t.xlsx", "not readable as xlsx"),
        (b"a,b,a\n1,2,3\n", "t.csv", "column 'a' stands twice in the header"),
        (b"a,,\n1,2,3\n", "t.csv", "column '' stands twice in the header"),
        (b"a,b\n1,2\n", "t.ods", "the ending '.ods' is not one of .csv, .tsv"),
        (b"a,b\n1,2\n", "table", "the ending '' is not one of"),
    ],
)
def test_an_unreadable_file_is_refused_in_one_line(content, name, message):
    with pytest.raises(InputError) as caught:
        read(content, name)
    assert str(caught.value).startswith(f"{name}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_table(tmp_path / "no.csv")
    with pytest.raises(InputError, match="there is no such file"):
        read_table(tmp_path / "no.parquet")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="not readable as csv"):
        read_table(tmp_path / "folder.csv")


def test_typed_columns_of_a_parquet_file_are_encoded(tmp_path):
    domain = census(50).domain
    frame = census(50).frame.astype({"sex": "category", "age": "Int64", "hours": "float32"})
    frame.to_parquet(tmp_path / "t.parquet")
    assert domain.encode(read_table(tmp_path / "t.parquet")).n == 50


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON: Expecting value in line 1, column 1"),
        (b'{\n"a": }', "not JSON: Expecting value in line 2, column 6"),
        (b"\xe9", "not UTF-8 text"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a": ' + b"1" * 5000 + b"}", ""),
    ],
    ids=["empty", "cut", "latin-1", "deep", "endless number"],
)
def test_a_bad_json_file_is_refused(content, message):
    with pytest.raises(InputError) as caught:
        read_json(io.BytesIO(content), "s.json")
    assert str(caught.value).startswith("s.json: ")
    assert message in str(caught.value)


def test_json_is_read_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "s.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(CENSUS_SCHEMA).encode())
    assert read_json(path) == read_json(str(path)) == CENSUS_SCHEMA
    for missing in (tmp_path, tmp_path / "no.json"):
        with pytest.raises(InputError, match=str(missing)):
            read_json(missing)


# Files that were made to break a reader


def small(ending: str) -> bytes:
    content, frame = io.BytesIO(), pd.DataFrame({"a": ["x", "y"], "b": [1.5, None]})
    if ending == "xlsx":
        frame.to_excel(content, index=False)
    else:
        frame.to_parquet(content)
    return content.getvalue()


@settings(max_examples=150)
@given(
    content=st.binary(max_size=200) | st.text('a1,;"\n\r\t .-€\0\ufeff', max_size=60).map(str.encode), tab=st.booleans()
)
def test_any_bytes_are_a_table_or_refused(content, tab):
    with contextlib.suppress(InputError):
        frame = read_table(io.BytesIO(content), "t.tsv" if tab else "t.csv")
        assert not frame.columns.duplicated().any()


@pytest.mark.parametrize("ending", ["xlsx", "parquet"])
def test_a_damaged_file_is_a_table_or_refused(ending):
    whole = small(ending)
    rng = np.random.default_rng(0)
    for _ in range(40):
        damaged = np.frombuffer(whole, np.uint8).copy()
        places = rng.integers(0, len(damaged), 3)
        damaged[places] = rng.integers(0, 256, 3)
        content = damaged.tobytes()[: len(damaged) if rng.random() < 0.7 else int(rng.integers(0, len(damaged)))]
        with contextlib.suppress(InputError):
            read_table(io.BytesIO(content), f"t.{ending}")


def repacked(change: dict[str, bytes]) -> bytes:
    """An Excel file with other parts in it, all its checksums right."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(small("xlsx"))) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change.get(name, old.read(name)))
    return out.getvalue()


@pytest.mark.parametrize(
    "sheet", [b"", b"<a>", b"<worksheet/>", b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY y 'z'>]><x>&y;"]
)
def test_a_sheet_of_broken_xml_is_refused(sheet):
    with pytest.raises(InputError, match=r"t\.xlsx: "):
        read(repacked({"xl/worksheets/sheet1.xml": sheet}), "t.xlsx")


def test_a_small_file_that_unpacks_to_a_large_one_is_refused_before_it_is_unpacked(monkeypatch):
    monkeypatch.setattr(tables, "MOST_SHEET", 10_000_000)
    bomb = repacked({"xl/worksheets/sheet1.xml": bytes(10_000_001)})
    assert len(bomb) < 20_000
    with pytest.raises(InputError, match="unpacks to"):
        read(bomb, "t.xlsx")
    many = io.BytesIO()
    pd.DataFrame({"a": np.zeros(2_000_000, np.int8)}).to_parquet(many)
    assert len(many.getvalue()) < 10_000
    monkeypatch.setattr(tables.pd, "read_parquet", lambda _: pytest.fail("unpacked"))
    with pytest.raises(InputError, match="holds 2,000,000 cells, at most 1,000,000"):
        tables.read(many, "t.parquet", 1_000_000)
