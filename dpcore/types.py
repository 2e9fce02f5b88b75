"""Short names for the types that most signatures mention."""

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray
Rng = np.random.Generator
Json = dict[str, Any]  # values by name, as a JSON object has them
Axes = tuple[int, ...]  # of a table: numbers of columns of a domain, rising
Watch = Callable[[Any], object]  # receives how much is done so far; an error that it raises ends the work


def unwatched(_done: Any) -> None:
    """A `watch` function that does nothing."""
