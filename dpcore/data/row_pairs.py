"""Pairs of rows of one person, where everyone counts once: what follows what.

Of person i, who keeps k_i rows (`privacy_unit`), a column w is asked for in two of them. Without a
column of time these are all ordered pairs of different rows, (w of a row, w of another of them),
each of weight 1/(k_i (k_i − 1)). With one, they are the consecutive pairs by it, (w of the earlier
row, w of the next), each of weight 1/(k_i − 1). A person with one row has no pair, and has the
weight 1 in a cell (w of that row, "only one row").

So a person's part of such a table is non-negative and sums to 1, whatever k_i is: k_i (k_i − 1)
pairs of 1/(k_i (k_i − 1)), or k_i − 1 of 1/(k_i − 1), or the one cell. It follows as for the other
tables that replacing a person by any other, of any number of rows, moves m tables by Δ₁ = 2m/N and
Δ₂ = √(2m)/N.

For tables of pairs and of rows together, each person has one list of weighted lines that gives all
of them: k_i (k_i − 1) lines, each of weight 1/(k_i (k_i − 1)), and one line for k_i = 1. Without
time a line is a row j with another row l. With time it is a row j with a consecutive pair l of the
k_i − 1, whichever they are. Each row is in k_i − 1 lines in both cases, so that tables of the
columns of rows have the weights 1/k_i as ever; and each consecutive pair is in k_i lines. As k and
k − 1 have no common divisor, k (k − 1) divides L = lcm(1, …, s) for all 2 ≤ k ≤ s: each line has
L / (k (k − 1)) votes, a whole number, and a person has L, as without pairs.

Which rows come first, depends on that person's rows alone: on the column of time, as the schema
reads it, and where it says the same, on the hash of each row.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from ..core.errors import InputError
from ..core.types import Array, Texts, frozen
from ..schema.column import Column
from ..schema.domain import Domain

ONLY_ONE_ROW = "only one row"


def pair_names(name: str, *, in_time: bool) -> tuple[str, str]:
    """Return the names of the two columns of a pair: those of its first and its second row."""
    return (f"earlier {name}", f"next {name}") if in_time else (name, f"another {name}")


def pair_in_domain(domain: Domain, name: str) -> tuple[str, str]:
    """Return the names of the columns that hold a column's pairs in a domain.

    Raises InputError where the domain has none.
    """
    own_name = domain.column(name).name
    for in_time in (True, False):
        names = pair_names(own_name, in_time=in_time)
        if set(names) <= set(domain.names) and _has_single_rows(domain.column(names[1])):
            return names
    raise InputError(
        f"successions of {name!r} are not there: they need people who count once, with at least 2 "
        "rows each, and are made where `run` or `release` asks for them; give --person, "
        f"--most-rows and --queries successions:{name}"
    )


def is_pair_column(domain: Domain, name: str) -> bool:
    """Return whether a column of a domain is about a second row of the same person."""
    kind, _, of_name = name.partition(" ")
    if kind == "earlier":
        return is_pair_column(domain, f"next {of_name}")
    is_second = kind in ("next", "another") and name in domain.names
    return is_second and _has_single_rows(domain.column(name))


def _has_single_rows(column: Column) -> bool:
    return ONLY_ONE_ROW in column.values


def pair_columns(column: Column, *, in_time: bool) -> list[Column]:
    """Return the columns that pairs add to a column: its cells, as texts, in the other row.

    That of the second row has one more cell, for a person with only one. Raises InputError where
    the column has such a value itself.
    """
    labels = column.labels[: column.nonmissing_size]
    if ONLY_ONE_ROW in labels:
        raise InputError(
            f"column {column.name!r} has a value {ONLY_ONE_ROW!r}, which successions need for "
            "people with one row; rename it"
        )
    first_name, second_name = pair_names(column.name, in_time=in_time)
    missing = "category" if column.missing == "category" else "refuse"
    second_values = (*labels, ONLY_ONE_ROW)
    second = Column(name=second_name, kind="categorical", values=second_values, missing=missing)
    if not in_time:
        return [second]
    return [Column(name=first_name, kind="categorical", values=labels, missing=missing), second]


@frozen
class RowPairs:
    """The lines of all people: a row, and the first and the second row of a pair, by positions.

    Where `is_single`, the person has one row, which is all three. `line_count` (n,) says for each
    row how many lines it is in.
    """

    row: Array
    first: Array
    second: Array
    is_single: Array
    line_count: Array

    def added_codes(self, codes: Array, column: Column, *, in_time: bool) -> list[Array]:
        """Return the codes (lines,) of what pairs add to a column, whose rows have these (n,)."""
        size = column.nonmissing_size
        first = codes[self.first]
        second = codes[self.second]
        # the cell of missing values comes after that of single rows
        second = np.where(self.is_single, size, second + (second == size))
        return [first, second] if in_time else [second]


def pair_rows(people: Array, order: Array, *, in_time: bool) -> RowPairs:
    """Return the pairs of each person's rows; see the module.

    Args:
        people: (n,), the number of the person of each row.
        order: (n,), the positions of the rows, those of each person together, and in order.
        in_time: whether only consecutive rows are pairs.

    """
    sorted_people = people[order]
    rows_of_person = np.bincount(people)
    starts = np.searchsorted(sorted_people, np.arange(len(rows_of_person)))
    line_count = np.maximum(rows_of_person - 1, 1)[sorted_people]
    place = np.repeat(np.arange(len(order)), line_count)
    # the number of each line among those of its row
    line = np.arange(len(place)) - np.repeat(np.cumsum(line_count) - line_count, line_count)
    start = starts[sorted_people][place]
    is_single = rows_of_person[sorted_people][place] == 1
    if in_time:
        first = start + line
        second = np.where(is_single, place, first + 1)
    else:
        first = place
        other = start + line + (start + line >= place)
        second = np.where(is_single, place, other)
    counts = np.empty(len(order), dtype=np.int64)
    counts[order] = line_count
    return RowPairs(order[place], order[first], order[second], is_single, counts)


@frozen
class Successions:
    """What is asked of two rows of a person: of which columns, and which column puts rows in order.

    Without a `time_column` all ordered pairs count.
    """

    columns: Texts
    time_column: str | None

    @property
    def in_time(self) -> bool:
        """Whether only consecutive rows are pairs."""
        return self.time_column is not None

    def extend_domain(self, domain: Domain) -> Domain:
        """Return the domain with the columns of pairs.

        Raises InputError for a column that there is not, a time without an order, or a name that
        is taken.
        """
        if self.time_column is not None:
            time = domain.column(self.time_column)
            if time.values and not time.ordered:
                raise InputError(
                    f"column {time.name!r} has no order in time: name a column of dates or "
                    'numbers, or one that is "ordered"'
                )
        added = list[Column]()
        for name in self.columns:
            added.extend(pair_columns(domain.column(name), in_time=self.in_time))
        for column in added:
            if column.name in domain.names:
                raise InputError(
                    f"the table has a column {column.name!r} of its own, the name of a column of "
                    "successions; rename it"
                )
        return replace(domain, columns=(*domain.columns, *added))

    def encode(
        self, domain: Domain, kept_rows: pd.DataFrame, people: Array, hashes: Array
    ) -> tuple[Array, RowPairs]:
        """Return the codes (lines, d) of the lines of all people in a domain, and these lines.

        Args:
            domain: one that `extend_domain` returned.
            kept_rows: the rows (n, …) that are kept of each person.
            people: (n,), the number of each row's person.
            hashes: (n,), the order of rows of one person at the same time.

        """
        columns = [domain.column(name) for name in self.columns]
        added = [pair_columns(column, in_time=self.in_time) for column in columns]
        added_names = {column.name for pair in added for column in pair}
        row_names = [name for name in domain.names if name not in added_names]
        row_domain = domain.project(row_names)
        codes = row_domain.encode_cells(kept_rows)
        times = np.zeros(len(kept_rows))
        if self.time_column is not None:
            (time_axis,) = row_domain.axes([self.time_column])
            times = times_of_cells(*row_domain.cells_by_column(kept_rows)[time_axis])
        order = np.lexsort((hashes, times, people))
        pairs = pair_rows(people, order, in_time=self.in_time)
        code_by_name = dict(zip(row_names, codes[pairs.row].T, strict=True))
        for column, pair in zip(columns, added, strict=True):
            (axis,) = row_domain.axes([column.name])
            added_codes = pairs.added_codes(codes[:, axis], column, in_time=self.in_time)
            names = [added_column.name for added_column in pair]
            code_by_name.update(zip(names, added_codes, strict=True))
        return np.column_stack([code_by_name[name] for name in domain.names]), pairs


def times_of_cells(column: Column, cells: pd.Series) -> Array:
    """Return a number (n,) for each cell's place in time, as the schema reads it.

    Missing ones come last, and what lies outside the range at its ends.
    """
    if column.values:
        return column.encode(cells).astype(float)
    return np.nan_to_num(column.read_numbers(cells), nan=np.inf)
