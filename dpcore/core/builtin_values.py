"""Values from other code, rebuilt from parts that run no code of their own.

A number, an array or an object may be of a class of its own: its arithmetic is then somebody's
code, and would run on whatever it is combined with.
"""

from dataclasses import fields
from typing import Any

import numpy as np

from .errors import InputError
from .types import Array, Kinds

BUILTIN_SCALAR_TYPES = (type(None), bool, int, float, str)


def to_builtin(value: Any, dataclass_types: Kinds = ()) -> Any:
    """Return an equal value made of built-in types and read-only arrays.

    A dataclass whose type is one of `dataclass_types` is built anew from its fields, so its own
    checks run once more and nothing else that was put on the instance comes along; fields that no
    comparison reads take their defaults. Raises InputError for a value that has no such equal.
    """
    value_type = type(value)
    if value_type in BUILTIN_SCALAR_TYPES:
        return value
    if value_type in dataclass_types:
        return value_type(
            **{
                f.name: to_builtin(vars(value)[f.name], dataclass_types)
                for f in fields(value_type)
                if f.init and f.compare
            }
        )
    for base_type, convert in CONVERTERS.items():
        if issubclass(value_type, base_type):
            return convert(value)
    if issubclass(value_type, tuple):
        return tuple(to_builtin(item, dataclass_types) for item in tuple.__iter__(value))
    if value_type is slice:
        return slice(to_builtin(value.start), to_builtin(value.stop), to_builtin(value.step))
    raise InputError(f"a {value_type.__name__} is where a number, a text or an array is needed")


def readonly_copy(value: Any) -> Array:
    """Return a read-only copy as a plain array of whole numbers, or else of floats.

    The copy is of no array subclass. Raises InputError for other contents.
    """
    numbers = np.asarray(value)  # of a subclass its numbers alone
    if numbers.dtype.kind not in "biuf":
        raise InputError(f"an array of type {numbers.dtype} is where real numbers are needed")
    copy = np.array(numbers, dtype=float if numbers.dtype.kind == "f" else np.int64)
    copy.flags.writeable = False
    return copy


CONVERTERS = {
    Array: readonly_copy,
    np.bool_: bool,
    int: int,
    np.integer: int,
    float: float,
    np.floating: float,
}


def frozen_copy(value: Array) -> Array:
    """Return the same numbers in memory that no code can open for writing.

    They are copied, unless they already are in such memory.
    """
    memory_owner: Any = value
    while type(memory_owner) is Array:
        memory_owner = memory_owner.base
    if type(memory_owner) is bytes and value.dtype == float:
        return value[...]
    return np.ndarray(value.shape, float, value.astype(float, copy=False).tobytes())
