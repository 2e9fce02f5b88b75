"""The columns to begin with, chosen by public facts alone."""

from ..domain import Domain
from .identifiers import header_names_person

MAX_COLUMN_SIZE = 100  # cells of a column that is left for later
MAX_COLUMNS = 10  # columns to begin with
MAX_NON_PERSON_SIZE = (
    20  # cells of a column that names no people, whatever it is called: `phone: yes or no`
)


def choose_default_columns(domain: Domain, max_cells: int) -> tuple[str, ...]:
    """The first columns in the table's order with together at most `max_cells` cells, and at most MOST of them.

    Columns of one cell say nothing, and those of more than MANY would crowd out the others: both
    are passed over, as is one that does not fit beside those before it, or is called as columns are
    that identify people, and has many cells or such as are to be measured. Where nothing is left,
    the column with the fewest cells, one at least.
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
