"""Whom a table's guarantee protects: single rows, or people with a limited number of rows each."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..core.errors import InputError
from ..core.types import value_object
from ..schema.column_readings import comparable_name, positions_of_name
from .cell_hashes import combine_hashes, hash_cells, hash_person_ids

ROW_UNIT = "one row"
ROW_COUNT_NOTICE = (
    "How many rows are kept is not hidden: someone who knows everyone else's rows reads from it "
    "how many this person "
    "has, up to the limit; and releases with several limits say how many people have at least "
    "that many rows."
)


@value_object
class PrivacyUnit:
    """The unit of protection: a row, or all rows (at most `most_rows`) of a `person`.

    `person` is the column that identifies a person.

    Without that column, `most_rows` above 1 is a promise of whoever holds the table: noise is
    scaled to it, and no row is left out.

    >>> PrivacyUnit(person="name", most_rows=2).description
    'one person with at most 2 rows'
    """

    person: str | None = None
    most_rows: int = 1

    def bound_contributions(
        self, frame: pd.DataFrame, columns: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """Return the rows that count: all, or at most `most_rows` of each person.

        See `limit_rows`.
        """
        return (
            frame
            if self.person is None
            else limit_rows(frame, self.person, self.most_rows, columns)
        )

    @property
    def description(self) -> str:
        """The guarantee's subject in words: a row or a person."""
        if self.person is None:
            return "each row as one person; someone with several rows is protected less"
        noun = "rows" if self.most_rows > 1 else "row"
        return f"one person with at most {self.most_rows} {noun}"

    @property
    def ledger_noun(self) -> str:
        """The noun for the protected unit in a ledger, fixed by a data set's first release."""
        return "row" if self.person is None else f"person named by {comparable_name(self.person)}"

    @property
    def protected_text(self) -> str:
        """A sentence on whom a release protects, with the rule by which rows were chosen."""
        if self.person is None:
            return ROW_UNIT
        return (
            f"all rows of one person, named by the column {self.person!r}, at most "
            f"{self.most_rows}, chosen by a "
            "public hash of that person's rows; rows that name nobody count as one person's"
        )

    @property
    def neighbours_text(self) -> str:
        """A sentence on the neighbouring tables that must be indistinguishable."""
        rows = "rows" if self.person is None else "rows after that choice"
        return (
            f"tables that differ in {self.protected_text}, replaced by any others, and have "
            f"as many {rows}; n is public"
        )


def person_position(person: str, columns: Sequence[str]) -> int:
    """Return the position of the column `person`, whose name is compared in NFC and trimmed.

    Raises InputError unless there is exactly one.
    """
    positions = positions_of_name(person, columns)
    if len(positions) != 1:
        problem = "more than one column" if positions else "no column"
        raise InputError(
            f"the table has {problem} {person!r} that identifies a person; it has "
            f"{', '.join(columns)}"
        )
    return positions[0]


def limit_rows(
    frame: pd.DataFrame,
    person: str,
    max_rows: int,
    columns: Sequence[str] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the table with at most `max_rows` = B rows of every value of the column `person`.

    Rows keep the table's order.

    Each row gets a hash of the seed, its person, what it says in `columns` (default: all that there
    are), and a copy number, which counts the rows of that person that say the same; the B smallest
    of each person are kept. So what is kept of mine depends on my rows alone, not on their order in
    the file or that of the columns, nor on how many rows anybody else has or how they are written:
    replacing one person's rows replaces at most B rows of the result by at most B others. This
    holds for every seed, which may be public: who can choose rows with small hashes chooses among
    their own. How many rows are kept, Σ min(rows of a person, B), is not hidden.

    Persons are one when `hash_person_ids` says so, and all rows without a person are one person's.
    Raises InputError when there is no such column.

    >>> visits = pd.DataFrame({"name": ["Ann", "Ann", "Bob"], "day": [1, 2, 1]})
    >>> limit_rows(visits, "name", max_rows=1)["name"].tolist()
    ['Ann', 'Bob']
    """
    names = [str(c) for c in frame.columns]
    person_hashes = hash_person_ids(pd.Series(frame.iloc[:, person_position(person, names)]))
    person_index = pd.factorize(person_hashes)[0]
    is_left_out = np.bincount(person_index)[person_index] > max_rows
    candidate_rows = np.flatnonzero(is_left_out)
    person_hashes = person_hashes[candidate_rows]
    person_index = person_index[candidate_rows]
    row_hashes = np.zeros(len(candidate_rows), np.uint64)
    keys = None if columns is None else set(map(comparable_name, columns))
    for _, i in sorted(
        (name, i) for i, name in enumerate(names) if keys is None or comparable_name(name) in keys
    ):
        row_hashes = combine_hashes(
            row_hashes, hash_cells(pd.Series(frame.iloc[candidate_rows, i]))
        )
    copy_numbers = (
        pd.Series(row_hashes)
        .groupby([person_index, row_hashes], sort=False)
        .cumcount()
        .to_numpy(np.uint64)
    )
    rank = pd.Series(
        combine_hashes(
            combine_hashes(combine_hashes(np.uint64(seed), person_hashes), row_hashes), copy_numbers
        )
    )
    is_left_out[candidate_rows] = rank.groupby(person_index).rank(method="first") > max_rows
    return frame.iloc[~is_left_out].reset_index(drop=True)
