"""Votes of private points or rows for public candidates: nearest-neighbour histograms.

Every row votes for one candidate, and for which one depends on that row and public things only. So
replacing it takes one vote from a candidate and gives it to another: n · P_n moves by e_i − e_j, Δ₁
= 2, Δ₂ = √2, and never by more.
"""

import math

import numpy as np
from scipy.spatial import KDTree

from ...core.errors import InputError
from ...core.types import Array, frozen
from ...schema.domain import Rows
from ..accounting.events import Approximate, Gaussian, Pure
from .statistic import Statistic

MAX_BLOCK_ENTRIES = 20_000_000  # entries of an array of rows × candidates
MAX_TIED_CANDIDATES = (
    16  # candidates at the same distance that are looked for before all are compared
)
MAX_COORDINATE = 1e150  # coordinate of a candidate: beyond, squares overflow
MAX_SCORE = (
    2**23
)  # largest whole-number score, so that single precision adds scores without rounding


class _OneVotePerRow(Statistic):
    """The base of votes: each row has one vote, so that n times the shares are numbers of votes."""

    payable = (Gaussian, Pure, Approximate)
    reads_single_rows = True
    l1 = 2.0
    l2 = math.sqrt(2)


def _distinct_candidates(candidates: Array) -> tuple[Array, Array]:
    """Return the distinct candidates (u, d), in order of first occurrence, and each one's index.

    The indices are (u,).
    """
    first = np.sort(np.unique(candidates, axis=0, return_index=True)[1])
    return candidates[first], first


