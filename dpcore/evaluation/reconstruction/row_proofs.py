"""Which rows are proved to be in a table, by linear and integer programs over all tables.

A combination's least number of rows, over all tables that agree with what was published, is bounded
below by a linear program, whose dual solution is the certificate, and above by the tables found so
far. Where the two differ, an integer program (HiGHS) looks for a table with fewer rows there, and a
bound is proved by cases. What time does not allow to decide is counted apart.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, linprog, milp
from scipy.sparse import csr_array, eye_array, hstack, vstack

from ...core.types import Array, ProgressCallback, frozen, ignore_progress
from .certificates import (
    BoundProof,
    CaseProof,
    Certificate,
    Proof,
    is_certificate_valid,
    to_multipliers,
)
from .published_tables import PublishedTables

WHOLE_TOLERANCE = 1e-6  # by which a solver may miss a whole number
SOLVE_SECONDS = 5.0  # one program takes no longer, so that a cancelled attack ends soon
MAX_PROOF_CASES = 64  # of a proof by cases
SEARCH_SHARE = 1 / 3  # of the time, for tables with fewer rows in many cells at once
VIOLATION_PRICE = 1000.0  # in rows, of a published count that a case misses by one


@frozen
class RowProofs:
    """What is proved about each combination (k,) of a table, and what is not decided.

    Args:
        proved: The number of rows that each combination is proved to have.
        possible: The least number of rows found in it in a table that agrees with everything
            published; the same as `proved` where the time sufficed.
        certificates: One for each combination with rows proved.
        seconds: How long it took.

    """

    proved: Array
    possible: Array
    certificates: tuple[Certificate, ...]
    seconds: float


def prove_rows(
    tables: PublishedTables, max_seconds: float, progress: ProgressCallback = ignore_progress
) -> RowProofs:
    """Return which rows are proved by published tables.

    Where the published table has no row none is looked for: it agrees with itself, so nothing can
    be proved there.

    Args:
        tables: What was published.
        max_seconds: How long it may take; what is not decided then counts as undecided.
        progress: Receives how many combinations are done, and how many there are.

    """
    start = time.monotonic()
    counts = tables.behind
    attack = _Attack(tables, start + max_seconds)
    attack.find_tables_with_fewer(max_seconds * SEARCH_SHARE, progress)
    cells = np.flatnonzero(attack.possible)
    for number, cell in enumerate(cells):
        progress(number, 2 * len(cells))
        attack.prove_by_bound(int(cell))
    for number, cell in enumerate(cells):
        progress(len(cells) + number, 2 * len(cells))
        attack.decide(int(cell))
    proved = np.zeros(len(counts), dtype=np.int64)
    for cell, certificate in attack.certificates.items():
        proved[cell] = certificate.count
    return RowProofs(
        proved, attack.possible, tuple(attack.certificates.values()), time.monotonic() - start
    )


@dataclass(eq=False)
class _Attack:
    """The unknown table with all that is known of it, for the programs that look for it."""

    tables: PublishedTables
    deadline: float
    certificates: dict[int, Certificate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cells = np.flatnonzero(self.tables.max_counts)  # all others are empty in every table
        self.position = {int(cell): i for i, cell in enumerate(self.cells)}
        matrix = csr_array(self.tables.incidence[:, self.cells])
        self.count_numbers = np.flatnonzero(matrix.sum(axis=1))  # counts of some of these cells
        self.matrix = csr_array(matrix[self.count_numbers])
        self.low = self.tables.low[self.count_numbers]
        self.high = self.tables.high[self.count_numbers]
        self.max_counts: Any = self.tables.max_counts[self.cells]
        self.possible = self.tables.behind.copy()
        # The relaxed program may miss every count, so that its unknowns are cells and misses.
        miss = eye_array(len(self.low), format="csr")
        self.relaxed_matrix = csr_array(
            vstack([hstack([self.matrix, -miss]), hstack([-self.matrix, -miss])])
        )
        self.relaxed_limits = np.concatenate([self.high, -self.low])

    @property
    def remaining_seconds(self) -> float:
        """The seconds until the attack is to end."""
        return self.deadline - time.monotonic()

    def prove_by_bound(self, cell: int) -> None:
        """Prove as many rows in a cell as one linear program bounds it by."""
        if self.remaining_seconds <= 0:
            return
        solution = self._solve_relaxed(cell, np.zeros(len(self.cells)), self.max_counts)
        if solution is None:
            return
        count = math.ceil(solution.least - WHOLE_TOLERANCE)
        if count > 0:
            self._keep(Certificate(cell, count, BoundProof(solution.multipliers)))

    def find_tables_with_fewer(self, max_seconds: float, progress: ProgressCallback) -> None:
        """Look for tables that have fewer rows in many undecided cells at once.

        Args:
            max_seconds: When to go on with the single cells.
            progress: It is called before each table, so that its error ends the work.

        """
        end = time.monotonic() + max_seconds
        while time.monotonic() < end:
            progress(0, None)
            undecided = [
                int(c) for c in np.flatnonzero(self.possible) if self._is_undecided(int(c))
            ]
            if not undecided:
                return
            rows_before = self.possible[undecided].sum()
            self._solve_whole(undecided)
            if self.possible[undecided].sum() == rows_before:
                return

    def decide(self, cell: int) -> None:
        """Close the gap between what is proved of a cell and what was found possible."""
        while self._is_undecided(cell) and self.remaining_seconds > 0:
            rows_before = self.possible[cell]
            least = self._solve_whole([cell])
            if self.possible[cell] == rows_before and not self._prove_by_cases(cell, least):
                return

    def proved_count(self, cell: int) -> int:
        """Return how many rows a cell is proved to have."""
        certificate = self.certificates.get(cell)
        return 0 if certificate is None else certificate.count

    def _is_undecided(self, cell: int) -> bool:
        return self.proved_count(cell) < self.possible[cell]

    def _keep(self, certificate: Certificate) -> bool:
        """Keep a certificate that its check accepts; return whether it does."""
        if not is_certificate_valid(self.tables, certificate):
            return False
        self.certificates[certificate.cell] = certificate
        return True

    def _solve_whole(self, cells: list[int]) -> int:
        """Look for a table with the fewest rows in some cells; return a bound of that number.

        A table that is found lowers what is possible in all cells.
        """
        objective = np.zeros(len(self.cells))
        objective[[self.position[cell] for cell in cells]] = 1
        ranges: tuple[Any, Any] = (self.low, self.high)
        result = milp(
            objective,
            constraints=LinearConstraint(self.matrix, *ranges),
            bounds=Bounds(0, self.max_counts),
            integrality=np.ones(len(self.cells)),
            options={"time_limit": max(min(SOLVE_SECONDS, self.remaining_seconds), 0.01)},
        )
        if result.x is not None:
            whole_table = np.zeros(len(self.possible), dtype=np.int64)
            whole_table[self.cells] = np.rint(result.x).astype(np.int64)
            if self.tables.is_consistent(whole_table):
                self.possible = np.minimum(self.possible, whole_table)
        bound = result.mip_dual_bound
        return 0 if bound is None else math.ceil(bound - WHOLE_TOLERANCE)

    def _prove_by_cases(self, cell: int, count: int) -> bool:
        """Prove that a cell has so many rows, by cases; return whether it is proved."""
        if count <= self.proved_count(cell):
            return False
        lower = np.zeros(len(self.cells))
        upper = self.max_counts.astype(float)
        proof = _CaseSearch(self._solve_relaxed, self.cells, cell, count, self.deadline).prove(
            lower, upper
        )
        return proof is not None and self._keep(Certificate(cell, count, proof))

    def _solve_relaxed(self, cell: int, lower: Array, upper: Array) -> "_Relaxed | None":
        """Return the linear program's least number of rows in a cell, between bounds of all cells.

        Every count may be missed at a price, so that there is a solution for an impossible case,
        too: its dual then shows that the case is impossible. None without a solution.
        """
        count = len(self.low)
        objective = np.concatenate([np.zeros(len(self.cells)), np.full(count, VIOLATION_PRICE)])
        objective[self.position[cell]] = 1
        bounds = np.column_stack(
            [
                np.concatenate([lower, np.zeros(count)]),
                np.concatenate([upper, np.full(count, np.inf)]),
            ]
        )
        seconds = max(min(SOLVE_SECONDS, self.remaining_seconds), 0.01)
        result: OptimizeResult = linprog(
            objective,
            self.relaxed_matrix,
            self.relaxed_limits,
            bounds=bounds,
            options={"time_limit": seconds},
        )
        if result.status != 0:
            return None
        duals = result.ineqlin.marginals
        multipliers = np.zeros(len(self.tables.low), dtype=np.int64)
        multipliers[self.count_numbers] = to_multipliers(duals[:count] - duals[count:])
        return _Relaxed(float(result.fun), multipliers, result.x[: len(self.cells)])


@frozen
class _Relaxed:
    """The solution of a linear program: its least value, its multipliers and its table."""

    least: float
    multipliers: Array
    table: Array


RelaxedSolver = Callable[[int, Array, Array], "_Relaxed | None"]


@dataclass(eq=False)
class _CaseSearch:
    """The search for a proof by cases that a cell has at least `count` rows."""

    solve: RelaxedSolver
    cells: Array
    cell: int
    count: int
    deadline: float
    case_count: int = 0

    def prove(self, lower: Array, upper: Array) -> Proof | None:
        """Return a proof for the tables between two bounds; None where there is none in time."""
        self.case_count += 1
        if self.case_count > MAX_PROOF_CASES or time.monotonic() > self.deadline:
            return None
        solution = self.solve(self.cell, lower, upper)
        if solution is None:
            return None
        if solution.least > self.count - 1 + WHOLE_TOLERANCE:
            return BoundProof(solution.multipliers)
        fractions = np.abs(solution.table - np.rint(solution.table))
        branch = int(fractions.argmax())
        if fractions[branch] < WHOLE_TOLERANCE:
            return None  # a whole table with fewer rows: there is nothing to prove
        value = math.floor(solution.table[branch])
        upper_at_most = upper.copy()
        upper_at_most[branch] = value
        lower_above = lower.copy()
        lower_above[branch] = value + 1
        at_most = self.prove(lower, upper_at_most)
        above = None if at_most is None else self.prove(lower_above, upper)
        if at_most is None or above is None:
            return None
        return CaseProof(int(self.cells[branch]), value, at_most, above)
