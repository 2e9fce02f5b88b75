"""Exploring with a measured schema and seeded noise: its findings, and the accuracy it costs."""

import numpy as np
import pandas as pd

from ..algorithms.schema_measurement.measure_schema import MeasuredSchema, measure_schema
from ..algorithms.schema_measurement.measurement_plan import Division, plan_schema
from ..core.types import Watch, unwatched
from ..data.privacy_unit import PrivacyUnit
from ..privacy.curators.column_curator import ColumnCurator
from ..schema.partial_schema import OpenSchema

OWN = 3  # the key of the schema's noise beside those of a run's


def explore_schema(
    schema: OpenSchema,
    frame: pd.DataFrame,
    unit: PrivacyUnit,
    division: Division,
    *,
    seed: int,
    told: Watch = unwatched,
) -> MeasuredSchema:
    """The open columns of a table, measured with the schema's part of a budget and the noise of a seed.

    `told` hears which share of the work is done; what it raises ends it.
    """
    limited_rows, columns = unit.limited(frame, schema.names), len(schema.open)
    cells, n = schema.cells(limited_rows, lambda done: told(done / columns / 2)), len(limited_rows)
    plan = plan_schema(schema.open, n, unit.most_rows, division, exact=False)
    noise = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(OWN,)))
    curator = ColumnCurator(cells, n, plan.plan, noise, group=unit.most_rows)
    return measure_schema(schema, plan, curator, lambda done: told(0.5 + done / columns / 2))
