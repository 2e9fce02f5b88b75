"""The columns to begin with, chosen by public facts alone."""

from ..column import Column
from ..domain import Domain
from .identifiers import header_names_person

MAX_COLUMN_SIZE = 100  # cells of a column that is left for later
MAX_COLUMNS = 10  # columns to begin with, where all their combinations are listed
MAX_PAIRED_COLUMNS = 15  # columns to begin with, where only pairs of them are counted
MAX_PAIR_CELLS = 200_000  # cells of all their pairs together
MAX_NON_PERSON_SIZE = (
    20  # cells of a column that names no people, whatever it is called: `phone: yes or no`
)


def choose_default_columns(domain: Domain, max_cells: int) -> tuple[str, ...]:
    """Return the first columns of the table with together at most `max_cells` cells.

    They are in the table's order, and at most MAX_COLUMNS. Columns of one cell say nothing, and
    those of more than MAX_COLUMN_SIZE would crowd out the others: both are passed over. So is a
    column that does not fit beside those before it, and one named as columns are that identify
    people, if it has many cells or such as are to be measured. If no column is left, the one with
    the fewest cells is returned, at least one.
    """
    names = []
    product = 1
    for column in domain.columns:
        fits = product * column.size <= max_cells and len(names) < MAX_COLUMNS
        if fits and _is_ready(column, domain):
            names.append(column.name)
            product *= column.size
    return tuple(names) or (_smallest_column(domain),)


def choose_paired_columns(domain: Domain) -> tuple[str, ...]:
    """Return all columns that are ready to be asked about in pairs, up to a public limit.

    They are in the table's order, at most MAX_PAIRED_COLUMNS, and their pairs have together at most
    MAX_PAIR_CELLS cells. Passed over are the columns that `choose_default_columns` passes over,
    except those that do not fit because all combinations would be listed.
    """
    names = []
    total = 0  # cells of the columns chosen
    pair_cells = 0
    for column in domain.columns:
        new_cells = total * column.size  # with each column before it
        fits = pair_cells + new_cells <= MAX_PAIR_CELLS and len(names) < MAX_PAIRED_COLUMNS
        if fits and _is_ready(column, domain):
            names.append(column.name)
            total += column.size
            pair_cells += new_cells
    return tuple(names) or (_smallest_column(domain),)


def _is_ready(column: Column, domain: Domain) -> bool:
    """Return whether a column says something, is not too large, and is not named as people are."""
    may_identify = column.size > MAX_NON_PERSON_SIZE or column.name in domain.measured
    if may_identify and header_names_person(column.name):
        return False
    return 1 < column.size <= MAX_COLUMN_SIZE


def _smallest_column(domain: Domain) -> str:
    return min(domain.columns, key=lambda c: (c.size == 1, c.size)).name
