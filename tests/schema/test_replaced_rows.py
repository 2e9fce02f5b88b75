"""The neighbour at the door: one row's raw text is replaced by any other, and nothing changes about
the other rows.

Whatever reads a table, every other row keeps its codes, its person and its part of the fingerprint,
n stays the same, and what is refused names that row alone.
"""

import io
import math
import tempfile
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from unittest import mock

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import InputError, limit_rows, read_table, source_at
from dpcore.data import text_file
from dpcore.data.cell_hashes import MAX_EXACT_FLOAT, hash_cells, hash_person_ids
from dpcore.data.fingerprint import table_fingerprint
from dpcore.schema.cell_text import (
    MAX_ARROW_FLOAT,
    MIN_ARROW_FLOAT,
    canonical_text,
    factorize_texts,
)
from tests.data.test_readers import sheet
from tests.small_problems import (
    binned,
    categorical,
    domain_of,
    expect_error,
    integer,
    module_fixture,
    parametrize,
    seeded,
)

NAMES = ["who", "whole", "amount", "word", "day"]
TOLERANT = {"missing": "category", "out_of_range": "clip", "unreadable": "missing"}
LISTED = categorical("a", "Zürich", "17", "(other)", missing="other", out_of_range="other")
SCHEMA = {
    "whole": integer(0, 9) | TOLERANT,
    "amount": {
        "kind": "numeric",
        "edges": [0, 1, 5.25, 100, 5000, 10**6],
        "read": "amount, decimal comma",
        "form": "€ 1.000,00 kg",
    }
    | TOLERANT,
    "word": LISTED,
    "who": LISTED | {"values": ["90", "12", "00", "(other)"], "read": "first 2 characters"},
    "day": {
        "kind": "integer",
        "low": "1990-01-01",
        "high": "2030-12-31",
        "bins": "months",
        "read": "date of y-m-d",
        "form": "D. Mon YYYY",
    }
    | TOLERANT,
}
DOMAIN = domain_of(SCHEMA)
STRICT = domain_of({"whole": integer(0, 9)})

PEOPLE = [
    str(2**53),
    str(2**53 + 1),
    "123456789012345678",
    "123456789012345679",
    "17",
    "007",
    "0012e322",
    "0013e322",
]
ORDINARY = st.tuples(
    st.sampled_from(PEOPLE),
    st.sampled_from("0123456789"),
    st.sampled_from(["5,000", "5,5", "12", "1.500"]),
    st.sampled_from(["a", "Zürich", "17", "17.0", "ü"]),
    st.sampled_from(["2020-01-01", "1999-12-31"]),
)
HOSTILE = st.sampled_from(
    [
        *PEOPLE,
        "",
        " ",
        "NA",
        "1,500,000",
        "2.5",
        "1e999",
        "-1e400",
        "inf",
        "17.0",
        " 17 ",
        "x" * 400,
        "True",
        '"',
        '""',
        '"open',
        'in"side',
        '"closed"',
        '"two ""quotes"""',
        "é",
        "\x00",
        "\x1a",
        "\u2028",
        "=1+1",
        "9" * 400,
        "2020-13-45",
        "2.000,50 kg",
        "€ 7 kg kg",
        "5. May 2021",
        "1/2",
    ]
)
BYTES = HOSTILE.map(str.encode) | st.sampled_from(
    [b"\xff", b"Z\xfcrich", b"\xc3", b"\xe2\x82", b"\xef\xbb\xbf1"]
)


def few_draws(test):
    """Try a test with a few draws."""
    return settings(max_examples=12)(given(data=st.data())(test))


def place_in(rows, data):
    return data.draw(st.integers(0, len(rows) - 1))


