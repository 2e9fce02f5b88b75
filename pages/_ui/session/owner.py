"""Access to the ledger: on a server for others it opens with the owner's key only.

Nobody else is told of it.
"""

import hashlib
import hmac
import os

import streamlit as st

from .current_table import is_public_host
from .session import session

KEY_VARIABLE = "DPCORE_LEDGER_KEY"
MIN_KEY_CHARS = 16  # characters: too many to be tried out
MAX_KEY_CHARS = 1000


def owner_key() -> str:
    """Return the owner's key; "" if none is set or it is too short.

    A short key could be tried out.
    """
    configured_key = os.environ.get(KEY_VARIABLE, "").strip()
    return configured_key if len(configured_key) >= MIN_KEY_CHARS else ""


def requires_owner_key() -> bool:
    """Return whether a visitor must enter the key for the ledger.

    So it is on a server for others, and wherever a key is set.
    """
    return is_public_host() or bool(os.environ.get(KEY_VARIABLE, "").strip())


def has_ledger_access() -> bool:
    """Return whether this tab may see the ledger: no key is needed, or it was entered."""
    correct_key = owner_key()
    return not requires_owner_key() or bool(
        correct_key and hmac.compare_digest(session().owner_key_digest, _key_digest(correct_key))
    )


def request_ledger_access() -> bool:
    """Return whether this tab may see the ledger; draw an input for the key where it must.

    Nothing else is said to a person who has none.
    """
    if has_ledger_access():
        return True
    correct_key = owner_key()
    if not correct_key:
        return False
    input_slot = st.empty()
    entered_key = input_slot.text_input(
        "The owner's key of the ledger",
        type="password",
        key="ledger-key",
        max_chars=MAX_KEY_CHARS,
        autocomplete="off",
        help="Releases and what was ever released are for those who hold it.",
    )
    if entered_key and hmac.compare_digest(
        _key_digest(entered_key.strip()), _key_digest(correct_key)
    ):
        session().owner_key_digest = _key_digest(correct_key)
        input_slot.empty()
        return True
    if entered_key:
        st.error("This is not the key.")
    return False


def _key_digest(text: str) -> bytes:
    """Return the SHA-256 digest of a key.

    Digests have one length, so a comparison in constant time tells nothing of the key's.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
