"""Noisy tables as arrays in a file beside a release, written and read."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.errors import InputError
from ...core.types import Array
from ...models.releases import UnbiasedAnswers
from ...schema.domain import Domain


def tables_to_arrays(unbiased_answers: UnbiasedAnswers) -> dict[str, Array]:
    """Return the noisy tables as arrays that can be stored.

    They are column sets as 0/1 (spaces, d), parts (Σ k_S,) and variances (spaces,).
    """
    column_masks = np.zeros(
        (len(unbiased_answers.column_sets), len(unbiased_answers.domain.shape)), dtype=np.uint8
    )
    for i, S in enumerate(unbiased_answers.column_sets):
        column_masks[i, list(S)] = 1
    return {
        "sets": column_masks,
        "parts": unbiased_answers.parts,
        "variances": unbiased_answers.variances,
    }


def tables_from_arrays(domain: Domain, arrays: Mapping[str, Any]) -> UnbiasedAnswers:
    """Return the noisy tables that `tables_to_arrays` wrote.

    Raises InputError for arrays that do not fit the domain.
    """
    column_masks = np.asarray(arrays["sets"])
    parts = np.asarray(arrays["parts"])
    variances = np.asarray(arrays["variances"])
    shapes_fit = (
        column_masks.ndim == 2
        and column_masks.shape[1] == len(domain.shape)
        and variances.shape == column_masks.shape[:1]
    )
    if shapes_fit:
        spaces = tuple(tuple(int(a) for a in np.flatnonzero(row)) for row in column_masks)
        unbiased_answers = UnbiasedAnswers(
            domain, spaces, parts.astype(float), variances.astype(float)
        )
        cells = sum(domain.table_size(S) for S in spaces)
        if parts.shape == (cells,) and np.isfinite(parts).all() and (variances >= 0).all():
            return unbiased_answers
    raise InputError("the tables of this release do not fit its schema")
