"""Counts of sources are those in memory, bit for bit, whatever the file, its chunks, its order and
its processes.
"""

import itertools
import os
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore import Marginals, TableQueries, Union, gather, read_table
from dpcore.data import text_file
from dpcore.data.fingerprint import table_fingerprint
from dpcore.data.readers import load_table
from dpcore.data.sources import parquet_source, table_counting
from dpcore.data.sources.parquet_source import ParquetSource
from dpcore.data.sources.text_source import TextSource
from tests.small_problems import (
    InParts,
    binned,
    categorical,
    describe_rows,
    domain_of,
    expect_error,
    integer,
    integer_domain,
    module_fixture,
    parametrize,
    seeded,
)

MESSY = {
    "sex": categorical("f", "m", missing="category"),
    "age": integer(0, 9, out_of_range="clip", missing="category"),
    "pay": binned("numeric", 0, 0.1, 0.3, 1.1, 3, out_of_range="clip", missing="category"),
    "when": integer(1990, 1995, out_of_range="clip", read="year of d/m/y"),
}
MESSY["when"]["missing"] = "category"


def table(n=300, seed=0):
    rng = seeded(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m", " m", "NA", ""], n),
            "age": rng.choice(["1", " 2.0", "7", "-3", "44", "?", "9"], n),
            "id": np.arange(n).astype(str),
            "pay": rng.choice(["0.1", "0.3", ".30000000000000004", "1e0", "", "3", "9"], n),
            "when": rng.choice(["1/2/1991", "03/04/92", "1.1.1995", "31/12/1999", ""], n),
        }
    )


@module_fixture
def domain():
    return domain_of(MESSY)


@parametrize("rows", [29, 10_000])
@parametrize("ending, sep", [("csv", ","), ("tsv", "\t"), ("csv", ";"), ("parquet", "")])
def test_the_rows_are_those_in_memory(tmp_path, domain, monkeypatch, rows, ending, sep):
    monkeypatch.setattr(text_file, "READ_SIZE", 20 * rows)
    monkeypatch.setattr(parquet_source, "MAX_CHUNK_ROWS", rows)
    frame = table()
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        frame.to_parquet(path, row_group_size=97)
        source = ParquetSource(path)
    else:
        frame.to_csv(path, index=False, sep=sep)
        source = TextSource(path)
    here = domain.encode(read_table(path))
    assert describe_rows(gather(source, domain, [])) == describe_rows(here)
    assert describe_rows(gather(InParts(frame, rows=rows), domain, [])) == describe_rows(here)


WIDE = {name: 20 for name in "abcdefgh"}  # 2.56e10 cells, which nobody lists


@module_fixture
def wide(tmp_path_factory):
    """A wide domain, a table of it as file and folder, and its records in memory."""
    home = tmp_path_factory.mktemp("wide")
    cells = (seeded(1).random((4000, 8)) ** 2 * 20).astype(np.uint8)
    cells[:, 1] = cells[:, 0] // 2 + cells[:, 1] // 2
    frame = pd.DataFrame(cells, columns=list(WIDE))
    domain = integer_domain(*WIDE.values())
    frame.to_parquet(home / "one.parquet", row_group_size=300)
    folder = home / "parts" / "deeper"
    folder.mkdir(parents=True)
    frame.iloc[2500:].to_parquet(home / "parts" / "a.parquet", row_group_size=700)
    frame.iloc[:2500, ::-1].to_parquet(folder / "b.parquet")
    return domain, frame, home


@parametrize("path", ["one.parquet", "parts"])
def test_tables_of_a_domain_that_nobody_lists_are_those_in_memory(wide, path):
    domain, frame, home = wide
    rows = domain.encode(frame)
    pairs = Marginals.all(domain, 2)
    asked = Union(
        [pairs, TableQueries.prefixes(domain, "ac"), TableQueries.conjunctions(domain, 3, 20)]
    )
    counts = gather(ParquetSource(home / path), domain, pairs.axes)
    assert counts.n == rows.n
    for workload in (pairs, asked):
        assert (workload.answers_of_rows(counts) == workload.answers_of_rows(rows)).all()
        assert (
            workload.answers_of_rows(counts.with_undivided_sums)
            == workload.answers_of_rows(rows.with_undivided_sums)
        ).all()
    assert all(table.dtype == np.int64 for table in counts.tables.values())


