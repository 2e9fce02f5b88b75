"""The generator of everything that a real release draws: ChaCha20, keyed by the operating system.

Numpy's own generators are made for speed: who sees enough of what they drew can find their state, and with it all other
noise. The key stream of a cipher cannot be told from fair bits by anybody without the key.
"""

import secrets
from typing import cast

import numpy as np
from randomgen import ChaCha

from ..types import Rng

NAME = "ChaCha20, keyed by the operating system's entropy"


def generator() -> Rng:
    """A new random generator, with a key from the operating system that nobody knows or chooses."""
    return Rng(cast("np.random.BitGenerator", _cipher(secrets.randbits(256))))


def _cipher(key: int) -> ChaCha:
    return ChaCha(key=key, counter=0, rounds=20)
