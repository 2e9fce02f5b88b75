"""What it costs in accuracy to measure a schema privately: mean L1 beside that with a perfect public schema.

python -m tests.benchmarks.schema [--seeds 3]
Both releases are judged on the perfect schema's tables: synthetic rows of either are read in it, and what the measured
one calls "(other)" or leaves missing counts as wrong.
"""

import argparse
import math
import time
from collections.abc import Iterator

import numpy as np
import pandas as pd

from dpcore.algorithms import ALGORITHMS
from dpcore.data import samples
from dpcore.data.column import OTHER, Column
from dpcore.data.domain import Domain
from dpcore.data.open_schema import OpenColumn, OpenSchema
from dpcore.data.privacy_unit import PrivacyUnit
from dpcore.evaluation.measured import explore_schema
from dpcore.evaluation.run import Run
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.schemas.plan import divide, within
from dpcore.workloads import Marginals

BUDGET, SHARE, GATE = Budget(1, 1e-9), 0.1, 1.25


def generated(n: int = 20_000) -> Iterator[tuple[str, pd.DataFrame]]:
    """Tables with what real ones have: heavy tails, rare categories, constants, dates, nothing at all."""
    rng = np.random.default_rng(0)
    sex, group = rng.choice(["f", "m"], n), rng.choice(list("abcd"), n, p=[0.4, 0.3, 0.2, 0.1])
    common = {"sex": sex, "group": group}
    scale = np.where(sex == "f", 1.0, 1.5)
    yield "heavy tails", pd.DataFrame(common | {"pay": np.round(np.exp(rng.normal(8, 1.5, n)) * scale, 2)})
    rare = np.arange(1, 201) ** -1.2
    yield (
        "200 rare categories",
        pd.DataFrame(common | {"job": rng.choice([f"j{i:03}" for i in range(200)], n, p=rare / rare.sum())}),
    )
    yield "constants", pd.DataFrame(common | {"one": "1", "country": "SE"})
    years = rng.integers(1950, 2010, n)
    yield "dates", pd.DataFrame(common | {"born": [f"{y}-05-17" for y in years]})
    yield "all missing", pd.DataFrame(common | {"nothing": [""] * n})


def perfect(name: str, cells: pd.Series) -> Column:
    """A column's schema as somebody who knows the table would type it; it refuses nothing that is read in it."""
    tolerant = {"missing": "category", "out_of_range": "clip", "unreadable": "missing", "ordered": True}
    if name in ("pay", "born"):
        read = "year of y-m-d" if name == "born" else ""
        numbers = cells.str[:4].astype(float) if read else cells.astype(float)
        edges = tuple(np.unique(np.quantile(numbers, np.arange(17) / 16)).round(2))
        kind = "integer" if read else "numeric"
        return Column(name=name, kind=kind, low=edges[0], high=edges[-1], edges=edges, read=read, **tolerant)
    values = sorted(set(cells) - {""}) or ["none"]
    return Column(name=name, kind="categorical", values=(*values, OTHER), missing="other", out_of_range="other")


def opened(column: Column) -> OpenColumn:
    """The same column, not known."""
    numbers = column.kind != "categorical"
    return OpenColumn(name=column.name, kind=column.kind, read=column.read, ordered=numbers, quantiles=numbers)


def error(truth: np.ndarray, synthetic: pd.DataFrame, domain: Domain, judge: Marginals) -> float:
    """Mean over tables of the L1 distance to the true one."""
    answers = judge.answers_of_rows(domain.encode(synthetic.astype(str)))
    return float(np.mean([np.abs(answers[t] - truth[t]).sum() for t in judge.tables]))


def compare(frame: pd.DataFrame, seeds: int) -> tuple[float, float, float]:
    """Mean L1 with the perfect schema, with a measured one, and seconds to measure it."""
    frame = frame.astype(str)
    domain = Domain(tuple(perfect(name, frame[name]) for name in frame))
    judge, algorithm, n = Marginals.all(domain, 2), ALGORITHMS["gaussian_maxent"](), len(frame)
    truth = judge.answers_of_rows(domain.encode(frame))
    open_schema = OpenSchema(tuple(map(opened, domain.columns)))
    division = divide(BUDGET, SHARE, categories=True)
    known, measured, seconds = [], [], []
    for seed in range(seeds):
        run = Run(algorithm, QueryRelease(judge, n), domain.encode(frame), BUDGET, seed=seed).finish()
        known.append(error(truth, _texts(run.sample(), domain), domain, judge))
        begun = time.perf_counter()
        found = explore_schema(open_schema, frame, PrivacyUnit(), division, seed=seed).domain
        seconds.append(time.perf_counter() - begun)
        problem = QueryRelease(Marginals.all(found, 2), n)
        plan = within(algorithm, problem, division, exact=False)
        run = Run(algorithm, problem, found.encode(frame), BUDGET, seed=seed, plan=plan).finish()
        measured.append(error(truth, _texts(run.sample(), found), domain, judge))
    return float(np.mean(known)), float(np.mean(measured)), float(np.mean(seconds))


def _texts(rows: pd.DataFrame, domain: Domain) -> pd.DataFrame:
    """Synthetic rows written as the table is: a year as a day of it, nothing as an empty cell."""
    out = rows.astype(object).where(rows.notna(), "")
    for column in domain.columns:
        if column.read:
            out[column.name] = [f"{int(v)}-05-17" if v != "" else "" for v in out[column.name]]
    return out


def main() -> int:
    """Print all tables; 1 where those of 20,000 rows or more are not all below the gate together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    known = [
        ("census", samples.census().frame),
        ("Titanic", samples.titanic().frame),
        ("Berkeley", samples.berkeley().frame),
    ]
    sums = np.zeros(2)
    print(f"{'table':<22}{'rows':>8}{'perfect':>10}{'measured':>10}{'ratio':>8}{'seconds':>9}")
    for name, frame in [*known, *generated()]:
        perfect_l1, measured_l1, seconds = compare(frame, seeds)
        ratio = measured_l1 / perfect_l1 if perfect_l1 else math.nan
        print(
            f"{name:<22}{len(frame):>8,}{perfect_l1:>10.4f}{measured_l1:>10.4f}{ratio:>8.2f}{seconds:>9.2f}", flush=True
        )
        sums += np.array([perfect_l1, measured_l1]) * (len(frame) >= 20_000)
    rng = np.random.default_rng(1)
    wide = pd.DataFrame(
        {f"x{i}": rng.normal(0, 1 + i, 20_000) if i % 2 else rng.choice(list("abcd"), 20_000) for i in range(30)}
    )
    columns = tuple(OpenColumn(name=c, kind="numeric" if i % 2 else "categorical") for i, c in enumerate(wide))
    begun = time.perf_counter()
    explore_schema(OpenSchema(columns), wide.astype(str), PrivacyUnit(), divide(BUDGET, 1.0, categories=True))
    print(f"30 columns of 20,000 rows: {time.perf_counter() - begun:.2f} s")
    print(f"20,000 rows and more together: {sums[1] / sums[0]:.3f} times the error, gate {GATE}")
    return int(sums[1] > GATE * sums[0])


if __name__ == "__main__":
    raise SystemExit(main())
