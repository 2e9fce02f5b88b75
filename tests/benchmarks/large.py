"""What counting a table that does not fit into memory costs in seconds and memory.

python -m tests.benchmarks.large                      # 10⁷ rows of 15 byte columns, made in a folder of its own
python -m tests.benchmarks.large --rows 100000000     # 10⁸, about 0.5 GB of Parquet
"""

import argparse
import os
import resource
import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpcore import domain_from_json
from dpcore.data.sources.counting import cover
from dpcore.data.sources.parquet import ParquetSource
from tests.benchmarks.frame import timed

COLUMNS, GROUP = 15, 1_000_000
SIZES = (2, 3, 5, 7, 9, 12, 16, 16, 10, 8, 6, 5, 4, 42, 2)
TRIPLES, PAIRS, GIGABYTES = 600, 120, 1.0  # what 10⁸ rows are to take, in seconds of processors


def make(path, rows):
    """A file of skewed codes, each column leaning on the one before it."""
    names = [f"c{i}" for i in range(COLUMNS)]
    with pq.ParquetWriter(path, pa.schema([(name, pa.uint8()) for name in names])) as file:
        for start in range(0, rows, GROUP):
            rng = np.random.default_rng(start)
            m, last, columns = min(GROUP, rows - start), np.zeros(min(GROUP, rows - start)), []
            for size in SIZES:
                last = (last + rng.random(m) ** 2) / 2
                columns.append((last * size).astype(np.uint8))
            file.write_table(pa.table(dict(zip(names, columns, strict=True))))


def main():
    """Everything, smallest first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, default=None, help="where it is made (default: a temporary folder)")
    chosen = parser.parse_args()
    domain = domain_from_json({f"c{i}": size for i, size in enumerate(SIZES)})
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        path = Path(name) / "large.parquet"
        timed(f"making {chosen.rows:,} rows", lambda: make(path, chosen.rows))
        print(f"{path.stat().st_size / 1e9:.2f} GB of Parquet, {domain.size:.1e} cells")
        share = chosen.rows / 1e8
        for ways, goal in ((2, PAIRS), (3, TRIPLES)):
            tables = list(combinations(range(COLUMNS), ways))
            what = f"{len(tables)} tables of {ways} columns, out of {len(cover(tables, domain.shape))} wide ones"
            source = ParquetSource(path, chosen.workers)
            timed(what, lambda source=source, tables=tables: source.count(domain, tables), goal * share)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
        print(
            f"the largest of {chosen.workers} processes that counted held {peak:.2f} GB; the goal is {GIGABYTES:g} GB"
        )
        source = ParquetSource(path)
        timed("its fingerprint", lambda: source.fingerprint(b"key"))


if __name__ == "__main__":
    main()
