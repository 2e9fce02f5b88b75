"""What a measured schema says lies beyond its ends, over tables that are hard to bound; and the
kinds it finds.
"""

import re

import numpy as np
import pandas as pd

from dpcore.algorithms.schema_measurement.column_findings import guess_column_kinds
from dpcore.algorithms.schema_measurement.measure_columns import plan_measurement
from dpcore.algorithms.schema_measurement.split_budget import SplitBudget
from dpcore.privacy.curators.column_curator import ColumnCurator
from dpcore.problems import ColumnMeasurement
from dpcore.schema.column_texts import ColumnTexts
from tests.algorithms.schema_measurement.test_measure_schema import BINS, QUANTILES, WHOLE, measured
from tests.small_problems import BUDGET, parametrize, seeded

COLUMNS = 10
TABLES = 20
SHAPES = {
    "heavy tail": (QUANTILES, lambda rng, n: np.exp(rng.normal(8, 2, n)).round(2)),
    "many zeros": (WHOLE, lambda rng, n: np.where(rng.random(n) < 0.75, 0, rng.geometric(0.15, n))),
    "two values": (WHOLE, lambda rng, n: np.where(rng.random(n) < 0.9, 0, 1)),
    "far outliers": (
        BINS,
        lambda rng, n: np.where(rng.random(n) < 0.08, 1e5 * (1 + 9 * rng.random(n)), 50.0).round(1),
    ),
    "ages": (WHOLE, lambda rng, n: rng.integers(18, 91, n)),
    "too large": (QUANTILES, lambda rng, n: np.where(rng.random(n) < 0.5, 1.7e18, 3e14)),
}


@parametrize("n, epsilon, delta", [(200, 10, 1e-6), (1000, 1, 1e-9), (4000, 1, 1e-6), (4000, 1, 0)])
@parametrize("shape", SHAPES)
def test_no_more_rows_lie_beyond_than_said_95_times_in_100(shape, n, epsilon, delta):
    spec, law = SHAPES[shape]
    held = []
    for seed in range(TABLES):
        values = law(seeded(seed), n)
        frame = pd.DataFrame({f"c{i}": values for i in range(COLUMNS)}).astype(str)
        for found in measured(
            frame, {"columns": dict.fromkeys(frame, spec)}, epsilon=epsilon, delta=delta, seed=seed
        )[0].findings:
            said = re.search(r"at most about ([\d,]+) rows lie beyond", found.description)
            ends = found.column.edges or found.column.bounds
            beyond = ((values < ends[0]) | (values > ends[-1])).sum()
            held.append(found.found_nothing or beyond <= int(said[1].replace(",", "")))
    assert np.mean(held) >= 0.95


def test_kinds_are_found_in_a_small_table():
    rng = seeded(0)
    n = 1306
    kinds = {
        "numeric": rng.normal(0, 3, n).round(2),
        "integer": [f"2{y:03d}-05-17" for y in rng.integers(0, 30, n)],
        "categorical": rng.choice(list("abc"), n),
    }
    frame = pd.DataFrame(
        {f"{kind} {i}": cells for i in range(5) for kind, cells in kinds.items()}
    ).astype(str)
    right = []
    for seed in range(40):
        problem = ColumnMeasurement((), n, names_of_unknown_kind=tuple(frame))
        split = SplitBudget(BUDGET, 0.25, first_can_fail=True)
        plan = plan_measurement(problem, split, exact=False)
        curator = ColumnCurator(
            [ColumnTexts.from_series(frame[c]) for c in frame], n, plan, seeded(seed)
        )
        right += [
            column.kind == column.name.split()[0]
            for column in guess_column_kinds(problem, plan, curator)
        ]
    assert np.mean(right) >= 0.95
