"""The tables that are asked of some rows, with the rows' counts: what every rule starts from."""

import numpy as np
from scipy.sparse import csr_array, vstack

from ...core.errors import InputError, require_two_rows
from ...core.types import Array, Axes, frozen
from ...queries import Marginals, Workload
from ...schema.domain import Domain, Rows

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

    """

    tables: Marginals
    counts: Array
    incidence: csr_array

    @classmethod
    def of(cls, workload: Workload, rows: Rows) -> "AskedTables":
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
        cells = domain.cell_numbers(rows.values)
        counts = np.bincount(cells, rows.weights, domain.size).astype(np.int64)
        return cls(tables, counts, table_incidence(domain, tables.axes))

    @property
    def domain(self) -> Domain:
        """The columns of the tables."""
        return self.tables.domain

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    @property
    def table_counts(self) -> Array:
        """The true count of each cell of the tables (m,)."""
        return self.incidence @ self.counts


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