def same(one, other, place):
    """All that is known of the other rows is the same."""
    assert len(one) == len(other)
    rest = [frame.drop(index=frame.index[place]) for frame in (one, other)]
    for column in DOMAIN.columns:
        a, b = (
            np.delete(column.encode(pd.Series(frame[column.name])), place) for frame in (one, other)
        )
        assert a.tolist() == b.tolist()
    assert table_fingerprint(rest[0], b"k") == table_fingerprint(rest[1], b"k")
    whole = [table_fingerprint(pd.concat([frame, frame]), b"k") for frame in rest]
    assert whole[0] == whole[1]
    theirs = {person(frame["who"].tolist()[place]) for frame in (one, other)}
    kept = []
    for frame in (one, other):
        left = limit_rows(frame.assign(row=range(len(frame))), "who", 1, ["row"])
        kept.append(
            {
                row
                for row, who in zip(left["row"], left["who"], strict=True)
                if person(who) not in theirs
            }
        )
    assert kept[0] == kept[1], "of everybody else the same row is kept"


def person(who):
    """What somebody is called here, nobody by nothing."""
    text = "" if who is None or who is pd.NA or who != who else str(who).strip()
    return "" if text == "NA" else text.removesuffix(".0").removesuffix(".")


def written(lines, delimiter, end):
    return end.join([delimiter.join(name.encode() for name in NAMES), *lines, b""])


def parts(path, size=1 << 20):
    with mock.patch.object(text_file, "READ_SIZE", size):
        source = source_at(path, workers=1)
        chunks = [
            pd.DataFrame({name: chunk.cells(name) for name in NAMES})
            for chunk in source.chunks(NAMES)
        ]
    return pd.concat(chunks, ignore_index=True)


TEXTS = {"in memory": 0, "in parts": 1 << 20, "in small parts": 11}  # bytes of a part


def text(content, name, way):
    if way == "in memory":
        return read_table(io.BytesIO(content), name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return parts(path, TEXTS[way])


@parametrize("way", TEXTS)
@parametrize("name, delimiter", [("t.tsv", b"\t"), ("t.csv", b";"), ("t.csv", b"|")])
@few_draws
def test_a_row_of_a_text_file_is_replaced(way, name, delimiter, data):
    rows = data.draw(st.lists(ORDINARY, min_size=2, max_size=5))
    place = place_in(rows, data)
    end = data.draw(st.sampled_from([b"\n", b"\r", b"\r\n"]))
    lines = [delimiter.join(cell.encode() for cell in row) for row in rows]
    cells = data.draw(st.lists(BYTES, min_size=1, max_size=6).filter(lambda row: row != [b""]))
    other = [*lines[:place], delimiter.join(cells), *lines[place + 1 :]]
    one = text(written(lines, delimiter, end), name, way)
    assert one.to_numpy().tolist() == [list(row) for row in rows]
    try:
        found = text(written(other, delimiter, end), name, way)
    except InputError as error:
        assert f"line {place + 2} " in str(error)  # noqa: PT017 - most rows are not refused
        return
    same(one, found, place)
    names_the_row_refused(found)


def names_the_row_refused(frame):
    """What a strict schema says of a table names the one row that it refuses."""
    (column,) = STRICT.columns
    alone = []
    for row in range(len(frame)):
        try:
            column.encode(pd.Series(frame["whole"].iloc[[row]]).reset_index(drop=True))
        except InputError:
            alone.append(row + 1)
    if not alone:
        column.encode(pd.Series(frame["whole"]))
        return
    with expect_error(rf"in row {alone[0]} .*\(1 of {len(frame)} rows like it\)"):
        column.encode(pd.Series(frame["whole"]))


@parametrize("way", TEXTS)
@given(
    rows=st.lists(st.sampled_from(["1", "2", ""]), min_size=2, max_size=6),
    cell=HOSTILE,
    data=st.data(),
)
@settings(max_examples=12)
def test_a_cell_of_the_only_column_is_replaced_also_by_nothing(way, rows, cell, data):
    place = place_in(rows, data)
    texts = [
        "\n".join(["a", *some, ""]) for some in (rows, [*rows[:place], cell, *rows[place + 1 :]])
    ]
    with mock.patch(f"{__name__}.NAMES", ["a"]):
        one = text(texts[0].encode(), "t.csv", way)
        try:
            other = text(texts[1].encode(), "t.csv", way)
        except InputError as error:
            assert f"line {place + 2} " in str(error)  # noqa: PT017
            return
    assert len(one) == len(other) == len(rows)
    assert one["a"].drop(place).tolist() == other["a"].drop(place).tolist()


MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)).map(
    lambda day: day.replace(microsecond=0)
)
PRESENT = {
    pa.int64(): st.sampled_from([0, 7, 17, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]),
    pa.float64(): st.sampled_from(
        [0.0, 5.5, 17.0, 1.234, 1e300, float("inf"), float("nan"), 2.0**53]
    ),
    pa.float32(): st.sampled_from([0.0, 5.5, 17.0, 1.234, 1e6, float("inf"), float("nan")]),
    pa.uint64(): st.sampled_from([0, 7, 17, 2**53 + 1, 2**64 - 1]),
    pa.string(): BYTES,
    pa.bool_(): st.booleans(),
    pa.date32(): st.sampled_from([0, 7305, 20_000, 3_000_000, -800_000]),
    pa.decimal128(20, 2): st.decimals(-(10**9), 10**9, places=2),
    pa.timestamp("ms"): MOMENTS,
    pa.dictionary(pa.int32(), pa.string()): st.sampled_from(["17", " 17 ", "NA"]),
    pa.binary(): BYTES,
    pa.null(): st.nothing(),
}
VALUES = {kind: st.none() | values for kind, values in PRESENT.items()}


