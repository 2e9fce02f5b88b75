"""What reading a table of texts, numbers and days costs in seconds of processors.

python -m tests.benchmarks.reading --rows 1000000    # in the folder of each of two versions, to
compare them
"""

import numpy as np

from dpcore import Domain, limit_rows, read_table, samples, source_at
from tests.benchmarks.measuring import main, took
from tests.small_problems import column_from_entry

TURNS = 2
KINDS = ("csv", "parquet")


def make(rows):
    """The generated census, and beside it many texts, days and some missing cells."""
    rng = np.random.default_rng(0)
    sample = samples.census(rows)
    days = np.datetime_as_string(
        np.datetime64("1950-01-01") + rng.integers(0, 20_000, rows)
    ).astype(object)
    days[rng.random(rows) < 0.01] = None
    frame = sample.frame.assign(person=rng.integers(10**17, 10**17 + rows // 2, rows), x=days)
    day = column_from_entry(
        kind="integer", low=1950, high=2010, read="year of y-m-d", missing="category"
    )
    return frame, Domain((*sample.domain.columns, day))


def measured(home, domain):
    """Seconds of processors for each way to read the table, the least of some turns."""
    found = dict[str, float]()
    pairs = [(a, a + 1) for a in range(len(domain.shape) - 1)]
    for kind in KINDS:
        path = home / f"t.{kind}"
        frame = read_table(path)
        ways = {
            "read": lambda path=path: read_table(path),
            "encoded": lambda frame=frame: domain.encode(frame),
            "counted in parts": lambda path=path: source_at(path, workers=1).count(domain, pairs),
            "fingerprint in parts": lambda path=path: source_at(path, workers=1).fingerprint(
                b"key"
            ),
            "rows of a person": lambda frame=frame: limit_rows(frame, "person", 2, domain.names),
        }
        for what, work in ways.items():
            found[f"{kind}, {what}"] = min(took(work)[2] for _ in range(TURNS))
    return found


def measure(rows, folder):
    """Make the table, and read it in every way."""
    frame, domain = make(rows)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    return {what: round(seconds, 2) for what, seconds in measured(folder, domain).items()}


if __name__ == "__main__":
    main(measure, "rows", 1_000_000)