@frozen
class Votes(_OneVotePerRow):
    """The share (v,) of rows nearest to each public candidate (v, d), by Euclidean distance.

    Ties go to the smallest index. A row's candidate is found from its own coordinates and the
    candidates alone, in the same arithmetic whatever other rows there are: Δ₁ = 2, Δ₂ = √2. Source:
    Gonzalez, Fanti, Ramdas 2025, Algorithm 4.
    """

    candidates: Array

    def check(self) -> None:
        """Raise InputError unless the candidates are finite points."""
        V = self.candidates
        if V.ndim != 2 or not V.size or not (np.abs(V) <= MAX_COORDINATE).all():
            raise InputError(
                f"candidates of shape {V.shape} must be finite points (v, d), at least one"
            )

    def value(self, rows: Rows) -> Array:
        """Return the shares of the votes (v,)."""
        if rows.values.shape[1] != self.candidates.shape[1]:
            raise InputError(
                f"candidates have {self.candidates.shape[1]} coordinates, rows "
                f"{rows.values.shape[1]}"
            )
        counts = np.bincount(
            self._nearest_candidates(rows.values), rows.weights, len(self.candidates)
        )  # whole, so exact
        return counts / rows.sum_divisor

    def _nearest_candidates(self, X: Array) -> Array:
        """Return the index (r,) of the nearest candidate of every point X (r, d).

        The smallest index of several.
        """
        U, first = _distinct_candidates(self.candidates)
        if len(U) == 1:
            return np.full(len(X), first[0])
        tree = KDTree(U)
        distances, indices = tree.query(X, 2)
        nearest = indices.min(axis=1, where=distances <= distances[:, :1], initial=len(U))
        tied = np.flatnonzero(distances[:, 1] <= distances[:, 0])
        if len(tied) and len(U) > MAX_TIED_CANDIDATES:
            distances, indices = tree.query(X[tied], MAX_TIED_CANDIDATES)
            nearest[tied] = indices.min(axis=1, where=distances <= distances[:, :1], initial=len(U))
            tied = tied[distances[:, -1] <= distances[:, 0]]
        step = max(1, MAX_BLOCK_ENTRIES // U.size)
        for start in range(0, len(tied), step):
            block = tied[start : start + step]
            squared_distances = ((X[block, None, :] - U) ** 2).sum(axis=2)
            nearest[block] = squared_distances.argmin(axis=1)
        return first[nearest]


@frozen
class CodeVotes(_OneVotePerRow):
    """The share (v,) of coded rows nearest to each public candidate (v, d).

    The distance is a sum over the columns.

    Column i of a row is first turned into `bins[i]` of its code (public). Two bins differ by
    `scales[i]` (k_i,), the positions of the bins as whole numbers, |scale − scale'|; or, where that
    is None, by `unit` if they are different. Ties go to the smallest index. Scores are whole
    numbers below 2^23, so that one matrix product in single precision computes them exactly, and no
    row's vote depends on how the product was cut up: Δ₁ = 2, Δ₂ = √2. Raises InputError for
    candidates outside the bins, or scores too large.
    """

    candidates: Array
    bins: tuple[Array, ...]
    scales: tuple[Array | None, ...]
    unit: int

    def check(self) -> None:
        """Raise InputError unless candidates and scales fit the bins."""
        V = self.candidates
        if not all(
            b.ndim == 1 and b.size and b.dtype.kind in "iu" and b.min() >= 0
            for b in (*self.bins, V.ravel())
        ):
            raise InputError("candidates, and the bin of every code, must be whole numbers ≥ 0")
        sizes = self._bin_counts
        if (
            V.ndim != 2
            or not len(V)
            or V.shape[1] != len(sizes)
            or (V < 0).any()
            or (sizes <= V).any()
        ):
            raise InputError(
                f"candidates of shape {V.shape} must be bins of {len(sizes)} columns, at least "
                "one row"
            )
        known_scales = [np.asarray(s) for s in self.scales if s is not None]
        fits = all(
            s.dtype.kind == "i" and len(s) == k
            for s, k in zip(self.scales, sizes, strict=True)
            if s is not None
        )
        if not fits or any((np.diff(s) < 0).any() for s in known_scales):
            raise InputError(
                "the positions of bins must be whole numbers in increasing order, one for each bin"
            )
        max_score = 4 * (self.unit * len(sizes) + sum(int(np.ptp(s)) for s in known_scales))
        if not 0 < self.unit <= max_score < MAX_SCORE:
            raise InputError(f"scores up to {max_score} are outside 1..{MAX_SCORE}")

    def value(self, rows: Rows) -> Array:
        """Return the shares of the votes (v,)."""
        # A code beyond the bins counts in the last one: an error would reveal that such a row
        # exists.
        binned = np.column_stack(
            [b.take(rows.values[:, i], mode="clip") for i, b in enumerate(self.bins)]
        )
        if math.prod(self._bin_counts) < 2**62:
            cells, distinct_index = np.unique(
                np.ravel_multi_index(tuple(binned.T), self._bin_counts), return_inverse=True
            )
            X = np.column_stack(np.unravel_index(cells, self._bin_counts))
        else:
            X, distinct_index = np.unique(binned, axis=0, return_inverse=True)
        weights = np.bincount(distinct_index.ravel(), rows.weights, len(X))
        U, first = _distinct_candidates(self.candidates)
        features = (self._feature_weights * self._features(U)).T.copy()
        votes = np.zeros(len(self.candidates))
        step = max(1, MAX_BLOCK_ENTRIES // max(len(U), features.shape[0]))
        for start in range(0, len(X), step):
            block = slice(start, start + step)
            nearest = ((2 * self._features(X[block]) - 1) @ features).argmax(axis=1)
            votes += np.bincount(first[nearest], weights[block], len(votes))
        return votes / rows.sum_divisor

    @property
    def _bin_counts(self) -> tuple[int, ...]:
        """The number of bins of every column."""
        return tuple(int(b.max()) + 1 for b in self.bins)

    def _features(self, V: Array) -> Array:
        """Return the features (v, f) of candidates or rows.

        1 at a column's bin, or at each bin that is passed; else 0.
        """
        out = []
        for i, (k, scale) in enumerate(zip(self._bin_counts, self.scales, strict=True)):
            bins = np.arange(k if scale is None else k - 1)
            out.append(V[:, i, None] == bins if scale is None else V[:, i, None] > bins)
        return np.concatenate(out, axis=1, dtype=np.float32)

    @property
    def _feature_weights(self) -> Array:
        """The weights g (f,) of the features.

        Σ g (x − v)² is twice the distance, least where Σ g (2x − 1) v is largest.
        """
        out = [
            np.full(k, self.unit) if s is None else 2 * np.diff(s)
            for k, s in zip(self._bin_counts, self.scales, strict=True)
        ]
        return np.concatenate(out, dtype=np.float32)
