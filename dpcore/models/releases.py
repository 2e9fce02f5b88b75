"""Released objects: the results of private algorithms."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from ..core.errors import InputError
from ..core.numbers import consecutive_slices
from ..core.provenance import Provenance, Released
from ..core.types import Array, Axes, Rng, Shape, Texts, frozen
from ..queries import Marginals, Workload
from ..queries.marginals import nonempty_subsets
from ..queries.product_answers import MAX_JOINT_CELLS, ProductAnswers, column_slices
from ..schema.domain import Domain, Rows

GOLDEN_SHARE = (
    math.sqrt(5) - 1
) / 2  # the share whose multiples are spread most evenly over a circle
MAX_GIVEN_CELLS = 1 << 22  # cells of conditional tables that are held at once: 32 MB


class Release(Protocol):
    """A released object: it answers queries and draws rows, both at no cost, as post-processing."""

    tag: ClassVar[Provenance]

    def answers(self, workload: Workload) -> Array:
        """Return the answers (m,) of the release."""
        ...

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """Draw `rows` synthetic rows."""
        ...


@runtime_checkable
class RowModel(Protocol):
    """A released distribution over a domain's cells, which draws rows also where some is given."""

    domain: Domain

    def sample_codes(self, rows: int, rng: Rng) -> Array:
        """Draw the codes (rows, d) of synthetic rows, in random order."""
        ...

    def complete_codes(self, codes: Array, axes: Axes, rng: Rng) -> Array:
        """Return codes (rows, d) that keep the columns `axes`; the others are drawn given these.

        Each row is drawn from the conditional distribution, rows that are given the same about as
        evenly as `sample_codes` draws. What the distribution gives no mass can be completed by
        anything.
        """
        ...


@frozen
class Histogram(Released):
    """A released distribution D (k,) over the cells of a domain: non-negative, summing to 1."""

    domain: Domain
    D: Array

    def answers(self, workload: Workload) -> Array:
        """Return the answers ⟨q_j, D⟩ (m,)."""
        return workload.answers(self.D)

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """Draw `rows` synthetic rows by systematic sampling.

        There are ⌊rows · D⌋ of each cell or one more, then shuffled. This rounds far closer than
        independent draws, whose error 1/√rows would hide the algorithm's own.
        """
        return self.domain.decode_rounded(self.sample_codes(rows, rng), rng)

    def sample_codes(self, rows: int, rng: Rng) -> Array:
        """Draw the codes (rows, d) of synthetic rows; see `sample`."""
        return self.domain.codes_of_cells(sample_systematically(self.D, rows, rng))

    def complete_codes(self, codes: Array, axes: Axes, rng: Rng) -> Array:
        """Return codes (rows, d) that keep the columns `axes`, others drawn from D given these."""
        shape = self.domain.shape
        drawn_axes = tuple(a for a in range(len(shape)) if a not in axes)
        table = self.D.reshape(shape).transpose((*axes, *drawn_axes))
        table = table.reshape(self.domain.table_size(axes), -1)
        given_cells, state = np.unique(table_cells(codes, axes, shape), return_inverse=True)
        drawn_cells = sample_within_states(table[given_cells], state.ravel(), rng)
        return with_table_cells(codes, drawn_axes, shape, drawn_cells)


