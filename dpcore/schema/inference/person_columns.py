"""Which columns seem to belong to the person and not to the row: a look at the data.

It is for exploring only. A release takes what a person stated.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ...core.errors import InputError
from ...core.types import Array, Texts
from ..cell_text import MISSING_TEXTS, canonical_text, factorize_texts
from ..column import Column

MAX_ROWS_TO_GUESS_BY = 200_000  # the first rows of the table
MIN_PAIRS = 10  # of rows of one person, below which nothing is guessed
MAX_DIFFERING_SHARE = 0.05  # of the pairs: people's facts are typed wrong, too
MAX_SHARE_OF_CHANCE = 0.2  # of how many rows of two people say different things
MISSING_CODE = -1


def guess_person_columns(
    cells_by_column: Mapping[str, pd.Series],
    person_cells: pd.Series,
    columns: Sequence[Column] = (),
) -> Texts:
    """Return the columns in which nearly all rows of a person say the same, and people do not.

    Cells that are empty say nothing. A value that nearly everyone has is no fact about a person, so
    the rows of one person must differ much less often than the rows of two.

    Args:
        cells_by_column: raw cells (n,) of the columns that may belong to the person.
        person_cells: raw cells (n,) of the column that identifies a person.
        columns: how these columns are read, as far as that is known; spellings of one value are
            the same then.

    """
    people = _text_codes(person_cells.iloc[:MAX_ROWS_TO_GUESS_BY])
    order = np.argsort(people, kind="stable")
    people = people[order]
    is_pair = (people[1:] == people[:-1]) & (people[1:] != MISSING_CODE)
    column_by_name = {column.name: column for column in columns}
    names = []
    for name, cells in cells_by_column.items():
        codes = _value_codes(cells.iloc[:MAX_ROWS_TO_GUESS_BY], column_by_name.get(name))[order]
        if _belongs_to_person(codes, is_pair):
            names.append(name)
    return tuple(names)


def _belongs_to_person(codes: Array, is_pair: Array) -> bool:
    """Return whether neighbours of one person (`is_pair`, n − 1) nearly always have equal codes."""
    is_known_pair = is_pair & (codes[1:] != MISSING_CODE) & (codes[:-1] != MISSING_CODE)
    if is_known_pair.sum() < MIN_PAIRS:
        return False
    differing = float(np.mean(codes[1:][is_known_pair] != codes[:-1][is_known_pair]))
    shares = np.bincount(codes[codes != MISSING_CODE]) / np.sum(codes != MISSING_CODE)
    differing_by_chance = 1 - float(shares @ shares)
    if differing_by_chance == 0:  # everyone says the same
        return False
    return differing <= min(MAX_DIFFERING_SHARE, MAX_SHARE_OF_CHANCE * differing_by_chance)


def _value_codes(cells: pd.Series, column: Column | None) -> Array:
    """Return the code (n,) of each cell's value, MISSING_CODE for an empty cell."""
    text_codes = _text_codes(cells)
    if column is None:
        return text_codes
    try:
        value_codes = column.encode(cells)
    except InputError:  # the column is not mended yet
        return text_codes
    return np.where(text_codes == MISSING_CODE, MISSING_CODE, value_codes)


def _text_codes(cells: pd.Series) -> Array:
    """Return a number (n,) for each cell's text, case aside; MISSING_CODE for an empty cell."""
    indices, texts = factorize_texts(cells)
    code_by_text: dict[str, int] = {}
    codes = [_code_of_text(canonical_text(text.strip()), code_by_text) for text in texts]
    return np.array([*codes, MISSING_CODE], dtype=np.int64)[indices]


def _code_of_text(text: str, code_by_text: dict[str, int]) -> int:
    if text in MISSING_TEXTS:
        return MISSING_CODE
    return code_by_text.setdefault(text.casefold(), len(code_by_text))
