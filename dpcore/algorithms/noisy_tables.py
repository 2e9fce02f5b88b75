"""Measured tables, collected one after the other, each once. Sees noisy answers, never records.

Measurements of one table are averaged by their precision, so that two equal ones halve the
variance:

>>> import numpy as np
>>> from dpcore import domain_from_json
>>> tables = NoisyTables(domain_from_json({"ill": 2, "old": 2}))
>>> tables.add((0, 1), np.array([0.4, 0.2, 0.3, 0.1]), stddev=0.1)
>>> tables.add((0, 1), np.array([0.4, 0.4, 0.1, 0.1]), stddev=0.1)
>>> noisy_answers = tables.arrays()
>>> noisy_answers.values.round(3), noisy_answers.stddev.round(3)
(array([0.4, 0.3, 0.2, 0.1]), array([0.071, 0.071, 0.071, 0.071]))
"""

from collections.abc import Iterable, Iterator

import numpy as np

from ..core.types import Array, Axes
from ..privacy.noisy_answers import NoisyAnswers
from ..queries import Marginals
from ..schema.domain import Domain

MIN_STDDEV = 1e-12  # standard deviation where nothing moves, so that residuals can be scaled by it


class NoisyTables:
    """Measured tables by their columns, each once: measurements are averaged by precision.

    Iterating gives the tables' columns, in the order in which they were first added. `precision` is
    the sum of 1/variance over all measurements added, those of dropped tables too.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.precision = 0.0
        self._values: dict[Axes, Array] = {}
        self._precisions: dict[Axes, float] = {}

    def __iter__(self) -> Iterator[Axes]:
        """Return an iterator over the columns of the tables."""
        return iter(self._values)

    def __contains__(self, axes: Axes) -> bool:
        """Return whether the table over these columns is held."""
        return axes in self._values

    def add(self, axes: Axes, values: Array, stddev: float) -> None:
        """Average one more measurement into the table over these columns.

        Args:
            axes: The table's columns, in rising order.
            values: Its noisy cells.
            stddev: The standard deviation of the noise on each of them.

        """
        precision = max(stddev, MIN_STDDEV) ** -2.0
        old_precision = self._precisions.get(axes, 0.0)
        old_values = self._values.get(axes, 0.0)
        total_precision = old_precision + precision
        weighted_sum = old_precision * old_values + precision * values
        self._values[axes] = weighted_sum / total_precision
        self._precisions[axes] = total_precision
        self.precision += precision

    def add_all(self, noisy_answers: NoisyAnswers) -> None:
        """Add all measured tables of a workload; within a table deviations must be equal."""
        for axes, table in noisy_answers.measured_tables():
            stddev = float(noisy_answers.stddev[table.start])
            self.add(axes, noisy_answers.values[table], stddev)

    def replace_values(self, axes: Axes, values: Array) -> None:
        """Put other cells in the place of a table's averaged ones, whose precision they keep."""
        if axes not in self._values:
            raise KeyError(axes)
        self._values[axes] = values

    def restrict(self, columns: Iterable[Axes]) -> None:
        """Drop all tables but those over these sets of columns."""
        remaining = set(columns)
        self._values = {S: values for S, values in self._values.items() if S in remaining}
        self._precisions = {S: p for S, p in self._precisions.items() if S in remaining}

    def arrays(self) -> NoisyAnswers:
        """Return the averaged cells of all tables, one after the other, with their deviations."""
        tables = Marginals.over_axes(self.domain, self._values)
        values = np.concatenate(list(self._values.values()))
        deviations = [
            np.full(len(cells), self._precisions[S] ** -0.5) for S, cells in self._values.items()
        ]
        return NoisyAnswers(tables, values, np.concatenate(deviations))
