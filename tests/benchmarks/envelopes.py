"""A longer search for instances that break the logistic envelope than the tests make: minutes instead of seconds.

    python -m tests.benchmarks.envelopes [--seeds 5] [--steps 300]

Every line has the smallest gap between potential and envelope, the share of the quadratic that it is, and in two
dimensions or less the total variation by quadrature as a share of what was paid for. The exit code counts violations.
"""

import argparse
import warnings

import numpy as np

from dpcore.privacy.samplers.shapes import Envelope, Radial
from tests.envelopes import ROUNDING, search, variation


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    chosen, broken = parser.parse_args(), 0
    warnings.simplefilter("ignore")  # a search meets numbers that no task has
    for kind in (Envelope, Radial):
        for d in (1, 2, 3):
            for seed in range(chosen.seeds):
                found = search(np.random.default_rng(seed), kind, d, chosen.steps // 2, chosen.steps)
                flat = d <= 2 and found.instance.bounded
                used = variation(found) / found.instance.error if flat else 0.0
                broken += found.gap < 0 or used > 1
                line = f"{kind.__name__} d={d} seed={seed}: gap {found.gap - ROUNDING:.3g}, share {found.share:.3g}"
                print(f"{line}, error used {used:.3g}" if flat else line, flush=True)
    print(f"{broken} violations")
    raise SystemExit(broken)


if __name__ == "__main__":
    main()
