"""Released objects: the results of private algorithms."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
import pandas as pd

from ..core.errors import InputError
from ..core.numbers import consecutive
from ..core.provenance import Paid, Tag
from ..core.types import Array, Axes, Rng, Texts, frozen
from ..queries import Marginals, Workload
from ..queries.marginals import subsets
from ..queries.product_answers import MOST_JOINT, Products, blocks
from ..schema.domain import Domain, Rows

GOLDEN = (math.sqrt(5) - 1) / 2  # the share whose multiples are spread most evenly over a circle


class Release(Protocol):
    """A released object: it answers queries and draws rows, both at no cost, as post-processing."""

    tag: ClassVar[Tag]

    def answers(self, workload: Workload) -> Array:
        """The answers (m,) of the release."""
        ...

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """A number `rows` of synthetic records."""
        ...


@frozen
class Histogram(Paid):
    """A released distribution D (k,) over the cells of a domain: non-negative, summing to 1."""

    domain: Domain
    D: Array

    def answers(self, workload: Workload) -> Array:
        """The answers ⟨q_j, D⟩ (m,)."""
        return workload.answers(self.D)

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """A number `rows` of records by systematic sampling: ⌊rows · D⌋ of each cell or one more, then shuffled.

        This rounds far closer than independent draws, whose error 1/√rows would hide the algorithm's own.
        """
        return self.domain.published(self.domain.codes_of(systematic(self.D, rows, rng)), rng)


@frozen
class Records(Paid):
    """Synthetic rows: distinct `codes` (r, d) and their whole `counts` (r,), not all zero.

    Its answers need a pass over the rows for every table and never the k cells, except for explicit matrices.
    """

    domain: Domain
    codes: Array
    counts: Array

    @classmethod
    def of(cls, domain: Domain, codes: Array) -> "Records":
        """The release of given rows (n, d), which may repeat."""
        rows = domain.group(codes)
        return cls(domain, rows.values, rows.weights)

    def answers(self, workload: Workload) -> Array:
        """The shares Σ_r counts_r q_j(codes_r)/Σ counts (m,) among the synthetic rows."""
        return workload.answers_of_rows(Rows(self.codes, self.counts))

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """A number `rows` of records by systematic sampling of the synthetic ones, as in `Histogram.sample`."""
        return self.domain.published(self.codes[systematic(self.counts, rows, rng)], rng)


@frozen
class ProductMixture(Paid):
    """A released mixture of C product distributions over the columns of a domain with any number of cells.

    `probabilities` (C, Σ d_i): one block a column, each summing to 1; `weights` (C,): non-negative, summing to 1.
    """

    domain: Domain
    probabilities: Array
    weights: Array

    def answers(self, workload: Workload) -> Array:
        """The answers Σ_c w_c ⟨q_j, p_c⟩ (m,); InputError for an explicit matrix over too many cells."""
        return Products(workload).answers(np.ascontiguousarray(self.probabilities.T), self.weights)

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """A number `rows` of records: ⌊rows · w_c⌋ or one more from component c, spread evenly over its cells.

        Within a component columns are drawn one by one, each as evenly; the rows are shuffled.
        """
        component = systematic(self.weights, rows, rng)
        codes = [within(self.probabilities[:, block], component, rng) for block in blocks(self.domain)]
        return self.domain.published(np.column_stack(codes), rng)


@frozen
class UnbiasedAnswers(Paid):
    """Unbiased answers to all tables: consistent with each other, but possibly negative, so no distribution.

    `spaces` are sets of columns (axes, in rising order), each with its part of the answers: the table on these columns
    less all that smaller tables say, one after the other in `parts` (Σ k_S,), as shares. Each has independent noise of
    variance `variances` (spaces,) on an orthonormal basis of what such a part can be. Parts of other sets were not
    measured and are taken to be 0: within a table inside some set nothing is missing, and its cells are unbiased.
    `laplace` says that some of the noise is Laplace noise, whose quantiles are larger than normal ones.
    Rows are drawn from what `fit` makes of them when it is called, which is not.
    """

    domain: Domain
    spaces: tuple[Axes, ...]
    parts: Array
    variances: Array
    fit: Callable[[], Release] | None = None
    laplace: bool = False

    def answers(self, workload: Workload) -> Array:
        """The answers (m,); InputError for a query matrix over too many cells."""
        if workload.base:
            return workload.read(np.concatenate([self.table(axes).ravel() for axes in workload.base.axes]))
        if self.domain.size > MOST_JOINT:
            raise InputError(
                f"a query matrix over {self.domain.size:,} combinations is more than the {MOST_JOINT:,} summed"
            )
        return workload.answers(self.table(tuple(range(len(self.domain.shape)))).ravel())

    def table(self, axes: Axes) -> Array:
        """The noisy table on columns `axes` (in rising order): the sum of all its parts, each spread evenly."""
        shape = self.domain.shape_of(axes)
        out = np.full(shape, 1 / math.prod(shape))
        for S, part_slice in self.within(axes):
            sizes = [n if a in S else 1 for a, n in zip(axes, shape, strict=True)]
            out += self.parts[part_slice].reshape(sizes) * (math.prod(sizes) / math.prod(shape))
        return out

    def within(self, axes: Axes) -> list[tuple[Axes, slice]]:
        """The measured column sets inside `axes`, and the slices of their parts."""
        if 2 ** len(axes) > len(self.spaces):
            return [(S, self.places[S]) for S in self.spaces if set(S) <= set(axes)]
        return [(S, self.places[S]) for S in subsets(axes, len(axes)) if S in self.places]

    @cached_property
    def places(self) -> dict[Axes, slice]:
        """The slice of each column set's part in the vector of all parts."""
        return dict(zip(self.spaces, consecutive(map(self.domain.cells, self.spaces)), strict=True))

    @cached_property
    def variance(self) -> dict[Axes, float]:
        """The variance of the noise on each column set's part."""
        return dict(zip(self.spaces, self.variances.tolist(), strict=True))

    def standard_errors(self, workload: Marginals) -> Array:
        """The standard errors (m,) of all cells of tables; NaN for a table with an unmeasured part."""
        tables = zip(workload.axes, workload.shapes, strict=True)
        return np.concatenate([np.full(math.prod(shape), self.standard_error(axes)) for axes, shape in tables])

    def standard_error(self, axes: Axes) -> float:
        """The standard error of each cell of the table on columns `axes` (in rising order); NaN as above.

        A cell of a table M is 1/k_M of k_S times each part; of unit noise the projection on the space of S leaves
        d_S/k_S on a cell, so that its variance is Σ_{S ⊆ M} v_S d_S k_S/k_M².
        """
        varying_axes = tuple(a for a in axes if self.domain.shape[a] > 1)
        total = 0.0 if not varying_axes or varying_axes in self.places else math.nan
        cells = self.domain.cells(varying_axes)
        for S, _ in self.within(varying_axes):
            total += self.variance[S] * math.prod(self.domain.shape[a] * (self.domain.shape[a] - 1) for a in S)
        return math.sqrt(total) / cells

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """A number `rows` of records of a non-negative fit to these answers; InputError where none can be made."""
        if self.fit is None:
            raise InputError("unbiased answers are no distribution, and no rows can be drawn from them")
        return self.fit().sample(rows, rng)


