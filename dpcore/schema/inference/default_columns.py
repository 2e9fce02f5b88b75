"""The columns to begin with, chosen by public facts alone."""

from ..domain import Domain
from .identifiers import header_names_person

MAX_COLUMN_SIZE = 100  # cells of a column that is left for later
MAX_COLUMNS = 10  # columns to begin with
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
        if (
            column.size > MAX_NON_PERSON_SIZE or column.name in domain.measured
        ) and header_names_person(column.name):
            continue
        if (
            1 < column.size <= MAX_COLUMN_SIZE
            and product * column.size <= max_cells
            and len(names) < MAX_COLUMNS
        ):
            names.append(column.name)
            product *= column.size
    return tuple(names) or (min(domain.columns, key=lambda c: (c.size == 1, c.size)).name,)
