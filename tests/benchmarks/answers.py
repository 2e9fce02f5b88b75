"""How long the least noise of any unbiased Gaussian release takes to find, and how much equal noise on tables loses.

python -m tests.benchmarks.answers --adult15 adult15-domain.json
"""

import argparse
import json
import math
import time
from pathlib import Path

from dpcore.data.domain import Domain
from dpcore.data.schema import domain_from_json
from dpcore.theory.optimal_noise import optimum
from dpcore.workloads import Marginals


def told(name: str, domain: Domain, ways: int) -> None:
    """One line: tables, seconds, and RMSE of raw tables with equal noise over the optimum."""
    tables = Marginals.all(domain, ways)
    optimum(tables)  # once, so that what is loaded for the first time is not counted
    start = time.perf_counter()
    found = optimum(tables)
    seconds = time.perf_counter() - start
    raw = 2 * len(tables.tables) * tables.m
    ratio, gap = math.sqrt(raw / found.upper), found.upper / found.lower - 1
    print(f"{name:<24} {len(tables.tables):>8,} tables {seconds:8.3f} s   raw/optimal {ratio:.3f}   gap {gap:.1e}")


def main() -> None:
    """Wide tables of one size, and a real one where its domain is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adult15", metavar="DOMAIN.json")
    chosen = parser.parse_args()
    wide = domain_from_json({f"c{i}": 10 for i in range(100)})
    if chosen.adult15:
        told("adult15, triples", domain_from_json(json.loads(Path(chosen.adult15).read_text())), 3)
    uneven = domain_from_json({f"c{i}": 2 + i % 15 for i in range(48)})
    told("48 uneven, pairs", uneven, 2)
    told("100 × 10, pairs", wide, 2)
    told("100 × 10, triples", wide, 3)  # 161,700 of them


if __name__ == "__main__":
    main()
