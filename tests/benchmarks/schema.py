"""What it costs in accuracy to measure a schema privately: mean L1 beside that with a perfect public schema.

python -m tests.benchmarks.schema [--seeds 3] [--adult adult.csv adult-domain.json adult15.csv adult15-domain.json]
Both releases answer all pairs of columns; synthetic rows of either are asked the same questions: how many are in every
cell of every pair, where numbers are asked in tenths of the table's rows, for which neither schema was made (`own`: in
the cells of the perfect schema). Rows that a measured schema calls others are spread evenly over the categories that it
did not find, as whoever asks for one of those knows that there is one; what it leaves missing counts as wrong.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from dpcore.algorithms import ALGORITHMS
from dpcore.data import samples
from dpcore.data.column import MISSING_TEXTS, OTHER, Column
from dpcore.data.domain import Domain
from dpcore.data.open_schema import OpenColumn, OpenSchema
from dpcore.data.privacy_unit import PrivacyUnit
from dpcore.data.readers import read_json
from dpcore.evaluation.measured import explore_schema
from dpcore.evaluation.run import Run
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.schemas.plan import default_share, divide, within
from dpcore.workloads import Marginals

BUDGET, GATE = Budget(1, 1e-9), 1.25
SIX = ("workclass", "education-num", "marital-status", "race", "sex", "income>50K")  # of Adult
NUMBERS = ("age", "fnlwgt", "capital-gain", "capital-loss", "hours-per-week")  # of Adult


@dataclass(frozen=True, eq=False)
class Case:
    """A table as texts, and the schema that somebody who knows the table would type."""

    name: str
    frame: pd.DataFrame
    domain: Domain


def samples_known() -> Iterator[Case]:
    """The sample tables, with their own schemas."""
    for name, sample in (
        ("census", samples.census()),
        ("Titanic", samples.titanic()),
        ("Berkeley", samples.berkeley()),
    ):
        yield Case(name, sample.frame.astype(str), sample.domain)


def adult(narrow: str, sizes: str, wide: str, wide_sizes: str) -> Iterator[Case]:
    """Adult's 6 columns, and all 15 with five of them as fine as the narrow table has them."""
    frame, codes, size, cells = pd.read_csv(narrow), pd.read_csv(wide), read_json(sizes), read_json(wide_sizes)
    yield Case("Adult-6", frame[list(SIX)].astype(str), Domain(tuple(_coded(name, size[name]) for name in SIX)))
    for name in NUMBERS:
        codes[name] = frame[name]
    columns = tuple(perfect(c, codes[c].astype(str)) if c in NUMBERS else _coded(c, cells[c]) for c in codes)
    yield Case("Adult-15", codes.astype(str), Domain(columns))


def _coded(name: str, cells: int) -> Column:
    """A column of codes 0..cells − 1, whole numbers or names."""
    if name == "education-num":
        return Column(name=name, kind="integer", low=0, high=cells - 1, ordered=True)
    return Column(name=name, kind="categorical", values=tuple(map(str, range(cells))))


def generated() -> Iterator[Case]:
    """Tables with what real ones have."""
    for name, frame in frames():
        yield Case(name, frame.astype(str), Domain(tuple(perfect(c, frame[c].astype(str)) for c in frame)))


def frames(n: int = 20_000) -> Iterator[tuple[str, pd.DataFrame]]:
    """Heavy tails, rare categories, constants, dates, nothing at all."""
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
    """A column's schema as somebody who knows the table would type it."""
    if name in ("pay", "born", *NUMBERS):
        read = "year of y-m-d" if name == "born" else ""
        numbers = cells.str[:4].astype(float) if read else cells.astype(float)
        edges = tuple(np.unique(np.quantile(numbers, np.arange(17) / 16)).round(2))
        kind = "numeric" if name == "pay" else "integer"
        return Column(name=name, kind=kind, low=edges[0], high=edges[-1], edges=edges, read=read, ordered=True)
    values = tuple(sorted(set(cells) - {""})) or (OTHER,)
    return Column(name=name, kind="categorical", values=values, missing="refuse" if values != (OTHER,) else "other")


def asked(column: Column, cells: pd.Series, own: bool) -> Column:
    """The cells that are asked about, with one for what the column would refuse."""
    if column.kind != "categorical":
        column = replace(column, missing="category", out_of_range="clip", unreadable="missing")
        edges = np.unique(np.nanquantile(column.numbers(cells), np.arange(11) / 10))
        return column if own else replace(column, low=edges[0], high=edges[-1], edges=tuple(edges))
    values = (*(v for v in column.values if v != OTHER), OTHER)
    return replace(column, values=values, missing="other", out_of_range="other")


def opened(column: Column) -> OpenColumn:
    """The same column, not known."""
    numbers = column.kind != "categorical"
    return OpenColumn(name=column.name, kind=column.kind, read=column.read, ordered=numbers, quantiles=numbers)