@frozen
class SyntheticRows(Released):
    """Synthetic rows: distinct `codes` (r, d) and their whole `counts` (r,), not all zero.

    Its answers need a pass over the rows for every table and never the k cells, except for explicit
    matrices.
    """

    domain: Domain
    codes: Array
    counts: Array

    @classmethod
    def from_rows(cls, domain: Domain, codes: Array) -> "SyntheticRows":
        """Return the release of given rows (n, d), which may repeat."""
        rows = domain.group_rows(codes)
        return cls(domain, rows.values, rows.weights)

    def answers(self, workload: Workload) -> Array:
        """Return the shares Σ_r counts_r q_j(codes_r)/Σ counts (m,) among the synthetic rows."""
        return workload.answers_of_rows(Rows(self.codes, self.counts))

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """Draw `rows` of the synthetic rows by systematic sampling, as in `Histogram.sample`."""
        return self.domain.decode_rounded(self.sample_codes(rows, rng), rng)

    def sample_codes(self, rows: int, rng: Rng) -> Array:
        """Draw the codes (rows, d) of some of the synthetic rows; see `sample`."""
        return self.codes[sample_systematically(self.counts, rows, rng)]

    def complete_codes(self, codes: Array, axes: Axes, rng: Rng) -> Array:
        """Return codes (rows, d) drawn among the synthetic rows that agree in the columns `axes`.

        A row that agrees with none stays as it is.
        """
        both = np.concatenate([self.codes[:, axes], codes[:, axes]])
        _, state = np.unique(both, axis=0, return_inverse=True)
        state = state.ravel()
        own_state = state[: len(self.codes)]
        given_state = state[len(self.codes) :]
        is_known = np.isin(given_state, own_state)
        completed = np.array(codes)
        drawn_rows = sample_within_groups(self.counts, own_state, given_state[is_known], rng)
        completed[is_known] = self.codes[drawn_rows]
        return completed


