"""The parts of marginal tables beyond their margins (residuals), measured together.

Their sensitivity is derived here.
"""

import math

import numpy as np

from ...core.errors import InputError
from ...core.numbers import ROUNDING_SLACK
from ...core.types import Array, frozen
from ...queries import Marginals
from ...queries.residual_spaces import cached_residual_spaces
from ...schema.domain import Rows
from ..noise_grid import grid_step, round_weights_to_grid
from ..public_rounding import require_wide_range
from .statistic import Statistic


@frozen
class Residuals(Statistic):
    """The residuals of the requested tables: each table's part beyond its margins.

    r_S · (⊗_{l∈S} (n_l I − J)) table_S, J all ones, for all S requested.

    `weights` are r_S, one for each type of table (`residual_spaces`), 0 < k_S r_S ≤ 1 for the k_S
    counts of the table, so that each value is an answer to a query with values in [-1, 1]. n I − J
    takes the mean off and multiplies by n: they are k_S r_S times the part of the table on S that
    no smaller table knows, and whole numbers times r_S in counts.

    A row in count z of S moves the table by e_z − e_z', and ⊗(n_l I − J) is k_S times the
    projection E_S on the space of S, with E_S(z, z') = Π_{l∈S} (n_l [z_l = z'_l] − 1)/k_S. So it
    moves the part of S by a vector of squared length r_S² k_S² 2 (d_S − Π)/k_S, and all together,
    as the parts are orthogonal, by

        Σ_S (r_S² k_S) 2 (d_S − Π_{l∈S} (n_l [l ∈ A] − 1)),

    A the columns on which z and z' agree. Δ₂² is its maximum over all A, type by type
    (`ResidualSpaces.changes_by_pattern`), or where those are too many the sum of each term's own
    maximum. Δ₁ ≤ √(number of values) Δ₂.
    """

    workload: Marginals
    weights: Array

    def on_grid(self, n: int) -> tuple["Residuals", float]:
        """Return the residuals with weights on the grid, and the grid's step.

        n times the value is whole numbers times the weights.
        """
        if (self.weights == np.rint(self.weights)).all():
            return self, 1.0
        spacing = grid_step(n)
        return Residuals(self.workload, round_weights_to_grid(self.weights, spacing)), spacing

    @property
    def l2(self) -> float:
        """The ℓ2-sensitivity Δ₂ to one row."""
        spaces = cached_residual_spaces(self.workload)
        if not len(self.weights):
            return 0.0
        t = self.weights**2 * spaces.cells
        squared_changes = (
            spaces.changes_by_pattern(t).max()
            if spaces.patterns_enumerable
            else (2 * spaces.count * spaces.change_bounds) @ t
        )
        return math.sqrt(max(float(squared_changes), 0.0)) * ROUNDING_SLACK

    @property
    def l1(self) -> float:
        """An upper bound on the ℓ1-sensitivity Δ₁ to one row."""
        spaces = cached_residual_spaces(self.workload)
        return math.sqrt(float(spaces.count @ spaces.cells)) * self.l2

    def check(self) -> None:
        """Raise InputError unless the workload is marginal tables with fitting weights."""
        if type(self.workload) is not Marginals:
            raise InputError(
                f"{type(self.workload).__name__} is not marginal tables, whose residuals are "
                "known here"
            )
        cells = cached_residual_spaces(self.workload).cells
        if (
            self.weights.shape != cells.shape
            or not ((self.weights > 0) & (self.weights * cells <= 1)).all()
        ):
            raise InputError(
                f"residuals of {len(cells)} types of tables need as many weights, each in (0, "
                "1/size]"
            )
        require_wide_range(float((self.weights * cells).max(initial=0)))

    def value(self, rows: Rows) -> Array:
        """Return the residuals of all tables (Σ k_S,).

        For counted rows they are whole numbers times the weights.
        """
        residuals = []
        for S, table_type in cached_residual_spaces(self.workload).type_of.items():
            sizes = self.workload.domain.shape_of(S)
            table = (rows.count(S, sizes) / rows.sum_divisor).reshape(sizes)
            for axis, n in enumerate(sizes):
                table = n * table - table.sum(axis=axis, keepdims=True)
            residuals.append(self.weights[table_type] * table.ravel())
        return np.concatenate(residuals) if residuals else np.zeros(0)
