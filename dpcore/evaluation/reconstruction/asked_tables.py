"""The tables that are asked of some rows, with the rows' counts: what every rule starts from."""

import numpy as np
from scipy.sparse import csr_array, vstack

from ...core.errors import InputError, require_two_rows
from ...core.types import Array, Axes, frozen
from ...problems import QueryRelease
from ...queries import Marginals, Workload
from ...schema.domain import Domain, Rows
from ..error_diagnosis import split_held_out

MAX_CELLS = 20_000  # combinations of all columns: more unknowns than an attack may have
MAX_ROWS = 20_000  # of a block: a larger one is attacked a group at a time


@frozen
class AskedTables:
    """Marginal tables that are asked, and the rows' count in every combination of the columns.

    Not for publishing.

    Args:
        tables: The tables that are asked.
        counts: The number of rows in each combination (k,), whole numbers.
        incidence: Which combinations (k) each cell of a table (m) adds up, as 0 and 1.
        rows_per_person: How many rows a person can have, whom a private release protects.

    """

    tables: Marginals
    counts: Array
    incidence: csr_array
    rows_per_person: int = 1

    @classmethod
    def of(cls, workload: Workload, rows: Rows, rows_per_person: int = 1) -> "AskedTables":
        """Return the tables of a workload with the counts of some rows.

        Raises:
            InputError: The workload asks for something else than tables, the columns have too many
                combinations, or there are too few or too many rows.

        """
        tables = marginal_tables(workload)
        require_two_rows(rows.n)
        if rows.n > MAX_ROWS:
            raise InputError(
                f"{rows.n:,} rows are too many to attack at once, at most {MAX_ROWS:,}; "
                "choose a group, such as one small area"
            )
        domain = tables.domain
        counts = counts_of_rows(domain, rows)
        return cls(tables, counts, table_incidence(domain, tables.axes), rows_per_person)

    @property
    def domain(self) -> Domain:
        """The columns of the tables."""
        return self.tables.domain

    @property
    def problem(self) -> QueryRelease:
        """The problem of a private release of these tables."""
        return QueryRelease(self.tables, self.n, self.rows_per_person)

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    @property
    def table_counts(self) -> Array:
        """The true count of each cell of the tables (m,)."""
        return self.incidence @ self.counts


def counts_of_rows(domain: Domain, rows: Rows) -> Array:
    """Return the number of rows in each combination (k,), as whole numbers."""
    cells = domain.cell_numbers(rows.values)
    return np.bincount(cells, rows.weights, domain.size).astype(np.int64)


def rows_of_group(domain: Domain, rows: Rows, column: str, label: str) -> Rows:
    """Return the rows that have a value in a column; InputError for a value without rows."""
    labels = domain.column(column).labels
    if label not in labels:
        raise InputError(
            f"column {column!r} has no value {label!r}; its values are {', '.join(labels[:8])}"
        )
    is_member = rows.values[:, domain.axes([column])[0]] == labels.index(label)
    if not is_member.any():
        raise InputError(f"no row has {column} = {label!r}; choose another value")
    return Rows(rows.values[is_member], rows.weights[is_member])


def draw_block(rows: Rows, count: int, seed: int) -> tuple[Rows, Rows | None]:
    """Return that many rows drawn at random, and as many others of the rest where there are.

    The second ones are another sample, to compare guesses with. All rows are returned, and no
    other sample, where there are no more.
    """
    if count >= rows.n:
        return rows, None
    rng = np.random.default_rng(seed)
    others, block = split_held_out(rows, count, rng)
    if others.n <= count:
        return block, None
    return block, split_held_out(others, count, rng)[1]


def marginal_tables(workload: Workload) -> Marginals:
    """Return the tables of a workload that asks for nothing but marginal tables.

    Raises InputError for other questions, and for too many combinations.
    """
    if not all(isinstance(part, Marginals) for part, _ in workload.parts):
        raise InputError(
            "only whole tables are published without noise; ask for tables, as marginals:2"
        )
    domain = workload.domain
    if domain.size > MAX_CELLS:
        raise InputError(
            f"the columns have {domain.size:,} combinations, more than the {MAX_CELLS:,} that "
            "can be attacked; choose fewer columns"
        )
    return workload.base


def table_incidence(domain: Domain, tables: tuple[Axes, ...]) -> csr_array:
    """Return which combinations (k) each cell of some tables (m) adds up, as 0 and 1."""
    codes = domain.codes_of_cells(np.arange(domain.size))
    numbers = []
    for axes in tables:
        shape = domain.shape_of(axes)
        numbers.append(np.ravel_multi_index(tuple(codes[:, a] for a in axes), shape))
    sizes = [domain.table_size(axes) for axes in tables]
    return stack_partitions(numbers, sizes)


def stack_partitions(numbers: list[Array], sizes: list[int]) -> csr_array:
    """Return the 0-1 matrix of several partitions of k items, one row for each part.

    Args:
        numbers: For each partition the part (k,) that an item belongs to.
        sizes: For each partition the number of its parts.

    """
    blocks = []
    for part_of_item, size in zip(numbers, sizes, strict=True):
        items = np.arange(len(part_of_item))
        ones = np.ones(len(part_of_item), dtype=np.int64)
        blocks.append(csr_array((ones, (part_of_item, items)), shape=(size, len(items))))
    return csr_array(vstack(blocks))
