"""The generator of everything that a real release draws: ChaCha20, keyed by the operating system.

Numpy's own generators are made for speed: who sees enough of what they drew can find their state,
and with it all other noise. The key stream of a cipher cannot be told from fair bits by anybody
without the key.
"""

import hashlib
import hmac
import secrets
from typing import cast

import numpy as np
from randomgen import ChaCha

from ..core.types import Rng

GENERATOR_NAME = "ChaCha20, keyed by the operating system's entropy"
KEY_BYTES = 32


def new_key() -> bytes:
    """Return a new key from the operating system, which nobody knows or chooses."""
    return secrets.token_bytes(KEY_BYTES)


def generator(key: bytes, purpose: str) -> Rng:
    """Return the random generator for one purpose of a key.

    Those of two purposes have nothing to do with each other. The cipher's own key is HMAC-SHA256 of
    the purpose under `key`, a pseudorandom function.
    """
    derived_key = hmac.new(key, purpose.encode(), hashlib.sha256).digest()
    return Rng(cast("np.random.BitGenerator", _chacha20(int.from_bytes(derived_key, "little"))))


def _chacha20(key: int) -> ChaCha:
    return ChaCha(key=key, counter=0, rounds=20)
