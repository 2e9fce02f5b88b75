"""Noisy tables as arrays in a file beside a release, written and read."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.errors import InputError
from ...core.types import Array
from ...models.releases import UnbiasedAnswers
from ...schema.domain import Domain


def to_arrays(known: UnbiasedAnswers) -> dict[str, Array]:
    """The noisy tables as arrays: column sets as 0/1 (spaces, d), parts (Σ k_S,) and variances (spaces,)."""
    column_masks = np.zeros((len(known.spaces), len(known.domain.shape)), dtype=np.uint8)
    for i, S in enumerate(known.spaces):
        column_masks[i, list(S)] = 1
    return {"sets": column_masks, "parts": known.parts, "variances": known.variances}


def from_arrays(domain: Domain, told: Mapping[str, Any]) -> UnbiasedAnswers:
    """The noisy tables that `to_arrays` wrote; InputError for arrays that do not fit the domain."""
    column_masks, parts, variances = (np.asarray(told[name]) for name in ("sets", "parts", "variances"))
    shapes_fit = (
        column_masks.ndim == 2
        and column_masks.shape[1] == len(domain.shape)
        and variances.shape == column_masks.shape[:1]
    )
    if shapes_fit:
        spaces = tuple(tuple(int(a) for a in np.flatnonzero(row)) for row in column_masks)
        unbiased_answers = UnbiasedAnswers(domain, spaces, parts.astype(float), variances.astype(float))
        cells = sum(domain.cells(S) for S in spaces)
        if parts.shape == (cells,) and np.isfinite(parts).all() and (variances >= 0).all():
            return unbiased_answers
    raise InputError("the tables of this release do not fit its schema")
