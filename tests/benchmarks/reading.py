"""What reading a table of texts, numbers and days costs in seconds of processors.

python -m tests.benchmarks.reading --rows 1000000    # in the folder of each of two versions, to compare them
"""

import numpy as np
import pandas as pd

from dpcore import domain_from_json, limit_rows, read_table, source_at
from tests.benchmarks.frame import main, took

TURNS = 2
KINDS = ("csv", "parquet")


def make(rows):
    """A table of 15 columns: few texts, many texts, whole numbers, fractions, days, and some missing cells."""
    rng = np.random.default_rng(0)
    words = np.array([f"occupation {i}" for i in range(40)])
    days = np.datetime_as_string(np.datetime64("1950-01-01") + rng.integers(0, 20_000, rows))
    frame = pd.DataFrame({"person": rng.integers(10**17, 10**17 + rows // 2, rows), "day": days})
    for i in range(5):
        frame[f"word{i}"] = words[rng.integers(0, 40, rows)]
        frame[f"whole{i}"] = rng.integers(0, 100, rows)
    for i in range(3):
        frame[f"part{i}"] = (100 * rng.random(rows)).round(4 if i else 12)
    frame.loc[rng.random(rows) < 0.01, "word0"] = None
    return frame


def schema():
    """What is public of it."""
    words = {"kind": "categorical", "values": [f"occupation {i}" for i in range(40)], "missing": "category"}
    columns = {"day": {"kind": "integer", "low": 1950, "high": 2010, "read": "year of y-m-d"}}
    columns |= {f"word{i}": words for i in range(5)}
    columns |= {f"whole{i}": {"kind": "integer", "low": 0, "high": 99} for i in range(5)}
    columns |= {f"part{i}": {"kind": "numeric", "low": 0, "high": 100, "bins": 20} for i in range(3)}
    return domain_from_json({"columns": columns})


def measured(home):
    """Seconds of processors for each way to read the table, the least of some turns."""
    domain, found = schema(), dict[str, float]()
    pairs = [(a, a + 1) for a in range(len(domain.shape) - 1)]
    for kind in KINDS:
        path = home / f"t.{kind}"
        frame = read_table(path)
        ways = {
            "read": lambda path=path: read_table(path),
            "encoded": lambda frame=frame: domain.encode(frame),
            "counted in parts": lambda path=path: source_at(path, workers=1).count(domain, pairs),
            "fingerprint in parts": lambda path=path: source_at(path, workers=1).fingerprint(b"key"),
            "rows of a person": lambda frame=frame: limit_rows(frame, "person", 2, domain.names),
        }
        for what, work in ways.items():
            found[f"{kind}, {what}"] = min(took(work)[2] for _ in range(TURNS))
    return found


def measure(rows, folder):
    """Make the table, and read it in every way."""
    frame = make(rows)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    return {what: round(seconds, 2) for what, seconds in measured(folder).items()}


if __name__ == "__main__":
    main(measure, "rows", 1_000_000)
