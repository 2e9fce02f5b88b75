"""A schema measured privately: kinds, then bounds and values, charged first and measured once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pandas as pd

from ..algorithms.schema_measurement.column_findings import ColumnFindings
from ..algorithms.schema_measurement.hidden_rows import HiddenRows, predict_hidden_rows
from ..algorithms.schema_measurement.measure_columns import MeasureColumns, plan_measurement
from ..algorithms.schema_measurement.split_budget import SplitBudget
from ..core.errors import InputError
from ..core.types import Json
from ..privacy.accounting import Plan
from ..privacy.curators.column_curator import ColumnCurator
from ..problems import ColumnMeasurement
from ..schema.column_readings import comparable_name
from ..schema.column_texts import ColumnTexts
from ..schema.domain import Domain
from ..schema.schema_json import domain_to_json
from .attempt import BUDGET_STAYS_USED, Attempt, open_attempt, retryable_error
from .ledger.ledger_store import LedgerStore
from .ledger.noise_key import NoiseKey
from .provenance import measured_columns_note
from .release_identity import rows_digest, schema_release_digest
from .request import SchemaRequest

SCHEMA_LEDGER_NAME = "schema"  # the name in the ledger, in place of an algorithm's


@contextmanager
def publish_schema(
    request: SchemaRequest, store: LedgerStore, announce: Callable[[HiddenRows], None]
) -> Iterator[tuple[Json, tuple[ColumnFindings, ...]]]:
    """Charge a schema release, measure all columns and yield the schema's JSON and findings.

    Before the charge `announce` is called with what will be hidden, by public numbers alone. All
    columns except the person's. The header and the number of rows are public. At δ = 0 a column
    that seems to hold categories is left out. The release ends with the block, which writes the
    schema: where it cannot be written, the same again measures the very same schema, without
    another charge. Any other error after the charge leaves it charged.
    """
    unit = request.unit.one_row_each
    limited_table = unit.bound_contributions(request.table)
    person = comparable_name(unit.person or "")
    names = [
        name for name in map(str, limited_table.columns) if name and comparable_name(name) != person
    ]
    if not names or len(limited_table) < 2:
        raise InputError("a schema needs a column with a name, and at least 2 rows")
    problem = ColumnMeasurement(
        (), len(limited_table), unit.group, names_of_unknown_kind=tuple(names)
    )
    split = SplitBudget(request.budget, 1.0, first_can_fail=True)
    plan = plan_measurement(problem, split, exact=True)
    announce(predict_hidden_rows(problem, plan))
    column_names = [str(c) for c in limited_table.columns]
    column_texts = [
        ColumnTexts.from_series(pd.Series(limited_table.iloc[:, column_names.index(name)]))
        for name in names
    ]
    reserve = partial(store.reserve, request, split.reserved_events, algorithm=SCHEMA_LEDGER_NAME)
    with open_attempt(
        store,
        request,
        schema_release_digest(request, names, split.reserved_events),
        rows_digest(limited_table),
    ) as current_attempt:
        reservation = current_attempt.charge(
            lambda **leaving: reserve(settings={"columns": names} | leaving)
        )
        try:
            domain, findings = _measure_columns(
                problem, column_texts, plan, current_attempt.noise_key
            )
            store.add_note(
                reservation.number, "note", measured_columns_note(domain, domain.measured)
            )
            yield domain_to_json(replace(domain, file=request.format)), findings
        except BaseException as error:
            raise _error_after_charge(current_attempt, reservation.number, error) from None
        current_attempt.record_end(reservation.number, "released")


def _error_after_charge(
    current_attempt: Attempt, entry: int, error: BaseException
) -> BaseException:
    """Return the error to raise for a charged schema whose attempt ended with `error`.

    It says what stays used.
    """
    retry_error = retryable_error(error)
    if retry_error is not None:
        return retry_error
    current_attempt.record_end(entry, "failed", type(error).__name__)
    if isinstance(error, InputError):
        return type(error)(f"{error}; {BUDGET_STAYS_USED}")
    error.add_note(BUDGET_STAYS_USED)
    return error


def _measure_columns(
    problem: ColumnMeasurement, column_texts: list[ColumnTexts], plan: Plan, noise: NoiseKey
) -> tuple[Domain, tuple[ColumnFindings, ...]]:
    """Measure the columns; return the measured domain and the findings on its columns.

    To be called only after the charge.
    """
    curator = ColumnCurator(
        column_texts, problem.n, plan, noise.generator("schema"), group=problem.group
    )
    findings = tuple(step.release for step in MeasureColumns().steps(problem, plan, curator))
    if not findings:
        raise InputError(
            "every column seems to hold categories, which cannot be measured at delta=0; choose "
            "delta > 0"
        )
    return Domain(
        tuple(f.column for f in findings), measured=tuple(f.column.name for f in findings)
    ), findings
