"""How many rows are guessed right without any proof, and what such a guess is to be compared with.

A guess always names some rows that are there. So it is shown beside two guesses that learn next to
nothing about single rows: one from the single columns alone, and another sample of as many rows.
"""

from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from ...core.types import Array
from ...queries.single_columns import single_columns_of
from .asked_tables import AskedTables
from .published_tables import SMALLEST_WEIGHT, PublishedTables, fit_evenly


def guess_table(tables: PublishedTables, max_seconds: float) -> Array:
    """Return a likely whole table (k,) behind what was published.

    Of the tables that agree it is the likeliest one under the most even distribution with the
    published sums; where the time does not suffice, the nearest whole table to that distribution.
    """
    max_counts = tables.max_counts
    targets = (tables.low + tables.high) / 2
    weights = fit_evenly(tables.incidence, targets, max_counts > 0, tables.n)
    ranges: tuple[Any, Any] = (tables.low, tables.high)
    largest: Any = max_counts
    result = milp(
        -np.log(np.maximum(weights / tables.n, SMALLEST_WEIGHT)),
        constraints=LinearConstraint(tables.incidence, *ranges),
        bounds=Bounds(0, largest),
        integrality=np.ones(len(max_counts)),
        options={"time_limit": max(max_seconds, 0.01)},
    )
    if result.x is None:
        return round_to_total(weights, tables.n)
    return np.rint(result.x).astype(np.int64)


def guess_from_single_columns(asked_tables: AskedTables, answers: Array) -> Array:
    """Return a whole table (k,) that is guessed from the single columns of published answers (m,).

    Columns are taken to have nothing to do with each other.
    """
    columns = single_columns_of(asked_tables.tables)
    weights = np.ones(())
    shares = np.maximum(columns.answers(answers), 0) if columns is not None else np.zeros(0)
    layout = columns.workload.layout if columns is not None else ()
    shares_by_axis = {axes[0]: shares[table] for axes, _, table in layout}
    for axis, size in enumerate(asked_tables.domain.shape):
        share = shares_by_axis.get(axis, np.zeros(size))
        total = share.sum()
        weights = np.multiply.outer(weights, share / total if total else np.full(size, 1 / size))
    return round_to_total(asked_tables.n * weights.ravel(), asked_tables.n)


def round_to_total(weights: Array, total: int) -> Array:
    """Return weights (k,) as whole numbers with a given total, by largest remainders."""
    scaled = weights * (total / weights.sum())
    whole = np.floor(scaled).astype(np.int64)
    missing = total - int(whole.sum())
    order = np.argsort(-(scaled - whole), kind="stable")
    whole[order[:missing]] += 1
    return whole


def overlap_share(guess: Array, counts: Array) -> float:
    """Return the share of the rows in `counts` (k,) that a guess (k,) of as many rows has, too."""
    return float(np.minimum(guess, counts).sum() / counts.sum())


def disclosed_share(asked_tables: AskedTables, tables: PublishedTables) -> float:
    """Return the share of the rows whose value in some column is disclosed by their group.

    The group are the rows with the same values in the other columns of a table asked; every other
    value of that column is impossible for it by the published counts. Nothing is certain after a
    swap.
    """
    if tables.swapped_rows:
        return 0.0
    is_possible = (asked_tables.incidence @ (tables.max_counts > 0)) > 0
    is_disclosed = np.zeros(len(is_possible), dtype=bool)
    for axes, shape, table in asked_tables.tables.layout:
        if len(axes) < 2:
            continue
        possible = is_possible[table].reshape(shape)
        for axis in range(len(axes)):
            is_only_value = possible & (possible.sum(axis=axis, keepdims=True) == 1)
            is_disclosed[table] |= is_only_value.ravel()
    is_row_disclosed = (asked_tables.incidence.T @ is_disclosed) > 0
    return float(asked_tables.counts[is_row_disclosed].sum() / asked_tables.n)
