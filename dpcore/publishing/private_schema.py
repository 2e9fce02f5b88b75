"""A schema measured privately: kinds, then bounds and values, charged first and measured once."""

from dataclasses import replace

import pandas as pd

from ..data.cells import RawCells
from ..data.domain import Domain
from ..data.schema import domain_to_json
from ..errors import InputError
from ..privacy import entropy
from ..privacy.column_curator import ColumnCurator
from ..schemas.measure import ColumnFindings, guess_kinds, measure_column
from ..schemas.plan import SchemaPlan, divide, plan_schema
from ..types import Json
from .ledger_store import Store
from .provenance import measured_note
from .request import SchemaRequest

NAME = "schema"  # the name in the ledger, in place of an algorithm's


def publish_schema(request: SchemaRequest, store: Store) -> tuple[Json, tuple[ColumnFindings, ...]]:
    """Reserve the budget, measure every column except the person's; return the schema's JSON and the findings.

    The header and the number of rows are public. At δ = 0 a column that seems to hold categories is left out. Whatever
    fails after the charge leaves it charged.
    """
    limited = request.unit.limited(request.table)
    names = [name for name in map(str, limited.columns) if name and name != request.unit.person]
    if not names or len(limited) < 2:
        raise InputError("a schema needs a column with a name, and at least 2 rows")
    division = divide(request.budget, 1.0, categories=request.budget.delta > 0)
    plan = plan_schema((), len(limited), request.unit.most_rows, division, exact=True, kinds=len(names))
    place = [str(c) for c in limited.columns]
    cells = [RawCells.of(pd.Series(limited.iloc[:, place.index(name)])) for name in names]
    reservation = store.reserve(request, division.events, algorithm=NAME, settings={"columns": names})
    try:
        domain, found = _measure(names, cells, plan)
    except BaseException as error:
        store.note(reservation.number, "failed", type(error).__name__)
        raise
    store.note(reservation.number, "note", measured_note(domain, domain.measured))
    store.note(reservation.number, "released")
    return domain_to_json(replace(domain, file=request.format)), found


def _measure(names: list[str], cells: list[RawCells], plan: SchemaPlan) -> tuple[Domain, tuple[ColumnFindings, ...]]:
    """The measured domain and the findings on its columns; to be called only after the charge."""
    curator = ColumnCurator(cells, plan.n, plan.plan, entropy.generator(), group=plan.group)
    columns = guess_kinds(names, plan, curator)
    for place, column in enumerate(columns):
        curator.read(place, column.read)
    kept = [i for i, column in enumerate(columns) if plan.values is not None or not column.categorical]
    if not kept:
        raise InputError("every column seems to hold categories, which cannot be measured at delta=0; choose delta > 0")
    found = tuple(measure_column(columns[i], i, plan, curator) for i in kept)
    return Domain(tuple(f.column for f in found), measured=tuple(f.column.name for f in found)), found
