"""Synthetic people: each with an invented id and rows of their own, drawn from a released model.

Where everyone counts once and a column `rows` says how many rows a person has, the model is a
distribution of votes: a row of a person with k of them has the vote 1/k, so that a person's rows
have one vote together, all with the same `rows` and the same person's columns. So

    the model's shares of (rows, person's columns) are those among people,
    and its shares of the other columns, given these, are those of a row of such a person.

A synthetic person is drawn from the first, and as many rows as `rows` says from the second, each
by itself. That is all that a table of votes says: what two rows of one person have in common beyond
`rows` and the person's columns it does not hold, and synthetic people do not have it. Only where
successions were measured, rows follow each other: `synthetic_chains`.

Only the released model and the unit are read, never a row: this is post-processing, at no privacy
cost, and how many rows come out is drawn, too.
"""

import numpy as np
import pandas as pd

from ..core.errors import InputError
from ..core.types import Array, Axes, Rng, Texts
from ..data.privacy_unit import ROWS_COLUMN, PrivacyUnit
from ..schema.column_readings import positions_of_name
from ..schema.constraints import MAX_REDRAWS, replace_impossible_rows
from .releases import Release, RowModel, UnbiasedAnswers
from .synthetic_chains import ChainSampler, pair_axes, put_times_in_order

INVENTED_ID = "synthetic-{}"  # a number alone could be a real person's
INVENTED_COLUMN = " (invented)"  # behind the name of a person column that the schema has, too


def sample_table(release: Release, unit: PrivacyUnit, count: int, rng: Rng) -> pd.DataFrame:
    """Draw the synthetic rows of a release: of `count` people where `unit` has totals of rows.

    Else `count` rows. Raises InputError for a release that draws none.
    """
    if unit.row_totals:
        return sample_people(release, unit, count, rng)
    return release.sample(count, rng)


def sample_people(release: Release, unit: PrivacyUnit, people: int, rng: Rng) -> pd.DataFrame:
    """Draw `people` synthetic people with all their rows; see the module.

    The first column has the name of the unit's person column, and an invented id of each person;
    the rows of a person follow each other, as many as their `rows` says, and are the same in the
    person's columns. No row breaks a constraint. Raises InputError for a release that draws no
    rows.

    Args:
        release: Of a domain with the column `rows`.
        unit: Counts people, with totals of rows.
        people: How many.
        rng: Draws people by systematic sampling, and so the second rows of all, the third, and so
            on, each independent of the others.

    """
    model = _row_model(release)
    names = model.domain.names
    person_axes = shared_axes(unit, names)
    rows_axis = names.index(ROWS_COLUMN)
    codes = _sample_possible(model, people, rng)
    row_counts = codes[:, rows_axis] + 1  # its values are 1, 2, …
    chain = None
    if unit.successions is not None:
        pairs = pair_axes(model.domain, unit.successions)
        chain = ChainSampler(model, pairs, unit.successions.in_time, person_axes, rng)
    parts, owners = _sample_rows(model, codes, row_counts, person_axes, rng, chain)
    person = np.concatenate(owners)
    order = np.argsort(person, kind="stable")
    person = person[order]
    codes = np.concatenate(parts)[order]
    if chain is not None:
        chain.state_pairs(codes, person)
    frame = model.domain.decode_groups(codes, person, person_axes, rng)
    if unit.successions is not None:
        put_times_in_order(frame, person, model.domain, unit.successions)
    ids = np.array([INVENTED_ID.format(i + 1) for i in range(people)], dtype=object)
    frame.insert(0, invented_column(unit, names), ids[person])
    return frame


def _sample_rows(
    model: RowModel,
    codes: Array,
    row_counts: Array,
    person_axes: Axes,
    rng: Rng,
    chain: ChainSampler | None,
) -> tuple[list[Array], list[Array]]:
    """Draw the first rows of all people, the second rows, and so on, with their people's numbers.

    Args:
        model: What is drawn from.
        codes: A row (people, d) of each person.
        row_counts: The number (people,) of each one's rows.
        person_axes: Columns in which all rows of a person are the same.
        rng: Draws rows.
        chain: Draws rows that follow each other; None for rows each by itself.

    """
    owners = [np.arange(len(codes))]
    following = np.empty((len(codes), 0), dtype=np.int64)
    last_rows = codes.copy()
    if chain is not None:
        last_rows, following = chain.first_rows(codes, row_counts)
    parts = [last_rows.copy()]
    for earlier_rows in range(1, int(row_counts.max())):
        owner = np.flatnonzero(row_counts > earlier_rows)
        if chain is None:
            rows = _complete_possible(model, codes[owner], person_axes, rng)
        else:
            rows, following[owner] = chain.next_rows(last_rows[owner], following[owner])
            last_rows[owner] = rows
        parts.append(rows)
        owners.append(owner)
    return parts, owners


def shared_axes(unit: PrivacyUnit, names: Texts) -> Axes:
    """Return the columns in which all rows of a person are the same: `rows`, and the person's."""
    shared = {names.index(ROWS_COLUMN)}
    for name in unit.person_columns:
        shared.update(positions_of_name(name, names))
    return tuple(sorted(shared))


def invented_column(unit: PrivacyUnit, names: Texts) -> str:
    """Return the name of the column of invented ids, which is none of the schema's `names`."""
    name = unit.person or ""
    while positions_of_name(name, names):
        name += INVENTED_COLUMN
    return name


def _row_model(release: Release) -> RowModel:
    """Return the distribution that a release draws rows from; InputError if there is none."""
    model = release.fitted() if isinstance(release, UnbiasedAnswers) else release
    if not isinstance(model, RowModel):
        raise InputError(
            "this release draws no synthetic people; choose an algorithm that answers queries"
        )
    return model


def _sample_possible(model: RowModel, rows: int, rng: Rng) -> Array:
    """Draw codes (rows, d), with impossible ones replaced as in `Domain.decode_rounded`."""
    codes = model.sample_codes(rows, rng)
    domain = model.domain
    if not domain.allowed_tables:
        return codes
    possible = domain.possible_rows_mask(codes)
    return replace_impossible_rows(codes, possible, domain.example_possible_row, rng)


def _complete_possible(model: RowModel, first_rows: Array, axes: Axes, rng: Rng) -> Array:
    """Draw another row of each person, given the columns `axes` of that person's first row.

    An impossible row is drawn again; where MAX_REDRAWS of them are impossible, it is the first row.
    """
    codes = model.complete_codes(first_rows, axes, rng)
    for _ in range(MAX_REDRAWS):
        impossible = np.flatnonzero(~model.domain.possible_rows_mask(codes))
        if not len(impossible):
            return codes
        codes[impossible] = model.complete_codes(first_rows[impossible], axes, rng)
    impossible = ~model.domain.possible_rows_mask(codes)
    codes[impossible] = first_rows[impossible]
    return codes