@frozen
class Points(Paid):
    """A released distribution on `points` (r, d) with `weights` (r,) that sum to 1; `names` of the columns."""

    points: Array
    weights: Array
    names: Texts

    def answers(self, workload: Workload) -> Array:
        """Raise InputError: points have no cells to answer queries about."""
        raise InputError("points are compared by their distance W1; they answer no questions about combinations")

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:
        """A number `rows` of points by systematic sampling, as in `Histogram.sample`."""
        return pd.DataFrame(self.points[systematic(self.weights, rows, rng)], columns=pd.Index(self.names))


def systematic(weights: Array, rows: int, rng: Rng) -> Array:
    """Row numbers (rows,) in random order: i occurs ⌊rows · share⌋ times or once more, by its share of `weights`."""
    cumulative = np.cumsum(weights)
    positions = (rng.random() + np.arange(rows)) * (cumulative[-1] / rows)
    last = int(np.flatnonzero(weights)[-1])  # rounding must not reach past it
    return rng.permutation(np.minimum(np.searchsorted(cumulative, positions, side="right"), last))


def within(table: Array, state: Array, rng: Rng, beside: Array | None = None) -> Array:
    """A column of `table` (S, R) for every row's state (rows,), by systematic sampling among a state's rows.

    r rows of a state get column c ⌊r · share⌋ times or once more, in random order among themselves; what is left over
    of all states is spread evenly too. With codes `beside` (rows,) rows of a state that have the same code share the
    columns about as evenly, so that pairs of `beside` and what is drawn come closer to what the model says of them.
    It should be numbered anew for each drawing, else two of them would be tied. No record is read: no privacy cost.
    """
    rows = len(state)
    shuffled = rng.permutation(rows)
    if beside is not None:
        shuffled = shuffled[np.argsort(beside[shuffled], kind="stable")]
    keys = state.astype(np.uint16) if len(table) <= 2**16 else state  # short keys are sorted by radix
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
    if beside is not None:
        start = rng.integers(np.maximum(state_counts, 1))  # else low codes would come first in every state
        turn = (turn * _strides(state_counts)[ordered_states] + start[ordered_states]) % state_counts[ordered_states]
    positions = (turn + offset[ordered_states]) / state_counts[ordered_states]
    flat_cumulative = (cumulative + np.arange(len(table))[:, None]).ravel()
    columns = (
        np.searchsorted(flat_cumulative, ordered_states + np.minimum(positions, 1 - 1e-9), side="right")
        - ordered_states * table.shape[1]
    )
    out = np.empty(rows, dtype=np.int64)
    out[order] = np.clip(columns, 0, table.shape[1] - 1)
    return out


def _strides(count: Array) -> Array:
    """Steps (S,) of about the golden share of each count: any run of their multiples lies evenly within it.

    None shares a divisor with its count, so that as many multiples as the count visit every place once.
    """
    out = np.rint(GOLDEN * count).astype(int)
    while (shares_divisor := np.gcd(out, count) > 1).any():
        out[shares_divisor] += 1
    return out


@frozen
class Parameter(Paid):
    """A released vector x (d,) of a learning task; `names` (d,) says what each coordinate belongs to.

    It is no distribution over records, so it refuses to answer queries and to draw rows.
    """

    names: Texts
    x: Array

    def answers(self, workload: Workload) -> Array:  # noqa: ARG002 - the protocol's
        """Raise InputError: a parameter answers no queries."""
        raise InputError("a learned parameter answers no queries; it says nothing of how rows are distributed")

    def sample(self, rows: int, rng: Rng) -> pd.DataFrame:  # noqa: ARG002 - the protocol's
        """Raise InputError: a parameter draws no rows."""
        raise InputError("a learned parameter cannot draw rows; it says nothing of how rows are distributed")
