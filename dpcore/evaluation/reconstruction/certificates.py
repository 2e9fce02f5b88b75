"""Certificates that rows are in a table, and their check by substitution in whole numbers.

What is to be proved: every table of whole counts x ≥ 0 that agrees with what was published has at
least v rows in a combination c. For any multipliers Y, one for each published count, it has

    D x_c = Y·(A x) + (D e_c − AᵀY)·x ≥ Σ_j min(Y_j low_j, Y_j high_j) + Σ_i min over x_i of r_i x_i

with r = D e_c − AᵀY and x_i between 0 and the largest count that the published ones allow. Where
the right side is above D (v − 1), x_c > v − 1, so x_c ≥ v. All numbers are whole, so nothing is
rounded. It does not matter where Y comes from (a linear program): a wrong one fails the check.

Where one such bound does not suffice, a certificate splits in two cases, x_i ≤ t or x_i ≥ t + 1,
and proves each: by the same bound within the case, or by 0 ≥ (a number above 0), which says that
the case is empty.
"""

import numpy as np

from ...core.types import Array, frozen
from .published_tables import PublishedTables

MULTIPLIER_UNIT = 2**24  # D: the multipliers are whole multiples of 1/D
MAX_MULTIPLIER = 2.0**16  # so that sums of products fit 64 bits


@frozen
class BoundProof:
    """Multipliers (p,) of the published counts, in units of 1/D, that bound one count below."""

    multipliers: Array


@frozen
class CaseProof:
    """A proof by two cases: `cell` has at most `value` rows, or more."""

    cell: int
    value: int
    at_most: "BoundProof | CaseProof"
    above: "BoundProof | CaseProof"


Proof = BoundProof | CaseProof


@frozen
class Certificate:
    """The claim that a combination `cell` has at least `count` rows, with its proof."""

    cell: int
    count: int
    proof: Proof


def is_certificate_valid(tables: PublishedTables, certificate: Certificate) -> bool:
    """Return whether a certificate proves its claim about what was published.

    It is checked by substitution alone: no solver takes part.
    """
    upper = tables.max_counts
    lower = np.zeros(len(upper), dtype=np.int64)
    return _is_proof_valid(tables, certificate, certificate.proof, lower, upper)


def to_multipliers(values: Array) -> Array:
    """Return real multipliers in whole units of 1/D."""
    return np.rint(np.clip(values, -MAX_MULTIPLIER, MAX_MULTIPLIER) * MULTIPLIER_UNIT).astype(
        np.int64
    )


def _is_proof_valid(
    tables: PublishedTables, certificate: Certificate, proof: Proof, lower: Array, upper: Array
) -> bool:
    """Return whether a proof holds for tables with `lower` ≤ x ≤ `upper` (k,)."""
    if np.any(lower > upper):
        return True  # there is no such table
    if isinstance(proof, BoundProof):
        needed = MULTIPLIER_UNIT * (certificate.count - 1)
        target = np.zeros(len(lower), dtype=np.int64)
        if _least_value(tables, proof.multipliers, target, lower, upper) > 0:
            return True  # 0 is above 0 in no table
        target[certificate.cell] = MULTIPLIER_UNIT
        return _least_value(tables, proof.multipliers, target, lower, upper) > needed
    at_most = upper.copy()
    at_most[proof.cell] = min(upper[proof.cell], proof.value)
    above = lower.copy()
    above[proof.cell] = max(lower[proof.cell], proof.value + 1)
    return _is_proof_valid(tables, certificate, proof.at_most, lower, at_most) and _is_proof_valid(
        tables, certificate, proof.above, above, upper
    )


def _least_value(
    tables: PublishedTables, multipliers: Array, target: Array, lower: Array, upper: Array
) -> int:
    """Return a lower bound of Σ target_i x_i over all tables, as the module's text derives it."""
    published = np.where(multipliers > 0, multipliers * tables.low, multipliers * tables.high)
    remainder = target - tables.incidence.T @ multipliers
    cells = np.where(remainder > 0, remainder * lower, remainder * upper)
    return int(published.sum() + cells.sum())
