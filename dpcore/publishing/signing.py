"""The ledger owner's signature under a release: one Ed25519 key beside each ledger, made at its first use.

The chain in the ledger is keyed by what lies in the same file; a signature can be checked by everybody and made by the
owner only. A ledger from before there were keys gets one with its next release.
"""

import json
import os
import secrets
from dataclasses import field
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..types import value_object
from .chain import SIGNER, open_regular
from .verifier import SIGNED, hashes, statement

MISSING = "no release can be signed: the package cryptography is missing; pip install cryptography"
_LENGTH = 64  # hexadecimal digits


@value_object
class Key:
    """A private key, and its public part as 64 hexadecimal digits."""

    public: str
    _private: Any = field(repr=False)

    def sign(self, folder: Path) -> None:
        """Write a signature over all files of a folder into it."""
        files = hashes(folder)
        signed = {"files": files, "format": 1, "key": self.public}
        signed["signature"] = self._private.sign(statement(files, self.public)).hex()
        (folder / SIGNED).write_text(json.dumps(signed, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def key_of(ledger: Path) -> Key:
    """The signing key that lies beside a ledger; where it is missing one is made, readable by its owner only.

    Raises InputError where cryptography is missing, or the file cannot be made, or holds no key.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError:
        raise InputError(MISSING) from None
    path = Path(f"{ledger}{SIGNER}")
    try:
        if not os.path.lexists(path):
            _make(path)
        text = _read(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)[:200]}: the ledger's signing key cannot be used: {why}") from None
    private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(text))
    return Key(private.public_key().public_bytes_raw().hex(), private)


def _make(path: Path) -> None:
    """Write a new key, completely or not at all; keep another process's where that was faster."""
    beside = Path(f"{path}-{secrets.token_hex(8)}")
    with os.fdopen(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
        file.write(f"{secrets.token_hex(_LENGTH // 2)}\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(beside, path)
    except FileExistsError:
        pass
    finally:
        beside.unlink()


def _read(path: Path) -> str:
    """The text of a key; ValueError where the file holds none."""
    with open_regular(path, "rb") as file:
        text = file.read(2 * _LENGTH).decode("ascii", "replace").strip()
    if len(text) != _LENGTH or set(text) - set("0123456789abcdef"):
        raise ValueError("it holds no key")
    return text
