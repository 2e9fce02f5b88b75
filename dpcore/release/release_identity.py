"""What makes two attempts the same release: one digest of its public part, and one of its rows.

Only an attempt with both may draw with the noise of an earlier one: two draws with the same noise
and anything else changed would show the difference without any noise.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..algorithms import registered_name
from ..core.parameters import parameter_values
from ..core.types import Array, Json
from ..core.versions import software_versions
from ..data.cell_hashes import combine_hashes, hash_cells
from ..privacy.accounting import Events, events_to_json
from ..problems import PublicStart
from ..queries import Explicit, Marginals, Union, Workload
from ..schema.domain import Rows
from ..schema.partial_schema import partial_schema_to_json
from ..schema.schema_json import domain_to_json
from .preparation import Prepared, PreparedLearning, to_json_value
from .request import SchemaRequest


def release_digest(ready: Prepared) -> str:
    """Return the digest of a prepared release's public facts, and of the program that draws it.

    How many rows are drawn from what is released, and how files are written, is left out: neither
    uses the rows.
    """
    request = ready.request
    plan = ready.plan
    public_facts: Json = {
        "algorithm": [registered_name(request.algorithm), parameter_values(request.algorithm)],
        "budget": [request.budget.epsilon, request.budget.delta],
        "plan": [[choice.name, to_json_value(choice.value)] for choice in plan.settings],
        "exact": plan.exact,
        "events": events_to_json(ready.events),
        "unit": request.unit.to_json(),
        "new_version": request.new_version,
        "reason": request.reason,
        "asked": list(request.query_texts),
        "schema": domain_to_json(ready.domain),
        "columns": list(ready.domain.names),
    }
    if isinstance(ready, PreparedLearning):
        return _digest_with_program({**public_facts, "radius": ready.request.radius})
    problem = ready.problem
    public_facts["arrays"] = _digest_arrays(
        [*_explicit_query_matrices(problem.workload), *_public_start_arrays(problem.start)]
    )
    measurement = ready.schema_measurement
    if measurement is not None:
        public_facts |= {
            "open": partial_schema_to_json(measurement.schema),
            "part": measurement.budget_share,
        }
    return _digest_with_program(public_facts)


def schema_release_digest(request: SchemaRequest, names: Sequence[str], events: Events) -> str:
    """Return the digest of a schema release's public facts, and of the program measuring it."""
    public_facts: Json = {
        "schema of": list(names),
        "format": request.format.to_json(),
        "budget": [request.budget.epsilon, request.budget.delta],
        "events": events_to_json(events),
        "unit": request.unit.to_json(),
        "new_version": request.new_version,
    }
    return _digest_with_program(public_facts)


def unkeyed_rows_digest(ready: Prepared) -> bytes:
    """Return the digest of a prepared release's rows, in any order.

    To be stored under a key only.
    """
    rows = ready.rows
    measurement = ready.schema_measurement
    if measurement is not None:  # its cells are read only once their schema is there
        return rows_digest(
            ready.request.unit.bound_contributions(ready.request.table, measurement.schema.names)
        )
    if isinstance(rows, Rows):
        row_arrays = [rows.values, rows.weights]
    else:
        row_arrays = [
            part for axes in sorted(rows.tables) for part in (np.array(axes), rows.tables[axes])
        ]
    return bytes.fromhex(_digest_arrays(row_arrays))


def rows_digest(frame: pd.DataFrame) -> bytes:
    """Return the digest of the texts of all rows, in any order.

    To be stored under a key only.
    """
    row_hashes = np.zeros(len(frame), dtype=np.uint64)
    for position in range(frame.shape[1]):
        row_hashes = combine_hashes(row_hashes, hash_cells(pd.Series(frame.iloc[:, position])))
    return bytes.fromhex(_digest_arrays([np.sort(row_hashes)]))


def _digest_with_program(public_facts: Json) -> str:
    """Return the digest of a release's public facts and of this program."""
    public_facts = public_facts | {
        "program": {**software_versions(), "code": _source_code_digest()}
    }
    return hashlib.sha256(
        json.dumps(public_facts, sort_keys=True, default=repr).encode()
    ).hexdigest()


@cache
def _source_code_digest() -> str:
    """Return a digest of this program's own source code.

    Another one may draw in another order.
    """
    package_folder = Path(__file__).parents[1]
    hasher = hashlib.sha256()
    for path in sorted(package_folder.rglob("*.py")):
        hasher.update(path.read_bytes())
    return hasher.hexdigest()


def _explicit_query_matrices(workload: Workload) -> Iterator[Array]:
    """Yield the matrices of queries that came from files, which the queries' texts only name."""
    if isinstance(workload, Union):
        for part, _ in workload.parts:
            yield from _explicit_query_matrices(part)
    elif isinstance(workload, Explicit):
        yield workload.matrix


def _public_start_arrays(start: Any) -> list[Array]:
    """Return the arrays of a public start."""
    if start is None:
        return []
    if not isinstance(start, PublicStart):
        return [start]
    pairs = Marginals.all(start.domain, min(2, len(start.domain.names)))
    return [start.answers(pairs), np.array([start.row_count, float(start.keeps_support)])]


def _digest_arrays(arrays: Iterable[Array]) -> str:
    hasher = hashlib.sha256()
    for array in arrays:
        hasher.update(
            f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes()
        )
    return hasher.hexdigest()
