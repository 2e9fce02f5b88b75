"""What reading a table of texts, numbers and days costs in seconds of processors, beside another version of the code.

python -m tests.benchmarks.reading --rows 1000000 --against FOLDER    # a folder that holds the other version's dpcore
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from dpcore import domain_from_json, limit_rows, read_table, source_at
from tests.benchmarks.frame import took

HERE = Path(__file__).parents[2]
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


def main():
    """Make the table, measure both versions in processes of their own, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.home:
        print(json.dumps(measured(chosen.home)))
        return
    with tempfile.TemporaryDirectory() as folder:
        frame = make(chosen.rows)
        frame.to_csv(Path(folder) / "t.csv", index=False)
        frame.to_parquet(Path(folder) / "t.parquet")
        versions = [HERE, *([chosen.against.resolve()] if chosen.against else [])]
        found = [_version(place, Path(folder)) for place in versions]
    for what, seconds in found[0].items():
        other = f", {found[1][what]:.2f} s there: {seconds / found[1][what]:.2f} times" if chosen.against else ""
        print(f"{what}: {seconds:.2f} s{other}")


def _version(place, folder):
    """What these benchmarks measure of the package in another place."""
    both = Path(tempfile.mkdtemp(dir=folder))
    for name, home in (("dpcore", place), ("tests", HERE)):
        (both / name).symlink_to(home / name)
    command = [sys.executable, "-m", "tests.benchmarks.reading", "--home", str(folder)]
    return json.loads(subprocess.run(command, cwd=both, stdout=subprocess.PIPE, check=True).stdout)


if __name__ == "__main__":
    main()
