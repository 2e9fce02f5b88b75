"""Dates and times at the ends of every type: each is read by itself, or refused by itself, by every
reader.
"""

from dataclasses import replace
from datetime import date, datetime, timedelta

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcore import read_table
from dpcore.cli import main
from dpcore.data.cell_hashes import hash_cells, hash_person_ids
from dpcore.data.fingerprint import table_fingerprint
from dpcore.data.sources.open_source import source_at
from dpcore.schema.cell_text import factorize_texts
from dpcore.schema.column_texts import ColumnTexts
from tests.small_problems import categorical, column_from_entry, integer, parametrize, write_json

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
ZONES = (
    None,
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Pacific/Kiritimati",
    "+14:00",
    "-23:59",
    "Africa/Monrovia",
)
# of the years 9999 and 1
LAST_SECOND = 253402300799
FIRST_SECOND = -62135596800
SECONDS = (
    LAST_SECOND,
    LAST_SECOND + 1,
    LAST_SECOND - 3600,
    FIRST_SECOND,
    FIRST_SECOND - 1,
    FIRST_SECOND + 3600,
)
COUNTS = (-(2**63), -(2**63) + 1, 2**63 - 1, 2**62, -(2**62), -1, None)
ORDINARY = 1_700_000_000
LAST_DAY = 106_751_991_167  # whose milliseconds fit into 64 bits


def ends_of(unit):
    """The extreme counts of a unit of time that fit into 64 bits."""
    return [*COUNTS, *(s * PER_SECOND[unit] for s in SECONDS if abs(s * PER_SECOND[unit]) < 2**63)]


def far_columns():
    """Arrow columns of an extreme value and two ordinary ones."""
    for unit, each in PER_SECOND.items():
        for end in ends_of(unit):
            values = pa.array([end, ORDINARY * each, 0], pa.int64())
            yield from (
                (f"{unit} {zone} {end}", values.view(pa.timestamp(unit, zone))) for zone in ZONES
            )
            yield f"duration {unit} {end}", values.view(pa.duration(unit))
    for day in (-(2**31), 2**31 - 1, 2932896, 2932897, -719162, -719163):
        yield f"date32 {day}", pa.array([day, 19000, 0], pa.int32()).view(pa.date32())
    for day in (LAST_DAY, -LAST_DAY):
        yield (
            f"date64 {day}",
            pa.array([day * 86_400_000, 86_400_000, 0], pa.int64()).view(pa.date64()),
        )


def written_columns(path):
    """The same columns, as far as a Parquet file can hold them; each is written into `path` in its
    turn.
    """
    for name, cells in far_columns():
        try:
            pq.write_table(pa.table({"t": cells}), path)
        except pa.ArrowInvalid:
            continue
        yield name


def test_every_extreme_is_read_by_itself_in_memory_and_in_parts(tmp_path):
    path = tmp_path / "t.parquet"
    times = 0
    year = column_from_entry(
        kind="integer",
        low=1990,
        high=2030,
        read="year of y-m-d",
        out_of_range="clip",
        unreadable="missing",
        missing="category",
    )
    for name in written_columns(path):
        times += 1
        frame = read_table(path)
        source = source_at(path)
        cells = frame["t"]
        assert table_fingerprint(frame, b"k") == source.fingerprint(b"k"), name
        codes, texts = factorize_texts(cells)
        alone = factorize_texts(cells.iloc[1:])
        assert [texts[c] for c in codes[1:]] == [alone[1][c] for c in alone[0]], (
            f"{name}: others are read as ever"
        )
        for hashed in (hash_cells, hash_person_ids):
            assert (hashed(cells)[1:] == hashed(cells.iloc[1:])).all(), name
        assert ColumnTexts.from_series(cells).kind_counts.sum() == 3
        year_column = replace(year, name="t")
        (chunk,) = source.chunks(["t"])
        assert (chunk.encode(year_column) == year_column.encode(cells)).all(), name
        assert (year_column.encode(cells)[1:] == year_column.encode(cells.iloc[1:])).all(), name
    assert times > 300


