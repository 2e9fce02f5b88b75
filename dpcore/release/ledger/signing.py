"""Sign releases as the ledger's owner, with one Ed25519 key beside each ledger.

Made at its first use. The chain in the ledger is keyed by what lies in the same file; a signature
can be checked by everybody and made by the owner only. A ledger from before there were keys gets
one with its next release.
"""

import json
import os
import secrets
from dataclasses import field
from pathlib import Path
from stat import S_ISREG
from typing import Any

from ...core.errors import InputError
from ...core.types import value_object
from ..evidence.verifier import SIGNED, hashes, statement
from .chain import SIGNING_KEY_SUFFIX, open_ledger_companion, resolve_ledger_path
from .durable_files import lock_file, sync_folder_names, write_to_disk

MISSING_PACKAGE = (
    "no release can be signed: the package cryptography is missing; pip install cryptography"
)
_KEY_HEX_DIGITS = 64  # hexadecimal digits


@value_object
class SigningKey:
    """A private key, and its public part as 64 hexadecimal digits."""

    public: str
    _private: Any = field(repr=False)

    def sign(self, folder: Path) -> None:
        """Write a signature over all files of a folder into it."""
        files = hashes(folder)
        signed = {"files": files, "format": 1, "key": self.public}
        signed["signature"] = self._private.sign(statement(files, self.public)).hex()
        (folder / SIGNED).write_text(
            json.dumps(signed, indent=1, sort_keys=True) + "\n", encoding="utf-8"
        )


def load_signing_key(ledger: Path, signer: str = "") -> SigningKey:
    """Return the signing key beside a ledger, made if missing and readable by its owner only.

    `signer` is the public key that signs the ledger's releases, as the ledger itself says; ""
    before the first. Raises InputError where cryptography is missing, or the file cannot be made,
    or holds no key, or another one.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError:
        raise InputError(MISSING_PACKAGE) from None
    path = Path(f"{resolve_ledger_path(ledger)}{SIGNING_KEY_SUFFIX}")
    try:
        if not os.path.lexists(path):
            if signer:
                raise missing_signer_error(ledger)
            _write_new_key(path)
        elif _is_empty_file(path):  # a full disk, or a kill, ended its writing
            _write_new_key(path)
        text = _read_key_text(path)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{str(path)[:200]}: the ledger's signing key cannot be used: {reason}"
        ) from None
    private_key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(text))
    public_key = private_key.public_key().public_bytes_raw().hex()
    if signer not in ("", public_key):
        raise missing_signer_error(ledger)
    return SigningKey(public_key, private_key)


def missing_signer_error(ledger: Path) -> InputError:
    """Return the error for a ledger whose releases' signing key is gone."""
    return InputError(
        f"{str(ledger)[:200]}{SIGNING_KEY_SUFFIX}: the key that signed this ledger's releases is "
        "not here; bring the file back "
        "from a copy. Where it is lost, begin a new ledger, with what is left in this one as the "
        "whole budget"
    )


def _write_new_key(path: Path) -> None:
    """Write a new key into an empty file, one process after another.

    Keeps the key of a process that was faster.
    """
    handle = os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        lock_file(handle)
        if os.fstat(handle).st_size:
            return
        try:
            write_to_disk(handle, f"{secrets.token_hex(_KEY_HEX_DIGITS // 2)}\n".encode())
        except OSError:
            os.ftruncate(handle, 0)
            raise
    finally:
        os.close(handle)
    sync_folder_names(path.parent)


def _is_empty_file(path: Path) -> bool:
    """Return whether a regular file holds nothing."""
    file_status = os.lstat(path)
    return S_ISREG(file_status.st_mode) and file_status.st_size == 0


def _read_key_text(path: Path) -> str:
    """Return the text of a key; ValueError where the file holds none."""
    with open_ledger_companion(path, "rb") as file:
        text = file.read(2 * _KEY_HEX_DIGITS).decode("ascii", "replace").strip()
    if len(text) != _KEY_HEX_DIGITS or set(text) - set("0123456789abcdef"):
        raise ValueError("it holds no key")
    return text