def compare(case: Case, seeds: int, share: float | None) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean L1 (2,), in tenths and in own cells, with the perfect schema and a measured one, and seconds to measure."""
    frame, domain, algorithm, n = case.frame, case.domain, ALGORITHMS["gaussian_maxent"](), len(case.frame)
    judges = [
        Marginals.all(Domain(tuple(asked(c, frame[c.name], own) for c in domain.columns)), 2) for own in (False, True)
    ]
    truths = [judge.answers_of_rows(judge.domain.encode(frame)) for judge in judges]
    open_schema = OpenSchema(tuple(map(opened, domain.columns)))
    share = default_share(len(open_schema.open), n, 1, BUDGET) if share is None else share
    division = divide(BUDGET, share, categories=any(c.categorical for c in open_schema.open))
    known, measured, seconds = [], [], []

    def error(run: Run, found: Domain) -> list[float]:
        texts, out = _texts(run.sample(), found, domain, run.seed), []
        for judge, truth in zip(judges, truths, strict=True):
            gaps = np.abs(judge.answers_of_rows(judge.domain.encode(texts)) - truth)
            out.append(float(gaps.sum() / len(judge.tables)))
        return out

    for seed in range(seeds):
        run = Run(algorithm, QueryRelease(Marginals.all(domain, 2), n), domain.encode(frame), BUDGET, seed=seed)
        known.append(error(run.finish(), domain))
        begun = time.perf_counter()
        found = explore_schema(open_schema, frame, PrivacyUnit(), division, seed=seed)
        seconds.append(time.perf_counter() - begun)
        problem = QueryRelease(Marginals.all(found.domain, 2), n)
        plan = within(algorithm, problem, division, exact=False)
        run = Run(algorithm, problem, found.domain.encode(frame), BUDGET, seed=seed, plan=plan)
        measured.append(error(run.finish(), found.domain))
    return np.mean(known, axis=0), np.mean(measured, axis=0), float(np.mean(seconds))


def _texts(rows: pd.DataFrame, found: Domain, domain: Domain, seed: int) -> pd.DataFrame:
    """Synthetic rows as the table is written: a year as a day of it, nothing as an empty cell, others as some."""
    out, rng = rows.astype(object).where(rows.notna(), ""), np.random.default_rng(seed)
    for own, true in zip(found.columns, domain.columns, strict=True):
        if own.read:
            out[own.name] = [f"{int(v)}-05-17" if v != "" else "" for v in out[own.name]]
        if any(v in MISSING_TEXTS for v in true.values):
            out.loc[out[own.name] == "", own.name] = next(v for v in true.values if v in MISSING_TEXTS)
        if rest := [v for v in true.values if v not in own.values]:
            others = (out[own.name] == OTHER).to_numpy()
            out.loc[others, own.name] = rng.choice(rest, int(others.sum()))
    return out.astype(str)


def main() -> int:
    """Print all tables; 1 where those of 20,000 rows or more are not all below the gate together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--adult", nargs=4, metavar=("TABLE", "SIZES", "WIDE", "WIDE_SIZES"))
    parser.add_argument("--share", type=float, help="default: what a release takes")
    parser.add_argument("--only", default="", help="tables with this in their name")
    chosen = parser.parse_args()
    cases = [*samples_known(), *generated(), *(adult(*chosen.adult) if chosen.adult else [])]
    sums = np.zeros((2, 2))
    print(f"{'table':<22}{'rows':>8}{'perfect':>10}{'measured':>10}{'ratio':>8}{'own cells':>11}{'seconds':>9}")
    for case in cases:
        if chosen.only not in case.name:
            continue
        *both, seconds = compare(case, chosen.seeds, chosen.share)
        ratio, own = both[1] / np.maximum(both[0], 1e-9)
        errors = f"{both[0][0]:>10.4f}{both[1][0]:>10.4f}{ratio:>8.2f}{own:>11.2f}"
        print(f"{case.name:<22}{len(case.frame):>8,}{errors}{seconds:>9.2f}", flush=True)
        sums += np.array(both) * (len(case.frame) >= 20_000)
    rng = np.random.default_rng(1)
    wide = pd.DataFrame(
        {f"x{i}": rng.normal(0, 1 + i, 20_000) if i % 2 else rng.choice(list("abcd"), 20_000) for i in range(30)}
    )
    columns = tuple(OpenColumn(name=c, kind="numeric" if i % 2 else "categorical") for i, c in enumerate(wide))
    begun = time.perf_counter()
    explore_schema(OpenSchema(columns), wide.astype(str), PrivacyUnit(), divide(BUDGET, 1.0, categories=True))
    print(f"30 columns of 20,000 rows: {time.perf_counter() - begun:.2f} s")
    ratio, own = sums[1] / sums[0]
    print(f"20,000 rows and more together: {ratio:.3f} times the error, gate {GATE}; in own cells {own:.3f}")
    return int(ratio > GATE)


if __name__ == "__main__":
    raise SystemExit(main())
