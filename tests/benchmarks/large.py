"""What counting a table that does not fit into memory costs in seconds and memory.

python -m tests.benchmarks.large                      # 10⁷ rows of 15 byte columns, made in a
folder of its own python -m tests.benchmarks.large --rows 100000000     # 10⁸, about 0.5 GB of
Parquet
"""

import resource
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpcore import domain_from_json
from dpcore.data.sources.parquet_source import ParquetSource
from dpcore.data.sources.table_counting import choose_wide_tables
from tests.benchmarks.measuring import main, timed
from tests.small_problems import seeded

COLUMNS = 15
GROUP = 1_000_000
SIZES = (2, 3, 5, 7, 9, 12, 16, 16, 10, 8, 6, 5, 4, 42, 2)
# what 10⁸ rows are to take, in seconds of processors
TRIPLES = 600
PAIRS = 120
GIGABYTES = 1.0


def make(path, rows):
    """A file of skewed codes, each column leaning on the one before it."""
    names = [f"c{i}" for i in range(COLUMNS)]
    with pq.ParquetWriter(path, pa.schema([(name, pa.uint8()) for name in names])) as file:
        for start in range(0, rows, GROUP):
            rng = seeded(start)
            m = min(GROUP, rows - start)
            last = np.zeros(min(GROUP, rows - start))
            columns = []
            for size in SIZES:
                last = (last + rng.random(m) ** 2) / 2
                columns.append((last * size).astype(np.uint8))
            file.write_table(pa.table(dict(zip(names, columns, strict=True))))


def measure(rows, folder):
    """Everything, smallest first."""
    domain = domain_from_json({f"c{i}": size for i, size in enumerate(SIZES)})
    path = folder / "large.parquet"
    kept = True
    timed(f"making {rows:,} rows", lambda: make(path, rows))
    print(f"{path.stat().st_size / 1e9:.2f} GB of Parquet, {domain.size:.1e} cells")
    for ways, goal in ((2, PAIRS), (3, TRIPLES)):
        tables = list(combinations(range(COLUMNS), ways))
        what = (
            f"{len(tables)} tables of {ways} columns, out of "
            f"{len(choose_wide_tables(tables, domain.shape))} wide ones"
        )
        kept &= timed(
            what, lambda tables=tables: ParquetSource(path).count(domain, tables), goal * rows / 1e8
        )[1]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    timed("its fingerprint", lambda: ParquetSource(path).fingerprint(b"key"))
    return {"gigabytes": round(peak, 2), "goal": GIGABYTES, "kept": kept and peak <= GIGABYTES}


if __name__ == "__main__":
    main(measure, "rows", 10_000_000)