def cells(values, kind):
    """A column whose texts may hold any bytes."""
    return (
        pa.array(values, pa.binary()).view(kind) if kind == pa.string() else pa.array(values, kind)
    )


def parquet(columns, kinds, way):
    table = pa.table({name: cells(c, k) for name, c, k in zip(NAMES, columns, kinds, strict=True)})
    if way == "in memory":
        out = io.BytesIO()
        pq.write_table(table, out)
        return read_table(out, "t.parquet")
    with tempfile.TemporaryDirectory() as folder:
        if way == "in parts":
            pq.write_table(table, f"{folder}/t.parquet", row_group_size=2)
            return parts(Path(folder) / "t.parquet")
        pq.write_table(table[:1], f"{folder}/1.parquet")
        pq.write_table(table[1:], f"{folder}/2.parquet", row_group_size=3)
        return parts(Path(folder))


each_way = parametrize("way", ["in memory", "in parts", "a folder"])


@each_way
@few_draws
def test_a_row_of_a_parquet_file_is_replaced(way, data):
    kinds = [data.draw(st.sampled_from(list(VALUES)), label=name) for name in NAMES]
    rows = data.draw(st.lists(st.tuples(*(VALUES[kind] for kind in kinds)), min_size=2, max_size=6))
    place = place_in(rows, data)
    other = [
        *rows[:place],
        data.draw(st.tuples(*(VALUES[kind] for kind in kinds))),
        *rows[place + 1 :],
    ]
    frames = [
        parquet([list(column) for column in zip(*some, strict=True)], kinds, way)
        for some in (rows, other)
    ]
    same(*frames, place)
    if way != "in memory":
        whole = parquet([list(column) for column in zip(*rows, strict=True)], kinds, "in memory")
        assert table_fingerprint(whole, b"k") == table_fingerprint(frames[0], b"k")
        assert DOMAIN.encode(whole).values.tolist() == DOMAIN.encode(frames[0]).values.tolist()


@each_way
@parametrize("kind", [pa.list_(pa.int64()), pa.list_(pa.int64(), 1), pa.struct({"a": pa.int64()})])
def test_a_nested_value_is_read_alike_beside_a_missing_one(kind, way):
    one, none = ({"a": v} if pa.types.is_struct(kind) else [v] for v in (1, None))
    found = [parquet([[first, one]] * 5, [kind] * 5, way) for first in (one, none, None)]
    for other in found[1:]:
        same(found[0], other, 0)


@each_way
def test_a_day_of_any_year_is_its_text(way):
    found = parquet(
        [[0, 3_000_000, -800_000, None]] * 5, [pa.date32(), pa.date64(), *[pa.date32()] * 3], way
    )
    assert found["day"].astype(object).where(found["day"].notna(), None).tolist() == [
        "1970-01-01",
        "10183-09-21",
        "-0221-09-04",
        None,
    ]


