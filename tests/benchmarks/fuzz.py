"""Throw hostile tables, schemas and arguments at the command line; print how many were tried and how many fell.

python -m tests.benchmarks.fuzz --cases 100000 --seconds 3600 --seed 1

Target: 0 fell. A case falls that ends with a traceback, another exit code than is documented, more than one line of
error, a value that nobody asked for, more than 10 s, or more than 1 GB.
"""

import argparse
import contextlib
import resource
import sys
import time
from collections import Counter

from hypothesis import given

from tests.certificates.fuzz import judge
from tests.certificates.fuzz.generated import generated
from tests.certificates.fuzz.strategies import Case, cases

MEMORY = 1_000_000_000  # bytes
SHOWN = 20


class EnoughError(Exception):
    """The time is over."""


def try_many(count: int, seconds: float, start: int) -> tuple[int, list[tuple[str, Case]]]:
    """How many were tried, and which fell and why."""
    fell: list[tuple[str, Case]] = []
    tried, begun = 0, time.monotonic()

    @generated(count, start)
    @given(case=cases())
    def one(case: Case) -> None:
        nonlocal tried
        if time.monotonic() - begun > seconds:
            raise EnoughError
        why = judge.fall(case)
        tried += 1
        if why:
            fell.append((why, case))
            print(f"{case.arguments}\n{why}\n", file=sys.stderr, flush=True)

    with contextlib.suppress(EnoughError):
        one()
    return tried, fell


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    tried, fell = try_many(chosen.cases, chosen.seconds, chosen.seed)
    kinds = Counter(why.strip().splitlines()[-1][:150] for why, _ in fell)
    for words, times in kinds.most_common(SHOWN):
        print(f"{times:>6}  {words}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"tried {tried}, fell {len(fell)} (target 0); most memory {peak / 1e9:.2f} GB (target {MEMORY / 1e9:g})")
    sys.exit(1 if fell or peak > MEMORY else 0)
