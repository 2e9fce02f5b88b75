"""The columns to begin with, chosen by public facts alone."""

from ..domain import Domain
from .identifiers import names_people

MANY = 100  # cells of a column that is left for later
MOST = 10  # columns to begin with
FEW = 20  # cells of a column that names no people, whatever it is called: `phone: yes or no`


def first_columns(domain: Domain, cells: int) -> tuple[str, ...]:
    """The first columns in the table's order with together at most `cells` cells, and at most MOST of them.

    Columns of one cell say nothing, and those of more than MANY would crowd out the others: both are passed over, as is
    one that does not fit beside those before it, or is called as columns are that identify people, and has many cells
    or such as are to be measured. Where nothing is left, the column with the fewest cells, one at least.
    """
    names, product = [], 1
    for column in domain.columns:
        if (column.size > FEW or column.name in domain.measured) and names_people(column.name):
            continue
        if 1 < column.size <= MANY and product * column.size <= cells and len(names) < MOST:
            names.append(column.name)
            product *= column.size
    return tuple(names) or (min(domain.columns, key=lambda c: (c.size == 1, c.size)).name,)
