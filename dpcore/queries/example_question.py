"""An example of a question, about the columns that a table has."""

import re

from ..schema.column import Column
from ..schema.domain import Domain
from .question_grammar import KEYWORDS

PLAIN_WORD = re.compile(r"[^\W\d]\w*")  # what needs no quotes


def example_question(domain: Domain) -> str:
    """Return a question about the first columns of a table, such as `sex = Female and age > 50`.

    It names a column of categories and one of numbers, as far as there are any. It can be asked,
    whatever the names and values hold.
    """
    telling = [column for column in domain.columns if column.nonmissing_size > 1]
    categories = [column for column in telling if column.values][:1]
    numbers = [column for column in telling if not column.values][:1]
    columns = categories + numbers or list(domain.columns[:1])
    return " and ".join(_example_comparison(column, domain) for column in columns)


def _example_comparison(column: Column, domain: Domain) -> str:
    name = _quoted_name(column.name, domain)
    if column.values:
        return f"{name} = {_quoted_value(column.labels[0])}"
    starts, _ = column.number_ranges
    middle = float(starts[len(starts) // 2])
    return f"{name} >= {middle:.15g}"


def _quoted_name(name: str, domain: Domain) -> str:
    """Return a column's name, in quotes where it is not plain or another name begins like it."""
    is_unique = not any(other != name and other.startswith(name) for other in domain.names)
    return name if is_unique and _is_plain(name) else _quote(name)


def _quoted_value(value: str) -> str:
    return value if _is_plain(value) else _quote(value)


def _is_plain(text: str) -> bool:
    return PLAIN_WORD.fullmatch(text) is not None and text.lower() not in (*KEYWORDS, "missing")


def _quote(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'
