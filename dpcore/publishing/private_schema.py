"""A schema measured privately: kinds, then bounds and values, charged first and measured once."""

from dataclasses import dataclass, replace

import pandas as pd

from ..data.cells import RawCells
from ..data.domain import Domain
from ..data.open_schema import OpenSchema
from ..data.privacy_unit import PrivacyUnit
from ..data.schema import domain_to_json
from ..data.text_format import UNSTATED, TextFormat
from ..errors import InputError
from ..privacy import entropy
from ..privacy.accounting.budget import Budget
from ..privacy.column_curator import ColumnCurator
from ..schemas.measure import ColumnFindings, guess_kinds, measure_column
from ..schemas.plan import SchemaPlan, divide, plan_schema
from ..types import Json
from .ledger_store import Store
from .request import check_format, reserve

NAME = "schema"  # the name in the ledger, in place of an algorithm's


@dataclass(frozen=True, kw_only=True, eq=False)
class SchemaRequest:
    """A request to measure a schema: a table as read, its file's `format`, the schema's budget, and whom it
    protects, and its data set in the ledger.
    """

    frame: pd.DataFrame
    budget: Budget
    unit: PrivacyUnit = PrivacyUnit()
    dataset: str | None = None
    default_name: str | None = None
    new_version: bool = False
    total: Budget | None = None
    format: TextFormat = UNSTATED

    def __post_init__(self) -> None:
        check_format(self.format)


def publish_schema(request: SchemaRequest, store: Store) -> tuple[Json, tuple[ColumnFindings, ...]]:
    """Reserve the budget, measure every column except the person's; return the schema's JSON and the findings.

    The header and the number of rows are public. At δ = 0 a column that seems to hold categories is left out. Whatever
    fails after the charge leaves it charged.
    """
    limited = request.unit.limited(request.frame)
    names = [name for name in map(str, limited.columns) if name and name != request.unit.person]
    if not names or len(limited) < 2:
        raise InputError("a schema needs a column with a name, and at least 2 rows")
    division = divide(request.budget, 1.0, categories=request.budget.delta > 0)
    plan = plan_schema((), len(limited), request.unit.most_rows, division, exact=True, kinds=len(names))
    place = [str(c) for c in limited.columns]
    cells = [RawCells.of(pd.Series(limited.iloc[:, place.index(name)])) for name in names]
    reservation = reserve(store, request, division.events, algorithm=NAME, settings={"columns": names})
    try:
        domain, found = _measure(names, cells, plan)
    except BaseException as error:
        store.note(reservation.number, "failed", type(error).__name__)
        raise
    store.note(reservation.number, "released")
    return domain_to_json(replace(domain, file=request.format)), found


def _measure(names: list[str], cells: list[RawCells], plan: SchemaPlan) -> tuple[Domain, tuple[ColumnFindings, ...]]:
    curator = ColumnCurator(cells, plan.n, plan.plan, entropy.generator(), group=plan.group)
    columns = guess_kinds(names, plan, curator)
    for place, column in enumerate(columns):
        curator.read(place, column.read)
    kept = [i for i, column in enumerate(columns) if plan.values is not None or not column.categorical]
    if not kept:
        raise InputError("every column seems to hold categories, which cannot be measured at delta=0; choose delta > 0")
    found = tuple(measure_column(columns[i], i, plan, curator) for i in kept)
    schema = OpenSchema(tuple(columns[i] for i in kept))
    return schema.settled({f.column.name: f.column for f in found}), found