def test_counts_sent_elsewhere_refuse_what_was_not_counted(wide):
    domain, _, home = wide
    counts = gather(ParquetSource(home / "one.parquet"), domain, [(0, 1)])
    assert counts.without_source.count((0,), ()).sum() == counts.n
    with expect_error("the table of a, b, c was not counted"):
        counts.without_source.count((0, 1, 2), ())
    assert counts.count((0, 1, 2), ()).sum() == counts.n


def test_a_zone_that_nobody_knows_is_refused_in_words(tmp_path):
    times = pa.array([0, 1], pa.timestamp("us", "Nowhere/Land"))
    pq.write_table(pa.table({"a": times}), tmp_path / "t.parquet")
    with expect_error("row group 1: not readable as parquet"):
        gather(ParquetSource(tmp_path / "t.parquet"), domain_of({"a": categorical("x")}), [])


def test_two_processes_count_what_one_does_and_tell_how_far_they_are(wide):
    domain, _, home = wide
    seen = []
    two = ParquetSource(home / "one.parquet", workers=2).count(
        domain, [(0, 1), (2, 3, 4)], lambda rows, _: seen.append(rows)
    )
    one = ParquetSource(home / "one.parquet").count(domain, [(0, 1), (2, 3, 4)])
    assert two.n == one.n == seen[-1] == 4000
    assert seen == sorted(seen)
    assert len(seen) > 2
    assert all((two.tables[axes] == one.tables[axes]).all() for axes in one.tables)


class Enough(Exception):
    pass


@parametrize("workers", [1, 2])
def test_reading_ends_between_chunks_when_whoever_watches_says_so(wide, workers):
    domain, _, home = wide
    seen = []

    def progress(rows, _):
        seen.append(rows)
        if rows >= 900:
            raise Enough

    with pytest.raises(Enough):
        ParquetSource(home / "one.parquet", workers=workers).count(domain, [(0,)], progress)
    assert seen[-1] < 4000


@given(shape=st.lists(st.integers(1, 40), min_size=1, max_size=9), data=st.data())
def test_tables_are_put_together_and_summed_out_without_loss(shape, data):
    d = len(shape)
    every = [axes for w in (1, 2, 3) for axes in itertools.combinations(range(d), w)]
    tables = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=30, unique=True))
    wide = table_counting.choose_wide_tables(tables, shape)
    sizes = {axes: int(np.prod([shape[a] for a in axes])) for axes in {*wide, *tables}}
    assert all(
        sizes[axes] <= table_counting.MAX_WIDE_TABLE_CELLS or axes in tables for axes in wide
    )
    assert all(any(set(axes) <= set(other) for other in wide) for axes in tables)
    drawn = [seeded(a).integers(0, size, 50) for a, size in enumerate(shape)]
    counted = {axes: np.zeros(sizes[axes], dtype=np.int64) for axes in wide}
    with mock.patch.object(
        table_counting,
        "MIN_SPARSE_TABLE_CELLS",
        data.draw(st.sampled_from([10, table_counting.MIN_SPARSE_TABLE_CELLS])),
    ):
        table_counting.add_rows_to_tables(counted, [c[:20] for c in drawn], shape)
        table_counting.add_rows_to_tables(counted, [c[20:] for c in drawn], shape)
    for axes, table in table_counting.sum_to_tables(counted, tables, shape).items():
        own = np.ravel_multi_index(tuple(drawn[a] for a in axes), tuple(shape[a] for a in axes))
        assert (table == np.bincount(own, minlength=sizes[axes])).all()


