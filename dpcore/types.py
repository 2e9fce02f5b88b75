"""Short names for the types that most signatures mention."""

from typing import Any

import numpy as np

Array = np.ndarray
Rng = np.random.Generator
Json = dict[str, Any]  # values by name, as a JSON object has them
