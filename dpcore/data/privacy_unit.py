"""Whom a table's guarantee protects: single rows, or people with a limited number of rows each.

Where rows count, each kept row is one of n, and replacing a person moves up to B of them.

Where people count, everyone counts once. Person i keeps k_i ≤ s rows, chosen by a hash of that
person's rows alone, and each has the weight 1/k_i. For columns S and a cell c of their table

    t_S(c) = (1/N) Σ_i (1/k_i) #{kept rows of i in c},

where N is the number of people, which is public; how many rows they have is not. A person's part
of one table is non-negative and sums to 1, whatever k_i is: k_i · 1/k_i, and a person with one row
adds 1 to one cell. So replacing a person by any other takes one such vector p/N away and adds
another, q/N: ‖p − q‖₁ ≤ ‖p‖₁ + ‖q‖₁ = 2, and as ⟨p, q⟩ ≥ 0, ‖p − q‖₂² ≤ ‖p‖₂² + ‖q‖₂² ≤ 2. Over m
tables Δ₁ = 2m/N and Δ₂ = √(2m)/N: those of one row of N each, whatever s.

All is counted in votes, which are whole numbers: with L = lcm(1, …, s) a person has L votes, which
the kept rows share, L/k_i each, and N · L · t is whole. That is a table of N · L single votes, L of
them of each person, so that every sensitivity to one vote, times L, is one to a person, by the
triangle inequality along L single replacements; divided by N · L votes it is the one above.

With a column `rows` = k_i beside the others, row totals follow from the same tables: the kept rows
in c are Σ_k k · #{rows in c of people with k} = N Σ_k k · t(k, c), as such a row weighs 1/k. It is
one more column of the rows, so that no sensitivity changes. Independent noise σ on the shares
t(k, c) makes N σ √(Σ k²) of such a total (`accuracy.intervals.question_intervals`).

A column may belong to the person, as the sex does, and not to the row: then all rows of a person
say in it what one of them says, the one that a limit of one row keeps. That is a change of a
person's rows by these rows alone, before anything is counted, so that no sensitivity changes.

Of some columns two rows of a person may be asked for, as what follows what: `row_pairs`.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from ..core.errors import InputError
from ..core.types import Array, Texts, value_object
from ..schema.column import Column
from ..schema.column_readings import comparable_name, positions_of_name
from ..schema.domain import Domain, Rows
from .cell_hashes import combine_hashes, hash_cells, hash_person_ids
from .row_pairs import Successions

ROW_UNIT = "one row"
ROWS_COLUMN = "rows"  # the column that says how many rows a person has
ONE_VOTE_TEXT = "; everyone counts once: the rows of one person share one vote"
ROW_COUNT_NOTICE = (
    "How many rows are kept is not hidden: someone who knows everyone else's rows reads from it "
    "how many this person "
    "has, up to the limit; and releases with several limits say how many people have at least "
    "that many rows."
)
MAX_ROWS_OF_ONE_VOTE = 12  # rows that may share a person's vote: lcm(1, …, 12) = 27,720
DEFAULT_ROWS_OF_ONE_VOTE = 10  # lcm 2,520: for up to 1.7 million people
MAX_VOTES = 2**32  # of all people together: sums of them, times an entry of a query, stay exact


@value_object
class PrivacyUnit:
    """The unit of protection: a row, or all rows (at most `most_rows`) of a `person`.

    `person` is the column that identifies a person.

    Without that column, `most_rows` above 1 is a promise of whoever holds the table: noise is
    scaled to it, and no row is left out. With `counts_people` everyone counts once: the kept rows
    of a person share one vote (see the module), and with `row_totals` a column `rows` says how many
    these are. `person_columns` are those that belong to the person. `succession_columns` are those
    whose values in two rows of a person are asked for, in the order of `time_column` if there is
    one (`row_pairs`). Raises InputError where that has no person column, or more rows than can
    share a vote.

    >>> PrivacyUnit(person="name", most_rows=2).description
    'one person with at most 2 rows'
    >>> PrivacyUnit(person="name", most_rows=4, counts_people=True).votes_per_unit
    12
    """

    person: str | None = None
    most_rows: int = 1
    counts_people: bool = False
    row_totals: bool = False
    person_columns: Texts = ()
    succession_columns: Texts = ()
    time_column: str | None = None

    def __post_init__(self) -> None:
        self._check_successions()
        if not self.counts_people:
            if self.person_columns:
                raise InputError(
                    "columns belong to a person only where people are counted; count people, or "
                    "name no such columns"
                )
            if self.row_totals:
                raise InputError(
                    "totals of rows beside people are there only where people are counted; rows "
                    "that are counted have them already"
                )
            return
        if self.person is None:
            raise InputError(
                "people can be counted only where a column identifies a person; name it, or count "
                "rows"
            )
        if not 1 <= self.most_rows <= MAX_ROWS_OF_ONE_VOTE:
            raise InputError(
                f"{self.most_rows} rows cannot share one person's vote, 1 to "
                f"{MAX_ROWS_OF_ONE_VOTE} can; keep fewer rows of a person, or count rows"
            )

    def _check_successions(self) -> None:
        """Raise InputError for successions without people of several rows, or a time without."""
        if self.succession_columns and not (self.counts_people and self.most_rows > 1):
            raise InputError(
                "successions are of two rows of a person who counts once: name the column that "
                "identifies a person, count people, and keep at least 2 rows of each"
            )
        of_person = set(map(comparable_name, self.person_columns))
        for name in (*self.succession_columns, self.time_column or ""):
            if comparable_name(name) in of_person:
                raise InputError(
                    f"column {name!r} belongs to the person, so that it is the same in all rows of "
                    "one: ask for no successions of it, or leave it out of the person's columns"
                )
        if self.time_column is not None and not self.succession_columns:
            raise InputError(
                f"a column of time, {self.time_column!r}, puts the rows of a person in order for "
                "successions; ask for these too, or name no such column"
            )

    @property
    def successions(self) -> Successions | None:
        """What is asked of two rows of a person; None for nothing."""
        if not self.succession_columns:
            return None
        return Successions(self.succession_columns, self.time_column)

    @property
    def group(self) -> int:
        """How many of the n that are counted, rows or people, neighbours may differ in."""
        return 1 if self.counts_people else self.most_rows

    @property
    def shared_rows(self) -> int | None:
        """How many rows at most share a person's vote; None where rows count."""
        return self.most_rows if self.counts_people else None

    @property
    def votes_per_unit(self) -> int:
        """The votes that each of the n has: L = lcm(1, …, s) of a person, or 1 of a row."""
        return math.lcm(*range(1, self.most_rows + 1)) if self.counts_people else 1

    @property
    def one_row_each(self) -> "PrivacyUnit":
        """The unit by which a schema is measured: one row of each person, where people count."""
        return PrivacyUnit(self.person, 1) if self.counts_people else self

    @property
    def row_unit(self) -> "PrivacyUnit":
        """The unit of what has no votes, as points and losses: each kept row counts."""
        return PrivacyUnit(self.person, self.most_rows)

    def to_json(self) -> list[str | int | None]:
        """Return the unit as a list, for digests; as ever where rows count."""
        details = ["people"] if self.counts_people else []
        if self.row_totals:
            details.append(ROWS_COLUMN)
        details.extend(self.person_columns)
        if self.successions is not None:
            names = [*self.succession_columns, self.time_column]
            details.append(f"successions {json.dumps(names)}")
        return [self.person, self.most_rows, *details]

    def extend_domain(self, domain: Domain) -> Domain:
        """Return the domain with the columns of pairs, and `rows` where there are row totals.

        InputError where the domain has such a column of its own.
        """
        if self.successions is not None:
            domain = self.successions.extend_domain(domain)
        if not self.row_totals:
            return domain
        _refuse_rows_column(domain.names)
        rows_column = Column(name=ROWS_COLUMN, kind="integer", low=1, high=self.most_rows)
        return replace(domain, columns=(*domain.columns, rows_column))

    def names_in_table(self, names: Sequence[str]) -> Texts:
        """Return the columns of a domain that the table has: not `rows` of row totals."""
        return tuple(name for name in names if not (self.row_totals and name == ROWS_COLUMN))

    def encode(self, domain: Domain, frame: pd.DataFrame) -> Rows:
        """Return the rows that count as grouped codes, with their votes; see `Domain.encode`.

        Raises InputError for a table of fewer than two people, too, where these count.
        """
        kept_rows = self.bound_contributions(frame, domain.names)
        if not self.counts_people:
            return domain.encode(kept_rows)
        votes = self.votes_of_rows(kept_rows)
        require_two_people(int(votes.sum()) // self.votes_per_unit)
        kept_rows = self.with_rows_column(kept_rows, votes)
        if self.successions is not None:
            return self._encode_pairs(self.successions, domain, kept_rows, votes)
        return domain.group_votes(domain.encode_cells(kept_rows), votes, self.votes_per_unit)

    def _encode_pairs(
        self, successions: Successions, domain: Domain, kept_rows: pd.DataFrame, votes: Array
    ) -> Rows:
        """Return kept rows, each with the pairs of its person, grouped, with their votes.

        The votes L/k of a row are shared evenly by its lines, k − 1 of them: see `row_pairs`.
        """
        person = self.person or ""
        people = person_numbers(kept_rows, person)
        hashes = hash_rows(kept_rows, person, domain.names)
        codes, pairs = successions.encode(domain, kept_rows, people, hashes)
        votes_of_line = (votes // pairs.line_count)[pairs.row]
        return domain.group_votes(codes, votes_of_line, self.votes_per_unit)

    def votes_of_rows(self, kept_rows: pd.DataFrame) -> Array:
        """Return the votes (n,) of rows that were limited already: L/k_i of each row of person i.

        They depend on that person's rows alone. Raises InputError for too many votes.
        """
        people = person_numbers(kept_rows, self.person or "")
        rows_of_person = np.bincount(people)
        check_vote_count(len(rows_of_person), self)
        return self.votes_per_unit // rows_of_person[people]

    def bound_contributions(
        self, frame: pd.DataFrame, columns: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """Return the rows that count: all, or at most `most_rows` of each person.

        See `limit_rows`. In the columns that belong to a person all of that person's rows say what
        one of them says.
        """
        if self.person is None:
            return frame
        kept_rows = limit_rows(frame, self.person, self.most_rows, columns)
        if not self.person_columns:
            return kept_rows
        return self._with_person_values(kept_rows, limit_rows(frame, self.person, 1, columns))

    def _with_person_values(
        self, kept_rows: pd.DataFrame, first_rows: pd.DataFrame
    ) -> pd.DataFrame:
        """Return kept rows with the values of a person's columns in that person's first row."""
        names = [str(c) for c in kept_rows.columns]
        person = person_position(self.person or "", names)
        first_people = pd.Index(hash_person_ids(pd.Series(first_rows.iloc[:, person])))
        row_of_person = first_people.get_indexer(
            hash_person_ids(pd.Series(kept_rows.iloc[:, person]))
        )
        result = kept_rows.copy()
        for name in self.person_columns:
            position = person_column_position(name, names)
            values = first_rows.iloc[row_of_person, position].reset_index(drop=True)
            result.isetitem(position, values)
        return result

    def with_rows_column(self, kept_rows: pd.DataFrame, votes: Array) -> pd.DataFrame:
        """Return kept rows with the column `rows` where there are row totals: k_i = L / votes.

        InputError where the table has such a column of its own.
        """
        if not self.row_totals:
            return kept_rows
        _refuse_rows_column([str(c) for c in kept_rows.columns])
        return kept_rows.assign(**{ROWS_COLUMN: self.votes_per_unit // votes})

    @property
    def description(self) -> str:
        """The guarantee's subject in words: a row or a person."""
        if self.person is None:
            return "each row as one person; someone with several rows is protected less"
        if self.counts_people:
            return f"one person, whose rows (at most {self.most_rows}) share one vote"
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
            f"{ONE_VOTE_TEXT if self.counts_people else ''}"
        )

    @property
    def neighbours_text(self) -> str:
        """A sentence on the neighbouring tables that must be indistinguishable."""
        counted = "rows" if self.person is None else "rows after that choice"
        public = "n is public"
        if self.counts_people:
            counted = "people"
            public = "n is public, the number of rows is not"
        return (
            f"tables that differ in {self.protected_text}, replaced by any others, and have "
            f"as many {counted}; {public}"
        )


def person_position(person: str, columns: Sequence[str]) -> int:
    """Return the position of the column `person`, whose name is compared in NFC and trimmed.

    Raises InputError unless there is exactly one.
    """
    return _single_position(person, columns, "identifies a person")


def person_column_position(name: str, columns: Sequence[str]) -> int:
    """Return the position of a column that belongs to a person; InputError unless there is one."""
    return _single_position(name, columns, "belongs to a person")


def _single_position(name: str, columns: Sequence[str], use: str) -> int:
    """Return the position of a column that has a `use`; InputError unless there is exactly one."""
    positions = positions_of_name(name, columns)
    if len(positions) != 1:
        problem = "more than one column" if positions else "no column"
        raise InputError(
            f"the table has {problem} {name!r} that {use}; it has {', '.join(columns)}"
        )
    return positions[0]


def _refuse_rows_column(names: Sequence[str]) -> None:
    """Raise InputError where one of these columns is called `rows` already."""
    if positions_of_name(ROWS_COLUMN, names):
        raise InputError(
            f"the table has a column {ROWS_COLUMN!r} of its own, the name of the column that says "
            "how many rows a person has; rename it, or do without totals of rows"
        )


def person_numbers(frame: pd.DataFrame, person: str) -> Array:
    """Return for each row (n,) a number of the person that its column `person` names.

    Persons are one when `hash_person_ids` says so.
    """
    names = [str(c) for c in frame.columns]
    cells = pd.Series(frame.iloc[:, person_position(person, names)])
    return pd.factorize(hash_person_ids(cells))[0]


def require_two_people(people: int, table_name: str = "the table") -> None:
    """Raise InputError for fewer than two people."""
    if people < 2:
        noun = "1 person" if people else "no people"
        raise InputError(f"{table_name} has {noun}; at least 2 are needed")


def check_vote_count(people: int, unit: PrivacyUnit) -> None:
    """Raise InputError where so many people have more votes than are counted exactly."""
    if people * unit.votes_per_unit > MAX_VOTES:
        raise InputError(
            f"{people:,} people whose rows, up to {unit.most_rows}, share one vote are more than "
            f"the {MAX_VOTES // unit.votes_per_unit:,} that are counted exactly; keep fewer rows "
            "of a person, or count rows"
        )


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
    hashes = pd.Series(hash_rows(frame.iloc[candidate_rows], person, columns, seed))
    candidate_people = person_index[candidate_rows]
    is_left_out[candidate_rows] = hashes.groupby(candidate_people).rank(method="first") > max_rows
    return frame.iloc[~is_left_out].reset_index(drop=True)


def hash_rows(
    frame: pd.DataFrame, person: str, columns: Sequence[str] | None = None, seed: int = 0
) -> Array:
    """Return the hash (n,) of each row by which `limit_rows` chooses, whose arguments these are.

    It is that of the seed, its person, what it says in `columns`, and its copy number.
    """
    names = [str(c) for c in frame.columns]
    person_hashes = hash_person_ids(pd.Series(frame.iloc[:, person_position(person, names)]))
    person_index = pd.factorize(person_hashes)[0]
    row_hashes = np.zeros(len(frame), np.uint64)
    keys = None if columns is None else set(map(comparable_name, columns))
    for _, i in sorted(
        (name, i) for i, name in enumerate(names) if keys is None or comparable_name(name) in keys
    ):
        row_hashes = combine_hashes(row_hashes, hash_cells(pd.Series(frame.iloc[:, i])))
    copy_numbers = (
        pd.Series(row_hashes)
        .groupby([person_index, row_hashes], sort=False)
        .cumcount()
        .to_numpy(np.uint64)
    )
    seed_and_person = combine_hashes(np.uint64(seed), person_hashes)
    return combine_hashes(combine_hashes(seed_and_person, row_hashes), copy_numbers)