@frozen
class ProductMixture(Released):
    """A released mixture of C product distributions over the columns of a domain.

    The domain may have any number of cells. `probabilities` (C, Σ d_i): one block a column, each
    summing to 1; `weights` (C,): non-negative, summing to 1.
    """

    domain: Domain
    probabilities: Array
    weights: Array

    def answers(self, workload: Workload) -> Array:
        """Return the answers Σ_c w_c ⟨q_j, p_c⟩ (m,).

        Raises InputError for an explicit matrix over too many cells.
        """
        return ProductAnswers(workload).answers(
            np.ascontiguousarray(self.probabilities.T), self.weights
        )

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """Draw `rows` synthetic rows: ⌊rows · w_c⌋ or one more from component c.

        They are spread evenly over the component's cells. Within a component columns are drawn one
        by one, each as evenly; the rows are shuffled.
        """
        return self.domain.decode_rounded(self.sample_codes(rows, rng), rng)

    def sample_codes(self, rows: int, rng: Rng) -> Array:
        """Draw the codes (rows, d) of synthetic rows; see `sample`."""
        component = sample_systematically(self.weights, rows, rng)
        codes = [
            sample_within_states(self.probabilities[:, block], component, rng)
            for block in column_slices(self.domain)
        ]
        return np.column_stack(codes)

    def complete_codes(self, codes: Array, axes: Axes, rng: Rng) -> Array:
        """Return codes (rows, d) that keep the columns `axes`, others drawn given these.

        Each row draws a component c anew, given its columns: with probability proportional to
        w_c Π_a p_c(its value in a).
        """
        given_values, state = np.unique(codes[:, axes], axis=0, return_inverse=True)
        component = self._draw_components(given_values, state.ravel(), axes, rng)
        completed = np.array(codes)
        for a, block in enumerate(column_slices(self.domain)):
            if a not in axes:
                completed[:, a] = sample_within_states(self.probabilities[:, block], component, rng)
        return completed

    def _draw_components(self, given_values: Array, state: Array, axes: Axes, rng: Rng) -> Array:
        """Draw the component of each row (rows,) given its columns `axes`.

        These are `given_values` (S, axes) of the row's `state` (rows,), taken some at a time to
        keep the table of states and components small.
        """
        blocks = column_slices(self.domain)
        component = np.empty(len(state), dtype=np.int64)
        states_at_once = max(1, MAX_GIVEN_CELLS // len(self.weights))
        for start in range(0, len(given_values), states_at_once):
            values = given_values[start : start + states_at_once]
            with np.errstate(divide="ignore"):
                logs = np.log(self.weights)[None, :]
                for position, a in enumerate(axes):
                    table = self.probabilities[:, blocks[a]]
                    logs = logs + np.log(table[:, values[:, position]].T)
            maxima = logs.max(axis=1, keepdims=True)
            maxima[maxima == -np.inf] = 0.0
            rows = np.flatnonzero((state >= start) & (state < start + states_at_once))
            component[rows] = sample_within_states(np.exp(logs - maxima), state[rows] - start, rng)
        return component


@frozen
class UnbiasedAnswers(Released):
    """A release of unbiased answers to all tables, which may be negative.

    The answers are consistent with each other, but no distribution. `column_sets` are sets of
    columns (axes, in rising order), each with its part of the answers: the table on these columns
    less all that smaller tables say, one after the other in `parts` (Σ k_S,), as shares. Each has
    independent noise of variance `variances` (spaces,) on an orthonormal basis of what such a part
    can be. Parts of other sets were not measured and are taken to be 0: within a table inside some
    set nothing is missing, and its cells are unbiased. `laplace` says that some of the noise is
    Laplace noise, whose quantiles are larger than normal ones. Rows are drawn from what `fit` makes
    of the answers when it is called; what it makes is not unbiased.
    """

    domain: Domain
    column_sets: tuple[Axes, ...]
    parts: Array
    variances: Array
    fit: Callable[[], Release] | None = None
    laplace: bool = False

    def answers(self, workload: Workload) -> Array:
        """Return the answers (m,); InputError for a query matrix over too many cells."""
        if workload.base:
            return workload.from_table_cells(
                np.concatenate([self.table(axes).ravel() for axes in workload.base.axes])
            )
        if self.domain.size > MAX_JOINT_CELLS:
            raise InputError(
                f"a query matrix over {self.domain.size:,} combinations is more than the "
                f"{MAX_JOINT_CELLS:,} summed"
            )
        return workload.answers(self.table(tuple(range(len(self.domain.shape)))).ravel())

    def table(self, axes: Axes) -> Array:
        """Return the noisy table on columns `axes` (in rising order).

        It is the sum of all its parts, each spread evenly.
        """
        shape = self.domain.shape_of(axes)
        out = np.full(shape, 1 / math.prod(shape))
        for S, part_slice in self.measured_subsets(axes):
            sizes = [n if a in S else 1 for a, n in zip(axes, shape, strict=True)]
            out += self.parts[part_slice].reshape(sizes) * (math.prod(sizes) / math.prod(shape))
        return out

    def measured_subsets(self, axes: Axes) -> list[tuple[Axes, slice]]:
        """Return the measured column sets inside `axes`, and the slices of their parts."""
        if 2 ** len(axes) > len(self.column_sets):
            return [(S, self.part_slices[S]) for S in self.column_sets if set(S) <= set(axes)]
        return [
            (S, self.part_slices[S])
            for S in nonempty_subsets(axes, len(axes))
            if S in self.part_slices
        ]

    @cached_property
    def part_slices(self) -> dict[Axes, slice]:
        """The slice of each column set's part in the vector of all parts."""
        return dict(
            zip(
                self.column_sets,
                consecutive_slices(map(self.domain.table_size, self.column_sets)),
                strict=True,
            )
        )

    @cached_property
    def variance(self) -> dict[Axes, float]:
        """The variance of the noise on each column set's part."""
        return dict(zip(self.column_sets, self.variances.tolist(), strict=True))

    def standard_errors(self, workload: Marginals) -> Array:
        """Return the standard errors (m,) of all cells of tables.

        NaN for a table with an unmeasured part.
        """
        tables = zip(workload.axes, workload.shapes, strict=True)
        return np.concatenate(
            [np.full(math.prod(shape), self.standard_error(axes)) for axes, shape in tables]
        )

    def standard_error(self, axes: Axes) -> float:
        """Return the standard error of each cell of the table on columns `axes`.

        The columns are in rising order; NaN for a table with an unmeasured part. A cell of a table
        M is 1/k_M of k_S times each part; of unit noise the projection on the space of S leaves
        d_S/k_S on a cell, so that its variance is Σ_{S ⊆ M} v_S d_S k_S/k_M².
        """
        varying_axes = tuple(a for a in axes if self.domain.shape[a] > 1)
        total = 0.0 if not varying_axes or varying_axes in self.part_slices else math.nan
        cells = self.domain.table_size(varying_axes)
        for S, _ in self.measured_subsets(varying_axes):
            total += self.variance[S] * math.prod(
                self.domain.shape[a] * (self.domain.shape[a] - 1) for a in S
            )
        return math.sqrt(total) / cells

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """Draw `rows` synthetic rows of a non-negative fit to these answers.

        Raises InputError if no such fit can be made.
        """
        return self.fitted().sample(rows, rng)

    def fitted(self) -> Release:
        """Return a non-negative fit to these answers; InputError if none can be made."""
        if self.fit is None:
            raise InputError(
                "unbiased answers are no distribution, and no rows can be drawn from them"
            )
        return self.fit()


@frozen
class ReleasedPoints(Released):
    """A released distribution on `positions` (r, d), with `weights` (r,) that sum to 1.

    `names` are those of the columns.
    """

    points: Array
    weights: Array
    names: Texts

    def answers(self, workload: Workload) -> Array:
        """Raise InputError: points have no cells to answer queries about."""
        raise InputError(
            "points are compared by their distance W1; they answer no questions about combinations"
        )

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """Draw `rows` points by systematic sampling, as in `Histogram.sample`."""
        return pd.DataFrame(
            self.points[sample_systematically(self.weights, rows, rng)],
            columns=pd.Index(self.names),
        )


def sample_systematically(weights: Array, rows: int, rng: Rng) -> Array:
    """Draw numbers (rows,) in random order: i occurs ⌊rows · share⌋ times or once more.

    The share is that of i in `weights`.
    """
    cumulative = np.cumsum(weights)
    positions = (rng.random() + np.arange(rows)) * (cumulative[-1] / rows)
    last = int(np.flatnonzero(weights)[-1])  # rounding must not reach past it
    return rng.permutation(np.minimum(np.searchsorted(cumulative, positions, side="right"), last))


def table_cells(codes: Array, axes: Axes, shape: Shape) -> Array:
    """Return the number (rows,) of each row's cell in the table on columns `axes`.

    All are 0 where there are no columns.
    """
    if not axes:
        return np.zeros(len(codes), dtype=np.int64)
    columns = tuple(codes[:, a] for a in axes)
    return np.asarray(np.ravel_multi_index(columns, tuple(shape[a] for a in axes)))


def with_table_cells(codes: Array, axes: Axes, shape: Shape, cells: Array) -> Array:
    """Return codes (rows, d) with the columns `axes` of these cells (rows,) of their table."""
    changed = np.array(codes)
    if axes:
        columns = np.unravel_index(cells, tuple(shape[a] for a in axes))
        for a, column in zip(axes, columns, strict=True):
            changed[:, a] = column
    return changed


def sample_within_groups(weights: Array, group: Array, state: Array, rng: Rng) -> Array:
    """Draw for every row one item of the group (rows,) that is its `state`; systematic in a group.

    Items (r,) have `weights` and a `group` each. Of g rows of a group each item gets ⌊g · share⌋
    or one more, in random order. Every state is the group of an item with weight.
    """
    order = np.argsort(group, kind="stable")
    cumulative = np.cumsum(weights[order], dtype=float)
    group_ends = np.searchsorted(group[order], state, side="right") - 1
    group_starts = np.searchsorted(group[order], state, side="left")
    before = np.where(group_starts > 0, cumulative[group_starts - 1], 0.0)
    shuffled = rng.permutation(len(state))
    rows = shuffled[np.argsort(state[shuffled], kind="stable")]
    _, first, counts = np.unique(state[rows], return_index=True, return_counts=True)
    turn = np.arange(len(rows)) - np.repeat(first, counts)
    offset = np.repeat(rng.random(len(counts)), counts)
    shares = (turn + offset) / np.repeat(counts, counts)
    positions = before[rows] + shares * (cumulative[group_ends[rows]] - before[rows])
    items = np.searchsorted(cumulative, positions, side="right")
    drawn = np.empty(len(state), dtype=np.int64)
    drawn[rows] = order[np.clip(items, group_starts[rows], group_ends[rows])]
    return drawn


def sample_within_states(
    table: Array, state: Array, rng: Rng, companion_codes: Array | None = None
) -> Array:
    """Draw a column of `table` (S, R) for every row's state (rows,), by systematic sampling.

    The sampling is among a state's rows: r rows of a state get column c ⌊r · share⌋ times or once
    more, in random order among themselves; what is left over of all states is spread evenly too.
    With codes `companion_codes` (rows,) rows of a state that have the same code share the columns
    about as evenly, so that pairs of `companion_codes` and what is drawn come closer to what the
    model says of them. It should be numbered anew for each drawing, else two of them would be tied.
    No row of the private table is read: no privacy cost.
    """
    rows = len(state)
    shuffled = rng.permutation(rows)
    if companion_codes is not None:
        shuffled = shuffled[np.argsort(companion_codes[shuffled], kind="stable")]
    keys = (
        state.astype(np.uint16) if len(table) <= 2**16 else state
    )  # short keys are sorted by radix
    order = shuffled[np.argsort(keys[shuffled], kind="stable")]
    state_counts = np.bincount(state, minlength=len(table))
    first = np.cumsum(state_counts) - state_counts
    cumulative = np.cumsum(table, axis=1)
    is_empty = cumulative[:, -1] <= 0  # the columns beside such a state are unknown
    cumulative[is_empty] = np.arange(1, table.shape[1] + 1)
    cumulative /= cumulative[:, -1:]
    ordered_states = state[order]
    offset = (rng.permutation(len(table)) + rng.random(len(table))) / len(table)
    turn = np.arange(rows) - first[ordered_states]
    if companion_codes is not None:
        start = rng.integers(
            np.maximum(state_counts, 1)
        )  # else low codes would come first in every state
        turn = (
            turn * _golden_strides(state_counts)[ordered_states] + start[ordered_states]
        ) % state_counts[ordered_states]
    positions = (turn + offset[ordered_states]) / state_counts[ordered_states]
    flat_cumulative = (cumulative + np.arange(len(table))[:, None]).ravel()
    columns = (
        np.searchsorted(
            flat_cumulative, ordered_states + np.minimum(positions, 1 - 1e-9), side="right"
        )
        - ordered_states * table.shape[1]
    )
    out = np.empty(rows, dtype=np.int64)
    out[order] = np.clip(columns, 0, table.shape[1] - 1)
    return out


def _golden_strides(count: Array) -> Array:
    """Return steps (S,) of about the golden share of each count.

    Any run of their multiples lies evenly within the count. None shares a divisor with its count,
    so that as many multiples as the count visit every place once.
    """
    out = np.rint(GOLDEN_SHARE * count).astype(int)
    shares_divisor = np.gcd(out, count) > 1
    while shares_divisor.any():
        out[shares_divisor] += 1
        shares_divisor = np.gcd(out, count) > 1
    return out


@frozen
class ReleasedParameter(Released):
    """A released parameter vector x (d,) of a learning task.

    `names` (d,) says what each coordinate belongs to. It is no distribution over rows, so it
    refuses to answer queries and to draw rows.
    """

    names: Texts
    x: Array

    def answers(self, workload: Workload) -> Array:  # noqa: ARG002 - the protocol's
        """Raise InputError: a parameter answers no queries."""
        raise InputError(
            "a learned parameter answers no queries; it says nothing of how rows are distributed"
        )

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:  # noqa: ARG002 - the protocol's
        """Raise InputError: a parameter draws no rows."""
        raise InputError(
            "a learned parameter cannot draw rows; it says nothing of how rows are distributed"
        )
