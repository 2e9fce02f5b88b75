"""What a schema measured privately costs in accuracy: mean L1 beside that with a schema that
somebody typed.

python -m tests.benchmarks.schema [--seeds 5]
All releases are judged on the typed schema's pairs of columns: synthetic rows of each are read in
it. "Free" is the measured schema with the whole budget for the algorithm, so that what it costs to
pay for a schema stands apart from what its bins and its "(other)" cost.
"""

import numpy as np
import pandas as pd

from dpcore import (
    ALGORITHMS,
    Budget,
    Column,
    Domain,
    Marginals,
    PrivacyUnit,
    QueryRelease,
    Run,
    samples,
)
from dpcore.algorithms.schema_measurement.split_budget import (
    fit_split,
    plan_second,
    split_for_schema,
)
from dpcore.evaluation.schema_trial import measure_schema_with_seed
from dpcore.schema.column import OTHER_LABEL
from dpcore.schema.partial_schema import PartialSchema, UnknownColumn
from tests.benchmarks.measuring import main
from tests.small_problems import seeded

BUDGET = Budget(1, 1e-9)
GATE = 1.3
NUMBERS = 20  # different numbers from which on a column is one of bins


def tables():
    """Real and generated tables: a census, a ship's list of 1,306, and incomes with a heavy tail
    beside rare jobs.
    """
    yield (
        "census",
        samples.census().frame.replace("None", "no job"),
    )  # "None" is read as a missing cell
    yield "Titanic", samples.titanic().frame
    rng = seeded(0)
    n = 20_000
    rare = np.arange(1, 61) ** -1.2
    sex = rng.choice(["f", "m"], n)
    pay = np.round(np.exp(rng.normal(8, 1.5, n)) * np.where(sex == "f", 1.0, 1.5), 2)
    job = rng.choice([f"job {i:02}" for i in range(60)], n, p=rare / rare.sum())
    yield "tails", pd.DataFrame({"sex": sex, "pay": pay, "job": job})


def typed(name, cells):
    """A column's schema as somebody who knows the table would type it; it refuses nothing that is
    read in it.
    """
    numbers = pd.to_numeric(cells, errors="coerce")
    if numbers.nunique() > NUMBERS:
        edges = tuple(np.unique(numbers.quantile(np.arange(17) / 16)).tolist())
        edges = edges if edges[-1] > edges[0] else (edges[0], edges[0] + 1)
        tolerant = {
            "missing": "category",
            "out_of_range": "clip",
            "unreadable": "missing",
            "ordered": True,
        }
        kind = "integer" if (numbers.dropna() % 1 == 0).all() else "numeric"
        return Column(name=name, kind=kind, low=edges[0], high=edges[-1], edges=edges, **tolerant)
    values = tuple(sorted(set(cells) - {""}))
    return Column(
        name=name,
        kind="categorical",
        values=(*values, OTHER_LABEL),
        missing="other",
        out_of_range="other",
    )


def opened(column):
    """The same column, not known."""
    return UnknownColumn(name=column.name, kind=column.kind, quantiles=column.kind != "categorical")


def compare(frame, seeds):
    """The mean L1 (3,) with the typed schema, with a measured one that is free, and with one that
    is paid.
    """
    frame = frame.astype(object).where(frame.notna(), "").astype(str)
    domain = Domain(tuple(typed(name, frame[name]) for name in frame))
    judge, algorithm, n = Marginals.all(domain, 2), ALGORITHMS["gaussian_maxent"](), len(frame)
    truth = judge.answers_of_rows(domain.encode(frame))
    columns = tuple(map(opened, domain.columns))
    schema = PartialSchema(
        Domain(tuple(c.placeholder for c in columns), measured=domain.names), columns
    )
    split = split_for_schema(schema.unknown_columns, None, n, 1, BUDGET)
    placeholder = QueryRelease(Marginals.all(schema.placeholder, 2), n)
    split, _ = fit_split(algorithm, placeholder, split, exact=False)

    def error(own, part, seed):
        problem = QueryRelease(Marginals.all(own, 2), n)
        plan = plan_second(algorithm, problem, split, exact=False) if part else None
        rows = (
            Run(algorithm, problem, own.encode(frame), BUDGET, seed=seed, plan=plan)
            .finish()
            .sample()
        )
        texts = rows.astype(object).where(rows.notna(), "").astype(str)
        gaps = np.abs(judge.answers_of_rows(domain.encode(texts)) - truth)
        return np.add.reduceat(gaps, [table.start for table in judge.tables]).mean()

    found = []
    for seed in range(seeds):
        own = measure_schema_with_seed(schema, frame, PrivacyUnit(), split, seed=seed).domain
        found.append([error(domain, False, seed), error(own, False, seed), error(own, True, seed)])
    return np.mean(found, axis=0)


def measure(seeds, _):
    """Print the errors and their ratios, table by table; whether what is paid for stays within the
    gate.
    """
    worst = 0.0
    for name, frame in tables():
        known, free, paid = compare(frame, seeds)
        print(
            f"{name:>8} {len(frame):>7,} rows: typed {known:.4f}, measured {paid:.4f}, free "
            f"{free:.4f}: ",
            end="",
        )
        print(f"{paid / known:.2f} and {free / known:.2f} times", flush=True)
        worst = max(worst, float(paid / known))
    return {"times": round(worst, 2), "goal": GATE, "kept": worst <= GATE}


if __name__ == "__main__":
    main(measure, "seeds", 5)
