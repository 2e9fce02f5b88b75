"""Bounds on unmeasured answers, over all tables that agree with the measured ones."""

import math
from collections.abc import Iterator
from functools import reduce
from itertools import combinations, product

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from ...core.types import Array, Axes
from ...models.releases import UnbiasedAnswers
from ...queries.questions import Question
from ...queries.residual_spaces import MOST_WAYS
from .confidence_levels import quantile, sampling_errors
from .unbiased_tables import components, share_of, spread_of, values_of

MOST_CELLS, MOST_STATEMENTS = 4096, 500  # size limits of a linear program
SAID = 1e-6  # a bound nearer to 0 or 1 is no information

Band = tuple[float, float]


def compatible_bounds(known: UnbiasedAnswers, question: Question, n: float, level: float) -> tuple[Band, Band] | None:
    """Bands of a question's share, in the table and in the population; None where no known table bounds it.

    Values of a column that the question treats alike are one, so that few cells x ≥ 0, Σx = 1, are left. Of them the
    noisy tables on some of the question's columns say F shares; all F are within z standard errors at once, with z at
    1 − (1 − level)/F (Bonferroni). The ends are the least and the largest answer of all x that agree: conservative, and
    wide where columns that were not measured together may be tied in any way (Fréchet's bounds without noise).
    """
    axes, g = values_of(question.workload)
    places, g = _reduced(axes, g)
    if math.prod(g.shape) > MOST_CELLS:
        return None
    known_of = list(_statements(known, places, g.shape))
    if not 0 < len(known_of) <= MOST_STATEMENTS:
        return None
    A = csr_array(np.array([cells for cells, _, _ in known_of], dtype=float))
    shares, noise = (np.array([one[i] for one in known_of]) for i in (1, 2))
    each = 1 - (1 - level) / len(known_of)
    z, out = quantile(each, laplace=known.laplace), []
    for errors in (noise, np.hypot(noise, sampling_errors(shares, n, each))):
        low, high = _ends(A, shares, z * errors, g.ravel())
        if low <= SAID and high >= 1 - SAID:
            return None
        out.append((low, high))
    return out[0], out[1]


def _reduced(axes: Axes, g: Array) -> tuple[dict[int, Array], Array]:
    """The class of each value in each column that matters, and the question on classes.

    The class for which the question is answered lowest comes first: statements leave it out.
    """
    places = {}
    for place, axis in enumerate(axes):
        own = np.moveaxis(g, place, 0).reshape(g.shape[place], -1)
        rows, label = np.unique(own, axis=0, return_inverse=True)
        order = np.argsort(rows.sum(axis=1), kind="stable")
        g = np.moveaxis(rows[order].reshape(-1, *np.delete(g.shape, place)), 0, place)
        places[axis] = np.argsort(order)[label.ravel()]
    matter = [i for i, size in enumerate(g.shape) if size > 1]
    return {axes[i]: places[axes[i]] for i in matter}, g.reshape([g.shape[i] for i in matter])


def _statements(
    known: UnbiasedAnswers, places: dict[int, Array], shape: tuple[int, ...]
) -> Iterator[tuple[Array, float, float]]:
    """The known sums of classes: the cells (in one line), their share, and its standard error from noise."""
    axes = tuple(places)
    for size in range(1, min(len(axes), MOST_WAYS) + 1):
        for some in combinations(range(len(axes)), size):
            T = tuple(axes[i] for i in some)
            for chosen in product(*(range(1, shape[i]) for i in some)):
                masks = [places[axes[i]] == c for i, c in zip(some, chosen, strict=True)]
                f = reduce(np.multiply.outer, masks).astype(float)
                parts = components(T, f)
                if not all(S in known.places for S in parts):
                    break  # nor are the other classes of these columns
                place = dict(zip(some, chosen, strict=True))
                cells = np.zeros(shape, dtype=bool)
                cells[tuple(place.get(i, slice(None)) for i in range(len(axes)))] = True
                yield cells.ravel(), share_of(known, f, parts), math.sqrt(spread_of(known, parts, parts))


def _ends(A: csr_array, shares: Array, room: Array, g: Array) -> Band:
    """The least and largest ⟨g, x⟩ of distributions x with |Ax − shares| ≤ t · room, for the least feasible t ≥ 1."""
    both, ends, width = vstack([A, -A]), np.concatenate([shares, -shares]), np.concatenate([room, room])
    ones = np.ones((1, len(g)))
    found = [linprog(sign * g, both, ends + width, ones, [1.0]) for sign in (1, -1)]
    if any(end.status for end in found):
        wide = csr_array(np.column_stack([both.toarray(), -width]))
        t = linprog(np.append(0 * g, 1.0), wide, ends, np.append(ones, [[0.0]], axis=1), [1.0]).x[-1]
        limits = ends + width * t * (1 + 1e-9) + 1e-9  # the solver's rounding must not leave none
        found = [linprog(sign * g, both, limits, ones, [1.0]) for sign in (1, -1)]
    low, high = float(found[0].fun), -float(found[1].fun)
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