DAYS = [datetime(2024, 1, 1) + timedelta(days=i % 28) for i in range(199)]
SEXES = np.where(np.arange(200) % 3 == 0, "F", "M")
OPEN = {"kind": "integer", "low": 2000, "high": 2030, "read": "year of y-m-d"}
CLIPPED = OPEN | {"out_of_range": "clip", "unreadable": "missing", "missing": "category"}


def parquet(path, end):
    times = pa.array([*DAYS, end], pa.timestamp("us", tz="Europe/Berlin"))
    pq.write_table(pa.table({"sex": SEXES, "until": times}), path / "t.parquet")
    return "t.parquet"


def excel(path, end):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["sex", "until"])
    for sex, day in zip(SEXES.tolist(), [*DAYS, None], strict=True):
        sheet.append([sex, day])
    last = sheet.cell(201, 2, end)
    last.number_format = "yyyy-mm-dd hh:mm:ss"
    book.save(path / "t.xlsx")
    return "t.xlsx"


def text(path, end):
    pd.DataFrame({"sex": SEXES, "until": [*map(str, DAYS), str(end)]}).to_csv(
        path / "t.csv", index=False
    )
    return "t.csv"


def database(path, end):
    with duckdb.connect(str(path / "d.duckdb")) as made:
        made.execute("SET TimeZone = 'Europe/Berlin'; CREATE TABLE t (sex TEXT, until TIMESTAMPTZ)")
        made.executemany(
            "INSERT INTO t VALUES (?, ?)",
            list(zip(SEXES.tolist(), [*map(str, DAYS), end], strict=True)),
        )
    return "duckdb://d.duckdb#t"


FAR = datetime(9999, 12, 31, 23, 59, 59)
TABLES = [
    (parquet, FAR),
    (parquet, datetime.min),
    (parquet, None),
    (excel, FAR),
    (excel, 2958466),
    (excel, 1e300),
    (excel, -1e5),
    (excel, 2958465.9999999),
    (text, "9999-12-31 23:59:59+14:00"),
    (text, "0000-00-00"),
    (text, "-292277022399-01-01"),
    (text, date.max),
    (database, "9999-12-31 23:59:59+00"),
    (database, "infinity"),
    (database, "-infinity"),
    (database, "290000-12-31 00:00:00+00"),
    (database, "4000-01-01 (BC) 00:00:00+00"),
]


@pytest.fixture
def schemas(tmp_path, monkeypatch):
    """A folder with schemas that name both columns, or only the other one."""
    monkeypatch.chdir(tmp_path)
    sex = categorical("F", "M")
    write_json("clip.json", {"columns": {"sex": sex, "until": CLIPPED}})
    write_json("refuse.json", {"columns": {"sex": sex, "until": OPEN}})
    write_json("without.json", {"columns": {"sex": sex}})
    write_json("plain.json", {"columns": {"sex": sex, "until": integer(0, 5)}})
    return tmp_path


@parametrize("make, end", TABLES)
def test_no_command_breaks_at_a_far_time(schemas, capsys, make, end):
    table = make(schemas, end)
    how = ["--queries=marginals:1", "--algorithm=residual", "--epsilon=1", "--delta=1e-6"]
    budget = ["--ledger=l.sqlite", "--total-epsilon=50", "--total-delta=1e-5", "--dataset=d"]
    stored = not table.startswith("duckdb")
    for name in ("clip", "refuse", "without", "plain"):
        orders = [
            ["run", table],
            *([["release", table, *budget, f"--out={name}"]] if stored else []),
        ]
        orders += [
            [*order, "--stream"] for order in orders[:1] if table.endswith((".parquet", ".csv"))
        ]
        for order in orders:
            code = main([*order, *how, f"--schema={name}.json"])
            assert code in (0, 2), capsys.readouterr().err
            assert code == 0 or name != "without" or not stored, (
                "what is not asked for refuses nothing"
            )
    if stored:
        assert main(["schema", table, "--peek"]) == 0
        people = [*how, "--schema=without.json", "--person=until", "--most-rows=9"]
        assert main(
            ["release", table, *people, *budget[:-1], "--dataset=p", "--new-version", "--out=p"]
        ) in (0, 2)
    assert "unexpected" not in capsys.readouterr().err
