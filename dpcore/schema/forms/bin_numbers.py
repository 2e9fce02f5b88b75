"""The numbers of a bin that can be written: whole ones, or multiples of a step."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ...core.types import Array


def whole_number_bins(edges: Sequence[float]) -> tuple[Array, Array]:
    """Return the first whole number of every bin, and the one after its last.

    The last bin includes its upper edge.
    """
    first = np.ceil(edges[:-1]).astype(np.int64)
    return first, np.append(first[1:], math.floor(edges[-1]) + 1)


def multiples_in_bins(edges: Sequence[float], step: Fraction) -> tuple[Array, Array]:
    """Return the first and the last multiple of a step in every bin (b,), counted in steps.

    The last bin has its upper edge only where it has nothing else. A bin without any multiple has
    a last one below its first. The edges are taken for what their shortest texts say.
    """
    edges_in_steps = [Fraction(repr(float(edge))) / step for edge in edges]
    first = [*map(math.ceil, edges_in_steps[:-1])]
    last = [start - 1 for start in first[1:]]
    end = math.floor(edges_in_steps[-1])
    below_end = math.ceil(edges_in_steps[-1]) - 1
    last.append(below_end if below_end >= first[-1] else end)
    return np.array(first, dtype=float), np.array(last, dtype=float)