@parametrize(
    "content, message",
    [
        (b"a,b\n1,2\n3,4,5\n", "line 3 has 3 values, the header has 2"),
        (b"a,b\n1,2\n", "has 1 row; at least 2"),
        (b"a,c\n1,2\n1,2\n", "no column 'b'; its columns are a, c"),
        (b"a,b\n1,2\n1,x\n", "rows from 1 on: column 'b': 'x' in row 2 is not a number"),
    ],
)
def test_text_that_cannot_be_counted_says_why(tmp_path, content, message):
    (tmp_path / "t.csv").write_bytes(content)
    domain = integer_domain(5, 5)
    with expect_error(message) as caught:
        gather(TextSource(tmp_path / "t.csv"), domain, [])
    assert str(caught.value).startswith(str(tmp_path / "t.csv"))


@parametrize(
    "content",
    [
        b"x;y\r\n1,5;a\r\n;b\r\n-0,1;a",
        b"x;y\n1,5;a\n1.5;b\n2,5;a\n",
        '\ufeffx,y\n0.1,é\n3,"two\nlines"\n'.encode(),
        "x,y\n1,é\n2,ü\n".encode("cp1252"),
        "x,y\n1,é\n2,".encode() + b"\xe9\n",
        "x,y\n1,é\n2,a\n".encode("utf-16"),
        b"x,y\n1\n\n2,a\n",
    ],
)
@parametrize("size", [1, 5, 1 << 20])
def test_text_is_cut_into_the_same_cells(tmp_path, monkeypatch, content, size):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    whole = load_table(path)
    monkeypatch.setattr(text_file, "READ_SIZE", size)
    monkeypatch.setattr(text_file, "BATCH_ROWS", 1 if size == 1 else 1000)
    source = TextSource(path, whole.format)
    parts = pd.concat([chunk.table for chunk in source.chunks(source.columns)])
    assert parts.to_numpy().tolist() == whole.frame.to_numpy().tolist()
    assert list(source.columns) == whole.frame.columns.tolist()


def test_a_file_that_changes_between_two_readings_is_refused(tmp_path):
    domain = integer_domain(5)
    frame = pd.DataFrame({"a": [1, 2, 3]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (TextSource(tmp_path / "t.csv"), ParquetSource(tmp_path / "t.parquet")):
        assert gather(source, domain, []).n == 3
        os.utime(source.path, ns=(1, 1))
        with expect_error(f"{source.path}: has changed"):
            gather(source, domain, [])


def test_folders_and_files_that_are_no_tables_say_why(tmp_path):
    (tmp_path / "empty").mkdir()
    named = tmp_path / "named" / "year=2020"
    named.mkdir(parents=True)
    frame = pd.DataFrame({"a": [1, 2]})
    frame.to_parquet(named / "t.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1nothing of the kind")
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    frame.to_parquet(mixed / "a.parquet")
    frame.rename(columns={"a": "b"}).to_parquet(mixed / "b.parquet")
    for path, message in {
        "empty": "holds no file",
        "named": "names a column's value",
        "broken.parquet": "damaged",
        "mixed": "has other columns than a.parquet",
        "nowhere.parquet": "there is no such file",
    }.items():
        with expect_error(message):
            gather(ParquetSource(tmp_path / path), integer_domain(5), [])


@parametrize("ending", ["csv", "parquet"])
def test_a_fingerprint_is_that_in_memory_whatever_the_order(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(text_file, "READ_SIZE", 400)
    frame = table(100)
    seen = set()
    for i, version in enumerate((frame, frame.iloc[::-1], frame[frame.columns[::-1]])):
        path = tmp_path / f"{i}.{ending}"
        source = TextSource(path) if ending == "csv" else ParquetSource(path)
        version.to_csv(path, index=False) if ending == "csv" else version.to_parquet(
            path, row_group_size=30
        )
        seen |= {source.fingerprint(b"k"), table_fingerprint(read_table(path), b"k")}
    assert len(seen) == 1
    assert InParts(frame.iloc[1:]).fingerprint(b"k") not in seen
    assert InParts(frame).fingerprint(b"l") not in seen
