"""Noisy answers of a workload and their standard deviations: released values, never rows.

A curator's record holds them, a fit explains them, and intervals are computed from them. A cell of
a smaller table is a sum of a larger one's cells, and so is its variance:

>>> import numpy as np
>>> from dpcore import Marginals, domain_from_json
>>> domain = domain_from_json({"ill": 2, "old": 2})
>>> pairs = Marginals(domain, [["ill", "old"]])
>>> noisy_pairs = NoisyAnswers(pairs, np.array([0.4, 0.2, 0.3, 0.1]), np.full(4, 0.05))
>>> noisy_shares = noisy_pairs.marginalise(Marginals(domain, [["ill"]]))
>>> noisy_shares.values.round(3), noisy_shares.stddev.round(3)
(array([0.6, 0.4]), array([0.071, 0.071]))
"""

import math
from dataclasses import replace

import numpy as np

from ..core.types import Array, Axes, frozen
from ..queries import Marginals, Workload
from ..queries.marginals import marginals_and_slice


@frozen
class NoisyAnswers:
    """Noisy answers `values` (m,) of a workload and their noise's standard deviations (m,).

    Both are NaN where nothing was measured. Noise is independent on the cells of one table.
    `shares_noise` says that different tables may see the same noise, `has_laplace_noise` that some
    of it is Laplace noise.
    """

    workload: Workload
    values: Array
    stddev: Array
    shares_noise: bool = False
    has_laplace_noise: bool = False

    def measured_tables(self) -> list[tuple[Axes, slice]]:
        """Return the columns of every marginal table measured on all its cells, and its slice.

        The slice is that of the table's cells among all answers. Other queries of the workload are
        left out; a table that several parts of the workload hold is listed for each of them.
        """
        is_measured = np.isfinite(self.stddev)
        has_gaps = not is_measured.all()
        tables = []
        for part, answer_slice in self.workload.parts:
            if not isinstance(part, Marginals):
                continue
            for axes, cells in part.slices.items():
                first = answer_slice.start + cells.start
                table = slice(first, answer_slice.start + cells.stop)
                if has_gaps and not is_measured[table].all():
                    continue
                tables.append((axes, table))
        return tables

    def marginalise(self, workload: Workload) -> "NoisyAnswers":
        """Return noisy answers of `workload`, summed from these tables and averaged by precision.

        A cell of table A is the sum of Π_{S∖A} d_i cells of a table S ⊇ A, so its variance is that
        many times larger. All stays as it is where either of the workloads has no tables.
        """
        source_and_slice = marginals_and_slice(self.workload)
        if workload is self.workload or not source_and_slice or not isinstance(workload, Marginals):
            return self
        source, answer_slice = source_and_slice
        noisy_cells = self.values[answer_slice]
        cell_stddev = self.stddev[answer_slice]
        values = np.zeros(workload.m)
        precision = np.zeros(workload.m)
        for axes, table in workload.slices.items():
            for source_axes, shape, source_slice in source.layout:
                if not set(axes) <= set(source_axes):
                    continue
                summed_axes = tuple(i for i, a in enumerate(source_axes) if a not in axes)
                summed_cells = math.prod(shape[i] for i in summed_axes)
                weight = 1 / (cell_stddev[source_slice.start] ** 2 * summed_cells)
                sums = noisy_cells[source_slice].reshape(shape).sum(axis=summed_axes)
                values[table] += weight * sums.ravel()
                precision[table] += weight
        stddev = 1 / np.sqrt(precision)
        return replace(self, workload=workload, values=values / precision, stddev=stddev)
