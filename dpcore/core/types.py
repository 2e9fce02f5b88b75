"""Short names for common types in signatures, and decorators for immutable dataclasses.

They are the types that most signatures mention, and the kind of class that holds arrays.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

import numpy as np

Array = np.ndarray
Rng = np.random.Generator
Json = dict[str, Any]  # values by name, as a JSON object has them
Axes = tuple[int, ...]  # of a table: numbers of columns of a domain, rising
Shape = tuple[int, ...]  # the number of cells of each of some columns
Tables = dict[Axes, Array]  # one value a cell, by the columns of a table
Texts = tuple[str, ...]
Kinds = tuple[type, ...]
# Receives how much is done so far (rows, columns, bytes, steps …) and how much there is, None where
# that is not known. It is called now and then; an error that it raises ends the work.
ProgressCallback = Callable[[float, float | None], object]
T = TypeVar("T")


def ignore_progress(*_progress: Any) -> None:
    """Do nothing: the ProgressCallback or StatusCallback of a caller who wants no reports."""


@dataclass_transform(frozen_default=True, eq_default=False)
def frozen(cls: type[T]) -> type[T]:
    """Return the class as an immutable dataclass whose instances equal only themselves.

    This is for classes that hold arrays: arrays have no one truth value.
    """
    return dataclass(frozen=True, eq=False)(cls)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def by_name(cls: type[T]) -> type[T]:
    """Return the class as an immutable dataclass whose fields are given by name."""
    return dataclass(frozen=True, kw_only=True)(cls)


@dataclass_transform(frozen_default=True)
def value_object(cls: type[T]) -> type[T]:
    """Return the class as an immutable dataclass that equals any other with the same contents."""
    return dataclass(frozen=True)(cls)
