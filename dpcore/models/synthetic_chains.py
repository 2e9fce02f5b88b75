"""Rows of synthetic people that follow each other, where successions were measured.

Of a person with k rows, `rows` and the person's columns are drawn first, as ever. A column w of
which successions were measured is then a chain, given these:

    in time, (w of row 1, w of row 2) is a pair (earlier w, next w) of the model, and w of each
    further row is its next w, given that the earlier is w of the row before;
    without time, w of row 1 is that of a row, and w of each further row is the model's other w,
    given w of the row before.

So of people with two rows the pairs are those of the model, and of others those of rows that stand
beside each other are, as far as a chain knows them. All else in a row is drawn given w in it, and
the person's columns. In time, a person's times are then put in order along the rows; they are not
where the column of time stands in a constraint, which that could break.

The columns of pairs hold what they do in the table (`data.row_pairs`), in expectation: each row has
one of its person's k − 1 consecutive pairs, each pair once and one of them twice, whichever; or
without time one other row of the person, whichever.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from ..core.types import Array, Axes, Rng, frozen
from ..data.row_pairs import Successions, pair_names, times_of_cells
from ..schema.constraints import MAX_REDRAWS
from ..schema.domain import Domain
from .releases import RowModel


@frozen
class PairAxes:
    """The positions of a column and of its pairs, and the code of people with a single row."""

    own: int
    first: int
    second: int
    single: int

    def own_codes(self, second: Array, replacement: Array) -> Array:
        """Return the column's codes (n,) for those of a second row; another where there is none."""
        return np.where(second == self.single, replacement, second - (second > self.single))

    def second_codes(self, own: Array) -> Array:
        """Return the codes (n,) of a second row for the column's codes in it."""
        return own + (own >= self.single)


def pair_axes(domain: Domain, successions: Successions) -> list[PairAxes]:
    """Return the positions of all columns of whose successions a domain tells."""
    axes = []
    for name in successions.columns:
        column = domain.column(name)
        names = pair_names(column.name, in_time=successions.in_time)
        own, first, second = domain.axes([column.name, *names])
        axes.append(PairAxes(own, first, second, column.nonmissing_size))
    return axes


@frozen
class ChainSampler:
    """The drawing of people's rows one after the other, from a model; see the module.

    `shared_axes` are the columns in which all rows of a person are the same.
    """

    model: RowModel
    pairs: Sequence[PairAxes]
    in_time: bool
    shared_axes: Axes
    rng: Rng

    def first_rows(self, codes: Array, row_counts: Array) -> tuple[Array, Array]:
        """Return the first row (people, d) of each person, and what may come next (people, pairs).

        `codes` (people, d) are a row of each as the model draws it, and hold one pair of theirs.
        """
        following = codes[:, [pair.second for pair in self.pairs]]
        if not self.in_time:
            return codes, following
        given = codes.copy()
        for pair in self.pairs:
            given[:, pair.own] = np.where(row_counts > 1, codes[:, pair.first], codes[:, pair.own])
        return self._complete_rows(given, codes), following

    def next_rows(self, previous: Array, following: Array) -> tuple[Array, Array]:
        """Return the row (n, d) after a previous one, and what may come after that (n, pairs)."""
        given = self.model.complete_codes(previous, self.shared_axes, self.rng)
        for i, pair in enumerate(self.pairs):
            given[:, pair.own] = pair.own_codes(following[:, i], given[:, pair.own])
        rows = self._complete_rows(given, previous)
        given = rows.copy()
        for pair in self.pairs:
            given[:, pair.first] = rows[:, pair.own]
        axes = self._with_shared(pair.first for pair in self.pairs)
        drawn = self.model.complete_codes(given, axes, self.rng)
        return rows, drawn[:, [pair.second for pair in self.pairs]]

    def _complete_rows(self, given: Array, replacement: Array) -> Array:
        """Draw rows (n, d), given the columns of chains; one that stays impossible is replaced."""
        axes = self._with_shared(pair.own for pair in self.pairs)
        codes = self.model.complete_codes(given, axes, self.rng)
        for _ in range(MAX_REDRAWS):
            impossible = np.flatnonzero(~self.model.domain.possible_rows_mask(codes))
            if not len(impossible):
                return codes
            codes[impossible] = self.model.complete_codes(given[impossible], axes, self.rng)
        impossible = ~self.model.domain.possible_rows_mask(codes)
        codes[impossible] = replacement[impossible]
        return codes

    def _with_shared(self, axes: Iterable[int]) -> Axes:
        return tuple(sorted({*self.shared_axes, *axes}))

    def state_pairs(self, codes: Array, person: Array) -> None:
        """Write pairs of their person's rows into the rows (n, d) of people; see the module.

        `person` (n,) is the number of each row's person, whose rows follow each other.
        """
        counts = np.bincount(person)[person]
        starts = np.searchsorted(person, person)
        choice = self.rng.integers(0, np.maximum(counts - 1, 1))
        if self.in_time:
            shuffled = np.lexsort((self.rng.random(len(person)), person))
            rank = np.empty(len(person), dtype=np.int64)
            rank[shuffled] = np.arange(len(person)) - starts
            first = starts + np.where(rank < counts - 1, rank, choice)
            second = first + 1
        else:
            first = np.arange(len(person))
            second = starts + choice
            second = second + (second >= first)
        second = np.where(counts > 1, second, first)
        first = np.where(counts > 1, first, starts)
        for pair in self.pairs:
            own = codes[:, pair.own].copy()
            codes[:, pair.first] = own[first]
            second_codes = pair.second_codes(own[second])
            codes[:, pair.second] = np.where(counts > 1, second_codes, pair.single)


def put_times_in_order(
    frame: pd.DataFrame, person: Array, domain: Domain, successions: Successions
) -> None:
    """Put the times of each person's rows in order, in place; leave those in a constraint."""
    if successions.time_column is None:
        return
    column = domain.column(successions.time_column)
    if any(column.name in constraint.columns for constraint in domain.constraints):
        return
    cells = pd.Series(frame[column.name])
    order = np.lexsort((times_of_cells(column, cells), person))
    frame[column.name] = cells.iloc[order].set_axis(frame.index)
