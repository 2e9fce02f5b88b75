"""Exploring with a measured schema and seeded noise: its findings, and the accuracy it costs."""

import numpy as np
import pandas as pd

from ..algorithms.schema_measurement.measure_columns import (
    MeasuredSchema,
    measure_schema,
    plan_measurement,
)
from ..algorithms.schema_measurement.split_budget import SplitBudget
from ..core.types import ProgressCallback, ignore_progress
from ..data.privacy_unit import PrivacyUnit
from ..privacy.curators.column_curator import ColumnCurator
from ..problems import ColumnMeasurement
from ..schema.partial_schema import PartialSchema

SCHEMA_NOISE_KEY = 3  # the key of the schema's noise beside those of a run's


def measure_schema_with_seed(
    schema: PartialSchema,
    frame: pd.DataFrame,
    unit: PrivacyUnit,
    split: SplitBudget,
    *,
    seed: int,
    progress: ProgressCallback = ignore_progress,
) -> MeasuredSchema:
    """Return a table's schema, its unknown columns measured with the noise of a seed.

    The first part of the split budget pays for it. `progress` receives the number of columns read
    and measured. Where people count, one row of each is measured.
    """
    limited_rows = unit.one_row_each.bound_contributions(frame, schema.names)
    columns = len(schema.unknown_columns)
    cells = schema.unknown_column_texts(limited_rows, lambda done, _: progress(done, 2 * columns))
    problem = ColumnMeasurement(schema.unknown_columns, len(limited_rows), unit.group)
    plan = plan_measurement(problem, split, exact=False)
    noise = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(SCHEMA_NOISE_KEY,)))
    curator = ColumnCurator(cells, problem.n, plan, noise, group=problem.group)
    return measure_schema(
        schema, problem, plan, curator, lambda done, _: progress(columns + done, 2 * columns)
    )