TYPED = (
    st.sampled_from(
        [
            "a",
            "17",
            " 17 ",
            "5,5",
            "1.234",
            "é",
            17,
            17.0,
            1.234,
            2**53 + 1,
            123456789012345679,
            True,
            None,
            -0.5,
            1e300,
        ]
    )
    | MOMENTS
)


def excel(rows):
    book = openpyxl.Workbook()
    out = io.BytesIO()
    for row in (NAMES, *rows):
        book.active.append(row)
    book.save(out)
    return read_table(out, "t.xlsx")


@few_draws
def test_a_row_of_an_excel_file_is_replaced(data):
    row = st.tuples(*[TYPED] * len(NAMES)) | st.just((None,) * len(NAMES))
    full = row.filter(lambda cells: any(cell is not None for cell in cells))
    rows = [*data.draw(st.lists(row, min_size=1, max_size=4)), data.draw(full)]
    place = place_in(rows, data)
    other = [*rows[:place], data.draw(full if place == len(rows) - 1 else row), *rows[place + 1 :]]
    found = excel(rows)
    assert len(found) == len(rows), "a row that holds nothing is one, but below all others"
    same(found, excel(other), place)
    assert len(excel([*rows, (None,) * len(NAMES)])) == len(rows)


def test_a_value_beside_an_excel_table_is_refused_and_makes_no_column_for_everybody():
    row = ("17", 1, 2, "a", "b")
    with expect_error("row 3 has values to the right of the header, which has 5"):
        excel([row, (*row, "note"), row])


ONE = '<row r="1"><c r="A1" t="str"><v>a</v></c></row>'


def one_column(cells):
    """An Excel file of one column, in which also an empty cell is written; rows in its format alone
    follow.
    """
    written = (
        f'<row r="{i}"><c r="A{i}" t="str"><v>{cell}</v></c></row>'
        for i, cell in enumerate(cells, 2)
    )
    return sheet(ONE + "".join(written) + f'<row r="{len(cells) + 2}" ht="20"/>')


@settings(max_examples=25)
@given(
    rows=st.lists(st.sampled_from(["1", ""]), min_size=1, max_size=4),
    cell=st.just("") | st.just("2"),
    data=st.data(),
)
def test_n_of_an_excel_file_of_one_column_depends_on_no_cell(rows, cell, data):
    place = place_in(rows, data)
    for cells in (rows, [*rows[:place], cell, *rows[place + 1 :]]):
        if cells[-1]:
            assert read_table(io.BytesIO(one_column(cells)), "t.xlsx")["a"].tolist() == cells
            continue
        with expect_error(f"row {len(cells) + 1} is an empty value below all others"):
            read_table(io.BytesIO(one_column(cells)), "t.xlsx")


LISTED_TEXTS = (
    "17",
    "0",
    "007",
    "1000000",
    "True",
    "1.234",
    "é",
    "2020-01-01",
    str(2**64 - 1),
    "(other)",
)
CATEGORIES = domain_of({"x": categorical(*LISTED_TEXTS, missing="other", out_of_range="other")})
SAME = st.sampled_from(
    [
        "17",
        " 17 ",
        "17.0",
        "17.",
        "17.00 ",
        "17.01",
        "17.0x",
        "-17.0",
        "007",
        "007.0",
        "0",
        "-0",
        "-0.0",
        "0.",
        "00",
        "x17",
        "2020-01-01",
        "2020-01-01 00:00:00",
        "2020-01-01T00:00:00.000",
        "2020-01-01 00:00:01",
        "",
        "NA",
        "17\n",
        "17.0\n.0",
        "e\u0301",
    ]
)


