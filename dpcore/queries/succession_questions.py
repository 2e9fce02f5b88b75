"""Questions about what follows what in two rows of one person, one for each cell of the table."""

import itertools

from ..data.row_pairs import ONLY_ONE_ROW, pair_in_domain
from ..schema.column import Column
from ..schema.domain import Domain
from .questions import Question, parse_question


def succession_questions(domain: Domain, name: str) -> list[Question]:
    """Return the questions of a column's successions, in the order of the cells of their table.

    Raises InputError where the domain has none.
    """
    first, second = (domain.column(pair_name) for pair_name in pair_in_domain(domain, name))
    return [
        succession_question(domain, first, i, second, j)
        for i, j in itertools.product(range(first.size), range(second.size))
    ]


def succession_question(
    domain: Domain, first: Column, first_cell: int, second: Column, second_cell: int
) -> Question:
    """Return the question that holds in one cell of the table of two columns."""
    first_text = _comparison(first, first_cell)
    return parse_question(f"{first_text} and {_comparison(second, second_cell)}", domain)


def single_row_question(domain: Domain, name: str) -> Question:
    """Return the question whether a person has only one row; InputError without successions."""
    _, second_name = pair_in_domain(domain, name)
    second = domain.column(second_name)
    return parse_question(_comparison(second, second.values.index(ONLY_ONE_ROW)), domain)


def _comparison(column: Column, cell: int) -> str:
    """Return the comparison that holds in one cell of a column."""
    name = _quoted(column.name)
    if cell == column.nonmissing_size:
        return f"{name} is missing"
    return f"{name} = {_quoted(column.labels[cell])}"


def _quoted(text: str) -> str:
    """Return a text in the quotes of a question."""
    doubled = text.replace('"', '""')
    return f'"{doubled}"'