@parametrize("kind", [pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.string(), pa.bool_()])
@few_draws
def test_a_database_gives_every_row_the_code_that_it_has_in_memory(duckdb, kind, data):
    texts = st.none() | SAME | HOSTILE.map(lambda text: text.replace("\x00", ""))
    values = texts if kind == pa.string() else VALUES[kind].filter(lambda v: v == v)
    rows = data.draw(st.lists(values, min_size=2, max_size=8))
    table = pa.table({"x": pa.array(rows, kind)})
    found = duckdb(table).count(CATEGORIES, [(0,)])
    out = io.BytesIO()
    pq.write_table(table, out)
    (column,) = CATEGORIES.columns
    codes = column.encode(pd.Series(read_table(out, "t.parquet")["x"]))
    assert found.n == len(rows)
    assert found.tables[(0,)].tolist() == np.bincount(codes, minlength=column.size).tolist()


def test_a_number_of_32_bits_is_its_text_wherever_it_is_read():
    texts = ["0.7", "0.1", "16777216", "100000000000000"]
    said, thin = (pd.DataFrame({"x": column}) for column in (texts, np.float32(texts)))
    assert table_fingerprint(thin, b"k") == table_fingerprint(said, b"k")
    for spec in (categorical(*texts), binned("numeric", 0, 0.1, 0.7, 1e7, 1e14, 1e15)):
        (column,) = domain_of({"x": spec}).columns
        assert (column.encode(thin["x"]) == column.encode(said["x"])).all()


def test_a_database_refuses_a_text_that_is_no_utf_8(duckdb):
    with expect_error("did not answer"):
        duckdb(pa.table({"x": cells([b"a", b"Z\xfcrich"], pa.string())})).count(CATEGORIES, [(0,)])


@module_fixture
def duckdb():
    """A source of the rows of a table, in a database."""
    import ibis

    from dpcore.data.sources.database_source import DatabaseSource

    return lambda table: DatabaseSource(ibis.duckdb.connect(), ibis.memtable(table))


def test_floats_say_the_shortest_text_that_reads_as_them():
    """Whichever way a float is written, fast or one by one, and whatever is made of its text
    without writing it.
    """
    rng = seeded(0)
    bits = rng.integers(0, 2**64, 3000, dtype=np.uint64).view(np.float64)
    sizes = rng.choice([-1, 1], 3000) * rng.random(3000) * 10.0 ** rng.integers(-8, 20, 3000)
    ends = [
        base * up
        for base in (MIN_ARROW_FLOAT, MAX_ARROW_FLOAT, MAX_EXACT_FLOAT, 2.0**53, 1e18)
        for up in (1 - 2**-52, 1)
    ]
    numbers = pd.Series([*bits, *sizes, *np.floor(sizes), *ends, 0.0, -0.0, math.inf, math.nan])
    texts = pd.Series([None if x != x else str(x) for x in numbers], dtype=object)
    codes, said = factorize_texts(numbers)
    assert [canonical_text(text) for text in texts.dropna()] == [
        said[code] for code in codes if code >= 0
    ]
    assert (hash_cells(numbers) == hash_cells(texts.map(canonical_text, na_action="ignore"))).all()
    assert (hash_person_ids(numbers) == hash_person_ids(texts)).all()
    assert table_fingerprint(numbers.to_frame("x"), b"k") == table_fingerprint(
        texts.to_frame("x"), b"k"
    )


def test_decimals_and_days_are_the_same_wherever_they_were_written():
    typed = pd.DataFrame(
        {
            "a": [Decimal("17.00"), Decimal("1.50")],
            "b": pd.to_datetime(["2020-01-01", "2020-01-02"]),
        }
    )
    texts = pd.DataFrame({"a": ["17.00", " 1.5"], "b": ["2020-01-01", "2020-01-02 00:00:00"]})
    assert table_fingerprint(typed, b"k") == table_fingerprint(texts, b"k")


@parametrize("text, number", [("1_0", "10"), ("１.５", "1.5"), ("1_0.0", "10")])
def test_a_text_that_no_column_reads_as_a_number_is_not_known_as_one(text, number):
    assert table_fingerprint(pd.DataFrame({"a": [text]}), b"k") != table_fingerprint(
        pd.DataFrame({"a": [number]}), b"k"
    )
